//! The table, line by line as the figures come in, and what it says about `auto`.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use cusp::pipeline::table::AUTO;

use super::families::Variant;
use super::measure::{Answer, Measured, is_within_the_bar};
use super::spin::SPIN;

/// One program with a number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub family: String,
    pub size: usize,
    /// `None` for any number.
    pub threads: Option<u32>,
    /// `None` if the verdict is not known beforehand.
    pub variant: Option<Variant>,
}

impl Member {
    fn threads(&self) -> String {
        self.threads.map_or_else(|| "any".to_owned(), |threads| threads.to_string())
    }

    fn variant(&self) -> &'static str {
        self.variant.map_or("", Variant::name)
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (threads, variant) = (self.threads(), self.variant());
        write!(f, "{:<17} {:>5} {threads:>4} {variant:<5}", self.family, self.size)
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Figures {
    pub measured: Measured,
    /// What was searched, and by whom if that is not clear: states, clauses, questions.
    pub effort: String,
    /// The time to compile the verifier, if there is one.
    pub compiling: Option<Duration>,
}

/// One engine on one program.
#[derive(Clone, Debug)]
pub struct Row {
    pub member: Member,
    pub engine: &'static str,
    pub figures: Figures,
}

impl Row {
    fn is_decided(&self) -> bool {
        matches!(self.figures.measured.answer, Answer::Safe | Answer::Unsafe)
    }

    fn wall(&self) -> Duration {
        self.figures.measured.wall
    }
}

/// All figures so far.
pub struct Table {
    rows: Vec<Row>,
    csv: Option<File>,
}

impl Table {
    /// An empty table; writes the headings.
    pub fn start(csv: Option<&Path>) -> io::Result<Self> {
        let mut csv = csv.map(File::create).transpose()?;
        if let Some(csv) = &mut csv {
            writeln!(
                csv,
                "family,size,threads,variant,engine,verdict,wall_ms,cpu_ms,peak_kb,compile_ms,effort,reason"
            )?;
        }
        println!("family             size    n variant engine        verdict    wall s    cpu s  peak MB");
        Ok(Self { rows: Vec::new(), csv })
    }

    /// Adds and prints a line.
    pub fn add(&mut self, row: Row) -> io::Result<()> {
        let Row { member, engine, figures: Figures { measured, effort, compiling } } = &row;
        let (wall, cpu) = (measured.wall.as_secs_f64(), measured.cpu.as_secs_f64());
        let (word, peak, reason) = (measured.word(), measured.peak, measured.reason());
        println!(
            "{:<33}   {engine:<13} {word:<8} {wall:>8.3} {cpu:>8.3} {:>8}  {effort}{reason}",
            member.to_string(),
            peak.div_ceil(1024)
        );
        if let Some(csv) = &mut self.csv {
            let compiling = compiling.map_or_else(String::new, |time| milliseconds(time.as_secs_f64()));
            writeln!(
                csv,
                "{},{},{},{},{engine},{word},{},{},{peak},{compiling},\"{effort}\",\"{}\"",
                member.family,
                member.size,
                member.threads(),
                member.variant(),
                milliseconds(wall),
                milliseconds(cpu),
                reason.replace('"', "'")
            )?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// The different verdicts about a member, each with an engine that gave it.
    pub fn verdicts(&self, member: &Member) -> Vec<String> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_decided() && row.member == *member) {
            let word = row.figures.measured.word();
            if !found.iter().any(|&(known, _)| known == word) {
                found.push((word, row.engine));
            }
        }
        found.into_iter().map(|(word, engine)| format!("{engine} says {word}")).collect()
    }

    /// Compares `auto` with every single engine and with SPIN on each member, by wall-clock time; where `auto` misses
    /// the bar, a sentence says so. SPIN sets no bar.
    pub fn print_ratios(&self) -> Vec<String> {
        println!("\nfamily             size    n variant  auto s  times the others' time (the best first)");
        let mut misses = Vec::new();
        let mut worst: Option<(f64, String)> = None;
        for auto in self.rows.iter().filter(|row| row.engine == AUTO) {
            let same = self.rows.iter().filter(|row| row.member == auto.member && row.engine != AUTO);
            let mut others: Vec<&Row> = same.filter(|row| row.is_decided()).collect();
            others.sort_by_key(|row| row.wall());
            let ratio = |row: &Row| auto.wall().as_secs_f64() / row.wall().as_secs_f64().max(1e-6);
            let compare =
                |row: &&Row| format!("{} {:.3} s x{:.2}", row.engine, row.wall().as_secs_f64(), ratio(row));
            let mut text = others.iter().map(compare).collect::<Vec<_>>().join(", ");
            let Some(best) = others.iter().find(|row| row.engine != SPIN) else {
                println!(
                    "{}  {:>7.3}  no engine decides it{}",
                    auto.member,
                    auto.wall().as_secs_f64(),
                    if text.is_empty() { String::new() } else { format!("; {text}") }
                );
                continue;
            };
            if worst.as_ref().is_none_or(|(worst, _)| ratio(best) > *worst) {
                worst = Some((ratio(best), auto.member.to_string()));
            }
            if !auto.is_decided() || !is_within_the_bar(auto.wall(), best.wall()) {
                let word = auto.figures.measured.word();
                text.push_str("  MISSED");
                misses.push(format!("{}: auto {word}, {text}", auto.member));
            }
            println!("{}  {:>7.3}  {text}", auto.member, auto.wall().as_secs_f64());
        }
        if let Some((ratio, member)) = worst {
            println!("the worst ratio of `auto` to the best engine is {ratio:.2}: {member}");
        }
        misses
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}
