//! `cusp cover` as a user meets it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const TURNS: &str = "tests/corpus/nets/turns.tts";
const READERS: &str = "tests/corpus/nets/readers.spec";

/// Exit code, standard output, standard error.
fn cover_on(args: &[&str], stdin: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .arg("cover")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // A tool that has seen enough may close its end.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the tool runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("not killed"), text(output.stdout), text(output.stderr))
}

fn cover(args: &[&str]) -> (i32, String, String) {
    cover_on(args, "")
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&cover(args).1).expect("valid JSON")
}

#[test]
fn the_exit_code_is_the_verdict() {
    assert_eq!(cover(&[TURNS]).0, 0);
    assert_eq!(cover(&[READERS]).0, 10);
    assert_eq!(cover(&["nope.spec"]).0, 1);
    assert_eq!(cover(&["--target", "x", TURNS]).0, 2);
    assert_eq!(cover(&["--initial", "0", TURNS]).0, 2);
    assert_eq!(cover(&["--proof", "x", TURNS, READERS]).0, 2);
    assert_eq!(cover(&["--sets", "bags", TURNS]).0, 2);
    assert_eq!(cover(&["--engine", "mcov", "--sets", "cst", TURNS]).0, 2);
    assert_eq!(cover(&[TURNS, READERS]).0, 10);
    let endless = "vars a b rules a>=1 -> b'=b+1; init a=1, b=0 target a>=2, b>=1";
    assert_eq!(cover_on(&["-q", "-"], endless).0, 0);
    let (code, out, _) = cover_on(&["--engine", "explicit", "--timeout", "0.2", "-"], endless);
    assert_eq!((code, out.lines().next()), (5, Some("UNKNOWN  <stdin>: the time limit of 0.2 s is over")));
}

#[test]
fn the_run_shows_places_and_transitions_as_in_the_source() {
    insta::assert_snapshot!(cover(&["--target", "0|2,2", TURNS]).1, @"
    UNSAFE  tests/corpus/nets/turns.tts: a target can be covered with 3 threads, in 4 steps
    the run, 4 steps:
            start                         shared=0 local0=3
      3:1   0 0 -> 1 1                    shared=1 local0=2 local1=1
      4:1   1 0 -> 1 2                    local0=1 local2=1
      4:1   1 0 -> 1 2                    local0=0 local2=2
      5:1   1 1 -> 0 0 2 ~> 0 2 ~> 2      shared=0 local0=1 local1=0
            shared=0, local2=2 [covered]  shared=0 local2=2
    ");
    insta::assert_snapshot!(cover(&["--initial", "0|1", "--target", "1|", "--target", "0|1", TURNS]).1, @"
    UNSAFE  tests/corpus/nets/turns.tts: a target is covered at the start, with 1 thread
    the run, 0 steps:
         start                         shared=0 local1=1
         shared=0, local1=1 [covered]  shared=0 local1=1
    ");
    insta::assert_snapshot!(cover(&["--engine", "reference", "--trace", "none", READERS]).1, @"
    UNSAFE  tests/corpus/nets/readers.spec: a target can be covered with 3 tokens, in 2 steps
      --> tests/corpus/nets/readers.spec:20:5
       |
    20 |     reading >= 1, writing >= 1
       |     ^^^^^^^^^^^^^^^^^^^^^^^^^^ can be covered
    ");
}

#[test]
fn the_proof_is_described() {
    insta::assert_snapshot!(cover(&["--engine", "reference", TURNS]).1, @"SAFE  tests/corpus/nets/turns.tts: no target can be covered, however many threads there are (reference engine; a basis of 5 elements with at most 2 threads, checked)");
    insta::assert_snapshot!(cover(&["--sets", "cst", TURNS]).1, @"SAFE  tests/corpus/nets/turns.tts: no target can be covered, however many threads there are (backward-cst engine; 1 linear invariant, checked)");
    insta::assert_snapshot!(cover(&["--engine", "mcov", "--sets", "cst", TURNS]).2, @"error: `--sets` is for the `backward` engine");
    insta::assert_snapshot!(cover(&["--engine", "explicit", "--initial", "0|0,0", TURNS]).1, @"SAFE  tests/corpus/nets/turns.tts: no target can be covered (explicit engine; a coverability set of 4 elements, all of them finite, checked)");
}

#[test]
fn a_portfolio_names_the_engine_that_answered() {
    for options in [&[][..], &["--no-reduce"]] {
        let said = json(&[options, &["--json", TURNS]].concat());
        assert_eq!((said["verdict"].as_str(), said["engine"].as_str()), (Some("safe"), Some("backward")));
        let out = cover(&[options, &["-q", TURNS]].concat()).1;
        assert!(out.contains("(backward engine; "), "{out}");
    }
}

#[test]
fn tokens_that_choose_are_followed() {
    let text = "1 3\n0 0 -> 0 1 0 ~> 0 0 ~> 2\n";
    insta::assert_snapshot!(cover_on(&["--target", "0|1,2,2,0", "-"], text).1, @"
    UNSAFE  <stdin>: a target can be covered with 4 threads, in 1 step
    the run, 1 step:
            start                                               shared=0 local0=4
      2:1   0 0 -> 0 1 0 ~> 0 0 ~> 2 [2 from local0 to local2]  local0=1 local1=1 local2=2
            shared=0, local0=1, local1=1, local2=2 [covered]    shared=0 local0=1 local1=1 local2=2
    ");
}

#[test]
fn what_is_wrong_with_a_net_goes_to_standard_error() {
    let (code, out, err) = cover_on(&["-"], "vars x rules init x=1 target y>=1");
    assert_eq!((code, out.as_str()), (1, ""));
    insta::assert_snapshot!(err, @"
    error: variable `y` is not declared
     --> <stdin>:1:30
      |
    1 | vars x rules init x=1 target y>=1
      |                              ^

    error: `<stdin>` has 1 error
    ");
    let (code, _, err) = cover_on(&["-"], "1 1\n0 0 -> 0 0\n");
    assert_eq!(code, 1);
    insta::assert_snapshot!(err, @"
    error: `<stdin>`: nothing is said about what must not be covered
    help: name it with `--target`, such as `--target '2|11,11'`, or in a `.prop` file beside it
    ");
    let (code, _, err) = cover(&["--target", "0|0", READERS]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(err, @"error: `tests/corpus/nets/readers.spec`: `--initial` and `--target` are for thread transition systems; a `.spec` file says itself where it starts and what must not be covered");
    // A typing error must not become a proof, not even where nobody reads warnings.
    let (code, out, err) = cover(&["--quiet", "--target", "5|0", TURNS]);
    assert_eq!((code, out.as_str()), (1, ""));
    insta::assert_snapshot!(err, @"error: `tests/corpus/nets/turns.tts`: the target `5|0` is impossible: there is no shared state 5");
}

#[test]
fn zero_tests_are_named() {
    let text = "vars x y rules x=0 -> y'=y+1; init x=1, y=0 target y>=1";
    let (code, out, err) = cover_on(&["-"], text);
    assert_eq!(code, 5);
    insta::assert_snapshot!(format!("{out}{err}"), @"
    UNKNOWN  <stdin>: a target can be covered if guards with `=` and `in` are weakened to `>=`, and no run that obeys them was found
      seen (not certified): directed: the engine only searches for runs, and found none
    note: there are zero tests (`=`, `in`): they are weakened to `>=` to prove safety, and obeyed in runs that are shown
    ");
}

#[test]
fn json_has_the_run_and_the_size_of_the_proof() {
    let refuted = json(&["--engine", "reference", "--json", READERS]);
    assert_eq!(refuted["verdict"], "unsafe");
    assert_eq!(refuted["run"]["most"], 3);
    assert_eq!(refuted["run"]["steps"][0]["place"]["line"], 10);
    assert_eq!(refuted["run"]["last"], serde_json::json!({"reading": 1, "writing": 1}));
    assert_eq!(refuted["target"]["text"], "reading >= 1, writing >= 1");
    let safe = json(&["--engine", "reference", "--json", TURNS]);
    assert_eq!((&safe["verdict"], &safe["proof"]["kind"]), (&"safe".into(), &"basis".into()));
    assert_eq!((&safe["proof"]["size"], &safe["proof"]["most"]), (&5.into(), &2.into()));
    assert!(safe["proof"]["evidence"].is_null());
    let wrong = json(&["--json", "nope.tts"]);
    assert_eq!((&wrong["verdict"], &wrong["exit_code"]), (&"error".into(), &1.into()));
}

#[test]
fn the_proof_file_has_the_whole_evidence() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proof.json");
    let name = path.display().to_string();
    assert_eq!(cover(&["-q", "--engine", "reference", "--proof", &name, TURNS]).0, 0);
    let proof: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("a proof")).expect("valid JSON");
    assert_eq!(proof["proof"]["evidence"]["elements"].as_array().map(Vec::len), Some(5));
    assert_eq!(cover(&["-q", "--proof", "/nowhere/proof.json", TURNS]).0, 2);
}

#[test]
fn runs_of_communicating_machines_show_their_edges() {
    insta::assert_snapshot!(cover(&["tests/corpus/nets/producer_consumer_notify.cm"]).1, @"
    UNSAFE  tests/corpus/nets/producer_consumer_notify.cm: a target can be covered with 4 machines, in 8 steps
      --> tests/corpus/nets/producer_consumer_notify.cm:20:1
       |
    20 | target Producer.waiting >= 2, Consumer.waiting >= 2;
       | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ can be covered
    the run, 8 steps:
             start                                                        full=F Producer.ready=2
                                                                          Consumer.ready=2
      15:3   ready -> waiting when !full                                  Consumer.ready=1
                                                                          Consumer.waiting=1
      15:3   ready -> waiting when !full                                  Consumer.ready=0
                                                                          Consumer.waiting=2
       9:3   ready -> ready : awake~! when !full do full := T             full=T Consumer.ready=1
                                                                          Consumer.waiting=1
       8:3   ready -> waiting when full                                   Producer.ready=1
                                                                          Producer.waiting=1
       8:3   ready -> waiting when full                                   Producer.ready=0
                                                                          Producer.waiting=2
      16:3   ready -> ready : awake~! when full do full := F              full=F Consumer.ready=2
                                                                          Consumer.waiting=0
      15:3   ready -> waiting when !full                                  Consumer.ready=1
                                                                          Consumer.waiting=1
      15:3   ready -> waiting when !full                                  Consumer.ready=0
                                                                          Consumer.waiting=2
             target Producer.waiting >= 2, Consumer.waiting >= 2 [cov...  Producer.waiting=2
                                                                          Consumer.waiting=2
    ");
    insta::assert_snapshot!(cover(&["tests/corpus/nets/client_server.cm"]).1, @"SAFE  tests/corpus/nets/client_server.cm: no target can be covered, however many machines there are (backward engine; a basis of 21 elements with at most 3 machines, 2 linear invariants, checked)");
    let text =
        "var coin; machine A [2] { states s, t; s -> t when coin do coin := *; } target A.t >= 2 when !coin;";
    insta::assert_snapshot!(cover_on(&["-"], text).1, @"
    UNSAFE  <stdin>: a target can be covered with 2 machines, in 5 steps
     --> <stdin>:1:73
      |
    1 | var coin; machine A [2] { states s, t; s -> t when coin do coin := *; } target A.t >= 2 when !coin;
      |                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^ can be covered
    the run, 5 steps:
             start                                 coin=* A.s=2
       1:5   coin                                  coin=T
      1:40   s -> t when coin do coin := *         coin=* A.s=1 A.t=1
       1:5   coin                                  coin=T
      1:40   s -> t when coin do coin := *         coin=* A.s=0 A.t=2
       1:5   coin                                  coin=F
             target A.t >= 2 when !coin [covered]  coin=F A.t=2
    ");
    let (code, _, err) = cover(&["--target", "0|1", "tests/corpus/nets/client_server.cm"]);
    insta::assert_snapshot!(format!("{code}\n{err}"), @"
    1
    error: `tests/corpus/nets/client_server.cm`: `--initial` and `--target` are for thread transition systems; a `.cm` file says itself where it starts and what must not be covered
    ");
}
