//! The engines that fit, side by side.
//!
//! Implements: a portfolio; the first answer ends the others.
//!
//! Theorem used: that of the engine that answers.
//!
//! Evidence: that of the engine that answers.
//!
//! Most nets fall to a short backward search, which therefore runs alone first: no thread is
//! started for them, and their answer is the same every time. After that, which of several answers
//! comes first depends on the machine; the verdict does not.

use std::sync::mpsc;

use super::NetEngine;
use super::backward::Backward;
use super::directed::Directed;
use super::mcov::Mcov;
use crate::budget::Budget;
use crate::evidence::{NetVerdict, Reason};
use crate::net::Net;
use crate::progress::Progress;

/// The portfolio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto;

/// So many elements are followed before there is a race. Most nets of the corpus need fewer; in those with
/// thousands of transitions, each element costs milliseconds, and others find a run in less than ten of them.
const ALONE: usize = 300;

/// Who takes part in the race. Provers come first: where nobody answers, the reason of the first
/// is given.
fn racers() -> [&'static dyn NetEngine; 3] {
    [&Backward { most_elements: None }, &Mcov::USUAL, &Directed]
}

impl NetEngine for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn run(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        self.decide(net, budget, progress).0
    }
}

impl Auto {
    /// The verdict, and the engine that found it; `auto` if none did.
    #[must_use]
    pub fn decide(self, net: &Net, budget: &Budget, progress: &dyn Progress) -> (NetVerdict, &'static str) {
        let first = Backward { most_elements: Some(ALONE) };
        match first.run(net, budget, &Named { name: first.name(), inner: progress }) {
            NetVerdict::Unknown(_) if budget.exhausted().is_none() => {
                let (verdict, winner) = race(&racers(), net, budget, progress);
                (verdict, winner.unwrap_or(self.name()))
            }
            NetVerdict::Unknown(unknown) => (NetVerdict::Unknown(unknown), self.name()),
            verdict => (verdict, first.name()),
        }
    }
}

/// Runs the engines in a thread each until one of them decides, and says which one did.
fn race(
    racers: &[&'static dyn NetEngine],
    net: &Net,
    budget: &Budget,
    progress: &dyn Progress,
) -> (NetVerdict, Option<&'static str>) {
    let lanes: Vec<Budget> = racers.iter().map(|_| budget.part()).collect();
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for (i, (&racer, lane)) in racers.iter().zip(&lanes).enumerate() {
            let send = send.clone();
            scope.spawn(move || {
                let verdict = racer.run(net, lane, &Named { name: racer.name(), inner: progress });
                // Nobody listens any more once there is an answer.
                let _ = send.send((i, verdict));
            });
        }
        drop(send);
        let mut unknowns = Vec::new();
        while let Ok((i, verdict)) = receive.recv() {
            match verdict {
                NetVerdict::Unknown(unknown) => unknowns.push((i, unknown)),
                decided => {
                    lanes.iter().for_each(Budget::interrupt);
                    return (decided, Some(racers[i].name()));
                }
            }
        }
        if let Some(reason) = budget.exhausted() {
            return (reason.into(), None);
        }
        let first = unknowns.into_iter().min_by_key(|&(i, _)| i);
        let unknown = first.map_or_else(|| Reason::Interrupted.into(), |(_, u)| NetVerdict::Unknown(u));
        (unknown, None)
    })
}

/// Says whose line it is.
struct Named<'a> {
    name: &'static str,
    inner: &'a dyn Progress,
}

impl Progress for Named<'_> {
    fn say(&self, line: &dyn Fn() -> String) {
        self.inner.say(&|| format!("{}: {}", self.name, line()));
    }
}
