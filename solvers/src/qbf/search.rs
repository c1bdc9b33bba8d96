//! The search for an answer to one question: candidates, witnesses near the current terms, and repairs.
//!
//! There is one *current* vector of terms. A candidate `x*` shows where it fails. The witness solver looks for a
//! witness `y*` that differs from the current terms at `x*` in few variables. The other variables keep their terms,
//! and those that differ get new ones (`witness`). The resulting vector refines the candidates. In addition, the new
//! terms are merged into the current vector under the condition that one of the conjuncts that contain a changed
//! variable fails. So errors in independent parts of the matrix are repaired one by one; with separate vectors only,
//! every combination of them would need its own vector.
//!
//! Invariant (progress): the vector made for a candidate is a witness there, so no candidate occurs twice.
//!
//! Invariant (growth): where the current vector is a witness, it stays one, since the condition of a repair implies
//! that a conjunct of the matrix fails.

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Substitution, Term, TermArena, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::point::Point;
use super::scratch::copy_terms;
use super::shape::Circuit;
use super::witness::{FunctionalWitness, Trust, Walk};
use super::{QbfStatistics, Question, Witness};
use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::sat::{Answer, Limits, SatSolver, UnknownReason};

/// The answer to a question, if it was decided.
pub(super) enum Decision {
    True,
    /// False, with a counterexample: values of the universal variables.
    False(Vec<bool>),
}

/// The largest number of variables that are tried one by one to make the difference of a repair smaller.
const MOST_TRIES: usize = 64;

/// One question in an arena of its own.
pub(super) struct Search<'a> {
    arena: TermArena,
    circuit: Circuit,
    limits: &'a Limits,
    interrupt: &'a Interrupt,
    candidates: Side,
    witnesses: Side,
    /// The literals of the universal variables.
    candidate_lits: Vec<Lit>,
    /// The literals of all variables, universal ones first.
    witness_lits: Vec<Lit>,
    point: Point,
    current: Option<Current>,
    vectors: Vec<Vec<Term>>,
    structural: u64,
    functional: u64,
}

/// The current vector, which is repaired step by step.
struct Current {
    vector: Vec<Term>,
    /// For each conjunct of the circuit, its image under the vector.
    conjuncts: Vec<Term>,
}

/// A SAT solver, with the encoder for the terms of the arena.
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
    /// Copies the question to an arena of its own.
    pub(super) fn new(
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
        for &premise in &circuit.premises {
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
            current: None,
            vectors: Vec::new(),
            structural: 0,
            functional: 0,
        }
    }

    /// Starts with a vector that may be a witness for many universal values.
    pub(super) fn start_with(&mut self, source: &TermArena, question: &Question, hint: &[Term]) {
        let numbers: FxHashMap<VarId, usize> =
            question.universal.iter().enumerate().map(|(number, &var)| (var, number)).collect();
        let vector = copy_terms(source, hint, &mut self.arena, |own, var| {
            own.var(VarId::from_index(*numbers.get(&var).expect("hints are over universal variables")))
        });
        let matrix = self.substitution(&vector).apply(&mut self.arena, self.circuit.matrix);
        self.candidates.assert_term(&self.arena, !matrix);
        if self.current.is_none() {
            self.adopt(vector.clone());
        }
        self.vectors.push(vector);
    }

    /// Alternates between candidates and witnesses until the question is decided.
    pub(super) fn run(&mut self) -> Result<Decision, UnknownReason> {
        loop {
            if let Some(reason) = self.limits.stop_reason(self.interrupt) {
                return Err(reason);
            }
            let limits = self.remaining()?;
            match self.candidates.solver.solve(&[], &limits) {
                Answer::Unsat => return Ok(Decision::True),
                Answer::Unknown(reason) => return Err(reason),
                Answer::Sat => {}
            }
            let candidate = self.candidates.values(&self.candidate_lits);
            if self.current.is_none() {
                let Ok(values) = self.find_witness(&candidate, &[])? else {
                    return Ok(Decision::False(candidate));
                };
                if self.start_from(&values) {
                    continue;
                }
            }
            if !self.repair(&candidate)? {
                return Ok(Decision::False(candidate));
            }
        }
    }

    /// The limits for the rest of the search.
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

    /// Values of all variables with this candidate under which the matrix and the wishes are true. If there are none,
    /// the wishes that are in conflict with the candidate; the list is empty if the candidate alone has no witness.
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
                let core: FxHashSet<Lit> = self.witnesses.solver.core().iter().copied().collect();
                Ok(Err(wishes.iter().copied().filter(|wish| core.contains(wish)).collect()))
            }
            Answer::Unknown(reason) => Err(reason),
        }
    }

    /// Makes the first vector from the structure of the matrix; returns whether it is a witness at the point.
    fn start_from(&mut self, values: &[bool]) -> bool {
        self.point.move_to(values);
        let (limits, interrupt) = (self.limits, self.interrupt);
        let stop = || limits.stop_reason(interrupt).is_some();
        let nothing = vec![None; self.circuit.existential];
        let mut suggested = None;
        for trust in [Trust::Shape, Trust::Branches] {
            let walk = Walk::run(&self.circuit, &mut self.arena, &mut self.point, trust, &nothing, &stop);
            if self.point.value(&self.arena, walk.matrix) {
                self.structural += 1;
                self.adopt(walk.vector.clone());
                self.refine(walk);
                return true;
            }
            suggested.get_or_insert(walk.vector);
        }
        if let Some(vector) = suggested {
            self.adopt(vector);
        }
        false
    }

    fn substitution(&self, vector: &[Term]) -> Substitution {
        let offset = self.circuit.universal;
        Substitution::new(vector.iter().enumerate().map(|(j, &term)| (VarId::from_index(offset + j), term)))
    }

    /// Makes a vector the current one.
    fn adopt(&mut self, vector: Vec<Term>) {
        let mut substitution = self.substitution(&vector);
        let roots: Vec<Term> = self.circuit.conjuncts.iter().map(|conjunct| conjunct.term).collect();
        let conjuncts = substitution.apply_all(&mut self.arena, &roots);
        self.current = Some(Current { vector, conjuncts });
    }

    /// Makes the current vector a witness for `candidate`; returns `false` if there is no witness.
    fn repair(&mut self, candidate: &[bool]) -> Result<bool, UnknownReason> {
        let Some(current) = self.current.take() else { return Ok(true) };
        // The current terms do not depend on existential variables, so any values may be used for these.
        self.point.move_to(candidate);
        let preferred: Vec<bool> =
            current.vector.iter().map(|&term| self.point.value(&self.arena, term)).collect();
        let Some(values) = self.find_nearest(candidate, &preferred)? else { return Ok(false) };
        self.point.move_to(&values);
        let chosen = &values[self.circuit.universal..];
        let is_changed: Vec<bool> = chosen.iter().zip(&preferred).map(|(one, other)| one != other).collect();
        let kept: Vec<Option<Term>> = current
            .vector
            .iter()
            .zip(&is_changed)
            .map(|(&term, &changed)| (!changed).then_some(term))
            .collect();
        let (limits, interrupt) = (self.limits, self.interrupt);
        let stop = || limits.stop_reason(interrupt).is_some();
        let walk = Walk::run(&self.circuit, &mut self.arena, &mut self.point, Trust::Point, &kept, &stop);

        // Where a conjunct with a changed variable fails, the new terms are used.
        let touched: Vec<bool> =
            self.circuit.conjuncts.iter().map(|conjunct| conjunct.mentions(&is_changed)).collect();
        let failing = current.conjuncts.iter().zip(&touched).filter(|&(_, &is_touched)| is_touched);
        let failing: Vec<Term> = failing.map(|(&image, _)| !image).collect();
        let fails = self.arena.or_all(failing);
        let join = |arena: &mut TermArena, new: Term, old: Term| arena.ite(fails, new, old);
        let mut vector = current.vector;
        for (j, term) in vector.iter_mut().enumerate().filter(|&(j, _)| is_changed[j]) {
            *term = join(&mut self.arena, walk.vector[j], *term);
        }
        let mut substitution = self.substitution(&walk.vector);
        let mut conjuncts = current.conjuncts;
        for ((image, conjunct), _) in conjuncts
            .iter_mut()
            .zip(&self.circuit.conjuncts)
            .zip(&touched)
            .filter(|&(_, &is_touched)| is_touched)
        {
            let new = substitution.apply(&mut self.arena, conjunct.term);
            *image = join(&mut self.arena, new, *image);
        }
        self.current = Some(Current { vector, conjuncts });
        self.refine(walk);
        Ok(true)
    }

    /// A witness for `candidate` with the preferred values where possible; `None` if there is no witness.
    fn find_nearest(
        &mut self,
        candidate: &[bool],
        preferred: &[bool],
    ) -> Result<Option<Vec<bool>>, UnknownReason> {
        let offset = self.circuit.universal;
        let lits: Vec<Lit> = self.witness_lits[offset..]
            .iter()
            .zip(preferred)
            .map(|(&lit, &value)| if value { lit } else { !lit })
            .collect();
        for &lit in &lits {
            self.witnesses.solver.set_phase(lit);
        }
        let mut wishes = lits.clone();
        let mut values = loop {
            match self.find_witness(candidate, &wishes)? {
                Ok(values) => break values,
                Err(core) if core.is_empty() => return Ok(None),
                Err(core) => {
                    let core: FxHashSet<Lit> = core.into_iter().collect();
                    wishes.retain(|wish| !core.contains(wish));
                }
            }
        };
        // Cores are not minimal, so try to keep more of the preferred values.
        let differs = |values: &[bool], j: usize| values[offset + j] != preferred[j];
        let mut wishes: Vec<Lit> =
            (0..lits.len()).filter(|&j| !differs(&values, j)).map(|j| lits[j]).collect();
        let changed: Vec<usize> = (0..lits.len()).filter(|&j| differs(&values, j)).collect();
        for j in changed.into_iter().take(MOST_TRIES) {
            if differs(&values, j) {
                wishes.push(lits[j]);
                match self.find_witness(candidate, &wishes)? {
                    Ok(better) => {
                        values = better;
                        wishes = (0..lits.len()).filter(|&j| !differs(&values, j)).map(|j| lits[j]).collect();
                    }
                    Err(_) => {
                        wishes.pop();
                    }
                }
            }
        }
        Ok(Some(values))
    }

    fn refine(&mut self, witness: FunctionalWitness) {
        debug_assert!(self.point.value(&self.arena, witness.matrix), "no witness at its own point");
        if witness.vector.iter().any(|term| term.as_constant().is_none()) {
            self.functional += 1;
        }
        self.candidates.assert_term(&self.arena, !witness.matrix);
        self.vectors.push(witness.vector);
    }

    /// Adds the work of this search to the statistics.
    pub(super) fn count(&self, statistics: &mut QbfStatistics) {
        statistics.refinements += self.vectors.len() as u64;
        statistics.structural += self.structural;
        statistics.functional += self.functional;
        for side in [&self.candidates, &self.witnesses] {
            let side = side.solver.statistics();
            statistics.sat_calls += side.solves;
            statistics.conflicts += side.conflicts;
        }
    }

    /// The vectors in terms of the variables of the question.
    pub(super) fn witness(&self, arena: &mut TermArena, question: &Question) -> Witness {
        let width = question.existential.len();
        if self.vectors.is_empty() {
            // The premises exclude each other, so every vector is a witness; one has to be given.
            return Witness { vectors: vec![vec![Term::FALSE; width]] };
        }
        let roots: Vec<Term> = self.vectors.concat();
        let copies =
            copy_terms(&self.arena, &roots, arena, |arena, var| arena.var(question.universal[var.index()]));
        let vectors = (0..self.vectors.len()).map(|i| copies[i * width..(i + 1) * width].to_vec()).collect();
        Witness { vectors }
    }
}
