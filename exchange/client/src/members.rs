//! For tests: a session of which it is known whose it is, which becomes another member's when a test says so.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use dpop_bound::{AccessToken, KeyPair, ProofSigner, TokenHash};
use exchange_api::{Contract as _, Transport, scopes::Scope, types::ServiceDocument};

use crate::{
    connection::Connection,
    error::{Error, ErrorKind},
    exchange::Exchange,
    identity::Identity,
    place::Place,
    testkit::{Reply, ScriptedServer, VirtualEnvironment},
    tokens::{Grant, Later, Note, Proofs, Tokens},
    whose::Whose,
};

#[derive(Clone)]
pub(crate) struct Members {
    proofs: Arc<Proofs>,
    /// Whose the next grants are: all but the last are given once.
    next: Arc<Mutex<Vec<Whose>>>,
    /// What the token was granted.
    scopes: Arc<Mutex<Arc<[Scope]>>>,
    /// What it refuses with instead.
    pub(crate) refuses: Arc<Mutex<Option<ErrorKind>>>,
    /// Somebody disconnected in another process: what is in memory holds for a while.
    gone: Arc<AtomicBool>,
    /// Nobody can tell what is kept.
    locked: Arc<AtomicBool>,
}

impl Members {
    /// Installation `i-1` is signed in.
    pub(crate) fn new(machine: &VirtualEnvironment) -> Self {
        let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().unwrap());
        let proofs = Arc::new(Proofs::new(key, machine.environment()));
        let next = Arc::new(Mutex::new(vec![whose(Some("i-1"))]));
        let (scopes, refuses, gone, locked) = Default::default();
        Self { proofs, next, scopes, refuses, gone, locked }
    }

    /// Each with a connection of its own; of `None` it is not known whose that is.
    pub(crate) fn sign_in(&self, installations: &[Option<&str>]) {
        *self.next.lock().unwrap() = installations.iter().copied().map(whose).collect();
    }

    /// As a refresh that brings a token for this.
    pub(crate) fn grant(&self, scopes: &[Scope]) {
        *self.scopes.lock().unwrap() = scopes.into();
    }

    pub(crate) fn disconnect_elsewhere(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// The secret store answers nobody, or does again.
    pub(crate) fn lock_store(&self, locked: bool) {
        self.locked.store(locked, Ordering::SeqCst);
    }

    /// The exchange at a server, for whoever is signed in.
    pub(crate) fn exchange(&self, machine: &VirtualEnvironment, server: &ScriptedServer) -> Exchange {
        self.exchange_at(server.origin(), machine, server.clone())
    }

    /// The same over another way there.
    pub(crate) fn exchange_at(
        &self,
        origin: &str,
        machine: &VirtualEnvironment,
        below: impl Transport + 'static,
    ) -> Exchange {
        let place = Place::new("https://identity.test", origin).unwrap();
        Exchange::builder(place, identity())
            .environment(machine.environment())
            .transport(below)
            .build_with(Arc::new(self.clone()))
            .unwrap()
    }
}

fn whose(installation: Option<&str>) -> Whose {
    let connection = format!("connection-of-{}", installation.unwrap_or("somebody"));
    Whose { connection: Some(connection.into()), installation: installation.map(Into::into) }
}

fn identity() -> Identity {
    Identity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap()
}

/// The service document of this installation, or of one that the exchange could not tell.
pub(crate) fn document(installation: &str, scopes: &[&str]) -> String {
    let scopes: Vec<_> = scopes.iter().map(|scope| format!("\"exchange.{scope}\"")).collect();
    let id = match installation {
        "" => String::new(),
        id => format!(r#""installationId":"{id}","#),
    };
    format!(
        r#"{{"apiVersion":"1.0","capabilities":[{}],{id}"limits":{{"batchMaxOps":500}},"deprecations":[],
            "docsUrl":"https://docs.example","minClientVersion":null}}"#,
        scopes.join(","),
    )
}

/// The service document of this installation, as an answer.
pub(crate) fn service_document(installation: &str, scopes: &[&str]) -> Reply {
    Reply::json(200, document(installation, scopes))
}

/// A connection of this installation, or of one that the exchange could not tell.
pub(crate) fn connection(installation: &str, scopes: &[&str]) -> Connection {
    let document = ServiceDocument::parse_valid(document(installation, scopes).as_bytes()).unwrap();
    Connection::of(document, &identity(), None)
}

impl Tokens for Members {
    fn current(&self) -> Later<'_, Result<Grant, Error>> {
        if let Some(kind) = *self.refuses.lock().unwrap() {
            return Box::pin(async move { Err(Error::new(kind, "the identity provider refused")) });
        }
        let mut next = self.next.lock().unwrap();
        let whose = if next.len() > 1 { next.remove(0) } else { next[0].clone() };
        let token = format!("token-of-{}", whose.installation.as_deref().unwrap_or("somebody"));
        let token = Arc::new(AccessToken::new(token).unwrap());
        let (proofs, jkt) = (Arc::clone(&self.proofs), "a-key".into());
        Box::pin(async { Ok(Grant { token, proofs, whose, jkt, opened: 1 }) })
    }

    fn gateway(&self) -> Option<Arc<Proofs>> {
        Some(Arc::clone(&self.proofs))
    }

    fn renewed<'a>(&'a self, _: &'a TokenHash) -> Later<'a, Result<Grant, Error>> {
        self.current()
    }

    fn whose(&self) -> Option<Whose> {
        Some(self.next.lock().unwrap()[0].clone())
    }

    fn scopes(&self) -> Arc<[Scope]> {
        Arc::clone(&self.scopes.lock().unwrap())
    }

    fn is_kept<'a>(&'a self, of: &'a Whose) -> Later<'a, Result<bool, Error>> {
        let is_here = self.next.lock().unwrap()[0].connection == of.connection || of.connection.is_none();
        let gone = self.gone.load(Ordering::SeqCst);
        if self.locked.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Error::new(ErrorKind::Secrets, "the secret store is locked")) });
        }
        Box::pin(async move { Ok(is_here && !gone) })
    }

    fn noted<'a>(&'a self, of: &'a Whose, note: Note<'a>) -> Later<'a, Result<(), Error>> {
        if let Note::Installation(id) = note {
            let mut next = self.next.lock().unwrap();
            let here = next.iter_mut().filter(|whose| whose.connection == of.connection);
            here.for_each(|whose| whose.installation = Some(id.into()));
        }
        Box::pin(async { Ok(()) })
    }

    fn told<'a>(&'a self, _: &'a Grant, _: &'a Error) -> Later<'a, ()> {
        Box::pin(async {})
    }
}
