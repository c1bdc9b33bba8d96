//! Relations as a proof about a sequential program: see [`Relations`] for what is accepted.
//!
//! The theorem is the usual one for summaries. By induction over runs that have not violated the
//! property yet, every reachable state at a cut is in the relation there, together with the entry state of
//! its frame; what a call does is in the relation at the callee's exit; and an entry state from which the
//! property is violated before the procedure returns is among its failures. No start state is.
//!
//! # Premises and conclusions
//!
//! On the side of the premises a relation is a set to draw from: its parameters become variables,
//! several relations at one place are told apart by variables that choose one, and the question stays
//! plain SAT. On the side of the conclusion, somebody has to say which values of the parameters
//! yield the given states. Where a component of the relation is a bare parameter, the state says it
//! (the one-point rule); otherwise the certificate's witnesses do. With conditions `M1, M2, ..` for the
//! relations of the union and their witnesses, the obligation is met iff `premise & !M1 & !M2 & ..` is
//! unsatisfiable. A witness can only make a condition stronger than membership, so wrong
//! witnesses are harmless.
//!
//! # The numbers of obligations
//!
//! Obligation 0 is the start. The others follow by procedure, and in a procedure by the cut that their block
//! begins at; only cuts that have a relation begin a block. In a block they are
//! 1. one for each call edge, in the order in which the walk meets them: the entry of
//!    the callee;
//! 2. one for each cut where the block ends, by its node: what arrives there, over whichever edges;
//! 3. one for the failures.
//!
//! # The numbers of variables
//!
//! The variables of an obligation are those of its block; they are numbered from 0 in the order in which
//! the block is encoded, which depends on the program and the relations, but not on witnesses:
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
//! [`obligations`] hands out the same terms, so that nobody has to count.

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

/// An obligation whose states do not determine the parameters of a relation they should be in.
#[derive(Debug)]
pub struct Obligation<'a> {
    /// Its number.
    pub number: u32,
    /// The arena of all terms.
    pub arena: &'a TermArena,
    /// The variable with number 0.
    pub first_variable: VarId,
    /// Which values of the variables count.
    pub guard: Term,
    /// The entry state: globals and parameters.
    pub entry: &'a [Term],
    /// The current state: globals and locals; empty for a failure.
    pub now: &'a [Term],
    /// The positions of the relations in whose union the pair should be; never empty.
    pub targets: &'a [u32],
    /// For each of them, the parameters that are not determined.
    pub open: Vec<Vec<u32>>,
}

/// Shows all obligations that need witnesses, in their order. The program must be well-formed, as those
/// that [`crate::lower`] makes are.
///
/// # Errors
/// What is wrong with the relations on their own, why there was no time to look, or what `visit` says.
pub fn obligations(
    task: &Task,
    certificate: &Relations,
    budget: &Budget,
    visit: &mut dyn FnMut(&Obligation<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    Traversal::run(task, certificate, budget, Exporter { visit })
}

/// What is shown, and where.
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

/// What is done with obligations.
trait Conclude {
    fn conclude(&mut self, view: &mut View<'_>, goal: &Goal<'_>) -> Result<(), Stop>;

    /// No values of the variables may make the term true.
    fn refute(&mut self, view: &mut View<'_>, term: Term, sentence: &str) -> Result<(), Stop>;
}

/// Asks the solver.
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
                "a witness speaks of variable {number}, which obligation {} does not have",
                goal.number
            ))
        })
    }
}

/// The condition under which the states of a goal are in a relation, with these values of the
/// parameters that they do not determine.
///
/// # Errors
/// A parameter that has no value.
fn member(view: &mut View<'_>, goal: &Goal<'_>, position: u32, values: &[(u32, Term)]) -> Result<Term, u32> {
    let relation = view.index.relation(position);
    let components = relation.entry.iter().chain(&relation.now).copied();
    let terms = goal.entry.iter().chain(goal.now).copied();
    let mut open = |_: &mut Terms, parameter: u32| {
        values.iter().find(|(other, _)| *other == parameter).map(|&(_, term)| term)
    };
    view.instances.relate(&mut view.questions.terms, relation.guard, components.zip(terms), &mut open)
}

/// What is wrong if an obligation is not met.
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

/// Shows obligations to somebody else.
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
