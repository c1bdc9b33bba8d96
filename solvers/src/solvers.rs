//! The solvers that a run uses: the user's choice, and statistics.
//!
//! [`Choice`] is the user's choice. [`Solvers`] makes the solvers of one run accordingly; its copies share their
//! statistics, from any thread.
//!
//! | choice | SAT questions of engines | inclusion questions that reach a 2QBF solver |
//! |---|---|---|
//! | the default | CaDiCaL in this process | [`Embedded`] |
//! | an external program | the program; CaDiCaL for what it fails at, and for questions with limited conflicts | the program; [`Embedded`] for what it fails at |
//! | a race | | [`Embedded`] and a program side by side; the first certified answer wins |
//!
//! Answers of an external program without evidence ("unsatisfiable", "true") are used, and counted as *claims*. So
//! results that depend on claims must be certified without these solvers: the certifier makes its own.

mod sat;

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;

use self::sat::{CountedCadical, WithSubstitute};
use crate::cadical::CadicalSolver;
use crate::external_sat::{ExternalSat, KnownSat};
use crate::inclusion::Inclusion;
use crate::interrupt::Interrupt;
use crate::process::{EmptyCommand, ProcessError, Program};
use crate::qbf::external::KNOWN_SOLVERS;
use crate::qbf::{Embedded, ExternalQbf, Race};
use crate::sat::SatSolver;
use crate::tally::Tally;

/// Why a choice cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The choice is empty.
    #[error(transparent)]
    Empty(#[from] EmptyCommand),
    /// The program does not exist.
    #[error("there is no program `{0}`, neither at this path nor in `PATH`")]
    Missing(String),
    /// No program is installed that could take part in a race.
    #[error("none of the known QBF solvers is installed; `cusp solvers` lists them")]
    NobodyToRaceWith,
    /// The command of a QBF program has an output file.
    #[error("QBF solvers answer on standard output; `{{output}}` is for SAT solvers")]
    OutputFile,
    /// The program could not be run.
    #[error(transparent)]
    Broken(#[from] ProcessError),
}

/// The solver for SAT queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SatChoice {
    /// CaDiCaL in this process.
    #[default]
    Cadical,
    /// An external program.
    Program(Program),
}

impl SatChoice {
    /// Parses `cadical`, the name or path of a program, or a command with `{file}` in place of the formula's file; a
    /// command of several words without `{file}` reads the formula from standard input.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn parse(text: &str) -> Result<SatChoice, ChoiceError> {
        if text.trim() == "cadical" {
            return Ok(SatChoice::Cadical);
        }
        let mut program = Program::parse(text)?;
        if program.arguments.is_empty() {
            program = KnownSat::program(&program.path);
        }
        installed(&program)?;
        Ok(SatChoice::Program(program))
    }
}

/// The solver for queries with two quantifiers.
#[derive(Clone, Debug, Default)]
pub enum QbfChoice {
    /// The embedded solver.
    #[default]
    Embedded,
    /// An external program.
    Program(Box<ExternalQbf>),
    /// The embedded solver and an external program in parallel.
    Race(Box<ExternalQbf>),
}

impl QbfChoice {
    /// Parses `embedded`, `race` (with the first known program that is installed), `race:` followed by a program, the
    /// name or path of a program, or a command as for [`SatChoice::parse`].
    ///
    /// # Errors
    /// If there is no such program, or if it does not print its version.
    pub fn parse(text: &str) -> Result<QbfChoice, ChoiceError> {
        match text.trim() {
            "embedded" => Ok(QbfChoice::Embedded),
            "race" => {
                let is_installed = |name: &&str| Program::new(*name).find().is_some();
                let first = KNOWN_SOLVERS.iter().map(|known| known.name).find(is_installed);
                let first = first.ok_or(ChoiceError::NobodyToRaceWith)?;
                Ok(QbfChoice::Race(Box::new(ExternalQbf::detect(first, &Interrupt::new())?)))
            }
            text => match text.strip_prefix("race:") {
                Some(program) => Ok(QbfChoice::Race(qbf_program(program)?)),
                None => Ok(QbfChoice::Program(qbf_program(text)?)),
            },
        }
    }
}

fn qbf_program(text: &str) -> Result<Box<ExternalQbf>, ChoiceError> {
    let program = Program::parse(text)?;
    installed(&program)?;
    if program.mentions(Program::OUTPUT) {
        return Err(ChoiceError::OutputFile);
    }
    if program.arguments.is_empty() {
        return Ok(Box::new(ExternalQbf::detect(program.path, &Interrupt::new())?));
    }
    Ok(Box::new(ExternalQbf::new(program)))
}

fn installed(program: &Program) -> Result<(), ChoiceError> {
    let missing = || ChoiceError::Missing(Path::new(&program.path).display().to_string());
    program.find().map(|_| ()).ok_or_else(missing)
}

/// The solvers that the user has chosen.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The solver for SAT queries of engines.
    pub sat: SatChoice,
    /// The solver for queries with two quantifiers.
    pub qbf: QbfChoice,
    /// Whether engines keep sets in parametric form instead of projecting them. Inclusion of parametric sets is a
    /// query with two quantifiers; that of projected sets mostly is not.
    pub parametric: bool,
}

/// Makes the solvers of one run, and counts what they do. Copies share their statistics.
#[derive(Clone, Debug, Default)]
pub struct Solvers {
    choice: Arc<Choice>,
    tallies: Arc<Tallies>,
}

#[derive(Debug, Default)]
struct Tallies {
    cadical: Arc<Tally>,
    sat_program: Arc<Tally>,
    embedded: Arc<Tally>,
    qbf_program: Arc<Tally>,
}

/// What the user should know about an external program: claims and failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The name of the program.
    pub program: String,
    /// The number of its answers that were used although they could not be checked.
    pub claims: u64,
    /// The number of queries that it failed to answer; other solvers answered them.
    pub failures: u64,
    /// Why the last of them failed.
    pub last_failure: Option<String>,
}

impl Solvers {
    /// The solvers of a new run.
    #[must_use]
    pub fn new(choice: Choice) -> Solvers {
        Solvers { choice: Arc::new(choice), tallies: Arc::default() }
    }

    /// Whether engines keep sets in parametric form instead of projecting them.
    #[must_use]
    pub fn is_parametric(&self) -> bool {
        self.choice.parametric
    }

    /// A solver without clauses, for an engine. The interrupt stops it, and the memory of a child process is limited
    /// to this number of bytes.
    #[must_use]
    pub fn sat_solver(&self, interrupt: &Interrupt, memory: Option<u64>) -> Box<dyn SatSolver> {
        let cadical = || {
            let mut cadical = CadicalSolver::new();
            cadical.share_interrupt(interrupt);
            CountedCadical::new(cadical, Arc::clone(&self.tallies.cadical))
        };
        match &self.choice.sat {
            SatChoice::Cadical => Box::new(cadical()),
            SatChoice::Program(program) => {
                let mut external =
                    ExternalSat::trusting(program.clone()).counting_in(&self.tallies.sat_program);
                external.share_interrupt(interrupt);
                if let Some(bytes) = memory {
                    external = external.with_memory_limit(bytes);
                }
                Box::new(WithSubstitute::new(external, cadical()))
            }
        }
    }

    /// An inclusion check, for an engine. The embedded solver gives up on a query after this number of conflicts.
    #[must_use]
    pub fn inclusion(&self, conflicts: u64, interrupt: &Interrupt, memory: Option<u64>) -> Inclusion {
        let external = |program: &ExternalQbf| {
            let program = program.clone().counting_in(&self.tallies.qbf_program);
            match memory {
                Some(bytes) => program.with_memory_limit(bytes),
                None => program,
            }
        };
        let inclusion = match &self.choice.qbf {
            QbfChoice::Embedded => Inclusion::new(),
            QbfChoice::Program(program) => Inclusion::with_external(Box::new(external(program))),
            QbfChoice::Race(program) => {
                let embedded = Embedded::new().giving_up_after(conflicts).counting_in(&self.tallies.embedded);
                Inclusion::with_external(Box::new(Race::between(embedded, external(program))))
            }
        };
        let Tallies { embedded, qbf_program, .. } = &*self.tallies;
        let mut inclusion = inclusion.limit_embedded(conflicts).counting_in(embedded, qbf_program);
        inclusion.share_interrupt(interrupt);
        inclusion
    }

    /// The external programs that were used, SAT before QBF, with their names.
    fn programs(&self) -> impl Iterator<Item = (String, &Tally, &'static str)> {
        let sat = match &self.choice.sat {
            SatChoice::Cadical => None,
            SatChoice::Program(program) => Some((program.name(), &*self.tallies.sat_program, "SAT")),
        };
        let qbf = match &self.choice.qbf {
            QbfChoice::Embedded => None,
            QbfChoice::Program(program) | QbfChoice::Race(program) => {
                Some((program.program().name(), &*self.tallies.qbf_program, "QBF"))
            }
        };
        sat.into_iter().chain(qbf)
    }

    /// The external programs that made claims or failed, SAT before QBF.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        let doubt = |(program, tally, _): (String, &Tally, &str)| Doubt {
            program,
            claims: tally.claims(),
            failures: tally.failures(),
            last_failure: tally.last_failure(),
        };
        self.programs().map(doubt).filter(|doubt| doubt.claims + doubt.failures > 0).collect()
    }

    /// The number of answers that were used although they could not be checked.
    #[must_use]
    pub fn claims(&self) -> u64 {
        self.programs().map(|(_, tally, _)| tally.claims()).sum()
    }

    /// Statistics for reports: how many queries each solver answered, and what went wrong. A built-in solver that was
    /// not used has no entry.
    #[must_use]
    pub fn figures(&self) -> Vec<(String, u64)> {
        let Tallies { cadical, embedded, .. } = &*self.tallies;
        let mut figures = Vec::new();
        for (what, tally) in [
            ("SAT questions answered by CaDiCaL", cadical),
            ("QBF questions answered by the embedded solver", embedded),
        ] {
            if tally.answers() > 0 {
                figures.push((what.to_owned(), tally.answers()));
            }
        }
        for (program, tally, kind) in self.programs() {
            figures.push((format!("{kind} questions answered by {program}"), tally.answers()));
            figures.push((format!("answers of {program} that nobody could check"), tally.claims()));
            figures.push((format!("failures of {program}"), tally.failures()));
        }
        figures
    }
}
