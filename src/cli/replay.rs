//! `cusp replay`.

use std::fmt::Write;

use crate::certify::certify;
use crate::check::prepare;
use crate::evidence::{Certificate, Trace, Verdict, text};
use crate::model::Task;
use crate::report::output::Output;
use crate::report::{self, Detail, Subject, View, diagnostics};
use crate::source::Source;

use super::Status;
use super::options::ReplayArgs;
use super::session::Session;

/// Checks evidence from a file against a program.
pub fn run(args: &ReplayArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let session =
        Session::new(args.limits.limits(), args.quiet, leave_at_once).checking_proofs(args.check_proofs);
    let source = match session.reading(|| Source::load(&args.program)) {
        Ok(source) => source,
        Err(error) => {
            output.message(&diagnostics::load_error(&error));
            return Status::BadInput;
        }
    };
    let prepared = match prepare(&source, &args.question.options()) {
        Ok(prepared) => prepared,
        Err(findings) => {
            let colour = output.colours_messages();
            output.message(&diagnostics::findings(&source, &findings, colour));
            return Status::BadInput;
        }
    };
    if !args.quiet {
        let colour = output.colours_messages();
        let mut remarks = diagnostics::findings(&source, &prepared.warnings, colour);
        for note in &prepared.notes {
            let _ = writeln!(remarks, "note: {note}");
        }
        output.message(&remarks);
    }
    let file = args.evidence.display();
    let evidence = match session.reading(|| std::fs::read(&args.evidence)).map(|bytes| text::read(&bytes)) {
        Ok(Ok(evidence)) => evidence,
        Ok(Err(error)) => {
            output.message(&format!("error: `{file}`, {error}\n"));
            return Status::BadInput;
        }
        Err(error) => {
            output.message(&format!("error: cannot read `{file}`: {error}\n"));
            return Status::BadInput;
        }
    };
    let task = &prepared.task;
    let verdict = Verdict::from(evidence);
    let mut checked = what_was_checked(task, &verdict);
    let (certified, _) = session.within_limits(source.name(), output, |budget, _| {
        let certified = certify(task, verdict, budget);
        if let Some(counts) = budget.checked_proofs() {
            let (proofs, steps) = (counts.proofs(), counts.steps());
            let _ = write!(checked, "\nchecked: proofs of the SAT solver (proofs: {proofs}, steps: {steps})");
        }
        certified
    });
    let certified = match certified {
        Ok(certified) => certified,
        Err(rejection) => {
            let name = source.name();
            output.message(&format!("error: `{file}` proves nothing about `{name}`: {rejection}\n"));
            return Status::BadInput;
        }
    };
    let status = Status::of(certified.verdict());
    let subject = Subject { source: &source, task, certified: &certified, engine: "no", by_chance: false };
    let colour = output.colours_answers();
    if args.quiet {
        output.answer(&report::verdict_line(&subject, colour));
        return status;
    }
    let view = View { detail: Detail::from(args.trace), colour, width: output.width() };
    let mut answer = report::text(&subject, view);
    if !matches!(status, Status::Unknown | Status::Interrupted) {
        let _ = writeln!(answer, "checked: {checked}");
    }
    output.answer(&answer);
    status
}

/// What an accepted file shows, in plain words.
fn what_was_checked(task: &Task, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Unknown(_) => "nothing".to_owned(),
        Verdict::Unsafe(Trace::Sequential(tree)) => {
            let runs = tree.runs.len();
            format!(
                "every step of the run is one that the program allows, and its end violates the property \
                     (runs of procedures: {runs})"
            )
        }
        Verdict::Unsafe(Trace::Interleaved(run)) => format!(
            "every step of every thread is one that the program allows, and the last state violates the \
             property (steps: {})",
            run.steps.len()
        ),
        Verdict::Safe(certificate) => of_certificate(task, certificate),
    }
}

fn of_certificate(task: &Task, certificate: &Certificate) -> String {
    let procedures = task.program.procedures.len();
    match certificate {
        Certificate::NoViolationInReach => {
            "whatever the data, control does not come to a statement that could violate the property"
                .to_owned()
        }
        Certificate::PathEdges(edges) => format!(
            "the path edges hold every start, are closed under every step, call and return, and violate nothing \
             (path edges: {})",
            edges.len()
        ),
        Certificate::SystemStates(states) => format!(
            "the states hold every start, are closed under every step of every thread, and violate nothing \
             (states: {})",
            states.len()
        ),
        Certificate::Relations(proof) => format!(
            "the relations hold every start, are closed under every block, call and return, and no start leads \
             to a violation (relations: {}, witnesses: {}, procedures: {procedures})",
            proof.relations.len(),
            proof.witnesses.len()
        ),
        Certificate::KInductive(proof) => format!(
            "no run violates the property in its first {} blocks, and none does after {} more between different \
             states (loop heads: {})",
            proof.k,
            proof.k,
            proof.cuts.len()
        ),
        Certificate::Unrolling(proof) => format!(
            "no run through the unrolled blocks, or out of them, violates the property (blocks: {}, loop heads: \
             {}, pairs that differ: {})",
            proof.copies.len() + 1,
            proof.cuts.len(),
            proof.different.len()
        ),
    }
}
