//! Proofs about programs with threads as text.

use std::io::{self, Write};

use super::read::{Line, Lines, gate};
use super::words::{Shown, Word, show_option, show_valuation};
use super::write::gates;
use super::{Evidence, ReadError};
use crate::evidence::Certificate;
use crate::evidence::threads::{
    ControlState, ControlStates, Followed, ListedStates, ThreadAtCut, ThreadCube, ThreadInduction,
    ThreadInvariant, ThreadProof, UniversalClause,
};

/// The value of something that has a number: `3=1`.
struct Numbered(u32, bool);

impl Word for Numbered {
    const NAME: &'static str = "a value such as `3=0` or `3=1`";

    fn parse(text: &str) -> Option<Self> {
        let (number, value) = text.split_once('=')?;
        let value = match value {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        u32::parse(number).map(|number| Self(number, value))
    }
}

/// A proof without states.
fn empty(invariant: ThreadInvariant) -> ThreadProof {
    ThreadProof { ignored_globals: Vec::new(), ignored_locals: Vec::new(), cuts: Vec::new(), invariant }
}

/// Reads the lines that all proofs about threads have in common; says whether the line is one of them.
fn common(line: &mut Line<'_>, proof: &mut ThreadProof) -> Result<bool, ReadError> {
    match line.first {
        "ignored-global" => proof.ignored_globals.push(line.word()?),
        "ignored-local" => proof.ignored_locals.push((line.word()?, line.word()?)),
        "cut" => {
            let mut stack = Vec::new();
            while let Some(procedure) = line.word_or_end()? {
                stack.push((procedure, line.word()?));
            }
            proof.cuts.push(stack);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn all<W: Word>(line: &mut Line<'_>) -> Result<Vec<W>, ReadError> {
    let mut words = Vec::new();
    while let Some(word) = line.word_or_end()? {
        words.push(word);
    }
    Ok(words)
}

fn done(mut proof: ThreadProof, invariant: ThreadInvariant) -> Evidence {
    proof.invariant = invariant;
    Evidence::Certificate(Certificate::Threads(proof))
}

/// Reads a list of states.
pub(super) fn states(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut listed = ListedStates::default();
    let mut proof = empty(ThreadInvariant::Clauses(Vec::new()));
    lines.all(|line| {
        if common(line, &mut proof)? {
            listed.positions.resize(proof.cuts.len(), Vec::new());
            return Ok(());
        }
        match (line.first, listed.positions.last_mut()) {
            ("globals", _) => listed.globals = all(line)?,
            ("positions", Some(positions)) => *positions = all(line)?,
            ("shared", _) => listed.shared.push(line.word()?),
            ("thread", _) => {
                let cut = line.word()?;
                let holds = holds(line)?;
                listed.threads.push(ThreadAtCut { cut, holds, values: line.word()? });
            }
            ("state", _) => {
                let shared = line.word()?;
                listed.states.push(shared, all::<u32>(line)?);
            }
            ("followed", _) => {
                let (state, rank) = (line.word()?, line.word()?);
                listed.followed.push(Followed { state, threads: all::<u32>(line)?, rank });
            }
            _ => return line.unexpected(),
        }
        Ok(())
    })?;
    Ok(done(proof, ThreadInvariant::States(listed)))
}

/// Reads `holds` or `waits`.
fn holds(line: &mut Line<'_>) -> Result<bool, ReadError> {
    match line.words.next() {
        Some("holds") => Ok(true),
        Some("waits") => Ok(false),
        _ => line.fail("a thread `holds` the system, or it `waits`"),
    }
}

/// Reads clauses.
pub(super) fn clauses(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut clauses: Vec<UniversalClause> = Vec::new();
    let mut proof = empty(ThreadInvariant::Clauses(Vec::new()));
    lines.all(|line| if common(line, &mut proof)? { Ok(()) } else { clause(line, &mut clauses) })?;
    Ok(done(proof, ThreadInvariant::Clauses(clauses)))
}

/// Reads a line of a clause.
fn clause(line: &mut Line<'_>, clauses: &mut Vec<UniversalClause>) -> Result<(), ReadError> {
    match (line.first, clauses.last_mut()) {
        ("clause", _) => {
            let mut clause = UniversalClause::default();
            clause.held = values(line, ["held", "free"], &mut clause.globals)?;
            clauses.push(clause);
            Ok(())
        }
        ("thread", Some(clause)) => {
            let mut cube = ThreadCube::default();
            line.keyword("at")?;
            loop {
                match line.words.next() {
                    Some("with") => break,
                    Some(word) => cube.cuts.push(line.parse(word)?),
                    None => return line.fail("`with` is missing"),
                }
            }
            cube.holds = values(line, ["holds", "waits"], &mut cube.values)?;
            clause.threads.push(cube);
            Ok(())
        }
        _ => line.unexpected(),
    }
}

/// Reads a proof by induction.
pub(super) fn induction(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut k = None;
    let mut induction = ThreadInduction::default();
    let mut proof = empty(ThreadInvariant::Clauses(Vec::new()));
    lines.all(|line| {
        if common(line, &mut proof)? {
            induction.positions.resize(proof.cuts.len(), Vec::new());
            return Ok(());
        }
        match (line.first, induction.positions.last_mut()) {
            ("k", _) if k.is_none() => k = Some(line.word()?),
            ("positions", Some(positions)) => *positions = all(line)?,
            _ => return clause(line, &mut induction.facts),
        }
        Ok(())
    })?;
    let Some(k) = k else { return lines.fail("`k` is missing") };
    Ok(done(proof, ThreadInvariant::Induction(ThreadInduction { k, ..induction })))
}

/// Reads values up to the end of the line. One of two words may come first; says which.
fn values(
    line: &mut Line<'_>,
    [yes, no]: [&str; 2],
    values: &mut Vec<(u32, bool)>,
) -> Result<Option<bool>, ReadError> {
    let mut said = None;
    while let Some(word) = line.words.next() {
        match word {
            word if said.is_none() && values.is_empty() && (word == yes || word == no) => {
                said = Some(word == yes);
            }
            word => {
                let Numbered(number, value) = line.parse(word)?;
                values.push((number, value));
            }
        }
    }
    Ok(said)
}

/// Reads formulas.
pub(super) fn formulas(lines: &mut Lines<'_>) -> Result<Evidence, ReadError> {
    let mut sets = ControlStates::default();
    let mut proof = empty(ThreadInvariant::Clauses(Vec::new()));
    lines.all(|line| {
        if common(line, &mut proof)? {
            return Ok(());
        }
        if line.first != "set" {
            return gate(line, &mut sets.formulas);
        }
        let (holder, condition) = (line.word()?, line.word()?);
        if !sets.formulas.contains(condition) {
            return line.fail("a set can refer to earlier formulas only");
        }
        sets.sets.push(ControlState { holder, condition, cuts: all(line)? });
        Ok(())
    })?;
    Ok(done(proof, ThreadInvariant::Formulas(sets)))
}

/// Writes a proof.
pub(super) fn write(proof: &ThreadProof, output: &mut dyn Write) -> io::Result<()> {
    let kind = match &proof.invariant {
        ThreadInvariant::States(_) => "thread-states",
        ThreadInvariant::Clauses(_) => "thread-clauses",
        ThreadInvariant::Formulas(_) => "thread-formulas",
        ThreadInvariant::Induction(_) => "thread-induction",
    };
    let positions = match &proof.invariant {
        ThreadInvariant::States(listed) => &listed.positions[..],
        ThreadInvariant::Induction(induction) => &induction.positions,
        ThreadInvariant::Clauses(_) | ThreadInvariant::Formulas(_) => &[],
    };
    writeln!(output, "certificate {kind}")?;
    proof.ignored_globals.iter().try_for_each(|global| writeln!(output, "ignored-global {global}"))?;
    proof.ignored_locals.iter().try_for_each(|(id, local)| writeln!(output, "ignored-local {id} {local}"))?;
    for (number, cut) in proof.cuts.iter().enumerate() {
        write!(output, "cut")?;
        cut.iter().try_for_each(|(id, node)| write!(output, " {id} {node}"))?;
        writeln!(output)?;
        if let Some(positions) = positions.get(number).filter(|positions| !positions.is_empty()) {
            list("positions", positions, output)?;
        }
    }
    match &proof.invariant {
        ThreadInvariant::States(listed) => write_states(listed, output),
        ThreadInvariant::Clauses(clauses) => {
            clauses.iter().try_for_each(|clause| write_clause(clause, output))
        }
        ThreadInvariant::Induction(induction) => {
            writeln!(output, "k {}", induction.k)?;
            induction.facts.iter().try_for_each(|fact| write_clause(fact, output))
        }
        ThreadInvariant::Formulas(sets) => {
            gates(&sets.formulas, output)?;
            sets.sets.iter().try_for_each(|set| {
                write!(output, "set {} {}", show_option(set.holder), Shown(set.condition))?;
                list("", &set.cuts, output)
            })
        }
    }
}

/// Writes a line of numbers, after a word.
fn list(word: &str, numbers: &[u32], output: &mut dyn Write) -> io::Result<()> {
    write!(output, "{word}")?;
    numbers.iter().try_for_each(|number| write!(output, " {number}"))?;
    writeln!(output)
}

fn write_states(listed: &ListedStates, output: &mut dyn Write) -> io::Result<()> {
    list("globals", &listed.globals, output)?;
    listed.shared.iter().try_for_each(|shared| writeln!(output, "shared {}", show_valuation(shared)))?;
    for ThreadAtCut { cut, holds, values } in &listed.threads {
        let holds = if *holds { "holds" } else { "waits" };
        writeln!(output, "thread {cut} {holds} {}", show_valuation(values))?;
    }
    for (shared, threads) in listed.states.iter() {
        write!(output, "state {shared}")?;
        list("", threads, output)?;
    }
    for Followed { state, threads, rank } in &listed.followed {
        write!(output, "followed {state} {rank}")?;
        list("", threads, output)?;
    }
    Ok(())
}

fn write_clause(clause: &UniversalClause, output: &mut dyn Write) -> io::Result<()> {
    let rest = |said: Option<&str>, values: &[(u32, bool)], output: &mut dyn Write| {
        said.into_iter().try_for_each(|word| write!(output, " {word}"))?;
        values.iter().try_for_each(|&(number, value)| write!(output, " {number}={}", u8::from(value)))?;
        writeln!(output)
    };
    write!(output, "clause")?;
    rest(clause.held.map(|held| if held { "held" } else { "free" }), &clause.globals, output)?;
    for cube in &clause.threads {
        write!(output, "thread at")?;
        cube.cuts.iter().try_for_each(|cut| write!(output, " {cut}"))?;
        write!(output, " with")?;
        rest(cube.holds.map(|holds| if holds { "holds" } else { "waits" }), &cube.values, output)?;
    }
    Ok(())
}
