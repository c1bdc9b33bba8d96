//! All runs of a procedure with its calls, by a table of entries and results.
//!
//! For every (procedure, values at its entry) that occurs, the table has the states that its body reaches and
//! the results that it returns. A call waits at the entry that it makes for all results, those that are known and
//! those that are still to come. It is finished when nothing new comes; recursion needs no stack.

use std::collections::{HashMap, HashSet};

use cusp::syntax::ast::StmtId;

use super::statement::{Data, Outcome, after_call, entries, first_entries, is_enforced, outcomes};
use super::text::{Place, Text};
use super::{Bits, Question, Stop};

/// A procedure and the values of globals and locals at its entry.
type Entry = (usize, Bits, Bits);
/// A place in the body of an entry, with the values there.
type State = (Entry, Place, Bits, Bits);

/// The table, which grows.
pub struct Table<'a> {
    text: &'a Text<'a>,
    question: &'a Question,
    seen: HashSet<State>,
    open: Vec<State>,
    /// Globals and return values with which an entry returns.
    results: HashMap<Entry, HashSet<(Bits, Bits)>>,
    /// The calls that wait for an entry: the caller, the call, the caller's locals.
    waiting: HashMap<Entry, HashSet<(Entry, StmtId, Bits)>>,
}

impl<'a> Table<'a> {
    pub fn new(text: &'a Text<'a>, question: &'a Question) -> Self {
        let (results, waiting) = (HashMap::new(), HashMap::new());
        Self { text, question, seen: HashSet::new(), open: Vec::new(), results, waiting }
    }

    /// Runs a procedure with arbitrary locals; gives the globals with which it can return.
    pub fn run(mut self, proc: usize, globals: Bits) -> Result<Vec<Bits>, Stop> {
        let entries: Vec<Entry> = first_entries(self.text, proc, globals)
            .into_iter()
            .map(|locals| (proc, globals, locals))
            .collect();
        for &(proc, globals, locals) in &entries {
            self.add(((proc, globals, locals), Place::Entry, globals, locals))?;
        }
        while let Some(state) = self.open.pop() {
            self.expand(state)?;
        }
        let results = entries.iter().filter_map(|entry| self.results.get(entry)).flatten();
        Ok(results.map(|&(globals, _)| globals).collect())
    }

    fn add(&mut self, state: State) -> Result<(), Stop> {
        let (_, place, ..) = state;
        if self.question.label.as_ref().is_some_and(|label| self.text.is_at_label(place, label)) {
            return Err(Stop::Violation);
        }
        if self.seen.insert(state) {
            self.open.push(state);
        }
        if self.seen.len() > self.question.states { Err(Stop::TooMuch) } else { Ok(()) }
    }

    fn expand(&mut self, (entry, place, globals, locals): State) -> Result<(), Stop> {
        if let Place::Returned(values) = place {
            return self.returns(entry, globals, values);
        }
        let data = Data { globals, locals, others: Vec::new() };
        for outcome in outcomes(self.text, entry.0, place, &data) {
            match outcome {
                Outcome::Fails if self.question.label.is_none() => return Err(Stop::Violation),
                // Nothing holds anybody else up.
                Outcome::Section { to, .. } => self.go(entry, to, &data)?,
                Outcome::On { to, data, .. } => self.go(entry, to, &data)?,
                Outcome::Fails | Outcome::EndThread => {}
                Outcome::Enter { new_thread: false, callee, args, .. } => {
                    let Place::At { stmt, .. } = place else { unreachable!("a call is a statement") };
                    for inner in entries(self.text, callee, &args, globals) {
                        let callee = (callee, globals, inner);
                        self.waiting.entry(callee).or_default().insert((entry, stmt, locals));
                        let known: Vec<_> =
                            self.results.get(&callee).into_iter().flatten().copied().collect();
                        for (globals, values) in known {
                            self.go_on((entry, stmt, locals), globals, values)?;
                        }
                        self.add((callee, Place::Entry, globals, inner))?;
                    }
                }
                Outcome::Enter { new_thread: true, .. } | Outcome::Fork { .. } => {
                    unreachable!("a sequential program starts no threads")
                }
            }
        }
        Ok(())
    }

    /// Control comes to a place in the body of an entry, if `enforce` allows it.
    fn go(&mut self, entry: Entry, to: Place, data: &Data) -> Result<(), Stop> {
        if is_enforced(self.text, entry.0, data.globals, data.locals) {
            self.add((entry, to, data.globals, data.locals))?;
        }
        Ok(())
    }

    fn returns(&mut self, entry: Entry, globals: Bits, values: Bits) -> Result<(), Stop> {
        if self.results.entry(entry).or_default().insert((globals, values)) {
            let waiting: Vec<_> = self.waiting.get(&entry).into_iter().flatten().copied().collect();
            for call in waiting {
                self.go_on(call, globals, values)?;
            }
        }
        Ok(())
    }

    /// A call goes on with a result.
    fn go_on(
        &mut self,
        (entry, stmt, locals): (Entry, StmtId, Bits),
        globals: Bits,
        values: Bits,
    ) -> Result<(), Stop> {
        let data = Data { globals, locals, others: Vec::new() };
        let data = after_call(self.text, entry.0, stmt, data, values);
        self.go(entry, self.text.behind(stmt), &data)
    }
}
