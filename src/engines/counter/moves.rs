//! The large steps of one thread of a control state, as relations.

use std::rc::Rc;

use cusp_encodings::{Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::super::bdd::diagrams::{DiagramResult, Diagrams, Variable};
use super::control::{Control, Key};
use super::levels::{Levels, after};
use super::relation::{Demands, Relation, Terms};
use crate::model::Var;
use crate::threads::formula::{Block, Blocks, Creation, End, Instance};
use crate::threads::{Location, StepId};

/// The positions of values with the variables that contain them.
pub(super) type Places = Vec<(u32, Variable)>;

/// Large steps that lead one thread to the same cut.
pub(super) struct Move {
    /// The end of the block.
    pub end: usize,
    /// The cut, and whether the thread holds the system there; `None` if it has ended.
    pub to: Option<Key>,
    /// Where a thread begins that is started.
    pub creates: Option<Location>,
    /// The relation. The fields below say which variables contain the values afterwards.
    pub relation: Relation,
    /// The globals.
    pub globals: Vec<(Variable, Variable)>,
    /// The thread that moves.
    pub values: Places,
    /// The thread that is started.
    pub created: Places,
    /// The threads of all slots, if others are changed; the one of the thread that moves is empty.
    pub others: Option<Vec<Places>>,
}

/// All large steps of one thread.
pub(super) struct Moves {
    /// The values from which the property is violated on the way.
    pub fails: Option<Relation>,
    /// The large steps by their ends.
    pub moves: Vec<Move>,
}

/// What large steps depend on: the cut, whether the thread holds the system, whether the bound is reached, the slot.
type Place = (Key, bool, u32);

/// Makes the relations, each once.
pub(super) struct Relations<'a> {
    pub blocks: &'a Blocks<'a>,
    pub diagrams: &'a Diagrams,
    pub levels: &'a Levels,
    made: FxHashMap<Place, Rc<Moves>>,
    /// For control states and slots where an assignment with `x$` is possible.
    with_others: FxHashMap<(Control, u32), Rc<Moves>>,
}

impl<'a> Relations<'a> {
    pub fn new(blocks: &'a Blocks<'a>, diagrams: &'a Diagrams, levels: &'a Levels) -> Self {
        let (made, with_others) = (FxHashMap::default(), FxHashMap::default());
        Self { blocks, diagrams, levels, made, with_others }
    }

    /// The large steps of the thread in a slot.
    pub fn moves(&mut self, control: &Control, slot: u32, at_bound: bool) -> DiagramResult<Rc<Moves>> {
        if let Some(known) = self.known(control, slot, at_bound) {
            return Ok(known);
        }
        let moves = Rc::new(self.make(control, slot, at_bound)?);
        if self.depends_on_others(control, slot) {
            self.with_others.insert((control.clone(), slot), Rc::clone(&moves));
        } else {
            self.made.insert((control.0[slot as usize], at_bound, slot), Rc::clone(&moves));
        }
        Ok(moves)
    }

    /// The large steps of the thread in a slot, if they were asked for before.
    pub fn known(&self, control: &Control, slot: u32, at_bound: bool) -> Option<Rc<Moves>> {
        let known = if self.depends_on_others(control, slot) {
            self.with_others.get(&(control.clone(), slot))
        } else {
            self.made.get(&(control.0[slot as usize], at_bound, slot))
        };
        known.cloned()
    }

    /// Whether the thread in a slot can make an assignment with `x$`.
    fn depends_on_others(&self, control: &Control, slot: u32) -> bool {
        let block = self.blocks.block(control.0[slot as usize].location);
        block.ends.iter().any(|end| end.passive.is_some())
    }

    fn make(&self, control: &Control, slot: u32, at_bound: bool) -> DiagramResult<Moves> {
        let key = control.0[slot as usize];
        let block = self.blocks.block(key.location);
        let mut terms = Terms::default();
        let instance = self.instance(&mut terms, block, key.holds, at_bound, slot);
        let fails = instance.term(block.fails);
        let fails = if fails == Term::FALSE {
            None
        } else {
            let demands = Demands { conditions: vec![fails], ..Demands::default() };
            Some(Relation::new(self.diagrams, self.levels, &terms, &demands)?)
        };
        let mut moves = Vec::new();
        for (number, end) in block.ends.iter().enumerate() {
            for holds in [false, true] {
                let condition = instance.term(end.holds).complement_if(!holds);
                let guard = terms.arena.and(instance.term(end.guard), condition);
                if guard != Term::FALSE {
                    let scene = Scene { block, instance: &instance, control, slot };
                    moves.push(self.make_move(&mut terms, scene, (number, end), guard, holds)?);
                }
            }
        }
        Ok(Moves { fails, moves })
    }

    /// A copy of a block for the thread in a slot.
    fn instance(&self, terms: &mut Terms, block: &Block, holds: bool, at_bound: bool, slot: u32) -> Instance {
        let mut inputs: FxHashMap<VarId, Term> = FxHashMap::default();
        for (global, var) in (0..).zip(&block.inputs.shared) {
            if let Some(var) = *var {
                inputs.insert(var, terms.variable(self.levels.global(global)));
            }
        }
        for &(position, var) in &block.inputs.values {
            inputs.insert(var, terms.variable(self.levels.value(slot, position)));
        }
        inputs.insert(block.inputs.holds, Term::constant(holds));
        inputs.insert(block.inputs.at_bound, Term::constant(at_bound));
        let image =
            |arena: &mut TermArena, var: VarId| inputs.get(&var).copied().unwrap_or_else(|| arena.fresh());
        self.blocks.instantiate(block, &mut terms.arena, image)
    }

    fn make_move(
        &self,
        terms: &mut Terms,
        scene: Scene<'_>,
        (number, end): (usize, &End),
        guard: Term,
        holds: bool,
    ) -> DiagramResult<Move> {
        let Scene { block, instance, control, slot } = scene;
        let mut demands = Demands { conditions: vec![guard], ..Demands::default() };
        let mut globals = Vec::new();
        for (global, before) in self.levels.globals() {
            let value = instance.term(end.shared[global as usize]);
            let now = assigned(terms, &mut demands, before, value);
            globals.push((before, now));
            if now != before {
                demands.forgotten.push(before);
            }
        }
        let mut values = Places::new();
        for &(position, value) in &end.values {
            let before = self.levels.value(slot, position);
            values.push((position, assigned(terms, &mut demands, before, instance.term(value))));
        }
        // What is not known afterwards, or under another variable, is forgotten.
        for &(position, _) in &block.inputs.values {
            let before = self.levels.value(slot, position);
            if !values.contains(&(position, before)) {
                demands.forgotten.push(before);
            }
        }
        let mut created = Places::new();
        for &(position, value) in &end.created {
            let variable = self.levels.value(self.levels.started(), position);
            demands.equations.push((variable, instance.term(value)));
            created.push((position, variable));
        }
        let others = match end.passive {
            None => None,
            Some(step) => {
                let slots = 0..control.0.len() as u32;
                let places = slots.map(|other| {
                    if other == slot {
                        Places::new()
                    } else {
                        self.change(terms, &mut demands, scene, end, step, other)
                    }
                });
                Some(places.collect())
            }
        };
        let creates = match end.creation {
            Creation::New(location) => Some(location),
            Creation::None | Creation::AtBound => None,
        };
        let relation = Relation::new(self.diagrams, self.levels, terms, &demands)?;
        let to = end.to.map(|location| Key { location, holds });
        Ok(Move { end: number, to, creates, relation, globals, values, created, others })
    }

    /// What an assignment with `x$` does to the thread in another slot.
    fn change(
        &self,
        terms: &mut Terms,
        demands: &mut Demands,
        Scene { block, instance, control, slot }: Scene<'_>,
        end: &End,
        step: StepId,
        other: u32,
    ) -> Places {
        let system = self.blocks.system;
        let at = control.0[other as usize].location;
        let live: Vec<u32> = system.live(at).iter().map(|position| position as u32).collect();
        let base = system.context(block.start).base;
        let count = system.procedure(block.start).locals.len() as u32;
        let is_live = |local: u32| system.live(block.start).get((base + local) as usize);
        // Locals of the thread that moves which do not matter are not read.
        let own: Vec<Term> = (0..count)
            .map(|local| {
                if is_live(local) {
                    terms.variable(self.levels.value(slot, base + local))
                } else {
                    Term::FALSE
                }
            })
            .collect();
        let shared: FxHashMap<u32, Term> =
            self.levels.globals().map(|(global, variable)| (global, terms.variable(variable))).collect();
        let of_other: FxHashMap<u32, Term> = live
            .iter()
            .map(|&position| (position, terms.variable(self.levels.value(other, position))))
            .collect();
        let before = |_: &mut TermArena, var: Var| match var {
            Var::Global(global) => shared.get(&global).copied().unwrap_or(Term::FALSE),
            Var::Local(local) => own[local as usize],
        };
        let globals = system.program().globals.len();
        let now = |_: &mut TermArena, var: Var| instance.term(end.own(globals, base, var));
        let value = |position: u32| of_other.get(&position).copied().unwrap_or(Term::FALSE);
        let (condition, changed) = system.passive_terms(&mut terms.arena, step, before, now, at, value);
        demands.conditions.push(condition);
        let place = |position: u32| {
            let before = self.levels.value(other, position);
            let term = changed.iter().find(|(changed, _)| *changed == position).map(|(_, term)| *term);
            let now = term.map_or(before, |term| assigned(terms, demands, before, term));
            if now != before {
                demands.forgotten.push(before);
            }
            (position, now)
        };
        live.iter().copied().map(place).collect()
    }
}

/// One large step in its surroundings.
#[derive(Clone, Copy)]
struct Scene<'s> {
    block: &'s Block,
    instance: &'s Instance,
    control: &'s Control,
    slot: u32,
}

/// The variable for a value after a step: the one for the value before if it is the same.
fn assigned(terms: &mut Terms, demands: &mut Demands, before: Variable, value: Term) -> Variable {
    if value == terms.variable(before) {
        return before;
    }
    demands.equations.push((after(before), value));
    after(before)
}
