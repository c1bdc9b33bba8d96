//! Gets the versions of external programs.

use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::process::{ProcessError, ProcessLimits, Program, run};

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest number of bytes that it may print for this.
const MOST_OUTPUT: usize = 1 << 16;

/// How a program prints its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionProbe {
    /// If it is called with this argument.
    Argument(&'static str),
    /// Whenever it solves a formula.
    Banner,
    /// It does not print its version.
    Never,
}

/// The version of a program, as printed by the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The line with the version, such as `DepQBF 5.01`.
    pub line: String,
    /// The numbers of the version, such as 5 and 1.
    pub numbers: Vec<u32>,
}

impl Version {
    /// Gets the version of a program. `solving` is the command that solves `formula`. Returns `None` if the program
    /// does not print a version.
    ///
    /// # Errors
    /// If the program does not start, does not end in time, or is interrupted.
    pub(crate) fn ask(
        probe: VersionProbe,
        solving: &Program,
        formula: &str,
        interrupt: &Interrupt,
    ) -> Result<Option<Version>, ProcessError> {
        let program = match probe {
            VersionProbe::Argument(argument) => Program::new(&solving.path).argument(argument),
            VersionProbe::Banner => solving.clone(),
            VersionProbe::Never => return Ok(None),
        };
        let deadline = Some(Instant::now() + PATIENCE);
        let limits = ProcessLimits { deadline, output: MOST_OUTPUT, ..ProcessLimits::default() };
        let finished = run(&program, formula.as_bytes(), ".txt", &limits, interrupt)?;
        Ok([finished.stdout, finished.stderr]
            .iter()
            .find_map(|text| Version::find(&String::from_utf8_lossy(text))))
    }

    /// Finds the first line with a word like `5.01` or `v2.5`, or a first line that is one number.
    pub(crate) fn find(text: &str) -> Option<Version> {
        let dotted = text.lines().find_map(|line| {
            let numbers = line.split_ascii_whitespace().find_map(version_numbers)?;
            Some(Version { line: line.trim().chars().take(200).collect(), numbers })
        });
        dotted.or_else(|| {
            let line = text.lines().next()?.trim();
            Some(Version { line: line.to_owned(), numbers: vec![line.parse().ok()?] })
        })
    }

    /// The numbers, separated by dots.
    #[must_use]
    pub fn short(&self) -> String {
        let word = |word: &&str| version_numbers(word).as_ref() == Some(&self.numbers);
        let found = self.line.split_ascii_whitespace().find(word).unwrap_or(&self.line);
        found.trim_start_matches('v').trim_end_matches([',', ';', ':']).to_owned()
    }
}

/// Numbers separated by dots, possibly after a `v` and before a comma, semicolon or colon.
fn version_numbers(word: &str) -> Option<Vec<u32>> {
    let word = word.strip_prefix('v').unwrap_or(word).trim_end_matches([',', ';', ':']);
    let numbers: Option<Vec<u32>> = word.split('.').map(|number| number.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::Version;

    fn version(text: &str) -> Option<(Vec<u32>, String)> {
        Version::find(text).map(|version| (version.numbers.clone(), version.short()))
    }

    #[test]
    fn versions_are_found_in_banners() {
        let found = |numbers: &[u32], short: &str| Some((numbers.to_vec(), short.to_owned()));
        assert_eq!(version("DepQBF 5.01\nCopyright 2010, 2011\n"), found(&[5, 1], "5.01"));
        assert_eq!(version("c Processing file.\nc CADET v2.5\n"), found(&[2, 5], "2.5"));
        assert_eq!(version("caqe 4.0.1"), found(&[4, 0, 1], "4.0.1"));
        assert_eq!(version("965\n"), found(&[965], "965"));
        assert_eq!(version("Copyright 2010\nno version.\n1.x 2..3\n"), None);
        assert_eq!(version(""), None);
    }
}
