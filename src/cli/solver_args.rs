//! Which solvers answer, for every command that asks them.

use clap::Args;
use cusp_solvers::{Choice, QbfChoice, SatChoice};

/// Options that choose solvers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Solvers")]
pub struct SolverArgs {
    /// Who answers the SAT questions of engines: `cadical`, which is built in, the name of a program, or a command
    /// such as 'picosat {file}'; see `cusp solvers`
    #[arg(long, value_name = "SOLVER", default_value = "cadical", value_parser = SatChoice::parse)]
    pub sat: SatChoice,

    /// Who answers the fix-point questions of `summaries`, `universal` and `lazy`: `embedded`, which is built in,
    /// the name of a program, a command such as 'depqbf --qdo {file}', or `race`: the built-in solver and a
    /// program side by side
    #[arg(long, value_name = "SOLVER", default_value = "embedded", value_parser = QbfChoice::parse)]
    pub qbf: QbfChoice,

    /// Let `summaries`, `universal` and `lazy` keep relations in parametric form and not project them to the states
    /// they relate; fix-point questions then really have two quantifiers
    #[arg(long)]
    pub parametric: bool,
}

impl SolverArgs {
    /// What is chosen.
    #[must_use]
    pub fn choice(&self) -> Choice {
        Choice { sat: self.sat.clone(), qbf: self.qbf.clone(), parametric: self.parametric }
    }
}
