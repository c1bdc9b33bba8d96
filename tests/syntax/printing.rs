//! `cusp fmt`.

use cusp::source::Span;
use cusp::syntax::ast::{
    Ast, BinaryOp, Dialect, Expr, ExprId, ExprKind, Ident, Item, Procedure, Stmt, StmtId, StmtKind, Target,
};
use cusp::syntax::print;

use crate::laws::{CorpusFile, Rng, corpus, printing_laws_hold, tokens};
use crate::{formatted, read};

use cusp::diagnostic::{has_errors, render};
use cusp::syntax::parse;

/// The files of the corpus that are not programs, with reasons.
const EXPECTED_ERRORS: &str = include_str!("../expected_parse_errors.txt");

fn is_expected_error(path: &str) -> bool {
    let mut lines = EXPECTED_ERRORS.lines().filter(|line| !line.starts_with('#'));
    lines.any(|line| line.split_whitespace().next() == Some(path))
}

#[test]
fn every_corpus_file_parses_or_is_listed_with_a_reason() {
    for CorpusFile { path, source, dialect } in corpus() {
        let (_, diagnostics) = parse(&source, dialect);
        let shown = render(&source, &diagnostics[..diagnostics.len().min(5)], false);
        assert_eq!(has_errors(&diagnostics), is_expected_error(&path), "{path}\n{shown}");
    }
}

#[test]
fn printing_laws_hold_on_the_corpus() {
    for CorpusFile { path, source, dialect } in corpus() {
        let applies = printing_laws_hold(&path, source.text(), dialect);
        assert_eq!(applies, !is_expected_error(&path), "{path}");
    }
}

#[test]
fn printing_laws_hold_with_comments_between_any_two_tokens() {
    let mut rng = Rng::new(1);
    for round in 0..300 {
        let text = sprinkle(EVERYTHING, &mut rng);
        assert!(printing_laws_hold(&format!("round {round}"), &text, Dialect::Boom), "{text}");
    }
    for CorpusFile { path, source, dialect } in corpus() {
        if source.text().len() > 10_000 || is_expected_error(&path) {
            continue;
        }
        for round in 0..10 {
            let text = sprinkle(source.text(), &mut rng);
            let name = format!("{path}, round {round}");
            assert!(printing_laws_hold(&name, &text, dialect), "{name}\n{text}");
        }
    }
}

/// The program with comments and line ends thrown in.
fn sprinkle(text: &str, rng: &mut Rng) -> String {
    let mut result = String::new();
    for (index, token) in tokens(text).into_iter().enumerate() {
        result.push_str(token);
        result.push_str(if token.starts_with("//") { "\n" } else { " " });
        let addition = match rng.below(24) {
            0 => format!("/* {index} */ "),
            1 => format!("// {index}\n"),
            2 => format!("\n// {index} \n"),
            3 => format!("\n\n\n/* {index}\n   more */ /* and */\n"),
            4 => format!("/* {index}\n\n more */\n\n"),
            5 => format!("// {index}\n// more\n\n"),
            6 => "\n\n".to_owned(),
            7 => "\r\n".to_owned(),
            _ => continue,
        };
        result.push_str(&addition);
    }
    result
}

/// Every kind of statement and expression.
const EVERYTHING: &str = "
decl a,b , c:=T, {d.e} := a&&b||!c ;
decl z;
dfs void f( p,q ) begin
decl l, m:=*; enforce (a);
skip; goto L1 , 2; L1: L2: a,_ , c:= 0,1 , ~b ^ 'c  constrain a=b => c != 'a;
2 : f( ); a := f( a , b|c ); _,a:=f(*);
return; return a,(b);
assume a; assert( (a)); abortif a | b; constrain( a );
if a then skip fi if (a) then elsif b then skip; skip else ; fi; while * do od
while (a) do L3: if b then M: else N: fi od;
dead a,b ; print( a ) ; print(); print a,b;
start_thread goto L1; start_thread 2; start_thread f(a); end_thread; thread_end;
atomic_begin; ASYNC_1: f(); atomic_end;;
a := b ? c : schoose[ a,b ] ; b := choose[F,T] ;
L9: end
bool g() begin end;
bool<1> h(x) begin return x end
bool<2> main() begin X: ; Y: ; return T, F; Z: end
untyped() begin end
";

#[test]
fn every_construct_has_one_form() {
    insta::assert_snapshot!(formatted(EVERYTHING), @r"
    decl a, b, c := T, {d.e} := a & b | !c;
    decl z;

    dfs void f(p, q) begin
      decl l, m := *;
      enforce (a);
      skip;
      goto L1, 2;
    L1: L2: a, _, c := F, T, !b ^ 'c constrain a = b => c != 'a;
    2: f();
      a := f(a, b | c);
      _, a := f(*);
      return;
      return a, (b);
      assume(a);
      assert((a));
      abortif a | b;
      constrain(a);
      if a then
        skip;
      fi;
      if (a) then
      elsif b then
        skip;
        skip;
      else
        ;
      fi;
      while * do
      od;
      while (a) do
      L3: if b then
        M:
        else
        N:
        fi;
      od;
      dead a, b;
      print(a);
      print();
      print(a, b);
      start_thread goto L1;
      start_thread 2;
      start_thread f(a);
      end_thread;
      end_thread;
      atomic_begin;
    ASYNC_1: f();
      atomic_end;
      ;
      a := b ? c : schoose[a, b];
      b := schoose[F, T];
    L9:
    end

    bool g() begin
    end

    bool h(x) begin
      return x;
    end

    bool<2> main() begin
    X: ;
    Y: ;
      return T, F;
    Z:
    end

    untyped() begin
    end
    ");
}

#[test]
fn comments_stay_where_they_stand() {
    let text = "
/* head */ // of the file

decl a, // first
   b;   // second
// before main


// still before main
void main() // after main
begin
    // first in the body

    // second
    a := T; // trailing   \n
    /* own line */
    L: // after a label
    b := a & // left
         b;  // right

    if a  // condition
    then
      // in the branch
      skip;
      // at its end
    elsif b then // elsif
      /* nothing */
    else // else
      f(a, /* argument */ b);
    fi // fi
    x,  // dropped
    y
      // alone
      := T, /* multi
      line */ F; /* last */ // really
    // at the end
end // of main
// end of file
";
    insta::assert_snapshot!(formatted(text), @r"
    /* head */ // of the file

    decl a, // first
        b; // second
    // before main

    // still before main
    void main() begin // after main
      // first in the body

      // second
      a := T; // trailing

      /* own line */
    L: // after a label
      b := a & // left
          b; // right

      if a then // condition
        // in the branch
        skip;
        // at its end
      elsif b then // elsif
        /* nothing */
      else // else
        f(a, /* argument */ b);
      fi; // fi
      x, // dropped
          y :=
          // alone
          T, /* multi
          line */ F; /* last */ // really
      // at the end
    end // of main
    // end of file
    ");
}

#[test]
fn long_lines_are_broken() {
    let names: Vec<String> = (0..24).map(|i| format!("variable_{i}")).collect();
    let all = names.join(", ");
    let (condition, close) = (names.join(" & !(("), "))".repeat(names.len() - 1));
    let text = format!("decl {all}; void main() begin L: {all} := {all} constrain {condition}{close}; end");
    insta::assert_snapshot!(formatted(&text), @r"
    decl variable_0, variable_1, variable_2, variable_3, variable_4, variable_5, variable_6, variable_7,
        variable_8, variable_9, variable_10, variable_11, variable_12, variable_13, variable_14,
        variable_15, variable_16, variable_17, variable_18, variable_19, variable_20, variable_21,
        variable_22, variable_23;

    void main() begin
    L: variable_0, variable_1, variable_2, variable_3, variable_4, variable_5, variable_6, variable_7,
          variable_8, variable_9, variable_10, variable_11, variable_12, variable_13, variable_14,
          variable_15, variable_16, variable_17, variable_18, variable_19, variable_20, variable_21,
          variable_22, variable_23 := variable_0, variable_1, variable_2, variable_3, variable_4,
          variable_5, variable_6, variable_7, variable_8, variable_9, variable_10, variable_11,
          variable_12, variable_13, variable_14, variable_15, variable_16, variable_17, variable_18,
          variable_19, variable_20, variable_21, variable_22, variable_23 constrain variable_0 &
          !((variable_1 & !((variable_2 & !((variable_3 & !((variable_4 & !((variable_5 &
          !((variable_6 & !((variable_7 & !((variable_8 & !((variable_9 & !((variable_10 &
          !((variable_11 & !((variable_12 & !((variable_13 & !((variable_14 & !((variable_15 &
          !((variable_16 & !((variable_17 & !((variable_18 & !((variable_19 & !((variable_20 &
          !((variable_21 & !((variable_22 &
          !((variable_23))))))))))))))))))))))))))))))))))))))))))))));
    end
    ");
}

#[test]
fn blank_lines_are_kept_between_statements_and_one_is_enough() {
    let text = "\n\n\ndecl a;\n\n\n\ndecl b;\ndecl c;\nvoid f() begin\n\n  skip;\n\n\n  skip;\n  if a then\n\n    skip;\n\n  fi\n\nend\nvoid g() begin\n\nend\n\n\n";
    insta::assert_snapshot!(formatted(text), @r"
    decl a;

    decl b;
    decl c;

    void f() begin
      skip;

      skip;
      if a then
        skip;
      fi;
    end

    void g() begin
    end
    ");
}

#[test]
fn lines_end_in_one_way() {
    let text = "/* a\r\n b */\r\ndecl a; // c \r\n";
    assert_eq!(formatted(text), "/* a\n b */\ndecl a; // c\n");
}

/// A program that was made, not parsed.
struct Made(Ast);

impl Made {
    fn expr(&mut self, kind: ExprKind) -> ExprId {
        self.0.exprs.push(Expr { kind, span: Span::default() });
        ExprId::from_index(self.0.exprs.len() - 1)
    }

    fn name(&mut self, name: &str) -> ExprId {
        self.expr(ExprKind::Name { name: name.to_owned(), primed: false })
    }

    fn print(mut self, values: Vec<ExprId>) -> String {
        let ident = |name: &str| Ident { name: name.to_owned(), span: Span::default() };
        let targets = values.iter().map(|_| Target::Name(ident("x"))).collect();
        let kind = StmtKind::Assign { targets, values, constrain: None };
        self.0.stmts.push(Stmt { labels: Vec::new(), kind, span: Span::default() });
        self.0.items.push(Item::Procedure(Procedure {
            dfs: false,
            returns: Some(0),
            name: ident("main"),
            params: Vec::new(),
            body: vec![StmtId::from_index(0)],
            span: Span::default(),
            end: Span::default(),
        }));
        let text = print(&self.0);
        assert!(self.0.same_program(&read(&text, self.0.dialect)), "{text}");
        text
    }
}

#[test]
fn trees_that_were_not_parsed_get_the_parentheses_they_need() {
    use BinaryOp::{And, Equal, Implies, NotEqual, Or, Xor};
    for dialect in [Dialect::Boom, Dialect::Boppo] {
        for outer in [And, Or, Xor, Equal, NotEqual, Implies] {
            for inner in [And, Or, Xor, Equal, NotEqual, Implies] {
                let mut made = Made(Ast { dialect, ..Ast::default() });
                let (a, b, c) = (made.name("a"), made.name("b"), made.name("c"));
                let inside = made.expr(ExprKind::Binary(inner, a, b));
                let left = made.expr(ExprKind::Binary(outer, inside, c));
                let right = made.expr(ExprKind::Binary(outer, c, inside));
                let not = made.expr(ExprKind::Not(left));
                let ite = made.expr(ExprKind::Ite(left, not, right));
                let nested = made.expr(ExprKind::Ite(ite, ite, ite));
                let under = made.expr(ExprKind::Binary(outer, ite, nested));
                let not_ite = made.expr(ExprKind::Not(ite));
                made.print(vec![left, right, not, ite, nested, under, not_ite]);
            }
        }
    }
    let mut made = Made(Ast::default());
    let (a, b, c) = (made.name("a"), made.name("b.c"), made.name("if"));
    let or = made.expr(ExprKind::Binary(Or, a, b));
    let and = made.expr(ExprKind::Binary(And, or, c));
    let not = made.expr(ExprKind::Not(and));
    insta::assert_snapshot!(made.print(vec![and, not]), @r"
    void main() begin
      x, x := (a | {b.c}) & {if}, !((a | {b.c}) & {if});
    end
    ");
}
