//! The path from a question to a certified answer: only a certified answer ends a race, and engines fail alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use cusp::budget::Budget;
use cusp::check::{Options, prepare};
use cusp::engines::explicit::Explicit;
use cusp::engines::{Bounds, Engine, Question, VerdictOn};
use cusp::evidence::{Certificate, Reason, Verdict};
use cusp::model::Task;
use cusp::model::reduce::Keep;
use cusp::net::Net;
use cusp::net::reduce::Extent;
use cusp::pipeline::table::{BoxedEngine, Choice, HasEngines};
use cusp::pipeline::{Answer, Failure, Problem, Setup, answer, answer_by};
use cusp::progress::{Progress, Quiet};
use cusp::source::Source;

fn task(text: &str) -> Task {
    prepare(&Source::new("test.bp", text), &Options::default()).expect("a program").task
}

fn net(text: &str) -> Net {
    cusp::net::spec::parse(&Source::new("test.spec", text)).expect("a net").0
}

/// An engine made of a function.
struct Fake<F> {
    name: &'static str,
    search: F,
}

impl<F: Fn(&Task, &Budget) -> Verdict + Send + Sync> Engine for Fake<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reduction(&self) -> Option<Keep> {
        None
    }

    fn search(&self, task: &Task, budget: &Budget, _progress: &dyn Progress) -> Verdict {
        (self.search)(task, budget)
    }
}

impl<F: Fn(&Net, &Budget) -> VerdictOn<Net> + Send + Sync> Engine<Net> for Fake<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reduction(&self) -> Option<Extent> {
        None
    }

    fn search(&self, net: &Net, budget: &Budget, _progress: &dyn Progress) -> VerdictOn<Net> {
        (self.search)(net, budget)
    }
}

fn fake(
    name: &'static str,
    search: impl Fn(&Task, &Budget) -> Verdict + Send + Sync + 'static,
) -> BoxedEngine<Task> {
    Box::new(Fake { name, search })
}

/// Waits for the others, and then says the truth.
fn honest_but_slow() -> BoxedEngine<Task> {
    fake("honest", |task, budget| {
        thread::sleep(Duration::from_millis(50));
        Explicit::default().run(task, budget, &Quiet)
    })
}

fn liar() -> BoxedEngine<Task> {
    fake("liar", |_, _| Verdict::Safe(Certificate::NoViolationInReach))
}

fn panicking() -> BoxedEngine<Task> {
    fake("panicking", |_, _| panic!("out of paper"))
}

const UNSAFE: &str = "decl g; void main() begin g := *; assert(g); end";

fn word<Q: Question>(answer: &Answer<Q>) -> &'static str {
    answer.result.as_ref().map_or("rejected", |certified| certified.verdict().word())
}

#[test]
fn wrong_evidence_and_panics_do_not_cost_the_answer_of_another_engine() {
    let engines = [liar(), panicking(), honest_but_slow()];
    let answer = answer_by(&engines, &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
    assert_eq!((word(&answer), answer.engine), ("unsafe", "honest"));
    let [rejected, panicked] = answer.failures.as_slice() else { panic!("{:?}", answer.failures) };
    assert!(matches!(rejected, Failure { engine: "liar", problem: Problem::Rejected(_) }), "{rejected:?}");
    let message = Problem::Panicked("out of paper".to_owned());
    assert_eq!(*panicked, Failure { engine: "panicking", problem: message });
}

#[test]
fn wrong_evidence_about_a_net_does_not_cost_the_answer_of_another_engine() {
    let net = net("vars a b rules a >= 1 -> a' = a - 1, b' = b + 1; init a = 1, b = 0 target b >= 1");
    let liar = Fake {
        name: "liar",
        search: |_: &Net, _: &Budget| {
            Verdict::Safe(cusp::evidence::NetCertificate::CoverabilitySet(Vec::new()))
        },
    };
    let honest = Fake {
        name: "honest",
        search: |net: &Net, budget: &Budget| {
            thread::sleep(Duration::from_millis(50));
            Net::ENGINES[0].engine(Bounds::default()).run(net, budget, &Quiet)
        },
    };
    let engines: [BoxedEngine<Net>; 2] = [Box::new(liar), Box::new(honest)];
    let answer = answer_by(&engines, &net, true, &Budget::unlimited(), &Quiet);
    assert_eq!((word(&answer), answer.engine), ("unsafe", "honest"));
    assert!(matches!(answer.failures[..], [Failure { engine: "liar", problem: Problem::Rejected(_) }]));
}

#[test]
fn if_nobody_else_answers_wrong_evidence_is_reported_as_such() {
    let silent = fake("silent", |_, _| Reason::GaveUp("no idea".to_owned()).into());
    let answer = answer_by(&[silent, liar()], &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
    assert_eq!((word(&answer), answer.engine), ("rejected", "liar"));
}

#[test]
fn an_engine_that_panics_is_unknown_for_that_reason() {
    let answer = answer_by(&[panicking()], &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
    let certified = answer.result.expect("no evidence, nothing to reject");
    let Verdict::Unknown(unknown) = certified.verdict() else { panic!("an answer out of nothing") };
    assert_eq!(unknown.reason.to_string(), "the panicking engine failed: out of paper");
}

#[test]
fn what_nobody_knows_does_not_depend_on_who_is_faster() {
    let said = |delays: [u64; 2]| {
        let engines = [("first", delays[0]), ("second", delays[1])].map(|(name, delay)| {
            fake(name, move |_, _| {
                thread::sleep(Duration::from_millis(delay));
                Reason::GaveUp(format!("{name} gives up")).into()
            })
        });
        let answer = answer_by(&engines, &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
        let certified = answer.result.expect("no evidence, nothing to reject");
        let Verdict::Unknown(unknown) = certified.verdict() else { panic!("an answer out of nothing") };
        (unknown.reason.to_string(), unknown.seen.clone())
    };
    let expected = ("first gives up".to_owned(), Some("second: second gives up".to_owned()));
    assert_eq!(said([0, 30]), expected);
    assert_eq!(said([30, 0]), expected);
}

#[test]
fn a_certified_answer_stops_the_other_engines() {
    let endless = fake("endless", |_, budget| {
        while budget.exhausted().is_none() {
            thread::yield_now();
        }
        Reason::Interrupted.into()
    });
    let answer = answer_by(&[endless, honest_but_slow()], &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
    assert_eq!((word(&answer), answer.engine), ("unsafe", "honest"));
}

/// Engines that do not accept a question say so, whichever engine it is, and a question in which nothing can go wrong is
/// safe for all of them.
#[test]
fn all_engines_agree_on_what_comes_before_a_search() {
    let harmless = task("decl g; void main() begin start_thread f(); g := T; end void f() begin g := F; end");
    let threads = task(
        "decl g; void main() begin start_thread f(); assert(g | !g); end void f() begin g := F; assert(g); end",
    );
    for row in Task::ENGINES {
        let engine = row.engine(Bounds::default());
        let ask = |task| {
            let setup = Setup { engine: Choice::Only(row), ..Setup::default() };
            answer(task, setup, &Budget::unlimited(), &Quiet)
        };
        assert_eq!(word(&ask(&harmless)), "safe", "{row:?}");
        let expected = if engine.accepts(&threads).is_ok() { "unsafe" } else { "unknown" };
        assert_eq!(word(&ask(&threads)), expected, "{row:?}");
    }
}

/// Counts how often a program is reduced: its engines see the same reduced program.
#[test]
fn a_reduction_is_made_once_for_all_engines() {
    static SEEN: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    struct Looking(usize);
    impl Engine for Looking {
        fn name(&self) -> &'static str {
            "looking"
        }
        fn reduction(&self) -> Option<Keep> {
            Some(Keep::Verdict)
        }
        fn search(&self, task: &Task, _budget: &Budget, _progress: &dyn Progress) -> Verdict {
            SEEN[self.0].store(std::ptr::from_ref(task) as usize, Ordering::SeqCst);
            // Both are here before the reduced program could be dropped.
            while SEEN.iter().any(|seen| seen.load(Ordering::SeqCst) == 0) {
                thread::yield_now();
            }
            Reason::GaveUp("only looking".to_owned()).into()
        }
    }
    let engines: [BoxedEngine<Task>; 2] = [Box::new(Looking(0)), Box::new(Looking(1))];
    let answer = answer_by(&engines, &task(UNSAFE), true, &Budget::unlimited(), &Quiet);
    assert_eq!(word(&answer), "unknown");
    assert_eq!(SEEN[0].load(Ordering::SeqCst), SEEN[1].load(Ordering::SeqCst));
}
