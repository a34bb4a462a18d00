//! An exchange to which somebody is signed in, without a login: for tests of what stands on the transport.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpop_bound::{AccessToken, KeyPair, ProofSigner, TokenHash};
use exchange_api::Transport;

use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::{Exchange, ExchangeBuilder},
    identity::Identity,
    place::Place,
    tokens::{Grant, Later, Note, Proofs, Tokens},
    transport::Settings,
    whose::Whose,
};

/// The exchange at this origin, with a key and a token that never runs out and is never another.
///
/// # Panics
/// When the origin is none.
#[must_use]
pub fn signed_in(
    origin: &str,
    below: impl Transport + 'static,
    environment: &Environment,
    settings: Settings,
) -> Exchange {
    let place = Place::new("https://identity.test", origin).expect("an origin");
    let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example").expect("an identity");
    let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().expect("a key"));
    let token = AccessToken::new("token-of-a-test").expect("a token");
    let proofs = Arc::new(Proofs::new(key, environment.clone()));
    let whose = Whose { connection: Some("a-connection".into()), installation: None };
    let grant = Grant { token: Arc::new(token), proofs, whose, jkt: "a-key".into(), opened: 1 };
    let builder: ExchangeBuilder = Exchange::builder(place, identity)
        .environment(environment.clone())
        .settings(settings)
        .transport(below);
    builder.build_with(Arc::new(Fixed(Mutex::new(grant)))).expect("a transport was given")
}

/// One token for ever, and what the installation is called once the connection was read.
struct Fixed(Mutex<Grant>);

impl Fixed {
    fn grant(&self) -> MutexGuard<'_, Grant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tokens for Fixed {
    fn current(&self) -> Later<'_, Result<Grant, Error>> {
        let grant = self.grant().clone();
        Box::pin(async { Ok(grant) })
    }

    fn gateway(&self) -> Option<Arc<Proofs>> {
        Some(Arc::clone(&self.grant().proofs))
    }

    fn renewed<'a>(&'a self, _: &'a TokenHash) -> Later<'a, Result<Grant, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::SignInNeeded, "there is no other token in a test")) })
    }

    fn whose(&self) -> Option<Whose> {
        Some(self.grant().whose.clone())
    }

    fn is_kept<'a>(&'a self, _: &'a Whose) -> Later<'a, Result<bool, Error>> {
        Box::pin(async { Ok(true) })
    }

    fn noted<'a>(&'a self, _: &'a Whose, note: Note<'a>) -> Later<'a, Result<(), Error>> {
        if let Note::Installation(id) = note {
            self.grant().whose.installation = Some(id.into());
        }
        Box::pin(async { Ok(()) })
    }

    fn told<'a>(&'a self, _: &'a Grant, _: &'a Error) -> Later<'a, ()> {
        Box::pin(async {})
    }
}
