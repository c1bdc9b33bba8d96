//! The reserved words, and suggestions for misspelt ones.

/// Declares the reserved words, for the lexer and for messages.
macro_rules! keywords {
    ($($name:ident $word:literal,)*) => {
        /// A reserved word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword {
            $(#[doc = concat!("`", $word, "`")] $name,)*
        }

        impl Keyword {
            const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The reserved word with this spelling.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its spelling.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

keywords! {
    Abortif "abortif",
    Assert "assert",
    Assume "assume",
    AtomicBegin "atomic_begin",
    AtomicEnd "atomic_end",
    Begin "begin",
    Bool "bool",
    Choose "choose",
    Constrain "constrain",
    Dead "dead",
    Decl "decl",
    Do "do",
    Else "else",
    Elsif "elsif",
    End "end",
    EndThread "end_thread",
    Enforce "enforce",
    False "F",
    Fi "fi",
    Goto "goto",
    If "if",
    Od "od",
    Print "print",
    Return "return",
    Schoose "schoose",
    Skip "skip",
    StartThread "start_thread",
    Then "then",
    ThreadEnd "thread_end",
    True "T",
    Void "void",
    While "while",
}

impl Keyword {
    /// Whether the word ends a block or one part of it.
    pub fn closes_block(self) -> bool {
        matches!(self, Self::End | Self::Fi | Self::Od | Self::Else | Self::Elsif)
    }

    /// Whether the word begins a statement and has no other use. `constrain` is not among these words: it can
    /// also continue an assignment.
    pub fn starts_statement(self) -> bool {
        use Keyword::{
            Abortif, Assert, Assume, AtomicBegin, AtomicEnd, Dead, Decl, EndThread, Enforce, Goto, If, Print,
            Return, Skip, StartThread, ThreadEnd, While,
        };
        matches!(
            self,
            Abortif
                | Assert
                | Assume
                | AtomicBegin
                | AtomicEnd
                | Dead
                | Decl
                | EndThread
                | Enforce
                | Goto
                | If
                | Print
                | Return
                | Skip
                | StartThread
                | ThreadEnd
                | While
        )
    }

    /// The reserved word that `word` is probably a misspelling of, among those that `wanted` selects.
    pub fn similar(word: &str, wanted: impl Fn(Self) -> bool) -> Option<Self> {
        // No reserved word is as long as this, even with typing mistakes. The limit also bounds the cost.
        if word.len() > 16 || !word.is_ascii() {
            return None;
        }
        let candidates = Self::ALL.iter().copied().filter(|&k| wanted(k));
        let scored = candidates.filter_map(|k| {
            if k.word().eq_ignore_ascii_case(word) {
                return Some((0, k));
            }
            let length = k.word().len();
            let distance = edit_distance(k.word().as_bytes(), word.as_bytes());
            // A word of two letters is only recognised if a letter was added or typed twice.
            let close = match length {
                0..=2 => distance == 1 && word.len() == 3 && word.starts_with(k.word()),
                3..=5 => distance == 1 && word.len() > 1,
                _ => distance <= 2,
            };
            close.then_some((distance, k))
        });
        scored.min_by_key(|&(distance, _)| distance).map(|(_, k)| k)
    }
}

/// The number of letters that have to be inserted, removed, changed, or swapped with their neighbour.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for (j, cell) in table.iter_mut().take(width).enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        table[i * width] = i;
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (table[(i - 1) * width + j] + 1)
                .min(table[i * width + j - 1] + 1)
                .min(table[(i - 1) * width + j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[(i - 2) * width + j - 2] + 1);
            }
            table[i * width + j] = best;
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_find_their_keyword() {
        let meant = |word| Keyword::similar(word, |_| true).map(Keyword::word);
        assert_eq!(meant("skp"), Some("skip"));
        assert_eq!(meant("GOTO"), Some("goto"));
        assert_eq!(meant("ned"), Some("end"));
        assert_eq!(meant("whlie"), Some("while"));
        assert_eq!(meant("iff"), Some("if"));
        assert_eq!(meant("retrun"), Some("return"));
        assert_eq!(meant("atomic_being"), Some("atomic_begin"));
    }

    #[test]
    fn other_names_are_left_alone() {
        for word in ["x", "f1", "of", "counter", "main", "l2", "flag"] {
            assert_eq!(Keyword::similar(word, |_| true), None, "{word}");
        }
    }
}
