//! Suggestions for misspelt names ("did you mean").

/// The candidate that is most similar to `name`, if it is similar enough for `name` to be a typing mistake.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    // Names of one or two letters are all similar to each other, so nothing is suggested for them.
    let limit = name.chars().count() / 3;
    candidates
        // Comparing with every candidate would take too long in very large files.
        .take(1000)
        .map(|candidate| (distance(name, candidate, limit), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min()
        .map(|(_, candidate)| candidate.as_str())
}

/// The edit distance, or some number above `limit` if it is larger than `limit`.
fn distance(left: &str, right: &str, limit: usize) -> usize {
    if left.len().abs_diff(right.len()) > 4 * limit || left.len().max(right.len()) > 200 {
        return limit + 1;
    }
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["lock".to_owned(), "unlocked".to_owned()];
        assert_eq!(nearest("lcok", names.iter()), None);
        assert_eq!(nearest("locc", names.iter()), Some("lock"));
        assert_eq!(nearest("unlcoked", names.iter()), Some("unlocked"));
        assert_eq!(nearest("b", ["a".to_owned()].iter()), None);
    }
}
