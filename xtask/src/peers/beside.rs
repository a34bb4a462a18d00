//! A program that runs beside this one: started, heard, ended with what holds it.

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

use crate::program::text;

/// How often a port is asked.
const PAUSE: Duration = Duration::from_millis(20);
/// How much of a log is shown.
const LAST_LINES: usize = 10;

/// A running program. Dropping it ends it.
pub(super) struct Beside {
    child: Child,
    name: String,
    log: PathBuf,
    lines: mpsc::Receiver<String>,
}

impl Beside {
    /// Starts it; what it says on stderr goes into the log.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(command: &mut Command, log: PathBuf) -> Result<Self, String> {
        let file = File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = child.map_err(|error| format!("{name} cannot be run: {error}"))?;
        let (sender, lines) = mpsc::channel();
        if let Some(pipe) = child.stdout.take() {
            // Reads on to the end, heard or not: a full pipe would stop the program.
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Self { child, name, log, lines })
    }

    /// The first line that it says on stdout.
    ///
    /// # Errors
    /// When it ends, or waits too long before it says anything.
    pub(super) fn first_line(&mut self, within: Duration) -> Result<String, String> {
        self.lines.recv_timeout(within).map_err(|_| self.complaint("said nothing"))
    }

    /// Waits until a port on this machine answers.
    ///
    /// # Errors
    /// When it ends, or takes too long.
    pub(super) fn answers(&mut self, port: u16, within: Duration) -> Result<(), String> {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) || start.elapsed() > within {
                return Err(self.complaint("does not answer"));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn complaint(&self, what: &str) -> String {
        let log = text(&fs::read(&self.log).unwrap_or_default());
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        format!("{} {what}\n{last}", self.name).trim_end().to_owned()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody uses at this moment.
///
/// # Errors
/// When there is none.
pub(super) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no port is to be had: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_heard_and_its_complaint_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = |name: &str| folder.path().join(name);
        let mut rustc = Beside::start(Command::new("rustc").arg("--version"), log("a")).unwrap();
        assert!(rustc.first_line(Duration::from_secs(60)).unwrap().starts_with("rustc "));
        let mut wrong = Beside::start(Command::new("rustc").arg("--no-such-option"), log("b")).unwrap();
        let said = wrong.first_line(Duration::from_secs(60)).unwrap_err();
        assert!(said.starts_with("rustc said nothing") && said.contains("no-such-option"), "{said}");
        let port = free_port().unwrap();
        let said = wrong.answers(port, Duration::from_secs(60)).unwrap_err();
        assert!(said.starts_with("rustc does not answer"), "{said}");
    }
}
