//! Random communicating machines, and an interpreter for a fixed number of copies.
//!
//! The interpreter follows the semantics in words: it knows every copy by itself, and neither counts
//! copies nor knows of nets, cases or places.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::rng::Rng;

/// What stands between two formulas.
const OPERATORS: [&str; 4] = ["&", "|", "=", "!="];

/// A formula, small enough to recurse on.
#[derive(Clone, Debug)]
pub enum Tree {
    Constant(bool),
    Global(usize),
    Not(Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn random(rng: &mut Rng, globals: usize, depth: usize) -> Self {
        match rng.below(if depth == 0 { 4 } else { 8 }) {
            0 => Self::Constant(rng.chance(70)),
            1..4 if globals > 0 => Self::Global(rng.below(globals)),
            1..4 => Self::Constant(true),
            4 => Self::Not(Box::new(Self::random(rng, globals, depth - 1))),
            _ => {
                let [left, right] = [(); 2].map(|()| Box::new(Self::random(rng, globals, depth - 1)));
                Self::Binary(OPERATORS[rng.below(OPERATORS.len())], left, right)
            }
        }
    }

    fn value(&self, values: &[bool]) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Global(global) => values[*global],
            Self::Not(inner) => !inner.value(values),
            Self::Binary(sign, left, right) => {
                let (left, right) = (left.value(values), right.value(values));
                match *sign {
                    "&" => left && right,
                    "|" => left || right,
                    "=" => left == right,
                    _ => left != right,
                }
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Constant(value) => (if *value { "T" } else { "F" }).to_owned(),
            Self::Global(global) => format!("g{global}"),
            Self::Not(inner) => format!("!({})", inner.text()),
            Self::Binary(sign, left, right) => format!("({}) {sign} ({})", left.text(), right.text()),
        }
    }
}

/// How others take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    RendezVous,
    Asynchronous,
    Broadcast,
}

/// An event: its number, and whether it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub label: usize,
    pub sent: bool,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub event: Option<Event>,
    pub guard: Tree,
    /// New values; either one if `None`.
    pub updates: Vec<(usize, Option<Tree>)>,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub states: usize,
    pub edges: Vec<Edge>,
}

/// Machines, numbers of states and copies, and what must hold of the variables.
#[derive(Clone, Debug)]
pub struct Target {
    pub counts: Vec<(usize, usize, usize)>,
    pub guard: Tree,
}

#[derive(Clone, Debug)]
pub struct RandomSystem {
    /// Values at the start; either one if `None`.
    pub globals: Vec<Option<bool>>,
    pub labels: Vec<Kind>,
    pub machines: Vec<Machine>,
    pub targets: Vec<Target>,
}

/// Values of variables, and for every copy its machine and its state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    pub values: Vec<bool>,
    pub copies: Vec<(usize, usize)>,
}

impl RandomSystem {
    /// A small system.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let globals = rng.below(3);
        let kinds = [Kind::RendezVous, Kind::Asynchronous, Kind::Broadcast];
        let labels: Vec<Kind> = (0..rng.between(1, 3)).map(|_| *rng.pick(&kinds)).collect();
        let initial = |rng: &mut Rng| if rng.chance(30) { None } else { Some(rng.chance(50)) };
        let machine = |rng: &mut Rng| {
            let states = rng.between(1, 3);
            let edges = (0..rng.between(1, 5)).map(|_| Edge::random(rng, states, globals, labels.len()));
            Machine { states, edges: edges.collect() }
        };
        let initials = (0..globals).map(|_| initial(&mut rng)).collect();
        let machines: Vec<Machine> = (0..rng.between(1, 2)).map(|_| machine(&mut rng)).collect();
        let target = |rng: &mut Rng| {
            let count = |rng: &mut Rng| {
                let machine = rng.below(machines.len());
                (machine, rng.below(machines[machine].states), rng.between(1, 2))
            };
            let counts = (0..rng.weighted(&[1, 4, 4])).map(|_| count(rng)).collect();
            let guard = if rng.chance(40) { Tree::random(rng, globals, 2) } else { Tree::Constant(true) };
            Target { counts, guard }
        };
        let targets = (0..rng.weighted(&[1, 8, 4])).map(|_| target(&mut rng)).collect();
        Self { globals: initials, labels, machines, targets }
    }

    /// As text, with so many copies of each machine as is written there.
    pub fn text(&self, copies: &[String]) -> String {
        let mut out = String::new();
        for (i, initial) in self.globals.iter().enumerate() {
            let value = initial.map_or("", |value| if value { " := T" } else { " := F" });
            let _ = writeln!(out, "var g{i}{value};");
        }
        for (i, machine) in self.machines.iter().enumerate() {
            let states: Vec<String> = (0..machine.states).map(|s| format!("s{s}")).collect();
            let _ = writeln!(out, "machine M{i} [{}] {{ states {};", copies[i], states.join(", "));
            for edge in &machine.edges {
                let _ = write!(out, "  s{} -> s{}", edge.from, edge.to);
                if let Some(Event { label, sent }) = edge.event {
                    let sign = match (self.labels[label], sent) {
                        (Kind::RendezVous, true) => "!",
                        (Kind::RendezVous, false) => "?",
                        (Kind::Asynchronous, true) => "~!",
                        (Kind::Asynchronous, false) => "~?",
                        (Kind::Broadcast, true) => "!!",
                        (Kind::Broadcast, false) => "??",
                    };
                    let _ = write!(out, " : e{label}{sign}");
                }
                if edge.event.is_none_or(|event| event.sent) {
                    let _ = write!(out, " when {}", edge.guard.text());
                }
                for (i, (global, value)) in edge.updates.iter().enumerate() {
                    let value = value.as_ref().map_or("*".to_owned(), Tree::text);
                    let _ = write!(out, "{} g{global} := {value}", if i == 0 { " do" } else { "," });
                }
                out.push_str(";\n");
            }
            out.push_str("}\n");
        }
        for target in &self.targets {
            let counts: Vec<String> =
                target.counts.iter().map(|(m, s, n)| format!("M{m}.s{s} >= {n}")).collect();
            let _ = writeln!(out, "target {} when {};", counts.join(", "), target.guard.text());
        }
        out
    }

    /// All states that so many copies of each machine can reach.
    pub fn reached(&self, copies: &[usize]) -> BTreeSet<State> {
        let copies: Vec<(usize, usize)> =
            copies.iter().enumerate().flat_map(|(m, &n)| std::iter::repeat_n((m, 0), n)).collect();
        let mut values = vec![Vec::new()];
        for initial in &self.globals {
            let either = initial.map_or(vec![false, true], |value| vec![value]);
            values = extended(&values, &either);
        }
        let start = values.into_iter().map(|values| State { values, copies: copies.clone() });
        let mut seen: BTreeSet<State> = start.collect();
        let mut open: Vec<State> = seen.iter().cloned().collect();
        while let Some(state) = open.pop() {
            for next in self.steps(&state) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    }

    fn steps(&self, state: &State) -> Vec<State> {
        let mut found = Vec::new();
        for mover in 0..state.copies.len() {
            let (machine, local) = state.copies[mover];
            for edge in self.machines[machine].edges.iter().filter(|edge| edge.from == local) {
                let sends = edge.event.is_none_or(|event| event.sent);
                if !sends || !edge.guard.value(&state.values) {
                    continue;
                }
                let mut moved = state.copies.clone();
                moved[mover].1 = edge.to;
                let others = match edge.event {
                    None => vec![moved],
                    Some(event) => self.together(event.label, mover, state, &moved),
                };
                for values in new_values(&state.values, &edge.updates) {
                    found.extend(
                        others.iter().map(|copies| State { values: values.clone(), copies: copies.clone() }),
                    );
                }
            }
        }
        found
    }

    /// Where copies can be after the mover has sent; it itself has moved already.
    fn together(
        &self,
        label: usize,
        mover: usize,
        before: &State,
        moved: &[(usize, usize)],
    ) -> Vec<Vec<(usize, usize)>> {
        let goals = |copy: usize| -> Vec<usize> {
            let (machine, local) = before.copies[copy];
            let receives =
                |edge: &&Edge| edge.from == local && edge.event == Some(Event { label, sent: false });
            self.machines[machine].edges.iter().filter(receives).map(|edge| edge.to).collect()
        };
        let others: Vec<usize> = (0..moved.len()).filter(|&copy| copy != mover).collect();
        let mut one_of_them = Vec::new();
        for &copy in &others {
            for to in goals(copy) {
                let mut copies = moved.to_vec();
                copies[copy].1 = to;
                one_of_them.push(copies);
            }
        }
        match self.labels[label] {
            Kind::Asynchronous if one_of_them.is_empty() => vec![moved.to_vec()],
            Kind::RendezVous | Kind::Asynchronous => one_of_them,
            Kind::Broadcast => {
                let mut all = vec![moved.to_vec()];
                for &copy in others.iter().filter(|&&copy| !goals(copy).is_empty()) {
                    let mut next = Vec::new();
                    for copies in &all {
                        for to in goals(copy) {
                            let mut copies = copies.clone();
                            copies[copy].1 = to;
                            next.push(copies);
                        }
                    }
                    all = next;
                }
                all
            }
        }
    }

    /// Whether the state meets a target.
    pub fn is_bad(&self, state: &State) -> bool {
        let count = |m: usize, s: usize| state.copies.iter().filter(|&&copy| copy == (m, s)).count();
        self.targets.iter().any(|target| {
            target.counts.iter().all(|&(m, s, n)| count(m, s) >= n) && target.guard.value(&state.values)
        })
    }
}

impl Edge {
    fn random(rng: &mut Rng, states: usize, globals: usize, labels: usize) -> Self {
        let event = rng.chance(75).then(|| Event { label: rng.below(labels), sent: rng.chance(50) });
        let sends = event.is_none_or(|event| event.sent);
        let guard =
            if sends && rng.chance(60) { Tree::random(rng, globals, 2) } else { Tree::Constant(true) };
        let mut updates = BTreeMap::new();
        for _ in 0..if sends && globals > 0 { rng.below(3) } else { 0 } {
            let value = if rng.chance(20) { None } else { Some(Tree::random(rng, globals, 1)) };
            updates.insert(rng.below(globals), value);
        }
        Self {
            from: rng.below(states),
            to: rng.below(states),
            event,
            guard,
            updates: updates.into_iter().collect(),
        }
    }
}

/// All lists with one of these at the end.
fn extended(lists: &[Vec<bool>], ends: &[bool]) -> Vec<Vec<bool>> {
    lists.iter().flat_map(|list| ends.iter().map(|&end| [&list[..], &[end]].concat())).collect()
}

/// What the variables may become.
fn new_values(values: &[bool], updates: &[(usize, Option<Tree>)]) -> Vec<Vec<bool>> {
    let mut all = vec![Vec::new()];
    for (global, &old) in values.iter().enumerate() {
        let ends = match updates.iter().find(|(updated, _)| *updated == global) {
            None => vec![old],
            Some((_, None)) => vec![false, true],
            Some((_, Some(tree))) => vec![tree.value(values)],
        };
        all = extended(&all, &ends);
    }
    all
}
