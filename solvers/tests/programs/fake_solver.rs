//! The external program of the tests: one honest DIMACS solver, one honest QDIMACS solver, and many that are not.
//!
//! `fake-solver MODE [--pids FILE] [INPUT]` reads a formula from INPUT or standard input and behaves as MODE
//! says. With `--pids` it first writes the ids of its processes to FILE. Other arguments in between have no effect.

use std::fs;
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, abort};
use std::thread::sleep;
use std::time::Duration;

use cusp_encodings::{Term, TermArena};
use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::qbf::{Embedded, QbfAnswer, QbfSolver, Question};
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
    let input = arguments.last();
    let behaviour = match (mode.as_str(), mode.strip_prefix("qbf-")) {
        // Called like a program of this version that the table knows.
        ("--version", _) => writeln!(io::stderr(), "A fake solver 6.03, for tests").map(|()| 0),
        ("--qdo", _) => behave_quantified("honest", input),
        (_, Some(mode)) => behave_quantified(mode, input),
        (mode, None) => behave(mode, input),
    };
    match behaviour {
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

fn read_text(file: Option<String>) -> io::Result<String> {
    let mut text = String::new();
    match file {
        Some(file) => text = fs::read_to_string(file)?,
        None => drop(io::stdin().read_to_string(&mut text)?),
    }
    Ok(text)
}

fn read_input(file: Option<String>) -> io::Result<Vec<Vec<Lit>>> {
    let text = read_text(file)?;
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

/// Modes that answer forall-exists formulas.
fn behave_quantified(mode: &str, input: Option<String>) -> io::Result<u8> {
    let mut out = io::stdout().lock();
    let text = read_text(input)?;
    match mode {
        "true" => return writeln!(out, "s cnf 1").map(|()| 10),
        "false" => return writeln!(out, "s cnf 0").map(|()| 20),
        "exit-code-true" => return Ok(10),
        "exit-code-false" => return Ok(20),
        "two-answers" => return writeln!(out, "s cnf 0\ns cnf 1").map(|()| 20),
        "truncated-status" => return write!(out, "s cn").map(|()| 20),
        "foreign-values" => return writeln!(out, "s cnf 0\nV 1 2 3 1000 0").map(|()| 20),
        _ => {}
    }
    let mut formula = Formula::read(&text).ok_or_else(|| io::Error::other("not forall-exists"))?;
    if mode == "other-instance" {
        // The same prefix, but the first variable has to be true.
        formula.clauses = vec![vec![1]];
    }
    let (is_true, values) = decide(&formula).ok_or_else(|| io::Error::other("not forall-exists"))?;
    let code = if is_true { 10 } else { 20 };
    let status = format!("s cnf {} {} {}", u8::from(is_true), text.len(), formula.clauses.len());
    let joined = values.iter().map(|lit| lit.to_ipasir().to_string()).collect::<Vec<_>>().join(" ");
    match mode {
        "honest" | "other-instance" => {
            writeln!(out, "c a comment line\n{status}")?;
            write_values(&values, &mut out).map(|()| code)
        }
        "one-line" => writeln!(out, "{}\nV {joined}", if is_true { "SAT" } else { "UNSAT" }).map(|()| code),
        "signs" => {
            let signs: Vec<String> = values.iter().map(|lit| format!("{:+}", lit.to_ipasir())).collect();
            writeln!(out, "{status}\nv {} 0", signs.join(" ")).map(|()| code)
        }
        "words" => writeln!(out, "r {}", if is_true { "TRUE" } else { "FALSE" }).map(|()| code),
        "half-values" => {
            let half: Vec<Lit> = values.into_iter().step_by(2).collect();
            writeln!(out, "{status}")?;
            write_values(&half, &mut out).map(|()| code)
        }
        "opposite-values" => {
            let opposite: Vec<Lit> = values.into_iter().map(|lit| !lit).collect();
            writeln!(out, "{status}")?;
            write_values(&opposite, &mut out).map(|()| code)
        }
        "contradictory-values" => writeln!(out, "{status}\nV 1 0\nV -1 0").map(|()| code),
        "wrong-exit-code" => writeln!(out, "{status}\nV {joined} 0").map(|()| 30 - code),
        "opposite" => writeln!(out, "s cnf {}\nV {joined} 0", u8::from(!is_true)).map(|()| 30 - code),
        "crash-after-answer" => {
            writeln!(out, "{status}\nV {joined} 0")?;
            out.flush()?;
            abort()
        }
        mode => writeln!(io::stderr(), "unknown mode 'qbf-{mode}'").map(|()| 2),
    }
}

/// A line for each value.
fn write_values(lits: &[Lit], out: &mut impl Write) -> io::Result<()> {
    lits.iter().try_for_each(|lit| writeln!(out, "V {} 0", lit.to_ipasir()))
}

/// A forall-exists formula in QDIMACS numbering.
struct Formula {
    universal: Vec<i32>,
    existential: Vec<i32>,
    clauses: Vec<Vec<i32>>,
}

impl Formula {
    /// Reads what Cusp writes: header, at most two blocks, and every clause on a line.
    fn read(text: &str) -> Option<Formula> {
        let mut formula = Formula { universal: Vec::new(), existential: Vec::new(), clauses: Vec::new() };
        for line in text.lines().filter(|line| !line.starts_with(['p', 'c'])) {
            let (list, numbers) = match line.split_at_checked(2) {
                Some(("a ", numbers)) if formula.existential.is_empty() => (&mut formula.universal, numbers),
                Some(("e ", numbers)) => (&mut formula.existential, numbers),
                _ => {
                    formula.clauses.push(Vec::new());
                    (formula.clauses.last_mut()?, line)
                }
            };
            let mut numbers: Vec<i32> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
            (numbers.pop()? == 0).then_some(())?;
            list.append(&mut numbers);
        }
        Some(formula)
    }
}

/// Whether the formula is true, and the universal literals of a counterexample if it is not.
fn decide(formula: &Formula) -> Option<(bool, Vec<Lit>)> {
    let mut arena = TermArena::new();
    let vars: Vec<_> = formula
        .universal
        .iter()
        .chain(&formula.existential)
        .map(|&number| (number, arena.fresh_var()))
        .collect();
    let mut matrix = Term::TRUE;
    for clause in &formula.clauses {
        let mut some = Term::FALSE;
        for literal in clause {
            let &(_, var) = vars.iter().find(|(number, _)| *number == literal.abs())?;
            let term = arena.var(var).complement_if(*literal < 0);
            some = arena.or(some, term);
        }
        matrix = arena.and(matrix, some);
    }
    let (universal, existential) = vars.split_at(formula.universal.len());
    let [universal, existential] =
        [universal, existential].map(|block| block.iter().map(|&(_, var)| var).collect());
    let question = Question { universal, existential, matrix };
    match Embedded::new().solve(&mut arena, &question, &Limits::NONE) {
        QbfAnswer::True(_) => Some((true, Vec::new())),
        QbfAnswer::False(found) => {
            let signed =
                |(&number, value): (&i32, bool)| Lit::from_ipasir(if value { number } else { -number });
            let values = formula.universal.iter().zip(found.values).map(signed);
            Some((false, values.collect::<Result<_, _>>().ok()?))
        }
        QbfAnswer::Unknown(_) => None,
    }
}
