//! The one table of engines.
//!
//! Whoever wants to know which engines there are looks here: the command line and its help, `cusp engines`, the
//! table in the README, the portfolio, and the loops of the tests. A new engine is a file and a row.
//!
//! Rows stand in the order of the portfolio, the most promising engine first.

use std::fmt;

use crate::engines::{
    Bounds, Engine, Question, bdd, bmc, counter, explicit, interleavings, kinduction, lazy, nets, pdr,
    summaries, universal,
};
use crate::model::Task;
use crate::model::calls::CallGraph;
use crate::model::cube::Cube;
use crate::model::cuts::Cuts;
use crate::net::Net;

use super::thread_nets::{ForThreads, ThreadNets};
use super::translate::Through;

pub use crate::engines::BoxedEngine;

/// What is known about one engine.
pub struct Row<Q: Question + 'static> {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it does, in one line.
    pub idea: &'static str,
    /// The questions that it accepts; [`Engine::accepts`] says so about a single one.
    pub accepts: &'static str,
    /// What it can show.
    pub shows: Shows,
    /// The evidence that it gives for a safe answer; an unsafe one is always a run.
    pub evidence: &'static str,
    make: fn(Bounds) -> BoxedEngine<Q>,
    portfolio: Portfolio<Q>,
}

/// The answers that an engine can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// That a question is safe or unsafe.
    Both,
    /// That a question is unsafe.
    Runs,
}

impl Shows {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Both => "safe, unsafe",
            Self::Runs => "unsafe",
        }
    }
}

/// When an engine takes part in `auto`, and how.
#[derive(Clone, Copy)]
struct Portfolio<Q: Question + 'static> {
    /// The engine as it runs alone for a short while, before there is a race.
    alone: fn(&Q) -> Option<BoxedEngine<Q>>,
    /// The engine as it races, if it does for this question.
    race: fn(&Q, Bounds) -> Option<BoxedEngine<Q>>,
}

impl<Q: Question> Portfolio<Q> {
    const NEVER: Self = Self { alone: |_| None, race: |_, _| None };
}

impl<Q: Question> Row<Q> {
    /// The engine, with the user's bounds if it goes by them.
    #[must_use]
    pub fn engine(&self, bounds: Bounds) -> BoxedEngine<Q> {
        (self.make)(bounds)
    }

    /// Whether the engine takes part in `auto` for this question.
    #[must_use]
    pub fn races(&self, question: &Q) -> bool {
        (self.portfolio.race)(question, Bounds::default()).is_some()
    }
}

impl<Q: Question> fmt::Debug for Row<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Kinds of questions that have engines.
pub trait HasEngines: Question + Sized + 'static {
    /// The engines for this kind of question.
    const ENGINES: &'static [Row<Self>];

    /// The engine that runs alone for a short while before there is a race. Most questions that people write by hand
    /// end there, and their answers do not depend on who is faster.
    #[must_use]
    fn first_alone(&self) -> Option<BoxedEngine<Self>> {
        Self::ENGINES.iter().find_map(|row| (row.portfolio.alone)(self))
    }

    /// The engines that race for this question, the most promising first.
    #[must_use]
    fn racers(&self, bounds: Bounds) -> Vec<BoxedEngine<Self>> {
        Self::ENGINES.iter().filter_map(|row| (row.portfolio.race)(self, bounds)).collect()
    }
}

/// Who decides: a portfolio, or one engine.
#[derive(Default)]
pub enum Choice<Q: Question + 'static> {
    /// The engines that fit the question, side by side.
    #[default]
    Auto,
    /// This one.
    Only(&'static Row<Q>),
}

impl<Q: HasEngines> Choice<Q> {
    /// The choice of this name; `None` if there is no such engine.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == AUTO {
            return Some(Self::Auto);
        }
        Q::ENGINES.iter().find(|row| row.name == name).map(Self::Only)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto => AUTO,
            Self::Only(row) => row.name,
        }
    }

    /// All choices, `auto` first.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Auto).chain(Q::ENGINES.iter().map(Self::Only))
    }
}

/// The name of the portfolio.
pub const AUTO: &str = "auto";

/// What the portfolio does, in one line.
pub const AUTO_IDEA: &str = "the engines that fit, side by side, until there is a certified answer";

impl<Q: Question> Clone for Choice<Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: Question> Copy for Choice<Q> {}

impl<Q: HasEngines> fmt::Debug for Choice<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<Q: HasEngines> PartialEq for Choice<Q> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<Q: HasEngines> Eq for Choice<Q> {}

/// The path edges that the explicit engine may keep while others use memory too.
const RACING_PATH_EDGES: usize = 4_000_000;

/// The path edges that it may make while it is alone, times variables: a few milliseconds.
const FIRST_PATH_EDGES: usize = 100_000;

/// The most variables that a frame holds.
fn width(task: &Task) -> usize {
    let locals = task.program.procedures.iter().map(|procedure| procedure.locals.len()).max();
    task.program.globals.len() + locals.unwrap_or(0)
}

/// Whether the program is sequential and its frames fit the explicit engine.
fn is_sequential_and_narrow(task: &Task) -> bool {
    !task.program.starts_threads && width(task) <= Cube::WIDTH
}

/// Whether k-induction can be expected to do better than refinement of calls.
fn has_loops_without_recursion(task: &Task) -> bool {
    !is_recursive(task) && task.program.procedures.iter().any(|p| Cuts::of(p).heads().next().is_some())
}

fn is_recursive(task: &Task) -> bool {
    let calls = CallGraph::of(&task.program);
    task.program.procedure_ids().any(|id| calls.is_recursive(id))
}

/// Races for every sequential program.
fn if_sequential(task: &Task, engine: impl Engine + 'static) -> Option<BoxedEngine<Task>> {
    (!task.program.starts_threads).then(|| Box::new(engine) as BoxedEngine<Task>)
}

/// Nets decide programs with threads.
fn through_net(bounds: Bounds) -> BoxedEngine<Task> {
    let name = "nets";
    let translator = ThreadNets::new(name, bounds.unwind);
    Box::new(Through { name, translator, engine: Box::new(ForThreads) })
}

const SEQUENTIAL: &str = "sequential programs";

impl HasEngines for Task {
    const ENGINES: &'static [Row<Task>] = &[
        Row {
            name: "explicit",
            idea: "explicit path edges over partial valuations; all interleavings of threads; the reference for the others",
            accepts: "all programs, at most 128 variables in a frame",
            shows: Shows::Both,
            evidence: "path edges; with threads, system states",
            make: |_| Box::new(explicit::Explicit::default()),
            portfolio: Portfolio {
                alone: |task| {
                    let most_path_edges = FIRST_PATH_EDGES / width(task).max(8);
                    let engine = explicit::Explicit { most_path_edges, ..explicit::Explicit::default() };
                    is_sequential_and_narrow(task).then(|| Box::new(engine) as _)
                },
                race: |task, _| {
                    let most_path_edges =
                        if task.program.starts_threads { usize::MAX } else { RACING_PATH_EDGES };
                    let engine = explicit::Explicit { most_path_edges, ..explicit::Explicit::default() };
                    // With threads, `interleavings` is faster; this one also follows recursion a little.
                    let fits =
                        task.program.starts_threads && is_recursive(task) || is_sequential_and_narrow(task);
                    fits.then(|| Box::new(engine) as _)
                },
            },
        },
        Row {
            name: "interleavings",
            idea: "all interleavings of threads, reduced: large steps, states as numbers, symmetry, threads without those that cannot get in their way",
            accepts: "programs with threads; recursion with `--unwind`",
            shows: Shows::Both,
            evidence: "states at cuts",
            make: |bounds| Box::new(interleavings::Interleavings::within(bounds)),
            portfolio: Portfolio {
                race: |task, bounds| {
                    let engine = interleavings::Interleavings::within(bounds);
                    task.program.starts_threads.then(|| Box::new(engine) as _)
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "counter",
            idea: "multisets of program counters of threads, each with one set of values as a decision diagram; good where data is wide and control is narrow",
            accepts: "programs with a bounded number of threads, without recursion",
            shows: Shows::Both,
            evidence: "control states",
            make: |bounds| Box::new(counter::Counter::within(bounds)),
            portfolio: Portfolio {
                race: |task, bounds| {
                    let fits = task.program.starts_threads && task.threads.is_some();
                    fits.then(|| Box::new(counter::Counter::within(bounds)) as _)
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "bdd",
            idea: "Bebop: path edges and summary edges as decision diagrams, independent of SAT",
            accepts: SEQUENTIAL,
            shows: Shows::Both,
            evidence: "relations",
            make: |_| Box::new(bdd::Bdd::default()),
            portfolio: Portfolio {
                race: |task, _| if_sequential(task, bdd::Bdd::default()),
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "bmc",
            idea: "unrolling on demand: calls not unrolled yet are arbitrary in proofs and blocked in the search for bugs; good at deep bugs; with threads, bugs only",
            accepts: "all programs",
            shows: Shows::Both,
            evidence: "unrolling; with threads, none",
            make: |bounds| Box::new(bmc::Bmc::within(bounds)),
            portfolio: Portfolio {
                // With threads it never ends on safe programs, so it races only where others end if they can.
                race: |task, bounds| {
                    let is_bounded = bounds.unwind.or(bounds.recursion).is_some() || !is_recursive(task);
                    let races = !task.program.starts_threads || task.threads.is_some() && is_bounded;
                    races.then(|| Box::new(bmc::Bmc::within(bounds)) as _)
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "summaries",
            idea: "path edges and summary edges as formulas, until inclusion checks show that nothing new is found",
            accepts: SEQUENTIAL,
            shows: Shows::Both,
            evidence: "relations",
            make: |_| Box::new(summaries::Summaries::default()),
            portfolio: Portfolio {
                race: |task, _| if_sequential(task, summaries::Summaries::default()),
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "kinduction",
            idea: "base case and step case over loop heads, calls inlined; states have to differ only where needed; with threads, over large steps",
            accepts: "programs without recursion; with threads, a bounded number",
            shows: Shows::Both,
            evidence: "k-inductive",
            make: |Bounds { depth, .. }| Box::new(kinduction::KInduction { depth }),
            portfolio: Portfolio {
                race: |task, Bounds { depth, .. }| {
                    if_sequential(task, kinduction::KInduction { depth })
                        .filter(|_| has_loops_without_recursion(task))
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "pdr",
            idea: "clauses that hold for all choices of threads, found by going back from violations; any number of threads",
            accepts: "programs with threads; recursion with `--unwind`",
            shows: Shows::Both,
            evidence: "universal clauses",
            make: |bounds| Box::new(pdr::Pdr::within(bounds)),
            portfolio: Portfolio {
                race: |task, bounds| {
                    let engine = pdr::Pdr::within(bounds);
                    task.program.starts_threads.then(|| Box::new(engine) as _)
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "nets",
            idea: "a net whose tokens are threads, decided by the engines for nets; good where single threads have few states",
            accepts: "programs with any number of threads; recursion with `--unwind`",
            shows: Shows::Both,
            evidence: "universal clauses",
            make: |bounds| through_net(bounds),
            portfolio: Portfolio {
                race: |task, bounds| {
                    let fits = task.program.starts_threads && task.threads.is_none();
                    fits.then(|| through_net(bounds))
                },
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "universal",
            idea: "summaries for arbitrary entry states, callees first; for recursion, with increasing nesting depth",
            accepts: SEQUENTIAL,
            shows: Shows::Both,
            evidence: "relations",
            make: |_| Box::new(universal::Universal::default()),
            portfolio: Portfolio::NEVER,
        },
        Row {
            name: "lazy",
            idea: "the results of calls are arbitrary, until a spurious run makes a summary necessary",
            accepts: SEQUENTIAL,
            shows: Shows::Both,
            evidence: "relations",
            make: |_| Box::new(lazy::Lazy),
            portfolio: Portfolio {
                race: |task, _| {
                    if_sequential(task, lazy::Lazy).filter(|_| !has_loops_without_recursion(task))
                },
                ..Portfolio::NEVER
            },
        },
    ];
}

/// So many elements are followed before there is a race. Most nets of the corpus need fewer; in those with
/// thousands of transitions, each element costs milliseconds, and others find a run in less than ten of them.
const FIRST_ELEMENTS: usize = 300;

const NETS: &str = "all nets";

impl HasEngines for Net {
    const ENGINES: &'static [Row<Net>] = &[
        Row {
            name: "backward",
            idea: "backward search over upward-closed sets, without what linear relaxations exclude",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "basis",
            make: |_| Box::new(nets::backward::Backward::default()),
            portfolio: Portfolio {
                alone: |_| Some(Box::new(nets::backward::Backward { most_elements: Some(FIRST_ELEMENTS) })),
                race: |_, _| Some(Box::new(nets::backward::Backward::default())),
            },
        },
        Row {
            name: "mcov",
            idea: "minimal uncoverability proofs, with a forward search beside them",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "basis, or coverability-set",
            make: |_| Box::new(nets::mcov::Mcov::default()),
            portfolio: Portfolio {
                race: |_, _| Some(Box::new(nets::mcov::Mcov::default())),
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "directed",
            idea: "forward search guided by the state equation",
            accepts: NETS,
            shows: Shows::Runs,
            evidence: "none",
            make: |_| Box::new(nets::directed::Directed),
            portfolio: Portfolio {
                race: |_, _| Some(Box::new(nets::directed::Directed)),
                ..Portfolio::NEVER
            },
        },
        Row {
            name: "backward-cst",
            idea: "backward search on covering sharing trees; the same as `--sets cst`",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "basis",
            make: |_| Box::new(nets::backward::sharing::SharingTrees),
            portfolio: Portfolio::NEVER,
        },
        Row {
            name: "karp-miller",
            idea: "forward coverability set, any number of tokens at once",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "coverability-set",
            make: |_| Box::new(nets::karp_miller::KarpMiller::default()),
            portfolio: Portfolio::NEVER,
        },
        Row {
            name: "explicit",
            idea: "forward search for more and more tokens; slow and obviously right",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "coverability-set",
            make: |_| Box::new(nets::explicit::Explicit::default()),
            portfolio: Portfolio::NEVER,
        },
        Row {
            name: "reference",
            idea: "plain backward search; slow and obviously right",
            accepts: NETS,
            shows: Shows::Both,
            evidence: "basis",
            make: |_| Box::new(nets::reference::Reference),
            portfolio: Portfolio::NEVER,
        },
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_and_engines_agree<Q: HasEngines>() {
        for (i, row) in Q::ENGINES.iter().enumerate() {
            assert_eq!(row.engine(Bounds::default()).name(), row.name);
            assert!(Q::ENGINES[..i].iter().all(|other| other.name != row.name), "{} twice", row.name);
            assert_eq!(Choice::<Q>::named(row.name).map(|choice| choice.name()), Some(row.name));
        }
    }

    #[test]
    fn every_row_has_the_name_of_its_engine_and_no_name_occurs_twice() {
        rows_and_engines_agree::<Task>();
        rows_and_engines_agree::<Net>();
    }
}
