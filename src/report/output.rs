//! The only module that writes to standard output and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

/// Standard output and standard error. If the reader of the output has closed it, that is not an error, and later
/// output is discarded.
#[derive(Debug, Default)]
pub struct Output {
    closed: bool,
    failure: Option<io::Error>,
}

impl Output {
    /// Whether answers are coloured: on a terminal, unless `NO_COLOR` is set.
    #[must_use]
    pub fn colours_answers(&self) -> bool {
        AutoStream::choice(&io::stdout()) != ColorChoice::Never
    }

    /// Whether messages are coloured.
    #[must_use]
    pub fn colours_messages(&self) -> bool {
        AutoStream::choice(&io::stderr()) != ColorChoice::Never
    }

    /// The number of columns of a line of answers: that of the terminal if the shell exports it, otherwise 100.
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
        let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
        self.note(written);
    }

    /// Writes a text in the encoding of a file, without a change.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.closed {
            return;
        }
        let mut stream = io::stdout().lock();
        let written = stream.write_all(bytes).and_then(|()| stream.flush());
        self.note(written);
    }

    /// Remembers that nothing can be written any more.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.closed = true;
            self.failure = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }

    /// Writes a message to standard error. A failure is ignored, since it could not be reported anywhere.
    pub fn message(&mut self, text: &str) {
        let mut stream = anstream::stderr().lock();
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    /// Whether the reader of answers has closed the output.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The error that prevented answers from being written, if there was one. A closed output is not an error.
    #[must_use]
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }
}
