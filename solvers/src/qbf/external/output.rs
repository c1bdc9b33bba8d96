//! Reads the output of external QBF programs.
//!
//! | program | verdict | values of the outermost block |
//! |---|---|---|
//! | `depqbf`, `caqe` with `--qdo` | `s cnf 0 3 2` | `V -1 0`, a line for each |
//! | `cadet` | `s cnf 0 3 2` or `UNSAT` | `V 1 -2`, all in one line without end |
//! | `rareqs` | `s cnf 0` | `V -1 +3 0` |
//! | others | `r FALSE`, `FALSE`, `UNSAT` | `v 1 -2 0`, or none |
//!
//! All other output is ignored. The exit code decides, 10 for true and 20 for false, and nothing that is printed may
//! contradict it. "True" must also be printed as a word, because it is not checked; "false" need not be, because it
//! is always checked.

use crate::external_sat::ExternalFailure;
use crate::process::{Exit, Finished};

/// The claim of a program about a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Whether it claims that the formula is true.
    pub(super) is_true: bool,
    /// For each variable of the formula, its value, if one was given.
    pub(super) values: Vec<Option<bool>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    True,
    False,
    Unknown,
}

/// The claim of a program that has ended, about a formula with this number of variables.
pub(super) fn read_claim(finished: &Finished, variables: usize) -> Result<Claim, ExternalFailure> {
    let code = match finished.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => return Err(ExternalFailure::Crashed { signal }),
    };
    let text = String::from_utf8_lossy(&finished.stdout);
    let mut status = None;
    let mut values = vec![None; variables];
    for (number, line) in text.lines().enumerate() {
        let malformed = ExternalFailure::Malformed { line: number + 1 };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let said = match words.as_slice() {
            ["s", claim @ ..] => Some(status_line(claim).ok_or(malformed.clone())?),
            ["r", word] | [word] => status_word(word),
            ["V" | "v", literals @ ..] => {
                read_values(literals, &mut values).ok_or(malformed.clone())?;
                None
            }
            _ => None,
        };
        if said.is_some() && status.is_some() && said != status {
            return Err(malformed);
        }
        status = status.or(said);
    }
    match (status, code) {
        (Some(Status::True), 10) => Ok(Claim { is_true: true, values }),
        (Some(Status::False) | None, 20) => Ok(Claim { is_true: false, values }),
        (Some(Status::Unknown), _) => Err(ExternalFailure::AnswersUnknown),
        (Some(_), code) => Err(ExternalFailure::WrongExitCode { code }),
        (None, code) => Err(ExternalFailure::NoStatus { code, complaint: complaint(&finished.stderr) }),
    }
}

/// The status in the rest of a line that starts with `s`.
fn status_line(claim: &[&str]) -> Option<Status> {
    match claim {
        ["cnf", "1", ..] => Some(Status::True),
        ["cnf", "0", ..] => Some(Status::False),
        ["cnf", "-1", ..] => Some(Status::Unknown),
        [word] => status_word(word),
        _ => None,
    }
}

fn status_word(word: &str) -> Option<Status> {
    match word.to_ascii_uppercase().as_str() {
        "TRUE" | "SAT" | "SATISFIABLE" => Some(Status::True),
        "FALSE" | "UNSAT" | "UNSATISFIABLE" => Some(Status::False),
        "UNKNOWN" | "UNDEF" | "INDETERMINATE" => Some(Status::Unknown),
        _ => None,
    }
}

/// Reads literals up to the end of the line or a final 0; `None` if they are not literals of the formula, or
/// contradict each other.
fn read_values(literals: &[&str], values: &mut [Option<bool>]) -> Option<()> {
    for literal in literals.strip_suffix(&["0"]).unwrap_or(literals) {
        let literal: i32 = literal.parse().ok()?;
        let place = (literal.unsigned_abs() as usize).checked_sub(1)?;
        let is_positive = literal > 0;
        if values.get_mut(place)?.replace(is_positive).is_some_and(|earlier| earlier != is_positive) {
            return None;
        }
    }
    Some(())
}

/// The first line of the error output.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().next().unwrap_or_default().trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::{Claim, read_claim};
    use crate::external_sat::ExternalFailure;
    use crate::process::{Exit, Finished};

    fn read(code: i32, text: &str) -> Result<Claim, ExternalFailure> {
        let stderr = b"oops\nmore".to_vec();
        let finished = Finished { exit: Exit::Code(code), stdout: text.into(), stderr, output: None };
        read_claim(&finished, 4)
    }

    /// The values of variables 1 to 4 that a program prints with the answer false.
    fn values(text: &str) -> String {
        let claim = read(20, text).expect("a claim");
        assert!(!claim.is_true);
        claim.values.iter().map(|value| value.map_or('-', |value| if value { '1' } else { '0' })).collect()
    }

    #[test]
    fn values_come_in_all_styles() {
        assert_eq!(values("s cnf 0 4 2\nV -1 0\nV 3 0\n"), "0-1-");
        assert_eq!(values("c CADET\nUNSAT\nV 1 -2\n"), "10--");
        assert_eq!(values("s cnf 0\nV -1 +3 0\nV 0\nV\n"), "0-1-");
        assert_eq!(values("r FALSE\nv 1 2 3 4 0\r\n"), "1111");
        assert_eq!(values("  s   cnf 0 \n\tV\t-4 0"), "---0");
    }

    #[test]
    fn verdicts_come_in_all_styles() {
        for text in [
            "s cnf 1 4 2\n",
            "s cnf 1",
            "SAT\n",
            "r TRUE\n",
            "c x\ntrue\n",
            "s SATISFIABLE",
            "SAT\ns cnf 1\n",
        ] {
            assert!(read(10, text).is_ok_and(|claim| claim.is_true), "{text}");
        }
        for text in ["s cnf 0 4 2\n", "UNSAT\n", "r FALSE\n", "False\n", "s UNSATISFIABLE\n", ""] {
            assert!(read(20, text).is_ok_and(|claim| !claim.is_true), "{text}");
        }
    }

    #[test]
    fn exit_code_and_words_must_agree() {
        for (code, text) in [(20, "s cnf 1"), (10, "s cnf 0"), (0, "s cnf 0"), (1, "SAT"), (10, "r FALSE")] {
            assert_eq!(read(code, text), Err(ExternalFailure::WrongExitCode { code }), "{text}");
        }
        for text in ["s cnf -1 4 2", "UNKNOWN", "UNDEF"] {
            assert_eq!(read(0, text), Err(ExternalFailure::AnswersUnknown));
            assert_eq!(read(10, text), Err(ExternalFailure::AnswersUnknown));
        }
    }

    #[test]
    fn truth_is_said_in_words_and_not_by_the_exit_code_alone() {
        let silent = |code| Err(ExternalFailure::NoStatus { code, complaint: "oops".to_owned() });
        assert_eq!(read(10, ""), silent(10));
        assert_eq!(read(10, "c s cnf 1\nthe answer is SAT\n"), silent(10));
        assert_eq!(read(0, "V 1 0"), silent(0));
    }

    #[test]
    fn lines_that_only_look_like_answers_are_named() {
        let malformed = |line| Err(ExternalFailure::Malformed { line });
        for text in
            ["s", "s cnf", "s cn", "s cnf 2", "s cnf 01 2", "s perhaps", "V x", "V 1 0 2", "V 5", "v -1 1 0"]
        {
            assert_eq!(read(20, text), malformed(1), "{text}");
        }
        assert_eq!(read(20, "V 99999999999999999999 0"), malformed(1));
        assert_eq!(read(20, "V -2147483648 0"), malformed(1));
        assert_eq!(read(20, "s cnf 0\nV 1 0\nV -1 0"), malformed(3));
        assert_eq!(read(20, "s cnf 0\ns cnf 1"), malformed(2));
        assert_eq!(read(10, "s cnf 1\nUNSAT"), malformed(2));
    }

    #[test]
    fn a_signal_is_no_answer() {
        let stdout = b"s cnf 1\n".to_vec();
        let finished = Finished { exit: Exit::Signal(11), stdout, stderr: Vec::new(), output: None };
        assert_eq!(read_claim(&finished, 4), Err(ExternalFailure::Crashed { signal: 11 }));
    }
}
