//! For tests: everything that a process logs, read in a process of its own.
//!
//! Whether anything is logged from some place in the program is decided for the whole process by the thread that comes there
//! first, and by whether it has a reader then. So a test that reads the log of its own thread alone misses what another
//! test came to before. Here there is no other test, and the reader is there before anything is logged.

use std::{
    env, io,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::fmt::format::FmtSpan;

/// Set in the process that a test has for itself.
const ALONE: &str = "EXCHANGE_CLIENT_LOGGED";

/// Everything that was logged, at whatever level, by whichever thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The log of this process, from now on, where it was started for this test. Anywhere else it starts that process,
    /// fails if the test fails there, and gives nothing. `module` is the test's `module_path!()`.
    pub(crate) fn alone(module: &str, test: &str) -> Option<Self> {
        if env::var_os(ALONE).is_some() {
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
            .env(ALONE, "1")
            .output()
            .unwrap();
        let [told, error] = [&child.stdout, &child.stderr].map(|told| String::from_utf8_lossy(told));
        assert!(child.status.success() && told.contains("1 passed"), "{told}{error}");
        None
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes().clone()).unwrap()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
