//! Limits of time and memory hold in every phase: while texts are read, while programs are analysed, and while evidence
//! is checked. Bounds are processor time and peak memory, which do not depend on what else the machine does.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What the tool said, and its peak memory in megabytes.
struct Ran {
    code: Option<i32>,
    stdout: String,
    peak: u64,
}

fn run(args: &[&str]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tool runs");
    // The system forgets the peak when the process ends, so it is asked for all the time. Answers fit into the pipe.
    let table = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let status = fs::read_to_string(&table).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) >> 10);
        if let Some(status) = child.try_wait().expect("a child") {
            break status.code();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    Ran { code, stdout, peak }
}

/// A folder of its own for every test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A pipe that nobody writes to: opening it blocks for ever.
fn silent_pipe(scratch: &Scratch) -> String {
    let path = scratch.0.join("silent.bp").display().to_string();
    let made = Command::new("mkfifo").arg(&path).status().expect("`mkfifo` is there");
    assert!(made.success());
    path
}

const EASY: &str = "tests/corpus/lock_fixed.bp";

#[test]
fn a_pipe_without_data_ends_with_the_time_limit() {
    let scratch = Scratch::new("limits_pipe");
    let pipe = silent_pipe(&scratch);
    for command in ["check", "cover", "cutoff", "engines", "fmt"] {
        let ran = run(&[command, "--timeout", "0.2", &pipe]);
        assert_eq!(ran.code, Some(5), "{command}: {}", ran.stdout);
    }
    assert_eq!(run(&["replay", "--timeout", "0.2", EASY, &pipe]).code, Some(5));
    // The next file is answered, and every file has its line.
    let ran = run(&["check", "--timeout", "0.2", &pipe, EASY]);
    let words: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(words, ["UNKNOWN", "SAFE", "2 files: 1 safe, 1 unknown"]);
    let json = run(&["check", "--json", "--timeout", "0.2", &pipe]).stdout;
    let answer: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (answer["verdict"].as_str(), answer["reason"]["kind"].as_str()),
        (Some("unknown"), Some("timeout"))
    );
}

#[test]
fn large_texts_and_evidence_stay_within_the_memory_limit() {
    const LIMIT: &str = "100";
    let scratch = Scratch::new("limits_texts");
    let comments = |sign: &str| format!("{sign} {}\n", "x".repeat(96)).repeat(2_000_000);
    let program = scratch.file("comments.bp", comments("//"));
    let net = scratch.file("comments.spec", comments("#"));
    let machines = scratch.file("comments.cm", comments("#"));
    let threads = scratch.file("comments.tts", comments("#"));
    let evidence = scratch.file("comments.cert", comments("#"));
    let runs: [&[&str]; 7] = [
        &["check", "--memory", LIMIT, &program],
        &["fmt", "--memory", LIMIT, &program],
        &["cover", "--memory", LIMIT, &net],
        &["cover", "--memory", LIMIT, &machines],
        &["cover", "--memory", LIMIT, "--target", "0|0", &threads],
        &["cutoff", "--memory", LIMIT, "--target", "0|0", &threads],
        &["replay", "--memory", LIMIT, EASY, &evidence],
    ];
    for args in runs {
        let ran = run(args);
        assert_eq!(ran.code, Some(5), "{args:?}: {}", ran.stdout);
        assert!(ran.peak <= 120, "{args:?} took {} MB", ran.peak);
    }
}

#[test]
fn nested_loops_cost_like_nested_branches() {
    const DEPTH: usize = 200_000;
    let scratch = Scratch::new("limits_nested");
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(DEPTH), close.repeat(DEPTH));
        format!("decl g;\nvoid main() begin\n{open}g := !g;\n{close}assert(g);\nend\n")
    };
    let loops = scratch.file("loops.bp", nested("while (*) do\n", "od;\n"));
    let branches = scratch.file("branches.bp", nested("if (*) then\n", "fi;\n"));
    let cost = |file: &str| {
        let [verdict, seconds] = cpu_seconds(&["check", "--quiet", file]);
        assert!(verdict.starts_with("UNSAFE"), "{verdict}");
        seconds.parse::<f64>().expect("a number")
    };
    let (loops, branches) = (cost(&loops), cost(&branches));
    assert!(loops < 4.0 * branches + 0.2, "{loops} s for loops, {branches} s for branches");
}

/// The first line that the tool says, and its processor time in seconds, as the shell tells it.
fn cpu_seconds(args: &[&str]) -> [String; 2] {
    let command = format!("TIMEFORMAT='%U %S'; time {} {}", env!("CARGO_BIN_EXE_cusp"), args.join(" "));
    let output = Command::new("bash").args(["-c", &command]).output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let times = text(&output.stderr);
    let times =
        times.lines().last().unwrap_or_default().split(' ').map(|t| t.parse::<f64>().expect("a time"));
    [text(&output.stdout).lines().next().unwrap_or_default().to_owned(), times.sum::<f64>().to_string()]
}

/// An operation on diagrams that goes on when the memory is used up must not cost the next file its answer.
#[test]
fn a_file_that_used_all_memory_leaves_enough_for_the_next() {
    let scratch = Scratch::new("limits_next");
    let count = 40;
    let (xs, ps): (Vec<String>, Vec<String>) =
        ((0..count).map(|i| format!("x{i}")).collect(), (0..8).map(|i| format!("p{i}")).collect());
    // Sums of products of far apart variables: there is no good order of the variables.
    let mut text = format!("decl {}, {};\nvoid main() begin\n", xs.join(", "), ps.join(", "));
    for (k, p) in ps.iter().enumerate() {
        let product = |i: usize| format!("(x{} & x{})", i % count, (i * (2 * k + 7) + 3 * k + 1) % count);
        let sum: Vec<String> = (0..2 * count).map(product).collect();
        text = format!("{text}{p} := {};\n", sum.join(" != "));
    }
    text = format!("{text}assert({});\nend\n", ps.join(" | "));
    let hard = scratch.file("hard.bp", text);
    let ran = run(&["check", "--engine", "bdd", "--memory", "60", "--timeout", "3", &hard, EASY]);
    let words: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split("  ").next()).collect();
    assert!(matches!(words[..], ["UNKNOWN" | "UNSAFE", "SAFE", _]), "{}", ran.stdout);
}
