//! Every net of the shared corpus is read, written and read again.

use cusp::cli::parse_cover_options;
use cusp::cover::{Format, Input, prepare};
use cusp::net::spec;
use cusp::net::tts;
use cusp::net::{Net, Transition};
use cusp::source::{Source, Span};

use crate::support::corpus::manifest;

/// The net without places in the text.
fn without_spans(mut net: Net) -> Net {
    net.transitions =
        net.transitions.into_iter().map(|t| Transition { span: Span::default(), ..t }).collect();
    net.targets.iter_mut().for_each(|target| target.span = Span::default());
    net.claims.iter_mut().for_each(|claim| claim.span = Span::default());
    net
}

#[test]
fn every_net_of_the_corpus_is_read_written_and_read_again() {
    let mut warned = 0;
    for format in ["spec", "tts"] {
        for entry in manifest(format) {
            let options = parse_cover_options(&entry.options).expect("the manifest's options are ours");
            let input = Input::load(&entry.path, &options).expect("a text");
            let prepared = prepare(&input, &options).unwrap_or_else(|errors| {
                panic!("{}: {:?}", entry.name, errors.first().and_then(|e| e.diagnostics.first()))
            });
            warned += usize::from(!prepared.warnings.is_empty());
            match input.format {
                Format::Spec => {
                    let text = spec::print(&prepared.net).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
                    let (again, warnings) = spec::parse(&Source::new("again", text)).expect("our own text");
                    assert_eq!(without_spans(prepared.net), without_spans(again), "{}", entry.name);
                    assert!(warnings.is_empty(), "{}: {warnings:?}", entry.name);
                }
                Format::Tts => {
                    let (system, _) = tts::parse(&input.source).expect("read before");
                    let (again, _) =
                        tts::parse(&Source::new("again", tts::print(&system))).expect("our own text");
                    let initial = options.initial.clone().unwrap_or_default();
                    let net = |system: &tts::System| without_spans(system.net(&initial, &[]));
                    assert_eq!(net(&system), net(&again), "{}", entry.name);
                }
                Format::Cm => unreachable!("the manifest was asked for other formats"),
            }
        }
    }
    assert!(warned < 30, "{warned} files of the corpus have warnings");
}
