//! Live variables against a naive search over paths, and their size on large programs.

mod support;

use cusp::budget::Budget;
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::Verdict;
use cusp::model::live::Live;
use cusp::model::{Action, Node, Op, ProcId, Procedure, Program, Property, Task, Var};
use cusp::progress::Quiet;
use cusp::source::Source;
use support::models::{Builder, Draft, Shape, assign, call, random_task, used_vars};
use support::paths::{Bottom, State, is_always_live, walk};
use support::random_programs::{Limits, concurrent_within, sequential_within};
use support::rng::Rng;
use support::{concurrent, for_each_seed, sequential};

fn nodes(procedure: &Procedure) -> impl Iterator<Item = Node> + use<> {
    (0..procedure.nodes as usize).map(Node::from_index)
}

fn vars(program: &Program, proc: ProcId) -> Vec<Var> {
    let locals = program.procedure(proc).locals.len() as u32;
    (0..program.globals.len() as u32).map(Var::Global).chain((0..locals).map(Var::Local)).collect()
}

/// Compares the analysis with the search at every node, and counts dead and live variables.
fn compare(task: &Task, counts: &mut [usize; 2]) {
    let live = Live::of(task);
    let program = &task.program;
    for (proc, procedure) in program.procedure_ids().zip(&program.procedures) {
        for node in nodes(procedure) {
            for var in vars(program, proc) {
                let start = State { proc, node, stack: Vec::new(), bottom: Bottom::Caller };
                let expected = is_always_live(program, proc, var) || walk(task, var, false, start).read;
                let found = live.is_live(proc, node, var);
                assert_eq!(found, expected, "{var:?} at {node} of {}:\n{program}", procedure.name);
                counts[usize::from(found)] += 1;
            }
            let is_live = |&var: &Var| live.is_live(proc, node, var);
            let (alive, dead): (Vec<Var>, Vec<Var>) = vars(program, proc).into_iter().partition(is_live);
            assert_eq!(live.live_at(proc, node).collect::<Vec<_>>(), alive);
            assert_eq!(live.dead_at(proc, node).collect::<Vec<_>>(), dead);
        }
        compare_mod_ref(task, &live, proc);
    }
}

fn compare_mod_ref(task: &Task, live: &Live, proc: ProcId) {
    let program = &task.program;
    let mod_ref = live.mod_ref();
    let start = State { proc, node: Procedure::ENTRY, stack: Vec::new(), bottom: Bottom::End };
    for global in 0..program.globals.len() as u32 {
        let first = walk(task, Var::Global(global), false, start.clone());
        let all = walk(task, Var::Global(global), true, start.clone());
        let expected = [all.written, !first.end, all.read, first.read];
        let found = [
            mod_ref.may_modify(proc),
            mod_ref.must_modify(proc),
            mod_ref.may_reference(proc),
            mod_ref.reads_entry_value(proc),
        ];
        let name = &program.procedure(proc).name;
        assert_eq!(found.map(|set| set.contains(global)), expected, "g{global} in {name}:\n{program}");
        assert_eq!(found.map(|set| set.iter().any(|g| g == global)), expected);
        assert_eq!(mod_ref.returns(proc), all.end, "{name}:\n{program}");
    }
}

/// The analysis must agree with the search on every program, and the programs must be such that
/// calling everything live, or dead, would fail.
fn agrees_with_the_search(programs: u64, shape: Shape) {
    let mut counts = [0; 2];
    for seed in 0..programs {
        compare(&random_task(seed, shape), &mut counts);
    }
    let [dead, live] = counts;
    assert!(4 * dead > live && 4 * live > dead, "{dead} dead, {live} live: the programs are too simple");
}

const ACYCLIC: Shape =
    Shape { procedures: 4, nodes: 6, variables: 3, cyclic: false, threads: false, padding: 0 };
const RECURSIVE: Shape =
    Shape { procedures: 3, nodes: 4, variables: 2, cyclic: true, threads: false, padding: 0 };
const CONCURRENT: Shape =
    Shape { procedures: 3, nodes: 5, variables: 3, cyclic: true, threads: true, padding: 0 };

#[test]
fn live_variables_are_exact_on_acyclic_programs() {
    agrees_with_the_search(2000, ACYCLIC);
}

#[test]
fn live_variables_are_exact_on_recursive_programs() {
    agrees_with_the_search(2000, RECURSIVE);
}

#[test]
fn live_variables_are_exact_on_concurrent_programs() {
    agrees_with_the_search(2000, CONCURRENT);
}

/// The task of a text, for at most two threads.
fn task_of(text: &str, label: Option<&str>) -> Task {
    let threads = ThreadLimit::AtMost(2);
    let options = Options { label: label.map(str::to_owned), threads, ..Options::default() };
    let prepared = prepare(&Source::new("random.bp", text), &options);
    prepared.unwrap_or_else(|findings| panic!("{findings:?}\n{text}")).task
}

#[test]
fn live_variables_are_exact_on_lowered_programs() {
    let small = Limits { globals: 2, locals: 2, returns: 1, procs: 2, statements: 4 };
    let exact = |text: &str| {
        compare(&task_of(text, None), &mut [0; 2]);
        Ok(())
    };
    for_each_seed(200, |seed| sequential_within(seed, small), exact);
    for_each_seed(200, |seed| concurrent_within(seed, small), exact);
}

#[test]
fn forgetting_dead_variables_changes_no_verdict() {
    let same = |text: &str| {
        let task = task_of(text, None);
        let verdict = |forget_dead| {
            let engine = Explicit { forget_dead, ..Explicit::default() };
            match engine.run(&task, &Budget::unlimited(), &Quiet) {
                Verdict::Safe(_) => "safe",
                Verdict::Unsafe(_) => "unsafe",
                Verdict::Unknown(_) => "unknown",
            }
        };
        match [true, false].map(verdict) {
            [reduced, plain] if reduced == plain => Ok(()),
            [reduced, plain] => Err(format!("{plain}, but {reduced} without dead variables")),
        }
    };
    for_each_seed(2000, sequential, same);
    for_each_seed(1000, concurrent, same);
}

/// The live variables at every label of a program, as `label: names`.
fn live_at_labels(text: &str, property: Option<&str>) -> Vec<String> {
    let task = task_of(text, property);
    let live = Live::of(&task);
    let mut lines = Vec::new();
    for proc in task.program.procedure_ids() {
        for (label, node) in &task.program.procedure(proc).labels {
            let names = live.live_at(proc, *node).map(|var| task.program.variable(proc, var).name.as_str());
            lines.push(format!("{label}: {}", names.collect::<Vec<_>>().join(" ")).trim_end().to_owned());
        }
    }
    lines.sort();
    lines
}

#[test]
fn a_global_that_the_caller_reads_is_live_in_the_callee() {
    // Listing 10.2 of the thesis.
    let text = "decl g; void main() begin g := T; A: foo(); B: assert(g); C: skip; end
                void foo() begin D: skip; end";
    assert_eq!(live_at_labels(text, None), ["A: g", "B: g", "C:", "D: g"]);
}

#[test]
fn what_a_callee_overwrites_is_dead_before_the_call() {
    let text = "decl g, h; void main() begin A: foo(); B: assert(g & h); end
                void foo() begin C: if (*) then h := T; fi; D: g := T; E: skip; end";
    assert_eq!(live_at_labels(text, None), ["A: h", "B: g h", "C: h", "D: h", "E: g h"]);
}

#[test]
fn arguments_are_read_and_results_are_written() {
    let text = "decl g; void main() begin decl x, y; A: g, _ := f(x); B: assert(g & y); end
                bool<2> f(p) begin decl q; C: return p, q; end";
    assert_eq!(live_at_labels(text, None), ["A: x y", "B: g y", "C: p q"]);
}

#[test]
fn nothing_is_live_before_a_call_that_never_returns() {
    let text = "decl g; void main() begin decl x; A: f(); B: assert(g & x); end
                void f() begin C: f(); D: skip; end";
    assert_eq!(live_at_labels(text, None), ["A:", "B: g x", "C:", "D: g"]);
}

#[test]
fn locals_of_a_recursive_callee_are_not_those_of_the_caller() {
    let text = "void main() begin f(); end
                void f() begin decl x; if (*) then A: x := T; B: f(); C: skip; else D: assert(x); fi; end";
    assert_eq!(live_at_labels(text, None), ["A:", "B:", "C:", "D: x"]);
}

#[test]
fn enforce_reads_its_variables_throughout_its_procedure() {
    let text = "decl g; void main() begin decl x; A: f(); B: x := T; C: skip; end
                void f() begin decl y; enforce (g | y); D: y := F; E: g := T; G: skip; end";
    assert_eq!(live_at_labels(text, None), ["A: g", "B:", "C:", "D: g y", "E: g y", "G: g y"]);
}

#[test]
fn constrain_reads_old_values_and_new_ones_of_what_is_not_assigned() {
    let text =
        "decl a, b, c; void main() begin A: a := * constrain ('a | 'b); B: b := * constrain (b != c); end";
    assert_eq!(live_at_labels(text, None), ["A: b c", "B: b c"]);
}

#[test]
fn a_new_thread_reads_its_copies_of_the_locals() {
    let text = "void main() begin decl x, y; A: start_thread goto L; B: x := *; y := *; C: goto C;
                L: assert(x); end";
    assert_eq!(live_at_labels(text, None), ["A: x", "B:", "C:", "L: x"]);
}

#[test]
fn globals_and_what_other_threads_read_are_live_where_threads_run() {
    let text = "decl g; void main() begin A: start_thread f(*); B: skip; end
                void f(p) begin decl x, y; C: x$ := (x$ & p); D: y$ := *; E: skip; end";
    assert_eq!(live_at_labels(text, None), ["A: g", "B: g", "C: g p x", "D: g x", "E: g x"]);
}

#[test]
fn nothing_matters_at_a_label_that_must_not_be_reached() {
    let text = "decl g; void main() begin A: if (*) then B: skip; assume(g); fi; end";
    assert_eq!(live_at_labels(text, None), ["A: g", "B: g"]);
    assert_eq!(live_at_labels(text, Some("B")), ["A:", "B:"]);
}

#[test]
fn it_does_not_matter_which_page_a_variable_is_on() {
    let used = |task: &Task, proc, padding| {
        let Procedure { locals, returns, .. } = task.program.procedure(proc);
        used_vars(task.program.globals.len() as u32, locals.len() as u32, *returns, padding)
    };
    for (seed, shape) in (0..100).flat_map(|seed| [(seed, RECURSIVE), (seed, CONCURRENT)]) {
        let narrow = random_task(seed, shape);
        let wide = random_task(seed, Shape { padding: 300, ..shape });
        let [narrow_live, wide_live] = [&narrow, &wide].map(Live::of);
        for (proc, procedure) in narrow.program.procedure_ids().zip(&narrow.program.procedures) {
            let pairs: Vec<_> = used(&narrow, proc, 0).into_iter().zip(used(&wide, proc, 300)).collect();
            for (node, &(a, b)) in nodes(procedure).flat_map(|node| pairs.iter().map(move |p| (node, p))) {
                let (a, b) = (narrow_live.is_live(proc, node, a), wide_live.is_live(proc, node, b));
                assert_eq!(a, b, "seed {seed}, {} at {node}", procedure.name);
            }
        }
    }
}

/// `f0` to the last one call each other in a row; each reads its own global, calls on,
/// overwrites it and idles. Every procedure also calls `more` later ones.
fn chain(procedures: usize, more: usize) -> Task {
    let mut rng = Rng::new(1);
    let mut b = Builder { globals: procedures as u32, ..Builder::default() };
    for i in 0..procedures {
        let own = Var::Global(i as u32);
        let read = b.read(&[own]);
        let choice = b.exprs.single(Op::Choice);
        let mut actions = vec![Action::Assume(read)];
        if i + 1 < procedures {
            actions.push(call(i + 1));
            for _ in 0..more {
                actions.push(call(rng.between(i + 1, procedures - 1)));
            }
        }
        actions.push(assign(own, choice));
        actions.resize(19, Action::Skip);
        b.procedures.push(straight_line(actions));
    }
    b.task(Property::Assertions)
}

/// A procedure that makes one step after the other.
fn straight_line(actions: Vec<Action>) -> Draft {
    let last = actions.len() - 1;
    let node = |i: usize| if i == 0 { 0 } else { i + 1 };
    let steps = actions.into_iter().enumerate();
    let steps = steps.map(|(i, action)| (node(i), action, if i == last { 1 } else { node(i + 1) }));
    Draft { steps: steps.collect(), ..Draft::default() }
}

#[test]
fn ten_thousand_procedures_and_globals_need_little_memory() {
    let task = chain(10_000, 0);
    assert_eq!(task.program.procedures.iter().map(|p| p.nodes).sum::<u32>(), 200_000);
    let live = Live::of(&task);
    // One bit for every node and global would be 250 MB.
    assert!(live.bytes() < 50_000_000, "{} bytes", live.bytes());
    for i in [0, 1, 255, 256, 4999, 9999] {
        let proc = ProcId::from_index(i);
        let at = |node| live.live_at(proc, Node::from_index(node)).collect::<Vec<_>>();
        let later: Vec<Var> = (i as u32 + 1..10_000).map(Var::Global).collect();
        assert_eq!(at(0)[0], Var::Global(i as u32));
        assert_eq!(at(0)[1..], later[..]);
        assert_eq!(at(2), later, "before the call");
        assert_eq!(at(3), [], "after the call");
        assert_eq!(live.mod_ref().must_modify(proc).iter().count(), 10_000 - i);
    }
}

#[test]
fn a_dense_call_graph_needs_little_memory() {
    let live = Live::of(&chain(10_000, 10));
    assert!(live.bytes() < 250_000_000, "{} bytes", live.bytes());
}

#[test]
fn one_large_procedure_needs_little_memory() {
    let mut b = Builder { globals: 10_000, ..Builder::default() };
    let mut actions = Vec::new();
    for i in 0..200_000 {
        let [from, to] = [i, 7 * i + 1].map(|i| Var::Global(i % 10_000));
        let value = b.read(&[from]);
        actions.push(assign(to, value));
    }
    b.procedures.push(straight_line(actions));
    let live = Live::of(&b.task(Property::Assertions));
    assert!(live.bytes() < 100_000_000, "{} bytes", live.bytes());
    assert_eq!(live.live_at(ProcId::from_index(0), Procedure::EXIT).count(), 0);
}
