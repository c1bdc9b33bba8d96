//! What every pass does, as control-flow graphs.

use cusp::model::Task;
use cusp::model::reduce::{Keep, reduce};

use super::task_of;

/// The reduced program, and how much smaller it is.
fn reduced(text: &str) -> String {
    let task = task_of(text, None);
    show(&task, Keep::Verdict)
}

fn show(task: &Task, keep: Keep) -> String {
    let reduced = reduce(task, keep);
    format!("{}\n{}", reduced.restore.summary(), reduced.task.program)
}

#[test]
fn constants_go_through_calls_and_decide_branches() {
    insta::assert_snapshot!(reduced(
        "decl g, h;
void main() begin
  decl x;
  g, x := T, F;
  x := twice(x, g);
  if (x) then assert(F); else assert(h); fi
  if (!g) then never(); fi
end
bool twice(a, b) begin
  if (b) then return a; fi
  return *;
end
void never() begin
  assert(h);
end
"
    ), @r"
    procedures 3 -> 2, nodes 20 -> 5, edges 20 -> 3, variables 6 -> 1
    decl h;
    start main

    main()
      n0 entry
        twice() -> n2
      n1 exit
      n2
        assert h -> n1

    twice()
      n0 entry
        skip -> n1
      n1 exit
    ");
}

#[test]
fn conditions_teach() {
    insta::assert_snapshot!(reduced(
        "decl g, h;
void main() begin
  if (g & !h) then
    assert(g | h);
    assert(!h | *);
  else
    assume(h);
    assert(g | h);
    assert(g);
  fi
end
"
    ), @r"
    procedures 1 -> 1, nodes 9 -> 4, edges 9 -> 4, variables 2 -> 2
    decl g, h;
    start main

    main()
      n0 entry
        assume (g & !h) -> n1 (holds)
        assume !(g & !h) -> n2 (fails)
      n1 exit
      n2
        assume h -> n3
      n3
        assert g -> n1
    ");
}

#[test]
fn choices_stay_choices() {
    insta::assert_snapshot!(reduced(
        "decl g, h;
void main() begin
  g := T;
  h := g & * | !g;
  assume(h ^ *);
  g := schoose[h, g];
  assert(g = h);
end
"
    ), @r"
    procedures 1 -> 1, nodes 8 -> 5, edges 7 -> 4, variables 2 -> 2
    decl g, h;
    start main

    main()
      n0 entry
        g := T -> n2
      n1 exit
      n2
        h := * -> n3
      n3
        g := h -> n4
      n4
        assert !(g ^ h) -> n1
    ");
}

#[test]
fn variables_without_influence_go_with_what_feeds_them() {
    insta::assert_snapshot!(reduced(
        "decl g, log, count;
bool<2> f(a, b) begin
  count := !count;
  log := b;
  return a, log;
end
void main() begin
  decl x, y;
  x, y := f(g, count);
  log := y;
  while (*) do
    if (log) then count := y; else skip; fi
  od
  assert(x);
end
"
    ), @r"
    procedures 2 -> 2, nodes 16 -> 11, edges 16 -> 11, variables 9 -> 9
    decl g, log, count;
    start main

    main()
      decl x, y
      n0 entry
        x, y := f(g, count) -> n2
      n1 exit
      n2
        log := y -> n3
      n3
        skip -> n4
        skip -> n6
      n4
        assume log -> n5 (holds)
        assume !log -> n3 (fails)
      n5
        count := * -> n3
      n6
        assert x -> n1

    f(a, b)
      returns <return 1>, <return 2>
      n0 entry
        count := * -> n2
      n1 exit
      n2
        log := b -> n3
      n3
        <return 1>, <return 2> := a, log -> n1
    ");
}

#[test]
fn values_that_nobody_reads_go_or_are_arbitrary() {
    insta::assert_snapshot!(reduced(
        "decl g, h;
void main() begin
  decl x;
  x := h;
  f(x);
  x := g;
  g := x & h;
  assert(x);
  h := *;
  g := *;
  assert(g | h);
end
void f(p) begin
  p := *;
  assert(p | g);
end
"
    ), @r"
    procedures 2 -> 2, nodes 16 -> 11, edges 14 -> 9, variables 4 -> 4
    decl g, h;
    start main

    main()
      decl x
      n0 entry
        f(*) -> n2
      n1 exit
      n2
        x := g -> n3
      n3
        g := * -> n4
      n4
        assert x -> n5
      n5
        h := * -> n6
      n6
        g := * -> n7
      n7
        assert (g | h) -> n1

    f(p)
      n0 entry
        p := * -> n2
      n1 exit
      n2
        assert (p | g) -> n1
    ");
}

#[test]
fn enforce_and_constrain_are_kept() {
    insta::assert_snapshot!(reduced(
        "decl g, h, unused;
void main() begin
  enforce g | h;
  g, unused := *, * constrain 'g != g;
  h := F;
  assert(g);
end
"
    ), @r"
    procedures 1 -> 1, nodes 6 -> 3, edges 5 -> 2, variables 3 -> 2
    decl g, h;
    start main

    main()
      enforce (g | h)
      n0 entry
        g := * constrain ('g ^ g) -> n2
      n1 exit
      n2
        h := F -> n1
    ");
}

#[test]
fn chains_collapse_but_loops_stay() {
    insta::assert_snapshot!(reduced(
        "decl g;
void main() begin
  skip;
  A: goto B, C;
  B: skip; goto D;
  C: skip; skip;
  D: assert(g);
  while (*) do skip; od
  E: skip; goto E;
end
"
    ), @r"
    procedures 1 -> 1, nodes 14 -> 4, edges 15 -> 4, variables 1 -> 1
    decl g;
    start main

    main()
      n0 entry
        assert g -> n2
      n1 exit
      n2
        skip -> n2
        skip -> n3
      n3 E:
        skip -> n3
    ");
}

#[test]
fn a_loop_that_is_never_repeated_stays_where_it_must_be_cut() {
    insta::assert_snapshot!(reduced(
        "decl g;
void main() begin
  g := F;
  while (g) do od
  assert(!g);
  assert(*);
end
"
    ), @r"
    procedures 1 -> 1, nodes 7 -> 4, edges 7 -> 4, variables 1 -> 0
    start main

    main()
      n0 entry
        skip -> n2
      n1 exit
      n2
        assume F -> n2 (holds)
        skip -> n3
      n3
        assert * -> n1
    ");
}

#[test]
fn the_forbidden_label_stays() {
    let task = task_of(
        "decl g;
void main() begin
  if (g) then
    ERROR: skip;
  fi
  OTHER: skip;
end
",
        Some("ERROR"),
    );
    insta::assert_snapshot!(show(&task, Keep::Verdict), @r"
    procedures 1 -> 1, nodes 6 -> 3, edges 6 -> 3, variables 1 -> 1
    decl g;
    start main

    main()
      n0 entry
        assume g -> n2 (holds)
        assume !g -> n1 (fails)
      n1 exit
      n2 ERROR:
        skip -> n1
    ");
}

#[test]
fn where_states_are_kept_only_steps_go() {
    let task = task_of(
        "decl g, unused := T;
void main() begin
  if (unused) then skip; skip; fi
  assert(g);
end
void never() begin
  skip;
end
",
        None,
    );
    insta::assert_snapshot!(show(&task, Keep::States), @r"
    procedures 2 -> 2, nodes 11 -> 6, edges 10 -> 5, variables 2 -> 2
    decl g, unused;
    start <start>

    main()
      n0 entry
        assume unused -> n2 (holds)
        assume !unused -> n2 (fails)
      n1 exit
      n2
        assert g -> n1

    <start>()
      n0 entry
        unused := T -> n2
      n1 exit
      n2
        main() -> n1
    ");
}
