//! The SAT programs whose command lines we know.
//!
//! | program | where from | the table knows | run by our tests |
//! |---|---|---|---|
//! | `cadical` | Debian, source | `-q` leaves out comments | no |
//! | `kissat` | Debian, source | `-q` leaves out comments | no |
//! | `cryptominisat5` | Debian `cryptominisat` | `--verb 0` leaves out comments | no |
//! | `glucose` | Debian, source | `-model` makes it print its model | no |
//! | `lingeling` | Debian, source | `-q` leaves out comments | no |
//! | `mallob` | source | reads `-mono=`, writes its answer to the file of `-s2f=` | no |
//! | `minisat` | Debian `minisat` | writes its answer to a second file | if it is installed |
//! | `picosat` | Debian `picosat` | nothing: it prints its model unasked | yes |
//!
//! A program is recognised by the beginning of its file name. A program that is not in the table gets the name of the
//! input file as its only argument.

use std::path::Path;

use crate::interrupt::Interrupt;
use crate::process::{ProcessError, Program};
use crate::version::{Version, VersionProbe};

/// How to call a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSat {
    /// The beginning of its file name, in lower case.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// How to get its version.
    pub version: VersionProbe,
}

const fn known(name: &'static str, arguments: &'static [&'static str], version: VersionProbe) -> KnownSat {
    KnownSat { name, arguments, version }
}

const ASKED: VersionProbe = VersionProbe::Argument("--version");

/// The programs whose command lines we know.
pub const KNOWN_SAT: [KnownSat; 8] = [
    known("cadical", &["-q", Program::INPUT], ASKED),
    known("kissat", &["-q", Program::INPUT], ASKED),
    known("cryptominisat", &["--verb", "0", Program::INPUT], ASKED),
    known("glucose", &["-verb=0", "-model", Program::INPUT], VersionProbe::Never),
    known("lingeling", &["-q", Program::INPUT], ASKED),
    known("mallob", &["-mono={file}", "-s2f={output}"], VersionProbe::Never),
    known("minisat", &["-verb=0", Program::INPUT, Program::OUTPUT], VersionProbe::Never),
    known("picosat", &[Program::INPUT], ASKED),
];

impl KnownSat {
    /// The entry for a program, if there is one.
    #[must_use]
    pub fn of(path: &Path) -> Option<&'static KnownSat> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        KNOWN_SAT.iter().find(|known| name.starts_with(known.name))
    }

    /// How to call the program at `path`, or the program with this name in `PATH`.
    #[must_use]
    pub fn program(path: &Path) -> Program {
        let arguments = KnownSat::of(path).map_or(&[Program::INPUT][..], |known| known.arguments);
        arguments.iter().fold(Program::new(path), |program, argument| program.argument(*argument))
    }

    /// Gets the version of the program at `path`; `None` if it does not print one.
    ///
    /// # Errors
    /// If the program does not start, does not end in time, or is interrupted.
    pub fn probe(&self, path: &Path, interrupt: &Interrupt) -> Result<Option<Version>, ProcessError> {
        Version::ask(self.version, &KnownSat::program(path), "p cnf 1 1\n1 0\n", interrupt)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{KNOWN_SAT, KnownSat};
    use crate::process::Program;

    #[test]
    fn programs_are_called_as_their_entries_say() {
        let call = |path: &str| {
            let program = KnownSat::program(Path::new(path));
            program.arguments.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(call("picosat"), [Program::INPUT]);
        assert_eq!(call("/opt/MiniSat_core"), ["-verb=0", Program::INPUT, Program::OUTPUT]);
        assert_eq!(call("/picosat/solver"), [Program::INPUT]);
        assert!(KNOWN_SAT.is_sorted_by(|a, b| !b.name.starts_with(a.name)), "no name hides another");
    }
}
