//! What a proof about the net says of states: which of them no run covers.

use super::views::{SharedId, ThreadId, Views};
use super::{ThreadNet, shared_place};
use crate::evidence::NetCertificate;
use crate::evidence::net::{LinearInvariant, OmegaMarking, Tokens};
use crate::net::{Marking, PlaceId};
use crate::threads::Bits;
use crate::threads::matching::matching;

/// States with a shared state and a thread from each of some sets, whoever else is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub shared: SharedId,
    pub threads: Vec<Bits>,
}

/// The states that a proof excludes: no run covers them.
pub(super) struct Excluded<'a> {
    net: &'a ThreadNet<'a>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Excluded is what covers an element or violates an invariant.
    Above {
        /// For every shared state, the threads of elements with that state.
        elements: Vec<Vec<Vec<(ThreadId, u64)>>>,
        /// The threads of elements without a shared state.
        anywhere: Vec<Vec<(ThreadId, u64)>>,
        invariants: &'a [LinearInvariant],
    },
    /// Excluded is what is below no limit. For every shared state, the limits with that state.
    NotBelow(Vec<Vec<Limit>>),
}

/// How many threads may be in each local state.
struct Limit {
    /// The local states with any number of threads.
    many: Bits,
    /// The local states with few threads, each as often as there may be threads.
    few: Vec<ThreadId>,
}

/// With elements, larger products are not looked at: all their states have to be listed.
const MOST_LISTED: usize = 2_000;

/// More threads than this in a local state are as good as any number: no clause has so many.
const MANY: u64 = 1_000;

impl<'a> Excluded<'a> {
    pub fn new(net: &'a ThreadNet<'a>, proof: &'a NetCertificate) -> Self {
        let kind = match proof {
            NetCertificate::Basis(basis) => {
                let unit = |&place: &PlaceId| {
                    let mut unit = Marking::new();
                    unit.set(place, 1);
                    unit
                };
                let units = basis.never_marked.iter().map(unit);
                let mut elements = vec![Vec::new(); net.views.shared.len()];
                let mut anywhere = Vec::new();
                for element in basis.elements.iter().cloned().chain(units) {
                    let threads = element.iter().filter_map(|(place, n)| Some((net.thread_at(place)?, n)));
                    let threads: Vec<(ThreadId, u64)> = threads.collect();
                    let others: Vec<(PlaceId, u64)> =
                        element.iter().filter(|&(place, _)| net.thread_at(place).is_none()).collect();
                    // There is one shared state, and before there is a thread, there is no state of the program.
                    match others[..] {
                        [] => anywhere.push(threads),
                        [(place, 1)] => {
                            if let Some(shared) = net.shared_at(place) {
                                elements[shared.index()].push(threads);
                            }
                        }
                        _ => {}
                    }
                }
                Kind::Above { elements, anywhere, invariants: &basis.invariants }
            }
            NetCertificate::CoverabilitySet(limits) => {
                let mut by_shared: Vec<Vec<Limit>> = net.views.shared.iter().map(|_| Vec::new()).collect();
                for limit in limits {
                    for (place, _) in limit.limits() {
                        if let Some(shared) = net.shared_at(*place) {
                            by_shared[shared.index()].push(Limit::new(net, limit));
                        }
                    }
                }
                Kind::NotBelow(by_shared)
            }
        };
        Self { net, kind }
    }

    /// Whether all states of a product are known to be excluded. Pairs in which no thread is seen do not belong to a product.
    pub fn includes(&self, product: &Product) -> bool {
        if product.threads.iter().any(Bits::is_zero) {
            return true;
        }
        match &self.kind {
            Kind::NotBelow(limits) => {
                !limits[product.shared.index()].iter().any(|limit| limit.allows(&product.threads))
            }
            Kind::Above { .. } => {
                let states = product.states(&self.net.views, MOST_LISTED);
                states
                    .is_some_and(|states| states.iter().all(|threads| self.is_above(product.shared, threads)))
            }
        }
    }

    /// Whether a state covers an element or violates an invariant.
    fn is_above(&self, shared: SharedId, threads: &[ThreadId]) -> bool {
        let Kind::Above { elements, anywhere, invariants } = &self.kind else { return false };
        let is_below = |element: &Vec<(ThreadId, u64)>| {
            let count = |thread| threads.iter().filter(|&&other| other == thread).count() as u64;
            element.iter().all(|&(thread, n)| n <= count(thread))
        };
        let is_violated = |invariant: &LinearInvariant| {
            let places = threads.iter().map(|&thread| self.net.thread_place(thread));
            let places = places.chain([shared_place(shared)]);
            let weight: u128 = places.map(|place| u128::from(invariant.weights.get(place))).sum();
            weight > u128::from(invariant.bound)
        };
        elements[shared.index()].iter().chain(anywhere).any(is_below) || invariants.iter().any(is_violated)
    }
}

impl Limit {
    fn new(net: &ThreadNet<'_>, marking: &OmegaMarking) -> Self {
        let (mut many, mut few) = (Bits::default(), Vec::new());
        for &(place, tokens) in marking.limits() {
            let Some(thread) = net.thread_at(place) else { continue };
            match tokens {
                Tokens::AtMost(n) if n < MANY => few.extend(std::iter::repeat_n(thread, n as usize)),
                Tokens::AtMost(_) | Tokens::Omega => many.set(thread.index(), true),
            }
        }
        Self { many, few }
    }

    /// Whether a thread from each set fits below the limit.
    fn allows(&self, threads: &[Bits]) -> bool {
        let rest: Vec<&Bits> = threads.iter().filter(|set| !set.meets(&self.many)).collect();
        matching(rest.len(), self.few.len(), |i, j| rest[i].get(self.few[j].index())).is_some()
    }
}

impl Product {
    /// The states with a thread in a pair.
    pub fn of(shared: SharedId, thread: ThreadId) -> Self {
        let mut set = Bits::default();
        set.set(thread.index(), true);
        Self { shared, threads: vec![set] }
    }

    /// All states of the product without other threads, except those that cannot be for reasons of control; `None` if there are
    /// more than `most`.
    fn states(&self, views: &Views, most: usize) -> Option<Vec<Vec<ThreadId>>> {
        let mut states: Vec<Vec<ThreadId>> = vec![Vec::new()];
        for set in &self.threads {
            let mut longer = Vec::new();
            for threads in &states {
                for thread in set.iter().map(ThreadId::from_index) {
                    if threads.iter().all(|&other| views.can_be_beside(thread, other)) {
                        let mut threads = threads.clone();
                        threads.insert(threads.partition_point(|&other| other <= thread), thread);
                        longer.push(threads);
                    }
                    if longer.len() > 8 * most {
                        return None;
                    }
                }
            }
            longer.sort_unstable();
            longer.dedup();
            states = longer;
        }
        (states.len() <= most).then_some(states)
    }
}
