//! Other programs that a command needs: whether they are there, and what they say.

use std::{
    io,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often a program is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a program and keeps what it says.
///
/// # Errors
/// When it cannot be run: it is missing, or not allowed to.
pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).output().map_err(|error| not_run(command, &error))
}

/// Runs a program that may hang, and keeps what it says.
///
/// # Errors
/// When it cannot be run, or takes longer: then it is ended.
pub(crate) fn run_within(command: &mut Command, longest: Duration) -> Result<Output, String> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| not_run(command, &error))?;
    let Child { stdout, stderr, .. } = &mut child;
    let readers = [stdout.take().map(read_on), stderr.take().map(read_on)];
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < longest => thread::sleep(PAUSE),
            // Ended as well as it goes: what is to be said is that it was not done.
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} did not end within {} s", name(command), longest.as_secs()));
            }
            Err(error) => return Err(not_run(command, &error)),
        }
    };
    let [stdout, stderr] =
        readers.map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

/// Reads a pipe to its end, beside whatever else happens.
fn read_on(mut pipe: impl io::Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is what there is.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn not_run(command: &Command, error: &io::Error) -> String {
    let program = name(command);
    match error.kind() {
        io::ErrorKind::NotFound => format!("{program} is not on PATH"),
        _ => format!("{program} cannot be run: {error}"),
    }
}

/// Runs a program that has to succeed, and keeps what it says.
///
/// # Errors
/// When it cannot be run or fails, with the beginning of its complaint.
pub(crate) fn succeed(command: &mut Command) -> Result<Output, String> {
    let said = run(command)?;
    if said.status.success() {
        return Ok(said);
    }
    let complaint = beginning(&text(&said.stderr));
    Err(format!("{} failed: {}\n{complaint}", name(command), said.status).trim_end().to_owned())
}

/// The name by which Python answers.
///
/// # Errors
/// What to do, when there is none.
pub(crate) fn python() -> Result<PathBuf, String> {
    let answers =
        |name: &&str| run(Command::new(name).arg("--version")).is_ok_and(|said| said.status.success());
    ["python3", "python"]
        .into_iter()
        .find(answers)
        .map(PathBuf::from)
        .ok_or_else(|| "python3 is not on PATH\nInstall Python 3 with pip.".to_owned())
}

/// Bytes of a program's output.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines that say what went wrong; npm and pip tell the whole story behind them.
fn beginning(complaint: &str) -> String {
    complaint.lines().take(4).collect::<Vec<_>>().join("\n")
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let second = Duration::from_secs(1);
        for missing in [
            run(&mut Command::new("no-such-program")),
            succeed(&mut Command::new("no-such-program")),
            run_within(&mut Command::new("no-such-program"), second),
        ] {
            assert_eq!(missing.unwrap_err(), "no-such-program is not on PATH");
        }
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let late = run_within(Command::new("rustc").arg("--version"), Duration::ZERO);
        assert_eq!(late.unwrap_err(), "rustc did not end within 0 s");
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let mut rustc = Command::new("rustc");
        let failed = succeed(rustc.arg("--no-such-option")).unwrap_err();
        assert!(failed.starts_with("rustc failed: ") && failed.contains("no-such-option"), "{failed}");
        let said = succeed(Command::new("rustc").arg("--version")).unwrap();
        assert!(text(&said.stdout).starts_with("rustc "));
        let within = run_within(Command::new("rustc").arg("--version"), Duration::from_secs(60)).unwrap();
        assert_eq!((within.status, within.stdout), (said.status, said.stdout));
        assert_eq!(beginning("1\n2\n3\n4\n5\n"), "1\n2\n3\n4");
    }
}
