//! Bounded model checking by demand-driven unrolling.
//!
//! Implements: A. Lal, S. Qadeer, S. Lahiri, "A solver for reachability modulo theories", CAV 2012 (stratified
//! inlining), with loops unrolled in the same way as calls; G. Basler, "Model Checking Boolean Programs",
//! 2010, section 2.4 (completeness by the recurrence diameter) and theorem 4.5 (the same for recursion).
//!
//! The program is a tree of copies of its blocks, made where they are needed. An open place, a call or a
//! loop head without a copy, may do anything. If even so nothing fails, the program is safe. If something
//! fails on a path through open places, these get copies; if the path has none, it is a real run. Every now
//! and then, all open places are closed, to find runs through what is there, and to learn which places
//! are in the way.
//!
//! Theorem used: a shortest run that violates the property never is in one state twice at one loop head of one
//! activation, and never nests a call in another one of the same procedure with the same entry, if both
//! fail or both return the same. When a path does, the solver learns that it must not. So the unrolling of a
//! loop or a recursion ends when there is nothing new left to do, and with it the search.
//!
//! Rounds, that is loop iterations and nested recursive calls along a path of copies, are bounded by
//! assumptions; the bound grows as long as the solver needs it for a proof. So the run that is found has
//! few rounds, and it is shortened further if that costs little.
//!
//! Evidence: for `Safe`, the tree of copies and the pairs that were demanded to differ, a
//! [`Certificate::Unrolling`]; for `Unsafe`, the run as a shared call tree.
//!
//! Deviation: bounds count rounds and not procedure calls, so calls that do not come round are never cut off;
//! and what was needed in earlier rounds is expanded in the next ones without asking.

mod growth;
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
use super::{Engine, accepts_sequential};
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
    /// The most blocks on a path.
    pub depth: Option<u32>,
    /// The most recursive calls that are nested.
    pub recursion: Option<u32>,
}

impl Engine for Bmc {
    fn name(&self) -> &'static str {
        "bmc"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        accepts_sequential(task, self.name())
    }

    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
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
    /// The bound that grows.
    rounds: u32,
    budget: &'a Budget,
    progress: &'a dyn Progress,
    /// The number of copies when open places were closed the last time.
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

    /// Nothing fails within these bounds: a proof, a reason to try more rounds, or the end.
    fn no_run(&mut self, bounds: &[Bound]) -> Option<Verdict> {
        if bounds.is_empty() {
            return Some(Verdict::Safe(Certificate::Unrolling(certificate(&self.unrolling))));
        }
        if bounds.contains(&Bound::Rounds(self.rounds)) {
            self.rounds += (self.rounds / 4).max(1);
            return None;
        }
        // The solver used the user's bound, but perhaps without need.
        match self.unrolling.solve(&[], &[], &Limits::NONE) {
            Solved::NoRun { .. } => Some(Verdict::Safe(Certificate::Unrolling(certificate(&self.unrolling)))),
            _ => Some(self.stopped(match bounds[0] {
                Bound::Recursion(bound) => Reason::RecursionBound { bound },
                Bound::Depth(bound) | Bound::Rounds(bound) => Reason::DepthBound { bound },
            })),
        }
    }

    /// Excludes a path that goes through open places, or finds a real one on the way.
    ///
    /// A path that repeats itself is not worth a copy. Otherwise its open places are closed, and the solver
    /// says which of them are in the way of all runs; if there is another run, its open places are closed
    /// too. The places in the way get copies, and some others with them, since a real run will need
    /// them all.
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

    /// Demands that what a path does twice be different.
    fn exclude(&mut self, path: &Path) {
        for &(outer, inner) in &path.repeats {
            self.unrolling.differ(outer, inner);
        }
    }

    /// Closes all open places, when there is much that is new: a run that the solver finds then is real.
    /// Where the places that are in its way are few, they get copies.
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

    /// A real run: the shortest one that costs little.
    fn found(mut self, mut best: Path) -> Verdict {
        self.shorten(&mut best);
        let blocks = self.unrolling.blocks;
        let tree = complete(blocks.task, blocks.scopes, &best.outlines, 0);
        Verdict::Unsafe(Trace::Sequential(tree))
    }

    /// Looks for a run with fewer blocks on a path, by halving.
    fn shorten(&mut self, best: &mut Path) {
        const EFFORT: Limits = Limits { conflicts: Some(1_000), decisions: None, deadline: None };
        let most_copies = self.unrolling.copies.len() + self.unrolling.copies.len() / 4 + 64;
        // No run goes through so few blocks only.
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
