//! Reduced programs have the same verdicts, and evidence about them is lifted to evidence about the original.

#[path = "reduce/brute_force.rs"]
mod brute_force;
#[path = "reduce/passes.rs"]
mod passes;
#[path = "reduce/paths.rs"]
mod paths;
#[path = "reduce/scale.rs"]
mod scale;
mod support;

use brute_force::{Pairs, Semantics};
use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::explicit::Explicit;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::{Certificate, Relations, Verdict};
use cusp::model::reduce::{Keep, Reduced, reduce};
use cusp::model::{Node, ProcId, Task};
use cusp::pipeline::table::HasEngines;
use cusp::pipeline::{Reductions, Route, decide};
use cusp::progress::{Progress, Quiet};
use cusp::source::Source;
use support::models::{Shape, random_task};
use support::random_programs::{Limits, sequential_within};
use support::rng::Rng;
use support::{for_each_seed, sequential};

fn task_of(text: &str, label: Option<&str>) -> Task {
    let options = Options { label: label.map(str::to_owned), ..Options::default() };
    let source = Source::new("random.bp", text);
    match prepare(&source, &options) {
        Ok(prepared) => prepared.task,
        Err(findings) => panic!("{}", cusp::diagnostic::render(&source, &findings, false)),
    }
}

fn explicit(task: &Task) -> Verdict {
    Explicit::default().run(task, &Budget::unlimited(), &Quiet)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The verdict of the reduced task is that of the original one, and its trace a trace there.
fn verdict_is_kept(task: &Task, keep: Keep) -> Result<&'static str, String> {
    let budget = Budget::unlimited();
    let Reduced { task: reduced, restore } = reduce(task, keep);
    let shown = || format!("{}\nreduced:\n{}", task.program, reduced.program);
    let (original, verdict) = (word(&explicit(task)), explicit(&reduced));
    certify(&reduced, verdict.clone(), &budget).map_err(|why| format!("{why}\n{}", shown()))?;
    if word(&verdict) != original {
        return Err(format!("{original} became {}:\n{}", word(&verdict), shown()));
    }
    if let Verdict::Unsafe(_) = &verdict {
        let lifted = restore.lift(verdict, &budget).map_err(|why| why.to_string())?;
        let certified = certify(task, lifted, &budget).map_err(|why| format!("{why}:\n{}", shown()))?;
        assert_eq!(word(certified.verdict()), "unsafe");
    }
    Ok(original)
}

fn both_ways(task: &Task) -> Result<(), String> {
    verdict_is_kept(task, Keep::Verdict)?;
    verdict_is_kept(task, Keep::States)?;
    Ok(())
}

#[test]
fn random_programs_keep_their_verdicts_and_traces() {
    for_each_seed(3000, sequential, |text| both_ways(&task_of(text, None)));
}

#[test]
fn random_graphs_keep_their_verdicts_and_traces() {
    let shape = Shape { procedures: 4, nodes: 6, variables: 3, cyclic: true, threads: false, padding: 0 };
    for seed in 0..3000 {
        both_ways(&random_task(seed, shape)).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn what_engines_show_about_reduced_programs_is_lifted() {
    let lifted = AtomicUsize::new(0);
    for_each_seed(500, sequential, |text| {
        let task = task_of(text, None);
        let budget = Budget::unlimited();
        let expected = word(&explicit(&task));
        for row in Task::ENGINES {
            // Unrolling everything may take forever.
            let name = row.name;
            let engine =
                row.engine(Bounds { depth: Some(6), recursion: Some(3), unwind: None, switches: None });
            let Some(keep) = engine.reduction() else { continue };
            for keep in [keep, Keep::States] {
                let Reduced { task: reduced, restore } = reduce(&task, keep);
                let verdict = engine.run(&reduced, &budget, &Quiet);
                if matches!(verdict, Verdict::Unknown(_)) {
                    continue;
                }
                let verdict = match restore.lift(verdict, &budget) {
                    Ok(verdict) => verdict,
                    // An unrolling may speak of states.
                    Err(_) if keep == Keep::Verdict && name == "bmc" => continue,
                    Err(why) => return Err(format!("{name:?}: {why}")),
                };
                let verdict = task.complete(verdict, &budget).map_err(|why| format!("{name:?}: {why}"))?;
                let certified =
                    certify(&task, verdict, &budget).map_err(|why| format!("{name:?}, {keep:?}: {why}"))?;
                if word(certified.verdict()) != expected {
                    return Err(format!("{name:?} says {}, not {expected}", word(certified.verdict())));
                }
                lifted.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    let lifted = lifted.into_inner();
    assert!(lifted > 2000, "{lifted} verdicts were lifted");
}

/// The explicit engine, as if its path edges could be lifted.
struct Hopeful {
    runs: AtomicUsize,
}

impl Engine for Hopeful {
    fn name(&self) -> &'static str {
        "hopeful"
    }

    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Explicit::default().run(task, budget, progress)
    }
}

#[test]
fn evidence_that_cannot_be_lifted_is_not_lost() {
    let budget = Budget::unlimited();
    let runs = |text: &str, reduces: bool, expected: &str| {
        let task = task_of(text, None);
        let engine = Hopeful { runs: AtomicUsize::new(0) };
        let verdict = decide(&engine, &Reductions::new(&task, reduces, &budget), &budget, &Quiet);
        let certified = certify(&task, verdict, &budget).expect("evidence about the original task");
        assert_eq!(word(certified.verdict()), expected);
        engine.runs.into_inner()
    };
    let safe = "decl g, h; void main() begin g := h; assert(g = h); end";
    let wrong = "decl g, h; void main() begin g := h; assert(g); end";
    assert_eq!(runs(safe, true, "safe"), 3, "reduced, reduced less, and as it is");
    assert_eq!(runs(wrong, true, "unsafe"), 1);
    assert_eq!(runs(safe, false, "safe"), 1);
}

/// Relations that prove the reduced task prove, lifted, the original one. Says whether they prove anything.
fn proof_is_kept(task: &Task, reduced: &Reduced<'_>, relations: Relations) -> Result<bool, String> {
    let here = Semantics { task: &reduced.task };
    let (pairs, cuts) = here.expand(&relations);
    if here.check(&pairs, &cuts).is_err() {
        return Ok(false);
    }
    let shown = || format!("{}\nreduced:\n{}", task.program, reduced.task.program);
    let verdict = Verdict::Safe(Certificate::Relations(relations));
    let lifted = reduced.restore.lift(verdict, &Budget::unlimited());
    let lifted = match lifted.map_err(|why| format!("{why}\n{}", shown()))? {
        Verdict::Safe(Certificate::Relations(relations)) => relations,
        other => return Err(format!("lifted to {other:?}")),
    };
    let completed = task.complete(Verdict::Safe(Certificate::Relations(lifted)), &Budget::unlimited());
    let lifted = match completed.map_err(|why| format!("{why}\n{}", shown()))? {
        Verdict::Safe(Certificate::Relations(relations)) => relations,
        other => return Err(format!("completed to {other:?}")),
    };
    let there = Semantics { task };
    let (pairs, cuts) = there.expand(&lifted);
    there.check(&pairs, &cuts).map_err(|why| format!("{why}\n{}", shown()))?;
    let verdict = Verdict::Safe(Certificate::Relations(lifted));
    certify(task, verdict, &Budget::unlimited()).map_err(|why| format!("{why}\n{}", shown()))?;
    Ok(true)
}

/// Sets of pairs that may prove a task: exact or not, from the start or from all entries.
fn candidates(task: &Task, seed: u64) -> Vec<Pairs> {
    let semantics = Semantics { task };
    let mut rng = Rng::new(seed);
    let mut found = vec![semantics.explore(false, |_, _, state| vec![state])];
    found.push(semantics.explore(true, |_, _, state| vec![state]));
    for all_entries in [false, true] {
        // Some variables are forgotten at some nodes.
        let salt = rng.below(1 << 20) as u64;
        let widen = |id: ProcId, node: Node, state: u32| {
            let mut rng = Rng::new(salt + 64 * id.index() as u64 + node.index() as u64);
            let mut states = vec![state];
            for bit in 0..semantics.width(id) {
                if rng.chance(15) {
                    states = states.iter().flat_map(|&s| [s, s ^ 1 << bit]).collect();
                }
            }
            states
        };
        found.push(semantics.explore(all_entries, widen));
    }
    found
}

const SMALL: Limits = Limits { globals: 2, locals: 2, returns: 1, procs: 3, statements: 6 };

fn proofs_are_kept(task: &Task, seed: u64, counts: &mut [usize; 2]) -> Result<(), String> {
    for keep in [Keep::Verdict, Keep::States] {
        let reduced = reduce(task, keep);
        let semantics = Semantics { task: &reduced.task };
        let cuts = semantics.loop_heads();
        for pairs in candidates(&reduced.task, seed) {
            let proves = proof_is_kept(task, &reduced, semantics.relations(&pairs, &cuts))?;
            counts[usize::from(proves)] += 1;
        }
        if let Verdict::Safe(Certificate::PathEdges(edges)) = explicit(&reduced.task) {
            let proves = proof_is_kept(task, &reduced, semantics.of_path_edges(&edges, &cuts))?;
            assert!(proves, "path edges of the explicit engine are no proof:\n{}", reduced.task.program);
        }
        if let Verdict::Safe(Certificate::NoViolationInReach) = explicit(&reduced.task) {
            let verdict = Verdict::Safe(Certificate::NoViolationInReach);
            let lifted = reduced.restore.lift(verdict, &Budget::unlimited());
            match lifted.map_err(|why| why.to_string())? {
                Verdict::Safe(Certificate::Relations(relations)) => {
                    let there = Semantics { task };
                    let (pairs, cuts) = there.expand(&relations);
                    there.check(&pairs, &cuts).map_err(|why| format!("{why}\n{}", task.program))?;
                }
                control => {
                    certify(task, control, &Budget::unlimited()).map_err(|why| why.to_string())?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn random_programs_keep_their_proofs() {
    let counts = std::sync::Mutex::new([0; 2]);
    for_each_seed(
        150,
        |seed| sequential_within(seed, SMALL),
        |text| {
            let mut count = [0; 2];
            let result = proofs_are_kept(&task_of(text, None), text.len() as u64, &mut count);
            let mut counts = counts.lock().expect("nobody panics while counting");
            counts.iter_mut().zip(count).for_each(|(all, more)| *all += more);
            result
        },
    );
    let [others, proofs] = counts.into_inner().expect("nobody panics while counting");
    assert!(proofs > 100 && others > 100, "{proofs} proofs, {others} others");
}

#[test]
fn cycles_that_the_reduction_takes_apart_are_cut_all_the_same() {
    let programs = [
        // The loop is never repeated, and closed by an edge between nodes that control comes to.
        "decl g, h, k; void main() begin assume(h = k); g := F; while (g) do od; assert(h = k); end",
        // The head is passed through, and another way round the loop is never taken.
        "decl c, h, k; void main() begin assume(h = k); c := T;
           while (T) do if (c) then assert(h = k); fi; h, k := k, h; od; end",
        // Loops that control never comes to.
        "decl c, h, k; void main() begin assume(h = k); c := T;
           if (!c) then while (*) do h := F; od; fi; assert(h = k); end
         void f() begin while (*) do h := F; od; end",
        "decl c, h, k; void main() begin assume(h = k); c := T;
           L: if (c) then goto M; fi; h := F; N: goto L, N; M: assert(h = k); end",
        // The entry takes over what a loop head was before.
        "decl h; void main() begin L: skip; assume(h); assert(h); if (!h) then goto L; fi; end",
    ];
    for text in programs {
        let task = task_of(text, None);
        for keep in [Keep::Verdict, Keep::States] {
            let reduced = reduce(&task, keep);
            let semantics = Semantics { task: &reduced.task };
            let cuts = semantics.loop_heads();
            let pairs = semantics.explore(false, |_, _, state| vec![state]);
            let relations = semantics.relations(&pairs, &cuts);
            assert_eq!(proof_is_kept(&task, &reduced, relations), Ok(true), "{text}");
        }
    }
}

#[test]
fn random_graphs_keep_their_proofs() {
    let shape = Shape { procedures: 3, nodes: 5, variables: 1, cyclic: true, threads: false, padding: 0 };
    let mut counts = [0; 2];
    for seed in 0..150 {
        let task = random_task(seed, shape);
        proofs_are_kept(&task, seed, &mut counts).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
    let [others, proofs] = counts;
    assert!(proofs > 100 && others > 100, "{proofs} proofs, {others} others");
}
