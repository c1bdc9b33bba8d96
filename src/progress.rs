//! What a run is doing, for a person who waits.

/// Where engines say what they are doing. They may say it at every step.
pub trait Progress: Sync {
    /// One short line, such as `12 heads, 3 summaries`.
    fn say(&self, line: &dyn Fn() -> String);
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn say(&self, _line: &dyn Fn() -> String) {}
}
