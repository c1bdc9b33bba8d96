//! Lists of variables and small circuits over them, as text.
//!
//! Every compound expression is in parentheses, so that all dialects read it alike.

/// `x0`, `x1`, ...
pub fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

/// The same text so many times.
pub fn repeated(text: &str, count: usize) -> Vec<String> {
    vec![text.to_owned(); count]
}

/// `x0, x1, ...`
pub fn list(items: &[impl AsRef<str>]) -> String {
    joined(items, ", ")
}

/// `(x0 & x1 & ...)`
pub fn all_of(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() { "T".to_owned() } else { format!("({})", joined(items, " & ")) }
}

/// `(x0 | x1 | ...)`
pub fn any_of(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() { "F".to_owned() } else { format!("({})", joined(items, " | ")) }
}

/// `(x0 ^ x1 ^ ...)`
pub fn parity(items: &[impl AsRef<str>]) -> String {
    format!("({})", joined(items, " ^ "))
}

/// Each pair is equal: `((x0 = y0) & ...)`
pub fn equal(left: &[String], right: &[String]) -> String {
    let pairs: Vec<String> = left.iter().zip(right).map(|(l, r)| format!("({l} = {r})")).collect();
    all_of(&pairs)
}

/// The next number, lowest bit first; the highest is followed by 0.
pub fn increment(bits: &[String]) -> Vec<String> {
    let flip = |i: usize| format!("({} ^ {})", bits[i], all_of(&bits[..i]));
    (0..bits.len()).map(flip).collect()
}

/// The number before, lowest bit first; 0 is preceded by the highest.
pub fn decrement(bits: &[String]) -> Vec<String> {
    let flip = |i: usize| format!("({} ^ !{})", bits[i], any_of(&bits[..i]));
    (0..bits.len()).map(flip).collect()
}

fn joined(items: &[impl AsRef<str>], separator: &str) -> String {
    items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(separator)
}
