//! K-induction against all paths of block steps between all states of small programs.

use std::collections::{BTreeMap, BTreeSet};

use cusp::evidence::trace::Violation;
use cusp::evidence::{Certificate, KInductive, Reason, Verdict};
use cusp::model::{Action, EdgeId, Node, Procedure, Task, Var};

use super::generate::{Rng, assertions, sequential};
use super::oracle_relations::random_cuts;
use super::runs::{Runs, listed};
use super::{accepted, rejection};
use cusp::budget::Budget;
use cusp::certify::certify;

fn safe(proof: &KInductive) -> Verdict {
    Verdict::Safe(Certificate::KInductive(proof.clone()))
}

/// The topmost frame last: procedure, node (the source of the call edge below the top), state. The
/// globals of the topmost frame count.
type Config = Vec<(usize, usize, u32)>;

struct Paths<'a> {
    runs: Runs<'a>,
    blocks: BTreeMap<Config, (BTreeSet<Config>, bool)>,
}

impl Paths<'_> {
    /// The call edge at a node of the call string.
    fn call_edge(&self, procedure: usize, node: usize) -> EdgeId {
        let body = self.runs.oracle.procedure(procedure);
        let mut calls = body.edges_from(Node::from_index(node));
        calls.find(|(_, edge)| matches!(edge.action, Action::Call(_))).expect("a call").0
    }

    /// Where the block of a configuration leads, and whether it violates.
    fn block(&mut self, from: &Config) -> (BTreeSet<Config>, bool) {
        if let Some(known) = self.blocks.get(from) {
            return known.clone();
        }
        let (mut next, mut violates) = (BTreeSet::new(), false);
        let mut seen = BTreeSet::new();
        let mut work = vec![from.clone()];
        while let Some(config) = work.pop() {
            if !seen.insert(config.clone()) {
                continue;
            }
            let (found, label) = self.violation(&config);
            violates |= found;
            if label {
                continue;
            }
            for after in self.successors(&config) {
                let &(procedure, node, _) = after.last().expect("a frame");
                if self.runs.is_cut(procedure, node) {
                    next.insert(after);
                } else {
                    work.push(after);
                }
            }
        }
        self.blocks.insert(from.clone(), (next.clone(), violates));
        (next, violates)
    }

    fn violation(&self, config: &Config) -> (bool, bool) {
        let &(procedure, node, state) = config.last().expect("a frame");
        let violations = self.runs.oracle.violations(procedure, Node::from_index(node), state);
        (!violations.is_empty(), violations.contains(&Violation::Label))
    }

    fn successors(&self, config: &Config) -> Vec<Config> {
        let oracle = &self.runs.oracle;
        let (&(procedure, node, state), below) = config.split_last().expect("a frame");
        let mut found = Vec::new();
        if node == 1 {
            if let Some((&(caller, at, before), rest)) = below.split_last() {
                let id = self.call_edge(caller, at);
                let after = oracle.returned(self.runs.call(caller, id), before, state);
                if oracle.enforced(caller, after) {
                    let to = oracle.procedure(caller).edge(id).to.index();
                    found.push(rest.iter().copied().chain([(caller, to, after)]).collect());
                }
            }
            return found;
        }
        for (_, edge) in oracle.procedure(procedure).edges_from(Node::from_index(node)) {
            if let Action::Call(call) = &edge.action {
                let callee = call.callee.index();
                for inside in self.runs.entries(call, state) {
                    found.push(config.iter().copied().chain([(callee, 0, inside)]).collect());
                }
                continue;
            }
            for after in 0..1_u32 << oracle.width(procedure) {
                if oracle.steps(procedure, edge, state, after) {
                    found.push(below.iter().copied().chain([(procedure, edge.to.index(), after)]).collect());
                }
            }
        }
        found
    }

    /// What makes configurations different: nodes, and what is live of the states.
    fn key(&self, config: &Config) -> Config {
        let (&(procedure, node, state), below) = config.split_last().expect("a frame");
        let globals = (1_u32 << self.runs.oracle.globals) - 1;
        let mut key = Vec::new();
        for &(caller, at, state) in below {
            let id = self.call_edge(caller, at);
            let edge = self.runs.oracle.procedure(caller).edge(id);
            let targets = self.runs.call(caller, id).targets.iter().flatten();
            let assigned = targets.fold(0, |bits, &var: &Var| bits | 1 << self.runs.oracle.position(var));
            let live = self.runs.live_mask(caller, edge.to) & !globals & !assigned;
            key.push((caller, at, state & live));
        }
        key.push((procedure, node, state & self.runs.live_mask(procedure, Node::from_index(node))));
        key
    }

    /// Every configuration at every location that control may reach.
    fn everywhere(&self) -> Vec<Config> {
        let start = self.runs.task.program.start.index();
        let mut all = Vec::new();
        let mut strings: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        while let Some(string) = strings.pop() {
            let procedure = string.last().map_or(start, |&(caller, at)| {
                self.runs.call(caller, self.call_edge(caller, at)).callee.index()
            });
            let body = self.runs.oracle.procedure(procedure);
            let mut seen = vec![false; body.nodes as usize];
            let mut work = vec![0];
            while let Some(node) = work.pop() {
                if std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                let first = string.is_empty() && node == 0;
                if first || self.runs.is_cut(procedure, node) {
                    self.configurations(&string, procedure, node, &mut all);
                }
                for (_, edge) in body.edges_from(Node::from_index(node)) {
                    match &edge.action {
                        Action::EndThread => continue,
                        Action::Call(_) => {
                            strings.push(string.iter().copied().chain([(procedure, node)]).collect());
                        }
                        _ => {}
                    }
                    work.push(edge.to.index());
                }
            }
        }
        all
    }

    fn configurations(
        &self,
        string: &[(usize, usize)],
        procedure: usize,
        node: usize,
        all: &mut Vec<Config>,
    ) {
        let oracle = &self.runs.oracle;
        let mut partial: Vec<Config> = vec![Vec::new()];
        for &(caller, at) in string {
            // Only the topmost globals count.
            let states =
                (0..1_u32 << oracle.width(caller)).filter(|state| state & ((1 << oracle.globals) - 1) == 0);
            let states: Vec<u32> = states.collect();
            partial = partial
                .iter()
                .flat_map(|config| {
                    states.iter().map(|&state| config.iter().copied().chain([(caller, at, state)]).collect())
                })
                .collect();
        }
        for config in partial {
            for state in (0..1_u32 << oracle.width(procedure)).filter(|&s| oracle.enforced(procedure, s)) {
                all.push(config.iter().copied().chain([(procedure, node, state)]).collect());
            }
        }
    }

    fn base_holds(&mut self, k: u32) -> bool {
        let start = self.runs.task.program.start.index();
        let states =
            (0..1_u32 << self.runs.oracle.width(start)).filter(|&s| self.runs.oracle.enforced(start, s));
        let mut moment: BTreeSet<Config> = states.map(|state| vec![(start, 0, state)]).collect();
        for _ in 0..k {
            let mut next = BTreeSet::new();
            for config in moment {
                let (after, violates) = self.block(&config);
                if violates {
                    return false;
                }
                next.extend(after);
            }
            moment = next;
        }
        true
    }

    /// `None` if there are too many paths.
    fn step_holds(&mut self, k: u32) -> Option<bool> {
        let mut fuel = 300_000_usize;
        for config in self.everywhere() {
            let mut path = vec![self.key(&config)];
            if self.path_violates(&config, &mut path, k, &mut fuel)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn path_violates(
        &mut self,
        from: &Config,
        path: &mut Vec<Config>,
        k: u32,
        fuel: &mut usize,
    ) -> Option<bool> {
        *fuel = fuel.checked_sub(1)?;
        let (next, violates) = self.block(from);
        if k == 0 {
            return Some(violates);
        }
        for after in next {
            let key = self.key(&after);
            if path.contains(&key) {
                continue;
            }
            path.push(key);
            if self.path_violates(&after, path, k - 1, fuel)? {
                return Some(true);
            }
            path.pop();
        }
        Some(false)
    }
}

/// Whether control may come to a call from inside a procedure to itself. Only `f` can be recursive in the
/// random programs, and nobody calls `main`.
fn is_recursive(task: &Task) -> bool {
    let program = &task.program;
    let mut seen = BTreeSet::new();
    let mut work = vec![(program.start.index(), 0)];
    while let Some((procedure, node)) = work.pop() {
        if !seen.insert((procedure, node)) {
            continue;
        }
        for (_, edge) in program.procedures[procedure].edges_from(Node::from_index(node)) {
            match &edge.action {
                Action::EndThread => continue,
                Action::Call(call) if call.callee.index() == procedure => return true,
                Action::Call(call) => work.push((call.callee.index(), 0)),
                _ => {}
            }
            work.push((procedure, edge.to.index()));
        }
    }
    false
}

#[test]
fn random_inductions_are_accepted_if_and_only_if_base_and_step_hold() {
    let (mut accepts, mut rejects, mut recursive) = (0, 0, 0);
    for seed in 0..500 {
        let task = sequential(seed);
        let mut rng = Rng::new(seed + 5_000_000);
        let runs = Runs::new(&task, random_cuts(&task, &mut |bound| rng.below(bound)));
        let cuts = listed(&runs.cuts);
        if is_recursive(&task) {
            let why = rejection(&task, safe(&KInductive { cuts, k: 1 }));
            assert!(why.contains("is recursive"), "{why}");
            recursive += 1;
            continue;
        }
        let mut paths = Paths { runs, blocks: BTreeMap::new() };
        for k in 0..4 {
            let base = paths.base_holds(k);
            let Some(step) = paths.step_holds(k) else { break };
            let accepted = accepted(&task, safe(&KInductive { cuts: cuts.clone(), k }));
            assert_eq!(accepted, base && step, "seed {seed}, k {k}: base {base}, step {step}, cuts {cuts:?}");
            assert!(!accepted || paths.runs.is_safe(), "seed {seed}, k {k}");
            if accepted { accepts += 1 } else { rejects += 1 }
        }
    }
    assert!(accepts > 150 && rejects > 150 && recursive > 20, "{accepts} {rejects} {recursive}");
}

#[test]
fn a_shorter_induction_is_rejected() {
    // The counter runs 0 1 2 0; state 3 is not reachable and steps to itself, and one step before the
    // violation there is nothing else.
    let task = assertions(
        "decl a, b; void main() begin a, b := F, F;
         while (*) do if (a & b) then skip; else a, b := !a & !b, a; fi assert(!(a & b)); od end",
    );
    let main = &task.program.procedures[task.program.start.index()];
    let count = |node: usize| main.edges.iter().filter(|edge| edge.to.index() == node).count();
    let head = (2..main.nodes as usize).map(Node::from_index).find(|n| count(n.index()) > 1).expect("a loop");
    let cuts = vec![(task.program.start, head)];
    assert!(rejection(&task, safe(&KInductive { cuts: cuts.clone(), k: 0 })).starts_with("step"));
    assert!(accepted(&task, safe(&KInductive { cuts: cuts.clone(), k: 1 })));
    assert!(accepted(&task, safe(&KInductive { cuts: cuts.clone(), k: 5 })));
    assert!(rejection(&task, safe(&KInductive { cuts: Vec::new(), k: 1 })).contains("no cut"));
    let exit = vec![(task.program.start, head), (task.program.start, Procedure::EXIT)];
    assert!(rejection(&task, safe(&KInductive { cuts: exit, k: 1 })).contains("no place for a cut"));
}

#[test]
fn too_many_call_strings_are_refused() {
    let twice = |i: usize| format!("void f{i}() begin f{0}(); f{0}(); end\n", i + 1);
    let chain: String = (0..20).map(twice).collect();
    let task = assertions(&format!(
        "decl g; void main() begin f0(); assert(g); end {chain} void f20() begin g := T; end"
    ));
    let certified = certify(&task, safe(&KInductive { cuts: Vec::new(), k: 0 }), &Budget::unlimited());
    let verdict = certified.expect("not rejected").verdict().clone();
    let Verdict::Unknown(unknown) = verdict else { panic!("{verdict:?}") };
    assert!(matches!(unknown.reason, Reason::TooLargeToCheck { what: "call strings", .. }));
}
