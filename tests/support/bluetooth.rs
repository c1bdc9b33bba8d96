//! The Bluetooth driver of S. Qadeer and D. Wu, "KISS: Keep It Simple and Sequential", 2004, with a counter of some bits.
//!
//! Every thread runs `main`: again and again it either enters the driver for some work, or, once for all threads, stops the
//! driver. The driver counts the threads inside of it, plus one; who takes the count to zero says that the driver may be
//! unloaded. The repaired driver looks at `stopping` after it has counted itself, so nobody works in a driver that has
//! been unloaded. The broken driver looks first, and then counts itself.

use std::fmt::Write;

/// The text of the driver; at most `2^bits - 1` threads, which `--threads` has to say.
pub fn bluetooth(bits: usize, repaired: bool) -> String {
    let names: Vec<String> = (0..bits).map(|i| format!("p{i}")).collect();
    let all = names.join(", ");
    let mut text = "// options: --replicate\ndecl stopping := F, event := F, stopped := F;\n".to_owned();
    for (i, name) in names.iter().enumerate() {
        writeln!(text, "decl {name} := {};", if i == 0 { "T" } else { "F" }).expect("a string");
    }
    // A bit changes if all lower ones are true (up) or false (down).
    let changed = |is_up: bool| {
        let bits = names.iter().enumerate().map(|(i, name)| {
            let lower: Vec<String> =
                names[..i].iter().map(|name| if is_up { name.clone() } else { format!("!{name}") }).collect();
            if lower.is_empty() { format!("!{name}") } else { format!("({name} != ({}))", lower.join(" & ")) }
        });
        bits.collect::<Vec<_>>().join(", ")
    };
    let is_one =
        names.iter().enumerate().map(|(i, name)| if i == 0 { name.clone() } else { format!("!{name}") });
    let is_one = is_one.collect::<Vec<_>>().join(" & ");
    let (up, down) = (changed(true), changed(false));
    let enter = if repaired {
        format!("{all} := {up};\n      if (stopping) then leave(); else assert(!stopped); leave(); fi")
    } else {
        format!("if (!stopping) then {all} := {up}; assert(!stopped); leave(); fi")
    };
    write!(
        text,
        "void leave() begin\n  decl zero;\n  {all}, zero := {down}, {is_one};\n  if (zero) then event := T; fi\nend\n\
         void main() begin\n  while (*) do\n    if (*) then\n      {enter}\n    else\n      \
         atomic_begin; assume(!stopping); stopping := T; atomic_end;\n      leave();\n      \
         assume(event); stopped := T;\n    fi\n  od\nend\n"
    )
    .expect("a string");
    text
}
