//! Formulas about a state before and after a step as diagrams, and images under them.
//!
//! Implements: J. R. Burch, E. M. Clarke, D. E. Long, "Symbolic model checking with partitioned transition relations",
//! VLSI 1991; R. K. Ranjan, A. Aziz, R. K. Brayton, B. Plessier, C. Pixley, "Efficient BDD algorithms for FSM synthesis and
//! verification", IWLS 1995: a relation is a conjunction of *clusters* of bounded size, and a variable is forgotten together
//! with the last cluster that depends on it.

use cusp_encodings::{Node as TermNode, Term, TermArena, VarId};
use oxidd::Function;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::bdd::diagrams::{Diagram, DiagramResult, Diagrams, Stop, Variable};
use super::levels::{Levels, choice_near};
use crate::reason::Reason;

/// A cluster does not grow beyond this many nodes.
const LARGEST_CLUSTER: usize = 1000;

/// Terms over variables of the diagrams and over choices.
#[derive(Default)]
pub(super) struct Terms {
    pub arena: TermArena,
    variables: FxHashMap<VarId, Variable>,
    made: FxHashMap<Variable, Term>,
}

impl Terms {
    /// The term of a variable of the diagrams.
    pub fn variable(&mut self, variable: Variable) -> Term {
        let Self { arena, variables, made } = self;
        *made.entry(variable).or_insert_with(|| {
            let var = arena.fresh_var();
            variables.insert(var, variable);
            arena.var(var)
        })
    }
}

/// What a step demands and does.
#[derive(Default)]
pub(super) struct Demands {
    /// The conditions.
    pub conditions: Vec<Term>,
    /// Variables for values after the step, with these values.
    pub equations: Vec<(Variable, Term)>,
    /// Variables for values before the step that are not needed any more.
    pub forgotten: Vec<Variable>,
}

/// A relation between values before and after a step.
pub(super) struct Relation {
    /// The variables that no cluster depends on, and that are forgotten.
    first: Diagram,
    /// The clusters with the variables that are forgotten together with them.
    clusters: Vec<(Diagram, Diagram)>,
}

/// A part of a conjunction, with the variables that it may depend on.
type Part = (Diagram, FxHashSet<Variable>);

impl Relation {
    /// The relation that is described by demands.
    pub fn new(
        diagrams: &Diagrams,
        levels: &Levels,
        terms: &Terms,
        demands: &Demands,
    ) -> DiagramResult<Self> {
        let arena = &terms.arena;
        let conjuncts = conjuncts_of(arena, &demands.conditions);
        let values = demands.equations.iter().map(|&(_, term)| term);
        let cone = arena.cone(&conjuncts.iter().copied().chain(values).collect::<Vec<_>>());
        let mut choices = Choices::new(terms, levels);
        let equations = choices.take_over(arena, &demands.equations);
        choices.place(arena, &equations, &cone)?;
        let mut made: FxHashMap<Term, Diagram> = FxHashMap::default();
        for &node in &cone {
            let diagram = match arena.node(node) {
                TermNode::True => diagrams.truth(),
                TermNode::Var(var) => {
                    let (variable, is_complemented) = choices.variable(var);
                    diagrams.literal((variable, !is_complemented))?
                }
                TermNode::And(a, b) => {
                    diagrams.and(&value(diagrams, &made, a)?, &value(diagrams, &made, b)?)?
                }
                TermNode::Xor(a, b) => {
                    let equal = diagrams.equal(&value(diagrams, &made, a)?, &value(diagrams, &made, b)?)?;
                    diagrams.not(&equal)?
                }
            };
            made.insert(node, diagram);
        }
        let support =
            |term: Term| arena.support(&[term]).into_iter().map(|var| choices.variable(var).0).collect();
        let mut parts: Vec<Part> = Vec::new();
        for conjunct in conjuncts {
            parts.push((value(diagrams, &made, conjunct)?, support(conjunct)));
        }
        for (variable, term) in equations {
            let mut support: FxHashSet<Variable> = support(term);
            support.insert(variable);
            let equation = diagrams.equal(&diagrams.variable(variable), &value(diagrams, &made, term)?)?;
            parts.push((equation, support));
        }
        let mut clusters = cluster(diagrams, parts, &choices.forgotten)?;
        Self::schedule(diagrams, &mut clusters, demands.forgotten.iter().chain(&choices.forgotten))
    }

    /// Decides when every variable is forgotten.
    fn schedule<'v>(
        diagrams: &Diagrams,
        clusters: &mut Vec<Part>,
        forgotten: impl Iterator<Item = &'v Variable>,
    ) -> DiagramResult<Self> {
        let mut first = Vec::new();
        let mut with: Vec<Vec<Variable>> = vec![Vec::new(); clusters.len()];
        for &variable in forgotten {
            match clusters.iter().rposition(|(_, support)| support.contains(&variable)) {
                Some(last) => with[last].push(variable),
                None => first.push(variable),
            }
        }
        let first = diagrams.cube(first)?;
        let clusters = clusters
            .drain(..)
            .zip(with)
            .map(|((relation, _), variables)| Ok((relation, diagrams.cube(variables)?)));
        Ok(Self { first, clusters: clusters.collect::<DiagramResult<_>>()? })
    }

    /// The image of a set, over the variables for values after the step and those that do not change.
    pub fn image(&self, diagrams: &Diagrams, set: &Diagram) -> DiagramResult<Diagram> {
        let mut image = diagrams.exists(set, &self.first)?;
        for (cluster, forgotten) in &self.clusters {
            if diagrams.is_empty(&image) {
                break;
            }
            image = diagrams.and_exists(&image, cluster, forgotten)?;
        }
        Ok(image)
    }

    /// The members of a set from which a step leads to the given values; nothing is forgotten.
    pub fn before(&self, diagrams: &Diagrams, set: &Diagram, facts: &Diagram) -> DiagramResult<Diagram> {
        let mut before = diagrams.and(set, facts)?;
        for (cluster, _) in &self.clusters {
            before = diagrams.and(&before, cluster)?;
        }
        Ok(before)
    }
}

/// Where the choices are in the order.
struct Choices<'t> {
    terms: &'t Terms,
    levels: &'t Levels,
    placed: FxHashMap<VarId, (Variable, bool)>,
    used: FxHashSet<Variable>,
    /// The variables of the choices that are not values after the step.
    forgotten: Vec<Variable>,
}

impl<'t> Choices<'t> {
    fn new(terms: &'t Terms, levels: &'t Levels) -> Self {
        let (placed, used) = (FxHashMap::default(), FxHashSet::default());
        Self { terms, levels, placed, used, forgotten: Vec::new() }
    }

    fn is_placed(&self, var: VarId) -> bool {
        self.terms.variables.contains_key(&var) || self.placed.contains_key(&var)
    }

    /// The variable for a variable of the terms, and whether it is its complement.
    fn variable(&self, var: VarId) -> (Variable, bool) {
        match self.terms.variables.get(&var) {
            Some(&variable) => (variable, false),
            None => self.placed[&var],
        }
    }

    /// A choice that is itself a value after the step needs no variable of its own, and no equation. Returns the other
    /// equations.
    fn take_over(&mut self, arena: &TermArena, equations: &[(Variable, Term)]) -> Vec<(Variable, Term)> {
        let mut rest = Vec::new();
        for &(variable, term) in equations {
            match arena.as_var(term) {
                Some(var) if !self.is_placed(var) => {
                    self.placed.insert(var, (variable, term.is_complemented()));
                }
                _ => rest.push((variable, term)),
            }
        }
        rest
    }

    /// Places all other choices, near a value that depends on them where possible.
    fn place(
        &mut self,
        arena: &TermArena,
        equations: &[(Variable, Term)],
        cone: &[Term],
    ) -> DiagramResult<()> {
        for &(variable, term) in equations {
            for var in arena.support(&[term]) {
                if !self.is_placed(var) && self.used.insert(choice_near(variable)) {
                    self.placed.insert(var, (choice_near(variable), false));
                    self.forgotten.push(choice_near(variable));
                }
            }
        }
        let mut spare = self.levels.spare();
        for var in cone.iter().filter_map(|&term| arena.as_var(term)) {
            if !self.is_placed(var) {
                let too_many = || Stop::Budget(Reason::GaveUp("a step makes too many choices".to_owned()));
                let variable = spare.next().ok_or_else(too_many)?;
                self.placed.insert(var, (variable, false));
                self.forgotten.push(variable);
            }
        }
        Ok(())
    }
}

/// Joins parts of a conjunction as long as they are small, and forgets the choices that only one cluster depends on.
fn cluster(diagrams: &Diagrams, parts: Vec<Part>, choices: &[Variable]) -> DiagramResult<Vec<Part>> {
    let mut uses: FxHashMap<Variable, (usize, usize)> = FxHashMap::default();
    for (position, (_, support)) in parts.iter().enumerate() {
        for &choice in choices.iter().filter(|choice| support.contains(choice)) {
            uses.entry(choice).or_insert((position, position)).1 = position;
        }
    }
    let mut clusters: Vec<Part> = Vec::new();
    // The position of the first part of the last cluster.
    let mut first = 0;
    for (position, (part, support)) in parts.into_iter().enumerate() {
        let ends_here =
            |first: usize| {
                diagrams.cube(choices.iter().copied().filter(|choice| {
                    uses.get(choice).is_some_and(|&(from, to)| from >= first && to == position)
                }))
            };
        if let Some((last, all)) = clusters.last_mut() {
            let joined = diagrams.and_exists(last, &part, &ends_here(first)?)?;
            if joined.node_count() <= LARGEST_CLUSTER {
                *last = joined;
                all.extend(&support);
                continue;
            }
        }
        first = position;
        clusters.push((diagrams.exists(&part, &ends_here(first)?)?, support));
    }
    // Choices that are forgotten already do not occur any more.
    Ok(clusters)
}

fn value(diagrams: &Diagrams, made: &FxHashMap<Term, Diagram>, term: Term) -> DiagramResult<Diagram> {
    let diagram = &made[&term.uncomplemented()];
    if term.is_complemented() { diagrams.not(diagram) } else { Ok(diagram.clone()) }
}

/// The conjuncts of a conjunction of terms, each once.
fn conjuncts_of(arena: &TermArena, terms: &[Term]) -> Vec<Term> {
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    let mut conjuncts = Vec::new();
    let mut open: Vec<Term> = terms.iter().rev().copied().collect();
    while let Some(term) = open.pop() {
        if !seen.insert(term) {
            continue;
        }
        match arena.node(term) {
            TermNode::And(a, b) if !term.is_complemented() => open.extend([b, a]),
            _ => conjuncts.push(term),
        }
    }
    conjuncts
}
