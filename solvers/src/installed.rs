//! The solvers of this machine.

use std::path::PathBuf;

use crate::cadical::CadicalSolver;
use crate::external_sat::KNOWN_SAT;
use crate::interrupt::Interrupt;
use crate::process::Program;
use crate::qbf::external::KNOWN_SOLVERS;
use crate::version::Version;

/// A solver that a run may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name to choose it by.
    pub name: String,
    /// Where the program is; none if the solver is built in.
    pub path: Option<PathBuf>,
    /// Its version, if it tells.
    pub version: Option<String>,
}

/// Known programs that are not installed, and solvers that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The default first.
    pub found: Vec<Found>,
    /// Names of known programs that are not in `PATH`.
    pub missing: Vec<&'static str>,
}

impl Survey {
    /// The solvers for SAT questions. Asks the programs for their versions.
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

    /// The solvers for questions with two quantifiers. Asks the programs for their versions.
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
        // The one program whose command is not the name that people know it by.
        let commands: &[&str] = if name == "cryptominisat" { &["cryptominisat5", name] } else { &[name] };
        let found = commands.iter().find_map(|command| Some((command, Program::new(*command).find()?)));
        let Some((command, path)) = found else {
            self.missing.push(name);
            return;
        };
        // The name of the built-in solver is taken.
        let is_taken = self.found.iter().any(|found| found.name == *command);
        let name = if is_taken { path.display().to_string() } else { (*command).to_owned() };
        let version = version(&path).map(|version| version.short());
        self.found.push(Found { name, path: Some(path), version });
    }
}
