//! The relations of a certificate, indexed by procedure and program point after each was checked to be well-formed.

use rustc_hash::FxHashSet;

use crate::budget::Budget;
use crate::certify::{Stop, poll, reject};
use crate::evidence::{Gate, Literal, Place, Relation, Relations, Witness};
use crate::model::{Node, ProcId, Procedure, Program};

/// Finds relations and witnesses in a certificate.
pub(super) struct Index<'a> {
    /// The whole certificate.
    pub certificate: &'a Relations,
    /// The positions of the relations, sorted by procedure and place (entry failures, or a node).
    order: Vec<u32>,
    /// The positions of the witnesses, sorted by obligation and relation.
    witnesses: Vec<u32>,
}

impl<'a> Index<'a> {
    pub fn new(program: &Program, certificate: &'a Relations, budget: &Budget) -> Result<Self, Stop> {
        for (position, relation) in certificate.relations.iter().enumerate() {
            poll(budget)?;
            check_relation(program, certificate, relation)
                .map_err(|stop| stop.at(format_args!("relation {position}")))?;
        }
        for (position, witness) in certificate.witnesses.iter().enumerate() {
            check_witness(certificate, witness)
                .map_err(|stop| stop.at(format_args!("witness {position}")))?;
        }
        let key = |&i: &u32| {
            let relation = &certificate.relations[i as usize];
            (relation.procedure, relation.place)
        };
        let mut order: Vec<u32> = (0..certificate.relations.len() as u32).collect();
        order.sort_by_key(key);
        let mut witnesses: Vec<u32> = (0..certificate.witnesses.len() as u32).collect();
        witnesses.sort_by_key(|&i| {
            let witness = &certificate.witnesses[i as usize];
            (witness.obligation, witness.relation)
        });
        Ok(Self { certificate, order, witnesses })
    }

    /// The relation at a position.
    pub fn relation(&self, position: u32) -> &'a Relation {
        &self.certificate.relations[position as usize]
    }

    /// The positions of the relations at a place of a procedure.
    pub fn at(&self, procedure: ProcId, place: Place) -> &[u32] {
        let key = |&i: &u32| {
            let relation = self.relation(i);
            (relation.procedure, relation.place)
        };
        let first = self.order.partition_point(|i| key(i) < (procedure, place));
        let count = self.order[first..].partition_point(|i| key(i) == (procedure, place));
        &self.order[first..first + count]
    }

    /// The nodes of a procedure that have a relation, sorted.
    pub fn nodes(&self, procedure: ProcId) -> Vec<Node> {
        let first = self.order.partition_point(|&i| self.relation(i).procedure < procedure);
        let mine = self.order[first..].iter().map(|&i| self.relation(i));
        let mut nodes: Vec<Node> = mine
            .take_while(|relation| relation.procedure == procedure)
            .filter_map(|relation| match relation.place {
                Place::Node(node) => Some(node),
                Place::Failure => None,
            })
            .collect();
        nodes.dedup();
        nodes
    }

    /// The witnesses of the certificate for an obligation and a relation.
    pub fn witnesses(&self, obligation: u32, relation: u32) -> impl Iterator<Item = &'a Witness> + '_ {
        let witness = |i: u32| &self.certificate.witnesses[i as usize];
        let key = move |&i: &u32| (witness(i).obligation, witness(i).relation);
        let first = self.witnesses.partition_point(|i| key(i) < (obligation, relation));
        let mine = self.witnesses[first..].iter().take_while(move |i| key(i) == (obligation, relation));
        mine.map(move |&i| witness(i))
    }

    /// The parameters of a relation whose values do not follow from its components.
    pub fn open_parameters(&self, position: u32) -> Vec<u32> {
        let relation = self.relation(position);
        let gates = self.certificate.formulas.gates();
        let components = || relation.entry.iter().chain(&relation.now).copied().flatten();
        let mut determined = FxHashSet::default();
        for literal in components() {
            if let Gate::Parameter(parameter) = gates[literal.gate()] {
                determined.insert(parameter);
            }
        }
        let mut seen = FxHashSet::default();
        let mut open = Vec::new();
        let mut work: Vec<Literal> = components().chain([relation.guard]).collect();
        while let Some(literal) = work.pop() {
            if !seen.insert(literal.gate()) {
                continue;
            }
            match gates[literal.gate()] {
                Gate::True => {}
                Gate::Parameter(parameter) => {
                    if determined.insert(parameter) {
                        open.push(parameter);
                    }
                }
                Gate::And(a, b) | Gate::Xor(a, b) => work.extend([a, b]),
            }
        }
        open.sort_unstable();
        open
    }
}

fn check_relation(program: &Program, certificate: &Relations, relation: &Relation) -> Result<(), Stop> {
    let Some(procedure) = program.procedures.get(relation.procedure.index()) else {
        return reject(format!("there is no procedure {}", relation.procedure));
    };
    let interface = program.globals.len() + procedure.params as usize;
    if relation.entry.len() != interface {
        let name = &procedure.name;
        return reject(format!("`{name}` has {interface} globals and parameters, and it has others"));
    }
    let scope = match relation.place {
        Place::Failure => 0,
        Place::Node(node) => {
            if node.index() >= procedure.nodes as usize {
                return reject(format!("`{}` has no node {node}", procedure.name));
            }
            program.globals.len() + procedure.locals.len()
        }
    };
    if relation.now.len() != scope {
        let name = &procedure.name;
        return reject(format!("the current state should have {scope} values there in `{name}`"));
    }
    let components = relation.entry.iter().chain(&relation.now).flatten();
    if components.chain([&relation.guard]).any(|&literal| !certificate.formulas.contains(literal)) {
        return reject("it has a formula that does not exist");
    }
    Ok(())
}

fn check_witness(certificate: &Relations, witness: &Witness) -> Result<(), Stop> {
    if witness.relation as usize >= certificate.relations.len() {
        return reject(format!("there is no relation {}", witness.relation));
    }
    if witness.values.iter().any(|&(_, literal)| !certificate.formulas.contains(literal)) {
        return reject("it has a formula that does not exist");
    }
    Ok(())
}

/// The number of values in an entry state of a procedure: globals and parameters.
pub(super) fn interface(program: &Program, procedure: &Procedure) -> usize {
    program.globals.len() + procedure.params as usize
}
