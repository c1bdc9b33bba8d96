//! Runs two solvers in parallel; the first answer with a certificate is taken.
//!
//! The first solver runs on the calling thread and in the caller's arena. The second runs on a thread of its own and
//! on a copy of the question, since an arena cannot be shared. The solver that first has a certificate stops the
//! other through an [`Interrupt`] that is a child of the race's own, so the caller's interrupt is never requested.
//!
//! Invariant (no thread left): before `solve` returns, on whatever path, the second thread is stopped and joined; a
//! child process that it may have started ends with it.
//!
//! Invariant (verdict): which solver wins depends on timing, and so does the certificate, but whether the answer is
//! true or false does not: both answers are certified. A claim (`True(None)`) does not end the race; it is the result
//! only if the other solver has no answer.

use std::thread;

use cusp_encodings::TermArena;

use super::{QbfAnswer, QbfSolver, QbfStatistics, Question, Witness, copy_terms};
use crate::interrupt::Interrupt;
use crate::sat::{Limits, UnknownReason};

/// Two solvers that race against each other; the race is itself a solver.
///
/// Both get the limits of the call. If neither has an answer that counts, the reason is that of the first solver.
pub struct Race {
    first: Box<dyn QbfSolver + Send>,
    second: Box<dyn QbfSolver + Send>,
    name: String,
    interrupt: Interrupt,
    solves: u64,
    trues: u64,
    falses: u64,
    wins: [u64; 2],
}

impl Race {
    /// A race between any two solvers. The first one runs on the calling thread.
    #[must_use]
    pub fn between(first: impl QbfSolver + Send + 'static, second: impl QbfSolver + Send + 'static) -> Race {
        Race {
            name: format!("{} | {}", first.name(), second.name()),
            first: Box::new(first),
            second: Box::new(second),
            interrupt: Interrupt::new(),
            solves: 0,
            trues: 0,
            falses: 0,
            wins: [0; 2],
        }
    }

    /// How often the answer came from the first and from the second solver.
    #[must_use]
    pub fn wins(&self) -> [u64; 2] {
        self.wins
    }

    /// Runs both solvers, and returns their answers over variables and terms of `arena`.
    fn run(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> [QbfAnswer; 2] {
        let stops = [self.interrupt.child(), self.interrupt.child()];
        let (first, second) = (&mut self.first, &mut self.second);
        first.share_interrupt(&stops[0]);
        second.share_interrupt(&stops[1]);
        let mut copy = TermArena::new();
        let matrix = copy_terms(arena, &[question.matrix], &mut copy, TermArena::var)[0];
        let copied_question = Question { matrix, ..question.clone() };
        thread::scope(|scope| {
            // This also stops the second solver if the first one panics, since the scope waits for it.
            let _stop_second = RequestOnDrop(&stops[1]);
            let other = thread::Builder::new().name("race".to_owned()).spawn_scoped(scope, || {
                let _stop_first = RequestOnPanic(&stops[0]);
                let answer = second.solve(&mut copy, &copied_question, limits);
                if is_certified(&answer) {
                    stops[0].request();
                }
                (answer, copy)
            });
            let answer = first.solve(arena, question, limits);
            let Ok(other) = other else {
                // The second thread could not be started, so only the first solver runs.
                return [answer, QbfAnswer::Unknown(UnknownReason::GaveUp)];
            };
            // If the first solver has no certificate, the second one continues.
            if is_certified(&answer) {
                stops[1].request();
            }
            let (other, copy) = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [answer, in_arena(other, &copy, arena)]
        })
    }
}

impl QbfSolver for Race {
    fn name(&self) -> &str {
        &self.name
    }

    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer {
        self.solves += 1;
        if let Some(reason) = limits.stop_reason(&self.interrupt) {
            return QbfAnswer::Unknown(reason);
        }
        let answers = self.run(arena, question, limits);
        let winner = answers
            .iter()
            .position(is_certified)
            .or_else(|| answers.iter().position(|answer| matches!(answer, QbfAnswer::True(_))));
        let [first, second] = answers;
        let answer = match (winner, first, second) {
            (Some(0) | None, first, _) => first,
            (Some(_), _, second) => second,
        };
        if let Some(winner) = winner {
            self.wins[winner] += 1;
        }
        self.trues += u64::from(matches!(answer, QbfAnswer::True(_)));
        self.falses += u64::from(matches!(answer, QbfAnswer::False(_)));
        answer
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    /// The answers are counted for the race, the work is the sum of both solvers.
    fn statistics(&self) -> QbfStatistics {
        let (first, second) = (self.first.statistics(), self.second.statistics());
        QbfStatistics {
            solves: self.solves,
            trues: self.trues,
            falses: self.falses,
            refinements: first.refinements + second.refinements,
            structural: first.structural + second.structural,
            functional: first.functional + second.functional,
            sat_calls: first.sat_calls + second.sat_calls,
            conflicts: first.conflicts + second.conflicts,
        }
    }
}

/// Whether an answer ends the race.
fn is_certified(answer: &QbfAnswer) -> bool {
    matches!(answer, QbfAnswer::True(Some(_)) | QbfAnswer::False(_))
}

/// The same answer with the terms of its witness in another arena; variables are not renamed.
fn in_arena(answer: QbfAnswer, source: &TermArena, target: &mut TermArena) -> QbfAnswer {
    let QbfAnswer::True(Some(Witness { vectors })) = answer else { return answer };
    let vectors = vectors.iter().map(|vector| copy_terms(source, vector, target, TermArena::var)).collect();
    QbfAnswer::True(Some(Witness { vectors }))
}

/// Requests an interrupt at the end of a scope.
struct RequestOnDrop<'a>(&'a Interrupt);

impl Drop for RequestOnDrop<'_> {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// Requests an interrupt if the thread panics.
struct RequestOnPanic<'a>(&'a Interrupt);

impl Drop for RequestOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.request();
        }
    }
}
