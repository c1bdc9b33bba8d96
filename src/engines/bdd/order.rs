//! The order of the variables in the diagrams: variables that occur together are placed close together.
//!
//! Implements: F. A. Aloul, I. L. Markov, K. A. Sakallah, "FORCE: A Fast and Easy-To-Implement
//! Variable-Ordering Heuristic", GLSVLSI 2003. The hyperedges are the groups of [`super::groups`]; each round
//! moves every variable to the mean of the centres of its hyperedges, and the order with the least sum of
//! spans is taken.
//!
//! Deviation: the heuristic finds only a local minimum near its starting order, so it is run twice, from the order
//! of declaration and from the order of a breadth-first search. The order of declaration is often already a good
//! one. The breadth-first search finds orders that the other start cannot reach, such as the folded order for a row
//! of variables that some statement reverses.
//!
//! Each program variable takes a *slot* of three adjacent variables: its value at the entry of the procedure, its
//! current value, and its next value. So the condition that a variable has its entry value costs three nodes.
//!
//! Invariant (shared slots): locals of different procedures share slots. A local lies in a *gap* between two
//! globals; the first local of every procedure in a gap takes the first slot of the gap, and so on. Procedures
//! of the same shape then have the same diagrams.

use super::diagrams::Variable;
use super::groups::{Groups, SMALL};
use crate::model::{ProcId, Program, Var};

/// The slots of all variables.
#[derive(Debug)]
pub(super) struct Order {
    globals: Vec<u32>,
    locals: Vec<Vec<u32>>,
    slots: u32,
}

impl Order {
    /// Computes the order for a program.
    pub fn of(program: &Program) -> Self {
        let groups = Groups::of(program);
        assign_slots(program, &groups.first_local, &arrange(groups.vertices, &groups.found))
    }

    /// The number of variables of the diagrams.
    pub fn variables(&self) -> u32 {
        3 * self.slots
    }

    fn slot(&self, procedure: ProcId, var: Var) -> u32 {
        match var {
            Var::Global(i) => self.globals[i as usize],
            Var::Local(i) => self.locals[procedure.index()][i as usize],
        }
    }

    /// The variable for the value at the entry of the procedure.
    pub fn entry(&self, procedure: ProcId, var: Var) -> Variable {
        3 * self.slot(procedure, var)
    }

    /// The variable for the current value.
    pub fn now(&self, procedure: ProcId, var: Var) -> Variable {
        3 * self.slot(procedure, var) + 1
    }

    /// The variable for the value after a step; at calls, it is also used for arguments and results.
    pub fn next(&self, procedure: ProcId, var: Var) -> Variable {
        3 * self.slot(procedure, var) + 2
    }
}

/// The place of every global, and of every local of every procedure, in the best order found for a program.
pub(in crate::engines) fn places(program: &Program) -> (Vec<u32>, Vec<Vec<u32>>) {
    let groups = Groups::of(program);
    let mut place = vec![0; groups.vertices as usize];
    for (position, vertex) in (0..).zip(arrange(groups.vertices, &groups.found)) {
        place[vertex as usize] = position;
    }
    let locals = program.procedures.iter().zip(&groups.first_local);
    let locals = locals.map(|(procedure, &first)| {
        let first = first as usize;
        place[first..first + procedure.locals.len()].to_vec()
    });
    (place[..program.globals.len()].to_vec(), locals.collect())
}

/// Orders the vertices so that neighbours are close to each other: a breadth-first search over the small groups,
/// one connected component after the other, each started from a vertex at its periphery.
///
/// E. Cuthill, J. `McKee`, "Reducing the bandwidth of sparse symmetric matrices", 1969.
fn breadth_first(vertices: u32, groups: &[Vec<u32>]) -> Vec<u32> {
    let mut groups_of: Vec<Vec<u32>> = vec![Vec::new(); vertices as usize];
    for (number, group) in (0..).zip(groups).filter(|(_, group)| group.len() <= SMALL) {
        for &vertex in group {
            groups_of[vertex as usize].push(number);
        }
    }
    // Each component is searched twice; this stores the last search that reached the vertex.
    let mut met = vec![0_u8; vertices as usize];
    let mut search = |start: u32, round: u8| {
        let mut part = vec![start];
        met[start as usize] = round;
        let mut next = 0;
        while let Some(&vertex) = part.get(next) {
            next += 1;
            let first_new = part.len();
            for &neighbour in groups_of[vertex as usize].iter().flat_map(|&group| &groups[group as usize]) {
                if met[neighbour as usize] < round {
                    met[neighbour as usize] = round;
                    part.push(neighbour);
                }
            }
            part[first_new..].sort_by_key(|&vertex| groups_of[vertex as usize].len());
        }
        part
    };
    let mut order = Vec::with_capacity(vertices as usize);
    let mut is_placed = vec![false; vertices as usize];
    for start in 0..vertices {
        if !is_placed[start as usize] {
            let end = search(start, 1).pop().unwrap_or(start);
            for vertex in search(end, 2) {
                is_placed[vertex as usize] = true;
                order.push(vertex);
            }
        }
    }
    order
}

/// The greatest number of rounds, and how many consecutive rounds may bring no improvement.
const ROUNDS: usize = 40;
const PATIENCE: usize = 5;

/// The vertices in the best order found.
fn arrange(vertices: u32, groups: &[Vec<u32>]) -> Vec<u32> {
    let starts = [(0..vertices).collect(), breadth_first(vertices, groups)];
    let found = starts.into_iter().map(|start| force(start, groups));
    found.min_by_key(|(cost, _)| *cost).map(|(_, order)| order).unwrap_or_default()
}

/// The sum of the distances that the groups span.
fn span(position: &[u32], groups: &[Vec<u32>]) -> u64 {
    let of = |group: &Vec<u32>| {
        let positions = group.iter().map(|&vertex| position[vertex as usize]);
        let (low, high) = positions.fold((u32::MAX, 0), |(low, high), p| (low.min(p), high.max(p)));
        u64::from(high - low)
    };
    groups.iter().map(of).sum()
}

/// Improves an order. Returns the best order that it found, with its cost.
#[expect(clippy::cast_precision_loss, reason = "positions are far below 2^52")]
fn force(mut order: Vec<u32>, groups: &[Vec<u32>]) -> (u64, Vec<u32>) {
    let mut position: Vec<u32> = vec![0; order.len()];
    for (place, &vertex) in (0..).zip(&order) {
        position[vertex as usize] = place;
    }
    let mut best = (span(&position, groups), order.clone());
    let mut in_vain = 0;
    for _ in 0..ROUNDS {
        let mut pull: Vec<(f64, u32)> = vec![(0.0, 0); order.len()];
        for group in groups {
            let sum: f64 = group.iter().map(|&vertex| f64::from(position[vertex as usize])).sum();
            let centre = sum / group.len() as f64;
            for &vertex in group {
                let (total, count) = &mut pull[vertex as usize];
                *total += centre;
                *count += 1;
            }
        }
        let wanted = |vertex: u32| match pull[vertex as usize] {
            (_, 0) => f64::from(position[vertex as usize]),
            (total, count) => total / f64::from(count),
        };
        order.sort_by(|&a, &b| wanted(a).total_cmp(&wanted(b)).then(a.cmp(&b)));
        for (place, &vertex) in (0..).zip(&order) {
            position[vertex as usize] = place;
        }
        let cost = span(&position, groups);
        if cost < best.0 {
            best = (cost, order.clone());
            in_vain = 0;
        } else {
            in_vain += 1;
            if in_vain == PATIENCE {
                break;
            }
        }
    }
    best
}

/// Gives locals in the same gap between globals the same slots.
fn assign_slots(program: &Program, first_local: &[u32], order: &[u32]) -> Order {
    let globals = program.globals.len();
    let owner = |vertex: u32| first_local.partition_point(|&first| first <= vertex) - 1;
    // For every local, its gap and its place in the gap; for every procedure, the gap of its last local and the
    // number of its locals there.
    let mut places: Vec<Vec<(u32, u32)>> =
        program.procedures.iter().map(|p| vec![(0, 0); p.locals.len()]).collect();
    let mut last = vec![(0, 0); program.procedures.len()];
    let mut widths = vec![0_u32; globals + 1];
    let mut rank = vec![0_u32; globals];
    let mut gap = 0_u32;
    for &vertex in order {
        if (vertex as usize) < globals {
            rank[vertex as usize] = gap;
            gap += 1;
            continue;
        }
        // A procedure without locals owns no vertex, although its first number is the same as that of the next
        // procedure.
        let procedure = owner(vertex);
        let (last_gap, count) = &mut last[procedure];
        if *last_gap != gap {
            (*last_gap, *count) = (gap, 0);
        }
        places[procedure][(vertex - first_local[procedure]) as usize] = (gap, *count);
        *count += 1;
        widths[gap as usize] = widths[gap as usize].max(*count);
    }
    let mut first_slot = Vec::with_capacity(widths.len());
    let mut slots = 0;
    for width in widths {
        first_slot.push(slots);
        // The slots of a gap are followed by the slot of the global behind it.
        slots += width + 1;
    }
    let slot = |(gap, place): &(u32, u32)| first_slot[*gap as usize] + place;
    Order {
        globals: rank.iter().map(|&rank| first_slot[rank as usize + 1] - 1).collect(),
        locals: places.iter().map(|places| places.iter().map(slot).collect()).collect(),
        slots: slots - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mentioned_together_comes_together() {
        // Pairs (i, i + 50), declared far apart.
        let groups: Vec<Vec<u32>> = (0..50).map(|i| vec![i, i + 50]).collect();
        let order = arrange(100, &groups);
        let place = |vertex| order.iter().position(|&v| v == vertex).unwrap();
        let span: usize = (0..50).map(|i| place(i).abs_diff(place(i + 50))).sum();
        assert_eq!(span, 50);
    }

    #[test]
    fn a_row_that_is_reversed_and_shifted_is_folded() {
        let shifted = (0..99).map(|i| vec![i, i + 1]);
        let groups: Vec<Vec<u32>> = shifted.chain((0..50).map(|i| vec![i, 99 - i])).collect();
        let order = arrange(100, &groups);
        let place = |vertex| order.iter().position(|&v| v == vertex).unwrap();
        assert!((0..50).all(|i| place(i).abs_diff(place(99 - i)) <= 4), "{order:?}");
    }

    #[test]
    fn locals_of_different_procedures_share_slots_and_those_of_one_do_not() {
        let text = "decl g, h;
            void main() begin decl a, b; a := g; b := h; f(a, b); end
            void f(x, y) begin decl z; z := g; x := z; y := h; end
            void idle() begin skip; end";
        let options = crate::check::Options::default();
        let source = crate::source::Source::new("test.bp", text);
        let program = crate::check::prepare(&source, &options).expect("a program").task.program;
        let order = Order::of(&program);
        let globals = (0..program.globals.len() as u32).map(Var::Global);
        for id in program.procedure_ids() {
            let locals = (0..program.procedure(id).locals.len() as u32).map(Var::Local);
            let mut slots: Vec<u32> = globals.clone().chain(locals).map(|var| order.slot(id, var)).collect();
            let count = slots.len();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), count, "{order:?}");
            assert!(slots.iter().all(|&slot| slot < order.slots));
        }
        assert!(order.slots < 2 + 2 + 3, "{order:?}");
    }

    #[test]
    fn a_good_order_is_kept() {
        let groups: Vec<Vec<u32>> = (0..99).map(|i| vec![i, i + 1]).collect();
        assert_eq!(arrange(100, &groups), (0..100).collect::<Vec<u32>>());
    }
}
