//! Many variables, shallow control: two rows of globals that are kept alike, or one that is kept in order.

use std::fmt::Write;

use super::bits::{all_of, equal, list, names};
use super::{Family, Variant};

const SIZES: &[usize] = &[10, 100, 400, 1000];

pub const SHUFFLE: Family =
    Family { name: "wide_shuffle", size: "variables", sizes: SIZES, small: &[4, 8], text: shuffle };

pub const HAVOC: Family =
    Family { name: "wide_havoc", size: "variables", sizes: SIZES, small: &[4, 6], text: havoc };

pub const BRANCHES: Family =
    Family { name: "wide_branches", size: "variables", sizes: SIZES, small: &[4, 6], text: branches };

pub const CALLS: Family =
    Family { name: "wide_calls", size: "variables", sizes: SIZES, small: &[4, 6], text: calls };

pub const LATCHES: Family =
    Family { name: "wide_latches", size: "variables", sizes: SIZES, small: &[4, 6], text: latches };

/// Two rows of the same length, at least two.
fn rows(size: usize) -> (Vec<String>, Vec<String>) {
    let length = (size / 2).max(2);
    (names("x", length), names("y", length))
}

fn rotated(row: &[String]) -> Vec<String> {
    let mut row = row.to_vec();
    row.rotate_left(1);
    row
}

fn reversed(row: &[String]) -> Vec<String> {
    row.iter().rev().cloned().collect()
}

fn negated(row: &[String]) -> Vec<String> {
    row.iter().map(|name| format!("!{name}")).collect()
}

/// A row with the value in the middle left as it is.
fn forgetful(row: &[String], mut values: Vec<String>) -> Vec<String> {
    let middle = row.len() / 2;
    values[middle].clone_from(&row[middle]);
    values
}

/// Both rows start alike, and a loop rotates, reverses, negates or exchanges them, in one parallel
/// assignment each. The assertion comes after the loop.
///
/// Buggy: the rotation forgets one variable of the second row.
fn shuffle(size: usize, variant: Variant) -> String {
    let (x, y) = rows(size);
    let both = list(&[&x[..], &y].concat());
    let rotated_y = if variant.is_buggy() { forgetful(&y, rotated(&y)) } else { rotated(&y) };
    let values = |x: &[String], y: &[String]| list(&[x, y].concat());
    format!(
        "decl {both};
void main() begin
  {y_list} := {x_list};
  while (*) do
    if (*) then {both} := {rotate};
    elsif (*) then {both} := {reverse};
    elsif (*) then {both} := {negate};
    else {both} := {exchange};
    fi
  od
  assert({alike});
end
",
        y_list = list(&y),
        x_list = list(&x),
        rotate = values(&rotated(&x), &rotated_y),
        reverse = values(&reversed(&x), &reversed(&y)),
        negate = values(&negated(&x), &negated(&y)),
        exchange = values(&y, &x),
        alike = equal(&x, &y),
    )
}

/// A loop sets the first row anyhow, one variable after the other, and copies it to the second one; the
/// assertion is in the loop. In between the rows differ in every way.
///
/// Buggy: one variable is copied only where the first or the last one is set.
fn havoc(size: usize, variant: Variant) -> String {
    let (x, y) = rows(size);
    let mut text = format!("decl {}, {};\nvoid main() begin\n  while (*) do\n", list(&x), list(&y));
    for name in &x {
        let _ = writeln!(text, "    {name} := *;");
    }
    for i in (0..x.len()).rev() {
        let is_wrong = variant.is_buggy() && i == x.len() / 2;
        let copy = format!("{} := {};", y[i], x[i]);
        if is_wrong {
            let _ = writeln!(text, "    if ({} | {}) then {copy} fi", x[0], x[x.len() - 1]);
        } else if i % 2 == 0 {
            let _ = writeln!(text, "    {copy}");
        } else {
            let _ = writeln!(text, "    if ({}) then {} := T; else {} := F; fi", x[i], y[i], y[i]);
        }
    }
    let _ = write!(text, "    assert({});\n  od\nend\n", equal(&x, &y));
    text
}

/// No loop: one branch after the other sets a variable of each row, and the next branch may depend on
/// what was set. 2^(n/2) paths, all alike.
///
/// Buggy: one branch sets the second row wrongly if the variable before is set.
fn branches(size: usize, variant: Variant) -> String {
    let (x, y) = rows(size);
    let mut text = format!("decl {}, {};\nvoid main() begin\n", list(&x), list(&y));
    for i in 0..x.len() {
        let before = if i == 0 { "*".to_owned() } else { format!("* & {}", x[i - 1]) };
        let is_wrong = variant.is_buggy() && i == (x.len() / 2).max(1);
        let wrong = if is_wrong { y[i - 1].as_str() } else { "F" };
        let (x, y) = (&x[i], &y[i]);
        let _ = writeln!(
            text,
            "  if ({before}) then {x}, {y} := T, T;
  elsif (*) then {x}, {y} := F, {wrong};
  else {y} := {x};
  fi"
        );
    }
    let _ = write!(text, "  assert({});\nend\n", equal(&x, &y));
    text
}

/// Like [`shuffle`], but each change of the rows is a procedure, called from a loop, and the assertion is in
/// one more: summaries relate all globals before to all globals after.
///
/// Buggy: the reversal forgets one variable of the first row, if the first two are alike.
fn calls(size: usize, variant: Variant) -> String {
    let (x, y) = rows(size);
    let (x_list, y_list) = (list(&x), list(&y));
    let wrong = list(&forgetful(&x, reversed(&negated(&x))));
    let reversal = format!(
        "{x_list}, {y_list} := {}, {};",
        list(&reversed(&negated(&x))),
        list(&reversed(&negated(&y)))
    );
    let bug = if variant.is_buggy() {
        format!(
            "if (x0 = x1) then {x_list}, {y_list} := {wrong}, {}; return; fi",
            list(&reversed(&negated(&y)))
        )
    } else {
        "skip;".to_owned()
    };
    format!(
        "decl {x_list}, {y_list};
void main() begin
  copy();
  while (*) do
    if (*) then rotate(); elsif (*) then reverse(); else copy(); fi
    compare();
  od
end
void copy() begin
  {y_list} := {x_list};
end
void rotate() begin
  {x_list} := {x_rotated};
  {y_list} := {y_rotated};
end
void reverse() begin
  {bug}
  {reversal}
end
void compare() begin
  assert({alike});
end
",
        x_rotated = list(&rotated(&x)),
        y_rotated = list(&rotated(&y)),
        alike = equal(&x, &y),
    )
}

/// One row in which each variable may be set only if the one before it is: a loop sets more of them, or
/// takes some back, and asserts the order.
///
/// Buggy: one of them looks at the one before its neighbour.
fn latches(size: usize, variant: Variant) -> String {
    let row = names("x", size.max(3));
    let last = row.len() - 1;
    let middle = (row.len() / 2).max(2);
    let in_order: Vec<String> = (1..row.len()).map(|i| format!("({} => {})", row[i], row[i - 1])).collect();
    let set = |i: usize| {
        let back = if variant.is_buggy() && i == middle { 2 } else { 1 };
        if i == 0 { "(x0 | *)".to_owned() } else { format!("({} | ({} & *))", row[i], row[i - back]) }
    };
    let taken = |i: usize| {
        if i == last { format!("({} & *)", row[i]) } else { format!("({} & ({} | *))", row[i], row[i + 1]) }
    };
    format!(
        "decl {row_list};
void main() begin
  assume({order});
  while (*) do
    if (*) then {row_list} := {more};
    else {row_list} := {fewer};
    fi
    assert({order});
  od
end
",
        row_list = list(&row),
        order = all_of(&in_order),
        more = list(&(0..row.len()).map(set).collect::<Vec<_>>()),
        fewer = list(&(0..row.len()).map(taken).collect::<Vec<_>>()),
    )
}
