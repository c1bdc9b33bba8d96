//! SAT programs that read DIMACS, run as child processes.
//!
//! The answers of an external program are not trusted:
//!
//! - a model is accepted only if it satisfies every clause and assumption;
//! - an answer "unsatisfiable" comes without evidence, so it is accepted only if a solver of our own agrees, unless
//!   the caller [trusts](ExternalSat::trusting) the program;
//! - exit code, status line and values must agree, or there is no answer.
//!
//! So a program that hangs, crashes, gives wrong answers or is missing costs time and yields `Unknown` with a reason;
//! it never changes a verdict.
//!
//! ```text
//! known   the table of programs, and how they are called
//! output  reading what they print
//! ```

mod known;
mod output;

use std::sync::Arc;

use rustsat::instances::{Cnf, fio::dimacs};
use rustsat::types::{Lit, Var};
use thiserror::Error;

pub use self::known::{KNOWN_SAT, KnownSat};
use self::output::read_answer;

use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::process::{ProcessError, ProcessLimits, Program, run};
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, State, Statistics, UnknownReason, raise_num_vars};
use crate::tally::Tally;

/// Why there is no usable answer of an external program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExternalFailure {
    /// It could not be run to its end.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It was ended by a signal.
    #[error("the program crashed (signal {signal})")]
    Crashed {
        /// The signal.
        signal: i32,
    },
    /// It answered that it does not know.
    #[error("the program answers unknown")]
    AnswersUnknown,
    /// It printed no status line.
    #[error("the program ends with exit code {code} and no status line{}", quoted(.complaint))]
    NoStatus {
        /// Its exit code.
        code: i32,
        /// The first line of its error output.
        complaint: String,
    },
    /// Its exit code and its status line disagree.
    #[error("exit code {code} contradicts the status line")]
    WrongExitCode {
        /// Its exit code.
        code: i32,
    },
    /// A line begins like an answer but is not a valid one.
    #[error("line {line} of the output is malformed")]
    Malformed {
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// The list of values is not terminated.
    #[error("the values are cut short")]
    Truncated,
    /// Its values do not satisfy the formula.
    #[error("the values do not satisfy clause {clause}")]
    WrongModel {
        /// The number of the clause, counted from 1; assumptions come after the clauses.
        clause: usize,
    },
    /// It answered "unsatisfiable", but there is a model.
    #[error("the program answers unsatisfiable, but there is a model")]
    WrongUnsat,
    /// It answered "unsatisfiable", and our own solver could not confirm that.
    #[error("the program answers unsatisfiable, which is not confirmed: {0}")]
    Unconfirmed(Box<UnknownReason>),
}

/// The error output of the program, in a form that can end a sentence.
fn quoted(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!(" (`{}`)", complaint.escape_debug()) }
}

/// A SAT program behind the [`SatSolver`] trait. Every call of `solve` starts a new process.
///
/// It obeys deadlines and interrupts, but it cannot count: a call that limits conflicts or decisions is refused.
/// Phases have no effect. If the program is trusted, the core of an unsatisfiable answer is either empty or contains
/// all assumptions.
pub struct ExternalSat {
    program: Program,
    name: String,
    memory: Option<u64>,
    output: usize,
    /// The solver that confirms unsatisfiable answers; `None` if they are trusted.
    second: Option<Box<dyn SatSolver>>,
    clauses: Cnf,
    /// The values of the model, by variable index.
    model: Vec<bool>,
    core: Vec<Lit>,
    /// Whether the program was trusted when it answered that the clauses alone, without assumptions, are
    /// unsatisfiable.
    is_contradictory: bool,
    num_vars: u32,
    state: State,
    interrupt: Interrupt,
    solves: u64,
    tally: Arc<Tally>,
}

impl ExternalSat {
    /// An adapter for `program` whose unsatisfiable answers CaDiCaL has to confirm.
    #[must_use]
    pub fn new(program: Program) -> ExternalSat {
        ExternalSat::confirmed_by(program, Some(Box::new(CadicalSolver::new())))
    }

    /// An adapter for `program` whose unsatisfiable answers are trusted.
    ///
    /// It is meant for callers whose results are certified in the end anyway; it must never decide a verdict.
    #[must_use]
    pub fn trusting(program: Program) -> ExternalSat {
        ExternalSat::confirmed_by(program, None)
    }

    fn confirmed_by(program: Program, mut second: Option<Box<dyn SatSolver>>) -> ExternalSat {
        let interrupt = Interrupt::new();
        if let Some(second) = &mut second {
            second.share_interrupt(&interrupt);
        }
        ExternalSat {
            name: program.name(),
            program,
            memory: None,
            output: ProcessLimits::default().output,
            second,
            clauses: Cnf::new(),
            model: Vec::new(),
            core: Vec::new(),
            is_contradictory: false,
            num_vars: 0,
            state: State::Input,
            interrupt,
            solves: 0,
            tally: Arc::default(),
        }
    }

    /// Counts answers, failures and answers without evidence in `tally`.
    #[must_use]
    pub fn counting_in(mut self, tally: &Arc<Tally>) -> ExternalSat {
        self.tally = Arc::clone(tally);
        self
    }

    /// The clauses in the order in which they were added.
    pub(crate) fn clauses(&self) -> impl Iterator<Item = &[Lit]> {
        self.clauses.iter().map(AsRef::as_ref)
    }

    /// Limits the memory of every run, in bytes.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> ExternalSat {
        self.memory = Some(bytes);
        self
    }

    /// Limits the output of every run, in bytes.
    #[must_use]
    pub fn with_output_limit(mut self, bytes: usize) -> ExternalSat {
        self.output = bytes;
        self
    }

    fn touch(&mut self, lits: &[Lit]) {
        self.num_vars = raise_num_vars(self.num_vars, lits);
        self.state = State::Input;
    }

    fn ask(&mut self, assumptions: &[Lit], limits: &Limits) -> Result<Answer, UnknownReason> {
        if let Some(reason) = limits.stop_reason(&self.interrupt) {
            return Err(reason);
        }
        if limits.conflicts.is_some() || limits.decisions.is_some() {
            return Err(UnknownReason::LimitUnsupported { solver: self.name.clone() });
        }
        match self.run(assumptions, limits)? {
            Some(model) => {
                self.model = model;
                self.check_model(assumptions)?;
                Ok(Answer::Sat)
            }
            None => self.confirm(assumptions, limits),
        }
    }

    /// The model that the program claims, or `None` if it claims that there is none.
    fn run(&self, assumptions: &[Lit], limits: &Limits) -> Result<Option<Vec<bool>>, UnknownReason> {
        let mut formula = self.clauses.clone();
        for &assumption in assumptions {
            formula.add_unit(assumption);
        }
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = dimacs::write_cnf_annotated(&mut text, &formula, self.num_vars);
        let process_limits =
            ProcessLimits { deadline: limits.deadline, memory: self.memory, output: self.output };
        let finished = run(&self.program, &text, ".cnf", &process_limits, &self.interrupt);
        let finished = finished.map_err(|error| match error {
            ProcessError::Interrupted { .. } => UnknownReason::Interrupted,
            ProcessError::Deadline { .. } => UnknownReason::Deadline,
            error => ExternalFailure::from(error).into(),
        })?;
        Ok(read_answer(&finished, self.num_vars as usize)?)
    }

    fn check_model(&self, assumptions: &[Lit]) -> Result<(), ExternalFailure> {
        let is_true = |lit: &Lit| self.model[lit.vidx()] == lit.is_pos();
        let wrong_clause = self.clauses.iter().position(|clause| !clause.iter().any(is_true));
        let wrong = wrong_clause.or_else(|| {
            assumptions.iter().position(|lit| !is_true(lit)).map(|place| self.clauses.len() + place)
        });
        wrong.map_or(Ok(()), |place| Err(ExternalFailure::WrongModel { clause: place + 1 }))
    }

    fn confirm(&mut self, assumptions: &[Lit], limits: &Limits) -> Result<Answer, UnknownReason> {
        let Some(second) = &mut self.second else {
            self.tally.count_claim();
            // Bounded engines need to know whether the clauses are unsatisfiable without assumptions, because then
            // they are done. To find out which assumptions are needed would take many more runs.
            self.is_contradictory =
                self.is_contradictory || assumptions.is_empty() || matches!(self.run(&[], limits), Ok(None));
            if !self.is_contradictory {
                self.core.extend_from_slice(assumptions);
            }
            return Ok(Answer::Unsat);
        };
        match second.solve(assumptions, limits) {
            Answer::Unsat => {
                self.core.extend_from_slice(second.core());
                Ok(Answer::Unsat)
            }
            Answer::Sat => Err(ExternalFailure::WrongUnsat.into()),
            Answer::Unknown(reason @ (UnknownReason::Interrupted | UnknownReason::Deadline)) => Err(reason),
            Answer::Unknown(reason) => Err(ExternalFailure::Unconfirmed(Box::new(reason)).into()),
        }
    }
}

impl ClauseSink for ExternalSat {
    fn new_var(&mut self) -> Var {
        let var = Var::new(self.num_vars);
        self.touch(&[var.pos_lit()]);
        var
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.touch(clause);
        if let Some(second) = &mut self.second {
            second.add_clause(clause);
        }
        self.clauses.add_nary(clause);
    }
}

impl SatSolver for ExternalSat {
    fn name(&self) -> &str {
        &self.name
    }

    fn num_vars(&self) -> u32 {
        self.num_vars
    }

    fn set_phase(&mut self, lit: Lit) {
        self.touch(&[lit]);
    }

    fn clear_phase(&mut self, var: Var) {
        self.touch(&[var.pos_lit()]);
    }

    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        self.touch(assumptions);
        self.solves += 1;
        self.core.clear();
        let answer = self.ask(assumptions, limits).unwrap_or_else(Answer::Unknown);
        match &answer {
            Answer::Sat | Answer::Unsat => self.tally.count_answer(),
            Answer::Unknown(UnknownReason::External(failure)) => self.tally.count_failure(failure),
            Answer::Unknown(_) => {}
        }
        self.state = State::from(&answer);
        answer
    }

    fn value(&self, lit: Lit) -> bool {
        debug_assert_eq!(self.state, State::Sat, "value() outside the sat state");
        self.model.get(lit.vidx()).copied().unwrap_or(false) == lit.is_pos()
    }

    fn core(&self) -> &[Lit] {
        debug_assert_eq!(self.state, State::Unsat, "core() outside the unsat state");
        &self.core
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
        if let Some(second) = &mut self.second {
            second.share_interrupt(interrupt);
        }
    }

    fn statistics(&self) -> Statistics {
        let (variables, clauses) = (u64::from(self.num_vars), self.clauses.len() as u64);
        Statistics { solves: self.solves, variables, clauses, ..Statistics::default() }
    }
}
