//! The QBF programs whose command lines we know: their arguments, and how to get their version.
//!
//! | program | where from | the table knows | run by our tests |
//! |---|---|---|---|
//! | `depqbf` | Debian `depqbf` (5.01) | `--qdo`; 6.x also wants `--no-dynamic-nenofex`, which 5.x rejects | yes |
//! | `cadet` | source | `--qdimacs_out`; no option for the version, it is in the banner of every run | no |
//! | `caqe` | source | `--qdo`; reads files only | no |
//! | `rareqs` | source | nothing: prints the outermost block unasked, and no version | no |
//! | `qute` | source | `--partial-certificate`; prints no version | no |
//!
//! A program is recognised by the beginning of its file name, so `depqbf-6.03` is `depqbf`. A program that is not in
//! the table is called as the user says, without further arguments.

use std::path::Path;

use cusp_encodings::CnfStyle;

use crate::interrupt::Interrupt;
use crate::process::{ProcessError, Program};
use crate::version::{Version, VersionProbe};

/// How to call a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSolver {
    /// The beginning of its file name, in lower case.
    pub name: &'static str,
    /// Arguments before the name of the input file.
    pub arguments: &'static [&'static str],
    /// Further arguments for versions from the given one on.
    pub since: &'static [(&'static [u32], &'static str)],
    /// How to get its version.
    pub version: VersionProbe,
    /// The style of clauses that suits it best.
    pub style: CnfStyle,
}

/// The programs whose command lines we know; those that are strongest on our queries come first.
pub const KNOWN_SOLVERS: [KnownSolver; 5] = [
    KnownSolver {
        name: "cadet",
        arguments: &["--qdimacs_out"],
        since: &[],
        version: VersionProbe::Banner,
        // It looks for variables with unique definitions, and a one-sided definition is not unique.
        style: CnfStyle::Tseitin,
    },
    KnownSolver {
        name: "caqe",
        arguments: &["--qdo"],
        since: &[],
        version: VersionProbe::Argument("--version"),
        style: CnfStyle::PlaistedGreenbaum,
    },
    KnownSolver {
        name: "depqbf",
        arguments: &["--qdo"],
        since: &[(&[6], "--no-dynamic-nenofex")],
        version: VersionProbe::Argument("--version"),
        style: CnfStyle::PlaistedGreenbaum,
    },
    KnownSolver {
        name: "rareqs",
        arguments: &[],
        since: &[],
        version: VersionProbe::Never,
        style: CnfStyle::PlaistedGreenbaum,
    },
    KnownSolver {
        name: "qute",
        arguments: &["--partial-certificate"],
        since: &[],
        version: VersionProbe::Never,
        style: CnfStyle::PlaistedGreenbaum,
    },
];

impl KnownSolver {
    /// The entry for a program, if there is one.
    #[must_use]
    pub fn of(path: &Path) -> Option<&'static KnownSolver> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        KNOWN_SOLVERS.iter().find(|known| name.starts_with(known.name))
    }

    /// How to call the program at `path` if it has this version.
    #[must_use]
    pub fn program(&self, path: &Path, version: Option<&Version>) -> Program {
        let newer = self
            .since
            .iter()
            .filter(|(first, _)| version.is_some_and(|version| version.numbers.as_slice() >= *first));
        let arguments = self.arguments.iter().chain(newer.map(|(_, argument)| argument));
        arguments
            .fold(Program::new(path), |program, argument| program.argument(*argument))
            .argument(Program::INPUT)
    }

    /// Gets the version of the program at `path`; `None` if it does not print one.
    ///
    /// # Errors
    /// If the program does not start, does not end in time, or is interrupted.
    pub fn probe(&self, path: &Path, interrupt: &Interrupt) -> Result<Option<Version>, ProcessError> {
        Version::ask(self.version, &self.program(path, None), "p cnf 1 1\ne 1 0\n1 0\n", interrupt)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{KNOWN_SOLVERS, KnownSolver};
    use crate::process::Program;
    use crate::version::Version;

    #[test]
    fn programs_are_known_by_the_beginning_of_their_names() {
        let name = |path: &str| KnownSolver::of(Path::new(path)).map(|known| known.name);
        assert_eq!(name("/opt/bin/DepQBF-6.03"), Some("depqbf"));
        assert_eq!(name("caqe"), Some("caqe"));
        assert_eq!(name("/depqbf/solver"), None);
        assert_eq!(name("/"), None);
        assert!(KNOWN_SOLVERS.is_sorted_by(|a, b| !b.name.starts_with(a.name)), "no name hides another");
    }

    #[test]
    fn newer_versions_get_more_arguments() {
        let call = |version: Option<&str>| {
            let path = Path::new("depqbf");
            let version = version.and_then(Version::find);
            let program = KnownSolver::of(path).expect("it is in the table").program(path, version.as_ref());
            program.arguments.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(call(None), ["--qdo", Program::INPUT]);
        assert_eq!(call(Some("DepQBF 5.01")), ["--qdo", Program::INPUT]);
        assert_eq!(call(Some("DepQBF 6.03")), ["--qdo", "--no-dynamic-nenofex", Program::INPUT]);
    }
}
