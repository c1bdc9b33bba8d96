//! All options, and how they become the [`crate::check::Options`] of a run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::budget::{Limits, most_memory};
use crate::check::{Options, ThreadLimit};
use crate::cover;
use crate::engines::nets::NetEngineName;
use crate::engines::{Bounds, EngineName};
use crate::net::tts::{InitialState, TargetState};
use crate::report::Detail;
use crate::syntax::ast;

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
    /// Lay out programs
    Fmt(FmtArgs),
}

const HELP: &str = "\
Examples:
  cusp check lock.bp                    can an assertion fail?
  cusp check --label ERROR driver.bp    can this label be reached?
  cusp check --threads 3 server.bp      with at most three threads at once
  cusp replay lock.bp lock.cert         does this file prove what it claims?
  cusp cover mesi.spec                  can a target of this net be covered?
  cusp cutoff lock.tts                  how many threads show all that can happen?
  cusp fmt --write *.bp                 lay out programs in place

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
#[derive(Debug, ClapArgs)]
#[command(after_help = COVER_HELP)]
pub struct CoverArgs {
    /// Nets (.spec), communicating machines (.cm) and thread transition systems (.tts) to check; `-` is
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Decision procedure
    #[arg(long, value_enum, default_value_t = NetEngine::Auto)]
    pub engine: NetEngine,

    /// How backward search keeps its sets; chooses `--engine backward` [default: antichain]
    #[arg(long, value_enum)]
    pub sets: Option<Sets>,

    /// Let the engine see the net as it is, and not a smaller one with the same verdict
    #[arg(long)]
    pub no_reduce: bool,

    /// Where a thread transition system starts [default: `0/0`, any number of threads in local state 0]
    #[arg(long, value_name = "S|L,..[/L,..]")]
    pub initial: Option<InitialState>,

    /// What must not be covered in a thread transition system, instead of what the .prop file beside
    /// it says; may be given several times
    #[arg(long, value_name = "S|L,..")]
    pub target: Vec<TargetState>,

    /// Give up after this time; fractions are fine, and every file has its own time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Give up above this much memory; `512`, `512M` and `0.5G` are the same
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<u64>,

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

impl CoverArgs {
    /// What is asked of every file.
    #[must_use]
    pub fn options(&self) -> cover::Options {
        cover::Options {
            initial: self.initial.clone(),
            targets: self.target.clone(),
            engine: match (self.sets, self.engine) {
                (Some(Sets::Cst), _) => NetEngineName::SharingTrees,
                (Some(Sets::Antichain), _) | (None, NetEngine::Backward) => NetEngineName::Backward,
                (None, NetEngine::Auto) => NetEngineName::Auto,
                (None, NetEngine::Directed) => NetEngineName::Directed,
                (None, NetEngine::Reference) => NetEngineName::Reference,
                (None, NetEngine::Explicit) => NetEngineName::Explicit,
                (None, NetEngine::KarpMiller) => NetEngineName::KarpMiller,
                (None, NetEngine::Mcov) => NetEngineName::Mcov,
            },
            no_reduce: self.no_reduce,
        }
    }

    /// What makes no sense together, if something does not.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.proof.is_some() && self.files.len() > 1 {
            return Some("`--proof` is for one file");
        }
        let is_backward = matches!(self.engine, NetEngine::Auto | NetEngine::Backward);
        (self.sets.is_some() && !is_backward).then_some("`--sets` is for the `backward` engine")
    }

    /// What every file may cost.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory }
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
    /// Thread transition systems (.tts), nets (.spec) and communicating machines (.cm); `-` is standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Where a thread transition system starts [default: `0/0`, any number of threads in local state 0]
    #[arg(long, value_name = "S|L,..[/L,..]")]
    pub initial: Option<InitialState>,

    /// What is looked for on the way, instead of what the .prop file says; may be given several times
    #[arg(long, value_name = "S|L,..")]
    pub target: Vec<TargetState>,

    /// Give up after this time; fractions are fine, and every file has its own time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Give up above this much memory; `512`, `512M` and `0.5G` are the same
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<u64>,

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

impl CutoffArgs {
    /// What is asked of every file.
    #[must_use]
    pub fn options(&self) -> cover::Options {
        cover::Options {
            initial: self.initial.clone(),
            targets: self.target.clone(),
            engine: NetEngineName::Mcov,
            no_reduce: true,
        }
    }

    /// What every file may cost.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory }
    }
}

/// Representations of upward-closed sets by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sets {
    /// Minimal elements, one by one, the smallest first
    Antichain,
    /// Covering sharing trees: minimal elements that share beginnings and ends, all at once
    Cst,
}

/// Engines for nets by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum NetEngine {
    /// Whatever fits the net
    Auto,
    /// Backward search, without what linear relaxations exclude
    Backward,
    /// Forward search guided by the state equation; finds runs, proves nothing
    Directed,
    /// Plain backward search: slow and obviously right
    Reference,
    /// Forward search for more and more tokens
    Explicit,
    /// Forward coverability set, any number of tokens at once
    KarpMiller,
    /// Minimal uncoverability proofs, with a forward search beside it
    Mcov,
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
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    pub engine: Engine,

    /// Check that this label is not reached, instead of the assertions
    #[arg(long, value_name = "L")]
    pub label: Option<String>,

    /// The most threads that live at once: a number, or `unbounded`
    #[arg(long, value_name = "N|unbounded", default_value = "unbounded", value_parser = thread_limit)]
    pub threads: ThreadLimit,

    /// Run `main` in as many threads as there may be
    #[arg(long)]
    pub replicate: bool,

    /// How to read the programs
    #[arg(long, value_enum, default_value_t = Dialect::Boom)]
    pub dialect: Dialect,

    /// Let the engine see sequential programs as they are, and not reduced to what matters
    #[arg(long)]
    pub no_reduce: bool,

    /// Unroll paths of at most this many blocks; for engines that unroll
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,

    /// Nest at most this many recursive calls; for engines that unroll
    #[arg(long, value_name = "N")]
    pub recursion: Option<u32>,

    /// Give up after this time; fractions are fine, and every file has its own time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Give up above this much memory; `512`, `512M` and `0.5G` are the same [default: three quarters of
    /// what the machine has]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<u64>,

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

    /// The label that must not be reached, instead of the assertions
    #[arg(long, value_name = "L")]
    pub label: Option<String>,

    /// The most threads that live at once: a number, or `unbounded`
    #[arg(long, value_name = "N|unbounded", default_value = "unbounded", value_parser = thread_limit)]
    pub threads: ThreadLimit,

    /// Run `main` in as many threads as there may be
    #[arg(long)]
    pub replicate: bool,

    /// How to read the program
    #[arg(long, value_enum, default_value_t = Dialect::Boom)]
    pub dialect: Dialect,

    /// Give up after this time; fractions are fine
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Give up above this much memory; `512`, `512M` and `0.5G` are the same
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<u64>,

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

impl ReplayArgs {
    /// What is asked of the program.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            dialect: self.dialect.into(),
            label: self.label.clone(),
            threads: self.threads,
            replicate: self.replicate,
            ..Options::default()
        }
    }

    /// What the check may cost.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory }
    }
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

    /// How to read the programs
    #[arg(long, value_enum, default_value_t = Dialect::Boom)]
    pub dialect: Dialect,
}

/// Engines by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Engine {
    /// Whatever fits the program
    Auto,
    /// Explicit states: slow and obviously right
    Explicit,
    /// Path edges and summary edges as formulas, saturated
    Summaries,
    /// Universal summaries, callees first
    Universal,
    /// Universal summaries where a run needs them
    Lazy,
    /// Path edges and summaries as decision diagrams, for sequential programs
    Bdd,
    /// Unrolling on demand: finds bugs in deep recursion; for programs without threads
    Bmc,
    /// K-induction: for programs without recursion and without threads
    Kinduction,
}

/// Dialects by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Dialect {
    /// `=` and `!=` bind tighter than `&`
    Boom,
    /// `=`, `!=` and `=>` bind loosest (SATABS, Boppo)
    Boppo,
    /// Like boom; `?` is a choice, threads are procedures named `thread*`
    Getafix,
}

/// How much of a trace is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Trace {
    /// Every step
    Full,
    /// Without steps that only move control
    Short,
    /// The violated statement only
    None,
}

impl CheckArgs {
    /// What is asked of every file.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            dialect: self.dialect.into(),
            label: self.label.clone(),
            threads: self.threads,
            replicate: self.replicate,
            engine: match self.engine {
                Engine::Auto => EngineName::Auto,
                Engine::Explicit => EngineName::Explicit,
                Engine::Summaries => EngineName::Summaries,
                Engine::Universal => EngineName::Universal,
                Engine::Lazy => EngineName::Lazy,
                Engine::Bdd => EngineName::Bdd,
                Engine::Bmc => EngineName::Bmc,
                Engine::Kinduction => EngineName::KInduction,
            },
            no_reduce: self.no_reduce,
            bounds: Bounds { depth: self.depth, recursion: self.recursion },
        }
    }

    /// What every file may cost.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory.or_else(most_memory) }
    }
}

impl From<Dialect> for ast::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Boom => Self::Boom,
            Dialect::Boppo => Self::Boppo,
            Dialect::Getafix => Self::Getafix,
        }
    }
}

impl From<Trace> for Detail {
    fn from(trace: Trace) -> Self {
        match trace {
            Trace::Full => Self::Full,
            Trace::Short => Self::Short,
            Trace::None => Self::None,
        }
    }
}

fn thread_limit(text: &str) -> Result<ThreadLimit, String> {
    if text == "unbounded" {
        return Ok(ThreadLimit::Unbounded);
    }
    match text.parse() {
        Ok(n) if n >= 1 => Ok(ThreadLimit::AtMost(n)),
        _ => Err("a number from 1 on, or `unbounded`".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "a positive number of seconds".to_owned())
}

/// Bytes.
fn megabytes(text: &str) -> Result<u64, String> {
    let wrong = || "a positive number of megabytes, such as `512`, `512M` or `2G`".to_owned();
    let number = text.trim_end_matches(['b', 'B']);
    let (number, unit) = match number.strip_suffix(['g', 'G']) {
        Some(number) => (number, 1_u64 << 30),
        None => (number.strip_suffix(['m', 'M']).unwrap_or(number), 1 << 20),
    };
    let amount: f64 = number.trim().parse().map_err(|_| wrong())?;
    #[expect(clippy::cast_precision_loss, reason = "units are powers of two")]
    let bytes = amount * unit as f64;
    // Neither zero nor more than there is on any machine.
    if (1.0..=2_f64.powi(60)).contains(&bytes) {
        #[expect(clippy::cast_sign_loss, reason = "the range was just checked")]
        return Ok(bytes as u64);
    }
    Err(wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn thread_limits_are_positive_or_unbounded() {
        assert_eq!(thread_limit("3"), Ok(ThreadLimit::AtMost(3)));
        assert_eq!(thread_limit("unbounded"), Ok(ThreadLimit::Unbounded));
        for wrong in ["0", "-1", "x", "", "4294967296"] {
            assert!(thread_limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_may_have_fractions() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["0", "-1", "x", "", "inf", "nan", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_has_units() {
        assert_eq!(megabytes("512"), Ok(512 << 20));
        assert_eq!(megabytes("512M"), Ok(512 << 20));
        assert_eq!(megabytes("512mb"), Ok(512 << 20));
        assert_eq!(megabytes("0.5G"), Ok(512 << 20));
        assert_eq!(megabytes("2GB"), Ok(2 << 30));
        for wrong in ["0", "-1", "x", "", "G", "1T", "inf", "nan", "1e300"] {
            assert!(megabytes(wrong).is_err(), "{wrong}");
        }
    }
}
