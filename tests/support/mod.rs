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
//! - [`models`]: control-flow graphs without source text; [`paths`]: a search over their paths.
//! - [`rng`]: the same numbers on every machine.

#![allow(dead_code, unused_imports, reason = "every test file uses a part of it")]

pub mod corpus;
pub mod models;
pub mod naive;
pub mod paths;
pub mod program;
pub mod random_programs;
pub mod rng;
pub mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use program::RandomProgram;
pub use random_programs::{concurrent, sequential};

/// Checks the program of every seed from 1 on, and shrinks the first that fails.
///
/// # Panics
/// If a check fails.
pub fn for_each_seed(
    count: u64,
    generator: impl Fn(u64) -> RandomProgram,
    check: impl Fn(&str) -> Result<(), String>,
) {
    let first = number_from_environment("CUSP_SEED").unwrap_or(1);
    let count = number_from_environment("CUSP_COUNT").unwrap_or(count);
    for seed in first..first.saturating_add(count) {
        let program = generator(seed);
        if let Err(error) = without_panic(&check, &program.text()) {
            panic!("{}", report(seed, &program, &error, &check));
        }
    }
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
         {error}\n\nshrunk to:\n{}\n{small_error}",
        small.text()
    )
}

/// A panic is a failure like any other; without this it would end the shrinking.
fn without_panic(check: &impl Fn(&str) -> Result<(), String>, text: &str) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| check(text))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", message.unwrap_or("without a message")))
    })
}

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{text}`")))
}
