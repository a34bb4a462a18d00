//! Runs external programs and captures their output.

use std::{
    io,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The interval between two checks whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a program and captures its output.
///
/// # Errors
/// Returns an error if the program cannot be started.
pub(crate) fn run_program(command: &mut Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).output().map_err(|error| start_error(command, &error))
}

/// Runs a program with a timeout and captures its output.
///
/// # Errors
/// Returns an error if the program cannot be started, or if it is killed because of the timeout.
pub(crate) fn run_with_timeout(command: &mut Command, timeout: Duration) -> Result<Output, String> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| start_error(command, &error))?;
    let Child { stdout, stderr, .. } = &mut child;
    let readers = [stdout.take().map(read_in_background), stderr.take().map(read_in_background)];
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < timeout => thread::sleep(POLL_INTERVAL),
            // Report the timeout even if the program cannot be killed.
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{} exceeded the timeout of {} s",
                    program_name(command),
                    timeout.as_secs()
                ));
            }
            Err(error) => return Err(start_error(command, &error)),
        }
    };
    let [stdout, stderr] =
        readers.map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

/// Reads a pipe to its end in a thread.
fn read_in_background(mut pipe: impl io::Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // If reading fails, the bytes that were read until then are the result.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn start_error(command: &Command, error: &io::Error) -> String {
    let program = program_name(command);
    match error.kind() {
        io::ErrorKind::NotFound => format!("{program} is not on PATH"),
        _ => format!("cannot run {program}: {error}"),
    }
}

/// Runs a program that must succeed, and captures its output.
///
/// # Errors
/// Returns an error if the program cannot be started, or if it fails. The error contains the first lines of
/// its error output.
pub(crate) fn run_checked(command: &mut Command) -> Result<Output, String> {
    let output = run_program(command)?;
    if output.status.success() {
        return Ok(output);
    }
    let complaint = first_lines(&decode_output(&output.stderr));
    Err(format!("{} failed: {}\n{complaint}", program_name(command), output.status).trim_end().to_owned())
}

/// Returns the name of the Python 3 executable.
///
/// # Errors
/// Returns an error with instructions if Python 3 is not on PATH.
pub(crate) fn find_python() -> Result<PathBuf, String> {
    let answers = |name: &&str| {
        run_program(Command::new(name).arg("--version")).is_ok_and(|output| output.status.success())
    };
    ["python3", "python"]
        .into_iter()
        .find(answers)
        .map(PathBuf::from)
        .ok_or_else(|| "python3 is not on PATH\nInstall Python 3 with pip.".to_owned())
}

pub(crate) fn decode_output(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the first lines of an error message. npm and pip print long details after them.
fn first_lines(complaint: &str) -> String {
    complaint.lines().take(4).collect::<Vec<_>>().join("\n")
}

fn program_name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_is_reported() {
        let second = Duration::from_secs(1);
        for missing in [
            run_program(&mut Command::new("no-such-program")),
            run_checked(&mut Command::new("no-such-program")),
            run_with_timeout(&mut Command::new("no-such-program"), second),
        ] {
            assert_eq!(missing.unwrap_err(), "no-such-program is not on PATH");
        }
    }

    #[test]
    fn program_is_stopped_at_the_timeout() {
        let late = run_with_timeout(Command::new("rustc").arg("--version"), Duration::ZERO);
        assert_eq!(late.unwrap_err(), "rustc exceeded the timeout of 0 s");
    }

    #[test]
    fn failure_contains_the_error_output() {
        let mut rustc = Command::new("rustc");
        let failed = run_checked(rustc.arg("--no-such-option")).unwrap_err();
        assert!(failed.starts_with("rustc failed: ") && failed.contains("no-such-option"), "{failed}");
        let output = run_checked(Command::new("rustc").arg("--version")).unwrap();
        assert!(decode_output(&output.stdout).starts_with("rustc "));
        let within =
            run_with_timeout(Command::new("rustc").arg("--version"), Duration::from_secs(60)).unwrap();
        assert_eq!((within.status, within.stdout), (output.status, output.stdout));
        assert_eq!(first_lines("1\n2\n3\n4\n5\n"), "1\n2\n3\n4");
    }
}
