//! Property-directed reachability for programs with threads: universal invariants, for a bound or for any number.
//!
//! Implements: A. R. Bradley, "SAT-Based Model Checking without Unrolling", VMCAI 2011, with clauses that are universally
//! quantified over threads, as backward search over upward-closed sets has them (P. A. Abdulla, K. Cerans, B. Jonsson,
//! Y.-K. Tsay, "General decidability theorems for infinite-state systems", LICS 1996).
//!
//! Theorem used: if a set of universal clauses holds at the start, every large step from a state that satisfies all of them
//! leads to one that does, and none of those states lets a thread violate the property, then the program is safe for any
//! number of threads. Without `x$` in conditions the search ends: cubes are upward closed, and upward-closed sets of
//! multisets over finitely many thread states cannot grow for ever.
//!
//! Evidence: [`Certificate::Threads`] with universal clauses, or an interleaving.
//!
//! Deviation: with a bound on the number of threads, a thread may also fail to start another one while there are fewer
//! threads than the bound, and conditions with `x$` are required only of the threads that a question is about. Both add runs;
//! if the run that was found is only one of these, the answer is unknown.
//!
//! An obligation is a cube that leads to a violation. The threads of a cube take *roles* in the step into it: one of
//! them has moved, or somebody else, or one was started by another. If nobody can make that step from a state of the frame
//! below, the cube is blocked there. Then it is generalised: what the cores do not need is dropped, then whole threads, then
//! single literals, as long as the clause is inductive relative to its frame.

mod cube;
mod role;
mod transition;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Bounds, Engine};
use crate::budget::Budget;
use crate::evidence::threads::UniversalClause;
use crate::evidence::trace::Violation;
use crate::evidence::{Certificate, Reason, ThreadInvariant, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::threads::formula::Blocks;
use crate::threads::schedule::{Schedule, concretise};
use crate::threads::{Reductions, StepId, ThreadSystem};
use cube::{Cube, Part, by_size};
use role::Role;
use transition::{Before, Clause, Found, Reply, Transition};

/// Property-directed reachability for programs with threads.
#[derive(Debug)]
pub struct Pdr {
    /// Which reductions apply to the thread system.
    pub reductions: Reductions,
    /// How often a procedure may be nested in itself.
    pub unwind: Option<u32>,
    /// After so many questions to the solver the engine gives up.
    pub most_questions: u64,
    /// Whether the search begins with facts about single threads and pairs of them.
    pub facts: bool,
}

impl Pdr {
    /// The engine as the user wants it.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        Self { reductions: bounds.without.of_systems(), unwind: bounds.unwind, ..Self::default() }
    }
}

impl Default for Pdr {
    fn default() -> Self {
        Self { reductions: Reductions::ALL, unwind: None, most_questions: u64::MAX, facts: false }
    }
}

impl Engine for Pdr {
    fn name(&self) -> &'static str {
        "pdr"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        if task.program.starts_threads { Ok(()) } else { Err(Reason::ThreadsOnly { engine: "pdr" }) }
    }

    /// The thread system has reductions of its own.
    fn reduction(&self) -> Option<Keep> {
        None
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        let system = match ThreadSystem::new(task, self.reductions, self.unwind) {
            Ok(system) => system,
            Err(reason) => return reason.into(),
        };
        let blocks = Blocks::new(&system);
        blocks.count(progress);
        let mut search = Search {
            transition: Transition::new(&blocks, self.most_questions, budget),
            system: &system,
            budget,
            progress,
            levels: vec![Vec::new(), Vec::new()],
            obligations: Vec::new(),
            facts: Vec::new(),
        };
        let outcome = search.begin(self.facts).and_then(|()| search.run());
        progress.count("levels", search.levels.len() as u64 - 1);
        progress.count("SAT questions about steps", search.transition.asked);
        match outcome {
            Ok(Outcome::Proved(clauses)) => match &system.unwound {
                None => {
                    progress.count("clauses", clauses.len() as u64);
                    let threads = clauses.iter().map(|clause| clause.threads.len()).max();
                    progress.count("threads in a clause", threads.unwrap_or(0) as u64);
                    Verdict::Safe(Certificate::Threads(system.proof(ThreadInvariant::Clauses(clauses))))
                }
                Some(procedure) => {
                    let bound = self.unwind.unwrap_or_default();
                    Reason::Unwound { procedure: procedure.clone(), bound }.into()
                }
            },
            Ok(Outcome::Violated(schedule)) => match concretise(task, &schedule, budget) {
                Ok(Some(run)) => Verdict::Unsafe(Trace::Interleaved(run)),
                Ok(None) => Reason::GaveUp(
                    "the run that was found needs a thread that does not start another one although it could, or \
                     ignores a condition on other threads"
                        .to_owned(),
                )
                .into(),
                Err(reason) => reason.into(),
            },
            Err(reason) => {
                let seen = format!("no violation in runs of up to {} large steps", search.levels.len() - 2);
                Verdict::Unknown(Unknown { reason, seen: Some(seen) })
            }
        }
    }
}

enum Outcome {
    Proved(Vec<UniversalClause>),
    Violated(Schedule),
}

/// A cube from which a violation can be reached.
struct Obligation {
    cube: Cube,
    /// What the thread in the first slot does.
    role: Role,
    path: Vec<StepId>,
    violation: Option<(Violation, bool)>,
    /// The obligation that this leads to; `None` if it violates the property at once.
    next: Option<usize>,
    depth: usize,
}

struct Search<'a> {
    transition: Transition<'a>,
    system: &'a ThreadSystem<'a>,
    budget: &'a Budget,
    progress: &'a dyn Progress,
    /// Clauses by the highest level at which they are known to hold; level 0 is the start and has none.
    levels: Vec<Vec<Clause>>,
    obligations: Vec<Obligation>,
    /// Clauses that hold in all states in reach.
    facts: Vec<UniversalClause>,
}

/// The assumption about the state before a step into level `level`.
fn below(level: usize) -> Before {
    if level <= 1 { Before::Start } else { Before::Level(level - 1) }
}

/// Facts: for every cut, which variables are constant, equal or opposite, and where no two threads are together.
///
/// # Errors
/// If the budget is used up.
pub(super) fn facts(blocks: &Blocks<'_>, budget: &Budget) -> Result<Vec<UniversalClause>, Reason> {
    Transition::new(blocks, u64::MAX, budget).find_facts()
}

impl Search<'_> {
    fn begin(&mut self, with_facts: bool) -> Result<(), Reason> {
        self.facts = self.system.facts_about_control();
        if with_facts {
            let facts = self.transition.find_facts()?;
            self.progress.count("facts", facts.len() as u64);
            self.facts.extend(facts);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<Outcome, Reason> {
        if let Some(found) = self.transition.violation(Before::Start, &[])? {
            let first = self.obligation(found, None);
            return Ok(Outcome::Violated(self.schedule(first)));
        }
        loop {
            let last = self.levels.len() - 1;
            while let Some(found) = self.violation(last)? {
                let id = self.obligation(found, None);
                if let Some(first) = self.block(id, last)? {
                    return Ok(Outcome::Violated(self.schedule(first)));
                }
            }
            self.levels.push(Vec::new());
            if let Some(level) = self.propagate()? {
                let mut clauses: Vec<&Clause> = self.levels[level..].iter().flatten().collect();
                clauses.sort_by(|a, b| by_size(&a.cube, &b.cube));
                let mut clauses: Vec<UniversalClause> =
                    clauses.into_iter().map(|clause| clause.cube.clause()).collect();
                clauses.splice(0..0, self.facts.iter().cloned());
                return Ok(Outcome::Proved(clauses));
            }
        }
    }

    fn violation(&mut self, level: usize) -> Result<Option<Found>, Reason> {
        let clauses: Vec<&Clause> = self.levels[level..].iter().flatten().collect();
        self.transition.violation(Before::Level(level), &clauses)
    }

    fn obligation(&mut self, found: Found, next: Option<usize>) -> usize {
        let Found { role, path, violation, cube } = found;
        let depth = next.map_or(0, |next| self.obligations[next].depth + 1);
        self.obligations.push(Obligation { cube, role, path, violation, next, depth });
        self.obligations.len() - 1
    }

    /// Whether a large step from a state below a level leads into a cube. The clause that excludes the cube is assumed.
    fn ask(&mut self, cube: &Cube, level: usize, lifts: bool) -> Result<Reply, Reason> {
        let before = below(level);
        let Before::Level(known) = before else {
            return self.transition.predecessor(cube, before, &[], None, lifts);
        };
        let active = self.transition.activator();
        let candidate = Clause { cube: cube.clone(), active };
        let mut clauses: Vec<&Clause> = self.levels[known..].iter().flatten().collect();
        clauses.push(&candidate);
        let reply = self.transition.predecessor(cube, before, &clauses, Some(active), lifts);
        self.transition.retire(active);
        reply
    }

    /// Blocks an obligation at a level, with everything that leads to it. If that is not possible, returns the obligation
    /// that contains a start.
    fn block(&mut self, id: usize, level: usize) -> Result<Option<usize>, Reason> {
        let last = self.levels.len() - 1;
        let mut open = BinaryHeap::new();
        if self.transition.is_start(&self.obligations[id].cube)? {
            return Ok(Some(id));
        }
        open.push(Reverse((level, self.obligations[id].depth, id)));
        while let Some(Reverse((level, depth, id))) = open.pop() {
            if let Some(reason) = self.budget.exhausted() {
                return Err(reason);
            }
            self.progress.say(&|| {
                let clauses: usize = self.levels.iter().map(Vec::len).sum();
                format!("level {last}: {clauses} clauses, {} obligations", open.len() + 1)
            });
            let cube = self.obligations[id].cube.clone();
            let covered =
                (level..=last).rev().find(|&at| self.levels[at].iter().any(|c| c.cube.includes(&cube)));
            if let Some(covered) = covered {
                if covered < last {
                    open.push(Reverse((covered + 1, depth, id)));
                }
                continue;
            }
            match self.ask(&cube, level, true)? {
                Reply::Reachable(found) => {
                    let start = level <= 1 || self.transition.is_start(&found.cube)?;
                    let before = self.obligation(*found, Some(id));
                    if start {
                        return Ok(Some(before));
                    }
                    open.push(Reverse((level - 1, self.obligations[before].depth, before)));
                    open.push(Reverse((level, depth, id)));
                }
                Reply::Unreachable(parts) => {
                    let cube = self.generalise(&cube, &parts, level)?;
                    let reached = self.push(&cube, level)?;
                    self.add(cube, reached);
                    if reached < last {
                        open.push(Reverse((reached + 1, depth, id)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The highest level to which a clause that holds at `level` can be pushed.
    fn push(&mut self, cube: &Cube, mut level: usize) -> Result<usize, Reason> {
        let last = self.levels.len() - 1;
        while level < last && matches!(self.ask(cube, level + 1, false)?, Reply::Unreachable(_)) {
            level += 1;
        }
        Ok(level)
    }

    fn add(&mut self, cube: Cube, level: usize) {
        for clauses in &mut self.levels[..=level] {
            clauses.retain(|clause| !cube.includes(&clause.cube));
        }
        let active = self.transition.activator();
        self.transition.add_for_all_slots(&cube, active);
        self.transition.holds_at(active, level);
        self.levels[level].push(Clause { cube, active });
    }

    /// A larger cube that is blocked at the same level.
    fn generalise(&mut self, cube: &Cube, parts: &[Part], level: usize) -> Result<Cube, Reason> {
        let mut cube = self.shrunk(cube, parts)?.sorted();
        // Whole threads, then what is said about the globals and about single threads.
        let mut tried: Vec<Cube> = Vec::new();
        loop {
            let next = self.smaller(&cube).into_iter().find(|next| !tried.contains(next));
            let Some(next) = next else { return Ok(cube) };
            tried.push(next.clone());
            if self.transition.is_start(&next)? {
                continue;
            }
            if let Reply::Unreachable(parts) = self.ask(&next, level, false)? {
                cube = self.shrunk(&next, &parts)?.sorted();
            }
        }
    }

    /// All cubes with one part less, in the order in which they are to be tried.
    fn smaller(&self, cube: &Cube) -> Vec<Cube> {
        let Transition { every_cut, live, .. } = &self.transition;
        let without =
            |dropped: &dyn Fn(Part) -> bool| cube.restricted(|part| !dropped(part), every_cut, live).sorted();
        let mut found = Vec::new();
        let threads = 0..cube.threads.len() as u32;
        for thread in threads.clone() {
            found.push(without(&|part| part == Part::Thread(thread)));
        }
        for &(global, _) in &cube.shared {
            found.push(without(&|part| part == Part::Shared(global)));
        }
        if cube.held.is_some() {
            found.push(without(&|part| part == Part::Held));
        }
        for thread in threads {
            let own = &cube.threads[thread as usize];
            if own.holds.is_some() {
                found.push(without(&|part| part == Part::Holds(thread)));
            }
            for &(position, _) in &own.values {
                found.push(without(&|part| part == Part::Value(thread, position)));
            }
            for cut in every_cut.iter().filter(|&cut| !own.cuts.get(cut)) {
                let dropped = Part::Excluded(thread, cut as u32);
                let next = without(&|part| part == dropped);
                found.push(next);
            }
        }
        found.retain(|next| next != cube);
        found
    }

    /// The cube that consists of these parts, and of as many others as are needed to keep it off the start.
    fn shrunk(&mut self, cube: &Cube, parts: &[Part]) -> Result<Cube, Reason> {
        let mut kept: Vec<Part> = parts.to_vec();
        // What is said about a thread needs the thread.
        let of_threads: Vec<Part> = kept
            .iter()
            .filter_map(|part| match *part {
                Part::Excluded(thread, _) | Part::Value(thread, _) | Part::Holds(thread) => {
                    Some(Part::Thread(thread))
                }
                _ => None,
            })
            .collect();
        kept.extend(of_threads);
        let (every_cut, live) = (self.transition.every_cut.clone(), self.transition.live.clone());
        let mut small = cube.restricted(|part| kept.contains(&part), &every_cut, &live);
        if !self.transition.is_start(&small)? {
            return Ok(small);
        }
        let mut candidates: Vec<Part> = Vec::new();
        for (thread, own) in (0..).zip(&cube.threads) {
            candidates.push(Part::Thread(thread));
            let excluded = every_cut.iter().filter(|&cut| !own.cuts.get(cut));
            candidates.extend(excluded.map(|cut| Part::Excluded(thread, cut as u32)));
        }
        candidates.extend(cube.shared.iter().map(|&(global, _)| Part::Shared(global)));
        candidates.push(Part::Held);
        for (thread, own) in (0..).zip(&cube.threads) {
            candidates.push(Part::Holds(thread));
            candidates.extend(own.values.iter().map(|&(position, _)| Part::Value(thread, position)));
        }
        for part in candidates {
            if kept.contains(&part) {
                continue;
            }
            let mut more = kept.clone();
            more.push(part);
            let larger = cube.restricted(|part| more.contains(&part), &every_cut, &live);
            if larger == small {
                continue;
            }
            kept = more;
            small = larger;
            if !self.transition.is_start(&small)? {
                return Ok(small);
            }
        }
        Ok(cube.clone())
    }

    /// Pushes clauses to higher levels. Returns a level above which nothing is left to be pushed: the clauses there are
    /// inductive.
    fn propagate(&mut self) -> Result<Option<usize>, Reason> {
        for level in 1..self.levels.len() - 1 {
            for clause in std::mem::take(&mut self.levels[level]) {
                let cube = clause.cube.clone();
                self.levels[level].push(clause);
                if matches!(self.ask(&cube, level + 1, false)?, Reply::Unreachable(_)) {
                    let Some(clause) = self.levels[level].pop() else { continue };
                    self.transition.holds_at(clause.active, level + 1);
                    self.levels[level + 1].push(clause);
                }
            }
            if self.levels[level].is_empty() {
                return Ok(Some(level + 1));
            }
        }
        Ok(None)
    }

    /// The run from an obligation that contains a start.
    fn schedule(&self, first: usize) -> Schedule {
        let most = self.system.task.threads.map_or(usize::MAX, |most| most as usize);
        let (mut steps, mut created, mut living) = (Vec::new(), 1_u32, 1_usize);
        let mut ids = vec![0_u32];
        let mut at = first;
        loop {
            let Obligation { role, path, violation, next, .. } = &self.obligations[at];
            let mover = ids.first().copied().unwrap_or_default();
            let mut new = None;
            for &id in path {
                let step = self.system.step(id);
                steps.push((mover, step.action));
                if step.creates.is_some() && living < most {
                    new = Some(created);
                    created += 1;
                    living += 1;
                }
                living -= usize::from(step.to.is_none());
            }
            let Some(next) = *next else {
                let (violation, by_created) = violation.unwrap_or((Violation::Label, false));
                let thread = new.filter(|_| by_created).unwrap_or(mover);
                return Schedule { steps, thread, violation };
            };
            let k = self.obligations[next].cube.threads.len();
            let before = role.before(k);
            let id_of = |thread: usize| {
                let slot = before.iter().position(|&seat| seat == Some(thread));
                slot.map_or(new, |slot| ids.get(slot).copied()).unwrap_or_default()
            };
            ids = (0..k).map(id_of).collect();
            at = next;
        }
    }
}
