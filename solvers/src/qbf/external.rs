//! QBF programs that read QDIMACS, run as child processes.
//!
//! The answers of an external program are not trusted:
//!
//! - **False** never depends on the program. Its values for the universal variables are a proposal, and one SAT call
//!   decides whether they are a counterexample. If it gives none, too few, or wrong ones, a short search of our own
//!   looks for one, first among those that agree with the program's values. If no counterexample is confirmed, the
//!   answer is unknown.
//! - **True** comes without evidence and cannot be checked, so the answer is `True(None)`: a claim. Callers that need
//!   certificates treat it at most as a hint, [`verify`](super::verify()) rejects it, and [`Race`](super::Race) waits
//!   for the other solver as long as that one may find a certificate. Only if there are no universal variables do the
//!   program's values form a witness.
//! - Exit code, words and values must agree, or there is no answer.
//!
//! So a program that hangs, crashes, gives wrong answers or is missing costs time and yields `Unknown` with a reason,
//! or a claim that is marked as one.
//!
//! ```text
//! known   the table of programs, and what version they are
//! output  reading what they print
//! ```
//!
//! If a reason mentions the answer "unsatisfiable", this means "false", since QBF programs use that word.

mod known;
mod output;

use std::path::PathBuf;
use std::sync::Arc;

use cusp_encodings::{CnfEncoder, CnfStyle, Qcnf, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

pub use self::known::{KNOWN_SOLVERS, KnownSolver};
use self::output::{Claim, read_claim};
use super::{Counterexample, Embedded, QbfAnswer, QbfSolver, QbfStatistics, Question, Witness, copy_terms};
use crate::cadical::CadicalSolver;
use crate::external_sat::ExternalFailure;
use crate::interrupt::Interrupt;
use crate::process::{ProcessError, ProcessLimits, Program, run};
use crate::sat::{Answer, Limits, SatSolver, UnknownReason};
use crate::tally::Tally;
use crate::version::Version;

/// Limits for the search for a counterexample that the program did not give.
const SEARCH: Limits = Limits { conflicts: Some(10_000), decisions: Some(1_000_000), deadline: None };

/// A QBF program behind the [`QbfSolver`] trait. Every call of `solve` starts a new process.
///
/// It obeys deadlines and interrupts, but it cannot count: a call that limits conflicts or decisions is refused. The
/// [module documentation](self) says how its answers are checked.
#[derive(Clone, Debug)]
pub struct ExternalQbf {
    program: Program,
    name: String,
    version: Option<Version>,
    style: CnfStyle,
    memory: Option<u64>,
    output: usize,
    interrupt: Interrupt,
    statistics: QbfStatistics,
    tally: Arc<Tally>,
}

impl ExternalQbf {
    /// An adapter for `program`, called exactly as given.
    #[must_use]
    pub fn new(program: Program) -> ExternalQbf {
        ExternalQbf {
            name: program.name(),
            program,
            version: None,
            style: CnfStyle::PlaistedGreenbaum,
            memory: None,
            output: ProcessLimits::default().output,
            interrupt: Interrupt::new(),
            statistics: QbfStatistics::default(),
            tally: Arc::default(),
        }
    }

    /// An adapter for the program at `path`, or with this name in `PATH`, with the arguments that its entry in
    /// [`KNOWN_SOLVERS`] and its version require. A program without an entry is not run here; it gets the name of the
    /// input file as its only argument.
    ///
    /// # Errors
    /// If the program has an entry but does not start, or does not print its version in time.
    pub fn detect(path: impl Into<PathBuf>, interrupt: &Interrupt) -> Result<ExternalQbf, ProcessError> {
        let path = path.into();
        let mut solver = match KnownSolver::of(&path) {
            None => ExternalQbf::new(Program::new(path).argument(Program::INPUT)),
            Some(known) => {
                let version = known.probe(&path, interrupt)?;
                let program = known.program(&path, version.as_ref());
                ExternalQbf { version, style: known.style, ..ExternalQbf::new(program) }
            }
        };
        solver.interrupt = interrupt.clone();
        Ok(solver)
    }

    /// The version of the program, if it is known.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// The program and its arguments.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Limits the memory of every run, in bytes.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> ExternalQbf {
        self.memory = Some(bytes);
        self
    }

    /// Counts answers and failures in `tally`.
    #[must_use]
    pub fn counting_in(mut self, tally: &Arc<Tally>) -> ExternalQbf {
        self.tally = Arc::clone(tally);
        self
    }

    /// Limits the output of every run, in bytes.
    #[must_use]
    pub fn with_output_limit(mut self, bytes: usize) -> ExternalQbf {
        self.output = bytes;
        self
    }

    fn ask(
        &mut self,
        arena: &TermArena,
        question: &Question,
        limits: &Limits,
    ) -> Result<QbfAnswer, UnknownReason> {
        if let Some(reason) = limits.stop_reason(&self.interrupt) {
            return Err(reason);
        }
        if limits.conflicts.is_some() || limits.decisions.is_some() {
            return Err(UnknownReason::LimitUnsupported { solver: self.name.clone() });
        }
        let numbers = numbers(arena, question);
        let Question { universal, existential, matrix } = question;
        let formula = Qcnf::encode(arena, universal, existential, *matrix, self.style);
        let process_limits =
            ProcessLimits { deadline: limits.deadline, memory: self.memory, output: self.output };
        let text = formula.to_string();
        let finished = run(&self.program, text.as_bytes(), ".qdimacs", &process_limits, &self.interrupt);
        let finished = finished.map_err(|error| match error {
            ProcessError::Interrupted { .. } => UnknownReason::Interrupted,
            ProcessError::Deadline { .. } => UnknownReason::Deadline,
            error => ExternalFailure::from(error).into(),
        })?;
        let Claim { is_true, values } = read_claim(&finished, formula.matrix.var_count() as usize)?;
        let values_of = |vars: &[VarId]| vars.iter().map(|var| values[numbers[var]]).collect::<Vec<_>>();
        if is_true {
            Ok(QbfAnswer::True(constant_witness(arena, question, &values_of(&question.existential))))
        } else {
            let check = Check { arena, question, limits, interrupt: &self.interrupt };
            let values = check.confirm(&values_of(&question.universal), &mut self.statistics)?;
            Ok(QbfAnswer::False(Counterexample { values }))
        }
    }
}

impl QbfSolver for ExternalQbf {
    fn name(&self) -> &str {
        &self.name
    }

    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer {
        self.statistics.solves += 1;
        let answer = self.ask(arena, question, limits).unwrap_or_else(QbfAnswer::Unknown);
        match &answer {
            QbfAnswer::True(_) => self.statistics.trues += 1,
            QbfAnswer::False(_) => self.statistics.falses += 1,
            QbfAnswer::Unknown(_) => {}
        }
        match &answer {
            QbfAnswer::True(_) | QbfAnswer::False(_) => self.tally.count_answer(),
            QbfAnswer::Unknown(UnknownReason::External(failure)) => self.tally.count_failure(failure),
            QbfAnswer::Unknown(_) => {}
        }
        answer
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn statistics(&self) -> QbfStatistics {
        self.statistics
    }
}

/// For each variable of the question, its position in the formula, which is its position in the prefix.
fn numbers(arena: &TermArena, question: &Question) -> FxHashMap<VarId, usize> {
    let mut numbers = FxHashMap::default();
    for &var in question.universal.iter().chain(&question.existential) {
        let next = numbers.len();
        numbers.entry(var).or_insert(next);
    }
    let is_closed = arena.support(&[question.matrix]).iter().all(|var| numbers.contains_key(var));
    assert!(is_closed, "every variable of the matrix is in the question");
    numbers
}

/// The witness given by values of all variables, if there are no universal ones.
fn constant_witness(arena: &TermArena, question: &Question, values: &[Option<bool>]) -> Option<Witness> {
    if !question.universal.is_empty() {
        return None;
    }
    let values: FxHashMap<VarId, bool> =
        question.existential.iter().copied().zip(values.iter().map(|value| *value == Some(true))).collect();
    let vector = question.existential.iter().map(|var| Term::constant(values[var])).collect();
    arena.evaluate(question.matrix, |var| values[&var]).then(|| Witness { vectors: vec![vector] })
}

/// A question that a program has answered with false.
struct Check<'a> {
    arena: &'a TermArena,
    question: &'a Question,
    limits: &'a Limits,
    interrupt: &'a Interrupt,
}

impl Check<'_> {
    /// Finds a counterexample, if possible one with the claimed values.
    fn confirm(
        &self,
        claimed: &[Option<bool>],
        statistics: &mut QbfStatistics,
    ) -> Result<Vec<bool>, UnknownReason> {
        let completed: Vec<bool> = claimed.iter().map(|value| *value == Some(true)).collect();
        if !self.has_witness(&completed, statistics)? {
            return Ok(completed);
        }
        let given = claimed.iter().flatten().count();
        if given > 0
            && given < claimed.len()
            && let QbfAnswer::False(found) = self.search(claimed, statistics)
        {
            return Ok(found.values);
        }
        match self.search(&vec![None; claimed.len()], statistics) {
            QbfAnswer::False(found) => Ok(found.values),
            QbfAnswer::True(_) => Err(ExternalFailure::WrongUnsat.into()),
            QbfAnswer::Unknown(reason @ (UnknownReason::Interrupted | UnknownReason::Deadline)) => {
                Err(reason)
            }
            QbfAnswer::Unknown(reason) => Err(ExternalFailure::Unconfirmed(Box::new(reason)).into()),
        }
    }

    /// Whether there are existential values for these universal ones; takes one SAT call.
    fn has_witness(&self, values: &[bool], statistics: &mut QbfStatistics) -> Result<bool, UnknownReason> {
        let values: Vec<Option<bool>> = values.iter().copied().map(Some).collect();
        let (arena, restricted) = self.restrict(&values);
        let mut solver = CadicalSolver::new();
        solver.share_interrupt(self.interrupt);
        CnfEncoder::new(CnfStyle::PlaistedGreenbaum).assert_term(&arena, restricted.matrix, &mut solver);
        let answer = solver.solve(&[], self.limits);
        statistics.sat_calls += 1;
        statistics.conflicts += solver.statistics().conflicts;
        match answer {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown(reason) => Err(reason),
        }
    }

    /// Searches for a counterexample with the given values, within small limits.
    fn search(&self, given: &[Option<bool>], statistics: &mut QbfStatistics) -> QbfAnswer {
        let (mut arena, restricted) = self.restrict(given);
        let mut embedded = Embedded::new();
        embedded.share_interrupt(self.interrupt);
        let limits = Limits { deadline: self.limits.deadline, ..SEARCH };
        let answer = embedded.solve(&mut arena, &restricted, &limits);
        let work = embedded.statistics();
        statistics.refinements += work.refinements;
        statistics.structural += work.structural;
        statistics.functional += work.functional;
        statistics.sat_calls += work.sat_calls;
        statistics.conflicts += work.conflicts;
        match answer {
            QbfAnswer::False(Counterexample { values }) => {
                let mut rest = values.into_iter();
                let values =
                    given.iter().map(|value| value.or_else(|| rest.next()).unwrap_or(false)).collect();
                QbfAnswer::False(Counterexample { values })
            }
            answer => answer,
        }
    }

    /// The question that remains if some universal variables have values.
    fn restrict(&self, given: &[Option<bool>]) -> (TermArena, Question) {
        let (mut arena, Question { universal, existential, matrix }) = (TermArena::new(), self.question);
        let constants: FxHashMap<VarId, bool> =
            universal.iter().zip(given).filter_map(|(&var, value)| Some((var, (*value)?))).collect();
        let matrix = copy_terms(self.arena, &[*matrix], &mut arena, |arena, var| match constants.get(&var) {
            Some(&value) => Term::constant(value),
            None => arena.var(var),
        })[0];
        let universal = universal.iter().copied().filter(|var| !constants.contains_key(var)).collect();
        (arena, Question { universal, existential: existential.clone(), matrix })
    }
}
