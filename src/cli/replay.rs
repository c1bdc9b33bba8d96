//! `cusp replay`.

use std::convert::identity;
use std::fmt::Write;
use std::sync::Arc;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection, certify};
use crate::check::prepare_within;
use crate::evidence::text::{self, Evidence};
use crate::evidence::{Certificate, ThreadInvariant, ThreadProof, Trace, Verdict};
use crate::model::Task;
use crate::progress::Progress;
use crate::report::output::Output;
use crate::report::{self, Detail, Subject, View, diagnostics};
use crate::source::{Source, read_file_unless};

use super::Status;
use super::options::ReplayArgs;
use super::session::{Session, unless_stopped};

/// Checks evidence from a file against a program.
pub fn run(args: &ReplayArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let session =
        Session::new(args.limits.limits(), args.quiet, leave_at_once).checking_proofs(args.check_proofs);
    let run = session.begin();
    let path = args.program.clone();
    let source = match run.reading(move |budget| Source::load_unless(&path, &|| budget.exhausted().is_some()))
    {
        Ok(Ok(source)) => Arc::new(source),
        Ok(Err(error)) => {
            output.message(&diagnostics::load_error(&error));
            return Status::BadInput;
        }
        Err(reason) => return session.unanswered(None, &Source::name_of(&args.program), &reason, output),
    };
    let work = {
        let (source, options) = (Arc::clone(&source), args.question.options());
        move |budget: &Budget, _: &dyn Progress| {
            unless_stopped(prepare_within(&source, &options, budget), budget)
        }
    };
    let prepared = match run.within_limits(source.name(), output, work).0.and_then(identity) {
        Ok(Ok(prepared)) => Arc::new(prepared),
        Ok(Err(findings)) => {
            let colour = output.colours_messages();
            output.message(&diagnostics::findings(&source, &findings, colour));
            return Status::BadInput;
        }
        Err(reason) => return session.unanswered(None, source.name(), &reason, output),
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
    let path = args.evidence.clone();
    let bytes = match run.reading(move |budget| read_file_unless(&path, &|| budget.exhausted().is_some())) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            output.message(&format!("error: cannot read `{file}`: {error}\n"));
            return Status::BadInput;
        }
        Err(reason) => return session.unanswered(None, source.name(), &reason, output),
    };
    let work = {
        let prepared = Arc::clone(&prepared);
        move |budget: &Budget, _: &dyn Progress| {
            let stop = || budget.exhausted().is_some();
            unless_stopped(text::read_unless(&bytes, &stop), budget).map(|evidence| {
                drop(bytes);
                evidence.map(|evidence| check_evidence(&prepared.task, evidence, budget))
            })
        }
    };
    let (certified, checked) = match run.within_limits(source.name(), output, work).0.and_then(identity) {
        Ok(Ok(checked)) => checked,
        Ok(Err(error)) => {
            output.message(&format!("error: `{file}`, {error}\n"));
            return Status::BadInput;
        }
        Err(reason) => return session.unanswered(None, source.name(), &reason, output),
    };
    let certified = match certified {
        Ok(certified) => certified,
        Err(rejection) => {
            let name = source.name();
            output.message(&format!("error: `{file}` proves nothing about `{name}`: {rejection}\n"));
            return Status::BadInput;
        }
    };
    let status = Status::of(certified.verdict());
    let task = &prepared.task;
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

/// Checks evidence, and says what that means in plain words.
fn check_evidence(
    task: &Task,
    evidence: Evidence,
    budget: &Budget,
) -> (Result<Certified, Rejection>, String) {
    let verdict = Verdict::from(evidence);
    let mut checked = what_was_checked(task, &verdict);
    let certified = certify(task, verdict, budget);
    if let Some(counts) = budget.checked_proofs() {
        let (proofs, steps) = (counts.proofs(), counts.steps());
        let _ = write!(checked, "\nchecked: proofs of the SAT solver (proofs: {proofs}, steps: {steps})");
    }
    (certified, checked)
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
        Certificate::Threads(ThreadProof { cuts, invariant: ThreadInvariant::Induction(proof), .. }) => {
            format!(
                "nobody can notice where between two cuts a thread is, the facts hold in reach, no run violates the \
             property in its first {} large steps, and none does after {} more between different states (facts: {}, \
             cuts: {})",
                proof.k,
                proof.k,
                proof.facts.len(),
                cuts.len()
            )
        }
        Certificate::Threads(proof) => {
            let (what, count) = proof.invariant.size();
            format!(
                "nobody can notice where between two cuts a thread is, and the {what} hold every start, are closed \
                 under every large step of every thread, and violate nothing ({what}: {count}, cuts: {})",
                proof.cuts.len()
            )
        }
    }
}
