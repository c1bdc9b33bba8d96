//! Unrollings against all runs through their copies, one by one.

use std::collections::BTreeMap;

use cusp::evidence::trace::Violation;
use cusp::evidence::{BlockCopy, Certificate, Site, Unrolling, Verdict};
use cusp::model::{Action, EdgeId, Node, ProcId, Procedure, Property, Task};
use cusp::syntax::ast::Dialect;

use super::generate::{Rng, assertions, sequential, task};
use super::oracle_relations::random_cuts;
use super::runs::{Runs, agree, listed, subsets};
use super::{accepted, rejection};

fn safe(unrolling: &Unrolling) -> Verdict {
    Verdict::Safe(Certificate::Unrolling(unrolling.clone()))
}

/// An activation of a run.
#[derive(Clone)]
struct Frame {
    procedure: usize,
    /// The copies it went through, the first one entered by a call.
    copies: Vec<usize>,
    /// The edge of the call that the frame above is for.
    edge: Option<EdgeId>,
    node: usize,
    state: u32,
}

/// What a run did with a copy.
#[derive(Clone, Copy, Default)]
struct Seen {
    start: Option<u32>,
    exit: Option<u32>,
    fails: bool,
}

/// Searches a run that violates the property and satisfies all demands.
struct Search<'a> {
    runs: &'a Runs<'a>,
    unrolling: &'a Unrolling,
    children: BTreeMap<(u32, Site), usize>,
    blocks: Vec<(usize, usize)>,
    /// Steps that may still be made.
    fuel: usize,
}

impl<'a> Search<'a> {
    fn new(runs: &'a Runs<'a>, unrolling: &'a Unrolling) -> Self {
        let mut blocks = vec![(runs.task.program.start.index(), 0)];
        let mut children = BTreeMap::new();
        for (i, copy) in unrolling.copies.iter().enumerate() {
            let (procedure, _) = blocks[copy.parent as usize];
            blocks.push(match copy.site {
                Site::Call(edge) => (runs.call(procedure, edge).callee.index(), 0),
                Site::Loop(node) => (procedure, node.index()),
            });
            children.insert((copy.parent, copy.site), i + 1);
        }
        Self { runs, unrolling, children, blocks, fuel: 60_000 }
    }

    /// `None` if there are too many runs.
    fn finds_a_violation(mut self) -> Option<bool> {
        let start = self.runs.task.program.start.index();
        for state in 0..1_u32 << self.runs.oracle.width(start) {
            if self.runs.oracle.enforced(start, state) {
                let frame = Frame { procedure: start, copies: vec![0], edge: None, node: 0, state };
                let mut seen = vec![Seen::default(); self.blocks.len()];
                seen[0].start = Some(state);
                if self.run(&[frame], &seen)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn run(&mut self, stack: &[Frame], seen: &[Seen]) -> Option<bool> {
        self.fuel = self.fuel.checked_sub(1)?;
        let runs = self.runs;
        let (top, below) = stack.split_last().expect("somebody runs");
        let here = Node::from_index(top.node);
        let violations = runs.oracle.violations(top.procedure, here, top.state);
        if !violations.is_empty() && self.violates(stack, seen) {
            return Some(true);
        }
        if violations.contains(&Violation::Label) {
            return Some(false);
        }
        for (id, edge) in runs.oracle.procedure(top.procedure).edges_from(here) {
            let to = edge.to.index();
            let Action::Call(call) = &edge.action else {
                for after in 0..1_u32 << runs.oracle.width(top.procedure) {
                    if runs.oracle.steps(top.procedure, edge, top.state, after)
                        && self.arrive(below, top, to, after, seen)?
                    {
                        return Some(true);
                    }
                }
                continue;
            };
            let callee = call.callee.index();
            let copy = *top.copies.last().expect("in a copy");
            if let Some(&child) = self.children.get(&(copy as u32, Site::Call(id))) {
                for state in runs.entries(call, top.state) {
                    let mut stack = below.to_vec();
                    stack.push(Frame { edge: Some(id), ..top.clone() });
                    stack.push(Frame { procedure: callee, copies: vec![child], edge: None, node: 0, state });
                    let mut seen = seen.to_vec();
                    seen[child].start = Some(state);
                    if self.run(&stack, &seen)? {
                        return Some(true);
                    }
                }
                continue;
            }
            if runs.may_violate(callee, Procedure::ENTRY) && self.violates(stack, seen) {
                return Some(true);
            }
            for exit in subsets(runs.result_mask(callee)) {
                let after = runs.oracle.returned(call, top.state, exit);
                if runs.oracle.enforced(top.procedure, after) && self.arrive(below, top, to, after, seen)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// The topmost activation comes to a node.
    fn arrive(&mut self, below: &[Frame], top: &Frame, to: usize, state: u32, seen: &[Seen]) -> Option<bool> {
        let runs = self.runs;
        if to == 1 {
            return self.leave(below, top, state, seen);
        }
        let mut stack = below.to_vec();
        if !runs.is_cut(top.procedure, to) {
            stack.push(Frame { node: to, state, ..top.clone() });
            return self.run(&stack, seen);
        }
        let copy = *top.copies.last().expect("in a copy");
        let node = Node::from_index(to);
        if let Some(&child) = self.children.get(&(copy as u32, Site::Loop(node))) {
            let mut frame = Frame { node: to, state, ..top.clone() };
            frame.copies.push(child);
            stack.push(frame);
            let mut seen = seen.to_vec();
            seen[child].start = Some(state);
            return self.run(&stack, &seen);
        }
        stack.push(top.clone());
        if runs.may_violate(top.procedure, node) && self.violates(&stack, seen) {
            return Some(true);
        }
        for exit in subsets(runs.result_mask(top.procedure)) {
            if self.leave(below, top, exit, seen)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The topmost activation returns.
    fn leave(&mut self, below: &[Frame], top: &Frame, exit: u32, seen: &[Seen]) -> Option<bool> {
        let Some((caller, rest)) = below.split_last() else { return Some(false) };
        let mut seen = seen.to_vec();
        for &copy in &top.copies {
            seen[copy].exit = Some(exit);
        }
        let id = caller.edge.expect("it called");
        let call = self.runs.call(caller.procedure, id);
        let after = self.runs.oracle.returned(call, caller.state, exit);
        if !self.runs.oracle.enforced(caller.procedure, after) {
            return Some(false);
        }
        let to = self.runs.oracle.procedure(caller.procedure).edge(id).to.index();
        self.arrive(rest, &Frame { edge: None, ..caller.clone() }, to, after, &seen)
    }

    /// The run violates the property; whether it satisfies all demands.
    fn violates(&self, stack: &[Frame], seen: &[Seen]) -> bool {
        let mut seen = seen.to_vec();
        for &copy in stack.iter().flat_map(|frame| &frame.copies) {
            seen[copy].fails = true;
        }
        self.unrolling.different.iter().all(|&(above, below)| {
            let (outer, inner) = (seen[above as usize], seen[below as usize]);
            let (procedure, node) = self.blocks[above as usize];
            let (Some(first), Some(second)) = (outer.start, inner.start) else { return true };
            let live = self.runs.live_mask(procedure, Node::from_index(node));
            if self.is_loop_pair(above, below) {
                return !agree(first, second, live);
            }
            let interface = (1 << self.runs.oracle.interface(procedure)) - 1;
            let results = self.runs.live_mask(procedure, Procedure::EXIT) & self.runs.result_mask(procedure);
            let same_end = outer.fails && inner.fails
                || matches!((outer.exit, inner.exit), (Some(a), Some(b)) if agree(a, b, results));
            !(agree(first, second, live & interface) && same_end)
        })
    }

    /// Whether only loops lead from one copy to the other.
    fn is_loop_pair(&self, above: u32, below: u32) -> bool {
        let mut copy = below;
        while copy != above {
            let BlockCopy { parent, site } = self.unrolling.copies[copy as usize - 1];
            if matches!(site, Site::Call(_)) {
                return false;
            }
            copy = parent;
        }
        true
    }
}

/// The sites of a block.
fn sites(runs: &Runs<'_>, (procedure, from): (usize, usize)) -> Vec<Site> {
    let body = runs.oracle.procedure(procedure);
    let mut sites = Vec::new();
    let mut seen = vec![false; body.nodes as usize];
    let mut work = vec![from];
    while let Some(node) = work.pop() {
        if let Property::LabelUnreachable(label) = &runs.task.property
            && body.nodes_labelled(label).any(|labelled| labelled.index() == node)
        {
            continue;
        }
        for (id, edge) in body.edges_from(Node::from_index(node)) {
            match edge.action {
                Action::EndThread => continue,
                Action::Call(_) => sites.push(Site::Call(id)),
                _ => {}
            }
            let to = edge.to.index();
            if runs.is_cut(procedure, to) {
                sites.push(Site::Loop(edge.to));
            } else if to != 1 && !std::mem::replace(&mut seen[to], true) {
                work.push(to);
            }
        }
    }
    sites.sort_unstable();
    sites.dedup();
    sites
}

/// A random tree of copies with random demands.
fn random_unrolling(runs: &Runs<'_>, rng: &mut Rng) -> Unrolling {
    let mut unrolling = Unrolling { cuts: listed(&runs.cuts), ..Unrolling::default() };
    let mut blocks = vec![(runs.task.program.start.index(), 0)];
    let mut open: Vec<BlockCopy> = Vec::new();
    let copies = rng.below(7);
    let grow = |copy: usize, blocks: &[(usize, usize)], open: &mut Vec<BlockCopy>| {
        open.extend(
            sites(runs, blocks[copy]).into_iter().map(|site| BlockCopy { parent: copy as u32, site }),
        );
    };
    grow(0, &blocks, &mut open);
    while unrolling.copies.len() < copies && !open.is_empty() {
        let copy = open.swap_remove(rng.below(open.len()));
        let (procedure, _) = blocks[copy.parent as usize];
        blocks.push(match copy.site {
            Site::Call(edge) => (runs.call(procedure, edge).callee.index(), 0),
            Site::Loop(node) => (procedure, node.index()),
        });
        unrolling.copies.push(copy);
        grow(blocks.len() - 1, &blocks, &mut open);
    }
    let by_call = |copy: usize| copy == 0 || matches!(unrolling.copies[copy - 1].site, Site::Call(_));
    let mut different = Vec::new();
    for below in 1..blocks.len() {
        let (mut above, mut loops) = (below, true);
        while above != 0 {
            loops &= !by_call(above);
            above = unrolling.copies[above - 1].parent as usize;
            let legal = loops || by_call(above) && by_call(below);
            if legal && blocks[above] == blocks[below] && rng.chance(70) {
                different.push((above as u32, below as u32));
            }
        }
    }
    unrolling.different = different;
    unrolling
}

#[test]
fn random_unrollings_are_accepted_if_and_only_if_no_run_violates() {
    let (mut accepts, mut rejects, mut helped) = (0, 0, 0);
    for seed in 0..400 {
        let task = sequential(seed);
        let mut rng = Rng::new(seed + 4_000_000);
        let runs = Runs::new(&task, random_cuts(&task, &mut |bound| rng.below(bound)));
        for _ in 0..3 {
            let unrolling = random_unrolling(&runs, &mut rng);
            let Some(violation) = Search::new(&runs, &unrolling).finds_a_violation() else { continue };
            let accepted = accepted(&task, safe(&unrolling));
            assert_eq!(accepted, !violation, "seed {seed}: {unrolling:?}");
            if accepted {
                accepts += 1;
                assert!(runs.is_safe(), "seed {seed}: {unrolling:?}");
                let bare = Unrolling { different: Vec::new(), ..unrolling };
                helped += usize::from(Search::new(&runs, &bare).finds_a_violation() == Some(true));
            } else {
                rejects += 1;
            }
        }
    }
    assert!(accepts > 150 && rejects > 150 && helped > 2, "{accepts} {rejects} {helped}");
}

fn loop_node(task: &Task, procedure: usize) -> Node {
    // The node with two edges into it.
    let body = &task.program.procedures[procedure];
    let count = |node: usize| body.edges.iter().filter(|edge| edge.to.index() == node).count();
    Node::from_index((2..body.nodes as usize).find(|&node| count(node) > 1).expect("a loop"))
}

/// A loop that a flag leaves after its first round: the unrolling needs two rounds, and the demand that
/// the second differs from the third.
#[test]
fn a_loop_is_closed_by_its_recurrence() {
    type Damage = fn(&mut Unrolling);
    let task = assertions("decl a; void main() begin a := T; while (*) do a := a; od assert(a); end");
    let main = task.program.start;
    let head = loop_node(&task, main.index());
    let around = |parent| BlockCopy { parent, site: Site::Loop(head) };
    let proof =
        Unrolling { cuts: vec![(main, head)], copies: vec![around(0), around(1)], different: vec![(1, 2)] };
    assert!(accepted(&task, safe(&proof)));
    let without = Unrolling { different: Vec::new(), ..proof.clone() };
    assert!(rejection(&task, safe(&without)).contains("may violate the property"));
    let shorter = Unrolling { copies: vec![around(0)], different: Vec::new(), ..proof.clone() };
    assert!(rejection(&task, safe(&shorter)).contains("may violate the property"));
    let uncut = Unrolling { cuts: Vec::new(), ..proof.clone() };
    assert!(rejection(&task, safe(&uncut)).contains("goes through no cut"));
    let damages: [(Damage, &str); 8] = [
        (|u| u.copies[1].parent = 7, "does not come before it"),
        (|u| u.copies[1].site = Site::Call(EdgeId::from_index(0)), "is no call"),
        (|u| u.copies[1].site = Site::Loop(Procedure::ENTRY), "is no cut"),
        (|u| u.copies[1].parent = 0, "has another copy already"),
        (|u| u.different[0] = (2, 1), "not an ancestor"),
        (|u| u.different[0] = (0, 1), "not of the same block"),
        (|u| u.different[0] = (1, 9), "not an ancestor"),
        (|u| u.cuts.push((ProcId::from_index(0), Procedure::EXIT)), "no place for a cut"),
    ];
    for (damage, sentence) in damages {
        let mut damaged = proof.clone();
        damage(&mut damaged);
        let why = rejection(&task, safe(&damaged));
        assert!(why.contains(sentence), "{why}");
    }
}

#[test]
fn recursion_is_closed_by_calls_that_do_the_same() {
    let task = assertions(
        "decl a; void main() begin a := T; f(); end
         void f() begin if (*) then f(); fi assert(a); end",
    );
    let f = task.program.procedures.iter().position(|p| p.name == "f").expect("f");
    let call = |procedure: usize| {
        let edges = &task.program.procedures[procedure].edges;
        let position = edges.iter().position(|edge| matches!(edge.action, Action::Call(_))).expect("a call");
        Site::Call(EdgeId::from_index(position))
    };
    let copies = vec![
        BlockCopy { parent: 0, site: call(task.program.start.index()) },
        BlockCopy { parent: 1, site: call(f) },
    ];
    let proof = Unrolling { cuts: Vec::new(), copies, different: vec![(1, 2)] };
    assert!(accepted(&task, safe(&proof)));
    let without = Unrolling { different: Vec::new(), ..proof };
    assert!(!accepted(&task, safe(&without)));
}

#[test]
fn what_cannot_fail_may_stay_open() {
    let label = Property::LabelUnreachable("L".to_owned());
    let text =
        "decl a; void main() begin a := F; f(); while (*) do skip; od assume(a); assume(!a); L: skip; end
                void f() begin if (*) then f(); fi assert(F); end";
    let task = task(text, label, None, Dialect::Boom);
    let main = task.program.start;
    let head = loop_node(&task, main.index());
    let proof = Unrolling {
        cuts: vec![(main, head)],
        copies: vec![BlockCopy { parent: 0, site: Site::Loop(head) }],
        different: Vec::new(),
    };
    // The loop comes back to its head, and from there the label is in reach.
    assert!(!accepted(&task, safe(&proof)));
    let again = BlockCopy { parent: 1, site: Site::Loop(head) };
    let proof = Unrolling { copies: vec![proof.copies[0], again], different: vec![(1, 2)], ..proof };
    assert!(accepted(&task, safe(&proof)), "the call is open");
}
