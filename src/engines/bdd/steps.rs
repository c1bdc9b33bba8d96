//! Steps within a procedure, as relations.
//!
//! The image of a set is computed in two parts. The first part removes the old values: the set is conjoined with
//! `before`, which relates old values to next values, the assigned variables are quantified, and next values are
//! renamed to current ones. The second part adds the new values: the result is conjoined with `after`, and
//! variables that are dead from here on are quantified. An assigned variable needs a next value only if its right
//! side reads an assigned variable or `constrain` reads its new value. All others take their value in the second
//! part, so `x1, ..., xn := *, ..., *` costs one quantification.

use super::diagrams::{Diagram, DiagramResult, Diagrams, Renaming};
use super::frames::Frames;
use super::values::{Values, values};
use crate::model::{Action, Assign, Edge, Expr, Node, Place, ProcId, Var};

/// What is fixed throughout a search: the meaning of the variables, and the tables of the diagrams.
pub(super) struct Space<'a> {
    pub frames: Frames<'a>,
    pub diagrams: Diagrams,
}

impl Space<'_> {
    /// The values of an expression in the current state of a procedure.
    pub fn values(&self, procedure: ProcId, expr: Expr) -> DiagramResult<Values> {
        self.values_between(procedure, expr, |_| false)
    }

    /// The values of an expression, where primed reads of some variables mean their next values.
    fn values_between(
        &self,
        procedure: ProcId,
        expr: Expr,
        has_next: impl Fn(Var) -> bool,
    ) -> DiagramResult<Values> {
        let order = &self.frames.order;
        let read = |place: Place| {
            if place.primed && has_next(place.var) {
                order.next(procedure, place.var)
            } else {
                order.now(procedure, place.var)
            }
        };
        values(self.frames.task.program.exprs.ops(expr), &self.diagrams, read)
    }

    /// The states that a procedure's `enforce` allows.
    pub fn enforced(&self, procedure: ProcId) -> DiagramResult<Diagram> {
        match self.frames.procedure(procedure).enforce {
            Some(condition) => Ok(self.values(procedure, condition)?.can_hold),
            None => Ok(self.diagrams.truth()),
        }
    }

    /// The variables that are known at `from` but not at `to`, except those that are assigned.
    pub fn dying(
        &self,
        procedure: ProcId,
        from: Node,
        to: Node,
        is_assigned: impl Fn(Var) -> bool,
    ) -> DiagramResult<Diagram> {
        let frames = &self.frames;
        // Both lists are sorted in the order of the scope.
        let mut kept = frames.known(procedure, to).peekable();
        let mut dying = Vec::new();
        for var in frames.known(procedure, from) {
            while kept.next_if(|&other| other < var).is_some() {}
            if kept.peek() != Some(&var) && !is_assigned(var) {
                dying.push(frames.order.now(procedure, var));
            }
        }
        self.diagrams.cube(dying)
    }
}

/// An assigned variable; a walk back over the step needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assigned {
    pub var: Var,
    /// Whether `before` contains its next value. Otherwise `after` contains its current value, if it is live.
    pub has_next: bool,
}

/// A step that is not a call.
pub(super) struct Transition {
    /// The relation between current values and next values.
    pub before: Diagram,
    written: Diagram,
    renaming: Option<Renaming>,
    /// A condition on the current values after the step.
    pub after: Diagram,
    dead: Diagram,
    /// The states in which an assertion can fail.
    pub can_fail: Option<Diagram>,
    /// The assigned variables, sorted.
    pub assigned: Vec<Assigned>,
}

impl Transition {
    /// The step along an edge.
    pub fn of(space: &Space<'_>, procedure: ProcId, edge: &Edge) -> DiagramResult<Self> {
        let truth = space.diagrams.truth();
        let mut transition = Self {
            before: truth.clone(),
            written: truth.clone(),
            renaming: None,
            after: truth.clone(),
            dead: truth,
            can_fail: None,
            assigned: Vec::new(),
        };
        match &edge.action {
            Action::Assume(condition) => transition.after = space.values(procedure, *condition)?.can_hold,
            Action::Assert(condition) => {
                let values = space.values(procedure, *condition)?;
                transition.after = values.can_hold;
                transition.can_fail = Some(values.can_fail);
            }
            Action::Assign(assign) => transition.assign(space, procedure, edge.to, assign)?,
            _ => {}
        }
        transition.dead = space.dying(procedure, edge.from, edge.to, |var| transition.assigns(var))?;
        Ok(transition)
    }

    fn assign(
        &mut self,
        space: &Space<'_>,
        procedure: ProcId,
        to: Node,
        assign: &Assign,
    ) -> DiagramResult<()> {
        let Space { frames, diagrams } = space;
        let exprs = &frames.task.program.exprs;
        // There is no other thread, so passive targets do not exist, and conditions on all other threads hold.
        let own = || assign.pairs.iter().filter(|(target, _)| !target.passive);
        let mut targets: Vec<Var> = own().map(|(target, _)| target.var).collect();
        targets.sort_unstable();
        let is_assigned = |var: Var| targets.binary_search(&var).is_ok();
        let constrain: Vec<Expr> = assign
            .constrain
            .iter()
            .copied()
            .filter(|&condition| !exprs.reads(condition).any(|place| place.passive))
            .collect();
        let mut asked: Vec<Var> = constrain
            .iter()
            .flat_map(|&c| exprs.reads(c))
            .filter(|place| place.primed)
            .map(|p| p.var)
            .collect();
        asked.sort_unstable();
        let is_asked = |var: Var| asked.binary_search(&var).is_ok();

        let (mut before, mut after) = (Vec::new(), Vec::new());
        let (mut written, mut renamed) = (Vec::new(), Vec::new());
        for &(target, value) in own() {
            let var = target.var;
            let (now, next) = (frames.order.now(procedure, var), frames.order.next(procedure, var));
            let is_live = frames.is_live(procedure, to, var);
            let has_next = is_asked(var) || is_live && exprs.reads(value).any(|place| is_assigned(place.var));
            written.push(now);
            if has_next {
                before.push((next, space.values(procedure, value)?.taken_by(next, diagrams)?));
                if is_live {
                    renamed.push((next, now));
                } else {
                    written.push(next);
                }
            } else if is_live {
                after.push((now, space.values(procedure, value)?.taken_by(now, diagrams)?));
            }
            self.assigned.push(Assigned { var, has_next });
        }
        self.assigned.sort_unstable_by_key(|assigned| assigned.var);
        // Parts with lower variables come first, so that each conjunction mostly adds nodes on top.
        let conjunction = |mut parts: Vec<(u32, Diagram)>| {
            parts.sort_by_key(|part| std::cmp::Reverse(part.0));
            parts.iter().try_fold(diagrams.truth(), |all, (_, part)| diagrams.and(part, &all))
        };
        self.before = conjunction(before)?;
        for condition in constrain {
            let holds = space.values_between(procedure, condition, is_assigned)?.can_hold;
            self.before = diagrams.and(&self.before, &holds)?;
        }
        self.after = diagrams.and(&conjunction(after)?, &space.enforced(procedure)?)?;
        self.written = diagrams.cube(written)?;
        self.renaming = diagrams.renaming(&renamed);
        Ok(())
    }

    /// Whether the step assigns a variable.
    pub fn assigns(&self, var: Var) -> bool {
        self.assigned.binary_search_by_key(&var, |assigned| assigned.var).is_ok()
    }

    /// The states after the step.
    pub fn image(&self, from: &Diagram, diagrams: &Diagrams) -> DiagramResult<Diagram> {
        let moved = diagrams.and_exists(from, &self.before, &self.written)?;
        let renamed = diagrams.rename(&moved, self.renaming.as_ref())?;
        diagrams.and_exists(&renamed, &self.after, &self.dead)
    }
}
