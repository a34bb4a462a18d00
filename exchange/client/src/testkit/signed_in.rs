//! A client that is signed in without a login, for tests of the code above the transport.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpop_bound::{AccessToken, KeyPair, ProofSigner, TokenHash};
use exchange_api::Transport;

use crate::{
    address::ExchangeAddress,
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::{Exchange, ExchangeBuilder},
    identity::ClientIdentity,
    ownership::Ownership,
    token_source::{AccessGrant, BoxFuture, ConnectionNote, ProofSession, TokenSource},
    transport::TransportSettings,
};

/// Creates a client for this origin with a new key and a fixed token that never expires.
///
/// # Panics
/// Panics if the origin is invalid.
#[must_use]
pub fn signed_in_exchange(
    origin: &str,
    below: impl Transport + 'static,
    environment: &Environment,
    settings: TransportSettings,
) -> Exchange {
    let address = ExchangeAddress::new("https://identity.test", origin).expect("a valid origin");
    let identity =
        ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").expect("a valid identity");
    let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().expect("a key can be generated"));
    let token = AccessToken::new("token-of-a-test").expect("a valid token");
    let proofs = Arc::new(ProofSession::new(key, environment.clone()));
    let owner = Ownership { connection: Some("a-connection".into()), installation: None };
    let grant = AccessGrant { token: Arc::new(token), proofs, owner, jkt: "a-key".into(), open_count: 1 };
    let builder: ExchangeBuilder = Exchange::builder(address, identity)
        .environment(environment.clone())
        .settings(settings)
        .transport(below);
    builder.build_with(Arc::new(FixedTokens(Mutex::new(grant)))).expect("a transport is set")
}

/// A token source with a fixed token. It stores the installation id once the connection has been read.
struct FixedTokens(Mutex<AccessGrant>);

impl FixedTokens {
    fn grant(&self) -> MutexGuard<'_, AccessGrant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenSource for FixedTokens {
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>> {
        let grant = self.grant().clone();
        Box::pin(async { Ok(grant) })
    }

    fn gateway_proofs(&self) -> Option<Arc<ProofSession>> {
        Some(Arc::clone(&self.grant().proofs))
    }

    fn renew_grant<'a>(&'a self, _: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::SignInNeeded, "there is no other token in a test")) })
    }

    fn current_owner(&self) -> Option<Ownership> {
        Some(self.grant().owner.clone())
    }

    fn is_current_connection<'a>(&'a self, _: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async { Ok(true) })
    }

    fn record_note<'a>(
        &'a self,
        _: &'a Ownership,
        note: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        if let ConnectionNote::Installation(id) = note {
            self.grant().owner.installation = Some(id.into());
        }
        Box::pin(async { Ok(()) })
    }

    fn report_rejection<'a>(&'a self, _: &'a AccessGrant, _: &'a Error) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
