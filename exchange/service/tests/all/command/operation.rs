//! Tests of a running service: signals, reload, the lock of the data folder, and the service manager.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use super::{send_request, text};
use crate::support::command;

/// A running `serve` process with the events of its log. It is killed at the end.
struct Service {
    child: Child,
    events: BufReader<ChildStderr>,
}

impl Service {
    /// Starts a service with a configuration file in a folder, and further arguments.
    fn start(folder: &Path, config: &str, arguments: &[&str], values: &[(&str, &str)]) -> Self {
        let file = folder.join("exchange.toml");
        fs::write(&file, config).unwrap();
        let mut child = command(&["serve", "--config", file.to_str().unwrap()])
            .args(arguments)
            .env("EXCHANGE_SERVE__DATA", folder.join("data"))
            .env("EXCHANGE_SERVE__LISTEN", "127.0.0.1:0")
            .env("EXCHANGE_SERVE__DRAIN_SECONDS", "0")
            .env("EXCHANGE_IDP__PASSWORD_KIB", "8")
            .envs(values.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stderr.take().unwrap());
        Self { child, events }
    }

    /// Reads the log up to an event with this message.
    fn next_event(&mut self, message: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.events.read_line(&mut line).unwrap(), 0, "the process ended before {message}");
            let event: Value = line.parse().unwrap_or_else(|_| panic!("every line is JSON: {line}"));
            if event["message"] == message {
                return event;
            }
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// HUP applies the log level and the registry, lists keys that need a restart, and keeps running with an invalid
/// configuration. The certificate is replaced for new connections.
#[test]
fn hangup_reloads_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let write_pair = || {
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("chain.pem"), pair.cert.pem()).unwrap();
        fs::write(folder.path().join("key.pem"), pair.signing_key.serialize_pem()).unwrap();
    };
    write_pair();
    let config = |rest: &str| {
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
        format!("[serve]\ncertificate = {chain:?}\nprivate-key = {key:?}\n{rest}")
    };
    let mut service = Service::start(folder.path(), &config(""), &[], &[]);
    service.next_event("listening");
    let file = folder.path().join("exchange.toml");

    fs::write(&file, config("[limits]\nper-member = 7\n[log]\nlevel = 'warn'\n")).unwrap();
    write_pair();
    service.signal("-HUP");
    assert_eq!(service.next_event("reload.restart_required")["keys"], "limits.per-member");
    // With this level, the event `reloaded` is not logged.
    fs::write(&file, config("[limits]\nper-member = 'many'\n")).unwrap();
    service.signal("-HUP");
    let failed = service.next_event("reload.failed");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("limits.per-member") && error.contains("exchange.toml"), "{error}");
    fs::write(&file, config("[log]\nlevel = 'info'\n")).unwrap();
    fs::write(folder.path().join("key.pem"), "no key").unwrap();
    service.signal("-HUP");
    let failed = service.next_event("certificate.reload_failed");
    assert!(failed["error"].as_str().unwrap().contains("key.pem"), "{failed}");
    service.next_event("reloaded");
    write_pair();
    service.signal("-HUP");
    service.next_event("certificate.reloaded");
    service.signal("-TERM");
    service.next_event("stopped");
    assert!(service.child.wait().unwrap().success());
}

/// A second process on one folder is refused with the process id of the first. Processes that share the folder on
/// purpose work, and so does a process after the first one was killed.
#[test]
fn data_folder_is_served_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Service::start(folder.path(), "", &[], &[]);
    first.next_event("listening");
    for arguments in [&[][..], &["--shared-folder"]] {
        let mut second = Service::start(folder.path(), "", arguments, &[]);
        let status = second.child.wait().unwrap();
        let message = text(&std::io::Read::bytes(&mut second.events).map(Result::unwrap).collect::<Vec<_>>());
        assert_eq!(status.code(), Some(1), "{message}");
        for part in [format!("process {}", first.child.id()), "--shared-folder".to_owned()] {
            assert!(message.contains(&part), "{message}");
        }
    }
    first.signal("-KILL");
    first.child.wait().unwrap();
    let mut both = [0, 1].map(|_| Service::start(folder.path(), "", &["--shared-folder"], &[]));
    for service in &mut both {
        service.next_event("listening");
    }
}

/// The service manager is notified when the service can be used, and when it stops.
#[test]
fn service_manager_is_notified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let receive = || {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).unwrap();
        text(&bytes[..length])
    };
    let values = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let mut service = Service::start(folder.path(), "", &[], &values);
    assert_eq!(receive(), "READY=1");
    service.signal("-TERM");
    assert_eq!(receive(), "STOPPING=1");
    service.next_event("stopped");
}

/// Metrics on a loopback address use plain HTTP even if the service uses TLS. Requests are logged with source,
/// route and outcome, and members with pseudonyms if these are configured.
#[test]
fn metrics_are_plain_on_loopback() {
    let folder = tempfile::tempdir().unwrap();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::write(&chain, pair.cert.pem()).unwrap();
    fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    // A free port: the listener is closed before the service binds it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let config = format!(
        "[serve]\ncertificate = {chain:?}\nprivate-key = {key:?}\nmetrics = '{free}'\n[log]\nmembers = 'pseudonym'"
    );
    let mut service = Service::start(folder.path(), &config, &[], &[]);
    service.next_event("listening");
    let page = send_request(&free, "GET", "/metrics", "");
    for part in
        ["exchange_store_bytes{file=\"database\"}", "exchange_store_free_bytes", "process_cpu_seconds_total"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
}
