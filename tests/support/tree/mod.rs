//! An interpreter over the syntax tree: what a program means, read off the text as it was written.
//!
//! It knows nothing of control-flow graphs, engines or `certify`. Its only input is the parsed tree, so a
//! mistake in the lowering, which all engines and checkers read alike, shows here. States are concrete,
//! control is a place in the tree, every choice is tried.
//!
//! - [`text`]: procedures, names, labels, and which place follows which.
//! - [`values`]: the values that an expression can have.
//! - [`statement`]: what one statement does to the frame that executes it.
//! - [`sequential`]: all runs of a procedure with its calls, by a table of entries and results.
//! - [`threads`]: all interleavings of threads.
//!
//! Control may stand at the entry of a procedure, before each of its statements, and at its end. An empty
//! statement is a place of its own if it has a label, since control passes the label there. Leaving it is a
//! step, as is going from the entry to the first place, but no statement makes these steps: `enforce` is not
//! demanded after them.

mod sequential;
mod statement;
mod text;
mod threads;
mod values;

use cusp::syntax::ast::Ast;
use sequential::Table;
use text::Text;

/// Values of variables, one bit each.
type Bits = u32;

/// What is asked of a program.
#[derive(Clone, Debug)]
pub struct Question {
    /// The label that must not be reached; without one, no assertion may fail.
    pub label: Option<String>,
    /// Threads that may live at once, if threads start threads.
    pub threads: Option<u32>,
    /// Threads that run `main`.
    pub copies: u32,
    /// Give up after so many states.
    pub states: usize,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Safe,
    Unsafe,
    /// There are more states than the question allows.
    TooMuch,
}

/// Why a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Violation,
    TooMuch,
}

/// Decides a question about a program.
pub fn decide(ast: &Ast, question: &Question) -> Answer {
    let text = Text::new(ast);
    let search = if is_sequential(&text, question) {
        run_main(&text, question)
    } else {
        threads::run(&text, question)
    };
    match search {
        Ok(()) => Answer::Safe,
        Err(Stop::Violation) => Answer::Unsafe,
        Err(Stop::TooMuch) => Answer::TooMuch,
    }
}

fn is_sequential(text: &Text<'_>, question: &Question) -> bool {
    question.copies == 1 && text.first_threads().len() == 1 && !text.starts_threads()
}

/// Runs the only thread.
fn run_main(text: &Text<'_>, question: &Question) -> Result<(), Stop> {
    for globals in first_globals(text, question)? {
        Table::new(text, question).run(text.first_threads()[0], globals)?;
    }
    Ok(())
}

/// The values of the globals when the first threads begin: after the initial values were assigned in the order
/// of the text, and after Getafix's `init`.
fn first_globals(text: &Text<'_>, question: &Question) -> Result<Vec<Bits>, Stop> {
    let mut all: Vec<Bits> = (0..1 << text.globals.len()).collect();
    for &(global, value) in &text.initialisers {
        let results = all.iter().flat_map(|&globals| {
            let values = values::of_globals(text, value, globals);
            values.into_iter().map(move |value| values::with(globals, global, value))
        });
        all = without_repetitions(results.collect());
    }
    if let Some(init) = text.init() {
        let mut after = Vec::new();
        for globals in all {
            after.extend(Table::new(text, question).run(init, globals)?);
        }
        all = without_repetitions(after);
    }
    Ok(all)
}

fn without_repetitions(mut values: Vec<Bits>) -> Vec<Bits> {
    values.sort_unstable();
    values.dedup();
    values
}
