//! Formulas over global variables, and the cases that they distinguish.
//!
//! Invariant (postfix): the operations of a formula are in the order in which a stack machine executes them, and
//! leave one value. Nothing here recurses, so formulas may be nested arbitrarily deeply.

use rustc_hash::FxHashMap;

use super::{GlobalId, Value};

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Pushes a constant.
    Constant(bool),
    /// Pushes the value of a variable.
    Global(GlobalId),
    /// Negates the last value.
    Not,
    /// Replaces the last two values by their conjunction.
    And,
    /// Replaces the last two values by their disjunction.
    Or,
    /// Replaces the last two values by whether they are equal.
    Equal,
    /// Replaces the last two values by whether they differ.
    Differ,
}

impl Op {
    /// The number of values it takes.
    #[must_use]
    pub fn arity(self) -> usize {
        match self {
            Self::Constant(_) | Self::Global(_) => 0,
            Self::Not => 1,
            Self::And | Self::Or | Self::Equal | Self::Differ => 2,
        }
    }
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula(Vec<Op>);

/// The values of some of the variables.
type Known = FxHashMap<GlobalId, bool>;

impl Formula {
    /// The formula that always holds.
    #[must_use]
    pub fn truth() -> Self {
        Self(vec![Op::Constant(true)])
    }

    /// The formula of these operations; `None` if they do not leave exactly one value.
    #[must_use]
    pub fn new(ops: Vec<Op>) -> Option<Self> {
        let height = ops.iter().try_fold(0_usize, |height, op| Some(height.checked_sub(op.arity())? + 1));
        (height == Some(1)).then_some(Self(ops))
    }

    /// Its operations.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.0
    }

    /// Whether it is the formula that is assumed if none is written.
    #[must_use]
    pub fn is_truth(&self) -> bool {
        self.0 == [Op::Constant(true)]
    }

    /// For every operation, the position where its subformula begins.
    #[must_use]
    pub fn starts(&self) -> Vec<usize> {
        let mut starts: Vec<usize> = Vec::with_capacity(self.0.len());
        for (at, op) in self.0.iter().enumerate() {
            let mut start = at;
            for _ in 0..op.arity() {
                start = starts[start - 1];
            }
            starts.push(start);
        }
        starts
    }

    /// The literals among the conjuncts of the formula, which may have other conjuncts as well; `None` if they
    /// contradict each other.
    fn conjuncts(&self) -> Option<Vec<(GlobalId, bool)>> {
        let starts = self.starts();
        let mut known = Known::default();
        let mut literals = Vec::new();
        let mut open = vec![self.0.len() - 1];
        while let Some(at) = open.pop() {
            let literal = match (self.0[at], at.checked_sub(1).map(|before| self.0[before])) {
                (Op::And, _) => {
                    open.extend([at - 1, starts[at - 1] - 1]);
                    continue;
                }
                (Op::Global(global), _) => (global, true),
                (Op::Not, Some(Op::Global(global))) => (global, false),
                _ => continue,
            };
            match known.insert(literal.0, literal.1) {
                None => literals.push(literal),
                Some(value) if value != literal.1 => return None,
                Some(_) => {}
            }
        }
        Some(literals)
    }

    /// The value of the formula, or a variable on which the value may still depend.
    fn value(&self, known: &Known) -> Result<bool, GlobalId> {
        let mut stack: Vec<Result<bool, GlobalId>> = Vec::new();
        // By the invariant, the stack always has enough values.
        let pop = |stack: &mut Vec<Result<bool, GlobalId>>| stack.pop().unwrap_or(Ok(true));
        for &op in &self.0 {
            let value = match op {
                Op::Constant(value) => Ok(value),
                Op::Global(global) => known.get(&global).copied().ok_or(global),
                Op::Not => pop(&mut stack).map(|value| !value),
                Op::And | Op::Or | Op::Equal | Op::Differ => {
                    let (right, left) = (pop(&mut stack), pop(&mut stack));
                    binary(op, left, right)
                }
            };
            stack.push(value);
        }
        pop(&mut stack)
    }
}

fn binary(op: Op, left: Result<bool, GlobalId>, right: Result<bool, GlobalId>) -> Result<bool, GlobalId> {
    // The value of one operand that determines the result of a conjunction or disjunction.
    let settles = match op {
        Op::And => Some(false),
        Op::Or => Some(true),
        _ => None,
    };
    match (settles, left, right) {
        (Some(value), Ok(one), other) | (Some(value), other, Ok(one)) => {
            if one == value {
                Ok(value)
            } else {
                other
            }
        }
        (None, Ok(one), Ok(other)) => Ok((one == other) == (op == Op::Equal)),
        (_, Err(global), _) | (_, _, Err(global)) => Err(global),
    }
}

/// The new values of variables; `None` stands for either value.
pub(super) type Results = Vec<(GlobalId, Option<bool>)>;

/// A case: values of some variables that determine the guard and all updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// The values that define the case.
    pub literals: Vec<(GlobalId, bool)>,
    /// The new values of variables.
    pub results: Results,
}

/// There are more cases than [`MOST_CASES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyCases;

/// The largest number of cases that are distinguished, including those in which the guard does not hold.
pub(super) const MOST_CASES: usize = 1024;

/// The cases in which the guard holds. They exclude each other, and each fixes only variables that matter: a
/// conjunction of literals is one case.
pub(super) fn cases(guard: &Formula, updates: &[(GlobalId, Value)]) -> Result<Vec<Case>, TooManyCases> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<(GlobalId, bool)>> = guard.conjuncts().into_iter().collect();
    let mut leaves = 0;
    while let Some(literals) = open.pop() {
        let known: Known = literals.iter().copied().collect();
        match case(guard, updates, &known) {
            Err(global) => {
                for value in [false, true] {
                    let mut longer = literals.clone();
                    longer.push((global, value));
                    open.push(longer);
                }
            }
            Ok(results) => {
                leaves += 1;
                found.extend(results.map(|results| Case { literals, results }));
            }
        }
        if leaves + open.len() > MOST_CASES {
            return Err(TooManyCases);
        }
    }
    Ok(found)
}

/// The results of the updates, or `None` if the guard does not hold; an error names a variable that must be known
/// first.
fn case(guard: &Formula, updates: &[(GlobalId, Value)], known: &Known) -> Result<Option<Results>, GlobalId> {
    if !guard.value(known)? {
        return Ok(None);
    }
    let result = |(global, value): &(GlobalId, Value)| match value {
        Value::Any => Ok((*global, None)),
        Value::Of(formula) => formula.value(known).map(|value| (*global, Some(value))),
    };
    updates.iter().map(result).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g(i: usize) -> Op {
        Op::Global(GlobalId::from_index(i))
    }

    fn formula(ops: &[Op]) -> Formula {
        Formula::new(ops.to_vec()).expect("a formula")
    }

    #[test]
    fn operations_that_leave_no_single_value_are_no_formula() {
        for ops in [&[][..], &[Op::Not], &[g(0), g(1)], &[g(0), Op::And], &[Op::And, g(0), g(1)]] {
            assert_eq!(Formula::new(ops.to_vec()), None, "{ops:?}");
        }
    }

    #[test]
    fn cases_are_the_truth_table_and_exclude_each_other() {
        let guards = [
            formula(&[g(0), g(1), Op::And, g(2), Op::Not, Op::And]),
            formula(&[g(0), g(1), Op::And, g(2), Op::Or]),
            formula(&[g(0), g(1), Op::Differ, g(2), Op::Equal]),
            formula(&[g(0), g(0), Op::Not, Op::Or]),
            formula(&[g(0), g(0), Op::Not, Op::And]),
            formula(&[Op::Constant(false), g(1), Op::Or, Op::Constant(true), Op::And]),
        ];
        let updates = [(GlobalId::from_index(1), Value::Of(formula(&[g(2), g(1), Op::Or])))];
        for guard in &guards {
            let found = cases(guard, &updates).expect("few");
            for row in 0..8_u32 {
                let value = |global: GlobalId| row >> global.index() & 1 == 1;
                let known: Known = (0..3).map(GlobalId::from_index).map(|g| (g, value(g))).collect();
                let here: Vec<&Case> =
                    found.iter().filter(|case| case.literals.iter().all(|&(g, v)| value(g) == v)).collect();
                assert_eq!(here.len(), usize::from(guard.value(&known) == Ok(true)), "{guard:?} {row}");
                let wanted = value(GlobalId::from_index(1)) || value(GlobalId::from_index(2));
                let right = |case: &&Case| case.results == [(GlobalId::from_index(1), Some(wanted))];
                assert!(here.iter().all(right), "{guard:?} {row}");
            }
        }
        assert_eq!(cases(&guards[4], &[]).map(|found| found.len()), Ok(0));
    }

    #[test]
    fn a_conjunction_of_any_number_of_literals_is_one_case() {
        let rest = (1..5000).flat_map(|i| [g(i), Op::Not, Op::And]);
        let long = formula(&std::iter::once(g(0)).chain(rest).collect::<Vec<_>>());
        let found = cases(&long, &[]).expect("one");
        assert_eq!(found.iter().map(|case| case.literals.len()).collect::<Vec<_>>(), [5000]);
    }

    #[test]
    fn parity_of_many_variables_is_refused() {
        let parity = |n: usize| {
            let rest = (1..n).flat_map(|i| [g(i), Op::Differ]);
            formula(&std::iter::once(g(0)).chain(rest).collect::<Vec<_>>())
        };
        assert_eq!(cases(&parity(10), &[]).map(|found| found.len()), Ok(512));
        assert_eq!(cases(&parity(11), &[]), Err(TooManyCases));
    }
}
