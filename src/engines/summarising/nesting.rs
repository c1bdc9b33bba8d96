//! A bound on how deep the calls of a recursive component have to be nested to find all its summaries.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, theorem 4.5 and the
//! remarks after it.
//!
//! A *head* is an activation as its caller sees it: the procedure, the values it is entered with, and either the
//! values it returns or the fact that it fails. If an activation has the same head as an activation that encloses
//! it, the outer one can do what the inner one does, and the run becomes shorter. So it is enough to consider runs
//! in which the heads of nested activations are pairwise different. If there is no chain of `r + 1` different
//! heads, each nested in the one before, then runs with at most `r` nested activations give all summaries. Whether
//! such a chain exists is a SAT question.
//!
//! Which heads can be nested directly in which others is computed as a universal summary. In a copy of the
//! procedure, calls into the component have arbitrary results, and one of these calls, chosen nondeterministically,
//! is recorded with the values it is entered with and those it returns. This copy is not recursive, and its summary
//! relates the head of an activation to a nested head. It over-approximates the program, so the `r` that is found
//! may be larger than needed.
//!
//! Deviation: locals are not part of a head, and neither are globals that are not live at the entry
//! ([errata 12](crate::errata::item_12)). An activation fails if a violation happens in it or in a call out of the
//! component ([errata 13](crate::errata::item_13)).

use std::rc::Rc;

use cusp_encodings::{CnfEncoder, CnfStyle, Substitution, Term, TermArena};
use cusp_solvers::{Answer, Limits, SatSolver};

use super::edge::Edge;
use super::saturate::{Entries, Saturation};
use crate::budget::Budget;
use crate::evidence::{Place, Reason};
use crate::model::{
    Action, Assign, Call, Edge as Step, Expr, ExprPool, Node, Op, Place as Read, ProcId, Procedure, Program,
    Property, Target, Task, Var, Variable,
};
use crate::progress::Quiet;
use crate::source::Span;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;

/// The greatest length of a chain of heads that is tried.
const MOST_HEADS: usize = 32;

/// The greatest number of conflicts for a question about a chain.
const CONFLICTS: u64 = 2_000;

/// A number of nested activations of the component that is enough to find all summaries; `None` if no such number
/// was found with little effort.
///
/// # Errors
/// If the budget is used up.
pub fn most_nested(
    task: &Task,
    component: &[ProcId],
    may_fail: &dyn Fn(ProcId) -> bool,
    budget: &Budget,
) -> Result<Option<usize>, Reason> {
    let heads = Heads::of(task, component, may_fail);
    let nested = heads.task_with_notes(task, may_fail);
    let scopes = Scopes::of(&nested);
    let blocks = Blocks::new(&nested, &scopes);
    let mut saturation = Saturation::new(&blocks, budget, Entries::Arbitrary, true);
    for position in 0..saturation.calls.components.len() {
        for procedure in saturation.calls.components[position].clone() {
            if procedure != nested.program.start {
                saturation.enter(procedure)?;
                saturation.saturate(&Quiet)?;
            }
        }
    }
    let exits = |interface: &Interface| {
        saturation.tables.table((interface.procedure, Place::Node(Procedure::EXIT))).known().to_vec()
    };
    let summaries: Vec<Vec<Rc<Edge>>> = heads.interfaces.iter().map(exits).collect();
    let mut chain = Chain::new(&heads, &mut saturation.tables.arena, budget);
    for r in 1..MOST_HEADS {
        if let Some(reason) = budget.exhausted() {
            return Err(reason);
        }
        chain.nest(&summaries, &scopes);
        match chain.is_possible() {
            Some(true) => {}
            Some(false) => return Ok(Some(r)),
            None => return budget.exhausted().map_or(Ok(None), Err),
        }
    }
    Ok(None)
}

/// The variables of a head of one procedure.
struct Interface {
    procedure: ProcId,
    /// Globals and parameters that matter at the entry.
    entry: Vec<Var>,
    /// Globals that it may write and return slots that callers read.
    exit: Vec<Var>,
    /// The first of the added return slots, which record the nested head.
    first_note: u32,
    may_fail: bool,
}

/// The interfaces of the procedures of a component, and the layout of the added return slots. The constants count
/// from the first added slot.
struct Heads {
    interfaces: Vec<Interface>,
    id_bits: usize,
    entry_bits: usize,
    exit_bits: usize,
}

impl Heads {
    /// Whether a call was recorded.
    const NOTED: usize = 0;
    /// Whether the activation fails.
    const FAILS: usize = 1;
    /// Whether the recorded nested activation fails.
    const NESTED_FAILS: usize = 2;
    const FIRST_ID: usize = 3;

    fn of(task: &Task, component: &[ProcId], may_fail: &dyn Fn(ProcId) -> bool) -> Self {
        let scopes = Scopes::of_comparable_entries(task);
        let interface = |&procedure: &ProcId| {
            let scope = scopes.scope(procedure);
            let entry = scopes.live_slots(procedure, Procedure::ENTRY);
            let entry = entry.filter(|&slot| slot < scope.entry_width()).map(|slot| scope.var(slot));
            let exit = scope.exit_slots().iter().map(|&slot| slot as usize);
            let exit = exit.filter(|&slot| scopes.is_live(procedure, Procedure::EXIT, slot));
            Interface {
                procedure,
                entry: entry.collect(),
                exit: exit.map(|slot| scope.var(slot)).collect(),
                first_note: task.program.procedure(procedure).locals.len() as u32,
                may_fail: may_fail(procedure),
            }
        };
        let interfaces: Vec<Interface> = component.iter().map(interface).collect();
        Self {
            id_bits: interfaces.len().next_power_of_two().ilog2() as usize,
            entry_bits: interfaces.iter().map(|i| i.entry.len()).max().unwrap_or(0),
            exit_bits: interfaces.iter().map(|i| i.exit.len()).max().unwrap_or(0),
            interfaces,
        }
    }

    fn first_entry(&self) -> usize {
        Self::FIRST_ID + self.id_bits
    }

    fn first_exit(&self) -> usize {
        self.first_entry() + self.entry_bits
    }

    fn notes(&self) -> usize {
        self.first_exit() + self.exit_bits
    }

    fn position(&self, procedure: ProcId) -> Option<usize> {
        self.interfaces.iter().position(|interface| interface.procedure == procedure)
    }

    /// The program in which the procedures of the component record a nested head, with a new start procedure that
    /// reads all results, so that they are live.
    fn task_with_notes(&self, task: &Task, may_fail: &dyn Fn(ProcId) -> bool) -> Task {
        let mut program = task.program.clone();
        // A run that passes an assertion continues with its condition assumed. Failures in callees outside the
        // component are modelled at the calls.
        for procedure in &mut program.procedures {
            for edge in &mut procedure.edges {
                if let Action::Assert(condition) = edge.action {
                    edge.action = Action::Assume(condition);
                }
            }
        }
        for (position, interface) in self.interfaces.iter().enumerate() {
            let original = task.program.procedure(interface.procedure);
            let mut body = Body::new(original, self, interface, &mut program.exprs);
            body.note_calls(original, self, &task.property, may_fail);
            program.procedures[interface.procedure.index()] = body.finish(original, position);
        }
        program.start = ProcId::from_index(program.procedures.len());
        let start = self.start(&mut program);
        program.procedures.push(start);
        Task { program, property: Property::Assertions, threads: None }
    }

    /// A start procedure that calls every procedure of the component with arbitrary arguments, and then reads all
    /// globals and results.
    fn start(&self, program: &mut Program) -> Procedure {
        let mut edges = Vec::new();
        let mut locals = 0;
        for (i, interface) in self.interfaces.iter().enumerate() {
            let callee = program.procedure(interface.procedure);
            let (params, returns) = (callee.params, callee.returns);
            locals = locals.max(returns);
            let back = Node::from_index(2 + i);
            let args = (0..params).map(|_| program.exprs.single(Op::Choice)).collect();
            let targets = (0..returns).map(|local| Some(Var::Local(local))).collect();
            let call = Call { callee: interface.procedure, args, targets };
            edges.push((Procedure::ENTRY, back, Action::Call(Box::new(call))));
            let globals = (0..program.globals.len() as u32).map(Var::Global);
            let start = program.exprs.begin();
            program.exprs.push(Op::Const(true));
            for var in globals.chain((0..returns).map(Var::Local)) {
                program.exprs.push(read(var));
                program.exprs.push(Op::Or);
            }
            edges.push((back, Procedure::EXIT, Action::Assume(program.exprs.finish(start))));
        }
        let locals = (0..locals).map(|i| variable(&format!("seen{i}"))).collect();
        procedure("<nesting>", 0, locals, 0, 2 + self.interfaces.len(), edges)
    }
}

/// A procedure that records a nested head, while it is built.
struct Body<'a> {
    interface: &'a Interface,
    exprs: &'a mut ExprPool,
    notes: usize,
    nodes: usize,
    edges: Vec<(Node, Node, Action)>,
    /// The node for the original entry.
    begin: Node,
    /// The node for the original exit. Control leaves the procedure only from here.
    end: Node,
}

impl<'a> Body<'a> {
    fn new(original: &Procedure, heads: &Heads, interface: &'a Interface, exprs: &'a mut ExprPool) -> Self {
        let nodes = original.nodes as usize;
        let (begin, end) = (Node::from_index(nodes), Node::from_index(nodes + 1));
        let mut body =
            Self { interface, exprs, notes: heads.notes(), nodes: nodes + 2, edges: Vec::new(), begin, end };
        let nothing: Vec<(Var, Op)> =
            (0..body.notes).map(|note| (body.note(note), Op::Const(false))).collect();
        body.assign(Procedure::ENTRY, begin, &nothing);
        let noted = body.exprs.single(read(body.note(Heads::NOTED)));
        body.edges.push((end, Procedure::EXIT, Action::Assume(noted)));
        body
    }

    fn note(&self, note: usize) -> Var {
        Var::Local(self.interface.first_note + note as u32)
    }

    fn moved(&self, node: Node) -> Node {
        match node {
            Procedure::ENTRY => self.begin,
            Procedure::EXIT => self.end,
            other => other,
        }
    }

    fn fresh(&mut self) -> Node {
        self.nodes += 1;
        Node::from_index(self.nodes - 1)
    }

    fn assign(&mut self, from: Node, to: Node, pairs: &[(Var, Op)]) {
        let pairs: Vec<(Var, Expr)> = pairs.iter().map(|&(var, op)| (var, self.exprs.single(op))).collect();
        self.assign_values(from, to, &pairs);
    }

    fn assign_values(&mut self, from: Node, to: Node, pairs: &[(Var, Expr)]) {
        let pairs = pairs.iter().map(|&(var, value)| (Target { var, passive: false }, value)).collect();
        self.edges.push((from, to, Action::Assign(Box::new(Assign { pairs, constrain: Vec::new() }))));
    }

    fn fail(&mut self, from: Node, note: &[usize]) {
        let pairs: Vec<(Var, Op)> = note.iter().map(|&note| (self.note(note), Op::Const(true))).collect();
        self.assign(from, self.end, &pairs);
    }

    /// Adds all edges of the original. A call into the component becomes two or three alternatives.
    fn note_calls(
        &mut self,
        original: &Procedure,
        heads: &Heads,
        property: &Property,
        may_fail: &dyn Fn(ProcId) -> bool,
    ) {
        for edge in &original.edges {
            let (from, to) = (self.moved(edge.from), self.moved(edge.to));
            match &edge.action {
                Action::Call(call) => {
                    if let Some(position) = heads.position(call.callee) {
                        self.note_call(from, to, call, heads, position);
                        continue;
                    }
                    self.edges.push((from, to, edge.action.clone()));
                    if may_fail(call.callee) {
                        self.fail(from, &[Heads::FAILS]);
                    }
                }
                Action::Assert(condition) => {
                    self.edges.push((from, to, Action::Assume(*condition)));
                    if *property == Property::Assertions {
                        let node = self.fresh();
                        let violated = self.exprs.negated(*condition);
                        self.edges.push((from, node, Action::Assume(violated)));
                        self.fail(node, &[Heads::FAILS]);
                    }
                }
                action => self.edges.push((from, to, action.clone())),
            }
        }
        if let Property::LabelUnreachable(label) = property {
            for node in original.nodes_labelled(label) {
                let node = self.moved(node);
                self.fail(node, &[Heads::FAILS]);
            }
        }
    }

    fn note_call(&mut self, from: Node, to: Node, call: &Call, heads: &Heads, position: usize) {
        let callee = &heads.interfaces[position];
        let returned = |var: &Var| match *var {
            Var::Global(_) => Some(*var),
            // In the original procedure, return slots are the last locals.
            Var::Local(slot) => {
                let first = callee.first_note as usize - call.targets.len();
                call.targets.get((slot as usize).checked_sub(first)?).copied().flatten()
            }
        };
        // The first alternative: the call returns arbitrary values.
        let mut any: Vec<(Var, Op)> =
            callee.exit.iter().filter_map(returned).map(|v| (v, Op::Choice)).collect();
        any.extend(call.targets.iter().flatten().map(|&target| (target, Op::Choice)));
        any.sort_by_key(|&(var, _)| var);
        any.dedup_by_key(|&mut (var, _)| var);
        self.assign(from, to, &any);
        // The second alternative: this is the call that is recorded.
        let [free, entered, back] = [self.fresh(), self.fresh(), self.fresh()];
        let noted = self.exprs.single(read(self.note(Heads::NOTED)));
        let is_free = self.exprs.negated(noted);
        self.edges.push((from, free, Action::Assume(is_free)));
        let mut notes = vec![(self.note(Heads::NOTED), self.exprs.single(Op::Const(true)))];
        for bit in 0..heads.id_bits {
            let value = self.exprs.single(Op::Const(position >> bit & 1 == 1));
            notes.push((self.note(Heads::FIRST_ID + bit), value));
        }
        for (i, var) in callee.entry.iter().enumerate() {
            let value = match *var {
                Var::Global(_) => self.exprs.single(read(*var)),
                Var::Local(param) => call.args[param as usize],
            };
            notes.push((self.note(heads.first_entry() + i), value));
        }
        self.assign_values(free, entered, &notes);
        if callee.may_fail {
            self.fail(entered, &[Heads::FAILS, Heads::NESTED_FAILS]);
        }
        let exits = (0..callee.exit.len()).map(|i| (self.note(heads.first_exit() + i), Op::Choice));
        let exits: Vec<(Var, Op)> = exits.collect();
        self.assign(entered, back, &exits);
        let mut values = any;
        for (i, var) in callee.exit.iter().enumerate() {
            let Some(target) = returned(var) else { continue };
            let note = read(self.note(heads.first_exit() + i));
            if let Some((_, value)) = values.iter_mut().find(|(var, _)| *var == target) {
                *value = note;
            }
        }
        self.assign(back, to, &values);
    }

    fn finish(self, original: &Procedure, position: usize) -> Procedure {
        let mut locals = original.locals.clone();
        locals.extend((0..self.notes).map(|note| variable(&format!("note{position}_{note}"))));
        let returns = original.returns as usize + self.notes;
        let mut procedure =
            procedure(&original.name, original.params, locals, returns as u32, self.nodes, self.edges);
        procedure.span = original.span;
        procedure.enforce = original.enforce;
        procedure
    }
}

/// A chain of nested heads, encoded as clauses.
struct Chain<'a> {
    heads: &'a Heads,
    arena: &'a mut TermArena,
    encoder: CnfEncoder,
    solver: Box<dyn SatSolver>,
    links: Vec<Head>,
}

/// A head as terms.
#[derive(Clone)]
struct Head {
    id: Vec<Term>,
    entry: Vec<Term>,
    exit: Vec<Term>,
    fails: Term,
}

impl<'a> Chain<'a> {
    fn new(heads: &'a Heads, arena: &'a mut TermArena, budget: &Budget) -> Self {
        let solver = budget.sat_solver();
        let encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
        let mut chain = Self { heads, arena, encoder, solver, links: Vec::new() };
        let first = chain.head();
        // Bits that the procedure of a head does not use are false.
        for (position, interface) in heads.interfaces.iter().enumerate() {
            let is_it = chain.is(&first, position);
            let surplus =
                first.entry[interface.entry.len()..].iter().chain(&first.exit[interface.exit.len()..]);
            for &bit in surplus {
                let absent = chain.arena.implies(is_it, !bit);
                chain.assert(absent);
            }
        }
        chain.links.push(first);
        chain
    }

    fn head(&mut self) -> Head {
        let Heads { id_bits, entry_bits, exit_bits, .. } = *self.heads;
        let mut bits = |count: usize| (0..count).map(|_| self.arena.fresh()).collect::<Vec<Term>>();
        let (id, entry, exit) = (bits(id_bits), bits(entry_bits), bits(exit_bits));
        Head { id, entry, exit, fails: self.arena.fresh() }
    }

    fn assert(&mut self, term: Term) {
        self.encoder.assert_term(self.arena, term, &mut *self.solver);
    }

    /// Whether a head is one of the procedure at this position of the component.
    fn is(&mut self, head: &Head, position: usize) -> Term {
        let mut all = Term::TRUE;
        for (bit, &term) in head.id.iter().enumerate() {
            all = self.arena.and(all, term.complement_if(position >> bit & 1 == 0));
        }
        all
    }

    /// Adds a head that is nested in the last one and different from all others.
    fn nest(&mut self, summaries: &[Vec<Rc<Edge>>], scopes: &Scopes) {
        let next = self.head();
        let Some(last) = self.links.last().cloned() else { return };
        let mut some = Term::FALSE;
        for (position, interface) in self.heads.interfaces.iter().enumerate() {
            let is_it = self.is(&last, position);
            let values = self.values(interface, scopes, &last, &next);
            for edge in &summaries[position] {
                let nests = self.relate(edge, &values, last.fails);
                let nests = self.arena.and(is_it, nests);
                some = self.arena.or(some, nests);
            }
        }
        self.assert(some);
        for other in self.links.clone() {
            let differ = self.differ(&other, &next);
            self.assert(differ);
        }
        self.links.push(next);
    }

    /// The slots of a summary and their values: at the entry; at the exit; and those at the exit that only count if
    /// the head does not fail.
    fn values(
        &self,
        interface: &Interface,
        scopes: &Scopes,
        head: &Head,
        nested: &Head,
    ) -> [Vec<(usize, Term)>; 3] {
        let scope = scopes.scope(interface.procedure);
        let with_slots = |vars: &[Var], terms: &[Term]| -> Vec<(usize, Term)> {
            vars.iter().zip(terms).filter_map(|(&var, &term)| Some((scope.slot(var)?, term))).collect()
        };
        let results = with_slots(&interface.exit, &head.exit);
        let note = |note: usize| scope.slot(Var::Local(interface.first_note + note as u32)).unwrap_or(0);
        let mut exit = vec![(note(Heads::FAILS), head.fails), (note(Heads::NESTED_FAILS), nested.fails)];
        for (first, terms) in [
            (Heads::FIRST_ID, &nested.id),
            (self.heads.first_entry(), &nested.entry),
            (self.heads.first_exit(), &nested.exit),
        ] {
            exit.extend(terms.iter().enumerate().map(|(i, &term)| (note(first + i), term)));
        }
        [with_slots(&interface.entry, &head.entry), exit, results]
    }

    /// The condition that the summary relates these values. If the head fails, its results are not compared.
    fn relate(&mut self, edge: &Edge, values: &[Vec<(usize, Term)>; 3], fails: Term) -> Term {
        let [entry, exit, results] = values;
        let entry = entry.iter().map(|&(slot, value)| (edge.entry[slot], value, Term::FALSE));
        let exit = exit.iter().map(|&(slot, value)| (edge.now[slot], value, Term::FALSE));
        let results = results.iter().map(|&(slot, value)| (edge.now[slot], value, fails));
        let equal = entry.chain(exit).chain(results);
        let equal: Vec<(Term, Term, Term)> =
            equal.filter_map(|(term, value, unless)| Some((term?, value, unless))).collect();
        let roots: Vec<Term> =
            std::iter::once(edge.guard).chain(equal.iter().map(|&(term, ..)| term)).collect();
        // Every use of the summary gets new variables.
        let support = self.arena.support(&roots);
        let mut renamed = Substitution::new(support.into_iter().map(|var| (var, self.arena.fresh())));
        let mut all = renamed.apply(self.arena, edge.guard);
        for (term, value, unless) in equal {
            let term = renamed.apply(self.arena, term);
            let same = self.arena.iff(term, value);
            let same = self.arena.or(unless, same);
            all = self.arena.and(all, same);
        }
        all
    }

    fn differ(&mut self, first: &Head, second: &Head) -> Term {
        let Self { arena, .. } = self;
        let mut some = arena.xor(first.fails, second.fails);
        let both = |head: &Head| head.id.iter().chain(&head.entry).copied().collect::<Vec<Term>>();
        for (a, b) in both(first).into_iter().zip(both(second)) {
            let differ = arena.xor(a, b);
            some = arena.or(some, differ);
        }
        let mut results = Term::FALSE;
        for (&a, &b) in first.exit.iter().zip(&second.exit) {
            let differ = arena.xor(a, b);
            results = arena.or(results, differ);
        }
        // The results of an activation that fails do not count.
        let results = arena.and(results, !first.fails);
        arena.or(some, results)
    }

    /// Whether such a chain exists; `None` if the solver gives up.
    fn is_possible(&mut self) -> Option<bool> {
        let limits = Limits { conflicts: Some(CONFLICTS), ..Limits::NONE };
        match self.solver.solve(&[], &limits) {
            Answer::Sat => Some(true),
            Answer::Unsat => Some(false),
            Answer::Unknown(_) => None,
        }
    }
}

/// Reads a variable.
fn read(var: Var) -> Op {
    Op::Read(Read { var, primed: false, passive: false })
}

fn variable(name: &str) -> Variable {
    Variable { name: name.to_owned(), span: Span::default() }
}

fn procedure(
    name: &str,
    params: u32,
    locals: Vec<Variable>,
    returns: u32,
    nodes: usize,
    steps: Vec<(Node, Node, Action)>,
) -> Procedure {
    let span = Span::default();
    let edges = steps.into_iter().map(|(from, to, action)| Step {
        from,
        to,
        action,
        span,
        branch: None,
        silent: false,
    });
    let mut procedure = Procedure {
        name: name.to_owned(),
        span,
        params,
        locals,
        returns,
        enforce: None,
        labels: Vec::new(),
        nodes: nodes as u32,
        edges: edges.collect(),
        first_edge: Vec::new(),
    };
    procedure.sort_edges();
    procedure
}
