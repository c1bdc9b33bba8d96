//! Initial states and targets, in the notation of the command line and of `.prop` files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, has_errors};
use crate::net::Range;
use crate::source::{Source, Span};

/// The initial state of a system: `0|0` is shared state 0 with one thread in local state 0, `0/0` has arbitrarily
/// many threads there, and `0|3,4/1` has one in 3, one in 4, and arbitrarily many in 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialState {
    /// The shared state.
    pub shared: u32,
    /// The number of threads in each local state that are certainly there.
    pub threads: BTreeMap<u32, u64>,
    /// The local states that hold any number of further threads.
    pub unbounded: BTreeSet<u32>,
}

impl Default for InitialState {
    /// `0/0`.
    fn default() -> Self {
        Self { shared: 0, threads: BTreeMap::new(), unbounded: BTreeSet::from([0]) }
    }
}

impl InitialState {
    /// How many threads may be in each local state.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, Range)> + '_ {
        let locals: BTreeSet<u32> = self.locals().collect();
        locals.into_iter().map(|local| {
            let n = self.threads.get(&local).copied().unwrap_or(0);
            let range = if self.unbounded.contains(&local) { Range::at_least(n) } else { Range::exactly(n) };
            (local, range)
        })
    }

    /// The local states that are mentioned.
    pub fn locals(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.keys().chain(&self.unbounded).copied()
    }
}

impl FromStr for InitialState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "an initial state is `0|1` (one thread in local state 1), `0/1` (any number there), or both: `0|1/2`"
                .to_owned()
        };
        let split = text.find(['|', '/']).ok_or_else(wrong)?;
        let shared = text[..split].trim().parse().map_err(|_| wrong())?;
        let rest = &text[split..];
        let (fixed, unbounded) = match rest.strip_prefix('|') {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", rest.strip_prefix('/').unwrap_or_default()),
        };
        let threads = locals(fixed).ok_or_else(wrong)?;
        let unbounded = locals(unbounded).ok_or_else(wrong)?.into_keys().collect();
        Ok(Self { shared, threads, unbounded })
    }
}

impl fmt::Display for InitialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shared)?;
        if !self.threads.is_empty() || self.unbounded.is_empty() {
            write!(f, "|{}", list(&self.threads))?;
        }
        if !self.unbounded.is_empty() {
            let locals: Vec<String> = self.unbounded.iter().map(u32::to_string).collect();
            write!(f, "/{}", locals.join(","))?;
        }
        Ok(())
    }
}

/// A target: a shared state, and the least number of threads in local states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetState {
    /// The shared state.
    pub shared: u32,
    /// The least number of threads in each local state.
    pub threads: BTreeMap<u32, u64>,
    /// The place of the target in a `.prop` file; empty if it comes from elsewhere.
    pub span: Span,
}

impl FromStr for TargetState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "a target is a shared state and a list of local states, such as `2|11,11` or `2|`".to_owned();
        let (shared, threads) = text.split_once('|').ok_or_else(wrong)?;
        let shared = shared.trim().parse().map_err(|_| wrong())?;
        Ok(Self { shared, threads: locals(threads).ok_or_else(wrong)?, span: Span::default() })
    }
}

impl fmt::Display for TargetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.shared, list(&self.threads))
    }
}

/// Reads a list of local states with repetitions, which may be empty.
fn locals(text: &str) -> Option<BTreeMap<u32, u64>> {
    let mut threads = BTreeMap::new();
    if text.trim().is_empty() {
        return Some(threads);
    }
    for word in text.split(',') {
        *threads.entry(word.trim().parse().ok()?).or_insert(0) += 1;
    }
    Some(threads)
}

fn list(threads: &BTreeMap<u32, u64>) -> String {
    let repeated = threads.iter().flat_map(|(local, &n)| std::iter::repeat_n(local.to_string(), n as usize));
    repeated.collect::<Vec<_>>().join(",")
}

/// Reads a `.prop` file: one target on each line, none of which must be covered.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse_property(source: &Source) -> Result<Vec<TargetState>, Vec<Diagnostic>> {
    let mut targets = Vec::new();
    let mut findings = Vec::new();
    let mut at = 0;
    for line in source.text().split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.split('#').next().unwrap_or_default();
        let word = content.trim_matches(|c: char| c.is_whitespace() || c == '\u{1a}');
        if word.is_empty() {
            continue;
        }
        let begin = start + content.find(word).unwrap_or(0);
        let span = Span::new(begin, begin + word.len());
        match word.parse::<TargetState>() {
            Ok(target) => targets.push(TargetState { span, ..target }),
            Err(message) => findings.push(Diagnostic::error(span, message)),
        }
    }
    if targets.is_empty() && findings.is_empty() {
        findings.push(Diagnostic::error(Span::default(), "there is no target"));
    }
    if has_errors(&findings) { Err(findings) } else { Ok(targets) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_and_written() {
        for text in ["0|0", "0/0", "0|1/2", "0|3,4/1", "7|", "0|0/0", "0|2,2/1,5"] {
            assert_eq!(text.parse::<InitialState>().expect("a state").to_string(), text);
        }
        for text in ["2|11,11", "2|", "0|1,2,2"] {
            assert_eq!(text.parse::<TargetState>().expect("a target").to_string(), text);
        }
        assert_eq!(InitialState::default().to_string(), "0/0");
        for wrong in ["", "0", "|", "0|x", "0/1|2", "0|1,", "-1|0", "0|0|0", "4294967296|0"] {
            assert!(wrong.parse::<InitialState>().is_err(), "{wrong}");
            assert!(wrong.parse::<TargetState>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_thread_may_be_certain_and_others_may_join_it() {
        let state: InitialState = "0|1,1/1,2".parse().expect("a state");
        let ranges: Vec<(u32, Range)> = state.ranges().collect();
        assert_eq!(ranges, [(1, Range::at_least(2)), (2, Range::at_least(0))]);
    }
}
