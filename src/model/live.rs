//! Computes where the values of variables matter: interprocedural mod/ref and live variables.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", 2010, section 10.9 and appendix C,
//! after A. Srivastava, D. W. Wall, "A practical system for intermodule code optimization at
//! link-time", 1993. Phase 1 finds what a procedure reads and overwrites, callees included;
//! phase 2 finds what is live at every node.
//!
//! Guarantee: a variable that is not live at a node may take any value there without changing the verdict, whatever
//! call stack is below. A variable is live exactly if some path onwards reads it before it is overwritten. Here the
//! paths are those of the control-flow graphs on which calls and returns match; conditions are ignored. From the exit
//! of a procedure, paths continue after any of its call sites.
//!
//! The equations. For a node `n` of a procedure, phase 1 computes the smallest sets such that
//! - `exposed(n)` contains the variables that are read, before any write, on a path from `n` that stays in the
//!   procedure and its callees;
//! - `through(n)` contains the variables that are not written on some path from `n` to the exit. So a procedure
//!   certainly overwrites what is not in `through(entry)`, and it can return iff that set can be non-empty.
//!
//! For a step that reads `R` and writes `W`, both are computed backwards as `X(from) = R + (X(to) - W)`, with `R`
//! empty for `through`. For a call, where `W` are the variables that take the return values,
//! - `exposed(from) = args + exposed(entry) + through(entry) * (exposed(to) - W)`,
//! - `through(from) = through(entry) * (through(to) - W)`.
//!
//! Phase 2 then needs one set for each procedure, the variables that are live after its call sites:
//! `context(callee) += (exposed(to) + through(to) * context(caller)) - W`, and
//! `live(n) = exposed(n) + through(n) * context`.
//!
//! Reads and writes that are not obvious:
//! - `constrain` reads old and new values: `'x` does not read the old `x` if `x` is assigned.
//! - `enforce` reads its variables at every node of its procedure, entry and exit included ([errata 22](crate::errata::item_22)).
//! - Arguments are read at the call. A return slot is read by the return step of a call that keeps its value; all
//!   other calls ignore it.
//! - A new thread at a node of the same procedure has a copy of the locals, so starting it reads the locals that are
//!   exposed there; the thread ends at the exit and has no context.
//! - When a thread reaches a label that must not be reached, the verdict is decided, and nothing after the label
//!   matters. An assertion that is not the property is an assumption; both read their variables.
//! - If threads are started, other threads may read the globals at any time, so all globals are live everywhere, and
//!   so are locals that some thread reads as `x$`. `x$ := e` writes no variable of its own thread. The global that
//!   forbids context switches is always live.
//!
//! Deviations from the appendix:
//! - The appendix gives the exits of procedures no successor in phase 2, which makes `g` in its own listing 10.2 dead
//!   inside the callee; Srivastava and Wall join the return points there.
//! - Only globals are propagated across calls. Read literally, the equations mix the locals of a recursive callee
//!   with those of its caller.
//! - The appendix does not treat arguments, return values, and calls that never return.
//! - `DEAD`, a greatest fixed point that is coupled to `LIVE`, is replaced by the complement of `through`. At a call
//!   that makes no difference (what is exposed is live whether it is overwritten later or not), and every set is a
//!   least fixed point of its own.
//! - Phase 2 runs over the call graph only, since the sets of phase 1 are kept.
//!
//! Invariant (pages): variables do not influence each other. So the analysis runs over the whole program for 256 of
//! them at a time, and never stores more than that for every node. Results are kept as pages of 256 bits. Equal pages
//! are stored once. If all nodes of a procedure have the same page, only one number is stored for them; that is the
//! case where neither the procedure nor its callees use a variable of the page.

mod flow;
pub(crate) mod order;
mod page;

use flow::{Flow, Scope};
use page::{LANES, Page, Pages};

use super::{Node, ProcId, Procedure, Task, Var};

/// The live variables of every node.
#[derive(Clone, Debug)]
pub struct Live {
    pages: Pages,
    /// Page numbers; a [`Run`] gives the range of those for one procedure and page.
    numbers: Vec<u32>,
    runs: Vec<Run>,
    /// The first run of each procedure: the pages of globals, then the pages of locals.
    first_run: Vec<u32>,
    globals: u32,
    /// The number of locals of each procedure.
    locals: Vec<u32>,
    mod_ref: ModRef,
}

/// The range of the page numbers of one procedure and page: the number for a node is at `start + stride * node`.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u32,
    /// 0 if all nodes share a page, otherwise 1.
    stride: u32,
}

impl Live {
    /// Analyses a program for one property.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let program = &task.program;
        let mut flow = Flow::new(program, &task.property);
        let global_count = program.globals.len();
        let global_pages = global_count.div_ceil(LANES);
        let locals: Vec<u32> = program.procedures.iter().map(|p| p.locals.len() as u32).collect();
        let mut first_run = Vec::with_capacity(locals.len());
        let mut runs = 0;
        for &count in &locals {
            first_run.push(runs);
            runs += (global_pages + (count as usize).div_ceil(LANES)) as u32;
        }
        let mut live = Self {
            pages: Pages::default(),
            numbers: Vec::new(),
            runs: vec![Run::default(); runs as usize],
            first_run,
            globals: global_count as u32,
            locals,
            mod_ref: ModRef::new(&flow, program.procedures.len(), global_pages),
        };
        for page in 0..global_pages {
            let declared = Page::first(global_count - page * LANES);
            let mut always = Page::NONE;
            if program.starts_threads {
                always = declared;
            } else if let Some(flag) = program.atomic_flag.map(|flag| flag as usize)
                && flag / LANES == page
            {
                always.insert(flag % LANES);
            }
            flow.solve(Scope::Globals, page);
            live.mod_ref.record(&flow, page, declared);
            for proc in program.procedure_ids() {
                live.record(&flow, proc, page, always);
            }
        }
        let most_locals = live.locals.iter().max().map_or(0, |&most| most as usize);
        for page in 0..most_locals.div_ceil(LANES) {
            flow.solve(Scope::Locals, page);
            for proc in program.procedure_ids() {
                if program.procedure(proc).locals.len() > page * LANES {
                    live.record(&flow, proc, global_pages + page, Page::NONE);
                }
            }
        }
        live.pages.seal();
        live.mod_ref.pages.seal();
        live
    }

    /// Whether the value of a variable matters at a node of a procedure.
    #[must_use]
    pub fn is_live(&self, proc: ProcId, node: Node, var: Var) -> bool {
        let (page, lane) = match var {
            Var::Global(i) => (i as usize / LANES, i as usize % LANES),
            Var::Local(i) => (self.global_pages() + i as usize / LANES, i as usize % LANES),
        };
        self.page(proc, node, page).contains(lane)
    }

    /// The live variables at a node: globals first, then locals, each sorted by number.
    pub fn live_at(&self, proc: ProcId, node: Node) -> impl Iterator<Item = Var> + '_ {
        self.vars_at(proc, node, |page, _| page)
    }

    /// The dead variables at a node: globals first, then locals, each sorted by number.
    pub fn dead_at(&self, proc: ProcId, node: Node) -> impl Iterator<Item = Var> + '_ {
        self.vars_at(proc, node, |page, declared| declared & !page)
    }

    /// The globals that procedures read and modify.
    #[must_use]
    pub fn mod_ref(&self) -> &ModRef {
        &self.mod_ref
    }

    /// The number of bytes that the tables use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let words = self.numbers.len() + 2 * self.runs.len() + self.first_run.len() + self.locals.len();
        self.pages.bytes() + 4 * words + self.mod_ref.bytes()
    }

    fn global_pages(&self) -> usize {
        (self.globals as usize).div_ceil(LANES)
    }

    fn page(&self, proc: ProcId, node: Node, page: usize) -> Page {
        let run = self.runs[self.first_run[proc.index()] as usize + page];
        self.pages.get(self.numbers[run.start as usize + run.stride as usize * node.index()])
    }

    fn vars_at(
        &self,
        proc: ProcId,
        node: Node,
        choose: impl Fn(Page, Page) -> Page + Copy + 'static,
    ) -> impl Iterator<Item = Var> + '_ {
        let kinds = [
            (self.globals, 0, Var::Global as fn(u32) -> Var),
            (self.locals[proc.index()], self.global_pages(), Var::Local as fn(u32) -> Var),
        ];
        kinds.into_iter().flat_map(move |(count, first_page, var)| {
            let count = count as usize;
            (0..count.div_ceil(LANES)).flat_map(move |page| {
                let declared = Page::first(count - page * LANES);
                let chosen = choose(self.page(proc, node, first_page + page), declared);
                chosen.lanes().map(move |lane| var((page * LANES + lane) as u32))
            })
        })
    }

    /// Stores one page for all nodes of a procedure.
    fn record(&mut self, flow: &Flow<'_>, proc: ProcId, page: usize, always: Page) {
        let start = self.numbers.len();
        // Neighbouring nodes mostly have the same page, and a comparison is cheaper than a look-up.
        let mut last = (Page::NONE, self.pages.intern(Page::NONE));
        for node in flow.nodes(proc) {
            let live = flow.live(proc, node) | always;
            if live != last.0 {
                last = (live, self.pages.intern(live));
            }
            self.numbers.push(last.1);
        }
        let uniform = self.numbers[start..].iter().all(|&number| number == self.numbers[start]);
        if uniform {
            self.numbers.truncate(start + 1);
        }
        self.runs[self.first_run[proc.index()] as usize + page] =
            Run { start: start as u32, stride: u32::from(!uniform) };
    }
}

/// How procedures use globals, with their callees and the threads that they start included.
#[derive(Clone, Debug)]
pub struct ModRef {
    pages: Pages,
    /// Four page numbers for each procedure and page; see [`ModRef::record`].
    numbers: Vec<[u32; 4]>,
    pages_each: usize,
    returns: Vec<bool>,
}

impl ModRef {
    fn new(flow: &Flow<'_>, procedures: usize, pages_each: usize) -> Self {
        let returns = (0..procedures).map(|p| flow.returns(ProcId::from_index(p))).collect();
        Self { pages: Pages::default(), numbers: vec![[0; 4]; procedures * pages_each], pages_each, returns }
    }

    fn record(&mut self, flow: &Flow<'_>, page: usize, declared: Page) {
        for proc in 0..self.returns.len() {
            let facts = flow.facts(ProcId::from_index(proc), Procedure::ENTRY);
            let sets = [facts.modified, declared & !facts.through, facts.referenced, facts.exposed];
            self.numbers[proc * self.pages_each + page] = sets.map(|set| self.pages.intern(set));
        }
    }

    /// The globals that some run of the procedure may assign.
    #[must_use]
    pub fn may_modify(&self, proc: ProcId) -> Globals<'_> {
        self.set(proc, 0)
    }

    /// The globals that every run of the procedure assigns before it returns; all globals if it never returns.
    #[must_use]
    pub fn must_modify(&self, proc: ProcId) -> Globals<'_> {
        self.set(proc, 1)
    }

    /// The globals that some run of the procedure may read, whether or not it wrote them before.
    #[must_use]
    pub fn may_reference(&self, proc: ProcId) -> Globals<'_> {
        self.set(proc, 2)
    }

    /// The globals whose value at the entry some run of the procedure may read; the appendix calls this set `REF`.
    #[must_use]
    pub fn reads_entry_value(&self, proc: ProcId) -> Globals<'_> {
        self.set(proc, 3)
    }

    /// Whether some path leads from the entry of the procedure to its exit.
    #[must_use]
    pub fn returns(&self, proc: ProcId) -> bool {
        self.returns[proc.index()]
    }

    fn set(&self, proc: ProcId, kind: usize) -> Globals<'_> {
        let first = proc.index() * self.pages_each;
        let numbers = &self.numbers[first..first + self.pages_each];
        Globals { pages: &self.pages, numbers, kind }
    }

    fn bytes(&self) -> usize {
        self.pages.bytes() + 16 * self.numbers.len() + self.returns.len()
    }
}

/// A set of globals.
#[derive(Clone, Copy, Debug)]
pub struct Globals<'a> {
    pages: &'a Pages,
    numbers: &'a [[u32; 4]],
    kind: usize,
}

impl<'a> Globals<'a> {
    /// Whether a global is in the set.
    #[must_use]
    pub fn contains(&self, global: u32) -> bool {
        let (page, lane) = (global as usize / LANES, global as usize % LANES);
        self.pages.get(self.numbers[page][self.kind]).contains(lane)
    }

    /// The members of the set, sorted.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        self.numbers.iter().enumerate().flat_map(move |(page, numbers)| {
            let lanes = self.pages.get(numbers[self.kind]).lanes();
            lanes.map(move |lane| (page * LANES + lane) as u32)
        })
    }
}
