//! The table, line by line as the figures come in, and what it says about `auto`.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::families::Variant;
use super::measure::{Answer, Measured, is_within_the_bar};

/// One program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub family: &'static str,
    pub size: usize,
    pub variant: Variant,
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:<17} {:>5} {:<5}", self.family, self.size, self.variant.name())
    }
}

/// One engine on one program.
#[derive(Clone, Debug)]
pub struct Row {
    pub member: Member,
    pub engine: &'static str,
    pub measured: Measured,
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
            writeln!(csv, "family,size,variant,engine,verdict,wall_ms,cpu_ms,peak_kb,reason")?;
        }
        println!("family             size variant engine      verdict    wall s    cpu s  peak MB");
        Ok(Self { rows: Vec::new(), csv })
    }

    /// Adds and prints a line.
    pub fn add(&mut self, row: Row) -> io::Result<()> {
        let Row { member, engine, measured } = &row;
        let (wall, cpu) = (measured.wall.as_secs_f64(), measured.cpu.as_secs_f64());
        let (word, peak, reason) = (measured.word(), measured.peak, measured.reason());
        let member_text = member.to_string();
        println!(
            "{member_text}   {engine:<11} {word:<8} {wall:>8.3} {cpu:>8.3} {:>8} {reason}",
            peak.div_ceil(1024)
        );
        if let Some(csv) = &mut self.csv {
            let Member { family, size, variant } = member;
            writeln!(
                csv,
                "{family},{size},{},{engine},{word},{:.1},{:.1},{peak},\"{}\"",
                variant.name(),
                wall * 1e3,
                cpu * 1e3,
                reason.replace('"', "'")
            )?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Compares `auto` with the best single engine on each member; the misses come back as sentences.
    pub fn print_ratios(&self) -> Vec<String> {
        println!("\nfamily             size variant  auto s   best s  ratio  best engine");
        let mut misses = Vec::new();
        for row in self.rows.iter().filter(|row| row.engine == "auto") {
            let decided = |row: &&Row| matches!(row.measured.answer, Answer::Safe | Answer::Unsafe);
            let others =
                self.rows.iter().filter(|other| other.member == row.member && other.engine != "auto");
            let member = row.member.to_string();
            let Some(best) = others.filter(decided).min_by_key(|other| other.measured.wall) else {
                println!(
                    "{member}  {:>7.3}        -      -  no engine decides it",
                    row.measured.wall.as_secs_f64()
                );
                continue;
            };
            let (auto, least) = (row.measured.wall, best.measured.wall);
            let is_within = decided(&row) && is_within_the_bar(auto, least);
            let ratio = auto.as_secs_f64() / least.as_secs_f64().max(1e-6);
            let (auto, least) = (auto.as_secs_f64(), least.as_secs_f64());
            let note = if is_within { "" } else { "  MISSED" };
            println!("{member}  {auto:>7.3} {least:>8.3} {ratio:>6.1}  {}{note}", best.engine);
            if !is_within {
                let word = row.measured.word();
                misses.push(format!("{member}: auto {word} in {auto:.3} s, {} in {least:.3} s", best.engine));
            }
        }
        misses
    }
}
