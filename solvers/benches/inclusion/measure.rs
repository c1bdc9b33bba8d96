//! CPU time of this process, and of an external solver with a limit on it.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// CPU time of this thread; wall-clock time where the system does not tell.
pub fn cpu_time() -> Duration {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedule.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(wall_time, Duration::from_nanos)
}

fn wall_time() -> Duration {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// CPU time of all children that have ended; the system counts in hundredths of a second.
fn children_time() -> Duration {
    let ticks = fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        let mut numbers = text.rsplit(')').next()?.split_ascii_whitespace().skip(13);
        Some(numbers.next()?.parse::<u64>().ok()? + numbers.next()?.parse::<u64>().ok()?)
    });
    ticks.map_or_else(wall_time, |ticks| Duration::from_millis(ticks * 10))
}

/// Whether the external solver is installed and wanted: `CUSP_EXTERNAL=no` leaves it out.
pub fn has_external() -> bool {
    use std::sync::OnceLock;
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        std::env::var_os("CUSP_EXTERNAL").is_none_or(|wanted| wanted != "no")
            && quiet(Command::new("depqbf").arg("--version")).is_ok()
    })
}

/// The answer of the external solver within so much CPU time.
pub fn external_answer(text: &str, limit: Duration) -> io::Result<(Option<bool>, Duration)> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    let start = children_time();
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -t {}; exec depqbf \"$0\"", limit.as_secs()))
        .arg(file.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let answer = match status.code() {
        Some(10) => Some(true),
        Some(20) => Some(false),
        _ => None,
    };
    Ok((answer, children_time().saturating_sub(start)))
}
