//! From firing sequences to schedules.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::{Origin, ThreadNet, Violating};
use crate::evidence::FiringSequence;
use crate::evidence::trace::{Move, Violation};
use crate::net::fire::fire;
use crate::net::{Firing, Flow, PlaceId};
use crate::reason::Reason;
use crate::threads::StepId;
use crate::threads::schedule::Schedule;

/// The numbers of the threads on every place.
#[derive(Default)]
struct Tokens(BTreeMap<PlaceId, Vec<u32>>);

impl Tokens {
    fn put(&mut self, place: PlaceId, thread: u32) {
        self.0.entry(place).or_default().push(thread);
    }

    fn take(&mut self, place: PlaceId) -> Option<u32> {
        self.0.get_mut(&place)?.pop()
    }
}

impl ThreadNet<'_> {
    /// The run of the program that a run of the net stands for, without values. Threads on the same place are equal, so any
    /// of them may make a step; `None` if the sequence is not a run to a target.
    ///
    /// # Errors
    /// If large steps have too many states on their way.
    pub fn schedule(&self, run: &FiringSequence) -> Result<Option<Schedule>, Reason> {
        let mut marking = run.initial.clone();
        let mut tokens = Tokens::default();
        let (mut steps, mut created) = (Vec::new(), 1);
        for firing in &run.steps {
            let transition = self.net.transition(firing.transition);
            let Ok(after) = fire(transition, &marking, &firing.choices) else { return Ok(None) };
            marking = after;
            match self.origins[firing.transition.index()] {
                Origin::Start(thread) => tokens.put(self.thread_place(thread), 0),
                Origin::Step(id, outcome) => {
                    let pair = &self.views.pairs[id.index()];
                    let Some(mover) = tokens.take(self.thread_place(pair.thread)) else { return Ok(None) };
                    self.move_others(&mut tokens, firing);
                    let large_steps = self.views.large_steps(&self.system, pair.shared, pair.thread)?;
                    steps.extend(self.moves(&large_steps.path(outcome as usize)).map(|step| (mover, step)));
                    let Some(step) = pair.steps.iter().find(|step| step.outcome == outcome) else {
                        return Ok(None);
                    };
                    if let Some(thread) = step.thread {
                        tokens.put(self.thread_place(thread), mover);
                    }
                    if let Some(new) = step.creates {
                        tokens.put(self.thread_place(new), created);
                        created += 1;
                    }
                }
            }
        }
        let Some(target) = self.net.targets.iter().position(|target| target.is_met_by(&marking)) else {
            return Ok(None);
        };
        let (place, end) = match self.violations[target] {
            Violating::Place(thread) => (self.thread_place(thread), Some((Vec::new(), Violation::Label))),
            Violating::Step(id) => {
                let pair = &self.views.pairs[id.index()];
                let large_steps = self.views.large_steps(&self.system, pair.shared, pair.thread)?;
                (self.thread_place(pair.thread), large_steps.violation())
            }
        };
        let (Some(thread), Some((path, violation))) = (tokens.take(place), end) else { return Ok(None) };
        steps.extend(self.moves(&path).map(|step| (thread, step)));
        Ok(Some(Schedule { steps, thread, violation }))
    }

    fn moves(&self, path: &[StepId]) -> impl Iterator<Item = Move> {
        path.iter().map(|&step| self.system.step(step).action)
    }

    /// All threads but the one that makes the step go where the transition sends them.
    fn move_others(&self, tokens: &mut Tokens, firing: &Firing) {
        let transition = self.net.transition(firing.transition);
        if transition.is_plain() {
            return;
        }
        for (place, threads) in std::mem::take(&mut tokens.0) {
            match transition.flow(place) {
                None => threads.into_iter().for_each(|thread| tokens.put(place, thread)),
                Some(Flow::All(to)) => {
                    for (&to, &thread) in to.iter().cartesian_product(&threads) {
                        tokens.put(to, thread);
                    }
                }
                Some(Flow::Each(_)) => {
                    let choice = firing.choices.iter().find(|choice| choice.from == place);
                    let places = choice.into_iter().flat_map(|choice| choice.to.iter());
                    let places = places.flat_map(|(to, n)| std::iter::repeat_n(to, n as usize));
                    threads.into_iter().zip(places).for_each(|(thread, to)| tokens.put(to, thread));
                }
            }
        }
    }
}
