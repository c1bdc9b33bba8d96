//! Traces of several threads: right ones, and everything that one small change makes of them.

use std::collections::HashSet;
use std::sync::Arc;

use cusp::evidence::trace::{Frame, Interleaving, Move, System, Thread, ThreadStep, Violation};
use cusp::evidence::{Trace, Verdict};
use cusp::model::{EdgeId, Node, ProcId, Property, Task};
use cusp::syntax::ast::Dialect;

use super::generate::{concurrent, task};
use super::oracle_threads::Threads;
use super::traces::{damaged, damaged_lists};
use super::{accepted, rejection};

fn unsafe_by(run: &Interleaving) -> Verdict {
    Verdict::Unsafe(Trace::Interleaved(run.clone()))
}

/// A shortest run to a violation, if one is found within the limit.
fn search(task: &Task, limit: usize) -> Option<Interleaving> {
    let oracle = Threads { task };
    let mut states: Vec<(System, u32)> = Vec::new();
    let mut parents: Vec<Option<(usize, u32, Move)>> = Vec::new();
    let mut seen: HashSet<(System, u32)> = HashSet::new();
    for state in oracle.initial() {
        seen.insert((state.clone(), 1));
        states.push((state, 1));
        parents.push(None);
    }
    let mut next = 0;
    while next < states.len() && states.len() < limit {
        let (state, created) = states[next].clone();
        for thread in &state.threads {
            let Some(&violation) = oracle.violations(&state, thread).first() else { continue };
            let mut steps = Vec::new();
            let mut at = next;
            while let Some((parent, thread, action)) = parents[at] {
                steps.push(ThreadStep { thread, action, after: states[at].0.clone() });
                at = parent;
            }
            steps.reverse();
            return Some(Interleaving { initial: states[at].0.clone(), steps, thread: thread.id, violation });
        }
        for (thread, action, after) in oracle.steps(&state, created) {
            let grown = created + u32::from(after.threads.iter().any(|thread| thread.id == created));
            if after.threads.iter().any(|thread| thread.frames.len() > 3) {
                continue;
            }
            if seen.insert((after.clone(), grown)) {
                states.push((after, grown));
                parents.push(Some((next, thread, action)));
            }
        }
        next += 1;
    }
    None
}

fn damaged_frames(task: &Task, frame: &Frame) -> Vec<Frame> {
    let locals = damaged(&frame.locals).into_iter().map(|locals| Frame { locals, ..frame.clone() });
    let nodes = task.program.procedures.iter().map(|p| p.nodes).max().unwrap_or(0) as usize;
    let nodes = (0..=nodes).map(|node| Frame { node: Node::from_index(node), ..frame.clone() });
    let procedures = (0..=task.program.procedures.len())
        .map(|procedure| Frame { procedure: ProcId::from_index(procedure), ..frame.clone() });
    locals.chain(nodes).chain(procedures).collect()
}

fn damaged_systems(task: &Task, system: &System) -> Vec<System> {
    let mut all: Vec<System> =
        damaged(&system.globals).into_iter().map(|globals| System { globals, ..system.clone() }).collect();
    for holder in (0..4).map(Some).chain([None]) {
        all.push(System { holder, ..system.clone() });
    }
    all.extend(
        damaged_lists(&system.threads).into_iter().map(|threads| System { threads, ..system.clone() }),
    );
    for (i, thread) in system.threads.iter().enumerate() {
        let ids = (0..4).map(|id| Thread { id, ..thread.clone() });
        let stacks =
            damaged_lists(&thread.frames).into_iter().map(|frames| Thread { frames, ..thread.clone() });
        let frames = (0..thread.frames.len()).flat_map(|depth| {
            damaged_frames(task, &thread.frames[depth]).into_iter().map(move |frame| {
                let mut thread = thread.clone();
                thread.frames[depth] = Arc::new(frame);
                thread
            })
        });
        for thread in ids.chain(stacks).chain(frames) {
            let mut other = system.clone();
            other.threads[i] = thread;
            all.push(other);
        }
    }
    all
}

fn damaged_interleavings(task: &Task, run: &Interleaving) -> Vec<Interleaving> {
    let edges = task.program.procedures.iter().map(|p| p.edges.len()).max().unwrap_or(0);
    let edge_ids = || (0..=edges).map(EdgeId::from_index);
    let mut all: Vec<Interleaving> = damaged_systems(task, &run.initial)
        .into_iter()
        .map(|initial| Interleaving { initial, ..run.clone() })
        .collect();
    all.extend(damaged_lists(&run.steps).into_iter().map(|steps| Interleaving { steps, ..run.clone() }));
    all.extend((0..4).map(|thread| Interleaving { thread, ..run.clone() }));
    let violations = edge_ids().map(Violation::Assertion).chain([Violation::Label]);
    all.extend(violations.map(|violation| Interleaving { violation, ..run.clone() }));
    for (i, step) in run.steps.iter().enumerate() {
        let threads = (0..4).map(|thread| ThreadStep { thread, ..step.clone() });
        let moves = edge_ids().map(Move::Edge).chain([Move::Return]);
        let moves = moves.map(|action| ThreadStep { action, ..step.clone() });
        let states = damaged_systems(task, &step.after);
        let states = states.into_iter().map(|after| ThreadStep { after, ..step.clone() });
        for step in threads.chain(moves).chain(states) {
            let mut other = run.clone();
            other.steps[i] = step;
            all.push(other);
        }
    }
    all
}

#[test]
fn every_change_of_a_random_run_is_judged_rightly() {
    let (mut runs, mut wrong) = (0, 0);
    for seed in 0..250 {
        let task = concurrent(seed);
        let Some(run) = search(&task, 1_500) else { continue };
        let oracle = Threads { task: &task };
        assert!(accepted(&task, unsafe_by(&run)), "seed {seed}: {run:#?}");
        runs += 1;
        for damaged in damaged_interleavings(&task, &run) {
            let right = oracle.is_counterexample(&damaged);
            assert_eq!(accepted(&task, unsafe_by(&damaged)), right, "seed {seed}: {damaged:#?}");
            wrong += usize::from(!right);
        }
    }
    assert!(runs > 40 && wrong > 10_000, "{runs} runs, {wrong} wrong changes");
}

/// A violation that the naive search must find, and the checker accept.
fn violated(text: &str, property: Property, threads: Option<u32>, dialect: Dialect) -> Option<Interleaving> {
    let task = task(text, property, threads, dialect);
    let run = search(&task, 20_000)?;
    assert!(accepted(&task, unsafe_by(&run)), "{run:#?}");
    Some(run)
}

#[test]
fn other_threads_wait_while_one_is_in_an_atomic_section() {
    let program = |open: &str, close: &str| {
        format!(
            "decl g; void main() begin g := F; start_thread f(); {open} g := T; g := F; {close} end
             void f() begin assert(!g); end"
        )
    };
    let found = |text: &str| violated(text, Property::Assertions, Some(2), Dialect::Boom).is_some();
    assert!(found(&program("skip;", "skip;")));
    assert!(!found(&program("atomic_begin;", "atomic_end;")));
    assert!(found(&program("atomic_begin;", "").replace("g := F;  end", "atomic_end; g := F; end")));
}

#[test]
fn a_thread_that_ends_releases_the_system() {
    let text = "decl g; void main() begin start_thread f(); atomic_begin; end void f() begin assert(F); end";
    let task = task(text, Property::Assertions, Some(2), Dialect::Boom);
    let run = search(&task, 20_000).expect("a violation");
    // Take the section first: then only the end of `main` lets the assertion fail.
    assert!(accepted(&task, unsafe_by(&run)));
    let oracle = Threads { task: &task };
    let mut state = oracle.initial().remove(0);
    let mut steps = Vec::new();
    let mut created = 1;
    while state.threads.iter().any(|thread| thread.id == 0) {
        let (thread, action, after) =
            oracle.steps(&state, created).into_iter().find(|(thread, ..)| *thread == 0).expect("a step");
        created += u32::from(after.threads.iter().any(|thread| thread.id == created));
        state = after.clone();
        steps.push(ThreadStep { thread, action, after });
    }
    let early = steps.len() - 1;
    let mut last = Interleaving { initial: run.initial, steps, thread: 1, violation: run.violation };
    while oracle.violations(&state, &state.threads[0]).is_empty() {
        let (thread, action, after) = oracle.steps(&state, created).remove(0);
        state = after.clone();
        last.steps.push(ThreadStep { thread, action, after });
    }
    assert!(accepted(&task, unsafe_by(&last)), "{last:#?}");
    last.steps.remove(early);
    assert!(!accepted(&task, unsafe_by(&last)));
}

#[test]
fn the_assertion_of_a_thread_cannot_fail_while_another_holds_the_system() {
    let text = "decl g; void main() begin start_thread f(); atomic_begin; skip; atomic_end; end
                void f() begin assert(F); end";
    let task = task(text, Property::Assertions, Some(2), Dialect::Boom);
    let oracle = Threads { task: &task };
    let run = search(&task, 20_000).expect("a violation");
    let mut state = run.steps.last().map_or(&run.initial, |step| &step.after).clone();
    let mut held = run.clone();
    while state.holder.is_none() {
        let (thread, action, after) =
            oracle.steps(&state, 2).into_iter().find(|(thread, ..)| *thread == 0).expect("a step");
        state = after.clone();
        held.steps.push(ThreadStep { thread, action, after });
    }
    let why = rejection(&task, unsafe_by(&held));
    assert!(why.contains("another thread holds the system"), "{why}");
}

#[test]
fn passive_assignments_reach_every_other_thread() {
    let program = |check: &str| {
        format!(
            "decl g; void main() begin decl x; x := F; g := F; start_thread goto L; x$ := T; g := T; end_thread;
             L: assume(g); assert({check}); end"
        )
    };
    let found =
        |check: &str| violated(&program(check), Property::Assertions, Some(2), Dialect::Boom).is_some();
    assert!(found("!x"));
    assert!(!found("x"));
}

#[test]
fn at_the_bound_a_new_thread_is_a_skip() {
    let text = "decl g; void main() begin g := F; start_thread f(); assume(g); assert(F); end
                void f() begin g := T; end";
    let found = |threads| violated(text, Property::Assertions, threads, Dialect::Boom).is_some();
    assert!(!found(Some(1)));
    assert!(found(Some(2)));
    assert!(found(None));
}

#[test]
fn while_the_getafix_flag_holds_no_other_thread_runs() {
    let program = |value: &str| {
        format!(
            "decl atomic, g; void main() begin atomic := F; g := F; start_thread f(); atomic := {value};
             g := T; g := F; atomic := F; end void f() begin assert(!g); end"
        )
    };
    let found = |value| violated(&program(value), Property::Assertions, Some(2), Dialect::Getafix).is_some();
    assert!(found("F"));
    assert!(!found("T"));
}

#[test]
fn sentences_say_what_is_wrong() {
    type Damage = fn(&mut Interleaving, usize);
    let text = "decl g; void main() begin decl x; start_thread f(x); assume(g); assert(F); end
                void f(p) begin g := p; end";
    let task = task(text, Property::Assertions, Some(3), Dialect::Boom);
    let mut run = search(&task, 20_000).expect("a violation");
    // The shortest run does not need the other thread to do anything.
    let spawn = run.steps.iter().position(|step| step.after.threads.len() == 2).expect("a new thread");
    let damages: [(Damage, &str); 9] = [
        (|run, _| run.thread = 9, "thread 9 does not live"),
        (|run, _| run.violation = Violation::Label, "the forbidden label is not at"),
        (|run, _| run.initial.holder = Some(0), "some thread holds the system"),
        (|run, _| run.initial.threads[0].id = 1, "exactly one thread, with number 0"),
        (|run, at| run.steps[at].thread = 5, "the thread does not live"),
        (|run, at| run.steps[at].action = Move::Return, "no caller to return to"),
        (|run, at| run.steps[at].after.threads[1].id = 4, "the new thread 1 is missing"),
        (
            |run, at| Arc::make_mut(&mut run.steps[at].after.threads[1].frames[0]).locals.0[0] ^= true,
            "argument 1 cannot have",
        ),
        (|run, at| run.steps[at].after.holder = Some(1), "the holder is None, not Some(1)"),
    ];
    for (damage, sentence) in damages {
        let mut damaged = run.clone();
        damage(&mut damaged, spawn);
        let why = rejection(&task, unsafe_by(&damaged));
        assert!(why.contains(sentence), "{why}");
    }
    run.steps.truncate(spawn);
    assert!(!accepted(&task, unsafe_by(&run)));
}
