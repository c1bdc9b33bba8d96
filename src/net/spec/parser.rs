//! Parses nets in the `.spec` format, and reports all errors at once.

use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, has_errors};
use crate::net::lexer::{Cursor, Token, TokenKind};
use crate::net::{Builder, Claim, Marking, Net, PlaceId, Range, Target};
use crate::source::{Source, Span};

use super::rule::{Bounds, RuleError, Sum, Update, compile};

/// The words that begin the sections, in their order.
const SECTIONS: [&str; 5] = ["vars", "rules", "init", "target", "invariants"];

/// Words that cannot be names.
const RESERVED: [&str; 7] = ["vars", "rules", "init", "target", "invariants", "true", "in"];

/// Reads a net; warnings come with it.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse(source: &Source) -> Result<(Net, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_unless(source, &|| false)
}

/// Like [`parse`], but ends when `stop` says so. The result is then only good for saying so.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse_unless(
    source: &Source,
    stop: &dyn Fn() -> bool,
) -> Result<(Net, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut parser =
        Parser { cursor: Cursor::new(source.text(), stop), builder: Builder::new(), declared: Vec::new() };
    parser.spec();
    let findings = parser.cursor.findings.into_sorted();
    if has_errors(&findings) { Err(findings) } else { Ok((parser.builder.finish(), findings)) }
}

/// Returned when the rest of an item cannot be read. The error was already reported.
struct Lost;

struct Parser<'a> {
    cursor: Cursor<'a>,
    builder: Builder,
    /// The place of each declaration in the source, and the declared name.
    declared: Vec<(Span, String)>,
}

impl Parser<'_> {
    fn spec(&mut self) {
        let mut next = 0;
        loop {
            if self.cursor.peek().kind == TokenKind::End {
                break;
            }
            let Some(found) = self.section_here() else {
                self.cursor.expected(&format!("`{}`", SECTIONS[next.min(SECTIONS.len() - 1)]));
                self.skip_to_section();
                continue;
            };
            let word = self.cursor.next();
            if found < next {
                let message = format!("`{}` is in the wrong place", SECTIONS[found]);
                let help = format!("the order is {}", SECTIONS.map(|s| format!("`{s}`")).join(", "));
                self.cursor.findings.push(Diagnostic::error(word.span, message).help(help));
            } else {
                for missing in &SECTIONS[next..found] {
                    let message = format!("`{missing}` is missing before `{}`", SECTIONS[found]);
                    self.cursor.findings.push(Diagnostic::error(word.span, message));
                }
                next = found + 1;
            }
            match SECTIONS[found] {
                "vars" => self.vars(),
                "rules" => self.rules(),
                "init" => self.init(word.span),
                "target" => self.targets(),
                _ => self.claims(),
            }
        }
        for missing in SECTIONS[..4].iter().skip(next) {
            let span = self.cursor.peek().span;
            let message = format!("`{missing}` is missing at the end of the file");
            self.cursor.findings.push(Diagnostic::error(span, message));
        }
    }

    /// The number of the section that begins at the next token, if one does.
    fn section_here(&self) -> Option<usize> {
        let token = self.cursor.peek();
        let word = self.cursor.word(token);
        SECTIONS.iter().position(|section| token.kind == TokenKind::Word && *section == word)
    }

    fn skip_to_section(&mut self) {
        while self.cursor.peek().kind != TokenKind::End && self.section_here().is_none() {
            self.cursor.next();
        }
    }

    fn at_end_of_section(&self) -> bool {
        self.cursor.peek().kind == TokenKind::End || self.section_here().is_some()
    }

    fn vars(&mut self) {
        while !self.at_end_of_section() {
            let token = self.cursor.peek();
            let name = self.cursor.word(token);
            if token.kind != TokenKind::Word || RESERVED.contains(&name) {
                self.cursor.expected("the name of a variable");
                self.cursor.next();
                continue;
            }
            self.cursor.next();
            if let Some(place) = self.builder.find(name) {
                let (first, _) = self.declared[place.index()];
                let error = Diagnostic::error(token.span, format!("variable `{name}` is declared twice"));
                self.cursor.findings.push(error.related(first, "first declared here"));
            } else {
                self.builder.counter(name);
                self.declared.push((token.span, name.to_owned()));
            }
        }
    }

    fn rules(&mut self) {
        while !self.at_end_of_section() {
            if self.rule().is_err() {
                while !self.at_end_of_section() && !self.cursor.accept(";") {
                    self.cursor.next();
                }
            }
        }
    }

    fn rule(&mut self) -> Result<(), Lost> {
        let start = self.cursor.peek().span;
        let mut guard = Bounds::default();
        loop {
            let token = self.cursor.peek();
            if token.kind == TokenKind::Word && self.cursor.word(token) == "true" {
                self.cursor.next();
            } else {
                self.atom(&mut guard)?;
            }
            if !self.cursor.accept(",") {
                break;
            }
        }
        if !self.cursor.accept("->") {
            self.cursor.expected("`,` or `->`");
            return Err(Lost);
        }
        let mut updates: Vec<(Update, Span)> = Vec::new();
        while !self.cursor.is_at(";") {
            let begin = self.cursor.peek().span;
            let place = self.name()?;
            for sign in ["'", "="] {
                if !self.cursor.accept(sign) {
                    self.cursor.expected(&format!("`{sign}`"));
                    return Err(Lost);
                }
            }
            let sum = self.sum()?;
            let span = begin.to(Span { start: begin.start, end: self.cursor.end_of_last() });
            if let Some(place) = place {
                if let Some((_, first)) = updates.iter().find(|(update, _)| update.place == place) {
                    let name = &self.declared[place.index()].1;
                    let error = Diagnostic::error(span, format!("`{name}` is updated twice in one rule"));
                    self.cursor.findings.push(error.related(*first, "first here"));
                } else {
                    updates.push((Update { place, sum }, span));
                }
            }
            if !self.cursor.accept(",") {
                break;
            }
        }
        if !self.cursor.accept(";") {
            self.cursor.expected("`,` or `;`");
            return Err(Lost);
        }
        let span = Span { start: start.start, end: self.cursor.end_of_last().saturating_sub(1) };
        self.add_rule(&guard, &updates, span);
        Ok(())
    }

    fn add_rule(&mut self, guard: &Bounds, updates: &[(Update, Span)], span: Span) {
        let plain: Vec<Update> = updates.iter().map(|(update, _)| update.clone()).collect();
        match compile(guard, &plain, span) {
            Ok(compiled) => {
                if compiled.transitions.is_empty() {
                    let warning = Diagnostic::warning(span, "this rule can never fire");
                    self.cursor.findings.push(warning.caret("its guard cannot hold"));
                } else if let Some((place, n)) = compiled.raised {
                    let name = &self.declared[place.index()].1;
                    let message = "this rule subtracts more than its guard promises";
                    let help = if compiled.split {
                        "it fires only where no variable goes below zero".to_owned()
                    } else {
                        format!("it is read as if its guard had `{name} >= {n}`")
                    };
                    self.cursor.findings.push(Diagnostic::warning(span, message).help(help));
                }
                for transition in compiled.transitions {
                    self.builder.transition(transition);
                }
            }
            Err(RuleError::TooLarge) => {
                self.cursor
                    .findings
                    .push(Diagnostic::error(span, "numbers of this rule do not fit into 64 bits"));
            }
            Err(RuleError::TooManyWays) => {
                let message = "this rule subtracts much more than its guard promises, from several variables";
                let help = "add the lower bounds to its guard";
                self.cursor.findings.push(Diagnostic::error(span, message).help(help));
            }
        }
    }

    /// The right side of an update.
    fn sum(&mut self) -> Result<Sum, Lost> {
        let mut sum = Sum::default();
        if let TokenKind::Number(n) = self.cursor.peek().kind {
            self.cursor.next();
            sum.constant = i128::from(n);
            return Ok(sum);
        }
        sum.sources.extend(self.name()?);
        loop {
            let negative = self.cursor.is_at("-");
            if !negative && !self.cursor.is_at("+") {
                return Ok(sum);
            }
            self.cursor.next();
            match self.cursor.peek().kind {
                TokenKind::Number(n) => {
                    self.cursor.next();
                    sum.constant = if negative { -i128::from(n) } else { i128::from(n) };
                    return Ok(sum);
                }
                TokenKind::Word if !negative => sum.sources.extend(self.name()?),
                _ => {
                    self.cursor.expected(if negative { "a number" } else { "a variable or a number" });
                    return Err(Lost);
                }
            }
        }
    }

    /// Reads the name of a place. An undeclared name is reported, and reading continues.
    fn name(&mut self) -> Result<Option<PlaceId>, Lost> {
        let token = self.cursor.peek();
        let name = self.cursor.word(token);
        if token.kind != TokenKind::Word || RESERVED.contains(&name) {
            self.cursor.expected("a variable");
            return Err(Lost);
        }
        self.cursor.next();
        let place = self.builder.find(name);
        if place.is_none() {
            let error = Diagnostic::error(token.span, format!("variable `{name}` is not declared"));
            let near = nearest(name, self.declared.iter().map(|(_, name)| name));
            let help = near.map(|near| format!("did you mean `{near}`?"));
            self.cursor.findings.push(match help {
                Some(help) => error.help(help),
                None => error,
            });
        }
        Ok(place)
    }

    fn number(&mut self) -> Result<u64, Lost> {
        if let TokenKind::Number(n) = self.cursor.peek().kind {
            self.cursor.next();
            return Ok(n);
        }
        self.cursor.expected("a number");
        Err(Lost)
    }

    /// Reads `x = n`, `x >= n` or `x in [n, m]`.
    fn atom(&mut self, bounds: &mut Bounds) -> Result<(), Lost> {
        let place = self.name()?;
        let token = self.cursor.peek();
        let (least, most) = if self.cursor.accept(">=") {
            (self.number()?, None)
        } else if self.cursor.accept("=") {
            let n = self.number()?;
            (n, Some(n))
        } else if token.kind == TokenKind::Word && self.cursor.word(token) == "in" {
            self.cursor.next();
            self.interval()?
        } else {
            self.cursor.expected("`=`, `>=` or `in`");
            return Err(Lost);
        };
        if let Some(place) = place {
            bounds.add(place, least, most);
        }
        Ok(())
    }

    fn interval(&mut self) -> Result<(u64, Option<u64>), Lost> {
        let mut ends = [0; 2];
        for (i, sign) in ["[", ","].into_iter().enumerate() {
            if !self.cursor.accept(sign) {
                self.cursor.expected(&format!("`{sign}`"));
                return Err(Lost);
            }
            ends[i] = self.number()?;
        }
        if !self.cursor.accept("]") {
            self.cursor.expected("`]`");
            return Err(Lost);
        }
        Ok((ends[0], Some(ends[1])))
    }

    /// Reads a conjunction of atoms, and returns its span, too.
    fn conjunction(&mut self) -> Result<(Bounds, Span), Lost> {
        let start = self.cursor.peek().span;
        let mut bounds = Bounds::default();
        loop {
            self.atom(&mut bounds)?;
            if !self.cursor.accept(",") {
                return Ok((bounds, Span { start: start.start, end: self.cursor.end_of_last() }));
            }
        }
    }

    fn init(&mut self, word: Span) {
        let (bounds, span) = if self.at_end_of_section() {
            // The section is empty, so every place may have any value.
            (Bounds::default(), word)
        } else {
            let Ok(conjunction) = self.conjunction() else { return self.skip_to_section() };
            conjunction
        };
        if !self.at_end_of_section() {
            self.cursor.expected("`,` or `target`");
            self.skip_to_section();
        }
        if bounds.are_contradictory() {
            let message = "these conditions contradict each other, so there is no initial marking";
            self.cursor.findings.push(Diagnostic::error(span, message));
        }
        for place in (0..self.declared.len()).map(PlaceId::from_index) {
            let range = Range { least: bounds.least.get(place), most: bounds.most(place) };
            self.builder.initial(place, range);
        }
    }

    fn targets(&mut self) {
        if self.at_end_of_section() {
            self.cursor.expected("what must not be covered");
        }
        while !self.at_end_of_section() {
            let Ok((bounds, span)) = self.conjunction() else { return self.skip_to_section() };
            if bounds.are_contradictory() {
                let message = "these conditions contradict each other, so this target cannot be met";
                self.cursor.findings.push(Diagnostic::warning(span, message));
            } else {
                self.builder.target(Target { least: bounds.least, upper: bounds.upper, span });
            }
        }
    }

    fn claims(&mut self) {
        while !self.at_end_of_section() {
            let Ok(()) = self.claim() else { return self.skip_to_section() };
        }
    }

    fn claim(&mut self) -> Result<(), Lost> {
        let start: Token = self.cursor.peek();
        let mut weights = Marking::new();
        loop {
            let place = self.name()?;
            if !self.cursor.accept("=") {
                self.cursor.expected("`=`");
                return Err(Lost);
            }
            let weight = self.number()?;
            if let Some(place) = place {
                weights.set(place, weight);
            }
            if !self.cursor.accept(",") {
                break;
            }
        }
        let span = Span { start: start.span.start, end: self.cursor.end_of_last() };
        self.builder.claim(Claim { weights, span });
        Ok(())
    }
}
