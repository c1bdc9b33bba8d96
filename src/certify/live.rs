//! The checker's own analysis of live variables, for sequential programs.
//!
//! Proofs by induction and by unrolling may leave out runs in which a state occurs twice. Two states count as the
//! same if they agree on the *live* variables: those whose values may influence how a run continues from there. Sets
//! that are too large are harmless, since fewer runs are left out; sets that are too small would let a wrong proof
//! pass. So the sets are computed here from the semantics in [`crate::model`], without the analysis that the engines
//! use.
//!
//! For a node of a procedure, let *exposed* be the variables that some path from there reads before it writes them,
//! and *through* those that some path from there to the exit of the procedure does not write. Paths go through the
//! procedure and the procedures that it calls; conditions are ignored. Both are the least sets with the following
//! properties:
//! - at every node: the variables that `enforce` reads are exposed;
//! - at a node that must not be reached: nothing else is in either set, since the run ends there;
//! - at the exit: every variable is in *through*;
//! - for a step that reads `R` and writes `W`: `exposed >= R + (exposed after it - W)` and
//!   `through >= through after it - W`;
//! - for a call, where `W` are the variables that take the return values: the same, but a variable of the sets after
//!   the call counts only if it is in the callee's *through* at its entry; in addition, everything that the callee
//!   exposes at its entry is exposed. A callee touches no local of its caller, so all the caller's locals count if
//!   the callee can return at all.
//!
//! A procedure may return to any of its call sites. A global is in the procedure's *context* if it is live after one
//! of these call sites and the return does not write it. Of the procedure's locals, the return slots whose value some
//! call takes are in the context. A variable is live at a node if it is exposed there, or if it is in *through* there
//! and in the context.
//!
//! Variables do not influence each other, so they are analysed in pages of 64, with one machine word for each node.

use std::collections::{BTreeMap, BTreeSet};

use super::encode::Model;
use super::{Stop, poll};
use crate::model::{Action, Expr, Node, ProcId, Procedure, Program, Var};

/// The live variables at a number of program counters.
pub(super) struct Live {
    sets: BTreeMap<(ProcId, Node), Vec<Var>>,
}

impl Live {
    /// The variables that are live at these program counters.
    pub fn at(model: &Model<'_>, points: BTreeSet<(ProcId, Node)>) -> Result<Self, Stop> {
        let program = model.program;
        let flow = Flow::new(model)?;
        let mut sets: BTreeMap<(ProcId, Node), Vec<Var>> =
            points.into_iter().map(|point| (point, Vec::new())).collect();
        let locals = program.procedures.iter().map(|p| p.locals.len()).max().unwrap_or(0) as u32;
        let globals = program.globals.len() as u32;
        let pages_of = |count: u32| (0..count).step_by(PAGE as usize);
        let pages = pages_of(globals).map(Var::Global).chain(pages_of(locals).map(Var::Local));
        for first in pages {
            let page = Page::new(&flow, first);
            let facts = flow.solve(&page, model)?;
            let contexts = flow.contexts(&page, &facts, model)?;
            for (&(id, node), live) in &mut sets {
                let fact = facts[flow.number(id, node)];
                let mut word = fact.exposed | fact.through & contexts[id.index()];
                while word != 0 {
                    live.push(nth(first, word.trailing_zeros()));
                    word &= word - 1;
                }
            }
        }
        Ok(Self { sets })
    }

    /// The variables that are live at one of the requested program counters: globals first, then locals, each sorted
    /// by number.
    pub fn variables(&self, procedure: ProcId, node: Node) -> &[Var] {
        self.sets.get(&(procedure, node)).map_or(&[], |set| set)
    }
}

/// The number of variables in a page.
const PAGE: u32 = 64;

/// The variable at a position of the page that begins with `first`.
fn nth(first: Var, position: u32) -> Var {
    match first {
        Var::Global(i) => Var::Global(i + position),
        Var::Local(i) => Var::Local(i + position),
    }
}

/// How a variable is used. In [`Flow::uses`], a number says which edge or procedure uses it.
#[derive(Clone, Copy)]
enum Use {
    /// The edge with this number reads the variable.
    Read,
    /// The edge with this number writes the variable.
    Written,
    /// The variable matters at every node of the procedure with this number: `enforce` reads it, or a step reads
    /// another thread's copy of it.
    Everywhere,
    /// Some call takes the value of this return slot of the procedure with this number.
    Taken,
}

/// A program with consecutive numbers for all nodes and edges, and with the uses of its variables.
struct Flow<'a> {
    program: &'a Program,
    first_node: Vec<usize>,
    first_edge: Vec<usize>,
    procedure_of: Vec<ProcId>,
    /// For every node, the nodes whose facts depend on its facts.
    dependents: Vec<Vec<u32>>,
    /// Whether each procedure can return.
    returns: Vec<bool>,
    /// All uses, sorted by variable.
    uses: Vec<(Var, Use, usize)>,
}

/// The sets *exposed* and *through* at a node, restricted to the variables of one page.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Fact {
    exposed: u64,
    through: u64,
}

/// The uses of the variables of one page.
struct Page {
    of_locals: bool,
    read: Vec<u64>,
    written: Vec<u64>,
    everywhere: Vec<u64>,
    taken: Vec<u64>,
}

impl Page {
    fn new(flow: &Flow<'_>, first: Var) -> Self {
        let mut page = Self::empty(flow);
        page.of_locals = matches!(first, Var::Local(_));
        let start = flow.uses.partition_point(|&(var, ..)| var < first);
        let end = flow.uses.partition_point(|&(var, ..)| var < nth(first, PAGE));
        for &(var, how, at) in &flow.uses[start..end] {
            let bit = 1 << (position(var) % PAGE);
            let table = match how {
                Use::Read => &mut page.read,
                Use::Written => &mut page.written,
                Use::Everywhere => &mut page.everywhere,
                Use::Taken => &mut page.taken,
            };
            table[at] |= bit;
        }
        // In a program with one thread, nothing reads the flag that forbids context switches. It counts as live all
        // the same, as it does in the evidence.
        if let Some(flag) = flow.program.atomic_flag.filter(|_| !page.of_locals)
            && position(first) == flag / PAGE * PAGE
        {
            page.everywhere.iter_mut().for_each(|word| *word |= 1 << (flag % PAGE));
        }
        page
    }

    /// A page in which no variable is used.
    fn empty(flow: &Flow<'_>) -> Self {
        let (procedures, edges) = (flow.program.procedures.len(), flow.edge_count());
        Self {
            of_locals: false,
            read: vec![0; edges],
            written: vec![0; edges],
            everywhere: vec![0; procedures],
            taken: vec![0; procedures],
        }
    }
}

fn position(var: Var) -> u32 {
    match var {
        Var::Global(i) | Var::Local(i) => i,
    }
}

impl<'a> Flow<'a> {
    fn new(model: &Model<'a>) -> Result<Self, Stop> {
        let program = model.program;
        let (mut nodes, mut edges) = (0, 0);
        let mut flow = Self {
            program,
            first_node: Vec::new(),
            first_edge: Vec::new(),
            procedure_of: Vec::new(),
            dependents: Vec::new(),
            returns: vec![true; program.procedures.len()],
            uses: Vec::new(),
        };
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            flow.first_node.push(nodes);
            flow.first_edge.push(edges);
            flow.procedure_of.extend(std::iter::repeat_n(id, procedure.nodes as usize));
            nodes += procedure.nodes as usize;
            edges += procedure.edges.len();
        }
        flow.dependents.resize(nodes, Vec::new());
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            poll(model.budget)?;
            if let Some(condition) = procedure.enforce {
                flow.uses
                    .extend(program.exprs.reads(condition).map(|p| (p.var, Use::Everywhere, id.index())));
            }
            for (i, edge) in procedure.edges.iter().enumerate() {
                let from = flow.number(id, edge.from) as u32;
                let behind = flow.number(id, edge.to);
                flow.dependents[behind].push(from);
                if let Action::Call(call) = &edge.action {
                    let entry = flow.number(call.callee, Procedure::ENTRY);
                    flow.dependents[entry].push(from);
                }
                let number = flow.first_edge[id.index()] + i;
                flow.use_of(&edge.action, number, id);
            }
        }
        poll(model.budget)?;
        flow.uses.sort_unstable_by_key(|&(var, ..)| var);
        // If no variable is used, *through* at a node is empty exactly if no path leads from there to the exit.
        let ways = flow.solve(&Page::empty(&flow), model)?;
        for id in program.procedure_ids() {
            flow.returns[id.index()] = ways[flow.number(id, Procedure::ENTRY)].through != 0;
        }
        Ok(flow)
    }

    fn edge_count(&self) -> usize {
        self.program.procedures.iter().map(|p| p.edges.len()).sum()
    }

    fn number(&self, id: ProcId, node: Node) -> usize {
        self.first_node[id.index()] + node.index()
    }

    /// Records which variables an edge of a procedure reads and writes.
    fn use_of(&mut self, action: &Action, edge: usize, id: ProcId) {
        let program = self.program;
        let read = |uses: &mut Vec<_>, expr: Expr, assigned: &BTreeSet<Var>| {
            for place in program.exprs.reads(expr) {
                if place.passive {
                    // There is no other thread, so nothing is read. The variable counts as used all the same, as it
                    // does in the evidence.
                    uses.push((place.var, Use::Everywhere, id.index()));
                } else if !(place.primed && assigned.contains(&place.var)) {
                    // A primed read of a variable that is assigned here reads its new value, and so not its old one.
                    uses.push((place.var, Use::Read, edge));
                }
            }
        };
        let nothing = BTreeSet::new();
        match action {
            Action::Assume(condition) | Action::Assert(condition) => {
                read(&mut self.uses, *condition, &nothing);
            }
            Action::Assign(assign) => {
                let own = assign.pairs.iter().filter(|(target, _)| !target.passive);
                let assigned: BTreeSet<Var> = own.map(|(target, _)| target.var).collect();
                for &(_, value) in &assign.pairs {
                    read(&mut self.uses, value, &nothing);
                }
                for &condition in &assign.constrain {
                    read(&mut self.uses, condition, &assigned);
                }
                self.uses.extend(assigned.into_iter().map(|var| (var, Use::Written, edge)));
            }
            Action::Call(call) => {
                call.args.iter().for_each(|&arg| read(&mut self.uses, arg, &nothing));
                let slots = program.procedure(call.callee).first_return()..;
                for (slot, target) in slots.zip(&call.targets) {
                    if let Some(var) = *target {
                        self.uses.push((var, Use::Written, edge));
                        self.uses.push((Var::Local(slot), Use::Taken, call.callee.index()));
                    }
                }
            }
            // Proofs about programs that start threads are rejected before this analysis.
            Action::Spawn(_)
            | Action::Fork(_)
            | Action::Skip
            | Action::EndThread
            | Action::AtomicBegin
            | Action::AtomicEnd => {}
        }
    }

    /// Computes the least solution for all nodes.
    fn solve(&self, page: &Page, model: &Model<'_>) -> Result<Vec<Fact>, Stop> {
        let nodes = self.dependents.len();
        let mut facts = vec![Fact::default(); nodes];
        let mut waits = vec![true; nodes];
        // Most edges lead from a node with a smaller number to one with a larger number, and facts propagate against
        // the edges. So nodes with large numbers are taken first.
        let mut work: Vec<u32> = (0..nodes as u32).collect();
        let mut steps = 0_u32;
        while let Some(node) = work.pop() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1_024) {
                poll(model.budget)?;
            }
            let node = node as usize;
            waits[node] = false;
            let fact = self.right_side(page, model, &facts, node);
            if fact != facts[node] {
                facts[node] = fact;
                for &dependent in &self.dependents[node] {
                    if !std::mem::replace(&mut waits[dependent as usize], true) {
                        work.push(dependent);
                    }
                }
            }
        }
        Ok(facts)
    }

    /// The right-hand side of the equations for a node, for the given facts.
    fn right_side(&self, page: &Page, model: &Model<'_>, facts: &[Fact], number: usize) -> Fact {
        let id = self.procedure_of[number];
        let node = Node::from_index(number - self.first_node[id.index()]);
        let mut fact = Fact { exposed: page.everywhere[id.index()], through: 0 };
        if model.forbidden.contains(id, node) {
            return fact;
        }
        if node == Procedure::EXIT {
            fact.through = u64::MAX;
            return fact;
        }
        for (edge_id, edge) in self.program.procedure(id).edges_from(node) {
            let at = self.first_edge[id.index()] + edge_id.index();
            fact.exposed |= page.read[at];
            let mut passes = !page.written[at];
            match &edge.action {
                Action::EndThread => continue,
                Action::Call(call) if page.of_locals => {
                    passes = if self.returns[call.callee.index()] { passes } else { 0 };
                }
                Action::Call(call) => {
                    let callee = facts[self.number(call.callee, Procedure::ENTRY)];
                    fact.exposed |= callee.exposed;
                    passes &= callee.through;
                }
                _ => {}
            }
            let behind = facts[self.number(id, edge.to)];
            fact.exposed |= passes & behind.exposed;
            fact.through |= passes & behind.through;
        }
        fact
    }

    /// For every procedure, the variables in its context.
    fn contexts(&self, page: &Page, facts: &[Fact], model: &Model<'_>) -> Result<Vec<u64>, Stop> {
        let mut contexts = page.taken.clone();
        if page.of_locals {
            return Ok(contexts);
        }
        let mut work: Vec<ProcId> = self.program.procedure_ids().collect();
        while let Some(id) = work.pop() {
            poll(model.budget)?;
            for (i, edge) in self.program.procedure(id).edges.iter().enumerate() {
                let Action::Call(call) = &edge.action else { continue };
                let behind = facts[self.number(id, edge.to)];
                let live = behind.exposed | behind.through & contexts[id.index()];
                let live = live & !page.written[self.first_edge[id.index()] + i];
                let context = &mut contexts[call.callee.index()];
                if *context | live != *context {
                    *context |= live;
                    work.push(call.callee);
                }
            }
        }
        Ok(contexts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::certify::testing::{assertions, sequential_corpus};
    use crate::model::{Property, Task};

    fn all_points(task: &Task) -> BTreeSet<(ProcId, Node)> {
        let nodes = |id: ProcId| (0..task.program.procedure(id).nodes as usize).map(Node::from_index);
        task.program.procedure_ids().flat_map(|id| nodes(id).map(move |node| (id, node))).collect()
    }

    /// The names of what is live at the entry and at the exit of a procedure.
    fn at_both_ends(task: &Task, name: &str) -> [String; 2] {
        let budget = Budget::unlimited();
        let model = Model::new(task, &budget).expect("sequential");
        let live = Live::at(&model, all_points(task)).expect("no limit");
        let position = task.program.procedures.iter().position(|p| p.name == name).expect(name);
        let id = ProcId::from_index(position);
        [Procedure::ENTRY, Procedure::EXIT].map(|node| {
            let names = live.variables(id, node).iter().map(|&var| &*task.program.variable(id, var).name);
            names.collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn what_is_read_before_it_is_written_is_live_through_calls() {
        let task = assertions(
            "decl a, b, c, d; void main() begin b := T; f(); assert(a | d); end
             void f() begin if (b) then c := T; fi d := c; end",
        );
        assert_eq!(at_both_ends(&task, "main"), ["a c", ""]);
        assert_eq!(at_both_ends(&task, "f"), ["a b c", "a d"]);
    }

    #[test]
    fn nothing_is_live_behind_a_call_that_never_returns() {
        let task = assertions(
            "decl a, b; void main() begin f(); assert(a); end void f() begin L: if (b) then skip; fi goto L; end",
        );
        assert_eq!(at_both_ends(&task, "main"), ["b", ""]);
        assert_eq!(at_both_ends(&task, "f"), ["b", "a"]);
    }

    #[test]
    fn return_slots_are_live_if_some_call_takes_their_value() {
        let task = assertions(
            "decl a, b; void main() begin a, b := f(a); assert(a); end
             bool<2> f(x) begin decl y; y := x; return y, !y; end",
        );
        assert_eq!(at_both_ends(&task, "f"), ["x", "<return 1> <return 2>"]);
        let task = assertions("void main() begin f(T); end bool f(x) begin return x; end");
        assert_eq!(at_both_ends(&task, "f"), ["x", ""]);
    }

    #[test]
    fn enforced_variables_are_live_everywhere() {
        let task = assertions("decl a, b; void main() begin enforce a | b; a := T; b := T; end");
        assert_eq!(at_both_ends(&task, "main"), ["a b", "a b"]);
    }

    #[test]
    fn the_sets_are_those_of_the_engines_on_the_corpus() {
        // Larger sets would be sound, too, but then proofs of the engines might be rejected.
        let (mut compared, mut live_ones) = (0, 0);
        for mut task in sequential_corpus() {
            let labels: BTreeSet<String> =
                task.program.procedures.iter().flat_map(|p| &p.labels).map(|l| l.0.clone()).collect();
            let properties = labels.into_iter().map(Property::LabelUnreachable).chain([Property::Assertions]);
            for property in properties {
                task.property = property;
                let budget = Budget::unlimited();
                let model = Model::new(&task, &budget).expect("sequential");
                let mine = Live::at(&model, all_points(&task)).expect("no limit");
                let theirs = crate::model::live::Live::of(&task);
                for (id, node) in all_points(&task) {
                    let expected: Vec<Var> = theirs.live_at(id, node).collect();
                    assert_eq!(mine.variables(id, node), expected, "{node}\n{}", task.program);
                    live_ones += expected.len();
                    compared += 1;
                }
            }
        }
        assert!(compared > 500 && live_ones > 500, "{compared} {live_ones}");
    }

    #[test]
    fn a_spent_budget_ends_the_analysis() {
        let task = assertions("decl a; void main() begin assert(a); end");
        let budget = Budget::unlimited();
        let model = Model::new(&task, &budget).expect("sequential");
        budget.interrupt();
        assert!(matches!(Live::at(&model, all_points(&task)), Err(Stop::Exhausted(_))));
    }
}
