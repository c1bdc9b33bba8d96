//! Prints thread transition systems.

use std::fmt::Write;

use super::System;

/// The system as text. Parsing it yields the same system.
#[must_use]
pub fn print(system: &System) -> String {
    let mut out = format!("{} {}\n", system.shared_states, system.local_states);
    for rule in &system.rules {
        let (from, to) = (rule.from, rule.to);
        let sign = rule.arrow.sign();
        let _ = write!(out, "{} {} {sign} {} {}", from.shared, from.local, to.shared, to.local);
        for (local, targets) in &rule.passive {
            for target in targets {
                let _ = write!(out, " {local} ~> {target}");
            }
        }
        out.push('\n');
    }
    out
}
