//! Lock discipline: many helpers that take a lock unless their caller has it, and give back what they took.

use std::fmt::Write;

use super::{Family, Variant};

pub const HELPERS: Family =
    Family { name: "locks", size: "helpers", sizes: &[10, 100, 300, 600], small: &[2, 4], text: helpers };

pub const RECURSIVE_HELPERS: Family = Family {
    name: "locks_recursive",
    size: "helpers",
    sizes: &[10, 100, 300, 600],
    small: &[2, 4],
    text: recursive_helpers,
};

/// `main` dispatches to any helper, each helper to one of two later ones.
fn helpers(size: usize, variant: Variant) -> String {
    let later = |i: usize| [i + 1, 2 * i + 1].into_iter().filter(|&next| next < size).collect();
    program(size, variant, later)
}

/// Each helper may call the next one and an earlier one, round and round.
fn recursive_helpers(size: usize, variant: Variant) -> String {
    program(size, variant, |i| vec![(i + 1) % size, i / 2])
}

/// A helper takes the lock if it likes and its caller does not have it, calls others, and gives the lock back
/// if it took it; so on return the lock is as it was, and `acquire` and `release` find what they ask for.
///
/// Buggy: the last helper may give back the lock of its caller, who then does so a second time. `main` never
/// holds the lock, so at least two helpers are needed to see it; `main` calls one that calls the last.
fn program(size: usize, variant: Variant, others: impl Fn(usize) -> Vec<usize>) -> String {
    let mut text = String::from(
        "decl locked;
void acquire() begin
  assert(!locked);
  locked := T;
end
void release() begin
  assert(locked);
  locked := F;
end
void main() begin
  locked := F;
  while (*) do
",
    );
    let labels: Vec<String> = (0..size).map(|i| format!("D{i}")).collect();
    let _ = writeln!(text, "    goto {};", labels.join(", "));
    for i in 0..size {
        let _ = writeln!(text, "    D{i}: helper{i}(F); goto DONE;");
    }
    text.push_str("    DONE: assert(!locked);\n  od\nend\n");
    for i in 0..size {
        let is_wrong = variant.is_buggy() && i + 1 == size;
        let gives_back = if is_wrong { "took | (held & *)" } else { "took" };
        let mut dispatch = String::new();
        for other in others(i) {
            let word = if dispatch.is_empty() { "if" } else { "elsif" };
            let _ = write!(dispatch, "{word} (*) then helper{other}(held | took); ");
        }
        dispatch.push_str(if dispatch.is_empty() { "skip;" } else { "fi" });
        let _ = write!(
            text,
            "void helper{i}(held) begin
  decl took;
  took := F;
  if (!held & *) then acquire(); took := T; fi
  {dispatch}
  if ({gives_back}) then release(); fi
end
"
        );
    }
    text
}
