//! The built-in identity provider: the operations behind its endpoints and web pages.
//!
//! Each grant is decided by a pure function over rows that were read in one transaction. The decision is
//! written in the same transaction.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use dpop_bound::nonce::{Nonce, NonceKey};
use dpop_bound::random::RandomError;
use dpop_bound::replay::ReplayLimits;
use dpop_bound::{Htu, MaybeReady, ReplayCache, ReplayStore, Thumbprint};
use exchange_api::oauth_errors::OauthError;
use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::connections::{self, ClientConnection, EndReason, RefreshDecision};
use super::device;
use super::form::FormFields;
use super::guesses::{self, AttemptError, AttemptLimiter, GuessAttempt, MemoryAttemptLimiter};
use super::jwt::UnverifiedToken;
use super::keys::{self, KeyRing, TokenSigner};
use super::oauth_error_response::OauthErrorResponse;
use super::proofs::{ProofChecker, ProofContext};
use super::scopes::ScopeSet;
use super::tokens::{TokenError, TokenVerifier, VerificationFuture};
use crate::config::Config;
use crate::environment::Environment;
use crate::ids::{ClientId, MemberId};
use crate::peer::PeerAddr;
use crate::records::{Actor, AuditEntry};
use crate::registry::{self, RegisteredClient};
use crate::secrets;
use crate::store::{Store, StoreError, ensure_key};
use crate::telemetry::{note_client, note_member};
use crate::time::Moment;

/// The grant type of RFC 8628, section 3.4.
pub const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The grant type of RFC 6749, section 6.
pub const REFRESH_GRANT: &str = "refresh_token";

/// The reason the provider could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The issuer in the configuration is not an `http` or `https` URL.
    #[error("`issuer` is not a URL: {0}")]
    Issuer(#[from] dpop_bound::target::UrlError),
    /// The issuer's path cannot be routed unambiguously.
    #[error("the path of `issuer` has an empty segment or characters other than letters, digits and `-._~`")]
    Path,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The state that all providers of one issuer share.
#[derive(Clone)]
pub struct SharedProviderState {
    /// The store of used proofs.
    pub proofs: Arc<dyn ReplayStore>,
    /// The limiter of guesses.
    pub guesses: Arc<dyn AttemptLimiter>,
    /// The key from which nonces are derived.
    pub nonce_key: NonceKey,
}

impl fmt::Debug for SharedProviderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedProviderState").field("guesses", &self.guesses).finish_non_exhaustive()
    }
}

impl SharedProviderState {
    /// Creates the state in the memory of one process. Nonces are lost when the process ends.
    ///
    /// # Errors
    /// Returns a [`RandomError`] if the random number generator fails while the nonce key is created.
    pub fn in_memory(config: &Config, environment: &Environment) -> Result<Self, RandomError> {
        let window = config.idp.proof_window();
        Ok(Self {
            proofs: Arc::new(Mutex::new(ReplayCache::new(window, ReplayLimits::default()))),
            guesses: Arc::new(MemoryAttemptLimiter::default()),
            nonce_key: NonceKey::from_bytes(environment.random_bytes()?),
        })
    }
}

/// The built-in identity provider. Clones share all state.
#[derive(Clone)]
pub struct IdentityProvider(Arc<ProviderInner>);

struct ProviderInner {
    store: Store,
    environment: Environment,
    config: Config,
    keys: KeyRing,
    proofs: ProofChecker,
    guesses: Arc<dyn AttemptLimiter>,
    /// The key from which the successors of refresh tokens are derived.
    successors: hmac::Key,
    token_endpoint: Htu,
    revocation_endpoint: Htu,
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider").field("issuer", &self.0.config.issuer).finish_non_exhaustive()
    }
}

/// A pending device login, with the data for the consent page (WEB-03).
#[derive(Clone, Debug)]
pub struct PendingLogin {
    /// The id of the registered client.
    pub client: ClientId,
    /// The registered name of the client.
    pub name: String,
    /// The requested scopes.
    pub scopes: ScopeSet,
}

/// A device login that was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedLogin {
    /// The registered name of the client.
    pub name: String,
    /// The state of the login.
    pub state: device::LoginState,
    /// The member who approved the login, if it was approved.
    pub approved_by: Option<MemberId>,
}

/// A member's decision about a device login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginDecision {
    /// Connects the client.
    Approve,
    /// Declines the connection.
    Decline,
}

/// The reason a device login could not be shown or decided.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// The code is unknown or has expired.
    #[error("unknown or expired code")]
    NotFound,
    /// The login was already decided.
    #[error("the code has been approved or declined already")]
    AlreadyDecided(DecidedLogin),
    /// The client is suspended, so it cannot be connected. Contains the registered name of the client.
    #[error("the client `{0}` is suspended")]
    Suspended(String),
    /// The browser session has ended, or the member may no longer sign in.
    #[error("the browser session has ended")]
    SignedOut,
    /// Too many codes were tried. Contains the delay before the next attempt.
    #[error("too many codes were tried")]
    Wait(Duration),
    /// The limiter of guesses is unavailable.
    #[error("the provider is unavailable")]
    Unavailable,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AttemptError> for DecisionError {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Wait(wait) => Self::Wait(wait),
            AttemptError::Unavailable => Self::Unavailable,
        }
    }
}

struct TokenGrant {
    client: ClientId,
    member: MemberId,
    jkt: String,
    scopes: ScopeSet,
    auth_time: Moment,
    ends_at: Moment,
    refresh_token: String,
}

impl IdentityProvider {
    /// Creates a provider that shares no state with other processes.
    ///
    /// # Errors
    /// See [`ProviderError`].
    pub async fn new(store: Store, environment: Environment, config: &Config) -> Result<Self, ProviderError> {
        let shared = SharedProviderState::in_memory(config, &environment).map_err(StoreError::from)?;
        Self::with_shared(store, environment, config, shared).await
    }

    /// Creates a provider with shared state. Creates the first signing key and the secrets in the store if
    /// they do not exist.
    ///
    /// # Errors
    /// See [`ProviderError`].
    pub async fn with_shared(
        store: Store,
        environment: Environment,
        config: &Config,
        shared: SharedProviderState,
    ) -> Result<Self, ProviderError> {
        let token_endpoint = Htu::from_url(&config.endpoint_url("token"))?;
        let revocation_endpoint = Htu::from_url(&config.endpoint_url("revoke"))?;
        // The paths of an external issuer are not served by this process.
        if !config.is_external() && !config.has_plain_path() {
            return Err(ProviderError::Path);
        }
        let now = environment.now();
        let inside = environment.clone();
        let successors = store
            .write(move |database| {
                keys::ensure_signing_key(database, now)?;
                ensure_key(database, inside.random(), "refresh-successor")
            })
            .await?;
        let token_life = Duration::from_secs(config.idp.access_token_seconds);
        let keys = KeyRing::load(store.clone(), token_life, now).await?;
        let proofs = ProofChecker::new(config.idp.profile, shared.proofs, &shared.nonce_key);
        Ok(Self(Arc::new(ProviderInner {
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

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Returns the clock and the source of random numbers.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    pub(crate) fn guesses(&self) -> &dyn AttemptLimiter {
        &*self.0.guesses
    }

    /// Issues a nonce for a response if the profile uses nonces.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        self.0.proofs.issue_nonce(self.0.environment.now())
    }

    /// Returns the published keys (RFC 7517, section 5).
    pub(super) async fn published_keys(&self) -> Result<Value, StoreError> {
        self.0.keys.published_jwks(self.0.environment.now()).await
    }

    /// Starts a device login (RFC 8628, sections 3.1 and 3.2).
    pub(super) async fn begin_device_login(
        &self,
        fields: &FormFields,
        peer: PeerAddr,
    ) -> Result<Value, OauthErrorResponse> {
        let (environment, config) = (self.0.environment.clone(), &self.0.config);
        let client = ClientId::new(fields.require_field("client_id")?);
        let scope = fields.find_field("scope").unwrap_or_default().to_owned();
        let now = environment.now();
        let (source, requested) = (peer.network().to_string(), client.clone());
        self.0.guesses.take_attempt(GuessAttempt::LoginFromAddress, &source, now).await?;
        let device_code = environment.random_token::<32>().map_err(StoreError::from)?;
        let device = secrets::sha256(&device_code);
        let life = Duration::from_secs(config.idp.device_code_seconds);
        let interval = Duration::from_secs(config.idp.interval_seconds);
        let code = self
            .0
            .store
            .write(move |database| {
                let registered = find_registered(database, &client)?;
                let login = device::DeviceLogin {
                    scopes: ScopeSet::parse_requested(&scope, &registered)?,
                    client,
                    expires_at: now.plus(life),
                    interval,
                    polled_at: None,
                    state: device::LoginState::Pending,
                    approval: None,
                };
                // Codes rarely collide: even with a million pending logins, only one code in 17,000 is in
                // use.
                for _ in 0..8 {
                    let code = super::UserCode::generate(&environment).map_err(StoreError::from)?;
                    if device::insert_login(database, &device, &code, &login, now)? {
                        return Ok(code);
                    }
                }
                Err(OauthErrorResponse::Unavailable(Duration::from_secs(60)))
            })
            .await?;
        note_client(&requested);
        let page = format!("{}/device", config.web_origin());
        Ok(json!({
            "device_code": device_code,
            "user_code": code.to_display(),
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={}", code.to_display()),
            "expires_in": config.idp.device_code_seconds,
            "interval": config.idp.interval_seconds,
        }))
    }

    /// Exchanges a grant for tokens. Checks the client, then the proof, then the grant (IDP-22).
    pub(super) async fn exchange_token(
        &self,
        fields: &FormFields,
        headers: &HeaderMap,
        peer: PeerAddr,
    ) -> Result<Value, OauthErrorResponse> {
        let now = self.0.environment.now();
        let grant = fields.require_field("grant_type")?;
        let verification = async {
            let client = self.find_client(fields.require_field("client_id")?).await?;
            let secret = match grant {
                DEVICE_GRANT => fields.require_field("device_code")?,
                REFRESH_GRANT => fields.require_field("refresh_token")?,
                _ => {
                    return Err(OauthErrorResponse::new(
                        OauthError::UnsupportedGrantType,
                        "unknown grant type",
                    ));
                }
            };
            let context = ProofContext { endpoint: &self.0.token_endpoint, peer, client: client.as_str() };
            let key = self.0.proofs.check_proof(headers, context, now).await?;
            Ok((client, secret, key))
        };
        let (client, secret, key) = self.count_unproven(verification, peer, now).await?;
        // All steps that can fail are done before the grant is consumed.
        let signer = self.0.keys.current_signer(now).await?;
        let id = self.0.environment.random_token::<16>().map_err(StoreError::from)?;
        let granted = if grant == DEVICE_GRANT {
            self.poll_device(secret, client, &key, now).await?
        } else {
            let scope = fields.find_field("scope").map(str::to_owned);
            self.refresh_tokens(secret.to_owned(), client, &key, scope, now).await?
        };
        note_member(&granted.member);
        self.issue_tokens(&signer, &id, &granted, now)
    }

    /// Counts requests without a valid proof. An address may send only a limited number of requests that are
    /// refused because of their contents. A request with a valid proof, or one that could not be checked,
    /// does not count.
    async fn count_unproven<T>(
        &self,
        proven: impl Future<Output = Result<T, OauthErrorResponse>>,
        peer: PeerAddr,
        now: Moment,
    ) -> Result<T, OauthErrorResponse> {
        let attempt = [(GuessAttempt::ProofFromAddress, peer.network().to_string())];
        guesses::take_all(self.guesses(), &attempt, now).await?;
        let proven = proven.await;
        if !matches!(proven, Err(OauthErrorResponse::Error { .. })) {
            guesses::give_back(self.guesses(), &attempt).await;
        }
        proven
    }

    async fn find_client(&self, id: &str) -> Result<ClientId, OauthErrorResponse> {
        let id = ClientId::new(id);
        let found = self.0.store.read(move |database| find_registered(database, &id).map(|_| id)).await?;
        note_client(&found);
        Ok(found)
    }

    async fn poll_device(
        &self,
        device_code: &str,
        client: ClientId,
        key: &Thumbprint,
        now: Moment,
    ) -> Result<TokenGrant, OauthErrorResponse> {
        let device = secrets::sha256(device_code);
        let id = self.0.environment.random_token::<16>().map_err(StoreError::from)?;
        let secret = self.0.environment.random_token::<32>().map_err(StoreError::from)?;
        let (jkt, config) = (key.to_string(), self.0.config.idp.clone());
        let work =
            move |database: &rusqlite::Connection| -> Result<Result<TokenGrant, OauthErrorResponse>, OauthErrorResponse> {
                let login = device::find_by_device_code(database, &device)?;
                let decided = device::decide_poll(login.as_ref(), client.as_str(), now);
                let (device::PollOutcome::Approved(approval), Some(login)) = (&decided, login) else {
                    if let device::PollOutcome::Pending | device::PollOutcome::TooFast = decided {
                        let too_fast = matches!(decided, device::PollOutcome::TooFast);
                        device::record_poll(database, &device, too_fast, now)?;
                    }
                    return Ok(Err(poll_error(&decided)));
                };
                if !device::consume_login(database, &device)? {
                    return Ok(Err(poll_error(&device::PollOutcome::Unknown)));
                }
                let refresh_token = format!("{id}.{secret}");
                let connection = ClientConnection {
                    id,
                    client,
                    member: approval.member.clone(),
                    jkt,
                    scopes: login.scopes,
                    auth_time: approval.auth_time,
                    session: approval.session,
                    current: secrets::sha256(&refresh_token),
                    previous: None,
                    created_at: now,
                    used_at: now,
                    ended: false,
                };
                let around = connections::load_context(database, &connection, now, &config)?;
                if !around.member_may_act || now >= around.ends_at {
                    return Ok(Err(OauthErrorResponse::new(
                        OauthError::AccessDenied,
                        "the member who approved is no longer signed in",
                    )));
                }
                // The client may have been removed after the proof was checked, or suspended after the member
                // approved.
                if find_registered(database, &connection.client)?.suspended {
                    return Ok(Err(OauthErrorResponse::new(
                        OauthError::AccessDenied,
                        "the client is suspended",
                    )));
                }
                connections::begin_connection(database, &connection)?;
                Ok(Ok(build_grant(connection, around.ends_at, refresh_token)))
            };
        self.0.store.write(work).await?
    }

    async fn refresh_tokens(
        &self,
        token: String,
        client: ClientId,
        key: &Thumbprint,
        scope: Option<String>,
        now: Moment,
    ) -> Result<TokenGrant, OauthErrorResponse> {
        let (jkt, inner) = (key.to_string(), Arc::clone(&self.0));
        let work =
            move |database: &rusqlite::Connection| -> Result<Result<TokenGrant, OauthErrorResponse>, OauthErrorResponse> {
                let Some(mut connection) = find_by_refresh_token(database, &token)? else {
                    return Ok(Err(OauthErrorResponse::invalid_grant("unknown refresh token")));
                };
                let config = &inner.config.idp;
                let around = connections::load_context(database, &connection, now, config)?;
                let hash = secrets::sha256(&token);
                let caller = (client.as_str(), jkt.as_str());
                match connections::decide_refresh(&connection, &around, &hash, caller, now, config) {
                    RefreshDecision::Refuse(why) => return Ok(Err(OauthErrorResponse::invalid_grant(why))),
                    RefreshDecision::End(end) => {
                        connections::end_connection(database, &connection, end, Actor::Service, now)?;
                        return Ok(Err(OauthErrorResponse::invalid_grant("the connection has ended")));
                    }
                    RefreshDecision::Rotate | RefreshDecision::Repeat => {}
                }
                // A request for more scopes is refused before the token is consumed.
                connection.scopes = connection.scopes.narrow_to(scope.as_deref())?;
                let secret = secrets::hmac_base64(&inner.successors, &[&connection.id, &token]);
                let successor = format!("{}.{secret}", connection.id);
                connections::renew_token(database, &connection.id, &hash, &secrets::sha256(&successor), now)?;
                Ok(Ok(build_grant(connection, around.ends_at, successor)))
            };
        self.0.store.write(work).await?
    }

    /// Ends the connection of a refresh token (RFC 7009, IDP-23).
    pub(super) async fn revoke_token(
        &self,
        fields: &FormFields,
        headers: &HeaderMap,
        peer: PeerAddr,
    ) -> Result<(), OauthErrorResponse> {
        let now = self.0.environment.now();
        let verification = async {
            let client = self.find_client(fields.require_field("client_id")?).await?;
            let token = fields.require_field("token")?.to_owned();
            let context =
                ProofContext { endpoint: &self.0.revocation_endpoint, peer, client: client.as_str() };
            let jkt = self.0.proofs.check_proof(headers, context, now).await?.to_string();
            Ok((client, token, jkt))
        };
        let (client, token, jkt) = self.count_unproven(verification, peer, now).await?;
        if token.split('.').count() == 3 {
            return Err(OauthErrorResponse::TokenType);
        }
        let work = move |database: &rusqlite::Connection| -> Result<(), OauthErrorResponse> {
            // RFC 7009, section 2.2: revoking an unknown token succeeds.
            let Some(connection) = find_by_refresh_token(database, &token)? else { return Ok(()) };
            if let Some(why) = connections::foreign_token_reason(&connection, client.as_str(), &jkt) {
                return Err(OauthErrorResponse::invalid_grant(why));
            }
            if !connection.ended {
                let actor = Actor::Member(&connection.member);
                connections::end_connection(database, &connection, EndReason::Revoked, actor, now)?;
            }
            Ok(())
        };
        self.0.store.write(work).await
    }

    fn issue_tokens(
        &self,
        signer: &TokenSigner,
        id: &str,
        granted: &TokenGrant,
        now: Moment,
    ) -> Result<Value, OauthErrorResponse> {
        let config = &self.0.config;
        let life = Duration::from_secs(config.idp.access_token_seconds);
        // A token must not outlive its connection, but is valid for at least one second.
        let expires = now.plus(life).min(granted.ends_at).as_secs().max(now.as_secs() + 1);
        let scope = granted.scopes.to_scope_string();
        let is_for_gateway = granted.scopes.capabilities().next().is_some();
        let claims = AccessClaims {
            iss: &config.issuer,
            aud: if is_for_gateway { &config.audience } else { &config.issuer },
            sub: granted.member.as_str(),
            client_id: granted.client.as_str(),
            scope: &scope,
            iat: now.as_secs(),
            exp: expires,
            jti: id,
            auth_time: granted.auth_time.as_secs(),
            cnf: KeyConfirmation { jkt: &granted.jkt },
        };
        let access_token = signer.sign_claims(&claims)?;
        Ok(json!({
            "access_token": access_token,
            "token_type": "DPoP",
            "expires_in": expires - now.as_secs(),
            "refresh_token": granted.refresh_token,
            "scope": scope,
        }))
    }

    /// Finds the pending login with a code, so that the member can decide about it.
    ///
    /// # Errors
    /// See [`DecisionError`].
    pub async fn find_pending_login(
        &self,
        code: &super::UserCode,
        peer: PeerAddr,
    ) -> Result<PendingLogin, DecisionError> {
        let now = self.count_guess(code, peer).await?;
        let own_code = code.clone();
        let found = self.0.store.read(move |database| pending_login(database, &own_code, now)).await;
        self.return_guess(&found, peer).await;
        found
    }

    /// Finds the login with a code as [`Self::find_pending_login`] does, without counting a guess. The caller
    /// must have found the code before.
    ///
    /// # Errors
    /// See [`DecisionError`].
    pub(crate) async fn find_known_login(
        &self,
        code: &super::UserCode,
    ) -> Result<PendingLogin, DecisionError> {
        let (own_code, now) = (code.clone(), self.0.environment.now());
        self.0.store.read(move |database| pending_login(database, &own_code, now)).await
    }

    /// Stores the member's decision about the device login with a code.
    ///
    /// # Errors
    /// See [`DecisionError`]. In case of an error, no decision is stored.
    pub async fn decide_login(
        &self,
        code: &super::UserCode,
        peer: PeerAddr,
        session: &super::BrowserSession,
        decision: LoginDecision,
    ) -> Result<PendingLogin, DecisionError> {
        let now = self.count_guess(code, peer).await?;
        let (own_code, session) = (code.clone(), session.clone());
        let decided = self
            .0
            .store
            .write(move |database| record_decision(database, &own_code, (&session, peer), decision, now))
            .await;
        self.return_guess(&decided, peer).await;
        decided
    }

    /// Counts a lookup as a guess. If the code exists, [`Self::return_guess`] refunds the attempt of the
    /// source address.
    async fn count_guess(&self, code: &super::UserCode, peer: PeerAddr) -> Result<Moment, DecisionError> {
        let now = self.0.environment.now();
        let attempts = [
            (GuessAttempt::CodeFromAddress, peer.network().to_string()),
            (GuessAttempt::Code, code.as_str().to_owned()),
        ];
        guesses::take_all(self.guesses(), &attempts, now).await?;
        Ok(now)
    }

    async fn return_guess(&self, found: &Result<PendingLogin, DecisionError>, peer: PeerAddr) {
        if !matches!(found, Err(DecisionError::NotFound)) {
            let attempt = (GuessAttempt::CodeFromAddress, peer.network().to_string());
            guesses::give_back(self.guesses(), &[attempt]).await;
        }
    }
}

impl TokenVerifier for IdentityProvider {
    fn verify_token<'a>(&'a self, token: &'a str, now: Moment) -> VerificationFuture<'a> {
        MaybeReady::boxed(async move {
            use jsonwebtoken::Algorithm;
            let unverified = UnverifiedToken::parse_header(token, &[keys::TOKEN_TYPE])?;
            let kid = unverified.key_id().ok_or(TokenError::Key)?;
            let key = self.0.keys.find_key(kid, now).await.map_err(|_| TokenError::Unavailable)?;
            let key = key.ok_or(TokenError::Key)?;
            unverified.verify_claims(&key, &[Algorithm::ES256], &self.0.config.issuer, now)
        })
    }
}

/// The claims of an access token (RFC 9068, section 2.2; RFC 9449, section 6.1).
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
    cnf: KeyConfirmation<'a>,
}

#[derive(Serialize)]
struct KeyConfirmation<'a> {
    jkt: &'a str,
}

fn build_grant(connection: ClientConnection, ends_at: Moment, refresh_token: String) -> TokenGrant {
    let ClientConnection { client, member, jkt, scopes, auth_time, .. } = connection;
    TokenGrant { client, member, jkt, scopes, auth_time, ends_at, refresh_token }
}

fn find_registered(
    database: &rusqlite::Connection,
    client: &ClientId,
) -> Result<RegisteredClient, OauthErrorResponse> {
    let unknown = || OauthErrorResponse::new(OauthError::InvalidClient, "unknown client");
    registry::find_client(database, client)?.ok_or_else(unknown)
}

/// Finds the connection whose id is in a refresh token. Does not verify the token.
fn find_by_refresh_token(
    database: &rusqlite::Connection,
    token: &str,
) -> Result<Option<ClientConnection>, StoreError> {
    match token.split_once('.') {
        Some((id, secret)) if !secret.is_empty() => connections::find_connection(database, id),
        _ => Ok(None),
    }
}

fn poll_error(poll: &device::PollOutcome) -> OauthErrorResponse {
    let (error, description) = match poll {
        device::PollOutcome::Pending => (OauthError::AuthorizationPending, "the member has not decided yet"),
        device::PollOutcome::TooFast => {
            (OauthError::SlowDown, "polled too early; wait five seconds longer each time")
        }
        device::PollOutcome::Declined => (OauthError::AccessDenied, "the member declined"),
        device::PollOutcome::Expired => (OauthError::ExpiredToken, "the device code has expired"),
        device::PollOutcome::Unknown | device::PollOutcome::Approved(_) => {
            (OauthError::InvalidGrant, "unknown device code, or it has been used")
        }
    };
    OauthErrorResponse::new(error, description)
}

fn pending_login(
    database: &rusqlite::Connection,
    code: &super::UserCode,
    now: Moment,
) -> Result<PendingLogin, DecisionError> {
    let login = device::find_by_user_code(database, code, now)?.ok_or(DecisionError::NotFound)?;
    let client = registry::find_client(database, &login.client)?.ok_or(DecisionError::NotFound)?;
    if login.state != device::LoginState::Pending {
        let approved_by = login.approval.map(|approval| approval.member);
        let decided = DecidedLogin { name: client.name, state: login.state, approved_by };
        return Err(DecisionError::AlreadyDecided(decided));
    }
    if client.suspended {
        return Err(DecisionError::Suspended(client.name));
    }
    Ok(PendingLogin { client: login.client, name: client.name, scopes: login.scopes })
}

fn record_decision(
    database: &rusqlite::Connection,
    code: &super::UserCode,
    (session, source): (&super::BrowserSession, PeerAddr),
    decision: LoginDecision,
    now: Moment,
) -> Result<PendingLogin, DecisionError> {
    let waiting = pending_login(database, code, now)?;
    let alive = super::sessions::find_by_hash(database, session.hash, now)?;
    if alive.is_none() || !connections::may_act(database, &session.member)? {
        return Err(DecisionError::SignedOut);
    }
    let approval = match decision {
        LoginDecision::Decline => None,
        LoginDecision::Approve => {
            let revoked = registry::client_revoked_at(database, &waiting.client, &session.member)?;
            let offline = waiting.scopes.is_offline();
            Some(device::LoginApproval {
                member: session.member.clone(),
                session: (!offline).then_some(session.hash),
                auth_time: if offline {
                    encode_auth_time(now, revoked, true)
                } else {
                    let later = revoked.is_none_or(|revoked| session.auth_time > revoked);
                    encode_auth_time(session.auth_time, revoked, later)
                },
            })
        }
    };
    if !device::record_decision(database, code, approval.as_ref())? {
        let (name, state) = (waiting.name, device::LoginState::Declined);
        return Err(DecisionError::AlreadyDecided(DecidedLogin { name, state, approved_by: None }));
    }
    let action = match decision {
        LoginDecision::Approve => "approve-login",
        LoginDecision::Decline => "decline-login",
    };
    let actor = Actor::Member(&session.member);
    let scopes = waiting.scopes.to_scope_string();
    let subject = session.member.as_str();
    let entry = AuditEntry { client: Some(&waiting.client), action, subject, detail: &scopes };
    crate::records::record_audit_from(database, now, actor, entry, Some(source))?;
    Ok(waiting)
}

/// Rounds the time of a sign-in down to the whole seconds of `auth_time`. A sign-in after a disconnect within
/// the same second gets the next second, because all sign-ins up to the disconnect are revoked (ERR-12).
fn encode_auth_time(signed_in: Moment, revoked: Option<Moment>, later: bool) -> Moment {
    let second = Moment::from_secs(signed_in.as_secs());
    match revoked {
        Some(revoked) if later => second.max(Moment::from_secs(revoked.as_secs() + 1)),
        _ => second,
    }
}
