//! Whether limits hold in every phase: every command on inputs that are large or hard, with `--timeout 1`, with
//! `--memory 300`, and with a signal after a second.
//!
//! Prints CSV, and a line that begins with `MISSED` for each run that went on for more than half a second of processor
//! time after its end, took a fifth more memory than it may, crashed, or had to be killed. Arguments are words: only
//! runs whose command contains one of them are measured.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "families/mod.rs"]
mod families;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use families::Variant;
use itertools::Itertools as _;

/// The first argument of the process between this one and the measured one: the system tells what children took that
/// have ended, but only for all of them together.
const MEASURE: &str = "measure";
/// After this time a run is killed.
const AT_MOST: Duration = Duration::from_secs(30);
/// Half a second, in microseconds.
const MOST_CPU: u128 = 500_000;
/// The limit of memory in megabytes, and what is tolerated.
const MEMORY: (&str, u64) = ("300", 360);

/// What ends a run.
#[derive(Clone, Copy)]
enum End {
    Time,
    Memory,
    Signal(&'static str),
}

impl End {
    const ALL: [Self; 4] = [Self::Time, Self::Memory, Self::Signal("INT"), Self::Signal("TERM")];

    fn name(self) -> &'static str {
        match self {
            Self::Time => "timeout",
            Self::Memory => "memory",
            Self::Signal(name) => name,
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["--timeout", "1"],
            // Inputs that take little memory would run for ever.
            Self::Memory => &["--memory", MEMORY.0, "--timeout", "8"],
            Self::Signal(_) => &[],
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if arguments.first().is_some_and(|word| word == MEASURE) {
        return child(&arguments[1..]);
    }
    match measure_all(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("MISSED: {missed} in all");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns how many runs missed a bar.
fn measure_all(words: &[String]) -> io::Result<usize> {
    let folder = tempfile::tempdir()?;
    let runs = runs(folder.path())?;
    println!("command,end,exit code,seconds,cpu seconds,cpu seconds after the end,megabytes");
    let mut missed = 0;
    for run in runs {
        // Of files, only the names: folders differ from machine to machine.
        let names =
            run.iter().map(|word| word.rsplit('/').next().filter(|_| word.starts_with('/')).unwrap_or(word));
        let command = names.collect::<Vec<_>>().join(" ");
        if !words.is_empty() && !words.iter().any(|word| command.contains(word)) {
            continue;
        }
        for end in End::ALL {
            let measured = measure(&run, end)?;
            let Measured { code, wall, cpu, after, peak } = measured;
            let seconds = |micros: u128| format!("{}.{:02}", micros / 1_000_000, micros / 10_000 % 100);
            let (wall, cpu, shown) = (seconds(wall), seconds(cpu), after.map_or(String::new(), seconds));
            println!("{},{},{code},{wall},{cpu},{shown},{peak}", command.replace(',', " "), end.name());
            let mut complain = |what: &str| {
                missed += 1;
                println!("MISSED: {command} ({}): {what}", end.name());
            };
            if ![0, 1, 5, 10, 130].contains(&code) {
                complain("a strange end");
            }
            if after.is_some_and(|after| after > MOST_CPU) {
                complain("goes on for too long");
            }
            if matches!(end, End::Memory) && peak > MEMORY.1 {
                complain("takes too much memory");
            }
            // Of a run that is done within a second there is nothing else to end.
            if matches!(end, End::Time) && after.is_none() && peak < MEMORY.1 {
                break;
            }
        }
    }
    Ok(missed)
}

/// All commands that are measured, on inputs that are written to the folder.
fn runs(folder: &Path) -> io::Result<Vec<Vec<String>>> {
    let file = |name: &str, text: &str| -> io::Result<String> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let comments = |sign: &str| format!("{sign} {}\n", "x".repeat(96)).repeat(5_000_000);
    let program = file("comments.bp", &comments("//"))?;
    let net = file("comments.spec", &comments("#"))?;
    let machines = file("comments.cm", &comments("#"))?;
    let evidence = file("comments.cert", &comments("#").repeat(2))?;
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(500_000), close.repeat(500_000));
        format!("decl g;\nvoid main() begin\n{open}g := !g;\n{close}assert(g);\nend\n")
    };
    let loops = file("loops.bp", &nested("while (*) do\n", "od;\n"))?;
    let hard = file("hard.bp", &quadratic(40, 8))?;
    let lines = file("lines.tts", &many_lines(1_000_000))?;
    let passive = file("passive.tts", &passive_choices(14))?;
    let many = file(
        "many.spec",
        "vars a b rules a >= 1 -> a' = a - 1, b' = b + 1; init a = 18446744073709551615, b = 0 target b >= 1000000",
    )?;
    let pipe = folder.join("silent.bp").display().to_string();
    Command::new("mkfifo").arg(&pipe).status()?;
    let easy = file("easy.bp", "decl g;\nvoid main() begin\n  g := T;\n  assert(g);\nend\n")?;
    let clients = format!("{}/tests/corpus/nets/client_server.cm", env!("CARGO_MANIFEST_DIR"));
    let factory = corpus::path("spec/qcover176/soter/state_factory__single_message_in_mailbox__depth_1.spec");
    let factory = factory.display().to_string();
    let mut runs: Vec<Vec<String>> = Vec::new();
    let mut add = |words: &[&str]| runs.push(words.iter().map(|&word| word.to_owned()).collect());
    for command in ["check", "cover", "cutoff", "engines", "fmt"] {
        add(&[command, &pipe]);
    }
    add(&["replay", &easy, &pipe]);
    add(&["check", &program]);
    add(&["fmt", &program]);
    add(&["cover", &net]);
    add(&["cover", &machines]);
    add(&["replay", &easy, &evidence]);
    add(&["check", &loops]);
    add(&["cutoff", &many]);
    for command in ["cover", "cutoff"] {
        add(&[command, "--target", "5|5", &lines]);
    }
    let threads = "0|0,0,0,0,0,0,0,0,0,0,0,0";
    add(&["cover", "--engine", "explicit", "--initial", threads, "--target", "2|5,5,5,5", &passive]);
    add(&["cutoff", "--initial", threads, "--target", "2|5,5,5,5", &passive]);
    for engine in ["explicit", "bdd", "bmc", "summaries", "kinduction", "universal", "lazy", "auto"] {
        add(&["check", "--engine", engine, &hard]);
    }
    for engine in ["backward", "mcov", "directed", "backward-cst", "karp-miller", "explicit", "reference"] {
        add(&["cover", "--engine", engine, &factory]);
        add(&["cover", "--engine", engine, &clients]);
    }
    for family in families::all() {
        let Some(&size) = family.sizes.last() else { continue };
        let path = file(&format!("{}{size}.bp", family.name), &(family.text)(size, Variant::Safe))?;
        for engine in ["explicit", "bdd", "bmc", "summaries", "kinduction", "universal", "lazy", "auto"] {
            add(&["check", "--engine", engine, &path]);
        }
    }
    for family in families::threads::ALL {
        let path = file(&format!("{}8.bp", family.name), &(family.text)(8, Variant::Safe))?;
        for engine in ["explicit", "interleavings", "counter", "bmc", "kinduction", "pdr", "nets", "auto"] {
            for threads in [Some(9), None] {
                let options = family.options(threads);
                let options = options.iter().map(String::as_str);
                add(&["check", "--engine", engine]
                    .into_iter()
                    .chain(options)
                    .chain([path.as_str()])
                    .collect_vec());
            }
        }
    }
    Ok(runs)
}

/// Sums of products of variables that are far apart: there is no good order of the variables for decision diagrams.
fn quadratic(count: usize, sums: usize) -> String {
    let names = |letter: char, n: usize| (0..n).map(|i| format!("{letter}{i}")).collect::<Vec<_>>();
    let (xs, ps) = (names('x', count), names('p', sums));
    let mut text = format!("decl {}, {};\nvoid main() begin\n", xs.join(", "), ps.join(", "));
    for (k, p) in ps.iter().enumerate() {
        let product = |i: usize| format!("(x{} & x{})", i % count, (i * (2 * k + 7) + 3 * k + 1) % count);
        let sum: Vec<String> = (0..2 * count).map(product).collect();
        let _ = writeln!(text, "{p} := {};", sum.join(" != "));
    }
    let turned = |names: &[String]| [&names[1..], &names[..1]].concat().join(", ");
    let _ = write!(text, "while (*) do\n{} := {};\n", xs.join(", "), turned(&xs));
    let _ = write!(
        text,
        "{} := {};\nod\nassert({} | {});\nend\n",
        ps.join(", "),
        turned(&ps),
        ps.join(" | "),
        xs.join(" | ")
    );
    text
}

fn many_lines(lines: usize) -> String {
    let mut text = "1000 1000\n".to_owned();
    for i in 0..lines {
        let (from, to) = ((i % 1000, i / 1000 % 1000), ((i * 7 + 1) % 1000, (i * 13 + 3) % 1000));
        let _ = writeln!(text, "{} {} -> {} {}", from.0, from.1, to.0, to.1);
    }
    text
}

/// Steps after which every other thread has several choices.
fn passive_choices(locals: usize) -> String {
    let mut text = format!("3 {locals}\n");
    let choices: Vec<String> =
        (0..4).flat_map(|a| (a..locals.min(a + 4)).map(move |b| format!("{a} ~> {b}"))).collect();
    for (shared, local) in (0..2).flat_map(|shared| (0..4).map(move |local| (shared, local))) {
        let _ = writeln!(text, "{shared} {local} -> {} {} {}", 1 - shared, local + 1, choices.join(" "));
    }
    text
}

/// Microseconds and megabytes.
struct Measured {
    code: i32,
    wall: u128,
    cpu: u128,
    /// Processor time after the time was over, or after the signal; nothing for runs that end before.
    after: Option<u128>,
    peak: u64,
}

fn measure(run: &[String], end: End) -> io::Result<Measured> {
    let signal = if let End::Signal(name) = end { name } else { "" };
    let output = Command::new(std::env::current_exe()?)
        .args([MEASURE, signal])
        .arg(env!("CARGO_BIN_EXE_cusp"))
        .args(run)
        .args(end.options())
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<i128> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[code, wall, cpu, at_end, peak] = numbers.as_slice() else {
        return Err(io::Error::other(format!("not measured: {text}")));
    };
    let positive = |number: i128| u128::try_from(number).unwrap_or(0);
    let after = (at_end >= 0 && !matches!(end, End::Memory)).then(|| positive(cpu - at_end));
    let peak = u64::try_from(peak).unwrap_or(0);
    Ok(Measured { code: code as i32, wall: positive(wall), cpu: positive(cpu), after, peak })
}

/// The process in between: prints the exit code, microseconds of wall-clock and processor time, the processor time that
/// was used after one second (or -1), and megabytes.
fn child(arguments: &[String]) -> ExitCode {
    match watch(arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn watch(arguments: &[String]) -> io::Result<String> {
    const SECOND: Duration = Duration::from_secs(1);
    let [signal, program, rest @ ..] = arguments else {
        return Err(io::Error::other("a command is expected"));
    };
    let begin = Instant::now();
    let null = || Stdio::null();
    let mut process = Command::new(program).args(rest).stdin(null()).stdout(null()).stderr(null()).spawn()?;
    let mut at_end = None;
    let (status, wall) = loop {
        if let Some(status) = process.try_wait()? {
            break (status, begin.elapsed());
        }
        if at_end.is_none() && begin.elapsed() >= SECOND {
            at_end = Some(cpu_of(process.id()).map_or(-1, |cpu| cpu.as_micros().cast_signed()));
            if !signal.is_empty() {
                Command::new("kill").args([&format!("-{signal}"), &process.id().to_string()]).status()?;
            }
        }
        if begin.elapsed() > AT_MOST {
            process.kill()?;
        }
        sleep(Duration::from_millis(2));
    };
    let (cpu, peak) = corpus::children();
    let code = status.code().unwrap_or(-1);
    Ok(format!("{code} {} {} {} {peak}", wall.as_micros(), cpu.as_micros(), at_end.unwrap_or(-1)))
}

/// The processor time of a process so far, in ticks of which a second has a hundred.
fn cpu_of(process: u32) -> Option<Duration> {
    let table = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = table.rsplit_once(") ")?;
    let ticks: u32 = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    Some(Duration::from_millis(10) * ticks)
}
