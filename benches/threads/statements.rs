//! The steps of a thread as statements of Promela.

use std::collections::BTreeMap;
use std::fmt::Write;

use cusp::model::{Expr, Place};
use cusp::threads::{Location, Step};

use super::super::expressions::{Value, and};
use super::{Writer, Written};

/// The effect of one step, and what it needs.
#[derive(Default)]
pub struct Effect {
    /// Must hold before.
    pub guard: String,
    /// Written in parallel.
    pub writes: Vec<Written>,
    /// Must hold after; in terms of the chosen values if there are choices.
    pub conditions: Vec<(Expr, Location)>,
    /// Comes between the computation of new values and their assignment.
    pub passive: Vec<String>,
    /// Comes last, and may choose.
    pub creation: String,
    /// What is written at the very end.
    pub last: Vec<String>,
}

impl Effect {
    /// The variables for choices that it may need: one for each write, if there is a choice.
    pub fn choices(&self) -> usize {
        let has_choice = self.writes.iter().any(|(_, value)| matches!(value, Value::Either { .. }));
        if has_choice { self.writes.len() } else { 0 }
    }

    /// Whether some right side reads a variable whose new value is chosen.
    fn reads_what_it_chooses(&self) -> bool {
        let chosen = |name: &str| {
            self.writes.iter().any(|(target, value)| target == name && matches!(value, Value::Either { .. }))
        };
        let texts = self.writes.iter().flat_map(|(_, value)| [value.can_hold(), value.can_fail()]);
        let texts: Vec<String> = texts.chain(self.passive.iter().cloned()).collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '[' || c == ']';
        texts.iter().any(|text| text.split(|c| !is_part(c)).any(chosen))
    }
}

impl Writer<'_> {
    /// The step as an alternative of a location: its own, or one from which a thread comes to it doing nothing.
    pub(super) fn option(&self, step: &Step, effect: &Effect, at: Location) -> String {
        let in_prologue = self.system.in_prologue(at);
        let to = match step.to {
            _ if in_prologue && step.to.is_none_or(|to| !self.system.in_prologue(to)) => "done".to_owned(),
            None => "idle".to_owned(),
            Some(to) => format!("L{}", self.target(to).index()),
        };
        // A thread whose values others see chooses them when it is created.
        let creates_visibly = !effect.creation.is_empty() && self.exposed.contains(&true);
        let chooses = effect.choices() > 0 || creates_visibly;
        // What is chosen is written at once if nothing reads the old value and nothing can go wrong afterwards.
        let (mut parts, mut resets) = (Vec::new(), Vec::new());
        let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
        let at_once = effect.conditions.is_empty() && !effect.reads_what_it_chooses();
        for (number, (name, value)) in effect.writes.iter().enumerate() {
            if let Value::Either { .. } = value {
                let choice =
                    if at_once || name.starts_with('c') { name.clone() } else { format!("c{number}") };
                parts.push(choose(&choice, value));
                if choice.starts_with('c') {
                    resets.push(format!("{choice} = 0"));
                }
                chosen.insert(name, choice);
            }
        }
        let mut guard = effect.guard.clone();
        for &(condition, location) in &effect.conditions {
            guard = and(&guard, &self.condition_between(condition, location, effect, &chosen));
        }
        let mut writes: Vec<(&str, String)> = Vec::new();
        for (name, value) in &effect.writes {
            match (value, chosen.get(name.as_str())) {
                (Value::Plain(text), _) => writes.push((name, text.clone())),
                (_, Some(choice)) if choice != name => writes.push((name, choice.clone())),
                _ => {}
            }
        }
        let mut body = Vec::new();
        if let ([(name, text)], []) = (&writes[..], &effect.passive[..]) {
            body.push(format!("{name} = {text}"));
        } else {
            body.extend(writes.iter().enumerate().map(|(i, (_, text))| format!("t{i} = {text}")));
            body.extend(effect.passive.iter().cloned());
            body.extend(writes.iter().enumerate().map(|(i, (name, _))| format!("{name} = t{i}")));
        }
        let mut last = resets.clone();
        last.extend(effect.last.iter().cloned());
        let creation = (!effect.creation.is_empty()).then(|| effect.creation.clone());
        let mut text = String::from("  :: ");
        if chooses && !effect.conditions.is_empty() {
            // What was chosen may be wrong; then it is as if nothing had happened. Assignments create nothing.
            let (first, back) = (&effect.guard, at.index());
            body.append(&mut last);
            let (parts, right, wrong) = (parts.join("; "), indivisible(&body), indivisible(&resets));
            let _ = writeln!(
                text,
                "atomic {{ ({first}); {parts}; if :: ({guard}) -> {right}; goto {to} :: else -> {wrong}; goto L{back} fi }}",
            );
            return text;
        }
        if chooses || in_prologue {
            // Steps of an atomic sequence are states of their own, which must not depend on what is hidden.
            body = if body.is_empty() { body } else { vec![indivisible(&body)] };
            last = if last.is_empty() { last } else { vec![indivisible(&last)] };
        }
        if guard != "1" || parts.is_empty() && body.is_empty() && creation.is_none() && last.is_empty() {
            parts.insert(0, format!("({guard})"));
        }
        parts.extend(body.into_iter().chain(creation).chain(last));
        let inside = parts.join("; ");
        let _ = match (parts.len(), in_prologue) {
            (1, _) | (_, true) => writeln!(text, "{inside}; goto {to}"),
            _ if chooses => writeln!(text, "atomic {{ {inside} }}; goto {to}"),
            _ => writeln!(text, "d_step {{ {inside} }}; goto {to}"),
        };
        text
    }

    /// A condition between the states before and after an assignment.
    fn condition_between(
        &self,
        condition: Expr,
        location: Location,
        effect: &Effect,
        chosen: &BTreeMap<&str, String>,
    ) -> String {
        let after = |place: Place| {
            let name = self.variable(location, place.var)?;
            let (_, value) = effect.writes.iter().find(|(target, _)| place.primed && *target == name)?;
            Some(chosen.get(name.as_str()).map_or_else(|| value.clone(), |text| Value::Plain(text.clone())))
        };
        self.value_with(location, condition, after).can_hold()
    }
}

/// Either value.
pub fn anything() -> Value {
    Value::Either { hold: "1".to_owned(), fail: "1".to_owned() }
}

/// Gives a variable one of the values that are possible.
pub fn choose(name: &str, value: &Value) -> String {
    let option = |condition: String, bit: u8| match condition.as_str() {
        "1" => format!(":: {name} = {bit}"),
        _ => format!(":: ({condition}) -> {name} = {bit}"),
    };
    format!("if {} {} fi", option(value.can_hold(), 1), option(value.can_fail(), 0))
}

/// Statements as one step; a single one is one anyway.
fn indivisible(statements: &[String]) -> String {
    match statements {
        [] => "skip".to_owned(),
        [only] => only.clone(),
        _ => format!("d_step {{ {} }}", statements.join("; ")),
    }
}
