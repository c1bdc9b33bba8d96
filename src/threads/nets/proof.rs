//! From proofs about the net to universal clauses about the program.
//!
//! A proof about the net says which markings are *excluded*: no run covers them. Whoever is not excluded comes to none that is by
//! firing a transition. The clauses have to say the same of all states of the program, also of those that are not
//! listed. They are found as follows.
//!
//! 1. A pair of a shared and a local state that no thread is seen in is excluded; all these pairs are covered by clauses about one
//!    thread.
//! 2. Every target is covered by a clause.
//! 3. For every listed state that violates a clause, all states that come to it by one step are covered: otherwise they get a
//!    clause of their own.
//!
//! Whenever a state gets a clause, threads and literals are dropped and cuts are added as long as all listed states that
//! violate it are excluded. Then nobody who satisfies all clauses comes to a state that does not: a listed state because of the
//! third step, and others have a pair of the first one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cover::{Literals, Region};
use super::views::{SharedId, ThreadId};
use super::{Origin, ThreadNet, Violating};
use crate::budget::Budget;
use crate::evidence::NetCertificate;
use crate::evidence::net::{LinearInvariant, OmegaMarking};
use crate::evidence::threads::{ThreadCube, UniversalClause};
use crate::net::predecessors::predecessors;
use crate::net::{Marking, TransitionId};
use crate::reason::Reason;

/// Local states of some threads, in order.
type Threads = SmallVec<[ThreadId; 4]>;

/// A clause that more listed states than this violate is not looked at.
const MOST_STATES: usize = 2_000;

/// The most clauses of a proof.
const MOST_CLAUSES: usize = 4_000;

impl ThreadNet<'_> {
    /// Clauses that hold in all states of the program and exclude all violations, from a proof about the net.
    ///
    /// # Errors
    /// If there are too many clauses, or the budget is used up.
    pub fn clauses(&self, proof: &NetCertificate, budget: &Budget) -> Result<Vec<UniversalClause>, Reason> {
        let mut into = vec![Vec::new(); self.views.shared.len()];
        for id in self.net.transition_ids() {
            if let Origin::Step(..) = self.origins[id.index()] {
                let places = self.net.transition(id).give.iter();
                let shared = places.filter_map(|(place, _)| self.shared_at(place));
                shared.for_each(|shared| into[shared.index()].push(id));
            }
        }
        let mut search = Search {
            net: self,
            literals: Literals::new(&self.system, &self.views),
            excluded: Excluded::new(self, proof),
            into,
            regions: Vec::new(),
            budget,
        };
        search.targets()?;
        search.unseen()?;
        search.close()?;
        let mut clauses: Vec<UniversalClause> =
            search.regions.into_iter().flatten().map(|region| region.clause).collect();
        clauses.sort_by_key(|clause| clause.threads.len());
        clauses.splice(0..0, self.single());
        Ok(clauses)
    }

    /// At most one thread is at a cut to which only the first thread comes.
    fn single(&self) -> Option<UniversalClause> {
        let cuts = (0..).zip(self.system.cuts());
        let cuts: Vec<u32> =
            cuts.filter(|(_, cut)| self.views.is_single_at(*cut)).map(|(number, _)| number).collect();
        let cube = ThreadCube { cuts, ..ThreadCube::default() };
        let is_needed = !cube.cuts.is_empty();
        is_needed.then(|| UniversalClause { threads: vec![cube.clone(), cube], ..UniversalClause::default() })
    }
}

/// The markings that a proof excludes.
struct Excluded<'a> {
    net: &'a ThreadNet<'a>,
    kind: Kind<'a>,
    known: FxHashMap<(SharedId, Threads), bool>,
}

enum Kind<'a> {
    Basis {
        /// For every shared state, the threads of elements with that state.
        elements: Vec<Vec<Vec<(ThreadId, u64)>>>,
        /// The threads of elements without a shared state.
        anywhere: Vec<Vec<(ThreadId, u64)>>,
        invariants: &'a [LinearInvariant],
    },
    Outside(&'a [OmegaMarking]),
}

impl<'a> Excluded<'a> {
    fn new(net: &'a ThreadNet<'a>, proof: &'a NetCertificate) -> Self {
        let kind = match proof {
            NetCertificate::Basis(basis) => {
                let mut elements = vec![Vec::new(); net.views.shared.len()];
                let mut anywhere = Vec::new();
                let units = basis.never_marked.iter().map(|&place| {
                    let mut unit = Marking::new();
                    unit.set(place, 1);
                    unit
                });
                for element in basis.elements.iter().cloned().chain(units) {
                    let shared: Vec<SharedId> =
                        element.iter().filter_map(|(place, _)| net.shared_at(place)).collect();
                    let threads: Vec<(ThreadId, u64)> =
                        element.iter().filter_map(|(place, n)| Some((net.thread_at(place)?, n))).collect();
                    // There is one shared state, and before there is a thread, there is no state of the program.
                    let tokens: u128 = threads.iter().map(|&(_, n)| u128::from(n)).sum();
                    match shared[..] {
                        [] if tokens == element.total() => anywhere.push(threads),
                        [shared] if tokens + 1 == element.total() => elements[shared.index()].push(threads),
                        _ => {}
                    }
                }
                Kind::Basis { elements, anywhere, invariants: &basis.invariants }
            }
            NetCertificate::CoverabilitySet(limits) => Kind::Outside(limits),
        };
        Self { net, kind, known: FxHashMap::default() }
    }

    /// Whether no run covers this state.
    fn contains(&mut self, shared: SharedId, threads: &Threads) -> bool {
        let key = (shared, threads.clone());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let found = match &self.kind {
            Kind::Basis { elements, anywhere, invariants } => {
                let is_below = |element: &Vec<(ThreadId, u64)>| {
                    let count = |thread| threads.iter().filter(|&&other| other == thread).count() as u64;
                    element.iter().all(|&(thread, n)| n <= count(thread))
                };
                elements[shared.index()].iter().chain(anywhere).any(is_below)
                    || invariants.iter().any(|invariant| {
                        let places = threads.iter().map(|&thread| self.net.thread_place(thread));
                        let places = places.chain([self.net.shared_place(shared)]);
                        let weight: u128 = places.map(|place| u128::from(invariant.weights.get(place))).sum();
                        weight > u128::from(invariant.bound)
                    })
            }
            Kind::Outside(limits) => {
                let marking = self.net.marking_of(shared, threads);
                !limits.iter().any(|limit| limit.contains(&marking))
            }
        };
        self.known.insert(key, found);
        found
    }
}

struct Search<'a> {
    net: &'a ThreadNet<'a>,
    literals: Literals,
    excluded: Excluded<'a>,
    /// For every shared state, the transitions that lead to it.
    into: Vec<Vec<TransitionId>>,
    regions: Vec<Option<Region>>,
    budget: &'a Budget,
}

impl Search<'_> {
    fn poll(&self) -> Result<(), Reason> {
        self.budget.exhausted().map_or(Ok(()), Err)
    }

    /// The listed states that violate a clause and have no more threads than it; `None` if not all of them are excluded, or if
    /// there are too many.
    fn states(&mut self, region: &Region) -> Option<Vec<(SharedId, Threads)>> {
        let mut found = Vec::new();
        let mut looked_at = 0;
        for shared in region.shared.iter().map(SharedId::from_index) {
            let choices: Vec<Vec<ThreadId>> = region
                .threads
                .iter()
                .map(|threads| {
                    let mut seen = threads.clone();
                    seen.keep(&self.literals.seen_at[shared.index()]);
                    seen.iter().map(ThreadId::from_index).collect()
                })
                .collect();
            looked_at += 1;
            let ways = choices.iter().fold(1_usize, |ways, choice| ways.saturating_mul(choice.len()));
            if looked_at + ways > 8 * MOST_STATES {
                return None;
            }
            let mut chosen: Vec<Threads> = vec![Threads::new()];
            for choice in &choices {
                let mut longer = Vec::with_capacity(chosen.len() * choice.len());
                for threads in &chosen {
                    for &thread in choice {
                        if threads.iter().all(|&other| self.net.views.can_be_beside(thread, other)) {
                            let mut threads = threads.clone();
                            let at = threads.partition_point(|&other| other <= thread);
                            threads.insert(at, thread);
                            longer.push(threads);
                        }
                    }
                }
                longer.sort_unstable();
                longer.dedup();
                chosen = longer;
            }
            looked_at += chosen.len();
            if looked_at > MOST_STATES
                || !chosen.iter().all(|threads| self.excluded.contains(shared, threads))
            {
                return None;
            }
            found.extend(chosen.into_iter().map(|threads| (shared, threads)));
        }
        Some(found)
    }

    /// Takes a smaller clause, if only excluded states violate it.
    fn attempt(&mut self, best: &mut Region, clause: UniversalClause) -> Result<(), Reason> {
        self.poll()?;
        let region = self.literals.region(clause);
        if self.states(&region).is_some() {
            *best = region;
        }
        Ok(())
    }

    /// A smaller clause that only excluded states violate.
    fn generalised(&mut self, clause: UniversalClause) -> Result<Region, Reason> {
        let mut best = self.literals.region(clause);
        for thread in (0..best.clause.threads.len()).rev() {
            let mut clause = best.clause.clone();
            clause.threads.remove(thread);
            self.attempt(&mut best, clause)?;
        }
        for at in (0..best.clause.globals.len()).rev() {
            let mut clause = best.clause.clone();
            clause.globals.remove(at);
            self.attempt(&mut best, clause)?;
        }
        let clause = UniversalClause { held: None, ..best.clause.clone() };
        self.attempt(&mut best, clause)?;
        for thread in 0..best.clause.threads.len() {
            for at in (0..best.clause.threads[thread].values.len()).rev() {
                let mut clause = best.clause.clone();
                clause.threads[thread].values.remove(at);
                self.attempt(&mut best, clause)?;
            }
            let mut clause = best.clause.clone();
            clause.threads[thread].holds = None;
            self.attempt(&mut best, clause)?;
            for cut in 0..self.literals.cuts.len() as u32 {
                let cube = &best.clause.threads[thread];
                // Values say something only where they matter.
                let live = self.net.system.live(self.literals.cuts[cut as usize]);
                let fits = cube.values.iter().all(|&(position, _)| live.get(position as usize));
                if let (Err(at), true) = (cube.cuts.binary_search(&cut), fits) {
                    let mut clause = best.clause.clone();
                    clause.threads[thread].cuts.insert(at, cut);
                    self.attempt(&mut best, clause)?;
                }
            }
        }
        Ok(best)
    }

    /// Covers the states that violate a clause, and more.
    fn add(&mut self, clause: UniversalClause) -> Result<(), Reason> {
        let region = self.generalised(clause)?;
        for old in &mut self.regions {
            if old.as_ref().is_some_and(|old| region.includes(&old.clause)) {
                *old = None;
            }
        }
        self.regions.push(Some(region));
        if self.regions.iter().flatten().count() > MOST_CLAUSES {
            let why =
                format!("the proof about the net needs more than {MOST_CLAUSES} clauses about the program");
            return Err(Reason::GaveUp(why));
        }
        Ok(())
    }

    /// Covers a listed state, which has to be excluded.
    fn cover(&mut self, shared: SharedId, threads: &Threads) -> Result<(), Reason> {
        if self.regions.iter().flatten().any(|region| region.covers(shared, threads)) {
            return Ok(());
        }
        if !self.excluded.contains(shared, threads) {
            return Err(Reason::GaveUp("the proof about the net does not exclude what it should".to_owned()));
        }
        let clause = self.literals.point(&self.net.system, &self.net.views, shared, threads);
        self.add(clause)
    }

    /// Covers the targets.
    fn targets(&mut self) -> Result<(), Reason> {
        let net = self.net;
        for violation in &net.violations {
            match *violation {
                Violating::Step(pair) => {
                    let pair = &net.views.pairs[pair.index()];
                    self.cover(pair.shared, &Threads::from_slice(&[pair.thread]))?;
                }
                Violating::Place(thread) => {
                    for pair in net.views.pairs.iter().filter(|pair| pair.thread == thread) {
                        self.cover(pair.shared, &Threads::from_slice(&[thread]))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Covers the shared states that are not listed, and the pairs in which no thread is seen.
    fn unseen(&mut self) -> Result<(), Reason> {
        let views = &self.net.views;
        let globals = self.literals.globals.clone();
        let values = |shared: &super::views::Shared| -> Vec<bool> {
            let globals = globals.iter().map(|&global| shared.values.get(global as usize));
            std::iter::once(shared.held).chain(globals).collect()
        };
        let rows: Vec<Vec<bool>> = views.shared.iter().map(values).collect();
        for missing in missing(rows.clone()) {
            self.cover_unseen(clause_of(&globals, &missing, None))?;
        }
        let cuts = self.literals.cuts.clone();
        let mut of_cuts: Vec<Vec<Vec<bool>>> = vec![Vec::new(); cuts.len()];
        for pair in &views.pairs {
            let thread = &views.threads[pair.thread.index()];
            let Some(cut) = self.literals.cut(thread.location) else { continue };
            let positions = self.net.system.live(thread.location).iter();
            let mut row = rows[pair.shared.index()].clone();
            row.push(thread.holds);
            row.extend(positions.map(|position| thread.values.get(position)));
            of_cuts[cut as usize].push(row);
        }
        for (cut, rows) in (0..).zip(of_cuts) {
            let positions: Vec<u32> =
                self.net.system.live(cuts[cut as usize]).iter().map(|position| position as u32).collect();
            for missing in missing(rows) {
                self.cover_unseen(clause_of(&globals, &missing, Some((cut, &positions))))?;
            }
        }
        Ok(())
    }

    /// Covers the states that violate a clause, none of which is listed.
    fn cover_unseen(&mut self, clause: UniversalClause) -> Result<(), Reason> {
        self.poll()?;
        let is_covered = self.regions.iter().flatten().any(|region| region.includes(&clause));
        // A thread that holds the system is known to others.
        let holds = clause.threads.first().and_then(|cube| cube.holds);
        if is_covered || clause.held == Some(false) && holds == Some(true) {
            Ok(())
        } else {
            self.add(clause)
        }
    }

    /// Covers all states that come to covered ones.
    fn close(&mut self) -> Result<(), Reason> {
        let mut next = 0;
        while next < self.regions.len() {
            let region = self.regions[next].clone();
            next += 1;
            let Some(region) = region else { continue };
            for (shared, threads) in self.states(&region).unwrap_or_default() {
                self.close_under_steps(shared, &threads)?;
            }
        }
        Ok(())
    }

    fn close_under_steps(&mut self, shared: SharedId, threads: &Threads) -> Result<(), Reason> {
        let goal = self.net.marking_of(shared, threads);
        for at in 0..self.into[shared.index()].len() {
            self.poll()?;
            let transition = self.net.net.transition(self.into[shared.index()][at]);
            let net = self.net;
            let keep = &mut |marking: &Marking| {
                transition.upper.iter().all(|&(place, n)| marking.get(place) <= n) && net.is_seen(marking)
            };
            for before in predecessors(transition, &goal, keep)? {
                if let Some((shared, threads)) = net.state_of(&before) {
                    self.cover(shared, &threads)?;
                }
            }
        }
        Ok(())
    }
}

impl ThreadNet<'_> {
    /// The marking with this shared state and these threads.
    fn marking_of(&self, shared: SharedId, threads: &Threads) -> Marking {
        let mut marking = Marking::new();
        marking.set(self.shared_place(shared), 1);
        for &thread in threads {
            let place = self.thread_place(thread);
            marking.set(place, marking.get(place) + 1);
        }
        marking
    }

    /// The state that a marking stands for, if it has one shared state.
    fn state_of(&self, marking: &Marking) -> Option<(SharedId, Threads)> {
        let mut shared = None;
        let mut threads = Threads::new();
        for (place, n) in marking.iter() {
            match (self.thread_at(place), self.shared_at(place)) {
                (Some(thread), _) => threads.extend(std::iter::repeat_n(thread, n as usize)),
                (None, Some(state)) if shared.is_none() && n == 1 => shared = Some(state),
                _ => return None,
            }
        }
        Some((shared?, threads))
    }

    /// Whether a marking may stand for a state in which all pairs are listed.
    fn is_seen(&self, marking: &Marking) -> bool {
        let Some((shared, threads)) = self.state_of(marking) else { return false };
        threads.iter().all(|&thread| self.views.sees(shared, thread))
            && threads
                .iter()
                .enumerate()
                .all(|(i, &thread)| threads[..i].iter().all(|&other| self.views.can_be_beside(thread, other)))
    }
}

/// The conditions, as beginnings of rows, under which no row is in a list. All rows have the same length.
fn missing(mut rows: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    rows.sort_unstable();
    rows.dedup();
    if rows.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    let mut open = vec![(&rows[..], 0)];
    while let Some((rows, length)) = open.pop() {
        let Some(first) = rows.first().filter(|row| length < row.len()) else { continue };
        let (off, on) = rows.split_at(rows.partition_point(|row| !row[length]));
        for (part, value) in [(off, false), (on, true)] {
            if part.is_empty() {
                found.push(first[..length].iter().copied().chain([value]).collect());
            } else {
                open.push((part, length + 1));
            }
        }
    }
    found
}

/// The clause with these values: whether the system is held, the globals, and at a cut, whether the thread holds the system, and
/// values at positions.
fn clause_of(globals: &[u32], values: &[bool], thread: Option<(u32, &[u32])>) -> UniversalClause {
    let held = values.first().copied();
    let rest = values.get(1..).unwrap_or_default();
    let of_thread = rest.get(globals.len()..).unwrap_or_default();
    let cube = |(cut, positions): (u32, &[u32])| ThreadCube {
        cuts: vec![cut],
        holds: of_thread.first().copied(),
        values: positions.iter().copied().zip(of_thread.iter().skip(1).copied()).collect(),
    };
    let globals = globals.iter().copied().zip(rest.iter().copied()).collect();
    UniversalClause { globals, held, threads: thread.map(cube).into_iter().collect() }
}
