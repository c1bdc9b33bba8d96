//! The README is true: its example prints what it says.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use cusp::model::Task;
use cusp::net::Net;
use cusp::pipeline::table::{HasEngines, Row};

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a README")
}

/// The text of the code blocks with this language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// A command of the README finds something unsafe, and prints what the README shows; by their positions.
fn assert_prints(command: usize, shown: usize) {
    let text = readme();
    let command = &blocks(&text, "sh")[command];
    let arguments = command.trim().strip_prefix("cargo run --release -- ").expect("runs Cusp");
    let output = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("COLUMNS")
        .output()
        .expect("Cusp runs");
    assert_eq!(output.status.code(), Some(10));
    assert_eq!(String::from_utf8_lossy(&output.stdout), blocks(&text, "text")[shown]);
}

#[test]
fn the_first_example_prints_what_the_readme_shows() {
    assert_prints(0, 0);
}

#[test]
fn the_example_of_a_net_prints_what_the_readme_shows() {
    assert_prints(2, 3);
}

#[test]
fn the_example_of_the_language_is_a_program() {
    let text = readme();
    let example = &blocks(&text, "text")[1];
    let program = format!("{example}void helper(a) begin skip; end\n");
    let source = cusp::source::Source::new("README.md", program);
    let prepared = cusp::check::prepare(&source, &cusp::check::Options::default());
    let prepared = prepared.map_err(|findings| cusp::diagnostic::render(&source, &findings, false));
    assert!(prepared.expect("a program").task.program.starts_threads);
}

#[test]
fn the_example_of_machines_is_a_system() {
    let example = blocks(&readme(), "text")[4].clone();
    let source = cusp::source::Source::new("README.md", example);
    let read = cusp::net::cm::parse(&source).and_then(|(system, warnings)| {
        let (net, more) = cusp::net::cm::compile(&system)?;
        Ok((net, [warnings, more].concat()))
    });
    let (net, warnings) =
        read.map_err(|findings| cusp::diagnostic::render(&source, &findings, false)).expect("a system");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(net.targets.len(), 2);
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let command = blocks(&readme(), "sh")[1].trim().to_owned();
    let ci = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).expect("a CI script");
    assert!(ci.lines().any(|line| line == command), "`{command}` is not in .ci/run");
}

/// The table of the engines of one kind, as it stands in the README.
fn engines<Q: HasEngines>() -> String {
    let mut table = "| engine | accepts | idea | shows | proof |\n|---|---|---|---|---|\n".to_owned();
    for Row { name, accepts, idea, shows, evidence, .. } in Q::ENGINES {
        let shows = shows.words();
        writeln!(table, "| `{name}` | {accepts} | {idea} | {shows} | {evidence} |").expect("a string");
    }
    table
}

#[test]
fn the_tables_of_engines_are_those_of_the_program() {
    let text = readme();
    for table in [engines::<Task>(), engines::<Net>()] {
        assert!(text.contains(&table), "the README should have this table:\n{table}");
    }
}
