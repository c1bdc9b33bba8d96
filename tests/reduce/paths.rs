//! Unrollings and k-inductive proofs: what proves the reduced task proves, lifted, the original one.

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::evidence::{BlockCopy, Certificate, KInductive, Site, Unrolling, Verdict};
use cusp::model::cuts::Cuts;
use cusp::model::reduce::{Keep, reduce};
use cusp::model::{Action, Node, ProcId, Procedure, Program, Task};

use super::support::for_each_seed;
use super::support::random_programs::sequential_within;
use super::{SMALL, task_of};

fn loop_heads(program: &Program) -> Vec<(ProcId, Node)> {
    let heads = program
        .procedure_ids()
        .zip(&program.procedures)
        .map(|(id, procedure)| Cuts::of(procedure).heads().map(|node| (id, node)).collect::<Vec<_>>());
    heads.flatten().collect()
}

/// How control can leave a block, and where the next one begins.
fn sites(program: &Program, cuts: &[(ProcId, Node)], id: ProcId, begin: Node) -> Vec<(Site, ProcId, Node)> {
    let procedure = program.procedure(id);
    let mut found = Vec::new();
    let mut seen = vec![begin];
    let mut open = vec![begin];
    while let Some(node) = open.pop() {
        for (edge_id, edge) in procedure.edges_from(node) {
            if let Action::Call(call) = &edge.action {
                found.push((Site::Call(edge_id), call.callee, Procedure::ENTRY));
            }
            let site = (Site::Loop(edge.to), id, edge.to);
            if matches!(edge.action, Action::EndThread) || found.contains(&site) {
                continue;
            }
            if cuts.contains(&(id, edge.to)) {
                found.push(site);
            } else if !seen.contains(&edge.to) {
                seen.push(edge.to);
                open.push(edge.to);
            }
        }
    }
    found
}

/// The first copies of an unrolling, level by level; all copies of a block on one branch differ if wanted.
fn unroll(program: &Program, size: usize, follow: impl Fn(ProcId) -> bool, differ: bool) -> Unrolling {
    let cuts = loop_heads(program);
    let mut begins = vec![(program.start, Procedure::ENTRY)];
    let mut copies: Vec<BlockCopy> = Vec::new();
    let mut different = Vec::new();
    let mut next = 0;
    while next < begins.len() && copies.len() < size {
        let (id, begin) = begins[next];
        for (site, callee, node) in sites(program, &cuts, id, begin) {
            if matches!(site, Site::Call(_)) && !follow(callee) {
                continue;
            }
            copies.push(BlockCopy { parent: next as u32, site });
            begins.push((callee, node));
            let new = copies.len();
            let mut ancestor = differ.then_some(next);
            while let Some(copy) = ancestor {
                if begins[copy] == (callee, node) {
                    different.push((copy as u32, new as u32));
                }
                ancestor = copy.checked_sub(1).map(|i| copies[i].parent as usize);
            }
        }
        next += 1;
    }
    Unrolling { cuts, copies, different }
}

/// What became of certificates.
#[derive(Debug, Default)]
struct Counts {
    no_proof: usize,
    lifted: usize,
    unliftable: usize,
}

fn try_to_lift(
    task: &Task,
    keep: Keep,
    certificate: &Certificate,
    counts: &mut Counts,
) -> Result<(), String> {
    let budget = Budget::unlimited();
    let reduced = reduce(task, keep);
    if certify(&reduced.task, Verdict::Safe(certificate.clone()), &budget).is_err() {
        counts.no_proof += 1;
        return Ok(());
    }
    let Ok(verdict) = reduced.restore.lift(Verdict::Safe(certificate.clone()), &budget) else {
        counts.unliftable += 1;
        return Ok(());
    };
    counts.lifted += 1;
    let shown = format!("{}\nreduced:\n{}\n{certificate:?}", task.program, reduced.task.program);
    certify(task, verdict, &budget).map(|_| ()).map_err(|why| format!("{why}\n{shown}"))
}

#[test]
fn unrollings_are_kept_or_refused() {
    let counts = std::sync::Mutex::new([Counts::default(), Counts::default()]);
    for_each_seed(
        250,
        |seed| sequential_within(seed, SMALL),
        |text| {
            let task = task_of(text, None);
            for (i, keep) in [Keep::Verdict, Keep::States].into_iter().enumerate() {
                let reduced = reduce(&task, keep).task;
                for differ in [false, true] {
                    for open in [None, Some(text.len() % reduced.program.procedures.len())] {
                        let follow = |id: ProcId| Some(id.index()) != open;
                        let unrolling = unroll(&reduced.program, 12, follow, differ);
                        let certificate = Certificate::Unrolling(unrolling);
                        try_to_lift(
                            &task,
                            keep,
                            &certificate,
                            &mut counts.lock().expect("no check panics while it counts")[i],
                        )?;
                    }
                }
            }
            Ok(())
        },
    );
    let [verdict, states] = counts.into_inner().expect("no check panics while it counts");
    assert!(verdict.lifted > 50 && verdict.no_proof > 50, "{verdict:?}");
    assert!(states.lifted > 50 && states.unliftable == 0, "{states:?}");
}

#[test]
fn k_inductive_proofs_are_kept_where_states_are() {
    let counts = std::sync::Mutex::new(Counts::default());
    for_each_seed(
        250,
        |seed| sequential_within(seed, SMALL),
        |text| {
            let task = task_of(text, None);
            let reduced = reduce(&task, Keep::States).task;
            for k in [1, 3] {
                let proof = KInductive { cuts: loop_heads(&reduced.program), k };
                let certificate = Certificate::KInductive(proof);
                try_to_lift(
                    &task,
                    Keep::States,
                    &certificate,
                    &mut counts.lock().expect("no check panics while it counts"),
                )?;
            }
            Ok(())
        },
    );
    let counts = counts.into_inner().expect("no check panics while it counts");
    assert!(counts.lifted > 40 && counts.unliftable == 0, "{counts:?}");
}

#[test]
fn a_k_inductive_proof_is_no_proof_of_a_program_with_more_states() {
    let task = task_of("decl g; void main() begin g := T; while (*) do skip; od; assert(g); end", None);
    let proof = Verdict::Safe(Certificate::KInductive(KInductive { cuts: Vec::new(), k: 1 }));
    let reduced = reduce(&task, Keep::Verdict);
    assert!(reduced.restore.lift(proof, &Budget::unlimited()).is_err());
}
