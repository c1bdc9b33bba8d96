//! Checks relations as a proof about a sequential program. [`Relations`] states what is accepted.
//!
//! The theorem is the usual one for summaries. The following holds by induction over runs that have not violated the
//! property yet: every reachable state at a cut is in the relation there, paired with the entry state of its frame;
//! the effect of every call is in the relation at the callee's exit; and if the property is violated after an entry
//! state before the procedure returns, that entry state is among the procedure's failures. The check shows that no
//! start state is among the failures.
//!
//! # Premises and conclusions
//!
//! In a premise, a relation is a set from which a pair is drawn: its parameters become variables, further variables
//! choose between several relations at one place, and the query stays plain SAT. In a conclusion, values of the
//! parameters must be found that yield the given states. Where a component of the relation is a bare parameter, the
//! state determines it (the one-point rule); the other parameters get their values from the certificate's witnesses.
//! With conditions `M1, M2, ..` for the relations of the union and their witnesses, the obligation is met iff
//! `premise & !M1 & !M2 & ..` is unsatisfiable. With a wrong witness a condition can only become stronger than
//! membership, so wrong witnesses cannot make a wrong proof pass.
//!
//! # The numbers of obligations
//!
//! Obligation 0 is about the start. The others are ordered by procedure, and within a procedure by the cut at which
//! their block begins; only cuts that have a relation begin a block. The obligations of a block are
//! 1. one for each call edge, in the order in which the walk meets them: the entry of
//!    the callee;
//! 2. one for each cut where the block ends, by its node: what arrives there, over whichever edges;
//! 3. one for the failures.
//!
//! # The numbers of variables
//!
//! The variables of an obligation are those of its block. They are numbered from 0 in the order in which the block is
//! encoded, which depends on the program and the relations, but not on witnesses:
//! 1. all but one of the relations at the cut have a variable that chooses them, in their order;
//! 2. for each of these relations: its parameters, as the guard needs them (depth first, left before right), then
//!    those that components need and a variable for each component that may have any value, entry
//!    before current state;
//! 3. the choices of `enforce`;
//! 4. node by node: a variable for each edge of the node but the last (edges that end the thread do not
//!    count), then the choices of each edge in the order of the text of the model; for a call: its
//!    arguments, the callee's locals other than parameters and the choices of the callee's `enforce`, the
//!    parameters of the callee's failures that the call does not determine, and finally, for the exit
//!    relations of the callee, the same as in 1 and 2 for globals and return slots.
//!
//! [`obligations`] passes these terms to its caller, so that the engines need not compute the numbers themselves.

mod index;
mod instance;
mod traversal;

use cusp_encodings::{Term, TermArena, VarId};

use self::instance::Instances;
use self::traversal::{Traversal, View};
use super::encode::{Model, Terms};
use super::{Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::{Literal, Place, Relations};
use crate::model::{EdgeId, Node, ProcId, Task};

/// Checks that relations are inductive and without a violation.
pub(super) fn check(task: &Task, certificate: &Relations, budget: &Budget) -> Result<(), Stop> {
    let checker = Checker { witness_terms: Instances::new(&certificate.formulas) };
    Traversal::run(task, certificate, budget, checker)
}

/// An obligation whose states do not determine all parameters of a relation that should contain them.
#[derive(Debug)]
pub struct Obligation<'a> {
    /// The number of the obligation.
    pub number: u32,
    /// The arena that holds all terms.
    pub arena: &'a TermArena,
    /// The variable that witnesses refer to as number 0.
    pub first_variable: VarId,
    /// The condition under which an assignment to the variables counts.
    pub guard: Term,
    /// The entry state: globals and parameters.
    pub entry: &'a [Term],
    /// The current state: globals and locals; empty for a failure.
    pub now: &'a [Term],
    /// The positions of the relations whose union should contain the pair; never empty.
    pub targets: &'a [u32],
    /// For each of these relations, the parameters that the states do not determine.
    pub open: Vec<Vec<u32>>,
}

/// Calls `visit` for every obligation that needs witnesses, in order. The program must be well-formed, as those are
/// that [`crate::lower`] makes.
///
/// # Errors
/// Says what is wrong with the relations, or that the budget is used up, or returns the error of `visit`.
pub fn obligations(
    task: &Task,
    certificate: &Relations,
    budget: &Budget,
    visit: &mut dyn FnMut(&Obligation<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    Traversal::run(task, certificate, budget, Exporter { visit })
}

/// What an obligation is about.
enum What {
    Start,
    Call { procedure: ProcId, edge: EdgeId },
    Arrival { from: Node },
    Failure { from: Node },
}

/// States that should be in the union of the relations at a place.
struct Goal<'t> {
    number: u32,
    first_variable: u32,
    what: What,
    guard: Term,
    entry: &'t [Term],
    now: &'t [Term],
    procedure: ProcId,
    place: Place,
}

/// What a traversal does with each obligation.
trait Conclude {
    fn conclude(&mut self, view: &mut View<'_>, goal: &Goal<'_>) -> Result<(), Stop>;

    /// Requires that a term is unsatisfiable; the sentence says what is wrong otherwise.
    fn refute(&mut self, view: &mut View<'_>, term: Term, sentence: &str) -> Result<(), Stop>;
}

/// Checks every obligation with the solver.
struct Checker<'a> {
    witness_terms: Instances<'a>,
}

impl Conclude for Checker<'_> {
    fn conclude(&mut self, view: &mut View<'_>, goal: &Goal<'_>) -> Result<(), Stop> {
        let index = view.index;
        let mut outside = goal.guard;
        let mut open = None;
        for &position in index.at(goal.procedure, goal.place) {
            poll(view.questions.budget())?;
            if outside == Term::FALSE {
                break;
            }
            let mut witnesses = index.witnesses(goal.number, position).peekable();
            if witnesses.peek().is_none() {
                match member(view, goal, position, &[]) {
                    Ok(condition) => outside = view.terms().arena.and(outside, !condition),
                    Err(parameter) => open = open.or(Some((position, parameter))),
                }
            }
            for witness in witnesses {
                let mut values = Vec::with_capacity(witness.values.len());
                for &(parameter, literal) in &witness.values {
                    values.push((parameter, self.witness_value(view, goal, literal)?));
                }
                match member(view, goal, position, &values) {
                    Ok(condition) => outside = view.terms().arena.and(outside, !condition),
                    Err(parameter) => open = open.or(Some((position, parameter))),
                }
            }
        }
        if view.questions.is_impossible(outside)? {
            return Ok(());
        }
        let why = match open {
            Some((relation, parameter)) => {
                format!("; relation {relation} leaves parameter {parameter} open, and no witness fixes it")
            }
            None => String::new(),
        };
        reject(format!("obligation {}: {}{why}", goal.number, sentence(view.model, goal)))
    }

    fn refute(&mut self, view: &mut View<'_>, term: Term, sentence: &str) -> Result<(), Stop> {
        if view.questions.is_impossible(term)? { Ok(()) } else { reject(sentence) }
    }
}

impl Checker<'_> {
    /// A formula of a witness over the variables of its obligation.
    fn witness_value(
        &mut self,
        view: &mut View<'_>,
        goal: &Goal<'_>,
        literal: Literal,
    ) -> Result<Term, Stop> {
        let first = goal.first_variable;
        let mut variable = |terms: &mut Terms, number: u32| {
            let known = number < terms.variables() - first;
            known.then(|| terms.arena.var(VarId::new(first + number)))
        };
        self.witness_terms.formula(view.terms(), literal, &mut variable).or_else(|number| {
            reject(format!(
                "a witness refers to variable {number}, which obligation {} does not have",
                goal.number
            ))
        })
    }
}

/// The condition under which the states of a goal are in a relation, with the given values for the parameters that
/// the states do not determine.
///
/// # Errors
/// Returns a parameter that has no value.
fn member(view: &mut View<'_>, goal: &Goal<'_>, position: u32, values: &[(u32, Term)]) -> Result<Term, u32> {
    let relation = view.index.relation(position);
    let components = relation.entry.iter().chain(&relation.now).copied();
    let terms = goal.entry.iter().chain(goal.now).copied();
    let mut open = |_: &mut Terms, parameter: u32| {
        values.iter().find(|(other, _)| *other == parameter).map(|&(_, term)| term)
    };
    view.instances.relate(&mut view.questions.terms, relation.guard, components.zip(terms), &mut open)
}

/// The message for an obligation that is not met.
fn sentence(model: &Model<'_>, goal: &Goal<'_>) -> String {
    let name = |id: ProcId| &model.program.procedure(id).name;
    let whose = name(goal.procedure);
    match (&goal.what, goal.place) {
        (What::Start, _) => format!("a start state is not in the relation at the entry of `{whose}`"),
        (What::Call { procedure, edge }, _) => {
            format!(
                "{edge} of `{}` calls `{whose}` with an entry that is not in the relation there",
                name(*procedure)
            )
        }
        (What::Arrival { from }, Place::Node(node)) => {
            format!("from {from} of `{whose}`, a pair comes to {node} that is not in the relation there")
        }
        (What::Arrival { from } | What::Failure { from }, _) => format!(
            "from {from} of `{whose}`, the property may be violated, and the entry is not among the failures"
        ),
    }
}

/// Passes obligations to the caller of [`obligations`].
struct Exporter<'v> {
    visit: &'v mut dyn FnMut(&Obligation<'_>) -> Result<(), Stop>,
}

impl Conclude for Exporter<'_> {
    fn conclude(&mut self, view: &mut View<'_>, goal: &Goal<'_>) -> Result<(), Stop> {
        poll(view.questions.budget())?;
        let targets = view.index.at(goal.procedure, goal.place);
        if goal.guard == Term::FALSE {
            return Ok(());
        }
        let open: Vec<Vec<u32>> =
            targets.iter().map(|&position| view.index.open_parameters(position)).collect();
        if open.iter().all(Vec::is_empty) {
            return Ok(());
        }
        (self.visit)(&Obligation {
            number: goal.number,
            arena: &view.questions.terms.arena,
            first_variable: VarId::new(goal.first_variable),
            guard: goal.guard,
            entry: goal.entry,
            now: goal.now,
            targets,
            open,
        })
    }

    fn refute(&mut self, _: &mut View<'_>, _: Term, _: &str) -> Result<(), Stop> {
        Ok(())
    }
}
