//! Secret links, which are opened in a browser or printed only at the member's request (WRT-11, DRF-13).

use std::{
    io,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;

use crate::{
    args::LinkArgs,
    error::{CommandError, ExitStatus},
    output::{Output, sanitize},
};

/// Checks that a link can be opened or printed. Call this first, because creating the link counts against a
/// quota.
pub(super) fn ensure_link_can_open(
    args: &LinkArgs,
    what: &'static str,
    output: &Output,
) -> Result<(), CommandError> {
    if args.print_link || args.open || output.can_prompt() {
        Ok(())
    } else {
        Err(LinkNotOpened::Declined.into_error(what))
    }
}

/// The reason why a link was not opened. The caller converts it into an error, which also states what happens
/// to the linked data and whether a new link can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkNotOpened {
    /// The member declined, or there is no terminal for the prompt.
    Declined,
    /// No browser could be started.
    NoBrowser,
}

impl LinkNotOpened {
    /// Creates the error for a link that the user can request again with the same command.
    pub(super) fn into_error(self, what: &'static str) -> CommandError {
        match self {
            Self::Declined => {
                let next = "use --open where there is a browser, or --print-link to open it by hand";
                CommandError::new(
                    ExitStatus::Conflict,
                    format!("the link to the {what} page was not opened"),
                    next,
                )
            }
            Self::NoBrowser => {
                let next = "use --print-link, and open the link by hand";
                CommandError::new(ExitStatus::Failure, "no browser could be started", next)
            }
        }
    }
}

/// Opens or prints a secret link.
pub(super) async fn show_link(
    args: LinkArgs,
    link: &str,
    what: &'static str,
    output: &mut Output,
) -> Result<(), LinkNotOpened> {
    if args.print_link {
        output.print_warning("this link is a secret: open it, and do not share it");
        if output.is_json() {
            output.write_json(&json!({ "link": link }));
        } else {
            output.write_line(sanitize(link));
        }
        return Ok(());
    }
    let question = format!("Press Enter to open the {what} in your browser.");
    let wanted = args.open || output.prompt_line(&question).await.as_deref() == Some("");
    if !wanted {
        return Err(LinkNotOpened::Declined);
    }
    open_address(link).await.map_err(|()| LinkNotOpened::NoBrowser)?;
    if output.is_json() {
        output.write_json(&json!({ "opened": true }));
    } else {
        output.print_note("opened in your browser");
    }
    Ok(())
}

/// The maximum time to wait until an opener exits. An opener that finds no browser fails immediately; an
/// opener that becomes the browser does not exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval between checks whether the opener has exited.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the exit status of an opener shows that a browser was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenerStatus {
    /// The status is zero only if a browser was started.
    Meaningful,
    /// The status does not depend on whether a browser was started.
    Meaningless,
}

/// A program of the platform that opens URLs.
struct BrowserOpener {
    program: &'static str,
    /// The argument before the URL.
    first_argument: Option<&'static str>,
    status: OpenerStatus,
}

const RUNDLL32: BrowserOpener = BrowserOpener {
    program: "rundll32",
    first_argument: Some("url.dll,FileProtocolHandler"),
    status: OpenerStatus::Meaningless,
};
const OPEN: BrowserOpener =
    BrowserOpener { program: "open", first_argument: None, status: OpenerStatus::Meaningful };
const XDG_OPEN: BrowserOpener =
    BrowserOpener { program: "xdg-open", first_argument: None, status: OpenerStatus::Meaningful };

/// The opener of this platform.
const OPENER: BrowserOpener = if cfg!(windows) {
    RUNDLL32
} else if cfg!(target_os = "macos") {
    OPEN
} else {
    XDG_OPEN
};

/// Opens a URL with the platform's opener. Returns an error if the opener reports one. Success does not prove
/// that the member sees the page.
pub(super) async fn open_address(address: &str) -> Result<(), ()> {
    OPENER.open_address(address).await
}

impl BrowserOpener {
    async fn open_address(&self, address: &str) -> Result<(), ()> {
        // Only http and https URLs are passed to the opener.
        if !address.starts_with("https://") && !address.starts_with("http://") {
            return Err(());
        }
        let mut command = Command::new(self.program);
        command.args(self.first_argument).arg(address);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut opening = quiet.spawn().map_err(drop)?;
        self.wait_for_exit(|| Ok(opening.try_wait()?.map(|ended| ended.success()))).await
    }

    /// Waits until the opener exits, but at most [`EXIT_TIMEOUT`].
    async fn wait_for_exit(&self, mut ended: impl FnMut() -> io::Result<Option<bool>>) -> Result<(), ()> {
        let start = tokio::time::Instant::now();
        while start.elapsed() < EXIT_TIMEOUT {
            match ended() {
                Ok(Some(well)) => {
                    return if well || self.status == OpenerStatus::Meaningless { Ok(()) } else { Err(()) };
                }
                Ok(None) => tokio::time::sleep(EXIT_POLL_INTERVAL).await,
                // The status is not available, but the opener was started.
                Err(_) => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRT-11, DRF-13: a failed opener is reported, except `rundll32`, whose status does not depend on the
    /// browser. An opener that does not exit, or whose status is not available, counts as successful.
    #[tokio::test(start_paused = true)]
    async fn failing_opener_is_reported() {
        for (opener, when_failed) in [(RUNDLL32, Ok(())), (OPEN, Err(())), (XDG_OPEN, Err(()))] {
            let name = opener.program;
            assert_eq!(opener.wait_for_exit(|| Ok(Some(false))).await, when_failed, "{name}");
            assert_eq!(opener.wait_for_exit(|| Ok(Some(true))).await, Ok(()), "{name}");
            assert_eq!(opener.wait_for_exit(|| Ok(None)).await, Ok(()), "{name}");
            assert_eq!(opener.wait_for_exit(|| Err(io::ErrorKind::Other.into())).await, Ok(()), "{name}");
            let mut looks = 0;
            let late = || {
                looks += 1;
                Ok((looks == 3).then_some(false))
            };
            assert_eq!(opener.wait_for_exit(late).await, when_failed, "{name}");
            assert_eq!(looks, 3);
        }
    }

    /// A missing opener is an error, and so is a URL that is neither http nor https.
    #[tokio::test]
    async fn missing_opener_is_reported() {
        let missing = BrowserOpener { program: "/nonexistent/opener", ..XDG_OPEN };
        for address in ["https://web.example/", "file:///etc/passwd", "--help"] {
            assert_eq!(missing.open_address(address).await, Err(()), "{address}");
        }
    }
}
