//! The entry point of the crate: [`Exchange`] and its builder. The methods of each area are in the area's
//! module.

use std::{fmt, sync::Arc};

use dpop_bound::{Origin, TokenHash, UnixTime};
use exchange_api::{Client, Transport};

use crate::{
    address::ExchangeAddress,
    environment::Environment,
    error::{Error, ErrorKind},
    handles::HandleChecker,
    identity::ClientIdentity,
    ownership::Ownership,
    retry_after::RetryAfterTable,
    session::Session,
    token_source::{AccessGrant, BoxFuture, ConnectionNote, ProofSession, TokenSource},
    transport::{SharedLimiter, SigningTransport, TransportSettings},
};

/// A client of the exchange for one installation. Cloning is cheap; clones share all state.
///
/// All areas are reached from here:
///
/// ```
/// use exchange_client::{
///     CatalogMemory, DemandCadence, Exchange, Label, ComputerNames, MemoryOutbox, Replica,
///     StockChanges,
/// };
///
/// # async fn example(exchange: Exchange) -> Result<(), Box<dyn std::error::Error>> {
/// // The connection: its capabilities, and the label of the installation.
/// let connection = exchange.connection().await?;
/// exchange.set_label(&Label::new("Gaming PC", &ComputerNames::detect())?).await?;
/// // Collections, synchronized and read locally.
/// let sync = exchange.sync(&Replica::in_memory());
/// sync.begin_session(&connection).await?;
/// sync.sync_once().await?;
/// // Changes, each applied once.
/// let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
/// outbox.enqueue(StockChanges::new()).await?;
/// outbox.flush().await?;
/// // The catalog, game accounts, demand.
/// let locations = exchange.catalog(CatalogMemory::default()).locations().await?;
/// let check = exchange.handles().check("Nova_Drifter-7").await?;
/// let demand = exchange.demand(DemandCadence::default()).read_if_due().await?;
/// // Drafts for the web application.
/// let envelope = exchange.envelope()?.seal();
/// let handoff = exchange.drafts().blueprints(envelope).stage().await?;
/// // Every operation of the contract directly.
/// let units = exchange.api().org_units_read().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Exchange {
    address: ExchangeAddress,
    identity: ClientIdentity,
    environment: Environment,
    settings: TransportSettings,
    session: Option<Session>,
    token_source: Arc<dyn TokenSource>,
    api: Client,
    pub(crate) handles: Arc<HandleChecker>,
}

impl Exchange {
    /// Returns a builder for this address and client identity. The identity is mandatory because every
    /// request names its client (CLI-01).
    ///
    /// ```
    /// # use exchange_client::{Exchange, ExchangeBuilder, ClientIdentity, ExchangeAddress};
    /// fn begin(address: ExchangeAddress, identity: ClientIdentity) -> ExchangeBuilder {
    ///     Exchange::builder(address, identity)
    /// }
    /// ```
    ///
    /// ```compile_fail,E0061
    /// # use exchange_client::{Exchange, ExchangeBuilder, ClientIdentity, ExchangeAddress};
    /// fn begin(address: ExchangeAddress) -> ExchangeBuilder {
    ///     Exchange::builder(address)
    /// }
    /// ```
    pub fn builder(address: ExchangeAddress, identity: ClientIdentity) -> ExchangeBuilder {
        ExchangeBuilder {
            address,
            identity,
            environment: None,
            settings: TransportSettings::default(),
            transport: None,
        }
    }

    /// Returns the session; `None` for a client from [`ExchangeBuilder::build_signed_out`].
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Returns the generated API client. Its calls are signed, rate-limited, and retried as this crate
    /// prescribes.
    ///
    /// A [`RetryPolicy`](crate::RetryPolicy) and a correlation id can be set for each call:
    /// `exchange.api().org_units_read().with_extension(RetryPolicy::BACKGROUND)`.
    #[must_use]
    pub const fn api(&self) -> &Client {
        &self.api
    }

    /// Returns the issuer and the gateway of this exchange.
    #[must_use]
    pub const fn address(&self) -> &ExchangeAddress {
        &self.address
    }

    /// Returns the identity of this client.
    #[must_use]
    pub const fn identity(&self) -> &ClientIdentity {
        &self.identity
    }

    /// Returns the source of the tokens that sign calls.
    pub(crate) const fn tokens(&self) -> &Arc<dyn TokenSource> {
        &self.token_source
    }

    pub(crate) const fn settings(&self) -> &TransportSettings {
        &self.settings
    }

    /// Returns the current time of the gateway's clock, as estimated from its responses. Before the first
    /// response, returns the local time.
    pub(crate) fn gateway_time(&self) -> UnixTime {
        let now = self.environment.now();
        match (self.token_source.gateway_proofs(), Origin::from_url(self.address.gateway())) {
            (Some(proofs), Ok(gateway)) => proofs.server_clock(&gateway).now(now).time,
            _ => now.wall,
        }
    }

    /// Returns the clocks, the timer, and the random source.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the checker of game-account handles. Clones of this client share it, so that each handle is
    /// checked once. Results for one member are deleted when another member signs in.
    ///
    /// ```
    /// # use exchange_client::{Error, Exchange};
    /// # async fn example(exchange: Exchange, handle: &str) -> Result<(), Error> {
    /// let check = exchange.handles().check(handle).await?;
    /// if !check.may_sync() {
    ///     println!("{}", check.message());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn handles(&self) -> &HandleChecker {
        &self.handles
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, identity, .. } = self;
        f.debug_struct("Exchange")
            .field("address", address)
            .field("identity", identity)
            .finish_non_exhaustive()
    }
}

/// A builder of an [`Exchange`].
#[must_use = "nothing is set up before `build`"]
pub struct ExchangeBuilder {
    address: ExchangeAddress,
    identity: ClientIdentity,
    environment: Option<Environment>,
    settings: TransportSettings,
    transport: Option<Arc<dyn Transport>>,
}

impl ExchangeBuilder {
    /// Sets the clocks, the timer, and the random source. By default, the client uses those of the session.
    ///
    /// A client with a different clock does not share the rate limit and the `Retry-After` times of the
    /// session.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets limits and timeouts. All clients of a session share the rate limit of the client that was built
    /// last, because the exchange counts requests per member and per source address (LIM-18).
    pub const fn settings(mut self, settings: TransportSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the transport. It must send each request once and unchanged, without redirects, retries, or
    /// cookies.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Builds a client for the member who is signed in to this session when a call is made.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Bug`] if the session belongs to another exchange or client, and the errors of
    /// [`build_signed_out`](Self::build_signed_out).
    pub fn build(mut self, session: &Session) -> Result<Exchange, Error> {
        if *session.address() != self.address || *session.identity() != self.identity {
            return Err(Error::new(
                ErrorKind::Bug,
                "the session belongs to another exchange or another client",
            ));
        }
        let environment = self.environment.unwrap_or_else(|| session.environment().clone());
        // Times of different monotonic clocks are not comparable, so the limiter is shared only if the clock
        // is.
        let shared =
            environment.shares_clock_with(session.environment()).then(|| session.shared_limiter().clone());
        self.environment = Some(environment);
        let exchange = self.build_inner(Arc::new(session.clone()), shared)?;
        Ok(Exchange { session: Some(session.clone()), ..exchange })
    }

    /// Builds a client without a session. It can read the contract. Every other call fails with
    /// [`ErrorKind::SignInNeeded`] and is not sent.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be initialized, or if no transport was set and the feature `reqwest` is
    /// off.
    pub fn build_signed_out(self) -> Result<Exchange, Error> {
        self.build_with(Arc::new(SignedOutTokens))
    }

    pub(crate) fn build_with(self, tokens: Arc<dyn TokenSource>) -> Result<Exchange, Error> {
        self.build_inner(tokens, None)
    }

    fn build_inner(
        self,
        tokens: Arc<dyn TokenSource>,
        road: Option<SharedLimiter>,
    ) -> Result<Exchange, Error> {
        let Self { address, identity, environment, settings, transport } = self;
        let environment = environment.unwrap_or_else(Environment::system);
        let transport = match transport {
            Some(transport) => transport,
            None => default_transport(&settings)?,
        };
        let gateway = Origin::from_url(address.gateway())
            .map_err(|error| Error::with_source(ErrorKind::Bug, "the gateway's address is invalid", error))?;
        let agent = identity.user_agent().clone();
        let (signer, clocks) = (Arc::clone(&tokens), environment.clone());
        let road = road
            .unwrap_or_else(|| SharedLimiter::new(RetryAfterTable::default(), environment.now().monotonic));
        let carrier = SigningTransport::new(gateway, agent, transport, signer, clocks, settings, road);
        let api = Client::new(address.gateway(), carrier);
        let handles = Arc::new(HandleChecker::with_token_source(api.clone(), Some(Arc::clone(&tokens))));
        Ok(Exchange {
            address,
            identity,
            environment,
            settings,
            session: None,
            token_source: tokens,
            api,
            handles,
        })
    }
}

impl fmt::Debug for ExchangeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(feature = "reqwest")]
fn default_transport(settings: &TransportSettings) -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(crate::transport::network_transport(settings.max_body_size)?))
}

#[cfg(not(feature = "reqwest"))]
fn default_transport(_: &TransportSettings) -> Result<Arc<dyn Transport>, Error> {
    Err(Error::new(ErrorKind::Bug, "no transport was set, and the feature `reqwest` is off"))
}

/// The token source of a client without a session, for which every request for a token fails.
struct SignedOutTokens;

impl SignedOutTokens {
    fn sign_in_needed() -> Error {
        Error::new(ErrorKind::SignInNeeded, "no member is signed in")
    }
}

impl TokenSource for SignedOutTokens {
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>> {
        Box::pin(async { Err(Self::sign_in_needed()) })
    }

    fn gateway_proofs(&self) -> Option<Arc<ProofSession>> {
        None
    }

    fn renew_grant<'a>(&'a self, _: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>> {
        Box::pin(async { Err(Self::sign_in_needed()) })
    }

    fn current_owner(&self) -> Option<Ownership> {
        None
    }

    fn is_current_connection<'a>(&'a self, _: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async { Ok(false) })
    }

    fn record_note<'a>(
        &'a self,
        _: &'a Ownership,
        _: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn report_rejection<'a>(&'a self, _: &'a AccessGrant, _: &'a Error) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::calls::ContractOpenapiOptions;

    use super::*;
    use crate::testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment};

    /// CLI-03: a client without a session sends only anonymous operations.
    #[tokio::test(start_paused = true)]
    async fn only_anonymous_operations_work_signed_out() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|_| ScriptedReply::json(200, r#"{"openapi": "3.1.0"}"#));
        let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        let address = ExchangeAddress::new("https://identity.test", gateway.origin()).unwrap();
        let exchange = Exchange::builder(address, identity)
            .environment(machine.environment())
            .transport(gateway.clone())
            .build_signed_out()
            .unwrap();
        let refused = exchange.api().org_units_read().await.unwrap_err();
        assert_eq!(Error::from(refused).kind(), ErrorKind::SignInNeeded);
        assert_eq!(gateway.request_count(), 0);
        exchange.api().contract_openapi(ContractOpenapiOptions::default()).await.unwrap();
        assert_eq!(gateway.request_count(), 1);
        assert!(!format!("{exchange:?}").contains("api"));
    }
}
