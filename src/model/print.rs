//! Prints a program as text: its control-flow graphs, for snapshots and for debugging.
//!
//! Expressions are printed with all parentheses. Nothing recurses and no text is copied twice, so deep and large
//! programs are printed in linear time.

use std::fmt::{self, Display, Formatter, Write};

use super::{Action, Call, Expr, Op, Place, ProcId, Procedure, Program, Target};

/// Prints the globals, then every procedure with its nodes and the steps that leave them.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
        if !self.globals.is_empty() {
            writeln!(f, "decl {};", names(&mut self.globals.iter().map(|g| g.name.as_str())))?;
        }
        if let Some(flag) = self.atomic_flag {
            writeln!(f, "no context switch while {}", self.globals[flag as usize].name)?;
        }
        writeln!(f, "start {}", self.procedure(self.start).name)?;
        for (proc, procedure) in self.procedure_ids().zip(&self.procedures) {
            let local = |range: std::ops::Range<u32>| {
                let range = range.start as usize..range.end as usize;
                names(&mut procedure.locals[range].iter().map(|v| v.name.as_str()))
            };
            writeln!(f, "\n{}({})", procedure.name, local(0..procedure.params))?;
            if procedure.params < procedure.first_return() {
                writeln!(f, "  decl {}", local(procedure.params..procedure.first_return()))?;
            }
            if procedure.returns > 0 {
                writeln!(f, "  returns {}", local(procedure.first_return()..procedure.locals.len() as u32))?;
            }
            if let Some(enforce) = procedure.enforce {
                write!(f, "  enforce ")?;
                self.write_expr(f, proc, enforce)?;
                writeln!(f)?;
            }
            self.write_nodes(f, proc, procedure)?;
        }
        Ok(())
    }
}

impl Program {
    /// The text of one step, similar to its source.
    #[must_use]
    pub fn action_text(&self, proc: ProcId, action: &Action) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_action(&mut text, proc, action);
        text
    }

    /// The text of an expression, with all parentheses.
    #[must_use]
    pub fn expr_text(&self, proc: ProcId, expr: Expr) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_expr(&mut text, proc, expr);
        text
    }

    fn write_nodes(&self, f: &mut Formatter<'_>, proc: ProcId, procedure: &Procedure) -> fmt::Result {
        // The labels are sorted by node; those of one node stay in the order of the text.
        let mut labels: Vec<_> = procedure.labels.iter().map(|(label, node)| (*node, label)).collect();
        labels.sort_by_key(|&(node, _)| node);
        let mut labels = labels.into_iter().peekable();
        for node in (0..procedure.nodes as usize).map(super::Node::from_index) {
            write!(f, "  {node}")?;
            match node {
                Procedure::ENTRY => write!(f, " entry")?,
                Procedure::EXIT => write!(f, " exit")?,
                _ => {}
            }
            while let Some((_, label)) = labels.next_if(|&(at, _)| at == node) {
                write!(f, " {label}:")?;
            }
            writeln!(f)?;
            for (_, edge) in procedure.edges_from(node) {
                write!(f, "    ")?;
                self.write_action(f, proc, &edge.action)?;
                match edge.branch {
                    None => writeln!(f, " -> {}", edge.to)?,
                    Some(true) => writeln!(f, " -> {} (holds)", edge.to)?,
                    Some(false) => writeln!(f, " -> {} (fails)", edge.to)?,
                }
            }
        }
        Ok(())
    }

    fn write_action(&self, out: &mut dyn Write, proc: ProcId, action: &Action) -> fmt::Result {
        match action {
            Action::Skip => write!(out, "skip"),
            Action::Assume(e) => self.write_after(out, "assume ", proc, *e),
            Action::Assert(e) => self.write_after(out, "assert ", proc, *e),
            Action::Assign(assign) => {
                let targets = assign.pairs.iter().map(|(target, _)| {
                    let Target { var, passive } = *target;
                    self.place(proc, Place { var, primed: false, passive })
                });
                write_targets(out, targets)?;
                for (i, &(_, value)) in assign.pairs.iter().enumerate() {
                    self.write_after(out, if i == 0 { "" } else { ", " }, proc, value)?;
                }
                if assign.pairs.is_empty() && assign.constrain.is_empty() {
                    return write!(out, "assign nothing");
                }
                for (i, &condition) in assign.constrain.iter().enumerate() {
                    let first = i == 0 && assign.pairs.is_empty();
                    self.write_after(out, if first { "constrain " } else { " constrain " }, proc, condition)?;
                }
                Ok(())
            }
            Action::Call(call) => {
                let targets = call.targets.iter().map(|target| match *target {
                    None => "_".to_owned(),
                    Some(var) => self.variable(proc, var).name.clone(),
                });
                write_targets(out, targets)?;
                self.write_call(out, proc, call)
            }
            Action::Spawn(call) => {
                write!(out, "start_thread ")?;
                self.write_call(out, proc, call)
            }
            Action::Fork(node) => write!(out, "start_thread goto {node}"),
            Action::EndThread => write!(out, "end_thread"),
            Action::AtomicBegin => write!(out, "atomic_begin"),
            Action::AtomicEnd => write!(out, "atomic_end"),
        }
    }

    fn write_call(&self, out: &mut dyn Write, proc: ProcId, call: &Call) -> fmt::Result {
        write!(out, "{}(", self.procedure(call.callee).name)?;
        for (i, &arg) in call.args.iter().enumerate() {
            self.write_after(out, if i == 0 { "" } else { ", " }, proc, arg)?;
        }
        write!(out, ")")
    }

    fn write_after(&self, out: &mut dyn Write, before: &str, proc: ProcId, expr: Expr) -> fmt::Result {
        out.write_str(before)?;
        self.write_expr(out, proc, expr)
    }

    fn place(&self, proc: ProcId, place: Place) -> String {
        let prime = if place.primed { "'" } else { "" };
        let passive = if place.passive { "$" } else { "" };
        format!("{prime}{}{passive}", self.variable(proc, place.var).name)
    }

    /// An operand of postfix code ends right before its operator or before the operand to its right, so it is enough
    /// to know where each operand starts.
    fn write_expr(&self, out: &mut dyn Write, proc: ProcId, expr: Expr) -> fmt::Result {
        enum Todo {
            /// The operand that ends with this instruction.
            Operand(usize),
            Text(&'static str),
        }
        let code = self.exprs.ops(expr);
        let mut start_of = Vec::with_capacity(code.len());
        for (i, op) in code.iter().enumerate() {
            let mut start = i;
            for _ in 0..arity(*op) {
                start = start_of[start - 1];
            }
            start_of.push(start);
        }
        let mut todo = vec![Todo::Operand(code.len() - 1)];
        while let Some(item) = todo.pop() {
            let end = match item {
                Todo::Text(text) => {
                    out.write_str(text)?;
                    continue;
                }
                Todo::Operand(end) => end,
            };
            // The stack is last in, first out, so the pieces are pushed in reverse order.
            match code[end] {
                Op::Const(value) => out.write_str(if value { "T" } else { "F" })?,
                Op::Choice => out.write_str("*")?,
                Op::Read(place) => out.write_str(&self.place(proc, place))?,
                Op::Not => todo.extend([Todo::Operand(end - 1), Todo::Text("!")]),
                op @ (Op::And | Op::Or | Op::Xor) => {
                    let sign = match op {
                        Op::And => " & ",
                        Op::Or => " | ",
                        _ => " ^ ",
                    };
                    let right = end - 1;
                    let left = start_of[right] - 1;
                    todo.extend([
                        Todo::Text(")"),
                        Todo::Operand(right),
                        Todo::Text(sign),
                        Todo::Operand(left),
                    ]);
                    todo.push(Todo::Text("("));
                }
                Op::Ite => {
                    let otherwise = end - 1;
                    let then = start_of[otherwise] - 1;
                    let condition = start_of[then] - 1;
                    todo.extend([Todo::Text(")"), Todo::Operand(otherwise), Todo::Text(" : ")]);
                    todo.extend([Todo::Operand(then), Todo::Text(" ? "), Todo::Operand(condition)]);
                    todo.push(Todo::Text("("));
                }
            }
        }
        Ok(())
    }
}

fn write_targets(out: &mut dyn Write, targets: impl Iterator<Item = String>) -> fmt::Result {
    let targets: Vec<String> = targets.collect();
    if targets.is_empty() { Ok(()) } else { write!(out, "{} := ", targets.join(", ")) }
}

fn arity(op: Op) -> usize {
    match op {
        Op::Const(_) | Op::Choice | Op::Read(_) => 0,
        Op::Not => 1,
        Op::And | Op::Or | Op::Xor => 2,
        Op::Ite => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Assign, Edge, ExprPool, Node, Var, Variable};
    use crate::source::Span;

    fn read(var: Var) -> Op {
        Op::Read(Place { var, primed: false, passive: false })
    }

    fn code(exprs: &mut ExprPool, ops: &[Op]) -> Expr {
        let start = exprs.begin();
        for &op in ops {
            exprs.push(op);
        }
        exprs.finish(start)
    }

    fn variables(names: &[&str]) -> Vec<Variable> {
        names.iter().map(|&name| Variable { name: name.to_owned(), span: Span::default() }).collect()
    }

    /// One procedure `f(p) decl x returns r` that makes the given steps one after the other.
    fn program(exprs: ExprPool, steps: Vec<(Action, Option<bool>)>) -> Program {
        let last = steps.len() - 1;
        let node = |i: usize| Node::from_index(if i == 0 { 0 } else { i + 1 });
        let steps = steps.into_iter().enumerate();
        let edges: Vec<Edge> = steps
            .map(|(i, (action, branch))| {
                let to = if i == last { Procedure::EXIT } else { node(i + 1) };
                Edge { from: node(i), to, action, span: Span::default(), branch, silent: false }
            })
            .collect();
        let nodes = edges.len() as u32 + 1;
        let first_edge = (0..=nodes).map(|n| if n == 0 { 0 } else { n.saturating_sub(1).max(1) }).collect();
        let procedure = Procedure {
            name: "f".to_owned(),
            span: Span::default(),
            params: 1,
            locals: variables(&["p", "x", "<return 1>"]),
            returns: 1,
            enforce: None,
            labels: vec![("L".to_owned(), Procedure::ENTRY), ("M".to_owned(), Procedure::ENTRY)],
            nodes,
            edges,
            first_edge,
        };
        Program {
            globals: variables(&["g", "h"]),
            procedures: vec![procedure],
            start: ProcId::from_index(0),
            exprs,
            starts_threads: false,
            atomic_flag: None,
        }
    }

    #[test]
    fn a_program_prints_as_its_graphs() {
        let mut exprs = ExprPool::default();
        let (g, h) = (read(Var::Global(0)), read(Var::Global(1)));
        let (p, x) = (read(Var::Local(0)), read(Var::Local(1)));
        let new_x = Op::Read(Place { var: Var::Local(1), primed: true, passive: false });
        let other_x = Op::Read(Place { var: Var::Local(1), primed: false, passive: true });
        let own = |var| Target { var, passive: false };
        let ite = code(&mut exprs, &[g, h, Op::Not, p, x, Op::Xor, Op::Ite]);
        let both = code(&mut exprs, &[g, h, Op::And, x, Op::Or]);
        let assign = Assign {
            pairs: vec![
                (own(Var::Local(1)), exprs.single(Op::Choice)),
                (Target { var: Var::Local(1), passive: true }, code(&mut exprs, &[other_x, g, Op::And])),
            ],
            constrain: vec![code(&mut exprs, &[new_x, x, Op::Xor])],
        };
        let call = |targets, arg| Box::new(Call { callee: ProcId::from_index(0), args: vec![arg], targets });
        let arg = exprs.single(Op::Const(true));
        let steps = vec![
            (Action::Assume(ite), Some(true)),
            (Action::Assert(both), Some(false)),
            (Action::Assign(Box::new(assign)), None),
            (Action::Assign(Box::new(Assign { pairs: Vec::new(), constrain: Vec::new() })), None),
            (Action::Call(call(vec![Some(Var::Global(1))], arg)), None),
            (Action::Call(call(vec![None], both)), None),
            (Action::Spawn(call(Vec::new(), arg)), None),
            (Action::Fork(Procedure::ENTRY), None),
            (Action::AtomicBegin, None),
            (Action::AtomicEnd, None),
            (Action::EndThread, None),
        ];
        let mut program = program(exprs, steps);
        program.procedures[0].enforce = Some(both);
        insta::assert_snapshot!(program, @r"
        decl g, h;
        start f

        f(p)
          decl x
          returns <return 1>
          enforce ((g & h) | x)
          n0 entry L: M:
            assume (g ? !h : (p ^ x)) -> n2 (holds)
          n1 exit
          n2
            assert ((g & h) | x) -> n3 (fails)
          n3
            x, x$ := *, (x$ & g) constrain ('x ^ x) -> n4
          n4
            assign nothing -> n5
          n5
            h := f(T) -> n6
          n6
            _ := f(((g & h) | x)) -> n7
          n7
            start_thread f(T) -> n8
          n8
            start_thread goto n0 -> n9
          n9
            atomic_begin -> n10
          n10
            atomic_end -> n11
          n11
            end_thread -> n1
        ");
    }

    #[test]
    fn a_million_operators_print_without_recursion() {
        let mut e = ExprPool::default();
        let mut ops = vec![read(Var::Global(0))];
        for _ in 0..500_000 {
            ops.extend([Op::Not, read(Var::Global(1)), Op::And]);
        }
        let deep = code(&mut e, &ops);
        let program = program(e, vec![(Action::Assume(deep), None)]);
        let text = program.expr_text(ProcId::from_index(0), deep);
        assert!(text.starts_with("(!(!(!("));
        assert!(text.ends_with(" & h) & h) & h)"));
        assert_eq!(text.len(), 1 + 500_000 * "(! & h)".len());
    }
}
