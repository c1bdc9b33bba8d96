//! The external program of the tests: one honest DIMACS solver and many that are not.
//!
//! `fake-solver MODE [--pids FILE] [INPUT]` reads a formula from INPUT or standard input and behaves as MODE
//! says. With `--pids` it first writes the ids of its processes to FILE.

use std::fs;
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, abort};
use std::thread::sleep;
use std::time::Duration;

use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver};
use rustsat::types::{Lit, Var};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let mode = arguments.next().unwrap_or_default();
    let pids = arguments.next_if_eq("--pids").and_then(|_| arguments.next());
    let mut processes = vec![std::process::id()];
    if mode.ends_with("-with-child") {
        let itself = std::env::current_exe().expect("the program knows its own path");
        // Never waited for, on purpose.
        processes.push(Command::new(itself).arg("hang").spawn().expect("the program starts itself").id());
    }
    if let Some(file) = pids {
        let lines: Vec<String> = processes.iter().map(u32::to_string).collect();
        fs::write(file, lines.join("\n")).expect("the file is writable");
    }
    match behave(&mode, arguments.next()) {
        Ok(code) => ExitCode::from(code),
        Err(_) => ExitCode::from(1),
    }
}

fn behave(mode: &str, input: Option<String>) -> io::Result<u8> {
    let mut out = io::stdout().lock();
    match mode {
        "honest" | "honest-with-child" => honest(&read_input(input)?, &mut out),
        "hang" | "hang-with-child" => loop {
            sleep(Duration::from_secs(1));
        },
        "crash" => abort(),
        "crash-after-answer" => {
            honest(&read_input(input)?, &mut out)?;
            out.flush()?;
            abort()
        }
        "wrong-exit-code" => honest(&read_input(input)?, &mut out).map(|code| 30 - code),
        "exit-code-only" => Ok(20),
        "silent" => Ok(0),
        "unknown" => writeln!(out, "s UNKNOWN").map(|()| 0),
        "unsat" => writeln!(out, "s UNSATISFIABLE").map(|()| 20),
        "truncated-status" => write!(out, "s UNSATISFI").map(|()| 20),
        "two-answers" => writeln!(out, "s SATISFIABLE\ns UNSATISFIABLE").map(|()| 20),
        "truncated-values" => {
            let mut text = Vec::new();
            let code = honest(&read_input(input)?, &mut text)?;
            let end = text.iter().rposition(|byte| *byte == b'0').unwrap_or(0);
            out.write_all(&text[..end]).map(|()| code)
        }
        "no-values" => writeln!(out, "s SATISFIABLE").map(|()| 10),
        "huge-values" => writeln!(out, "s SATISFIABLE\nv 99999999999999999999 0").map(|()| 10),
        "foreign-values" => writeln!(out, "s SATISFIABLE\nv 1 2 3 4 5 6 7 8 9 1000 0").map(|()| 10),
        "contradictory-values" => writeln!(out, "s SATISFIABLE\nv 1 -1 0").map(|()| 10),
        "two-models" => writeln!(out, "s SATISFIABLE\nv 1 0\nv 1 0").map(|()| 10),
        // The answer to the instance with every literal negated.
        "other-instance" => {
            let negated = read_input(input)?.into_iter().map(|c| c.into_iter().map(|lit| !lit).collect());
            honest(&negated.collect::<Vec<_>>(), &mut out)
        }
        "garbage" => {
            let noise: Vec<u8> =
                (0..10_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            out.write_all(&noise).map(|()| 10)
        }
        "flood" => loop {
            out.write_all(&[b'v'; 1 << 14])?;
        },
        "flood-errors" => {
            for _ in 0..1024 {
                io::stderr().write_all(&[b'!'; 1 << 14])?;
            }
            honest(&read_input(input)?, &mut out)
        }
        "hog" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 1 << 24]);
            }
        }
        mode => writeln!(io::stderr(), "unknown mode '{mode}'").map(|()| 2),
    }
}

fn honest(clauses: &[Vec<Lit>], out: &mut impl Write) -> io::Result<u8> {
    let mut solver = CadicalSolver::new();
    for clause in clauses {
        solver.add_clause(clause);
    }
    match solver.solve(&[], &Limits::NONE) {
        Answer::Sat => {
            writeln!(out, "c a comment line\ns SATISFIABLE")?;
            for index in 0..solver.num_vars() {
                let lit = Var::new(index).pos_lit();
                writeln!(out, "v {}", if solver.value(lit) { lit } else { !lit }.to_ipasir())?;
            }
            writeln!(out, "v 0").map(|()| 10)
        }
        Answer::Unsat => writeln!(out, "s UNSATISFIABLE").map(|()| 20),
        Answer::Unknown(_) => writeln!(out, "s UNKNOWN").map(|()| 0),
    }
}

fn read_input(file: Option<String>) -> io::Result<Vec<Vec<Lit>>> {
    let mut text = String::new();
    match file {
        Some(file) => text = fs::read_to_string(file)?,
        None => drop(io::stdin().read_to_string(&mut text)?),
    }
    let mut clauses = vec![Vec::new()];
    for word in
        text.lines().filter(|line| !line.starts_with(['p', 'c'])).flat_map(str::split_ascii_whitespace)
    {
        match word.parse().ok().map(Lit::from_ipasir) {
            Some(Ok(lit)) => clauses.last_mut().expect("never empty").push(lit),
            _ => clauses.push(Vec::new()),
        }
    }
    clauses.pop();
    Ok(clauses)
}
