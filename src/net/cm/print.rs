//! Prints systems of communicating machines.

use std::fmt::Write;

use crate::net::Range;

use super::expression::{BINARY, binding};
use super::formula::{Formula, Op};
use super::{Condition, Edge, Event, System, Value};

/// The system as text. Parsing it yields the same system.
#[must_use]
pub fn print(system: &System) -> String {
    let mut out = String::new();
    for global in &system.globals {
        let value = match global.initial {
            None => "*",
            Some(true) => "T",
            Some(false) => "F",
        };
        let _ = writeln!(out, "var {} := {value};", global.name);
    }
    for machine in &system.machines {
        let copies = match machine.copies {
            Range { least, most: None } => format!("{least}.."),
            Range { least, most: Some(most) } if least == most => least.to_string(),
            Range { least, most: Some(most) } => format!("{least}..{most}"),
        };
        let _ = writeln!(out, "\nmachine {} [{copies}] {{", machine.name);
        let _ = writeln!(out, "  states {};", machine.states.join(", "));
        for edge in &machine.edges {
            print_edge(system, &machine.states, edge, &mut out);
        }
        out.push_str("}\n");
    }
    if !system.targets.is_empty() {
        out.push('\n');
    }
    for target in &system.targets {
        print_target(system, target, &mut out);
    }
    out
}

fn print_edge(system: &System, states: &[String], edge: &Edge, out: &mut String) {
    let _ = write!(out, "  {} -> {}", states[edge.from], states[edge.to]);
    let event = edge.event.map(|event| match event {
        Event::Send(id) => (system.label(id), system.label(id).channel.send()),
        Event::Receive(id) => (system.label(id), system.label(id).channel.receive()),
    });
    if let Some((label, sign)) = event {
        let _ = write!(out, " : {}{sign}", label.name);
    }
    print_guard(system, &edge.guard, out);
    for (i, (global, value)) in edge.updates.iter().enumerate() {
        let before = if i == 0 { " do" } else { "," };
        let _ = write!(out, "{before} {} := ", system.global(*global).name);
        match value {
            Value::Any => out.push('*'),
            Value::Of(formula) => print_formula(system, formula, out),
        }
    }
    out.push_str(";\n");
}

fn print_target(system: &System, target: &Condition, out: &mut String) {
    out.push_str("target");
    for (i, &(place, n)) in target.counts.iter().enumerate() {
        let machine = &system.machines[place.machine];
        let before = if i == 0 { "" } else { "," };
        let _ = write!(out, "{before} {}.{} >= {n}", machine.name, machine.states[place.state]);
    }
    print_guard(system, &target.guard, out);
    out.push_str(";\n");
}

fn print_guard(system: &System, guard: &Formula, out: &mut String) {
    if !guard.is_truth() {
        out.push_str(" when ");
        print_formula(system, guard, out);
    }
}

/// A piece of text that is still to be written.
enum Piece {
    Text(&'static str),
    /// The subformula that ends with this operation, in parentheses if its precedence is lower than the number.
    Part(usize, u8),
}

fn print_formula(system: &System, formula: &Formula, out: &mut String) {
    let (ops, starts) = (formula.ops(), formula.starts());
    let mut open = vec![Piece::Part(ops.len() - 1, 0)];
    while let Some(piece) = open.pop() {
        let (at, least) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Part(at, least) => (at, least),
        };
        let op = ops[at];
        if binding(op) < least {
            out.push('(');
            open.push(Piece::Text(")"));
        }
        match op {
            Op::Constant(value) => out.push(if value { 'T' } else { 'F' }),
            Op::Global(global) => out.push_str(&system.global(global).name),
            Op::Not => {
                out.push('!');
                open.push(Piece::Part(at - 1, binding(op)));
            }
            Op::And | Op::Or | Op::Equal | Op::Differ => {
                let sign = BINARY.iter().find(|&&(_, other)| other == op).map_or("", |&(sign, _)| sign);
                open.extend([
                    // Operators associate to the left, so a right operand of the same precedence needs parentheses.
                    Piece::Part(at - 1, binding(op) + 1),
                    Piece::Text(" "),
                    Piece::Text(sign),
                    Piece::Text(" "),
                    Piece::Part(starts[at - 1] - 1, binding(op)),
                ]);
            }
        }
    }
}
