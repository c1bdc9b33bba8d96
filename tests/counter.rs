//! The engine `counter` on random programs with threads: it agrees with the explicit engine and with a naive search, its evidence is
//! accepted, and its proofs consist of exactly the states at cuts that a search over single states finds.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::engines::Engine;
use cusp::engines::counter::Counter;
use cusp::engines::explicit::Explicit;
use cusp::evidence::threads::{ControlState, ControlStates};
use cusp::evidence::{Certificate, Formulas, Gate, Literal, Reason, ThreadInvariant, Verdict};
use cusp::model::Task;
use cusp::progress::{Counting, Quiet};
use cusp::source::Source;
use cusp::threads::explicit::{Creation, Thread, View};
use cusp::threads::{Bits, Location, Reductions, ThreadSystem};
use support::naive::{Limits, Seen, explore};
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::{RandomProgram, for_each_seed, options_of, seeds};

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    match prepare(&source, &options_of(text)) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// One to four threads: started by statements, copies of `main`, and those of Getafix.
fn threads(seed: u64) -> RandomProgram {
    let count = 1 + (seed / 5 % 4) as u32;
    let mode = match seed % 5 {
        0..3 => Mode::Threads(count),
        3 => Mode::Copies(count),
        _ => Mode::Getafix,
    };
    concurrent_in(mode, seed)
}

/// A state of a thread system: globals, and threads in order.
type State = (Bits, Vec<Thread>);

/// All states in which every thread is at a cut, found one by one; `None` if there are too many, or if some state violates the
/// property.
fn states_at_cuts(system: &ThreadSystem<'_>, most: usize) -> Option<BTreeSet<State>> {
    const LIMIT: usize = 10_000;
    let mut seen: BTreeSet<State> = BTreeSet::new();
    let mut open: Vec<State> = Vec::new();
    let mut add = |open: &mut Vec<State>, shared: Bits, mut threads: Vec<Thread>| {
        threads.sort();
        if seen.insert((shared.clone(), threads.clone())) {
            open.push((shared, threads));
        }
        seen.len()
    };
    for View { shared, thread } in system.initial_views(LIMIT).ok()? {
        add(&mut open, shared, vec![thread]);
    }
    while let Some((shared, threads)) = open.pop() {
        for (i, thread) in threads.iter().enumerate() {
            if threads.iter().any(|other| other.holds) && !thread.holds {
                continue;
            }
            let view = View { shared: shared.clone(), thread: thread.clone() };
            let steps = system.large_steps(&view, LIMIT).ok()?;
            if steps.violates() {
                return None;
            }
            let is_bounded = system.task.threads.is_some_and(|bound| threads.len() >= bound as usize);
            for outcome in steps.outcomes() {
                let mut others = threads.clone();
                others.remove(i);
                let mut after = vec![Vec::new()];
                for other in &others {
                    let images = match &outcome.passive {
                        None => vec![other.clone()],
                        Some(passive) => system.passive_images(passive, other, LIMIT).ok()?,
                    };
                    let extended = after.iter().flat_map(|threads: &Vec<Thread>| {
                        images.iter().map(|image| [&threads[..], std::slice::from_ref(image)].concat())
                    });
                    after = extended.collect();
                }
                for mut threads in after {
                    threads.extend(outcome.thread.clone());
                    match &outcome.creation {
                        Creation::None => {}
                        Creation::New(_) if is_bounded => continue,
                        Creation::New(thread) => threads.push(thread.clone()),
                        Creation::AtBound if is_bounded => {}
                        Creation::AtBound => continue,
                    }
                    if add(&mut open, outcome.shared.clone(), threads) > most {
                        return None;
                    }
                }
            }
        }
    }
    Some(seen)
}

/// A certificate, next to the thread system that it is about.
struct Proof<'a> {
    system: &'a ThreadSystem<'a>,
    cuts: Vec<Location>,
    width: usize,
    formulas: &'a Formulas,
}

impl Proof<'_> {
    /// The formulas with these values.
    fn evaluate(&self, literal: Literal, value: impl Fn(usize) -> bool) -> bool {
        let mut values: Vec<bool> = Vec::new();
        for gate in self.formulas.gates() {
            let of = |values: &[bool], literal: Literal| values[literal.gate()] != literal.is_complemented();
            values.push(match *gate {
                Gate::True => true,
                Gate::Parameter(number) => value(number as usize),
                Gate::And(a, b) => of(&values, a) && of(&values, b),
                Gate::Xor(a, b) => of(&values, a) != of(&values, b),
            });
        }
        values[literal.gate()] != literal.is_complemented()
    }

    fn globals(&self) -> usize {
        self.system.program().globals.len()
    }

    /// The parameters that a formula may depend on: positions of values that matter.
    fn parameters(&self, set: &ControlState) -> Vec<usize> {
        let globals = self.system.relevance.globals().map(|global| global as usize);
        let threads = set.cuts.iter().enumerate().flat_map(|(slot, &cut)| {
            let first = self.globals() + slot * self.width;
            let live = self.system.live(self.cuts[cut as usize]);
            live.iter().map(move |position| first + position).collect::<Vec<_>>()
        });
        globals.chain(threads).collect()
    }

    /// The threads with these values, in the order of the set.
    fn threads(&self, set: &ControlState, value: impl Fn(usize) -> bool) -> Vec<Thread> {
        let thread = |(slot, &cut): (usize, &u32)| {
            let location = self.cuts[cut as usize];
            let mut values = Bits::default();
            for position in self.system.live(location).iter() {
                values.set(position, value(self.globals() + slot * self.width + position));
            }
            Thread { location, values, holds: set.holder == Some(slot as u32) }
        };
        set.cuts.iter().enumerate().map(thread).collect()
    }
}

/// Compares a proof with all states at cuts.
fn compare(task: &Task, proof: &cusp::evidence::ThreadProof) -> Result<bool, String> {
    let ThreadInvariant::Formulas(ControlStates { formulas, sets }) = &proof.invariant else {
        return Err("no formulas".to_owned());
    };
    let system = ThreadSystem::new(task, Reductions::ALL, None).map_err(|why| why.to_string())?;
    let Some(states) = states_at_cuts(&system, 3_000) else { return Ok(false) };
    let cuts: Vec<Location> = system.cuts().collect();
    if proof.cuts != cuts.iter().map(|&cut| system.stack(cut)).collect::<Vec<_>>() {
        return Err("other cuts".to_owned());
    }
    let end = |&cut: &Location| system.context(cut).base as usize + system.procedure(cut).locals.len();
    let width = cuts.iter().map(end).max().unwrap_or(0);
    let proof = Proof { system: &system, cuts, width, formulas };
    // The states with the threads of a control state, in some order.
    let mut of_control: BTreeMap<Vec<(Location, bool)>, Vec<&State>> = BTreeMap::new();
    for state in &states {
        let control = state.1.iter().map(|thread| (thread.location, thread.holds));
        let mut control: Vec<_> = control.collect();
        control.sort_unstable();
        of_control.entry(control).or_default().push(state);
    }
    if of_control.len() != sets.len() {
        return Err(format!("{} control states, not {}", sets.len(), of_control.len()));
    }
    for set in sets {
        if !set.cuts.is_sorted() {
            return Err("a multiset is not sorted".to_owned());
        }
        let parameters = proof.parameters(set);
        let threads = proof.threads(set, |_| false);
        let mut control: Vec<_> = threads.iter().map(|thread| (thread.location, thread.holds)).collect();
        control.sort_unstable();
        let expected = of_control.get(&control).ok_or("a control state that is not reached")?;
        let expected: BTreeSet<State> = expected.iter().map(|&state| state.clone()).collect();
        if parameters.len() <= 11 {
            for word in 0..1_u32 << parameters.len() {
                let value = |parameter: usize| {
                    let bit = parameters.iter().position(|&other| other == parameter);
                    bit.is_some_and(|bit| word >> bit & 1 == 1)
                };
                let mut shared = Bits::default();
                for global in system.relevance.globals() {
                    shared.set(global as usize, value(global as usize));
                }
                let mut threads = proof.threads(set, value);
                threads.sort();
                let is_in = proof.evaluate(set.condition, value);
                if is_in != expected.contains(&(shared.clone(), threads.clone())) {
                    return Err(format!(
                        "in the proof: {is_in}, but not in the search: {threads:?} {shared:?}"
                    ));
                }
            }
            continue;
        }
        for (shared, threads) in &expected {
            // The threads in the order of the set, in one of several ways.
            let mut rest = threads.clone();
            let mut slots: Vec<Thread> = Vec::new();
            for wanted in &proof.threads(set, |_| false) {
                let is_like =
                    |thread: &Thread| (thread.location, thread.holds) == (wanted.location, wanted.holds);
                let at = rest.iter().position(is_like).ok_or("other threads")?;
                slots.push(rest.remove(at));
            }
            let globals = proof.globals();
            let value = |parameter: usize| match parameter.checked_sub(globals) {
                None => shared.get(parameter),
                Some(place) => slots[place / width].values.get(place % width),
            };
            if !proof.evaluate(set.condition, value) {
                return Err(format!("not in the proof: {shared:?} {threads:?}"));
            }
        }
    }
    Ok(true)
}

/// Whether the evidence is accepted.
fn accepted(task: &Task, verdict: Verdict) -> Result<(), String> {
    certify(task, verdict, &Budget::unlimited()).map(|_| ()).map_err(|why| format!("rejected: {why}"))
}

/// States that the slow searches look at, and gates of a proof that is checked. Four threads can have millions of states, and
/// the checker asks many questions about a large proof.
const MOST_STATES: usize = 20_000;
const MOST_GATES: usize = 1_500;

/// How many answers were compared with what.
#[derive(Default)]
struct Tally {
    /// Programs that the slow search has seen all of, or in which it found a violation.
    explored: AtomicUsize,
    /// Proofs that are exactly the states at cuts.
    exact: AtomicUsize,
    /// Proofs that the checker accepted, and runs that were replayed.
    accepted: AtomicUsize,
    all: AtomicUsize,
}

fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn check(text: &str, tally: &Tally) -> Result<(), String> {
    let task = task_of(text)?;
    if !task.program.starts_threads {
        return Ok(());
    }
    count(&tally.all);
    let budget = Budget::unlimited();
    let verdict = Counter::default().run(&task, &budget, &Quiet);
    let seen = explore(&task, Limits { stack: 8, states: MOST_STATES });
    let expected = match seen {
        Seen::Violation { .. } => "unsafe",
        Seen::All => "safe",
        Seen::TooMuch => verdict.word(),
    };
    if seen != Seen::TooMuch {
        count(&tally.explored);
        let explicit = Explicit::default().run(&task, &budget, &Quiet);
        if explicit.word() != expected {
            return Err(format!("the explicit engine says {}, but it is {expected}", explicit.word()));
        }
    }
    match &verdict {
        Verdict::Unknown(unknown) => return Err(format!("unknown: {}", unknown.reason)),
        _ if verdict.word() != expected => return Err(format!("{}, but it is {expected}", verdict.word())),
        Verdict::Safe(Certificate::Threads(proof)) => {
            if compare(&task, proof)? {
                count(&tally.exact);
            }
            let ThreadInvariant::Formulas(ControlStates { formulas, .. }) = &proof.invariant else {
                return Err("no formulas".to_owned());
            };
            if formulas.gates().len() > MOST_GATES {
                return Ok(());
            }
        }
        Verdict::Safe(_) | Verdict::Unsafe(_) => {}
    }
    accepted(&task, verdict)?;
    count(&tally.accepted);
    Ok(())
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures of a campaign")]
fn sets_of_values_and_single_states_agree() {
    let tally = Tally::default();
    for_each_seed(400, threads, |text| check(text, &tally));
    let Tally { explored, exact, accepted, all } = tally;
    let [explored, exact, accepted, all] = [explored, exact, accepted, all].map(AtomicUsize::into_inner);
    println!("{all} programs: {explored} explored, {exact} proofs are exact, {accepted} accepted");
    if seeds(400).count() >= 100 {
        assert!(explored * 10 >= all * 7, "{explored} of {all} are explored");
        assert!(exact * 5 >= all, "{exact} proofs of {all} answers are exact");
        assert!(accepted * 10 >= all * 9, "{accepted} of {all} are accepted");
    }
}

#[test]
fn without_reductions_the_answers_are_the_same() {
    for_each_seed(100, threads, |text| {
        let task = task_of(text)?;
        let budget = Budget::unlimited();
        let engine = Counter { reductions: Reductions::NONE, ..Counter::default() };
        let [with, without] = [Counter::default(), engine].map(|engine| engine.run(&task, &budget, &Quiet));
        if with.word() == without.word() {
            Ok(())
        } else {
            Err(format!("{}, without reductions {}", with.word(), without.word()))
        }
    });
}

/// Readers and a writer: the readers are counted, and each writes what it has read before it leaves.
const READERS: &str = "// options: --replicate --threads 4
decl w := F, r0 := F, r1 := F, item;
void main() begin
  decl x;
  while (*) do
    if (*) then
      atomic_begin; assume(!w & !(r0 & r1)); r0, r1 := !r0, r1 != r0; atomic_end;
      x := item;
      assert(!w);
      if (x) then r0, r1 := !r0, r1 = r0; else r0, r1 := !r0, r1 != !r0; fi
    else
      atomic_begin; assume(!w & !r0 & !r1); w := T; atomic_end;
      assert(!r0 & !r1);
      item := *;
      w := F;
    fi
  od
end
";

#[test]
fn statistics_say_what_the_search_did() {
    let task = task_of(READERS).expect("a program");
    let counting = Counting::new(Box::new(Quiet));
    let verdict = Counter::default().run(&task, &Budget::unlimited(), &counting);
    assert_eq!(verdict.word(), "safe");
    let counts = counting.counts().into_iter().map(|(what, number)| format!("{what}: {number}"));
    insta::assert_snapshot!(counts.collect::<Vec<_>>().join("\n"), @r"
    globals: 4
    globals that matter: 4
    locals: 1
    locals that matter: 1
    locations: 28
    locations where threads are interrupted: 13
    steps: 31
    control states: 191
    sets followed: 191
    images: 689
    nodes: 501
    ");
}

#[test]
fn sequential_programs_are_left_to_others() {
    let task = task_of("void main() begin assert(*); end").expect("a program");
    let verdict = Counter::default().run(&task, &Budget::unlimited(), &Quiet);
    let Verdict::Unknown(unknown) = verdict else { panic!("{verdict:?}") };
    assert_eq!(unknown.reason, Reason::ThreadsOnly { engine: "counter" });
}

#[test]
fn tables_that_are_too_small_are_enlarged() {
    let task = task_of(READERS).expect("a program");
    let small = Counter { first_nodes: 64, ..Counter::default() };
    let verdicts = [small, Counter::default()].map(|engine| {
        let Verdict::Safe(Certificate::Threads(proof)) = engine.run(&task, &Budget::unlimited(), &Quiet)
        else {
            panic!("it is safe");
        };
        compare(&task, &proof)
    });
    assert_eq!(verdicts, [Ok(true), Ok(true)]);
}

/// Threads copy twenty shared bits: with one thread after the other in the order of variables, a million nodes would be needed.
#[test]
fn the_order_of_variables_fits_the_program() {
    let list = |of: &dyn Fn(u32) -> String, between: &str| (0..20).map(of).collect::<Vec<_>>().join(between);
    let (shared, own) = (list(&|i| format!("s{i}"), ", "), list(&|i| format!("l{i}"), ", "));
    let (equal, any) = (list(&|i| format!("(l{i} = s{i})"), " & "), list(&|_| "*".to_owned(), ", "));
    let text = format!(
        "// options: --replicate --threads 3
        decl lock := F, {shared};
        void main() begin
          decl {own};
          while (T) do
            atomic_begin; assume(!lock); lock := T; atomic_end;
            {own} := {shared};
            assert({equal});
            {shared} := {any};
            lock := F;
          od
        end"
    );
    let task = task_of(&text).expect("a program");
    let counting = Counting::new(Box::new(Quiet));
    let verdict = Counter::default().run(&task, &Budget::unlimited(), &counting);
    assert_eq!(verdict.word(), "safe");
    assert_eq!(accepted(&task, verdict), Ok(()));
    let nodes = counting.counts().into_iter().find(|(what, _)| what == "nodes").expect("a figure").1;
    assert!(nodes < 20_000, "{nodes}");
}
