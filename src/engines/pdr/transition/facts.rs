//! Facts about single threads and pairs of them: for every cut, which variables are constant, equal or opposite whenever a
//! thread is there, and at which cuts two threads are never at the same time.
//!
//! Implements: C. Flanagan, S. Qadeer, "Thread-modular model checking", SPIN 2003, with equalities between variables as the
//! abstract domain (M. Karr, "Affine relationships among variables of a program", 1976, restricted to two variables of one bit).
//!
//! The variables that matter at a cut, globals and the thread's own, and the constant are divided into classes whose
//! members are always equal or always opposite. In the beginning no cut is reached. A model of a step from threads
//! that satisfy all facts so far to one that does not reaches a cut, or divides its classes. Both can happen only as
//! often as there are variables, and what is left at the end are the strongest facts of this kind that hold at the start and are
//! kept by steps of the thread itself, of its creator and of one other thread.
//!
//! Without knowing which cuts two threads can be at together, a thread in a critical section would have to expect that
//! another one is there as well and leaves it. So pairs of cuts are found in the same way: in the beginning no two
//! threads are anywhere, and a model of a step that takes two threads to new places adds that pair.

use std::collections::BTreeMap;

use cusp_encodings::{Lit, Term};
use rustc_hash::FxHashMap;

use super::{Transition, Vector};
use crate::evidence::threads::{ThreadCube, UniversalClause};
use crate::reason::Reason;
use crate::threads::Bits;

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Variable {
    True,
    Global(u32),
    Own(u32),
}

/// The variables of a cut in classes.
struct Classes {
    /// For every variable, the number of its class, and its value when its class is true.
    of: Vec<(u32, bool)>,
    count: u32,
}

impl Classes {
    /// One class, whose members have these values.
    fn new(values: &[bool]) -> Self {
        Self { of: values.iter().map(|&value| (0, value)).collect(), count: 1 }
    }

    /// Divides classes so that these values are possible.
    fn divide(&mut self, values: &[bool]) {
        let mut numbers: FxHashMap<(u32, bool), u32> = FxHashMap::default();
        for (member, &value) in self.of.iter_mut().zip(values) {
            let next = numbers.len() as u32;
            member.0 = *numbers.entry((member.0, member.1 == value)).or_insert(next);
        }
        self.count = numbers.len() as u32;
    }

    /// The first member of the class of each variable that is not the first one itself, and whether they are equal.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let mut first: Vec<Option<usize>> = vec![None; self.count as usize];
        self.of.iter().enumerate().filter_map(move |(variable, &(class, value))| {
            let earlier = first[class as usize].get_or_insert(variable);
            (*earlier != variable).then(|| (*earlier, variable, self.of[*earlier].1 == value))
        })
    }
}

/// A thread after a step, or the first one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Start,
    Mover,
    New,
    Watcher,
}

/// What is known about threads at a cut.
struct AtCut {
    variables: Vec<Variable>,
    /// `None` if the cut is not reached.
    classes: Option<Classes>,
    /// Implies that threads at this cut satisfy the facts.
    active: Lit,
    /// For each view, a literal that implies that the thread is at this cut and does not satisfy the facts.
    misses: Vec<(View, Lit)>,
}

/// Two threads after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pair {
    MoverAndWatcher,
    NewAndWatcher,
    NewAndMover,
}

/// Where another thread can be while one is at a certain cut.
struct Together {
    reached: Bits,
    /// Implies that a watcher is at one of these cuts if the thread that moves is at this one.
    active: Lit,
    /// For each pair, a literal that implies that its first thread is at this cut and the second at none of these.
    misses: Vec<(Pair, Lit)>,
}

/// Pairs of cuts are looked at if there are at most so many cuts.
const MOST_CUTS: usize = 500;

/// The search for facts.
struct Search<'t, 'a> {
    transition: &'t mut Transition<'a>,
    cuts: Vec<AtCut>,
    /// For every cut; empty if pairs are not looked at.
    together: Vec<Together>,
    truth: Lit,
}

impl Transition<'_> {
    /// The strongest facts, as clauses about one thread or two. From now on, they hold before every step.
    pub fn find_facts(&mut self) -> Result<Vec<UniversalClause>, Reason> {
        if self.most > 1 {
            self.need_watchers(1);
        }
        let truth = self.lit(Term::TRUE);
        let mut search = Search { transition: self, cuts: Vec::new(), together: Vec::new(), truth };
        let count = search.transition.cuts.len();
        if !search.transition.watchers.is_empty() && count <= MOST_CUTS {
            for number in 0..count {
                let reached = Bits::default();
                search.together.push(Together { reached, active: truth, misses: Vec::new() });
                search.encode_pairs(number);
            }
        }
        for number in 0..count {
            let transition = &search.transition;
            let globals = transition.shared[0].iter().enumerate().filter(|(_, lit)| lit.is_some());
            let globals = globals.map(|(global, _)| Variable::Global(global as u32));
            let own = transition.live[number].iter().map(|position| Variable::Own(position as u32));
            let variables = std::iter::once(Variable::True).chain(globals).chain(own).collect();
            search.cuts.push(AtCut { variables, classes: None, active: truth, misses: Vec::new() });
            search.encode(number);
        }
        for views in [&[View::Start][..], &[View::Mover, View::New, View::Watcher]] {
            while search.step(views)? {}
        }
        let actives: Vec<Lit> = search.actives().collect();
        let clauses = search.clauses();
        for active in actives {
            self.solver.add_clause(&[active]);
        }
        self.facts.clone_from(&clauses);
        Ok(clauses)
    }

    /// Makes the facts hold in one more slot.
    pub(super) fn assume_facts(&mut self, slot: usize) {
        let vector = self.before(slot).clone();
        let refuted = |lit: Lit, value: bool| if value { !lit } else { lit };
        let mut pairs = Vec::new();
        for fact in &self.facts {
            if let [first, second] = &fact.threads[..] {
                pairs.push((first, second));
                continue;
            }
            let thread = &fact.threads[0];
            let globals = fact.globals.iter();
            let globals =
                globals.filter_map(|&(global, value)| Some(refuted(self.shared[0][global as usize]?, value)));
            let own = thread.values.iter();
            let own = own.map(|&(position, value)| refuted(vector.values[position as usize], value));
            let rest: Vec<Lit> = globals.chain(own).collect();
            for &cut in &thread.cuts {
                let clause = [&[!vector.at[cut as usize]], &rest[..]].concat();
                self.solver.add_clause(&clause);
            }
        }
        for other in 0..slot {
            let other = if other == 0 { &self.mover[0] } else { &self.watchers[other - 1].before };
            for &(first, second) in &pairs {
                for [here, there] in [[&vector, other], [other, &vector]] {
                    let outside = (0..there.at.len()).filter(|&cut| !second.cuts.contains(&(cut as u32)));
                    let rest: Vec<Lit> = outside.map(|cut| there.at[cut]).chain([!there.alive]).collect();
                    for &cut in &first.cuts {
                        let clause = [&[!here.at[cut as usize]], &rest[..]].concat();
                        self.solver.add_clause(&clause);
                    }
                }
            }
        }
    }
}

impl Search<'_, '_> {
    fn vector(&self, view: View) -> &Vector {
        match view {
            View::Start => &self.transition.mover[0],
            View::Mover => &self.transition.mover[1],
            View::New => &self.transition.new,
            View::Watcher => &self.transition.watchers[0].after,
        }
    }

    fn literal(&self, vector: &Vector, moment: usize, variable: Variable) -> Lit {
        match variable {
            Variable::True => self.truth,
            // Those that do not matter are no variables of a cut.
            Variable::Global(global) => self.transition.shared[moment][global as usize].unwrap_or(self.truth),
            Variable::Own(position) => vector.values[position as usize],
        }
    }

    /// The views that there are.
    fn views(&self, number: usize) -> Vec<View> {
        let transition = &self.transition;
        let is_start = transition.cuts[number] == transition.system.start;
        let all = [
            (View::Start, is_start),
            (View::Mover, true),
            (View::New, transition.creates),
            (View::Watcher, !transition.watchers.is_empty()),
        ];
        all.into_iter().filter(|&(_, exists)| exists).map(|(view, _)| view).collect()
    }

    /// Tells the solver what is known about a cut now.
    fn encode(&mut self, number: usize) {
        let active = self.transition.activator();
        let pairs: Option<Vec<(Variable, Variable, bool)>> =
            self.cuts[number].classes.as_ref().map(|classes| {
                let variables = &self.cuts[number].variables;
                classes
                    .pairs()
                    .map(|(first, other, equal)| (variables[first], variables[other], equal))
                    .collect()
            });
        let mut clauses: Vec<Vec<Lit>> = Vec::new();
        let watcher = self.transition.watchers.first().map(|watcher| &watcher.before);
        for vector in std::iter::once(&self.transition.mover[0]).chain(watcher) {
            let outside = [!active, !vector.at[number]];
            for &(first, other, equal) in pairs.iter().flatten() {
                let [a, b] = [first, other].map(|variable| self.literal(vector, 0, variable));
                let b = if equal { b } else { !b };
                clauses.extend([[!a, b], [a, !b]].map(|rest| [outside, rest].concat()));
            }
            if pairs.is_none() {
                clauses.push(outside.to_vec());
            }
        }
        let mut misses = Vec::new();
        for view in self.views(number) {
            let miss = self.transition.activator();
            clauses.push(vec![!miss, self.vector(view).at[number]]);
            let mut some = vec![!miss];
            for &(first, other, equal) in pairs.iter().flatten() {
                let differ = self.transition.activator();
                let moment = usize::from(view != View::Start);
                let vector = self.vector(view);
                let [a, b] = [first, other].map(|variable| self.literal(vector, moment, variable));
                let b = if equal { b } else { !b };
                clauses.extend([vec![!differ, a, b], vec![!differ, !a, !b]]);
                some.push(differ);
            }
            if pairs.is_some() {
                clauses.push(some);
            }
            misses.push((view, miss));
        }
        for clause in clauses {
            self.transition.solver.add_clause(&clause);
        }
        let cut = &mut self.cuts[number];
        let old = std::mem::replace(&mut cut.active, active);
        let retired = std::mem::replace(&mut cut.misses, misses);
        if old != self.truth {
            self.transition.retire(old);
        }
        for (_, miss) in retired {
            self.transition.retire(miss);
        }
    }

    /// All literals that imply facts.
    fn actives(&self) -> impl Iterator<Item = Lit> {
        let pairs = self.together.iter().map(|together| together.active);
        self.cuts.iter().map(|cut| cut.active).chain(pairs)
    }

    /// Tells the solver what is known about threads beside one at a cut.
    fn encode_pairs(&mut self, number: usize) {
        let active = self.transition.activator();
        let Transition { mover, watchers, new, .. } = &*self.transition;
        let (mover, watcher) = (mover.clone(), &watchers[0]);
        let reached = &self.together[number].reached;
        let mut clauses: Vec<Vec<Lit>> = Vec::new();
        let mut some = vec![!active, !mover[0].at[number], !watcher.before.alive];
        some.extend(reached.iter().map(|cut| watcher.before.at[cut]));
        clauses.push(some);
        let all = [
            (Pair::MoverAndWatcher, &mover[1], &watcher.after),
            (Pair::NewAndWatcher, new, &watcher.after),
            (Pair::NewAndMover, new, &mover[1]),
        ];
        let unreached = |other: &Vector| {
            let cuts = (0..other.at.len()).filter(|&cut| !reached.get(cut));
            cuts.map(|cut| other.at[cut]).collect::<Vec<Lit>>()
        };
        let all: Vec<(Pair, Lit, Vec<Lit>)> =
            all.into_iter().map(|(pair, one, other)| (pair, one.at[number], unreached(other))).collect();
        let mut misses = Vec::new();
        for (pair, here, there) in all {
            let miss = self.transition.activator();
            clauses.push(vec![!miss, here]);
            clauses.push([&[!miss], &there[..]].concat());
            misses.push((pair, miss));
        }
        for clause in clauses {
            self.transition.solver.add_clause(&clause);
        }
        let together = &mut self.together[number];
        let old = std::mem::replace(&mut together.active, active);
        let retired = std::mem::replace(&mut together.misses, misses);
        let retired = retired.into_iter().map(|(_, miss)| miss).chain((old != self.truth).then_some(old));
        retired.for_each(|lit| self.transition.retire(lit));
    }

    /// Looks for a thread in one of some views that does not satisfy the facts, and weakens them. Returns whether there is one.
    fn step(&mut self, views: &[View]) -> Result<bool, Reason> {
        let mut weakened = false;
        // A thread that does not move is there only if the question is about it.
        for watches in [false, true] {
            let is_asked = |view: View| views.contains(&view) && (view == View::Watcher) == watches;
            let misses = self.cuts.iter().flat_map(|cut| &cut.misses);
            let mut misses: Vec<Lit> =
                misses.filter(|(view, _)| is_asked(*view)).map(|&(_, miss)| miss).collect();
            if views != [View::Start] {
                let pairs = self.together.iter().flat_map(|together| &together.misses);
                let pairs = pairs.filter(|(pair, _)| (*pair != Pair::NewAndMover) == watches);
                misses.extend(pairs.map(|&(_, miss)| miss));
            }
            if misses.is_empty() {
                continue;
            }
            let some = self.transition.activator();
            let clause: Vec<Lit> = std::iter::once(!some).chain(misses).collect();
            self.transition.solver.add_clause(&clause);
            let mut assumptions = vec![some, self.transition.mover[0].alive];
            if views == [View::Start] {
                assumptions.push(self.transition.start);
            } else {
                assumptions.push(self.transition.step);
                assumptions.extend(self.actives());
            }
            for (slot, watcher) in self.transition.watchers.iter().enumerate() {
                let is_there = watches && slot == 0;
                assumptions.push(if is_there { watcher.before.alive } else { !watcher.before.alive });
                assumptions.extend(is_there.then_some(watcher.allows));
            }
            if self.transition.solve(&assumptions)? {
                weakened = true;
                self.weaken(views, watches);
            }
            self.transition.retire(some);
        }
        Ok(weakened)
    }

    /// Weakens the facts so that the threads of the model satisfy them.
    fn weaken(&mut self, views: &[View], watches: bool) {
        let mut seen: Vec<(View, usize, Vec<bool>)> = Vec::new();
        let is_true = |lit: Lit| self.transition.solver.value(lit);
        for &view in views.iter().filter(|&&view| view != View::Watcher || watches) {
            let vector = self.vector(view);
            let moment = usize::from(view != View::Start);
            let Some(number) = vector.at.iter().position(|&at| is_true(at)) else { continue };
            if !self.views(number).contains(&view) {
                continue;
            }
            let variables = self.cuts[number].variables.iter();
            let values = variables.map(|&variable| is_true(self.literal(vector, moment, variable)));
            seen.push((view, number, values.collect()));
        }
        for (position, &(view, first, _)) in seen.iter().enumerate() {
            for &(_, second, _) in &seen[..position] {
                debug_assert!(view != View::Start, "there is one thread at the start");
                for [one, other] in [[first, second], [second, first]] {
                    if !self.together.is_empty() && !self.together[one].reached.get(other) {
                        self.together[one].reached.set(other, true);
                        self.encode_pairs(one);
                    }
                }
            }
        }
        for (_, number, values) in seen {
            let old = self.cuts[number].classes.as_ref().map(|classes| classes.count);
            let classes = self.cuts[number].classes.get_or_insert_with(|| Classes::new(&values));
            classes.divide(&values);
            if old != Some(classes.count) {
                self.encode(number);
            }
        }
    }

    /// Where no two threads are together, as clauses.
    fn clauses_about_pairs(&self, unreached: &[u32]) -> Vec<UniversalClause> {
        let count = self.together.len() as u32;
        let is_reached = |cut: &u32| unreached.binary_search(cut).is_err();
        // Cuts with the same partners share a clause.
        let mut apart: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (cut, together) in (0..).zip(&self.together).filter(|(cut, _)| is_reached(cut)) {
            let others =
                (0..count).filter(|&other| is_reached(&other) && !together.reached.get(other as usize));
            apart.entry(others.collect()).or_default().push(cut);
        }
        let at = |cuts: Vec<u32>| ThreadCube { cuts, ..ThreadCube::default() };
        let apart = apart.into_iter().filter(|(others, _)| !others.is_empty());
        let clause = |(others, cuts)| UniversalClause {
            threads: vec![at(cuts), at(others)],
            ..UniversalClause::default()
        };
        apart.map(clause).collect()
    }

    /// The facts as clauses.
    fn clauses(&self) -> Vec<UniversalClause> {
        let mut unreached = Vec::new();
        let mut facts: BTreeMap<(Variable, Variable, bool), Vec<u32>> = BTreeMap::new();
        for (number, cut) in (0..).zip(&self.cuts) {
            let Some(classes) = &cut.classes else {
                unreached.push(number);
                continue;
            };
            for (first, other, equal) in classes.pairs() {
                facts.entry((cut.variables[first], cut.variables[other], equal)).or_default().push(number);
            }
        }
        let mut clauses = self.clauses_about_pairs(&unreached);
        let mut exclude = |cuts: &[u32], values: &[(Variable, bool)]| {
            let mut clause = UniversalClause::default();
            let mut thread = ThreadCube { cuts: cuts.to_vec(), ..ThreadCube::default() };
            for &(variable, value) in values {
                match variable {
                    Variable::True => {}
                    Variable::Global(global) => clause.globals.push((global, value)),
                    Variable::Own(position) => thread.values.push((position, value)),
                }
            }
            clause.threads.push(thread);
            clauses.push(clause);
        };
        if !unreached.is_empty() {
            exclude(&unreached, &[]);
        }
        for ((first, other, equal), cuts) in facts {
            exclude(&cuts, &[(first, true), (other, !equal)]);
            if first != Variable::True {
                exclude(&cuts, &[(first, false), (other, equal)]);
            }
        }
        clauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_divided_until_all_values_are_possible() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..500 {
            let width = 2 + random(6) as usize;
            let count = 1 + random(4) as usize;
            let mut value = || (0..width).map(|i| i == 0 || random(2) == 1).collect::<Vec<bool>>();
            let seen: Vec<Vec<bool>> = (0..count).map(|_| value()).collect();
            let mut classes = Classes::new(&seen[0]);
            for values in &seen {
                classes.divide(values);
            }
            for a in 0..width {
                for b in 0..width {
                    let is_one_class = classes.of[a].0 == classes.of[b].0;
                    let equal = seen.iter().all(|values| values[a] == values[b]);
                    let opposite = seen.iter().all(|values| values[a] != values[b]);
                    assert_eq!(is_one_class, equal || opposite, "{seen:?} {a} {b}");
                    if is_one_class {
                        assert_eq!(classes.of[a].1 == classes.of[b].1, equal, "{seen:?} {a} {b}");
                    }
                }
            }
            let pairs = classes.pairs().count();
            assert_eq!(pairs + classes.count as usize, width, "{seen:?}");
        }
    }
}
