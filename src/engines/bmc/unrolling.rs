//! The unrolling: a tree of copies of blocks, encoded as a growing set of clauses.
//!
//! A *site* is a place where control may enter a block: a call of a copy, or an arrival of a copy at a loop head.
//! It has terms for the values with which the block is entered, and for the results with which its activation
//! returns; the sites of one activation share these results. Two variables say whether the run that is searched for
//! *returns* through the site or *fails* behind it. A site without a copy is *open*: these variables are
//! unconstrained, except that at a loop head they imply that control arrives there. So an open site may do
//! anything. *Expanding* a site makes the copy, and adds these clauses:
//!
//! - returns -> the copy reaches the exit with these results, or one of its loop sites returns;
//! - fails -> the copy violates the property, in itself or in a call, or one of its loop sites fails.
//!
//! The converse implications are not needed: the clauses have a model iff there is a run through copies and open
//! sites in which the root fails.
//!
//! Invariant (numbers): copies are numbered in the order in which they were made, so parents come first; the
//! children of a copy are consecutive sites, sorted by their positions in the block.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Term, TermArena, VarId};
use cusp_solvers::SatSolver;
use rustc_hash::FxHashMap;

use super::rounds::Rounds;
use crate::budget::Budget;
use crate::evidence::certificate;
use crate::model::control::Reach;
use crate::model::{Node, ProcId, Procedure};
use crate::symbolic::block::{Block, Blocks, Instance};
use crate::symbolic::template::{Role, Template};

define_id!(
    /// Identifies a site, a place where control may enter a block.
    SiteId, "s"
);

/// A site; see the documentation of the module.
#[derive(Debug)]
pub(super) struct Site {
    pub parent: Option<SiteId>,
    /// The position of the site in the parent's block: first the calls are numbered, then the arrivals.
    pub position: u32,
    /// The call or the loop head by which control enters; `None` for the root.
    pub entered: Option<certificate::Site>,
    /// The site where the activation of this site begins.
    pub activation: SiteId,
    pub template: u32,
    /// The number of sites from the root down to this one, including both.
    pub depth: u32,
    /// How many edges on the way from the root close a cycle (see [`super::rounds`]).
    pub rounds: u32,
    /// How many of these are calls.
    pub recursion: u32,
    /// The values with which the block begins. At a call, the locals that are not parameters are added only when
    /// the copy is made.
    pub inputs: Vec<Term>,
    pub results: Rc<[Term]>,
    pub returns: Term,
    pub fails: Term,
    pub copy: Option<UnrolledCopy>,
}

/// The copy of the block at an expanded site.
#[derive(Clone, Debug)]
pub(super) struct UnrolledCopy {
    /// The number of the copy, in the order of expansion.
    pub number: u32,
    /// The number of the first variable that belongs to this copy.
    first_var: u32,
    children: Range<u32>,
}

impl UnrolledCopy {
    /// The sites to which the copy leads.
    pub fn children(&self) -> impl Iterator<Item = SiteId> + use<> {
        self.children.clone().map(SiteId)
    }

    /// The variable of the copy for a variable of the block that is not an input.
    pub fn own(&self, template: &Template, var: VarId) -> VarId {
        VarId::new(self.first_var + template.own(var))
    }
}

/// A bound on the sites that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bound {
    /// Control comes round at most this many times.
    Rounds(u32),
    /// At most this many recursive calls are nested.
    Recursion(u32),
    /// At most this many blocks lie on a path.
    Depth(u32),
}

pub(super) struct Unrolling<'a> {
    pub blocks: &'a Blocks<'a>,
    reach: &'a Reach,
    /// The budget, which is checked while many sites are expanded, since that takes long.
    pub budget: Budget,
    rounds: Rounds,
    templates: Vec<Template>,
    by_start: FxHashMap<(ProcId, Node), u32>,
    pub(super) arena: TermArena,
    pub(super) encoder: CnfEncoder,
    pub(super) solver: Box<dyn SatSolver>,
    pub sites: Vec<Site>,
    /// The expanded sites, by the number of the copy.
    pub copies: Vec<SiteId>,
    /// For each bound, the literal that closes the sites just beyond it.
    pub(super) selectors: BTreeMap<Bound, Lit>,
    /// Pairs of copies that are required to differ.
    pub different: BTreeSet<(SiteId, SiteId)>,
    pub queries: u64,
}

impl<'a> Unrolling<'a> {
    /// The site at the entry of the start procedure.
    pub const ROOT: SiteId = SiteId(0);

    /// An unrolling that consists of the expanded root only, with the requirement that the root fails.
    pub fn new(blocks: &'a Blocks<'a>, reach: &'a Reach, bounds: &[Bound], budget: &Budget) -> Self {
        let mut unrolling = Self {
            blocks,
            reach,
            budget: budget.clone(),
            rounds: Rounds::of(blocks),
            templates: Vec::new(),
            by_start: FxHashMap::default(),
            arena: TermArena::new(),
            encoder: CnfEncoder::new(CnfStyle::PlaistedGreenbaum),
            solver: budget.sat_solver(),
            sites: Vec::new(),
            copies: Vec::new(),
            selectors: BTreeMap::new(),
            different: BTreeSet::new(),
            queries: 0,
        };
        for &bound in bounds {
            unrolling.selector(bound);
        }
        let template = unrolling.template_at((blocks.task.program.start, Procedure::ENTRY));
        let fails = unrolling.arena.fresh();
        unrolling.sites.push(Site {
            parent: None,
            position: 0,
            entered: None,
            activation: Self::ROOT,
            template,
            depth: 1,
            rounds: 0,
            recursion: 0,
            inputs: Vec::new(),
            results: Rc::from([]),
            returns: Term::FALSE,
            fails,
            copy: None,
        });
        unrolling.expand(Self::ROOT);
        unrolling.encoder.assert_term(&unrolling.arena, fails, &mut *unrolling.solver);
        unrolling
    }

    pub fn site(&self, id: SiteId) -> &Site {
        &self.sites[id.index()]
    }

    pub fn template(&self, id: SiteId) -> &Template {
        &self.templates[self.site(id).template as usize]
    }

    /// The site of a copy at a position of its block, if control can reach that position.
    pub fn child(&self, copy: &UnrolledCopy, position: u32) -> Option<SiteId> {
        let range = copy.children.start as usize..copy.children.end as usize;
        let found = self.sites[range].binary_search_by_key(&position, |site| site.position).ok()?;
        Some(SiteId(copy.children.start + found as u32))
    }

    /// How many inputs of a block are passed by a call. They come before the other inputs.
    pub fn passed(&self, template: &Template) -> usize {
        let width = self.blocks.scopes.scope(template.block.procedure).entry_width() as u32;
        template.inputs.partition_point(|&slot| slot < width)
    }

    /// Whether a site lies within a bound.
    pub fn is_within(&self, id: SiteId, bound: Bound) -> bool {
        let site = self.site(id);
        match bound {
            Bound::Rounds(most) => site.rounds <= most,
            Bound::Recursion(most) => site.recursion <= most,
            Bound::Depth(most) => site.depth <= most,
        }
    }

    /// Whether control comes round when it enters a site.
    pub fn comes_round(&self, id: SiteId) -> bool {
        let site = self.site(id);
        site.parent.is_some_and(|parent| self.site(parent).rounds < site.rounds)
    }

    /// The number of the copy at a site, if there is one.
    pub fn number(&self, id: SiteId) -> Option<u32> {
        self.site(id).copy.as_ref().map(|copy| copy.number)
    }

    fn template_at(&mut self, start: (ProcId, Node)) -> u32 {
        if let Some(&template) = self.by_start.get(&start) {
            return template;
        }
        let number = self.templates.len() as u32;
        self.templates.push(Template::of(self.blocks, start.0, start.1));
        self.by_start.insert(start, number);
        number
    }

    /// Makes the copy for an open site.
    pub fn expand(&mut self, id: SiteId) {
        let block = Rc::clone(&self.template(id).block);
        let (instance, first_var) = self.instantiate(id, &block);
        let first_child = self.sites.len() as u32;
        let number = self.copies.len() as u32;
        self.copies.push(id);
        self.sites[id.index()].copy =
            Some(UnrolledCopy { number, first_var, children: first_child..first_child });
        self.add_calls(id, &block, &instance);
        self.add_arrivals(id, &block, &instance);
        let end = self.sites.len() as u32;
        if let Some(copy) = &mut self.sites[id.index()].copy {
            copy.children.end = end;
        }
    }

    /// The terms of a new copy, and the number of its first own variable.
    fn instantiate(&mut self, id: SiteId, block: &Block) -> (Instance, u32) {
        let site = &mut self.sites[id.index()];
        let template = &self.templates[site.template as usize];
        // No call passes values to the root, and no call passes values for locals that are not parameters.
        while site.inputs.len() < template.inputs.len() {
            site.inputs.push(self.arena.fresh());
        }
        let mut first_var = None;
        let instance = self.blocks.instantiate(block, &mut self.arena, |arena, var| {
            let role = template.role(var);
            if let Role::Input(position) = role {
                return site.inputs[position as usize];
            }
            let own = arena.fresh_var();
            first_var.get_or_insert(own.number());
            match role {
                Role::Fails(call) if !may_fail(self.reach, block, call as usize) => Term::FALSE,
                _ => arena.var(own),
            }
        });
        (instance, first_var.unwrap_or(0))
    }

    fn add_calls(&mut self, id: SiteId, block: &Block, instance: &Instance) {
        for (position, call) in block.calls.iter().enumerate() {
            if instance.term(call.guard) == Term::FALSE {
                continue;
            }
            let template = self.template_at((call.callee, Procedure::ENTRY));
            let passed = self.passed(&self.templates[template as usize]);
            let slots = &self.templates[template as usize].inputs[..passed];
            let inputs = slots.iter().map(|&slot| instance.term(call.arguments[slot as usize])).collect();
            let site = &self.sites[id.index()];
            let Some(copy) = &site.copy else { unreachable!("calls belong to a copy") };
            let parent = &self.templates[site.template as usize];
            let mut own = |var: VarId| self.arena.var(copy.own(parent, var));
            let returns = own(call.returns);
            let fails = if may_fail(self.reach, block, position) { own(call.fails) } else { Term::FALSE };
            let results = call.results.iter().map(|&var| own(var)).collect();
            let start = (call.callee, Procedure::ENTRY);
            let comes_round = self.rounds.closes((block.procedure, block.start), start);
            let next = SiteId::from_index(self.sites.len());
            self.add_site(Site {
                parent: Some(id),
                position: position as u32,
                entered: Some(certificate::Site::Call(call.edge)),
                activation: next,
                template,
                depth: site.depth + 1,
                rounds: site.rounds + u32::from(comes_round),
                recursion: site.recursion + u32::from(comes_round),
                inputs,
                results,
                returns,
                fails,
                copy: None,
            });
        }
    }

    /// Adds the loop sites of a new copy, and the clauses that say when the copy returns and fails.
    fn add_arrivals(&mut self, id: SiteId, block: &Block, instance: &Instance) {
        let (may_return, may_fail) = (self.site(id).returns, self.site(id).fails);
        let mut ways_to_return = Vec::new();
        let mut ways_to_fail = vec![instance.term(block.fails)];
        for (position, arrival) in (block.calls.len() as u32..).zip(&block.arrivals) {
            let guard = instance.term(arrival.guard);
            if guard == Term::FALSE {
                continue;
            }
            let start = (block.procedure, arrival.node);
            if arrival.node == Procedure::EXIT {
                if may_return != Term::FALSE {
                    let slots = self.blocks.scopes.scope(block.procedure).exit_slots();
                    let mut way = guard;
                    for (&slot, &result) in slots.iter().zip(&*self.sites[id.index()].results) {
                        let value = instance.term(arrival.values[slot as usize]);
                        let same = self.arena.iff(result, value);
                        way = self.arena.and(way, same);
                    }
                    ways_to_return.push(way);
                }
                continue;
            }
            let mut unless = |never: bool| if never { Term::FALSE } else { self.arena.fresh() };
            let returns = unless(may_return == Term::FALSE);
            let fails = unless(may_fail == Term::FALSE || !self.reach.may_violate(start.0, start.1));
            if (returns, fails) == (Term::FALSE, Term::FALSE) {
                continue;
            }
            self.imply(returns, &[guard]);
            self.imply(fails, &[guard]);
            ways_to_return.push(returns);
            ways_to_fail.push(fails);
            let template = self.template_at(start);
            let slots = &self.templates[template as usize].inputs;
            let inputs = slots.iter().map(|&slot| instance.term(arrival.values[slot as usize])).collect();
            let site = &self.sites[id.index()];
            let comes_round = self.rounds.closes((block.procedure, block.start), start);
            self.add_site(Site {
                parent: Some(id),
                position,
                entered: Some(certificate::Site::Loop(arrival.node)),
                activation: site.activation,
                template,
                depth: site.depth + 1,
                rounds: site.rounds + u32::from(comes_round),
                recursion: site.recursion,
                inputs,
                results: Rc::clone(&site.results),
                returns,
                fails,
                copy: None,
            });
        }
        self.imply(may_return, &ways_to_return);
        self.imply(may_fail, &ways_to_fail);
    }

    fn add_site(&mut self, site: Site) {
        let id = SiteId::from_index(self.sites.len());
        let (rounds, depth, recursion) = (site.rounds, site.depth, site.recursion);
        self.sites.push(site);
        let parent = self.site(id).parent.map_or(id, |parent| parent);
        if self.comes_round(id) {
            self.selector(Bound::Rounds(rounds - 1));
            self.close_beyond(Bound::Rounds(rounds - 1), id);
        }
        if self.site(parent).recursion < recursion {
            self.close_beyond(Bound::Recursion(recursion - 1), id);
        }
        self.close_beyond(Bound::Depth(depth - 1), id);
    }
}

fn may_fail(reach: &Reach, block: &Block, call: usize) -> bool {
    reach.may_violate(block.calls[call].callee, Procedure::ENTRY)
}
