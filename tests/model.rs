//! Control-flow graphs as the lowering makes them.

use cusp::check::{Options, ThreadLimit, prepare};
use cusp::source::Source;
use cusp::syntax::ast::Dialect;

fn graphs(text: &str, options: &Options) -> String {
    let source = Source::new("demo.bp", text);
    match prepare(&source, options) {
        Ok(prepared) => prepared.task.program.to_string(),
        Err(findings) => panic!("{}", cusp::diagnostic::render(&source, &findings, false)),
    }
}

#[test]
fn every_statement_becomes_edges() {
    insta::assert_snapshot!(graphs(
        "decl g, h := T;
bool<2> f(a, b) begin
  decl c := a, d;
  enforce a | b;
  if (a) then return b, c; elsif (b) then skip; else c := !c; fi
  L: while (*) do
    d, g := schoose[a, b], h constrain ('g | T);
  od
  dead c, d;
  goto L, M;
  M: abortif g => h;
  N:
end
void main() begin
  decl x, y;
  x, _ := f(*, g ? x : y);
  x, y := y, x constrain ('x = y) & ('y != x);
  print(x);
  constrain(x ^ y);
  assert(x);
end
",
        &Options::default()
    ));
}

#[test]
fn threads_and_passive_variables_become_edges() {
    insta::assert_snapshot!(graphs(
        "decl g;
void main() begin
  decl x;
  start_thread goto L;
  start_thread L;
  start_thread f(x);
  ASYNC_1: f(*);
  atomic_begin;
  g, x, x$ := T, F, x$ & x constrain g & ('x$ => x);
  atomic_end;
  L: end_thread;
end
void f(p) begin
  assert(p);
end
",
        &Options::default()
    ));
}

#[test]
fn replication_is_a_prologue() {
    let program = "decl g := F;\nvoid main() begin\n  assert(!g);\nend\n";
    let bounded = Options { replicate: true, threads: ThreadLimit::AtMost(3), ..Options::default() };
    let unbounded = Options { replicate: true, ..Options::default() };
    let both = format!("{}\n---\n{}", graphs(program, &bounded), graphs(program, &unbounded));
    insta::assert_snapshot!(both);
}

#[test]
fn a_getafix_program_starts_its_threads_after_init() {
    let options = Options { dialect: Dialect::Getafix, ..Options::default() };
    insta::assert_snapshot!(graphs(
        "decl atomic, g;
void init() begin atomic, g := F, F; end
void thread1() begin g := ?; end
void thread2() begin assert(!g); end
",
        &options
    ));
}

/// A label has a node of its own where control can come to what follows without passing it, and only there.
#[test]
fn labels_have_nodes_of_their_own_where_they_need_them() {
    insta::assert_snapshot!(graphs(
        "void main() begin
  A: ; skip;
  if (*) then B: fi
  while (*) do skip; C: od
  goto E;
  D: ; E: ; skip;
  H: ; while (*) do skip; od
  G:
end
",
        &Options { label: Some("A".to_owned()), ..Options::default() }
    ));
}
