//! The commands with their options, and how these become the options of a run.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::shared::{Dialect, LimitArgs, NetArgs, ProgramArgs, Trace, engine};
use crate::engines::{Bounds, Reduction, Without};
use crate::model::Task;
use crate::net::Net;
use crate::pipeline::table::{AUTO, Choice};
use crate::pipeline::{Setup, Winner};
use crate::{check, cover};

use super::solver_args::SolverArgs;

/// The tool.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None, after_help = HELP, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check that no assertion can fail, or that a label cannot be reached
    Check(CheckArgs),
    /// Check a certificate or a trace from a file against a program
    Replay(ReplayArgs),
    /// Check that no target of a net or thread transition system can be covered
    Cover(CoverArgs),
    /// Find out how many threads are enough to see everything that any number can do
    Cutoff(CutoffArgs),
    /// List the engines, or say which of them take a program or a net
    Engines(EnginesArgs),
    /// Lay out programs
    Fmt(FmtArgs),
    /// List the SAT and QBF solvers that `cusp check` can ask
    Solvers(SolversArgs),
}

const HELP: &str = "\
Examples:
  cusp check lock.bp                    can an assertion fail?
  cusp check --label ERROR driver.bp    can this label be reached?
  cusp check --threads 3 server.bp      with at most three threads at once
  cusp replay lock.bp lock.cert         does this file prove what it claims?
  cusp cover mesi.spec                  can a target of this net be covered?
  cusp cutoff lock.tts                  how many threads show all that can happen?
  cusp engines lock.bp                  which engines take this program?
  cusp fmt --write *.bp                 lay out programs in place
  cusp solvers                          which solvers are there?

Exit codes:
  0    safe: what was asked holds
  10   unsafe: a run that violates it was found
  5    unknown: no answer within the limits
  1    bad input: a file cannot be used
  2    usage: the command line makes no sense
  6    internal error: a bug in Cusp, such as evidence that was rejected
  130  interrupted
Of several files, the worst decides, in the order 6, 1, 10, 5, 0.";

const CHECK_HELP: &str = "\
Examples:
  cusp check lock.bp                       can an assertion fail?
  cusp check --label ERROR driver.bp       can this label be reached?
  cusp check --threads 3 server.bp         with at most three threads at once
  cusp check --replicate mutex.bp          main is run by any number of threads
  cusp check --all driver.bp               a verdict for each assertion
  cusp check --engine bmc --stats deep.bp  one engine only, and what it did
  cusp check --switches 2 server.bp        bugs that need at most two context switches
  cusp check --sat 'kissat {file}' deep.bp an external program answers SAT questions
  cusp check --timeout 60 --memory 4G *.bp one line for each file, and a summary
  generate | cusp check --json -           read standard input, write JSON

Exit codes: 0 safe, 10 unsafe, 5 unknown, 1 bad input, 2 usage, 6 internal error, 130 interrupted.
Of several files, the worst decides, in the order 6, 1, 10, 5, 0.

Ctrl-C ends a run with the best partial answer; pressed again, it ends the run at once.";

const COVER_HELP: &str = "\
Examples:
  cusp cover mesi.spec                        a net that says itself what it asks
  cusp cover server.cm                        communicating machines, any number of each
  cusp cover lock.tts                         a thread transition system; the target is in lock.prop
  cusp cover --target '2|11,11' lock.tts      shared state 2 with two threads in local state 11
  cusp cover --initial '0|1/2' lock.tts       one thread in 1 and any number in 2 at the start
  cusp cover --proof proof.json mesi.spec     with everything that an independent check needs
  cusp cover --sets cst mesi.spec             backward search on covering sharing trees
  cusp cover --timeout 10 *.spec              one line for each file, and a summary

The evidence is checked without a SAT solver, so there is no `--check-proofs` here.

Exit codes: 0 safe, 10 unsafe, 5 unknown, 1 bad input, 2 usage, 6 internal error, 130 interrupted.
Of several files, the worst decides, in the order 6, 1, 10, 5, 0.

Ctrl-C ends a run with the best partial answer; pressed again, it ends the run at once.";

/// Options of `cusp cover`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[derive(Debug, ClapArgs)]
#[command(after_help = COVER_HELP)]
pub struct CoverArgs {
    /// The nets, and what is asked of them.
    #[command(flatten)]
    pub nets: NetArgs,

    /// Decision procedure
    #[arg(long, value_name = "ENGINE", default_value = AUTO, value_parser = engine::<Net>())]
    pub engine: Choice<Net>,

    /// How backward search keeps its sets; chooses `--engine backward` [default: antichain]
    #[arg(long, value_enum)]
    pub sets: Option<Sets>,

    /// Take the answer of whichever engine is the first, so that a run that is shown may differ from one call to the next
    #[arg(long)]
    pub race: bool,

    /// Let the engine see the net as it is, and not a smaller one with the same verdict
    #[arg(long)]
    pub no_reduce: bool,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Write one JSON object for each file, each on a line of its own
    #[arg(long)]
    pub json: bool,

    /// Print the verdict only: no run, no warnings, no progress
    #[arg(long, short)]
    pub quiet: bool,

    /// Write the answer with its whole evidence here, as JSON; for one file
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,

    /// How much of a run that covers a target is shown [default: short; several files: only the verdict]
    #[arg(long, value_enum)]
    pub trace: Option<Trace>,
}

/// Who wins a race of engines.
fn winner(race: bool) -> Winner {
    if race { Winner::First } else { Winner::Same }
}

impl CoverArgs {
    /// What is asked of every file.
    #[must_use]
    pub fn options(&self) -> cover::Options {
        let engine = match self.sets {
            None => Some(self.engine),
            Some(Sets::Antichain) => Choice::named("backward"),
            Some(Sets::Cst) => Choice::named("backward-cst"),
        };
        let engine = engine.unwrap_or_default();
        cover::Options {
            setup: Setup { engine, reduces: !self.no_reduce, winner: winner(self.race), ..Setup::default() },
            ..self.nets.options()
        }
    }

    /// What makes no sense together, if something does not.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.proof.is_some() && self.nets.files.len() > 1 {
            return Some("`--proof` is for one file");
        }
        let is_backward = [AUTO, "backward"].contains(&self.engine.name());
        (self.sets.is_some() && !is_backward).then_some("`--sets` is for the `backward` engine")
    }
}

const CUTOFF_HELP: &str = "\
Examples:
  cusp cutoff lock.tts                        threads until nothing new is reached, or until a target is
  cusp cutoff --csv mesh.spec                 the table of rounds for a spreadsheet; tokens become threads

Rounds and results are checked again, without a SAT solver, so there is no `--check-proofs` here. A round with more
than 1,000,000 states is not explored again, and the output says that it is not checked.

Exit codes: 0 safe, 10 unsafe, 5 unknown, 1 bad input, 2 usage, 6 internal error, 130 interrupted.";

/// Options of `cusp cutoff`.
#[derive(Debug, ClapArgs)]
#[command(after_help = CUTOFF_HELP)]
pub struct CutoffArgs {
    /// The nets, and what is asked of them.
    #[command(flatten)]
    pub nets: NetArgs,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Write one JSON object for each file, each on a line of its own
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Write the rounds as comma-separated values
    #[arg(long)]
    pub csv: bool,

    /// No warnings, no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Representations of upward-closed sets by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sets {
    /// Minimal elements, one by one, the smallest first
    Antichain,
    /// Covering sharing trees: minimal elements that share beginnings and ends, all at once
    Cst,
}

/// Options of `cusp check`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[derive(Debug, ClapArgs)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    /// Programs to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Decision procedure
    #[arg(long, value_name = "ENGINE", default_value = AUTO, value_parser = engine::<Task>())]
    pub engine: Choice<Task>,

    /// What is asked.
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Take the answer of whichever engine is the first, so that a run that is shown may differ from one call to the next
    #[arg(long)]
    pub race: bool,

    /// Let the engine see programs as they are, and not reduced to what matters
    #[arg(long)]
    pub no_reduce: bool,

    /// Of the reductions of programs with threads, do without these, to see what they are worth
    #[arg(long, value_enum, value_name = "REDUCTION", value_delimiter = ',')]
    pub without: Vec<Switch>,

    /// Unroll paths of at most this many blocks; for engines that unroll
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,

    /// Nest at most this many recursive calls; for engines that unroll
    #[arg(long, value_name = "N")]
    pub recursion: Option<u32>,

    /// In programs with threads, cut off calls that nest a procedure more than K times: violations are found, but nothing
    /// is proved
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub unwind: Option<u32>,

    /// In programs with threads, only search runs in which control passes at most K times from one thread to another;
    /// chooses `--engine bmc`
    #[arg(long, value_name = "K")]
    pub switches: Option<u32>,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Give every assertion a verdict of its own; each is asked with the others assumed
    #[arg(long, conflicts_with_all = ["label", "certificate"])]
    pub all: bool,

    /// Check every proof of the SAT solver that a certificate rests on; takes longer
    #[arg(long)]
    pub check_proofs: bool,

    /// Also tell what was done: figures of the engine that answered, time and memory
    #[arg(long)]
    pub stats: bool,

    /// Write one JSON object for each file, each on a line of its own
    #[arg(long)]
    pub json: bool,

    /// Print the verdict only: no trace, no warnings, no progress
    #[arg(long, short)]
    pub quiet: bool,

    /// How much of a run that violates the property is shown [default: short; several files: only
    /// the verdict]
    #[arg(long, value_enum)]
    pub trace: Option<Trace>,

    /// Write the certificate or the trace to this file, for `cusp replay`
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,

    /// Who answers questions
    #[command(flatten)]
    pub solvers: SolverArgs,
}

/// Options of `cusp solvers`.
#[derive(Debug, ClapArgs)]
pub struct SolversArgs {
    /// Write one JSON object
    #[arg(long)]
    pub json: bool,
}

const REPLAY_HELP: &str = "\
Ask the same as `cusp check` was asked: with the same `--label`, `--dialect`, `--threads` and `--replicate`.

Exit codes: 0 the file proves that the program is safe, 10 it holds a run that violates the property,
1 it proves neither or cannot be read, 5 unknown, 2 usage, 130 interrupted.";

/// Options of `cusp replay`.
#[derive(Debug, ClapArgs)]
#[command(after_help = REPLAY_HELP)]
pub struct ReplayArgs {
    /// The program; `-` is standard input
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,

    /// The certificate or trace, as `cusp check --certificate FILE` writes it
    #[arg(value_name = "FILE")]
    pub evidence: PathBuf,

    /// What is asked.
    #[command(flatten)]
    pub question: ProgramArgs,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Check every proof of the SAT solver that a certificate rests on; takes longer
    #[arg(long)]
    pub check_proofs: bool,

    /// Print the verdict only: no trace, no warnings
    #[arg(long, short)]
    pub quiet: bool,

    /// How much of a run that violates the property is shown
    #[arg(long, value_enum, default_value_t = Trace::Short)]
    pub trace: Trace,
}

const ENGINES_HELP: &str = "\
Examples:
  cusp engines                          the table of all engines
  cusp engines lock.bp mesi.spec        which engines take these files, and why others do not
  cusp engines --json                   the table for machines";

/// Options of `cusp engines`.
#[derive(Debug, ClapArgs)]
#[command(after_help = ENGINES_HELP)]
pub struct EnginesArgs {
    /// Programs (.bp) and nets (.spec, .tts, .cm) that the engines are asked about
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// How programs are read and what is asked of them.
    #[command(flatten)]
    pub program: ProgramArgs,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Write JSON: one object for each engine
    #[arg(long)]
    pub json: bool,
}

/// Options of `cusp fmt`.
#[derive(Debug, ClapArgs)]
pub struct FmtArgs {
    /// Programs to lay out; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Name the files that would change, and exit with 1 if there are any
    #[arg(long, conflicts_with = "write")]
    pub check: bool,

    /// Change the files in place
    #[arg(long)]
    pub write: bool,

    /// What a file may cost.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// How to read the programs
    #[arg(long, value_enum, default_value_t = Dialect::Boom)]
    pub dialect: Dialect,
}

/// A reduction, as users name it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Switch {
    /// Leave out variables that influence no condition
    Relevance,
    /// What nobody else can notice happens in one step
    LargeSteps,
    /// States that differ only in the order of their threads are the same
    Symmetry,
    /// Follow threads without those that cannot get in their way, or order their steps
    PartialOrder,
}

impl From<Switch> for Reduction {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Relevance => Self::Relevance,
            Switch::LargeSteps => Self::LargeSteps,
            Switch::Symmetry => Self::Symmetry,
            Switch::PartialOrder => Self::PartialOrder,
        }
    }
}

impl CheckArgs {
    /// What is asked of every file.
    #[must_use]
    pub fn options(&self) -> check::Options {
        let without = if self.no_reduce {
            Without::ALL
        } else {
            self.without.iter().map(|&switch| switch.into()).collect()
        };
        let Self { depth, recursion, unwind, switches, .. } = *self;
        let bounds = Bounds { depth, recursion, unwind, switches, without };
        let winner = winner(self.race);
        let engine = match switches {
            Some(_) => Choice::named("bmc").unwrap_or_default(),
            None => self.engine,
        };
        let setup = Setup { engine, reduces: !self.no_reduce, bounds, winner };
        check::Options { setup, ..self.program.options() }
    }

    /// What makes no sense together, if something does not.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.certificate.is_some() && self.files.len() > 1 {
            return Some("`--certificate` takes the evidence about one program, and there are several");
        }
        let counts_switches = [AUTO, "bmc"].contains(&self.engine.name());
        (self.switches.is_some() && !counts_switches).then_some("`--switches` is for the `bmc` engine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }
}
