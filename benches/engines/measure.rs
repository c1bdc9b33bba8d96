//! One run of a command, mostly `cusp`, as a process, with its time and its peak memory.
//!
//! The system tells the peak memory of children that have ended, but only the largest of them. So the bench
//! starts itself once more, with [`MEASURE`] as first argument; that process has one child, and tells
//! what the system says about it in the last line of its output.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first argument of the process in between; the time after which the run is killed follows, then
/// the command.
pub const MEASURE: &str = "measure";

/// How long a run may go on after its time is over before it counts as one that does not stop.
const GRACE: Duration = Duration::from_secs(5);

/// Exit code of the process in between for a run that was killed.
pub const KILLED: i32 = 124;

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Safe,
    Unsafe,
    /// With the reason.
    Unknown(String),
    /// The evidence of the engine was rejected, or another internal error.
    Rejected(String),
    /// Ended otherwise.
    Crashed(String),
    /// Was killed, long after its time was over.
    Hung,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Measured {
    pub answer: Answer,
    pub wall: Duration,
    /// Of all threads.
    pub cpu: Duration,
    /// Kilobytes.
    pub peak: u64,
}

impl Measured {
    /// Its word in the table.
    pub fn word(&self) -> &'static str {
        match self.answer {
            Answer::Safe => "safe",
            Answer::Unsafe => "unsafe",
            Answer::Unknown(_) => "unknown",
            Answer::Rejected(_) => "rejected",
            Answer::Crashed(_) => "crashed",
            Answer::Hung => "hung",
        }
    }

    /// Why there is no answer, if there is none.
    pub fn reason(&self) -> &str {
        match &self.answer {
            Answer::Unknown(reason) | Answer::Rejected(reason) | Answer::Crashed(reason) => reason,
            Answer::Safe | Answer::Unsafe | Answer::Hung => "",
        }
    }

    /// Whether it ended for a limit, so that larger sizes need not be tried.
    pub fn is_spent(&self) -> bool {
        match &self.answer {
            Answer::Unknown(reason) => reason.contains("time limit") || reason.contains("memory limit"),
            Answer::Safe | Answer::Unsafe => false,
            Answer::Rejected(_) | Answer::Crashed(_) | Answer::Hung => true,
        }
    }

    /// What is wrong with it, if it is; the right verdict may not be known.
    pub fn complaint(&self, verdict: Option<&str>) -> Option<String> {
        match &self.answer {
            Answer::Unknown(_) => None,
            Answer::Safe | Answer::Unsafe => {
                verdict.filter(|right| *right != self.word()).map(|_| format!("WRONG: {}", self.word()))
            }
            Answer::Hung => Some("does not stop when its time is over".to_owned()),
            Answer::Rejected(why) | Answer::Crashed(why) => Some(format!("{}: {why}", self.word())),
        }
    }
}

/// What the system says about a command that has ended.
pub struct Ran {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub said: String,
    /// Its standard error.
    pub complained: String,
    pub wall: Duration,
    pub cpu: Duration,
    /// Kilobytes.
    pub peak: u64,
}

impl Ran {
    /// All that it said, in one line.
    pub fn words(&self) -> String {
        let lines = self.said.lines().chain(self.complained.lines());
        lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// What came out of a run of `cusp check`; its reason is used if there is no answer.
    pub fn measured(self, reason: impl Fn(&Self) -> String) -> Measured {
        let answer = match self.code {
            Some(0) => Answer::Safe,
            Some(10) => Answer::Unsafe,
            Some(5) => Answer::Unknown(reason(&self)),
            Some(6) => Answer::Rejected(self.words()),
            Some(KILLED) => Answer::Hung,
            code => Answer::Crashed(format!("exit code {code:?}: {}", self.words())),
        };
        Measured { answer, wall: self.wall, cpu: self.cpu, peak: self.peak }
    }
}

/// Runs a command in a directory, and kills it when the time is over.
pub fn run(
    program: impl AsRef<OsStr>,
    arguments: &[impl AsRef<OsStr>],
    directory: &Path,
    limit: Duration,
) -> io::Result<Ran> {
    let output = Command::new(std::env::current_exe()?)
        .current_dir(directory)
        .arg(MEASURE)
        .arg(limit.as_secs_f64().to_string())
        .arg(program)
        .args(arguments)
        .stderr(Stdio::piped())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    let (said, figures) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    let numbers: Vec<u64> = figures.split(' ').filter_map(|number| number.parse().ok()).collect();
    let &[wall, cpu, peak] = numbers.as_slice() else {
        return Err(io::Error::other(format!("the run could not be measured: {text}{complained}")));
    };
    let (wall, cpu) = (Duration::from_micros(wall), Duration::from_micros(cpu));
    Ok(Ran { code: output.status.code(), said: said.to_owned(), complained, wall, cpu, peak })
}

/// Runs `cusp check` with an engine and further arguments on one program.
pub fn run_cusp(
    program: &Path,
    engine: &str,
    arguments: &[String],
    limit: Duration,
    megabytes: u64,
) -> io::Result<Ran> {
    let (time, memory) = (limit.as_secs_f64().to_string(), megabytes.to_string());
    let program = std::path::absolute(program)?;
    let all = ["check", "--engine", engine, "--timeout", &time, "--memory", &memory];
    let all = all.into_iter().map(OsStr::new).chain(arguments.iter().map(OsStr::new));
    let all: Vec<&OsStr> = all.chain([program.as_os_str()]).collect();
    run(env!("CARGO_BIN_EXE_cusp"), &all, Path::new("."), limit + GRACE)
}

/// Whether `auto` is fast enough: three times as long as the best engine, and half a second more.
pub fn is_within_the_bar(auto: Duration, best: Duration) -> bool {
    auto <= best * 3 + Duration::from_millis(500)
}

/// The process in between: runs the command, prints microseconds of wall-clock and CPU time and kilobytes, and
/// exits as the command did.
pub fn child(arguments: &[String]) -> ExitCode {
    match run_command(arguments) {
        Ok((code, wall)) => {
            let (cpu, peak) = usage_of_children();
            println!("\n{} {} {peak}", wall.as_micros(), cpu.as_micros());
            ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run_command(arguments: &[String]) -> io::Result<(i32, Duration)> {
    let [limit, program, rest @ ..] = arguments else {
        return Err(io::Error::other("a time limit and a command are expected"));
    };
    let limit = limit.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let limit = limit.ok_or_else(|| io::Error::other("the time limit is no number"))?;
    let begin = Instant::now();
    let mut process = Command::new(program).args(rest).spawn()?;
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok((status.code().unwrap_or(255), begin.elapsed()));
        }
        if begin.elapsed() > limit {
            process.kill()?;
            process.wait()?;
            return Ok((KILLED, begin.elapsed()));
        }
        // Short runs are polled often; for long ones a hundredth of a second does not matter.
        sleep((begin.elapsed() / 100).clamp(Duration::from_micros(200), Duration::from_millis(10)));
    }
}

/// CPU time and peak memory in kilobytes of the largest child.
#[cfg(unix)]
fn usage_of_children() -> (Duration, u64) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return (Duration::ZERO, 0) };
    let time = |value: TimeVal| {
        let seconds = u64::try_from(value.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(value.tv_usec()).unwrap_or(0))
    };
    let peak = u64::try_from(usage.max_rss()).unwrap_or(0);
    // All systems but one count in kilobytes.
    let peak = if cfg!(target_vendor = "apple") { peak >> 10 } else { peak };
    (time(usage.user_time()) + time(usage.system_time()), peak)
}

/// Not known on this system.
#[cfg(not(unix))]
fn usage_of_children() -> (Duration, u64) {
    (Duration::ZERO, 0)
}
