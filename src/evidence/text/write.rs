//! Writes evidence as text.

use std::io::{self, Write};

use super::words::{Shown, show_option, show_valuation, show_values};
use super::{Evidence, HEADER, threads};
use crate::evidence::trace::{CallTree, End, Interleaving, Move, State, System, Violation};
use crate::evidence::{
    Certificate, Formulas, Gate, Literal, PathEdge, Place, Relations, Site, SystemState, Trace, Unrolling,
};
use crate::model::{Node, ProcId, Program, Variable};

/// Writes evidence about a program, with the names of things in comments.
///
/// # Errors
/// Errors of the output.
pub fn write(program: &Program, evidence: &Evidence, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{HEADER}")?;
    names(program, output)?;
    match evidence {
        Evidence::Certificate(certificate) => write_certificate(program, certificate, output)?,
        Evidence::Trace(Trace::Sequential(tree)) => call_tree(tree, output)?,
        Evidence::Trace(Trace::Interleaved(run)) => interleaving(run, output)?,
    }
    writeln!(output, "end")
}

/// Replaces control characters. A line break in a name would end the comment that contains the name.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// Writes the names of globals, procedures and locals as comments.
fn names(program: &Program, output: &mut dyn Write) -> io::Result<()> {
    let list = |variables: &[Variable]| {
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { one_line(&names.join(" ")) }
    };
    writeln!(output, "# globals: {}", list(&program.globals))?;
    for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
        let locals = list(&procedure.locals);
        let (params, returns) = (procedure.params, procedure.returns);
        writeln!(
            output,
            "# {id} is {}; locals, {params} of them parameters and {returns} return slots: {locals}",
            one_line(&procedure.name)
        )?;
    }
    Ok(())
}

fn write_certificate(program: &Program, certificate: &Certificate, output: &mut dyn Write) -> io::Result<()> {
    match certificate {
        Certificate::NoViolationInReach => writeln!(output, "certificate no-violation-in-reach"),
        Certificate::PathEdges(edges) => path_edges(program, edges, output),
        Certificate::SystemStates(states) => system_states(program, states, output),
        Certificate::Relations(certificate) => relations(certificate, output),
        Certificate::KInductive(proof) => {
            writeln!(output, "certificate k-inductive\nk {}", proof.k)?;
            cuts(&proof.cuts, output)
        }
        Certificate::Unrolling(proof) => unrolling(proof, output),
        Certificate::Threads(proof) => threads::write(proof, output),
    }
}

fn path_edges(program: &Program, edges: &[PathEdge], output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "certificate path-edges")?;
    let globals = program.globals.len();
    for edge in edges {
        let PathEdge { procedure: id, node, entry, now, linked } = *edge;
        let procedure = program.procedure(id);
        let entry = show_values(globals + procedure.params as usize, entry, linked);
        let now = show_values(globals + procedure.locals.len(), now, linked);
        writeln!(output, "edge {id} {node} {entry} {now}")?;
    }
    Ok(())
}

fn system_states(program: &Program, states: &[SystemState], output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "certificate system-states")?;
    for state in states {
        let globals = show_values(program.globals.len(), state.globals, 0);
        writeln!(output, "state {} {globals}", show_option(state.holder))?;
        for thread in &state.threads {
            write!(output, "thread")?;
            for frame in thread {
                let width = program.procedure(frame.procedure).locals.len();
                let locals = show_values(width, frame.locals, 0);
                write!(output, " {} {} {locals}", frame.procedure, frame.node)?;
            }
            writeln!(output)?;
        }
    }
    Ok(())
}

/// Writes formulas.
pub(super) fn gates(formulas: &Formulas, output: &mut dyn Write) -> io::Result<()> {
    for (number, gate) in formulas.gates().iter().enumerate().skip(1) {
        match *gate {
            Gate::True => writeln!(output, "g{number} = true")?,
            Gate::Parameter(parameter) => writeln!(output, "g{number} = parameter {parameter}")?,
            Gate::And(a, b) => writeln!(output, "g{number} = and {} {}", Shown(a), Shown(b))?,
            Gate::Xor(a, b) => writeln!(output, "g{number} = xor {} {}", Shown(a), Shown(b))?,
        }
    }
    Ok(())
}

fn relations(certificate: &Relations, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "certificate relations")?;
    gates(&certificate.formulas, output)?;
    let components = |literals: &[Option<Literal>], output: &mut dyn Write| {
        literals.iter().try_for_each(|literal| match literal {
            Some(literal) => write!(output, " {}", Shown(*literal)),
            None => write!(output, " *"),
        })
    };
    for relation in &certificate.relations {
        write!(output, "relation {} ", relation.procedure)?;
        match relation.place {
            Place::Node(node) => write!(output, "{node}")?,
            Place::Failure => write!(output, "failure")?,
        }
        write!(output, " if {} entry", Shown(relation.guard))?;
        components(&relation.entry, output)?;
        write!(output, " now")?;
        components(&relation.now, output)?;
        writeln!(output)?;
    }
    for witness in &certificate.witnesses {
        write!(output, "witness {} {}", witness.obligation, witness.relation)?;
        for &(parameter, literal) in &witness.values {
            write!(output, " {parameter} {}", Shown(literal))?;
        }
        writeln!(output)?;
    }
    Ok(())
}

fn cuts(cuts: &[(ProcId, Node)], output: &mut dyn Write) -> io::Result<()> {
    cuts.iter().try_for_each(|(id, node)| writeln!(output, "cut {id} {node}"))
}

fn unrolling(proof: &Unrolling, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "certificate unrolling")?;
    cuts(&proof.cuts, output)?;
    for copy in &proof.copies {
        match copy.site {
            Site::Call(edge) => writeln!(output, "copy {} call {edge}", copy.parent)?,
            Site::Loop(node) => writeln!(output, "copy {} loop {node}", copy.parent)?,
        }
    }
    proof.different.iter().try_for_each(|(i, j)| writeln!(output, "different {i} {j}"))
}

fn show_state(state: &State) -> String {
    format!("{} {}", show_valuation(&state.globals), show_valuation(&state.locals))
}

fn call_tree(tree: &CallTree, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "trace sequential")?;
    for (number, run) in tree.runs.iter().enumerate() {
        writeln!(output, "# r{number}")?;
        writeln!(output, "run {} {}", run.procedure, show_state(&run.entry))?;
        for step in &run.steps {
            let after = show_state(&step.after);
            match step.call {
                Some(callee) => writeln!(output, "call {} {callee} {after}", step.edge)?,
                None => writeln!(output, "step {} {after}", step.edge)?,
            }
        }
        match run.end {
            End::Exit => writeln!(output, "exit")?,
            End::Violation(Violation::Assertion(edge)) => writeln!(output, "fails {edge}")?,
            End::Violation(Violation::Label) => writeln!(output, "label")?,
            End::Inside { edge, run } => writeln!(output, "inside {edge} {run}")?,
        }
    }
    Ok(())
}

fn interleaving(run: &Interleaving, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "trace interleaved")?;
    system(&run.initial, output)?;
    for step in &run.steps {
        match step.action {
            Move::Edge(edge) => writeln!(output, "step {} {edge}", step.thread)?,
            Move::Return => writeln!(output, "step {} return", step.thread)?,
        }
        system(&step.after, output)?;
    }
    match run.violation {
        Violation::Assertion(edge) => writeln!(output, "violation {} {edge}", run.thread),
        Violation::Label => writeln!(output, "violation {} label", run.thread),
    }
}

fn system(system: &System, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "system {} {}", show_option(system.holder), show_valuation(&system.globals))?;
    for thread in &system.threads {
        write!(output, "thread {}", thread.id)?;
        for frame in &thread.frames {
            write!(output, " {} {} {}", frame.procedure, frame.node, show_valuation(&frame.locals))?;
        }
        writeln!(output)?;
    }
    Ok(())
}
