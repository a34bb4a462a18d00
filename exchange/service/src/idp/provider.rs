//! The provider itself: what its endpoints and its pages ask of it.
//!
//! Every grant is decided by a plain function over what one write read, and applied in that same write.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use dpop_bound::live::Caps;
use dpop_bound::nonce::{Nonce, NonceKey};
use dpop_bound::random::RandomError;
use dpop_bound::{Htu, LiveProofs, Pending, ReplayStore, Thumbprint, Window};
use exchange_api::oauth_errors::OauthError;
use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::connections::{self, Connection, End, Refresh};
use super::device;
use super::form::Fields;
use super::guesses::{self, Attempt, Guesses, InMemory, TooMany};
use super::jwt::Unverified;
use super::keys::{self, KeyRing, Signer};
use super::proofs::{Asked, Proofs};
use super::refusal::Refusal;
use super::scopes::Scopes;
use super::tokens::{TokenRefusal, Verifier, Verifying};
use crate::config::Config;
use crate::environment::Environment;
use crate::ids::{ClientId, MemberId};
use crate::peer::Peer;
use crate::records::{Actor, Deed};
use crate::registry::{self, Client};
use crate::secrets;
use crate::store::{Store, StoreError, own_key};
use crate::time::Moment;

/// The grant of RFC 8628, 3.4.
pub const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The grant of RFC 6749, 6.
pub const REFRESH_GRANT: &str = "refresh_token";

/// Why there is no provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The issuer in the configuration is no `http` or `https` URL.
    #[error("`issuer` is no URL: {0}")]
    Issuer(#[from] dpop_bound::target::UrlRefusal),
    /// The issuer's path cannot be served.
    #[error("`issuer` has a path with other characters than letters, digits and `-._~`")]
    Path,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a provider shares with others that serve the same issuer.
#[derive(Clone)]
pub struct Shared {
    /// The proofs that were accepted at its endpoints.
    pub proofs: Arc<dyn ReplayStore>,
    /// Attempts at guessing.
    pub guesses: Arc<dyn Guesses>,
    /// The key of their nonces.
    pub nonce_key: NonceKey,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("guesses", &self.guesses).finish_non_exhaustive()
    }
}

impl Shared {
    /// In the memory of one process; nonces end with it.
    ///
    /// # Errors
    /// When there are no random numbers for the key of the nonces.
    pub fn in_memory(config: &Config, environment: &Environment) -> Result<Self, RandomError> {
        let window = Window::seconds(config.idp.proof_past_seconds, config.idp.proof_future_seconds);
        Ok(Self {
            proofs: Arc::new(Mutex::new(LiveProofs::new(window, Caps::default()))),
            guesses: Arc::new(InMemory::default()),
            nonce_key: NonceKey::from_bytes(environment.bytes()?),
        })
    }
}

/// The identity provider. A handle: clones are the same provider.
#[derive(Clone)]
pub struct Provider(Arc<Inner>);

struct Inner {
    store: Store,
    environment: Environment,
    config: Config,
    keys: KeyRing,
    proofs: Proofs,
    guesses: Arc<dyn Guesses>,
    /// What the successors of refresh tokens are computed with.
    successors: hmac::Key,
    token_endpoint: Htu,
    revocation_endpoint: Htu,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.0.config.issuer).finish_non_exhaustive()
    }
}

/// What a device login asks of a member: what the consent page shows (WEB-03).
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The registered client.
    pub client: ClientId,
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub scopes: Scopes,
}

/// A member's decision about a device login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Approve,
    /// No.
    Decline,
}

/// Why a device login could not be shown or decided on.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// There is no such code, or its time is over.
    #[error("there is no such code")]
    NotFound,
    /// Somebody decided before.
    #[error("the code was decided on before")]
    Decided(device::State),
    /// The browser session is over.
    #[error("the session is over")]
    SignedOut,
    /// Too many codes were tried.
    #[error("too many codes were tried")]
    Wait(Duration),
    /// Nobody can tell.
    #[error("the provider cannot tell now")]
    Unavailable,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TooMany> for Undecided {
    fn from(refusal: TooMany) -> Self {
        match refusal {
            TooMany::Wait(wait) => Self::Wait(wait),
            TooMany::Unavailable => Self::Unavailable,
        }
    }
}

/// What a token answer is made of.
struct Granted {
    client: ClientId,
    member: MemberId,
    jkt: String,
    scopes: Scopes,
    auth_time: Moment,
    ends_at: Moment,
    refresh_token: String,
}

impl Provider {
    /// Opens it, alone in its process.
    ///
    /// # Errors
    /// See [`ProviderError`].
    pub async fn new(store: Store, environment: Environment, config: &Config) -> Result<Self, ProviderError> {
        let shared = Shared::in_memory(config, &environment).map_err(StoreError::from)?;
        Self::with(store, environment, config, shared).await
    }

    /// Opens it with what it shares; makes its first key and its secrets where there are none.
    ///
    /// # Errors
    /// See [`ProviderError`].
    pub async fn with(
        store: Store,
        environment: Environment,
        config: &Config,
        shared: Shared,
    ) -> Result<Self, ProviderError> {
        let token_endpoint = Htu::of(&config.endpoint("token"))?;
        let revocation_endpoint = Htu::of(&config.endpoint("revoke"))?;
        // Elsewhere it is somebody else's to serve.
        if !config.is_external() && !config.has_plain_path() {
            return Err(ProviderError::Path);
        }
        let now = environment.now();
        let inside = environment.clone();
        let successors = store
            .write(move |database| {
                keys::settle(database, now)?;
                own_key(database, inside.random(), "refresh-successor")
            })
            .await?;
        let token_life = Duration::from_secs(config.idp.access_token_seconds);
        let keys = KeyRing::open(store.clone(), token_life, now).await?;
        let proofs = Proofs::new(config.idp.profile, shared.proofs, &shared.nonce_key);
        Ok(Self(Arc::new(Inner {
            store,
            environment,
            config: config.clone(),
            keys,
            proofs,
            guesses: shared.guesses,
            successors,
            token_endpoint,
            revocation_endpoint,
        })))
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Its store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Its clock and its source of randomness.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    pub(crate) fn guesses(&self) -> &dyn Guesses {
        &*self.0.guesses
    }

    /// The nonce that answers carry now, where the profile has nonces.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        self.0.proofs.nonce(self.0.environment.now())
    }

    /// The published keys (RFC 7517, 5).
    pub(super) async fn published_keys(&self) -> Result<Value, StoreError> {
        self.0.keys.published(self.0.environment.now()).await
    }

    /// A new device login (RFC 8628, 3.1 and 3.2).
    pub(super) async fn begin(&self, fields: &Fields, peer: Peer) -> Result<Value, Refusal> {
        let (environment, config) = (self.0.environment.clone(), &self.0.config);
        let client = ClientId::new(fields.need("client_id")?);
        let scope = fields.find("scope").unwrap_or_default().to_owned();
        let now = environment.now();
        let source = peer.network().to_string();
        self.0.guesses.take(Attempt::LoginAt, &source, now).await?;
        let device_code = environment.token::<32>().map_err(StoreError::from)?;
        let device = secrets::hash(&device_code);
        let life = Duration::from_secs(config.idp.device_code_seconds);
        let interval = Duration::from_secs(config.idp.interval_seconds);
        let code = self
            .0
            .store
            .write(move |database| {
                let registered = registered(database, &client)?;
                let login = device::Login {
                    scopes: Scopes::asked(&scope, &registered)?,
                    client,
                    expires_at: now.plus(life),
                    interval,
                    polled_at: None,
                    state: device::State::Pending,
                    approval: None,
                };
                // Among a million logins one code in 17,000 is somebody else's just now.
                for _ in 0..8 {
                    let code = super::UserCode::generate(&environment).map_err(StoreError::from)?;
                    if device::begin(database, &device, &code, &login, now)? {
                        return Ok(code);
                    }
                }
                Err(Refusal::Unavailable(Duration::from_secs(60)))
            })
            .await?;
        let page = format!("{}/device", config.web_origin());
        Ok(json!({
            "device_code": device_code,
            "user_code": code.shown(),
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={}", code.shown()),
            "expires_in": config.idp.device_code_seconds,
            "interval": config.idp.interval_seconds,
        }))
    }

    /// Tokens for a grant: the client, then the proof, then the grant (IDP-22).
    pub(super) async fn token(
        &self,
        fields: &Fields,
        headers: &HeaderMap,
        peer: Peer,
    ) -> Result<Value, Refusal> {
        let now = self.0.environment.now();
        let grant = fields.need("grant_type")?;
        let asks = async {
            let client = self.client(fields.need("client_id")?).await?;
            let secret = match grant {
                DEVICE_GRANT => fields.need("device_code")?,
                REFRESH_GRANT => fields.need("refresh_token")?,
                _ => return Err(Refusal::new(OauthError::UnsupportedGrantType, "there is no such grant")),
            };
            let asked = Asked { endpoint: &self.0.token_endpoint, peer, client: client.as_str() };
            let key = self.0.proofs.check(headers, asked, now).await?;
            Ok((client, secret, key))
        };
        let (client, secret, key) = self.counted(asks, peer, now).await?;
        // Whatever can fail comes before the grant is spent.
        let signer = self.0.keys.signer(now).await?;
        let id = self.0.environment.token::<16>().map_err(StoreError::from)?;
        let granted = if grant == DEVICE_GRANT {
            self.poll(secret, client, &key, now).await?
        } else {
            let scope = fields.find("scope").map(str::to_owned);
            self.refresh(secret.to_owned(), client, &key, scope, now).await?
        };
        self.issue(&signer, &id, &granted, now)
    }

    /// What a request proves. Of those that are refused for what stands in them an address may send only so many; one that
    /// proves something costs nothing, and neither does one that nobody could look at.
    async fn counted<T>(
        &self,
        proven: impl Future<Output = Result<T, Refusal>>,
        peer: Peer,
        now: Moment,
    ) -> Result<T, Refusal> {
        let attempt = [(Attempt::ProofAt, peer.network().to_string())];
        guesses::take_all(self.guesses(), &attempt, now).await?;
        let proven = proven.await;
        if !matches!(proven, Err(Refusal::Error { .. })) {
            guesses::give_back(self.guesses(), &attempt).await;
        }
        proven
    }

    async fn client(&self, id: &str) -> Result<ClientId, Refusal> {
        let id = ClientId::new(id);
        self.0.store.read(move |database| registered(database, &id).map(|_| id)).await
    }

    async fn poll(
        &self,
        device_code: &str,
        client: ClientId,
        key: &Thumbprint,
        now: Moment,
    ) -> Result<Granted, Refusal> {
        let device = secrets::hash(device_code);
        let id = self.0.environment.token::<16>().map_err(StoreError::from)?;
        let secret = self.0.environment.token::<32>().map_err(StoreError::from)?;
        let (jkt, config) = (key.to_string(), self.0.config.idp.clone());
        let work = move |database: &rusqlite::Connection| -> Result<Result<Granted, Refusal>, Refusal> {
            let login = device::of_device(database, &device)?;
            let decided = device::decide(login.as_ref(), client.as_str(), now);
            let (device::Poll::Approved(approval), Some(login)) = (&decided, login) else {
                if let device::Poll::Pending | device::Poll::TooFast = decided {
                    let too_fast = matches!(decided, device::Poll::TooFast);
                    device::polled(database, &device, too_fast, now)?;
                }
                return Ok(Err(not_yet(&decided)));
            };
            if !device::consume(database, &device)? {
                return Ok(Err(not_yet(&device::Poll::Unknown)));
            }
            let refresh_token = format!("{id}.{secret}");
            let connection = Connection {
                id,
                client,
                member: approval.member.clone(),
                jkt,
                scopes: login.scopes,
                auth_time: approval.auth_time,
                session: approval.session,
                current: secrets::hash(&refresh_token),
                previous: None,
                created_at: now,
                used_at: now,
                ended: false,
            };
            let around = connections::around(database, &connection, now, &config)?;
            if !around.member || now >= around.ends_at {
                return Ok(Err(Refusal::new(
                    OauthError::AccessDenied,
                    "the member who approved is no longer signed in",
                )));
            }
            // It may have been removed since the proof was checked.
            registered(database, &connection.client)?;
            connections::begin(database, &connection)?;
            Ok(Ok(granted(connection, around.ends_at, refresh_token)))
        };
        self.0.store.write(work).await?
    }

    async fn refresh(
        &self,
        token: String,
        client: ClientId,
        key: &Thumbprint,
        scope: Option<String>,
        now: Moment,
    ) -> Result<Granted, Refusal> {
        let (jkt, inner) = (key.to_string(), Arc::clone(&self.0));
        let work = move |database: &rusqlite::Connection| -> Result<Result<Granted, Refusal>, Refusal> {
            let Some(mut connection) = of_token(database, &token)? else {
                return Ok(Err(Refusal::grant("there is no such refresh token")));
            };
            let config = &inner.config.idp;
            let around = connections::around(database, &connection, now, config)?;
            let hash = secrets::hash(&token);
            let caller = (client.as_str(), jkt.as_str());
            match connections::decide(&connection, &around, &hash, caller, now, config) {
                Refresh::Refuse(why) => return Ok(Err(Refusal::grant(why))),
                Refresh::End(end) => {
                    connections::end(database, &connection, end, Actor::Service, now)?;
                    return Ok(Err(Refusal::grant("the connection is over")));
                }
                Refresh::Rotate | Refresh::Repeat => {}
            }
            // Asked for more: nothing is spent.
            connection.scopes = connection.scopes.narrowed(scope.as_deref())?;
            let secret = secrets::mac(&inner.successors, &[&connection.id, &token]);
            let successor = format!("{}.{secret}", connection.id);
            connections::renew(database, &connection.id, &hash, &secrets::hash(&successor), now)?;
            Ok(Ok(granted(connection, around.ends_at, successor)))
        };
        self.0.store.write(work).await?
    }

    /// Ends the connection of a refresh token (RFC 7009, IDP-23).
    pub(super) async fn revoke(
        &self,
        fields: &Fields,
        headers: &HeaderMap,
        peer: Peer,
    ) -> Result<(), Refusal> {
        let now = self.0.environment.now();
        let asks = async {
            let client = self.client(fields.need("client_id")?).await?;
            let token = fields.need("token")?.to_owned();
            let asked = Asked { endpoint: &self.0.revocation_endpoint, peer, client: client.as_str() };
            let jkt = self.0.proofs.check(headers, asked, now).await?.to_string();
            Ok((client, token, jkt))
        };
        let (client, token, jkt) = self.counted(asks, peer, now).await?;
        if token.split('.').count() == 3 {
            return Err(Refusal::TokenType);
        }
        let work = move |database: &rusqlite::Connection| -> Result<(), Refusal> {
            // RFC 7009, 2.2: a token that is none is none any more.
            let Some(connection) = of_token(database, &token)? else { return Ok(()) };
            if let Some(why) = connections::not_theirs(&connection, client.as_str(), &jkt) {
                return Err(Refusal::grant(why));
            }
            if !connection.ended {
                let actor = Actor::Member(&connection.member);
                connections::end(database, &connection, End::Revoked, actor, now)?;
            }
            Ok(())
        };
        self.0.store.write(work).await
    }

    fn issue(&self, signer: &Signer, id: &str, granted: &Granted, now: Moment) -> Result<Value, Refusal> {
        let config = &self.0.config;
        let life = Duration::from_secs(config.idp.access_token_seconds);
        // No token outlives its connection; one second is left, whatever of it is over.
        let expires = now.plus(life).min(granted.ends_at).secs().max(now.secs() + 1);
        let scope = granted.scopes.text();
        let is_for_gateway = granted.scopes.capabilities().next().is_some();
        let claims = AccessClaims {
            iss: &config.issuer,
            aud: if is_for_gateway { &config.audience } else { &config.issuer },
            sub: granted.member.as_str(),
            client_id: granted.client.as_str(),
            scope: &scope,
            iat: now.secs(),
            exp: expires,
            jti: id,
            auth_time: granted.auth_time.secs(),
            cnf: Confirmation { jkt: &granted.jkt },
        };
        let access_token = signer.sign(&claims)?;
        Ok(json!({
            "access_token": access_token,
            "token_type": "DPoP",
            "expires_in": expires - now.secs(),
            "refresh_token": granted.refresh_token,
            "scope": scope,
        }))
    }

    /// The device login of a code, for the member to decide on.
    ///
    /// # Errors
    /// See [`Undecided`].
    pub async fn waiting(&self, code: &super::UserCode, peer: Peer) -> Result<Waiting, Undecided> {
        let now = self.count_guess(code, peer).await?;
        let asked = code.clone();
        let found = self.0.store.read(move |database| waiting(database, &asked, now)).await;
        self.not_a_guess(&found, peer).await;
        found
    }

    /// Writes a member's decision about the device login of a code.
    ///
    /// # Errors
    /// See [`Undecided`]; then nothing is decided.
    pub async fn decide(
        &self,
        code: &super::UserCode,
        peer: Peer,
        session: &super::Session,
        decision: Decision,
    ) -> Result<Waiting, Undecided> {
        let now = self.count_guess(code, peer).await?;
        let (asked, session) = (code.clone(), session.clone());
        let decided =
            self.0.store.write(move |database| decide(database, &asked, &session, decision, now)).await;
        self.not_a_guess(&decided, peer).await;
        decided
    }

    /// Every look at a code may be a guess, until it turns out that there is such a code.
    async fn count_guess(&self, code: &super::UserCode, peer: Peer) -> Result<Moment, Undecided> {
        let now = self.0.environment.now();
        let attempts =
            [(Attempt::CodeAt, peer.network().to_string()), (Attempt::Code, code.as_str().to_owned())];
        guesses::take_all(self.guesses(), &attempts, now).await?;
        Ok(now)
    }

    async fn not_a_guess(&self, found: &Result<Waiting, Undecided>, peer: Peer) {
        if !matches!(found, Err(Undecided::NotFound)) {
            let attempt = (Attempt::CodeAt, peer.network().to_string());
            guesses::give_back(self.guesses(), &[attempt]).await;
        }
    }
}

/// Judges the tokens that this provider issued.
impl Verifier for Provider {
    fn verify<'a>(&'a self, token: &'a str, now: Moment) -> Verifying<'a> {
        Pending::later(async move {
            use jsonwebtoken::Algorithm;
            let unverified = Unverified::read(token, &[keys::TYPE])?;
            let kid = unverified.kid().ok_or(TokenRefusal::Key)?;
            let key = self.0.keys.find(kid, now).await.map_err(|_| TokenRefusal::Unavailable)?;
            let key = key.ok_or(TokenRefusal::Key)?;
            unverified.judge(&key, &[Algorithm::ES256], &self.0.config.issuer, now)
        })
    }
}

/// The claims of an access token: RFC 9068, 2.2; RFC 9449, 6.1.
#[derive(Serialize)]
struct AccessClaims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    client_id: &'a str,
    scope: &'a str,
    iat: i64,
    exp: i64,
    jti: &'a str,
    auth_time: i64,
    cnf: Confirmation<'a>,
}

#[derive(Serialize)]
struct Confirmation<'a> {
    jkt: &'a str,
}

fn granted(connection: Connection, ends_at: Moment, refresh_token: String) -> Granted {
    let Connection { client, member, jkt, scopes, auth_time, .. } = connection;
    Granted { client, member, jkt, scopes, auth_time, ends_at, refresh_token }
}

fn registered(database: &rusqlite::Connection, client: &ClientId) -> Result<Client, Refusal> {
    let unknown = || Refusal::new(OauthError::InvalidClient, "there is no such client");
    registry::client(database, client)?.ok_or_else(unknown)
}

/// The connection that a refresh token names; whether the token is one of its own, nobody has looked yet.
fn of_token(database: &rusqlite::Connection, token: &str) -> Result<Option<Connection>, StoreError> {
    match token.split_once('.') {
        Some((id, secret)) if !secret.is_empty() => connections::find(database, id),
        _ => Ok(None),
    }
}

fn not_yet(poll: &device::Poll) -> Refusal {
    let (error, said) = match poll {
        device::Poll::Pending => (OauthError::AuthorizationPending, "the member has not decided yet"),
        device::Poll::TooFast => {
            (OauthError::SlowDown, "polled too early; wait five seconds longer each time")
        }
        device::Poll::Declined => (OauthError::AccessDenied, "the member declined"),
        device::Poll::Expired => (OauthError::ExpiredToken, "the device code has expired"),
        device::Poll::Unknown | device::Poll::Approved(_) => {
            (OauthError::InvalidGrant, "there is no such device code, or it was used")
        }
    };
    Refusal::new(error, said)
}

fn waiting(
    database: &rusqlite::Connection,
    code: &super::UserCode,
    now: Moment,
) -> Result<Waiting, Undecided> {
    let login = device::of_code(database, code, now)?.ok_or(Undecided::NotFound)?;
    if login.state != device::State::Pending {
        return Err(Undecided::Decided(login.state));
    }
    let client = registry::client(database, &login.client)?.ok_or(Undecided::NotFound)?;
    Ok(Waiting { client: login.client, name: client.name, scopes: login.scopes })
}

fn decide(
    database: &rusqlite::Connection,
    code: &super::UserCode,
    session: &super::Session,
    decision: Decision,
    now: Moment,
) -> Result<Waiting, Undecided> {
    let waiting = waiting(database, code, now)?;
    let alive = super::sessions::of_hash(database, session.hash, now)?;
    if alive.is_none() || !connections::may_act(database, &session.member)? {
        return Err(Undecided::SignedOut);
    }
    let approval = match decision {
        Decision::Decline => None,
        Decision::Approve => {
            let revoked = registry::client_revoked_at(database, &waiting.client, &session.member)?;
            let offline = waiting.scopes.is_offline();
            Some(device::Approval {
                member: session.member.clone(),
                session: (!offline).then_some(session.hash),
                auth_time: if offline {
                    told(now, revoked, true)
                } else {
                    let later = revoked.is_none_or(|revoked| session.auth_time > revoked);
                    told(session.auth_time, revoked, later)
                },
            })
        }
    };
    if !device::decided(database, code, approval.as_ref())? {
        return Err(Undecided::Decided(device::State::Declined));
    }
    let action = match decision {
        Decision::Approve => "approve-login",
        Decision::Decline => "decline-login",
    };
    let actor = Actor::Member(&session.member);
    let scopes = waiting.scopes.text();
    let subject = session.member.as_str();
    let deed = Deed { client: Some(&waiting.client), action, subject, detail: &scopes };
    crate::records::audit(database, now, actor, deed)?;
    Ok(waiting)
}

/// A sign-in as tokens tell it, in whole seconds. One that came after a disconnect says so, even when both
/// lie in the same second: what is revoked is every sign-in up to that moment (ERR-12).
fn told(signed_in: Moment, revoked: Option<Moment>, later: bool) -> Moment {
    let second = Moment::from_secs(signed_in.secs());
    match revoked {
        Some(revoked) if later => second.max(Moment::from_secs(revoked.secs() + 1)),
        _ => second,
    }
}
