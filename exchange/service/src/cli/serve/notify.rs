//! Notifies a service manager that started this process, such as systemd with `Type=notify`, about its state.

/// Sends a state, such as `READY=1`, to the socket in the environment variable `NOTIFY_SOCKET`. Does nothing
/// without a manager. The service works without the notification, so errors are only logged.
#[cfg(unix)]
pub(super) fn notify_manager(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let sent = std::os::unix::net::UnixDatagram::unbound()
        .and_then(|socket| send_to(&socket, std::path::Path::new(&path), state));
    if let Err(error) = sent {
        tracing::warn!(%error, path = %path.display(), "cannot notify the service manager");
    }
}

#[cfg(not(unix))]
pub(super) fn notify_manager(_: &str) {}

#[cfg(unix)]
fn send_to(
    socket: &std::os::unix::net::UnixDatagram,
    path: &std::path::Path,
    state: &str,
) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_os_str().as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(state.as_bytes(), &address).map(drop);
    }
    socket.send_to(state.as_bytes(), path).map(drop)
}
