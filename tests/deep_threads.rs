//! Programs with threads that are large or deep: no overflow of the stack, and memory that grows with the size of the
//! program and not with its square. The limits are of memory and not of time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Two threads with so many statements each that nobody else notices.
fn statements(count: usize, asserted: &str) -> String {
    let mut text =
        "decl g, h;\nvoid main() begin\n  decl x;\n  g, h, x := F, F, F;\n  start_thread f();\n".to_owned();
    text += &"  x := !x;\n".repeat(count);
    let _ = writeln!(text, "  assert({asserted});\nend\nvoid f() begin\n  decl y;\n  y := F;");
    text += &"  y := !y;\n".repeat(count);
    text + "  g, h := T, T;\nend\n"
}

/// Calls that nest so deeply, in two threads.
fn nested(depth: usize, argument: &str) -> String {
    let mut text = format!(
        "decl g;\nvoid main() begin\n  g := F;\n  start_thread p0({argument});\n  p0({argument});\n  assert(!g);\nend\n"
    );
    for i in 0..depth {
        let _ = writeln!(text, "void p{i}(a) begin\n  p{}(a);\nend", i + 1);
    }
    let _ = writeln!(text, "void p{depth}(a) begin\n  g := a;\nend");
    text
}

/// So many procedures, each called once in two threads.
fn called_once(count: usize, asserted: &str) -> String {
    let mut calls = String::new();
    for i in 0..count {
        let _ = writeln!(calls, "  p{i}(F);");
    }
    let mut text = format!(
        "decl g;\nvoid main() begin\n  g := F;\n  start_thread q();\n{calls}  assert({asserted});\nend\nvoid q() begin\n{calls}end\n"
    );
    for i in 0..count {
        let _ = writeln!(text, "void p{i}(a) begin\n  g := g & a;\nend");
    }
    text
}

/// Threads with so many locals.
fn locals(count: usize, asserted: &str) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("x{i}")).collect();
    let mut text = format!(
        "decl g;\nvoid main() begin\n  g := F;\n  start_thread q();\n  q();\n  assert({asserted});\nend\nvoid q() begin\n  decl {};\n  x0 := F;\n",
        names.join(", ")
    );
    for i in 1..count {
        let _ = writeln!(text, "  x{i} := x{};", i - 1);
    }
    let _ = writeln!(text, "  while (*) do\n    g := g & x{};", count - 1);
    for i in 0..count {
        let _ = writeln!(text, "    x{i} := x{i} & x{};", i * 7 % count);
    }
    text + "  od;\nend\n"
}

/// The exit code of `cusp check` with two threads, within a limit of memory.
fn check(text: &str, engine: &str, memory: &str) -> (i32, String) {
    let options = ["check", "--threads", "2", "--engine", engine, "--memory", memory, "-q", "-"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let shown = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().expect("not killed"), shown.concat())
}

/// Both variants of a program have the expected verdict, with all these engines.
fn assert_verdicts(safe: &str, unsafe_one: &str, engines: &[&str], memory: &str) {
    for engine in engines {
        for (text, expected) in [(safe, 0), (unsafe_one, 10)] {
            let proves_nothing = *engine == "bmc" && expected == 0;
            if !proves_nothing {
                let (code, shown) = check(text, engine, memory);
                assert_eq!(code, expected, "{engine}: {shown}");
            }
        }
    }
}

const ENGINES: [&str; 4] = ["interleavings", "counter", "bmc", "auto"];

#[test]
fn ten_thousand_locations() {
    assert_verdicts(&statements(5_000, "!g | h"), &statements(5_000, "!g"), &ENGINES, "200");
    assert_verdicts(&statements(5_000, "!g | h"), &statements(5_000, "!g"), &["pdr"], "200");
}

#[test]
fn two_thousand_nested_calls() {
    let [safe, unsafe_one] = ["F", "T"].map(|argument| nested(2_000, argument));
    assert_verdicts(&safe, &unsafe_one, &["interleavings", "counter", "bmc"], "250");
    assert_verdicts(&safe, &unsafe_one, &["auto"], "800");
}

#[test]
fn a_thousand_procedures() {
    assert_verdicts(&called_once(1_000, "!g"), &called_once(1_000, "g"), &["interleavings"], "400");
}

#[test]
fn three_hundred_locals() {
    assert_verdicts(&locals(300, "!g"), &locals(300, "g"), &ENGINES, "200");
    assert_verdicts(&locals(300, "!g"), &locals(300, "g"), &["pdr"], "200");
}
