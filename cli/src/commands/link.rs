//! Links that are secrets: opened for the member, or printed because the member said so, and never else (WRT-11,
//! DRF-13).

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;

use crate::{
    args::LinkArgs,
    failure::{Exit, Failure},
    output::{Output, clean},
};

/// Whether the member can be got to a link at all: asked before there is one, since making it spends something.
pub(super) fn possible(how: &LinkArgs, what: &'static str, output: &Output) -> Result<(), Failure> {
    if how.print_link || how.open || output.can_ask() { Ok(()) } else { Err(Unseen::Unwanted.of_what(what)) }
}

/// Why the member was not got to a link. What that means for it, and whether it can be had again, its maker knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// The member said no, or cannot be asked.
    Unwanted,
    /// There is no browser.
    NoBrowser,
}

impl Unseen {
    /// Of a link that the same command makes again.
    pub(super) fn of_what(self, what: &'static str) -> Failure {
        match self {
            Self::Unwanted => {
                let next = "use --open where there is a browser, or --print-link to open it by hand";
                Failure::new(Exit::Conflict, format!("the {what} waits for you in a browser"), next)
            }
            Self::NoBrowser => {
                let next = "use --print-link, and open the link by hand";
                Failure::new(Exit::Failed, "no browser could be started", next)
            }
        }
    }
}

/// Gets the member to a secret link.
pub(super) async fn show(
    how: LinkArgs,
    link: &str,
    what: &'static str,
    output: &mut Output,
) -> Result<(), Unseen> {
    if how.print_link {
        output.warn("this link is a secret: open it, and share it with nobody");
        if output.is_json() {
            output.json(&json!({ "link": link }));
        } else {
            output.line(clean(link));
        }
        return Ok(());
    }
    let question = format!("Press Enter to open the {what} in your browser.");
    let wanted = how.open || output.ask(&question).await.as_deref() == Some("");
    if !wanted {
        return Err(Unseen::Unwanted);
    }
    open(link).await.map_err(|()| Unseen::NoBrowser)?;
    if output.is_json() {
        output.json(&json!({ "opened": true }));
    } else {
        output.note("opened in your browser");
    }
    Ok(())
}

/// How long a program that opens things is looked at: one that finds no browser says so at once, and one that becomes the
/// browser does not end.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// How often.
const LOOK: Duration = Duration::from_millis(20);

/// Asks the platform to open an address; fails where it says that it cannot. Whether the member sees it nobody knows.
pub(super) async fn open(address: &str) -> Result<(), ()> {
    // Nothing but an address of the web is ever handed to a program that opens things.
    if !address.starts_with("https://") && !address.starts_with("http://") {
        return Err(());
    }
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else if cfg!(target_os = "macos") {
        Command::new("open")
    } else {
        Command::new("xdg-open")
    };
    let quiet = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opening = quiet.spawn().map_err(drop)?;
    let begun = tokio::time::Instant::now();
    while begun.elapsed() < LOOKED_AT {
        match opening.try_wait() {
            // What rundll32 ends with says nothing of the browser.
            Ok(Some(ended)) => return if cfg!(windows) || ended.success() { Ok(()) } else { Err(()) },
            Ok(None) => tokio::time::sleep(LOOK).await,
            // Nobody can tell; it was asked.
            Err(_) => break,
        }
    }
    Ok(())
}
