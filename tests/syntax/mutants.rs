//! Texts that differ a little from others, at the level of bytes, tokens and lines.

use crate::laws::{Rng, tokens};

/// The text after one change.
pub fn mutate(text: &str, rng: &mut Rng) -> String {
    match rng.below(8) {
        0 => flip(text, rng),
        1 => lines(text, rng),
        2 => {
            let keep = rng.below(text.len() + 1);
            String::from_utf8_lossy(&text.as_bytes()[..keep]).into_owned()
        }
        3 => insert(text, rng),
        _ => retokenise(text, rng),
    }
}

/// Changes a few bytes.
fn flip(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=rng.below(3) {
        if !bytes.is_empty() {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Swaps, drops or repeats lines.
fn lines(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    shuffle_some(&mut lines, rng);
    lines.join("\n")
}

/// Drops, repeats or swaps tokens, and loses the line structure.
fn retokenise(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    shuffle_some(&mut tokens, rng);
    let mut result = String::new();
    for token in tokens {
        result.push_str(token);
        result.push_str(match rng.below(8) {
            0 => "\n",
            _ if token.starts_with("//") => "\n",
            _ => " ",
        });
    }
    result
}

fn shuffle_some(parts: &mut Vec<&str>, rng: &mut Rng) {
    for _ in 0..=rng.below(2) {
        if parts.is_empty() {
            return;
        }
        let (a, b) = (rng.below(parts.len()), rng.below(parts.len()));
        match rng.below(4) {
            0 => parts.swap(a, b),
            1 => parts.insert(a, parts[b]),
            2 => parts[a] = parts[b],
            _ => {
                parts.remove(a);
            }
        }
    }
}

/// Inserts a word or sign of the language, or one that is not.
fn insert(text: &str, rng: &mut Rng) -> String {
    const WORDS: [&str; 40] = [
        "if", "then", "else", "elsif", "fi", "while", "do", "od", "begin", "end", "decl", "void", "bool",
        "goto", "schoose[", "]", "(", ")", "{", "}", "'", "?", ":", ":=", "=", "==", "=>", "<", ">", ";",
        ",", "*", "/*", "*/", "//", "\"", "\u{e9}", "\0", "0", "_",
    ];
    let mut at = rng.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    format!("{} {} {}", &text[..at], WORDS[rng.below(WORDS.len())], &text[at..])
}
