//! Families that are *not for tuning*: whoever works on an engine or on `auto` looks at the others.
//!
//! They tell whether what was tuned on those carries over. So: run them, compare the figures with the
//! tuned ones, but choose no heuristic, limit or order because of a member of this file.

use std::fmt::Write;

use super::bits::{all_of, any_of, decrement, increment, list, names, parity, repeated};
use super::{Family, Variant};

pub const NESTED_LOOPS: Family =
    Family { name: "nested_loops", size: "bits", sizes: &[2, 3, 4, 5], small: &[1, 2], text: nested_loops };

pub const RING: Family =
    Family { name: "ring", size: "procedures", sizes: &[10, 50, 200, 500], small: &[2, 4], text: ring };

pub const CONTRACTS: Family = Family {
    name: "contracts",
    size: "procedures",
    sizes: &[10, 50, 200, 500],
    small: &[1, 3],
    text: contracts,
};

pub const TREE: Family =
    Family { name: "tree", size: "bits", sizes: &[2, 4, 6, 8], small: &[1, 2, 3], text: tree };

pub const DRIVER: Family =
    Family { name: "driver", size: "routines", sizes: &[2, 10, 30, 100], small: &[1, 2], text: driver };

pub const LADDER: Family =
    Family { name: "ladder", size: "branches", sizes: &[50, 200, 1000, 2000], small: &[3, 10], text: ladder };

pub const COUNTER: Family =
    Family { name: "counter", size: "bits", sizes: &[4, 6, 8, 10], small: &[2, 3], text: counter };

pub const SAVE_AND_RESTORE: Family = Family {
    name: "save_and_restore",
    size: "variables",
    sizes: &[4, 16, 64, 128],
    small: &[2, 4],
    text: save_and_restore,
};

/// A counter in `main`, and in each round of it a counter of its own in `inner`, which negates a flag in each
/// round. 2^k rounds leave the flag as it was.
///
/// Buggy: in the last but one round of `main`, `inner` starts at 1 and does an odd number of rounds.
fn nested_loops(size: usize, variant: Variant) -> String {
    let (outer, inner) = (names("o", size), names("i", size));
    let start = variant.choose("F", "late");
    let late = format!("{} & !o0", all_of(&outer[1..]));
    format!(
        "decl flag;
void main() begin
  decl {outer_list}, done, before;
  before := flag;
  {outer_list}, done := {zeros}, F;
  while (!done) do
    inner({late});
    done := {outer_full};
    {outer_list} := {outer_next};
  od
  assert(flag = before);
end
void inner(late) begin
  decl {inner_list}, done;
  {inner_list}, done := {inner_start}, F;
  while (!done) do
    flag := !flag;
    done := {inner_full};
    {inner_list} := {inner_next};
  od
end
",
        outer_list = list(&outer),
        zeros = list(&repeated("F", size)),
        outer_full = all_of(&outer),
        outer_next = list(&increment(&outer)),
        inner_list = list(&inner),
        inner_start = list(&[vec![start.to_owned()], repeated("F", size - 1)].concat()),
        inner_full = all_of(&inner),
        inner_next = list(&increment(&inner)),
    )
}

/// A token of two bits is handed round a ring of procedures, an even number of them; one turns it to the
/// left, the next one to the right, so it is upright again whenever the first one gets it. Each may
/// keep the token and return instead.
///
/// Buggy: from the second round on, the last one may forget to turn it.
fn ring(size: usize, variant: Variant) -> String {
    let size = size.div_ceil(2) * 2;
    let mut text = String::from(
        "decl a, b, seen, again;
void main() begin
  a, b, seen, again := F, F, F, F;
  pass0();
end
",
    );
    for i in 0..size {
        let turn = if i % 2 == 0 { "a, b := b, !a;" } else { "a, b := !b, a;" };
        let check = if i == 0 { "assert(!a & !b);\n  seen, again := T, seen;\n  " } else { "" };
        let turn = if variant.is_buggy() && i + 1 == size {
            format!("if (!again | *) then {turn} fi")
        } else {
            turn.to_owned()
        };
        let next = (i + 1) % size;
        let _ = write!(text, "void pass{i}() begin\n  {check}{turn}\n  if (*) then pass{next}(); fi\nend\n");
    }
    text
}

/// A chain of procedures that say what they do by `enforce` and `constrain` only.
///
/// Each enforces that a local is the negation of the parameter, hands it to the next one, and returns the
/// negation of what comes back; the last one returns its parameter, hence so do all.
///
/// Buggy: one in the middle enforces less, so that the local may be anything.
fn contracts(size: usize, variant: Variant) -> String {
    let mut text = String::from(
        "void main() begin
  decl x, r;
  r := stage0(x);
  assert(r = x);
end
",
    );
    for i in 0..size {
        let is_wrong = variant.is_buggy() && i == size / 2;
        let enforced = if is_wrong { "(x != y) | x" } else { "x != y" };
        let next = i + 1;
        let _ = write!(
            text,
            "bool stage{i}(x) begin
  decl y, r;
  enforce {enforced};
  if (*) then
    r := stage{next}(y);
  else
    r := * constrain ('r = y);
    r := stage{next}(r);
  fi
  r := * constrain ('r != r);
  return r;
end
"
        );
    }
    let _ = write!(text, "bool stage{size}(x) begin\n  return x;\nend\n");
    text
}

/// Two recursive calls: a tree of depth 2^k - 1, each leaf of which negates a flag. Below a node of depth d
/// there are 2^d leaves, an even number for d > 0, and the flag is as before.
///
/// Buggy: a leaf may forget it.
fn tree(size: usize, variant: Variant) -> String {
    let bits = names("d", size);
    format!(
        "decl flag;
void main() begin
  decl before;
  before := flag;
  walk({ones});
  assert(flag = before);
end
void walk({bits}) begin
  if ({any}) then
    walk({down});
    walk({down});
  else
    {leaf}
  fi
end
",
        ones = list(&repeated("T", size)),
        bits = list(&bits),
        any = any_of(&bits),
        down = list(&decrement(&bits)),
        leaf = variant.choose("flag := !flag;", "if (*) then flag := !flag; fi"),
    )
}

/// A driver as predicate abstraction leaves it: dispatch routines with 30 locals, labels and jumps, which take
/// and give back a lock through stubs; reaching `SLIC_ERROR` is the bug.
///
/// A routine's first local says whether it took the lock; the others are set, correlated by `constrain` and
/// `schoose`, and steer the jumps. Each way through a routine either takes the lock and gives it back, or does
/// neither.
///
/// Buggy: the last routine leaves early if three of its locals are set, after it took the lock.
fn driver(size: usize, variant: Variant) -> String {
    let mut text = String::from(
        "decl locked;
void slic_error() begin
  SLIC_ERROR: skip;
end
void acquire() begin
  if (locked) then slic_error(); fi
  locked := T;
end
void release() begin
  if (!locked) then slic_error(); fi
  locked := F;
end
void main() begin
  decl request;
  locked := F;
  LOOP: goto WORK, DONE;
  WORK: request := *;
",
    );
    let labels: Vec<String> = (0..size).map(|i| format!("R{i}")).collect();
    let _ = writeln!(text, "  goto {};", labels.join(", "));
    for i in 0..size {
        let _ = writeln!(text, "  R{i}: routine{i}(request); goto LOOP;");
    }
    text.push_str("  DONE: skip;\nend\n");
    for i in 0..size {
        routine(&mut text, i, variant.is_buggy() && i + 1 == size);
    }
    text
}

fn routine(text: &mut String, number: usize, is_wrong: bool) {
    let b = names("b", 30);
    let _ = writeln!(text, "void routine{number}(request) begin\n  decl {};", list(&b));
    let _ = writeln!(text, "  b0 := F;");
    // Facts about the request, each of which hangs on earlier ones.
    for i in 1..30 {
        let earlier = &b[1 + (i * 3 + number) % i];
        let _ = match (i + number) % 4 {
            0 => writeln!(text, "  {} := schoose[request, {earlier}];", b[i]),
            1 => writeln!(text, "  {} := * constrain ('{} => (request | {}));", b[i], b[i], b[i - 1]),
            2 => writeln!(text, "  if ({}) then {} := *; else {} := F; fi", b[i - 1], b[i], b[i]),
            _ => writeln!(text, "  {} := *;", b[i]),
        };
    }
    let early = if is_wrong { "if (b7 & b13 & b21) then goto OUT; fi" } else { "skip;" };
    let _ = write!(
        text,
        "  goto FAST, SLOW;
  FAST: assume(!b5);
  if (b9) then goto TAKE; fi
  goto LEAVE;
  SLOW: assume(b5 | b11);
  while (b17) do
    b17 := b18 & *;
    b18 := b17 != b19;
  od
  TAKE: acquire();
  b0 := T;
  {early}
  b2, b3 := b3, b2;
  if (b2) then goto AGAIN; fi
  LEAVE: if (b0) then release(); b0 := F; fi
  goto OUT;
  AGAIN: if (b0) then
    release();
    b0, b2 := F, F;
    goto SLOW, LEAVE;
  fi
  OUT: skip;
end
"
    );
}

/// One procedure with a long row of branches over eight variables; each swaps two of them, or negates one
/// together with a flag, so that the flag stays their parity.
///
/// Buggy: the last branch forgets the flag if three of the variables are set.
fn ladder(size: usize, variant: Variant) -> String {
    let x = names("x", 8);
    let mut text = format!("decl {}, even;\nvoid main() begin\n  even := !{};\n", list(&x), parity(&x));
    for i in 0..size {
        let [a, b, c] = [i % 8, (3 * i + 1) % 8, (5 * i + 2 + i / 8) % 8].map(|j| &x[j]);
        let negate = format!("{b}, even := !{b}, !even;");
        let negate = if variant.is_buggy() && i + 1 == size {
            format!("if (x1 & x4 & x6) then {b} := !{b}; else {negate} fi")
        } else {
            negate
        };
        let swap = if b == c { "skip;".to_owned() } else { format!("{b}, {c} := {c}, {b};") };
        let _ = writeln!(text, "  if (({a} ^ {c}) | *) then {swap} elsif (*) then {negate} fi");
    }
    let _ = write!(text, "  assert(even = !{});\nend\n", parity(&x));
    text
}

/// One loop and one counter, no procedures: it stops at any time, or at its end.
///
/// The counter goes by twos, so that its lowest bit is never set. Buggy: where all other bits are set, the
/// lowest one is set too, and the next round sees it.
fn counter(size: usize, variant: Variant) -> String {
    let bits = names("c", size);
    let high = &bits[1..];
    let next = list(&increment(high));
    format!(
        "decl {bits_list};
void main() begin
  {bits_list} := {zeros};
  while (*) do
    assert(!c0);
    if ({full}) then
      c0 := {last};
    else
      {high_list} := {next};
    fi
  od
end
",
        bits_list = list(&bits),
        zeros = list(&repeated("F", size)),
        full = all_of(high),
        last = variant.choose("F", "T"),
        high_list = list(high),
    )
}

/// A recursive procedure saves all globals in locals, sets them anyhow, calls itself, and restores them.
///
/// Buggy: it restores the last one only if the first two are alike.
fn save_and_restore(size: usize, variant: Variant) -> String {
    let size = size.max(3);
    let (globals, saved) = (names("g", size), names("s", size));
    let last = size - 1;
    let bug = format!("if (s0 != s1) then g{last} := !g{last}; fi");
    let pairs: Vec<String> = globals.iter().zip(&saved).map(|(g, s)| format!("({g} = {s})")).collect();
    format!(
        "decl {globals_list};
void main() begin
  decl {saved_list};
  {saved_list} := {globals_list};
  visit();
  assert({same});
end
void visit() begin
  decl {saved_list};
  {saved_list} := {globals_list};
  while (*) do
    {globals_list} := {anything};
    if (g0) then visit(); fi
  od
  {globals_list} := {saved_list};
  {bug}
end
",
        globals_list = list(&globals),
        saved_list = list(&saved),
        anything = list(&repeated("*", size)),
        same = all_of(&pairs),
        bug = variant.choose("skip;", &bug),
    )
}
