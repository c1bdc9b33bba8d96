//! Successors of regions, and whether a set of regions is closed under them.
//!
//! The successors of a region need not be a region: `x := y` with `y` open ties two variables to
//! each other. So a [`Draft`] is a region that contains all successors, and says which variable to
//! decide next if it is too large. A draft that lies in the certificate settles the matter at
//! once; otherwise the region before it is split, until the draft is exact.

use super::cover::{Class, Group};
use super::region::{Cell, Region, Words};
use super::values::{Answer, Values, evaluate};
use super::{Stop, poll};
use crate::budget::Budget;
use crate::model::{Action, Assign, Expr, Place, Program, Var};

/// An open variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// Of the region before the step.
    Before(Cell),
    /// Of the region after it, which the step gave it.
    After(Cell),
}

/// A part of a region, and of the choices in a step from it.
#[derive(Clone, Debug)]
pub(super) struct Fragment<W> {
    /// The states before.
    pub before: Region<W>,
    /// New values that were decided.
    pub chosen: Vec<(Cell, bool)>,
}

impl<W: Words> Fragment<W> {
    fn chosen(&self, cell: Cell) -> Option<bool> {
        self.chosen.iter().find(|(other, _)| *other == cell).map(|&(_, value)| value)
    }

    fn decide(&mut self, pick: Pick, value: bool) {
        match pick {
            Pick::Before(cell) => self.before.fix(cell, value),
            Pick::After(cell) => self.chosen.push((cell, value)),
        }
    }
}

/// Where the variables of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The word of the globals.
    pub globals: usize,
    /// The word of the locals.
    pub locals: usize,
    /// The bit of the first local.
    pub offset: u32,
}

impl Scope {
    /// Where a variable is.
    pub fn cell(self, var: Var) -> Cell {
        match var {
            Var::Global(i) => Cell { word: self.globals, bit: i },
            Var::Local(i) => Cell { word: self.locals, bit: self.offset + i },
        }
    }
}

/// A region that contains all successors of a fragment.
#[derive(Clone, Debug)]
pub(super) struct Draft<W> {
    /// The states after.
    pub region: Region<W>,
    /// Variables whose value is not the one of the same variable before, word by word.
    pub fresh: W,
    /// What to decide next, if the region may be too large.
    pub undecided: Option<Pick>,
}

impl<W: Words> Draft<W> {
    /// Nothing changes.
    pub fn unchanged(before: &Region<W>) -> Self {
        let mut fresh = before.known.clone();
        fresh.as_mut().fill(0);
        Self { region: before.clone(), fresh, undecided: None }
    }

    /// Drops the states in which something is not possible; `false` if that is all of them.
    pub fn require(&mut self, answer: Answer<Pick>) -> bool {
        match answer {
            Answer::No => false,
            Answer::Yes => true,
            Answer::Depends(pick) => {
                self.undecided.get_or_insert(pick);
                true
            }
        }
    }

    /// Gives a variable one of the values of an expression; `false` if it cannot have the one that
    /// was decided.
    pub fn assign(&mut self, fragment: &Fragment<W>, cell: Cell, values: Values<Pick>) -> bool {
        let value = fragment.chosen(cell).or(match (values.can_be_false, values.can_be_true) {
            (Answer::No, _) => Some(true),
            (_, Answer::No) => Some(false),
            _ => None,
        });
        self.fresh.as_mut()[cell.word] |= cell.mask();
        self.region.overwrite(cell, value);
        match value {
            Some(value) => self.require(values.can_be(value)),
            None => self.require(values.can_be_false) && self.require(values.can_be_true),
        }
    }

    /// Gives a variable a value that no other variable depends on.
    pub fn set(&mut self, fragment: &Fragment<W>, cell: Cell, value: Option<bool>) {
        self.fresh.as_mut()[cell.word] |= cell.mask();
        self.region.overwrite(cell, value.or(fragment.chosen(cell)));
    }

    /// The new value of a variable, or what to decide for it.
    pub fn read(&self, cell: Cell) -> Result<bool, Pick> {
        let fresh = self.fresh.as_ref()[cell.word] & cell.mask() != 0;
        self.region.get(cell).ok_or(if fresh { Pick::After(cell) } else { Pick::Before(cell) })
    }

    /// Demands that a condition can hold after the step.
    pub fn enforce(
        &mut self,
        program: &Program,
        scope: Scope,
        condition: Option<Expr>,
    ) -> Result<bool, Stop> {
        let Some(condition) = condition else { return Ok(true) };
        let values = evaluate(program.exprs.ops(condition), |place| self.read(scope.cell(place.var)))?;
        Ok(self.require(values.can_be_true))
    }
}

/// The values of an expression before a step; `other` is the passive thread, if one is meant.
pub(super) fn values_before<W: Words>(
    program: &Program,
    region: &Region<W>,
    own: Scope,
    other: Option<Scope>,
    expr: Expr,
) -> Result<Values<Pick>, Stop> {
    evaluate(program.exprs.ops(expr), |place| read_before(region, own, other, place))
}

fn read_before<W: Words>(
    region: &Region<W>,
    own: Scope,
    other: Option<Scope>,
    place: Place,
) -> Result<bool, Pick> {
    let scope = if place.passive { other.unwrap_or(own) } else { own };
    let cell = scope.cell(place.var);
    region.get(cell).ok_or(Pick::Before(cell))
}

/// The data part of a step that keeps all frames; `None` if it is not possible. `others` are the
/// frames that passive variables mean.
pub(super) fn local_step<W: Words>(
    program: &Program,
    action: &Action,
    own: Scope,
    others: &[Scope],
    fragment: &Fragment<W>,
) -> Result<Option<Draft<W>>, Stop> {
    let mut draft = Draft::unchanged(&fragment.before);
    let possible = match action {
        Action::Assume(condition) | Action::Assert(condition) => {
            let values = values_before(program, &fragment.before, own, None, *condition)?;
            draft.require(values.can_be_true)
        }
        Action::Assign(assign) => assign_step(program, assign, own, others, fragment, &mut draft)?,
        _ => true,
    };
    Ok(possible.then_some(draft))
}

fn assign_step<W: Words>(
    program: &Program,
    assign: &Assign,
    own: Scope,
    others: &[Scope],
    fragment: &Fragment<W>,
    draft: &mut Draft<W>,
) -> Result<bool, Stop> {
    let before = &fragment.before;
    for &(target, value) in &assign.pairs {
        if target.passive {
            for &other in others {
                let values = values_before(program, before, own, Some(other), value)?;
                if !draft.assign(fragment, other.cell(target.var), values) {
                    return Ok(false);
                }
            }
        } else {
            let values = values_before(program, before, own, None, value)?;
            if !draft.assign(fragment, own.cell(target.var), values) {
                return Ok(false);
            }
        }
    }
    let holds = |draft: &Draft<W>, condition: Expr, other: Option<Scope>| {
        let values = evaluate(program.exprs.ops(condition), |place| {
            if place.primed {
                let scope = if place.passive { other.unwrap_or(own) } else { own };
                draft.read(scope.cell(place.var))
            } else {
                read_before(before, own, other, place)
            }
        })?;
        Ok(values.can_be_true)
    };
    for &condition in &assign.constrain {
        // For every passive thread on its own; if there is none, there is nothing to hold.
        let passive = program.exprs.reads(condition).any(|place| place.passive);
        let concerned: Vec<Option<Scope>> =
            if passive { others.iter().copied().map(Some).collect() } else { vec![None] };
        for other in concerned {
            let answer = holds(draft, condition, other)?;
            if !draft.require(answer) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// What a step does to a fragment.
pub(super) enum Effect<'a, W> {
    /// It is not possible.
    Nothing,
    /// This must be decided before control after the step is known.
    Split(Pick),
    /// It leads into a region.
    Successor {
        /// What the certificate has to offer there.
        group: Option<&'a Group<W>>,
        /// Contains all successors.
        region: Region<W>,
        /// Its interchangeable threads.
        classes: Vec<Class>,
        /// What to decide next, if the region may be too large.
        undecided: Option<Pick>,
    },
}

/// A successor that the certificate lacks, if there is one.
pub(super) fn missing_successor<'a, W: Words + 'a>(
    before: Region<W>,
    step: impl Fn(&Fragment<W>) -> Result<Effect<'a, W>, Stop>,
    budget: &Budget,
) -> Result<Option<Region<W>>, Stop> {
    let mut stack = vec![Fragment { before, chosen: Vec::new() }];
    while let Some(mut fragment) = stack.pop() {
        poll(budget)?;
        let pick = match step(&fragment)? {
            Effect::Nothing => continue,
            Effect::Split(pick) => pick,
            Effect::Successor { group, region, classes, undecided } => {
                if let Some(group) = group
                    && group.contains(&region, &classes, budget)?
                {
                    continue;
                }
                match (undecided, group) {
                    (Some(pick), _) => pick,
                    (None, None) => return Ok(Some(region)),
                    (None, Some(group)) => match group.hole(region, &classes, budget)? {
                        None => continue,
                        hole => return Ok(hole),
                    },
                }
            }
        };
        let mut half = fragment.clone();
        half.decide(pick, false);
        stack.push(half);
        fragment.decide(pick, true);
        stack.push(fragment);
    }
    Ok(None)
}

/// A part of a region in which an expression can be false, if there is one.
pub(super) fn falsifying<W: Words>(
    program: &Program,
    region: Region<W>,
    scope: Scope,
    expr: Expr,
    budget: &Budget,
) -> Result<Option<Region<W>>, Stop> {
    let mut stack = vec![region];
    while let Some(mut region) = stack.pop() {
        poll(budget)?;
        match values_before(program, &region, scope, None, expr)?.can_be_false {
            Answer::No => {}
            Answer::Yes => return Ok(Some(region)),
            Answer::Depends(Pick::Before(cell) | Pick::After(cell)) => {
                let mut half = region.clone();
                half.fix(cell, false);
                stack.push(half);
                region.fix(cell, true);
                stack.push(region);
            }
        }
    }
    Ok(None)
}
