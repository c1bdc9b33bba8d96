//! Persistent sets of threads: which threads cannot get in the way of which others.
//!
//! Implements: P. Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996, chapter 4, computed from
//! the program text; [errata 21](crate::errata::item_21) says what goes wrong as printed elsewhere.
//!
//! A state from which only a set `G` of its threads is followed satisfies the conditions of
//! [`crate::evidence::threads::Followed`], where the proof is. What is known before the search, for pairs of cuts:
//! - what the large steps from a cut read and write of the globals, whatever the values (`own`);
//! - what a thread at a cut, and all threads that it may start, ever read and write from there on (`future`).
//!
//! `t` may lead if its large steps start no thread and do not end it where others can notice that. `t` is independent of
//! a thread `u` if nothing in `own(t)` is written in `future(u)`, and nothing that `own(t)` writes is in `future(u)`. During the
//! search, all threads of `G` must lead and be independent of all others of the state; such sets are found by adding to a
//! thread those that it depends on. Nobody may hold the system before or after the large steps of `G`, and one of these must
//! lead to a state that has not been expanded yet. That state has a larger number, so a rank exists: the last state in
//! the order of numbers cannot be one from which not all threads are followed, and every other state has a rank that is
//! larger by one than that of a state behind it.
//!
//! A set of one thread is what chapter 6 of G. Basler, "Model Checking Boolean Programs", 2010, calls an ample set; sets of
//! several threads pay where groups of threads talk among each other only (listing 6.4 there).
//!
//! Threads are told apart by their cuts only, so the order of threads in a state does not matter, and the reduction goes
//! together with symmetry: a set may be followed, or not, in all states that are equal up to the order of threads. With
//! the Getafix global every step reads that global, because the right to move depends on it. If the program contains
//! some `x$`, all threads are followed.
//!
//! Cartesian reduction (chapter 6.4) delays context switches until a thread comes to a step that conflicts with what others do
//! *next*. Large steps do that for all steps that cannot conflict with anything; where a step accesses a global that
//! others access later, Cartesian vectors must be combined for all lengths of prefixes, and the states in between remain.

use rustc_hash::FxHashMap;

use crate::model::{Action, Expr, ProcId, Var};
use crate::threads::large_steps::passive_variables;
use crate::threads::{Bits, Location, Step, ThreadSystem};

/// With more different cuts than this, all threads are followed.
const MOST_CLASSES: usize = 1 << 11;

/// With more cuts than this, the sets are not computed.
const MOST_CUTS: usize = 1 << 14;

/// A set of threads of a state, by their positions.
pub(super) type Group = u64;

/// The positions of the threads of a set.
pub(super) fn members(mut group: Group) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = group.trailing_zeros();
        group &= group.wrapping_sub(1);
        (first < Group::BITS).then_some(first as usize)
    })
}

/// Which threads may be followed without which others. Threads are told apart by their locations.
pub(super) struct Independence {
    /// For every location, the class of its sets.
    class: Vec<u32>,
    /// For every class, whether a thread there may lead.
    leads: Vec<bool>,
    /// For every pair of classes, whether the large steps of the first are independent of the future of the second.
    independent: Vec<bool>,
}

/// Globals that are read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Access {
    reads: Bits,
    writes: Bits,
}

impl Access {
    fn add(&mut self, other: &Self) -> bool {
        let before = self.reads.count() + self.writes.count();
        other.reads.iter().for_each(|global| self.reads.set(global, true));
        other.writes.iter().for_each(|global| self.writes.set(global, true));
        self.reads.count() + self.writes.count() > before
    }

    /// Whether one of them writes what the other one accesses.
    fn conflicts_with(&self, other: &Self) -> bool {
        let meet = |a: &Bits, b: &Bits| a.iter().any(|global| b.get(global));
        meet(&self.writes, &other.writes)
            || meet(&self.writes, &other.reads)
            || meet(&self.reads, &other.writes)
    }
}

/// The large steps from one cut.
struct FromCut {
    own: Access,
    leads: bool,
    /// Where they lead, and where threads begin that they start.
    next: Vec<Location>,
}

impl Independence {
    /// Computes the sets of all cuts; `None` if no thread can be followed without all others.
    pub fn of(system: &ThreadSystem<'_>) -> Option<Self> {
        let cuts: Vec<Location> = system.cuts().collect();
        if cuts.len() > MOST_CUTS || passive_variables(system.program()).next().is_some() {
            return None;
        }
        let from: Vec<FromCut> = cuts.iter().map(|&cut| large_steps(system, cut)).collect();
        let number: FxHashMap<Location, usize> = cuts.iter().copied().zip(0..).collect();
        let mut future: Vec<Access> = from.iter().map(|from| from.own.clone()).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); cuts.len()];
        for (i, from) in from.iter().enumerate() {
            from.next.iter().for_each(|next| before[number[next]].push(i));
        }
        let mut open: Vec<usize> = (0..cuts.len()).collect();
        while let Some(i) = open.pop() {
            let later = future[i].clone();
            for &earlier in &before[i] {
                if future[earlier].add(&later) {
                    open.push(earlier);
                }
            }
        }
        let mut classes: Vec<(bool, Access, Access)> = Vec::new();
        let mut numbers = FxHashMap::default();
        let mut class = vec![0; system.len()];
        for ((cut, from), future) in cuts.into_iter().zip(from).zip(future) {
            let sets = (from.leads, from.own, future);
            class[cut.index()] = *numbers.entry(sets.clone()).or_insert_with(|| {
                classes.push(sets);
                classes.len() as u32 - 1
            });
        }
        if classes.len() > MOST_CLASSES {
            return None;
        }
        let leads: Vec<bool> = classes.iter().map(|(leads, ..)| *leads).collect();
        let mut independent = Vec::with_capacity(classes.len() * classes.len());
        for (_, own, _) in &classes {
            independent.extend(classes.iter().map(|(_, _, future)| !own.conflicts_with(future)));
        }
        leads.contains(&true).then_some(Self { class, leads, independent })
    }

    /// The smallest set of threads that contains the first one and everybody who may get in the way of a thread in it;
    /// `None` if these are all of so many threads, or if one of them must not be followed without the others.
    pub fn group(&self, count: usize, first: usize, location: impl Fn(usize) -> u32) -> Option<Group> {
        if count < 2 || count > Group::BITS as usize {
            return None;
        }
        let mut group: Group = 1 << first;
        let mut open = group;
        while open != 0 {
            let member = open.trailing_zeros() as usize;
            open &= open - 1;
            if !self.may_lead(location(member)) {
                return None;
            }
            for other in 0..count {
                let bit = 1 << other;
                if group & bit == 0 && !self.is_independent(location(member), location(other)) {
                    group |= bit;
                    open |= bit;
                }
            }
        }
        (group.count_ones() as usize != count).then_some(group)
    }

    /// Whether a thread at a cut may be followed without others, as far as it alone is concerned.
    fn may_lead(&self, location: u32) -> bool {
        self.leads[self.class[location as usize] as usize]
    }

    /// Whether the next large step of a thread at a cut cannot get in the way of anything that a thread at another cut does.
    fn is_independent(&self, own: u32, other: u32) -> bool {
        let class = |location: u32| self.class[location as usize] as usize;
        self.independent[class(own) * self.leads.len() + class(other)]
    }
}

/// Everything on the way from a cut to the next ones.
fn large_steps(system: &ThreadSystem<'_>, cut: Location) -> FromCut {
    let mut found = FromCut { own: Access::default(), leads: true, next: Vec::new() };
    let mut seen: Vec<Location> = Vec::new();
    let mut open = vec![cut];
    while let Some(location) = open.pop() {
        for (_, step) in system.steps_from(location) {
            accesses(system, step, &mut found.own);
            found.leads &= step.creates.is_none();
            found.leads &= step.to.is_some() || system.task.threads.is_none();
            found.next.extend(step.creates);
            let Some(to) = step.to else { continue };
            if system.is_cut(to) {
                found.next.push(to);
            } else if !seen.contains(&to) {
                seen.push(to);
                open.push(to);
            }
        }
    }
    found.next.sort_unstable();
    found.next.dedup();
    found
}

/// Adds the globals that a step reads and writes.
fn accesses(system: &ThreadSystem<'_>, step: &Step, access: &mut Access) {
    let program = system.program();
    let procedure = system.context(step.from).procedure;
    if let Some(flag) = program.atomic_flag {
        access.reads.set(flag as usize, true);
    }
    let read = |access: &mut Access, expr: Expr| {
        for place in program.exprs.reads(expr) {
            if let Var::Global(global) = place.var {
                access.reads.set(global as usize, true);
            }
        }
    };
    let write = |access: &mut Access, procedure: ProcId, var: Var| {
        if let Var::Global(global) = var
            && system.relevance.matters(procedure, var)
        {
            access.writes.set(global as usize, true);
        }
    };
    let caller = system.returns_to(step).map(|(caller, _)| system.contexts[caller.index()].procedure);
    let lands = [Some(step.from), step.to, step.creates];
    let lands = lands.into_iter().flatten().map(|location| system.context(location).procedure);
    for procedure in lands.chain(caller) {
        program.procedure(procedure).enforce.into_iter().for_each(|condition| read(access, condition));
    }
    if let Some((_, edge)) = system.returns_to(step)
        && let Action::Call(call) = &edge.action
        && let Some(caller) = caller
    {
        call.targets.iter().flatten().for_each(|&var| write(access, caller, var));
    }
    match system.edge(step).map(|edge| &edge.action) {
        Some(Action::Assume(condition) | Action::Assert(condition)) => read(access, *condition),
        Some(Action::Assign(assign)) => {
            assign.constrain.iter().for_each(|&condition| read(access, condition));
            for &(target, value) in &assign.pairs {
                if system.relevance.matters(procedure, target.var) {
                    write(access, procedure, target.var);
                    read(access, value);
                }
            }
        }
        Some(Action::Call(call) | Action::Spawn(call)) => {
            for (parameter, &arg) in (0..).zip(&call.args) {
                if system.relevance.matters(call.callee, Var::Local(parameter)) {
                    read(access, arg);
                }
            }
        }
        _ => {}
    }
}
