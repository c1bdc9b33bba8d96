//! Reads evidence from text.
//!
//! Every line is read by itself. Its first word and the kind of evidence, which the second line of the file
//! names, decide what it means.

use std::str::SplitAsciiWhitespace;
use std::sync::Arc;

use super::words::{Values, Word};
use super::{Evidence, HEADER, ReadError, threads};
use crate::evidence::trace::{
    CallTree, End, Frame, Interleaving, Move, Run, State, Step, System, Thread, ThreadStep, Valuation,
    Violation,
};
use crate::evidence::{
    BlockCopy, Certificate, Formulas, Gate, KInductive, Literal, PathEdge, Place, Relation, Relations, Site,
    SystemState, ThreadFrame, Trace, Unrolling, Witness,
};
use crate::model::{EdgeId, Node, ProcId};

/// The largest number of gates in one file. There is a limit because literals have 32 bits.
const MOST_GATES: usize = 1 << 31;

/// Reads evidence.
///
/// # Errors
/// The first line that cannot be read, and the reason.
pub fn read(text: &[u8]) -> Result<Evidence, ReadError> {
    read_unless(text, &|| false)
}

/// Like [`read`], but ends when `stop` says so.
///
/// # Errors
/// The same, and if `stop` ended it.
pub fn read_unless(text: &[u8], stop: &dyn Fn() -> bool) -> Result<Evidence, ReadError> {
    let mut lines = Lines { rest: text, number: 0, stop };
    let Some(header) = lines.next()? else { return lines.fail("the file is empty") };
    if header.split_ascii_whitespace().ne(HEADER.split_ascii_whitespace()) {
        return lines.fail(format!("the first line should be `{HEADER}`"));
    }
    let Some(kind) = lines.next()? else { return lines.fail("the kind of evidence is missing") };
    let kind: Vec<&str> = kind.split_ascii_whitespace().collect();
    match kind[..] {
        ["certificate", "no-violation-in-reach"] => {
            lines.all(|line| line.unexpected())?;
            Ok(Evidence::Certificate(Certificate::NoViolationInReach))
        }
        ["certificate", "path-edges"] => path_edges(&mut lines),
        ["certificate", "system-states"] => system_states(&mut lines),
        ["certificate", "relations"] => relations(&mut lines),
        ["certificate", "k-inductive"] => k_inductive(&mut lines),
        ["certificate", "unrolling"] => unrolling(&mut lines),
        ["certificate", "thread-states"] => threads::states(&mut lines),
        ["certificate", "thread-clauses"] => threads::clauses(&mut lines),
        ["certificate", "thread-formulas"] => threads::formulas(&mut lines),
        ["certificate", "thread-induction"] => threads::induction(&mut lines),
        ["trace", "sequential"] => call_tree(&mut lines),
        ["trace", "interleaved"] => interleaving(&mut lines),
        _ => lines.fail("the kind of evidence is unknown"),
    }
}

/// The lines of a file, without comments and empty lines.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
    /// Whether to end early.
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Lines<'a> {
    /// How many lines are read before it is asked again whether to stop.
    const ASK_AFTER: usize = 1 << 12;

    /// The next line that is not empty, without its comment.
    fn next(&mut self) -> Result<Option<&'a str>, ReadError> {
        while !self.rest.is_empty() {
            self.number += 1;
            if self.number.is_multiple_of(Self::ASK_AFTER) && (self.stop)() {
                return self.fail("there is no time or memory left to read it");
            }
            let end = self.rest.iter().position(|&byte| byte == b'\n');
            let (line, rest) = match end {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &[][..]),
            };
            self.rest = rest;
            let content = line.split(|&byte| byte == b'#').next().unwrap_or_default();
            let Ok(content) = std::str::from_utf8(content) else { return self.fail("it is not text") };
            if !content.trim_ascii().is_empty() {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    /// Reads all lines up to `end`, which has to be the last one.
    pub fn all(
        &mut self,
        mut read: impl FnMut(&mut Line<'a>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        while let Some(text) = self.next()? {
            let mut words = text.split_ascii_whitespace();
            let first = words.next().unwrap_or_default();
            let mut line = Line { first, words, number: self.number };
            if first == "end" {
                line.end()?;
                return match self.next()? {
                    Some(_) => self.fail("there is more text after `end`"),
                    None => Ok(()),
                };
            }
            read(&mut line)?;
            line.end()?;
        }
        self.number += 1;
        self.fail("the file has no `end`")
    }

    pub(super) fn fail<T>(&self, reason: impl Into<String>) -> Result<T, ReadError> {
        Err(ReadError { line: self.number.max(1), reason: reason.into() })
    }
}

/// One line.
pub(super) struct Line<'a> {
    pub first: &'a str,
    pub words: SplitAsciiWhitespace<'a>,
    number: usize,
}

impl Line<'_> {
    /// The next word, which has to be there, read as a value of this type.
    pub fn word<W: Word>(&mut self) -> Result<W, ReadError> {
        match self.words.next() {
            None => self.fail(format!("{} is missing", W::NAME)),
            Some(text) => self.parse(text),
        }
    }

    /// The next word, if there is one, read as a value of this type.
    pub fn word_or_end<W: Word>(&mut self) -> Result<Option<W>, ReadError> {
        self.words.next().map(|text| self.parse(text)).transpose()
    }

    pub fn parse<W: Word>(&self, text: &str) -> Result<W, ReadError> {
        W::parse(text).map_or_else(|| self.fail(format!("`{}` is not {}", clip(text), W::NAME)), Ok)
    }

    /// Reads the next word, which has to be `keyword`.
    pub fn keyword(&mut self, keyword: &str) -> Result<(), ReadError> {
        match self.words.next() {
            Some(word) if word == keyword => Ok(()),
            Some(word) => self.fail(format!("`{}` should be `{keyword}`", clip(word))),
            None => self.fail(format!("`{keyword}` is missing")),
        }
    }

    fn end(&mut self) -> Result<(), ReadError> {
        match self.words.next() {
            Some(word) => self.fail(format!("unexpected word `{}` at the end of the line", clip(word))),
            None => Ok(()),
        }
    }

    pub fn unexpected<T>(&self) -> Result<T, ReadError> {
        self.fail(format!("`{}` is not expected here", clip(self.first)))
    }

    pub fn fail<T>(&self, reason: impl Into<String>) -> Result<T, ReadError> {
        Err(ReadError { line: self.number, reason: reason.into() })
    }
}

/// A word, shortened so that it fits in a message.
fn clip(word: &str) -> String {
    let mut clipped: String = word.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    if clipped.len() < word.len() {
        clipped.push_str("..");
    }
    clipped
}

fn path_edges(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut edges = Vec::new();
    lines.all(|line| {
        if line.first != "edge" {
            return line.unexpected();
        }
        let (procedure, node) = (line.word()?, line.word()?);
        let (entry, now): (Values, Values) = (line.word()?, line.word()?);
        if entry.linked != now.linked {
            return line.fail("a variable has `=` in only one of the two states");
        }
        edges.push(PathEdge { procedure, node, entry: entry.cube, now: now.cube, linked: entry.linked });
        Ok(())
    })?;
    Ok(Evidence::Certificate(Certificate::PathEdges(edges)))
}

fn system_states(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut states: Vec<SystemState> = Vec::new();
    lines.all(|line| match (line.first, states.last_mut()) {
        ("state", _) => {
            let holder: Option<u32> = line.word()?;
            let globals = unlinked(line)?.cube;
            let holder = holder.map(|holder| holder as usize);
            states.push(SystemState { globals, threads: Vec::new(), holder });
            Ok(())
        }
        ("thread", Some(state)) => {
            let mut frames = Vec::new();
            while let Some(procedure) = line.word_or_end()? {
                frames.push(ThreadFrame { procedure, node: line.word()?, locals: unlinked(line)?.cube });
            }
            state.threads.push(frames);
            Ok(())
        }
        _ => line.unexpected(),
    })?;
    Ok(Evidence::Certificate(Certificate::SystemStates(states)))
}

fn unlinked(line: &mut Line<'_>) -> Result<Values, ReadError> {
    let values: Values = line.word()?;
    if values.linked == 0 { Ok(values) } else { line.fail("`=` is not allowed here") }
}

fn relations(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut certificate = Relations::default();
    lines.all(|line| match line.first {
        "relation" => {
            let relation = relation(line)?;
            certificate.relations.push(relation);
            Ok(())
        }
        "witness" => {
            let (obligation, relation) = (line.word()?, line.word()?);
            let mut values = Vec::new();
            while let Some(parameter) = line.word_or_end()? {
                values.push((parameter, line.word()?));
            }
            certificate.witnesses.push(Witness { obligation, relation, values });
            Ok(())
        }
        _ => gate(line, &mut certificate.formulas),
    })?;
    Ok(Evidence::Certificate(Certificate::Relations(certificate)))
}

/// Reads `g3 = and g1 !g2`, and so on.
pub(super) fn gate(line: &mut Line<'_>, formulas: &mut Formulas) -> Result<(), ReadError> {
    let Some(defined) =
        Literal::parse(line.first).filter(|literal| !literal.is_complemented() && literal.0 > 0)
    else {
        return line.unexpected();
    };
    let next = formulas.gates().len();
    if next >= MOST_GATES {
        return line.fail("there are too many formulas");
    }
    if defined.gate() != next {
        return line.fail(format!("the next formula has to be `g{next}`"));
    }
    line.keyword("=")?;
    let kind = line.words.next();
    let input = |line: &mut Line<'_>| -> Result<Literal, ReadError> {
        let literal: Literal = line.word()?;
        if literal.gate() < next {
            return Ok(literal);
        }
        line.fail("a formula can refer to earlier formulas only")
    };
    let gate = match kind {
        Some("true") => Gate::True,
        Some("parameter") => Gate::Parameter(line.word()?),
        Some("and") => Gate::And(input(line)?, input(line)?),
        Some("xor") => Gate::Xor(input(line)?, input(line)?),
        _ => return line.fail("a formula is `true`, `parameter`, `and` or `xor`"),
    };
    formulas.add(gate);
    Ok(())
}

/// Reads `relation p0 n3 if g7 entry g1 * now g1 *`.
fn relation(line: &mut Line<'_>) -> Result<Relation, ReadError> {
    let (procedure, place): (ProcId, Place) = (line.word()?, line.word()?);
    line.keyword("if")?;
    let guard = line.word()?;
    line.keyword("entry")?;
    let mut entry: Vec<Option<Literal>> = Vec::new();
    loop {
        match line.words.next() {
            Some("now") => break,
            Some(word) => entry.push(line.parse(word)?),
            None => return line.fail("`now` is missing"),
        }
    }
    let mut now = Vec::new();
    while let Some(literal) = line.word_or_end()? {
        now.push(literal);
    }
    Ok(Relation { procedure, place, guard, entry, now })
}

fn cut(line: &mut Line<'_>) -> Result<(ProcId, Node), ReadError> {
    Ok((line.word()?, line.word()?))
}

fn k_inductive(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut k = None;
    let mut cuts = Vec::new();
    lines.all(|line| match line.first {
        "k" if k.is_none() => {
            k = Some(line.word()?);
            Ok(())
        }
        "cut" => {
            cuts.push(cut(line)?);
            Ok(())
        }
        _ => line.unexpected(),
    })?;
    match k {
        Some(k) => Ok(Evidence::Certificate(Certificate::KInductive(KInductive { cuts, k }))),
        None => lines.fail("`k` is missing"),
    }
}

fn unrolling(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut proof = Unrolling::default();
    lines.all(|line| match line.first {
        "cut" => {
            proof.cuts.push(cut(line)?);
            Ok(())
        }
        "copy" => {
            let parent = line.word()?;
            let site = match line.words.next() {
                Some("call") => Site::Call(line.word()?),
                Some("loop") => Site::Loop(line.word()?),
                _ => return line.fail("a copy is entered by a `call` or a `loop`"),
            };
            proof.copies.push(BlockCopy { parent, site });
            Ok(())
        }
        "different" => {
            proof.different.push((line.word()?, line.word()?));
            Ok(())
        }
        _ => line.unexpected(),
    })?;
    Ok(Evidence::Certificate(Certificate::Unrolling(proof)))
}

fn state(line: &mut Line<'_>) -> Result<State, ReadError> {
    let (globals, locals): (Valuation, Valuation) = (line.word()?, line.word()?);
    Ok(State { globals, locals })
}

fn call_tree(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut runs: Vec<Run> = Vec::new();
    // The run that has begun and has not ended yet.
    let mut open: Option<Run> = None;
    lines.all(|line| {
        let Some(run) = &mut open else {
            if line.first != "run" {
                return line.fail(format!("expected `run`, found `{}`", clip(line.first)));
            }
            let (procedure, entry) = (line.word()?, state(line)?);
            open = Some(Run { procedure, entry, steps: Vec::new(), end: End::Exit });
            return Ok(());
        };
        match line.first {
            "step" => run.steps.push(Step { edge: line.word()?, call: None, after: state(line)? }),
            "call" => {
                let (edge, callee) = (line.word()?, line.word()?);
                run.steps.push(Step { edge, call: Some(callee), after: state(line)? });
            }
            end => {
                run.end = match end {
                    "exit" => End::Exit,
                    "fails" => End::Violation(Violation::Assertion(line.word()?)),
                    "label" => End::Violation(Violation::Label),
                    "inside" => End::Inside { edge: line.word()?, run: line.word()? },
                    _ => return line.unexpected(),
                };
                runs.extend(open.take());
            }
        }
        Ok(())
    })?;
    if open.is_some() {
        return lines.fail("the end of the last run is missing");
    }
    Ok(Evidence::Trace(Trace::Sequential(CallTree { runs })))
}

fn interleaving(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut initial: Option<System> = None;
    let mut steps: Vec<ThreadStep> = Vec::new();
    // A step after which the state has not been read yet.
    let mut pending: Option<(u32, Move)> = None;
    let mut violation: Option<(u32, Violation)> = None;
    lines.all(|line| {
        if violation.is_some() {
            return line.unexpected();
        }
        match line.first {
            "system" => {
                let (holder, globals) = (line.word()?, line.word()?);
                let system = System { globals, threads: Vec::new(), holder };
                match (pending.take(), &initial) {
                    (Some((thread, action)), _) => steps.push(ThreadStep { thread, action, after: system }),
                    (None, None) => initial = Some(system),
                    (None, Some(_)) => return line.fail("a state has to follow a `step`"),
                }
            }
            "thread" if pending.is_none() => {
                let id = line.word()?;
                let mut frames = Vec::new();
                while let Some(procedure) = line.word_or_end()? {
                    frames.push(Frame { procedure, node: line.word()?, locals: line.word()? });
                }
                let (system, before) = match steps.as_mut_slice() {
                    [] => (initial.as_mut(), None),
                    [first] => (Some(&mut first.after), initial.as_ref()),
                    [.., before, last] => (Some(&mut last.after), Some(&before.after)),
                };
                let Some(system) = system else { return line.unexpected() };
                let frames = sharing(frames, before, id);
                system.threads.push(Thread { id, frames });
            }
            "step" if pending.is_none() && initial.is_some() => {
                let thread = line.word()?;
                let action = match line.words.next() {
                    Some("return") => Move::Return,
                    Some(word) => Move::Edge(line.parse::<EdgeId>(word)?),
                    None => return line.fail("an edge such as `a3`, or `return`, is missing"),
                };
                pending = Some((thread, action));
            }
            "violation" if pending.is_none() && initial.is_some() => {
                let thread = line.word()?;
                let how = match line.words.next() {
                    Some("label") => Violation::Label,
                    Some(word) => Violation::Assertion(line.parse(word)?),
                    None => return line.fail("an edge such as `a3`, or `label`, is missing"),
                };
                violation = Some((thread, how));
            }
            _ => return line.unexpected(),
        }
        Ok(())
    })?;
    match (initial, violation) {
        (Some(initial), Some((thread, violation))) => {
            Ok(Evidence::Trace(Trace::Interleaved(Interleaving { initial, steps, thread, violation })))
        }
        _ => lines.fail("the violation is missing"),
    }
}

/// The frames of a thread; those that are the same in the state before are shared with it.
fn sharing(frames: Vec<Frame>, before: Option<&System>, id: u32) -> Vec<Arc<Frame>> {
    // The states of a file need not be in order, or right: then nothing is shared.
    let before = before.and_then(|system| {
        let at = system.threads.binary_search_by_key(&id, |thread| thread.id).ok()?;
        Some(&system.threads[at].frames[..])
    });
    let before = before.unwrap_or(&[]);
    let shared = |(position, frame): (usize, Frame)| {
        let same = before.get(position).filter(|old| ***old == frame);
        same.map_or_else(|| Arc::new(frame), Arc::clone)
    };
    frames.into_iter().enumerate().map(shared).collect()
}
