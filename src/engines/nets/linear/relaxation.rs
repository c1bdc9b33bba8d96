//! The linear relaxation of a net: transitions fire in any order, and tokens move one by one.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Signs;
use super::simplex::{Column, StateEquation};
use crate::net::{Flow, Marking, Net, PlaceId, Transition};

/// The effect of one firing, or of the move of one token, on each place; sorted by place, without zeros.
pub type Change = Vec<(PlaceId, i128)>;

/// The changes of a net, and the rows of its state equation.
#[derive(Clone, Debug)]
pub struct Relaxation {
    /// Which places can be marked and which transitions can fire, if tokens are not counted.
    pub signs: Signs,
    /// All different changes, without those that only remove tokens.
    pub changes: Vec<Change>,
    /// The row of each place; places without a row have weight zero in every invariant.
    row_of: Vec<Option<u32>>,
    place_of: Vec<PlaceId>,
}

impl Relaxation {
    /// The relaxation with a row for every place that can have a non-zero weight in an invariant.
    #[must_use]
    pub fn of(net: &Net) -> Self {
        Self::with_rows(net, bounded_places)
    }

    /// The relaxation with a row also for places that can be filled without bound, because filling them takes
    /// firings.
    #[must_use]
    pub fn for_distances(net: &Net) -> Self {
        Self::with_rows(net, |net, signs, _| {
            let starts_bounded = |place| net.initial.range(place).most.is_some();
            net.place_ids().map(|place| signs.is_markable(place) && starts_bounded(place)).collect()
        })
    }

    fn with_rows(net: &Net, choose: fn(&Net, &Signs, &[Change]) -> Vec<bool>) -> Self {
        let signs = Signs::of(net);
        let changes = changes(net, &signs);
        let mut rows = 0..;
        let number = |is_row: bool| if is_row { rows.next() } else { None };
        let row_of: Vec<Option<u32>> = choose(net, &signs, &changes).into_iter().map(number).collect();
        let place_of = net.place_ids().filter(|place| row_of[place.index()].is_some()).collect();
        Self { signs, changes, row_of, place_of }
    }

    /// The state equation of the relaxation.
    #[must_use]
    pub fn equation(&self) -> StateEquation {
        StateEquation::new(columns(&self.changes, &self.row_of), self.place_of.len())
    }

    /// The column of each transition; `None` if it has none, or if it also moves tokens that it does not take.
    #[must_use]
    pub fn column_of(&self, net: &Net) -> Vec<Option<u32>> {
        let mut numbers: FxHashMap<Vec<(u32, i128)>, u32> = FxHashMap::default();
        for (number, column) in (0..).zip(integer_columns(&self.changes, &self.row_of)) {
            numbers.insert(column, number);
        }
        let column = |transition: &Transition| {
            let is_plain = transition.is_plain();
            is_plain.then(|| numbers.get(&entries(&transition.effect(), &self.row_of)).copied()).flatten()
        };
        net.transitions.iter().map(column).collect()
    }

    /// The place of a row.
    #[must_use]
    pub fn place(&self, row: u32) -> PlaceId {
        self.place_of[row as usize]
    }

    /// The tokens that a goal needs in each row, given the tokens that are there; sorted by row, and negative where
    /// there are more than needed.
    #[must_use]
    pub fn need(&self, goal: &Marking, have: &Marking) -> Vec<(u32, f64)> {
        let row = |(place, n): (PlaceId, u64), sign: f64| {
            self.row_of[place.index()].map(|row| (row, sign * as_float(n)))
        };
        let wanted = goal.iter().filter_map(|entry| row(entry, 1.0));
        let mut need: Vec<(u32, f64)> =
            wanted.chain(have.iter().filter_map(|entry| row(entry, -1.0))).collect();
        need.sort_unstable_by_key(|&(row, _)| row);
        need.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0.0 };
            same
        });
        need
    }
}

#[expect(clippy::cast_precision_loss, reason = "whatever matters is computed again in integers")]
fn as_float(n: u64) -> f64 {
    /// Larger numbers are cut off at this value, because they would make the smaller ones vanish in rounding
    /// errors.
    const MOST: u64 = 1 << 40;
    n.min(MOST) as f64
}

/// All different changes, by one firing or by the move of one token.
fn changes(net: &Net, signs: &Signs) -> Vec<Change> {
    let mut seen: FxHashSet<Change> = FxHashSet::default();
    let mut all = Vec::new();
    let mut add = |change: Change| {
        // A change that only removes tokens increases no weighted sum.
        if change.iter().any(|&(_, n)| n > 0) && seen.insert(change.clone()) {
            all.push(change);
        }
    };
    for &id in signs.live() {
        let transition = net.transition(id);
        add(transition.effect());
        for m in transition.moves.iter().filter(|m| signs.is_markable(m.from)) {
            let gone = (m.from, -1);
            match &m.flow {
                Flow::All(places) => {
                    add(sum(places.iter().map(|&to| (to, 1)).chain([gone])));
                }
                Flow::Each(places) => {
                    for &to in places {
                        add(sum([gone, (to, 1)]));
                    }
                }
            }
        }
    }
    all
}

fn sum(entries: impl IntoIterator<Item = (PlaceId, i128)>) -> Change {
    let mut sorted: Change = entries.into_iter().collect();
    sorted.sort_unstable_by_key(|&(place, _)| place);
    sorted.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0 };
        same
    });
    sorted.retain(|&(_, n)| n != 0);
    sorted
}

/// The places that can have a non-zero weight: not those that may start with any number of tokens, and not those
/// that a change fills from such places alone.
fn bounded_places(net: &Net, signs: &Signs, changes: &[Change]) -> Vec<bool> {
    let mut is_row: Vec<bool> = net.place_ids().map(|place| signs.is_markable(place)).collect();
    let mut open: Vec<PlaceId> = Vec::new();
    let mut takers: Vec<Vec<u32>> = vec![Vec::new(); net.places.len()];
    let mut missing: Vec<usize> = Vec::with_capacity(changes.len());
    let mut free: Vec<usize> = Vec::new();
    for (i, change) in changes.iter().enumerate() {
        let taken = change.iter().filter(|&&(_, n)| n < 0);
        taken.clone().for_each(|&(place, _)| takers[place.index()].push(i as u32));
        missing.push(taken.count());
        if missing[i] == 0 {
            free.push(i);
        }
    }
    for &(place, range) in net.initial.ranges() {
        if range.most.is_none() {
            is_row[place.index()] = false;
            open.push(place);
        }
    }
    loop {
        if let Some(i) = free.pop() {
            for &(place, n) in &changes[i] {
                if n > 0 && std::mem::replace(&mut is_row[place.index()], false) {
                    open.push(place);
                }
            }
        } else if let Some(place) = open.pop() {
            for &i in &takers[place.index()] {
                missing[i as usize] -= 1;
                if missing[i as usize] == 0 {
                    free.push(i as usize);
                }
            }
        } else {
            break;
        }
    }
    is_row
}

/// The different columns of the state equation.
fn columns(changes: &[Change], row_of: &[Option<u32>]) -> Vec<Column> {
    #[expect(clippy::cast_precision_loss, reason = "whatever matters is computed again in integers")]
    let as_floats = |column: Vec<(u32, i128)>| column.into_iter().map(|(row, n)| (row, n as f64)).collect();
    integer_columns(changes, row_of).into_iter().map(as_floats).collect()
}

fn integer_columns(changes: &[Change], row_of: &[Option<u32>]) -> Vec<Vec<(u32, i128)>> {
    let mut seen: FxHashSet<Vec<(u32, i128)>> = FxHashSet::default();
    let mut columns = changes.iter().map(|change| entries(change, row_of)).collect::<Vec<_>>();
    columns.retain(|column| column.iter().any(|&(_, n)| n > 0) && seen.insert(column.clone()));
    columns
}

/// The entries of a change in the rows.
fn entries(change: &Change, row_of: &[Option<u32>]) -> Vec<(u32, i128)> {
    change.iter().filter_map(|&(place, n)| row_of[place.index()].map(|row| (row, n))).collect()
}
