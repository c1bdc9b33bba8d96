//! The portfolio for nets in the shape of an engine, so that loops over engines can include it.

use cusp::budget::Budget;
use cusp::engines::Engine;
use cusp::evidence::NetVerdict;
use cusp::net::Net;
use cusp::net::reduce::Extent;
use cusp::pipeline::{Setup, answer};
use cusp::progress::Progress;

/// All engines that fit a net, on the net as it is. Evidence that is rejected fails the test.
pub struct Auto;

impl Engine<Net> for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn reduction(&self) -> Option<Extent> {
        None
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let answer = answer(net, Setup { reduces: false, ..Setup::default() }, budget, progress);
        assert!(answer.failures.is_empty(), "{:?}", answer.failures);
        answer.result.expect("evidence that holds").verdict().clone()
    }
}
