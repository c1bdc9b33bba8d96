//! SPIN on the same programs: `spin -a`, a C compiler, and the verifier that comes out.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::measure::{self, Answer, Measured};
use super::table::Figures;

/// Its name in tables.
pub const SPIN: &str = "spin";

/// The deepest search; it costs some memory, and whoever needs more has no answer.
const DEPTH: &str = "-m1000000";

/// The programs that are needed and not installed.
pub fn missing() -> Vec<&'static str> {
    let is_there = |program: &&str| {
        let version = if *program == SPIN { "-V" } else { "--version" };
        let mut command = Command::new(program);
        command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    [SPIN, "gcc"].into_iter().filter(|program| !is_there(program)).collect()
}

/// Verifies a program in Promela within limits of time, for the verifier alone, and of memory.
pub fn measure(promela: &str, directory: &Path, limit: Duration, megabytes: u64) -> io::Result<Figures> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("model.pml"), promela)?;
    let memory = format!("-DMEMLIM={megabytes}");
    let commands = [
        (SPIN, vec!["-a", "model.pml"]),
        ("gcc", vec!["-O2", "-w", "-DSAFETY", &memory, "-o", "pan", "pan.c"]),
    ];
    let mut compiling = Duration::ZERO;
    for (program, arguments) in commands {
        // A large program takes long to compile, which is not the point here.
        let ran = measure::run(program, &arguments, directory, limit * 6)?;
        compiling += ran.cpu;
        if ran.code != Some(0) {
            let answer = if ran.code == Some(measure::KILLED) {
                Answer::Unknown("the time limit is over before it is compiled".to_owned())
            } else {
                Answer::Crashed(format!("{program}: {}", ran.words()))
            };
            let measured = Measured { answer, wall: ran.wall, cpu: ran.cpu, peak: ran.peak };
            return Ok(Figures { measured, effort: String::new(), compiling: Some(compiling) });
        }
    }
    let ran = measure::run("./pan", &[DEPTH, "-E", "-n"], directory, limit)?;
    let words = ran.words();
    let answer = answer(ran.code == Some(measure::KILLED), &words);
    let effort = number_before(&words, " states, stored").map_or_else(String::new, |n| format!("{n} states"));
    let measured = Measured { answer, wall: ran.wall, cpu: ran.cpu, peak: ran.peak };
    Ok(Figures { measured, effort, compiling: Some(compiling) })
}

/// What the verifier found out.
fn answer(was_killed: bool, words: &str) -> Answer {
    let incomplete = ["max search depth too small", "out of memory", "search was not completed", "-DMEMLIM"];
    if was_killed {
        return Answer::Unknown("the time limit is over".to_owned());
    }
    if words.contains("assertion violated") {
        return Answer::Unsafe;
    }
    if let Some(why) = incomplete.into_iter().find(|&why| words.contains(why)) {
        return Answer::Unknown(
            if why.contains("depth") { why } else { "the memory limit is over" }.to_owned(),
        );
    }
    if words.contains("errors: 0") { Answer::Safe } else { Answer::Crashed(words.to_owned()) }
}

/// The number that stands before some words.
fn number_before<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.split_once(words)?.0.rsplit(' ').next()
}
