//! Parses systems of communicating machines, and reports all errors at once.

use rustc_hash::FxHashMap;

use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, has_errors};
use crate::net::Range;
use crate::net::lexer::{Cursor, TokenKind};
use crate::source::{Source, Span};

use super::{
    Channel, Condition, Edge, Event, Formula, Global, GlobalId, Label, LabelId, LocalState, Machine, System,
    Value,
};

/// The words that begin a top-level item.
const ITEMS: [&str; 3] = ["var", "machine", "target"];

/// Words that cannot be names.
const RESERVED: [&str; 8] = ["var", "machine", "target", "states", "when", "do", "T", "F"];

/// Reads a system; warnings come with it.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse(source: &Source) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_unless(source, &|| false)
}

/// Like [`parse`], but ends when `stop` says so. The result is then only good for saying so.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse_unless(
    source: &Source,
    stop: &dyn Fn() -> bool,
) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut parser = Parser {
        cursor: Cursor::new(source.text(), stop),
        system: System::default(),
        globals: FxHashMap::default(),
        machines: FxHashMap::default(),
        states: Vec::new(),
        labels: FxHashMap::default(),
        uses: Vec::new(),
    };
    parser.file();
    let unanswered = parser.unanswered();
    let mut findings = parser.cursor.findings.into_sorted();
    if has_errors(&findings) {
        return Err(findings);
    }
    findings.extend(unanswered);
    findings.sort_by_key(|finding| finding.span.start);
    Ok((parser.system, findings))
}

/// Returned when the rest of an item cannot be read. The error was already reported.
pub(super) struct Lost;

/// Names with what they denote and where they were declared.
type Names<'a, T> = FxHashMap<&'a str, (T, Span)>;

/// The places where an event name was first used, first sent, and first received.
struct Uses {
    first: Span,
    sent: Option<Span>,
    received: Option<Span>,
}

pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    system: System,
    globals: Names<'a, GlobalId>,
    machines: Names<'a, usize>,
    /// The states of each machine.
    states: Vec<Names<'a, usize>>,
    labels: FxHashMap<&'a str, LabelId>,
    /// The uses of each event name.
    uses: Vec<Uses>,
}

impl<'a> Parser<'a> {
    fn file(&mut self) {
        while self.cursor.peek().kind != TokenKind::End {
            let read = if self.accept_word("var") {
                self.variables()
            } else if self.accept_word("target") {
                self.target()
            } else if self.accept_word("machine") {
                // If the head of a machine is wrong, its body cannot be understood either.
                self.machine().map_err(|Lost| self.skip_to_item()).or(Ok(()))
            } else {
                self.cursor.expected("`var`, `machine` or `target`");
                self.skip_to_item();
                Ok(())
            };
            if read.is_err() {
                self.skip_statement();
            }
        }
    }

    fn is_at_word(&self, word: &str) -> bool {
        let token = self.cursor.peek();
        token.kind == TokenKind::Word && self.cursor.word(token) == word
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let here = self.is_at_word(word);
        if here {
            self.cursor.next();
        }
        here
    }

    /// Whether the next token begins an item or is the end of the file.
    fn is_at_item(&self) -> bool {
        self.cursor.peek().kind == TokenKind::End || ITEMS.iter().any(|word| self.is_at_word(word))
    }

    fn skip_to_item(&mut self) {
        while !self.is_at_item() {
            self.cursor.next();
        }
    }

    /// Continues after the next `;`, but stays within the machine.
    fn skip_statement(&mut self) {
        while !self.is_at_item() && !self.cursor.is_at("}") && !self.cursor.accept(";") {
            self.cursor.next();
        }
    }

    pub(super) fn expected(&mut self, what: &str) -> Lost {
        self.cursor.expected(what);
        Lost
    }

    fn expect(&mut self, sign: &str) -> Result<(), Lost> {
        if self.cursor.accept(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// The span from a start up to the last token.
    fn since(&self, start: Span) -> Span {
        Span { start: start.start, end: self.cursor.end_of_last() }
    }

    fn name(&mut self, what: &str) -> Result<(&'a str, Span), Lost> {
        let token = self.cursor.peek();
        let word = self.cursor.word(token);
        if token.kind != TokenKind::Word || RESERVED.contains(&word) {
            return Err(self.expected(what));
        }
        self.cursor.next();
        Ok((word, token.span))
    }

    fn number(&mut self, what: &str) -> Result<u64, Lost> {
        let TokenKind::Number(n) = self.cursor.peek().kind else { return Err(self.expected(what)) };
        self.cursor.next();
        Ok(n)
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.cursor.findings.push(Diagnostic::error(span, message));
    }

    fn declared_twice(&mut self, what: &str, name: &str, span: Span, first: Span) {
        let error = Diagnostic::error(span, format!("{what} `{name}` is declared twice"));
        self.cursor.findings.push(error.related(first, "first declared here"));
    }

    /// Reports a name that is not declared, and suggests the most similar declared one.
    fn unknown<'n>(
        &mut self,
        span: Span,
        name: &str,
        message: String,
        known: impl Iterator<Item = &'n String>,
    ) {
        let error = Diagnostic::error(span, message);
        let near = if self.cursor.findings.is_full() { None } else { nearest(name, known) };
        self.cursor.findings.push(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        });
    }

    fn variables(&mut self) -> Result<(), Lost> {
        loop {
            let (name, span) = self.name("the name of a variable")?;
            let mut initial = None;
            let has_value = self.cursor.accept(":=");
            if has_value {
                initial = if self.accept_word("T") {
                    Some(true)
                } else if self.accept_word("F") {
                    Some(false)
                } else if self.cursor.accept("*") {
                    None
                } else {
                    return Err(self.expected("`T`, `F` or `*`"));
                };
            }
            if let Some(&(_, first)) = self.globals.get(name) {
                self.declared_twice("variable", name, span, first);
            } else {
                let id = GlobalId::from_index(self.system.globals.len());
                self.globals.insert(name, (id, span));
                self.system.globals.push(Global { name: name.to_owned(), initial, span });
            }
            if self.cursor.accept(";") {
                return Ok(());
            }
            if !self.cursor.accept(",") {
                return Err(self.expected(if has_value { "`,` or `;`" } else { "`:=`, `,` or `;`" }));
            }
        }
    }

    /// Reads the name of a variable. A name that is not declared is reported, and reading continues.
    pub(super) fn global(&mut self, what: &str) -> Result<Option<GlobalId>, Lost> {
        let (name, span) = self.name(what)?;
        let known = self.globals.get(name).map(|&(id, _)| id);
        if known.is_none() {
            let globals = std::mem::take(&mut self.system.globals);
            let message = format!("variable `{name}` is not declared");
            self.unknown(span, name, message, globals.iter().map(|global| &global.name));
            self.system.globals = globals;
        }
        Ok(known)
    }

    fn machine(&mut self) -> Result<(), Lost> {
        let (name, span) = self.name("the name of a machine")?;
        let number = self.system.machines.len();
        if let Some(&(_, first)) = self.machines.get(name) {
            self.declared_twice("machine", name, span, first);
        } else {
            self.machines.insert(name, (number, span));
        }
        let (name, copies) = (name.to_owned(), Range::at_least(0));
        self.system.machines.push(Machine { name, copies, states: Vec::new(), edges: Vec::new() });
        self.states.push(FxHashMap::default());
        if self.cursor.is_at("[") {
            self.system.machines[number].copies = self.copies()?;
        }
        self.expect("{")?;
        if self.accept_word("states") {
            if self.local_states(number).is_err() {
                self.skip_statement();
            }
        } else {
            self.cursor.expected("`states`");
        }
        while !self.is_at_item() && !self.cursor.is_at("}") {
            if self.edge(number).is_err() {
                self.skip_statement();
            }
        }
        self.expect("}")
    }

    fn copies(&mut self) -> Result<Range, Lost> {
        let begin = self.cursor.next().span;
        let least = self.number("a number of copies")?;
        let most = match (self.cursor.accept(".."), self.cursor.peek().kind) {
            (false, _) => Some(least),
            (true, TokenKind::Number(most)) => {
                self.cursor.next();
                Some(most)
            }
            (true, _) => None,
        };
        self.expect("]")?;
        if let Some(most) = most.filter(|&most| most < least) {
            let span = self.since(begin);
            self.error(span, format!("no number of copies is at least {least} and at most {most}"));
        }
        Ok(Range { least, most })
    }

    fn local_states(&mut self, machine: usize) -> Result<(), Lost> {
        loop {
            let (name, span) = self.name("the name of a state")?;
            if let Some(&(_, first)) = self.states[machine].get(name) {
                self.declared_twice("state", name, span, first);
            } else {
                let states = &mut self.system.machines[machine].states;
                self.states[machine].insert(name, (states.len(), span));
                states.push(name.to_owned());
            }
            if self.cursor.accept(";") {
                return Ok(());
            }
            if !self.cursor.accept(",") {
                return Err(self.expected("`,` or `;`"));
            }
        }
    }

    /// Reads the name of a state of this machine. A name that is not declared is reported, and reading continues.
    fn local_state(&mut self, machine: usize) -> Result<Option<usize>, Lost> {
        let (name, span) = self.name("a state")?;
        let known = self.states[machine].get(name).map(|&(state, _)| state);
        if known.is_none() {
            let states = std::mem::take(&mut self.system.machines[machine].states);
            let message = format!("machine `{}` has no state `{name}`", self.system.machines[machine].name);
            self.unknown(span, name, message, states.iter());
            self.system.machines[machine].states = states;
        }
        Ok(known)
    }

    fn edge(&mut self, machine: usize) -> Result<(), Lost> {
        let begin = self.cursor.peek().span;
        let from = self.local_state(machine)?;
        self.expect("->")?;
        let to = self.local_state(machine)?;
        let mut what = "`:`, `when`, `do` or `;`";
        let mut event = None;
        if self.cursor.accept(":") {
            event = Some(self.event()?);
            what = "`when`, `do` or `;`";
        }
        let conditions = self.cursor.peek().span;
        let mut guard = Formula::truth();
        if self.accept_word("when") {
            guard = self.formula()?;
            what = "an operator, `do` or `;`";
        }
        let mut updates = Vec::new();
        if self.accept_word("do") {
            self.updates(&mut updates)?;
            what = "an operator, `,` or `;`";
        }
        let span = self.since(begin);
        if !self.cursor.accept(";") {
            return Err(self.expected(what));
        }
        if let Some(Event::Receive(label)) = event
            && span.end > conditions.start
        {
            let message = "an edge that receives has no condition and no updates";
            let help = format!("write them on the edge that sends `{}`", self.system.label(label).name);
            let error = Diagnostic::error(Span { end: span.end, ..conditions }, message);
            self.cursor.findings.push(error.help(help));
        }
        if let (Some(from), Some(to)) = (from, to) {
            let edge = Edge { from, to, event, guard, updates, span };
            self.system.machines[machine].edges.push(edge);
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event, Lost> {
        let (name, span) = self.name("the name of an event")?;
        let sent = Channel::ALL.into_iter().find(|channel| self.cursor.is_at(channel.send()));
        let received = Channel::ALL.into_iter().find(|channel| self.cursor.is_at(channel.receive()));
        let Some(channel) = sent.or(received) else {
            return Err(self.expected("`!`, `?`, `~!`, `~?`, `!!` or `??`"));
        };
        self.cursor.next();
        let span = self.since(span);
        let fresh = LabelId::from_index(self.system.labels.len());
        let label = *self.labels.entry(name).or_insert(fresh);
        if label == fresh {
            self.system.labels.push(Label { name: name.to_owned(), channel });
            self.uses.push(Uses { first: span, sent: None, received: None });
        }
        let Uses { first, sent: sent_at, received: received_at } = &mut self.uses[label.index()];
        if sent.is_some() {
            sent_at.get_or_insert(span)
        } else {
            received_at.get_or_insert(span)
        };
        let before = self.system.label(label).channel;
        if before != channel {
            let message = format!("`{name}` is {} here, and {} before", kind(channel), kind(before));
            let error = Diagnostic::error(span, message).related(*first, "first used here");
            self.cursor.findings.push(error);
        }
        Ok(if sent.is_some() { Event::Send(label) } else { Event::Receive(label) })
    }

    fn updates(&mut self, updates: &mut Vec<(GlobalId, Value)>) -> Result<(), Lost> {
        let mut spans: FxHashMap<GlobalId, Span> = FxHashMap::default();
        loop {
            let begin = self.cursor.peek().span;
            let global = self.global("a variable")?;
            self.expect(":=")?;
            let value = if self.cursor.accept("*") { Value::Any } else { Value::Of(self.formula()?) };
            let span = self.since(begin);
            if let Some(global) = global {
                if let Some(&first) = spans.get(&global) {
                    let name = &self.system.global(global).name;
                    let error = Diagnostic::error(span, format!("`{name}` is updated twice in one step"));
                    self.cursor.findings.push(error.related(first, "first here"));
                } else {
                    spans.insert(global, span);
                    updates.push((global, value));
                }
            }
            if !self.cursor.accept(",") {
                return Ok(());
            }
        }
    }

    fn target(&mut self) -> Result<(), Lost> {
        // The span includes the word itself, so that it is not empty for an empty condition.
        let begin = Span { start: self.cursor.end_of_last() - "target".len() as u32, end: 0 };
        let mut what = "a machine, `when` or `;`";
        let mut counts = Vec::new();
        if !self.cursor.is_at(";") && !self.is_at_word("when") {
            loop {
                counts.extend(self.count(what)?);
                what = "`>=`, `,`, `when` or `;`";
                if !self.cursor.accept(",") {
                    break;
                }
                what = "a machine";
            }
        }
        let mut guard = Formula::truth();
        if self.accept_word("when") {
            guard = self.formula()?;
            what = "an operator or `;`";
        }
        let span = self.since(begin);
        if !self.cursor.accept(";") {
            return Err(self.expected(what));
        }
        self.system.targets.push(Condition { counts, guard, span });
        Ok(())
    }

    fn count(&mut self, what: &str) -> Result<Option<(LocalState, u64)>, Lost> {
        let (name, span) = self.name(what)?;
        let machine = self.machines.get(name).map(|&(machine, _)| machine);
        self.expect(".")?;
        let state = if let Some(machine) = machine {
            self.local_state(machine)?
        } else {
            let machines = std::mem::take(&mut self.system.machines);
            let message = format!("machine `{name}` is not declared");
            self.unknown(span, name, message, machines.iter().map(|machine| &machine.name));
            self.system.machines = machines;
            self.name("a state")?;
            None
        };
        let n = if self.cursor.accept(">=") { self.number("a number of machines")? } else { 1 };
        Ok(machine.zip(state).map(|(machine, state)| (LocalState { machine, state }, n)))
    }

    /// Warnings about events that are only sent or only received.
    fn unanswered(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (label, uses) in self.system.labels.iter().zip(&self.uses) {
            let name = &label.name;
            match (uses.sent, uses.received) {
                (Some(span), None) if label.channel == Channel::RendezVous => {
                    let message = format!("`{name}` is never received, so it is never sent");
                    found.push(Diagnostic::warning(span, message));
                }
                (Some(span), None) => {
                    found.push(Diagnostic::warning(span, format!("`{name}` is never received")));
                }
                (None, Some(span)) => {
                    found.push(Diagnostic::warning(span, format!("`{name}` is never sent")));
                }
                _ => {}
            }
        }
        found
    }
}

fn kind(channel: Channel) -> &'static str {
    match channel {
        Channel::RendezVous => "a rendez-vous",
        Channel::Asynchronous => "an asynchronous rendez-vous",
        Channel::Broadcast => "a broadcast",
    }
}
