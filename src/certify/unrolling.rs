//! Checks unrollings as a proof about a sequential program. [`Unrolling`] states what is accepted and why that is
//! enough.
//!
//! All copies together form one formula, which is built along the tree of copies. When a block reaches a call that
//! has a copy of its own, that copy is encoded at once, and the block continues with the values that the callee's
//! activation returns. The tree may be deep, so the blocks that are being encoded are kept on an explicit stack.
//!
//! The demands are statements about *the* run: whether it enters a copy, in which state, and how it leaves the copy.
//! That is why the guards that hold under one assignment must be those along a single run (see
//! [`encode`](super::encode)). If several runs could satisfy their guards under one assignment, a demand about a copy
//! outside of a run could exclude that run.

use std::collections::{BTreeMap, BTreeSet};

use cusp_encodings::Term;
use rustc_hash::FxHashMap;

use super::assigned::Assigned;
use super::cuts::bodies;
use super::encode::body::Body;
use super::encode::walk::{CallSite, Frame, Walk, enforce};
use super::encode::{Model, State, Terms};
use super::live::Live;
use super::question::Questions;
use super::reach::Reach;
use super::{Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::{Site, Unrolling};
use crate::model::{Action, Node, ProcId, Procedure, Task, Var};

/// Checks that no run through the copies violates the property.
pub(super) fn check(task: &Task, unrolling: &Unrolling, budget: &Budget) -> Result<(), Stop> {
    let model = Model::new(task, budget)?;
    let bodies = bodies(&model, &unrolling.cuts)?;
    let tree = Tree::new(&model, &bodies, unrolling)?;
    let (reach, assigned) = (Reach::of(&model)?, Assigned::of(&model)?);
    let mut questions = Questions::new(budget);
    let mut unroller = Unroller {
        model: &model,
        bodies: &bodies,
        tree: &tree,
        reach: &reach,
        assigned: &assigned,
        records: Vec::new(),
    };
    let fails = unroller.unroll(&mut questions.terms)?;
    let records = unroller.records;
    let live = Live::at(&model, compared_points(&tree, unrolling))?;
    let mut demands =
        Demands { model: &model, tree: &tree, records: &records, live, equal: FxHashMap::default() };
    for &pair in &unrolling.different {
        poll(budget)?;
        let demand = demands
            .demand(&mut questions.terms, pair)
            .map_err(|stop| stop.at(format_args!("the pair ({}, {})", pair.0, pair.1)))?;
        questions.demand(demand);
    }
    if questions.is_impossible(fails)? {
        return Ok(());
    }
    reject("a run through the copies, or one that leaves them, may violate the property")
}

/// The program counters where states are compared: the beginnings of blocks, and the exits of their procedures.
fn compared_points(tree: &Tree, unrolling: &Unrolling) -> BTreeSet<(ProcId, Node)> {
    let blocks = unrolling.different.iter().filter_map(|&(above, _)| tree.blocks.get(above as usize));
    blocks.flat_map(|&(id, node)| [(id, node), (id, Procedure::EXIT)]).collect()
}

/// The tree of copies, and the block that each copy is a copy of.
struct Tree {
    /// For each copy, the procedure and the node where its block begins.
    blocks: Vec<(ProcId, Node)>,
    /// Whether a call enters the copy; this is also true of copy 0.
    by_call: Vec<bool>,
    parents: Vec<u32>,
    children: BTreeMap<(u32, Site), u32>,
    /// For each copy, the first copy of the same activation.
    activation: Vec<u32>,
    /// For each copy, its number in preorder, and the last number in its subtree.
    span: Vec<(u32, u32)>,
}

impl Tree {
    fn new(model: &Model<'_>, bodies: &[Body<'_>], unrolling: &Unrolling) -> Result<Self, Stop> {
        let mut tree = Self {
            blocks: vec![(model.program.start, Procedure::ENTRY)],
            by_call: vec![true],
            parents: vec![0],
            children: BTreeMap::new(),
            activation: vec![0],
            span: Vec::new(),
        };
        for (position, copy) in unrolling.copies.iter().enumerate() {
            poll(model.budget)?;
            let number = position as u32 + 1;
            let stopped = |stop: Stop| stop.at(format_args!("copy {number}"));
            let block = tree.block(model, bodies, copy.parent, copy.site).map_err(stopped)?;
            if tree.children.insert((copy.parent, copy.site), number).is_some() {
                return reject(format!("copy {number}: its site has another copy already"));
            }
            let by_call = matches!(copy.site, Site::Call(_));
            tree.activation.push(if by_call { number } else { tree.activation[copy.parent as usize] });
            tree.blocks.push(block);
            tree.by_call.push(by_call);
            tree.parents.push(copy.parent);
        }
        tree.span = spans(&tree.parents);
        Ok(tree)
    }

    /// The procedure and node of the block that a site leads to.
    fn block(
        &self,
        model: &Model<'_>,
        bodies: &[Body<'_>],
        parent: u32,
        site: Site,
    ) -> Result<(ProcId, Node), Stop> {
        let Some(&(id, _)) = self.blocks.get(parent as usize) else {
            return reject(format!("its parent {parent} does not come before it"));
        };
        let procedure = model.program.procedure(id);
        match site {
            Site::Call(edge) => match procedure.edges.get(edge.index()).map(|edge| &edge.action) {
                Some(Action::Call(call)) => Ok((call.callee, Procedure::ENTRY)),
                _ => reject(format!("{edge} of `{}` is no call", procedure.name)),
            },
            Site::Loop(node) => {
                let is_cut = node.index() < procedure.nodes as usize && bodies[id.index()].is_cut(node);
                if is_cut && node != Procedure::EXIT {
                    return Ok((id, node));
                }
                reject(format!("{node} of `{}` is no cut", procedure.name))
            }
        }
    }

    fn child(&self, copy: u32, site: Site) -> Option<u32> {
        self.children.get(&(copy, site)).copied()
    }

    fn is_ancestor(&self, above: u32, below: u32) -> bool {
        let ((first, last), (number, _)) = (self.span[above as usize], self.span[below as usize]);
        first < number && number <= last
    }
}

/// Numbers a tree in preorder. Parents must come before their children in the list.
fn spans(parents: &[u32]) -> Vec<(u32, u32)> {
    let mut sizes = vec![1_u32; parents.len()];
    for copy in (1..parents.len()).rev() {
        sizes[parents[copy] as usize] += sizes[copy];
    }
    let mut spans = vec![(0, 0); parents.len()];
    // For each copy, the preorder number that its next child gets.
    let mut next = vec![1_u32; parents.len()];
    for copy in 0..parents.len() {
        let first = if copy == 0 {
            0
        } else {
            let slot = &mut next[parents[copy] as usize];
            let first = *slot;
            *slot += sizes[copy];
            first
        };
        spans[copy] = (first, first + sizes[copy] - 1);
        next[copy] = first + 1;
    }
    spans
}

/// What is known about a copy after it was encoded.
struct Record {
    /// The states with which it begins; the guard tells whether the run enters it.
    start: State,
    /// The condition under which the property is violated in the copy, in its callees, or in the copies that continue
    /// it.
    fails: Term,
    /// The states in which the activation returns, if it can.
    exit: Option<State>,
}

/// A copy that is being encoded.
struct Open<'a> {
    copy: u32,
    start: State,
    walk: Walk<'a>,
    fails: Term,
    exit: Option<State>,
    /// The call whose copy is being encoded on top of this one on the stack.
    site: Option<CallSite<'a>>,
    /// The cuts where the block ends and the states there, after the walk through the block; the last one is handled
    /// next.
    ends: Option<Vec<(Node, State)>>,
}

/// Encodes all copies.
struct Unroller<'a> {
    model: &'a Model<'a>,
    bodies: &'a [Body<'a>],
    tree: &'a Tree,
    reach: &'a Reach,
    assigned: &'a Assigned,
    records: Vec<Option<Record>>,
}

impl<'a> Unroller<'a> {
    /// Encodes all copies, and returns the condition under which the property is violated.
    fn unroll(&mut self, terms: &mut Terms) -> Result<Term, Stop> {
        let model = self.model;
        self.records.resize_with(self.tree.blocks.len(), || None);
        let start = model.program.procedure(model.program.start);
        let values = terms.fresh_vector(model.globals() + start.locals.len());
        let mut state = State { guard: Term::TRUE, values: values.into_iter().collect() };
        enforce(model, start, self.frame(), terms, &mut state)?;
        let mut stack = vec![self.open(0, state)];
        while let Some(mut top) = stack.pop() {
            if top.ends.is_none() {
                if let Some(site) = top.walk.next_call(terms)? {
                    if let Some(child) = self.tree.child(top.copy, Site::Call(site.id)) {
                        let state = self.enter(terms, &site)?;
                        top.site = Some(site);
                        stack.extend([top, self.open(child, state)]);
                    } else {
                        self.open_call(terms, &mut top, &site)?;
                        stack.push(top);
                    }
                    continue;
                }
                top.fails = terms.arena.or(top.fails, top.walk.violation);
                let ends = std::mem::take(&mut top.walk.arrivals);
                top.ends = Some(ends.into_iter().rev().collect());
            }
            let end = top.ends.as_mut().and_then(Vec::pop);
            if let Some((node, state)) = end {
                let child = self.tree.child(top.copy, Site::Loop(node));
                match child {
                    _ if node == Procedure::EXIT => top.returns(terms, state),
                    None => self.open_loop(terms, &mut top, node, state),
                    Some(child) => {
                        let child = self.open(child, state);
                        stack.extend([top, child]);
                        continue;
                    }
                }
                stack.push(top);
                continue;
            }
            let (fails, exit) = (top.fails, top.exit);
            if let Some(below) = stack.last_mut() {
                self.hand_over(terms, below, fails, exit.clone())?;
            }
            self.records[top.copy as usize] = Some(Record { start: top.start, fails, exit });
        }
        Ok(self.records[0].as_ref().map_or(Term::TRUE, |record| record.fails))
    }

    fn frame(&self) -> Frame {
        Frame { base: self.model.globals() }
    }

    fn open(&self, copy: u32, start: State) -> Open<'a> {
        let (id, node) = self.tree.blocks[copy as usize];
        let walk = Walk::new(self.model, &self.bodies[id.index()], self.frame(), node, start.clone());
        Open { copy, start, walk, fails: Term::FALSE, exit: None, site: None, ends: None }
    }

    /// The state with which a call enters its callee.
    fn enter(&self, terms: &mut Terms, site: &CallSite<'_>) -> Result<State, Stop> {
        let callee = self.model.program.procedure(site.call.callee);
        let mut values: Vec<Term> = site.state.values.iter().take(self.model.globals()).collect();
        values.extend(&site.args);
        values.extend(terms.fresh_vector(callee.locals.len() - callee.params as usize));
        let mut state = State { guard: site.state.guard, values: values.into_iter().collect() };
        enforce(self.model, callee, self.frame(), terms, &mut state)?;
        Ok(state)
    }

    /// A call without a copy: it may violate the property if a violation can be reached in it, and returns with any
    /// values of what it can change.
    fn open_call(&self, terms: &mut Terms, top: &mut Open<'a>, site: &CallSite<'a>) -> Result<(), Stop> {
        let callee = self.model.program.procedure(site.call.callee);
        let mut behind = site.state.clone();
        if self.reach.may_violate(site.call.callee, Procedure::ENTRY) {
            top.may_fail(terms, &mut behind);
        }
        let globals: Vec<Term> = (0..self.model.globals())
            .map(|i| {
                let may_change = self.assigned.may_change(site.call.callee, i);
                if may_change { terms.fresh() } else { behind.values.get(i) }
            })
            .collect();
        let slots = terms.fresh_vector(callee.returns as usize);
        top.walk.land_after_call(terms, site.edge, site.call, behind, |i| globals[i], |i| slots[i])
    }

    /// A cut without a copy: the rest of the activation may violate the property if a violation can be reached from
    /// the cut, and returns with any values of what it can change.
    fn open_loop(&self, terms: &mut Terms, top: &mut Open<'a>, node: Node, mut state: State) {
        let (id, _) = self.tree.blocks[top.copy as usize];
        if self.reach.may_violate(id, node) {
            top.may_fail(terms, &mut state);
        }
        for position in 0..state.values.len() {
            if position < self.model.globals() && !self.assigned.may_change(id, position) {
                continue;
            }
            let any = terms.fresh();
            state.values.set(position, any);
        }
        top.returns(terms, state);
    }

    /// Passes the result of a finished copy to the copy from which it was entered.
    fn hand_over(
        &self,
        terms: &mut Terms,
        below: &mut Open<'a>,
        fails: Term,
        exit: Option<State>,
    ) -> Result<(), Stop> {
        below.fails = terms.arena.or(below.fails, fails);
        let Some(exit) = exit else {
            below.site = None;
            return Ok(());
        };
        let Some(site) = below.site.take() else {
            below.returns(terms, exit);
            return Ok(());
        };
        let callee = self.model.program.procedure(site.call.callee);
        let first_slot = self.model.globals() + callee.first_return() as usize;
        let behind = State { guard: exit.guard, values: site.state.values };
        let (global, slot) = (|i| exit.values.get(i), |i| exit.values.get(first_slot + i));
        below.walk.land_after_call(terms, site.edge, site.call, behind, global, slot)
    }
}

impl Open<'_> {
    /// Adds states in which the activation reaches its exit.
    fn returns(&mut self, terms: &mut Terms, state: State) {
        self.exit = Some(match self.exit.take() {
            Some(other) => other.merge(terms, state),
            None => state,
        });
    }

    /// At code without a copy, the run may end with a violation or continue.
    fn may_fail(&mut self, terms: &mut Terms, state: &mut State) {
        let [fails, goes_on] = terms.alternatives(state.guard, 2)[..] else { return };
        self.fails = terms.arena.or(self.fails, fails);
        state.guard = goes_on;
    }
}

/// Encodes the demands that exclude runs in which a state occurs twice.
struct Demands<'a> {
    model: &'a Model<'a>,
    tree: &'a Tree,
    /// The record of each copy; `None` for copies that no run reaches.
    records: &'a [Option<Record>],
    live: Live,
    /// The positions of the variables that are compared, by procedure, node, and choice of variables.
    equal: FxHashMap<(ProcId, Node, Compared), Vec<usize>>,
}

/// Which of the live variables at a node are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Compared {
    All,
    GlobalsAndParameters,
    GlobalsAndReturns,
}

impl Demands<'_> {
    fn demand(&mut self, terms: &mut Terms, (above, below): (u32, u32)) -> Result<Term, Stop> {
        let tree = self.tree;
        let copies = tree.blocks.len() as u32;
        if above >= copies || below >= copies || !tree.is_ancestor(above, below) {
            return reject("the first copy is not an ancestor of the second one");
        }
        let block = tree.blocks[above as usize];
        if block != tree.blocks[below as usize] {
            return reject("the copies are not of the same block");
        }
        let (Some(outer), Some(inner)) = (&self.records[above as usize], &self.records[below as usize])
        else {
            // No run reaches the site of one of the copies, for example because a call before it never returns.
            return Ok(Term::TRUE);
        };
        let entered = inner.start.guard;
        if tree.activation[above as usize] == tree.activation[below as usize] {
            let same = self.same(terms, block, Compared::All, &outer.start, &inner.start);
            return Ok(!terms.arena.and(entered, same));
        }
        if !tree.by_call[above as usize] || !tree.by_call[below as usize] {
            return reject("the copies are of different activations, and not both are entered by calls");
        }
        let same_entry = self.same(terms, block, Compared::GlobalsAndParameters, &outer.start, &inner.start);
        let mut same_end = terms.arena.and(outer.fails, inner.fails);
        if let (Some(outer), Some(inner)) = (&outer.exit, &inner.exit) {
            let exit = (block.0, Procedure::EXIT);
            let same = self.same(terms, exit, Compared::GlobalsAndReturns, outer, inner);
            let both = terms.arena.and(outer.guard, inner.guard);
            let same = terms.arena.and(both, same);
            same_end = terms.arena.or(same_end, same);
        }
        let same = terms.arena.and(same_entry, same_end);
        Ok(!terms.arena.and(entered, same))
    }

    /// Whether two states agree on the live variables that are compared.
    fn same(
        &mut self,
        terms: &mut Terms,
        (id, node): (ProcId, Node),
        compared: Compared,
        a: &State,
        b: &State,
    ) -> Term {
        let model = self.model;
        let live = &self.live;
        let positions = self.equal.entry((id, node, compared)).or_insert_with(|| {
            let procedure = model.program.procedure(id);
            let frame = Frame { base: model.globals() };
            let counts = |var: &Var| match (var, compared) {
                (Var::Global(_), _) | (_, Compared::All) => true,
                (Var::Local(i), Compared::GlobalsAndParameters) => *i < procedure.params,
                (Var::Local(i), Compared::GlobalsAndReturns) => *i >= procedure.first_return(),
            };
            live.variables(id, node)
                .iter()
                .filter(|var| counts(var))
                .map(|&var| frame.position(var))
                .collect()
        });
        terms.equal(positions.iter().map(|&position| (a.values.get(position), b.values.get(position))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_tell_who_is_below_whom() {
        // In this tree, the children of 0 are 1 and 4, the child of 1 is 2, and the children of 2 are 3 and 5.
        let parents = [0, 0, 1, 2, 0, 2];
        let spans = spans(&parents);
        let below = |above: usize, copy: usize| {
            let mut copy = copy;
            while copy != 0 {
                copy = parents[copy] as usize;
                if copy == above {
                    return true;
                }
            }
            false
        };
        for above in 0..6 {
            for copy in 0..6 {
                let (first, last) = spans[above];
                let says = first < spans[copy].0 && spans[copy].0 <= last;
                assert_eq!(says, below(above, copy), "{above} {copy}");
            }
        }
    }
}
