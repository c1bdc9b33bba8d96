//! What people and machines see of an answer, on real programs and checked evidence.

use std::fmt::Write;
use std::time::Duration;

use cusp::budget::Budget;
use cusp::certify::{Certified, certify};
use cusp::check::{self, Checked, Options, Prepared, ThreadLimit};
use cusp::evidence::{Reason, Unknown, Verdict};
use cusp::pipeline::Setup;
use cusp::pipeline::table::Choice;
use cusp::progress::Quiet;
use cusp::report::json::{Header, Report};
use cusp::report::{Detail, Subject, View, text, verdict_line};
use cusp::source::Source;

/// A program, its question and its checked answer.
struct Answered {
    source: Source,
    prepared: Prepared,
    certified: Certified,
}

impl Answered {
    fn subject(&self) -> Subject<'_> {
        let (task, certified) = (&self.prepared.task, &self.certified);
        Subject { source: &self.source, task, certified, engine: "explicit", by_chance: false }
    }

    fn text(&self, detail: Detail) -> String {
        text(&self.subject(), View { detail, ..View::default() })
    }

    fn json(&self) -> String {
        let Prepared { warnings, notes, .. } = &self.prepared;
        let header = Header::new("check", self.source.name(), self.certified.verdict().word(), 10);
        let header = header.diagnostics(&self.source, warnings).notes(notes);
        let report = Report::checked(&self.subject(), header, true);
        serde_json::to_string_pretty(&report).expect("plain data")
    }
}

fn ask(program: &str, options: &Options) -> Answered {
    let source = Source::new("demo.bp", program);
    match check::check(&source, options, &Budget::unlimited(), &Quiet) {
        Ok(Checked { prepared, answer }) => {
            let certified = answer.result.expect("evidence that holds");
            Answered { source, prepared: *prepared, certified }
        }
        Err(findings) => panic!("{findings:?}"),
    }
}

fn asked(program: &str) -> Answered {
    ask(program, &Options::default())
}

/// With the explicit engine, so that runs and figures do not depend on who is asked first.
fn threads(n: u32) -> Options {
    let engine = Choice::named("explicit").expect("an engine");
    let setup = Setup { engine, ..Setup::default() };
    Options { threads: ThreadLimit::AtMost(n), setup, ..Options::default() }
}

fn corpus(name: &str) -> String {
    let path = format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("an example")
}

/// The same program with a given end of the check.
fn given_up(program: &str, options: &Options, unknown: Unknown) -> String {
    let source = Source::new("demo.bp", program);
    let prepared = check::prepare(&source, options).expect("a program");
    let unknown = Verdict::Unknown(unknown);
    let certified = certify(&prepared.task, unknown, &Budget::unlimited()).expect("nothing to check");
    Answered { source, prepared, certified }.text(Detail::Short)
}

/// Every one of `n` procedures calls the next twice, and the bug lies behind them.
fn doubling(n: usize) -> String {
    let mut program = "decl g;\nvoid main() begin\n  g := F;\n  p0();\n  assert(g);\nend\n".to_owned();
    for i in 0..n {
        let next = i + 1;
        let _ = write!(program, "void p{i}() begin\n  p{next}();\n  p{next}();\nend\n");
    }
    let _ = write!(program, "void p{n}() begin\n  g := !g;\nend\n");
    program
}

/// A chain of `n` calls that do not return.
fn nested(n: usize) -> String {
    let mut program = "decl g;\nvoid main() begin\n  p0();\nend\n".to_owned();
    for i in 0..n {
        let _ = write!(program, "void p{i}() begin\n  p{}();\nend\n", i + 1);
    }
    let _ = write!(program, "void p{n}() begin\n  assert(g);\nend\n");
    program
}

fn first_and_last(text: &str, first: usize, last: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = (&lines[..first], &lines[lines.len() - last..]);
    format!("{}\n[...]\n{}\n", head.join("\n"), tail.join("\n"))
}

const LOCK: &str = "\
decl locked;

bool acquire(want) begin
  decl tmp;
  tmp := *;
  if (want & !locked) then
    locked := T;
    return T;
  elsif (tmp) then
    skip;
  fi;
  return F;
end

void main() begin
  decl got;
  locked := F;
  got := acquire(T);
  while (*) do
    got := acquire(T);
  od;
  assert(!locked
         | got);
end
";

#[test]
fn a_sequential_trace_shows_calls_branches_and_changes() {
    insta::assert_snapshot!(asked(LOCK).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail
      --> demo.bp:22:3
       |
    22 | /   assert(!locked
    23 | |          | got);
       | |_______________^ can fail
    the run, 18 steps in all, 15 shown (`--trace full` shows all):
      15:6   enter main()                      locked=0 got=0
      17:3   locked := F
      18:3   got := acquire(T)
       3:6     enter acquire(want)             want=1 tmp=0
       5:3     tmp := *
       6:3     if (want & !locked) then [true]
       7:5     locked := T                     locked=1
       8:5     return T                        returns 1
      18:3   back in main                      got=1
      19:3   while (*) do [true]
      20:5   got := acquire(T)
       3:6     enter acquire(want)             want=1 tmp=0
       5:3     tmp := *
       6:3     if (want & !locked) then [false]
       9:9     elsif (tmp) [false]
      12:3     return F                        returns 0
      20:5   back in main                      got=0
      19:3   while (*) do [false]
      22:3   assert(!locked | got) [can fail]  locked=1 got=0
    ");
}

#[test]
fn a_full_trace_shows_every_step() {
    insta::assert_snapshot!(asked(LOCK).text(Detail::Full), @"
    UNSAFE  demo.bp: an assertion can fail
      --> demo.bp:22:3
       |
    22 | /   assert(!locked
    23 | |          | got);
       | |_______________^ can fail
    the run, 18 steps:
      15:6   enter main()                      locked=0 got=0
             (to the first statement)
      17:3   locked := F
      18:3   got := acquire(T)
       3:6     enter acquire(want)             want=1 tmp=0
               (to the first statement)
       5:3     tmp := *
       6:3     if (want & !locked) then [true]
       7:5     locked := T                     locked=1
       8:5     return T                        returns 1
      18:3   back in main                      got=1
      19:3   while (*) do [true]
      20:5   got := acquire(T)
       3:6     enter acquire(want)             want=1 tmp=0
               (to the first statement)
       5:3     tmp := *
       6:3     if (want & !locked) then [false]
       9:9     elsif (tmp) [false]
      12:3     return F                        returns 0
      20:5   back in main                      got=0
      19:3   while (*) do [false]
      22:3   assert(!locked | got) [can fail]  locked=1 got=0
    ");
}

#[test]
fn without_a_trace_the_violated_statement_is_left() {
    insta::assert_snapshot!(asked(LOCK).text(Detail::None), @"
    UNSAFE  demo.bp: an assertion can fail
      --> demo.bp:22:3
       |
    22 | /   assert(!locked
    23 | |          | got);
       | |_______________^ can fail
    ");
}

#[test]
fn a_full_trace_names_the_target_of_a_choice() {
    let options = Options { label: Some("BAD".to_owned()), ..Options::default() };
    insta::assert_snapshot!(ask(&corpus("goto_choice.bp"), &options).text(Detail::Full), @"
    UNSAFE  demo.bp: label `BAD` can be reached
      --> demo.bp:15:6
       |
    15 | BAD: skip;
       |      ^^^^ label reached
    the run, 4 steps:
       6:6   enter main()  x=0
             (to the first statement)
       7:3   x := *        x=1
       8:3   goto ONE, TWO, THREE [to THREE]
      14:8   assume(x)
      15:6   BAD: skip [label reached]
    ");
}

#[test]
fn initialisers_run_before_main() {
    let program = "decl a := T, b := a;\nvoid main(p) begin\n  assert(!b);\nend\n";
    insta::assert_snapshot!(asked(program).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail
     --> demo.bp:3:3
      |
    3 |   assert(!b);
      |   ^^^^^^^^^^ can fail
    the run, 5 steps in all, 2 shown (`--trace full` shows all):
             start                  a=0 b=0
       1:6   a := T                 a=1
      1:14   b := a                 b=1
       2:6   enter main(p)          p=0
       3:3   assert(!b) [can fail]  b=1
    ");
}

#[test]
fn a_hidden_global_is_called_by_its_full_name() {
    insta::assert_snapshot!(asked(&corpus("shadow.bp")).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail
      --> demo.bp:19:3
       |
    19 |   assert((p = q) | (p = x));
       |   ^^^^^^^^^^^^^^^^^^^^^^^^^ can fail
    the run, 10 steps in all, 5 shown (`--trace full` shows all):
      10:6   enter main()                            global x=1 x=0 y=0
      12:3   x := T                                  x=1
      13:3   y := F
      14:3   flip()
       6:6     enter flip()
       7:3     x := !x                               x=0
      15:3   check(x, y)
      18:6     enter check(p, q)                     p=1 q=0
      19:3     assert((p = q) | (p = x)) [can fail]  p=1 q=0 x=0
    ");
}

#[test]
fn of_many_variables_those_that_are_read_are_shown() {
    insta::assert_snapshot!(asked(&corpus("many_variables.bp")).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail
      --> demo.bp:10:3
       |
    10 |   assert(a3 => a5);
       |   ^^^^^^^^^^^^^^^^ can fail
    the run, 3 steps in all, 2 shown (`--trace full` shows all):
       6:6   enter main()                 a3=0 a4=1 a5=0 b2=1 (11 not read)
       8:3   a3 := b2                     a3=1
       9:3   a5 := !a4
      10:3   assert(a3 => a5) [can fail]  a3=1 a5=0
    ");
}

#[test]
fn repeated_calls_of_a_long_run_are_folded() {
    insta::assert_snapshot!(asked(&doubling(8)).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail
     --> demo.bp:5:3
      |
    5 |   assert(g);
      |   ^^^^^^^^^ can fail
    the run, 2,302 steps in all, 20 shown (`--trace full` shows more):
       2:6   enter main()               g=0
       3:3   g := F
       4:3   p0()
       7:6     enter p0()
       8:3     p1()
      11:6       enter p1()
      12:3       p2()
      15:6         enter p2()
      16:3         p3()
      19:6           enter p3()
      20:3           p4()
      23:6             enter p4()
      24:3             p5()
      27:6               enter p5()
      28:3               p6()
      31:6                 enter p6()
      32:3                 p7()
      35:6                   enter p7()
      36:3                   p8()
      39:6                     enter p8()
      40:3                     g := !g  g=1
      37:3                   p8()
      39:6                     enter p8()
      40:3                     g := !g  g=0
      33:3                 p7()
                             ... as in the call at line 32, 12 steps folded
      29:3               p6()
                           ... as in the call at line 28, 30 steps folded
      25:3             p5()
                         ... as in the call at line 24, 66 steps folded
      21:3           p4()
                       ... as in the call at line 20, 138 steps folded
      17:3         p3()
                     ... as in the call at line 16, 282 steps folded
      13:3       p2()
                   ... as in the call at line 12, 570 steps folded
       9:3     p1()
                 ... as in the call at line 8, 1,146 steps folded
       5:3   assert(g) [can fail]       g=0
    ");
}

#[test]
fn a_run_of_astronomical_length_is_told_in_a_few_hundred_lines() {
    let told = asked(&doubling(800)).text(Detail::Short);
    assert!(told.lines().count() < 320, "{}", told.lines().count());
    insta::assert_snapshot!(first_and_last(&told, 12, 6), @"
    UNSAFE  demo.bp: an assertion can fail
     --> demo.bp:5:3
      |
    5 |   assert(g);
      |   ^^^^^^^^^ can fail
    the run, 2^803.2 steps in all, 149 shown (`--trace full` shows more):
        2:6   enter main()          g=0
        3:3   g := F
        4:3   p0()
        7:6     enter p0()
        8:3     p1()
       11:6       enter p1()
    [...]
                      ... as in the call at line 16, 2^800.2 steps folded
       13:3       p2()
                    ... as in the call at line 12, 2^801.2 steps folded
        9:3     p1()
                  ... as in the call at line 8, 2^802.2 steps folded
        5:3   assert(g) [can fail]  g=0
    ");
}

#[test]
fn a_full_trace_describes_every_run_once_and_stays_linear() {
    let answered = asked(&doubling(800));
    let told = answered.text(Detail::Full);
    for i in 0..=799 {
        let entered = format!("enter p{i}()");
        assert_eq!(told.lines().filter(|line| line.ends_with(&entered)).count(), 1, "{entered}");
    }
    assert!(told.lines().count() < 10 * 800, "{}", told.lines().count());
    insta::assert_snapshot!(told.lines().nth(5).unwrap_or_default(), @"the run, 2^803.2 steps in all, 4,810 shown (repeated calls are folded):");
}

#[test]
fn deep_calls_stay_on_the_screen() {
    let told = asked(&nested(10_000)).text(Detail::Full);
    assert!(told.lines().all(|line| line.chars().count() <= 100));
    insta::assert_snapshot!(first_and_last(&told, 10, 4), @"
    UNSAFE  demo.bp: an assertion can fail
         --> demo.bp:30006:3
          |
    30006 |   assert(g);
          |   ^^^^^^^^^ can fail
    the run, 20,003 steps:
          2:6   enter main()                                      g=0
                (to the first statement)
          3:3   p0()
          5:6     enter p0()
    [...]
      30003:3                       (10000) p10000()
      30005:6                       (10001) enter p10000()
                                    (10001) (to the first statement)
      30006:3                       (10001) assert(g) [can fail]  g=0
    ");
}

#[test]
fn long_statements_and_many_values_keep_to_the_width() {
    let names: Vec<String> = (0..40).map(|i| format!("variable_{i}")).collect();
    let program = format!(
        "decl {};\nvoid main() begin\n  skip;\n  assert({});\nend\n",
        names.join(", "),
        names.join(" | ")
    );
    let told = asked(&program).text(Detail::Short);
    // The violated statement stands before the trace, as it was written.
    let trace: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("the run")).collect();
    assert!(trace.iter().all(|line| line.chars().count() <= 100), "{told}");
    insta::assert_snapshot!(trace[..3].join("\n"), @"
    the run, 2 steps in all, 0 shown (`--trace full` shows all):
      2:6   enter main()                                                  variable_0=0 variable_1=0
                                                                          variable_2=0 variable_3=0
    ");
}

#[test]
fn a_concurrent_trace_shows_threads() {
    insta::assert_snapshot!(ask(&corpus("race.bp"), &threads(3)).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail with 3 threads at once
      --> demo.bp:27:3
       |
    27 |   assert(high & !low);
       |   ^^^^^^^^^^^^^^^^^^^ can fail
    the run, 21 steps in all, 12 shown (`--trace full` shows all):
      [0] 22:6   enter main()                    low=0 high=0 first_done=0 second_done=0
      [0] 23:3   low, high, first_done, second_done := F, F, F, F
      [0] 24:3   start_thread first() [thread 1 starts]
      [1] 12:6   enter first()
      [0] 25:3   start_thread second() [thread 2 starts]
      [2] 17:6   enter second()
      [2] 18:3   increment()
      [2]  6:6     enter increment()             l=0 h=0
      [2]  8:3     l, h := low, high
      [1] 13:3   increment()
      [1]  6:6     enter increment()             l=0 h=0
      [1]  8:3     l, h := low, high
      [1]  9:3     low, high := !l, h ^ l        low=1
      [1] 14:3   first_done := T                 first_done=1
      [2]  9:3     low, high := !l, h ^ l
      [2] 19:3   second_done := T                second_done=1
      [0] 26:3   assume(first_done & second_done)
      [0] 27:3   assert(high & !low) [can fail]  high=0 low=1
    ");
}

#[test]
fn threads_that_start_end_and_do_not_start_are_visible() {
    // The thread in `block` would never make room for the one at `L`.
    let program = "\
decl g;
void main() begin
  decl x;
  g, x := F, T;
  start_thread set(x);
  start_thread block();
  assume(g);
  start_thread goto L;
  assume(F);
  L: assert(!g | !x);
end
void set(y) begin
  g := y;
  end_thread;
end
void block() begin
  assume(F);
end
";
    insta::assert_snapshot!(ask(program, &threads(2)).text(Detail::Full), @"
    UNSAFE  demo.bp: an assertion can fail with 2 threads at once
      --> demo.bp:10:6
       |
    10 |   L: assert(!g | !x);
       |      ^^^^^^^^^^^^^^^ can fail
    the run, 9 steps:
      [0]  2:6   enter main()                g=0 x=0
      [0]        (to the first statement)
      [0]  4:3   g, x := F, T                x=1
      [0]  5:3   start_thread set(x) [thread 1 starts]
      [1] 12:6   enter set(y)                y=1
      [0]  6:3   start_thread block() [no thread starts: the limit is reached]
      [1]        (to the first statement)
      [1] 13:3   g := y                      g=1
      [1] 14:3   end_thread [thread 1 ends]
      [0]  7:3   assume(g)
      [0]  8:3   start_thread goto L [thread 2 starts]
      [2] 10:6   begin in main               x=1
      [2] 10:6   assert(!g | !x) [can fail]  g=1 x=1
    ");
}

#[test]
fn changes_in_other_threads_are_visible() {
    let options = Options { replicate: true, ..threads(2) };
    insta::assert_snapshot!(ask(&corpus("passive.bp"), &options).text(Detail::Short), @"
    UNSAFE  demo.bp: an assertion can fail with 2 threads at once
      --> demo.bp:12:3
       |
    12 |   assert(!x);
       |   ^^^^^^^^^^ can fail
    the run, 10 steps in all, 6 shown (`--trace full` shows all):
      [0]        start                  g=0
      [0]        (starts a thread in `main`) [thread 1 starts]
      [1]  6:6   enter main()           x=0
      [0]  6:6   enter main()           x=0
      [0]  8:3   x := F
      [0]  9:3   if (*) then [false]
      [1]  8:3   x := F
      [1]  9:3   if (*) then [true]
      [1] 10:5   g, x$ := T, T          g=1 [0].x=1
      [0] 12:3   assert(!x) [can fail]  x=1
    ");
}

/// The label is shown where nothing but it stands.
#[test]
fn a_label_before_fi_is_a_place() {
    let program = "void main() begin\n  if (*) then\n    skip;\n    L:\n  fi;\nend\n";
    let options = Options { label: Some("L".to_owned()), ..Options::default() };
    insta::assert_snapshot!(ask(program, &options).text(Detail::Short), @"
    UNSAFE  demo.bp: label `L` can be reached
     --> demo.bp:4:5
      |
    4 |     L:
      |     ^ label reached
    the run, 3 steps in all, 1 shown (`--trace full` shows all):
      1:6   enter main()
      2:3   if (*) then [true]
      4:5   L: [label reached]
    ");
}

#[test]
fn a_safe_verdict_says_what_was_proved_and_how() {
    let label = |label: &str| Options { label: Some(label.to_owned()), ..Options::default() };
    let threaded = "decl g;\nvoid main() begin\n  g := T;\n  start_thread goto L;\n  L: assert(g);\nend\n";
    let all = [
        asked("decl g;\nvoid main() begin\n  g := T;\n  assert(g);\nend\n").text(Detail::Short),
        asked("void main() begin\n  return;\n  assert(F);\nend\n").text(Detail::Short),
        ask("void main() begin\n  assume(F);\n  L: skip;\nend\n", &label("L")).text(Detail::Short),
        ask(threaded, &threads(1)).text(Detail::Short),
        ask(threaded, &threads(2)).text(Detail::Short),
        asked("void main() begin\n  start_thread goto L;\n  L: return;\n  assert(F);\nend\n")
            .text(Detail::Short),
    ];
    insta::assert_snapshot!(all.concat(), @"
    SAFE  demo.bp: no assertion can fail (explicit engine; 5 path edges, checked)
    SAFE  demo.bp: no assertion can fail (explicit engine; no statement that could go wrong is in reach, checked)
    SAFE  demo.bp: label `L` cannot be reached (explicit engine; 2 path edges, checked)
    SAFE  demo.bp: no assertion can fail with one thread at a time (explicit engine; 6 states, checked)
    SAFE  demo.bp: no assertion can fail with at most 2 threads at once (explicit engine; 9 states, checked)
    SAFE  demo.bp: no assertion can fail, however many threads there are (explicit engine; no statement that could go wrong is in reach, checked)
    ");
}

#[test]
fn an_unknown_verdict_says_why_and_what_to_do() {
    let program = "decl g;\nvoid main() begin\n  start_thread goto L;\n  L: assert(g);\nend\n";
    let recursive = "main".to_owned();
    let reasons = [
        Reason::Timeout(Duration::from_millis(1500)),
        Reason::Memory { limit: 512 << 20 },
        Reason::Interrupted,
        Reason::TooManyVariables { procedure: "main".to_owned(), count: 200, limit: 128 },
        Reason::UnboundedThreads,
        Reason::UnboundedRecursion { procedure: recursive },
    ];
    let bounded = reasons.iter().map(|reason| given_up(program, &threads(3), reason.clone().into()));
    insta::assert_snapshot!(bounded.collect::<String>(), @"
    UNKNOWN  demo.bp: the time limit of 1.5 s is over
      help: give it more time with `--timeout SECONDS`
    UNKNOWN  demo.bp: the memory limit of 512 MB is used up
      help: give it more memory with `--memory MB`
    UNKNOWN  demo.bp: interrupted
    UNKNOWN  demo.bp: procedure `main` sees 200 variables, the explicit engine holds 128
    UNKNOWN  demo.bp: the program may start arbitrarily many threads, and the engine needs a bound on those that live at once
      help: bound the number of threads that live at once with `--threads N`
    UNKNOWN  demo.bp: `main` is recursive in a program with threads, and no algorithm decides all of these
      help: cut off calls that nest more than K times with `--unwind K`: that finds violations, but proves nothing
    ");
    let reason = Reason::Timeout(Duration::from_secs(60));
    let seen = Some("no violation in any run with at most 3 threads at once".to_owned());
    let unbounded = given_up(program, &Options::default(), Unknown { reason, seen });
    insta::assert_snapshot!(unbounded, @"
    UNKNOWN  demo.bp: the time limit of 60 s is over
      seen (not certified): no violation in any run with at most 3 threads at once
      help: give it more time with `--timeout SECONDS`
      help: bound the number of threads that live at once with `--threads N`
    ");
}

#[test]
fn colours_are_there_only_when_asked_for() {
    let answered = asked(LOCK);
    let plain = answered.text(Detail::Short);
    assert!(!plain.contains('\u{1b}'));
    let coloured = text(&answered.subject(), View { colour: true, ..View::default() });
    assert!(coloured.starts_with("\u{1b}[1m\u{1b}[31mUNSAFE"), "{coloured}");
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn a_file_name_cannot_break_the_verdict_line() {
    let answered = asked(LOCK);
    let source = Source::new("a\nb\u{1b}[2J.bp", LOCK);
    let subject = Subject { source: &source, ..answered.subject() };
    insta::assert_snapshot!(verdict_line(&subject, false), @"UNSAFE  a b [2J.bp: an assertion can fail");
}

#[test]
fn json_holds_a_call_tree_as_runs_with_references() {
    let program = "\
decl g;
bool flip(x) begin
  g := !g;
  return !x;
end
void main() begin
  decl a;
  a := flip(g);
  if (a) then
    fail(a);
  fi;
end
void fail(b) begin
  assert(!g & !b);
end
";
    let json = asked(program).json();
    insta::assert_snapshot!("calls_as_json", json);
}

#[test]
fn json_holds_an_interleaving_with_thread_numbers() {
    let program = "\
decl g;
void main() begin
  g := T;
  start_thread f(T);
  set();
  assert(g);
end
void set() begin
  g := T;
end
void f(x) begin
  g := !x;
end
";
    let json = ask(program, &threads(2)).json();
    insta::assert_snapshot!("threads_as_json", json);
}

#[test]
fn json_shares_runs_however_long_the_trace_is() {
    let json: serde_json::Value = serde_json::from_str(&asked(&doubling(800)).json()).expect("valid JSON");
    let trace = &json["trace"];
    assert_eq!(trace["kind"], "calls");
    assert!(trace["steps"].is_null());
    assert!((803.0..804.0).contains(&trace["steps_log2"].as_f64().expect("a number")));
    let runs = trace["runs"].as_array().expect("a list");
    assert!(runs.len() <= 2 * 802, "{}", runs.len());
    for (id, run) in runs.iter().enumerate() {
        assert_eq!(run["id"], id);
        for step in run["steps"].as_array().expect("a list") {
            assert!(step["call"].as_u64().is_none_or(|callee| callee < id as u64));
        }
    }
}
