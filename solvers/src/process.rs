//! Runs child processes with limits on time, memory and output, and always reaps them.
//!
//! One function, [`run`], starts a program, writes its input, reads its output and ends it. Everything happens on the
//! calling thread with non-blocking pipes, so a program that neither reads its input nor stops writing cannot block
//! the caller, and no helper thread can be left behind.
//!
//! Invariant (no zombie): from its start until it is reaped, a child is owned by a `Running`. When the `Running` is
//! dropped, on whatever path, it kills the process group and waits for the child.
//!
//! Invariant (right group): the group is signalled only while the child is not reaped, because until then its id
//! cannot be reused. `waitid` with `NOWAIT` tells that a child has ended without reaping it.
//!
//! A grandchild that has left the process group cannot be controlled; it cannot block the caller either. Memory
//! limits need Linux (`prlimit`); on other systems, asking for one is an error.

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

/// The longest wait between two checks of the interrupt and the deadline.
const TICK: Duration = Duration::from_millis(10);
/// The first wait when only the end of the child is awaited.
const FIRST_NAP: Duration = Duration::from_micros(100);
/// The number of bytes that are moved through one pipe before the interrupt is checked again.
const TURN: usize = 1 << 20;
/// The number of bytes of the error output that are kept.
const STDERR_KEPT: usize = 4096;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The path, or a name that is looked up in `PATH`.
    pub path: PathBuf,
    /// The arguments. [`Program::INPUT`] in one of them is replaced by the name of a file with the input; without it,
    /// the input is written to standard input. [`Program::OUTPUT`] is replaced by the name of a file that the program
    /// writes.
    pub arguments: Vec<OsString>,
}

/// The error for a command line without a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the command is empty")]
pub struct EmptyCommand;

impl Program {
    /// The placeholder for the name of the input file, alone or inside of an argument.
    pub const INPUT: &str = "{file}";
    /// The placeholder for the name of the output file, alone or inside of an argument.
    pub const OUTPUT: &str = "{output}";

    /// A program without arguments, which reads standard input.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), arguments: Vec::new() }
    }

    /// This program with one more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Program {
        self.arguments.push(argument.into());
        self
    }

    /// Parses a command line: a program and its arguments, separated by spaces. A space cannot be quoted.
    ///
    /// # Errors
    /// If the command line contains only spaces.
    pub fn parse(command: &str) -> Result<Program, EmptyCommand> {
        let mut words = command.split_whitespace();
        let path = words.next().ok_or(EmptyCommand)?;
        Ok(words.fold(Program::new(path), Program::argument))
    }

    /// Whether some argument contains a placeholder.
    #[must_use]
    pub fn mentions(&self, placeholder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.to_str().is_some_and(|text| text.contains(placeholder)))
    }

    /// The location of the program: its path, or the first executable file with its name in `PATH`.
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

    /// The file name of the program, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The limits of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The time at which it is killed.
    pub deadline: Option<Instant>,
    /// The limit of its address space, in bytes.
    pub memory: Option<u64>,
    /// The limit of its standard output in bytes, and of its output file.
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
    /// It ended by itself, with this exit code.
    Code(i32),
    /// It was ended by this signal.
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

/// A child process that ended by itself, or by a signal that this module did not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Everything that it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The first 4 KiB that it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Everything that it wrote to its output file, if its command has one.
    pub output: Option<Vec<u8>>,
}

/// Why a process could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// It could not be started.
    #[error("`{program}` does not start: {message}")]
    Start {
        /// The name of the program.
        program: String,
        /// The message of the system.
        message: String,
    },
    /// It was killed at the deadline.
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
        /// The number of bytes allowed.
        limit: usize,
    },
    /// A system call failed; the child was killed.
    #[error("`{program}` cannot be run: {message}")]
    System {
        /// Name of the program.
        program: String,
        /// What the system says.
        message: String,
    },
}

/// Runs `program` on `input` until it ends, within `limits` and unless interrupted.
///
/// If an argument contains [`Program::INPUT`], the input is written to a temporary file whose name ends in `suffix`;
/// otherwise to standard input.
///
/// # Errors
///
/// If the program does not start, or had to be killed. In no case is a process or a file left behind.
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

/// Replaces the placeholder in an argument by the name of a file.
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

/// A child process that is not reaped yet.
struct Running {
    child: Child,
    group: Pid,
    reaped: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        // If the child cannot be waited for, it is no longer a child of this process.
        let _ = self.end();
    }
}

impl Running {
    /// Kills the rest of the process group and reaps the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.reaped {
            // This fails only if no process of the group is left.
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
            // If this process dies before it can kill the child, the child must not run forever.
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
            let seconds = deadline.saturating_duration_since(Instant::now()).as_secs();
            set(Resource::Cpu, seconds.saturating_add(10).saturating_mul(cores))?;
        }
        // A crashing program must not leave a core file.
        set(Resource::Core, 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn restrict(&self, limits: &ProcessLimits) -> io::Result<()> {
        match limits.memory {
            None => Ok(()),
            Some(_) => Err(io::Error::new(ErrorKind::Unsupported, "memory limits need Linux")),
        }
    }

    /// Writes to the child and reads from it until it ends.
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
            // This is asked before the pipes are read, so that everything the child wrote before its end is in the
            // pipes.
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
            // Even if a signal interrupts the wait, the next iteration checks everything again.
            let _ = poll(&mut waiting, Timespec::try_from(patience).ok().as_ref());
        }
    }
}

/// The child's standard input, and the input that is still to be written.
struct Feeder<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl Feeder<'_> {
    fn new(pipe: Option<ChildStdin>, input: &[u8]) -> io::Result<Feeder<'_>> {
        pipe.as_ref().map_or(Ok(()), do_not_block)?;
        Ok(Feeder { pipe, rest: input })
    }

    /// Writes as much as the pipe takes. If the child stops reading, that is not an error; its answer decides.
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

/// One output stream of the child, and the bytes that are kept of it.
struct Collector<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

#[derive(PartialEq, Eq)]
enum Progress {
    /// More bytes may be available at once.
    More,
    /// No bytes are available now, or the stream has ended.
    Nothing,
}

impl<P: Read + AsFd> Collector<P> {
    fn new(pipe: Option<P>, limit: usize) -> io::Result<Collector<P>> {
        pipe.as_ref().map_or(Ok(()), do_not_block)?;
        Ok(Collector { pipe, kept: Vec::new(), limit, overflowed: false })
    }

    /// Reads available bytes, at most [`TURN`] of them. Bytes beyond the limit are discarded.
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
