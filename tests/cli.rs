//! The tool as a user meets it: exit codes, streams, options, interruptions.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use cusp::cli::Status;

const SAFE: &str = "decl g;\nvoid main() begin\n  g := T;\n  assert(g);\nend\n";
const UNSAFE: &str = "decl g;\nvoid main() begin\n  g := *;\n  assert(g);\nend\n";
const UNKNOWN: &str = "tests/corpus/recursion_in_threads.bp";
const WRONG: &str = "decl a, a;\nvoid main() begin\n  b := T;\n  a := F, T;\n  goto L;\n  f();\nend\n";
/// Every number of threads has to be looked at, one after the other.
/// The explicit engine does not end on this program.
const ENDLESS: &str = "\
decl g;
void main() begin
  g := T;
  while (*) do
    start_thread goto L;
  od;
L: assert(g);
end
";

fn cusp(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cusp"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

/// What a run left behind.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let code = output.status.code().expect("not killed");
    Ran { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn run(args: &[&str]) -> Ran {
    ran(&cusp(args).output().expect("the tool runs"))
}

fn run_on(args: &[&str], stdin: &str) -> Ran {
    let mut child = start(cusp(args).stdin(Stdio::piped()));
    // A tool that has seen enough may close its end.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    ran(&child.wait_with_output().expect("the tool runs"))
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts")
}

/// A directory of its own for every test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

fn lines_of_json(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("valid JSON")).collect()
}

#[test]
fn the_exit_code_is_the_verdict() {
    assert_eq!(run_on(&["check", "-"], SAFE).code, 0);
    assert_eq!(run_on(&["check", "-"], UNSAFE).code, 10);
    assert_eq!(run(&["check", "--threads", "2", UNKNOWN]).code, 5);
    assert_eq!(run_on(&["check", "-"], WRONG).code, 1);
    assert_eq!(run(&["check"]).code, 2);
    assert_eq!(run(&["chekc", "x.bp"]).code, 2);
    assert_eq!(run(&["--help"]).code, 0);
    assert_eq!(run(&["--version"]).code, 0);
}

#[test]
fn the_verdict_is_the_first_word_on_standard_output() {
    let safe = run_on(&["check", "-"], SAFE);
    insta::assert_snapshot!(safe.stdout, @"SAFE  <stdin>: no assertion can fail (explicit engine; 5 path edges, checked)");
    assert_eq!(safe.stderr, "");
    let refuted = run_on(&["check", "-"], UNSAFE);
    insta::assert_snapshot!(refuted.stdout, @"
    UNSAFE  <stdin>: an assertion can fail
     --> <stdin>:4:3
      |
    4 |   assert(g);
      |   ^^^^^^^^^ can fail
    the run, 2 steps in all, 1 shown (`--trace full` shows all):
      2:6   enter main()          g=0
      3:3   g := *
      4:3   assert(g) [can fail]  g=0
    ");
    let unknown = run(&["check", "--threads", "2", UNKNOWN]);
    insta::assert_snapshot!(unknown.stdout, @"
    UNKNOWN  tests/corpus/recursion_in_threads.bp: `f` is recursive in a program with threads, and no algorithm decides all of these
      help: cut off calls that nest more than K times with `--unwind K`: that finds violations, but proves nothing
    ");
}

#[test]
fn engines_have_names() {
    assert_eq!(run_on(&["check", "--engine", "explicit", "-"], SAFE).code, 0);
    assert_eq!(run_on(&["check", "--engine", "bdd", "-"], SAFE).code, 0);
    assert_eq!(run_on(&["check", "--engine", "bdd", "-"], UNSAFE).code, 10);
    assert_eq!(run_on(&["check", "--engine", "auto", "-"], UNSAFE).code, 10);
    let wrong = run_on(&["check", "--engine", "psychic", "-"], SAFE);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("possible values: auto, explicit"), "{}", wrong.stderr);
}

#[test]
fn a_label_replaces_the_assertions() {
    let program = "void main() begin\n  goto A, B;\n  A: assert(F);\n  B: skip;\nend\n";
    let reached = run_on(&["check", "-q", "--label", "B", "-"], program);
    assert_eq!(reached.stdout, "UNSAFE  <stdin>: label `B` can be reached\n");
    let missing = run_on(&["check", "--label", "C", "-"], program);
    assert_eq!(missing.code, 1);
    assert_eq!(missing.stderr, "error: `<stdin>`: no procedure has a label `C`\n");
}

#[test]
fn thread_limits_decide() {
    let program = "tests/corpus/three_threads.bp";
    assert_eq!(run(&["check", "-q", "--threads", "2", program]).code, 0);
    assert_eq!(run(&["check", "-q", "--threads", "3", program]).code, 10);
    assert_eq!(run(&["check", "-q", "--threads", "unbounded", program]).code, 10);
    let wrong = run(&["check", "--threads", "0", program]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("a number from 1 on, or `unbounded`"), "{}", wrong.stderr);
}

/// A figure of `--stats`.
fn figure(text: &str, what: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(what)?.trim().parse().ok());
    line.unwrap_or_else(|| panic!("no figure of {what}:\n{text}"))
}

#[test]
fn reductions_of_programs_with_threads_can_be_switched_off() {
    let check = |options: &[&str]| {
        let all = [&["check", "--threads", "3", "--engine", "interleavings", "--stats"], options];
        let ran = run(&[&all.concat()[..], &["tests/corpus/mutex.bp"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let text = ran.stdout + &ran.stderr;
        [
            figure(&text, "states"),
            figure(&text, "locations where threads are interrupted"),
            figure(&text, "states from which not all threads are followed"),
        ]
    };
    let [states, cuts, alone] = check(&[]);
    assert!(alone > 0);
    assert!(check(&["--without", "symmetry"])[0] > states);
    assert_eq!(check(&["--without", "partial-order"])[2], 0);
    assert!(check(&["--without", "large-steps"])[1] > cuts);
    let none = check(&["--no-reduce"]);
    assert_eq!(check(&["--without", "relevance,large-steps,symmetry,partial-order"]), none);
    assert!(none[0] > 2 * states && none[1] > cuts && none[2] == 0, "{none:?}");
}

#[test]
fn replication_runs_main_in_every_thread() {
    let program = "tests/corpus/passive.bp";
    assert_eq!(run(&["check", "-q", program]).code, 0);
    assert_eq!(run(&["check", "-q", "--replicate", "--threads", "2", program]).code, 10);
}

#[test]
fn dialects_differ() {
    let program = "decl a, b, c;\nvoid main() begin\n  assume(a = b & c);\n  assert(c);\nend\n";
    let boom = run_on(&["check", "--dialect", "boom", "-"], program);
    let boppo = run_on(&["check", "--dialect", "boppo", "-"], program);
    assert_eq!((boom.code, boppo.code), (0, 10));
    assert!(boom.stderr.contains("warning: the dialects read this expression differently"));
    let getafix = ["check", "--dialect", "getafix", "--label", "GOAL", "--threads", "2"];
    let getafix = run(&[&getafix[..], &["tests/corpus/getafix_threads.bp"]].concat());
    assert_eq!(getafix.code, 10);
    insta::assert_snapshot!(getafix.stderr, @"note: `--threads` has no effect: a Getafix program says which threads it has");
}

/// How far a run comes within its limits depends on the machine.
fn without_what_was_seen(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("seen")).collect()
}

#[test]
fn limits_end_a_run_that_would_not() {
    let late = run_on(&["check", "--engine", "explicit", "--timeout", "0.5", "-"], ENDLESS);
    assert_eq!(late.code, 5);
    insta::assert_snapshot!(without_what_was_seen(&late.stdout), @"
    UNKNOWN  <stdin>: the time limit of 0.5 s is over
      help: give it more time with `--timeout SECONDS`
      help: bound the number of threads that live at once with `--threads N`
    ");
    let large = run_on(&["check", "--engine", "explicit", "--memory", "1M", "-"], ENDLESS);
    assert_eq!(large.code, 5);
    insta::assert_snapshot!(without_what_was_seen(&large.stdout), @"
    UNKNOWN  <stdin>: the memory limit of 1 MB is used up
      help: give it more memory with `--memory MB`
    ");
    for wrong in [["--timeout", "0"], ["--timeout", "soon"], ["--memory", "0"], ["--memory", "1T"]] {
        assert_eq!(run(&["check", wrong[0], wrong[1], "x.bp"]).code, 2, "{wrong:?}");
    }
}

#[test]
fn quiet_prints_the_verdict_line_only() {
    let quiet = run(&["check", "--quiet", "tests/corpus/error_label.bp"]);
    assert_eq!(quiet.stdout, "UNSAFE  tests/corpus/error_label.bp: label `SLIC_ERROR` can be reached\n");
    assert_eq!(quiet.stderr, "");
    let loud = run(&["check", "tests/corpus/error_label.bp"]);
    assert!(loud.stdout.lines().count() > 5);
    let note = "note: the program has no assertions; checked that label `SLIC_ERROR` is not reached\n";
    assert_eq!(loud.stderr, note);
}

#[test]
fn a_trace_is_full_short_or_absent() {
    let lines = |detail: &str| run_on(&["check", "--trace", detail, "-"], UNSAFE).stdout.lines().count();
    assert!(lines("full") > lines("short"));
    assert!(lines("short") > lines("none"));
    assert_eq!(run_on(&["check", "-"], UNSAFE).stdout.lines().count(), lines("short"));
    assert_eq!(lines("none"), 5);
}

#[test]
fn several_files_get_a_line_each_and_a_summary() {
    let scratch = Scratch::new("several");
    let safe = scratch.file("safe.bp", SAFE);
    let refuted = scratch.file("unsafe.bp", UNSAFE);
    let missing = scratch.path("missing.bp");
    let all = run(&["check", "--threads", "2", &safe, &refuted, UNKNOWN, &missing]);
    let stdout = all.stdout.replace(&scratch.path(""), "");
    insta::assert_snapshot!(stdout, @"
    SAFE  safe.bp: no assertion can fail (explicit engine; 5 path edges, checked)
    UNSAFE  unsafe.bp: an assertion can fail
    UNKNOWN  tests/corpus/recursion_in_threads.bp: `f` is recursive in a program with threads, and no algorithm decides all of these
    4 files: 1 safe, 1 unsafe, 1 unknown, 1 with errors
    ");
    assert_eq!(all.stderr, format!("error: `{missing}` does not exist\n"));
    assert_eq!(all.code, 1);
    // The worst decides, wherever it stands.
    assert_eq!(run(&["check", &refuted, &safe]).code, 10);
    assert_eq!(run(&["check", "--threads", "2", UNKNOWN, &safe]).code, 5);
    assert_eq!(run(&["check", "--threads", "2", UNKNOWN, &refuted]).code, 10);
    assert_eq!(run(&["check", &safe, &safe]).code, 0);
    // A trace on request, and silence on request.
    let traced = run(&["check", "--trace", "short", &refuted, &safe]);
    assert!(traced.stdout.contains("the run, "), "{}", traced.stdout);
    assert_eq!(run(&["check", "-q", &refuted, &safe]).stdout.lines().count(), 2);
}

#[test]
fn json_is_one_object_for_each_file() {
    let scratch = Scratch::new("json");
    let safe = scratch.file("safe.bp", SAFE);
    let refuted = scratch.file("unsafe.bp", UNSAFE);
    let wrong = scratch.file("wrong.bp", WRONG);
    let missing = scratch.path("missing.bp");
    let all = run(&["check", "--json", "--threads", "2", &safe, &refuted, UNKNOWN, &wrong, &missing]);
    let objects = lines_of_json(&all.stdout);
    let verdicts: Vec<&str> = objects.iter().map(|o| o["verdict"].as_str().expect("a word")).collect();
    assert_eq!(verdicts, ["safe", "unsafe", "unknown", "error", "error"]);
    let codes: Vec<u64> = objects.iter().map(|o| o["exit_code"].as_u64().expect("a number")).collect();
    assert_eq!(codes, [0, 10, 5, 1, 1]);
    assert!(objects.iter().all(|o| o["schema"] == 1));
    assert_eq!(objects[0]["file"], safe.as_str());
    assert_eq!(objects[1]["violation"]["place"]["line"], 4);
    assert_eq!(objects[1]["trace"]["kind"], "calls");
    assert_eq!(objects[2]["reason"]["kind"], "unbounded-recursion");
    assert_eq!(objects[3]["diagnostics"].as_array().map(Vec::len), Some(5));
    assert_eq!(objects[4]["diagnostics"][0]["message"], "does not exist");
    assert_eq!((all.code, all.stderr.as_str()), (1, ""));
    let brief = run(&["check", "--json", "--trace", "none", &refuted]);
    assert!(lines_of_json(&brief.stdout)[0]["trace"].is_null());
}

#[test]
fn inputs_that_are_no_programs_get_one_clear_line() {
    let scratch = Scratch::new("inputs");
    let message = |path: &str| {
        let Ran { code, stdout, stderr } = run(&["check", path]);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        stderr.replace(&scratch.path(""), "")
    };
    let all = [
        message(&scratch.path("missing.bp")),
        message(&scratch.path("")),
        message(&scratch.file("empty.bp", "")),
        message(&scratch.file("comment.bp", "// nothing\n")),
        message(&scratch.file("garbage.bp", [0x7f, b'E', b'L', b'F', 0, 1, 2, 0xff])),
        message(&scratch.file("latin1.bp", b"\xe9\xe8")),
    ];
    insta::assert_snapshot!(all.concat(), @"
    error: `missing.bp` does not exist
    error: `` is a directory, not a program
    error: `empty.bp`: the program has no procedures, so there is no `main` to run
    error: `comment.bp`: the program has no procedures, so there is no `main` to run
    error: `garbage.bp` is not a text file: byte 0 is 0x7f
    error: unknown characters `éè`
     --> latin1.bp:1:1
      |
    1 | éè
      | ^^
      |
    help: names are made of `A-Z a-z 0-9 _ $ # -`; others can be quoted: `{...}`

    error: `latin1.bp`: the program has no procedures, so there is no `main` to run
    error: `latin1.bp` has 2 errors
    ");
    // A hole in a file reads as zeros and takes no room.
    let zeros = scratch.file("zeros.bp", "");
    let file = fs::File::options().write(true).open(&zeros).expect("a file");
    file.set_len(1 << 30).expect("a sparse file");
    assert_eq!(message(&zeros), "error: `zeros.bp` is not a text file: byte 0 is 0x00\n");
}

#[test]
fn all_mistakes_of_a_file_are_reported_and_counted() {
    let wrong = run_on(&["check", "-"], WRONG);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (1, ""));
    assert_eq!(wrong.stderr.matches(" --> <stdin>:").count(), 5, "{}", wrong.stderr);
    assert!(wrong.stderr.ends_with("error: `<stdin>` has 5 errors\n"), "{}", wrong.stderr);
}

#[test]
fn pipes_and_no_color_get_no_escape_codes() {
    let refuted = run_on(&["check", "-"], UNSAFE);
    assert!(!refuted.stdout.contains('\u{1b}'));
    let mut forced = cusp(&["check", "tests/corpus/lock.bp"]);
    forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    let coloured = ran(&forced.output().expect("the tool runs"));
    assert!(coloured.stdout.starts_with("\u{1b}["), "{}", coloured.stdout);
    let plain = ran(&forced.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").output().expect("runs"));
    assert!(!plain.stdout.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = start(&mut cusp(&["check", "--trace", "full", "tests/corpus/doubling.bp"]));
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(10));
    assert_eq!(stderr, "");
    let mut help = start(&mut cusp(&["--help"]));
    drop(help.stdout.take());
    assert_eq!(help.wait().expect("it ends").code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").expect("a device");
    let ended = cusp(&["check", "tests/corpus/lock.bp"]).stdout(full).stderr(Stdio::piped()).output();
    let Ran { code, stderr, .. } = ran(&ended.expect("the tool runs"));
    assert_eq!(code, 6);
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
}

/// Sends Ctrl-C as soon as the process has this many threads.
#[cfg(target_os = "linux")]
fn interrupt_with_threads(child: &mut Child, threads: usize) {
    let tasks = format!("/proc/{}/task", child.id());
    while fs::read_dir(&tasks).expect("a living process").count() < threads {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("`kill` runs").success());
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_check_with_the_partial_answer() {
    let scratch = Scratch::new("interrupt");
    let endless = scratch.file("endless.bp", ENDLESS);
    // The main thread, the one that waits for signals, and the one that watches the time.
    let mut child =
        start(&mut cusp(&["check", "--engine", "explicit", "--timeout", "3600", &endless, "never-read.bp"]));
    interrupt_with_threads(&mut child, 3);
    let Ran { code, stdout, stderr } = ran(&child.wait_with_output().expect("it ends"));
    insta::assert_snapshot!(stdout.replace(&scratch.path(""), ""), @"
    UNKNOWN  endless.bp: interrupted
    2 files: 1 unknown, 1 not checked (interrupted)
    ");
    assert_eq!((code, stderr.as_str()), (130, ""));
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_while_reading_ends_at_once() {
    let mut child = start(cusp(&["check", "-"]).stdin(Stdio::piped()));
    // Waiting for a child closes what it reads from, unless somebody else holds it.
    let stdin = child.stdin.take();
    interrupt_with_threads(&mut child, 2);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    drop(stdin);
}

#[test]
fn verdicts_come_as_soon_as_they_are_known() {
    let scratch = Scratch::new("soon");
    let (safe, endless) = (scratch.file("safe.bp", SAFE), scratch.file("endless.bp", ENDLESS));
    let mut child = start(&mut cusp(&["check", "--engine", "explicit", &safe, &endless]));
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert!(first.starts_with("SAFE  "), "{first}");
    child.kill().expect("it is running");
    child.wait().expect("it ends");
}

#[test]
fn fmt_prints_checks_and_writes() {
    let scratch = Scratch::new("fmt");
    let loose = "decl   g ;\nvoid main()\nbegin g:=T; // set\nend";
    let neat = run_on(&["fmt", "-"], loose);
    insta::assert_snapshot!(neat.stdout, @"
    decl g;

    void main() begin
      g := T; // set
    end
    ");
    assert_eq!((neat.code, neat.stderr.as_str()), (0, ""));
    let (a, b) = (scratch.file("a.bp", loose), scratch.file("b.bp", &neat.stdout));
    let checked = run(&["fmt", "--check", &a, &b]);
    assert_eq!((checked.code, checked.stdout), (1, format!("{a}\n")));
    assert_eq!(fs::read_to_string(&a).expect("a file"), loose);
    let written = run(&["fmt", "--write", &a, &b]);
    assert_eq!((written.code, written.stdout.as_str(), written.stderr.as_str()), (0, "", ""));
    assert_eq!(fs::read_to_string(&a).expect("a file"), neat.stdout);
    assert_eq!(run(&["fmt", "--check", &a, &b]).code, 0);
}

#[test]
fn fmt_changes_nothing_that_it_cannot_read() {
    let scratch = Scratch::new("fmt_errors");
    let broken = scratch.file("broken.bp", "void main( begin end");
    let failed = run(&["fmt", "--write", &broken, &scratch.path("missing.bp")]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""));
    assert!(failed.stderr.contains("broken.bp` has "), "{}", failed.stderr);
    assert!(failed.stderr.contains("missing.bp` does not exist"), "{}", failed.stderr);
    assert_eq!(fs::read_to_string(&broken).expect("a file"), "void main( begin end");
    assert_eq!(run(&["fmt", "--check", "--write", &broken]).code, 2);
    assert_eq!(run(&["fmt", "--write", "-"]).code, 2);
    let question =
        run_on(&["fmt", "--dialect", "getafix", "-"], "decl a;\nvoid main() begin\n  a := ?;\nend\n");
    assert_eq!(question.code, 0, "{}", question.stderr);
}

#[test]
fn programs_need_not_be_reduced() {
    for engine in ["auto", "explicit", "summaries"] {
        for (program, code) in [(SAFE, 0), (UNSAFE, 10)] {
            for reduction in [&[][..], &["--no-reduce"]] {
                let args = [&["check", "-q", "--engine", engine, "-"], reduction].concat();
                assert_eq!(run_on(&args, program).code, code, "{args:?}");
            }
        }
    }
}

#[test]
fn help_has_examples_and_every_exit_code() {
    let short = run(&["--help"]).stdout;
    let long = run(&["check", "--help"]).stdout;
    for help in [&short, &long] {
        assert!(help.contains("Examples:\n"), "{help}");
        for status in Status::ALL {
            assert!(help.contains(status.word()), "{} is not in {help}", status.word());
            assert!(help.contains(&status.code().to_string()), "{} is not in {help}", status.code());
        }
    }
    let options = [
        "--engine",
        "--label",
        "--threads",
        "--replicate",
        "--dialect",
        "--no-reduce",
        "--timeout",
        "--memory",
        "--json",
        "--quiet",
        "--trace",
    ];
    for option in options {
        assert!(long.contains(option), "{option}");
    }
}

/// Rows such as `| 0 | safe |`.
#[test]
fn the_readme_lists_the_exit_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let Ok(readme) = fs::read_to_string(path) else { return };
    let rows: Vec<Vec<&str>> = readme
        .lines()
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .filter(|cells: &Vec<&str>| cells.len() >= 4 && cells[1].parse::<u8>().is_ok())
        .collect();
    for status in Status::ALL {
        let row = rows.iter().find(|cells| cells[1] == status.code().to_string());
        let row = row.unwrap_or_else(|| panic!("README.md has no row for exit code {}", status.code()));
        assert!(row[2].starts_with(status.word()), "{}: {} or {}", status.code(), row[2], status.word());
    }
    assert_eq!(rows.len(), Status::ALL.len(), "README.md lists codes that do not exist");
}

#[test]
fn a_label_of_procedures_that_are_never_called_cannot_be_reached() {
    let program = "void main() begin\n  skip;\nend\nvoid f() begin\n  L: skip;\nend\n";
    let vacuous = run_on(&["check", "--label", "L", "-"], program);
    assert_eq!(vacuous.code, 0, "{}", vacuous.stderr);
    assert!(vacuous.stdout.starts_with("SAFE"), "{}", vacuous.stdout);
    let warning = "label `L` is only in procedures that are never called, so it cannot be reached";
    assert!(vacuous.stderr.contains(warning), "{}", vacuous.stderr);
    assert_eq!(run_on(&["check", "--label", "M", "-"], program).code, 1);
}

/// Nothing is built from a bound that is too large to be built.
#[test]
fn very_large_bounds_are_refused_or_given_up() {
    let program = "decl g;\nvoid main() begin\n  while (*) do\n    start_thread f();\n  od;\n  assert(g | !g);\nend\n\
                   void f() begin\n  while (T) do\n    g := *;\n  od;\nend\n";
    let most = "4294967295";
    let copies = run_on(&["check", "--replicate", "--threads", most, "-"], program);
    assert_eq!(copies.code, 1);
    let message = "`--replicate` cannot run `main` in 4294967295 threads; the most is 1000";
    assert!(copies.stderr.contains(message), "{}", copies.stderr);
    let threads = run_on(&["check", "-q", "--engine", "explicit", "--threads", most, "-"], program);
    assert!(threads.stdout.starts_with("UNKNOWN"), "{}{}", threads.stdout, threads.stderr);
    assert!(threads.stdout.contains("up to 4294967295 threads"), "{}", threads.stdout);
    // A violation is found, and a program that starts few threads is safe, whatever the bound is.
    let race = program.replace("g | !g", "g");
    assert_eq!(run_on(&["check", "-q", "--threads", most, "-"], &race).code, 10);
    let few = program.replace("while (*)", "if (*)").replace("do\n    start", "then\n    start");
    let few = few.replacen("od", "fi", 1);
    assert_eq!(run_on(&["check", "-q", "--threads", most, "-"], &few).code, 0, "{few}");
}

#[test]
fn proofs_of_the_solver_are_checked_on_demand() {
    let program = "tests/corpus/even_odd.bp";
    let checked = run(&["check", "--engine", "bdd", "--check-proofs", "--stats", program]);
    let plain = run(&["check", "--engine", "bdd", "--stats", program]);
    assert_eq!(checked.code, plain.code, "{}", checked.stderr);
    let number = |ran: &Ran, what: &str| -> Option<u64> {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(what))?;
        line.split_whitespace().last()?.parse().ok()
    };
    let proofs = "proofs of the SAT solver that were checked";
    assert_eq!(number(&plain, proofs), None);
    assert!(number(&checked, proofs).is_some_and(|n| n > 0), "{}", checked.stdout);
    assert!(number(&checked, "steps of these proofs").is_some_and(|n| n > 0), "{}", checked.stdout);
    let file = std::env::temp_dir().join(format!("cusp-check-proofs-{}.cert", std::process::id()));
    let certificate = file.display().to_string();
    run(&["check", "--engine", "bdd", "--certificate", &certificate, program]);
    let replayed = run(&["replay", "--check-proofs", program, &certificate]);
    assert_eq!(replayed.code, checked.code, "{}", replayed.stderr);
    assert!(replayed.stdout.contains("checked: proofs of the SAT solver"), "{}", replayed.stdout);
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn cutoffs_say_what_was_checked() {
    let file = std::env::temp_dir().join(format!("cusp-cutoff-{}.tts", std::process::id()));
    std::fs::write(&file, "3 4\n1 0 -> 0 3\n1 3 -> 2 0\n0 0 -> 1 2\n").expect("a writable directory");
    let name = file.display().to_string();
    let text = run(&["cutoff", "--target", "2|2", &name]).stdout;
    let header = text.lines().find(|line| line.trim_start().starts_with("n ")).expect("a table");
    assert!(header.ends_with("checked"), "{text}");
    let csv = run(&["cutoff", "--csv", "--target", "2|2", &name]).stdout;
    assert!(csv.lines().next().is_some_and(|line| line.ends_with(",realizable,checked")), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",true")), "{csv}");
    let json = lines_of_json(&run(&["cutoff", "--json", "--target", "2|2", &name]).stdout);
    assert_eq!(json[0]["checked"], true);
    let rounds = json[0]["rounds"].as_array().expect("rounds");
    assert!(!rounds.is_empty() && rounds.iter().all(|round| round["checked"] == true), "{json:?}");
    std::fs::remove_file(file).expect("it was written");
}

/// A race needs more threads and address space than there is: engines that get none fail alone, other engines answer,
/// and so do all files.
#[test]
fn with_little_address_space_every_file_is_answered() {
    let scratch = Scratch::new("address_space");
    let variables: Vec<String> = (0..20).map(|i| format!("g{i}")).collect();
    let sum = variables.join(" != ");
    let flips: Vec<String> =
        variables.iter().map(|g| format!("if (*) then {g} := !{g}; p := !p; fi\n")).collect();
    let flips = flips.concat();
    let text = format!(
        "decl {}, p;\nvoid main() begin\np := ({sum});\nwhile (*) do\n{flips}od\nassert(p = ({sum}));\nend\n",
        variables.join(", ")
    );
    let parity = scratch.file("parity.bp", &text);
    let small = "tests/corpus/lock_fixed.bp";
    for kilobytes in [4_000_000, 2_000_000, 1_000_000] {
        let cusp = env!("CARGO_BIN_EXE_cusp");
        let command =
            format!("ulimit -v {kilobytes}; exec {cusp} check --json --timeout 60 {parity} {small}");
        let output =
            Command::new("bash").args(["-c", &command]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let output = output.expect("a shell");
        let answers = lines_of_json(&String::from_utf8_lossy(&output.stdout));
        let verdicts: Vec<&str> = answers.iter().filter_map(|answer| answer["verdict"].as_str()).collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(verdicts[..], ["safe" | "unknown", "safe"]), "{verdicts:?} {errors}");
        assert!(matches!(output.status.code(), Some(0 | 5)), "{:?} {errors}", output.status);
    }
}

#[test]
fn formatting_keeps_the_encoding_of_a_file() {
    let scratch = Scratch::new("encodings");
    for (name, start, accent) in
        [("mark.bp", &b"\xef\xbb\xbf"[..], &b"\xc3\xa9"[..]), ("latin.bp", b"", b"\xe9")]
    {
        let text = [start, b"decl g; // caf", accent, b"\nvoid main() begin\nskip; end\n"].concat();
        let file = scratch.file(name, &text);
        assert_eq!(run(&["fmt", "--write", &file]).code, 0);
        let written = fs::read(&file).expect("a file");
        let comment = [b"// caf", accent, b"\n"].concat();
        assert!(written.starts_with(&[start, b"decl g;"].concat()), "{name}: {written:?}");
        assert!(written.windows(comment.len()).any(|window| window == comment), "{name}: {written:?}");
        assert_ne!(written, text);
    }
}

#[test]
fn semantic_errors_are_counted_and_not_all_shown() {
    let lines: Vec<String> = (0..3000).map(|i| format!("x{i} := T;\n")).collect();
    let wrong = run_on(&["check", "-"], &format!("void main() begin\n{}end\n", lines.concat()));
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.stderr.contains("more than 1000 errors; further ones are not shown"),
        "{}",
        wrong.stderr.len()
    );
    assert!(!wrong.stderr.contains("`x2999`"));
}

/// The names in a folder, in order.
fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn an_input_is_not_overwritten_through_links() {
    let scratch = Scratch::new("links");
    let program = scratch.file("program.bp", SAFE);
    let net = scratch.file("net.spec", "vars a rules a >= 1 -> a' = a - 1; init a = 1 target a >= 2");
    for (input, command, option) in [(&program, "check", "--certificate"), (&net, "cover", "--proof")] {
        let before = fs::read(input).expect("a file");
        let (soft, hard) = (format!("{input}.soft"), format!("{input}.hard"));
        std::os::unix::fs::symlink(input, &soft).expect("a link");
        fs::hard_link(input, &hard).expect("a link");
        for out in [input, &soft, &hard] {
            let ran = run(&[command, option, out, input]);
            assert!(
                ran.code == 2 && ran.stderr.contains("is an input"),
                "{out}: {} {}",
                ran.code,
                ran.stderr
            );
            assert_eq!(fs::read(input).expect("a file"), before);
        }
        assert_eq!(run(&[command, "-q", option, &scratch.path("out"), &soft]).code, 0);
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_program_and_leaves_nothing_behind() {
    let scratch = Scratch::new("full_disk");
    let text = "decl   g;\nvoid main() begin g:=T; end\n";
    let file = scratch.file("program.bp", text);
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" fmt --write \"$1\"";
    let ended = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_cusp"), &file]).output();
    let ended = ran(&ended.expect("a shell"));
    assert!(ended.code == 1 && ended.stderr.contains("cannot be written"), "{} {}", ended.code, ended.stderr);
    assert_eq!(fs::read_to_string(&file).expect("a file"), text);
    assert_eq!(names_in(&scratch.0), ["program.bp"]);
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_no_file_behind() {
    let scratch = Scratch::new("killed");
    let endless = scratch.file("endless.bp", ENDLESS);
    let certificate = scratch.path("certificate");
    // A first line on standard output: the engine is at work when it is killed.
    let small = scratch.file("small.bp", SAFE);
    let mut child =
        start(&mut cusp(&["check", "--engine", "explicit", "--certificate", &certificate, &endless]));
    let mut done = false;
    while !done {
        // The file for the answer was tried out as soon as the process sleeps or works on its question.
        done = fs::read_to_string(format!("/proc/{}/cmdline", child.id()))
            .is_ok_and(|line| line.contains("endless"))
            && run(&["check", "-q", &small]).code == 0;
    }
    child.kill().expect("a process");
    child.wait().expect("a process");
    assert_eq!(names_in(&scratch.0), ["endless.bp", "small.bp"]);
}

#[test]
fn a_reader_that_goes_away_ends_a_run_over_many_files() {
    let scratch = Scratch::new("closed");
    let file = scratch.file("safe.bp", SAFE);
    let endless = scratch.file("endless.bp", ENDLESS);
    let mut child = start(&mut cusp(&["check", &file, &file, &endless]));
    // Nobody reads what the first file gives, so the endless one is not begun.
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("the tool ends");
    assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}
