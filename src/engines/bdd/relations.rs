//! The certificate: the states that the search reached at the cuts, as formulas.
//!
//! The parameters of a relation are the variables of the diagrams for entry values and current values. Every such
//! variable is the value of some program variable at the entry or now. So the pair of states determines the
//! parameters, and the guard alone says which pairs belong to the relation. A global that a procedure cannot change
//! has one parameter for both states, so callers know that it is unchanged.

use super::diagrams::{DiagramResult, Variable};
use super::gates::Writer;
use super::path_edges::Search;
use crate::evidence::{Literal, Place, Relation, Relations};
use crate::model::cuts::Cuts;
use crate::model::{Node, ProcId, Procedure, Var};

/// The relations of all cuts.
pub(super) fn relations(search: &Search<'_>) -> DiagramResult<Relations> {
    let program = &search.space.frames.task.program;
    let mut writer = Writer::new(|variable| variable);
    let mut relations = Vec::new();
    for id in program.procedure_ids() {
        let cuts = Cuts::of(program.procedure(id));
        let heads = cuts.heads().filter(|&node| node != Procedure::ENTRY);
        for node in [Procedure::ENTRY, Procedure::EXIT].into_iter().chain(heads) {
            match search.reached(id, node) {
                Some(states) => {
                    search.space.diagrams.poll()?;
                    let guard = writer.literal(states);
                    relations.push(relation(search, id, node, guard, &mut writer));
                }
                // No run reaches this loop head, but it must be a cut all the same.
                None if cuts.is_head(node) => {
                    let (entry, now) = widths(search, id);
                    let (entry, now) = (vec![None; entry], vec![None; now]);
                    let place = Place::Node(node);
                    relations.push(Relation { procedure: id, place, guard: Literal::FALSE, entry, now });
                }
                None => {}
            }
        }
    }
    relations.sort_by_key(|relation| (relation.procedure, relation.place));
    Ok(Relations { formulas: writer.formulas, relations, witnesses: Vec::new(), needs_witnesses: false })
}

/// The number of variables that have a value at the entry, and now.
fn widths(search: &Search<'_>, id: ProcId) -> (usize, usize) {
    let globals = search.space.frames.task.program.globals.len();
    let procedure = search.space.frames.procedure(id);
    (globals + procedure.params as usize, globals + procedure.locals.len())
}

fn relation(
    search: &Search<'_>,
    id: ProcId,
    node: Node,
    guard: Literal,
    writer: &mut Writer<impl Fn(Variable) -> u32>,
) -> Relation {
    let frames = &search.space.frames;
    let frame = frames.of_procedure(id);
    let globals = frames.task.program.globals.len();
    let (entry_width, now_width) = widths(search, id);
    let (mut entry, mut now) = (vec![None; entry_width], vec![None; now_width]);
    let position = |var: Var| match var {
        Var::Global(i) => i as usize,
        Var::Local(i) => globals + i as usize,
    };
    for var in frames.known(id, node) {
        now[position(var)] = Some(writer.parameter(frames.order.now(id, var)));
    }
    for input in &frame.inputs {
        let variable = if input.is_constant {
            frames.order.now(id, input.var)
        } else {
            frames.order.entry(id, input.var)
        };
        entry[position(input.var)] = Some(writer.parameter(variable));
    }
    if frame.is_called {
        let mut is_modified = vec![false; globals];
        frame.modified.iter().for_each(|&global| is_modified[global as usize] = true);
        for global in (0..globals).filter(|&global| !is_modified[global]) {
            let same = Some(writer.parameter(frames.order.now(id, Var::Global(global as u32))));
            (entry[global], now[global]) = (same, same);
        }
    }
    Relation { procedure: id, place: Place::Node(node), guard, entry, now }
}
