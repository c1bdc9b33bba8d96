//! Evidence as text: what is written can be read, checked from disk, and what is wrong is said.

#[path = "certify/generate.rs"]
mod generate;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::certify::certify;
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::text::{Evidence, read, write};
use cusp::evidence::threads::{
    ControlState, ControlStates, Followed, ListedStates, PackedStates, ThreadAtCut, ThreadCube,
    ThreadInvariant, ThreadProof, UniversalClause,
};
use cusp::evidence::trace::Valuation;
use cusp::evidence::{
    BlockCopy, Certificate, Formulas, Gate, KInductive, Literal, Place, Relation, Relations, Site, Unrolling,
    Verdict, Witness,
};
use cusp::model::{EdgeId, Node, ProcId, Task};
use cusp::progress::Quiet;
use generate::{Rng, assertions, concurrent, sequential};

fn text(task: &Task, evidence: &Evidence) -> String {
    let mut bytes = Vec::new();
    write(&task.program, evidence, &mut bytes).expect("memory");
    String::from_utf8(bytes).expect("UTF-8")
}

fn evidence(task: &Task) -> Option<Evidence> {
    let limits = Limits { time: Some(Duration::from_millis(200)), memory: None };
    let (budget, _watch) = Budget::start(limits);
    match Explicit::default().run(task, &budget, &Quiet) {
        Verdict::Safe(certificate) => Some(Evidence::Certificate(certificate)),
        Verdict::Unsafe(trace) => Some(Evidence::Trace(trace)),
        Verdict::Unknown(_) => None,
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..60 {
        for task in [sequential(seed), concurrent(seed)] {
            let Some(evidence) = evidence(&task) else { continue };
            let text = text(&task, &evidence);
            kinds.extend(
                text.lines()
                    .find(|line| line.starts_with("certificate") || line.starts_with("trace"))
                    .map(str::to_owned),
            );
            assert_eq!(read(text.as_bytes()).as_ref(), Ok(&evidence), "seed {seed}:\n{text}");
        }
    }
    assert!(kinds.len() >= 4, "{kinds:?}");
}

/// Invariants of systems of threads, of all kinds.
fn thread_invariants() -> Vec<ThreadInvariant> {
    let values = |values: &[bool]| Valuation(values.to_vec());
    let mut states = PackedStates::default();
    states.push(1, [0, 1, 1]);
    states.push(0, []);
    let listed = ListedStates {
        globals: vec![1],
        positions: vec![vec![0, 2], Vec::new()],
        shared: vec![values(&[false]), values(&[true])],
        threads: vec![
            ThreadAtCut { cut: 0, holds: true, values: values(&[true, false]) },
            ThreadAtCut { cut: 1, holds: false, values: values(&[]) },
        ],
        states,
        followed: vec![Followed { state: 1, threads: vec![0, 2], rank: 3 }],
    };
    let clause = UniversalClause {
        globals: vec![(1, true)],
        held: Some(false),
        threads: vec![
            ThreadCube { cuts: vec![0, 1], values: vec![(0, true), (2, false)], holds: Some(true) },
            ThreadCube { cuts: vec![1], values: Vec::new(), holds: None },
        ],
    };
    let mut formulas = Formulas::default();
    let x = formulas.add(Gate::Parameter(1));
    let both = formulas.add(Gate::And(x, Literal::TRUE));
    let sets = vec![
        ControlState { cuts: vec![0, 1], holder: Some(0), condition: !both },
        ControlState { cuts: Vec::new(), holder: None, condition: Literal::TRUE },
    ];
    vec![
        ThreadInvariant::States(listed),
        ThreadInvariant::Clauses(vec![UniversalClause::default(), clause]),
        ThreadInvariant::Formulas(ControlStates { formulas, sets }),
    ]
}

/// A program, and certificates of the other kinds about it, right or wrong.
fn others() -> (Task, Vec<Certificate>) {
    let task = assertions(
        "decl a; void main() begin a := T; while (*) do f(a); od assert(a); end void f(p) begin skip; end",
    );
    let [p0, p1] = [0, 1].map(ProcId::from_index);
    let n3 = Node::from_index(3);
    let mut formulas = Formulas::default();
    let x = formulas.add(Gate::Parameter(7));
    let y = formulas.add(Gate::Parameter(4_000_000_000));
    let both = formulas.add(Gate::And(x, !y));
    let differ = formulas.add(Gate::Xor(!both, Literal::TRUE));
    let constant = formulas.add(Gate::True);
    let relation = |procedure, place, entry: Vec<Option<Literal>>, now: Vec<Option<Literal>>| Relation {
        procedure,
        place,
        guard: !differ,
        entry,
        now,
    };
    let relations = vec![
        relation(p0, Place::Node(n3), vec![Some(x)], vec![None]),
        relation(p1, Place::Failure, vec![Some(Literal::FALSE), Some(!constant)], Vec::new()),
        relation(p1, Place::Node(n3), Vec::new(), Vec::new()),
    ];
    let witnesses = vec![
        Witness { obligation: 3, relation: 1, values: vec![(7, !x), (9, Literal::TRUE)] },
        Witness { obligation: 0, relation: 0, values: Vec::new() },
    ];
    let copies = vec![
        BlockCopy { parent: 0, site: Site::Loop(n3) },
        BlockCopy { parent: 1, site: Site::Call(EdgeId::from_index(2)) },
    ];
    let certificates = vec![
        Certificate::NoViolationInReach,
        Certificate::Relations(Relations { formulas, relations, witnesses, needs_witnesses: false }),
        Certificate::Relations(Relations::default()),
        Certificate::KInductive(KInductive { cuts: vec![(p0, n3), (p1, n3)], k: 12 }),
        Certificate::Unrolling(Unrolling { cuts: vec![(p0, n3)], copies, different: vec![(0, 2), (1, 2)] }),
    ];
    let threads = thread_invariants().into_iter().map(|invariant| {
        Certificate::Threads(ThreadProof {
            ignored_globals: vec![0, 3],
            ignored_locals: vec![(p1, 2)],
            cuts: vec![vec![(p0, n3), (p1, n3)], vec![(p1, n3)]],
            invariant,
        })
    });
    let certificates = certificates.into_iter().chain(threads).collect();
    (task, certificates)
}

#[test]
fn every_kind_of_certificate_is_read_back() {
    let (task, certificates) = others();
    for certificate in certificates {
        let evidence = Evidence::Certificate(certificate);
        let text = text(&task, &evidence);
        assert_eq!(read(text.as_bytes()).as_ref(), Ok(&evidence), "{text}");
    }
}

#[test]
fn the_text_is_for_people_too() {
    let (task, certificates) = others();
    let shown = text(&task, &Evidence::Certificate(certificates[1].clone()));
    insta::assert_snapshot!(shown, @r"
    cusp-evidence 1
    # globals: a
    # p0 is main; locals, 0 of them parameters and 0 return slots: none
    # p1 is f; locals, 1 of them parameters and 0 return slots: p
    certificate relations
    g1 = parameter 7
    g2 = parameter 4000000000
    g3 = and g1 !g2
    g4 = xor !g3 T
    g5 = true
    relation p0 n3 if !g4 entry g1 now *
    relation p1 failure if !g4 entry F !g5 now
    relation p1 n3 if !g4 entry now
    witness 3 1 7 !g1 9 T
    witness 0 0
    end
    ");
    let threads = |position: usize| {
        let shown = text(&task, &Evidence::Certificate(certificates[position].clone()));
        let from = shown.find("certificate").expect("its kind");
        shown[from..].to_owned()
    };
    insta::assert_snapshot!(threads(5), @r"
    certificate thread-states
    ignored-global 0
    ignored-global 3
    ignored-local p1 2
    cut p0 n3 p1 n3
    positions 0 2
    cut p1 n3
    globals 1
    shared 0
    shared 1
    thread 0 holds 10
    thread 1 waits -
    state 1 0 1 1
    state 0
    followed 1 3 0 2
    end
    ");
    insta::assert_snapshot!(threads(6), @r"
    certificate thread-clauses
    ignored-global 0
    ignored-global 3
    ignored-local p1 2
    cut p0 n3 p1 n3
    cut p1 n3
    clause
    clause free 1=1
    thread at 0 1 with holds 0=1 2=0
    thread at 1 with
    end
    ");
    insta::assert_snapshot!(threads(7), @r"
    certificate thread-formulas
    ignored-global 0
    ignored-global 3
    ignored-local p1 2
    cut p0 n3 p1 n3
    cut p1 n3
    g1 = parameter 1
    g2 = and g1 T
    set 0 !g2 0 1
    set - T
    end
    ");
}

#[test]
fn a_wrong_line_is_named() {
    let body = |lines: &str| format!("cusp-evidence 1\n{lines}");
    let cases = [
        (String::new(), 1, "the file is empty"),
        ("\n# nothing\n\n".to_owned(), 3, "the file is empty"),
        ("hello\n".to_owned(), 1, "the first line should be `cusp-evidence 1`"),
        ("cusp-evidence 2\n".to_owned(), 1, "should be"),
        (body(""), 1, "the kind of evidence is missing"),
        (body("certificate of honour\nend\n"), 2, "the kind of evidence is unknown"),
        (body("certificate no-violation-in-reach\n"), 3, "has no `end`"),
        (body("certificate no-violation-in-reach\nend\nend"), 4, "more text after `end`"),
        (body("certificate no-violation-in-reach\nedge"), 3, "`edge` is not expected"),
        (
            body("certificate path-edges\nedge p0 n1 0 0 0\nend"),
            3,
            "unexpected word `0` at the end of the line",
        ),
        (body("certificate path-edges\nedge p0 x1 0 0\nend"), 3, "`x1` is not a node"),
        (body("certificate path-edges\nedge p0 n01 0 0\nend"), 3, "`n01` is not a node"),
        (body("certificate path-edges\nedge p0 n4294967296 0 0\nend"), 3, "is not a node"),
        (body("certificate path-edges\nedge p0 n1 0= 00\nend"), 3, "in only one of the two states"),
        (
            body(&format!("certificate path-edges\nedge p0 n1 - {}\nend", "0".repeat(129))),
            3,
            "at most 128 values",
        ),
        (body("certificate system-states\nthread p0 n1 0\nend"), 3, "`thread` is not expected"),
        (body("certificate system-states\n\nstate - =\nend"), 4, "`=` is not allowed here"),
        (body("certificate relations\ng2 = true\nend"), 3, "the next formula has to be `g1`"),
        (body("certificate relations\ng1 = and g1 T\nend"), 3, "earlier formulas only"),
        (body("certificate relations\ng1 = or T T\nend"), 3, "a formula is"),
        (body("certificate relations\ng1 true\nend"), 3, "`true` should be `=`"),
        (body("certificate relations\n!g1 = true\nend"), 3, "`!g1` is not expected"),
        (body("certificate relations\nrelation p0 n1 if T entry T T\nend"), 3, "`now` is missing"),
        (body("certificate relations\nrelation p0 n1 if g9999999999 entry now\nend"), 3, "is not a formula"),
        (body("certificate relations\nwitness 1 2 3\nend"), 3, "is missing"),
        (body("certificate k-inductive\nk 1\nk 2\nend"), 4, "`k` is not expected"),
        (body("certificate k-inductive\ncut p0 n2\nend"), 4, "`k` is missing"),
        (body("certificate k-inductive\nk -1\nend"), 3, "`-1` is not a number"),
        (body("certificate unrolling\ncopy 0 goto n1\nend"), 3, "entered by a `call` or a `loop`"),
        (body("trace sequential\nstep a0 - -\nend"), 3, "expected `run`, found `step`"),
        (body("trace sequential\nrun p0 - -\nend"), 4, "the end of the last run is missing"),
        (body("trace sequential\nrun p0 2 -\nend"), 3, "`2` is not values"),
        (body("trace interleaved\nstep 0 a1\nend"), 3, "`step` is not expected"),
        (body("trace interleaved\nsystem - -\nsystem - -\nend"), 4, "has to follow a `step`"),
        (body("trace interleaved\nsystem - -\nend"), 4, "the violation is missing"),
    ];
    for (text, line, reason) in cases {
        let error = read(text.as_bytes()).expect_err(&text);
        assert!(error.line == line && error.reason.contains(reason), "{text}\n{error}");
    }
    let error = read(b"cusp-evidence 1\n\xff\n").expect_err("no text");
    assert_eq!(error.to_string(), "line 2: it is not text");
}

/// Files with a few changed bytes: an error with a line, or evidence that is judged like any other.
#[test]
fn damaged_files_are_read_or_refused() {
    let (task, certificates) = others();
    let mut texts: Vec<(Task, String)> = certificates
        .into_iter()
        .map(|certificate| (task.clone(), text(&task, &Evidence::Certificate(certificate))))
        .collect();
    for seed in 0..20 {
        for task in [sequential(seed), concurrent(seed)] {
            let Some(evidence) = evidence(&task) else { continue };
            let text = text(&task, &evidence);
            texts.push((task, text));
        }
    }
    let mut rng = Rng::new(6_000_000);
    let (mut refused, mut judged) = (0, 0);
    for (task, text) in &texts {
        for _ in 0..20 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len());
                match rng.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = b"01*=-gnpaTF \n#9\xff"[rng.below(16)],
                    _ => bytes.truncate(bytes.len().saturating_sub(rng.below(3)).max(1)),
                }
            }
            match read(&bytes) {
                Err(error) => {
                    assert!(error.line >= 1 && !error.reason.is_empty());
                    refused += 1;
                }
                Ok(evidence) => {
                    // A changed number can ask for a long check.
                    let limits = Limits { time: Some(Duration::from_millis(100)), memory: None };
                    let (budget, _watch) = Budget::start(limits);
                    let _ = certify(task, evidence.into(), &budget);
                    judged += 1;
                }
            }
        }
    }
    assert!(refused > 100 && judged > 100, "{refused} {judged}");
}

fn cusp(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the tool runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("not killed"), text(stdout), text(stderr))
}

#[test]
fn answers_are_replayed_from_disk() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay");
    std::fs::create_dir_all(&scratch).expect("a directory");
    let file = |name: &str| scratch.join(name).display().to_string();
    let cases = [
        ("tests/corpus/lock_fixed.bp", &[][..], 0),
        ("tests/corpus/lock.bp", &[], 10),
        ("tests/corpus/error_label.bp", &[], 10),
        ("tests/corpus/race.bp", &["--threads", "3"], 10),
        ("tests/corpus/mutex.bp", &["--threads", "2"], 0),
    ];
    for (program, options, code) in cases {
        let evidence = file(&program.replace(['/', '.'], "_"));
        let checked = [&["check", "--certificate", &evidence, program], options].concat();
        let (checked, verdict, _) = cusp(&checked);
        assert_eq!(checked, code, "{program}: {verdict}");
        let (replayed, answer, errors) = cusp(&[&["replay", program, &evidence], options].concat());
        assert_eq!(replayed, code, "{program}: {answer}{errors}");
        let word = |text: &str| text.split_whitespace().next().map(str::to_owned);
        assert_eq!(word(&answer), word(&verdict), "{program}");
        assert!(answer.lines().last().is_some_and(|line| line.starts_with("checked: ")), "{answer}");
        let (_, quiet, _) = cusp(&[&["replay", "--quiet", program, &evidence], options].concat());
        assert_eq!(quiet.lines().count(), 1);
        // It proves nothing about another program.
        let (code, answer, errors) = cusp(&["replay", "tests/corpus/recursion.bp", &evidence]);
        assert_eq!((code, answer.as_str()), (1, ""), "{errors}");
        assert!(errors.contains("proves nothing about"), "{errors}");
    }
}

#[test]
fn files_that_cannot_be_used_get_one_clear_line() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay_errors");
    std::fs::create_dir_all(&scratch).expect("a directory");
    let file = |name: &str, content: &str| {
        let path = scratch.join(name);
        std::fs::write(&path, content).expect("a file");
        path.display().to_string()
    };
    let program = "tests/corpus/lock.bp";
    let garbage = file("garbage", "cusp-evidence 1\ncertificate relations\nrubbish\n");
    let (code, _, errors) = cusp(&["replay", program, &garbage]);
    assert_eq!(code, 1);
    assert!(errors.ends_with("garbage`, line 3: `rubbish` is not expected here\n"), "{errors}");
    let (code, _, errors) = cusp(&["replay", program, "tests/no_such_file"]);
    assert!(code == 1 && errors.starts_with("error: cannot read `tests/no_such_file`"), "{errors}");
    assert_eq!(cusp(&["replay", "tests/no_such_file", &garbage]).0, 1);
    assert_eq!(cusp(&["replay", program]).0, 2);
    let (code, _, errors) = cusp(&["check", "--certificate", &garbage, program, program]);
    assert!(code == 2 && errors.contains("one program"), "{errors}");
    let (code, _, errors) = cusp(&["check", "--certificate", "tests/no_such_directory/x", program]);
    assert!(code == 2 && errors.contains("cannot be written: No such file"), "{errors}");
    // An input is not overwritten by the answer about it.
    let straight = "decl g; void main() begin g := T; assert(g); end\n";
    let precious = file("precious.bp", straight);
    let (code, _, errors) = cusp(&["check", "--certificate", &precious, &precious]);
    assert!(code == 2 && errors.contains("is an input"), "{errors}");
    assert_eq!(std::fs::read_to_string(&precious).expect("still there"), straight);
    // Too long to check in no time: that is no rejection.
    let large = file("large", "cusp-evidence 1\ncertificate k-inductive\nk 4000000000\nend\n");
    let straight = file("straight.bp", straight);
    assert_eq!(cusp(&["replay", &straight, &large]).0, 5);
}
