//! The families of programs with threads: every engine has the right verdict or none, and the bugs show with
//! as many threads as the generators say, and not with fewer.

#[path = "../benches/families/mod.rs"]
mod families;
mod support;

use cusp::check::{Options, prepare};
use cusp::cli::parse_check_options;
use cusp::model::Task;
use cusp::pipeline::table::Choice;
use cusp::source::Source;
use families::Variant;
use families::threads::{ALL, Family};
use support::engines::{Said, engines, run};

/// Engines that decide every small member.
const COMPLETE: [&str; 2] = ["auto", "explicit"];

fn options(family: &Family, threads: Option<u32>) -> Options {
    parse_check_options(&family.options(threads).join(" ")).expect("options of `cusp check`")
}

fn source(family: &Family, size: usize, variant: Variant) -> Source {
    Source::new(format!("{}_{size}_{}.bp", family.name, variant.name()), (family.text)(size, variant))
}

/// What an engine says about a member; a rejected proof or a panic is an error.
fn ask(family: &Family, (size, threads): (usize, u32), variant: Variant, engine: Choice<Task>) -> Said {
    let source = source(family, size, variant);
    let name = engine.name();
    let mut options = options(family, Some(threads));
    // One looks for bugs only, the other needs a great depth for most proofs: both would go on for ever.
    options.setup.bounds.depth = matches!(name, "bmc" | "kinduction").then_some(8);
    let said = run(&source, &options, engine);
    said.unwrap_or_else(|why| panic!("{} {size}, {threads} threads, {name}: {why}", family.name))
}

#[test]
fn every_engine_has_the_right_verdict_on_small_members_or_none() {
    for family in ALL {
        for (&(size, threads), variant) in family.small.iter().flat_map(|m| Variant::ALL.map(|v| (m, v))) {
            let right = family.verdict(size, variant, Some(threads));
            for (name, engine) in engines() {
                let said = ask(&family, (size, threads), variant, engine);
                let excused = matches!(said, Said::Unknown(_)) && !COMPLETE.contains(&name);
                assert!(
                    excused || said.word() == right,
                    "{} {size} {}, {threads} threads: {name} says {said:?}, but it is {right}",
                    family.name,
                    variant.name()
                );
            }
        }
    }
}

/// One thread fewer shows no bug; the safe variant has none with one thread more.
#[test]
fn bugs_show_with_the_fewest_threads_and_not_with_fewer() {
    let explicit = Choice::named("explicit").expect("the reference");
    for family in ALL {
        let size = family.small[0].0;
        let fewest = (family.fewest)(size);
        let expected = [
            (Variant::Buggy, fewest, Said::Unsafe),
            (Variant::Buggy, fewest - 1, Said::Safe),
            (Variant::Safe, fewest + 1, Said::Safe),
        ];
        for (variant, threads, right) in expected {
            let said = ask(&family, (size, threads), variant, explicit);
            assert_eq!(said, right, "{} {size} {}, {threads} threads", family.name, variant.name());
        }
    }
}

/// The generators are checked too: every member is read without a warning, up to the largest.
#[test]
fn every_member_is_a_program_with_threads() {
    for family in ALL {
        for (&(size, threads), variant) in
            family.small.iter().chain(family.members).flat_map(|member| Variant::ALL.map(|v| (member, v)))
        {
            for threads in [Some(threads), None] {
                let source = source(&family, size, variant);
                let prepared = prepare(&source, &options(&family, threads)).unwrap_or_else(|findings| {
                    panic!("{}", cusp::diagnostic::render(&source, &findings, false))
                });
                assert!(prepared.warnings.is_empty(), "{} {size}: {:?}", family.name, prepared.warnings);
                let alone = family.replicates && threads == Some(1);
                assert_eq!(prepared.task.program.starts_threads, !alone, "{} {size}", family.name);
            }
        }
    }
}

/// Whatever is scrambled matters: it is not found to be irrelevant, and each family is as hard as it looks.
#[test]
fn no_variable_is_irrelevant() {
    for family in ALL {
        let (size, _) = family.small[family.small.len() - 1];
        for variant in Variant::ALL {
            let source = source(&family, size, variant);
            let prepared = prepare(&source, &options(&family, Some(2)));
            let task = prepared.unwrap_or_else(|_| panic!("{} is a program", family.name)).task;
            let relevance = cusp::threads::relevance::Relevance::of(&task);
            let locals = task.program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
            let all = (task.program.globals.len(), locals);
            assert_eq!(relevance.counts(), all, "{} {size} {}", family.name, variant.name());
        }
    }
}
