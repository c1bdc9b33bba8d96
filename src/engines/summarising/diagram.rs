//! Projection of path edges onto the states they relate.
//!
//! A path edge that contained the formulas of the calls on its way would double in size at every call, and a chain
//! of procedures in which each calls the next twice would become exponential. So choices are eliminated before an
//! edge is used again. The result is a formula over the names of slots. It is canonical, because it is read off a
//! decision diagram with a fixed order, so equal relations are equal terms.
//!
//! Invariant (links): a slot whose current value equals its value at the entry is a link, and is not part of the
//! diagram. So a thousand globals that a procedure passes through cost nothing.
//!
//! Deviation: if the diagram gets too large, the edge stays in parametric form ("plain copies only where projection
//! does not pay").

use cusp_encodings::{Node as TermNode, Term, TermArena, VarId};
use oxidd::bcdd::{BCDDFunction, BCDDManagerRef};
use oxidd::util::AllocResult;
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, HasLevel, Manager, ManagerRef, Node,
    VarNo,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;

use super::edge::{Edge, Names};
use crate::engines::bdd::diagrams::tables;

/// The greatest number of nodes of all diagrams together.
const CAPACITY: usize = 1 << 20;
/// The greatest number of new nodes that one projection may make.
const LIMIT: usize = 1 << 17;
/// The greatest number of gates of a formula that is projected.
const LARGEST_CONE: usize = 1 << 17;
/// The number of levels per slot: entry value, current value, and two for choices near it.
const LEVELS: usize = 4;
/// The number of levels for further choices, after all slots.
const SPARE: usize = 256;
/// So many levels are looked at for one unit of work.
const LEVELS_PER_WORK: u64 = 20;

/// A path edge without choices.
#[derive(Clone)]
pub struct Projected {
    /// The edge over names of slots.
    pub edge: Rc<Edge>,
    set: BCDDFunction,
    /// The slots that are links, sorted.
    links: Rc<[u32]>,
}

impl Projected {
    /// Whether the relation contains these values; `None` is a value that does not matter.
    #[must_use]
    pub fn contains(&self, entry: &[Option<bool>], now: &[Option<bool>]) -> bool {
        let linked = |slot: u32| {
            let slot = slot as usize;
            matches!((entry[slot], now[slot]), (Some(a), Some(b)) if a != b)
        };
        if self.links.iter().any(|&slot| linked(slot)) {
            return false;
        }
        let level = |offset: usize| {
            move |(slot, value): (usize, &Option<bool>)| {
                ((slot * LEVELS + offset) as VarNo, value.unwrap_or(false))
            }
        };
        let values = entry.iter().enumerate().map(level(0)).chain(now.iter().enumerate().map(level(1)));
        self.set.eval(values)
    }

    /// Whether the relation is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edge.guard == Term::FALSE
    }
}

impl PartialEq for Projected {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set && self.links == other.links
    }
}

/// Makes and combines projected edges.
pub struct Diagrams {
    manager: BCDDManagerRef,
    width: usize,
    /// The results of earlier projections; `None` for an edge that was too large.
    cache: FxHashMap<Edge, Option<Projected>>,
    /// The terms that were made for diagrams.
    terms: FxHashMap<BCDDFunction, Term>,
    /// What projections have cost since [`Diagrams::take_work`] was last called.
    work: u64,
}

/// The error that a diagram got too large.
struct TooLarge;

impl From<oxidd::util::OutOfMemory> for TooLarge {
    fn from(_: oxidd::util::OutOfMemory) -> Self {
        Self
    }
}

impl Diagrams {
    /// Diagrams for procedures of at most `width` slots; nothing if the system has no thread for them.
    #[must_use]
    pub fn new(width: usize) -> Option<Self> {
        let manager = tables(CAPACITY, CAPACITY / 4)?;
        let levels = (width * LEVELS + SPARE) as VarNo;
        manager.with_manager_exclusive(|manager| manager.add_vars(levels));
        Some(Self { manager, width, cache: FxHashMap::default(), terms: FxHashMap::default(), work: 0 })
    }

    /// The edge without its choices, unless that would be too large.
    pub fn project(&mut self, arena: &mut TermArena, names: &Names, edge: &Edge) -> Option<Projected> {
        if let Some(known) = self.cache.get(edge) {
            return known.clone();
        }
        if self.nodes() > CAPACITY / 2 {
            // The entries of the caches keep diagrams alive that are not used elsewhere.
            self.cache.clear();
            self.terms.clear();
            self.manager.with_manager_shared(|manager| manager.gc());
        }
        let projected = self.eliminate(arena, names, edge).ok();
        self.cache.insert(edge.clone(), projected.clone());
        projected
    }

    /// What projections have cost since the last call, as [work](crate::budget::Budget::spend).
    pub fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    fn var(&self, level: usize) -> AllocResult<BCDDFunction> {
        self.manager.with_manager_shared(|manager| BCDDFunction::var(manager, level as VarNo))
    }

    fn constant(&self, value: bool) -> BCDDFunction {
        self.manager.with_manager_shared(|manager| {
            if value { BCDDFunction::t(manager) } else { BCDDFunction::f(manager) }
        })
    }

    fn nodes(&self) -> usize {
        self.manager.with_manager_shared(|manager| manager.num_inner_nodes())
    }

    fn eliminate(
        &mut self,
        arena: &mut TermArena,
        names: &Names,
        edge: &Edge,
    ) -> Result<Projected, TooLarge> {
        let mut links = Vec::new();
        // The values with their levels; links are left out.
        let mut outputs: Vec<(usize, Term)> = Vec::new();
        for (slot, &term) in edge.entry.iter().enumerate() {
            if let Some(term) = term {
                outputs.push((slot * LEVELS, term));
            }
        }
        for (slot, &term) in edge.now.iter().enumerate() {
            let Some(term) = term else { continue };
            if edge.entry.get(slot).copied().flatten() == Some(term) {
                links.push(slot as u32);
            } else {
                outputs.push((slot * LEVELS + 1, term));
            }
        }
        outputs.sort_by_key(|&(level, _)| level);
        let mut conjuncts = conjuncts_of(arena, edge.guard);
        let roots: Vec<Term> =
            conjuncts.iter().copied().chain(outputs.iter().map(|&(_, term)| term)).collect();
        let cone = arena.cone(&roots);
        if cone.len() > LARGEST_CONE {
            return Err(TooLarge);
        }
        // A choice that is itself the value of an output is represented by the level of that output.
        let mut level_of: FxHashMap<VarId, (usize, bool)> = FxHashMap::default();
        let mut equations: Vec<(usize, Term)> = Vec::new();
        for &(level, term) in &outputs {
            match arena.as_var(term) {
                Some(var) if !level_of.contains_key(&var) => {
                    level_of.insert(var, (level, term.is_complemented()));
                }
                _ => equations.push((level, term)),
            }
        }
        let choices = self.place_choices(arena, &equations, &cone, &mut level_of)?;
        let before = self.nodes();
        // Counting the nodes of all levels is most of the cost of a gate.
        let gate = 10 + (self.width * LEVELS + SPARE) as u64 / LEVELS_PER_WORK;
        let mut made: FxHashMap<Term, BCDDFunction> = FxHashMap::default();
        for &node in &cone {
            let function = match arena.node(node) {
                TermNode::True => self.constant(true),
                TermNode::Var(var) => {
                    let (level, complemented) = level_of[&var];
                    let function = self.var(level)?;
                    if complemented { function.not()? } else { function }
                }
                TermNode::And(a, b) => value(&made, a)?.and(&value(&made, b)?)?,
                TermNode::Xor(a, b) => value(&made, a)?.xor(&value(&made, b)?)?,
            };
            made.insert(node, function);
            self.work += gate;
            if self.nodes() > before + LIMIT {
                return Err(TooLarge);
            }
        }
        // Every choice is quantified together with the last conjunct that depends on it.
        let mut parts: Vec<(BCDDFunction, Vec<VarId>)> = Vec::new();
        conjuncts.sort_unstable();
        for conjunct in conjuncts {
            parts.push((value(&made, conjunct)?, arena.support(&[conjunct])));
        }
        for (level, term) in equations {
            parts.push((self.var(level)?.equiv(&value(&made, term)?)?, arena.support(&[term])));
        }
        drop(made);
        let mut last_use: FxHashMap<VarId, usize> = FxHashMap::default();
        for (position, (_, support)) in parts.iter().enumerate() {
            for &var in support {
                last_use.insert(var, position);
            }
        }
        let mut set = self.constant(true);
        for (position, (part, support)) in parts.iter().enumerate() {
            let mut done = self.constant(true);
            for var in support.iter().filter(|&var| choices.contains(var) && last_use[var] == position) {
                done = done.and(&self.var(level_of[var].0)?)?;
            }
            set = set.apply_exists(BooleanOperator::And, part, &done)?;
            if self.nodes() > before + LIMIT {
                return Err(TooLarge);
            }
        }
        Ok(self.projected(arena, names, edge, set, links))
    }

    /// Gives levels to the choices that are to be eliminated, near the outputs that depend on them.
    fn place_choices(
        &self,
        arena: &TermArena,
        equations: &[(usize, Term)],
        cone: &[Term],
        level_of: &mut FxHashMap<VarId, (usize, bool)>,
    ) -> Result<Vec<VarId>, TooLarge> {
        let mut spare = (0..self.width * LEVELS).filter(|level| level % LEVELS >= 2).rev();
        let mut free: Vec<bool> = vec![true; self.width * LEVELS];
        let mut last = self.width * LEVELS..self.width * LEVELS + SPARE;
        let mut choices = Vec::new();
        for &(level, term) in equations {
            for var in arena.support(&[term]) {
                if level_of.contains_key(&var) {
                    continue;
                }
                let first = level / LEVELS * LEVELS;
                let near = [first + 2, first + 3].into_iter().find(|&level| free[level]);
                let level = match near {
                    Some(level) => level,
                    None => last.next().ok_or(TooLarge)?,
                };
                if level < free.len() {
                    free[level] = false;
                }
                level_of.insert(var, (level, false));
                choices.push(var);
            }
        }
        for var in cone.iter().filter_map(|&term| arena.as_var(term)) {
            if level_of.contains_key(&var) {
                continue;
            }
            let level = match spare.find(|&level| free[level]) {
                Some(level) => level,
                None => last.next().ok_or(TooLarge)?,
            };
            level_of.insert(var, (level, false));
            choices.push(var);
        }
        Ok(choices)
    }

    /// A projected edge of the same shape as `like`.
    fn projected(
        &mut self,
        arena: &mut TermArena,
        names: &Names,
        like: &Edge,
        set: BCDDFunction,
        links: Vec<u32>,
    ) -> Projected {
        let guard = self.term(arena, names, &set);
        let entry: Vec<Option<Term>> = like
            .entry
            .iter()
            .enumerate()
            .map(|(slot, term)| term.map(|_| names.entry(arena, slot)))
            .collect();
        let now = like.now.iter().enumerate().map(|(slot, term)| {
            term.map(|_| match links.binary_search(&(slot as u32)) {
                Ok(_) => names.entry(arena, slot),
                Err(_) => names.now(arena, slot),
            })
        });
        let now = now.collect();
        Projected { edge: Rc::new(Edge { guard, entry, now }), set, links: links.into() }
    }

    /// The union of two relations at the same place.
    pub fn union(
        &mut self,
        arena: &mut TermArena,
        names: &Names,
        a: &Projected,
        b: &Projected,
    ) -> Option<Projected> {
        let links: Vec<u32> =
            a.links.iter().copied().filter(|slot| b.links.binary_search(slot).is_ok()).collect();
        let set = self.unlinked(a, &links).and_then(|left| Ok(left.or(&self.unlinked(b, &links)?)?));
        let set = set.ok()?;
        Some(self.projected(arena, names, &a.edge, set, links))
    }

    /// The set in which only the given links are implicit; the other links become equations of the diagram.
    fn unlinked(&self, projected: &Projected, links: &[u32]) -> Result<BCDDFunction, TooLarge> {
        let mut set = projected.set.clone();
        for slot in projected.links.iter().filter(|slot| links.binary_search(slot).is_err()) {
            let level = *slot as usize * LEVELS;
            set = set.and(&self.var(level)?.equiv(&self.var(level + 1)?)?)?;
        }
        Ok(set)
    }

    /// The term of a diagram over names of slots.
    fn term(&mut self, arena: &mut TermArena, names: &Names, root: &BCDDFunction) -> Term {
        let mut stack = vec![root.clone()];
        while let Some(function) = stack.last() {
            if self.terms.contains_key(function) {
                stack.pop();
                continue;
            }
            let Some((then, otherwise)) = function.cofactors() else {
                let term = Term::constant(function.valid());
                self.terms.insert(function.clone(), term);
                stack.pop();
                continue;
            };
            match (self.terms.get(&then), self.terms.get(&otherwise)) {
                (Some(&t), Some(&e)) => {
                    let level = function.with_manager_shared(|manager, edge| match manager.get_node(edge) {
                        Node::Inner(node) => node.level() as usize,
                        Node::Terminal(_) => unreachable!("a function with cofactors is not a constant"),
                    });
                    let slot = level / LEVELS;
                    let var =
                        if level % LEVELS == 0 { names.entry(arena, slot) } else { names.now(arena, slot) };
                    let term = arena.ite(var, t, e);
                    self.terms.insert(function.clone(), term);
                    stack.pop();
                }
                (t, e) => {
                    let missing = [t.is_none().then_some(then), e.is_none().then_some(otherwise)];
                    stack.extend(missing.into_iter().flatten());
                }
            }
        }
        self.terms[root]
    }
}

fn value(made: &FxHashMap<Term, BCDDFunction>, term: Term) -> Result<BCDDFunction, TooLarge> {
    let function = &made[&term.uncomplemented()];
    Ok(if term.is_complemented() { function.not()? } else { function.clone() })
}

/// The conjuncts of a term, each once.
fn conjuncts_of(arena: &TermArena, term: Term) -> Vec<Term> {
    let mut seen: rustc_hash::FxHashSet<Term> = rustc_hash::FxHashSet::default();
    let mut conjuncts = Vec::new();
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        if !seen.insert(term) {
            continue;
        }
        match arena.node(term) {
            TermNode::And(a, b) if !term.is_complemented() => stack.extend([b, a]),
            _ => conjuncts.push(term),
        }
    }
    conjuncts
}
