//! Other programs that a command needs: whether they are there, and what they say.

use std::{
    io,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// Runs a program and keeps what it says.
///
/// # Errors
/// When it cannot be run: it is missing, or not allowed to.
pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).output().map_err(|error| {
        let program = name(command);
        match error.kind() {
            io::ErrorKind::NotFound => format!("{program} is not on PATH"),
            _ => format!("{program} cannot be run: {error}"),
        }
    })
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
        for missing in
            [run(&mut Command::new("no-such-program")), succeed(&mut Command::new("no-such-program"))]
        {
            assert_eq!(missing.unwrap_err(), "no-such-program is not on PATH");
        }
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let mut rustc = Command::new("rustc");
        let failed = succeed(rustc.arg("--no-such-option")).unwrap_err();
        assert!(failed.starts_with("rustc failed: ") && failed.contains("no-such-option"), "{failed}");
        let said = succeed(Command::new("rustc").arg("--version")).unwrap();
        assert!(text(&said.stdout).starts_with("rustc "));
        assert_eq!(beginning("1\n2\n3\n4\n5\n"), "1\n2\n3\n4");
    }
}
