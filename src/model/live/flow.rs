//! Computes the fixed points of [`super`], for one page of variables at a time.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::order::{Sweeps, Table, inverse, postorder, starts};
use super::page::{LANES, Page};
use crate::model::{Action, Assign, Call, Expr, Node, ProcId, Procedure, Program, Property, Var};

/// The kind of variables that a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Globals, which are the same in every procedure.
    Globals,
    /// Locals, which each procedure has for itself.
    Locals,
}

/// The results of phase 1 at a node; the equations are in [`super`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The variables that are read before they are written, on some path.
    pub exposed: Page,
    /// The variables that are not written on some path to the exit.
    pub through: Page,
    /// The variables that are written on some path.
    pub modified: Page,
    /// The variables that are read on some path.
    pub referenced: Page,
}

impl Facts {
    /// The facts of a step that does nothing.
    const IDENTITY: Self =
        Self { exposed: Page::NONE, through: Page::ALL, modified: Page::NONE, referenced: Page::NONE };
    /// The facts of a step that does nothing and never ends.
    const ENDLESS: Self = Self { through: Page::NONE, ..Self::IDENTITY };
}

/// One occurrence of a variable.
#[derive(Clone, Copy, Debug)]
struct Mention {
    /// The number of the variable.
    var: u32,
    /// The number of an edge or of a procedure, depending on `usage`.
    at: u32,
    usage: Usage,
}

#[derive(Clone, Copy, Debug)]
enum Usage {
    /// An edge reads the variable's old value.
    Read,
    /// An edge assigns the variable.
    Write,
    /// The variable matters at every node of a procedure.
    Pin,
    /// The variable matters after some call of a procedure.
    Keep,
}

/// A call that returns to a node.
struct CallSite {
    callee: ProcId,
    /// The number of the node after the call.
    to: u32,
    /// The number of the call edge.
    edge: u32,
}

/// A program prepared for the analysis, and its result for the latest page.
pub struct Flow<'a> {
    program: &'a Program,
    /// The number of the first node of every procedure; `first_edge` has the same for edges.
    first_node: Vec<u32>,
    first_edge: Vec<u32>,
    /// The procedure of every node.
    proc_of: Vec<ProcId>,
    /// The nodes with the label that must not be reached.
    is_target: Vec<bool>,
    /// The nodes sorted by rank: except on cycles, successors and callees come first.
    by_rank: Vec<u32>,
    rank: Vec<u32>,
    /// All procedures: except in recursion, callers come before callees.
    callers_first: Vec<ProcId>,
    /// The position of each procedure in `callers_first`.
    position: Vec<u32>,
    /// For every node, the nodes whose facts depend on it.
    dependents: Table,
    /// The calls of every procedure.
    calls: Vec<Vec<CallSite>>,
    /// For every procedure, the procedures that call it or start it as a thread.
    callers: Table,
    returns: Vec<bool>,
    /// The facts of every node for a page of which no variable is used.
    untouched: Vec<Facts>,
    /// The occurrences of globals and of locals, each sorted by page.
    mentions: [Vec<Mention>; 2],

    // The following are valid for one page.
    read: Vec<Page>,
    written: Vec<Page>,
    pinned: Vec<Page>,
    facts: Vec<Facts>,
    context: Vec<Page>,
}

impl<'a> Flow<'a> {
    /// Numbers nodes and edges, and finds out which procedures return.
    pub fn new(program: &'a Program, property: &Property) -> Self {
        let procedures = &program.procedures;
        let first_node = starts(procedures.iter().map(|p| p.nodes as usize));
        let first_edge = starts(procedures.iter().map(|p| p.edges.len()));
        let [nodes, edges] =
            [&first_node, &first_edge].map(|starts| *starts.last().expect("one past") as usize);
        let mut proc_of = Vec::with_capacity(nodes);
        let mut is_target = vec![false; nodes];
        let mut depends = Vec::new();
        let mut calls: Vec<Vec<CallSite>> = Vec::with_capacity(procedures.len());
        let mut called_by = Vec::new();
        for (proc, procedure) in program.procedure_ids().zip(procedures) {
            proc_of.extend(std::iter::repeat_n(proc, procedure.nodes as usize));
            let number = |node: Node| first_node[proc.index()] + node.index() as u32;
            let entry = |callee: ProcId| first_node[callee.index()] + Procedure::ENTRY.index() as u32;
            if let Property::LabelUnreachable(label) = property {
                procedure.nodes_labelled(label).for_each(|node| is_target[number(node) as usize] = true);
            }
            let mut sites = Vec::new();
            for (i, edge) in procedure.edges.iter().enumerate() {
                let (from, to) = (number(edge.from), number(edge.to));
                match &edge.action {
                    Action::EndThread => continue,
                    Action::Call(call) => {
                        depends.push((from, entry(call.callee)));
                        called_by.push((proc.index() as u32, call.callee.index() as u32));
                        let edge = first_edge[proc.index()] + i as u32;
                        sites.push(CallSite { callee: call.callee, to, edge });
                    }
                    Action::Spawn(call) => {
                        depends.push((from, entry(call.callee)));
                        called_by.push((proc.index() as u32, call.callee.index() as u32));
                    }
                    Action::Fork(at) => depends.push((from, number(*at))),
                    _ => {}
                }
                depends.push((from, to));
            }
            calls.push(sites);
        }
        let by_rank = postorder(&Table::new(nodes, depends.iter().copied()));
        let rank = inverse(by_rank.iter().map(|&node| node as usize), nodes);
        let mut callers_first: Vec<ProcId> = program.procedure_ids().collect();
        callers_first.sort_by_key(|proc| Reverse(rank[first_node[proc.index()] as usize]));
        let position = inverse(callers_first.iter().map(|proc| proc.index()), procedures.len());
        let mut flow = Self {
            program,
            proc_of,
            is_target,
            by_rank,
            rank,
            callers_first,
            position,
            dependents: Table::new(nodes, depends.iter().map(|&(from, on)| (on, from))),
            calls,
            callers: Table::new(procedures.len(), called_by.iter().map(|&(from, on)| (on, from))),
            returns: vec![true; procedures.len()],
            untouched: vec![Facts::ENDLESS; nodes],
            mentions: collect_mentions(program, &first_edge),
            read: vec![Page::NONE; edges],
            written: vec![Page::NONE; edges],
            pinned: vec![Page::NONE; procedures.len()],
            facts: vec![Facts::ENDLESS; nodes],
            context: vec![Page::NONE; procedures.len()],
            first_node,
            first_edge,
        };
        // If nothing is read or written, the facts only tell which nodes have a path to the exit.
        flow.saturate(Scope::Globals, &vec![true; procedures.len()]);
        flow.untouched = flow.facts.clone();
        for proc in program.procedure_ids() {
            flow.returns[proc.index()] = flow.facts(proc, Procedure::ENTRY).through != Page::NONE;
        }
        flow
    }

    /// Whether some path leads from the entry to the exit.
    pub fn returns(&self, proc: ProcId) -> bool {
        self.returns[proc.index()]
    }

    /// All nodes of a procedure.
    pub fn nodes(&self, proc: ProcId) -> impl Iterator<Item = Node> + use<> {
        (0..self.program.procedure(proc).nodes as usize).map(Node::from_index)
    }

    /// The results of phase 1 at a node, for the latest page.
    pub fn facts(&self, proc: ProcId, node: Node) -> Facts {
        self.facts[self.number(proc, node)]
    }

    /// The live variables at a node, for the latest page.
    pub fn live(&self, proc: ProcId, node: Node) -> Page {
        let facts = self.facts(proc, node);
        facts.exposed | facts.through & self.context[proc.index()]
    }

    /// Runs both phases for one page.
    pub fn solve(&mut self, scope: Scope, page: usize) {
        let mentions = std::mem::take(&mut self.mentions[scope as usize]);
        let from = mentions.partition_point(|m| (m.var as usize) < page * LANES);
        let to = mentions.partition_point(|m| (m.var as usize) < (page + 1) * LANES);
        self.context.fill(Page::NONE);
        for mention in &mentions[from..to] {
            self.slot(*mention).insert(mention.var as usize % LANES);
        }
        let active = self.active(scope, page, &mentions[from..to]);
        self.saturate(scope, &active);
        if scope == Scope::Globals {
            self.spread_contexts();
        }
        for mention in &mentions[from..to] {
            if !matches!(mention.usage, Usage::Keep) {
                *self.slot(*mention) = Page::NONE;
            }
        }
        self.mentions[scope as usize] = mentions;
    }

    fn slot(&mut self, mention: Mention) -> &mut Page {
        let table = match mention.usage {
            Usage::Read => &mut self.read,
            Usage::Write => &mut self.written,
            Usage::Pin => &mut self.pinned,
            Usage::Keep => &mut self.context,
        };
        &mut table[mention.at as usize]
    }

    /// The procedures whose facts may differ from those in `untouched`.
    fn active(&self, scope: Scope, page: usize, mentions: &[Mention]) -> Vec<bool> {
        let procedures = &self.program.procedures;
        if scope == Scope::Locals {
            return procedures.iter().map(|p| p.locals.len() > page * LANES).collect();
        }
        let mut active = vec![false; procedures.len()];
        let mut pending = Vec::new();
        for mention in mentions {
            let proc = match mention.usage {
                Usage::Read | Usage::Write => {
                    self.first_edge.partition_point(|&first| first <= mention.at) as u32 - 1
                }
                Usage::Pin | Usage::Keep => mention.at,
            };
            if !std::mem::replace(&mut active[proc as usize], true) {
                pending.push(proc);
            }
        }
        while let Some(proc) = pending.pop() {
            for &caller in self.callers.row(proc as usize) {
                if !std::mem::replace(&mut active[caller as usize], true) {
                    pending.push(caller);
                }
            }
        }
        active
    }

    /// Phase 1: computes the least facts of all nodes of the active procedures.
    fn saturate(&mut self, scope: Scope, active: &[bool]) {
        let mut work = Sweeps::new(self.facts.len());
        for (rank, &node) in self.by_rank.iter().enumerate() {
            let node = node as usize;
            if active[self.proc_of[node].index()] {
                self.facts[node] = Facts::ENDLESS;
                work.add(rank as u32);
            } else {
                self.facts[node] = self.untouched[node];
            }
        }
        while let Some(rank) = work.next() {
            let node = self.by_rank[rank] as usize;
            let facts = self.evaluate(node, scope);
            if facts == self.facts[node] {
                continue;
            }
            self.facts[node] = facts;
            for &dependent in self.dependents.row(node) {
                if active[self.proc_of[dependent as usize].index()] {
                    work.add(self.rank[dependent as usize]);
                }
            }
        }
    }

    /// The right-hand side of the equations for one node.
    fn evaluate(&self, number: usize, scope: Scope) -> Facts {
        let proc = self.proc_of[number];
        let node = Node::from_index(number - self.first_node[proc.index()] as usize);
        let pinned = self.pinned[proc.index()];
        let mut facts = Facts { exposed: pinned, referenced: pinned, ..Facts::ENDLESS };
        if self.is_target[number] {
            return facts;
        }
        if node == Procedure::EXIT {
            facts.through = Page::ALL;
            return facts;
        }
        for (id, edge) in self.program.procedure(proc).edges_from(node) {
            let written = self.written[self.first_edge[proc.index()] as usize + id.index()];
            let read = self.read[self.first_edge[proc.index()] as usize + id.index()];
            // The facts of the code that runs as part of the step, whether the step can end, and the facts of a
            // thread that it starts.
            let (body, ends, started) = match &edge.action {
                Action::EndThread => (Facts::ENDLESS, false, Facts::ENDLESS),
                Action::Call(call) => {
                    let body = if scope == Scope::Globals {
                        self.facts(call.callee, Procedure::ENTRY)
                    } else {
                        Facts::IDENTITY
                    };
                    (body, self.returns(call.callee), Facts::ENDLESS)
                }
                Action::Spawn(call) if scope == Scope::Globals => {
                    (Facts::IDENTITY, true, self.facts(call.callee, Procedure::ENTRY))
                }
                Action::Fork(at) => (Facts::IDENTITY, true, self.facts(proc, *at)),
                _ => (Facts::IDENTITY, true, Facts::ENDLESS),
            };
            facts.exposed |= read | body.exposed | started.exposed;
            facts.referenced |= read | body.referenced | started.referenced;
            facts.modified |= body.modified | started.modified;
            if ends {
                let after = self.facts(proc, edge.to);
                facts.exposed |= body.through & after.exposed & !written;
                facts.through |= body.through & after.through & !written;
                facts.modified |= written | after.modified;
                facts.referenced |= after.referenced;
            }
        }
        facts
    }

    /// Phase 2: computes what is live after the calls of every procedure.
    fn spread_contexts(&mut self) {
        let mut work = Sweeps::new(self.context.len());
        (0..self.context.len() as u32).for_each(|position| work.add(position));
        while let Some(position) = work.next() {
            let caller = self.callers_first[position].index();
            for site in &self.calls[caller] {
                let after = self.facts[site.to as usize];
                let live = after.exposed | after.through & self.context[caller];
                let old = self.context[site.callee.index()];
                let new = old | live & !self.written[site.edge as usize];
                if new != old {
                    self.context[site.callee.index()] = new;
                    work.add(self.position[site.callee.index()]);
                }
            }
        }
    }

    fn number(&self, proc: ProcId, node: Node) -> usize {
        self.first_node[proc.index()] as usize + node.index()
    }
}

/// All occurrences of globals and of locals, each list sorted by variable.
fn collect_mentions(program: &Program, first_edge: &[u32]) -> [Vec<Mention>; 2] {
    let mut mentions = Mentions { program, found: [Vec::new(), Vec::new()] };
    for (proc, procedure) in program.procedure_ids().zip(&program.procedures) {
        if let Some(enforce) = procedure.enforce {
            for place in program.exprs.reads(enforce) {
                mentions.add(place.var, proc.index() as u32, Usage::Pin);
            }
        }
        for (i, edge) in procedure.edges.iter().enumerate() {
            let at = first_edge[proc.index()] + i as u32;
            match &edge.action {
                Action::Assume(e) | Action::Assert(e) => mentions.reads(proc, at, *e, |_| false),
                Action::Assign(assign) => mentions.assign(proc, at, assign),
                Action::Call(call) | Action::Spawn(call) => mentions.call(proc, at, call),
                Action::Skip
                | Action::Fork(_)
                | Action::EndThread
                | Action::AtomicBegin
                | Action::AtomicEnd => {}
            }
        }
    }
    // The order within a page does not matter, since the occurrences are collected into sets.
    mentions.found.each_mut().into_iter().for_each(|found| found.sort_unstable_by_key(|m| m.var));
    mentions.found
}

struct Mentions<'a> {
    program: &'a Program,
    found: [Vec<Mention>; 2],
}

impl Mentions<'_> {
    fn add(&mut self, var: Var, at: u32, usage: Usage) {
        let (scope, var) = match var {
            Var::Global(i) => (Scope::Globals, i),
            Var::Local(i) => (Scope::Locals, i),
        };
        self.found[scope as usize].push(Mention { var, at, usage });
    }

    /// Records the reads of an expression. Reading the new value of an assigned variable is not a read of its old
    /// value.
    fn reads(&mut self, proc: ProcId, at: u32, expr: Expr, is_assigned: impl Fn(Var) -> bool) {
        for place in self.program.exprs.reads(expr) {
            if place.passive {
                // The copy of another thread is read, and that thread may be anywhere in the procedure.
                self.add(place.var, proc.index() as u32, Usage::Pin);
            } else if !(place.primed && is_assigned(place.var)) {
                self.add(place.var, at, Usage::Read);
            }
        }
    }

    fn assign(&mut self, proc: ProcId, at: u32, assign: &Assign) {
        let own = assign.pairs.iter().filter(|(target, _)| !target.passive).map(|(target, _)| target.var);
        for &(_, value) in &assign.pairs {
            self.reads(proc, at, value, |_| false);
        }
        let assigned: FxHashSet<Var> = own.clone().collect();
        for &condition in &assign.constrain {
            self.reads(proc, at, condition, |var| assigned.contains(&var));
        }
        own.for_each(|var| self.add(var, at, Usage::Write));
    }

    fn call(&mut self, proc: ProcId, at: u32, call: &Call) {
        for &arg in &call.args {
            self.reads(proc, at, arg, |_| false);
        }
        let slots = self.program.procedure(call.callee).first_return()..;
        for (slot, &target) in slots.zip(&call.targets) {
            if let Some(var) = target {
                self.add(var, at, Usage::Write);
                self.add(Var::Local(slot), call.callee.index() as u32, Usage::Keep);
            }
        }
    }
}
