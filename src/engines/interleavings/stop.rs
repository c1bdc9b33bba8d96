//! Why a search ends early.

use super::states::Full;
use crate::budget::Budget;
use crate::reason::Reason;

/// Why a search ends early.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// For this reason.
    Because(Reason),
    /// It took more work than it may in rounds.
    TooMuchWork,
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Because(reason)
    }
}

impl From<Full> for Stop {
    fn from(_: Full) -> Self {
        let why = "there are more states than the engine can number";
        Self::Because(Reason::GaveUp(why.to_owned()))
    }
}

/// Ends a search if the budget is used up.
pub(super) fn ask(budget: &Budget) -> Result<(), Reason> {
    budget.exhausted().map_or(Ok(()), Err)
}
