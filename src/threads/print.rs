//! Prints a thread system as text: locations with their steps, cuts marked.

use std::fmt::{self, Display, Formatter};

use super::{Holding, Location, Step, ThreadSystem};

impl Display for ThreadSystem<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program();
        let globals: Vec<&str> =
            self.relevance.globals().map(|global| program.globals[global as usize].name.as_str()).collect();
        writeln!(f, "shared {}", if globals.is_empty() { "nothing".to_owned() } else { globals.join(", ") })?;
        writeln!(f, "start {}", self.start)?;
        for location in self.locations() {
            let mark = if self.is_cut(location) { "*" } else { " " };
            write!(f, "{mark} {location} {}", self.place_text(location))?;
            let live: Vec<String> =
                self.live(location).iter().map(|position| self.value_name(location, position)).collect();
            if !live.is_empty() {
                write!(f, " [{}]", live.join(" "))?;
            }
            match self.holding(location) {
                Holding::Never => {}
                Holding::Always => write!(f, " holds")?,
                Holding::Mixed => write!(f, " may hold")?,
            }
            if self.is_forbidden(location) {
                write!(f, " forbidden")?;
            }
            writeln!(f)?;
            for (_, step) in self.steps_from(location) {
                writeln!(f, "      {}", self.step_text(step))?;
            }
        }
        Ok(())
    }
}

impl ThreadSystem<'_> {
    /// The names of the procedures of a location's stack, and the node of the last one.
    fn place_text(&self, location: Location) -> String {
        let stack = self.stack(location);
        let names = stack.iter().map(|&(procedure, _)| self.program().procedure(procedure).name.as_str());
        let node = stack.last().map_or_else(String::new, |(_, node)| node.to_string());
        format!("{}:{node}", names.collect::<Vec<_>>().join("/"))
    }

    /// The name of the variable at a position of a thread's values.
    #[must_use]
    pub fn value_name(&self, location: Location, position: usize) -> String {
        let mut context = self.context(location);
        loop {
            match context.caller {
                Some((caller, _)) if position < context.base as usize => {
                    context = &self.contexts[caller.index()];
                }
                _ => break,
            }
        }
        let locals = &self.program().procedure(context.procedure).locals;
        let local = position - context.base as usize;
        locals.get(local).map_or_else(|| format!("value {position}"), |variable| variable.name.clone())
    }

    fn step_text(&self, step: &Step) -> String {
        let action = match self.edge(step) {
            None => "return".to_owned(),
            Some(edge) => self.program().action_text(self.context(step.from).procedure, &edge.action),
        };
        let to = step.to.map_or_else(|| "end".to_owned(), |to| to.to_string());
        match step.creates {
            None => format!("{action} -> {to}"),
            Some(created) => format!("{action} -> {to} and {created}"),
        }
    }
}
