//! Cusp as a library, in a few lines.
//!
//! [`check_str`] decides a program that is given as text; [`Checker`] does the same with options, and decides nets, too.
//! Every answer was certified before it is handed out, exactly as on the command line.
//!
//! ```
//! use cusp::embed::{Decision, check_str};
//!
//! let answer = check_str("decl g; void main() begin g := *; assert(g); end")?;
//! assert_eq!(answer.decision(), Decision::Unsafe);
//! assert!(answer.text().contains("an assertion can fail"));
//! # Ok::<(), cusp::embed::InputError>(())
//! ```
//!
//! With options, and limits on what the answer may cost:
//!
//! ```
//! use std::time::Duration;
//! use cusp::embed::{Checker, Decision};
//!
//! let program = "
//!     decl lock := F;
//!     void main() begin
//!       atomic_begin; assume(!lock); lock := T; atomic_end;
//!       critical: skip;
//!       lock := F;
//!     end";
//! let checker = Checker::new().label("critical").threads(2).replicate(true).timeout(Duration::from_secs(10));
//! let answer = checker.check_str(program)?;
//! assert_eq!(answer.decision(), Decision::Unsafe);
//! # Ok::<(), cusp::embed::InputError>(())
//! ```
//!
//! A net in the format of MIST:
//!
//! ```
//! use cusp::cover::Format;
//! use cusp::embed::{Checker, Decision};
//!
//! let net = "vars a b rules a >= 1 -> a' = a - 1, b' = b + 1; init a = 2, b = 0 target b >= 3";
//! let answer = Checker::new().cover_str(net, Format::Spec)?;
//! assert_eq!(answer.decision(), Decision::Safe);
//! # Ok::<(), cusp::embed::InputError>(())
//! ```

use std::fmt;
use std::time::Duration;

use crate::budget::{Budget, Limits};
use crate::certify::Certified;
use crate::check::{self, Checked, ThreadLimit};
use crate::cover::{self, Covered, Format, Input};
use crate::diagnostic::{Diagnostic, Findings};
use crate::evidence::Verdict;
use crate::pipeline::table::Choice;
use crate::pipeline::{self, Setup};
use crate::progress::{Progress, Quiet};
use crate::report::nets::{self, NetSubject};
use crate::report::{self, Subject, View, diagnostics};
use crate::source::Source;
use crate::syntax::ast::Dialect;

/// Decides whether an assertion of a program can fail, without limits on time or memory.
///
/// # Errors
/// If the text is not a program.
pub fn check_str(program: &str) -> Result<Answer, InputError> {
    Checker::new().check_str(program)
}

/// What is asked, who decides, and what that may cost. Every method changes one of these and returns the rest as it was.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    program: check::Options,
    net_engine: Choice<crate::net::Net>,
    limits: Limits,
}

impl Checker {
    /// All assertions, any number of threads, the portfolio of engines, no limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks whether this label can be reached, instead of whether an assertion can fail.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.program.label = Some(label.to_owned());
        self
    }

    /// At most this many threads live at once.
    #[must_use]
    pub fn threads(mut self, most: u32) -> Self {
        self.program.threads = ThreadLimit::AtMost(most);
        self
    }

    /// Whether `main` is run by as many threads as there may be.
    #[must_use]
    pub fn replicate(mut self, replicate: bool) -> Self {
        self.program.replicate = replicate;
        self
    }

    /// How programs are read.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.program.dialect = dialect;
        self
    }

    /// Uses this engine, by its name in [`crate::pipeline::table`]; for programs, for nets, or for both if both have an
    /// engine of this name. `None` if there is no such engine.
    #[must_use]
    pub fn engine(mut self, name: &str) -> Option<Self> {
        let (for_programs, for_nets) = (Choice::named(name), Choice::named(name));
        if for_programs.is_none() && for_nets.is_none() {
            return None;
        }
        self.program.setup.engine = for_programs.unwrap_or(self.program.setup.engine);
        self.net_engine = for_nets.unwrap_or(self.net_engine);
        Some(self)
    }

    /// Gives up after this time.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.limits.time = Some(time);
        self
    }

    /// Gives up when the whole process uses more bytes of memory than this.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// Decides a program.
    ///
    /// # Errors
    /// If the text is not a program, or has no such label.
    pub fn check_str(&self, program: &str) -> Result<Answer, InputError> {
        self.check_with_progress(program, &Quiet)
    }

    /// Decides a program, and says meanwhile what is being done.
    ///
    /// # Errors
    /// If the text is not a program, or has no such label.
    pub fn check_with_progress(&self, program: &str, progress: &dyn Progress) -> Result<Answer, InputError> {
        let source = Source::new("<text>", program);
        let (budget, _watch) = Budget::start(self.limits);
        match check::check(&source, &self.program, &budget, progress) {
            Ok(Checked { prepared, answer }) => {
                let pipeline::Answer { result, engine, by_chance, .. } = answer;
                Ok(Answer::new(engine, result, |certified| {
                    let task = &prepared.task;
                    let subject = Subject { source: &source, task, certified, engine, by_chance };
                    report::text(&subject, View::default())
                }))
            }
            Err(findings) => Err(InputError::new(&source, &findings)),
        }
    }

    /// Decides whether a target of a net can be covered.
    ///
    /// # Errors
    /// If the text is not a net. Thread transition systems need a target, which this interface does not take: see
    /// [`crate::cover`].
    pub fn cover_str(&self, net: &str, format: Format) -> Result<Answer, InputError> {
        let input = Input { source: Source::new("<text>", net), format, property: None };
        let setup = Setup { engine: self.net_engine, ..Setup::default() };
        let options = cover::Options { setup, ..cover::Options::default() };
        let (budget, _watch) = Budget::start(self.limits);
        match cover::cover(&input, &options, &budget, &Quiet) {
            Ok(Covered { prepared, answer }) => {
                let pipeline::Answer { result, engine, by_chance, .. } = answer;
                Ok(Answer::new(engine, result, |certified| {
                    let (source, net) = (&input.source, &prepared.net);
                    let subject = NetSubject { source, property: None, net, certified, engine, by_chance };
                    nets::text(&subject, View::default())
                }))
            }
            Err(findings) => {
                let all = findings.into_iter().flat_map(|Findings { diagnostics, .. }| diagnostics);
                Err(InputError::new(&input.source, &all.collect::<Vec<_>>()))
            }
        }
    }
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing can go wrong; a certificate was checked.
    Safe,
    /// Something can go wrong; a run was replayed.
    Unsafe,
    /// Neither is known.
    Unknown,
}

/// A certified answer.
#[derive(Clone, Debug)]
pub struct Answer {
    decision: Decision,
    engine: &'static str,
    text: String,
}

impl Answer {
    fn new<Proof, Run>(
        engine: &'static str,
        result: Result<Certified<Proof, Run>, crate::certify::Rejection>,
        text: impl FnOnce(&Certified<Proof, Run>) -> String,
    ) -> Self {
        match result {
            Ok(certified) => {
                let decision = match certified.verdict() {
                    Verdict::Safe(_) => Decision::Safe,
                    Verdict::Unsafe(_) => Decision::Unsafe,
                    Verdict::Unknown(_) => Decision::Unknown,
                };
                Self { decision, engine, text: text(&certified) }
            }
            Err(rejection) => {
                let text = format!("UNKNOWN  the evidence was rejected, a bug in Cusp: {rejection}\n");
                Self { decision: Decision::Unknown, engine, text }
            }
        }
    }

    /// The answer in one word.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The engine that found it.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// What `cusp` would print: the verdict, and the run that shows it or the reason why there is none.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A text that is neither a program nor a net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// What is wrong, with positions in the text.
    pub diagnostics: Vec<Diagnostic>,
    text: String,
}

impl InputError {
    fn new(source: &Source, found: &[Diagnostic]) -> Self {
        Self { diagnostics: found.to_vec(), text: diagnostics::findings(source, found, false) }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl std::error::Error for InputError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_program_is_an_error_that_says_where() {
        let error = check_str("void main() begin x := T; end").expect_err("`x` is not declared");
        assert_eq!(error.diagnostics.len(), 1);
        assert!(error.to_string().contains("<text>:1:19"), "{error}");
    }

    #[test]
    fn engines_are_found_by_name() {
        assert!(Checker::new().engine("no-such-engine").is_none());
        let program = "void main() begin assert(*); end";
        for name in ["bmc", "summaries"] {
            let answer =
                Checker::new().engine(name).expect("an engine").check_str(program).expect("a program");
            assert_eq!((answer.decision(), answer.engine()), (Decision::Unsafe, name));
        }
    }

    #[test]
    fn a_spent_limit_is_unknown() {
        let parity =
            "decl a, b, c; void main() begin while (*) do a, b, c := b, c, !a; od assert(a | !a); end";
        let answer = Checker::new().timeout(Duration::ZERO).check_str(parity).expect("a program");
        // A run this short may end before anybody looks at the clock.
        assert_ne!(answer.decision(), Decision::Unsafe);
    }
}
