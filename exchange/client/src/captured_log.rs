//! Captures the complete log output of a test, by running the test in a separate process.
//!
//! `tracing` caches for the whole process whether a call site is enabled, based on the subscriber of the
//! first thread that reaches it. A test that captures only the log of one thread therefore misses call
//! sites that another test reached first. In a separate process the subscriber is installed before anything
//! is logged.
use std::{
    env, io,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::fmt::format::FmtSpan;

/// The environment variable that marks the child process.
const CHILD_VARIABLE: &str = "EXCHANGE_CLIENT_LOGGED";

/// The log output of all threads at all levels.
#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Captures the log of this process if it is the child process of this test. Otherwise runs the test in a
    /// child process, panics if it fails there, and returns `None`. `module` is the `module_path!()` of the
    /// test.
    pub(crate) fn capture(module: &str, test: &str) -> Option<Self> {
        if env::var_os(CHILD_VARIABLE).is_some() {
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_span_events(FmtSpan::FULL)
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
            return Some(log);
        }
        let (_, module) = module.split_once("::").unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
            .env(CHILD_VARIABLE, "1")
            .output()
            .unwrap();
        let [output, error] = [&child.stdout, &child.stderr].map(|output| String::from_utf8_lossy(output));
        assert!(child.status.success() && output.contains("1 passed"), "{output}{error}");
        None
    }

    pub(crate) fn contents(&self) -> String {
        String::from_utf8(self.lock_bytes().clone()).unwrap()
    }

    fn lock_bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock_bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
