//! Turns evidence about a reduced program into evidence about the original one.
//!
//! [`reduce`](crate::model::reduce) says why this is possible. The result is checked against the original program by
//! [`crate::certify`], which does not know about reductions.
//!
//! | module | what it lifts |
//! |---|---|
//! | `trace` | runs: the edges of the original program are executed in place of the reduced one's |
//! | `relations` | inductive relations, and proofs by control flow alone |
//! | `paths` | unrollings and k-inductive proofs, by translating their nodes and edges |
//! | `cycles` | makes sure that the cycles of the original program are cut |
//! | `net` | runs and proofs of nets |
//!
//! Not every kind of evidence can be lifted from every reduction. [`Unliftable`] says why not, and the engine then
//! has to run on a task that was reduced less: see [`crate::pipeline`].

mod cycles;
pub mod net;
mod paths;
mod relations;
mod trace;

use std::fmt;

use crate::budget::Budget;
use crate::evidence::{Certificate, Trace, Verdict};
use crate::model::reduce::{Keep, Restore};
use crate::model::{Node, ProcId, Procedure};

/// The reason why evidence about the reduced program could not be lifted to the original one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unliftable(pub &'static str);

impl fmt::Display for Unliftable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unliftable {}

impl Restore<'_> {
    /// Turns a verdict about the reduced task into one about the original task. If the budget is used up before that
    /// is done, the verdict is `unknown`.
    ///
    /// # Errors
    /// If the reduction does not preserve what the evidence refers to.
    pub fn lift(&self, verdict: Verdict, budget: &Budget) -> Result<Verdict, Unliftable> {
        if self.original.program.starts_threads {
            // Tasks with threads are not reduced.
            return Ok(verdict);
        }
        match verdict {
            Verdict::Unknown(unknown) => Ok(Verdict::Unknown(unknown)),
            Verdict::Unsafe(Trace::Sequential(tree)) => {
                let lifted = trace::lift(self, &tree, budget);
                Ok(lifted.map_or_else(Verdict::from, |tree| Verdict::Unsafe(Trace::Sequential(tree))))
            }
            Verdict::Unsafe(Trace::Interleaved(_)) => {
                Err(Unliftable("an interleaving is not a run of a sequential program"))
            }
            Verdict::Safe(Certificate::Relations(all)) => {
                Ok(Verdict::Safe(Certificate::Relations(relations::lift(self, all)?)))
            }
            Verdict::Safe(certificate) => self.certificate(certificate).map(Verdict::Safe),
        }
    }

    fn certificate(&self, certificate: Certificate) -> Result<Certificate, Unliftable> {
        match certificate {
            Certificate::NoViolationInReach => relations::of_control(self),
            Certificate::Unrolling(unrolling) => {
                paths::unrolling(self, unrolling).map(Certificate::Unrolling)
            }
            Certificate::KInductive(proof) if self.keep == Keep::States => {
                paths::k_inductive(self, &proof).map(Certificate::KInductive)
            }
            Certificate::KInductive(_) => {
                Err(Unliftable("a k-inductive proof refers to states that the reduction did not preserve"))
            }
            _ => Err(Unliftable("this kind of certificate refers to nodes that the reduction did not keep")),
        }
    }

    /// The original procedure and node that correspond to a node of the reduced program.
    fn original_node(&self, procedure: ProcId, node: Node) -> (ProcId, Node) {
        let map = &self.map.procedures[procedure.index()];
        // From the entry, control may pass through other original nodes before it reaches the node whose edges these
        // are.
        let node = if node == Procedure::ENTRY { node } else { map.nodes[node.index()] };
        (map.original, node)
    }
}
