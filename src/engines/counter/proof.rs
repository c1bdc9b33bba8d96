//! The certificate: the control states with their values, as formulas.

use super::super::bdd::diagrams::{DiagramResult, Variable};
use super::super::bdd::gates::Writer;
use super::search::Search;
use crate::evidence::threads::{ControlState, ControlStates};
use crate::evidence::{Certificate, ThreadInvariant};

/// All control states that were reached.
pub(super) fn proof(search: &Search<'_>) -> DiagramResult<Certificate> {
    let system = search.blocks.system;
    let globals = system.program().globals.len() as u32;
    let cuts: Vec<_> = system.cuts().collect();
    let end = |cut| {
        let context = system.context(cut);
        context.base + system.program().procedure(context.procedure).locals.len() as u32
    };
    let width = cuts.iter().map(|&cut| end(cut)).max().unwrap_or(0);
    let mut numbers: Vec<u32> = vec![0; search.levels.variables() as usize];
    let mut set = |variable: Variable, number: u32| numbers[variable as usize] = number;
    for (global, variable) in search.levels.globals() {
        set(variable, global);
    }
    for slot in 0..search.levels.slots {
        for (position, variable) in search.levels.values(slot) {
            set(variable, globals + slot * width + position);
        }
    }
    let mut writer = Writer::new(|variable| numbers[variable as usize]);
    let mut sets = Vec::with_capacity(search.known.len());
    for (control, states) in search.controls.iter().zip(&search.known) {
        search.diagrams.poll()?;
        let number = |location| cuts.partition_point(|cut| *cut < location) as u32;
        sets.push(ControlState {
            cuts: control.0.iter().map(|key| number(key.location)).collect(),
            holder: control.0.iter().position(|key| key.holds).map(|slot| slot as u32),
            condition: writer.literal(states),
        });
    }
    let invariant = ThreadInvariant::Formulas(ControlStates { formulas: writer.formulas, sets });
    Ok(Certificate::Threads(system.proof(invariant)))
}
