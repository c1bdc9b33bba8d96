//! Mutated programs: whatever the text, the parser answers, and its answer can be shown.
//!
//! `CUSP_FUZZ=n` sets the number of mutants. A failure names its seed; `CUSP_FUZZ_SEED=s` runs
//! that mutant alone.

#[path = "syntax/laws.rs"]
mod laws;
#[path = "syntax/mutants.rs"]
mod mutants;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cusp::diagnostic::{has_errors, render};
use cusp::source::{Source, Span};
use cusp::syntax::ast::Dialect;
use cusp::syntax::{parse, print};
use laws::{Rng, corpus, printing_laws_hold};
use mutants::mutate;

/// Programs to begin with, besides those of the corpus.
const OWN: [&str; 3] = [
    "decl a, b := T;\n/* c */ bool<2> f(p) begin\n  decl l;\n  enforce a;\n  L: 2: a, _ := f(p); // d\n  \
     if (a | !b) then return a, b; elsif 'a = b then skip else goto L, 2; fi\n  \
     while * do a := schoose[a, b ? T : F] constrain 'a => b; od;\nend\n",
    "void main() begin\n  start_thread goto L;\n  start_thread main();\n  atomic_begin; dead x, {y z};\n  \
     abortif x ^ y; atomic_end;\n  print(x); assert(x = y & z);\nL: end_thread;\nM: end\n",
    "main() begin ASYNC_1: f(); constrain(a' != b$); wait := ~c$$main-x#1; end\r\n// last",
];

/// Files above this size are left out: small ones have the same tokens.
const MAX_BYTES: usize = 6_000;

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn mutated_programs_are_answered() {
    let own = |text: &str| ("own".to_owned(), text.to_owned(), Dialect::Boom);
    let mut seeds: Vec<(String, String, Dialect)> = OWN.map(own).into();
    seeds.push(("own".to_owned(), OWN[1].replace("x ^ y", "?"), Dialect::Getafix));
    let files = corpus().into_iter().filter(|file| file.source.text().len() <= MAX_BYTES);
    seeds.extend(files.map(|file| (file.path, file.source.text().to_owned(), file.dialect)));
    let count = number_from("CUSP_FUZZ").unwrap_or(4000);
    let range = number_from("CUSP_FUZZ_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut without_errors = 0;
    for seed in range.clone() {
        let mut rng = Rng::new(seed);
        let (path, text, dialect) = &seeds[rng.below(seeds.len())];
        let mut mutant = text.clone();
        for _ in 0..=rng.below(4) {
            mutant = mutate(&mutant, &mut rng);
        }
        match catch_unwind(AssertUnwindSafe(|| check(&mutant, *dialect))) {
            Ok(clean) => without_errors += u64::from(clean),
            Err(panic) => {
                let note = format!("CUSP_FUZZ_SEED={seed}: {path}, {dialect:?}\n{mutant}\n");
                std::io::stderr().write_all(note.as_bytes()).expect("stderr");
                resume_unwind(panic);
            }
        }
    }
    // If all mutants were broken, or none, the mutations would be of no use.
    let total = range.end - range.start;
    assert!(total < 1000 || (total / 20..total * 9 / 10).contains(&without_errors), "{without_errors}");
}

/// Whether the text is a program without errors.
fn check(text: &str, dialect: Dialect) -> bool {
    let source = Source::new("mutant", text);
    let (ast, diagnostics) = parse(&source, dialect);
    let fits =
        |span: Span| span.start <= span.end && text.get(span.start as usize..span.end as usize).is_some();
    for diagnostic in &diagnostics {
        assert!(fits(diagnostic.span), "{diagnostic:?}");
        assert!(diagnostic.related.as_ref().is_none_or(|(span, _)| fits(*span)), "{diagnostic:?}");
        let shown = render(&source, std::slice::from_ref(diagnostic), false);
        assert!(shown.contains(diagnostic.message.as_str()), "{shown}");
    }
    assert!(diagnostics.is_sorted_by_key(|d| d.span.start));
    assert!(ast.stmts.iter().map(|s| s.span).chain(ast.exprs.iter().map(|e| e.span)).all(fits));
    assert!(ast.comments.iter().all(|c| fits(c.span)));
    if has_errors(&diagnostics) {
        // Printing a broken program is of little use, but no reason to fail.
        let _ = print(&ast);
        return false;
    }
    printing_laws_hold("mutant", text, dialect)
}
