//! Path-edge certificates against a naive check of the same sets, point by point.

use std::collections::BTreeSet;

use cusp::evidence::{Certificate, PathEdge, Verdict};
use cusp::model::cube::{Cube, low_bits};
use cusp::model::{Node, ProcId, Task};

use super::generate::{Rng, assertions, sequential};
use super::oracle::Sequential;
use super::{accepted, rejection};

fn accepts(task: &Task, edges: &[PathEdge]) -> bool {
    accepted(task, Verdict::Safe(Certificate::PathEdges(edges.to_vec())))
}

/// Both checks of one certificate must agree; tells what they say.
fn agree(task: &Task, edges: &[PathEdge], what: &str, seed: u64) -> bool {
    let oracle = Sequential::new(task);
    let (violation, missing) = oracle.obligations(&oracle.points(edges));
    let inductive = !violation && missing.is_empty();
    let accepts = accepts(task, edges);
    assert_eq!(accepts, inductive, "seed {seed}, {what}: {violation} {missing:?}\n{edges:#?}");
    accepts
}

/// The edges with one of them left out, made larger, made smaller, and put elsewhere; there must be one.
pub fn changed_path_edges(
    oracle: &Sequential,
    edges: &[PathEdge],
    rng: &mut Rng,
) -> [(Vec<PathEdge>, &'static str); 4] {
    let mut fewer = edges.to_vec();
    fewer.remove(rng.below(fewer.len()));
    let mut changed = |change: &dyn Fn(&PathEdge, &mut Rng) -> PathEdge| {
        let mut edges = edges.to_vec();
        let position = rng.below(edges.len());
        edges[position] = change(&edges[position], rng);
        edges
    };
    let wider = changed(&|edge, rng| oracle.loosened(edge, rng));
    let narrower = changed(&|edge, rng| oracle.narrowed(edge, rng));
    let moved = changed(&|edge, rng| {
        let nodes = oracle.task.program.procedure(edge.procedure).nodes as usize;
        PathEdge { node: Node::from_index(rng.below(nodes)), ..*edge }
    });
    [
        (fewer, "without an edge"),
        (wider, "with a larger edge"),
        (narrower, "with a smaller edge"),
        (moved, "with an edge elsewhere"),
    ]
}

#[test]
fn random_certificates_are_accepted_if_and_only_if_they_are_inductive() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..250 {
        let task = sequential(seed);
        let oracle = Sequential::new(&task);
        let mut rng = Rng::new(seed + 1_000_000);
        let mut set = oracle.closure(BTreeSet::new());
        let mut count = |accepts: bool| if accepts { accepted += 1 } else { rejected += 1 };
        let mut sorted: Vec<_> = set.iter().copied().collect();
        sorted.sort_unstable();
        let exact: Vec<PathEdge> = sorted.iter().map(|&point| oracle.path_edge(point)).collect();
        count(agree(&task, &exact, "the least set", seed));
        // An `enforce` that never holds leaves no state at all.
        let rounds = if set.is_empty() { 0 } else { 4 };
        for round in 0..rounds {
            let edges = oracle.compress(&set, &mut rng);
            count(agree(&task, &edges, "compressed", seed));
            let changed = changed_path_edges(&oracle, &edges, &mut rng);
            for (changed, what) in &changed {
                count(agree(&task, changed, what, seed));
            }
            let wider = &changed[1].0;
            // A larger inductive set, for the next round.
            if round < 3 {
                set = oracle.closure(oracle.points(wider));
            }
        }
    }
    assert!(accepted > 500 && rejected > 500, "{accepted} accepted, {rejected} rejected");
}

/// `main` negates what it gets back; `f` returns its argument.
const CALLER: &str = "decl g; void main() begin g := f(g); assert(g | !g); end
                      bool f(p) begin return p; end";

fn caller_certificate() -> (Task, Vec<PathEdge>) {
    let task = assertions(CALLER);
    let oracle = Sequential::new(&task);
    let set = oracle.closure(BTreeSet::new());
    let edges = oracle.compress(&set, &mut Rng::new(7));
    (task, edges)
}

#[test]
fn malformed_path_edges_are_rejected_with_a_sentence() {
    type Damage = fn(&mut PathEdge);
    let (task, edges) = caller_certificate();
    assert!(accepts(&task, &edges));
    let damages: [(Damage, &str); 6] = [
        (|edge| edge.procedure = ProcId::from_index(9), "there is no procedure p9"),
        (|edge| edge.node = Node::from_index(99), "has no node n99"),
        (|edge| edge.now = edge.now.with(100, true), "does not have"),
        (|edge| edge.entry = edge.entry.with(127, true), "neither global nor parameter"),
        (|edge| edge.linked = 1 << 126, "neither global nor parameter"),
        (
            |edge| {
                edge.now = edge.now.with(0, true);
                edge.linked |= 1;
            },
            "links a variable that is fixed",
        ),
    ];
    for (damage, sentence) in damages {
        for position in 0..edges.len() {
            let mut damaged = edges.clone();
            damage(&mut damaged[position]);
            let why = rejection(&task, Verdict::Safe(Certificate::PathEdges(damaged)));
            assert!(why.contains(sentence), "{why}");
        }
    }
    assert!(rejection(&task, Verdict::Safe(Certificate::PathEdges(Vec::new()))).contains("the start"));
}

#[test]
fn what_is_not_covered_is_named() {
    let (task, edges) = caller_certificate();
    for (sentence, node) in [("the entry", 0), ("the successor", 1)] {
        let callee = 1;
        let keep = |edge: &&PathEdge| edge.procedure.index() != callee || edge.node.index() != node;
        let fewer: Vec<PathEdge> = edges.iter().filter(keep).copied().collect();
        let why = rejection(&task, Verdict::Safe(Certificate::PathEdges(fewer)));
        assert!(why.contains(sentence) && why.contains("is not covered"), "{why}");
    }
}

#[test]
fn wide_scopes_with_few_reads_are_cheap() {
    // 120 open globals, none of which is ever split.
    let names: Vec<String> = (0..120).map(|i| format!("g{i}")).collect();
    let text = format!(
        "decl {}; void main() begin g7 := g3 & !g5; assert(g7 => g3); f(); end void f() begin skip; end",
        names.join(", ")
    );
    let task = assertions(&text);
    let all = |procedure: usize, node: usize, linked: u128, now: Cube| PathEdge {
        procedure: ProcId::from_index(procedure),
        node: Node::from_index(node),
        entry: Cube::ANY,
        now,
        linked,
    };
    let program = &task.program;
    let all_globals = low_bits(120);
    let mut edges = Vec::new();
    for (id, procedure) in program.procedures.iter().enumerate() {
        for node in 0..procedure.nodes as usize {
            let written = procedure.name == "main" && node != 0 && node != 2;
            if written {
                edges.push(all(id, node, all_globals & !(1 << 7), Cube::ANY.with(7, false)));
                let held = Cube::ANY.with(7, true).with(3, true);
                edges.push(all(id, node, all_globals & !(1 << 7 | 1 << 3), held));
            } else {
                edges.push(all(id, node, all_globals, Cube::ANY));
            }
        }
    }
    assert!(accepts(&task, &edges));
}

#[test]
fn scopes_that_no_cube_holds_are_rejected() {
    let names: Vec<String> = (0..130).map(|i| format!("g{i}")).collect();
    let task = assertions(&format!("decl {}; void main() begin skip; end", names.join(", ")));
    let why = rejection(&task, Verdict::Safe(Certificate::PathEdges(Vec::new())));
    assert!(why.contains("130 variables"), "{why}");
}

/// All states at all nodes of a program that negates its globals one after the other and hands
/// half of them to a procedure, with the entry forgotten.
fn large_certificate(globals: usize) -> (Task, Vec<PathEdge>) {
    let names: Vec<String> = (0..globals).map(|i| format!("g{i}")).collect();
    let negations: Vec<String> = names.iter().map(|name| format!("{name} := !{name};")).collect();
    let (first, second) = negations.split_at(globals / 2);
    let text = format!(
        "decl {}; void main() begin while * do {} f(); od end void f() begin {} end",
        names.join(", "),
        first.join(" "),
        second.join(" ")
    );
    let task = assertions(&text);
    let mut edges = Vec::new();
    for (id, procedure) in task.program.procedures.iter().enumerate() {
        for node in 0..procedure.nodes as usize {
            edges.extend((0..1_u128 << globals).map(|state| PathEdge {
                procedure: ProcId::from_index(id),
                node: Node::from_index(node),
                // A summary must know its entry, or every call fits every exit.
                entry: if procedure.name == "f" { entry_of(state, node, globals) } else { Cube::ANY },
                now: Cube::new((1 << globals) - 1, state),
                linked: 0,
            }));
        }
    }
    (task, edges)
}

/// What `f` was entered with: at its nodes, more and more of the second half are negated.
fn entry_of(state: u128, node: usize, globals: usize) -> Cube {
    let half = globals - globals / 2;
    let done = match node {
        0 => 0,
        1 => half,
        node => (node - 2).min(half),
    };
    let negated = ((1 << done) - 1) << (globals / 2);
    Cube::new((1 << globals) - 1, state ^ negated)
}

#[test]
fn large_certificates_are_checked_in_about_linear_time() {
    let (task, mut edges) = large_certificate(10);
    assert!(edges.len() > 10_000);
    assert!(accepts(&task, &edges));
    edges.swap_remove(5_000);
    assert!(!accepts(&task, &edges));
}
