//! Child processes by themselves, as every external adapter uses them.

use cusp_solvers::interrupt::Interrupt;
use cusp_solvers::process::{Exit, ProcessError, ProcessLimits, Program, run};

use crate::fake;

fn shell(script: &str) -> Program {
    Program::new("sh").argument("-c").argument(script)
}

#[test]
fn output_exit_code_and_the_start_of_the_errors_come_back() {
    let program = shell("cat; echo oops >&2; exit 3");
    let finished =
        run(&program, b"hello", "", &ProcessLimits::default(), &Interrupt::new()).expect("it runs");
    assert_eq!(
        (finished.exit, finished.stdout, finished.stderr),
        (Exit::Code(3), b"hello".to_vec(), b"oops\n".to_vec())
    );
}

#[test]
fn large_input_and_output_flow_at_the_same_time() {
    let input = vec![b'x'; 5_000_000];
    let finished =
        run(&shell("cat"), &input, "", &ProcessLimits::default(), &Interrupt::new()).expect("it runs");
    assert!(finished.stdout == input, "{} bytes came back", finished.stdout.len());
}

#[test]
fn an_input_file_has_the_right_suffix_and_is_removed() {
    let program =
        Program::new("sh").argument("-c").argument("cat \"$0\"; echo \"$0\"").argument(Program::INPUT);
    let finished =
        run(&program, b"text\n", ".qdimacs", &ProcessLimits::default(), &Interrupt::new()).expect("it runs");
    let output = String::from_utf8(finished.stdout).expect("text");
    let (text, path) = output.split_once('\n').expect("two lines");
    assert_eq!(text, "text");
    assert!(path.trim().ends_with(".qdimacs"));
    assert!(!std::path::Path::new(path.trim()).exists());
}

#[test]
fn a_signal_is_told_from_an_exit_code() {
    let killed = run(&shell("kill -9 $$"), b"", "", &ProcessLimits::default(), &Interrupt::new());
    assert_eq!(killed.expect("it runs").exit, Exit::Signal(9));
}

#[test]
fn closed_outputs_do_not_mean_the_end() {
    let program = shell("exec >&- 2>&-; sleep 0.05; exit 7");
    let finished = run(&program, b"", "", &ProcessLimits::default(), &Interrupt::new()).expect("it runs");
    assert_eq!(finished.exit, Exit::Code(7));
}

#[test]
fn the_output_limit_is_exact() {
    let limits = ProcessLimits { output: 5, ..ProcessLimits::default() };
    let fits = run(&shell("printf 12345"), b"", "", &limits, &Interrupt::new()).expect("five bytes fit");
    assert_eq!(fits.stdout, b"12345");
    let exceeds = run(&shell("printf 123456"), b"", "", &limits, &Interrupt::new());
    assert_eq!(exceeds, Err(ProcessError::OutputTooLarge { program: "sh".to_owned(), limit: 5 }));
}

#[test]
fn a_requested_interrupt_ends_a_process_at_once() {
    let interrupt = Interrupt::new();
    interrupt.request();
    let result = run(&fake("hang"), b"", "", &ProcessLimits::default(), &interrupt);
    assert_eq!(result, Err(ProcessError::Interrupted { program: "fake-solver".to_owned() }));
}

#[test]
#[cfg(target_os = "linux")]
fn limits_are_those_of_the_child_alone() {
    let limits = ProcessLimits { memory: Some(1 << 30), ..ProcessLimits::default() };
    // The shell may look before the limit is set; it has been set once the input is there.
    let program = shell("read go; ulimit -v; ulimit -c");
    let finished = run(&program, b"go\n", "", &limits, &Interrupt::new()).expect("it runs");
    assert_eq!(finished.stdout, b"1048576\n0\n");
}
