//! The decision diagrams of one search: an interface to the few operations of `oxidd` that are needed.
//!
//! Every operation checks the budget first, so the search can be ended between any two operations. The crate cannot
//! interrupt an operation: it ends when it is complete or when the table of nodes is full, and [`super`] does not
//! wait for it.
//!
//! Variables are numbered in their order, and the order never changes. The crate recurses from variable to
//! variable, so its callers need a stack that fits the number of variables: see [`super::STACK`].

use std::cell::Cell;

use oxidd::bcdd::{BCDDFunction, BCDDManagerRef, new_manager};
use oxidd::util::{AllocResult, OptBool};
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager,
    ManagerRef, Node, Subst,
};

use crate::budget::Budget;
use crate::budget::aside::can_start_threads;
use crate::evidence::Reason;

/// A set of valuations of the variables.
pub(in crate::engines) type Diagram = BCDDFunction;

/// A variable of the diagrams.
pub(in crate::engines) type Variable = u32;

/// A variable with its value.
pub(in crate::engines) type Fact = (Variable, bool);

/// Why a search ended early.
#[derive(Debug)]
pub(in crate::engines) enum Stop {
    /// The table of nodes is full.
    Full,
    /// The user's limits are reached.
    Budget(Reason),
}

/// The result of an operation on diagrams, or why the search has to stop.
pub(in crate::engines) type DiagramResult<T> = Result<T, Stop>;

/// A simultaneous renaming of variables.
pub(in crate::engines) type Renaming = Subst<Diagram>;

/// The sizes of the tables.
#[derive(Clone, Copy, Debug)]
pub(in crate::engines) struct Capacity {
    /// The number of nodes of all diagrams together, including garbage.
    pub nodes: usize,
    /// The number of results in the cache.
    pub cache: usize,
    /// Whether there is no larger capacity: then the search continues as long as there is a free node.
    pub is_last: bool,
}

/// The number of bytes of a node in its table.
const SLOT_BYTES: usize = 16;

/// What an operation counts as [work](Budget::spend), whatever the size of its diagrams.
const WORK_OF_AN_OPERATION: u64 = 10;

/// Empty tables; nothing if the system has no thread left. The crate starts two of them for all tables, a worker and a
/// collector of garbage, and would panic if it could not.
pub(in crate::engines) fn tables(nodes: usize, cache: usize) -> Option<BCDDManagerRef> {
    can_start_threads(2).then(|| new_manager(nodes, cache, 1))
}

/// All diagrams of one search.
pub(in crate::engines) struct Diagrams {
    manager: BCDDManagerRef,
    budget: Budget,
    capacity: Capacity,
    truth: Diagram,
    falsity: Diagram,
    variables: Vec<Diagram>,
    /// The number of garbage collections at the last [`Diagrams::poll`].
    collections: Cell<u64>,
}

impl Diagrams {
    /// Empty tables with this many variables.
    pub fn new(capacity: Capacity, variables: u32, budget: &Budget) -> DiagramResult<Self> {
        // The crate allocates the whole table at once, and would abort the process if there were not enough memory.
        if Vec::<u8>::new().try_reserve_exact(capacity.nodes * SLOT_BYTES).is_err() {
            return Err(Stop::Full);
        }
        let Some(manager) = tables(capacity.nodes, capacity.cache) else {
            return Err(Stop::Budget(Reason::GaveUp("the system has no thread left".to_owned())));
        };
        manager.with_manager_exclusive(|manager| manager.add_vars(variables));
        let (truth, falsity) =
            manager.with_manager_shared(|manager| (Diagram::t(manager), Diagram::f(manager)));
        let variables = manager.with_manager_shared(|manager| {
            (0..variables).map(|variable| Diagram::var(manager, variable)).collect::<AllocResult<Vec<_>>>()
        });
        let Ok(variables) = variables else { return Err(Stop::Full) };
        Ok(Self {
            manager,
            budget: budget.clone(),
            capacity,
            truth,
            falsity,
            variables,
            collections: Cell::new(0),
        })
    }

    /// Returns an error if the search has to end, or has to begin again with larger tables.
    pub fn poll(&self) -> DiagramResult<()> {
        if let Some(reason) = self.budget.exhausted() {
            return Err(Stop::Budget(reason));
        }
        // If a table is still half full after a collection, collections will be frequent and gain little.
        let (collections, nodes) = self
            .manager
            .with_manager_shared(|manager| (manager.gc_count(), manager.approx_num_inner_nodes()));
        let is_crowded =
            self.collections.replace(collections) != collections && nodes > self.capacity.nodes / 2;
        if is_crowded && !self.capacity.is_last { Err(Stop::Full) } else { Ok(()) }
    }

    /// The number of nodes in use, including garbage.
    pub fn nodes(&self) -> usize {
        self.manager.with_manager_shared(|manager| manager.approx_num_inner_nodes())
    }

    fn operation(&self, operation: impl Fn() -> AllocResult<Diagram>) -> DiagramResult<Diagram> {
        self.budget.spend(WORK_OF_AN_OPERATION);
        if let Some(reason) = self.budget.exhausted() {
            return Err(Stop::Budget(reason));
        }
        if let Ok(diagram) = operation() {
            return Ok(diagram);
        }
        // Exclusive access waits for a collection that may be running in the crate.
        self.manager.with_manager_exclusive(|manager| manager.gc());
        operation().map_err(|_| Stop::Full)
    }

    /// The set of all valuations.
    pub fn truth(&self) -> Diagram {
        self.truth.clone()
    }

    /// The empty set.
    pub fn falsity(&self) -> Diagram {
        self.falsity.clone()
    }

    /// The set of all valuations, or the empty set.
    pub fn constant(&self, value: bool) -> Diagram {
        if value { self.truth() } else { self.falsity() }
    }

    /// The set of valuations in which a variable has a value.
    pub fn literal(&self, (variable, value): Fact) -> DiagramResult<Diagram> {
        let diagram = &self.variables[variable as usize];
        if value { Ok(diagram.clone()) } else { self.not(diagram) }
    }

    /// The set of valuations in which a variable is true.
    pub fn variable(&self, variable: Variable) -> Diagram {
        self.variables[variable as usize].clone()
    }

    pub fn not(&self, a: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| a.not())
    }

    pub fn and(&self, a: &Diagram, b: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| a.and(b))
    }

    pub fn or(&self, a: &Diagram, b: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| a.or(b))
    }

    pub fn equal(&self, a: &Diagram, b: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| a.equiv(b))
    }

    /// `a` and not `b`.
    pub fn minus(&self, a: &Diagram, b: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| b.imp_strict(a))
    }

    pub fn ite(&self, condition: &Diagram, then: &Diagram, otherwise: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| condition.ite(then, otherwise))
    }

    /// `a` and `b` for some values of the variables of a [`Diagrams::cube`].
    pub fn and_exists(&self, a: &Diagram, b: &Diagram, cube: &Diagram) -> DiagramResult<Diagram> {
        if *cube == self.truth {
            return self.and(a, b);
        }
        self.operation(|| a.apply_exists(BooleanOperator::And, b, cube))
    }

    /// `a` for some values of the variables of a cube.
    pub fn exists(&self, a: &Diagram, cube: &Diagram) -> DiagramResult<Diagram> {
        if *cube == self.truth {
            return Ok(a.clone());
        }
        self.operation(|| a.exists(cube))
    }

    /// The set `a` with the variables in `facts` fixed to the given values.
    pub fn restrict(&self, a: &Diagram, facts: &Diagram) -> DiagramResult<Diagram> {
        self.operation(|| a.restrict(facts))
    }

    /// The conjunction of variables, each at most once.
    pub fn cube(&self, variables: impl IntoIterator<Item = Variable>) -> DiagramResult<Diagram> {
        self.facts(variables.into_iter().map(|variable| (variable, true)))
    }

    /// The conjunction of literals, each variable at most once.
    pub fn facts(&self, facts: impl IntoIterator<Item = Fact>) -> DiagramResult<Diagram> {
        let mut facts: Vec<Fact> = facts.into_iter().collect();
        facts.sort_unstable();
        // The literals are added from the last variable to the first, so that each adds one node on top.
        facts.into_iter().rev().try_fold(self.truth(), |all, fact| self.and(&self.literal(fact)?, &all))
    }

    /// A renaming of all these variables at once; `None` if there is nothing to rename.
    pub fn renaming(&self, pairs: &[(Variable, Variable)]) -> Option<Renaming> {
        if pairs.is_empty() {
            return None;
        }
        let from: Vec<Variable> = pairs.iter().map(|pair| pair.0).collect();
        Some(Subst::new(from, pairs.iter().map(|pair| self.variable(pair.1)).collect()))
    }

    /// The same set with renamed variables.
    pub fn rename(&self, a: &Diagram, renaming: Option<&Renaming>) -> DiagramResult<Diagram> {
        match renaming {
            Some(renaming) => self.operation(|| a.substitute(renaming)),
            None => Ok(a.clone()),
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self, a: &Diagram) -> bool {
        *a == self.falsity
    }
}

/// Whether a valuation belongs to a set. The set must not depend on variables without a value.
pub(in crate::engines) fn contains(a: &Diagram, facts: impl IntoIterator<Item = Fact>) -> bool {
    a.eval(facts)
}

/// Some valuation of a set, if there is one. The choice is deterministic.
pub(in crate::engines) fn pick(a: &Diagram) -> Option<Pick> {
    a.pick_cube(|_, _, _| false).map(Pick)
}

/// The topmost variable, with the set for the value true and the set for the value false; `None` for a constant.
pub(in crate::engines) fn branch(a: &Diagram) -> Option<(Variable, Diagram, Diagram)> {
    let level = a.with_manager_shared(|manager, edge| match manager.get_node(edge) {
        Node::Inner(node) => Some(node.level()),
        Node::Terminal(_) => None,
    })?;
    let (then, otherwise) = a.cofactors()?;
    Some((level, then, otherwise))
}

/// The number of the node of a diagram, which stays unique as long as the diagram is kept, and whether the diagram
/// is the complement of its node.
#[expect(clippy::default_trait_access, reason = "the crate does not export the type")]
pub(in crate::engines) fn node(a: &Diagram) -> (usize, bool) {
    a.with_manager_shared(|_, edge| (edge.node_id(), edge.tag() != Default::default()))
}

/// Some values that satisfy a diagram. The values of all other variables do not matter; they are taken as false.
pub(in crate::engines) struct Pick(Vec<OptBool>);

impl Pick {
    /// The value of a variable.
    pub fn value(&self, variable: Variable) -> bool {
        self.0[variable as usize] == OptBool::True
    }
}
