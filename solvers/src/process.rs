//! Child processes that cannot hurt: bounded in time, memory and output, and always reaped.
//!
//! One call, [`run`], starts a program, feeds it, reads it and ends it. Everything happens on the calling thread
//! with non-blocking pipes, so a program that neither reads its input nor stops writing cannot block us, and no
//! helper thread can be left behind.
//!
//! Invariant (no zombie): from its start to its reaping a child is owned by a `Running`, whose end, by whatever
//! path, kills the process group and waits for the child.
//!
//! Invariant (right group): the group is signalled only while the child is unreaped, because then its id cannot
//! belong to anybody else. `waitid` with `NOWAIT` tells that a child has ended without reaping it.
//!
//! What a grandchild does after it has left the process group is beyond us; it cannot block us either. Memory
//! limits need Linux (`prlimit`); elsewhere asking for one is an error rather than a wish.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempPath;
use thiserror::Error;

use crate::interrupt::Interrupt;

/// Longest nap between two looks at the interrupt and the deadline.
const TICK: Duration = Duration::from_millis(10);
/// First nap when there is nothing left to wait for but the end of the child.
const FIRST_NAP: Duration = Duration::from_micros(100);
/// Bytes moved through one pipe before the interrupt is looked at again.
const TURN: usize = 1 << 20;
/// Bytes of the error output that are kept.
const STDERR_KEPT: usize = 4096;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Path, or a name to look up in `PATH`.
    pub path: PathBuf,
    /// Arguments. [`Program::INPUT`] in one of them stands for the name of a file with the input; without it the
    /// input goes to standard input. [`Program::OUTPUT`] stands for the name of a file that the program writes.
    pub arguments: Vec<OsString>,
}

/// A command line without a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the command is empty")]
pub struct EmptyCommand;

impl Program {
    /// What is replaced by the name of the input file, alone or inside of an argument.
    pub const INPUT: &str = "{file}";
    /// What is replaced by the name of the output file, alone or inside of an argument.
    pub const OUTPUT: &str = "{output}";

    /// A program without arguments, which reads standard input.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), arguments: Vec::new() }
    }

    /// The same program with one more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Program {
        self.arguments.push(argument.into());
        self
    }

    /// A command line: a program and its arguments with spaces between them. There is no way to quote a space.
    ///
    /// # Errors
    /// If there is nothing but spaces.
    pub fn parse(command: &str) -> Result<Program, EmptyCommand> {
        let mut words = command.split_whitespace();
        let path = words.next().ok_or(EmptyCommand)?;
        Ok(words.fold(Program::new(path), Program::argument))
    }

    /// Whether some argument mentions a placeholder.
    #[must_use]
    pub fn mentions(&self, placeholder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.to_str().is_some_and(|text| text.contains(placeholder)))
    }

    /// Where the program is: its path, or the first executable file of its name in `PATH`.
    #[must_use]
    pub fn find(&self) -> Option<PathBuf> {
        if self.path.components().count() > 1 {
            return is_executable(&self.path).then(|| self.path.clone());
        }
        let directories = std::env::var_os("PATH")?;
        std::env::split_paths(&directories)
            .map(|directory| directory.join(&self.path))
            .find(|path| is_executable(path))
    }

    /// The name people know the program by.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// What a child process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// When it is killed.
    pub deadline: Option<Instant>,
    /// Most bytes of address space.
    pub memory: Option<u64>,
    /// Most bytes on its standard output, and as many in its output file.
    pub output: usize,
}

impl Default for ProcessLimits {
    /// No deadline, no memory limit, 256 MiB of output.
    fn default() -> ProcessLimits {
        ProcessLimits { deadline: None, memory: None, output: 256 << 20 }
    }
}

/// How a child process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Exit {
        match status.code() {
            Some(code) => Exit::Code(code),
            None => Exit::Signal(status.signal().unwrap_or(0)),
        }
    }
}

/// A child process that ended by itself, or by a signal that was not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// All it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The first 4 KiB it wrote to standard error.
    pub stderr: Vec<u8>,
    /// All it wrote to its output file, if its command has one.
    pub output: Option<Vec<u8>>,
}

/// Why there is no [`Finished`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// It could not be started.
    #[error("`{program}` does not start: {message}")]
    Start {
        /// Name of the program.
        program: String,
        /// What the system says.
        message: String,
    },
    /// It ran past the deadline and was killed.
    #[error("`{program}` was stopped at the deadline")]
    Deadline {
        /// Name of the program.
        program: String,
    },
    /// It was killed because of an interrupt.
    #[error("`{program}` was interrupted")]
    Interrupted {
        /// Name of the program.
        program: String,
    },
    /// It wrote more than allowed and was killed.
    #[error("`{program}` wrote more than {limit} bytes")]
    OutputTooLarge {
        /// Name of the program.
        program: String,
        /// Bytes allowed.
        limit: usize,
    },
    /// The system failed us; the child was killed.
    #[error("`{program}` cannot be run: {message}")]
    System {
        /// Name of the program.
        program: String,
        /// What the system says.
        message: String,
    },
}

/// Runs `program` on `input` until it ends, within `limits` and until interrupted.
///
/// If an argument mentions [`Program::INPUT`], the input goes to a temporary file whose name ends in `suffix`;
/// otherwise to standard input.
///
/// # Errors
///
/// If the program does not start, or had to be killed. No process and no file is left behind in any case.
pub fn run(
    program: &Program,
    input: &[u8],
    suffix: &str,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
) -> Result<Finished, ProcessError> {
    let name = program.name();
    let system =
        |error: io::Error| ProcessError::System { program: name.clone(), message: error.to_string() };
    let mut command = Command::new(&program.path);
    let file = |is_wanted: bool, text: &[u8], suffix: &str| -> io::Result<Option<TempPath>> {
        if !is_wanted {
            return Ok(None);
        }
        let mut file = tempfile::Builder::new().prefix("cusp-").suffix(suffix).tempfile()?;
        file.write_all(text)?;
        Ok(Some(file.into_temp_path()))
    };
    let input_file = file(program.mentions(Program::INPUT), input, suffix).map_err(system)?;
    let output_file = file(program.mentions(Program::OUTPUT), &[], ".out").map_err(system)?;
    for argument in &program.arguments {
        let argument = with_file(argument, Program::INPUT, input_file.as_deref());
        command.arg(with_file(&argument, Program::OUTPUT, output_file.as_deref()));
    }
    command.stdin(if input_file.is_some() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(ProcessError::Deadline { program: name });
    }
    let child = command
        .spawn()
        .map_err(|error| ProcessError::Start { program: name.clone(), message: error.to_string() })?;
    let running = Running { group: Pid::from_child(&child), child, reaped: false };
    running.restrict(limits).map_err(system)?;
    let mut finished = running.attend(&name, input, limits, interrupt)?;
    if let Some(path) = output_file {
        let mut text = Vec::new();
        let most = limits.output as u64;
        File::open(&path).map_err(system)?.take(most + 1).read_to_end(&mut text).map_err(system)?;
        if text.len() as u64 > most {
            return Err(ProcessError::OutputTooLarge { program: name, limit: limits.output });
        }
        finished.output = Some(text);
    }
    Ok(finished)
}

/// An argument with the name of a file in the place of the placeholder.
fn with_file(argument: &OsStr, placeholder: &str, file: Option<&Path>) -> OsString {
    let (Some(text), Some(file)) = (argument.to_str(), file) else { return argument.to_owned() };
    let mut parts = text.split(placeholder);
    let mut replaced = OsString::from(parts.next().unwrap_or_default());
    for part in parts {
        replaced.push(file);
        replaced.push(part);
    }
    replaced
}

/// A child that is not yet reaped.
struct Running {
    child: Child,
    group: Pid,
    reaped: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        // A child that cannot be waited for is no child of ours any more.
        let _ = self.end();
    }
}

impl Running {
    /// Kills whatever is left of the group and reaps the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.reaped {
            // Fails only if there is nobody left to kill.
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        let status = self.child.wait();
        self.reaped = true;
        status
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    #[cfg(target_os = "linux")]
    fn restrict(&self, limits: &ProcessLimits) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let set = |resource: Resource, most: u64| -> io::Result<()> {
            let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let most = Some(most.min(hard));
            prlimit(Some(self.group), resource, Rlimit { current: most, maximum: most })?;
            Ok(())
        };
        if let Some(memory) = limits.memory {
            set(Resource::As, memory)?;
        }
        if let Some(deadline) = limits.deadline {
            // Should we die before we can kill it, it must not run forever.
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
            let seconds = deadline.saturating_duration_since(Instant::now()).as_secs();
            set(Resource::Cpu, seconds.saturating_add(10).saturating_mul(cores))?;
        }
        // A crashing program leaves no file.
        set(Resource::Core, 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn restrict(&self, limits: &ProcessLimits) -> io::Result<()> {
        match limits.memory {
            None => Ok(()),
            Some(_) => Err(io::Error::new(ErrorKind::Unsupported, "memory limits need Linux")),
        }
    }

    /// Feeds and reads the child until it ends.
    fn attend(
        mut self,
        name: &str,
        input: &[u8],
        limits: &ProcessLimits,
        interrupt: &Interrupt,
    ) -> Result<Finished, ProcessError> {
        let program = || name.to_owned();
        let system =
            |error: io::Error| ProcessError::System { program: program(), message: error.to_string() };
        let too_large = || ProcessError::OutputTooLarge { program: program(), limit: limits.output };
        let mut stdin = Feeder::new(self.child.stdin.take(), input).map_err(system)?;
        let mut stdout = Collector::new(self.child.stdout.take(), limits.output).map_err(system)?;
        let mut stderr = Collector::new(self.child.stderr.take(), STDERR_KEPT).map_err(system)?;
        let mut nap = FIRST_NAP;
        loop {
            if interrupt.is_requested() {
                return Err(ProcessError::Interrupted { program: program() });
            }
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(ProcessError::Deadline { program: program() });
            }
            // Asked before the pipes are read: what a child wrote before its end is then in the pipes.
            if self.has_ended() {
                let status = self.end().map_err(system)?;
                while stdout.collect() == Progress::More && !stdout.overflowed {}
                stderr.collect();
                if stdout.overflowed {
                    return Err(too_large());
                }
                return Ok(Finished {
                    exit: status.into(),
                    stdout: stdout.kept,
                    stderr: stderr.kept,
                    output: None,
                });
            }
            stdin.feed();
            stdout.collect();
            stderr.collect();
            if stdout.overflowed {
                return Err(too_large());
            }
            let mut waiting = Vec::with_capacity(3);
            waiting.extend(stdin.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
            waiting.extend(stdout.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            waiting.extend(stderr.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            let patience = if waiting.is_empty() { nap } else { TICK };
            nap = TICK.min(2 * nap);
            // Interrupted by a signal or not, the next turn looks at everything again.
            let _ = poll(&mut waiting, Timespec::try_from(patience).ok().as_ref());
        }
    }
}

/// The child's standard input and what it has still to be fed.
struct Feeder<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl Feeder<'_> {
    fn new(pipe: Option<ChildStdin>, input: &[u8]) -> io::Result<Feeder<'_>> {
        pipe.as_ref().map_or(Ok(()), do_not_block)?;
        Ok(Feeder { pipe, rest: input })
    }

    /// Writes what fits. A child that does not read on has its reasons; its answer decides.
    fn feed(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            match pipe.write(self.rest) {
                Ok(written) if written < self.rest.len() => self.rest = &self.rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
    }
}

/// One output of the child and what is kept of it.
struct Collector<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

#[derive(PartialEq, Eq)]
enum Progress {
    /// There may be more at once.
    More,
    /// There is nothing to read now, or ever.
    Nothing,
}

impl<P: Read + AsFd> Collector<P> {
    fn new(pipe: Option<P>, limit: usize) -> io::Result<Collector<P>> {
        pipe.as_ref().map_or(Ok(()), do_not_block)?;
        Ok(Collector { pipe, kept: Vec::new(), limit, overflowed: false })
    }

    /// Reads what is there, at most one turn of it; what exceeds the limit is dropped.
    fn collect(&mut self) -> Progress {
        let mut buffer = [0; 1 << 14];
        let mut taken = 0;
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    let room = self.limit - self.kept.len();
                    self.kept.extend_from_slice(&buffer[..read.min(room)]);
                    self.overflowed |= read > room;
                    taken += read;
                    if taken >= TURN {
                        return Progress::More;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Nothing,
                Err(_) => self.pipe = None,
            }
        }
        Progress::Nothing
    }
}

fn do_not_block(pipe: &impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(pipe, true)?)
}
