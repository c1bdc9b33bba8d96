//! The clauses and the questions about an unrolling that go to the solver.
//!
//! The clauses say that the root fails, and leave open sites unconstrained, so a question without assumptions
//! over-approximates the program. Assumptions close sites: all sites beyond a bound are closed by one selector,
//! other sites one by one. With closed sites, a question under-approximates the program.

use cusp_encodings::{Lit, Polarity, Term, VarId};
use cusp_solvers::sat::{Answer, Limits};
use rustc_hash::FxHashMap;

use super::unrolling::{Bound, SiteId, Unrolling};
use crate::model::Procedure;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Solved {
    /// There is a run, and the solver holds its model.
    Run,
    /// There is no run; the solver's proof used these bounds and closed sites.
    NoRun { bounds: Vec<Bound>, sites: Vec<SiteId> },
    /// The solver was stopped.
    Stopped,
}

impl Unrolling<'_> {
    /// Whether there is a run through the unrolling within the bounds that uses none of the `closed` sites.
    pub fn solve(&mut self, bounds: &[Bound], closed: &[SiteId], limits: &Limits) -> Solved {
        self.queries += 1;
        let mut assumptions: Vec<Lit> = Vec::with_capacity(bounds.len() + 2 * closed.len());
        let known = bounds.iter().filter_map(|bound| self.selectors.get(bound).map(|&lit| (*bound, lit)));
        let known: Vec<(Bound, Lit)> = known.collect();
        assumptions.extend(known.iter().map(|&(_, lit)| lit));
        let mut closed_by: FxHashMap<Lit, SiteId> = FxHashMap::default();
        for &id in closed {
            for term in [self.site(id).returns, self.site(id).fails] {
                if term != Term::FALSE {
                    let lit = !self.literal(term);
                    closed_by.insert(lit, id);
                    assumptions.push(lit);
                }
            }
        }
        match self.solver.solve(&assumptions, limits) {
            Answer::Sat => Solved::Run,
            Answer::Unknown(_) => Solved::Stopped,
            Answer::Unsat => {
                let core = self.solver.core();
                let is_in_core = |&(bound, lit): &(Bound, Lit)| core.contains(&lit).then_some(bound);
                let bounds = known.iter().filter_map(is_in_core).collect();
                let mut sites: Vec<SiteId> =
                    core.iter().filter_map(|lit| closed_by.get(lit).copied()).collect();
                sites.sort_unstable();
                sites.dedup();
                Solved::NoRun { bounds, sites }
            }
        }
    }

    /// The literal that closes the sites just beyond a bound; [`Unrolling::close_beyond`] adds the clauses for it.
    pub fn selector(&mut self, bound: Bound) -> Lit {
        let solver = &mut self.solver;
        *self.selectors.entry(bound).or_insert_with(|| solver.new_var().pos_lit())
    }

    /// Adds clauses that close a site whenever this bound is assumed. Does nothing if the bound has no selector.
    pub fn close_beyond(&mut self, bound: Bound, id: SiteId) {
        if let Some(&selector) = self.selectors.get(&bound) {
            for term in [self.site(id).returns, self.site(id).fails] {
                if term != Term::FALSE {
                    let lit = self.literal(term);
                    self.solver.add_clause(&[!selector, !lit]);
                }
            }
        }
    }

    /// Creates the selector for paths of at most `depth` blocks, and its clauses.
    pub fn prepare_depth(&mut self, depth: u32) {
        let bound = Bound::Depth(depth);
        if !self.selectors.contains_key(&bound) {
            self.selector(bound);
            for position in 0..self.sites.len() {
                if self.sites[position].depth == depth + 1 {
                    self.close_beyond(bound, SiteId::from_index(position));
                }
            }
        }
    }

    /// Requires that two copies of the same block differ; the first is an ancestor of the second.
    ///
    /// Within one activation, they must begin with different values. In different activations, they are calls: if
    /// their entries are equal, they must not both fail, and must not both return the same results.
    pub fn differ(&mut self, outer: SiteId, inner: SiteId) {
        self.different.insert((outer, inner));
        let is_loop = self.site(outer).activation == self.site(inner).activation;
        let template = self.template(inner);
        let id = template.block.procedure;
        let compared = if is_loop { template.inputs.len() } else { self.passed(template) };
        let (first, second) = (self.site(outer), self.site(inner));
        let pairs = |first: &[Term], second: &[Term]| -> Vec<(Term, Term)> {
            first.iter().copied().zip(second.iter().copied()).collect()
        };
        let mut inputs = pairs(&first.inputs, &second.inputs);
        inputs.truncate(compared);
        let mut results = pairs(&first.results, &second.results);
        let slots = self.blocks.scopes.scope(id).exit_slots();
        let mut slots =
            slots.iter().map(|&slot| self.blocks.scopes.is_live(id, Procedure::EXIT, slot as usize));
        results.retain(|_| slots.next() == Some(true));
        let [outer_returns, outer_fails] = [first.returns, first.fails];
        let [inner_returns, inner_fails] = [second.returns, second.fails];
        let begin = self.some_differ(&inputs);
        if is_loop {
            self.imply(inner_returns, &[begin]);
            self.imply(inner_fails, &[begin]);
        } else {
            let end = self.some_differ(&results);
            self.imply(outer_fails, &[begin, !inner_fails]);
            self.imply(outer_returns, &[begin, end, !inner_returns]);
        }
    }

    fn some_differ(&mut self, pairs: &[(Term, Term)]) -> Term {
        let mut some = Term::FALSE;
        for &(first, second) in pairs {
            let differ = self.arena.xor(first, second);
            some = self.arena.or(some, differ);
        }
        some
    }

    /// Adds the clause that `premise` implies one of `ways`. The premise is a variable or false.
    pub fn imply(&mut self, premise: Term, ways: &[Term]) {
        if premise == Term::FALSE || ways.contains(&Term::TRUE) {
            return;
        }
        let mut clause = vec![!self.literal(premise)];
        for &way in ways.iter().filter(|&&way| way != Term::FALSE) {
            clause.push(self.literal(way));
        }
        self.solver.add_clause(&clause);
    }

    /// A literal that implies the term; for a variable, the literal of that variable.
    fn literal(&mut self, term: Term) -> Lit {
        self.encoder.encode(&self.arena, term, Polarity::Positive, &mut *self.solver)
    }

    /// The value of a variable in the model. A variable that the solver does not know may have any value; false is
    /// returned.
    pub fn value_of(&self, var: VarId) -> bool {
        self.encoder.var_literal(&self.arena, var).is_some_and(|lit| self.solver.value(lit))
    }

    /// The value in the model of an input that is a variable.
    pub fn value_of_input(&self, input: Term) -> bool {
        self.encoder.literal(input).is_some_and(|lit| self.solver.value(lit))
    }
}
