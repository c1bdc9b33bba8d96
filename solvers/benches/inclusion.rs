//! Inclusion of parametric sets, forall-exists questions and incremental unrolling.
//!
//! `cargo bench -p cusp-solvers --bench inclusion` prints CSV: the 25 instances of the corpus (15 s each),
//! generated pairs of 10 to 400 bits (20 s each) and 1,000 queries on a growing unrolling. Every verdict is
//! checked: against the manifest, against what a family knows, by the certificate, and against `depqbf` on the
//! same question as QDIMACS if it is installed. Times are CPU time, so a busy machine does not count.
//!
//! Arguments select parts: `corpus`, `generated`, `unrolling`; `CUSP_WRITE=dir` also writes the generated
//! questions as QDIMACS files, `CUSP_SEED` is the first of three seeds. The matching of shapes was tuned on the
//! default seeds, 1 to 3; what is said about fresh instances should come from others.

#[path = "../tests/common/corpus.rs"]
mod corpus;
#[path = "inclusion/families.rs"]
mod families;
#[path = "inclusion/measure.rs"]
mod measure;
#[path = "../tests/common/qcir.rs"]
mod qcir;
#[path = "../tests/common/random.rs"]
#[allow(dead_code, reason = "shared with the tests of SAT solvers")]
mod random;
#[path = "../tests/common/sets.rs"]
mod sets;
#[path = "inclusion/unrolling.rs"]
mod unrolling;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use cusp_encodings::{CnfStyle, Qcnf, TermArena};
use cusp_solvers::Limits;
use cusp_solvers::inclusion::{self, Inclusion, InclusionAnswer};
use cusp_solvers::qbf::{self, Embedded, Proofs, QbfAnswer, QbfSolver, Question};

use crate::families::FAMILIES;
use crate::measure::{cpu_time, external_answer, has_external};
use crate::random::Rng;

/// Answers within the limit and time, of one solver on one family.
#[derive(Default)]
struct Score {
    questions: u32,
    decided: u32,
    seconds: f64,
}

impl Score {
    fn count(&mut self, is_decided: bool, time: Duration, limit: Duration) {
        self.questions += 1;
        self.decided += u32::from(is_decided);
        self.seconds += if is_decided { time } else { limit }.as_secs_f64();
    }
}

fn main() -> io::Result<()> {
    let parts: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let mut out = io::stdout().lock();
    writeln!(out, "part,family,bits,seed,solver,answer,layer,cpu_ms")?;
    if is_wanted("corpus") {
        run_corpus(&mut out)?;
    }
    if is_wanted("generated") {
        run_generated(&mut out)?;
    }
    if is_wanted("unrolling") {
        unrolling::run(&mut out)?;
    }
    Ok(())
}

fn within(limit: Duration) -> Limits {
    Limits { deadline: Some(Instant::now() + limit), ..Limits::NONE }
}

fn word(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "true",
        Some(false) => "false",
        None => "unknown",
    }
}

fn truth(answer: &QbfAnswer) -> Option<bool> {
    match answer {
        QbfAnswer::True(_) => Some(true),
        QbfAnswer::False(_) => Some(false),
        QbfAnswer::Unknown(_) => None,
    }
}

fn run_corpus(out: &mut impl Write) -> io::Result<()> {
    let limit = Duration::from_secs(15);
    let mut score = Score::default();
    for instance in corpus::instances() {
        let mut arena = TermArena::new();
        let question = qcir::read(&instance.qcir, &mut arena);
        let (answer, time) = solve_embedded(&mut arena, &question, limit);
        assert!(
            answer.is_none_or(|answer| answer == instance.is_true),
            "{} is answered wrongly",
            instance.name
        );
        score.count(answer.is_some(), time, limit);
        let (name, digits) = instance.name.split_at(instance.name.len() - 3);
        let bits: usize = digits.parse().unwrap_or(0);
        writeln!(out, "corpus,{name},{bits},0,embedded,{},,{}", word(answer), milliseconds(time))?;
    }
    writeln!(
        out,
        "summary,corpus,,,embedded,{} of {},,{:.0}",
        score.decided,
        score.questions,
        score.seconds * 1e3
    )
}

/// The embedded solver on a question; its certificate is checked outside of the time.
fn solve_embedded(arena: &mut TermArena, question: &Question, limit: Duration) -> (Option<bool>, Duration) {
    let start = cpu_time();
    let answer = Embedded::new().solve(arena, question, &within(limit));
    let time = cpu_time().saturating_sub(start);
    if !matches!(answer, QbfAnswer::Unknown(_)) {
        let verdict = qbf::verify(arena, question, &answer, Proofs::Trusted, &Limits::NONE);
        assert_eq!(verdict, Ok(()), "the certificate is rejected");
    }
    (truth(&answer), time)
}

fn run_generated(out: &mut impl Write) -> io::Result<()> {
    let limit = Duration::from_secs(20);
    let solvers = ["inclusion", "embedded", "depqbf"];
    let first: u64 = std::env::var("CUSP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut totals = [0.0; 3];
    for (family, make) in FAMILIES {
        let mut scores = [(); 3].map(|()| Score::default());
        for bits in [10, 20, 50, 100, 200, 400] {
            for seed in first..first + 3 {
                let mut arena = TermArena::new();
                let pair = make(&mut Rng(seed * 1000 + bits as u64), &mut arena, bits);
                let question = sets::inclusion(&mut arena, &pair.smaller, &pair.larger);
                let Question { universal, existential, matrix } = &question;
                let style = CnfStyle::PlaistedGreenbaum;
                let text = Qcnf::encode(&arena, universal, existential, *matrix, style).to_string();
                if let Some(directory) = std::env::var_os("CUSP_WRITE") {
                    let name = format!("{family}{bits:03}_{seed}.qdimacs");
                    std::fs::write(std::path::Path::new(&directory).join(name), &text)?;
                }

                let start = cpu_time();
                let mut checker = Inclusion::new();
                let answer = checker.check(&mut arena, &pair.smaller, &pair.larger, &[], &within(limit));
                let time = cpu_time().saturating_sub(start);
                let layer = answer.layer().map_or("", |layer| layer.name());
                let layered = match &answer {
                    InclusionAnswer::Included(..) => Some(true),
                    InclusionAnswer::NotIncluded(..) => Some(false),
                    InclusionAnswer::Claimed(_) | InclusionAnswer::Unknown(_) => None,
                };
                if layered.is_some() {
                    let (smaller, larger) = (&pair.smaller, &pair.larger);
                    let verdict =
                        inclusion::verify(&arena, smaller, larger, &answer, Proofs::Trusted, &Limits::NONE);
                    assert_eq!(verdict, Ok(()), "the certificate is rejected");
                }
                let (embedded, embedded_time) = solve_embedded(&mut arena, &question, limit);
                let mut results = vec![(layered, layer, time), (embedded, "", embedded_time)];
                if has_external() {
                    let (answer, time) = external_answer(&text, limit)?;
                    results.push((answer, "", time));
                }
                let mut known = pair.is_included;
                for ((solver, score), (answer, layer, time)) in solvers.iter().zip(&mut scores).zip(results) {
                    known = known.or(answer);
                    assert!(answer.is_none() || answer == known, "{family} {bits} {seed}: disagreement");
                    if bits <= 200 {
                        score.count(answer.is_some(), time, limit);
                    }
                    let (answer, time) = (word(answer), milliseconds(time));
                    writeln!(out, "generated,{family},{bits},{seed},{solver},{answer},{layer},{time}")?;
                }
            }
        }
        for ((solver, score), total) in solvers.iter().zip(&scores).zip(&mut totals) {
            let (decided, questions) = (score.decided, score.questions);
            if questions > 0 {
                let time = score.seconds * 1e3;
                writeln!(out, "summary,{family},10-200,,{solver},{decided} of {questions},,{time:.0}")?;
            }
            *total += score.seconds;
        }
        if has_external() {
            // Time-outs count at the limit. The line of the third family is the bar.
            let ratio = totals[2] / totals[1];
            writeln!(out, "summary,all up to {family},10-200,,depqbf/embedded,{ratio:.1},,")?;
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}
