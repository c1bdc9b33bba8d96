//! Tests of the solver adapters; `fake-solver` plays the external program.

mod conformance;
mod external;
mod interrupts;
#[path = "../common/pigeon.rs"]
mod pigeon;
mod process;
mod proofs;
#[path = "../common/random.rs"]
mod random;
mod reference;
#[cfg(target_os = "linux")]
mod zombies;

use cusp_solvers::process::Program;

/// The fake solver in one of its modes, reading standard input.
fn fake(mode: &str) -> Program {
    Program::new(env!("CARGO_BIN_EXE_fake-solver")).argument(mode)
}

/// Where random tests start: `CUSP_SEED`, or always the same.
fn first_seed() -> u64 {
    std::env::var("CUSP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}
