//! The reductions of the engine `interleavings` on the repaired Bluetooth driver: states, bytes and processor time.
//!
//! `cargo bench --bench interleavings -- [--threads N,..] [--bits K] [--only VARIANT]` prints CSV. The variants switch one
//! reduction off each; `plain` has none of them.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

#[path = "../tests/support/bluetooth.rs"]
mod bluetooth;

use cusp::budget::{Budget, Limits};
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::interleavings::Interleavings;
use cusp::progress::{Counting, Quiet};
use cusp::source::Source;
use cusp::threads::Reductions;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// More than this is not measured: other work runs beside.
const MEMORY: u64 = 3_500 << 20;

fn variants() -> [(&'static str, Interleavings); 6] {
    let all = Interleavings::default();
    let with = |relevance: bool, large_steps: bool| Reductions { relevance, large_steps };
    [
        ("all", all),
        ("without-persistent", Interleavings { persistent: false, ..all }),
        ("without-relevance", Interleavings { reductions: with(false, true), ..all }),
        ("without-large-steps", Interleavings { reductions: with(true, false), ..all }),
        ("without-symmetry", Interleavings { symmetry: false, ..all }),
        ("plain", Interleavings { reductions: Reductions::NONE, symmetry: false, persistent: false, ..all }),
    ]
}

/// The processor time of this process, in seconds.
fn processor_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the usage of this process");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}

fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bits = option(&args, "--bits").map_or(3, |bits| bits.parse().expect("a number of bits"));
    let threads = option(&args, "--threads").unwrap_or("4");
    let only = option(&args, "--only");
    let source = Source::new("bluetooth.bp", bluetooth::bluetooth(bits, true));
    println!("bits,threads,variant,verdict,states,alone,bytes per state,seconds,states per second");
    for threads in threads.split(',') {
        let bound = threads.parse().expect("a number of threads");
        let options = Options { threads: ThreadLimit::AtMost(bound), replicate: true, ..Options::default() };
        let Ok(prepared) = prepare(&source, &options) else { panic!("the driver is a program") };
        for (name, engine) in variants().into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name))
        {
            let limits = Limits { time: None, memory: Some(MEMORY) };
            let (budget, _watch) = Budget::start(limits);
            let counting = Counting::new(Box::new(Quiet));
            let begin = processor_time();
            let verdict = engine.run(&prepared.task, &budget, &counting);
            let seconds = processor_time() - begin;
            let counts = counting.counts();
            let count = |what: &str| counts.iter().find(|(name, _)| name == what).map_or(0, |(_, n)| *n);
            let (states, alone) = (count("states"), count("states from which not all threads are followed"));
            let bytes = count("bytes for states") as f64 / states.max(1) as f64;
            let speed = states as f64 / seconds;
            let word = verdict.word();
            println!("{bits},{threads},{name},{word},{states},{alone},{bytes:.1},{seconds:.2},{speed:.0}");
        }
    }
}
