//! Any SAT program that reads DIMACS, as a child process.
//!
//! A foreign program is a witness, not an authority:
//!
//! - a model is believed only if it satisfies every clause and assumption;
//! - "unsatisfiable" comes without evidence, so it is believed only if a solver of our own agrees, unless the
//!   caller [insists](ExternalSat::trusting);
//! - exit code, status line and values must fit together, or there is no answer.
//!
//! So a program that hangs, crashes, lies or is missing costs time and yields unknown with a reason, and never
//! changes a verdict.

use std::fmt::Write;

use rustsat::types::{Lit, Var};
use thiserror::Error;

use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::process::{Exit, Finished, ProcessError, ProcessLimits, Program, run};
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, State, Statistics, UnknownReason, raise_num_vars};

/// What an external program did instead of answering.
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
    /// It says itself that it does not know.
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
    /// Its exit code and its status line differ.
    #[error("exit code {code} contradicts the status line")]
    WrongExitCode {
        /// Its exit code.
        code: i32,
    },
    /// A line that starts like an answer but is none.
    #[error("line {line} of the output is malformed")]
    Malformed {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The list of values has no end.
    #[error("the values are cut short")]
    Truncated,
    /// Its values do not satisfy the formula.
    #[error("the values do not satisfy clause {clause}")]
    WrongModel {
        /// Number of the clause, from 1; assumptions come last.
        clause: usize,
    },
    /// It finds no model, but there is one.
    #[error("the program answers unsatisfiable, but there is a model")]
    WrongUnsat,
    /// It finds no model, and our own solver could not confirm it.
    #[error("the program answers unsatisfiable, which is not confirmed: {0}")]
    Unconfirmed(Box<UnknownReason>),
}

/// What the program complains about, as the end of a sentence.
fn quoted(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!(" (`{}`)", complaint.escape_debug()) }
}

/// A SAT program behind the [`SatSolver`] trait. Every call of `solve` starts it anew.
///
/// It honours deadlines and interrupts, but cannot count: a call that limits conflicts or decisions is refused.
/// Phases have no effect.
pub struct ExternalSat {
    program: Program,
    name: String,
    memory: Option<u64>,
    output: usize,
    /// Confirms unsatisfiable answers; none if they are trusted.
    second: Option<Box<dyn SatSolver>>,
    clauses: Vec<Vec<Lit>>,
    /// The clauses in DIMACS, without header.
    text: String,
    /// Values by variable index.
    model: Vec<bool>,
    core: Vec<Lit>,
    num_vars: u32,
    state: State,
    interrupt: Interrupt,
    solves: u64,
}

impl ExternalSat {
    /// An adapter for `program` whose unsatisfiable answers CaDiCaL has to confirm.
    #[must_use]
    pub fn new(program: Program) -> ExternalSat {
        ExternalSat::confirmed_by(program, Some(Box::new(CadicalSolver::new())))
    }

    /// An adapter for `program` whose unsatisfiable answers are taken at its word.
    ///
    /// For experiments, and for formulas no other solver decides; never for a verdict.
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
            clauses: Vec::new(),
            text: String::new(),
            model: Vec::new(),
            core: Vec::new(),
            num_vars: 0,
            state: State::Input,
            interrupt,
            solves: 0,
        }
    }

    /// Limits the memory of every run to so many bytes.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> ExternalSat {
        self.memory = Some(bytes);
        self
    }

    /// Limits the output of every run to so many bytes.
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
        let mut text = format!("p cnf {} {}\n", self.num_vars, self.clauses.len() + assumptions.len());
        text.push_str(&self.text);
        for &assumption in assumptions {
            write_clause(&mut text, &[assumption]);
        }
        let process_limits =
            ProcessLimits { deadline: limits.deadline, memory: self.memory, output: self.output };
        let finished = run(&self.program, text.as_bytes(), ".cnf", &process_limits, &self.interrupt);
        let finished = finished.map_err(|error| match error {
            ProcessError::Interrupted { .. } => UnknownReason::Interrupted,
            ProcessError::Deadline { .. } => UnknownReason::Deadline,
            error => ExternalFailure::from(error).into(),
        })?;
        match read_answer(&finished, self.num_vars as usize)? {
            Some(model) => {
                self.model = model;
                self.check_model(assumptions)?;
                Ok(Answer::Sat)
            }
            None => self.confirm(assumptions, limits),
        }
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
            self.core.extend_from_slice(assumptions);
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
        write_clause(&mut self.text, clause);
        self.clauses.push(clause.to_vec());
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

/// Appends a clause in DIMACS.
fn write_clause(text: &mut String, clause: &[Lit]) {
    for lit in clause {
        let _ = write!(text, "{} ", lit.to_ipasir()); // Writing to a string does not fail.
    }
    text.push_str("0\n");
}

/// The model the program claims, or `None` if it claims that there is none.
///
/// Lines that are neither status nor values are comments, whatever they look like. Variables without a value are
/// false, which is as good a guess as any: the model is checked anyway.
fn read_answer(finished: &Finished, num_vars: usize) -> Result<Option<Vec<bool>>, ExternalFailure> {
    let code = match finished.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => return Err(ExternalFailure::Crashed { signal }),
    };
    let text = String::from_utf8_lossy(&finished.stdout);
    let mut statuses = Vec::new();
    let mut values = vec![None; num_vars];
    let mut complete = false;
    for (line, words) in text.lines().enumerate().map(|(i, line)| (i + 1, line.split_ascii_whitespace())) {
        let malformed = ExternalFailure::Malformed { line };
        let words: Vec<&str> = words.collect();
        match words.as_slice() {
            ["s", claim @ ..] => statuses.push((claim.join(" "), line)),
            ["v", lits @ ..] => {
                for lit in lits {
                    let lit: i32 = lit.parse().map_err(|_| malformed.clone())?;
                    if complete {
                        return Err(malformed);
                    }
                    if lit == 0 {
                        complete = true;
                        continue;
                    }
                    let value = values.get_mut(lit.unsigned_abs() as usize - 1).ok_or(malformed.clone())?;
                    if value.replace(lit > 0).is_some_and(|earlier| earlier != (lit > 0)) {
                        return Err(malformed);
                    }
                }
            }
            _ => {}
        }
    }
    let (claim, line) = match statuses.as_slice() {
        [] => {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            let complaint = stderr.lines().next().unwrap_or_default().trim().chars().take(200).collect();
            return Err(ExternalFailure::NoStatus { code, complaint });
        }
        [(claim, line)] => (claim.as_str(), *line),
        [_, (_, line), ..] => return Err(ExternalFailure::Malformed { line: *line }),
    };
    match (claim, code) {
        ("SATISFIABLE", 10) if !complete && num_vars > 0 => Err(ExternalFailure::Truncated),
        ("SATISFIABLE", 10) => Ok(Some(values.into_iter().map(|value| value == Some(true)).collect())),
        ("UNSATISFIABLE", 20) => Ok(None),
        ("SATISFIABLE" | "UNSATISFIABLE", code) => Err(ExternalFailure::WrongExitCode { code }),
        ("UNKNOWN" | "INDETERMINATE", _) => Err(ExternalFailure::AnswersUnknown),
        _ => Err(ExternalFailure::Malformed { line }),
    }
}
