//! The one place that writes to standard output and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

/// Standard output and standard error. A reader that went away is not an error: what is
/// written after that is dropped.
#[derive(Debug, Default)]
pub struct Output {
    closed: bool,
    failure: Option<io::Error>,
}

impl Output {
    /// Whether answers are coloured: on a terminal, unless `NO_COLOR` says otherwise.
    #[must_use]
    pub fn colours_answers(&self) -> bool {
        AutoStream::choice(&io::stdout()) != ColorChoice::Never
    }

    /// Whether messages are coloured.
    #[must_use]
    pub fn colours_messages(&self) -> bool {
        AutoStream::choice(&io::stderr()) != ColorChoice::Never
    }

    /// Columns of a line of answers: those of the terminal if the shell exports them, or 100.
    #[must_use]
    pub fn width(&self) -> usize {
        let terminal = io::stdout().is_terminal();
        let columns = std::env::var("COLUMNS").ok().filter(|_| terminal);
        let columns = columns.and_then(|columns| columns.parse().ok());
        columns.map_or(100, |columns: usize| columns.clamp(60, 300))
    }

    /// Writes an answer.
    pub fn answer(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let mut stream = anstream::stdout().lock();
        if let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            self.closed = true;
            self.failure = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }

    /// Writes a message. There is nobody to tell when it fails.
    pub fn message(&mut self, text: &str) {
        let mut stream = anstream::stderr().lock();
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    /// Whether nobody reads answers any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Why answers could not be written, unless their reader just went away.
    #[must_use]
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }
}
