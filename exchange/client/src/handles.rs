//! Whether a game-account handle is the member's: asked once for each handle and session, and a handle goes
//! nowhere else (SVC-15, SVC-16, CLI-05).

use std::{collections::HashMap, fmt, sync::Arc};

use exchange_api::{
    Client,
    types::{AccountCheckRequest, AccountCheckResult, AccountHandle},
};
use tokio::sync::Mutex;

use crate::{
    error::{Error, ErrorKind},
    tokens::{Signers, Tokens},
    whose::Private,
};

/// What is known of a handle, and what follows from it (SVC-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandleCheck {
    /// It is the member's: synchronise.
    Match,
    /// The member's profile has another: stop, and ask the member.
    Mismatch,
    /// The member's profile has none: ask the member to confirm it, or to enter it in the profile.
    Unknown,
    /// The profile has none, and the member confirmed that it is theirs ([`Handles::confirmed`]): synchronise.
    Confirmed,
}

impl HandleCheck {
    /// Whether what was read from this handle's game may be synchronised now.
    #[must_use]
    pub const fn may_sync(self) -> bool {
        matches!(self, Self::Match | Self::Confirmed)
    }

    /// What the member is told. Names no handle.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Match => "this game account is yours",
            Self::Mismatch => {
                "your profile names another game account: nothing is synchronised until you have looked at it"
            }
            Self::Unknown => {
                "your profile names no game account: confirm that this one is yours, or enter it in your profile"
            }
            Self::Confirmed => "you confirmed that this game account is yours",
        }
    }
}

/// The handles of one session. Keeps what was answered in memory alone, and for nobody but the member who was signed in.
pub struct Handles {
    api: Client,
    signers: Signers,
    // Held while one is asked about, so that two who ask at once ask once.
    known: Mutex<Private<HashMap<String, HandleCheck>>>,
}

impl Handles {
    /// Nothing is known yet. For calls that are one member's as long as it lives, or until [`forget`](Self::forget);
    /// [`Exchange::handles`](crate::Exchange::handles) looks at who is signed in.
    #[must_use]
    pub fn new(api: Client) -> Self {
        Self::over(api, None)
    }

    pub(crate) fn over(api: Client, tokens: Option<Arc<dyn Tokens>>) -> Self {
        Self { api, signers: Signers::new(tokens), known: Mutex::default() }
    }

    /// Whether a handle is the member's. Asked at most once for each in a session, whatever its case: ten
    /// checks are allowed in an hour.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what cannot be a handle, which is not sent; otherwise as every call, and
    /// nothing is remembered then.
    pub async fn check(&self, handle: &str) -> Result<HandleCheck, Error> {
        let wanted = AccountHandle::new(handle).map_err(|_| {
            Error::new(ErrorKind::Invalid, "a handle has 3 to 60 letters, digits, hyphens and underscores")
        })?;
        let mut known = self.known.lock().await;
        if let Some(check) = known.of(self.signers.now().as_ref()).get(&folded(handle)) {
            return Ok(*check);
        }
        let body = AccountCheckRequest { handle: wanted, extra: exchange_api::Map::new() };
        let answer = self.api.account_check(&body).await?;
        let asked = self.signers.of(&answer);
        let check = match answer.into_body().result {
            AccountCheckResult::Match => HandleCheck::Match,
            AccountCheckResult::Mismatch => HandleCheck::Mismatch,
            // One that is not known yet does not say that it is the member's (CON-12).
            _ => HandleCheck::Unknown,
        };
        known.of(asked.as_ref()).insert(folded(handle), check);
        Ok(check)
    }

    /// The member says that a handle is theirs, of which the profile says nothing. Changes nothing for a handle
    /// that was not asked about, or that the profile contradicts.
    pub async fn confirmed(&self, handle: &str) -> Option<HandleCheck> {
        let mut known = self.known.lock().await;
        let check = known.of(self.signers.now().as_ref()).get_mut(&folded(handle))?;
        if *check == HandleCheck::Unknown {
            *check = HandleCheck::Confirmed;
        }
        Some(*check)
    }

    /// The member changed the profile: every handle is asked about anew.
    pub async fn forget(&self) {
        *self.known.lock().await = Private::default();
    }
}

/// How many are known, and none of them.
impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").finish_non_exhaustive()
    }
}

/// The exchange compares without regard to case (SVC-14).
fn folded(handle: &str) -> String {
    handle.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        double::{Double, problem},
        members::Members,
        testkit::{Reply, ScriptedServer, VirtualEnvironment},
    };

    fn said(result: &str) -> (u16, String) {
        (200, format!(r#"{{"result": "{result}"}}"#))
    }

    /// SVC-15: each answer has what follows from it, one that nobody knows yet included.
    #[tokio::test]
    async fn a_handle_is_the_members_or_the_member_is_asked() {
        let double = Double::answering(["match", "mismatch", "unknown", "later"].map(said));
        let handles = Handles::new(double.client());
        let mut seen = Vec::new();
        for handle in ["One", "Two", "Three", "Four"] {
            let check = handles.check(handle).await.unwrap();
            seen.push((check, check.may_sync()));
        }
        assert_eq!(
            seen,
            [
                (HandleCheck::Match, true),
                (HandleCheck::Mismatch, false),
                (HandleCheck::Unknown, false),
                (HandleCheck::Unknown, false)
            ]
        );
        // The member confirms: that says something only where the profile says nothing.
        assert_eq!(handles.confirmed("three").await, Some(HandleCheck::Confirmed));
        assert!(handles.check("Three").await.unwrap().may_sync());
        assert_eq!(handles.confirmed("Two").await, Some(HandleCheck::Mismatch));
        assert_eq!(handles.confirmed("Five").await, None);
    }

    /// SVC-16: once per handle and session, also when two ask at once; only an answer is remembered.
    #[tokio::test]
    async fn a_handle_is_asked_about_once_in_a_session() {
        let double = Double::answering([problem(429, "RATE_LIMITED"), said("match"), said("mismatch")]);
        let handles = Handles::new(double.client());
        assert_eq!(handles.check("Ada_L").await.unwrap_err().kind(), ErrorKind::Busy);
        let both = tokio::join!(handles.check("Ada_L"), handles.check("ADA_l"));
        assert_eq!((both.0.unwrap(), both.1.unwrap()), (HandleCheck::Match, HandleCheck::Match));
        assert_eq!(double.requests().len(), 2);
        handles.forget().await;
        assert_eq!(handles.check("Ada_L").await.unwrap(), HandleCheck::Mismatch);
        assert!(double.requests().iter().all(|line| line.starts_with("POST /exchange/v1/me/account-check ")));
    }

    /// SVC-15, SVC-16: what was answered to one member says nothing to another, nor does what one confirmed.
    #[tokio::test(start_paused = true)]
    async fn a_handle_is_asked_about_for_each_member() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|seen| {
            let result = if seen.token() == Some("token-of-i-1") { "unknown" } else { "mismatch" };
            Reply::json(200, said(result).1)
        });
        let members = Members::new(&machine);
        let exchange = members.exchange(&machine, &gateway);
        let handles = exchange.handles();
        handles.check("Nova").await.unwrap();
        assert_eq!(handles.confirmed("nova").await, Some(HandleCheck::Confirmed));
        assert_eq!((handles.check("NOVA").await.unwrap(), gateway.count()), (HandleCheck::Confirmed, 1));
        for other in [Some("i-2"), None] {
            members.sign_in(&[other]);
            assert_eq!(handles.confirmed("Nova").await, None);
            assert_eq!(handles.check("Nova").await.unwrap(), HandleCheck::Mismatch);
        }
        members.sign_in(&[Some("i-1")]);
        assert_eq!((handles.check("Nova").await.unwrap(), gateway.count()), (HandleCheck::Unknown, 4));
        // Signed for one, and remembered when the other is there already.
        members.sign_in(&[Some("i-1"), Some("i-2")]);
        handles.check("Vega").await.unwrap();
        assert_eq!(handles.confirmed("Vega").await, None);
    }

    /// SVC-16, CLI-05: what is no handle is not sent, and no handle is printed.
    #[tokio::test]
    async fn a_handle_is_never_printed() {
        let double = Double::answering([said("match")]);
        let handles = Handles::new(double.client());
        for none in ["", "ab", "hush hush", "hush\u{e9}", &"hush".repeat(16)] {
            let error = handles.check(none).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
        }
        assert!(double.requests().is_empty());
        handles.check("hush").await.unwrap();
        assert!(!format!("{handles:?}").contains("hush"));
    }
}
