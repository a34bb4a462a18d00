//! Runs the service's binary in a process with one worker thread on one core.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::machine::{self, CALLERS, Memory, SERVICE};

/// The binary that cargo built for this run.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_exchange-service");
/// The maximum time until the first response.
const MAX_START_TIME: Duration = Duration::from_secs(10);

/// A running service, which is stopped when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// The time from the start of the process to its first response.
    pub(crate) started_in: Duration,
}

// Kills the process: no response is pending, and acknowledged writes are in the store.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts `exchange-service serve` with a configuration file.
    pub(crate) fn serve(configuration: &Path, address: SocketAddr) -> Outcome<Self> {
        Self::start(Command::new(BINARY).arg("serve").arg("--config").arg(configuration), address)
    }

    /// Starts `exchange-service sandbox` on a data folder.
    pub(crate) fn sandbox(data: &Path, address: SocketAddr) -> Outcome<Self> {
        let port = address.port().to_string();
        Self::start(
            Command::new(BINARY).args(["sandbox", "--json", "--port", &port, "--data"]).arg(data),
            address,
        )
    }

    fn start(command: &mut Command, address: SocketAddr) -> Outcome<Self> {
        command.env("TOKIO_WORKER_THREADS", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A process inherits the core of the thread that starts it.
        machine::pin(SERVICE);
        let began = Instant::now();
        let child = command.spawn();
        machine::pin(CALLERS);
        let mut server = Self { child: child?, started_in: Duration::ZERO };
        while wait_for_response(address).is_err() {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("the service ended by itself: {status}").into());
            }
            if began.elapsed() > MAX_START_TIME {
                return Err("the service does not answer".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        server.started_in = began.elapsed();
        Ok(server)
    }

    /// Returns the process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns the memory of the process, or `None` if the system does not report it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        machine::memory(self.process())
    }
}

/// Requests the discovery document. Any response shows that the service is running.
fn wait_for_response(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /idp/jwks HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut response = [0; 12];
    stream.read_exact(&mut response)?;
    if &response == b"HTTP/1.1 200" { Ok(()) } else { Err(std::io::ErrorKind::InvalidData.into()) }
}
