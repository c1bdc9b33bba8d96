//! What control alone says about all states in which threads are at cuts, as clauses of a proof.

use super::{Holding, Location, ThreadSystem};
use crate::evidence::threads::{ThreadCube, UniversalClause};

impl ThreadSystem<'_> {
    /// Whether some step starts a thread.
    #[must_use]
    pub fn creates_threads(&self) -> bool {
        self.steps().iter().any(|step| step.creates.is_some())
    }

    /// Whether a thread at a cut holds the system, if that is known. The thread with which the program starts holds nothing.
    /// With the Getafix global it also depends on the value of the global, which is not known here.
    #[must_use]
    pub fn known_holding(&self, cut: Location) -> Option<bool> {
        match self.holding(cut) {
            _ if self.program().atomic_flag.is_some() => None,
            Holding::Always if cut != self.start => Some(true),
            Holding::Never => Some(false),
            Holding::Always | Holding::Mixed => None,
        }
    }

    /// Where a thread holds the system, or does not; and if control never comes to a statement that starts a thread,
    /// that there are no two threads.
    #[must_use]
    pub fn facts_about_control(&self) -> Vec<UniversalClause> {
        let mut clauses = Vec::new();
        for holds in [true, false] {
            let cuts = (0..).zip(self.cuts()).filter(|&(_, cut)| self.known_holding(cut) == Some(!holds));
            let cuts: Vec<u32> = cuts.map(|(number, _)| number).collect();
            if !cuts.is_empty() {
                let thread = ThreadCube { cuts, values: Vec::new(), holds: Some(holds) };
                clauses.push(UniversalClause { threads: vec![thread], ..UniversalClause::default() });
            }
        }
        if !self.creates_threads() {
            let anywhere =
                ThreadCube { cuts: (0..self.cuts().count() as u32).collect(), ..ThreadCube::default() };
            let threads = vec![anywhere.clone(), anywhere];
            clauses.push(UniversalClause { threads, ..UniversalClause::default() });
        }
        clauses
    }
}
