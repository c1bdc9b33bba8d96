//! Sequential traces: right ones, and everything that one small change makes of them.

use std::time::{Duration, Instant};

use cusp::budget::Budget;
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation, Violation};
use cusp::evidence::{Trace, Verdict};
use cusp::model::{Action, EdgeId, Node, ProcId, Procedure, Property, Task};
use cusp::progress::Quiet;
use cusp::syntax::ast::Dialect;

use super::generate::{assertions, sequential, task};
use super::oracle::Sequential;
use super::{accepted, rejection};

fn unsafe_by(tree: &CallTree) -> Verdict {
    Verdict::Unsafe(Trace::Sequential(tree.clone()))
}

/// All valuations that differ in one bit or in their length.
pub fn damaged(values: &Valuation) -> Vec<Valuation> {
    let mut all: Vec<Valuation> = (0..values.0.len())
        .map(|i| {
            let mut other = values.clone();
            other.0[i] ^= true;
            other
        })
        .collect();
    all.push(Valuation(values.0.iter().copied().chain([false]).collect()));
    if let Some((_, shorter)) = values.0.split_last() {
        all.push(Valuation(shorter.to_vec()));
    }
    all
}

fn damaged_states(state: &State) -> Vec<State> {
    let globals = damaged(&state.globals).into_iter().map(|globals| State { globals, ..state.clone() });
    let locals = damaged(&state.locals).into_iter().map(|locals| State { locals, ..state.clone() });
    globals.chain(locals).collect()
}

/// A list with one element left out, doubled, or swapped with the next.
pub fn damaged_lists<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut all = Vec::new();
    for i in 0..items.len() {
        let mut fewer = items.to_vec();
        fewer.remove(i);
        all.push(fewer);
        let mut more = items.to_vec();
        more.insert(i, items[i].clone());
        all.push(more);
        if i > 0 {
            let mut swapped = items.to_vec();
            swapped.swap(i - 1, i);
            all.push(swapped);
        }
    }
    all
}

/// The run with one thing changed.
fn damaged_runs(task: &Task, run: &Run, runs: usize) -> Vec<Run> {
    let procedures = task.program.procedures.len();
    let edges = task.program.procedures.iter().map(|p| p.edges.len()).max().unwrap_or(0);
    let edge_ids = || (0..=edges).map(EdgeId::from_index);
    let run_ids = || (0..=runs).map(RunId::from_index);
    let mut all = Vec::new();
    for procedure in (0..=procedures).map(ProcId::from_index) {
        all.push(Run { procedure, ..run.clone() });
    }
    all.extend(damaged_states(&run.entry).into_iter().map(|entry| Run { entry, ..run.clone() }));
    all.extend(damaged_lists(&run.steps).into_iter().map(|steps| Run { steps, ..run.clone() }));
    for (i, step) in run.steps.iter().enumerate() {
        let edges = edge_ids().map(|edge| Step { edge, ..step.clone() });
        let calls = run_ids().map(Some).chain([None]).map(|call| Step { call, ..step.clone() });
        let states = damaged_states(&step.after).into_iter().map(|after| Step { after, ..step.clone() });
        for step in edges.chain(calls).chain(states) {
            let mut other = run.clone();
            other.steps[i] = step;
            all.push(other);
        }
    }
    let violations = edge_ids().map(Violation::Assertion).chain([Violation::Label]).map(End::Violation);
    let inside = edge_ids().flat_map(|edge| run_ids().map(move |run| End::Inside { edge, run }));
    all.extend(violations.chain(inside).chain([End::Exit]).map(|end| Run { end, ..run.clone() }));
    all
}

/// The tree with one thing changed.
fn damaged_trees(task: &Task, tree: &CallTree) -> Vec<CallTree> {
    let mut all: Vec<CallTree> =
        damaged_lists(&tree.runs).into_iter().map(|runs| CallTree { runs }).collect();
    for (i, run) in tree.runs.iter().enumerate() {
        for damaged in damaged_runs(task, run, tree.runs.len()) {
            let mut other = tree.clone();
            other.runs[i] = damaged;
            all.push(other);
        }
    }
    all
}

/// Checks every damaged tree against the oracle; tells how many were wrong.
pub fn check_damage(task: &Task, tree: &CallTree) -> usize {
    let oracle = Sequential::new(task);
    assert!(oracle.is_counterexample(tree), "{tree:#?}");
    assert!(accepted(task, unsafe_by(tree)), "{tree:#?}");
    let mut wrong = 0;
    for damaged in damaged_trees(task, tree) {
        let right = oracle.is_counterexample(&damaged);
        assert_eq!(accepted(task, unsafe_by(&damaged)), right, "{damaged:#?}");
        wrong += usize::from(!right);
    }
    wrong
}

/// A run that follows the first edge of every node and never changes anything.
fn straight(task: &Task, procedure: usize, call: Option<RunId>, end: impl Fn(EdgeId) -> Option<End>) -> Run {
    let body = &task.program.procedures[procedure];
    let state = State {
        globals: Valuation(vec![false; task.program.globals.len()]),
        locals: Valuation(vec![false; body.locals.len()]),
    };
    let mut run = Run {
        procedure: ProcId::from_index(procedure),
        entry: state.clone(),
        steps: Vec::new(),
        end: End::Exit,
    };
    let mut node = Procedure::ENTRY;
    while node != Procedure::EXIT {
        let (id, edge) = body.edges_from(node).next().expect("an edge");
        if let Some(end) = end(id) {
            run.end = end;
            break;
        }
        let call = call.filter(|_| matches!(edge.action, Action::Call(_)));
        run.steps.push(Step { edge: id, call, after: state.clone() });
        node = edge.to;
    }
    run
}

fn is_assertion(task: &Task, procedure: usize, edge: EdgeId) -> bool {
    matches!(task.program.procedures[procedure].edge(edge).action, Action::Assert(_))
}

/// A chain of procedures, each of which calls the next twice; the bug is after them.
fn doubling(length: usize) -> (Task, CallTree) {
    let main = "decl g; void main() begin p0(); assert(g); end\n".to_owned();
    let chain = (0..length).map(|i| format!("void p{i}() begin p{next}(); p{next}(); end\n", next = i + 1));
    let last = format!("void p{length}() begin skip; end\n");
    let text: String = std::iter::once(main).chain(chain).chain([last]).collect();
    let task = assertions(&text);
    let mut order: Vec<usize> = (0..task.program.procedures.len()).collect();
    // Callees come first: the last procedure of the chain, and `main` at the end.
    order.sort_by_key(|&id| {
        let name = &task.program.procedures[id].name;
        std::cmp::Reverse(
            name.strip_prefix('p').map_or(0, |number| 1 + number.parse::<usize>().expect("a number")),
        )
    });
    let mut runs: Vec<Run> = Vec::new();
    for id in order {
        let callee = runs.len().checked_sub(1).map(RunId::from_index);
        let fails =
            |edge| is_assertion(&task, id, edge).then_some(End::Violation(Violation::Assertion(edge)));
        runs.push(straight(&task, id, callee, fails));
    }
    (task, CallTree { runs })
}

#[test]
fn a_tree_that_stands_for_2_to_the_800_steps_is_checked_at_once() {
    let (task, tree) = doubling(800);
    assert!(tree.lengths().last().is_some_and(|&length| length > 2.0_f64.powi(800)));
    let begin = Instant::now();
    assert!(accepted(&task, unsafe_by(&tree)));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn every_change_of_a_shared_tree_is_judged_rightly() {
    let (task, tree) = doubling(2);
    assert!(check_damage(&task, &tree) > 100);
}

#[test]
fn every_change_of_a_random_trace_is_judged_rightly() {
    let (mut traces, mut wrong) = (0, 0);
    for seed in 0..400 {
        let task = sequential(seed);
        let verdict = Explicit::default().run(&task, &Budget::unlimited(), &Quiet);
        if let Verdict::Unsafe(Trace::Sequential(tree)) = verdict {
            traces += 1;
            wrong += check_damage(&task, &tree);
        }
    }
    assert!(traces > 40 && wrong > 5_000, "{traces} traces, {wrong} wrong changes");
}

#[test]
fn cyclic_trees_are_rejected() {
    let (task, tree) = doubling(3);
    for run in 0..tree.runs.len() {
        for step in 0..tree.runs[run].steps.len() {
            for target in run..tree.runs.len() + 2 {
                let mut cyclic = tree.clone();
                if cyclic.runs[run].steps[step].call.replace(RunId::from_index(target)).is_some() {
                    let why = rejection(&task, unsafe_by(&cyclic));
                    assert!(why.contains("does not come before it"), "{why}");
                }
            }
        }
    }
}

#[test]
fn the_violation_may_lie_in_a_call_that_does_not_return() {
    let task = assertions("decl g; void main() begin f(); end void f() begin f(); assert(F); end");
    let main = task.program.start.index();
    let callee = 1 - main;
    let fails =
        |edge| is_assertion(&task, callee, edge).then_some(End::Violation(Violation::Assertion(edge)));
    let failing = straight(&task, callee, None, fails);
    // The recursive call must be taken first, so this run cannot be right.
    let inside = |procedure: usize, run: usize| {
        straight(&task, procedure, None, |edge| {
            let action = &task.program.procedures[procedure].edge(edge).action;
            let run = RunId::from_index(run);
            matches!(action, Action::Call(_)).then_some(End::Inside { edge, run })
        })
    };
    let runs = vec![failing, inside(callee, 0), inside(main, 1)];
    let why = rejection(&task, unsafe_by(&CallTree { runs }));
    assert!(why.contains("it is a call without a run"), "{why}");

    let task = assertions("decl g; void main() begin f(); end void f() begin assert(F); end");
    let fails =
        |edge| is_assertion(&task, callee, edge).then_some(End::Violation(Violation::Assertion(edge)));
    let call = |edge: EdgeId| {
        let action = &task.program.procedures[main].edge(edge).action;
        matches!(action, Action::Call(_)).then_some(End::Inside { edge, run: RunId::from_index(0) })
    };
    let tree =
        CallTree { runs: vec![straight(&task, callee, None, fails), straight(&task, main, None, call)] };
    assert!(check_damage(&task, &tree) > 20);
}

#[test]
fn sentences_say_what_is_wrong() {
    type Damage = fn(&mut Run);
    let (task, tree) = doubling(1);
    let last = tree.runs.len() - 1;
    let damages: [(Damage, &str); 8] = [
        (|run| run.end = End::Exit, "ends without a violation"),
        (|run| run.end = End::Violation(Violation::Label), "the forbidden label is not at"),
        (|run| run.steps[0].edge = EdgeId::from_index(50), "there is no edge a50"),
        (|run| run.steps[0].after.globals.0[0] = true, "it changes `g`, which it does not assign"),
        (|run| run.steps[1].after.globals.0[0] = true, "is not what run r1 leaves behind"),
        (|run| run.steps[1].call = None, "it is a call without a run"),
        (|run| run.entry.globals.0.clear(), "does not have 1 globals and 0 locals"),
        (|run| run.procedure = ProcId::from_index(2), "not one of the start procedure"),
    ];
    for (damage, sentence) in damages {
        let mut damaged = tree.clone();
        damage(&mut damaged.runs[last]);
        let why = rejection(&task, unsafe_by(&damaged));
        assert!(why.contains(sentence), "{why}");
    }
    assert!(rejection(&task, unsafe_by(&CallTree { runs: Vec::new() })).contains("empty"));
}

#[test]
fn assertions_are_assumptions_when_a_label_is_asked_for() {
    let label = || Property::LabelUnreachable("L".to_owned());
    let text = "decl g; void main() begin assert(g); L: skip; end";
    let task = task(text, label(), None, Dialect::Boom);
    let node = task.program.procedures[0].labels[0].1;
    let arrives = |value: bool| {
        let mut run = straight(&task, 0, None, |_| None);
        let reached = |step: &Step| task.program.procedures[0].edge(step.edge).to == node;
        let length = run.steps.iter().position(reached).expect("the label") + 1;
        run.steps.truncate(length);
        run.end = End::Violation(Violation::Label);
        run.entry.globals.0[0] = value;
        run.steps.iter_mut().for_each(|step| step.after.globals.0[0] = value);
        CallTree { runs: vec![run] }
    };
    assert!(accepted(&task, unsafe_by(&arrives(true))));
    assert!(rejection(&task, unsafe_by(&arrives(false))).contains("its condition cannot hold"));
    let mut failing = arrives(false);
    failing.runs[0].steps.pop();
    failing.runs[0].end = End::Violation(Violation::Assertion(EdgeId::from_index(1)));
    assert!(rejection(&task, unsafe_by(&failing)).contains("does not violate the property"));
}

impl Sequential<'_> {
    /// Whether a tree is a run with a violation: runs it, with a stack, call by call.
    pub fn is_counterexample(&self, tree: &CallTree) -> bool {
        /// A call that is running: its run, how many steps it has made, where it is.
        struct Active {
            run: usize,
            steps: usize,
            node: Node,
            state: u32,
        }
        let enter = |run: usize| {
            let Run { procedure, entry, .. } = tree.runs.get(run)?;
            let state = self.state(procedure.index(), entry)?;
            self.enforced(procedure.index(), state).then_some(Active {
                run,
                steps: 0,
                node: Procedure::ENTRY,
                state,
            })
        };
        let Some(last) = tree.runs.len().checked_sub(1) else { return false };
        let Some(first) = enter(last) else { return false };
        if tree.runs[last].procedure != self.task.program.start {
            return false;
        }
        let mut stack = vec![first];
        for _ in 0..100_000 {
            let Some(active) = stack.last() else { return false };
            let run = &tree.runs[active.run];
            let procedure = run.procedure.index();
            let step = run.steps.get(active.steps);
            let (edge, callee) = match (step, run.end) {
                (Some(step), _) => (step.edge, step.call),
                (None, End::Inside { edge, run }) => (edge, Some(run)),
                (None, End::Violation(violation)) => {
                    let inside = |a: &Active| a.steps == tree.runs[a.run].steps.len();
                    return stack.iter().all(inside)
                        && self.violations(procedure, active.node, active.state).contains(&violation);
                }
                (None, End::Exit) => {
                    let (exit, node) = (active.state, active.node);
                    stack.pop();
                    let Some(caller) = stack.last_mut() else { return false };
                    let run = &tree.runs[caller.run];
                    let Some(step) = run.steps.get(caller.steps) else { return false };
                    let edge = self.task.program.procedure(run.procedure).edge(step.edge);
                    let Action::Call(call) = &edge.action else { return false };
                    let after = self.returned(call, caller.state, exit);
                    let id = run.procedure.index();
                    if node != Procedure::EXIT
                        || self.state(id, &step.after) != Some(after)
                        || !self.enforced(id, after)
                    {
                        return false;
                    }
                    *caller =
                        Active { run: caller.run, steps: caller.steps + 1, node: edge.to, state: after };
                    continue;
                }
            };
            let Some(edge) = self.task.program.procedures[procedure].edges.get(edge.index()) else {
                return false;
            };
            if edge.from != active.node {
                return false;
            }
            match (&edge.action, callee, step) {
                (Action::Call(call), Some(callee), _) => {
                    let Some(entered) = enter(callee.index()) else { return false };
                    let right = tree.runs[callee.index()].procedure == call.callee;
                    if callee.index() >= active.run
                        || !right
                        || !self.passes(call, active.state, entered.state)
                    {
                        return false;
                    }
                    stack.push(entered);
                }
                (_, None, Some(step)) => {
                    let Some(after) = self.state(procedure, &step.after) else { return false };
                    if !self.steps(procedure, edge, active.state, after) {
                        return false;
                    }
                    let steps = active.steps + 1;
                    let next = Active { run: active.run, steps, node: edge.to, state: after };
                    stack.pop();
                    stack.push(next);
                }
                _ => return false,
            }
        }
        panic!("the run is too long for this oracle")
    }

    /// A state as a number, if it has the right size.
    fn state(&self, procedure: usize, state: &State) -> Option<u32> {
        let locals = self.task.program.procedures.get(procedure)?.locals.len();
        let fits = state.globals.0.len() == self.globals && state.locals.0.len() == locals;
        let values = state.globals.0.iter().chain(&state.locals.0).enumerate();
        fits.then(|| values.map(|(i, &value)| u32::from(value) << i).sum())
    }
}
