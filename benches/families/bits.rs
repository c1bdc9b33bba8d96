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

/// Whether the bits are a number, lowest bit first.
pub fn number(bits: &[String], value: usize) -> String {
    let digit = |i: usize| if value >> i & 1 == 1 { bits[i].clone() } else { format!("!{}", bits[i]) };
    all_of(&(0..bits.len()).map(digit).collect::<Vec<_>>())
}

/// Whether the left number is greater, lowest bit first.
pub fn greater(left: &[String], right: &[String]) -> String {
    let lower = "F".to_owned();
    left.iter().zip(right).fold(lower, |lower, (l, r)| format!("(({l} & !{r}) | (({l} = {r}) & {lower}))"))
}

fn joined(items: &[impl AsRef<str>], separator: &str) -> String {
    items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(separator)
}
