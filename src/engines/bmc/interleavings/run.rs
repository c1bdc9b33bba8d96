//! From a model of the formula to a schedule.

use cusp_encodings::{Term, TermArena, VarId};

use crate::evidence::trace::Violation;
use crate::threads::formula::{Blocks, Instance};
use crate::threads::schedule::Schedule;

/// A large step of some slot.
pub(super) struct LargeStep {
    /// For every slot, whether it moves.
    pub moves: Vec<Term>,
    /// For every block that may be executed, by its position: whether it is, and its copy.
    pub copies: Vec<(usize, Term, Instance)>,
    /// For every slot, whether a new thread takes it.
    pub takes: Vec<Term>,
    /// Whether the property is violated on the way.
    pub fails: Term,
    /// Whether the step comes to its end.
    pub ends: Term,
    /// For every global, whether the step touches it, and whether it writes it.
    pub accesses: Vec<[Term; 2]>,
    /// Whether the step depends on all others.
    pub is_special: Term,
    /// Whether it cannot be exchanged with the step before it.
    pub depends: Term,
    /// Whether some thread holds the system before it.
    pub held_before: Term,
}

/// The number of context switches, in unary.
#[derive(Default)]
pub(super) struct Counter {
    /// Whether there are at least as many switches as the position says, plus one.
    pub at_least: Vec<Term>,
    /// The steps that were counted.
    pub steps: usize,
    /// The steps for which the weak order was demanded.
    pub ordered: usize,
}

/// Who makes which steps in a model. `is_true` gives the values of variables.
pub(super) fn schedule(
    blocks: &Blocks<'_>,
    arena: &TermArena,
    steps: &[LargeStep],
    is_true: impl Fn(VarId) -> bool,
) -> Schedule {
    let all: Vec<Term> = arena.terms().collect();
    let words = arena.simulate(&all, |var| if is_true(var) { u64::MAX } else { 0 });
    let holds = |term: Term| (words[term.index()] & 1 == 1) != term.is_complemented();
    // The number of the thread in each slot, and the number of threads started so far.
    let mut numbers = vec![0_u32];
    let mut started = 1;
    let mut schedule = Schedule { steps: Vec::new(), thread: 0, violation: Violation::Label };
    for step in steps {
        let Some(slot) = step.moves.iter().position(|&moves| holds(moves)) else { continue };
        let thread = numbers[slot];
        let Some((position, _, instance)) = step.copies.iter().find(|(_, at, _)| holds(*at)) else {
            continue;
        };
        let block = &blocks.blocks()[*position];
        let (path, violation) = blocks.path(block, |term| holds(instance.term(term)));
        schedule.steps.extend(path.iter().map(|&id| (thread, blocks.system.step(id).action)));
        if let Some((violation, by_created)) = violation {
            schedule.thread = if by_created { started } else { thread };
            schedule.violation = violation;
            break;
        }
        numbers.resize(step.takes.len().max(numbers.len()), 0);
        if let Some(slot) = step.takes.iter().position(|&takes| holds(takes)) {
            numbers[slot] = started;
            started += 1;
        }
    }
    schedule
}
