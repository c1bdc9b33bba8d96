//! Computes successors of regions, and decides whether a set of regions is closed under them.
//!
//! The successors of a region need not form a region: `x := y` with `y` open makes two variables equal. So a
//! [`Draft`] is a region that contains all successors, and names the variable to decide next if it may contain other
//! states as well. If the draft lies in the certificate, so do all successors. Otherwise the region before the step
//! is split at that variable, until the draft is exact.

use super::cover::{Class, Group};
use super::region::{Cell, Region, Words};
use super::values::{Answer, Values, evaluate};
use super::{Stop, poll};
use crate::budget::Budget;
use crate::model::{Action, Assign, Expr, Place, Program, Var};

/// An open variable on which a step is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// A variable of the region before the step.
    Before(Cell),
    /// A variable of the region after the step, to which the step gives a new value.
    After(Cell),
}

/// A part of a region, together with a part of the choices that a step from it may make.
#[derive(Clone, Debug)]
pub(super) struct Fragment<W> {
    /// The states before the step.
    pub before: Region<W>,
    /// New values that have been decided.
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

/// The words and bits in which the variables of a frame are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The index of the word that holds the globals.
    pub globals: usize,
    /// The index of the word that holds the locals.
    pub locals: usize,
    /// The bit of the first local in that word.
    pub offset: u32,
}

impl Scope {
    /// The cell of a variable.
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
    /// The states after the step.
    pub region: Region<W>,
    /// For each word, the variables to which the step gave a new value.
    pub fresh: W,
    /// The variable to decide next, if the region may be too large.
    pub undecided: Option<Pick>,
}

impl<W: Words> Draft<W> {
    /// The draft of a step that changes no variable.
    pub fn unchanged(before: &Region<W>) -> Self {
        let mut fresh = before.known.clone();
        fresh.as_mut().fill(0);
        Self { region: before.clone(), fresh, undecided: None }
    }

    /// Requires that something is possible. Returns `false` if it is possible in no state. If that depends on an open
    /// variable, the draft keeps all states and notes the variable as undecided.
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

    /// Gives a variable one of the values that an expression can take. Returns `false` if the expression cannot take
    /// the value that was decided for the variable.
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

    /// Gives a variable a value that does not depend on other variables: the given one, else the one that was
    /// decided, else any.
    pub fn set(&mut self, fragment: &Fragment<W>, cell: Cell, value: Option<bool>) {
        self.fresh.as_mut()[cell.word] |= cell.mask();
        self.region.overwrite(cell, value.or(fragment.chosen(cell)));
    }

    /// The value of a variable after the step or, if it is open, the variable to decide.
    pub fn read(&self, cell: Cell) -> Result<bool, Pick> {
        let fresh = self.fresh.as_ref()[cell.word] & cell.mask() != 0;
        self.region.get(cell).ok_or(if fresh { Pick::After(cell) } else { Pick::Before(cell) })
    }

    /// Requires that a condition can hold after the step.
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

/// The values that an expression can take before a step. `other` is the frame of the passive thread, if passive
/// variables are read.
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

/// The effect on the data of a step that neither adds nor removes a frame; `None` if the step is not possible.
/// `others` are the frames that passive variables refer to.
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
        // A condition with passive reads must be satisfiable for each passive thread on its own. If there is none, it
        // holds.
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

/// The effect of a step on a fragment.
pub(super) enum Effect<'a, W> {
    /// The step is not possible.
    Nothing,
    /// This variable must be decided before the control state after the step is known.
    Split(Pick),
    /// The step leads into a region.
    Successor {
        /// The regions of the certificate with the control state after the step.
        group: Option<&'a Group<W>>,
        /// A region that contains all successors.
        region: Region<W>,
        /// The classes of interchangeable threads in that region.
        classes: Vec<Class>,
        /// The variable to decide next, if the region may be too large.
        undecided: Option<Pick>,
    },
}

/// Finds a part of the successors that the certificate does not cover, if there is one.
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
