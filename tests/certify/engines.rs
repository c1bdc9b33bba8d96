//! The evidence of every engine with one thing changed: rejected, or still a proof by a naive check.

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::engines::Bounds;
use cusp::evidence::{BlockCopy, Certificate, KInductive, Relations, Trace, Unrolling, Verdict};
use cusp::model::Task;
use cusp::pipeline::Route;
use cusp::pipeline::table::HasEngines;
use cusp::progress::Quiet;

use super::accepted;
use super::generate::{Rng, sequential};
use super::oracle::Sequential;
use super::oracle_relations::{is_proof, parameters};
use super::path_edges::changed_path_edges;
use super::relations::mutate;
use super::traces::check_damage;

/// How many changes of the evidence of one engine were rejected, and how many were still right.
#[derive(Default)]
struct Count {
    traces: usize,
    certificates: usize,
    rejected: usize,
    right: usize,
}

#[test]
fn changed_evidence_of_every_engine_is_judged_rightly() {
    for row in Task::ENGINES {
        let name = row.name;
        // Evidence about programs with threads has tests of its own.
        if row.engine(Bounds::default()).accepts(&sequential(0)).is_err() {
            continue;
        }
        let mut count = Count::default();
        for seed in 0..120 {
            let task = sequential(seed);
            // Recursion may have to be unrolled very far.
            let bounds = Bounds { depth: Some(12), recursion: Some(3), unwind: None, switches: None };
            let verdict = row.engine(bounds).run(&task, &Budget::unlimited(), &Quiet);
            if matches!(verdict, Verdict::Unknown(_)) {
                continue;
            }
            let verdict = task.complete(verdict, &Budget::unlimited()).expect("witnesses");
            let kept = certify(&task, verdict.clone(), &Budget::unlimited());
            assert!(kept.is_ok(), "seed {seed}, {name}: {kept:?}");
            let mut rng = Rng::new(seed + 4_000_000);
            change(&task, verdict, &mut rng, &mut count, &format!("seed {seed}, {name}"));
        }
        let Count { traces, certificates, rejected, right } = count;
        assert!(
            traces >= 10 && certificates >= 10 && rejected >= 500,
            "{name}: {traces} traces, {certificates} certificates, {rejected} changes rejected, {right} right"
        );
    }
}

fn change(task: &Task, verdict: Verdict, rng: &mut Rng, count: &mut Count, what: &str) {
    let mut judge = |certificate: Certificate, is_right: &dyn Fn() -> bool| {
        let change = format!("{certificate:#?}");
        if accepted(task, Verdict::Safe(certificate)) {
            assert!(is_right(), "{what}: accepted, and no proof: {change}");
            count.right += 1;
        } else {
            count.rejected += 1;
        }
    };
    match verdict {
        Verdict::Unsafe(Trace::Sequential(tree)) => {
            count.traces += 1;
            count.rejected += check_damage(task, &tree);
        }
        Verdict::Safe(Certificate::PathEdges(edges)) if !edges.is_empty() => {
            count.certificates += 1;
            let oracle = Sequential::new(task);
            for (changed, _) in changed_path_edges(&oracle, &edges, rng) {
                let is_inductive = || {
                    let (violation, missing) = oracle.obligations(&oracle.points(&changed));
                    !violation && missing.is_empty()
                };
                judge(Certificate::PathEdges(changed.clone()), &is_inductive);
            }
        }
        // By brute force over all parameters.
        Verdict::Safe(Certificate::Relations(relations)) if parameters(&relations) <= 14 => {
            count.certificates += 1;
            for changed in changed_relations(task, &relations, rng) {
                judge(Certificate::Relations(changed.clone()), &|| is_proof(task, &changed));
            }
        }
        // A program that these are accepted for is safe, which the tests with changed programs ask; here it
        // is safe anyway.
        Verdict::Safe(Certificate::KInductive(proof)) => {
            count.certificates += 1;
            for changed in changed_inductions(&proof) {
                judge(Certificate::KInductive(changed), &|| true);
            }
        }
        Verdict::Safe(Certificate::Unrolling(proof)) => {
            count.certificates += 1;
            for changed in changed_unrollings(&proof) {
                judge(Certificate::Unrolling(changed), &|| true);
            }
        }
        _ => {}
    }
}

/// Ten random changes, and the certificate without its witnesses.
fn changed_relations(task: &Task, relations: &Relations, rng: &mut Rng) -> Vec<Relations> {
    let mut all: Vec<Relations> = (0..10)
        .map(|_| {
            let mut changed = relations.clone();
            mutate(&mut changed, task, rng);
            changed
        })
        .collect();
    all.push(Relations { witnesses: Vec::new(), ..relations.clone() });
    all
}

fn changed_inductions(proof: &KInductive) -> Vec<KInductive> {
    let mut all: Vec<KInductive> = [proof.k.saturating_sub(1), proof.k + 1, 0]
        .map(|k| KInductive { k, ..proof.clone() })
        .into_iter()
        .collect();
    all.extend((0..proof.cuts.len()).map(|i| {
        let mut fewer = proof.clone();
        fewer.cuts.remove(i);
        fewer
    }));
    all
}

fn changed_unrollings(proof: &Unrolling) -> Vec<Unrolling> {
    let mut all = Vec::new();
    for i in 0..proof.cuts.len() {
        let mut fewer = proof.clone();
        fewer.cuts.remove(i);
        all.push(fewer);
    }
    for i in 0..proof.copies.len() {
        let mut fewer = proof.clone();
        fewer.copies.remove(i);
        all.push(fewer);
        let mut other = proof.clone();
        other.copies[i] = BlockCopy { parent: i as u32 + 1, ..other.copies[i] };
        all.push(other);
    }
    for i in 0..proof.different.len() {
        let mut fewer = proof.clone();
        fewer.different.remove(i);
        all.push(fewer);
    }
    let last = proof.copies.len() as u32;
    let mut more = proof.clone();
    more.different.push((last, last));
    all.push(more);
    all
}
