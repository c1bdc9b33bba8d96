//! What the integration tests share.
//!
//! Random programs with seeds, shrunk when a check fails:
//!
//! ```text
//! mod support;
//! use support::{for_each_seed, sequential};
//!
//! #[test]
//! fn printing_and_parsing_is_the_identity() {
//!     for_each_seed(2000, sequential, |text| {
//!         if reparsed(text) == text { Ok(()) } else { Err("the text changed".to_owned()) }
//!     });
//! }
//! ```
//!
//! A check that panics counts as one that fails. The environment moves and widens the range:
//! `CUSP_SEED` is the first seed, `CUSP_COUNT` the number of seeds. The message of a failure
//! begins with the command that repeats it.
//!
//! - [`random_programs`]: the generator; [`program`]: the trees it grows; [`shrink`]: the shrinker.
//! - [`odd_labels`]: labels where lowerings go wrong; [`tree`]: an interpreter over the syntax tree.
//! - [`features`]: what a random program contains; [`mutate`]: programs that differ a little.
//! - [`corpus`]: real programs with their verdicts; [`engines`]: all engines, as a user runs them.
//! - [`models`]: control-flow graphs without source text; [`paths`]: a search over their paths.
//! - [`nets`]: random small nets; [`machines`]: random communicating machines, with an interpreter.
//! - [`bluetooth`]: a driver with any number of threads.
//! - [`shared_corpus`]: where the shared corpus is.
//! - [`rng`]: the same numbers on every machine.

#![allow(dead_code, unused_imports, reason = "every test file uses a part of it")]

pub mod bluetooth;
pub mod corpus;
pub mod engines;
pub mod features;
pub mod machines;
pub mod models;
pub mod mutate;
pub mod naive;
pub mod nets;
pub mod odd_labels;
pub mod paths;
pub mod portfolio;
pub mod program;
pub mod random_programs;
pub mod rng;
pub mod shared_corpus;
pub mod shrink;
pub mod tree;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use cusp::check::Options;
use cusp::cli::parse_check_options;

pub use program::RandomProgram;
pub use random_programs::{concurrent, sequential};

/// Checks the program of every seed from 1 on, on all cores, and shrinks the first that fails.
///
/// # Panics
/// If a check fails.
pub fn for_each_seed(
    count: u64,
    generator: impl Fn(u64) -> RandomProgram + Sync,
    check: impl Fn(&str) -> Result<(), String> + Sync,
) {
    let seeds = seeds(count);
    let next = AtomicU64::new(seeds.start);
    // The smallest seed that fails; larger ones need not be looked at any more.
    let failed = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || seed > failed.load(Ordering::Relaxed) {
                        return;
                    }
                    if without_panic(&check, &generator(seed).text()).is_err() {
                        failed.fetch_min(seed, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let seed = failed.into_inner();
    if seed == u64::MAX {
        return;
    }
    let program = generator(seed);
    let Err(error) = without_panic(&check, &program.text()) else {
        panic!("seed {seed} failed once and then did not:\n{}", program.text());
    };
    panic!("{}", report(seed, &program, &error, &check));
}

/// The seeds that are asked for: from 1 on, unless the environment says otherwise.
pub fn seeds(count: u64) -> Range<u64> {
    let first = number_from_environment("CUSP_SEED").unwrap_or(1);
    let count = number_from_environment("CUSP_COUNT").unwrap_or(count);
    first..first.saturating_add(count)
}

/// What a program asks for itself, in a comment `// options: ...`; nothing if there is none.
///
/// # Panics
/// If these are no options of `cusp check`.
pub fn options_of(text: &str) -> Options {
    let options = text.lines().find_map(|line| line.strip_prefix("// options:")).unwrap_or_default();
    parse_check_options(options.trim()).expect("options of `cusp check`")
}

fn report(
    seed: u64,
    program: &RandomProgram,
    error: &str,
    check: &impl Fn(&str) -> Result<(), String>,
) -> String {
    let small = shrink::shrink(program, |text| without_panic(check, text).is_err());
    let small_error = without_panic(check, &small.text()).expect_err("the shrinker keeps failures");
    let thread = std::thread::current();
    // The test harness names threads after their tests.
    let test = thread.name().unwrap_or_default();
    let file = env!("CARGO_CRATE_NAME");
    format!(
        "CUSP_SEED={seed} CUSP_COUNT=1 cargo test --test {file} {test}\n\
         {error}\n\n\
         to be kept under tests/corpus/regress, with `// expect:` and `// why:`;\n\
         shrunk to:\n{}\n{small_error}",
        small.text()
    )
}

/// A panic is a failure like any other; without this it would end the shrinking.
fn without_panic(check: &impl Fn(&str) -> Result<(), String>, text: &str) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| check(text)))
        .unwrap_or_else(|panic| Err(format!("panic: {}", message_of(panic.as_ref()))))
}

/// What a panic said.
pub fn message_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{text}`")))
}
