//! Ctrl-C, and what it means at the moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::budget::Budget;

/// The user's wish to stop, and what it would interrupt.
pub(super) struct Interrupt {
    state: Mutex<State>,
    leave_at_once: fn(),
}

#[derive(Default)]
struct State {
    pressed: bool,
    phase: Phase,
}

/// What a first Ctrl-C means.
#[derive(Default)]
pub(super) enum Phase {
    /// The next file is not begun.
    #[default]
    Between,
    /// A thread that was left behind has to end before the next file is begun; the process ends instead.
    Waiting,
    /// What is being done ends, and what is known by then is shown.
    Working(Budget),
}

impl Interrupt {
    /// From now on, Ctrl-C comes here. Pressed twice, it ends the process.
    pub fn listen(leave_at_once: fn()) -> Arc<Self> {
        let interrupt = Arc::new(Self { state: Mutex::default(), leave_at_once });
        let listener = Arc::clone(&interrupt);
        // Without a handler, Ctrl-C ends the process, which will do.
        let _ = ctrlc::set_handler(move || {
            let mut state = listener.state();
            if std::mem::replace(&mut state.pressed, true) {
                leave_at_once();
            }
            listener.apply(&state);
        });
        interrupt
    }

    pub fn was_pressed(&self) -> bool {
        self.state().pressed
    }

    /// Ctrl-C means this as long as the guard lives.
    pub fn during(&self, phase: Phase) -> During<'_> {
        let mut state = self.state();
        state.phase = phase;
        if state.pressed {
            self.apply(&state);
        }
        During(self)
    }

    fn apply(&self, state: &State) {
        match &state.phase {
            Phase::Between => {}
            Phase::Waiting => (self.leave_at_once)(),
            Phase::Working(budget) => budget.interrupt(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ctrl-C means something special as long as this lives.
pub(super) struct During<'a>(&'a Interrupt);

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Between;
    }
}
