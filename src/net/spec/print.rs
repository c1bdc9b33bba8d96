//! Prints nets in the `.spec` format.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use crate::net::{Flow, Marking, Net, PlaceId, Range, Transition};

/// The reason why a net cannot be written in this format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASpec(pub String);

impl fmt::Display for NotASpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotASpec {}

/// The net as text. Parsing it yields the same net.
///
/// # Errors
/// If tokens of the net choose where to go, if it has no target, or if two places would have the same name: the
/// format cannot express these.
pub fn print(net: &Net) -> Result<String, NotASpec> {
    let names: Vec<String> = net.places.iter().map(|place| identifier(&place.name)).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return Err(NotASpec("two places would have the same name".to_owned()));
    }
    let mut out = String::from("vars\n");
    for line in names.chunks(8) {
        let _ = writeln!(out, "    {}", line.join(" "));
    }
    out.push_str("\nrules\n");
    for transition in &net.transitions {
        rule(transition, &names, &mut out)?;
    }
    out.push_str("\ninit\n");
    let start: Vec<String> = net
        .place_ids()
        .filter_map(|place| initial_atom(&names[place.index()], net.initial.range(place)))
        .collect();
    let _ = writeln!(out, "    {}", start.join(", "));
    out.push_str("\ntarget\n");
    if net.targets.is_empty() {
        return Err(NotASpec("the net has no target".to_owned()));
    }
    for target in &net.targets {
        let atoms = atoms(&target.least, &target.upper, &names);
        if atoms.is_empty() {
            let first = names.first().ok_or_else(|| NotASpec("the net has no places".to_owned()))?;
            let _ = writeln!(out, "    {first} >= 0");
        } else {
            let _ = writeln!(out, "    {}", atoms.join(", "));
        }
    }
    if !net.claims.is_empty() {
        out.push_str("\ninvariants\n");
        for claim in &net.claims {
            let weights: Vec<String> =
                claim.weights.iter().map(|(place, n)| format!("{}={n}", names[place.index()])).collect();
            let _ = writeln!(out, "    {}", weights.join(", "));
        }
    }
    Ok(out)
}

/// The name with all characters replaced that the format does not allow.
fn identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("x{name}") } else { name }
}

/// The atom for an initial range; `None` if the place may have any value, since such places are not mentioned.
fn initial_atom(name: &str, range: Range) -> Option<String> {
    match range {
        Range { least: 0, most: None } => None,
        Range { least, most: None } => Some(format!("{name} >= {least}")),
        Range { least, most: Some(most) } if least == most => Some(format!("{name} = {least}")),
        Range { least, most: Some(most) } => Some(format!("{name} in [{least}, {most}]")),
    }
}

fn atoms(least: &Marking, upper: &[(PlaceId, u64)], names: &[String]) -> Vec<String> {
    let places: BTreeSet<PlaceId> =
        least.iter().map(|(place, _)| place).chain(upper.iter().map(|&(place, _)| place)).collect();
    let most = |place| upper.iter().find(|&&(p, _)| p == place).map(|&(_, n)| n);
    let atom = |place: PlaceId| {
        initial_atom(&names[place.index()], Range { least: least.get(place), most: most(place) })
    };
    places.into_iter().filter_map(atom).collect()
}

fn rule(transition: &Transition, names: &[String], out: &mut String) -> Result<(), NotASpec> {
    let mut guards = atoms(&transition.take, &transition.upper, names);
    if guards.is_empty() {
        guards.push("true".to_owned());
    }
    let mut touched: BTreeSet<PlaceId> =
        transition.take.iter().chain(transition.give.iter()).map(|(place, _)| place).collect();
    for m in &transition.moves {
        let Flow::All(places) = &m.flow else {
            let message = format!("tokens in `{}` choose where to go", names[m.from.index()]);
            return Err(NotASpec(message));
        };
        touched.insert(m.from);
        touched.extend(places);
    }
    let updates: Vec<String> =
        touched.into_iter().filter_map(|place| update(transition, place, names)).collect();
    let _ = writeln!(out, "    {} ->\n        {};", guards.join(", "), updates.join(",\n        "));
    Ok(())
}

/// The update `x' = sources + constant`; `None` if the value does not change.
fn update(transition: &Transition, place: PlaceId, names: &[String]) -> Option<String> {
    let mut sources: Vec<PlaceId> = Vec::new();
    if transition.flow(place).is_none() {
        sources.push(place);
    }
    for m in &transition.moves {
        sources.extend(m.flow.places().iter().filter(|&&to| to == place).map(|_| m.from));
    }
    let taken: i128 = sources.iter().map(|&source| i128::from(transition.take.get(source))).sum();
    let constant = i128::from(transition.give.get(place)) - taken;
    if sources == [place] && constant == 0 {
        return None;
    }
    let mut text = format!("{}' = ", names[place.index()]);
    text.push_str(
        &sources.iter().map(|source| names[source.index()].as_str()).collect::<Vec<_>>().join(" + "),
    );
    match (sources.is_empty(), constant) {
        (true, _) => drop(write!(text, "{constant}")),
        (false, 0) => {}
        (false, _) if constant > 0 => drop(write!(text, " + {constant}")),
        (false, _) => drop(write!(text, " - {}", constant.unsigned_abs())),
    }
    Some(text)
}
