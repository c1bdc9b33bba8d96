//! Different partners for all: who of some can be matched with whom of others.

/// An injective map from `0..left` to `0..right` along allowed pairs, by augmenting paths.
#[must_use]
pub fn matching(left: usize, right: usize, allowed: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    if left > right {
        return None;
    }
    let mut owner: Vec<Option<usize>> = vec![None; right];
    for start in 0..left {
        // Breadth-first search for an augmenting path from `start`.
        let mut reached_from: Vec<Option<usize>> = vec![None; right];
        let mut open = vec![start];
        let mut end = None;
        while let Some(i) = open.pop() {
            for j in 0..right {
                if reached_from[j].is_none() && allowed(i, j) {
                    reached_from[j] = Some(i);
                    match owner[j] {
                        None => {
                            end = Some(j);
                            break;
                        }
                        Some(other) => open.push(other),
                    }
                }
            }
            if end.is_some() {
                break;
            }
        }
        let mut at = end?;
        loop {
            let i = reached_from[at]?;
            let previous = owner.iter().position(|&owned| owned == Some(i));
            owner[at] = Some(i);
            match previous {
                Some(old) if i != start => at = old,
                _ => break,
            }
        }
    }
    let mut map = vec![0; left];
    for (j, owned) in owner.into_iter().enumerate() {
        if let Some(i) = owned {
            map[i] = j;
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matching_is_found_iff_there_is_one() {
        for relation in 0..512u32 {
            let allowed = |i: usize, j: usize| relation >> (i * 3 + j) & 1 == 1;
            let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
            for left in 0..=3 {
                let expected = orders.iter().any(|order| (0..left).all(|i| allowed(i, order[i])));
                let found = matching(left, 3, allowed);
                assert_eq!(found.is_some(), expected, "{relation} {left}");
                if let Some(map) = found {
                    assert!((0..left).all(|i| allowed(i, map[i])));
                    assert!((0..left).all(|i| (0..i).all(|j| map[i] != map[j])));
                }
            }
        }
    }
}
