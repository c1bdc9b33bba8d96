//! The procedures of a whole program, divided into blocks at the cuts of a certificate.

use super::encode::Model;
use super::encode::body::Body;
use super::{Stop, poll, reject};
use crate::model::{Node, ProcId, Procedure};

/// All procedures of the program, each cut at those of the given program counters that lie in it.
pub(super) fn bodies<'a>(model: &Model<'a>, cuts: &[(ProcId, Node)]) -> Result<Vec<Body<'a>>, Stop> {
    let program = model.program;
    let mut by_procedure: Vec<Vec<Node>> = vec![Vec::new(); program.procedures.len()];
    for &(id, node) in cuts {
        let Some(nodes) = by_procedure.get_mut(id.index()) else {
            return reject(format!("a cut is in {id}, which does not exist"));
        };
        if node == Procedure::EXIT {
            return reject(format!("the exit of `{}` is no place for a cut", program.procedure(id).name));
        }
        nodes.push(node);
    }
    let mut bodies = Vec::with_capacity(by_procedure.len());
    for (id, nodes) in program.procedure_ids().zip(by_procedure) {
        poll(model.budget)?;
        bodies.push(Body::new(program, id, &nodes)?);
    }
    Ok(bodies)
}
