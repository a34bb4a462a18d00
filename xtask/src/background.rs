//! A background process. Its output can be read, and it is killed when the value is dropped.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::program::decode_output;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum number of log lines in an error message.
const MAX_LOG_LINES: usize = 10;

/// A running process. It is killed when this value is dropped.
pub(crate) struct BackgroundProcess {
    child: Child,
    name: String,
    log: PathBuf,
    lines: mpsc::Receiver<String>,
}

impl BackgroundProcess {
    /// Starts a process. Its stdout is read in a thread, and its stderr is written to a log file.
    ///
    /// # Errors
    /// Returns an error if the log file cannot be created or the process cannot be started.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Result<Self, String> {
        let file = File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = child.map_err(|error| format!("cannot run {name}: {error}"))?;
        let (sender, lines) = mpsc::channel();
        if let Some(pipe) = child.stdout.take() {
            // Read until the end even if the lines are not received, because a full pipe would block the
            // process.
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Self { child, name, log, lines })
    }

    /// Returns the next line that the process prints.
    ///
    /// # Errors
    /// Returns an error if the process ends, or if the timeout passes, before it prints a line.
    pub(crate) fn first_line(&mut self, within: Duration) -> Result<String, String> {
        self.lines
            .recv_timeout(within)
            .map_err(|_| self.failure_message("did not print a line before it ended or the timeout passed"))
    }

    /// Waits until a local port accepts connections.
    ///
    /// # Errors
    /// Returns an error if the process ends or the timeout passes before the port accepts connections.
    pub(crate) fn wait_for_port(&mut self, port: u16, within: Duration) -> Result<(), String> {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) || start.elapsed() > within {
                return Err(self.failure_message("does not accept connections"));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn failure_message(&self, what: &str) -> String {
        let log = decode_output(&fs::read(&self.log).unwrap_or_default());
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(MAX_LOG_LINES)..].join("\n");
        format!("{} {what}\n{last}", self.name).trim_end().to_owned()
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        // `kill` fails if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that is currently unused.
///
/// # Errors
/// Returns an error if no port can be bound.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_is_returned_and_errors_contain_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = |name: &str| folder.path().join(name);
        let mut rustc = BackgroundProcess::start(Command::new("rustc").arg("--version"), log("a")).unwrap();
        assert!(rustc.first_line(Duration::from_secs(60)).unwrap().starts_with("rustc "));
        let mut failing =
            BackgroundProcess::start(Command::new("rustc").arg("--no-such-option"), log("b")).unwrap();
        let error = failing.first_line(Duration::from_secs(60)).unwrap_err();
        assert!(
            error.starts_with("rustc did not print a line before it ended or the timeout passed")
                && error.contains("no-such-option"),
            "{error}"
        );
        let port = free_port().unwrap();
        let error = failing.wait_for_port(port, Duration::from_secs(60)).unwrap_err();
        assert!(error.starts_with("rustc does not accept connections"), "{error}");
    }
}
