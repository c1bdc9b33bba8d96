//! The conditions on large steps, established by walks from every cut to the next ones.
//!
//! Values play no role here: a walk follows the steps of one thread from a cut, knowing whether the thread holds the
//! system there. What a walk finds are the cuts at which a thread can be, and whether it may hold the system there, so
//! all walks together start with the cuts at which threads begin and go on until nothing new is found. That a thread
//! is never anywhere else is a fact about all runs, which the checks of the invariants use.

use rustc_hash::FxHashSet;

use super::accesses::{Shared, Visibility};
use super::control::{Control, StackId, Step};
use crate::certify::values::{Answer, evaluate};
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Op, Var};

/// A thread at a cut, without its values.
pub(super) type Pair = (u32, bool);

/// What is known about a thread: whether it holds the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holds {
    No,
    Maybe,
    Yes,
}

/// How far a large step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Only internal steps so far.
    Before,
    /// In the action, and the thread certainly holds the system.
    Action,
    /// Behind the action.
    After,
}

/// What the large steps from a cut may do, whatever the values are.
#[derive(Default)]
pub(super) struct Summary {
    pub reads: Vec<Shared>,
    pub writes: Vec<Shared>,
    /// Whether one of them starts a thread, ends it where others can notice that, reads or writes `x$`, or enters or
    /// leaves a frame that others can notice.
    pub is_noticed: bool,
    /// Where they lead, and where threads that they start begin.
    pub leads_to: Vec<Pair>,
}

/// All threads at cuts, without their values, that the control of the program allows.
pub(super) struct LargeSteps {
    /// They are sorted.
    pub pairs: Vec<Pair>,
    /// For each of them, what its large steps may do.
    pub summaries: Vec<Summary>,
}

impl LargeSteps {
    /// The position of a thread at a cut, if there can be one.
    pub fn position(&self, pair: Pair) -> Option<usize> {
        self.pairs.binary_search(&pair).ok()
    }
}

/// Checks all conditions on large steps.
pub(super) fn check(control: &Control<'_>, visibility: &Visibility<'_>) -> Result<LargeSteps, Stop> {
    let Some(start) = control.cut(control.start) else {
        return reject("the stack with which the first thread starts is not a cut");
    };
    let walker = Walker::new(control, visibility);
    let mut found: Vec<(Pair, Summary)> = Vec::new();
    let mut seen: FxHashSet<Pair> = FxHashSet::default();
    seen.insert((start, false));
    let mut open = vec![(start, false)];
    while let Some(pair) = open.pop() {
        let summary = walker.walk(pair).map_err(|stop| stop.at(format_args!("from cut {}", pair.0)))?;
        open.extend(summary.leads_to.iter().copied().filter(|&pair| seen.insert(pair)));
        found.push((pair, summary));
    }
    found.sort_by_key(|&(pair, _)| pair);
    let (pairs, summaries) = found.into_iter().unzip();
    Ok(LargeSteps { pairs, summaries })
}

struct Walker<'a> {
    control: &'a Control<'a>,
    visibility: &'a Visibility<'a>,
    /// Whether the program contains atomic sections.
    has_sections: bool,
}

impl<'a> Walker<'a> {
    fn new(control: &'a Control<'a>, visibility: &'a Visibility<'a>) -> Self {
        let mut edges = control.program.procedures.iter().flat_map(|procedure| &procedure.edges);
        let has_sections = edges.any(|edge| matches!(edge.action, Action::AtomicBegin | Action::AtomicEnd));
        Self { control, visibility, has_sections }
    }

    /// Walks from a cut to the next ones.
    fn walk(&self, (cut, holds): Pair) -> Result<Summary, Stop> {
        let control = self.control;
        let Some(from) = control.cuts[cut as usize] else { return reject("no thread can have this stack") };
        let holds = if holds { Holds::Yes } else { Holds::No };
        let mut summary = Summary::default();
        let mut seen = FxHashSet::default();
        let mut open = vec![(from, Phase::Before, holds)];
        while let Some((stack, phase, holds)) = open.pop() {
            poll(control.budget)?;
            if phase == Phase::After && self.may_block(stack)? {
                return reject(format!("a thread may block {} behind its action", self.place(stack)));
            }
            for step in control.steps_from(stack) {
                let (phase, holds) = self.step(&mut summary, step, phase, holds)?;
                let Some(to) = step.to else { continue };
                match control.cut(to) {
                    Some(cut) => match holds {
                        Holds::No => summary.leads_to.push((cut, false)),
                        Holds::Yes => summary.leads_to.push((cut, true)),
                        Holds::Maybe => summary.leads_to.extend([(cut, false), (cut, true)]),
                    },
                    None => {
                        if seen.insert((to, phase, holds)) {
                            open.push((to, phase, holds));
                        }
                    }
                }
            }
        }
        summary.reads.sort_unstable();
        summary.reads.dedup();
        summary.writes.sort_unstable();
        summary.writes.dedup();
        summary.leads_to.sort_unstable();
        summary.leads_to.dedup();
        Ok(summary)
    }

    /// Checks one step of a walk, and says how far the large step is after it.
    fn step(
        &self,
        summary: &mut Summary,
        step: &Step,
        phase: Phase,
        before: Holds,
    ) -> Result<(Phase, Holds), Stop> {
        let control = self.control;
        let is_cut = |stack: Option<StackId>| stack.is_none_or(|stack| control.cut(stack).is_some());
        let accesses = self.visibility.accesses(control, step);
        let is_access = accesses.any();
        if phase == Phase::After && is_access {
            return reject(format!("a second access {} behind the action", self.place(step.from)));
        }
        if accesses.passive && !(is_cut(Some(step.from)) && is_cut(step.to)) {
            return reject(format!("no cuts surround the `x$` {}", self.place(step.from)));
        }
        if control.in_prologue(step.from)
            && step.to.is_some_and(|to| !control.in_prologue(to))
            && !is_cut(step.to)
        {
            return reject("the stack with which the prologue enters `main` is not a cut");
        }
        if let Some(created) = step.created {
            match control.cut(created) {
                Some(cut) => summary.leads_to.push((cut, false)),
                None => return reject(format!("no cut where the thread begins {}", self.place(created))),
            }
        }
        summary.is_noticed |= accesses.starts || accesses.ends || accesses.passive || accesses.frame;
        summary.reads.extend(accesses.reads);
        summary.writes.extend(accesses.writes);
        let after = self.holds_after(step, before);
        let phase = match (phase, before, after) {
            (Phase::After, _, _) => Phase::After,
            _ if step.created.is_some() => Phase::After,
            (_, _, Holds::Yes) => Phase::Action,
            (Phase::Before, Holds::No | Holds::Maybe, _) if !is_access => Phase::Before,
            _ => Phase::After,
        };
        Ok((phase, after))
    }

    /// What is known after a step about whether the thread holds the system. The rule is the one in the documentation of
    /// [`crate::certify`].
    fn holds_after(&self, step: &Step, before: Holds) -> Holds {
        let control = self.control;
        let Some(to) = step.to else { return Holds::No };
        if control.in_prologue(step.from) {
            return if control.in_prologue(to) { Holds::Yes } else { Holds::No };
        }
        let action = control.action(step);
        let Some(flag) = control.program.atomic_flag else {
            return match action {
                Some(Action::AtomicBegin) => Holds::Yes,
                Some(Action::AtomicEnd) => Holds::No,
                _ => before,
            };
        };
        let flag = Var::Global(flag);
        let assigned = match action {
            Some(Action::Assign(assign)) => assign.pairs.iter().find(|(target, _)| target.var == flag),
            _ => None,
        };
        let returned = control.returns(step).is_some_and(|(_, call)| call.targets.contains(&Some(flag)));
        match (action, assigned) {
            (Some(Action::AtomicBegin), _) => Holds::Yes,
            (_, Some(&(_, value))) => match control.program.exprs.ops(value) {
                [Op::Const(true)] => Holds::Yes,
                // Without sections, only the global was a reason to hold the system.
                [Op::Const(false)] if !self.has_sections || before == Holds::No => Holds::No,
                _ => Holds::Maybe,
            },
            (Some(Action::AtomicEnd), _) => Holds::Maybe,
            // Nobody else can change the global while a thread holds the system.
            _ if before == Holds::Yes && !returned => Holds::Yes,
            // If the global is true and nobody holds the system, whoever makes the next step holds it.
            _ => Holds::Maybe,
        }
    }

    /// Whether a thread with a stack may be unable to make a step, without violating the property.
    fn may_block(&self, stack: StackId) -> Result<bool, Stop> {
        let control = self.control;
        let steps = control.steps_from(stack);
        for step in steps {
            if self.is_always_possible(step)? {
                return Ok(false);
            }
        }
        let conditions = || {
            steps.iter().filter_map(|step| match control.action(step)? {
                Action::Assume(condition) if !self.enforces(step) => Some(*condition),
                _ => None,
            })
        };
        let exprs = &control.program.exprs;
        let negates = |long: &[Op], short: &[Op]| {
            long.split_last().is_some_and(|(last, rest)| *last == Op::Not && rest == short)
        };
        let both = |long: &[Op]| conditions().any(|condition| negates(long, exprs.ops(condition)));
        Ok(!conditions().any(|condition| both(exprs.ops(condition))))
    }

    /// Whether a condition must hold after a step because of `enforce`.
    fn enforces(&self, step: &Step) -> bool {
        let frame = self.control.enforced(step);
        frame.is_some_and(|frame| self.control.program.procedure(frame.procedure).enforce.is_some())
    }

    /// Whether a step is possible whatever the values are, or violates the property.
    fn is_always_possible(&self, step: &Step) -> Result<bool, Stop> {
        if self.enforces(step) {
            return Ok(false);
        }
        Ok(match self.control.action(step) {
            None | Some(Action::Skip | Action::EndThread | Action::Call(_)) => true,
            Some(Action::Assert(_)) if self.control.asserts() => true,
            Some(Action::Assert(condition) | Action::Assume(condition)) => {
                let values = evaluate(self.control.program.exprs.ops(*condition), |_| Err(()))?;
                values.can_be_true == Answer::Yes
            }
            Some(Action::Assign(assign)) => assign.constrain.is_empty(),
            Some(Action::Spawn(_) | Action::Fork(_) | Action::AtomicBegin | Action::AtomicEnd) => false,
        })
    }

    fn place(&self, stack: StackId) -> String {
        let (name, node) = (&self.control.procedure(stack).name, self.control.stack(stack).top.node);
        format!("at {node} of `{name}`")
    }
}
