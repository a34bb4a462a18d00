//! The check whether a game-account handle belongs to the member. Each handle is checked once per session and
//! sent nowhere else (SVC-15, SVC-16, CLI-05).

use std::{collections::HashMap, fmt, sync::Arc};

use exchange_api::{
    Client,
    types::{AccountCheckRequest, AccountCheckResult, AccountHandle},
};
use tokio::sync::Mutex;

use crate::{
    error::{Error, ErrorKind},
    ownership::OwnedCache,
    token_source::{CurrentSigner, TokenSource},
};

/// The result of checking a handle (SVC-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandleCheck {
    /// The handle belongs to the member: synchronize.
    Match,
    /// The member's profile contains another handle: stop, and let the member decide.
    Mismatch,
    /// The member's profile contains no handle: let the member confirm it, or enter it in the profile.
    Unknown,
    /// The profile contains no handle, but the member confirmed this one with [`HandleChecker::confirm`]:
    /// synchronize.
    Confirmed,
}

impl HandleCheck {
    /// Returns true if data of this game account may be synchronized now.
    #[must_use]
    pub const fn may_sync(self) -> bool {
        matches!(self, Self::Match | Self::Confirmed)
    }

    /// Returns the message for the member, which does not contain the handle.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Match => "this game account is yours",
            Self::Mismatch => {
                "your profile names another game account: synchronization is paused until you check it"
            }
            Self::Unknown => {
                "your profile names no game account: confirm that this one is yours, or enter it in your profile"
            }
            Self::Confirmed => "you confirmed that this game account is yours",
        }
    }
}

/// A checker of game-account handles, with an in-memory cache. The cache is cleared when another member signs
/// in.
pub struct HandleChecker {
    api: Client,
    signer: CurrentSigner,
    // The lock is held during a check, so that concurrent checks of one handle send one request.
    results: Mutex<OwnedCache<HashMap<String, HandleCheck>>>,
}

impl HandleChecker {
    /// Creates a checker with an empty cache, for an API client that serves one member. Call
    /// [`clear`](Self::clear) when another member signs in; the checker of
    /// [`Exchange::handles`](crate::Exchange::handles) detects this itself.
    #[must_use]
    pub fn new(api: Client) -> Self {
        Self::with_token_source(api, None)
    }

    pub(crate) fn with_token_source(api: Client, tokens: Option<Arc<dyn TokenSource>>) -> Self {
        Self { api, signer: CurrentSigner::new(tokens), results: Mutex::default() }
    }

    /// Checks whether a handle belongs to the member. Sends at most one request per handle and session,
    /// because the exchange permits ten checks per hour. The case of the handle is ignored.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] for a malformed handle, which is not sent, and the errors that every
    /// call can return. Errors are not cached.
    pub async fn check(&self, handle: &str) -> Result<HandleCheck, Error> {
        let wanted = AccountHandle::new(handle).map_err(|_| {
            Error::new(
                ErrorKind::Invalid,
                "a handle must have 3 to 60 letters, digits, hyphens and underscores",
            )
        })?;
        let mut known = self.results.lock().await;
        if let Some(check) = known.value_for(self.signer.owner().as_ref()).get(&fold_handle(handle)) {
            return Ok(*check);
        }
        let body = AccountCheckRequest { handle: wanted, extra: exchange_api::Map::new() };
        let response = self.api.account_check(&body).await?;
        let owner = self.signer.response_owner(&response);
        let check = match response.into_body().result {
            AccountCheckResult::Match => HandleCheck::Match,
            AccountCheckResult::Mismatch => HandleCheck::Mismatch,
            // CON-12: a result that is unknown to this version does not confirm the handle.
            _ => HandleCheck::Unknown,
        };
        known.value_for(owner.as_ref()).insert(fold_handle(handle), check);
        Ok(check)
    }

    /// Records that the member confirmed a handle, and returns the new result. Only a cached result of
    /// [`HandleCheck::Unknown`] is changed. Returns `None` for a handle that was not checked.
    pub async fn confirm(&self, handle: &str) -> Option<HandleCheck> {
        let mut known = self.results.lock().await;
        let check = known.value_for(self.signer.owner().as_ref()).get_mut(&fold_handle(handle))?;
        if *check == HandleCheck::Unknown {
            *check = HandleCheck::Confirmed;
        }
        Some(*check)
    }

    /// Clears the cache. Call this, for example, after the member changed the profile.
    pub async fn clear(&self) {
        *self.results.lock().await = OwnedCache::default();
    }
}

/// Does not print the handles or their number.
impl fmt::Debug for HandleChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleChecker").finish_non_exhaustive()
    }
}

/// Converts a handle to lowercase, because the exchange ignores its case (SVC-14).
fn fold_handle(handle: &str) -> String {
    handle.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mock_gateway::{MockGateway, problem_response},
        test_members::TestMembers,
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
    };

    fn check_response(result: &str) -> (u16, String) {
        (200, format!(r#"{{"result": "{result}"}}"#))
    }

    /// SVC-15: each result determines whether data may be synchronized, even a result that is unknown to this
    /// version.
    #[tokio::test]
    async fn handle_check_result_decides_about_sync() {
        let double =
            MockGateway::with_responses(["match", "mismatch", "unknown", "later"].map(check_response));
        let handles = HandleChecker::new(double.client());
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
        // A confirmation is accepted only if the profile contains no handle.
        assert_eq!(handles.confirm("three").await, Some(HandleCheck::Confirmed));
        assert!(handles.check("Three").await.unwrap().may_sync());
        assert_eq!(handles.confirm("Two").await, Some(HandleCheck::Mismatch));
        assert_eq!(handles.confirm("Five").await, None);
    }

    /// SVC-16: one request is sent per handle and session, even for concurrent checks. Errors are not cached.
    #[tokio::test]
    async fn handle_is_checked_once_per_session() {
        let double = MockGateway::with_responses([
            problem_response(429, "RATE_LIMITED"),
            check_response("match"),
            check_response("mismatch"),
        ]);
        let handles = HandleChecker::new(double.client());
        assert_eq!(handles.check("Ada_L").await.unwrap_err().kind(), ErrorKind::Busy);
        let both = tokio::join!(handles.check("Ada_L"), handles.check("ADA_l"));
        assert_eq!((both.0.unwrap(), both.1.unwrap()), (HandleCheck::Match, HandleCheck::Match));
        assert_eq!(double.requests().len(), 2);
        handles.clear().await;
        assert_eq!(handles.check("Ada_L").await.unwrap(), HandleCheck::Mismatch);
        assert!(double.requests().iter().all(|line| line.starts_with("POST /exchange/v1/me/account-check ")));
    }

    /// SVC-15, SVC-16: the results and confirmations of one member do not apply to another member.
    #[tokio::test(start_paused = true)]
    async fn handle_is_checked_for_each_member() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|seen| {
            let result = if seen.token() == Some("token-of-i-1") { "unknown" } else { "mismatch" };
            ScriptedReply::json(200, check_response(result).1)
        });
        let members = TestMembers::new(&machine);
        let exchange = members.exchange_for(&machine, &gateway);
        let handles = exchange.handles();
        handles.check("Nova").await.unwrap();
        assert_eq!(handles.confirm("nova").await, Some(HandleCheck::Confirmed));
        assert_eq!(
            (handles.check("NOVA").await.unwrap(), gateway.request_count()),
            (HandleCheck::Confirmed, 1)
        );
        for other in [Some("i-2"), None] {
            members.sign_in(&[other]);
            assert_eq!(handles.confirm("Nova").await, None);
            assert_eq!(handles.check("Nova").await.unwrap(), HandleCheck::Mismatch);
        }
        members.sign_in(&[Some("i-1")]);
        assert_eq!(
            (handles.check("Nova").await.unwrap(), gateway.request_count()),
            (HandleCheck::Unknown, 4)
        );
        // The request is signed for one member, but another member is signed in when the response arrives.
        members.sign_in(&[Some("i-1"), Some("i-2")]);
        handles.check("Vega").await.unwrap();
        assert_eq!(handles.confirm("Vega").await, None);
    }

    /// SVC-16, CLI-05: a malformed handle is not sent, and no handle is printed.
    #[tokio::test]
    async fn debug_output_hides_the_handle() {
        let double = MockGateway::with_responses([check_response("match")]);
        let handles = HandleChecker::new(double.client());
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
