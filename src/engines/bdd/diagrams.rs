//! The decision diagrams of one search: `oxidd` behind the few operations that are needed.
//!
//! Every operation asks the budget first, so the search can be ended between any two of them. The
//! crate offers no way to end one that is under way; it ends when it is done or when the table of nodes
//! is full, and [`super`] does not wait for it.
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
use crate::evidence::Reason;

/// A set of valuations.
pub(super) type Diagram = BCDDFunction;

/// A variable of the diagrams.
pub(super) type Variable = u32;

/// A variable with its value.
pub(super) type Fact = (Variable, bool);

/// Why a search ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The table of nodes is full.
    Full,
    /// The user's limits are reached.
    Budget(Reason),
}

/// A result, unless the search ended early.
pub(super) type Outcome<T> = Result<T, Stop>;

/// New names for variables.
pub(super) type Renaming = Subst<Diagram>;

/// How large the tables are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// Nodes of all diagrams together, garbage included.
    pub nodes: usize,
    /// Results that are remembered.
    pub cache: usize,
    /// There is no larger one: go on as long as there is a free node.
    pub is_last: bool,
}

/// Bytes of a node in its table.
const SLOT_BYTES: usize = 16;

/// All diagrams of one search.
pub(super) struct Diagrams {
    manager: BCDDManagerRef,
    budget: Budget,
    capacity: Capacity,
    truth: Diagram,
    falsity: Diagram,
    variables: Vec<Diagram>,
    /// Garbage collections that were looked at.
    collections: Cell<u64>,
}

impl Diagrams {
    /// With this many variables.
    pub fn new(capacity: Capacity, variables: u32, budget: &Budget) -> Outcome<Self> {
        // The crate takes the whole table at once, and would end the process if there is no room for it.
        if Vec::<u8>::new().try_reserve_exact(capacity.nodes * SLOT_BYTES).is_err() {
            return Err(Stop::Full);
        }
        let manager = new_manager(capacity.nodes, capacity.cache, 1);
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

    /// Ends the search if it should end, or should begin again with larger tables.
    pub fn poll(&self) -> Outcome<()> {
        if let Some(reason) = self.budget.exhausted() {
            return Err(Stop::Budget(reason));
        }
        // A table that is still half full after a collection will be collected again and again.
        let (collections, nodes) = self
            .manager
            .with_manager_shared(|manager| (manager.gc_count(), manager.approx_num_inner_nodes()));
        let is_crowded =
            self.collections.replace(collections) != collections && nodes > self.capacity.nodes / 2;
        if is_crowded && !self.capacity.is_last { Err(Stop::Full) } else { Ok(()) }
    }

    /// Nodes in use, garbage included.
    pub fn nodes(&self) -> usize {
        self.manager.with_manager_shared(|manager| manager.approx_num_inner_nodes())
    }

    fn operation(&self, operation: impl Fn() -> AllocResult<Diagram>) -> Outcome<Diagram> {
        if let Some(reason) = self.budget.exhausted() {
            return Err(Stop::Budget(reason));
        }
        if let Ok(diagram) = operation() {
            return Ok(diagram);
        }
        // Exclusive access waits for a collection that the crate may have under way.
        self.manager.with_manager_exclusive(|manager| manager.gc());
        operation().map_err(|_| Stop::Full)
    }

    /// All valuations.
    pub fn truth(&self) -> Diagram {
        self.truth.clone()
    }

    /// None.
    pub fn falsity(&self) -> Diagram {
        self.falsity.clone()
    }

    /// All or none.
    pub fn constant(&self, value: bool) -> Diagram {
        if value { self.truth() } else { self.falsity() }
    }

    /// Where a variable has a value.
    pub fn literal(&self, (variable, value): Fact) -> Outcome<Diagram> {
        let diagram = &self.variables[variable as usize];
        if value { Ok(diagram.clone()) } else { self.not(diagram) }
    }

    /// A variable itself.
    pub fn variable(&self, variable: Variable) -> Diagram {
        self.variables[variable as usize].clone()
    }

    pub fn not(&self, a: &Diagram) -> Outcome<Diagram> {
        self.operation(|| a.not())
    }

    pub fn and(&self, a: &Diagram, b: &Diagram) -> Outcome<Diagram> {
        self.operation(|| a.and(b))
    }

    pub fn or(&self, a: &Diagram, b: &Diagram) -> Outcome<Diagram> {
        self.operation(|| a.or(b))
    }

    pub fn equal(&self, a: &Diagram, b: &Diagram) -> Outcome<Diagram> {
        self.operation(|| a.equiv(b))
    }

    /// `a` and not `b`.
    pub fn minus(&self, a: &Diagram, b: &Diagram) -> Outcome<Diagram> {
        self.operation(|| b.imp_strict(a))
    }

    pub fn ite(&self, condition: &Diagram, then: &Diagram, otherwise: &Diagram) -> Outcome<Diagram> {
        self.operation(|| condition.ite(then, otherwise))
    }

    /// `a` and `b` for some values of the variables of a [`Diagrams::cube`].
    pub fn and_exists(&self, a: &Diagram, b: &Diagram, cube: &Diagram) -> Outcome<Diagram> {
        if *cube == self.truth {
            return self.and(a, b);
        }
        self.operation(|| a.apply_exists(BooleanOperator::And, b, cube))
    }

    /// `a` for some values of the variables of a cube.
    pub fn exists(&self, a: &Diagram, cube: &Diagram) -> Outcome<Diagram> {
        if *cube == self.truth {
            return Ok(a.clone());
        }
        self.operation(|| a.exists(cube))
    }

    /// What is left of `a` with these values.
    pub fn restrict(&self, a: &Diagram, facts: &Diagram) -> Outcome<Diagram> {
        self.operation(|| a.restrict(facts))
    }

    /// The conjunction of variables, each at most once.
    pub fn cube(&self, variables: impl IntoIterator<Item = Variable>) -> Outcome<Diagram> {
        self.facts(variables.into_iter().map(|variable| (variable, true)))
    }

    /// The conjunction of literals, each variable at most once.
    pub fn facts(&self, facts: impl IntoIterator<Item = Fact>) -> Outcome<Diagram> {
        let mut facts: Vec<Fact> = facts.into_iter().collect();
        facts.sort_unstable();
        // From the last to the first, so that each adds one node on top.
        facts.into_iter().rev().try_fold(self.truth(), |all, fact| self.and(&self.literal(fact)?, &all))
    }

    /// A renaming, if there is something to rename; all variables of it change at once.
    pub fn renaming(&self, pairs: &[(Variable, Variable)]) -> Option<Renaming> {
        if pairs.is_empty() {
            return None;
        }
        let from: Vec<Variable> = pairs.iter().map(|pair| pair.0).collect();
        Some(Subst::new(from, pairs.iter().map(|pair| self.variable(pair.1)).collect()))
    }

    /// The same set under other names.
    pub fn rename(&self, a: &Diagram, renaming: Option<&Renaming>) -> Outcome<Diagram> {
        match renaming {
            Some(renaming) => self.operation(|| a.substitute(renaming)),
            None => Ok(a.clone()),
        }
    }

    /// Whether there is no valuation.
    pub fn is_empty(&self, a: &Diagram) -> bool {
        *a == self.falsity
    }
}

/// Whether a valuation belongs to a set; variables without a value must not matter.
pub(super) fn contains(a: &Diagram, facts: impl IntoIterator<Item = Fact>) -> bool {
    a.eval(facts)
}

/// Some valuation, if there is one; the same one each time.
pub(super) fn pick(a: &Diagram) -> Option<Pick> {
    a.pick_cube(|_, _, _| false).map(Pick)
}

/// The topmost variable with the sets where it holds and where it does not; `None` for a constant.
pub(super) fn branch(a: &Diagram) -> Option<(Variable, Diagram, Diagram)> {
    let level = a.with_manager_shared(|manager, edge| match manager.get_node(edge) {
        Node::Inner(node) => Some(node.level()),
        Node::Terminal(_) => None,
    })?;
    let (then, otherwise) = a.cofactors()?;
    Some((level, then, otherwise))
}

/// The node of a diagram, which it has to itself as long as somebody holds the diagram, and whether the diagram
/// is the complement of its node.
#[expect(clippy::default_trait_access, reason = "the crate does not export the type")]
pub(super) fn node(a: &Diagram) -> (usize, bool) {
    a.with_manager_shared(|_, edge| (edge.node_id(), edge.tag() != Default::default()))
}

/// Some values that satisfy a diagram; all others are of no account, and count as false.
pub(super) struct Pick(Vec<OptBool>);

impl Pick {
    /// The value of a variable.
    pub fn value(&self, variable: Variable) -> bool {
        self.0[variable as usize] == OptBool::True
    }
}
