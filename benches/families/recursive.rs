//! Recursion: calls that double, that nest deep, and that alternate.

use std::fmt::Write;

use super::bits::{all_of, any_of, decrement, increment, list, names, repeated};
use super::{Family, Variant};

pub const CHAIN: Family = Family {
    name: "chain",
    size: "procedures",
    sizes: &[10, 50, 200, 800, 1600],
    small: &[1, 2, 5],
    text: chain,
};

pub const DEEP_GLOBALS: Family =
    Family { name: "deep_globals", size: "bits", sizes: &[4, 6, 8, 10], small: &[1, 3], text: deep_globals };

pub const DEEP_PARAMETERS: Family = Family {
    name: "deep_parameters",
    size: "bits",
    sizes: &[4, 6, 8, 10],
    small: &[1, 3],
    text: deep_parameters,
};

pub const EVEN_ODD: Family =
    Family { name: "even_odd", size: "bits", sizes: &[4, 6, 8, 10], small: &[2, 3], text: even_odd };

/// The chain of T. Ball and S. K. Rajamani, "Bebop: A Symbolic Model Checker for Boolean Programs",
/// SPIN 2000: each procedure runs a 3-bit counter or calls the next one twice, and negates the global.
///
/// Two calls of a procedure that negates the global leave it alone, so by induction from the last one on
/// every procedure negates it, and `main`, which calls the first one twice, finds the old value. In the
/// buggy variant the last one may forget to; then two calls of it may do anything to an unset global,
/// and so may each procedure before it.
fn chain(size: usize, variant: Variant) -> String {
    let mut text = String::from(
        "decl g;
void main() begin
  decl before;
  before := g;
  level1();
  level1();
  assert(g = before);
end
",
    );
    for i in 1..=size {
        let is_last = i == size;
        let calls = if is_last { "skip;".to_owned() } else { format!("level{0}();\n    level{0}();", i + 1) };
        let negate = if is_last { variant.choose("g := !g;", "if (*) then g := !g; fi") } else { "g := !g;" };
        let _ = write!(
            text,
            "void level{i}() begin
  decl a, b, c;
  if (g) then
    a, b, c := F, F, F;
    while (!a | !b | !c) do
      if (!a) then a := T;
      elsif (!b) then a, b := F, T;
      else a, b, c := F, F, T;
      fi
    od
  else
    {calls}
  fi
  {negate}
end
"
        );
    }
    text
}

/// `dive` counts a global up before it calls itself, and down after it.
///
/// The counter starts at 0 and is full 2^k - 1 calls below the first one, and nowhere else. Beside it, a
/// flag is negated at each step; it is always the counter's lowest bit, so it is set where the counter is
/// full. Whether a call returns is a choice at every level.
fn deep_globals(size: usize, variant: Variant) -> String {
    let bits = names("c", size);
    format!(
        "decl {bits}, flag;
void main() begin
  {bits}, flag := {zeros}, F;
  dive();
  assert(!({any} | flag));
end
void dive() begin
  if ({full}) then
    assert({claim});
  elsif (*) then
    {bits}, flag := {up}, !flag;
    dive();
    {bits}, flag := {down}, !flag;
  fi
end
",
        bits = list(&bits),
        zeros = list(&repeated("F", size)),
        any = any_of(&bits),
        full = all_of(&bits),
        claim = variant.choose("flag", "!flag"),
        up = list(&increment(&bits)),
        down = list(&decrement(&bits)),
    )
}

/// Like [`deep_globals`], with the counter and the flag in parameters; the flag comes back.
fn deep_parameters(size: usize, variant: Variant) -> String {
    let bits = names("p", size);
    format!(
        "void main() begin
  decl result;
  result := dive({zeros}, F);
  assert(!result);
end
bool dive({bits}, flag) begin
  decl below;
  if ({full}) then
    assert({claim});
  elsif (*) then
    below := dive({up}, !flag);
    assert(below != flag);
  fi
  return flag;
end
",
        zeros = list(&repeated("F", size)),
        bits = list(&bits),
        full = all_of(&bits),
        claim = variant.choose("flag", "!flag"),
        up = list(&increment(&bits)),
    )
}

/// `even` and `odd` call each other with the predecessor, and return whether the number is what they are
/// named after and whether so many calls are an odd number.
///
/// Buggy: `odd` gives the wrong answer for 2^k - 2, where it should say no. Only `even` of 2^k - 1 asks
/// for that, so the bug shows only after 2^k - 1 nested calls have returned.
fn even_odd(size: usize, variant: Variant) -> String {
    let bits = names("n", size);
    let zero = format!("!{}", any_of(&bits));
    let before = list(&decrement(&bits));
    let bits_list = list(&bits);
    let last_but_one = format!("({} & !n0)", all_of(&bits[1..]));
    let answer = variant.choose("yes", "(wrong ? !yes : yes)");
    format!(
        "void main() begin
  decl {bits_list}, yes, calls;
  yes, calls := even({bits_list});
  assert((yes = !n0) & (calls = n0));
end
bool<2> even({bits_list}) begin
  decl yes, calls;
  if ({zero}) then return T, F; fi
  yes, calls := odd({before});
  return yes, !calls;
end
bool<2> odd({bits_list}) begin
  decl yes, calls, wrong;
  wrong := {last_but_one};
  if ({zero}) then return F, F; fi
  yes, calls := even({before});
  return {answer}, !calls;
end
"
    )
}
