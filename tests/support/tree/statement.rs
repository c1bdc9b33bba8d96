//! What one statement does to the frame that executes it.

use cusp::syntax::ast::{ExprId, Ident, StmtId, StmtKind, Target};

use super::Bits;
use super::text::{Place, Proc, Text, is_asynchronous, is_nothing};
use super::values::{Meaning, Possible, View, conjuncts, meaning, possible, reads_others, with};

/// The values that a statement reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    pub globals: Bits,
    pub locals: Bits,
    /// The locals that `x$` means, one set for every other thread that has them.
    pub others: Vec<Bits>,
}

/// What can happen at a place.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An assertion fails.
    Fails,
    /// Control goes on in the same frame. `silent` if no statement makes this step.
    On { to: Place, data: Data, silent: bool },
    /// `atomic_begin` or `atomic_end`.
    Section { to: Place, begins: bool },
    /// A procedure is entered, by the same thread or by a new one.
    Enter { callee: usize, args: Vec<Possible>, new_thread: bool, behind: Place },
    /// A thread begins at a label with a copy of the locals.
    Fork { at: Place, behind: Place },
    /// The thread ends.
    EndThread,
}

/// Everything that can happen at a place of a procedure.
pub fn outcomes(text: &Text<'_>, proc: usize, place: Place, data: &Data) -> Vec<Outcome> {
    let here = Here { text, index: proc, proc: &text.procs[proc], data };
    let on = |to: Place, silent: bool| vec![Outcome::On { to, data: data.clone(), silent }];
    match place {
        Place::Entry => on(text.first(proc), true),
        // Whatever the procedure returns is arbitrary.
        Place::End => {
            let returned = (0..1 << here.proc.returns).map(Place::Returned);
            returned.flat_map(|place| on(place, false)).collect()
        }
        Place::Returned(_) => unreachable!("the caller goes on"),
        Place::At { stmt, part } => {
            if is_nothing(&text.ast.stmt(stmt).kind) {
                on(text.behind(stmt), true)
            } else {
                here.at(stmt, part)
            }
        }
    }
}

/// Whether every `enforce` of a procedure can hold.
pub fn is_enforced(text: &Text<'_>, proc: usize, globals: Bits, locals: Bits) -> bool {
    let (proc, view) = (&text.procs[proc], View::now(globals, locals));
    proc.enforce.iter().all(|&condition| possible(text, Some(proc), condition, &view).holds)
}

/// The locals with which a procedure can be entered.
pub fn entries(text: &Text<'_>, proc: usize, args: &[Possible], globals: Bits) -> Vec<Bits> {
    let given = |locals: Bits| args.iter().enumerate().all(|(i, arg)| arg.contains(locals >> i & 1 == 1));
    let all = 0..1 << text.procs[proc].locals.len();
    all.filter(|&locals| given(locals) && is_enforced(text, proc, globals, locals)).collect()
}

/// The locals with which a procedure can be entered from nowhere.
pub fn first_entries(text: &Text<'_>, proc: usize, globals: Bits) -> Vec<Bits> {
    entries(text, proc, &[], globals)
}

/// Values after a call: the caller's frame at `stmt` is given what was returned.
pub fn after_call(text: &Text<'_>, proc: usize, stmt: StmtId, mut data: Data, returned: Bits) -> Data {
    if let StmtKind::Call { targets, .. } = &text.ast.stmt(stmt).kind {
        for (position, target) in targets.iter().enumerate() {
            if let Target::Name(name) = target {
                let value = returned >> position & 1 == 1;
                match meaning(text, Some(&text.procs[proc]), &name.name) {
                    Meaning::Global(i) => data.globals = with(data.globals, i, value),
                    Meaning::Local(i) => data.locals = with(data.locals, i, value),
                    Meaning::Passive(_) => unreachable!("a call assigns to its own thread"),
                }
            }
        }
    }
    data
}

fn all_on(to: Place, results: Vec<Data>) -> Vec<Outcome> {
    results.into_iter().map(|data| Outcome::On { to, data, silent: false }).collect()
}

struct Here<'a> {
    text: &'a Text<'a>,
    index: usize,
    proc: &'a Proc<'a>,
    data: &'a Data,
}

impl Here<'_> {
    fn possible(&self, expr: ExprId) -> Possible {
        let view = View::now(self.data.globals, self.data.locals);
        possible(self.text, Some(self.proc), expr, &view)
    }

    fn on(&self, to: Place) -> Outcome {
        Outcome::On { to, data: self.data.clone(), silent: false }
    }

    fn at(&self, stmt: StmtId, part: usize) -> Vec<Outcome> {
        let text = self.text;
        let behind = text.behind(stmt);
        let statement = text.ast.stmt(stmt);
        match &statement.kind {
            StmtKind::Empty | StmtKind::Enforce(_) => unreachable!("it does nothing"),
            StmtKind::Skip | StmtKind::Print(_) | StmtKind::Error => vec![self.on(behind)],
            StmtKind::Decl(declared) => {
                let initialised: Vec<_> =
                    declared.iter().filter(|variable| variable.value.is_some()).collect();
                let last = part + 1 == initialised.len();
                let to = if last { behind } else { Place::At { stmt, part: part + 1 } };
                let value = initialised[part].value.expect("it has an initial value");
                all_on(to, self.assign(&[(&initialised[part].name, value)], None))
            }
            StmtKind::Assign { targets, values, constrain } => {
                let named = targets.iter().zip(values).filter_map(|(target, &value)| match target {
                    Target::Name(name) => Some((name, value)),
                    Target::Drop(_) => None,
                });
                all_on(behind, self.assign(&named.collect::<Vec<_>>(), *constrain))
            }
            StmtKind::Dead(variables) => {
                let mut results = vec![self.data.clone()];
                for variable in variables {
                    results =
                        self.all_written(results, &variable.name, |_| Possible { fails: true, holds: true });
                }
                all_on(behind, results)
            }
            StmtKind::Goto(labels) => {
                labels.iter().map(|label| self.on(text.labelled(self.index, &label.name))).collect()
            }
            StmtKind::Assume(e) | StmtKind::Constrain(e) => self.passes(self.possible(*e).holds, behind),
            StmtKind::Assert(e) => self.asserts(self.possible(*e), behind),
            StmtKind::AbortIf(e) => {
                let Possible { fails, holds } = self.possible(*e);
                self.asserts(Possible { fails: holds, holds: fails }, behind)
            }
            StmtKind::If { arms, otherwise } => {
                let (condition, block) = &arms[part];
                let other = match otherwise {
                    _ if part + 1 < arms.len() => Place::At { stmt, part: part + 1 },
                    Some(block) => text.begin(block, stmt),
                    None => behind,
                };
                self.branches(*condition, text.begin(block, stmt), other)
            }
            StmtKind::While(condition, block) => self.branches(*condition, text.begin(block, stmt), behind),
            StmtKind::Return(values) => {
                let mut results = vec![0];
                for (position, &value) in values.iter().enumerate() {
                    let possible = self.possible(value);
                    let with_value =
                        |&bits: &Bits| possible.into_iter().map(move |value| with(bits, position, value));
                    results = results.iter().flat_map(with_value).collect();
                }
                results.into_iter().map(|values| self.on(Place::Returned(values))).collect()
            }
            StmtKind::Call { callee, args, .. } => {
                self.enter(&callee.name, args, is_asynchronous(statement), behind)
            }
            StmtKind::StartThreadCall { callee, args } => self.enter(&callee.name, args, true, behind),
            StmtKind::StartThreadAt { label, .. } => {
                vec![Outcome::Fork { at: text.labelled(self.index, &label.name), behind }]
            }
            StmtKind::EndThread => vec![Outcome::EndThread],
            StmtKind::AtomicBegin => vec![Outcome::Section { to: behind, begins: true }],
            StmtKind::AtomicEnd => vec![Outcome::Section { to: behind, begins: false }],
        }
    }

    fn passes(&self, holds: bool, to: Place) -> Vec<Outcome> {
        holds.then(|| self.on(to)).into_iter().collect()
    }

    fn asserts(&self, condition: Possible, to: Place) -> Vec<Outcome> {
        let failure = condition.fails.then_some(Outcome::Fails);
        failure.into_iter().chain(self.passes(condition.holds, to)).collect()
    }

    fn branches(&self, condition: ExprId, then: Place, otherwise: Place) -> Vec<Outcome> {
        let possible = self.possible(condition);
        possible.into_iter().map(|holds| self.on(if holds { then } else { otherwise })).collect()
    }

    fn enter(&self, callee: &str, args: &[ExprId], new_thread: bool, behind: Place) -> Vec<Outcome> {
        let callee = self.text.named(callee).expect("the callee is defined");
        let args = args.iter().map(|&arg| self.possible(arg)).collect();
        vec![Outcome::Enter { callee, args, new_thread, behind }]
    }

    /// All results of writing a variable: each variable that the name means takes each of its possible values.
    /// The values are asked for by the position of the other thread.
    fn all_written(
        &self,
        results: Vec<Data>,
        name: &str,
        value: impl Fn(Option<usize>) -> Possible,
    ) -> Vec<Data> {
        let each = |results: Vec<Data>, possible: Possible, write: &dyn Fn(&mut Data, bool)| {
            let mut written = Vec::new();
            for data in results {
                for value in possible {
                    let mut data = data.clone();
                    write(&mut data, value);
                    written.push(data);
                }
            }
            written
        };
        match meaning(self.text, Some(self.proc), name) {
            Meaning::Global(i) => {
                each(results, value(None), &|data, value| data.globals = with(data.globals, i, value))
            }
            Meaning::Local(i) => {
                each(results, value(None), &|data, value| data.locals = with(data.locals, i, value))
            }
            Meaning::Passive(i) => (0..self.data.others.len()).fold(results, |results, other| {
                each(results, value(Some(other)), &|data, value| {
                    data.others[other] = with(data.others[other], i, value);
                })
            }),
        }
    }

    /// All results of a parallel assignment: right sides read the values before it.
    fn assign(&self, pairs: &[(&Ident, ExprId)], constrain: Option<ExprId>) -> Vec<Data> {
        let before = self.data;
        let mut results = vec![before.clone()];
        for (target, value) in pairs {
            results = self.all_written(results, &target.name, |other| {
                let view = self.view(before, other);
                possible(self.text, Some(self.proc), *value, &view)
            });
        }
        let conditions = constrain.map_or_else(Vec::new, |condition| conjuncts(self.text, condition));
        results.retain(|after| conditions.iter().all(|&condition| self.is_allowed(condition, after)));
        results
    }

    /// Whether a condition on old and new values can hold: for every other thread, if it reads them.
    fn is_allowed(&self, condition: ExprId, after: &Data) -> bool {
        let holds = |other| possible(self.text, Some(self.proc), condition, &self.view(after, other)).holds;
        if reads_others(self.text, self.proc, condition) {
            (0..after.others.len()).all(|other| holds(Some(other)))
        } else {
            holds(None)
        }
    }

    fn view(&self, after: &Data, other: Option<usize>) -> View {
        let before = self.data;
        View {
            globals: [before.globals, after.globals],
            locals: [before.locals, after.locals],
            other: other.map_or([0; 2], |other| [before.others[other], after.others[other]]),
        }
    }
}
