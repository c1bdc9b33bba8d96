//! Large programs: reduction and lifting cost no stack and little memory, and shared runs stay shared.

use std::fmt::Write;

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::evidence::{Trace, Verdict};
use cusp::model::reduce::{Keep, reduce};
use cusp::model::{Action, Op, Property, Task, Var};

use super::support::models::{Builder, Draft, assign, call};
use super::{explicit, task_of};

/// The trace of a reduced task, lifted and checked: the numbers of runs before and after.
fn lifted_runs(task: &Task) -> [usize; 2] {
    let budget = Budget::unlimited();
    let reduced = reduce(task, Keep::Verdict);
    let verdict = explicit(&reduced.task);
    let runs = |verdict: &Verdict| match verdict {
        Verdict::Unsafe(Trace::Sequential(tree)) => tree.runs.len(),
        other => panic!("{other:?}"),
    };
    let before = runs(&verdict);
    let lifted = reduced.restore.lift(verdict, &budget).expect("a trace");
    let after = runs(&lifted);
    certify(task, lifted, &budget).expect("a run of the original program");
    [before, after]
}

/// Each procedure calls the next twice and toggles a global that matters and one that does not.
fn doubling(depth: usize) -> String {
    let mut text = String::from("decl g, idle;\nvoid main() begin g, idle := F, F; f0(); assert(g); end\n");
    for i in 0..depth {
        let next = i + 1;
        let _ = writeln!(text, "void f{i}() begin skip; idle := !idle; f{next}(); f{next}(); skip; end");
    }
    text + &format!("void f{depth}() begin g := !g; end\n")
}

#[test]
fn exponentially_long_runs_stay_shared() {
    let [before, after] = lifted_runs(&task_of(&doubling(60), None));
    assert!(before < 200 && after <= 4 * before, "{before} runs became {after}");
}

#[test]
fn deep_nesting_costs_no_stack() {
    let mut text = String::from("decl g, idle;\nvoid main() begin f0(); end\n");
    for i in 0..10_000 {
        let _ = writeln!(text, "void f{i}() begin skip; idle := g; f{}(); g := !g; end", i + 1);
    }
    text += "void f10000() begin assert(g); end\n";
    let [before, after] = lifted_runs(&task_of(&text, None));
    assert_eq!([before, after], [10_002, 10_002]);
}

/// `procedures` in a row; each makes 28 steps: branches on constants, dead values, calls to the next.
fn wide(procedures: usize) -> Task {
    let mut b = Builder { globals: 64, ..Builder::default() };
    for i in 0..procedures {
        let own = Var::Global(i as u32 % 60);
        let (read, choice) = (b.read(&[own]), b.exprs.single(Op::Choice));
        let constant = b.exprs.single(Op::Const(i % 2 == 0));
        let flag = b.read(&[Var::Global(63)]);
        let not_flag = b.exprs.negated(flag);
        let mut steps = Vec::new();
        let mut at = 0;
        let mut next = 2;
        let mut step = |action: Action, steps: &mut Vec<_>| {
            steps.push((at, action, next));
            at = next;
            next += 1;
        };
        step(assign(Var::Global(63), constant), &mut steps);
        step(Action::Skip, &mut steps);
        for _ in 0..3 {
            step(Action::Assume(read), &mut steps);
            step(assign(Var::Local(0), read), &mut steps);
            step(assign(own, choice), &mut steps);
            step(Action::Skip, &mut steps);
            step(assign(Var::Local(1), read), &mut steps);
        }
        if i + 1 < procedures {
            step(call(i + 1), &mut steps);
        }
        step(Action::Assert(read), &mut steps);
        step(Action::Skip, &mut steps);
        let branch = at;
        for (condition, offset) in [(flag, 0), (not_flag, 2)] {
            steps.push((branch, Action::Assume(condition), next + offset));
            steps.push((next + offset, Action::Skip, next + offset + 1));
            steps.push((next + offset + 1, Action::Skip, 1));
        }
        b.procedures.push(Draft { locals: 2, steps, ..Draft::default() });
    }
    b.task(Property::Assertions)
}

#[test]
fn ten_thousand_procedures_are_reduced() {
    let task = wide(10_000);
    let summary = reduce(&task, Keep::Verdict).restore.summary();
    assert!(summary.before.edges > 250_000, "{summary}");
    assert!(summary.after.edges < summary.before.edges / 2, "{summary}");
    assert!(summary.after.variables <= 60, "{summary}");
}

#[test]
fn one_large_procedure_is_reduced() {
    let mut b = Builder { globals: 10_000, ..Builder::default() };
    let mut steps = Vec::new();
    for i in 0..100_000_u32 {
        let [from, to] = [i, 7 * i + 1].map(|i| Var::Global(i % 10_000));
        let value = b.read(&[from]);
        let node = |i: u32| if i == 0 { 0 } else { i as usize + 1 };
        steps.push((node(i), assign(to, value), node(i + 1)));
    }
    steps.push((100_001, Action::Skip, 1));
    b.procedures.push(Draft { steps, ..Draft::default() });
    let summary = reduce(&b.task(Property::Assertions), Keep::Verdict).restore.summary();
    assert_eq!((summary.after.variables, summary.after.edges), (0, 1), "{summary}");
}
