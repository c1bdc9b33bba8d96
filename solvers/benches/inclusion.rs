use cusp_encodings::*;
use cusp_solvers::qbf::*;
use cusp_solvers::*;
use std::time::{Duration, Instant};
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    f[11].parse::<f64>().unwrap() / 100.0
}
fn main() {
    let dir = "/work/shared/corpus/qbf";
    let pat = std::env::args().nth(1).unwrap_or_default();
    let lim: u64 = std::env::args().nth(2).map_or(15, |s| s.parse().unwrap());
    let man = std::fs::read_to_string(format!("{dir}/manifest.tsv")).unwrap();
    for l in man.lines().skip(1) {
        let mut f = l.split('\t');
        let name = f.next().unwrap();
        let exp = f.next().unwrap();
        if !name.contains(&pat) {
            continue;
        }
        let mut arena = TermArena::new();
        let q = Qcir::from_qcir(&std::fs::read_to_string(format!("{dir}/{name}.qcir")).unwrap(), &mut arena)
            .unwrap();
        let question = Question::from_qcir(&arena, &q).unwrap();
        let mut e = Embedded::new();
        let t0 = cpu();
        let w = Instant::now();
        let ans = e.solve(
            &mut arena,
            &question,
            &Limits { deadline: Some(Instant::now() + Duration::from_secs(lim)), ..Limits::NONE },
        );
        let t = cpu() - t0;
        let word = match &ans {
            QbfAnswer::True(_) => "true",
            QbfAnswer::False(_) => "false",
            QbfAnswer::Unknown(_) => "unknown",
        };
        let ver = if word != "unknown" {
            format!("{:?}", verify(&arena, &question, &ans, Proofs::Trusted, &Limits::NONE))
        } else {
            String::new()
        };
        println!(
            "{name} x{} y{} {exp} {word} {} cpu {t:.2} wall {:.2} {:?} {ver}",
            question.universal.len(),
            question.existential.len(),
            if word == exp {
                "ok"
            } else if word == "unknown" {
                "--"
            } else {
                "WRONG"
            },
            w.elapsed().as_secs_f64(),
            e.statistics()
        );
    }
}
