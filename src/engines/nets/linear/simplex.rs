//! The state equation: whether a marking could be covered if transitions fired in any order and fractionally.
//!
//! Let `C` be the matrix of the changes that firings make, and `m0` the largest initial marking. The question is
//! whether `x >= 0` exists with `C x >= goal - m0`. If not, by Farkas' lemma there are weights `y >= 0` with `y C
//! <= 0` and `y goal > y m0`: a weighted sum that never grows, but would have to grow to reach the goal.
//!
//! The method is a dual simplex with a cost of one per firing. The basis without any firing is dual feasible from
//! the start, a basis stays dual feasible when the goal changes, and successive goals of a search are similar, so
//! most questions take few pivots. The row in which no pivot is possible is `y`. Only the *kernel* is inverted: the
//! rows whose slack is not basic, against the basic columns. It is as large as the number of different transitions
//! that fire, while nets have thousands of places. Numbers are floating point; [`super::Exclusions`] uses a result
//! only after it has been checked in integers.
//!
//! This is our own implementation because the maintained linear solvers in pure Rust (microlp, 0.7, and its
//! wrappers) neither return the weights of an infeasible problem nor start from an earlier basis when a right side
//! changes.

use crate::budget::Budget;

/// Numbers with a smaller absolute value are treated as zero.
const ZERO: f64 = 1e-9;
/// Numbers below the negative of this value are treated as negative.
const NEGATIVE: f64 = 1e-7;
/// The number of changes after which the kernel is inverted from scratch, before rounding errors add up.
const FRESH: usize = 64;

/// The greatest number of pivots for a question; far more than any question of the corpus takes.
const MOST_PIVOTS: u32 = 5_000;
/// What a pivot counts as [work](Budget::spend), apart from its size.
const WORK_OF_A_PIVOT: u64 = 20;

/// A column of the equation: the rows and what the change adds to each of them.
pub type Column = Vec<(u32, f64)>;

/// The answer of the state equation about a goal.
#[derive(Clone, Debug, PartialEq)]
pub enum Equation {
    /// There is a solution; these are the firings of the basic columns, with the smallest possible sum.
    Solvable(Vec<f64>),
    /// There is no solution; these weights of rows show it.
    Separated(Vec<(u32, f64)>),
    /// There is no answer because of numerical problems, or because it took too long.
    GaveUp,
}

/// A basis, from which a later question can start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    tight: Vec<u32>,
    /// The columns that fire.
    pub basic: Vec<u32>,
}

/// A basis with the inverse of its kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    basis: Basis,
    inverse: Vec<Vec<f64>>,
}

/// The variable that leaves the basis.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// The slack of a row.
    Slack(usize),
    /// The column at a position of the kernel.
    Column(usize),
}

/// The variable that enters the basis.
#[derive(Clone, Copy, Debug)]
enum Entering {
    /// A column.
    Column(usize),
    /// The slack of the row at a position of the kernel.
    Slack(usize),
}

/// The equation with the basis of the last question.
#[derive(Clone, Debug)]
pub struct StateEquation {
    columns: Vec<Column>,
    /// The same numbers, sorted by rows.
    rows: Vec<Vec<(u32, f64)>>,
    /// Rows whose slack is not basic, in the order of the columns of `inverse`.
    tight: Vec<u32>,
    is_tight: Vec<bool>,
    /// Columns that are basic, in the order of the rows of `inverse`.
    basic: Vec<u32>,
    is_basic: Vec<bool>,
    inverse: Vec<Vec<f64>>,
    changes: usize,
    /// The number of pivots so far.
    pivots: u64,
    /// The product of `columns` and firings, the tokens needed per row, and the entries of the pivot row; all zero
    /// between questions.
    activity: Vec<f64>,
    need: Vec<f64>,
    alpha: Vec<f64>,
}

impl StateEquation {
    /// The equation of these changes.
    #[must_use]
    pub fn new(columns: Vec<Column>, rows: usize) -> Self {
        let (m, n) = (rows, columns.len());
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); m];
        for (j, column) in columns.iter().enumerate() {
            for &(row, value) in column {
                rows[row as usize].push((j as u32, value));
            }
        }
        Self {
            columns,
            rows,
            need: vec![0.0; m],
            tight: Vec::new(),
            is_tight: vec![false; m],
            basic: Vec::new(),
            is_basic: vec![false; n],
            inverse: Vec::new(),
            changes: 0,
            pivots: 0,
            activity: vec![0.0; m],
            alpha: vec![0.0; n],
        }
    }

    /// The number of pivots of all questions so far, which measures work independently of the clock.
    #[must_use]
    pub fn pivots(&self) -> u64 {
        self.pivots
    }

    /// Asks whether the given amounts can be added to the rows; each row occurs at most once. Negative amounts are
    /// surpluses.
    pub fn ask(&mut self, need: &[(u32, f64)], budget: &Budget) -> Equation {
        for &(row, tokens) in need {
            self.need[row as usize] = tokens;
        }
        let answer = self.pivot_until_done(need, budget);
        for &(row, _) in need {
            self.need[row as usize] = 0.0;
        }
        if answer == Equation::GaveUp {
            self.forget_basis();
        }
        answer
    }

    /// The basis of the last question.
    #[must_use]
    pub fn basis(&self) -> Basis {
        Basis { tight: self.tight.clone(), basic: self.basic.clone() }
    }

    /// Computes the kernel of a basis; in case of numerical problems, of the basis without firings.
    pub fn kernel(&mut self, basis: &Basis) -> Kernel {
        self.start_from(&Kernel { basis: basis.clone(), inverse: Vec::new() });
        if !self.invert() {
            self.forget_basis();
        }
        Kernel { basis: self.basis(), inverse: self.inverse.clone() }
    }

    /// Makes the next question start from this basis.
    pub fn start_from(&mut self, kernel: &Kernel) {
        self.forget_basis();
        self.tight.clone_from(&kernel.basis.tight);
        self.basic.clone_from(&kernel.basis.basic);
        self.tight.iter().for_each(|&row| self.is_tight[row as usize] = true);
        self.basic.iter().for_each(|&column| self.is_basic[column as usize] = true);
        self.inverse.clone_from(&kernel.inverse);
    }

    fn forget_basis(&mut self) {
        self.tight.drain(..).for_each(|row| self.is_tight[row as usize] = false);
        self.basic.drain(..).for_each(|column| self.is_basic[column as usize] = false);
        self.inverse.clear();
        self.changes = 0;
    }

    fn pivot_until_done(&mut self, need: &[(u32, f64)], budget: &Budget) -> Equation {
        for _ in 0..MOST_PIVOTS {
            // The inverse is dense, and everything else about a pivot is of its size.
            budget.spend(WORK_OF_A_PIVOT + (self.basic.len() * self.tight.len()) as u64 / 10);
            if budget.exhausted().is_some() {
                break;
            }
            if self.changes >= FRESH && !self.invert() {
                return Equation::GaveUp;
            }
            let firings = self.firings();
            let Some(leaving) = self.choose_leaving(need, &firings) else {
                return Equation::Solvable(firings);
            };
            let weights = self.weights_of(leaving);
            let Some((entering, pivot)) = self.choose_entering(&weights) else {
                return Equation::Separated(weights);
            };
            if !pivot.is_finite() {
                return Equation::GaveUp;
            }
            self.pivots += 1;
            self.change_basis(leaving, entering, &weights, pivot);
        }
        Equation::GaveUp
    }

    /// The values of the basic columns.
    fn firings(&self) -> Vec<f64> {
        let need: Vec<f64> = self.tight.iter().map(|&row| self.need[row as usize]).collect();
        self.inverse.iter().map(|row| dot(row, &need)).collect()
    }

    /// The variable with the most negative value.
    fn choose_leaving(&mut self, need: &[(u32, f64)], firings: &[f64]) -> Option<Leaving> {
        let mut worst = -NEGATIVE;
        let mut leaving = None;
        for (position, &value) in firings.iter().enumerate() {
            if value < worst {
                (worst, leaving) = (value, Some(Leaving::Column(position)));
            }
        }
        for (&column, &value) in self.basic.iter().zip(firings) {
            for &(row, change) in &self.columns[column as usize] {
                self.activity[row as usize] += change * value;
            }
        }
        // A row that no basic column changes lacks tokens only if the goal needs some there.
        let touched = self.basic.iter().flat_map(|&column| &self.columns[column as usize]);
        for &(row, _) in touched.chain(need) {
            let row = row as usize;
            let slack = self.activity[row] - self.need[row];
            if !self.is_tight[row] && slack < worst {
                (worst, leaving) = (slack, Some(Leaving::Slack(row)));
            }
        }
        for &column in &self.basic {
            for &(row, _) in &self.columns[column as usize] {
                self.activity[row as usize] = 0.0;
            }
        }
        leaving
    }

    /// The row of the leaving variable: a combination of the rows of the equation.
    fn weights_of(&self, leaving: Leaving) -> Vec<(u32, f64)> {
        let mut weights: Vec<(u32, f64)> = Vec::with_capacity(self.tight.len() + 1);
        match leaving {
            Leaving::Slack(row) => {
                weights.push((row as u32, 1.0));
                let combined = self.times_inverse(&self.in_basis(row));
                weights.extend(self.tight.iter().zip(combined).map(|(&r, w)| (r, -w)));
            }
            Leaving::Column(position) => {
                weights.extend(self.tight.iter().zip(&self.inverse[position]).map(|(&r, &w)| (r, -w)));
            }
        }
        weights.retain(|&(_, w)| w.abs() > ZERO);
        weights
    }

    /// The entries of a row in the basic columns.
    fn in_basis(&self, row: usize) -> Vec<f64> {
        let at = |column: u32| {
            let entries = &self.columns[column as usize];
            entries.binary_search_by_key(&(row as u32), |&(r, _)| r).map_or(0.0, |at| entries[at].1)
        };
        self.basic.iter().map(|&column| at(column)).collect()
    }

    /// The entries of a column in the tight rows.
    fn in_tight(&self, column: usize) -> Vec<f64> {
        let entries = &self.columns[column];
        let at = |row: u32| entries.binary_search_by_key(&row, |&(r, _)| r).map_or(0.0, |at| entries[at].1);
        self.tight.iter().map(|&row| at(row)).collect()
    }

    fn times_inverse(&self, left: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.tight.len()];
        for (&factor, row) in left.iter().zip(&self.inverse) {
            if factor != 0.0 {
                product.iter_mut().zip(row).for_each(|(sum, &value)| *sum += factor * value);
            }
        }
        product
    }

    fn inverse_times(&self, right: &[f64]) -> Vec<f64> {
        self.inverse.iter().map(|row| dot(row, right)).collect()
    }

    /// The variable that can grow at the least cost, and by how much one unit of it improves the leaving variable.
    fn choose_entering(&mut self, weights: &[(u32, f64)]) -> Option<(Entering, f64)> {
        let prices = self.times_inverse(&vec![1.0; self.basic.len()]);
        let mut price_of: Vec<(u32, f64)> = self.tight.iter().copied().zip(prices.iter().copied()).collect();
        price_of.sort_unstable_by_key(|&(row, _)| row);
        let mut candidates: Vec<u32> = Vec::new();
        for &(row, weight) in weights {
            for &(column, change) in &self.rows[row as usize] {
                if self.is_basic[column as usize] {
                    continue;
                }
                let alpha = &mut self.alpha[column as usize];
                if *alpha == 0.0 {
                    candidates.push(column);
                }
                *alpha += weight * change;
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let mut best: Option<(f64, f64, Entering)> = None;
        let mut offer = |alpha: f64, cost: f64, who: Entering| {
            if alpha <= ZERO {
                return;
            }
            let ratio = cost.max(0.0) / alpha;
            let better = match best {
                None => true,
                Some((least, largest, _)) => {
                    ratio < least - ZERO || (ratio <= least + ZERO && alpha > largest + ZERO)
                }
            };
            if better {
                best = Some((ratio, alpha, who));
            }
        };
        for &column in &candidates {
            let alpha = std::mem::take(&mut self.alpha[column as usize]);
            if alpha > ZERO {
                let entries = &self.columns[column as usize];
                let paid: f64 = entries
                    .iter()
                    .filter(|&&(row, _)| self.is_tight[row as usize])
                    .map(|&(row, change)| {
                        let at = price_of.binary_search_by_key(&row, |&(r, _)| r);
                        at.map_or(0.0, |at| price_of[at].1 * change)
                    })
                    .sum();
                offer(alpha, 1.0 - paid, Entering::Column(column as usize));
            }
        }
        for (position, &row) in self.tight.iter().enumerate() {
            let weight = weights.iter().find(|&&(r, _)| r == row).map_or(0.0, |&(_, w)| w);
            offer(-weight, prices[position], Entering::Slack(position));
        }
        best.map(|(_, alpha, who)| (who, alpha))
    }

    fn change_basis(&mut self, leaving: Leaving, entering: Entering, weights: &[(u32, f64)], pivot: f64) {
        self.changes += 1;
        match (leaving, entering) {
            (Leaving::Slack(row), Entering::Column(column)) => {
                let right = self.inverse_times(&self.in_tight(column));
                let left = self.times_inverse(&self.in_basis(row));
                for (line, &r) in self.inverse.iter_mut().zip(&right) {
                    line.iter_mut().zip(&left).for_each(|(value, &l)| *value += r * l / pivot);
                    line.push(-r / pivot);
                }
                let mut last: Vec<f64> = left.iter().map(|&l| -l / pivot).collect();
                last.push(1.0 / pivot);
                self.inverse.push(last);
                self.tight.push(row as u32);
                self.is_tight[row] = true;
                self.basic.push(column as u32);
                self.is_basic[column] = true;
            }
            (Leaving::Slack(row), Entering::Slack(position)) => {
                let left = self.times_inverse(&self.in_basis(row));
                for line in &mut self.inverse {
                    let scaled = line[position] / left[position];
                    line.iter_mut().zip(&left).for_each(|(value, &l)| *value -= scaled * l);
                    line[position] = scaled;
                }
                let old = std::mem::replace(&mut self.tight[position], row as u32);
                self.is_tight[old as usize] = false;
                self.is_tight[row] = true;
            }
            (Leaving::Column(position), Entering::Column(column)) => {
                let right = self.inverse_times(&self.in_tight(column));
                let scaled: Vec<f64> =
                    self.inverse[position].iter().map(|&value| value / right[position]).collect();
                for (line, &r) in self.inverse.iter_mut().zip(&right) {
                    line.iter_mut().zip(&scaled).for_each(|(value, &s)| *value -= r * s);
                }
                self.inverse[position] = scaled;
                let old = std::mem::replace(&mut self.basic[position], column as u32);
                self.is_basic[old as usize] = false;
                self.is_basic[column] = true;
            }
            (Leaving::Column(position), Entering::Slack(out)) => {
                let gone = self.inverse.remove(position);
                for line in &mut self.inverse {
                    let scaled = line[out] / gone[out];
                    line.iter_mut().zip(&gone).for_each(|(value, &g)| *value -= scaled * g);
                    line.remove(out);
                }
                let column = self.basic.remove(position);
                self.is_basic[column as usize] = false;
                let row = self.tight.remove(out);
                self.is_tight[row as usize] = false;
            }
        }
        debug_assert!(!weights.is_empty());
    }

    /// Inverts the kernel from scratch; `false` if it has no inverse.
    fn invert(&mut self) -> bool {
        let k = self.basic.len();
        let mut kernel: Vec<Vec<f64>> = vec![vec![0.0; 2 * k]; k];
        let mut position = vec![usize::MAX; self.rows.len()];
        for (i, &row) in self.tight.iter().enumerate() {
            position[row as usize] = i;
            kernel[i][k + i] = 1.0;
        }
        for (j, &column) in self.basic.iter().enumerate() {
            for &(row, value) in &self.columns[column as usize] {
                if let Some(line) = kernel.get_mut(position[row as usize]) {
                    line[j] = value;
                }
            }
        }
        for j in 0..k {
            let best = (j..k).max_by(|&a, &b| kernel[a][j].abs().total_cmp(&kernel[b][j].abs()));
            let Some(best) = best.filter(|&best| kernel[best][j].abs() > ZERO) else { return false };
            kernel.swap(j, best);
            let mut line = std::mem::take(&mut kernel[j]);
            let scale = line[j];
            for value in &mut line {
                *value /= scale;
            }
            for other in kernel.iter_mut().filter(|other| !other.is_empty()) {
                let factor = other[j];
                if factor != 0.0 {
                    other.iter_mut().zip(&line).for_each(|(value, &l)| *value -= factor * l);
                }
            }
            kernel[j] = line;
        }
        self.inverse = kernel.into_iter().map(|line| line[k..].to_vec()).collect();
        self.changes = 0;
        true
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(&l, &r)| l * r).sum()
}
