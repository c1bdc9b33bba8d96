//! Reports about nets for machines: one JSON object for each file.
//!
//! They begin with the [`Header`] that all answers have, followed by these fields:
//!
//! | field | when | meaning |
//! |---|---|---|
//! | `net` | always | numbers of `places`, `transitions` and `targets`; `threads`: whether tokens are threads; `parametric`: whether the start has parameters; `zero_tests` |
//! | `proof` | `safe` | `kind`: `basis` or `coverability-set`; `size`: elements; `most`: threads or tokens in one of them; `invariants`, `never_marked`: how many take part; with `--proof`, `evidence`; absent if `engine` is `auto` |
//! | `target` | `unsafe` | the target that is met: `place`, `text` |
//! | `run` | `unsafe`, unless `--trace none` | see [`Run`] |
//!
//! A marking is an object that maps names of places to numbers of tokens; places that are not listed are empty. In
//! coverability sets, a number may also be the word `omega`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::header::{Header, line};
use super::{SourceRange, Statement};
use crate::evidence::net::{OmegaMarking, Tokens};
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict};
use crate::net::{Marking, Net, PlaceId, Target};
use crate::pipeline::table::AUTO;
use crate::report::nets::{NetSubject, changed, markings, most_threads};

/// The report about one file.
#[derive(Debug, Serialize)]
pub struct NetReport<'a> {
    #[serde(flatten)]
    header: Header<'a>,
    net: Size,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Statement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run<'a>>,
}

/// The size of a net, and some of its properties.
#[derive(Debug, Serialize)]
pub struct Size {
    places: usize,
    transitions: usize,
    targets: usize,
    threads: bool,
    parametric: bool,
    zero_tests: bool,
}

/// The kind and size of the proof that no target can be covered.
#[derive(Debug, Serialize)]
pub struct Proof<'a> {
    kind: &'static str,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invariants: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never_marked: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence<'a>>,
}

/// The complete proof.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Evidence<'a> {
    /// See [`crate::evidence::net::UncoverabilityBasis`].
    Basis {
        /// Places that no run marks.
        never_marked: Vec<&'a str>,
        /// The linear invariants.
        invariants: Vec<Invariant<'a>>,
        /// The minimal elements.
        elements: Vec<Counts<'a>>,
    },
    /// See [`NetCertificate::CoverabilitySet`].
    CoverabilitySet {
        /// The maximal elements.
        elements: Vec<Limits<'a>>,
    },
}

/// See [`crate::evidence::net::LinearInvariant`].
#[derive(Debug, Serialize)]
pub struct Invariant<'a> {
    weights: Counts<'a>,
    bound: u64,
}

/// A run that covers a target.
#[derive(Debug, Serialize)]
pub struct Run<'a> {
    /// The largest number of threads, or tokens, at once.
    most: u64,
    initial: Counts<'a>,
    steps: Vec<Step<'a>>,
    /// The last marking.
    last: Counts<'a>,
}

/// One firing: the number of the transition, its source text, and the places that changed.
#[derive(Debug, Serialize)]
pub struct Step<'a> {
    transition: usize,
    #[serde(flatten)]
    statement: Statement,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<Choice<'a>>,
    changes: Counts<'a>,
}

/// The destinations of the tokens of a place that had a choice.
#[derive(Debug, Serialize)]
pub struct Choice<'a> {
    from: &'a str,
    to: Counts<'a>,
}

/// Numbers of tokens by the names of places, written as an object.
#[derive(Debug)]
pub struct Counts<'a>(Vec<(&'a str, u64)>);

impl<'a> Counts<'a> {
    fn new(net: &'a Net, counts: impl IntoIterator<Item = (PlaceId, u64)>) -> Self {
        Self(counts.into_iter().map(|(place, n)| (net.place(place).name.as_str(), n)).collect())
    }

    fn of(net: &'a Net, marking: &Marking) -> Self {
        Self::new(net, marking.iter())
    }
}

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, n) in &self.0 {
            map.serialize_entry(name, n)?;
        }
        map.end()
    }
}

/// Limits by the names of places, written as an object.
#[derive(Debug)]
pub struct Limits<'a>(Vec<(&'a str, Tokens)>);

impl<'a> Limits<'a> {
    fn of(net: &'a Net, ideal: &OmegaMarking) -> Self {
        Self(ideal.limits().iter().map(|&(place, n)| (net.place(place).name.as_str(), n)).collect())
    }
}

impl Serialize for Limits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, tokens) in &self.0 {
            match tokens {
                Tokens::AtMost(n) => map.serialize_entry(name, n)?,
                Tokens::Omega => map.serialize_entry(name, "omega")?,
            }
        }
        map.end()
    }
}

/// Which parts of the evidence are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Neither the run nor the complete proof.
    Verdict,
    /// The run, and the size of the proof.
    Run,
    /// The run and the complete proof.
    Everything,
}

impl<'a> NetReport<'a> {
    /// The report about an answer. The header has the fields that do not depend on the verdict.
    #[must_use]
    pub fn checked(subject: &NetSubject<'a>, header: Header<'a>, extent: Extent) -> Self {
        let net = subject.net;
        // The file that the proof is written to may differ from run to run, but not what is printed.
        let is_named = !subject.by_chance || extent == Extent::Everything;
        let header = header.engine(if is_named { subject.engine } else { AUTO });
        let mut report = Self { header, net: Size::of(net), proof: None, target: None, run: None };
        match subject.certified.verdict() {
            NetVerdict::Safe(certificate) => {
                let everything = extent == Extent::Everything;
                report.proof = is_named.then(|| Proof::new(net, certificate, everything));
            }
            NetVerdict::Unsafe(run) => {
                let last = markings(net, run).pop().unwrap_or_default();
                report.target = net.target_met_by(&last).map(|target| target_of(subject, target));
                report.run = (extent != Extent::Verdict).then(|| Run::new(subject, run));
            }
            NetVerdict::Unknown(unknown) => report.header = report.header.reason(unknown, &[]),
        }
        report
    }

    /// The report as an object on one line.
    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }
}

fn target_of(subject: &NetSubject, target: &Target) -> Statement {
    let source = subject.property.unwrap_or(subject.source);
    Statement { place: SourceRange::new(source, target.span), text: subject.target(target) }
}

impl Size {
    fn of(net: &Net) -> Self {
        Self {
            places: net.places.len(),
            transitions: net.transitions.len(),
            targets: net.targets.len(),
            threads: net.has_threads(),
            parametric: net.initial.is_parametric(),
            zero_tests: !net.is_monotone(),
        }
    }
}

fn small(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

impl<'a> Proof<'a> {
    fn new(net: &'a Net, certificate: &NetCertificate, with_evidence: bool) -> Self {
        match certificate {
            NetCertificate::Basis(basis) => Self {
                kind: "basis",
                size: basis.elements.len(),
                most: basis.elements.iter().map(|element| small(net.threads(element))).max(),
                invariants: Some(basis.invariants.len()),
                never_marked: Some(basis.never_marked.len()),
                evidence: with_evidence.then(|| Evidence::Basis {
                    never_marked: basis.never_marked.iter().map(|&p| net.place(p).name.as_str()).collect(),
                    invariants: basis
                        .invariants
                        .iter()
                        .map(|i| Invariant { weights: Counts::of(net, &i.weights), bound: i.bound })
                        .collect(),
                    elements: basis.elements.iter().map(|element| Counts::of(net, element)).collect(),
                }),
            },
            NetCertificate::CoverabilitySet(set) => Self {
                kind: "coverability-set",
                size: set.len(),
                most: None,
                invariants: None,
                never_marked: None,
                evidence: with_evidence.then(|| Evidence::CoverabilitySet {
                    elements: set.iter().map(|ideal| Limits::of(net, ideal)).collect(),
                }),
            },
        }
    }
}

impl<'a> Run<'a> {
    fn new(subject: &NetSubject<'a>, run: &FiringSequence) -> Self {
        let net = subject.net;
        let markings = markings(net, run);
        let steps = run.steps.iter().zip(markings.windows(2)).map(|(step, pair)| Step {
            transition: step.transition.index(),
            statement: Statement::new(subject.source, net.transition(step.transition).span),
            choices: step
                .choices
                .iter()
                .map(|choice| Choice {
                    from: net.place(choice.from).name.as_str(),
                    to: Counts::of(net, &choice.to),
                })
                .collect(),
            changes: Counts::new(net, changed(&pair[0], &pair[1])),
        });
        Self {
            most: small(most_threads(net, run)),
            initial: Counts::of(net, &run.initial),
            steps: steps.collect(),
            last: markings.last().map_or(Counts(Vec::new()), |last| Counts::of(net, last)),
        }
    }
}
