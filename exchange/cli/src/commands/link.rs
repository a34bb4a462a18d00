//! Links that are secrets: opened for the member, or printed because the member said so, and never else (WRT-11,
//! DRF-13).

use std::{
    io,
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

/// What a program that opens things ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Whether it could.
    Tells,
    /// Nothing of the browser.
    TellsNothing,
}

/// A program of a platform that opens addresses.
struct Opener {
    program: &'static str,
    /// What stands before the address.
    first: Option<&'static str>,
    status: Status,
}

const RUNDLL32: Opener =
    Opener { program: "rundll32", first: Some("url.dll,FileProtocolHandler"), status: Status::TellsNothing };
const OPEN: Opener = Opener { program: "open", first: None, status: Status::Tells };
const XDG_OPEN: Opener = Opener { program: "xdg-open", first: None, status: Status::Tells };

/// The one of this platform.
const OPENER: Opener = if cfg!(windows) {
    RUNDLL32
} else if cfg!(target_os = "macos") {
    OPEN
} else {
    XDG_OPEN
};

/// Asks the platform to open an address; fails where it says that it cannot. Whether the member sees it nobody knows.
pub(super) async fn open(address: &str) -> Result<(), ()> {
    OPENER.open(address).await
}

impl Opener {
    async fn open(&self, address: &str) -> Result<(), ()> {
        // Nothing but an address of the web is ever handed to a program that opens things.
        if !address.starts_with("https://") && !address.starts_with("http://") {
            return Err(());
        }
        let mut command = Command::new(self.program);
        command.args(self.first).arg(address);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut opening = quiet.spawn().map_err(drop)?;
        self.looked_at(|| Ok(opening.try_wait()?.map(|ended| ended.success()))).await
    }

    /// Looks again and again whether it ended, and how.
    async fn looked_at(&self, mut ended: impl FnMut() -> io::Result<Option<bool>>) -> Result<(), ()> {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < LOOKED_AT {
            match ended() {
                Ok(Some(well)) => {
                    return if well || self.status == Status::TellsNothing { Ok(()) } else { Err(()) };
                }
                Ok(None) => tokio::time::sleep(LOOK).await,
                // Nobody can tell; it was asked.
                Err(_) => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRT-11, DRF-13: what an opener ends with says whether it opened anything, but for rundll32's; one that goes on, or of
    /// which nobody can tell, was asked.
    #[tokio::test(start_paused = true)]
    async fn an_opener_that_fails_is_told() {
        for (opener, when_failed) in [(RUNDLL32, Ok(())), (OPEN, Err(())), (XDG_OPEN, Err(()))] {
            let name = opener.program;
            assert_eq!(opener.looked_at(|| Ok(Some(false))).await, when_failed, "{name}");
            assert_eq!(opener.looked_at(|| Ok(Some(true))).await, Ok(()), "{name}");
            assert_eq!(opener.looked_at(|| Ok(None)).await, Ok(()), "{name}");
            assert_eq!(opener.looked_at(|| Err(io::ErrorKind::Other.into())).await, Ok(()), "{name}");
            let mut looks = 0;
            let late = || {
                looks += 1;
                Ok((looks == 3).then_some(false))
            };
            assert_eq!(opener.looked_at(late).await, when_failed, "{name}");
            assert_eq!(looks, 3);
        }
    }

    /// One that is not there opens nothing; and nothing but an address of the web is handed to any.
    #[tokio::test]
    async fn an_opener_that_is_not_there_is_told() {
        let missing = Opener { program: "/nonexistent/opener", ..XDG_OPEN };
        for address in ["https://web.example/", "file:///etc/passwd", "--help"] {
            assert_eq!(missing.open(address).await, Err(()), "{address}");
        }
    }
}
