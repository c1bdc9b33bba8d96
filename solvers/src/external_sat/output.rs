//! Reads the output of SAT programs.
//!
//! Two styles are understood, on standard output or in the output file: that of the SAT competitions, with lines that
//! begin with `s` and `v`, and that of the output file of `minisat`, with `SAT` or `UNSAT` on the first line and the
//! values on the second.
//!
//! If the exit code is 0, the status line alone decides: programs that start others, such as `mpirun`, do not always
//! pass on their exit codes. Any other code must agree with the status line.

use super::ExternalFailure;
use crate::process::{Exit, Finished};

/// The model that the program claims, or `None` if it claims that there is none.
///
/// Lines that are neither a status nor values are comments. Variables without a value are set to false; this is safe
/// because the model is checked anyway.
pub(super) fn read_answer(
    finished: &Finished,
    num_vars: usize,
) -> Result<Option<Vec<bool>>, ExternalFailure> {
    let code = match finished.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => return Err(ExternalFailure::Crashed { signal }),
    };
    let text = String::from_utf8_lossy(finished.output.as_ref().unwrap_or(&finished.stdout));
    let is_file = finished.output.is_some();
    let mut statuses = Vec::new();
    let mut values = Values { values: vec![None; num_vars], complete: false };
    for (line, words) in text.lines().enumerate().map(|(i, line)| (i + 1, line.split_ascii_whitespace())) {
        let malformed = ExternalFailure::Malformed { line };
        let words: Vec<&str> = words.collect();
        match words.as_slice() {
            ["s", claim @ ..] => statuses.push((claim.join(" "), line)),
            ["v", lits @ ..] => values.read(lits).ok_or(malformed)?,
            ["SAT"] if is_file && line == 1 => statuses.push(("SATISFIABLE".to_owned(), line)),
            ["UNSAT"] if is_file && line == 1 => statuses.push(("UNSATISFIABLE".to_owned(), line)),
            ["INDET"] if is_file && line == 1 => statuses.push(("UNKNOWN".to_owned(), line)),
            lits if is_file && line == 2 && lits.last() == Some(&"0") => {
                values.read(lits).ok_or(malformed)?;
            }
            _ => {}
        }
    }
    let (claim, line) = match statuses.as_slice() {
        [] => {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            let complaint = stderr.lines().next().unwrap_or_default().trim().chars().take(200).collect();
            return Err(ExternalFailure::NoStatus { code, complaint });
        }
        [(claim, line)] => (claim.as_str(), *line),
        [_, (_, line), ..] => return Err(ExternalFailure::Malformed { line: *line }),
    };
    match (claim, code) {
        ("SATISFIABLE", 10 | 0) if !values.complete && num_vars > 0 => Err(ExternalFailure::Truncated),
        ("SATISFIABLE", 10 | 0) => {
            Ok(Some(values.values.into_iter().map(|value| value == Some(true)).collect()))
        }
        ("UNSATISFIABLE", 20 | 0) => Ok(None),
        ("SATISFIABLE" | "UNSATISFIABLE", code) => Err(ExternalFailure::WrongExitCode { code }),
        ("UNKNOWN" | "INDETERMINATE", _) => Err(ExternalFailure::AnswersUnknown),
        _ => Err(ExternalFailure::Malformed { line }),
    }
}

struct Values {
    /// The value of each variable, if one was given.
    values: Vec<Option<bool>>,
    /// Whether the final 0 was read.
    complete: bool,
}

impl Values {
    /// Reads literals; `None` if they are not literals of the formula, contradict each other, or come after the final
    /// 0.
    fn read(&mut self, lits: &[&str]) -> Option<()> {
        for lit in lits {
            let lit: i32 = lit.parse().ok()?;
            if self.complete {
                return None;
            }
            if lit == 0 {
                self.complete = true;
                continue;
            }
            let value = self.values.get_mut(lit.unsigned_abs() as usize - 1)?;
            if value.replace(lit > 0).is_some_and(|earlier| earlier != (lit > 0)) {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::read_answer;
    use crate::external_sat::ExternalFailure;
    use crate::process::{Exit, Finished};

    fn read(code: i32, stdout: &str, file: Option<&str>) -> Result<Option<Vec<bool>>, ExternalFailure> {
        let finished = Finished {
            exit: Exit::Code(code),
            stdout: stdout.into(),
            stderr: Vec::new(),
            output: file.map(Into::into),
        };
        read_answer(&finished, 2)
    }

    #[test]
    fn both_styles_are_read_from_files() {
        let model = Ok(Some(vec![true, false]));
        assert_eq!(read(10, "noise\n", Some("SAT\n1 -2 0\n")), model);
        assert_eq!(read(0, "", Some("s SATISFIABLE\nv 1 -2 0\n")), model);
        assert_eq!(read(20, "SATISFIABLE\n", Some("UNSAT\n")), Ok(None));
        assert_eq!(read(0, "", Some("INDET\n")), Err(ExternalFailure::AnswersUnknown));
        assert_eq!(read(10, "", Some("SAT\n1 -2\n")), Err(ExternalFailure::Truncated));
        assert_eq!(read(10, "", Some("SAT\n1 x 0\n")), Err(ExternalFailure::Malformed { line: 2 }));
        assert!(matches!(
            read(10, "s SATISFIABLE\nv 1 -2 0\n", Some("")),
            Err(ExternalFailure::NoStatus { .. })
        ));
    }

    #[test]
    fn standard_output_has_one_style_only() {
        assert_eq!(read(10, "s SATISFIABLE\nv 1 -2 0\n", None), Ok(Some(vec![true, false])));
        assert_eq!(read(0, "s UNSATISFIABLE\n", None), Ok(None));
        assert!(matches!(read(10, "SAT\n1 -2 0\n", None), Err(ExternalFailure::NoStatus { .. })));
        assert_eq!(read(10, "s UNSATISFIABLE\n", None), Err(ExternalFailure::WrongExitCode { code: 10 }));
        assert_eq!(read(1, "s UNSATISFIABLE\n", None), Err(ExternalFailure::WrongExitCode { code: 1 }));
    }
}
