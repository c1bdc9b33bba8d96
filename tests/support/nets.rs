//! Random small nets, with everything that nets can do.

use cusp::net::{Builder, Flow, Marking, Move, Net, PlaceId, Range, Transition};

use super::rng::Rng;

/// What may occur in a random net.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub places: usize,
    pub transitions: usize,
    /// Weights are at most this.
    pub weight: usize,
    /// Tokens may be transferred, reset and copied, and choose where to go.
    pub moves: bool,
    /// A token may become two.
    pub copies: bool,
    /// Places may start with any number of tokens.
    pub parametric: bool,
}

impl Shape {
    /// Small enough to look at every marking.
    pub const SMALL: Self =
        Self { places: 4, transitions: 4, weight: 2, moves: true, copies: true, parametric: true };
}

/// A net of this shape.
pub fn random_net(seed: u64, shape: Shape) -> Net {
    let mut rng = Rng::new(seed);
    let mut builder = Builder::new();
    let count = rng.between(1, shape.places);
    let places: Vec<PlaceId> = (0..count).map(|i| builder.counter(&format!("x{i}"))).collect();
    for _ in 0..rng.below(shape.transitions + 1) {
        builder.transition(random_transition(&mut rng, &places, shape));
    }
    for &place in &places {
        let n = rng.below(3) as u64;
        let range = match rng.below(5) {
            0 if shape.parametric => Range::at_least(n),
            1 => Range { least: n, most: Some(n + 1) },
            _ => Range::exactly(n / 2),
        };
        builder.initial(place, range);
    }
    for _ in 0..rng.weighted(&[1, 12, 4]) {
        builder.cover(random_marking(&mut rng, &places, shape.weight + 2, 60));
    }
    builder.finish()
}

/// A transition over these places.
pub fn random_transition(rng: &mut Rng, places: &[PlaceId], shape: Shape) -> Transition {
    let take = random_marking(rng, places, shape.weight, 30);
    let give = random_marking(rng, places, shape.weight, 30);
    let mut moves = Vec::new();
    if shape.moves && rng.chance(50) {
        for &from in places {
            let flow = match rng.below(9) {
                0 => Flow::All(Vec::new()),
                1 => Flow::All(vec![*rng.pick(places)]),
                2 | 3 => Flow::Each(vec![*rng.pick(places), *rng.pick(places)]),
                4 if shape.copies => Flow::All(vec![*rng.pick(places), *rng.pick(places)]),
                _ => continue,
            };
            moves.push(Move { from, flow });
        }
    }
    Transition { take, give, moves, ..Transition::default() }
}

/// A marking in which a place is marked in so many of 100 cases.
pub fn random_marking(rng: &mut Rng, places: &[PlaceId], most: usize, percent: usize) -> Marking {
    let mut marking = Marking::new();
    for &place in places {
        if rng.chance(percent) {
            marking.set(place, rng.between(1, most) as u64);
        }
    }
    marking
}

/// All markings with at most `most` tokens in each of the places.
pub fn all_markings(places: &[PlaceId], most: u64) -> Vec<Marking> {
    let mut all = vec![Marking::new()];
    for &place in places {
        all = all
            .iter()
            .flat_map(|marking| {
                (0..=most).map(move |n| {
                    let mut more = marking.clone();
                    more.set(place, n);
                    more
                })
            })
            .collect();
    }
    all
}
