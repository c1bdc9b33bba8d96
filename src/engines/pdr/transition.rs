//! Questions about one large step, put to one incremental solver.
//!
//! Slot 0 is the thread that moves, the others are threads that watch; more of them come in when a cube needs them.
//! A slot that a question does not use is empty. Program counters are one-hot over the cuts. Clauses with one thread are
//! added for all slots, others for those slots only for which a model violates them.

mod facts;

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits, SatSolver};

use super::cube::{Cube, Part, State, ThreadCube, ThreadState};
use super::role::{Role, Seat};
use crate::budget::Budget;
use crate::evidence::threads::UniversalClause;
use crate::evidence::trace::Violation;
use crate::model::Var;
use crate::reason::Reason;
use crate::threads::formula::{Blocks, Creation, Instance};
use crate::threads::{Bits, Location, StepId, ThreadSystem};

/// A thread, as literals: before or after the step.
#[derive(Clone)]
struct Vector {
    at: Vec<Lit>,
    alive: Lit,
    holds: Lit,
    values: Vec<Lit>,
}

/// A thread that does not move.
struct Slot {
    before: Vector,
    after: Vector,
    /// The step is possible as far as this thread is concerned.
    allows: Lit,
}

/// A step into a cube, found in a model.
pub(super) struct Found {
    /// The role in which the cube was reached.
    pub role: Role,
    /// The steps of the program.
    pub path: Vec<StepId>,
    /// The violation at the end of the path, and whether the thread that was just started commits it.
    pub violation: Option<(Violation, bool)>,
    /// States before, from all of which the same step is possible.
    pub cube: Cube,
}

/// The answer to a question about predecessors.
pub(super) enum Reply {
    /// There are none; these parts of the cube are enough for that.
    Unreachable(Vec<Part>),
    /// There is one.
    Reachable(Box<Found>),
}

/// A clause, as the solver knows it.
pub(super) struct Clause {
    pub cube: Cube,
    /// Implied by the levels at which the clause holds.
    pub active: Lit,
}

/// What is assumed about the state before a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// It is a start.
    Start,
    /// It satisfies the clauses of this level and of those above it.
    Level(usize),
}

pub(super) struct Transition<'a> {
    blocks: &'a Blocks<'a>,
    system: &'a ThreadSystem<'a>,
    budget: &'a Budget,
    /// The cuts, by their numbers.
    pub cuts: Vec<Location>,
    /// All numbers of cuts.
    pub every_cut: Bits,
    /// The positions that matter at each cut.
    pub live: Vec<Bits>,
    most: usize,
    /// Whether some step starts a thread.
    pub creates: bool,
    width: usize,
    arena: TermArena,
    encoder: CnfEncoder,
    solver: Box<dyn SatSolver>,
    shared: [Vec<Option<Lit>>; 2],
    shared_terms: Vec<Term>,
    held: [Lit; 2],
    mover: [Vector; 2],
    new: Vector,
    watchers: Vec<Slot>,
    /// Some large step is made.
    step: Lit,
    /// A large step that violates the property is begun.
    fails: Lit,
    /// The state before is a start.
    start: Lit,
    levels: Vec<Lit>,
    /// The variables of all blocks with the terms in their places, in order.
    instances: Vec<(VarId, Term)>,
    choices: Vec<Lit>,
    passive: Vec<PassiveEnd>,
    /// Clauses about one thread or two that hold before every step.
    facts: Vec<UniversalClause>,
    /// What is never true.
    falsity: Lit,
    /// Questions that were asked.
    pub asked: u64,
    most_questions: u64,
}

/// An assignment with `x$`, in the formula of the step.
struct PassiveEnd {
    step: StepId,
    taken: Term,
    block: usize,
    end: usize,
    instance: Instance,
}

impl<'a> Transition<'a> {
    pub fn new(blocks: &'a Blocks<'a>, most_questions: u64, budget: &'a Budget) -> Self {
        let system = blocks.system;
        let cuts: Vec<Location> = system.cuts().collect();
        let live: Vec<Bits> = cuts.iter().map(|&cut| system.live(cut).clone()).collect();
        let creates = system.creates_threads();
        let most =
            if creates { system.task.threads.map_or(usize::MAX, |most| most.max(1) as usize) } else { 1 };
        let width = system.width as usize;
        let mut arena = TermArena::new();
        let mut encoder = CnfEncoder::new(CnfStyle::Tseitin);
        let mut solver = budget.sat_solver();
        let every_cut = Bits::ones(cuts.len());
        let constant = encoder.encode(&arena, Term::TRUE, Polarity::Both, &mut *solver);
        let vector = Vector { at: Vec::new(), alive: constant, holds: constant, values: Vec::new() };
        let relevant: Vec<bool> = {
            let mut relevant = vec![false; system.program().globals.len()];
            system.relevance.globals().for_each(|global| relevant[global as usize] = true);
            relevant
        };
        let shared_terms: Vec<Term> =
            relevant.iter().map(|&matters| if matters { arena.fresh() } else { Term::FALSE }).collect();
        let mut transition = Self {
            blocks,
            system,
            budget,
            every_cut,
            live,
            most,
            creates,
            width,
            encoder,
            shared: [vec![None; relevant.len()], vec![None; relevant.len()]],
            shared_terms,
            held: [constant; 2],
            mover: [vector.clone(), vector.clone()],
            new: vector,
            watchers: Vec::new(),
            step: constant,
            fails: constant,
            start: constant,
            levels: Vec::new(),
            instances: Vec::new(),
            choices: Vec::new(),
            passive: Vec::new(),
            facts: Vec::new(),
            falsity: !constant,
            asked: 0,
            most_questions,
            cuts,
            arena,
            solver,
        };
        transition.build(&relevant);
        transition
    }

    fn lit(&mut self, term: Term) -> Lit {
        self.encoder.encode(&self.arena, term, Polarity::Both, &mut *self.solver)
    }

    /// A thread that may be at any cut or not exist, as terms: program counters, whether it holds the system, values.
    fn thread(&mut self) -> (Vec<Term>, Term, Vec<Term>) {
        let at: Vec<Term> = self.cuts.iter().map(|_| self.arena.fresh()).collect();
        let holds = self.arena.fresh();
        let mut lives = vec![false; self.width];
        self.live.iter().flat_map(Bits::iter).for_each(|position| lives[position] = true);
        let values =
            lives.iter().map(|&lives| if lives { self.arena.fresh() } else { Term::FALSE }).collect();
        (at, holds, values)
    }

    fn vector(&mut self, at: &[Term], holds: Term, values: &[Term]) -> Vector {
        let alive = self.arena.or_all(at.iter().copied());
        Vector {
            alive: self.lit(alive),
            at: at.iter().map(|&term| self.lit(term)).collect(),
            holds: self.lit(holds),
            values: values.iter().map(|&term| self.lit(term)).collect(),
        }
    }

    /// What is true of every thread before a step.
    fn axioms(&mut self, vector: &Vector) {
        // At most one program counter: a chain of literals that say "somewhere before".
        let mut before: Option<Lit> = None;
        for &at in &vector.at {
            let next = self.solver.new_var().pos_lit();
            if let Some(before) = before {
                self.solver.add_clause(&[!before, !at]);
                self.solver.add_clause(&[!before, next]);
            }
            self.solver.add_clause(&[!at, next]);
            before = Some(next);
        }
        self.solver.add_clause(&[!vector.holds, self.held[0]]);
        self.solver.add_clause(&[!vector.holds, vector.alive]);
        for (cut, location) in self.cuts.iter().enumerate() {
            match self.system.known_holding(*location) {
                Some(true) => self.solver.add_clause(&[!vector.at[cut], vector.holds]),
                Some(false) => self.solver.add_clause(&[!vector.at[cut], !vector.holds]),
                None => {}
            }
        }
    }

    /// Builds the formula of one large step of slot 0.
    fn build(&mut self, relevant: &[bool]) {
        let held = self.arena.fresh();
        self.held[0] = self.lit(held);
        let (at, holds, values) = self.thread();
        let at_bound = match self.system.task.threads {
            Some(_) => self.arena.fresh(),
            None => Term::FALSE,
        };
        let blocks = self.blocks;
        let count = self.cuts.len();
        let mut after_at = vec![Term::FALSE; count];
        let mut after_values = vec![Term::FALSE; self.width];
        let mut after_shared = vec![Term::FALSE; relevant.len()];
        let mut after_holds = Term::FALSE;
        let mut new_at = vec![Term::FALSE; count];
        let mut new_values = vec![Term::FALSE; self.width];
        let (mut taken_some, mut fails) = (Term::FALSE, Term::FALSE);
        let mut numbers = vec![usize::MAX; self.system.len()];
        self.cuts.iter().enumerate().for_each(|(number, cut)| numbers[cut.index()] = number);
        for (number, &here) in at.iter().enumerate() {
            let block = blocks.block(self.cuts[number]);
            let mut images: Vec<(VarId, Term)> = Vec::new();
            for (var, &term) in block.inputs.shared.iter().zip(&self.shared_terms) {
                images.extend(var.map(|var| (var, term)));
            }
            images
                .extend(block.inputs.values.iter().map(|&(position, var)| (var, values[position as usize])));
            images.push((block.inputs.holds, holds));
            images.push((block.inputs.at_bound, at_bound));
            let mut choices = Vec::new();
            let instance = blocks.instantiate(block, &mut self.arena, |arena, var| {
                let term = images.iter().find(|(input, _)| *input == var).map(|&(_, term)| term);
                term.unwrap_or_else(|| {
                    let term = arena.fresh();
                    choices.push((var, term));
                    term
                })
            });
            self.instances.extend(images.iter().chain(&choices).copied());
            for (position, end) in block.ends.iter().enumerate() {
                let guard = instance.term(end.guard);
                let taken = self.arena.and(here, guard);
                if taken == Term::FALSE {
                    continue;
                }
                taken_some = self.arena.or(taken_some, taken);
                let mut add = |sum: &mut Term, term: Term| {
                    let part = self.arena.and(taken, term);
                    *sum = self.arena.or(*sum, part);
                };
                for (global, sum) in
                    after_shared.iter_mut().enumerate().filter(|(global, _)| relevant[*global])
                {
                    add(sum, instance.term(end.shared[global]));
                }
                if let Some(to) = end.to {
                    add(&mut after_at[numbers[to.index()]], Term::TRUE);
                    add(&mut after_holds, instance.term(end.holds));
                    for &(position, term) in &end.values {
                        add(&mut after_values[position as usize], instance.term(term));
                    }
                }
                if let Creation::New(to) = end.creation {
                    add(&mut new_at[numbers[to.index()]], Term::TRUE);
                    for &(position, term) in &end.created {
                        add(&mut new_values[position as usize], instance.term(term));
                    }
                }
                if let Some(step) = end.passive {
                    let instance = instance.clone();
                    self.passive.push(PassiveEnd { step, taken, block: number, end: position, instance });
                }
            }
            let failing = self.arena.and(here, instance.term(block.fails));
            fails = self.arena.or(fails, failing);
        }
        self.instances.sort_unstable_by_key(|&(var, _)| var);
        let may_move = self.arena.implies(held, holds);
        let step = self.arena.and(taken_some, may_move);
        let fails = self.arena.and(fails, may_move);
        for global in (0..relevant.len()).filter(|&global| relevant[global]) {
            let terms = [self.shared_terms[global], after_shared[global]];
            self.shared[0][global] = Some(self.lit(terms[0]));
            self.shared[1][global] = Some(self.lit(terms[1]));
        }
        self.held[1] = self.lit(after_holds);
        let before = self.vector(&at, holds, &values);
        self.axioms(&before);
        self.mover = [before, self.vector(&after_at, after_holds, &after_values)];
        self.new = self.vector(&new_at, Term::FALSE, &new_values);
        self.step = self.lit(step);
        self.fails = self.lit(fails);
        let inputs: Vec<Term> = self.instances.iter().map(|&(_, term)| term).collect();
        let states: Vec<Term> =
            at.iter().chain(&values).chain(&self.shared_terms).copied().chain([holds, held]).collect();
        let mut choices: Vec<Term> = inputs.into_iter().filter(|term| !states.contains(term)).collect();
        choices.sort_unstable();
        choices.dedup();
        self.choices = choices
            .into_iter()
            .filter(|term| term.as_constant().is_none())
            .map(|term| self.lit(term))
            .collect();
        // A start: one thread at the first cut, which satisfies its `enforce`.
        let first = at[numbers[self.system.start.index()]];
        let mut start = self.arena.and(first, !holds);
        start = self.arena.and(start, !held);
        if let Some(condition) = self.system.procedure(self.system.start).enforce {
            let base = self.system.context(self.system.start).base;
            let code = self.system.program().exprs.ops(condition);
            let shared = &self.shared_terms;
            let term = crate::symbolic::expression::term_of(&mut self.arena, code, |place| match place.var {
                Var::Global(i) => shared[i as usize],
                Var::Local(i) => values[(base + i) as usize],
            });
            start = self.arena.and(start, term);
        }
        self.start = self.lit(start);
    }

    /// Makes sure that there are so many slots for threads that do not move.
    fn need_watchers(&mut self, count: usize) {
        while self.watchers.len() < count {
            let (at, holds, values) = self.thread();
            let before = self.vector(&at, holds, &values);
            self.axioms(&before);
            for i in 0..=self.watchers.len() {
                let other = if i == 0 { self.mover[0].holds } else { self.watchers[i - 1].before.holds };
                self.solver.add_clause(&[!other, !before.holds]);
            }
            let (allows, after) = self.moved_along(&at, &values);
            let allows = self.lit(allows);
            let after =
                if self.passive.is_empty() { before.clone() } else { self.vector(&at, holds, &after) };
            self.watchers.push(Slot { before, after, allows });
            self.assume_facts(self.watchers.len());
        }
    }

    /// What becomes of a thread that does not move: assignments with `x$` change it. Also the condition under which they
    /// are possible.
    fn moved_along(&mut self, at: &[Term], values: &[Term]) -> (Term, Vec<Term>) {
        let (mut allows, mut after) = (Term::TRUE, values.to_vec());
        let passive = std::mem::take(&mut self.passive);
        let globals = self.system.program().globals.len();
        let first_choice = self.arena.fresh_var().number();
        for PassiveEnd { step, taken, block, end, instance } in &passive {
            let block = self.blocks.block(self.cuts[*block]);
            let end = &block.ends[*end];
            let base = self.system.context(block.start).base;
            let own: Vec<(u32, Term)> =
                block.inputs.values.iter().map(|&(position, var)| (position, self.image(var))).collect();
            let shared = &self.shared_terms;
            let own_before = |_: &mut TermArena, var: Var| match var {
                Var::Global(i) => shared[i as usize],
                Var::Local(i) => own
                    .iter()
                    .find(|(position, _)| *position == base + i)
                    .map_or(Term::FALSE, |&(_, term)| term),
            };
            let own_after = |_: &mut TermArena, var: Var| instance.term(end.own(globals, base, var));
            for (number, &cut) in self.cuts.iter().enumerate() {
                let other = |position: u32| values[position as usize];
                let (condition, changed) =
                    self.system.passive_terms(&mut self.arena, *step, own_before, own_after, cut, other);
                let here = self.arena.and(*taken, at[number]);
                let allowed = self.arena.implies(here, condition);
                allows = self.arena.and(allows, allowed);
                for (position, term) in changed {
                    let old = &mut after[position as usize];
                    *old = self.arena.ite(here, term, *old);
                }
            }
        }
        self.passive = passive;
        for choice in first_choice..self.arena.fresh_var().number() {
            let term = self.arena.var(VarId::new(choice));
            let choice = self.lit(term);
            self.choices.push(choice);
        }
        (allows, after)
    }

    /// The literal of a level; clauses of a level hold at all lower levels as well.
    pub fn level(&mut self, level: usize) -> Lit {
        while self.levels.len() <= level {
            let next = self.solver.new_var().pos_lit();
            if let Some(&last) = self.levels.last() {
                self.solver.add_clause(&[!last, next]);
            }
            self.levels.push(next);
        }
        self.levels[level]
    }

    /// A literal that makes instances of a clause hold.
    pub fn activator(&mut self) -> Lit {
        self.solver.new_var().pos_lit()
    }

    /// Ends the use of a literal from [`Self::activator`].
    pub fn retire(&mut self, active: Lit) {
        self.solver.add_clause(&[!active]);
    }

    /// From now on, a clause holds at a level.
    pub fn holds_at(&mut self, active: Lit, level: usize) {
        let level = self.level(level);
        self.solver.add_clause(&[!level, active]);
    }

    /// The threads before a step: the mover, then watchers.
    fn before(&self, slot: usize) -> &Vector {
        if slot == 0 { &self.mover[0] } else { &self.watchers[slot - 1].before }
    }

    /// Adds an instance of a clause for these slots.
    fn add_instance(&mut self, cube: &Cube, active: Lit, slots: &[usize]) {
        let mut clause = vec![!active];
        for &(global, value) in &cube.shared {
            clause.extend(self.shared[0][global as usize].map(|lit| if value { !lit } else { lit }));
        }
        clause.extend(cube.held.map(|held| if held { !self.held[0] } else { self.held[0] }));
        for (thread, &slot) in cube.threads.iter().zip(slots) {
            let outside: Vec<usize> = self.every_cut.iter().filter(|&cut| !thread.cuts.get(cut)).collect();
            let vector = self.before(slot).clone();
            // The thread does not exist, or is at an excluded cut.
            if outside.len() <= thread.cuts.count() {
                clause.push(!vector.alive);
                clause.extend(outside.iter().map(|&cut| vector.at[cut]));
            } else {
                let inside = self.solver.new_var().pos_lit();
                for cut in thread.cuts.iter() {
                    self.solver.add_clause(&[!vector.at[cut], inside]);
                }
                clause.push(!inside);
            }
            for &(position, value) in &thread.values {
                let lit = vector.values[position as usize];
                clause.push(if value { !lit } else { lit });
            }
            clause.extend(thread.holds.map(|holds| if holds { !vector.holds } else { vector.holds }));
        }
        self.solver.add_clause(&clause);
    }

    /// The literals of a cube on these slots, with the parts of the cube that they stand for.
    fn literals(&self, cube: &Cube, seats: &[Seat]) -> Vec<(Lit, Part)> {
        let signed = |lit: Lit, value: bool| if value { lit } else { !lit };
        let mut literals = Vec::new();
        for &(global, value) in &cube.shared {
            literals.extend(
                self.shared[1][global as usize].map(|lit| (signed(lit, value), Part::Shared(global))),
            );
        }
        literals.extend(cube.held.map(|held| (signed(self.held[1], held), Part::Held)));
        for ((i, thread), seat) in (0..).zip(&cube.threads).zip(seats) {
            let vector = match *seat {
                Seat::Mover => &self.mover[1],
                Seat::New => &self.new,
                Seat::Watcher(slot) => &self.watchers[slot].after,
            };
            literals.push((vector.alive, Part::Thread(i)));
            for &(position, value) in &thread.values {
                let lit = vector.values[position as usize];
                literals.push((signed(lit, value), Part::Value(i, position)));
            }
            literals.extend(thread.holds.map(|holds| (signed(vector.holds, holds), Part::Holds(i))));
            for cut in self.every_cut.iter().filter(|&cut| !thread.cuts.get(cut)) {
                literals.push((!vector.at[cut], Part::Excluded(i, cut as u32)));
            }
        }
        literals
    }

    fn solve(&mut self, assumptions: &[Lit]) -> Result<bool, Reason> {
        if self.asked == self.most_questions {
            return Err(Reason::GaveUp(format!("the pdr engine gave up after {} questions", self.asked)));
        }
        self.asked += 1;
        match self.solver.solve(assumptions, &Limits::NONE) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown(why) => {
                Err(self.budget.exhausted().unwrap_or_else(|| Reason::GaveUp(why.to_string())))
            }
        }
    }

    /// The state before the step in the last model, with so many slots.
    fn state(&self, slots: usize) -> State {
        let mut shared = Bits::default();
        for (global, lit) in self.shared[0].iter().enumerate() {
            shared.set(global, lit.is_some_and(|lit| self.solver.value(lit)));
        }
        let thread = |slot: usize| {
            let vector = self.before(slot);
            let cut = vector.at.iter().position(|&at| self.solver.value(at)).unwrap_or_default();
            let mut values = Bits::default();
            for position in self.live[cut].iter() {
                values.set(position, self.solver.value(vector.values[position]));
            }
            ThreadState { cut, holds: self.solver.value(vector.holds), values }
        };
        State { shared, held: self.solver.value(self.held[0]), threads: (0..slots).map(thread).collect() }
    }

    /// Solves under assumptions, and adds instances of clauses until the model violates none. `slots` is the number of slots
    /// that the question uses.
    fn solve_lazily(
        &mut self,
        assumptions: &[Lit],
        slots: usize,
        clauses: &[&Clause],
    ) -> Result<bool, Reason> {
        loop {
            if !self.solve(assumptions)? {
                return Ok(false);
            }
            let state = self.state(slots);
            let violated: Vec<(&Clause, Vec<usize>)> =
                clauses.iter().filter_map(|&clause| Some((clause, clause.cube.matches(&state)?))).collect();
            if violated.is_empty() {
                return Ok(true);
            }
            for (clause, threads) in violated {
                self.add_instance(&clause.cube, clause.active, &threads);
            }
        }
    }

    /// The assumptions that a question uses so many slots, and about the state before the step.
    fn frame(&mut self, slots: usize, before: Before) -> Vec<Lit> {
        let mut assumptions = Vec::new();
        for (slot, watcher) in self.watchers.iter().enumerate() {
            let alive = watcher.before.alive;
            assumptions.push(if slot + 1 < slots { alive } else { !alive });
        }
        assumptions.push(self.mover[0].alive);
        assumptions.push(match before {
            Before::Start => self.start,
            Before::Level(level) => self.level(level),
        });
        assumptions
    }

    /// Whether a state that satisfies the assumptions about `before` has a large step into a cube. `clauses` are those that
    /// hold there; `candidate`, one of them, is assumed for this question only. With `lifts`, a step that is found is
    /// generalised.
    pub fn predecessor(
        &mut self,
        cube: &Cube,
        before: Before,
        clauses: &[&Clause],
        candidate: Option<Lit>,
        lifts: bool,
    ) -> Result<Reply, Reason> {
        let k = cube.threads.len();
        let mut needed: Vec<Part> = Vec::new();
        for role in Role::all(k, self.creates, self.most) {
            let slots = role.before(k).len();
            if before == Before::Start && slots > 1 {
                // There is one thread at the start. All threads of the cube matter for that.
                let threads = (0..k as u32).map(Part::Thread);
                needed.extend(threads);
                continue;
            }
            self.need_watchers(slots - 1);
            let seats = role.seats(k);
            let mut literals = self.literals(cube, &seats);
            // What no step leads to is the last reason to be given: it says more about the step than about the cube.
            let impossible = literals.iter().find(|&&(lit, _)| lit == self.falsity).map(|&(_, part)| part);
            literals.retain(|&(lit, _)| lit != self.falsity && lit != !self.falsity);
            let mut assumptions = self.frame(slots, before);
            assumptions.push(self.step);
            let allow: Vec<Lit> = self.watchers[..slots - 1].iter().map(|watcher| watcher.allows).collect();
            assumptions.extend(&allow);
            assumptions.extend(candidate);
            assumptions.extend(literals.iter().map(|&(lit, _)| lit));
            if self.solve_lazily(&assumptions, slots, clauses)? {
                if let Some(part) = impossible {
                    needed.push(part);
                    continue;
                }
                if !lifts {
                    let found = Found { role, path: Vec::new(), violation: None, cube: cube.clone() };
                    return Ok(Reply::Reachable(Box::new(found)));
                }
                let goals: Vec<Lit> =
                    literals.iter().map(|&(lit, _)| lit).chain(allow).chain([self.step]).collect();
                return Ok(Reply::Reachable(Box::new(self.lifted(role, slots, &goals)?)));
            }
            // That a thread was there before the step may matter, too.
            for (thread, seat) in (0..).zip(&seats) {
                if let Seat::Watcher(slot) = *seat {
                    let watcher = &self.watchers[slot];
                    literals.extend(
                        [watcher.before.alive, watcher.allows].map(|lit| (lit, Part::Thread(thread))),
                    );
                }
            }
            let core = self.solver.core();
            needed.extend(literals.iter().filter(|(lit, _)| core.contains(lit)).map(|&(_, part)| part));
        }
        needed.sort_unstable();
        needed.dedup();
        Ok(Reply::Unreachable(needed))
    }

    /// A state from which the thread that moves violates the property.
    pub fn violation(&mut self, before: Before, clauses: &[&Clause]) -> Result<Option<Found>, Reason> {
        let mut assumptions = self.frame(1, before);
        assumptions.push(self.fails);
        if !self.solve_lazily(&assumptions, 1, clauses)? {
            return Ok(None);
        }
        let goals = [self.fails];
        self.lifted(Role::Moves(0), 1, &goals).map(Some)
    }

    /// Whether some start is in a cube.
    pub fn is_start(&mut self, cube: &Cube) -> Result<bool, Reason> {
        let seats = match cube.threads.len() {
            0 => Vec::new(),
            1 => vec![0],
            _ => return Ok(false),
        };
        if let Some(thread) = cube.threads.first() {
            let start = self.cuts.iter().position(|&cut| cut == self.system.start);
            if start.is_none_or(|start| !thread.cuts.get(start)) || thread.holds == Some(true) {
                return Ok(false);
            }
        }
        if cube.held == Some(true) {
            return Ok(false);
        }
        let mut assumptions = self.frame(1, Before::Start);
        let signed = |lit: Lit, value: bool| if value { lit } else { !lit };
        for &(global, value) in &cube.shared {
            assumptions.extend(self.shared[0][global as usize].map(|lit| signed(lit, value)));
        }
        for (thread, &slot) in cube.threads.iter().zip(&seats) {
            let vector = self.before(slot);
            for &(position, value) in &thread.values {
                assumptions.push(signed(vector.values[position as usize], value));
            }
        }
        self.solve(&assumptions)
    }

    /// What is needed of the state before the step in the last model so that the same step leads to the same goals.
    fn lifted(&mut self, role: Role, slots: usize, goals: &[Lit]) -> Result<Found, Reason> {
        let state = self.state(slots);
        let (path, violation) = self.path(state.threads[0].cut);
        let choices: Vec<Lit> =
            self.choices.iter().map(|&lit| if self.solver.value(lit) { lit } else { !lit }).collect();
        let full = self.cube_of(&state);
        // The literals of the state, in the order of what we would like to get rid of last.
        let mut literals: Vec<(Lit, Part)> = Vec::new();
        let signed = |lit: Lit, value: bool| if value { lit } else { !lit };
        for slot in 0..slots {
            let (vector, thread) = (self.before(slot), &full.threads[slot]);
            let i = slot as u32;
            for cut in self.every_cut.iter().filter(|&cut| !thread.cuts.get(cut)) {
                literals.push((!vector.at[cut], Part::Excluded(i, cut as u32)));
            }
            for &(position, value) in &thread.values {
                let lit = vector.values[position as usize];
                literals.push((signed(lit, value), Part::Value(i, position)));
            }
            literals.extend(thread.holds.map(|holds| (signed(vector.holds, holds), Part::Holds(i))));
        }
        for &(global, value) in &full.shared {
            literals.extend(
                self.shared[0][global as usize].map(|lit| (signed(lit, value), Part::Shared(global))),
            );
        }
        literals.extend(full.held.map(|held| (signed(self.held[0], held), Part::Held)));
        let fails = self.activator();
        let missed: Vec<Lit> = std::iter::once(!fails).chain(goals.iter().map(|&goal| !goal)).collect();
        self.solver.add_clause(&missed);
        let mut assumptions: Vec<Lit> = vec![fails];
        for slot in 0..slots {
            assumptions.push(self.before(slot).alive);
        }
        assumptions.extend(self.watchers.iter().skip(slots - 1).map(|watcher| !watcher.before.alive));
        assumptions.extend(choices);
        assumptions.extend(literals.iter().map(|&(lit, _)| lit));
        let is_functional = !self.solve(&assumptions)?;
        let mut parts: Vec<Part> = (0..slots as u32).map(Part::Thread).collect();
        if is_functional {
            let core = self.solver.core();
            parts.extend(literals.iter().filter(|(lit, _)| core.contains(lit)).map(|&(_, part)| part));
        } else {
            parts.extend(literals.iter().map(|&(_, part)| part));
        }
        self.retire(fails);
        parts.sort_unstable();
        let cube = full.restricted(|part| parts.binary_search(&part).is_ok(), &self.every_cut, &self.live);
        Ok(Found { role, path, violation, cube })
    }

    /// A state as a cube, its threads in the order of slots.
    fn cube_of(&self, state: &State) -> Cube {
        let shared = self.shared[0].iter().enumerate().filter(|(_, lit)| lit.is_some());
        let thread = |thread: &ThreadState| {
            let mut cuts = Bits::default();
            cuts.set(thread.cut, true);
            let live = self.live[thread.cut].iter();
            let values = live.map(|position| (position as u32, thread.values.get(position))).collect();
            ThreadCube { cuts, values, holds: Some(thread.holds) }
        };
        Cube {
            shared: shared.map(|(global, _)| (global as u32, state.shared.get(global))).collect(),
            held: Some(state.held),
            threads: state.threads.iter().map(thread).collect(),
        }
    }

    /// The path of the thread that moves in the last model.
    fn path(&self, cut: usize) -> (Vec<StepId>, Option<(Violation, bool)>) {
        let block = self.blocks.block(self.cuts[cut]);
        self.blocks.path_of(block, |var| {
            let term = self.image(var);
            term.as_constant()
                .unwrap_or_else(|| self.encoder.literal(term).is_some_and(|lit| self.solver.value(lit)))
        })
    }

    /// The term in the place of a variable of a block.
    fn image(&self, var: VarId) -> Term {
        let position = self.instances.binary_search_by_key(&var, |&(var, _)| var);
        position.map_or(Term::FALSE, |position| self.instances[position].1)
    }

    /// Adds a clause with one thread, or none, for all slots.
    pub fn add_for_all_slots(&mut self, cube: &Cube, active: Lit) {
        match cube.threads.len() {
            0 => self.add_instance(cube, active, &[]),
            1 => {
                for slot in 0..=self.watchers.len() {
                    self.add_instance(cube, active, &[slot]);
                }
            }
            _ => {}
        }
    }
}
