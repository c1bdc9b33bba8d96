//! Progress as one line on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Progress, Quiet};

/// A line on standard error if that is a terminal and there is something to wait for; silence
/// otherwise. Dropping it clears the line.
#[must_use]
pub fn for_terminal(quiet: bool, what: &str) -> Box<dyn Progress> {
    if quiet || !stderr().is_terminal() {
        return Box::new(Quiet);
    }
    Box::new(Spinner::start(what.to_owned()))
}

/// The last line that an engine said, renewed only when somebody wants to see it.
#[derive(Debug, Default)]
struct LastLine {
    wanted: AtomicBool,
    text: Mutex<String>,
}

impl LastLine {
    /// Asks for the next line.
    fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for LastLine {
    /// One relaxed load, except after somebody asked.
    fn say(&self, line: &dyn Fn() -> String) {
        if self.wanted.load(Ordering::Relaxed) && self.wanted.swap(false, Ordering::Relaxed) {
            *self.text.lock().unwrap_or_else(PoisonError::into_inner) = line();
        }
    }
}

/// A line that is drawn by a thread of its own, so that the clock runs even while an engine is
/// silent.
struct Spinner {
    last: Arc<LastLine>,
    done: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Spinner {
    /// Short runs show nothing.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// Five redraws a second: drawing must never cost solver time.
    const PERIOD: Duration = Duration::from_millis(200);

    fn start(what: String) -> Self {
        let last = Arc::new(LastLine::default());
        let done = Arc::new(AtomicBool::new(false));
        let drawn = (Arc::clone(&last), Arc::clone(&done));
        // Without a thread, nothing is drawn, and the run goes on.
        let thread = std::thread::Builder::new().spawn(move || draw(&what, &drawn.0, &drawn.1)).ok();
        Self { last, done, thread: Mutex::new(thread) }
    }
}

/// Draws until it is told to stop, then clears the line.
fn draw(what: &str, last: &LastLine, done: &AtomicBool) {
    let begin = std::time::Instant::now();
    let over = || done.load(Ordering::Acquire);
    while !over() && begin.elapsed() < Spinner::PATIENCE {
        std::thread::park_timeout(Spinner::PATIENCE.saturating_sub(begin.elapsed()));
    }
    if over() {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5))
        .with_elapsed(begin.elapsed());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg} [{elapsed}]") {
        bar.set_style(style);
    }
    for hand in ['|', '/', '-', '\\'].into_iter().cycle() {
        last.want();
        std::thread::park_timeout(Spinner::PERIOD);
        if over() {
            break;
        }
        // The only call that draws.
        bar.set_message(format!("{hand} {what}: {}", last.text()));
    }
    bar.finish_and_clear();
}

impl Progress for Spinner {
    fn say(&self, line: &dyn Fn() -> String) {
        self.last.say(line);
    }

    fn end(&self) {
        self.done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            thread.thread().unpark();
            // If drawing panicked, there is nothing left to clear.
            let _ = thread.join();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_line_is_made_only_when_it_is_wanted() {
        let last = LastLine::default();
        let made = AtomicUsize::new(0);
        let say_often = || {
            for _ in 0..1000 {
                last.say(&|| format!("line {}", made.fetch_add(1, Ordering::Relaxed)));
            }
        };
        say_often();
        assert_eq!(made.load(Ordering::Relaxed), 0);
        last.want();
        say_often();
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(last.text(), "line 0");
        last.want();
        last.want();
        say_often();
        assert_eq!(last.text(), "line 1");
    }

    #[test]
    fn a_spinner_that_ends_early_draws_nothing_and_ends_at_once() {
        let spinner = Spinner::start("demo.bp".to_owned());
        spinner.say(&|| unreachable!("nobody waits yet"));
    }
}
