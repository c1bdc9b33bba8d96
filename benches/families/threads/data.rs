//! What holds between shared vectors and copies of them.

use std::fmt::Write;

use super::super::Variant;
use super::super::bits::{all_of, equal, greater, increment, list, names, number, parity, repeated};
use super::{Family, false_globals, scramble, two};

pub const TWO_VECTORS: Family = Family {
    name: "two_vectors",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (4, 3), (6, 3), (8, 3), (16, 2)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: two_vectors,
};

pub const PARITY: Family = Family {
    name: "parity",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(4, 3), (4, 4), (4, 8), (4, 12), (6, 4), (8, 4)],
    small: &[(2, 1), (2, 2), (3, 3)],
    text: keep_parity,
};

pub const COUNTER: Family = Family {
    name: "counter",
    size: "bits",
    replicates: true,
    fewest: |bits| (1 << bits) - 1,
    members: &[(2, 3), (3, 7), (4, 15), (4, 8)],
    small: &[(2, 2), (2, 3), (3, 6), (3, 7)],
    text: counter,
};

pub const MAXIMUM: Family = Family {
    name: "maximum",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (3, 3), (4, 3), (6, 2), (8, 2), (16, 2)],
    small: &[(2, 1), (2, 2), (2, 3)],
    text: maximum,
};

pub const SEQUENCE_LOCK: Family = Family {
    name: "sequence_lock",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (3, 3), (4, 3), (6, 2), (8, 2)],
    small: &[(2, 1), (2, 2), (2, 3)],
    text: sequence_lock,
};

pub const INVALIDATE: Family = Family {
    name: "invalidate",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(1, 3), (2, 3), (3, 3), (4, 3), (2, 6), (8, 2)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: invalidate,
};

/// Two shared vectors are equal whenever the lock is free.
///
/// Buggy: the lock is given back between the two assignments.
fn two_vectors(size: usize, variant: Variant) -> String {
    let (left, right) = (names("x", size), names("y", size));
    let copy = format!("{} := {};", list(&right), list(&left));
    let (first, second) = if variant.is_buggy() { ("lock := F;", &*copy) } else { (&*copy, "lock := F;") };
    format!(
        "{globals}{left_globals}{right_globals}void main() begin
  while (*) do
    lock := T constrain !lock;
    assert({equal});
    {scramble};
    {first}
    {second}
  od
end
",
        globals = false_globals(&["lock"]),
        left_globals = false_globals(&left),
        right_globals = false_globals(&right),
        equal = equal(&left, &right),
        scramble = scramble(&left),
    )
}

/// Everybody negates two neighbours at a time, so their parity stays even.
///
/// A thread reads the first of the two bits, and negates both later, provided that the first one is still as it
/// was. Buggy: it forgets to look again, so that it may write back what the bit was before.
fn keep_parity(size: usize, variant: Variant) -> String {
    let bits = names("x", size);
    let mut choice = String::new();
    for i in 0..size - 1 {
        let (first, second) = (&bits[i], &bits[i + 1]);
        let condition = if variant.is_buggy() { String::new() } else { format!(" constrain {first} = old") };
        let word = if i == 0 { "if" } else { "elsif" };
        let negate = format!("{first}, {second} := !old, !{second}{condition};");
        let _ = write!(choice, "{word} (*) then old := {first}; {negate}\n    ");
    }
    format!(
        "{globals}void main() begin
  decl old;
  while (*) do
    {choice}fi
    assert(!{parity});
  od
end
",
        globals = false_globals(&bits),
        parity = parity(&bits),
    )
}

/// Everybody counts once, and the highest number must not be reached; the threads that have counted stay.
///
/// Safe: nobody counts to the highest number. Buggy: it takes 2^k - 1 threads to get there.
fn counter(size: usize, variant: Variant) -> String {
    let bits = names("count", size);
    let last = (1 << size) - 2;
    let condition = variant.choose("constrain !", "constrain T | ");
    format!(
        "{globals}void main() begin
  {list} := {more} {condition}{is_last};
  assert(!{full});
  assume(F);
end
",
        globals = false_globals(&bits),
        list = list(&bits),
        more = list(&increment(&bits)),
        is_last = number(&bits, last),
        full = all_of(&bits),
    )
}

/// Everybody chooses a number, and makes the shared one at least as large; it never gets smaller.
///
/// Buggy: a thread compares in one step and writes in another, where there are three numbers or more.
fn maximum(size: usize, variant: Variant) -> String {
    let (mine, best) = (names("mine", size), names("best", size));
    let is_greater = greater(&mine, &best);
    let raise = if variant.is_buggy() {
        format!("if ({is_greater}) then {} := {}; fi", list(&best), list(&mine))
    } else {
        let larger = mine.iter().zip(&best).map(|(mine, best)| format!("({is_greater} ? {mine} : {best})"));
        format!("{} := {};", list(&best), list(&larger.collect::<Vec<_>>()))
    };
    format!(
        "{globals}void main() begin
  decl {mine_list};
  while (*) do
    {scramble};
    {raise}
    assert(!{is_greater});
  od
end
",
        globals = false_globals(&best),
        mine_list = list(&mine),
        scramble = scramble(&mine),
    )
}

/// A sequence lock: writers make a number odd, write two bits, and make it even again; readers believe what
/// they have read if the number is even and the same before and after.
///
/// Safe: there are no more writes when the number would wrap around. Buggy: a reader may be that slow.
fn sequence_lock(size: usize, variant: Variant) -> String {
    let (now, then) = (names("now", size), names("then", size));
    let last = (1 << size) - 2;
    let condition = if variant.is_buggy() { String::new() } else { format!(" & !{}", number(&now, last)) };
    format!(
        "{globals}{now_globals}void main() begin
  decl {then_list}, a, b, value;
  while (*) do
    if (*) then
      {now_list} := {more} constrain !{low}{condition};
      value := *;
      x := value;
      y := value;
      {now_list} := {more};
    else
      {then_list} := {now_list} constrain !{low};
      a := x;
      b := y;
      assert(!{same} | (a = b));
    fi
  od
end
",
        globals = false_globals(&["x", "y"]),
        now_globals = false_globals(&now),
        now_list = list(&now),
        then_list = list(&then),
        more = list(&increment(&now)),
        low = now[0],
        same = equal(&now, &then),
    )
}

/// Every thread has a copy of a shared vector, and a bit that says whether the copy is valid; who writes
/// the vector makes the copies of all others invalid.
///
/// Buggy: it does not.
fn invalidate(size: usize, variant: Variant) -> String {
    let (shared, copy) = (names("x", size), names("c", size));
    let (target, value) = (variant.choose(", valid$", ""), variant.choose(", F", ""));
    format!(
        "{globals}void main() begin
  decl {copy_list}, valid;
  {copy_list}, valid := {stars}, F;
  while (*) do
    if (*) then
      {copy_list}, valid := {shared_list}, T;
    else
      {copy_list}, valid := {stars}, F;
      {shared_list}, valid{target} := {copy_list}, T{value};
    fi
    assert(!valid | {equal});
  od
end
",
        globals = false_globals(&shared),
        copy_list = list(&copy),
        shared_list = list(&shared),
        stars = list(&repeated("*", size)),
        equal = equal(&copy, &shared),
    )
}
