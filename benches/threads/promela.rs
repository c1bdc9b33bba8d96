//! Programs with a bounded number of threads in Promela, for SPIN.
//!
//! Calls are inlined and irrelevant variables are left out, as for our own engines; everything else is left to
//! SPIN: a step of ours is one step there, so that its partial-order reduction sees what a thread does. Only steps
//! that do nothing but move control are left out, as whoever writes Promela by hand would do.
//!
//! Processes of SPIN cannot be removed before younger ones, so there is one for every thread that may live at the
//! same time, waiting in `idle` until `start` names the place where it begins; a thread that ends goes back there
//! and forgets everything. `start_thread` takes the first process that waits, and does nothing if there is none.
//! What Cusp adds before `main` is an `atomic` sequence of `init`.
//!
//! Not everything can be said: see [`Unsupported`].

mod statements;

use std::collections::BTreeMap;
use std::fmt::Write;

use cusp::model::{Action, Assign, Call, Expr, Op, Place, Program, Var};
use cusp::threads::{Context, Holding, Location, Step, ThreadSystem};

use super::expressions::{Value, and, value};
use statements::{Effect, anything, choose};

/// What cannot be written, in words.
pub type Unsupported = String;

/// The number of a process that cannot be started because it is needed for `main`.
const RESERVED: usize = 255;

/// A place to write to, and what is written there.
type Written = (String, Value);

/// Writes a program down.
pub fn write(system: &ThreadSystem<'_>, threads: u32) -> Result<String, Unsupported> {
    let writer = Writer::new(system, threads as usize)?;
    writer.program()
}

/// Which process begins where, and which of its values are given to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    location: Location,
    /// Values at positions below this are given, the others are arbitrary.
    given: usize,
}

struct Writer<'a> {
    system: &'a ThreadSystem<'a>,
    threads: usize,
    /// Positions of values that matter somewhere.
    used: Vec<bool>,
    /// Positions that others read or write.
    exposed: Vec<bool>,
    /// Where processes begin; the number in `start` is the position here plus one.
    entries: Vec<Entry>,
    /// Whether threads hold the system after the start.
    has_sections: bool,
}

impl<'a> Writer<'a> {
    fn new(system: &'a ThreadSystem<'a>, threads: usize) -> Result<Self, Unsupported> {
        let program = system.program();
        if program.atomic_flag.is_some() {
            return Err("Getafix's flag for atomic sections".to_owned());
        }
        if program.procedures.iter().any(|procedure| procedure.enforce.is_some()) {
            return Err("`enforce`".to_owned());
        }
        let mut used = vec![false; system.width as usize];
        for location in system.locations() {
            system.live(location).iter().for_each(|position| used[position] = true);
        }
        let mut writer = Self {
            system,
            threads,
            exposed: vec![false; used.len()],
            used,
            entries: Vec::new(),
            has_sections: false,
        };
        writer.look_around()?;
        Ok(writer)
    }

    /// Finds out where threads begin, what they see of each other, and whether they hold the system.
    fn look_around(&mut self) -> Result<(), Unsupported> {
        let system = self.system;
        let program = system.program();
        if !system.in_prologue(system.start) {
            self.entries.push(Entry { location: system.start, given: 0 });
        }
        for step in system.steps() {
            let Some(edge) = system.edge(step) else { continue };
            self.has_sections |= matches!(edge.action, Action::AtomicBegin);
            match &edge.action {
                Action::Spawn(call) => self.add_entry(program, step.creates, call),
                Action::Call(call) if program.leaves_prologue(system.context(step.from).procedure, edge) => {
                    self.add_entry(program, step.to, call);
                }
                Action::Fork(_) => {
                    let given = system.procedure(step.from).locals.len();
                    self.entries.extend(step.creates.map(|location| Entry { location, given }));
                }
                Action::Assign(assign) => self.expose(step, assign)?,
                _ => {}
            }
        }
        let mut seen: Vec<Entry> = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            if !seen.contains(&entry) {
                seen.push(entry);
            }
        }
        self.entries = seen;
        Ok(())
    }

    fn add_entry(&mut self, program: &Program, location: Option<Location>, call: &Call) {
        let given = program.procedure(call.callee).params as usize;
        self.entries.extend(location.map(|location| Entry { location, given }));
    }

    /// Marks what an assignment sees of other threads.
    fn expose(&mut self, step: &Step, assign: &Assign) -> Result<(), Unsupported> {
        let system = self.system;
        let exprs = &system.program().exprs;
        let reads = |expr: Expr| exprs.reads(expr).filter(|place| place.passive).map(|place| place.var);
        if assign.constrain.iter().any(|&condition| reads(condition).next().is_some()) {
            return Err("`constrain` about other threads".to_owned());
        }
        let targets: Vec<Var> =
            assign.pairs.iter().filter(|(target, _)| target.passive).map(|(target, _)| target.var).collect();
        let read: Vec<Var> = assign.pairs.iter().flat_map(|&(_, value)| reads(value)).collect();
        if targets.is_empty() && read.is_empty() {
            return Ok(());
        }
        if targets.len() > 1 && !read.is_empty() {
            return Err("several `x$` at once".to_owned());
        }
        let procedure = system.context(step.from).procedure;
        let is_elsewhere = |location: Location| {
            let context = system.context(location);
            !system.in_prologue(location) && (context.procedure != procedure || context.caller.is_some())
        };
        if system.locations().any(is_elsewhere) {
            return Err("`x$` among several procedures".to_owned());
        }
        for var in targets.into_iter().chain(read) {
            if let Var::Local(local) = var {
                self.exposed[local as usize] = true;
            }
        }
        Ok(())
    }

    /// The name of a value of the thread that moves.
    fn own(&self, position: usize) -> String {
        if self.exposed[position] { format!("x{position}[me]") } else { format!("v{position}") }
    }

    /// The name of a variable at a location; `None` if it does not matter.
    fn variable(&self, location: Location, var: Var) -> Option<String> {
        self.variable_of(self.system.context(location), var)
    }

    /// The name of a variable of a frame; `None` if it does not matter.
    fn variable_of(&self, frame: &Context, var: Var) -> Option<String> {
        if !self.system.relevance.matters(frame.procedure, var) {
            return None;
        }
        match var {
            Var::Global(global) => Some(format!("g{global}")),
            Var::Local(local) => {
                let position = (frame.base + local) as usize;
                self.used[position].then(|| self.own(position))
            }
        }
    }

    fn value(&self, location: Location, expr: Expr) -> Value {
        self.value_with(location, expr, |_| None)
    }

    /// The value of an expression; `known` may say what some places are.
    fn value_with(&self, location: Location, expr: Expr, known: impl Fn(Place) -> Option<Value>) -> Value {
        value(self.system.program().exprs.ops(expr), |place| {
            known(place).unwrap_or_else(|| {
                // What does not matter is not read where it does.
                Value::Plain(self.variable(location, place.var).unwrap_or_else(|| "0".to_owned()))
            })
        })
    }

    fn program(&self) -> Result<String, Unsupported> {
        let system = self.system;
        let mut text = format!("byte start[{}];\n", self.threads);
        for global in system.relevance.globals() {
            let _ = writeln!(text, "bit g{global}; /* {} */", system.program().globals[global as usize].name);
        }
        if self.has_sections {
            text.push_str("byte owner;\n");
        }
        let positions = || (0..self.used.len()).filter(|&position| self.used[position]);
        for position in positions().filter(|&position| self.exposed[position]) {
            let _ = writeln!(text, "bit x{position}[{}];", self.threads);
        }
        let handed =
            |position: usize| !self.exposed[position] && self.entries.iter().any(|e| position < e.given);
        for position in positions().filter(|&position| handed(position)) {
            let _ = writeln!(text, "bit arg{position}[{}];", self.threads);
        }
        let mut bodies = [String::new(), String::new()];
        let (mut most_choices, mut most_temporaries) = (0, 0);
        for location in self.written() {
            let in_prologue = system.in_prologue(location);
            let body = &mut bodies[usize::from(in_prologue)];
            let mut options = String::new();
            for place in self.places(location) {
                if system.is_forbidden(place) {
                    options.push_str("  :: assert(false)\n");
                    continue;
                }
                for (_, step) in system.steps_from(place) {
                    let effect = self.effect(step)?;
                    most_choices = most_choices.max(effect.choices());
                    most_temporaries = most_temporaries.max(effect.writes.len());
                    options.push_str(&self.option(step, &effect, location));
                    if let Some(Action::Assert(condition)) = system.edge(step).map(|edge| &edge.action)
                        && system.asserts()
                    {
                        let fails = self.value(place, *condition).can_fail();
                        let fails = and(&self.may_move(place), &fails);
                        let _ = writeln!(options, "  :: ({fails}) -> assert(false)");
                    }
                }
            }
            let options = if options.is_empty() { "  :: (false)\n" } else { &options };
            let _ = writeln!(body, "L{}: if\n{options}  fi;", location.index());
        }
        for temporary in 0..most_temporaries {
            let _ = writeln!(text, "hidden byte t{temporary};");
        }
        let choices = bits((0..most_choices).map(|choice| format!("c{choice}")));
        let [threads, prologue] = bodies;
        let hidden = positions().filter(|&position| !self.exposed[position]);
        let locals = bits(hidden.map(|position| format!("v{position}")));
        let _ = write!(
            text,
            "proctype thread(byte me) {{\n  {locals}{choices}\nidle: if\n{}  fi;\n{threads}}}\n",
            self.dispatch()
        );
        let _ = write!(
            text,
            "init {{\n  {choices}\n  atomic {{\n{}{prologue}done: skip\n  }}\n}}\n",
            self.start()
        );
        Ok(text)
    }

    /// How a process that waits begins.
    fn dispatch(&self) -> String {
        let mut text = String::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let mut parts = vec![format!("(start[me] == {})", number + 1)];
            for position in self.system.live(entry.location).iter().filter(|&p| !self.exposed[p]) {
                parts.push(if position < entry.given {
                    format!("v{position} = arg{position}[me]; arg{position}[me] = 0")
                } else {
                    choose(&format!("v{position}"), &anything())
                });
            }
            let to = self.target(entry.location).index();
            let _ = writeln!(text, "  :: atomic {{ {} }}; goto L{to}", parts.join("; "));
        }
        text
    }

    /// What `init` does before the prologue.
    fn start(&self) -> String {
        let system = self.system;
        let mut text = String::new();
        let assigned = self.assigned_by_prologue();
        for global in system.relevance.globals().filter(|global| !assigned.contains(global)) {
            let _ = writeln!(text, "{};", choose(&format!("g{global}"), &anything()));
        }
        for process in 0..self.threads {
            let _ = writeln!(text, "run thread({process});");
        }
        if system.in_prologue(system.start) {
            let _ = writeln!(text, "start[0] = {RESERVED}; goto L{};", system.start.index());
        } else {
            let entry = Entry { location: system.start, given: 0 };
            let _ = writeln!(text, "{}; goto done;", self.begin(0, &entry, &BTreeMap::new()));
        }
        text
    }

    /// Globals that the prologue assigns constants to; it has no branches before that.
    fn assigned_by_prologue(&self) -> Vec<u32> {
        let program = self.system.program();
        if !program.is_prologue(program.start) {
            return Vec::new();
        }
        let mut assigned = Vec::new();
        for edge in &program.procedure(program.start).edges {
            let Action::Assign(assign) = &edge.action else { continue };
            for &(target, value) in &assign.pairs {
                if let (Var::Global(global), [Op::Const(_)]) = (target.var, program.exprs.ops(value)) {
                    assigned.push(global);
                }
            }
        }
        assigned
    }

    /// When the thread that is at a location may move.
    fn may_move(&self, location: Location) -> String {
        if !self.has_sections || self.system.in_prologue(location) {
            return "1".to_owned();
        }
        match self.system.holding(location) {
            Holding::Always => "1".to_owned(),
            Holding::Never => "(owner == 0)".to_owned(),
            Holding::Mixed => "(owner == 0 || owner == me + 1)".to_owned(),
        }
    }

    /// Where control goes on from a location that does nothing but choose where; `None` if it does more.
    fn jumps(&self, location: Location) -> Option<Vec<Location>> {
        let system = self.system;
        if self.has_sections || system.in_prologue(location) || system.is_forbidden(location) {
            return None;
        }
        let jump = |step: &Step| match system.edge(step).map(|edge| &edge.action) {
            Some(Action::Skip) => step.to,
            Some(Action::Assume(condition)) if self.value(location, *condition).can_hold() == "1" => step.to,
            _ => None,
        };
        system.steps_from(location).map(|(_, step)| jump(step)).collect()
    }

    /// The locations at which something happens and to which a thread may go on from a location, doing nothing.
    fn places(&self, location: Location) -> Vec<Location> {
        let (mut seen, mut open, mut places) = (vec![location], vec![location], Vec::new());
        while let Some(location) = open.pop() {
            match self.jumps(location) {
                None => places.push(location),
                Some(jumps) => {
                    for to in jumps.into_iter().filter(|to| !seen.contains(to)).collect::<Vec<_>>() {
                        seen.push(to);
                        open.push(to);
                    }
                }
            }
        }
        places
    }

    /// The location that stands for a location: the one to which a single way leads.
    fn target(&self, mut location: Location) -> Location {
        for _ in 0..self.system.len() {
            match self.jumps(location).as_deref() {
                Some(&[only]) => location = only,
                _ => break,
            }
        }
        location
    }

    /// All locations that are written down.
    fn written(&self) -> Vec<Location> {
        let system = self.system;
        let mut is_written = vec![false; system.len()];
        let mut open: Vec<Location> = system.locations().filter(|&l| system.in_prologue(l)).collect();
        open.extend(self.entries.iter().map(|entry| self.target(entry.location)));
        while let Some(location) = open.pop() {
            if !std::mem::replace(&mut is_written[location.index()], true) {
                let places = self.places(location);
                let steps = places.iter().flat_map(|&place| system.steps_from(place));
                open.extend(steps.filter_map(|(_, step)| step.to).map(|to| self.target(to)));
            }
        }
        system.locations().filter(|location| is_written[location.index()]).collect()
    }

    /// Everything that a step does.
    fn effect(&self, step: &Step) -> Result<Effect, Unsupported> {
        let (system, from) = (self.system, step.from);
        let mut effect = Effect { guard: self.may_move(from), ..Effect::default() };
        let Some(edge) = system.edge(step) else {
            self.hand_back(step, &mut effect);
            return Ok(self.ended(step, effect));
        };
        match &edge.action {
            Action::Skip | Action::EndThread => {}
            Action::Assume(condition) | Action::Assert(condition) => {
                effect.guard = and(&effect.guard, &self.value(from, *condition).can_hold());
            }
            Action::Assign(assign) => {
                for &(target, expr) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
                    let name = self.variable(from, target.var);
                    effect.writes.extend(name.map(|name| (name, self.value(from, expr))));
                }
                effect.conditions = assign.constrain.iter().map(|&condition| (condition, from)).collect();
                for &(target, expr) in assign.pairs.iter().filter(|(target, _)| target.passive) {
                    self.write_to_others(from, target.var, expr, &mut effect)?;
                }
            }
            Action::Call(call) if system.program().leaves_prologue(system.context(from).procedure, edge) => {
                effect.creation = self.create(step.to, from, call, &mut effect.writes, Some(0));
                return Ok(effect);
            }
            Action::Call(call) => self.enter(step, call, &mut effect.writes),
            Action::Spawn(call) => {
                effect.creation = self.create(step.creates, from, call, &mut effect.writes, None);
            }
            Action::Fork(_) => effect.creation = self.fork(step),
            Action::AtomicBegin => effect.last.push("owner = me + 1".to_owned()),
            Action::AtomicEnd => effect.last.push("owner = 0".to_owned()),
        }
        Ok(self.ended(step, effect))
    }

    /// A thread that ends forgets everything.
    fn ended(&self, step: &Step, mut effect: Effect) -> Effect {
        if step.to.is_none() && !self.system.in_prologue(step.from) {
            for position in (0..self.used.len()).filter(|&position| self.used[position]) {
                effect.last.push(format!("{} = 0", self.own(position)));
            }
            if self.has_sections && self.system.holding(step.from) != Holding::Never {
                effect.last.push("owner = (owner == me + 1 -> 0 : owner)".to_owned());
            }
            effect.last.push("start[me] = 0".to_owned());
        }
        effect
    }

    /// Gives the return values to the caller.
    fn hand_back(&self, step: &Step, effect: &mut Effect) {
        let system = self.system;
        let Some((caller, edge)) = system.returns_to(step) else { return };
        let Action::Call(call) = &edge.action else { return };
        let caller = &system.contexts[caller.index()];
        let first = system.procedure(step.from).first_return();
        for (slot, target) in (first..).zip(&call.targets) {
            let slot = self.variable(step.from, Var::Local(slot));
            let target = target.and_then(|target| self.variable_of(caller, target));
            effect.writes.extend(target.zip(slot).map(|(target, slot)| (target, Value::Plain(slot))));
        }
    }

    /// The values with which a procedure is entered.
    fn enter(&self, step: &Step, call: &Call, writes: &mut Vec<Written>) {
        let Some(entry) = step.to else { return };
        let base = self.system.context(entry).base as usize;
        for position in self.system.live(entry).iter().filter(|&position| position >= base) {
            let given = call.args.get(position - base);
            let value = given.map_or_else(anything, |&arg| self.value(step.from, arg));
            writes.push((self.own(position), value));
        }
    }

    /// Starts a thread that runs a procedure, in a given process or in the first that waits. Arguments with choices
    /// are chosen beforehand, through `writes` to variables for choices.
    fn create(
        &self,
        entry: Option<Location>,
        from: Location,
        call: &Call,
        writes: &mut Vec<Written>,
        process: Option<usize>,
    ) -> String {
        let Some(location) = entry else { return String::new() };
        let entry = Entry { location, given: call.args.len() };
        let mut given = BTreeMap::new();
        for (position, &arg) in call.args.iter().enumerate() {
            if !self.system.live(location).get(position) {
                continue;
            }
            let text = match self.value(from, arg) {
                Value::Plain(text) => text,
                value @ Value::Either { .. } => {
                    // The variable for its choice is written by itself, and so is not reset.
                    let name = format!("c{}", writes.len());
                    writes.push((name.clone(), value));
                    name
                }
            };
            given.insert(position, text);
        }
        match process {
            Some(process) => self.begin(process, &entry, &given),
            None => self.begin_first(&entry, &given),
        }
    }

    /// Starts a thread with a copy of the locals.
    fn fork(&self, step: &Step) -> String {
        let Some(location) = step.creates else { return String::new() };
        let base = self.system.context(step.from).base as usize;
        let entry = Entry { location, given: self.system.procedure(step.from).locals.len() };
        let live = self.system.live(location).iter();
        let given = live.map(|position| (position, self.own(base + position))).collect();
        self.begin_first(&entry, &given)
    }

    /// The first process that waits begins, if there is one.
    fn begin_first(&self, entry: &Entry, given: &BTreeMap<usize, String>) -> String {
        let mut text = "if".to_owned();
        for process in 0..self.threads {
            let busy: Vec<String> = (0..process).map(|before| format!("start[{before}] != 0")).collect();
            let first = [&busy[..], &[format!("start[{process}] == 0")]].concat().join(" && ");
            let _ = write!(text, " :: ({first}) -> {}", self.begin(process, entry, given));
        }
        text.push_str(" :: else -> skip fi");
        text
    }

    fn begin(&self, process: usize, entry: &Entry, given: &BTreeMap<usize, String>) -> String {
        let mut parts = Vec::new();
        for position in self.system.live(entry.location).iter() {
            let array = if self.exposed[position] { "x" } else { "arg" };
            let name = format!("{array}{position}[{process}]");
            match given.get(&position) {
                Some(text) => parts.push(format!("{name} = {text}")),
                // Others may see it at once.
                None if self.exposed[position] => parts.push(choose(&name, &anything())),
                None => {}
            }
        }
        let number = self.entries.iter().position(|known| known == entry).map_or(0, |number| number + 1);
        parts.push(format!("start[{process}] = {number}"));
        parts.join("; ")
    }

    /// An assignment to a variable of all other threads.
    fn write_to_others(
        &self,
        from: Location,
        var: Var,
        expr: Expr,
        effect: &mut Effect,
    ) -> Result<(), Unsupported> {
        let Var::Local(local) = var else { return Ok(()) };
        if !self.used[local as usize] {
            return Ok(());
        }
        for process in 0..self.threads {
            let theirs = |place: Place| match place.var {
                Var::Local(local) if place.passive => Some(Value::Plain(format!("x{local}[{process}]"))),
                _ => None,
            };
            let Value::Plain(text) = self.value_with(from, expr, theirs) else {
                return Err("choices of other threads".to_owned());
            };
            let there = format!("me != {process} && start[{process}] != 0");
            effect
                .passive
                .push(format!("if :: ({there}) -> x{local}[{process}] = {text} :: else -> skip fi"));
        }
        Ok(())
    }
}

/// Declarations of bits, one for each name.
fn bits(names: impl Iterator<Item = String>) -> String {
    names.fold(String::new(), |text, name| text + "bit " + &name + "; ")
}
