//! Who may be inside a critical section: locks of various kinds.

use super::super::Variant;
use super::super::bits::{all_of, any_of, decrement, equal, increment, list, names, number};
use super::{ENTER_AND_LEAVE, Family, false_globals, scramble, two};

pub const SCRAMBLED: Family = Family {
    name: "lock",
    size: "local bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (2, 6), (2, 12), (5, 3), (8, 3), (16, 2), (40, 2)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: scrambled,
};

pub const BIT_BY_BIT: Family = Family {
    name: "lock_bit_by_bit",
    size: "local bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (5, 3), (8, 3), (16, 2), (40, 2)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: bit_by_bit,
};

pub const LOCAL_STATEMENTS: Family = Family {
    name: "local_statements",
    size: "statements",
    replicates: true,
    fewest: two,
    members: &[(10, 3), (50, 3), (200, 3), (50, 5)],
    small: &[(1, 2), (3, 1), (4, 3)],
    text: local_statements,
};

pub const SHARED_SCRAMBLED: Family = Family {
    name: "shared_scrambled",
    size: "shared bits",
    replicates: true,
    fewest: two,
    members: &[(4, 3), (8, 3), (12, 3), (16, 3), (8, 6)],
    small: &[(1, 2), (2, 1), (2, 3)],
    text: shared_scrambled,
};

pub const TICKET: Family = Family {
    name: "ticket",
    size: "bits",
    replicates: true,
    fewest: |bits| (1 << bits) + 1,
    members: &[(1, 3), (2, 3), (2, 5), (2, 8), (2, 12), (3, 4), (3, 9), (4, 4)],
    small: &[(1, 2), (1, 3), (2, 4)],
    text: ticket,
};

pub const SEMAPHORE: Family = Family {
    name: "semaphore",
    size: "permits",
    replicates: true,
    fewest: |permits| permits as u32 + 1,
    members: &[(2, 4), (3, 5), (4, 6), (6, 8)],
    small: &[(1, 2), (2, 2), (2, 3)],
    text: semaphore,
};

pub const READERS_WRITERS: Family = Family {
    name: "readers_writers",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(2, 4), (3, 6), (3, 8), (3, 12), (4, 8)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: readers_writers,
};

/// A test-and-set lock, which a thread may pass by if its bits say so; `scramble` gives them new values.
///
/// Safe: no bits say so, because one of them would have to be true and false. Buggy: all bits are true.
fn bits_decide(bits: &[String], scramble: &str, variant: Variant) -> String {
    let all = all_of(bits);
    let passes = if variant.is_buggy() { all } else { format!("({all} & !{})", bits[0]) };
    format!(
        "{globals}void main() begin
  decl {bits};
  while (*) do
    {scramble}
    if (!{passes}) then lock := T constrain !lock; fi
    {ENTER_AND_LEAVE}
    if (!{passes}) then lock := F; fi
  od
end
",
        globals = false_globals(&["lock", "inside"]),
        bits = list(bits),
    )
}

/// All bits are scrambled at once.
fn scrambled(size: usize, variant: Variant) -> String {
    let bits = names("b", size);
    bits_decide(&bits, &format!("{};", scramble(&bits)), variant)
}

/// Each bit is scrambled in a step of its own.
fn bit_by_bit(size: usize, variant: Variant) -> String {
    let bits = names("b", size);
    let steps: Vec<String> = bits.iter().map(|bit| format!("{bit} := *;")).collect();
    bits_decide(&bits, &steps.join(" "), variant)
}

/// Behind the lock, two local bits are turned by so many statements; where they end is known.
///
/// Buggy: the statements stand between the test of the lock and its taking.
fn local_statements(size: usize, variant: Variant) -> String {
    let take = variant.choose("lock := T constrain !lock;", "assume(!lock);");
    let late = variant.choose("", "lock := T;");
    let turns = "a, b := b, !a;\n    ".repeat(size);
    // From (F, F): (F, T), (T, T), (T, F), (F, F).
    let (a, b) = [("!a", "!b"), ("!a", "b"), ("a", "b"), ("a", "!b")][size % 4];
    format!(
        "{globals}void main() begin
  decl a, b;
  while (*) do
    {take}
    a, b := F, F;
    {turns}{late}
    assert({a} & {b});
    {ENTER_AND_LEAVE}
    lock := F;
  od
end
",
        globals = false_globals(&["lock", "inside"]),
    )
}

/// Everybody scrambles the shared bits at any time; what they are then decides whether the lock is passed by.
///
/// The variants are those of [`bits_decide`].
fn shared_scrambled(size: usize, variant: Variant) -> String {
    let bits = names("g", size);
    let all = all_of(&bits);
    let passes = if variant.is_buggy() { all } else { format!("({all} & !{})", bits[0]) };
    format!(
        "{globals}{false_bits}void main() begin
  decl passes;
  while (*) do
    {scramble};
    passes := {passes};
    if (!passes) then lock := T constrain !lock; fi
    {ENTER_AND_LEAVE}
    if (!passes) then lock := F; fi
  od
end
",
        globals = false_globals(&["lock", "inside"]),
        false_bits = false_globals(&bits),
        scramble = scramble(&bits),
    )
}

/// A ticket lock with numbers of k bits, which wrap around.
///
/// Safe: a ticket is given out only if the next number is not the one that is served. Buggy: it always is;
/// with 2^k + 1 threads, two have the number that is served.
fn ticket(size: usize, variant: Variant) -> String {
    let (next, served, mine) = (names("next", size), names("served", size), names("mine", size));
    let after = increment(&next);
    let full = equal(&after, &served);
    let condition = if variant.is_buggy() { String::new() } else { format!(" constrain !{full}") };
    format!(
        "{globals}{next_globals}{served_globals}void main() begin
  decl {mine_list};
  while (*) do
    {mine_list}, {next_list} := {next_list}, {after}{condition};
    assume({is_served});
    {ENTER_AND_LEAVE}
    {served_list} := {after_served};
  od
end
",
        globals = false_globals(&["inside"]),
        next_globals = false_globals(&next),
        served_globals = false_globals(&served),
        mine_list = list(&mine),
        next_list = list(&next),
        after = list(&after),
        is_served = equal(&mine, &served),
        served_list = list(&served),
        after_served = list(&increment(&served)),
    )
}

/// A semaphore that counts the threads inside, and another counter that sees whether it is right.
///
/// Buggy: it is tested whether there is a permit left, and taken in another step. So one thread more than
/// there are permits can be inside.
fn semaphore(size: usize, variant: Variant) -> String {
    let bits = (size + 1).next_power_of_two().trailing_zeros() as usize;
    let (taken, inside) = (names("taken", bits), names("inside", bits));
    let (is_left, take) = (format!("!{}", number(&taken, size)), list(&increment(&taken)));
    let wait = if variant.is_buggy() {
        format!("assume({is_left});\n    {} := {take};", list(&taken))
    } else {
        format!("{} := {take} constrain {is_left};", list(&taken))
    };
    format!(
        "{taken_globals}{inside_globals}void main() begin
  while (*) do
    {wait}
    assert(!{full});
    {inside_list} := {more};
    {inside_list} := {fewer};
    {taken_list} := {given_back};
  od
end
",
        taken_globals = false_globals(&taken),
        inside_globals = false_globals(&inside),
        full = number(&inside, size),
        inside_list = list(&inside),
        more = list(&increment(&inside)),
        fewer = list(&decrement(&inside)),
        taken_list = list(&taken),
        given_back = list(&decrement(&taken)),
    )
}

/// Readers count themselves and keep writers out; a writer keeps everybody out.
///
/// Buggy: a writer looks at the count in a step of its own.
fn readers_writers(size: usize, variant: Variant) -> String {
    let count = names("count", size);
    let nobody = format!("!{}", any_of(&count));
    let write = if variant.is_buggy() {
        format!("assume({nobody});\n      writing := T constrain !writing;")
    } else {
        format!("writing := T constrain !writing & {nobody};")
    };
    format!(
        "{globals}{count_globals}void main() begin
  while (*) do
    if (*) then
      {count_list} := {more} constrain !writing & !{full};
      assert(!inside);
      {count_list} := {fewer};
    else
      {write}
      inside := T;
      inside := F;
      writing := F;
    fi
  od
end
",
        globals = false_globals(&["writing", "inside"]),
        count_globals = false_globals(&count),
        count_list = list(&count),
        more = list(&increment(&count)),
        full = all_of(&count),
        fewer = list(&decrement(&count)),
    )
}
