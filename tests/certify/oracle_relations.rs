//! Relations point by point: what is missing for a set of pairs at cuts to be a proof.

use std::collections::BTreeSet;

use cusp::evidence::trace::Violation;
use cusp::evidence::{Formulas, Gate, Literal, Place, Relation, Relations};
use cusp::model::{Action, Node, ProcId, Task};

use super::oracle::{Point, Sequential, bit, mask};

/// Pairs at cuts, and entry states that may fail, by procedure.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Sets {
    pub points: BTreeSet<Point>,
    pub failures: BTreeSet<(usize, u32)>,
    /// Procedure and node; entries and exits are cuts anyway.
    pub cuts: BTreeSet<(usize, usize)>,
}

impl Sets {
    fn is_cut(&self, procedure: usize, node: usize) -> bool {
        node < 2 || self.cuts.contains(&(procedure, node))
    }
}

/// The formulas of one relation: the gates they need, and their parameters.
struct Cone {
    gates: Vec<usize>,
    parameters: Vec<u32>,
}

impl Cone {
    fn of(formulas: &Formulas, relation: &Relation) -> Self {
        let components = relation.entry.iter().chain(&relation.now).flatten();
        let mut work: Vec<Literal> = components.copied().chain([relation.guard, Literal::TRUE]).collect();
        let (mut gates, mut parameters) = (BTreeSet::new(), BTreeSet::new());
        while let Some(literal) = work.pop() {
            if !gates.insert(literal.gate()) {
                continue;
            }
            match formulas.gates()[literal.gate()] {
                Gate::True => {}
                Gate::Parameter(i) => drop(parameters.insert(i)),
                Gate::And(a, b) | Gate::Xor(a, b) => work.extend([a, b]),
            }
        }
        Self { gates: gates.into_iter().collect(), parameters: parameters.into_iter().collect() }
    }

    /// The values of the gates, by position, where the parameters have the bits of a number.
    fn values(&self, formulas: &Formulas, choice: u32, values: &mut [bool]) {
        for &gate in &self.gates {
            let of = |literal: Literal| values[literal.gate()] ^ literal.is_complemented();
            values[gate] = match formulas.gates()[gate] {
                Gate::True => true,
                Gate::Parameter(i) => {
                    bit(choice, self.parameters.iter().position(|&name| name == i).expect("found"))
                }
                Gate::And(a, b) => of(a) & of(b),
                Gate::Xor(a, b) => of(a) ^ of(b),
            };
        }
    }
}

/// The most parameters of a relation: [`sets`] tries all their values.
pub fn parameters(certificate: &Relations) -> usize {
    let relations = certificate.relations.iter();
    relations.map(|relation| Cone::of(&certificate.formulas, relation).parameters.len()).max().unwrap_or(0)
}

/// The sets that a certificate stands for, by trying all values of all parameters.
pub fn sets(certificate: &Relations) -> Sets {
    let formulas = &certificate.formulas;
    let mut values = vec![false; formulas.gates().len()];
    let mut sets = Sets::default();
    for relation in &certificate.relations {
        let procedure = relation.procedure.index();
        if let Place::Node(node) = relation.place {
            sets.cuts.insert((procedure, node.index()));
        }
        let cone = Cone::of(formulas, relation);
        for choice in 0..1_u32 << cone.parameters.len() {
            cone.values(formulas, choice, &mut values);
            let value = |literal: Literal| values[literal.gate()] ^ literal.is_complemented();
            if !value(relation.guard) {
                continue;
            }
            let vectors = |components: &[Option<Literal>]| -> Vec<u32> {
                let fits = |state: u32| {
                    let mut pairs = components.iter().enumerate();
                    pairs
                        .all(|(i, component)| component.is_none_or(|literal| value(literal) == bit(state, i)))
                };
                (0..1_u32 << components.len()).filter(|&state| fits(state)).collect()
            };
            for entry in vectors(&relation.entry) {
                match relation.place {
                    Place::Failure => drop(sets.failures.insert((procedure, entry))),
                    Place::Node(node) => {
                        let pairs = vectors(&relation.now);
                        sets.points
                            .extend(pairs.into_iter().map(|now| (procedure, node.index(), entry, now)));
                    }
                }
            }
        }
    }
    sets
}

/// Whether every cycle goes through a cut, by brute force.
pub fn cuts_all_cycles(task: &Task, sets: &Sets) -> bool {
    task.program.procedures.iter().enumerate().all(|(id, procedure)| {
        let nodes = procedure.nodes as usize;
        let reach = |from: usize| {
            let mut seen = vec![false; nodes];
            let mut work = vec![from];
            while let Some(node) = work.pop() {
                for (_, edge) in procedure.edges_from(Node::from_index(node)) {
                    let goes_on = !matches!(edge.action, Action::EndThread);
                    let to = edge.to.index();
                    if goes_on && !sets.is_cut(id, to) && !std::mem::replace(&mut seen[to], true) {
                        work.push(to);
                    }
                }
            }
            seen
        };
        let mut held = vec![false; nodes];
        for root in (0..nodes).filter(|&node| sets.is_cut(id, node)) {
            held[root] = true;
            reach(root).into_iter().enumerate().for_each(|(i, reached)| held[i] |= reached);
        }
        (0..nodes).all(|node| !held[node] || !reach(node)[node])
    })
}

/// A random set of cuts that cuts every cycle.
pub fn random_cuts(task: &Task, below: &mut dyn FnMut(usize) -> usize) -> BTreeSet<(usize, usize)> {
    let mut sets = Sets::default();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (id, procedure) in task.program.procedures.iter().enumerate() {
        open.extend((2..procedure.nodes as usize).map(|node| (id, node)));
    }
    let extra = below(3);
    let mut more = 0;
    while !open.is_empty() && (!cuts_all_cycles(task, &sets) || more < extra) {
        more += usize::from(cuts_all_cycles(task, &sets));
        let cut = open.swap_remove(below(open.len()));
        sets.cuts.insert(cut);
    }
    sets.cuts
}

/// What a set of pairs lacks to be a proof: pairs, failures, and whether a start state fails.
pub struct Missing {
    pub points: BTreeSet<Point>,
    pub failures: BTreeSet<(usize, u32)>,
    pub start_fails: bool,
}

impl Missing {
    pub fn nothing(&self) -> bool {
        self.points.is_empty() && self.failures.is_empty() && !self.start_fails
    }
}

pub fn missing(task: &Task, sets: &Sets) -> Missing {
    let oracle = Sequential::new(task);
    let start = task.program.start.index();
    let mut points: BTreeSet<Point> = BTreeSet::new();
    let mut failures: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut start_fails = false;
    for state in (0..1_u32 << oracle.width(start)).filter(|&state| oracle.enforced(start, state)) {
        let entry = state & mask(oracle.interface(start));
        points.insert((start, 0, entry, state));
        start_fails |= sets.failures.contains(&(start, entry));
    }
    for &(procedure, from, entry, now) in &sets.points {
        if from == 1 || !oracle.enforced(procedure, now) {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mut work = vec![(from, now)];
        while let Some((node, now)) = work.pop() {
            if !seen.insert((node, now)) {
                continue;
            }
            let violations = oracle.violations(procedure, Node::from_index(node), now);
            if !violations.is_empty() {
                failures.insert((procedure, entry));
            }
            if violations.contains(&Violation::Label) {
                continue;
            }
            let mut arrive = |to: usize, after: u32, points: &mut BTreeSet<Point>| {
                if sets.is_cut(procedure, to) {
                    points.insert((procedure, to, entry, after));
                } else {
                    work.push((to, after));
                }
            };
            for (_, edge) in oracle.procedure(procedure).edges_from(Node::from_index(node)) {
                let to = edge.to.index();
                let Action::Call(call) = &edge.action else {
                    for after in 0..1_u32 << oracle.width(procedure) {
                        if oracle.steps(procedure, edge, now, after) {
                            arrive(to, after, &mut points);
                        }
                    }
                    continue;
                };
                let callee = call.callee.index();
                for passed in 0..1_u32 << oracle.interface(callee) {
                    if !oracle.passes(call, now, passed) {
                        continue;
                    }
                    let mut is_entered = false;
                    for rest in 0..1_u32 << (oracle.width(callee) - oracle.interface(callee)) {
                        let state = rest << oracle.interface(callee) | passed;
                        if oracle.enforced(callee, state) {
                            points.insert((callee, 0, passed, state));
                            is_entered = true;
                        }
                    }
                    if !is_entered {
                        continue;
                    }
                    if sets.failures.contains(&(callee, passed)) {
                        failures.insert((procedure, entry));
                    }
                    let exits = sets.points.range((callee, 1, passed, 0)..=(callee, 1, passed, u32::MAX));
                    for &(.., exit) in exits {
                        let after = oracle.returned(call, now, exit);
                        if oracle.enforced(procedure, after) {
                            arrive(to, after, &mut points);
                        }
                    }
                }
            }
        }
    }
    points.retain(|point| !sets.points.contains(point));
    failures.retain(|failure| !sets.failures.contains(failure));
    Missing { points, failures, start_fails }
}

/// The least sets over some cuts that hold all the given pairs, whether start states fail or not.
pub fn closure(task: &Task, mut sets: Sets) -> Sets {
    loop {
        let missing = missing(task, &sets);
        if missing.points.is_empty() && missing.failures.is_empty() {
            return sets;
        }
        sets.points.extend(missing.points);
        sets.failures.extend(missing.failures);
    }
}

/// Whether a certificate is a proof, witnesses aside.
pub fn is_proof(task: &Task, certificate: &Relations) -> bool {
    let sets = sets(certificate);
    cuts_all_cycles(task, &sets) && missing(task, &sets).nothing()
}

/// How relations are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// One relation without parameters for each pair.
    Points,
    /// One relation with a parameter for each variable; the guard says which values belong to it.
    Guard,
    /// As before, with any value where the set does not depend on a variable.
    AnyValue,
    /// Parameters choose a pair, and the states are functions of them.
    Choice,
}

/// Builds formulas.
#[derive(Default)]
struct Builder {
    formulas: Formulas,
}

impl Builder {
    fn and(&mut self, a: Literal, b: Literal) -> Literal {
        self.formulas.add(Gate::And(a, b))
    }

    fn or(&mut self, a: Literal, b: Literal) -> Literal {
        !self.formulas.add(Gate::And(!a, !b))
    }

    /// Whether some parameters have the bits of a number.
    fn equals(&mut self, parameters: &[Literal], number: u32) -> Literal {
        parameters.iter().enumerate().fold(Literal::TRUE, |all, (i, &parameter)| {
            let literal = if bit(number, i) { parameter } else { !parameter };
            self.and(all, literal)
        })
    }
}

/// A certificate that stands for the given sets.
pub fn certificate(task: &Task, sets: &Sets, style: &mut dyn FnMut() -> Style) -> Relations {
    let oracle = Sequential::new(task);
    let mut builder = Builder::default();
    let mut relations = Vec::new();
    let mut places: Vec<(usize, Place)> = Vec::new();
    for (id, procedure) in task.program.procedures.iter().enumerate() {
        let nodes = (0..procedure.nodes as usize).filter(|&node| sets.is_cut(id, node));
        places.extend(nodes.map(|node| (id, Place::Node(Node::from_index(node)))));
        places.push((id, Place::Failure));
    }
    for (procedure, place) in places {
        let interface = oracle.interface(procedure);
        let (width, pairs): (usize, Vec<u32>) = match place {
            Place::Node(node) => {
                let here = sets.points.iter().filter(|p| p.0 == procedure && p.1 == node.index());
                let pairs = here.map(|&(_, _, entry, now)| now << interface | entry).collect();
                (interface + oracle.width(procedure), pairs)
            }
            Place::Failure => {
                let here = sets.failures.iter().filter(|failure| failure.0 == procedure);
                (interface, here.map(|&(_, entry)| entry).collect())
            }
        };
        let mut add = |guard: Literal, components: Vec<Option<Literal>>| {
            let (entry, now) = components.split_at(interface);
            let procedure = ProcId::from_index(procedure);
            relations.push(Relation { procedure, place, guard, entry: entry.to_vec(), now: now.to_vec() });
        };
        let style = style();
        match style {
            Style::Points => {
                for &pair in &pairs {
                    let constant = |i| Some(Literal::constant(bit(pair, i)));
                    add(Literal::TRUE, (0..width).map(constant).collect());
                }
                // A cut must be one, whether or not something comes there.
                if pairs.is_empty() {
                    add(Literal::FALSE, vec![None; width]);
                }
            }
            Style::Guard | Style::AnyValue => {
                let parameters: Vec<Literal> =
                    (0..width as u32).map(|i| builder.formulas.add(Gate::Parameter(i))).collect();
                let set: BTreeSet<u32> = pairs.iter().copied().collect();
                let free = |i: usize| {
                    style == Style::AnyValue && set.iter().all(|pair| set.contains(&(pair ^ (1 << i))))
                };
                let kept: Vec<usize> = (0..width).filter(|&i| !free(i)).collect();
                let kept_parameters: Vec<Literal> = kept.iter().map(|&i| parameters[i]).collect();
                let compress = |pair: u32| {
                    kept.iter().enumerate().fold(0, |bits, (j, &i)| bits | u32::from(bit(pair, i)) << j)
                };
                let minterms: BTreeSet<u32> = set.iter().map(|&pair| compress(pair)).collect();
                let mut guard = Literal::FALSE;
                for minterm in minterms {
                    let term = builder.equals(&kept_parameters, minterm);
                    guard = builder.or(guard, term);
                }
                add(guard, (0..width).map(|i| (!free(i)).then_some(parameters[i])).collect());
            }
            Style::Choice => {
                let bits = (0..16_u32).find(|&bits| 1 << bits >= pairs.len()).expect("few pairs");
                let parameters: Vec<Literal> =
                    (0..bits).map(|i| builder.formulas.add(Gate::Parameter(10 + i))).collect();
                let mut guard = Literal::FALSE;
                let mut components = vec![Literal::FALSE; width];
                for (number, &pair) in pairs.iter().enumerate() {
                    let chosen = builder.equals(&parameters, number as u32);
                    guard = builder.or(guard, chosen);
                    for (_, component) in components.iter_mut().enumerate().filter(|(i, _)| bit(pair, *i)) {
                        *component = builder.or(*component, chosen);
                    }
                }
                add(guard, components.into_iter().map(Some).collect());
            }
        }
    }
    Relations { formulas: builder.formulas, relations, witnesses: Vec::new(), needs_witnesses: false }
}
