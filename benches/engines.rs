//! All engines on families of programs whose verdicts are known: time, memory, verdict.
//!
//! `cargo bench --bench engines -- [FAMILY...] [--sizes N,..] [--engines E,..] [--timeout S] [--csv FILE]`
//! prints one line for each engine, family, size and variant. `tuned` and `held_out` name the families of
//! either kind. A wrong verdict, rejected evidence, a crash, or a run that does not stop when its time is
//! over makes the exit code 1.
//!
//! `--ratio` also compares `auto` with the best single engine on each member; the bar is three times the
//! best plus half a second of wall-clock time, and a miss makes the exit code 1 too.
//!
//! Every measurement is a process of its own, the `cusp` that was built along with the bench, so that
//! nothing is warm and memory means the peak of that one run. An engine that runs out of time or memory on
//! one size is not asked for larger ones.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "families/mod.rs"]
mod families;
#[path = "engines/measure.rs"]
mod measure;
#[path = "engines/table.rs"]
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cusp::model::Task;
use cusp::pipeline::table::Choice;
use families::{Family, Variant};
use measure::{Answer, Measured};
use table::{Member, Row, Table};

/// Runs engines on scalable families of programs.
#[derive(Debug, Parser)]
struct Args {
    /// Families, or `tuned`, or `held_out`; all of them if there are none
    families: Vec<String>,

    /// Sizes, instead of those of each family
    #[arg(long, value_delimiter = ',', value_name = "N")]
    sizes: Vec<usize>,

    /// Variants: `safe`, `buggy`
    #[arg(long, value_delimiter = ',', value_name = "V")]
    variants: Vec<String>,

    /// Engines; all of them if there are none
    #[arg(long, value_delimiter = ',', value_name = "E")]
    engines: Vec<String>,

    /// Seconds for each run
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    timeout: f64,

    /// Megabytes for each run
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    memory: u64,

    /// Runs of each measurement; the median counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,

    /// Also writes the figures to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Compares `auto` with the best single engine
    #[arg(long)]
    ratio: bool,

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
    let args = Args::parse();
    match run(&args) {
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

/// The names of all engines on the command line, `auto` first.
fn engine_names() -> Vec<&'static str> {
    Choice::<Task>::all().map(|engine| engine.name()).collect()
}

fn unknown_name(what: &str, name: &str, known: &[&str]) -> io::Error {
    io::Error::other(format!("there is no {what} `{name}`; there are: {}", known.join(", ")))
}

fn wanted_families(args: &Args) -> io::Result<Vec<Family>> {
    if args.families.is_empty() {
        return Ok(families::all().collect());
    }
    let mut wanted = Vec::new();
    for name in &args.families {
        match name.as_str() {
            "tuned" => wanted.extend(families::TUNED),
            "held_out" => wanted.extend(families::HELD_OUT),
            name => {
                let known: Vec<&str> = families::all().map(|family| family.name).collect();
                let found = families::all().find(|family| family.name == name);
                wanted.push(found.ok_or_else(|| unknown_name("family", name, &known))?);
            }
        }
    }
    Ok(wanted)
}

fn wanted_engines(args: &Args) -> io::Result<Vec<&'static str>> {
    let known = engine_names();
    if args.engines.is_empty() {
        return Ok(known);
    }
    let find = |wanted: &String| {
        let found = known.iter().copied().find(|name| name == wanted);
        found.ok_or_else(|| unknown_name("engine", wanted, &known))
    };
    args.engines.iter().map(find).collect()
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

/// Prints the table; what is wrong with it comes back as sentences.
fn run(args: &Args) -> io::Result<Vec<String>> {
    let (families, engines, variants) =
        (wanted_families(args)?, wanted_engines(args)?, wanted_variants(args)?);
    let limit = Duration::try_from_secs_f64(args.timeout).map_err(io::Error::other)?;
    let directory =
        args.write.clone().unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("families"));
    fs::create_dir_all(&directory)?;
    let mut table = Table::start(args.csv.as_deref())?;
    let mut complaints = Vec::new();
    for family in families {
        let sizes = if args.sizes.is_empty() { family.sizes } else { &args.sizes };
        let mut spent: Vec<(&str, Variant)> = Vec::new();
        for (&size, &variant) in sizes.iter().flat_map(|size| variants.iter().map(move |v| (size, v))) {
            let member = Member { family: family.name, size, variant };
            let path = directory.join(format!("{}_{size}_{}.bp", family.name, variant.name()));
            fs::write(&path, (family.text)(size, variant))?;
            if args.write.is_some() {
                continue;
            }
            for &engine in &engines {
                if spent.contains(&(engine, variant)) {
                    continue;
                }
                let measured = median(&path, engine, limit, args)?;
                if measured.is_spent() {
                    spent.push((engine, variant));
                }
                if let Some(what) = measured.complaint(Some(variant.verdict())) {
                    complaints.push(format!("{member}, {engine}: {what}\n  {}", path.display()));
                }
                table.add(Row { member, engine, measured })?;
            }
        }
    }
    if args.ratio && args.write.is_none() {
        complaints.extend(table.print_ratios());
    }
    Ok(complaints)
}

/// The run with the median time; the first one that is no answer at all, if there is one.
fn median(path: &Path, engine: &str, limit: Duration, args: &Args) -> io::Result<Measured> {
    let mut all = Vec::new();
    for _ in 0..args.runs.max(1) {
        let measured = run_once(path, engine, limit, args.memory)?;
        if !matches!(measured.answer, Answer::Safe | Answer::Unsafe) {
            return Ok(measured);
        }
        all.push(measured);
    }
    all.sort_by_key(|measured| measured.wall);
    Ok(all.swap_remove(all.len() / 2))
}

/// Runs one engine on one program.
fn run_once(program: &Path, engine: &str, limit: Duration, megabytes: u64) -> io::Result<Measured> {
    let ran = measure::run_cusp(program, engine, &["--quiet".to_owned()], limit, megabytes)?;
    // What comes before the reason is the verdict and the path.
    Ok(ran.measured(|ran| {
        let words = ran.words();
        let reason = words.split_once(".bp: ");
        reason.map_or(words.clone(), |(_, reason)| reason.to_owned())
    }))
}
