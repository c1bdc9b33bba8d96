//! Control-flow graphs built by hand or at random, without any source text.

use cusp::model::{
    Action, Assign, Call, Edge, Expr, ExprPool, Node, Op, Place, ProcId, Procedure, Program, Property,
    Target, Task, Var, Variable,
};
use cusp::source::Span;

use super::rng::Rng;

/// A program under construction.
#[derive(Default)]
pub struct Builder {
    /// Number of globals.
    pub globals: u32,
    /// All expressions.
    pub exprs: ExprPool,
    /// All procedures; the first one runs first.
    pub procedures: Vec<Draft>,
    /// The global that forbids context switches.
    pub atomic_flag: Option<u32>,
}

/// A procedure under construction. Node 0 is the entry, node 1 the exit.
#[derive(Clone, Default)]
pub struct Draft {
    /// Number of parameters; they are the first locals.
    pub params: u32,
    /// Number of all locals.
    pub locals: u32,
    /// Number of return slots; they are the last locals.
    pub returns: u32,
    /// Holds everywhere.
    pub enforce: Option<Expr>,
    /// Labels.
    pub labels: Vec<(String, usize)>,
    /// Steps, in any order.
    pub steps: Vec<(usize, Action, usize)>,
}

impl Builder {
    /// The conjunction of some variables' values.
    pub fn read(&mut self, vars: &[Var]) -> Expr {
        let places: Vec<Place> =
            vars.iter().map(|&var| Place { var, primed: false, passive: false }).collect();
        self.read_places(&places)
    }

    /// The conjunction of some places; true if there are none.
    pub fn read_places(&mut self, places: &[Place]) -> Expr {
        let start = self.exprs.begin();
        self.exprs.push(Op::Const(true));
        for &place in places {
            self.exprs.push(Op::Read(place));
            self.exprs.push(Op::And);
        }
        self.exprs.finish(start)
    }

    /// The finished task.
    pub fn task(self, property: Property) -> Task {
        let named = |prefix: &str, count: u32| {
            let name = |i| Variable { name: format!("{prefix}{i}"), span: Span::default() };
            (0..count).map(name).collect::<Vec<_>>()
        };
        let procedures: Vec<Procedure> = self
            .procedures
            .into_iter()
            .enumerate()
            .map(|(i, draft)| {
                let locals = named("x", draft.locals);
                draft.finish(format!("f{i}"), locals)
            })
            .collect();
        let starts_thread = |edge: &Edge| matches!(edge.action, Action::Spawn(_) | Action::Fork(_));
        let program = Program {
            globals: named("g", self.globals),
            starts_threads: procedures.iter().any(|p| p.edges.iter().any(starts_thread)),
            procedures,
            start: ProcId::from_index(0),
            exprs: self.exprs,
            atomic_flag: self.atomic_flag,
        };
        Task { program, property, threads: None }
    }
}

/// `var := value`
pub fn assign(var: Var, value: Expr) -> Action {
    let pairs = vec![(Target { var, passive: false }, value)];
    Action::Assign(Box::new(Assign { pairs, constrain: Vec::new() }))
}

/// `procedure()`
pub fn call(procedure: usize) -> Action {
    let callee = ProcId::from_index(procedure);
    Action::Call(Box::new(Call { callee, args: Vec::new(), targets: Vec::new() }))
}

impl Draft {
    fn finish(self, name: String, locals: Vec<Variable>) -> Procedure {
        let node = Node::from_index;
        let mut edges: Vec<Edge> = self
            .steps
            .into_iter()
            .map(|(from, action, to)| Edge {
                from: node(from),
                to: node(to),
                action,
                span: Span::default(),
                branch: None,
                silent: false,
            })
            .collect();
        edges.sort_by_key(|edge| edge.from);
        let mut nodes = 2;
        for edge in &edges {
            nodes = nodes.max(edge.from.index() + 1).max(edge.to.index() + 1);
        }
        let first = |node: usize| edges.partition_point(|edge| edge.from.index() < node) as u32;
        Procedure {
            name,
            span: Span::default(),
            params: self.params,
            locals,
            returns: self.returns,
            enforce: self.enforce,
            labels: self.labels.into_iter().map(|(label, at)| (label, node(at))).collect(),
            nodes: nodes as u32,
            first_edge: (0..=nodes).map(first).collect(),
            edges,
        }
    }
}

/// What random graphs may contain.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Most procedures.
    pub procedures: usize,
    /// Most nodes of a procedure beyond entry and exit.
    pub nodes: usize,
    /// Most globals, and most locals beyond parameters and return slots.
    pub variables: usize,
    /// Steps may lead back, and procedures may call themselves.
    pub cyclic: bool,
    /// Threads are started, and `x$` occurs.
    pub threads: bool,
    /// Variables that nothing mentions: so many before each global, and so many between the
    /// declared locals and the return slots. The rest of the program does not depend on it.
    pub padding: u32,
}

/// A random task; the same for the same seed and shape.
pub fn random_task(seed: u64, shape: Shape) -> Task {
    let mut rng = Rng::new(seed);
    let globals = rng.between(1, shape.variables) as u32 * (1 + shape.padding);
    let mut b = Builder { globals, ..Builder::default() };
    let procedures = rng.between(1, shape.procedures);
    for _ in 0..procedures {
        let (params, returns) = (rng.below(3) as u32, rng.below(3) as u32);
        let locals = params + returns + rng.below(shape.variables + 1) as u32 + shape.padding;
        b.procedures.push(Draft { params, locals, returns, ..Draft::default() });
    }
    for proc in 0..procedures {
        let mut making = Making { rng: &mut rng, b: &mut b, shape, proc };
        let steps = making.steps();
        let enforce = making.rng.chance(15).then(|| making.expr());
        b.procedures[proc].steps = steps;
        b.procedures[proc].enforce = enforce;
        if rng.chance(20) {
            let at = b.procedures[proc].steps[rng.below(b.procedures[proc].steps.len())].0;
            b.procedures[proc].labels.push(("L".to_owned(), at));
        }
    }
    b.atomic_flag = rng.chance(10).then_some(shape.padding);
    let label = Property::LabelUnreachable("L".to_owned());
    let property = if rng.chance(50) { label } else { Property::Assertions };
    b.task(property)
}

struct Making<'a> {
    rng: &'a mut Rng,
    b: &'a mut Builder,
    shape: Shape,
    proc: usize,
}

impl Making<'_> {
    fn steps(&mut self) -> Vec<(usize, Action, usize)> {
        // The order of an acyclic graph: the entry, the inner nodes, the exit.
        let mut order = vec![0];
        order.extend(2..2 + self.rng.between(1, self.shape.nodes));
        order.push(1);
        let mut steps = Vec::new();
        for position in 0..order.len() - 1 {
            for _ in 0..[1, 1, 1, 2, 2, 0][self.rng.below(6)] {
                let to = if self.rng.chance(60) {
                    position + 1
                } else {
                    let low = if self.shape.cyclic { 0 } else { position + 1 };
                    self.rng.between(low, order.len() - 1)
                };
                let action = self.action(position, &order);
                steps.push((order[position], action, order[to]));
            }
        }
        // The entry and the last node before the exit always lead somewhere.
        steps.push((0, Action::Skip, 2));
        steps.push((order[order.len() - 2], Action::Skip, 1));
        steps
    }

    fn action(&mut self, position: usize, order: &[usize]) -> Action {
        let threads = usize::from(self.shape.threads);
        match self.rng.weighted(&[2, 3, 1, 9, 4, 2 * threads, 2 * threads, threads]) {
            0 => Action::Skip,
            1 => Action::Assume(self.expr()),
            2 => Action::Assert(self.expr()),
            3 => self.assign(),
            4 => self.call().map_or(Action::Skip, |call| Action::Call(Box::new(call))),
            5 => {
                let call = self.call().map(|call| Call { targets: Vec::new(), ..call });
                call.map_or(Action::Skip, |call| Action::Spawn(Box::new(call)))
            }
            6 => {
                let low = if self.shape.cyclic { 0 } else { position + 1 };
                Action::Fork(Node::from_index(order[self.rng.between(low, order.len() - 1)]))
            }
            _ => Action::EndThread,
        }
    }

    fn call(&mut self) -> Option<Call> {
        let low = if self.shape.cyclic { 0 } else { self.proc + 1 };
        let last = self.b.procedures.len() - 1;
        if low > last {
            return None;
        }
        let callee = self.rng.between(low, last);
        let Draft { params, returns, .. } = self.b.procedures[callee];
        let args = (0..params).map(|_| self.expr()).collect();
        let mut targets = Vec::new();
        if self.rng.chance(80) {
            let mut free = self.vars();
            for _ in 0..returns {
                let keep = !free.is_empty() && self.rng.chance(70);
                targets.push(keep.then(|| free.swap_remove(self.rng.below(free.len()))));
            }
        }
        Some(Call { callee: ProcId::from_index(callee), args, targets })
    }

    fn assign(&mut self) -> Action {
        let mut free = self.vars();
        let mut pairs = Vec::new();
        for _ in 0..self.rng.between(1, 2).min(free.len()) {
            let var = free.swap_remove(self.rng.below(free.len()));
            let passive = self.shape.threads && matches!(var, Var::Local(_)) && self.rng.chance(30);
            let value = self.reads(passive, false);
            pairs.push((Target { var, passive }, value));
        }
        let constrain =
            self.rng.chance(30).then(|| self.reads(self.shape.threads, true)).into_iter().collect();
        Action::Assign(Box::new(Assign { pairs, constrain }))
    }

    fn expr(&mut self) -> Expr {
        self.reads(false, false)
    }

    fn reads(&mut self, passive: bool, primed: bool) -> Expr {
        let vars = self.vars();
        let mut places = Vec::new();
        for _ in 0..[0, 0, 1, 1, 1, 2][self.rng.below(6)] {
            let var = *self.rng.pick(&vars);
            let passive = passive && matches!(var, Var::Local(_)) && self.rng.chance(20);
            places.push(Place { var, primed: primed && self.rng.chance(60), passive });
        }
        self.b.read_places(&places)
    }

    fn vars(&self) -> Vec<Var> {
        let draft = &self.b.procedures[self.proc];
        used_vars(self.b.globals, draft.locals, draft.returns, self.shape.padding)
    }
}

/// The variables that a procedure of a random task may mention, in the same order for every padding.
pub fn used_vars(globals: u32, locals: u32, returns: u32, padding: u32) -> Vec<Var> {
    let globals = (0..globals).filter(|i| i % (1 + padding) == padding).map(Var::Global);
    let slots = locals - returns..locals;
    globals.chain((0..slots.start - padding).chain(slots).map(Var::Local)).collect()
}
