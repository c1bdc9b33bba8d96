//! The embedded solver: counterexample-guided, with functional witnesses.
//!
//! Implements: M. Janota, J. Marques-Silva, "Abstraction-Based Algorithm for 2QBF", SAT 2011.
//!
//! Two incremental SAT solvers talk to each other. The *candidate* solver looks for values `x*` that none of
//! the witnesses so far covers; if there are none, the question is true. The *witness* solver looks for `y*`
//! with `M(x*, y*)`; if there is none, the question is false.
//!
//! Deviation from the paper: it refines with `not M(x, y*)`, for constants `y*`. Where the matrix wants the two
//! sides to be equal that excludes a single state, so we refine with `not M(x, t(x))` for terms `t` with
//! `M(x*, t(x*))`, see [`super::witness`]. The terms are first read off the shapes alone; if that is no
//! witness at `x*`, the witness solver is asked for one that agrees with as many of them as possible.

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Substitution, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::point::Point;
use super::scratch::copy_terms;
use super::shape::Circuit;
use super::witness::{FunctionalWitness, Trust, Walk};
use super::{Counterexample, QbfAnswer, QbfSolver, QbfStatistics, Question, Witness};
use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::sat::{Answer, Limits, SatSolver, UnknownReason};

/// The counterexample-guided solver that every engine uses.
#[derive(Debug, Default)]
pub struct Embedded {
    interrupt: Interrupt,
    statistics: QbfStatistics,
}

impl Embedded {
    /// A solver that has answered nothing yet.
    #[must_use]
    pub fn new() -> Embedded {
        Embedded::default()
    }

    /// Like `solve`, but with vectors of terms over the universal variables that may be witnesses in many
    /// places. A bad hint never changes the answer.
    ///
    /// # Panics
    /// If the matrix has a variable that is not in the question, or a hint one that is not universal.
    pub fn solve_with_hints(
        &mut self,
        arena: &mut TermArena,
        question: &Question,
        hints: &[Vec<Term>],
        limits: &Limits,
    ) -> QbfAnswer {
        self.statistics.solves += 1;
        let mut search = Search::new(arena, question, limits, &self.interrupt);
        for hint in hints {
            search.refine_by_hint(arena, question, hint);
        }
        let result = search.run();
        search.count(&mut self.statistics);
        match result {
            Ok(Outcome::True) => {
                self.statistics.trues += 1;
                QbfAnswer::True(Some(search.witness(arena, question)))
            }
            Ok(Outcome::False(values)) => {
                self.statistics.falses += 1;
                QbfAnswer::False(Counterexample { values })
            }
            Err(reason) => QbfAnswer::Unknown(reason),
        }
    }
}

impl QbfSolver for Embedded {
    fn name(&self) -> &'static str {
        "embedded"
    }

    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer {
        self.solve_with_hints(arena, question, &[], limits)
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn statistics(&self) -> QbfStatistics {
        self.statistics
    }
}

enum Outcome {
    True,
    False(Vec<bool>),
}

/// Most attempts to find a witness near the one that the shapes suggest.
const REPAIRS: usize = 12;

/// One question on its way to an answer, in an arena of its own.
struct Search<'a> {
    arena: TermArena,
    circuit: Circuit,
    limits: &'a Limits,
    interrupt: &'a Interrupt,
    candidates: Side,
    witnesses: Side,
    /// The literals of the variables, universal ones first; for candidates the universal ones only.
    candidate_lits: Vec<Lit>,
    witness_lits: Vec<Lit>,
    point: Point,
    vectors: Vec<Vec<Term>>,
    structural: u64,
    functional: u64,
}

/// A SAT solver and what it knows of the arena.
struct Side {
    solver: CadicalSolver,
    encoder: CnfEncoder,
}

impl Side {
    fn new(interrupt: &Interrupt) -> Side {
        let mut solver = CadicalSolver::new();
        solver.share_interrupt(interrupt);
        Side { solver, encoder: CnfEncoder::new(CnfStyle::PlaistedGreenbaum) }
    }

    fn inputs(&mut self, arena: &mut TermArena, count: usize) -> Vec<Lit> {
        (0..count)
            .map(|number| {
                let var = arena.var(VarId::from_index(number));
                self.encoder.encode(arena, var, Polarity::Both, &mut self.solver)
            })
            .collect()
    }

    fn assert_term(&mut self, arena: &TermArena, term: Term) {
        self.encoder.assert_term(arena, term, &mut self.solver);
    }

    fn values(&self, lits: &[Lit]) -> Vec<bool> {
        lits.iter().map(|&lit| self.solver.value(lit)).collect()
    }
}

impl<'a> Search<'a> {
    fn new(
        arena: &TermArena,
        question: &Question,
        limits: &'a Limits,
        interrupt: &'a Interrupt,
    ) -> Search<'a> {
        let mut own = TermArena::new();
        let vars = question.universal.iter().chain(&question.existential);
        let numbers: FxHashMap<VarId, VarId> =
            vars.enumerate().map(|(number, &var)| (var, VarId::from_index(number))).collect();
        let (universal, existential) = (question.universal.len(), question.existential.len());
        let mut candidates = Side::new(interrupt);
        let mut witnesses = Side::new(interrupt);
        let candidate_lits = candidates.inputs(&mut own, universal);
        let witness_lits = witnesses.inputs(&mut own, universal + existential);
        let matrix = copy_terms(arena, &[question.matrix], &mut own, |own, var| {
            own.var(*numbers.get(&var).expect("every variable of the matrix is in the question"))
        })[0];
        let circuit = Circuit::new(&own, matrix, universal, existential);
        for premise in circuit.premises(&own) {
            candidates.assert_term(&own, premise);
        }
        witnesses.assert_term(&own, matrix);
        Search {
            arena: own,
            circuit,
            limits,
            interrupt,
            candidates,
            witnesses,
            candidate_lits,
            witness_lits,
            point: Point::default(),
            vectors: Vec::new(),
            structural: 0,
            functional: 0,
        }
    }

    /// Excludes the places where a hint is a witness.
    fn refine_by_hint(&mut self, source: &TermArena, question: &Question, hint: &[Term]) {
        let numbers: FxHashMap<VarId, usize> =
            question.universal.iter().enumerate().map(|(number, &var)| (var, number)).collect();
        let vector = copy_terms(source, hint, &mut self.arena, |own, var| {
            own.var(VarId::from_index(*numbers.get(&var).expect("hints are over universal variables")))
        });
        let offset = self.circuit.universal;
        let map = vector.iter().enumerate().map(|(j, &term)| (VarId::from_index(offset + j), term));
        let matrix = Substitution::new(map).apply(&mut self.arena, self.circuit.matrix);
        self.candidates.assert_term(&self.arena, !matrix);
        self.vectors.push(vector);
    }

    fn run(&mut self) -> Result<Outcome, UnknownReason> {
        loop {
            if let Some(reason) = self.limits.stop_reason(self.interrupt) {
                return Err(reason);
            }
            let limits = self.remaining()?;
            match self.candidates.solver.solve(&[], &limits) {
                Answer::Unsat => return Ok(Outcome::True),
                Answer::Unknown(reason) => return Err(reason),
                Answer::Sat => {}
            }
            let candidate = self.candidates.values(&self.candidate_lits);
            let Some(values) = self.find_witness(&candidate, &[])?.ok() else {
                return Ok(Outcome::False(candidate));
            };
            let witness = self.generalise(&candidate, &values)?;
            self.refine(witness);
        }
    }

    /// What is left of the limits.
    fn remaining(&self) -> Result<Limits, UnknownReason> {
        let mut limits = self.limits.clone();
        let sides = [&self.candidates, &self.witnesses].map(|side| side.solver.statistics());
        let left = |most: Option<u64>, used: u64| most.map(|most| most.saturating_sub(used));
        limits.conflicts = left(limits.conflicts, sides[0].conflicts + sides[1].conflicts);
        limits.decisions = left(limits.decisions, sides[0].decisions + sides[1].decisions);
        match (limits.conflicts, limits.decisions) {
            (Some(0), _) => Err(UnknownReason::ConflictLimit),
            (_, Some(0)) => Err(UnknownReason::DecisionLimit),
            _ => Ok(limits),
        }
    }

    /// All values of a point with this candidate where the matrix and the wishes are true; or the wishes that
    /// exclude it, none of them if the candidate does.
    fn find_witness(
        &mut self,
        candidate: &[bool],
        wishes: &[Lit],
    ) -> Result<Result<Vec<bool>, Vec<Lit>>, UnknownReason> {
        let limits = self.remaining()?;
        let universal = self.witness_lits.iter().zip(candidate);
        let mut assumptions: Vec<Lit> = wishes.to_vec();
        assumptions.extend(universal.map(|(&lit, &value)| if value { lit } else { !lit }));
        match self.witnesses.solver.solve(&assumptions, &limits) {
            Answer::Sat => Ok(Ok(self.witnesses.values(&self.witness_lits))),
            Answer::Unsat => {
                let core = self.witnesses.solver.core();
                Ok(Err(wishes.iter().copied().filter(|wish| core.contains(wish)).collect()))
            }
            Answer::Unknown(reason) => Err(reason),
        }
    }

    /// Terms that are a witness for `candidate`, made from the witness in `values`.
    fn generalise(
        &mut self,
        candidate: &[bool],
        values: &[bool],
    ) -> Result<FunctionalWitness, UnknownReason> {
        self.point.move_to(values);
        let suggest = |search: &mut Self, trust| {
            let suggested = Walk::run(&search.circuit, &mut search.arena, &mut search.point, trust);
            let is_witness = search.point.value(&search.arena, suggested.matrix);
            search.structural += u64::from(is_witness);
            (suggested, is_witness)
        };
        if let (suggested, true) = suggest(self, Trust::Shape) {
            return Ok(suggested);
        }
        let (suggested, is_witness) = suggest(self, Trust::Branches);
        if is_witness {
            return Ok(suggested);
        }
        let mut wishes = Vec::new();
        let existential = &self.witness_lits[self.circuit.universal..];
        for ((&lit, &term), &is_wished) in existential.iter().zip(&suggested.vector).zip(&suggested.is_wished)
        {
            if is_wished {
                let value = self.point.value(&self.arena, term);
                wishes.push(if value { lit } else { !lit });
            }
        }
        for _ in 0..REPAIRS {
            match self.find_witness(candidate, &wishes)? {
                Ok(values) => {
                    self.point.move_to(&values);
                    break;
                }
                Err(core) => wishes.retain(|wish| !core.contains(wish)),
            }
        }
        Ok(Walk::run(&self.circuit, &mut self.arena, &mut self.point, Trust::Point))
    }

    fn refine(&mut self, witness: FunctionalWitness) {
        debug_assert!(self.point.value(&self.arena, witness.matrix), "no witness at its own point");
        if witness.vector.iter().any(|term| term.as_constant().is_none()) {
            self.functional += 1;
        }
        self.candidates.assert_term(&self.arena, !witness.matrix);
        self.vectors.push(witness.vector);
    }

    fn count(&self, statistics: &mut QbfStatistics) {
        statistics.refinements += self.vectors.len() as u64;
        statistics.structural += self.structural;
        statistics.functional += self.functional;
        for side in [&self.candidates, &self.witnesses] {
            let side = side.solver.statistics();
            statistics.sat_calls += side.solves;
            statistics.conflicts += side.conflicts;
        }
    }

    /// The vectors over the variables of the question.
    fn witness(&self, arena: &mut TermArena, question: &Question) -> Witness {
        let width = question.existential.len();
        if self.vectors.is_empty() {
            // The premises exclude each other, so anything is a witness; but one has to be named.
            return Witness { vectors: vec![vec![Term::FALSE; width]] };
        }
        let roots: Vec<Term> = self.vectors.concat();
        let copies =
            copy_terms(&self.arena, &roots, arena, |arena, var| arena.var(question.universal[var.index()]));
        let vectors = (0..self.vectors.len()).map(|i| copies[i * width..(i + 1) * width].to_vec()).collect();
        Witness { vectors }
    }
}
