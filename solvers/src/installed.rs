//! Finds the solvers that are installed on this machine.

use std::path::PathBuf;

use crate::cadical::CadicalSolver;
use crate::external_sat::KNOWN_SAT;
use crate::interrupt::Interrupt;
use crate::process::Program;
use crate::qbf::external::KNOWN_SOLVERS;
use crate::version::Version;

/// A solver that the user may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name by which it is chosen.
    pub name: String,
    /// The path of the program; `None` if the solver is built in.
    pub path: Option<PathBuf>,
    /// Its version, if the program prints one.
    pub version: Option<String>,
}

/// The solvers that were found, and the known programs that are not installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The solvers that were found; the default comes first.
    pub found: Vec<Found>,
    /// The names of known programs that are not in `PATH`.
    pub missing: Vec<&'static str>,
}

impl Survey {
    /// Finds the SAT solvers, and runs the programs to get their versions.
    #[must_use]
    pub fn sat(interrupt: &Interrupt) -> Survey {
        let version = Some(CadicalSolver::version());
        let mut survey = Survey::default();
        survey.found.push(Found { name: "cadical".to_owned(), path: None, version });
        for known in &KNOWN_SAT {
            survey.look_for(known.name, |path| known.probe(path, interrupt).ok().flatten());
        }
        survey
    }

    /// Finds the solvers for queries with two quantifiers, and runs the programs to get their versions.
    #[must_use]
    pub fn qbf(interrupt: &Interrupt) -> Survey {
        let mut survey = Survey::default();
        survey.found.push(Found { name: "embedded".to_owned(), path: None, version: None });
        for known in &KNOWN_SOLVERS {
            survey.look_for(known.name, |path| known.probe(path, interrupt).ok().flatten());
        }
        survey
    }

    fn look_for(&mut self, name: &'static str, version: impl Fn(&PathBuf) -> Option<Version>) {
        // This is the only program whose command differs from its usual name.
        let commands: &[&str] = if name == "cryptominisat" { &["cryptominisat5", name] } else { &[name] };
        let found = commands.iter().find_map(|command| Some((command, Program::new(*command).find()?)));
        let Some((command, path)) = found else {
            self.missing.push(name);
            return;
        };
        // If a built-in solver already has this name, the program is listed by its path.
        let is_taken = self.found.iter().any(|found| found.name == *command);
        let name = if is_taken { path.display().to_string() } else { (*command).to_owned() };
        let version = version(&path).map(|version| version.short());
        self.found.push(Found { name, path: Some(path), version });
    }
}
