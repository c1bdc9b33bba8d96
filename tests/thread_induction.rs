//! K-induction for programs with threads, against a naive search: the same verdicts, proofs that are accepted, and no proof of an
//! unsafe program that is.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::engines::Engine;
use cusp::engines::kinduction::KInduction;
use cusp::evidence::text::{self, Evidence};
use cusp::evidence::threads::{ThreadInduction, ThreadInvariant, ThreadProof};
use cusp::evidence::{Certificate, Reason, Verdict};
use cusp::model::Task;
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp::threads::{Reductions, ThreadSystem};
use support::naive::{Limits, Seen, explore};
use support::odd_labels::with_odd_labels;
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::{RandomProgram, for_each_seed, options_of, seeds};

/// Large steps after which a search for a proof ends.
const DEPTH: u32 = 8;
/// Large steps in which a violation has to be found. The random programs need far fewer.
const UNSAFE_DEPTH: u32 = 60;
/// States after which the naive search leaves the verdict open.
const MOST_STATES: usize = 20_000;

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    match prepare(&source, &options_of(text)) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

fn safe(proof: &ThreadProof) -> Verdict {
    Verdict::Safe(Certificate::Threads(proof.clone()))
}

fn accepted(task: &Task, proof: &ThreadProof) -> Result<(), String> {
    certify(task, safe(proof), &Budget::unlimited()).map(|_| ()).map_err(|why| why.to_string())
}

/// The proof with another induction.
fn with(proof: &ThreadProof, change: impl Fn(&mut ThreadInduction)) -> ThreadProof {
    let mut proof = proof.clone();
    if let ThreadInvariant::Induction(induction) = &mut proof.invariant {
        change(induction);
    }
    proof
}

/// The proof over `k` large steps with nothing but what control says.
fn plain(task: &Task, k: u32) -> Option<ThreadProof> {
    let system = ThreadSystem::new(task, Reductions::ALL, None).ok()?;
    let live = |cut| system.live(cut).iter().map(|position| position as u32).collect();
    let positions = system.cuts().map(live).collect();
    let facts = system.facts_about_control();
    Some(system.proof(ThreadInvariant::Induction(ThreadInduction { k, positions, facts })))
}

#[derive(Default)]
struct Tally {
    unsafe_ones: AtomicUsize,
    proved: AtomicUsize,
    /// Proofs that are none without facts.
    needs_facts: AtomicUsize,
    /// Programs that have a proof without facts, but not with `k = 0`.
    needs_k: AtomicUsize,
}

fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn compare(text: &str, tally: &Tally) -> Result<(), String> {
    let task = task_of(text)?;
    if !task.program.starts_threads || task.threads.is_none() {
        return Ok(());
    }
    let expected = match explore(&task, Limits { stack: 8, states: MOST_STATES }) {
        Seen::All => Some(false),
        Seen::Violation { .. } => Some(true),
        Seen::TooMuch => None,
    };
    if expected == Some(true) {
        count(&tally.unsafe_ones);
        for k in 0..6 {
            let Some(proof) = plain(&task, k) else { break };
            let forgetful = with(&proof, |induction| induction.positions.iter_mut().for_each(Vec::clear));
            for proof in [proof, forgetful] {
                if accepted(&task, &proof).is_ok() {
                    return Err(format!("a proof with k = {k} of an unsafe program is accepted"));
                }
            }
        }
    }
    let depth = if expected == Some(true) { UNSAFE_DEPTH } else { DEPTH };
    let verdict = KInduction { depth: Some(depth) }.run(&task, &Budget::unlimited(), &Quiet);
    let (word, is_unsafe) = (verdict.word(), matches!(verdict, Verdict::Unsafe(_)));
    match &verdict {
        Verdict::Unknown(unknown) => match unknown.reason {
            Reason::DepthBound { .. } if expected != Some(true) => return Ok(()),
            Reason::Recursive { .. } => return Ok(()),
            _ => return Err(format!("unknown: {}", unknown.reason)),
        },
        _ if expected.is_some_and(|expected| expected != is_unsafe) => {
            return Err(format!("{word} is wrong"));
        }
        Verdict::Safe(Certificate::Threads(proof)) => {
            count(&tally.proved);
            if !matches!(proof.invariant, ThreadInvariant::Induction(_)) {
                return Err("another kind of proof".to_owned());
            }
            let mut written = Vec::new();
            text::write(
                &task.program,
                &Evidence::Certificate(Certificate::Threads(proof.clone())),
                &mut written,
            )
            .map_err(|error| error.to_string())?;
            match text::read(&written).map_err(|error| format!("{error:?}"))? {
                Evidence::Certificate(Certificate::Threads(read)) if read == *proof => {}
                _ => return Err("another proof is read than was written".to_owned()),
            }
            if accepted(&task, &with(proof, |induction| induction.facts.clear())).is_err() {
                count(&tally.needs_facts);
            }
            // If some `k` is enough, so is every larger one.
            let is_proof = |k: u32| plain(&task, k).is_some_and(|proof| accepted(&task, &proof).is_ok());
            let enough: Vec<bool> = (0..5).map(is_proof).collect();
            if !enough.is_sorted() {
                return Err(format!("proofs without facts are accepted for these k: {enough:?}"));
            }
            if enough[4] && !enough[0] {
                count(&tally.needs_k);
            }
            // A longer induction is a proof as well.
            accepted(&task, &with(proof, |induction| induction.k += 1))
                .map_err(|why| format!("with a larger k: {why}"))?;
        }
        Verdict::Safe(_) | Verdict::Unsafe(_) => {}
    }
    certify(&task, verdict, &Budget::unlimited()).map_err(|why| format!("{word}, rejected: {why}"))?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the figures of a campaign")]
fn compare_all(seed_count: u64, generator: impl Fn(u64) -> RandomProgram + Sync) {
    let tally = Tally::default();
    for_each_seed(seed_count, generator, |text| compare(text, &tally));
    let Tally { unsafe_ones, proved, needs_facts, needs_k } = tally;
    let [unsafe_ones, proved, needs_facts, needs_k] =
        [unsafe_ones, proved, needs_facts, needs_k].map(AtomicUsize::into_inner);
    let all = seeds(seed_count).count();
    println!(
        "{all} programs: {unsafe_ones} unsafe, {proved} proved; {needs_facts} need facts, {needs_k} need k > 0"
    );
    // Otherwise nothing is tested.
    if all >= 100 {
        assert!(unsafe_ones * 6 >= all, "{unsafe_ones} of {all} programs are unsafe");
        assert!(proved * 10 >= all, "{proved} of {all} programs are proved");
        assert!(needs_k * 20 >= all, "{needs_k} of {all} programs need more than one step");
        assert!(needs_facts * 20 >= all, "{needs_facts} of {all} proofs need facts");
    }
}

#[test]
fn started_threads() {
    for threads in 1..=3 {
        compare_all(150, move |seed| concurrent_in(Mode::Threads(threads), seed));
    }
}

#[test]
fn copies_of_main() {
    compare_all(100, |seed| concurrent_in(Mode::Copies(2), seed));
    compare_all(100, |seed| concurrent_in(Mode::Copies(3), seed));
}

#[test]
fn threads_of_getafix() {
    compare_all(150, |seed| concurrent_in(Mode::Getafix, seed));
}

#[test]
fn forbidden_labels() {
    compare_all(100, |seed| with_odd_labels(concurrent_in(Mode::Threads(2), seed), seed));
}

/// Everybody turns two shared bits behind a lock, one after the other.
const LOCK: &str = "// options: --replicate --threads 3
decl lock := F, a := F, b := F;
void main() begin
  decl x;
  while (T) do
    atomic_begin; assume(!lock); lock := T; atomic_end;
    x := a;
    assert(x = b);
    a := !a;
    b := !b;
    assert(a = b);
    lock := F;
  od
end
";

#[test]
fn other_cuts_positions_and_facts_are_no_proof() {
    let task = task_of(LOCK).expect("a program");
    let verdict = KInduction::default().run(&task, &Budget::unlimited(), &Quiet);
    let Verdict::Safe(Certificate::Threads(proof)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(accepted(&task, &proof), Ok(()));
    let rejected = |proof: &ThreadProof| accepted(&task, proof).expect_err("it is no proof");
    let changed = |change: &dyn Fn(&mut ThreadInduction)| rejected(&with(&proof, change));
    let without = changed(&|induction| induction.facts.clear());
    assert!(without.contains("step: a run may violate"), "{without}");
    // Without their values, facts say that no thread is at these cuts.
    let wrong = changed(&|induction| {
        for fact in &mut induction.facts {
            fact.globals.clear();
            fact.threads.iter_mut().for_each(|thread| thread.values.clear());
        }
    });
    assert!(wrong.contains("clause"), "{wrong}");
    let missing = changed(&|induction| induction.positions.truncate(1));
    assert!(missing.contains("positions"), "{missing}");
    let beyond = changed(&|induction| induction.positions[0] = vec![99]);
    assert!(beyond.contains("no such position"), "{beyond}");
    for cut in 0..proof.cuts.len() {
        let mut other = proof.clone();
        other.cuts.remove(cut);
        rejected(&other);
    }
    let unbounded = Task { threads: None, ..task.clone() };
    let why = accepted(&unbounded, &proof).expect_err("there is no bound");
    assert!(why.contains("bound"), "{why}");
}

#[test]
fn facts_save_steps() {
    let text = "// options: --threads 2
        decl g := F;
        void main() begin
          decl x;
          start_thread main();
          x := T;
          g := !g;
          g := !g;
          assert(x | g & !g);
        end";
    let task = task_of(text).expect("a program");
    let accepts = |k: u32| accepted(&task, &plain(&task, k).expect("a program without recursion"));
    let none = accepts(0).expect_err("any value of `x` is possible at the assertion");
    assert!(none.contains("step: a run may violate the property after 0 large steps"), "{none}");
    let first = (0..20).find(|&k| accepts(k).is_ok());
    assert!(first.is_some_and(|k| k > 1), "{first:?}");
    let verdict = KInduction::default().run(&task, &Budget::unlimited(), &Quiet);
    let Verdict::Safe(Certificate::Threads(proof)) = verdict else { panic!("{verdict:?}") };
    let ThreadInvariant::Induction(induction) = &proof.invariant else { panic!("{proof:?}") };
    assert_eq!(induction.k, 0, "the facts say that `x` is true");
}
