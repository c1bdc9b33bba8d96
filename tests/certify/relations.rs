//! Certificates of relations against a naive check of the same sets, point by point.

use std::collections::BTreeSet;

use cusp::budget::Budget;
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::{Certificate, Gate, Literal, PathEdge, Place, Relation, Relations, Verdict, Witness};
use cusp::model::cube::Cube;
use cusp::model::{Node, ProcId, Procedure, Task};
use cusp::pipeline::witnesses::complete_witnesses;
use cusp::progress::Quiet;

use super::generate::{Rng, assertions, sequential};
use super::oracle_relations::{Sets, Style, certificate, closure, is_proof, random_cuts};
use super::{accepted, rejection};

fn accepts(task: &Task, relations: &Relations) -> bool {
    accepted(task, Verdict::Safe(Certificate::Relations(relations.clone())))
}

/// One small change, and what it is.
pub fn mutate(relations: &mut Relations, task: &Task, rng: &mut Rng) -> &'static str {
    let literals = relations.formulas.gates().len() as u32 * 2;
    if relations.relations.is_empty() {
        return "nothing";
    }
    let position = rng.below(relations.relations.len());
    let relation = &mut relations.relations[position];
    let width = relation.entry.len() + relation.now.len();
    let entry = relation.entry.len();
    let at = rng.below(width.max(1));
    let mut components = relation.entry.iter_mut().chain(&mut relation.now);
    match rng.below(8) {
        0 => {
            relations.relations.remove(position);
            "without a relation"
        }
        1 => {
            relation.guard = !relation.guard;
            "with another guard"
        }
        2 if width > 0 => {
            let component = components.nth(at).expect("there is one");
            *component = component.map(|literal| !literal);
            "with a flipped component"
        }
        3 if width > 0 => {
            *components.nth(at).expect("there is one") = None;
            "with any value for a component"
        }
        4 if width > 0 => {
            *components.nth(at).expect("there is one") = Some(Literal::constant(rng.chance(50)));
            "with a constant component"
        }
        5 if relation.place != Place::Failure => {
            let nodes = task.program.procedure(relation.procedure).nodes as usize;
            relation.place = Place::Node(Node::from_index(rng.below(nodes)));
            "with a relation elsewhere"
        }
        6 if width > entry => {
            let literal = Literal(rng.below(literals as usize) as u32);
            *components.nth(at).expect("there is one") = Some(literal);
            "with another formula"
        }
        _ => {
            let copy = relation.clone();
            relations.relations.push(copy);
            "with a relation twice"
        }
    }
}

#[test]
fn random_relations_are_accepted_if_and_only_if_they_are_inductive() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..100 {
        let task = sequential(seed);
        let mut rng = Rng::new(seed + 2_000_000);
        let cuts = random_cuts(&task, &mut |bound| rng.below(bound));
        let sets = closure(&task, Sets { cuts, ..Sets::default() });
        for _ in 0..2 {
            let styles = [Style::Points, Style::Guard, Style::Guard, Style::AnyValue];
            let relations = certificate(&task, &sets, &mut || rng.pick(&styles));
            let mut agree = |relations: &Relations, what: &str| {
                let is_proof = is_proof(&task, relations);
                if accepts(&task, relations) {
                    assert!(is_proof, "seed {seed}, {what}: {relations:#?}");
                }
                // A component that was changed may leave its parameter open.
                let mut complete = relations.clone();
                let witnesses = complete_witnesses(&task, &mut complete, &Budget::unlimited());
                let accepts = accepts(&task, &complete);
                assert_eq!(accepts, is_proof, "seed {seed}, {what}: {witnesses:?} {relations:#?}");
                if accepts { accepted += 1 } else { rejected += 1 }
            };
            agree(&relations, "the least sets");
            assert_eq!(accepts(&task, &relations), is_proof(&task, &relations), "seed {seed}");
            for _ in 0..8 {
                let mut mutated = relations.clone();
                let what = mutate(&mut mutated, &task, &mut rng);
                agree(&mutated, what);
            }
        }
    }
    assert!(accepted > 200 && rejected > 200, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn open_parameters_need_witnesses_and_get_them() {
    let budget = Budget::unlimited();
    let (mut accepted, mut rejected, mut dropped) = (0, 0, 0);
    for seed in 0..80 {
        let task = sequential(seed);
        let mut rng = Rng::new(seed + 3_000_000);
        let cuts = random_cuts(&task, &mut |bound| rng.below(bound));
        let sets = closure(&task, Sets { cuts, ..Sets::default() });
        let styles = [Style::Points, Style::Guard, Style::Choice, Style::Choice];
        let mut relations = certificate(&task, &sets, &mut || rng.pick(&styles));
        for round in 0..4 {
            let proof = is_proof(&task, &relations);
            let complete = complete_witnesses(&task, &mut relations, &budget);
            let accepts_it = accepts(&task, &relations);
            assert_eq!(accepts_it, proof, "seed {seed}, round {round}: {complete:?}\n{relations:#?}");
            if proof {
                complete.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
                accepted += 1;
                // With fewer or other witnesses a proof is accepted or not, but nothing goes wrong.
                let mut fewer = relations.clone();
                fewer.witnesses.clear();
                dropped += usize::from(!accepts(&task, &fewer));
                let mut other = relations.clone();
                for (_, literal) in other.witnesses.iter_mut().flat_map(|witness| &mut witness.values) {
                    *literal = if rng.chance(50) { !*literal } else { *literal };
                }
                let _ = accepts(&task, &other);
            } else {
                rejected += 1;
            }
            mutate(&mut relations, &task, &mut rng);
            relations.witnesses.clear();
        }
    }
    assert!(accepted > 40 && rejected > 40 && dropped > 10, "{accepted} {rejected} {dropped}");
}

/// The path edges at cuts, one relation each: a linked variable is a parameter in both states.
fn from_path_edges(task: &Task, edges: &[PathEdge], cuts: &BTreeSet<(usize, usize)>) -> Relations {
    let mut relations = Relations::default();
    let globals = task.program.globals.len() as u32;
    let parameters: Vec<Literal> = (0..8).map(|i| relations.formulas.add(Gate::Parameter(i))).collect();
    for &(procedure, node) in cuts {
        let body = &task.program.procedures[procedure];
        relations.relations.push(Relation {
            procedure: ProcId::from_index(procedure),
            place: Place::Node(Node::from_index(node)),
            guard: Literal::FALSE,
            entry: vec![None; (globals + body.params) as usize],
            now: vec![None; globals as usize + body.locals.len()],
        });
    }
    for edge in edges {
        let (procedure, node) = (edge.procedure.index(), edge.node.index());
        if node > 1 && !cuts.contains(&(procedure, node)) {
            continue;
        }
        let body = &task.program.procedures[procedure];
        let component = |cube: Cube, i: u32| match cube.get(i) {
            Some(value) => Some(Literal::constant(value)),
            None if edge.linked >> i & 1 == 1 => Some(parameters[i as usize]),
            None => None,
        };
        relations.relations.push(Relation {
            procedure: edge.procedure,
            place: Place::Node(edge.node),
            guard: Literal::TRUE,
            entry: (0..globals + body.params).map(|i| component(edge.entry, i)).collect(),
            now: (0..globals + body.locals.len() as u32).map(|i| component(edge.now, i)).collect(),
        });
    }
    relations
}

#[test]
fn path_edges_at_cuts_are_relations() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..200 {
        let task = sequential(seed);
        let verdict = Explicit::default().run(&task, &Budget::unlimited(), &Quiet);
        let Verdict::Safe(Certificate::PathEdges(edges)) = verdict else { continue };
        let mut rng = Rng::new(seed + 7_000_000);
        let cuts = random_cuts(&task, &mut |bound| rng.below(bound));
        let relations = from_path_edges(&task, &edges, &cuts);
        assert!(is_proof(&task, &relations), "seed {seed}");
        assert!(accepts(&task, &relations), "seed {seed}: {relations:#?}");
        for _ in 0..6 {
            let mut mutated = relations.clone();
            let what = mutate(&mut mutated, &task, &mut rng);
            // A parameter may lose the component that determined it; then a witness is needed.
            let _ = complete_witnesses(&task, &mut mutated, &Budget::unlimited());
            let (accepts, is_proof) = (accepts(&task, &mutated), is_proof(&task, &mutated));
            assert_eq!(accepts, is_proof, "seed {seed}, {what}: {mutated:#?}");
            if accepts { accepted += 1 } else { rejected += 1 }
        }
    }
    assert!(accepted > 50 && rejected > 50, "{accepted} accepted, {rejected} rejected");
}

/// `main` sets the global and calls `f`, which leaves it as it is, however deep it calls itself.
const RECURSIVE: &str = "decl g; void main() begin g := T; f(); assert(g); end
                         void f() begin if (*) then f(); fi end";

/// The relations of [`RECURSIVE`], written by hand: `main` starts anywhere and ends with `g`, `f` changes
/// nothing.
fn recursive() -> (Task, Relations) {
    let task = assertions(RECURSIVE);
    let mut relations = Relations::default();
    let g = relations.formulas.add(Gate::Parameter(0));
    let f = task.program.procedures.iter().position(|p| p.name == "f").expect("f");
    let mut add = |procedure: usize, node, entry, now| {
        relations.relations.push(Relation {
            procedure: ProcId::from_index(procedure),
            place: Place::Node(node),
            guard: Literal::TRUE,
            entry: vec![entry],
            now: vec![now],
        });
    };
    let main = task.program.start.index();
    add(main, Procedure::ENTRY, Some(g), Some(g));
    add(main, Procedure::EXIT, None, Some(Literal::TRUE));
    add(f, Procedure::ENTRY, Some(g), Some(g));
    add(f, Procedure::EXIT, Some(g), Some(g));
    (task, relations)
}

#[test]
fn a_proof_by_hand_is_accepted_and_every_gap_is_named() {
    type Damage = fn(&mut Relations);
    let (task, relations) = recursive();
    assert!(accepts(&task, &relations));
    let damages: [(Damage, &str); 12] = [
        (|r| drop(r.relations.remove(0)), "a start state is not in the relation"),
        (|r| drop(r.relations.remove(1)), "a pair comes to n1 that is not in the relation there"),
        (|r| drop(r.relations.remove(2)), "calls `f` with an entry that is not in the relation"),
        (|r| r.relations[2].guard = Literal::FALSE, "calls `f` with an entry"),
        (|r| r.relations[3].now[0] = None, "the property may be violated"),
        (|r| r.relations[3].now[0] = r.relations[3].now[0].map(|g| !g), "the property may be violated"),
        (|r| r.relations[0].procedure = ProcId::from_index(7), "there is no procedure p7"),
        (|r| r.relations[0].place = Place::Node(Node::from_index(77)), "has no node n77"),
        (|r| r.relations[0].entry.push(None), "globals and parameters"),
        (|r| r.relations[0].now.clear(), "should have 1 values"),
        (|r| r.relations[0].guard = Literal(99), "a formula that does not exist"),
        (
            |r| r.witnesses.push(Witness { obligation: 999, relation: 0, values: Vec::new() }),
            "a witness refers to obligation 999",
        ),
    ];
    for (damage, sentence) in damages {
        let mut damaged = relations.clone();
        damage(&mut damaged);
        let why = rejection(&task, Verdict::Safe(Certificate::Relations(damaged)));
        assert!(why.contains(sentence), "{why}");
    }
    // A start state among the failures, however they are justified.
    let mut failing = relations;
    failing.relations.push(Relation {
        procedure: task.program.start,
        place: Place::Failure,
        guard: Literal::TRUE,
        entry: vec![Some(Literal::TRUE)],
        now: Vec::new(),
    });
    let why = rejection(&task, Verdict::Safe(Certificate::Relations(failing)));
    assert!(why.contains("among the failures of the start procedure"), "{why}");
}

#[test]
fn a_missing_witness_is_named() {
    let (task, mut relations) = recursive();
    // The same set, with a parameter that no component shows: `g` is one or the other.
    let p = relations.formulas.add(Gate::Parameter(1));
    let q = relations.formulas.add(Gate::Parameter(2));
    let either = relations.formulas.add(Gate::Xor(p, q));
    (relations.relations[2].entry[0], relations.relations[2].now[0]) = (Some(either), Some(either));
    assert!(is_proof(&task, &relations));
    let why = rejection(&task, Verdict::Safe(Certificate::Relations(relations.clone())));
    assert!(why.contains("leaves parameter 1 open, and no witness fixes it"), "{why}");
    complete_witnesses(&task, &mut relations, &Budget::unlimited()).expect("a proof");
    assert!(!relations.witnesses.is_empty());
    assert!(accepts(&task, &relations));
    let mut wrong = relations.clone();
    for (_, literal) in wrong.witnesses.iter_mut().flat_map(|witness| &mut witness.values).take(1) {
        *literal = !*literal;
    }
    assert!(!accepts(&task, &wrong));
    let variable = wrong.formulas.add(Gate::Parameter(1 << 20));
    wrong.witnesses[0].values[0].1 = variable;
    let why = rejection(&task, Verdict::Safe(Certificate::Relations(wrong)));
    assert!(why.contains("a witness refers to variable 1048576"), "{why}");
}

/// Procedures in a chain, each with a loop and branches; `b` holds throughout and nobody changes `a`.
fn chain(procedures: usize, branches: usize) -> Task {
    let branch = "if (a) then c := !c; c := c & d; else c := d; fi\n".repeat(branches);
    let mut text = "decl a, b, c, d;\nvoid main() begin b := T; f0(a); assert(b); end\n".to_owned();
    for i in 0..procedures {
        let call = if i + 1 < procedures { format!("f{}(y);\nf{0}(!y);\n", i + 1) } else { String::new() };
        text.push_str("void f");
        text.push_str(&i.to_string());
        text.push_str("(x) begin decl y; y := x;\n");
        text.push_str(&branch);
        text.push_str("while (*) do y := !y; assert(b); od\n");
        text.push_str(&call);
        text.push_str("assert(b & (a = x | y | !y));\nend\n");
    }
    assertions(&text)
}

/// The same relation at entries, exits and loop heads: `b` holds, `a` and the parameter are as they were.
fn chain_certificate(task: &Task) -> Relations {
    let mut relations = Relations::default();
    for (id, procedure) in task.program.procedures.iter().enumerate() {
        let is_main = procedure.name == "main";
        let mut formula = |i| Some(relations.formulas.add(Gate::Parameter(i)));
        let [a, b, x] = [formula(0), formula(1), formula(2)];
        let mut places = vec![Procedure::ENTRY, Procedure::EXIT];
        let into = |node: usize| {
            procedure.edges.iter().filter(|edge| edge.to.index() == node && edge.from > edge.to).count()
        };
        places.extend((2..procedure.nodes as usize).filter(|&node| into(node) > 0).map(Node::from_index));
        for node in places {
            let any_b = is_main && node == Procedure::ENTRY;
            let entry_b = if is_main { None } else { b };
            let mut entry = vec![a, entry_b, None, None];
            let mut now = vec![a, if any_b { None } else { b }, None, None];
            if !is_main {
                entry.push(x);
                now.extend([x, None]);
            }
            relations.relations.push(Relation {
                procedure: ProcId::from_index(id),
                place: Place::Node(node),
                guard: if any_b { Literal::TRUE } else { b.expect("a parameter") },
                entry,
                now,
            });
        }
    }
    relations
}

/// `CUSP_PROCEDURES=10000` makes it large: 350,000 edges, a second or two.
#[test]
fn large_relations_are_checked_in_about_linear_time() {
    let largest = std::env::var("CUSP_PROCEDURES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut times = Vec::new();
    for procedures in [largest / 4, largest] {
        let task = chain(procedures, 5);
        let relations = chain_certificate(&task);
        let begin = std::time::Instant::now();
        assert!(accepts(&task, &relations));
        times.push(begin.elapsed());
    }
    // Four times as much in less than eight times the time, with room for a busy machine.
    assert!(times[1] < times[0] * 16 + std::time::Duration::from_millis(500), "{times:?}");
}
