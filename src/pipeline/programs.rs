//! The path for programs.

use crate::budget::Budget;
use crate::certify::{self, Certified, Rejection};
use crate::evidence::trace::Interleaving;
use crate::evidence::{Certificate, Trace, Verdict};
use crate::lift::Unliftable;
use crate::model::Task;
use crate::model::reduce::{Keep, Reduced, reduce};
use crate::progress::Progress;
use crate::shorten::{Shortened, interleaving, shorten};

use super::Route;
use super::translate::Translation;
use super::witnesses::{Incomplete, complete_witnesses};

impl Route for Task {
    const KEEPS: &'static [Keep] = &[Keep::Verdict, Keep::States];

    /// Programs with threads are not reduced.
    fn attempts(&self, keep: Keep) -> &'static [Keep] {
        match keep {
            _ if self.program.starts_threads => &[],
            Keep::Verdict => &[Keep::Verdict, Keep::States],
            Keep::States => &[Keep::States],
        }
    }

    fn reduce(&self, keep: Keep, _budget: &Budget) -> Box<dyn Translation<Self, Self> + '_> {
        Box::new(reduce(self, keep))
    }

    /// Relations that were kept in parametric form need witnesses.
    fn complete(&self, verdict: Verdict, budget: &Budget) -> Result<Verdict, String> {
        match verdict {
            Verdict::Safe(Certificate::Relations(mut relations)) if relations.needs_witnesses => {
                match complete_witnesses(self, &mut relations, budget) {
                    Ok(()) => Ok(Verdict::Safe(Certificate::Relations(relations))),
                    Err(Incomplete::Exhausted(reason)) => Ok(reason.into()),
                    Err(Incomplete::Failed(why)) => Err(why),
                }
            }
            verdict => Ok(verdict),
        }
    }

    fn certify(&self, verdict: Verdict, budget: &Budget) -> Result<Certified, Rejection> {
        certify::certify(self, verdict, budget)
    }

    /// Diagrams of relations have several variables for each variable of a procedure.
    fn stack_size(&self) -> usize {
        const FOR_EACH_VARIABLE: usize = 16 << 10;
        let locals: usize = self.program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
        (16 << 20) + (self.program.globals.len() + locals) * FOR_EACH_VARIABLE
    }

    fn shorten(&self, run: &Trace, budget: &Budget, progress: &dyn Progress) -> Option<Trace> {
        progress.say(&|| "looking for a shorter trace".to_owned());
        let tree = match run {
            Trace::Sequential(tree) => tree,
            Trace::Interleaved(run) => return shorten_interleaving(self, run, budget, progress),
        };
        // Engines that join summaries do not look for short runs.
        let direct = tree.clone().without_detours(&self.program);
        let Shortened { tree: shorter, is_shortest } = shorten(self, direct, budget);
        progress.count("trace known to be a shortest one", u64::from(is_shortest));
        (shorter != *tree).then_some(Trace::Sequential(shorter))
    }
}

/// A run of several threads with fewer context switches, fewer threads or fewer steps, if one is found.
fn shorten_interleaving(
    task: &Task,
    run: &Interleaving,
    budget: &Budget,
    progress: &dyn Progress,
) -> Option<Trace> {
    let shorter = interleaving::shorten(task, run, budget);
    let shown = shorter.as_ref().unwrap_or(run);
    let figures = [
        ("context switches of the run", run.switches(), shown.switches()),
        ("steps of the run", run.steps.len(), shown.steps.len()),
    ];
    for (what, before, after) in figures {
        progress.count(&format!("{what}, as found"), before as u64);
        progress.count(&format!("{what}, as shown"), after as u64);
    }
    shorter.map(Trace::Interleaved)
}

impl Translation<Task, Task> for Reduced<'_> {
    fn question(&self) -> &Task {
        &self.task
    }

    fn bring_back(&self, verdict: Verdict, budget: &Budget) -> Result<Verdict, Unliftable> {
        self.restore.lift(verdict, budget)
    }
}
