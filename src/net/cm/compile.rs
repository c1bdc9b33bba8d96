//! Translates systems of communicating machines to nets.
//!
//! Every local state of a machine becomes a place, whose tokens are the copies in that state. A variable `x` has the
//! places `x=T` and `x=F` and, if it can get an arbitrary value, `x=*`. Exactly one of these places holds a token,
//! and exactly one. An arbitrary value is chosen when it is needed: the token can move from `x=*` to either of the
//! other places at any time, and a condition on the value requires it there. A run can make all these choices early
//! or late, so the net reaches what the semantics of [`super`] reaches.
//!
//! Each case of an edge (see [`cases`]) becomes one or more transitions. They take the values that the case requires
//! and give the new values. A variable that gets a value without being read is transferred there from whichever place
//! holds its token, so that its old value does not split the case.
//!
//! A rendez-vous takes a sender and a receiver; there is one transition for each pair of edges. A broadcast takes the
//! sender and moves all tokens of the states that receive.
//!
//! # Asynchronous rendez-vous
//!
//! It becomes a rendez-vous with each of the possible receivers, and one transition without a receiver, which tests
//! that no copy can receive. This is a zero test and not monotone, and an engine may ignore it to prove safety. That
//! alone would add spurious runs: a notification could be lost although a copy waits for it. So the transition also
//! empties the places that it tests. In a run that obeys the test this has no effect. If the test is ignored while
//! there are `n > 0` receivers, the step ends in a marking that the rendez-vous with one of them covers: there, the
//! sender has made the same move, and the receivers still exist. The system is monotone (with more copies, either
//! there was a receiver before, or one of the new copies receives). So, by induction, every marking that the net
//! without these tests reaches is covered by one that the system reaches: **ignoring these zero tests changes no
//! verdict**. Runs must obey them nevertheless, and [`fire_or_replace`](crate::net::fire::fire_or_replace) finds the
//! rendez-vous that replaces such a step.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::collect::Collector;
use crate::diagnostic::{Diagnostic, has_errors};
use crate::net::{Builder, Flow, Marking, Move, Net, PlaceId, PlaceKind, Range, Target, Transition};
use crate::source::Span;

use super::formula::{Case, MOST_CASES, cases};
use super::{Channel, Edge, Event, Formula, GlobalId, LabelId, LocalState, Op, System, Value};

/// A limit to the total size of all transitions, counting what they move and require: there can be many pairs of
/// edges.
const MOST_PARTS: usize = 2_000_000;

/// Translates a system to a net; warnings come with it.
///
/// # Errors
/// Reports formulas that distinguish too many cases, and systems with too many pairs of senders and receivers.
pub fn compile(system: &System) -> Result<(Net, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut compiler = Compiler::new(system);
    compiler.guesses();
    for (machine, edge) in system.edges() {
        compiler.edge(machine, edge);
    }
    compiler.targets();
    let findings = compiler.findings.into_sorted();
    if has_errors(&findings) { Err(findings) } else { Ok((compiler.builder.finish(), findings)) }
}

/// The places of a variable.
struct Values {
    /// The places that hold the token if the value is false, and if it is true.
    decided: [PlaceId; 2],
    /// The place that holds the token while the value is not chosen yet.
    open: Option<PlaceId>,
}

impl Values {
    fn place(&self, value: bool) -> PlaceId {
        self.decided[usize::from(value)]
    }
}

/// How other copies take part in a step.
#[derive(Default)]
struct Way {
    /// The local states of the receiver before and after the step, if one copy receives.
    receiver: Option<(PlaceId, PlaceId)>,
    /// The moves of all other copies.
    moves: Vec<Move>,
    /// The places that must be empty, apart from the sender.
    nobody: Vec<PlaceId>,
}

struct Compiler<'s> {
    system: &'s System,
    builder: Builder,
    values: Vec<Values>,
    /// For each machine, the places of its local states.
    states: Vec<Vec<PlaceId>>,
    /// For each event name, the local states of its receivers before and after.
    receivers: Vec<BTreeSet<(PlaceId, PlaceId)>>,
    /// How much of [`MOST_PARTS`] is left; `None` after the limit was exceeded, which is reported once.
    parts_left: Option<usize>,
    findings: Collector,
}

impl<'s> Compiler<'s> {
    fn new(system: &'s System) -> Self {
        let mut builder = Builder::new();
        let mut is_open: Vec<bool> = system.globals.iter().map(|global| global.initial.is_none()).collect();
        let updates = system.edges().flat_map(|(_, edge)| &edge.updates);
        updates
            .filter(|(_, value)| *value == Value::Any)
            .for_each(|(global, _)| is_open[global.index()] = true);
        let mut values = Vec::new();
        for (global, is_open) in system.globals.iter().zip(is_open) {
            let mut place = |value| builder.named(&format!("{}={value}", global.name), PlaceKind::Value);
            let decided = [place("F"), place("T")];
            let places = Values { decided, open: is_open.then(|| place("*")) };
            let start = global.initial.map_or(places.open, |value| Some(places.place(value)));
            if let Some(start) = start {
                builder.initial(start, Range::exactly(1));
            }
            values.push(places);
        }
        let mut states = Vec::new();
        for machine in &system.machines {
            let place =
                |state: &String| builder.named(&format!("{}.{state}", machine.name), PlaceKind::Machine);
            let places: Vec<PlaceId> = machine.states.iter().map(place).collect();
            if let Some(&first) = places.first() {
                builder.initial(first, machine.copies);
            }
            states.push(places);
        }
        let mut receivers = vec![BTreeSet::new(); system.labels.len()];
        for (machine, edge) in system.edges() {
            if let Some(Event::Receive(label)) = edge.event {
                receivers[label.index()].insert((states[machine][edge.from], states[machine][edge.to]));
            }
        }
        let findings = Collector::default();
        Self { system, builder, values, states, receivers, parts_left: Some(MOST_PARTS), findings }
    }

    /// Adds the transitions that choose arbitrary values.
    fn guesses(&mut self) {
        for (values, global) in self.values.iter().zip(&self.system.globals) {
            for (open, decided) in
                values.open.into_iter().flat_map(|open| values.decided.map(|to| (open, to)))
            {
                let [take, give] = [open, decided].map(|place| one_of_each([place]));
                self.builder.transition(Transition {
                    take,
                    give,
                    span: global.span,
                    ..Transition::default()
                });
            }
        }
    }

    /// The cases of a guard and its updates; reports an error if there are too many, and a warning if there are none.
    fn cases(
        &mut self,
        guard: &Formula,
        updates: &[(GlobalId, Value)],
        span: Span,
        never: &str,
    ) -> Vec<Case> {
        let Ok(found) = cases(guard, updates) else {
            let message = format!("this distinguishes more than {MOST_CASES} cases of the variables");
            let help = "split it into several, or use fewer variables at once";
            self.findings.push(Diagnostic::error(span, message).help(help));
            return Vec::new();
        };
        if found.is_empty() {
            let caret = "its condition cannot hold";
            self.findings.push(Diagnostic::warning(span, never).caret(caret));
        }
        found
    }

    fn edge(&mut self, machine: usize, edge: &Edge) {
        // A receiving edge is part of the transitions of its senders.
        let Some(parts_left) = self.parts_left.filter(|_| !matches!(edge.event, Some(Event::Receive(_))))
        else {
            return;
        };
        let updates: Vec<(GlobalId, Value)> =
            edge.updates.iter().filter(|update| !keeps_its_value(update)).cloned().collect();
        let cases = self.cases(&edge.guard, &updates, edge.span, "this step can never happen");
        if cases.is_empty() {
            return;
        }
        let ways = match edge.event {
            Some(Event::Send(label)) => self.ways(label),
            _ => vec![Way::default()],
        };
        let moves: usize = ways.iter().map(|way| 1 + way.moves.len()).sum();
        let literals: usize = cases.iter().map(|case| case.literals.len()).sum();
        let parts = moves.saturating_mul(cases.len()).saturating_add(literals.saturating_mul(ways.len()));
        self.parts_left = parts_left.checked_sub(parts);
        if self.parts_left.is_none() {
            let message = format!("with this edge, there are more than {MOST_PARTS} ways to move together");
            self.findings.push(Diagnostic::error(edge.span, message));
            return;
        }
        let sender = [edge.from, edge.to].map(|state| self.states[machine][state]);
        for case in &cases {
            for way in &ways {
                if let Some(transition) = self.transition(sender, case, way, edge.span) {
                    self.builder.transition(transition);
                }
            }
        }
    }

    /// The ways in which other copies can take part when an event is sent.
    fn ways(&self, label: LabelId) -> Vec<Way> {
        let receivers = &self.receivers[label.index()];
        let pairs = receivers.iter().map(|&pair| Way { receiver: Some(pair), ..Way::default() });
        let mut goals: BTreeMap<PlaceId, Vec<PlaceId>> = BTreeMap::new();
        for &(from, to) in receivers {
            goals.entry(from).or_default().push(to);
        }
        match self.system.label(label).channel {
            Channel::RendezVous => pairs.collect(),
            Channel::Asynchronous => {
                let nobody: Vec<PlaceId> = goals.into_keys().collect();
                let vanish = |&from: &PlaceId| Move { from, flow: Flow::All(Vec::new()) };
                let moves = nobody.iter().map(vanish).collect();
                pairs.chain([Way { receiver: None, moves, nobody }]).collect()
            }
            Channel::Broadcast => {
                let moves = goals.into_iter().map(|(from, to)| Move { from, flow: Flow::Each(to) });
                vec![Way { moves: moves.collect(), ..Way::default() }]
            }
        }
    }

    /// The transition for one case and one way; `None` if it changes nothing.
    fn transition(&self, sender: [PlaceId; 2], case: &Case, way: &Way, span: Span) -> Option<Transition> {
        let mut taken = vec![sender[0]];
        let mut given = vec![sender[1]];
        if let Some((from, to)) = way.receiver {
            taken.push(from);
            given.push(to);
        }
        let goal = |&(global, result): &(GlobalId, Option<bool>)| {
            let values = &self.values[global.index()];
            // A variable that can get either value has the place `x=*`.
            let place = result.map_or(values.open, |value| Some(values.place(value)));
            place.map(|place| (global, place))
        };
        let goals: BTreeMap<GlobalId, PlaceId> = case.results.iter().filter_map(goal).collect();
        for &(global, value) in &case.literals {
            let place = self.values[global.index()].place(value);
            taken.push(place);
            given.push(goals.get(&global).copied().unwrap_or(place));
        }
        let asked: BTreeSet<GlobalId> = case.literals.iter().map(|&(global, _)| global).collect();
        let mut transfers = Vec::new();
        for (global, &to) in goals.iter().filter(|(global, _)| !asked.contains(global)) {
            let values = &self.values[global.index()];
            let others = values.decided.into_iter().chain(values.open).filter(|&from| from != to);
            transfers.extend(others.map(|from| Move { from, flow: Flow::All(vec![to]) }));
        }
        let (take, give) = (one_of_each(taken), one_of_each(given));
        // A copy that must not exist does not move.
        let stays = |m: &Move| m.flow.places() == [m.from];
        let others_stay = !way.nobody.is_empty() || way.moves.iter().all(stays);
        if take == give && transfers.is_empty() && others_stay {
            return None;
        }
        let upper = way.nobody.iter().map(|&place| (place, u64::from(place == sender[0]))).collect();
        let moves = way.moves.iter().cloned().chain(transfers).collect();
        Some(Transition { take, give, moves, upper, span })
    }

    fn targets(&mut self) {
        for target in &self.system.targets {
            let cases = self.cases(&target.guard, &[], target.span, "this target cannot be met");
            let mut least = Marking::new();
            for &(LocalState { machine, state }, n) in &target.counts {
                let place = self.states[machine][state];
                least.set(place, least.get(place).max(n));
            }
            for case in cases {
                let values =
                    case.literals.iter().map(|(global, value)| self.values[global.index()].place(*value));
                let least = least.join(&one_of_each(values));
                self.builder.target(Target { least, upper: Vec::new(), span: target.span });
            }
        }
    }
}

/// Whether the update is `x := x`, so that the value need not be known.
fn keeps_its_value((global, value): &(GlobalId, Value)) -> bool {
    matches!(value, Value::Of(formula) if formula.ops() == [Op::Global(*global)])
}

/// A marking with one token for each occurrence of a place in the list.
fn one_of_each(places: impl IntoIterator<Item = PlaceId>) -> Marking {
    let tokens = places.into_iter().map(|place| (place, 1));
    Marking::sum_of(tokens).expect("as many tokens as the text has words")
}
