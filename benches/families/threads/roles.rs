//! Threads that play different parts.

use std::fmt::Write;

use super::super::Variant;
use super::super::bits::{all_of, any_of, decrement, equal, increment, list, names, parity, repeated};
use super::{ENTER_AND_LEAVE, Family, false_globals, scramble, two};

pub const HAND_OVER: Family = Family {
    name: "hand_over",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(2, 3), (3, 3), (5, 3), (8, 2), (16, 2)],
    small: &[(2, 1), (2, 2), (2, 3)],
    text: hand_over,
};

pub const HANDSHAKE: Family = Family {
    name: "handshake",
    size: "bits",
    replicates: true,
    fewest: two,
    members: &[(1, 3), (2, 4), (4, 4), (8, 3), (16, 2)],
    small: &[(1, 1), (1, 2), (2, 3)],
    text: handshake,
};

pub const TOKEN: Family = Family {
    name: "token",
    size: "procedures",
    replicates: false,
    fewest: |_| 3,
    members: &[(3, 4), (5, 6), (8, 9), (12, 13)],
    small: &[(2, 2), (2, 3), (3, 3), (3, 4)],
    text: token,
};

pub const BLUETOOTH: Family = Family {
    name: "bluetooth",
    size: "bits",
    replicates: false,
    fewest: |_| 3,
    members: &[(1, 4), (2, 4), (3, 4), (3, 6), (3, 8), (4, 4), (6, 4)],
    small: &[(1, 2), (1, 3), (2, 3)],
    text: bluetooth,
};

/// Items of even parity are handed over in a slot; who takes one finds its parity even.
///
/// Buggy: the slot counts as full when only the first bit is written.
fn hand_over(size: usize, variant: Variant) -> String {
    let (slot, item) = (names("slot", size), names("item", size));
    let put = if variant.is_buggy() {
        let (rest, value) = (list(&slot[1..]), list(&item[1..]));
        format!("slot0, full := item0, T constrain !full;\n      {rest} := {value};")
    } else {
        format!("{}, full := {}, T constrain !full;", list(&slot), list(&item))
    };
    let new_values: Vec<String> = item.iter().map(|name| format!("'{name}")).collect();
    format!(
        "{globals}{slot_globals}void main() begin
  decl {item_list};
  while (*) do
    if (*) then
      {scramble} constrain !{new_parity};
      {put}
    else
      {item_list}, full := {slot_list}, F constrain full;
      assert(!{parity});
    fi
  od
end
",
        globals = false_globals(&["full"]),
        slot_globals = false_globals(&slot),
        item_list = list(&item),
        slot_list = list(&slot),
        scramble = scramble(&item),
        new_parity = parity(&new_values),
        parity = parity(&item),
    )
}

/// One client at a time asks, one server at a time answers, by two flags with four phases; the answer is
/// two equal vectors.
///
/// Buggy: the server says that it is ready before the second vector is.
fn handshake(size: usize, variant: Variant) -> String {
    let (left, right) = (names("x", size), names("y", size));
    let copy = format!("{} := {};", list(&right), list(&left));
    let ready = "ready := T;";
    let (first, second) = if variant.is_buggy() { (ready, &*copy) } else { (&*copy, ready) };
    format!(
        "{globals}{left_globals}{right_globals}void main() begin
  while (*) do
    if (*) then
      client := T constrain !client;
      wanted := T;
      assume(ready);
      assert({equal});
      wanted := F;
      assume(!ready);
      client := F;
    else
      server := T constrain !server;
      assume(wanted & !ready);
      {scramble};
      {first}
      {second}
      assume(!wanted);
      ready := F;
      server := F;
    fi
  od
end
",
        globals = false_globals(&["client", "server", "wanted", "ready"]),
        left_globals = false_globals(&left),
        right_globals = false_globals(&right),
        equal = equal(&left, &right),
        scramble = scramble(&left),
    )
}

/// `main` starts workers, each with a procedure of its own, who hand a token round in a ring; who has it
/// is inside a critical section.
///
/// Buggy: the last worker does not give away what it hands to the first. The two of them have to live at
/// the same time, and `main` with the first when it starts the last.
fn token(size: usize, variant: Variant) -> String {
    let held = names("held", size);
    let mut text = false_globals(&["inside"]);
    text.push_str(&false_globals(&held));
    text.push_str("void main() begin\n  held0 := T;\n");
    for i in 0..size {
        let _ = writeln!(text, "  start_thread worker{i}();");
    }
    text.push_str("end\n");
    for i in 0..size {
        let next = (i + 1) % size;
        let is_wrong = variant.is_buggy() && i + 1 == size;
        let give =
            if is_wrong { format!("held{next} := T;") } else { format!("held{i}, held{next} := F, T;") };
        let _ = write!(
            text,
            "void worker{i}() begin
  while (*) do
    assume(held{i});
    {ENTER_AND_LEAVE}
    {give}
  od
end
"
        );
    }
    text
}

/// The Bluetooth driver of S. Qadeer and D. Wu, "KISS: Keep It Simple and Sequential", PLDI 2004, with one
/// thread that stops the driver, many that use it, and a count of users of k bits.
///
/// Safe: a user counts itself first and then looks whether the driver is being stopped. Buggy: the other way
/// round, as in the driver.
fn bluetooth(size: usize, variant: Variant) -> String {
    let count = names("count", size);
    let (count_list, more) = (list(&count), list(&increment(&count)));
    let add = format!("{count_list} := {more} constrain !{};", all_of(&count));
    let enter = if variant.is_buggy() {
        format!("if (stopping) then return F; fi\n  {add}\n  return T;")
    } else {
        format!("{add}\n  if (stopping) then leave(); return F; fi\n  return T;")
    };
    let fewer = decrement(&count);
    format!(
        "{globals}{count_globals}void main() begin
  {count_list} := T{zeros};
  start_thread stopper();
  while (*) do
    start_thread user();
  od
end
bool enter() begin
  {enter}
end
void leave() begin
  decl last;
  last, {count_list} := !{any}, {fewer};
  if (last) then idle := T; fi
end
void user() begin
  decl entered;
  entered := enter();
  if (entered) then
    assert(!stopped);
    leave();
  fi
end
void stopper() begin
  stopping := T;
  leave();
  assume(idle);
  stopped := T;
end
",
        globals = false_globals(&["stopping", "idle", "stopped"]),
        count_globals = false_globals(&count),
        zeros = repeated(", F", size - 1).concat(),
        any = any_of(&fewer),
        fewer = list(&fewer),
    )
}
