//! Bounded model checking by demand-driven unrolling.
//!
//! Implements: A. Lal, S. Qadeer, S. Lahiri, "A solver for reachability modulo theories", CAV 2012 (stratified
//! inlining), with loops unrolled in the same way as calls; G. Basler, "Model Checking Boolean Programs",
//! 2010, section 2.4 (completeness by the recurrence diameter) and theorem 4.5 (the same for recursion).
//!
//! The program is unrolled into a tree of copies of its blocks, and copies are made on demand. A call or a loop
//! head that has no copy yet is *open*, and the formula lets it do anything. If the property cannot be violated
//! even so, the program is safe. If it is violated on a path through open places, these get copies; if the path has
//! no open places, it is a real run. From time to time all open places are closed, to find runs through the
//! existing copies, and to learn which open places every violating run needs.
//!
//! Theorem used: a shortest run that violates the property is never in the same state twice at one loop head of one
//! activation. It also never nests a call in another call of the same procedure with the same entry values, if both
//! fail or both return the same results. When a path found by the solver does one of these, a clause is added that
//! forbids it. So the unrolling of a loop or a recursion ends when all remaining paths are forbidden, and then the
//! search ends.
//!
//! *Rounds*, that is, loop iterations and nested recursive calls along a path of copies, are bounded by
//! assumptions. The bound is raised as long as the solver uses it in its proof that there is no run. So the run
//! that is found has few rounds; it is shortened further if that costs little.
//!
//! Programs with threads are searched in another way, see the module `interleavings`.
//!
//! Evidence: for `Safe`, the tree of copies and the pairs of copies that were required to differ, a
//! [`Certificate::Unrolling`]; for `Unsafe`, the run as a shared call tree.
//!
//! Deviation: bounds count rounds and not procedure calls, so calls that are not recursive are never cut off.
//! Places that were expanded in earlier rounds are expanded in later rounds without a new question to the solver.

mod growth;
pub(super) mod interleavings;
mod path;
mod proof;
mod questions;
mod rounds;
mod unrolling;

use cusp_solvers::sat::Limits;

use self::growth::grow;
use self::path::{Path, follow};
use self::proof::certificate;
use self::questions::Solved;
use self::unrolling::{Bound, SiteId, Unrolling};
use super::{Bounds, Engine, Without};
use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::model::control::Reach;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;
use crate::symbolic::trace::complete;

/// The engine and the user's bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bmc {
    /// The greatest number of blocks on a path.
    pub depth: Option<u32>,
    /// The greatest number of nested recursive calls.
    pub recursion: Option<u32>,
    /// The greatest number of nested calls of one procedure in a program with threads.
    pub unwind: Option<u32>,
    /// The greatest number of context switches in a program with threads.
    pub switches: Option<u32>,
    /// What it has to do without in programs with threads.
    pub without: Without,
}

impl Bmc {
    /// The engine within the user's bounds.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        let Bounds { depth, recursion, unwind, switches, without } = bounds;
        Self { depth, recursion, unwind, switches, without }
    }
}

impl Engine for Bmc {
    fn name(&self) -> &'static str {
        "bmc"
    }

    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        if task.program.starts_threads {
            let Self { depth, recursion, unwind, switches, without } = *self;
            let bounds = Bounds { depth, recursion: unwind.or(recursion), unwind, switches, without };
            return interleavings::search(task, bounds, budget, progress);
        }
        let reach = Reach::of(task);
        let scopes = Scopes::of_comparable_entries(task);
        let blocks = Blocks::new(task, &scopes);
        let limits = [self.depth.map(Bound::Depth), self.recursion.map(Bound::Recursion)];
        let limits: Vec<Bound> = limits.into_iter().flatten().collect();
        let unrolling = Unrolling::new(&blocks, &reach, &limits, budget);
        Search { unrolling, limits, rounds: 1, budget, progress, tried: 0 }.run()
    }
}

struct Search<'a> {
    unrolling: Unrolling<'a>,
    /// The user's bounds.
    limits: Vec<Bound>,
    /// The current bound on rounds.
    rounds: u32,
    budget: &'a Budget,
    progress: &'a dyn Progress,
    /// The number of copies when all open places were last closed.
    tried: usize,
}

impl Search<'_> {
    fn run(mut self) -> Verdict {
        loop {
            if let Some(reason) = self.budget.exhausted() {
                return self.stopped(reason);
            }
            self.say();
            match self.unrolling.solve(&self.bounds(), &[], &Limits::NONE) {
                Solved::Stopped => {
                    return self.stopped(self.budget.exhausted().unwrap_or(Reason::Interrupted));
                }
                Solved::NoRun { bounds, .. } => {
                    if let Some(verdict) = self.no_run(&bounds) {
                        return verdict;
                    }
                }
                Solved::Run => {
                    let path = follow(&self.unrolling);
                    if let Some(path) = self.refine(path).or_else(|| self.try_without_open_places()) {
                        return self.found(path);
                    }
                }
            }
        }
    }

    fn bounds(&self) -> Vec<Bound> {
        let mut bounds = self.limits.clone();
        bounds.push(Bound::Rounds(self.rounds));
        bounds
    }

    /// Handles the answer that there is no violating run; `bounds` are those that the solver's proof used. If it
    /// used none, the program is safe. If it used the bound on rounds, that bound is raised and `None` is returned.
    /// Otherwise it used a bound of the user: the program is safe if there is no run without bounds, either, and
    /// else the verdict is unknown.
    fn no_run(&mut self, bounds: &[Bound]) -> Option<Verdict> {
        if bounds.is_empty() {
            return Some(Verdict::Safe(Certificate::Unrolling(certificate(&self.unrolling))));
        }
        if bounds.contains(&Bound::Rounds(self.rounds)) {
            self.rounds += (self.rounds / 4).max(1);
            return None;
        }
        // The solver used the user's bound in its proof, but perhaps a proof without it exists.
        match self.unrolling.solve(&[], &[], &Limits::NONE) {
            Solved::NoRun { .. } => Some(Verdict::Safe(Certificate::Unrolling(certificate(&self.unrolling)))),
            _ => Some(self.stopped(match bounds[0] {
                Bound::Recursion(bound) => Reason::RecursionBound { bound },
                Bound::Depth(bound) | Bound::Rounds(bound) => Reason::DepthBound { bound },
            })),
        }
    }

    /// Refines the unrolling so that a path through open places is excluded; returns a path without open places if
    /// one is found meanwhile.
    ///
    /// If the path repeats a state or a call, the repetition is forbidden, and no copy is made. Otherwise its open
    /// places are closed by assumptions and the solver is asked again. If there is another run, its open places are
    /// closed, too. If there is none, the solver names the closed places that exclude all runs; these get copies,
    /// and so do some of the other open places of the path, since a real run will need all of them.
    fn refine(&mut self, path: Path) -> Option<Path> {
        const EFFORT: Limits = Limits { conflicts: Some(2_000), decisions: None, deadline: None };
        const PATHS: usize = 4;
        let mut path = path;
        let mut closed: Vec<SiteId> = Vec::new();
        let bounds = self.bounds();
        for _ in 0..PATHS {
            if path.open.is_empty() {
                return Some(path);
            }
            if !path.repeats.is_empty() {
                self.exclude(&path);
                return None;
            }
            closed.extend(&path.open);
            if closed.len() == 1 {
                break;
            }
            match self.unrolling.solve(&bounds, &closed, &EFFORT) {
                Solved::Run => path = follow(&self.unrolling),
                Solved::NoRun { sites, .. } if !sites.is_empty() => {
                    let others = path.open.iter().filter(|site| !sites.contains(site)).copied();
                    let some = (self.unrolling.copies.len() / 8).max(1);
                    let others: Vec<SiteId> = others.take(some).collect();
                    path.open = sites;
                    path.open.extend(others);
                    break;
                }
                _ => break,
            }
        }
        grow(&mut self.unrolling, &path.open, &bounds);
        path.open.is_empty().then_some(path)
    }

    /// Adds clauses that forbid the repetitions of a path.
    fn exclude(&mut self, path: &Path) {
        for &(outer, inner) in &path.repeats {
            self.unrolling.differ(outer, inner);
        }
    }

    /// Closes all open places by assumptions, if the unrolling has grown enough since the last time. A run that the
    /// solver then finds is real. If it finds none because of a few places only, these get copies.
    fn try_without_open_places(&mut self) -> Option<Path> {
        const EFFORT: Limits = Limits { conflicts: Some(2_000), decisions: None, deadline: None };
        const FEW: usize = 4;
        if self.unrolling.copies.len() < self.tried + self.tried / 2 + 2 {
            return None;
        }
        self.tried = self.unrolling.copies.len();
        let bounds = self.bounds();
        let is_usable = |id: &SiteId| {
            self.unrolling.site(*id).copy.is_none()
                && bounds.iter().all(|&bound| self.unrolling.is_within(*id, bound))
        };
        let sites = (0..self.unrolling.sites.len()).map(SiteId::from_index);
        let open: Vec<SiteId> = sites.filter(is_usable).collect();
        match self.unrolling.solve(&bounds, &open, &EFFORT) {
            Solved::Run => Some(follow(&self.unrolling)),
            Solved::NoRun { sites, .. } if sites.len() <= FEW => {
                grow(&mut self.unrolling, &sites, &bounds);
                None
            }
            _ => None,
        }
    }

    /// The verdict for a real run, after shortening it with little effort.
    fn found(mut self, mut best: Path) -> Verdict {
        self.shorten(&mut best);
        let blocks = self.unrolling.blocks;
        let tree = complete(blocks.task, blocks.scopes, &best.outlines, 0);
        Verdict::Unsafe(Trace::Sequential(tree))
    }

    /// Looks for a run with fewer blocks on a path, by bisection.
    fn shorten(&mut self, best: &mut Path) {
        const EFFORT: Limits = Limits { conflicts: Some(1_000), decisions: None, deadline: None };
        let most_copies = self.unrolling.copies.len() + self.unrolling.copies.len() / 4 + 64;
        // It is known that no run has at most this many blocks on a path.
        let mut too_few = 0;
        while too_few + 1 < best.depth {
            let depth = too_few + (best.depth - too_few) / 2;
            self.unrolling.prepare_depth(depth);
            let mut bounds = self.bounds();
            bounds.push(Bound::Depth(depth));
            match self.unrolling.solve(&bounds, &[], &EFFORT) {
                Solved::Stopped => return,
                Solved::NoRun { .. } => too_few = depth,
                Solved::Run => {
                    let path = follow(&self.unrolling);
                    if path.open.is_empty() {
                        *best = path;
                        continue;
                    }
                    if self.unrolling.copies.len() > most_copies || self.budget.exhausted().is_some() {
                        return;
                    }
                    if path.repeats.is_empty() {
                        grow(&mut self.unrolling, &path.open, &bounds);
                    }
                    self.exclude(&path);
                }
            }
        }
    }

    fn stopped(&self, reason: Reason) -> Verdict {
        let seen = match self.rounds {
            1 => None,
            rounds => Some(format!("no violation in {} rounds of loops and recursion", rounds - 1)),
        };
        Verdict::Unknown(Unknown { reason, seen })
    }

    fn say(&self) {
        let Unrolling { copies, queries, different, .. } = &self.unrolling;
        self.progress.say(&|| {
            format!(
                "at most {} rounds, {} blocks unrolled, {} pairs differ, {queries} queries",
                self.rounds,
                copies.len(),
                different.len()
            )
        });
    }
}
