use std::time::Instant;
use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::engines::{Engine, explicit::Explicit};
use cusp::evidence::*;
use cusp::model::Property;
use cusp::progress::Quiet;
use cusp::syntax::ast::Dialect;
#[test]
fn timing() {
    let list = std::env::var("TIMING").unwrap_or_default();
    for item in list.split(';').filter(|s| !s.is_empty()) {
        let (path, threads) = item.split_once('@').unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let task = super::task(&text, Property::Assertions, threads.parse().ok(), Dialect::Boom);
        let a = Instant::now();
        let v = Explicit::default().run(&task, &Budget::unlimited(), &Quiet);
        let n = match &v { Verdict::Safe(Certificate::PathEdges(e)) => e.len(), Verdict::Safe(Certificate::SystemStates(e)) => e.len(), _ => 0 };
        let b = Instant::now();
        let c = certify(&task, v, &Budget::unlimited());
        println!("{path}: {n} states, engine {:?}, certify {:?} {}", b - a, b.elapsed(), c.is_ok());
    }
}
