//! Lifts relations about the reduced program to relations about the original one.
//!
//! A lifted relation says the same about the kept variables. It says nothing about the removed ones, nor about dead
//! locals some of whose assignments were removed. It is restricted to the known values at its node and at the entry.
//! [`crate::model::reduce`] explains why the result is inductive. A relation that holds at a node also holds at the
//! original nodes through which control passes on the way to it; it is stated there, too, if one of them is a loop
//! head of the original program. At nodes that control cannot reach, the relation is empty.

use super::Unliftable;
use super::cycles::cut_cycles;
use crate::evidence::{Certificate, Formulas, Gate, Literal, Place, Relation, Relations};
use crate::model::cuts::Cuts;
use crate::model::reduce::Restore;
use crate::model::{Action, Node, ProcId, Procedure, Program, Property, Task, Var};

/// Lifts inductive relations. Witnesses refer to the obligations of one program, so they are not lifted but computed
/// again where they are needed.
pub(super) fn lift(restore: &Restore<'_>, all: Relations) -> Result<Relations, Unliftable> {
    let mut lifting = Lifting::new(restore, all.formulas);
    lifting.needs_witnesses = all.needs_witnesses || !all.witnesses.is_empty();
    let mut relations = Vec::with_capacity(all.relations.len());
    // The relations of one procedure are adjacent.
    for group in all.relations.chunk_by(|a, b| a.procedure == b.procedure) {
        let places = LiftedNodes::of(restore, group[0].procedure);
        for relation in group {
            lifting.relation(relation, &places, &mut relations);
        }
    }
    lifting.cut_the_rest(&mut relations)?;
    let needs_witnesses = lifting.needs_witnesses;
    Ok(Relations { formulas: lifting.formulas, relations, witnesses: Vec::new(), needs_witnesses })
}

/// Lifts a proof by control flow alone: the reachable nodes with the known values there form an inductive relation.
pub(super) fn of_control(restore: &Restore<'_>) -> Result<Certificate, Unliftable> {
    if !violation_is_in_reach(restore.original) {
        return Ok(Certificate::NoViolationInReach);
    }
    let program = &restore.original.program;
    let mut lifting = Lifting::new(restore, Formulas::default());
    let mut relations = Vec::new();
    for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
        let mut nodes = vec![Procedure::ENTRY, Procedure::EXIT];
        nodes.extend(Cuts::of(procedure).heads());
        nodes.retain(|&node| restore.constants.is_reachable(id, node));
        nodes.sort_unstable();
        nodes.dedup();
        relations.extend(nodes.into_iter().map(|node| lifting.facts(id, Place::Node(node), Literal::TRUE)));
    }
    lifting.cut_the_rest(&mut relations)?;
    let (formulas, witnesses) = (lifting.formulas, Vec::new());
    Ok(Certificate::Relations(Relations { formulas, relations, witnesses, needs_witnesses: false }))
}

/// For each node of a reduced procedure, the original nodes at which its relations are stated.
struct LiftedNodes(Vec<Vec<Node>>);

impl LiftedNodes {
    fn of(restore: &Restore<'_>, reduced: ProcId) -> Self {
        let map = &restore.map.procedures[reduced.index()];
        let procedure = restore.original.program.procedure(map.original);
        let through = &restore.map.through[map.original.index()];
        let mut places: Vec<Vec<Node>> = map.nodes.iter().map(|&node| vec![node]).collect();
        // From the entry, control may pass through other original nodes before it reaches the node whose edges these
        // are.
        places[Procedure::ENTRY.index()] = vec![Procedure::ENTRY];
        let mut new = vec![None; procedure.nodes as usize];
        (0..).zip(&map.nodes).for_each(|(i, node)| new[node.index()] = Some(i));
        // The entry may have taken over a loop head.
        for head in
            Cuts::of(procedure).heads().filter(|&head| restore.constants.is_reachable(map.original, head))
        {
            let mut node = head;
            while let Some(&way) = through[node.index()].first() {
                node = procedure.edge(way).to;
            }
            if let Some(new) = new[node.index()]
                && !places[new].contains(&head)
            {
                places[new].push(head);
            }
        }
        Self(places)
    }
}

struct Lifting<'a> {
    restore: &'a Restore<'a>,
    program: &'a Program,
    formulas: Formulas,
    /// Whether some parameter may no longer be determined by a component.
    needs_witnesses: bool,
}

impl<'a> Lifting<'a> {
    fn new(restore: &'a Restore<'a>, formulas: Formulas) -> Self {
        Self { restore, program: &restore.original.program, formulas, needs_witnesses: false }
    }

    fn relation(&mut self, relation: &Relation, places: &LiftedNodes, lifted: &mut Vec<Relation>) {
        let id = self.restore.map.procedures[relation.procedure.index()].original;
        match relation.place {
            Place::Failure => lifted.extend(self.narrowed(id, Place::Failure, relation)),
            Place::Node(node) => {
                for &node in &places.0[node.index()] {
                    lifted.extend(self.narrowed(id, Place::Node(node), relation));
                }
            }
        }
    }

    /// The relation at a place of the original program; `None` if control cannot reach it.
    fn narrowed(&mut self, id: ProcId, place: Place, relation: &Relation) -> Option<Relation> {
        let at = match place {
            Place::Node(node) => node,
            Place::Failure => Procedure::ENTRY,
        };
        if !self.restore.constants.is_reachable(id, at) {
            return None;
        }
        let mut lifted = self.facts(id, place, relation.guard);
        let map = &self.restore.map;
        let locals = &map.procedures[relation.procedure.index()].locals;
        let globals = self.program.globals.len();
        let position = |i: usize| match map.globals.get(i) {
            Some(&global) => global as usize,
            None => globals + locals[i - map.globals.len()] as usize,
        };
        let now: Vec<Option<Literal>> = (0..)
            .zip(&relation.now)
            .map(|(i, &value)| value.filter(|_| !self.is_stale(relation, i)))
            .collect();
        let is_bare = |value: &Option<Literal>| value.is_some_and(|value| value.gate() != 0);
        self.needs_witnesses |= now.iter().zip(&relation.now).any(|(new, old)| new != old && is_bare(old));
        for (values, facts) in [(&relation.entry, &mut lifted.entry), (&now, &mut lifted.now)] {
            for (i, &value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let slot = &mut facts[position(i)];
                if let Some(fact) = *slot {
                    let agrees = if fact == Literal::TRUE { value } else { !value };
                    lifted.guard = and(&mut self.formulas, lifted.guard, agrees);
                }
                *slot = Some(value);
            }
        }
        Some(lifted)
    }

    /// Whether a current value of the relation says nothing about the original program.
    fn is_stale(&self, relation: &Relation, position: u32) -> bool {
        let (Place::Node(node), Some(live)) = (relation.place, &self.restore.live) else { return false };
        let Some(local) = position.checked_sub(self.restore.map.globals.len() as u32) else { return false };
        self.restore.map.procedures[relation.procedure.index()].is_stale[local as usize]
            && !live.is_live(relation.procedure, node, Var::Local(local))
    }

    /// The relation that contains all values known at a place.
    fn facts(&self, id: ProcId, place: Place, guard: Literal) -> Relation {
        let procedure = self.program.procedure(id);
        let known = |node: Node, locals: usize| {
            let globals = (0..self.program.globals.len() as u32).map(Var::Global);
            let vars = globals.chain((0..locals as u32).map(Var::Local));
            let known = |var| self.restore.constants.known(id, node, var).map(Literal::constant);
            vars.map(known).collect::<Vec<_>>()
        };
        let now = match place {
            Place::Node(node) => known(node, procedure.locals.len()),
            Place::Failure => Vec::new(),
        };
        let entry = known(Procedure::ENTRY, procedure.params as usize);
        Relation { procedure: id, place, guard, entry, now }
    }

    /// Cuts the cycles that control cannot go through, and sorts the relations.
    fn cut_the_rest(&mut self, relations: &mut Vec<Relation>) -> Result<(), Unliftable> {
        relations.sort_by_key(|relation| (relation.procedure, relation.place));
        let mut rest = relations.iter().peekable();
        let mut added = Vec::new();
        for (id, procedure) in self.program.procedure_ids().zip(&self.program.procedures) {
            let mut is_cut = vec![false; procedure.nodes as usize];
            is_cut[Procedure::ENTRY.index()] = true;
            while let Some(relation) = rest.next_if(|relation| relation.procedure == id) {
                if let Place::Node(node) = relation.place {
                    is_cut[node.index()] = true;
                }
            }
            let is_reachable = |node| self.restore.constants.is_reachable(id, node);
            for node in cut_cycles(procedure, &mut is_cut, is_reachable)? {
                let place = Place::Node(node);
                let entry = vec![None; self.program.globals.len() + procedure.params as usize];
                let now = vec![None; self.program.globals.len() + procedure.locals.len()];
                added.push(Relation { procedure: id, place, guard: Literal::FALSE, entry, now });
            }
        }
        relations.extend(added);
        relations.sort_by_key(|relation| (relation.procedure, relation.place));
        Ok(())
    }
}

/// A conjunction; makes no gate if one of the operands is constant.
fn and(formulas: &mut Formulas, left: Literal, right: Literal) -> Literal {
    match (left, right) {
        (Literal::FALSE, _) | (_, Literal::FALSE) => Literal::FALSE,
        (Literal::TRUE, other) | (other, Literal::TRUE) => other,
        _ => formulas.add(Gate::And(left, right)),
    }
}

/// Whether control can reach a statement that might violate the property, whatever the values of variables.
fn violation_is_in_reach(task: &Task) -> bool {
    let program = &task.program;
    let mut seen: Vec<Vec<bool>> = program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
    let mut open = vec![(program.start, Procedure::ENTRY)];
    while let Some((id, node)) = open.pop() {
        if std::mem::replace(&mut seen[id.index()][node.index()], true) {
            continue;
        }
        let procedure = program.procedure(id);
        if let Property::LabelUnreachable(label) = &task.property
            && procedure.nodes_labelled(label).any(|labelled| labelled == node)
        {
            return true;
        }
        for (_, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::Assert(_) if task.property == Property::Assertions => return true,
                Action::EndThread => continue,
                Action::Call(call) => open.push((call.callee, Procedure::ENTRY)),
                _ => {}
            }
            open.push((id, edge.to));
        }
    }
    false
}
