//! Reading large programs: 10,000 procedures, 200,000 statements, nesting 100,000 deep.
//!
//! Prints CSV. The baseline of the ratio is one pass over the bytes of the same text, so that the
//! figure means the same on a slow machine.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use cusp::budget::resident_memory;
use cusp::check::{Options, prepare};
use cusp::model::Program;
use cusp::source::Source;

/// `procedures` procedures of 20 statements each, with calls, branches and loops.
fn wide(procedures: usize) -> String {
    let mut text = String::from("decl g0, g1, g2, g3;\nvoid main() begin\n  p0(T);\nend\n");
    for i in 0..procedures {
        let next = (i + 1) % procedures;
        let _ = write!(
            text,
            "bool p{i}(a) begin
  decl x, y, z;
  x, y := g0 & (a | !g1), *;
  L: if (x) then
    z := schoose[x & y, !x];
    g2 := !g2;
  else
    skip;
    assume(!x | y);
  fi
  while (*) do
    x := x ^ y constrain ('x | !x);
    if (g3) then goto L; fi
  od
  if (y) then
    y := p{next}(x);
    assert(y | !y);
  elsif (z) then
    g1 := z = y;
  fi
  dead x;
  goto M, N;
  M: g0 := F;
  N: g3 := a & z;
  return y;
end
"
        );
    }
    text
}

fn deep_ifs(depth: usize) -> String {
    let open = "if (*) then\n".repeat(depth);
    let close = "fi;\n".repeat(depth);
    format!("void main() begin\n{open}skip;\n{close}assert(T);\nend\n")
}

fn deep_parentheses(depth: usize) -> String {
    format!("decl g;\nvoid main() begin\nassert({}g{});\nend\n", "(!".repeat(depth), ")".repeat(depth))
}

fn statements(program: &Program) -> usize {
    program.procedures.iter().map(|procedure| procedure.edges.len()).sum()
}

fn main() {
    println!("family,bytes,procedures,edges,read_ms,ratio_to_byte_scan,resident_mb");
    let families = [
        ("wide", wide(10_000)),
        ("wide", wide(20_000)),
        ("deep_if", deep_ifs(100_000)),
        ("deep_parentheses", deep_parentheses(100_000)),
    ];
    for (family, text) in families {
        let source = Source::new(family, text);
        let start = Instant::now();
        let newlines =
            (0..20).map(|_| black_box(source.text()).bytes().filter(|&b| b == b'\n').count()).sum::<usize>();
        let scan = start.elapsed().as_secs_f64() / 20.0;
        black_box(newlines);
        let mut times: Vec<f64> = Vec::new();
        let mut shape = (0, 0);
        for _ in 0..5 {
            let start = Instant::now();
            let prepared = prepare(black_box(&source), &Options::default());
            times.push(start.elapsed().as_secs_f64());
            let program = &prepared.as_ref().expect("the families are programs").task.program;
            shape = (program.procedures.len(), statements(program));
        }
        times.sort_by(f64::total_cmp);
        let memory = resident_memory().map_or(0, |bytes| bytes >> 20);
        println!(
            "{family},{},{},{},{:.1},{:.0},{memory}",
            source.text().len(),
            shape.0,
            shape.1,
            times[2] * 1e3,
            times[2] / scan,
        );
    }
}
