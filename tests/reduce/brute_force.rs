//! Inductive relations, found and checked by trying all states.
//!
//! Written from the contract of [`cusp::evidence::Relations`]. A state is a word: globals from bit 0 on,
//! then locals. Entry states are the globals and parameters of a state.

use std::collections::{BTreeMap, BTreeSet};

use cusp::evidence::{Formulas, Gate, Literal, PathEdge, Place as Where, Relation, Relations};
use cusp::model::cuts::Cuts;
use cusp::model::eval::{Values, eval};
use cusp::model::{Action, Assign, Call, Expr, Node, Place, ProcId, Procedure, Property, Task, Var};

/// (entry state, current state)
type Pair = (u32, u32);

/// Pairs by procedure and node, and failing entry states by procedure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    pub at: BTreeMap<(usize, Node), BTreeSet<Pair>>,
    pub failures: BTreeMap<usize, BTreeSet<u32>>,
}

impl Pairs {
    fn contains(&self, id: ProcId, node: Node, pair: Pair) -> bool {
        self.at.get(&(id.index(), node)).is_some_and(|pairs| pairs.contains(&pair))
    }

    fn fails(&self, id: ProcId, entry: u32) -> bool {
        self.failures.get(&id.index()).is_some_and(|entries| entries.contains(&entry))
    }
}

/// The semantics of a task, over words.
pub struct Semantics<'a> {
    pub task: &'a Task,
}

/// What one step from a state does.
#[derive(Default)]
struct Effects {
    /// Next states with their nodes.
    next: Vec<(Node, u32)>,
    /// Calls: callee and its entry.
    calls: Vec<(ProcId, u32)>,
    violates: bool,
}

impl Semantics<'_> {
    fn procedure(&self, id: ProcId) -> &Procedure {
        self.task.program.procedure(id)
    }

    fn globals(&self) -> usize {
        self.task.program.globals.len()
    }

    pub fn width(&self, id: ProcId) -> usize {
        self.globals() + self.procedure(id).locals.len()
    }

    pub fn entry_width(&self, id: ProcId) -> usize {
        self.globals() + self.procedure(id).params as usize
    }

    pub fn entry_of(&self, id: ProcId, state: u32) -> u32 {
        state & ((1 << self.entry_width(id)) - 1)
    }

    fn bit(&self, var: Var) -> usize {
        match var {
            Var::Global(i) => i as usize,
            Var::Local(i) => self.globals() + i as usize,
        }
    }

    fn values(&self, expr: Expr, read: impl Fn(Place) -> bool) -> Values {
        eval::<()>(self.task.program.exprs.ops(expr), |place| Ok(read(place))).expect("no variable is open")
    }

    fn holds(&self, expr: Expr, state: u32) -> Values {
        self.values(expr, |place| state >> self.bit(place.var) & 1 == 1)
    }

    pub fn is_enforced(&self, id: ProcId, state: u32) -> bool {
        self.procedure(id).enforce.is_none_or(|e| self.holds(e, state).can_hold)
    }

    /// All states of a procedure that satisfy `enforce`.
    pub fn states(&self, id: ProcId) -> Vec<u32> {
        (0..1 << self.width(id)).filter(|&state| self.is_enforced(id, state)).collect()
    }

    /// What can happen at a node; calls return what the pairs at the exits say.
    fn step(&self, id: ProcId, node: Node, state: u32, pairs: &Pairs) -> Effects {
        let mut effects = Effects::default();
        let procedure = self.procedure(id);
        if let Property::LabelUnreachable(label) = &self.task.property
            && procedure.nodes_labelled(label).any(|labelled| labelled == node)
        {
            effects.violates = true;
            return effects;
        }
        for (_, edge) in procedure.edges_from(node) {
            let mut results = Vec::new();
            match &edge.action {
                Action::Skip | Action::AtomicBegin | Action::AtomicEnd => results.push(state),
                Action::Assume(e) | Action::Assert(e) => {
                    let values = self.holds(*e, state);
                    let asserts = matches!(edge.action, Action::Assert(_));
                    let matters = self.task.property == Property::Assertions;
                    effects.violates |= asserts && matters && values.can_fail;
                    results.extend(values.can_hold.then_some(state));
                }
                Action::Assign(assign) => results = self.assign(state, assign),
                Action::Call(call) => results = self.call(state, call, pairs, &mut effects),
                Action::EndThread => {}
                Action::Spawn(_) | Action::Fork(_) => panic!("a sequential program"),
            }
            let results = results.into_iter().filter(|&state| self.is_enforced(id, state));
            effects.next.extend(results.map(|state| (edge.to, state)));
        }
        effects
    }

    fn with_choices(states: Vec<u32>, bit: usize, values: Values) -> Vec<u32> {
        let one = |state: u32| {
            let zero = values.can_fail.then_some(state & !(1 << bit));
            zero.into_iter().chain(values.can_hold.then_some(state | 1 << bit))
        };
        states.into_iter().flat_map(one).collect()
    }

    fn assign(&self, before: u32, assign: &Assign) -> Vec<u32> {
        let mut results = vec![before];
        for (target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            results = Self::with_choices(results, self.bit(target.var), self.holds(*value, before));
        }
        results.retain(|&after| {
            assign.constrain.iter().all(|&e| {
                let passive = self.task.program.exprs.reads(e).any(|place| place.passive);
                let read = |place: Place| {
                    let state = if place.primed { after } else { before };
                    state >> self.bit(place.var) & 1 == 1
                };
                passive || self.values(e, read).can_hold
            })
        });
        results
    }

    fn call(&self, state: u32, call: &Call, pairs: &Pairs, effects: &mut Effects) -> Vec<u32> {
        let globals = (1 << self.globals()) - 1;
        let mut entries = vec![state & globals];
        for (i, &arg) in call.args.iter().enumerate() {
            entries = Self::with_choices(entries, self.globals() + i, self.holds(arg, state));
        }
        let mut results = Vec::new();
        let first_return = self.procedure(call.callee).first_return();
        for entry in entries {
            effects.calls.push((call.callee, entry));
            effects.violates |= pairs.fails(call.callee, entry);
            for &(_, exit) in pairs
                .at
                .get(&(call.callee.index(), Procedure::EXIT))
                .into_iter()
                .flat_map(|set| set.range((entry, 0)..=(entry, u32::MAX)))
            {
                let mut after = state & !globals | exit & globals;
                for (slot, target) in (first_return..).zip(&call.targets) {
                    if let Some(var) = *target {
                        let value = exit >> self.bit(Var::Local(slot)) & 1;
                        after = after & !(1 << self.bit(var)) | value << self.bit(var);
                    }
                }
                results.push(after);
            }
        }
        results
    }

    /// Whether a set of pairs is a proof, with the given cuts besides entries and exits.
    pub fn check(&self, pairs: &Pairs, cuts: &BTreeSet<(usize, Node)>) -> Result<(), String> {
        let program = &self.task.program;
        for state in self.states(program.start) {
            let entry = self.entry_of(program.start, state);
            if !pairs.contains(program.start, Procedure::ENTRY, (entry, state)) {
                return Err(format!("start state {state:b} is not covered"));
            }
            if pairs.fails(program.start, entry) {
                return Err("a start state fails".to_owned());
            }
        }
        let is_cut = |id: ProcId, node: Node| {
            node == Procedure::ENTRY || node == Procedure::EXIT || cuts.contains(&(id.index(), node))
        };
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            every_cycle_is_cut(procedure, |node| is_cut(id, node))?;
            for node in (0..procedure.nodes as usize).map(Node::from_index).filter(|&n| is_cut(id, n)) {
                for &(entry, state) in pairs.at.get(&(id.index(), node)).into_iter().flatten() {
                    if self.is_enforced(id, state) {
                        self.block(id, node, (entry, state), pairs, &is_cut).map_err(|why| {
                            format!("{} at {node}, {entry:b} to {state:b}: {why}", procedure.name)
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn block(
        &self,
        id: ProcId,
        node: Node,
        (entry, state): Pair,
        pairs: &Pairs,
        is_cut: &impl Fn(ProcId, Node) -> bool,
    ) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![(node, state)];
        while let Some((node, state)) = open.pop() {
            let effects = self.step(id, node, state, pairs);
            if effects.violates && !pairs.fails(id, entry) {
                return Err(format!("violated at {node} with {state:b}"));
            }
            for (callee, callee_entry) in effects.calls {
                for state in self.states(callee) {
                    let covered = pairs.contains(callee, Procedure::ENTRY, (callee_entry, state));
                    if self.entry_of(callee, state) == callee_entry && !covered {
                        return Err(format!("entry {callee_entry:b} of {callee} is not covered"));
                    }
                }
            }
            for (to, after) in effects.next {
                if is_cut(id, to) {
                    if !pairs.contains(id, to, (entry, after)) {
                        return Err(format!("{after:b} at {to} is not covered"));
                    }
                } else if seen.insert((to, after)) {
                    open.push((to, after));
                }
            }
        }
        Ok(())
    }

    /// The smallest inductive set, from the start or from all entries; what is found is widened.
    pub fn explore(&self, all_entries: bool, widen: impl Fn(ProcId, Node, u32) -> Vec<u32>) -> Pairs {
        let program = &self.task.program;
        let mut pairs = Pairs::default();
        let add = |pairs: &mut Pairs, id: ProcId, node: Node, (entry, state): Pair| {
            let set = pairs.at.entry((id.index(), node)).or_default();
            widen(id, node, state).into_iter().fold(false, |new, state| new | set.insert((entry, state)))
        };
        let enter = |pairs: &mut Pairs, id: ProcId, entry: Option<u32>| {
            let mut changed = false;
            for state in self.states(id) {
                let own = self.entry_of(id, state);
                if entry.is_none_or(|entry| entry == own) {
                    changed |= add(pairs, id, Procedure::ENTRY, (own, state));
                }
            }
            changed
        };
        for id in program.procedure_ids().filter(|&id| all_entries || id == program.start) {
            enter(&mut pairs, id, None);
        }
        loop {
            let mut changed = false;
            for ((proc, node), set) in pairs.clone().at {
                let id = ProcId::from_index(proc);
                for (entry, state) in set.into_iter().filter(|&(_, state)| self.is_enforced(id, state)) {
                    let effects = self.step(id, node, state, &pairs);
                    if effects.violates {
                        changed |= pairs.failures.entry(proc).or_default().insert(entry);
                    }
                    for (callee, entry) in effects.calls {
                        changed |= enter(&mut pairs, callee, Some(entry));
                    }
                    for (to, after) in effects.next {
                        changed |= add(&mut pairs, id, to, (entry, after));
                    }
                }
            }
            if !changed {
                return pairs;
            }
        }
    }

    /// The cuts that engines use.
    pub fn loop_heads(&self) -> BTreeSet<(usize, Node)> {
        let program = &self.task.program;
        let heads = program.procedure_ids().zip(&program.procedures).map(|(id, procedure)| {
            Cuts::of(procedure).heads().map(|node| (id.index(), node)).collect::<Vec<_>>()
        });
        heads.flatten().collect()
    }

    /// Pairs at entries, exits and cuts as formulas: the guard says which values the components have together.
    pub fn relations(&self, pairs: &Pairs, cuts: &BTreeSet<(usize, Node)>) -> Relations {
        let mut formulas = Formulas::default();
        let mut relations = Vec::new();
        for (id, procedure) in self.task.program.procedure_ids().zip(&self.task.program.procedures) {
            let (entry, now) = (self.entry_width(id), self.width(id));
            for node in (0..procedure.nodes as usize).map(Node::from_index) {
                let always = node == Procedure::ENTRY || node == Procedure::EXIT;
                if !always && !cuts.contains(&(id.index(), node)) {
                    continue;
                }
                let set = pairs.at.get(&(id.index(), node)).into_iter().flatten();
                let rows: Vec<u64> = set.map(|&(e, s)| u64::from(e) | u64::from(s) << entry).collect();
                let (guard, components) = table(&mut formulas, entry + now, &rows);
                relations.push(Relation {
                    procedure: id,
                    place: Where::Node(node),
                    guard,
                    entry: components[..entry].to_vec(),
                    now: components[entry..].to_vec(),
                });
            }
            let rows: Vec<u64> =
                pairs.failures.get(&id.index()).into_iter().flatten().map(|&e| u64::from(e)).collect();
            let (guard, components) = table(&mut formulas, entry, &rows);
            let place = Where::Failure;
            relations.push(Relation { procedure: id, place, guard, entry: components, now: Vec::new() });
        }
        Relations { formulas, relations, witnesses: Vec::new(), needs_witnesses: false }
    }

    /// The relations that path edges stand for, at entries, exits and cuts.
    pub fn of_path_edges(&self, edges: &[PathEdge], cuts: &BTreeSet<(usize, Node)>) -> Relations {
        let mut formulas = Formulas::default();
        let mut relations = Vec::new();
        for edge in edges {
            let (id, node) = (edge.procedure, edge.node);
            let always = node == Procedure::ENTRY || node == Procedure::EXIT;
            if !always && !cuts.contains(&(id.index(), node)) {
                continue;
            }
            let mut entry: Vec<Option<Literal>> = Vec::new();
            let mut now: Vec<Option<Literal>> = Vec::new();
            for i in 0..self.entry_width(id) as u32 {
                entry.push(edge.entry.get(i).map(Literal::constant));
            }
            for i in 0..self.width(id) as u32 {
                now.push(edge.now.get(i).map(Literal::constant));
            }
            for i in (0..self.entry_width(id)).filter(|i| edge.linked >> i & 1 == 1) {
                let link = formulas.add(Gate::Parameter(i as u32));
                (entry[i], now[i]) = (Some(link), Some(link));
            }
            relations.push(Relation {
                procedure: id,
                place: Where::Node(node),
                guard: Literal::TRUE,
                entry,
                now,
            });
        }
        relations.sort_by_key(|relation| (relation.procedure, relation.place));
        // Every loop head is a cut, also where nothing comes.
        for &(proc, node) in cuts {
            let (procedure, place) = (ProcId::from_index(proc), Where::Node(node));
            if !relations.iter().any(|r| r.procedure == procedure && r.place == place) {
                let entry = vec![None; self.entry_width(procedure)];
                let now = vec![None; self.width(procedure)];
                relations.push(Relation { procedure, place, guard: Literal::FALSE, entry, now });
            }
        }
        relations.sort_by_key(|relation| (relation.procedure, relation.place));
        Relations { formulas, relations, witnesses: Vec::new(), needs_witnesses: false }
    }

    /// The pairs that relations stand for, and their cuts.
    pub fn expand(&self, relations: &Relations) -> (Pairs, BTreeSet<(usize, Node)>) {
        let mut pairs = Pairs::default();
        let mut cuts = BTreeSet::new();
        let order = |r: &Relation| (r.procedure, r.place);
        assert!(relations.relations.is_sorted_by_key(order), "relations are not in order");
        for relation in &relations.relations {
            let id = relation.procedure;
            assert_eq!(relation.entry.len(), self.entry_width(id));
            let rows = rows(&relations.formulas, relation);
            match relation.place {
                Where::Failure => {
                    assert!(relation.now.is_empty());
                    let set = pairs.failures.entry(id.index()).or_default();
                    set.extend(rows.into_iter().map(|row| row as u32));
                }
                Where::Node(node) => {
                    assert_eq!(relation.now.len(), self.width(id));
                    cuts.insert((id.index(), node));
                    let entry = self.entry_width(id);
                    let low = (1 << entry) - 1;
                    let set = pairs.at.entry((id.index(), node)).or_default();
                    set.extend(rows.into_iter().map(|row| ((row & low) as u32, (row >> entry) as u32)));
                }
            }
        }
        (pairs, cuts)
    }
}

/// A set of words as a guard over one parameter for each bit.
fn table(formulas: &mut Formulas, width: usize, rows: &[u64]) -> (Literal, Vec<Option<Literal>>) {
    let bits: Vec<Literal> = (0..width as u32).map(|i| formulas.add(Gate::Parameter(i))).collect();
    let mut none = Literal::TRUE;
    for row in rows {
        let mut all = Literal::TRUE;
        for (i, &bit) in bits.iter().enumerate() {
            all = formulas.add(Gate::And(all, if row >> i & 1 == 1 { bit } else { !bit }));
        }
        none = formulas.add(Gate::And(none, !all));
    }
    (!none, bits.into_iter().map(Some).collect())
}

/// All words that a relation stands for: entry bits, then current ones.
fn rows(formulas: &Formulas, relation: &Relation) -> BTreeSet<u64> {
    let components: Vec<Option<Literal>> = relation.entry.iter().chain(&relation.now).copied().collect();
    let cone = cone(formulas, components.iter().flatten().chain([&relation.guard]).copied());
    let mut used: Vec<u32> = Vec::new();
    for &gate in &cone {
        if let Gate::Parameter(p) = formulas.gates()[gate]
            && !used.contains(&p)
        {
            used.push(p);
        }
    }
    let mut found = BTreeSet::new();
    let mut values = vec![false; formulas.gates().len()];
    for choice in 0_u64..1 << used.len() {
        for &gate in &cone {
            let get = |l: Literal| values[l.gate()] != l.is_complemented();
            values[gate] = match formulas.gates()[gate] {
                Gate::True => true,
                Gate::Parameter(p) => used.iter().position(|&u| u == p).is_some_and(|i| choice >> i & 1 == 1),
                Gate::And(a, b) => get(a) && get(b),
                Gate::Xor(a, b) => get(a) != get(b),
            };
        }
        let get = |l: Literal| values[l.gate()] != l.is_complemented();
        if !get(relation.guard) {
            continue;
        }
        let mut words = vec![0_u64];
        for (i, component) in components.iter().enumerate() {
            if let Some(literal) = component {
                for word in &mut words {
                    *word |= u64::from(get(*literal)) << i;
                }
            } else {
                let others: Vec<u64> = words.iter().map(|w| w | 1 << i).collect();
                words.extend(others);
            }
        }
        found.extend(words);
    }
    found
}

/// The gates that some literals depend on, in order.
fn cone(formulas: &Formulas, roots: impl Iterator<Item = Literal>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = roots.map(Literal::gate).collect();
    while let Some(gate) = open.pop() {
        if seen.insert(gate)
            && let Gate::And(a, b) | Gate::Xor(a, b) = formulas.gates()[gate]
        {
            open.extend([a.gate(), b.gate()]);
        }
    }
    seen
}

/// Looks at what the entry leads to, and removes nodes without predecessors until none is left.
fn every_cycle_is_cut(procedure: &Procedure, is_cut: impl Fn(Node) -> bool) -> Result<(), String> {
    let mut left = BTreeSet::new();
    let mut open = vec![Procedure::ENTRY];
    while let Some(node) = open.pop() {
        if left.insert(node) {
            open.extend(procedure.edges_from(node).map(|(_, edge)| edge.to));
        }
    }
    left.retain(|&node| !is_cut(node));
    loop {
        let entered: BTreeSet<Node> = procedure
            .edges
            .iter()
            .filter(|edge| left.contains(&edge.from) && left.contains(&edge.to))
            .map(|edge| edge.to)
            .collect();
        if entered.is_empty() {
            return Ok(());
        }
        if entered.len() == left.len() {
            return Err(format!("{} has a cycle without a cut among {left:?}", procedure.name));
        }
        left = entered;
    }
}
