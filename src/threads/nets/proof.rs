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

use super::cover::{Literals, Region};
use super::excluded::{Excluded, Product};
use super::views::{PairId, Shared, SharedId, Step, ThreadId};
use super::{ThreadNet, Violating};
use crate::budget::Budget;
use crate::evidence::NetCertificate;
use crate::evidence::threads::{ThreadCube, UniversalClause};
use crate::reason::Reason;
use crate::threads::Bits;

/// The most clauses of a proof.
const MOST_CLAUSES: usize = 4_000;

impl ThreadNet<'_> {
    /// Clauses that hold in all states of the program and exclude all violations, from a proof about the net.
    ///
    /// # Errors
    /// If there are too many clauses, or the budget is used up.
    pub fn clauses(&self, proof: &NetCertificate, budget: &Budget) -> Result<Vec<UniversalClause>, Reason> {
        let mut into = vec![Vec::new(); self.views.shared.len()];
        for (id, pair) in self.views.pair_ids() {
            for (number, step) in pair.steps.iter().enumerate() {
                into[step.shared.index()].push((id, number));
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

struct Search<'a> {
    net: &'a ThreadNet<'a>,
    literals: Literals,
    excluded: Excluded<'a>,
    /// For every shared state, the large steps that lead to it: the pair that they start from, and their position there.
    into: Vec<Vec<(PairId, usize)>>,
    regions: Vec<Option<Region>>,
    budget: &'a Budget,
}

impl Search<'_> {
    fn poll(&self) -> Result<(), Reason> {
        self.budget.exhausted().map_or(Ok(()), Err)
    }

    /// Whether all listed states of a region are excluded.
    fn is_excluded(&self, region: &Region) -> bool {
        let mut shared = region.shared.iter().map(SharedId::from_index);
        shared.all(|shared| self.excluded.includes(&self.literals.product(region, shared)))
    }

    /// Takes a smaller clause, if only excluded states violate it. `more` is violated by what is violated in addition.
    fn attempt(
        &self,
        best: &mut UniversalClause,
        more: UniversalClause,
        smaller: UniversalClause,
    ) -> Result<(), Reason> {
        self.poll()?;
        if self.is_excluded(&self.literals.region(more)) {
            *best = smaller;
        }
        Ok(())
    }

    /// A smaller clause that only excluded states violate.
    fn generalised(&self, mut best: UniversalClause) -> Result<UniversalClause, Reason> {
        for thread in (0..best.threads.len()).rev() {
            let mut smaller = best.clone();
            smaller.threads.remove(thread);
            self.attempt(&mut best, smaller.clone(), smaller)?;
        }
        for at in (0..best.globals.len()).rev() {
            let (mut more, mut smaller) = (best.clone(), best.clone());
            more.globals[at].1 ^= true;
            smaller.globals.remove(at);
            self.attempt(&mut best, more, smaller)?;
        }
        if let Some(held) = best.held {
            let more = UniversalClause { held: Some(!held), ..best.clone() };
            let smaller = UniversalClause { held: None, ..best.clone() };
            self.attempt(&mut best, more, smaller)?;
        }
        for thread in 0..best.threads.len() {
            for at in (0..best.threads[thread].values.len()).rev() {
                let (mut more, mut smaller) = (best.clone(), best.clone());
                more.threads[thread].values[at].1 ^= true;
                smaller.threads[thread].values.remove(at);
                self.attempt(&mut best, more, smaller)?;
            }
            if let Some(holds) = best.threads[thread].holds {
                let (mut more, mut smaller) = (best.clone(), best.clone());
                more.threads[thread].holds = Some(!holds);
                smaller.threads[thread].holds = None;
                self.attempt(&mut best, more, smaller)?;
            }
            for (cut, &location) in (0..).zip(&self.literals.cuts) {
                let cube = &best.threads[thread];
                // Values say something only where they matter.
                let live = self.net.system.live(location);
                let fits = cube.values.iter().all(|&(position, _)| live.get(position as usize));
                if let (Err(at), true) = (cube.cuts.binary_search(&cut), fits) {
                    let (mut more, mut smaller) = (best.clone(), best.clone());
                    more.threads[thread].cuts = vec![cut];
                    smaller.threads[thread].cuts.insert(at, cut);
                    self.attempt(&mut best, more, smaller)?;
                }
            }
        }
        Ok(best)
    }

    /// Covers the states that violate a clause, and more.
    fn add(&mut self, clause: UniversalClause) -> Result<(), Reason> {
        let region = self.literals.region(self.generalised(clause)?);
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

    /// Covers the targets.
    fn targets(&mut self) -> Result<(), Reason> {
        let net = self.net;
        for violation in &net.violations {
            match *violation {
                Violating::Step(pair) => {
                    let pair = &net.views.pairs[pair.index()];
                    self.cover(Product::of(pair.shared, pair.thread))?;
                }
                Violating::Place(thread) => {
                    for pair in net.views.pairs.iter().filter(|pair| pair.thread == thread) {
                        self.cover(Product::of(pair.shared, thread))?;
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
        let values = |shared: &Shared| -> Vec<bool> {
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
            for shared in region.shared.iter().map(SharedId::from_index) {
                let product = self.literals.product(&region, shared);
                if product.threads.iter().any(Bits::is_zero) {
                    continue;
                }
                for at in 0..self.into[shared.index()].len() {
                    let (pair, step) = self.into[shared.index()][at];
                    for before in self.before(&product, pair, step)? {
                        self.cover(before)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The states from which a large step leads into a product.
    fn before(&self, product: &Product, pair: PairId, step: usize) -> Result<Vec<Product>, Reason> {
        let pair = &self.net.views.pairs[pair.index()];
        let step = &pair.steps[step];
        let mut found = Vec::new();
        // The thread that moved is one of the product if it can be. If it is not, the others are more than enough.
        let movers = roles(&product.threads, step.thread, None);
        for &mover in &movers {
            for created in roles(&product.threads, step.creates, mover) {
                let idle = (0..product.threads.len()).filter(|&i| Some(i) != mover && Some(i) != created);
                let mut own = Bits::default();
                own.set(pair.thread.index(), true);
                let mut threads = vec![own];
                for i in idle {
                    threads.push(self.sources(pair.shared, pair.thread, step, &product.threads[i])?);
                }
                found.push(Product { shared: pair.shared, threads });
            }
        }
        Ok(found)
    }

    /// The local states from which other threads come into a set by a step.
    fn sources(&self, shared: SharedId, mover: ThreadId, step: &Step, set: &Bits) -> Result<Bits, Reason> {
        let views = &self.net.views;
        let mut sources = Bits::default();
        for &other in &views.seen_at[shared.index()] {
            let comes = match &step.passive {
                None => set.get(other.index()),
                Some(passive) => {
                    let images = views.images(&self.net.system, passive, other)?;
                    images.iter().any(|image| set.get(image.index()))
                }
            };
            if comes && views.can_be_beside(mover, other) {
                sources.set(other.index(), true);
            }
        }
        Ok(sources)
    }

    /// Covers all states of a product, which have to be excluded.
    fn cover(&mut self, product: Product) -> Result<(), Reason> {
        let mut open = vec![product];
        while let Some(product) = open.pop() {
            self.poll()?;
            if product.threads.iter().any(Bits::is_zero) {
                continue;
            }
            // A region that all states are in, or else one that most of the sets are in.
            let parts = self.regions.iter().flatten().filter_map(|region| region.part_of(&product));
            let Some(part) = parts.min_by_key(Vec::len) else {
                self.cover_one(&product)?;
                open.push(product);
                continue;
            };
            // One of the threads is either in the region or not.
            if let Some((at, inside)) = part.into_iter().next() {
                let (mut one, mut other) = (product.clone(), product);
                one.threads[at].keep(&inside);
                other.threads[at].remove(&inside);
                open.extend([other, one]);
            }
        }
        Ok(())
    }

    /// Covers one of the states of a product, which no region meets.
    fn cover_one(&mut self, product: &Product) -> Result<(), Reason> {
        let mut one = product.clone();
        for set in &mut one.threads {
            let mut first = Bits::default();
            if let Some(thread) = set.iter().next() {
                first.set(thread, true);
            }
            *set = first;
        }
        if !self.excluded.includes(&one) {
            return Err(Reason::GaveUp("the proof about the net does not exclude what it should".to_owned()));
        }
        let threads: Vec<ThreadId> =
            one.threads.iter().flat_map(|set| set.iter().map(ThreadId::from_index)).collect();
        let clause = self.literals.point(&self.net.system, &self.net.views, one.shared, &threads);
        self.add(clause)
    }
}

/// The sets, without repetitions, that a thread may be in, except one of them; `None` alone if there is none.
fn roles(sets: &[Bits], thread: Option<ThreadId>, except: Option<usize>) -> Vec<Option<usize>> {
    let is_role = |&i: &usize| {
        Some(i) != except
            && thread.is_some_and(|thread| sets[i].get(thread.index()))
            && (0..i).all(|j| Some(j) == except || sets[j] != sets[i])
    };
    let roles: Vec<Option<usize>> = (0..sets.len()).filter(is_role).map(Some).collect();
    if roles.is_empty() { vec![None] } else { roles }
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
