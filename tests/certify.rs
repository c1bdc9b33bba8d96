//! The checker of evidence: what is right is accepted, what is wrong is not.

#[path = "certify/engines.rs"]
mod engines;
#[path = "certify/generate.rs"]
mod generate;
#[path = "certify/induction.rs"]
mod induction;
#[path = "certify/interleavings.rs"]
mod interleavings;
#[path = "certify/oracle.rs"]
mod oracle;
#[path = "certify/oracle_cuts.rs"]
mod oracle_cuts;
#[path = "certify/oracle_relations.rs"]
mod oracle_relations;
#[path = "certify/oracle_threads.rs"]
mod oracle_threads;
#[path = "certify/path_edges.rs"]
mod path_edges;
#[path = "certify/relations.rs"]
mod relations;
#[path = "certify/runs.rs"]
mod runs;
#[path = "certify/system_states.rs"]
mod system_states;
#[path = "certify/thread_alone.rs"]
mod thread_alone;
#[path = "certify/thread_clauses.rs"]
mod thread_clauses;
#[path = "certify/thread_formulas.rs"]
mod thread_formulas;
#[path = "certify/thread_proofs.rs"]
mod thread_proofs;
#[path = "certify/traces.rs"]
mod traces;
#[path = "certify/unrolling.rs"]
mod unrolling;

use std::fmt::Write;
use std::time::{Duration, Instant};

use cusp::budget::{Budget, Limits};
use cusp::certify::certify;
use cusp::evidence::trace::CallTree;
use cusp::evidence::{Certificate, KInductive, Reason, Relations, Trace, Unrolling, Verdict};
use cusp::model::{Node, ProcId, Procedure, Property, Task};
use cusp::syntax::ast::Dialect;
use generate::{assertions, task};

/// Whether evidence is accepted.
fn accepted(task: &Task, verdict: Verdict) -> bool {
    match certify(task, verdict, &Budget::unlimited()) {
        Ok(certified) => {
            assert!(!matches!(certified.verdict(), Verdict::Unknown(_)), "there is no limit");
            true
        }
        Err(why) => {
            assert!(why.0.len() > 15, "no sentence: {why}");
            false
        }
    }
}

/// Why evidence is rejected.
fn rejection(task: &Task, verdict: Verdict) -> String {
    match certify(task, verdict, &Budget::unlimited()) {
        Ok(certified) => panic!("accepted: {:?}", certified.verdict()),
        Err(why) => why.0,
    }
}

fn is_interrupted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unknown(unknown) if unknown.reason == Reason::Interrupted)
}

#[test]
fn control_flow_alone_proves_what_no_path_reaches() {
    let safe = || Verdict::Safe(Certificate::NoViolationInReach);
    let reach = |text: &str| accepted(&assertions(text), safe());
    assert!(reach("decl g; void main() begin skip; end"));
    assert!(reach("decl g; void main() begin assert(T); assert(g & F | T); end"));
    assert!(reach("decl g; void main() begin goto L; assert(g); L: skip; end"));
    assert!(reach("decl g; void main() begin end_thread; assert(g); end"));
    // Data does not count, and neither does it whether a call returns.
    assert!(!reach("decl g; void main() begin assume(F); assert(g); end"));
    assert!(!reach("decl g; void main() begin f(); assert(g); end void f() begin L: goto L; end"));
    assert!(!reach("decl g; void main() begin f(); end void f() begin assert(g); end"));
    assert!(!reach("decl g; void main() begin start_thread f(); end void f() begin assert(g); end"));
    assert!(!reach("decl g; void main() begin start_thread goto L; end_thread; L: assert(g); end"));
    assert!(!reach("decl g; void main() begin assert(g | !g); end"), "two reads are not compared");
    let label = |text: &str| {
        let property = Property::LabelUnreachable("L".to_owned());
        accepted(&task(text, property, None, Dialect::Boom), safe())
    };
    assert!(label("decl g; void main() begin assert(F); goto M; L: skip; M: skip; end"));
    assert!(!label("decl g; void main() begin goto L, M; L: skip; M: skip; end"));
}

#[test]
fn what_is_unknown_stays_unknown() {
    let task = assertions("decl g; void main() begin assert(g); end");
    let certified = certify(&task, Reason::Interrupted.into(), &Budget::unlimited());
    assert!(is_interrupted(certified.expect("no evidence").verdict()));
}

#[test]
fn a_check_that_is_cut_off_certifies_nothing() {
    let task = assertions("decl g; void main() begin skip; end");
    let budget = Budget::unlimited();
    budget.interrupt();
    let certificates = [
        Certificate::NoViolationInReach,
        Certificate::PathEdges(Vec::new()),
        Certificate::SystemStates(Vec::new()),
        Certificate::Relations(Relations::default()),
        Certificate::KInductive(KInductive { cuts: Vec::new(), k: 1 }),
        Certificate::Unrolling(Unrolling::default()),
    ];
    for certificate in certificates {
        let certified = certify(&task, Verdict::Safe(certificate), &budget).expect("no answer");
        assert!(is_interrupted(certified.verdict()));
    }
}

#[test]
fn evidence_of_the_wrong_kind_is_rejected() {
    let threads = assertions("decl g; void main() begin start_thread f(); end void f() begin skip; end");
    let certificates = [
        Certificate::PathEdges(Vec::new()),
        Certificate::Relations(Relations::default()),
        Certificate::KInductive(KInductive { cuts: Vec::new(), k: 1 }),
        Certificate::Unrolling(Unrolling::default()),
    ];
    for certificate in certificates {
        assert!(rejection(&threads, Verdict::Safe(certificate)).contains("starts threads"));
    }
    let tree = Verdict::Unsafe(Trace::Sequential(CallTree { runs: Vec::new() }));
    assert!(rejection(&threads, tree).contains("starts threads"));
}

#[test]
fn malformed_models_are_rejected() {
    type Damage = fn(&mut Task);
    let damages: [(Damage, &str); 8] = [
        (|task| task.program.start = ProcId::from_index(7), "no start procedure"),
        (|task| task.program.atomic_flag = Some(3), "the global `atomic`"),
        (|task| task.program.procedures[0].edges[0].to = Node::from_index(99), "an edge leads to n99"),
        (|task| task.program.procedures[0].edges[0].from = Node::from_index(2), "starts elsewhere"),
        (|task| task.program.procedures[0].nodes = 1, "do not match"),
        (|task| task.program.procedures[0].params = 9, "more parameters"),
        (|task| task.program.globals.clear(), "variable g0 does not exist"),
        (|task| task.program.procedures[0].labels.push(("L".to_owned(), Procedure::EXIT)), "label `L`"),
    ];
    for (damage, sentence) in damages {
        let mut task = assertions("decl g; void main() begin g := !g; end");
        damage(&mut task);
        let why = rejection(&task, Verdict::Safe(Certificate::NoViolationInReach));
        assert!(why.starts_with("the model is malformed") && why.contains(sentence), "{why}");
    }
}

/// A multiplication that no solver inverts in time.
fn multiplication(bits: usize) -> String {
    let names =
        |prefix: &str, count: usize| -> Vec<String> { (0..count).map(|i| format!("{prefix}{i}")).collect() };
    let (x, y, sum) = (names("x", bits), names("y", bits), names("s", 2 * bits));
    let mut text =
        format!("decl {}, {}, {}, c;\nvoid main() begin\n", x.join(", "), y.join(", "), sum.join(", "));
    for bit in &sum {
        text.extend([bit, " := F;\n"]);
    }
    for (i, factor) in y.iter().enumerate() {
        text.push_str("c := F;\n");
        for (j, bit) in x.iter().enumerate() {
            let (s, a) = (&sum[i + j], format!("({factor} & {bit})"));
            let _ = writeln!(text, "{s}, c := ({s} != ({a} != c)), ({s} & {a} | {s} & c | {a} & c);");
        }
        text.extend([&sum[i + bits], " := c;\n"]);
    }
    // The product of two primes is odd in both, and neither is one.
    let prime = "1001101010001010011011011101011110011101010011010001110101101011";
    let digit = |i: usize| if prime.as_bytes()[i % prime.len()] == b'1' { "" } else { "!" };
    let product: Vec<String> = sum.iter().enumerate().map(|(i, bit)| format!("{}{bit}", digit(i))).collect();
    text.extend(["assume(", &product.join(" & "), ");\nassert(F);\nend\n"]);
    text
}

#[test]
fn a_solver_that_is_busy_is_stopped_in_time() {
    let task = assertions(&multiplication(32));
    let limits = Limits { time: Some(Duration::from_millis(300)), memory: None };
    let begin = Instant::now();
    let (budget, _watch) = Budget::start(limits);
    let proof = Verdict::Safe(Certificate::KInductive(KInductive { cuts: Vec::new(), k: 1 }));
    let certified = certify(&task, proof, &budget);
    let waited = begin.elapsed();
    match certified {
        Ok(certified) => assert!(matches!(certified.verdict(), Verdict::Unknown(_))),
        Err(why) => panic!("decided after {waited:?}: {why}"),
    }
    // The promise is 100 ms; a busy machine may take longer.
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}
