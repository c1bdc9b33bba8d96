//! Decides whether one parametric set of states is included in another. Several methods (layers) are tried, the
//! cheapest first.
//!
//! A parametric set is a guard and a vector of values over choice variables ([`SymbolicState`]); it contains the
//! values under all choices that make the guard true. `A` is included in `B` iff
//! `forall x. guard_A(x) -> exists y. guard_B(y) & values_A(x) = values_B(y)`.
//!
//! | layer | decides | by |
//! |---|---|---|
//! | [`Layer::Same`] | included | the sets are the same terms, up to the names of choices |
//! | [`Layer::Cache`] | both | a query of the same structure was answered before |
//! | [`Layer::Simulation`] | both | the smaller set is empty, or a random state of it is not in the larger one |
//! | [`Layer::External`] | both | the caller's [`QbfSolver`], if there is one, on what the one-point rule leaves |
//! | [`Layer::OnePoint`] | both | choices that an equation defines are substituted; if none is left, one SAT call |
//! | [`Layer::Provenance`] | included | the caller's map from choices of `B` to terms over those of `A` |
//! | [`Layer::Embedded`] | both | [`Embedded`] on what the one-point rule leaves |
//!
//! Both answers have a certificate, and [`verify()`] checks it again with a fresh SAT solver. The exception is an
//! external solver that answers "included" without a witness: that is [`InclusionAnswer::Claimed`].
//!
//! Invariant (positions): internally, the choices of `A` are the variables `x0 .. x(u-1)` of a small arena made for
//! the query, and the choices of `B` follow. So equal structures have equal numbers, whatever the names of the
//! choices are, and the size of the caller's arena does not matter.

mod cache;
mod one_point;
mod pose;
mod simulation;
mod verify;

use std::sync::Arc;

use cusp_encodings::{SymbolicState, Term, TermArena, VarId};

use self::cache::Cache;
use self::one_point::Reduced;
use self::pose::Posed;
pub use self::verify::verify;
use crate::interrupt::Interrupt;
use crate::qbf::{
    self, CertificateError, Counterexample, Embedded, Proofs, QbfAnswer, QbfSolver, QbfStatistics, Question,
    Witness,
};
use crate::sat::{Limits, UnknownReason};
use crate::tally::Tally;

/// The layer that gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The sets are the same terms.
    Same,
    /// A query with the same structure was answered before.
    Cache,
    /// A random state of the smaller set is not in the larger one, or the smaller set is empty.
    Simulation,
    /// The caller's external solver.
    External,
    /// The one-point rule left no existential choice.
    OnePoint,
    /// The caller's map from choices to terms.
    Provenance,
    /// The embedded solver.
    Embedded,
}

impl Layer {
    /// All layers, in the order in which they are tried.
    pub const ALL: [Layer; 7] = [
        Layer::Same,
        Layer::Cache,
        Layer::Simulation,
        Layer::External,
        Layer::OnePoint,
        Layer::Provenance,
        Layer::Embedded,
    ];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Same => "same",
            Layer::Cache => "cache",
            Layer::Simulation => "simulation",
            Layer::OnePoint => "one-point",
            Layer::Provenance => "provenance",
            Layer::External => "external",
            Layer::Embedded => "embedded",
        }
    }
}

/// Whether one set is included in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InclusionAnswer {
    /// Every state of the smaller set is in the larger set.
    Included(Layer, Containment),
    /// The external solver answered "included" without a certificate, now or when a query of the same structure was
    /// asked before.
    Claimed(Layer),
    /// Some state of the smaller set is not in the larger set.
    NotIncluded(Layer, Escape),
    /// Neither is known.
    Unknown(UnknownReason),
}

impl InclusionAnswer {
    /// The layer that answered, if one did.
    #[must_use]
    pub fn layer(&self) -> Option<Layer> {
        match self {
            InclusionAnswer::Included(layer, _)
            | InclusionAnswer::Claimed(layer)
            | InclusionAnswer::NotIncluded(layer, _) => Some(*layer),
            InclusionAnswer::Unknown(_) => None,
        }
    }
}

/// Why a set is included: for every state of the smaller set, one of the vectors gives choices of the larger set that
/// yield the same state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containment {
    /// The choices of the larger set.
    pub choices: Vec<VarId>,
    /// For each vector, one term over the choices of the smaller set for each choice of the larger one.
    pub vectors: Vec<Vec<Term>>,
}

/// Why a set is not included: choices of the smaller set whose state is not in the larger set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The choices of the smaller set and their values.
    pub choices: Vec<(VarId, bool)>,
}

/// How many queries were asked and which layers answered them, since the checker was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InclusionStatistics {
    /// The number of queries.
    pub checks: u64,
    answered: [u64; Layer::ALL.len()],
    /// The number of queries without an answer.
    pub unknown: u64,
    /// The number of calls of SAT solvers outside of the embedded solver.
    pub sat_calls: u64,
    /// The number of choices of larger sets that the one-point rule removed.
    pub choices_removed: u64,
    /// The work of the embedded solver.
    pub embedded: QbfStatistics,
}

impl InclusionStatistics {
    /// How many queries a layer answered.
    #[must_use]
    pub fn answered(&self, layer: Layer) -> u64 {
        self.answered[layer as usize]
    }
}

/// The inclusion check, with its caches and solvers.
pub struct Inclusion {
    cache: Cache,
    embedded: Embedded,
    external: Option<Box<dyn QbfSolver>>,
    interrupt: Interrupt,
    statistics: InclusionStatistics,
    external_tally: Arc<Tally>,
}

/// An answer in terms of the positions of choices.
#[derive(Clone, Debug)]
enum Verdict {
    /// Included; the vectors are over the arena of the query.
    Included(Vec<Vec<Term>>),
    /// Included according to a solver that gives no witness.
    Claimed,
    NotIncluded(Vec<bool>),
}

impl Default for Inclusion {
    fn default() -> Inclusion {
        let interrupt = Interrupt::new();
        let mut embedded = Embedded::new();
        embedded.share_interrupt(&interrupt);
        Inclusion {
            cache: Cache::default(),
            embedded,
            external: None,
            interrupt,
            statistics: InclusionStatistics::default(),
            external_tally: Arc::default(),
        }
    }
}

impl Inclusion {
    /// A checker without an external solver.
    #[must_use]
    pub fn new() -> Inclusion {
        Inclusion::default()
    }

    /// A checker that uses `external` instead of the embedded solver; the embedded solver answers what `external`
    /// does not. A counterexample or a witness of `external` counts only if it can be confirmed.
    #[must_use]
    pub fn with_external(mut external: Box<dyn QbfSolver>) -> Inclusion {
        let inclusion = Inclusion::default();
        external.share_interrupt(&inclusion.interrupt);
        Inclusion { external: Some(external), ..inclusion }
    }

    /// Makes the embedded solver give up on a query after this number of conflicts. Without such a limit, and without
    /// one of the caller, it continues until it has the answer.
    #[must_use]
    pub fn limit_embedded(mut self, conflicts: u64) -> Inclusion {
        self.embedded = self.embedded.giving_up_after(conflicts);
        self
    }

    /// Counts the answers of the embedded solver in `embedded`, and the claims of the external one that are used in
    /// `external`.
    #[must_use]
    pub fn counting_in(mut self, embedded: &Arc<Tally>, external: &Arc<Tally>) -> Inclusion {
        self.embedded = self.embedded.counting_in(embedded);
        self.external_tally = Arc::clone(external);
        self
    }

    /// Whether every state of `smaller` is also one of `larger`. The sets may use the same choice variables; each set
    /// quantifies over its own.
    ///
    /// `provenance` is a hint: choices of `larger` with the terms over choices of `smaller` that they correspond to.
    /// Choices that it leaves out correspond to themselves if `smaller` has them. A bad hint costs one SAT call.
    ///
    /// # Panics
    /// If the sets have different numbers of values.
    pub fn check(
        &mut self,
        arena: &mut TermArena,
        smaller: &SymbolicState,
        larger: &SymbolicState,
        provenance: &[(VarId, Term)],
        limits: &Limits,
    ) -> InclusionAnswer {
        assert_eq!(smaller.values.len(), larger.values.len(), "sets of different shape");
        self.statistics.checks += 1;
        let mut posed = Posed::new(arena, smaller, larger);
        match self.decide(arena, &mut posed, provenance, limits) {
            Ok((layer, verdict)) => {
                self.statistics.answered[layer as usize] += 1;
                posed.answer(arena, layer, &verdict)
            }
            Err(reason) => {
                self.statistics.unknown += 1;
                InclusionAnswer::Unknown(reason)
            }
        }
    }

    fn decide(
        &mut self,
        arena: &TermArena,
        posed: &mut Posed,
        provenance: &[(VarId, Term)],
        limits: &Limits,
    ) -> Result<(Layer, Verdict), UnknownReason> {
        if posed.is_same() {
            return Ok((Layer::Same, Verdict::Included(vec![posed.identity()])));
        }
        if let Some(verdict) = self.cache.find(posed) {
            return Ok((Layer::Cache, verdict));
        }
        let (layer, verdict) = self.search(arena, posed, provenance, limits)?;
        self.cache.insert(posed, &verdict);
        Ok((layer, verdict))
    }

    /// Tries the layers that need a solver.
    fn search(
        &mut self,
        arena: &TermArena,
        posed: &mut Posed,
        provenance: &[(VarId, Term)],
        limits: &Limits,
    ) -> Result<(Layer, Verdict), UnknownReason> {
        let sat_calls = &mut self.statistics.sat_calls;
        if let Some(verdict) = simulation::decide(posed, limits, &self.interrupt, sat_calls)? {
            return Ok((Layer::Simulation, verdict));
        }
        let reduced = one_point::reduce(posed);
        self.statistics.choices_removed += reduced.removed() as u64;
        // Whoever chooses an external solver wants it to answer, even where one SAT call would do.
        let question = reduced.question();
        if let Some(verdict) = self.ask_external(posed, &question, &reduced, limits)? {
            return Ok((Layer::External, verdict));
        }
        let sat_calls = &mut self.statistics.sat_calls;
        if reduced.is_closed() {
            let verdict = reduced.decide_closed(posed, limits, &self.interrupt, sat_calls)?;
            return Ok((Layer::OnePoint, verdict));
        }
        let hint = posed.hint(arena, provenance, &reduced);
        if let Some(hint) = &hint {
            *sat_calls += 1;
            if posed.is_witness(hint, limits, &self.interrupt)? {
                return Ok((Layer::Provenance, Verdict::Included(vec![hint.clone()])));
            }
        }
        let hints: Vec<Vec<Term>> = hint.iter().map(|hint| reduced.restrict(hint)).collect();
        let answer = self.embedded.solve_with_hints(&mut posed.arena, &question, &hints, limits);
        self.statistics.embedded = self.embedded.statistics();
        Ok((Layer::Embedded, verdict(answer, &reduced)?))
    }

    /// The answer of the external solver, if there is one and its answer counts.
    fn ask_external(
        &mut self,
        posed: &mut Posed,
        question: &Question,
        reduced: &Reduced,
        limits: &Limits,
    ) -> Result<Option<Verdict>, UnknownReason> {
        let Some(external) = &mut self.external else { return Ok(None) };
        let answer = external.solve(&mut posed.arena, question, limits);
        match &answer {
            QbfAnswer::True(None) => {
                self.external_tally.count_claim();
                return Ok(Some(Verdict::Claimed));
            }
            // The limits of the run are reached, or the embedded solver has given up in a race and need not be asked
            // again.
            QbfAnswer::Unknown(
                reason
                @ (UnknownReason::Interrupted | UnknownReason::Deadline | UnknownReason::ConflictLimit),
            ) => return Err(reason.clone()),
            QbfAnswer::Unknown(_) => return Ok(None),
            QbfAnswer::True(Some(_)) | QbfAnswer::False(_) => {}
        }
        self.statistics.sat_calls += 1;
        match qbf::verify(&posed.arena, question, &answer, Proofs::Trusted, limits) {
            Ok(()) => verdict(answer, reduced).map(Some),
            Err(CertificateError::Undecided(reason)) => Err(reason),
            Err(error) => {
                self.external_tally.count_failure(&error);
                Ok(None)
            }
        }
    }

    /// The handle that stops a running or future check from another thread, within 100 ms.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Replaces the interrupt, so that one handle stops many solvers.
    pub fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
        self.embedded.share_interrupt(interrupt);
        if let Some(external) = &mut self.external {
            external.share_interrupt(interrupt);
        }
    }

    /// How many queries were asked and which layers answered them.
    #[must_use]
    pub fn statistics(&self) -> InclusionStatistics {
        self.statistics
    }
}

/// Extends the answer to the reduced query to one to the whole query.
fn verdict(answer: QbfAnswer, reduced: &Reduced) -> Result<Verdict, UnknownReason> {
    match answer {
        QbfAnswer::True(Some(Witness { vectors })) => {
            Ok(Verdict::Included(vectors.iter().map(|vector| reduced.extend(vector)).collect()))
        }
        QbfAnswer::True(None) => Ok(Verdict::Claimed),
        QbfAnswer::False(Counterexample { values }) => Ok(Verdict::NotIncluded(values)),
        QbfAnswer::Unknown(reason) => Err(reason),
    }
}
