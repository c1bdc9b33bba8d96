//! Options that several commands have in common. Each group is one struct, so that a default or a limit holds for
//! every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::budget::{Limits, most_memory};
use crate::check::{Options, ThreadLimit};
use crate::net::tts::{InitialState, TargetState};
use crate::pipeline::table::{AUTO, AUTO_IDEA, Choice, HasEngines};
use crate::report::Detail;
use crate::syntax::ast;

/// What a file may cost.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Give up after this time; fractions are fine, and every file has its own time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Give up above this much memory; `512`, `512M` and `0.5G` are the same [default: three quarters of
    /// what there is]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<u64>,
}

impl LimitArgs {
    /// What every file may cost.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { time: self.timeout, memory: self.memory.or_else(most_memory) }
    }
}

/// What is asked of a program, and how it is read.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Check that this label is not reached, instead of the assertions
    #[arg(long, value_name = "L")]
    pub label: Option<String>,

    /// The most threads that live at once: a number, or `unbounded`
    #[arg(long, value_name = "N|unbounded", default_value = "unbounded", value_parser = thread_limit)]
    pub threads: ThreadLimit,

    /// Run `main` in as many threads as there may be
    #[arg(long)]
    pub replicate: bool,

    /// How to read programs
    #[arg(long, value_enum, default_value_t = Dialect::Boom)]
    pub dialect: Dialect,
}

impl ProgramArgs {
    /// The question, without who decides it.
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
}

/// Nets, and what is asked of thread transition systems.
#[derive(Debug, Args)]
pub struct NetArgs {
    /// Nets (.spec), communicating machines (.cm) and thread transition systems (.tts); `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Where a thread transition system starts [default: `0/0`, any number of threads in local state 0]
    #[arg(long, value_name = "S|L,..[/L,..]")]
    pub initial: Option<InitialState>,

    /// What must not be covered in a thread transition system, instead of what the .prop file beside
    /// it says; may be given several times
    #[arg(long, value_name = "S|L,..")]
    pub target: Vec<TargetState>,
}

impl NetArgs {
    /// The question, without who decides it.
    #[must_use]
    pub fn options(&self) -> crate::cover::Options {
        crate::cover::Options {
            initial: self.initial.clone(),
            targets: self.target.clone(),
            ..crate::cover::Options::default()
        }
    }
}

/// Reads the name of an engine; names and descriptions come from the one table.
pub fn engine<Q: HasEngines + Send + Sync>() -> impl TypedValueParser<Value = Choice<Q>> {
    let rows = Q::ENGINES.iter().map(|row| PossibleValue::new(row.name).help(row.idea));
    let values = std::iter::once(PossibleValue::new(AUTO).help(AUTO_IDEA)).chain(rows);
    PossibleValuesParser::new(values)
        .try_map(|name| Choice::named(&name).ok_or_else(|| format!("there is no engine `{name}`")))
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

impl From<Dialect> for ast::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Boom => Self::Boom,
            Dialect::Boppo => Self::Boppo,
            Dialect::Getafix => Self::Getafix,
        }
    }
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
