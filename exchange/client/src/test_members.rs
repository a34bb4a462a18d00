//! A token source for tests, with a known owner that a test can replace by another member.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use dpop_bound::{AccessToken, KeyPair, ProofSigner, TokenHash};
use exchange_api::{Contract as _, Transport, scopes::Scope, types::ServiceDocument};

use crate::{
    address::ExchangeAddress,
    connection::Connection,
    error::{Error, ErrorKind},
    exchange::Exchange,
    identity::ClientIdentity,
    ownership::Ownership,
    testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
    token_source::{AccessGrant, BoxFuture, ConnectionNote, ProofSession, TokenSource},
};

#[derive(Clone)]
pub(crate) struct TestMembers {
    proofs: Arc<ProofSession>,
    /// The owners of the next grants. Each owner is used for one grant, and the last one for all further
    /// grants.
    owners: Arc<Mutex<Vec<Ownership>>>,
    /// The scopes of the token.
    granted: Arc<Mutex<Arc<[Scope]>>>,
    /// The kind of the error that is returned instead of a grant.
    pub(crate) rejection: Arc<Mutex<Option<ErrorKind>>>,
    /// True if another process has disconnected and this process has not detected it yet.
    is_disconnected: Arc<AtomicBool>,
    /// True if the secret store is locked.
    is_locked: Arc<AtomicBool>,
}

impl TestMembers {
    /// Creates a token source for the installation `i-1`.
    pub(crate) fn new(machine: &VirtualEnvironment) -> Self {
        let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().unwrap());
        let proofs = Arc::new(ProofSession::new(key, machine.environment()));
        let next = Arc::new(Mutex::new(vec![ownership_of(Some("i-1"))]));
        let (scopes, refuses, gone, locked) = Default::default();
        Self {
            proofs,
            owners: next,
            granted: scopes,
            rejection: refuses,
            is_disconnected: gone,
            is_locked: locked,
        }
    }

    /// Signs in these installations one after the other, each with its own connection. `None` is a connection
    /// whose installation is unknown.
    pub(crate) fn sign_in(&self, installations: &[Option<&str>]) {
        *self.owners.lock().unwrap() = installations.iter().copied().map(ownership_of).collect();
    }

    /// Changes the scopes, as after a refresh whose token has other scopes.
    pub(crate) fn grant_scopes(&self, scopes: &[Scope]) {
        *self.granted.lock().unwrap() = scopes.into();
    }

    pub(crate) fn disconnect_elsewhere(&self) {
        self.is_disconnected.store(true, Ordering::SeqCst);
    }

    /// Locks or unlocks the secret store.
    pub(crate) fn lock_store(&self, locked: bool) {
        self.is_locked.store(locked, Ordering::SeqCst);
    }

    /// Creates a client for this server and the current member.
    pub(crate) fn exchange_for(&self, machine: &VirtualEnvironment, server: &ScriptedServer) -> Exchange {
        self.exchange_at(server.origin(), machine, server.clone())
    }

    /// Creates a client for this origin that uses a different transport.
    pub(crate) fn exchange_at(
        &self,
        origin: &str,
        machine: &VirtualEnvironment,
        below: impl Transport + 'static,
    ) -> Exchange {
        let address = ExchangeAddress::new("https://identity.test", origin).unwrap();
        Exchange::builder(address, test_identity())
            .environment(machine.environment())
            .transport(below)
            .build_with(Arc::new(self.clone()))
            .unwrap()
    }
}

fn ownership_of(installation: Option<&str>) -> Ownership {
    let connection = format!("connection-of-{}", installation.unwrap_or("somebody"));
    Ownership { connection: Some(connection.into()), installation: installation.map(Into::into) }
}

fn test_identity() -> ClientIdentity {
    ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap()
}

/// Returns the service document of this installation as JSON. If the id is empty, the document contains none.
pub(crate) fn service_document_json(installation: &str, scopes: &[&str]) -> String {
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

/// Returns a reply with the service document of this installation.
pub(crate) fn service_document_reply(installation: &str, scopes: &[&str]) -> ScriptedReply {
    ScriptedReply::json(200, service_document_json(installation, scopes))
}

/// Returns the connection of this installation. If the id is empty, the connection has none.
pub(crate) fn test_connection(installation: &str, scopes: &[&str]) -> Connection {
    let document =
        ServiceDocument::parse_valid(service_document_json(installation, scopes).as_bytes()).unwrap();
    Connection::from_document(document, &test_identity(), None)
}

impl TokenSource for TestMembers {
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>> {
        if let Some(kind) = *self.rejection.lock().unwrap() {
            return Box::pin(
                async move { Err(Error::new(kind, "the identity provider rejected the request")) },
            );
        }
        let mut next = self.owners.lock().unwrap();
        let owner = if next.len() > 1 { next.remove(0) } else { next[0].clone() };
        let token = format!("token-of-{}", owner.installation.as_deref().unwrap_or("somebody"));
        let token = Arc::new(AccessToken::new(token).unwrap());
        let (proofs, jkt) = (Arc::clone(&self.proofs), "a-key".into());
        Box::pin(async { Ok(AccessGrant { token, proofs, owner, jkt, open_count: 1 }) })
    }

    fn gateway_proofs(&self) -> Option<Arc<ProofSession>> {
        Some(Arc::clone(&self.proofs))
    }

    fn renew_grant<'a>(&'a self, _: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>> {
        self.current_grant()
    }

    fn current_owner(&self) -> Option<Ownership> {
        Some(self.owners.lock().unwrap()[0].clone())
    }

    fn granted_scopes(&self) -> Arc<[Scope]> {
        Arc::clone(&self.granted.lock().unwrap())
    }

    fn is_current_connection<'a>(&'a self, owner: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>> {
        let is_here =
            self.owners.lock().unwrap()[0].connection == owner.connection || owner.connection.is_none();
        let gone = self.is_disconnected.load(Ordering::SeqCst);
        if self.is_locked.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Error::new(ErrorKind::Secrets, "the secret store is locked")) });
        }
        Box::pin(async move { Ok(is_here && !gone) })
    }

    fn record_note<'a>(
        &'a self,
        owner: &'a Ownership,
        note: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        if let ConnectionNote::Installation(id) = note {
            let mut next = self.owners.lock().unwrap();
            let here = next.iter_mut().filter(|member| member.connection == owner.connection);
            here.for_each(|member| member.installation = Some(id.into()));
        }
        Box::pin(async { Ok(()) })
    }

    fn report_rejection<'a>(&'a self, _: &'a AccessGrant, _: &'a Error) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
