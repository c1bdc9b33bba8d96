//! All engines on families of programs with threads whose verdicts are known, with SPIN beside them.
//!
//! `cargo bench --bench threads -- [FAMILY...] [--sizes N,..] [--threads N,..] [--engines E,..] [--timeout S] [--csv FILE]`
//! prints one line for each engine, family, size, number of threads and variant: time, memory, and what was
//! searched. `--threads any` asks about any number of threads. A wrong verdict, rejected evidence, a crash, or
//! a run that does not stop when its time is over makes the exit code 1.
//!
//! `spin` is one of the engines if SPIN and gcc are installed; the bench says if they are not. It gets the same
//! program in Promela, and its time is the time of the verifier alone; what it takes to compile the verifier
//! is in the CSV. It answers for bounded numbers of threads only.
//!
//! `--ratio` compares `auto` with every single engine and with SPIN; the bar is three times the best single
//! engine plus half a second of wall-clock time, and a miss makes the exit code 1 too. `--random COUNT`
//! does so on that many random programs, with two and with three threads, whose verdicts have to agree.
//!
//! Every measurement is a process of its own, as in the bench `engines`. An engine that runs out of time or
//! memory on one member is not asked for larger ones.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "threads/expressions.rs"]
mod expressions;
#[path = "families/mod.rs"]
mod families;
#[path = "engines/measure.rs"]
mod measure;
#[path = "threads/promela.rs"]
mod promela;
#[path = "threads/spin.rs"]
mod spin;
#[path = "../tests/support/mod.rs"]
mod support;
#[path = "threads/table.rs"]
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cusp::check::prepare;
use cusp::cli::parse_check_options;
use cusp::engines::Bounds;
use cusp::model::Task;
use cusp::pipeline::table::{AUTO, HasEngines};
use cusp::source::Source;
use cusp::threads::{Reductions, ThreadSystem};
use families::Variant;
use families::threads::{ALL, Family};
use spin::SPIN;
use support::random_programs::{Limits, concurrent_within};
use table::{Figures, Member, Row, Table};

/// Runs engines on scalable families of programs with threads.
#[derive(Debug, Parser)]
struct Args {
    /// Families; all of them if there are none
    families: Vec<String>,

    /// Sizes, instead of those of each family
    #[arg(long, value_delimiter = ',', value_name = "N")]
    sizes: Vec<usize>,

    /// Numbers of threads, or `any`, instead of those of each family
    #[arg(long, value_delimiter = ',', value_name = "N")]
    threads: Vec<String>,

    /// Variants: `safe`, `buggy`
    #[arg(long, value_delimiter = ',', value_name = "V")]
    variants: Vec<String>,

    /// Engines, `spin` included; all of them if there are none
    #[arg(long, value_delimiter = ',', value_name = "E")]
    engines: Vec<String>,

    /// Seconds for each run
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    timeout: f64,

    /// Megabytes for each run
    #[arg(long, value_name = "MB", default_value_t = 4000)]
    memory: u64,

    /// Also writes the figures to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Compares `auto` with every single engine and with SPIN
    #[arg(long)]
    ratio: bool,

    /// Compares `auto` with the best single engine on so many random programs
    #[arg(long, value_name = "COUNT")]
    random: Option<u64>,

    /// Only writes the programs to a directory
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(measure::MEASURE) {
        return measure::child(&arguments.collect::<Vec<_>>());
    }
    match Bench::new(Args::parse()).and_then(Bench::run) {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            println!("\n{}", complaints.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// One question: a program with a number of threads.
struct Question {
    member: Member,
    text: String,
    /// The options of `cusp check`.
    options: Vec<String>,
    /// `None` if it is not known.
    verdict: Option<&'static str>,
}

struct Bench {
    args: Args,
    limit: Duration,
    directory: PathBuf,
    engines: Vec<&'static str>,
    table: Table,
    complaints: Vec<String>,
    /// Who ran out of time or memory, and on what.
    spent: Vec<(&'static str, Member)>,
}

impl Bench {
    fn new(args: Args) -> io::Result<Self> {
        let limit = Duration::try_from_secs_f64(args.timeout).map_err(io::Error::other)?;
        let directory =
            args.write.clone().unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads"));
        fs::create_dir_all(&directory)?;
        let engines = wanted_engines(&args)?;
        let table = Table::start(args.csv.as_deref())?;
        Ok(Self { args, limit, directory, engines, table, complaints: Vec::new(), spent: Vec::new() })
    }

    /// Prints the table; what is wrong with it comes back as sentences.
    fn run(mut self) -> io::Result<Vec<String>> {
        let questions = match self.args.random {
            Some(count) => random_questions(count),
            None => self.members()?,
        };
        for question in questions {
            self.ask(&question)?;
        }
        if (self.args.ratio || self.args.random.is_some()) && self.args.write.is_none() {
            let misses = self.table.print_ratios();
            self.complaints.extend(misses);
        }
        Ok(self.complaints)
    }

    /// The members that are asked for.
    fn members(&self) -> io::Result<Vec<Question>> {
        let variants = wanted_variants(&self.args)?;
        let threads = wanted_threads(&self.args)?;
        let mut questions = Vec::new();
        for family in wanted_families(&self.args)? {
            let usual = family.members.iter().map(|&(size, threads)| (size, Some(threads)));
            let mut members: Vec<(usize, Option<u32>)> = usual.collect();
            if !self.args.sizes.is_empty() {
                let sizes = &self.args.sizes;
                members =
                    members.iter().flat_map(|&(_, n)| sizes.iter().map(move |&size| (size, n))).collect();
            }
            if !threads.is_empty() {
                members =
                    members.iter().flat_map(|&(size, _)| threads.iter().map(move |&n| (size, n))).collect();
            }
            members.sort_unstable();
            members.dedup();
            for (size, threads) in members {
                questions.extend(variants.iter().map(|&variant| member(&family, size, threads, variant)));
            }
        }
        Ok(questions)
    }

    /// Asks all engines that accept the question.
    fn ask(&mut self, question: &Question) -> io::Result<()> {
        let Question { member, text, options, .. } = question;
        let name = member.to_string().split_whitespace().collect::<Vec<_>>().join("_");
        let path = self.directory.join(format!("{name}.bp"));
        fs::write(&path, format!("// options: {}\n{text}", options.join(" ")))?;
        if self.args.write.is_some() {
            return Ok(());
        }
        let task = task(question)?;
        for engine in self.engines.clone() {
            if !accepts(engine, &task) || self.is_spent(engine, member) {
                continue;
            }
            let figures = match (engine, member.threads) {
                (SPIN, Some(threads)) => {
                    let system =
                        ThreadSystem::new(&task, Reductions { relevance: true, large_steps: false }, None);
                    let Ok(promela) =
                        system.map_err(|why| why.to_string()).and_then(|s| promela::write(&s, threads))
                    else {
                        continue;
                    };
                    spin::measure(&promela, &self.directory.join(&name), self.limit, self.args.memory)?
                }
                (SPIN, None) => continue,
                _ => measure_cusp(&path, engine, options, self.limit, self.args.memory)?,
            };
            if figures.measured.is_spent() || engine == SPIN && figures.measured.word() == "unknown" {
                self.spent.push((engine, member.clone()));
            }
            if let Some(what) = figures.measured.complaint(question.verdict) {
                self.complaints.push(format!("{member}, {engine}: {what}\n  {}", path.display()));
            }
            self.table.add(Row { member: member.clone(), engine, figures })?;
        }
        self.compare_verdicts(question, &path);
        Ok(())
    }

    /// Where the verdict is not known, the engines must agree.
    fn compare_verdicts(&mut self, question: &Question, path: &Path) {
        let words = self.table.verdicts(&question.member);
        if words.len() > 1 {
            let who = words.join(", ");
            self.complaints.push(format!("{}: {who}\n  {}", question.member, path.display()));
        }
    }

    /// Whether an engine was spent on a member that is not larger, of the same kind.
    fn is_spent(&self, engine: &str, member: &Member) -> bool {
        self.spent.iter().any(|(who, smaller)| {
            *who == engine
                && smaller.variant.is_some()
                && (&smaller.family, smaller.variant) == (&member.family, member.variant)
                && smaller.threads.is_some() == member.threads.is_some()
                && smaller.size <= member.size
                && smaller.threads <= member.threads
        })
    }
}

fn member(family: &Family, size: usize, threads: Option<u32>, variant: Variant) -> Question {
    Question {
        member: Member { family: family.name.to_owned(), size, threads, variant: Some(variant) },
        text: (family.text)(size, variant),
        options: family.options(threads),
        verdict: Some(family.verdict(size, variant, threads)),
    }
}

/// Random programs, small ones and larger ones, with two and with three threads.
fn random_questions(count: u64) -> Vec<Question> {
    let mut questions = Vec::new();
    for (seed, threads) in (1..=count).flat_map(|seed| [(seed, 2), (seed, 3)]) {
        let limits = if seed % 2 == 0 {
            Limits { globals: 2, locals: 2, returns: 1, procs: 3, statements: 5 }
        } else {
            Limits { globals: 4, locals: 3, returns: 1, procs: 4, statements: 10 }
        };
        questions.push(Question {
            member: Member {
                family: "random".to_owned(),
                size: usize::try_from(seed).unwrap_or(usize::MAX),
                threads: Some(threads),
                variant: None,
            },
            text: concurrent_within(seed, limits).text(),
            options: vec!["--threads".to_owned(), threads.to_string()],
            verdict: None,
        });
    }
    questions
}

fn task(question: &Question) -> io::Result<Task> {
    let options = parse_check_options(&question.options.join(" ")).map_err(io::Error::other)?;
    let source = Source::new("member.bp", &question.text);
    match prepare(&source, &options) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(io::Error::other(cusp::diagnostic::render(&source, &findings, false))),
    }
}

/// Whether an engine takes a question; `auto` and SPIN always try.
fn accepts(engine: &str, task: &Task) -> bool {
    let row = Task::ENGINES.iter().find(|row| row.name == engine);
    row.is_none_or(|row| row.engine(Bounds::default()).accepts(task).is_ok())
}

/// One run of `cusp check`, with what it says about its search.
fn measure_cusp(
    path: &Path,
    engine: &str,
    options: &[String],
    limit: Duration,
    megabytes: u64,
) -> io::Result<Figures> {
    let flags = ["--json", "--stats", "--trace", "none"].map(str::to_owned);
    let ran = measure::run_cusp(path, engine, &[&flags, options].concat(), limit, megabytes)?;
    let said: serde_json::Value =
        ran.said.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut effort = Vec::new();
    if engine == AUTO && ran.code != Some(5) {
        effort.push(format!("by {}", text(&said["engine"])));
    }
    if let Some(size) = said["proof"]["size"].as_u64() {
        effort.push(format!("{size} {}", text(&said["proof"]["kind"])));
    }
    for (name, value) in said["statistics"].as_object().into_iter().flatten() {
        effort.push(format!("{value} {name}"));
    }
    let measured = ran.measured(|_| text(&said["reason"]["message"]));
    Ok(Figures { measured, effort: effort.join("; "), compiling: None })
}

fn unknown_name(what: &str, name: &str, known: &[&str]) -> io::Error {
    io::Error::other(format!("there is no {what} `{name}`; there are: {}", known.join(", ")))
}

fn wanted_families(args: &Args) -> io::Result<Vec<Family>> {
    if args.families.is_empty() {
        return Ok(ALL.to_vec());
    }
    let find = |name: &String| {
        let found = ALL.into_iter().find(|family| family.name == name);
        found.ok_or_else(|| unknown_name("family", name, &ALL.map(|family| family.name)))
    };
    args.families.iter().map(find).collect()
}

/// `auto`, the engines that can be asked for by name, and SPIN if it is installed.
fn wanted_engines(args: &Args) -> io::Result<Vec<&'static str>> {
    let mut known: Vec<&'static str> = vec![AUTO];
    known.extend(Task::ENGINES.iter().map(|row| row.name));
    known.push(SPIN);
    let mut wanted = Vec::new();
    for name in &args.engines {
        let found = known.iter().find(|known| *known == name);
        wanted.push(*found.ok_or_else(|| unknown_name("engine", name, &known))?);
    }
    // Random programs contain what cannot be said in Promela.
    let mut wanted = match (wanted.is_empty(), args.random) {
        (false, _) => wanted,
        (true, None) => known,
        (true, Some(_)) => known.into_iter().filter(|name| *name != SPIN).collect(),
    };
    let missing = spin::missing();
    if wanted.contains(&SPIN) && !missing.is_empty() {
        println!("SPIN is not measured: {} not found", missing.join(" and "));
        wanted.retain(|name| *name != SPIN);
    }
    Ok(wanted)
}

fn wanted_variants(args: &Args) -> io::Result<Vec<Variant>> {
    if args.variants.is_empty() {
        return Ok(Variant::ALL.to_vec());
    }
    let find = |wanted: &String| {
        let found = Variant::ALL.into_iter().find(|variant| variant.name() == wanted);
        found.ok_or_else(|| unknown_name("variant", wanted, &Variant::ALL.map(Variant::name)))
    };
    args.variants.iter().map(find).collect()
}

fn wanted_threads(args: &Args) -> io::Result<Vec<Option<u32>>> {
    let read = |text: &String| match text.as_str() {
        "any" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| io::Error::other(format!("`{number}` is no number of threads"))),
    };
    args.threads.iter().map(read).collect()
}
