//! `cusp cover`: reads a net, puts the question, and sends it down the [`pipeline`].

use std::path::Path;

use crate::budget::Budget;
use crate::diagnostic::{Diagnostic, Findings};
use crate::net::tts::state::parse_property;
use crate::net::tts::{self, InitialState, TargetState};
use crate::net::{Net, cm, spec};
use crate::pipeline::{self, Answer, Setup};
use crate::progress::Progress;
use crate::source::{LoadError, Source, Span};

/// How a net is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// MIST.
    Spec,
    /// BFC.
    Tts,
    /// Communicating machines.
    Cm,
}

impl Format {
    /// The format of files whose names have this ending.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending {
            "spec" => Some(Self::Spec),
            "tts" => Some(Self::Tts),
            "cm" => Some(Self::Cm),
            _ => None,
        }
    }

    /// By the ending of the name; where that says nothing, by the first word, which is a number in
    /// a thread transition system, and `vars` in a net.
    #[must_use]
    pub fn of(path: &Path, source: &Source) -> Self {
        if let Some(format) = path.extension().and_then(|ending| ending.to_str()).and_then(Self::of_ending) {
            return format;
        }
        let line = source.text().lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
        let word = line.and_then(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next());
        match word.unwrap_or_default() {
            "var" | "machine" | "target" => Self::Cm,
            word if word.starts_with(|c: char| c.is_ascii_digit()) => Self::Tts,
            _ => Self::Spec,
        }
    }
}

/// What is asked of a net.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where a thread transition system starts; `0/0` if nothing is said.
    pub initial: Option<InitialState>,
    /// What must not be covered, instead of what a `.prop` file says.
    pub targets: Vec<TargetState>,
    /// Who decides, and how.
    pub setup: Setup<Net>,
}

/// The texts of a net.
#[derive(Clone, Debug)]
pub struct Input {
    /// The net itself.
    pub source: Source,
    /// How it is written.
    pub format: Format,
    /// The `.prop` file beside a thread transition system, if there is one and it is asked for.
    pub property: Option<Source>,
}

impl Input {
    /// Reads a file, or standard input for `-`, and the `.prop` file beside it if the options name
    /// no target.
    ///
    /// # Errors
    /// When there is no such text.
    pub fn load(path: &Path, options: &Options) -> Result<Self, LoadError> {
        Self::load_unless(path, options, &|| false)
    }

    /// Like [`Input::load`], but ends when `stop` says so.
    ///
    /// # Errors
    /// The same, and if `stop` ended it.
    pub fn load_unless(path: &Path, options: &Options, stop: &dyn Fn() -> bool) -> Result<Self, LoadError> {
        let source = Source::load_unless(path, stop)?;
        let format = Format::of(path, &source);
        let beside = path.with_extension("prop");
        let wanted = format == Format::Tts && options.targets.is_empty();
        let property =
            if wanted && beside.is_file() { Some(Source::load_unless(&beside, stop)?) } else { None };
        Ok(Self { source, format, property })
    }
}

/// A net that was read without errors.
#[derive(Debug)]
pub struct Prepared {
    /// The net with its targets.
    pub net: Net,
    /// Warnings about the texts.
    pub warnings: Vec<Findings>,
    /// What was decided on the user's behalf, in plain sentences.
    pub notes: Vec<String>,
}

/// An answer about a net.
#[derive(Debug)]
pub struct Covered {
    /// The question.
    pub prepared: Box<Prepared>,
    /// The answer.
    pub answer: Answer<Net>,
}

/// Checks one net.
///
/// # Errors
/// All findings about the texts, if they are not a net.
pub fn cover(
    input: &Input,
    options: &Options,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Covered, Vec<Findings>> {
    let prepared = Box::new(prepare_within(input, options, budget)?);
    let answer = pipeline::answer(&prepared.net, options.setup, budget, progress);
    Ok(Covered { prepared, answer })
}

/// Reads a net and what is asked of it.
///
/// # Errors
/// All findings about the texts, if at least one of them is an error.
pub fn prepare(input: &Input, options: &Options) -> Result<Prepared, Vec<Findings>> {
    prepare_within(input, options, &Budget::unlimited())
}

/// Reads a net and what is asked of it. When the budget is used up, reading ends early; the result is then only good for
/// saying so.
///
/// # Errors
/// All findings about the texts, if at least one of them is an error.
pub fn prepare_within(input: &Input, options: &Options, budget: &Budget) -> Result<Prepared, Vec<Findings>> {
    let stop = || budget.exhausted().is_some();
    let about_net = |diagnostics| vec![Findings { about_property: false, diagnostics }];
    let complete = |ending: &str| {
        if options.initial.is_none() && options.targets.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`--initial` and `--target` are for thread transition systems; \
             a `{ending}` file says itself where it starts and what must not be covered"
        );
        Err(about_net(vec![Diagnostic::error(Span::default(), message)]))
    };
    let mut prepared = match input.format {
        Format::Spec => {
            complete(".spec")?;
            let (net, warnings) = spec::parse_unless(&input.source, &stop).map_err(about_net)?;
            Prepared { net, warnings: about_net(warnings), notes: Vec::new() }
        }
        Format::Tts => prepare_tts(input, options, budget)?,
        Format::Cm => {
            complete(".cm")?;
            let (system, mut warnings) = cm::parse_unless(&input.source, &stop).map_err(about_net)?;
            let (net, more) = cm::compile(&system).map_err(about_net)?;
            warnings.extend(more);
            Prepared { net, warnings: about_net(warnings), notes: Vec::new() }
        }
    };
    prepared.warnings.retain(|findings| !findings.diagnostics.is_empty());
    // Those of communicating machines are not in the text, and weakening them changes no verdict.
    if !prepared.net.is_monotone() && input.format != Format::Cm {
        let note = "there are zero tests (`=`, `in`): they are weakened to `>=` to prove safety, and \
                    obeyed in runs that are shown";
        prepared.notes.push(note.to_owned());
    }
    if prepared.net.targets.is_empty() {
        prepared.notes.push("no target can be met, so nothing can go wrong".to_owned());
    }
    Ok(prepared)
}

fn prepare_tts(input: &Input, options: &Options, budget: &Budget) -> Result<Prepared, Vec<Findings>> {
    let mut errors = Vec::new();
    let mut fail = |about_property, diagnostics| errors.push(Findings { about_property, diagnostics });
    let stop = || budget.exhausted().is_some();
    let system = tts::parse_unless(&input.source, &stop).map_err(|found| fail(false, found)).ok();
    let targets = match (&input.property, &options.targets[..]) {
        (Some(property), []) => parse_property(property).map_err(|found| fail(true, found)).ok(),
        (None, []) => {
            let message = "nothing is said about what must not be covered";
            let help =
                "name it with `--target`, such as `--target '2|11,11'`, or in a `.prop` file beside it";
            fail(false, vec![Diagnostic::error(Span::default(), message).help(help)]);
            None
        }
        (_, targets) => Some(targets.to_vec()),
    };
    let initial = options.initial.clone().unwrap_or_default();
    let (Some((system, warnings)), Some(targets)) = (system, targets) else { return Err(errors) };
    if let Some(message) = missing_state(&system, initial.shared, initial.locals()) {
        let message = format!("the initial state `{initial}` is impossible: {message}");
        fail(false, vec![Diagnostic::error(Span::default(), message)]);
        return Err(errors);
    }
    let mut possible = Vec::new();
    let mut impossible = Vec::new();
    for target in targets {
        match missing_state(&system, target.shared, target.threads.keys().copied()) {
            None => possible.push(target),
            Some(message) => impossible.push((target, message)),
        }
    }
    if input.property.is_none() && !impossible.is_empty() {
        // A typing error on the command line must not become a proof.
        let error = |(target, message): &(TargetState, String)| {
            Diagnostic::error(target.span, format!("the target `{target}` is impossible: {message}"))
        };
        fail(false, impossible.iter().map(error).collect());
        return Err(errors);
    }
    // Files of other tools have such targets.
    let warning = |(target, message): &(TargetState, String)| {
        Diagnostic::warning(target.span, format!("target `{target}` cannot be covered: {message}"))
    };
    let about_targets = impossible.iter().map(warning).collect();
    let warnings = vec![
        Findings { about_property: false, diagnostics: warnings },
        Findings { about_property: true, diagnostics: about_targets },
    ];
    Ok(Prepared { net: system.net_unless(&initial, &possible, &stop), warnings, notes: Vec::new() })
}

/// What is not there, if something is not.
fn missing_state(system: &tts::System, shared: u32, mut locals: impl Iterator<Item = u32>) -> Option<String> {
    if !system.has_shared(shared) {
        return Some(format!("there is no shared state {shared}"));
    }
    locals.find(|&local| !system.has_local(local)).map(|local| format!("there is no local state {local}"))
}
