//! The face of the crate: one value through which a program reaches the exchange. What each area has of it stands with
//! the area, but for what is here for all clones.

use std::{fmt, sync::Arc};

use dpop_bound::{Origin, TokenHash, UnixTime};
use exchange_api::{Client, Transport};

use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    gates::Gates,
    handles::Handles,
    identity::Identity,
    place::Place,
    session::Session,
    tokens::{Grant, Later, Note, Proofs, Tokens},
    transport::{Carrier, Road, Settings},
    whose::Whose,
};

/// The exchange, as one installation of a client sees it. Cloning is cheap and shares everything.
///
/// Every area is had from here:
///
/// ```
/// use exchange_client::{
///     CatalogueMemory, DemandCadence, Exchange, Label, MachineNames, MemoryOutbox, Replica,
///     StockChanges,
/// };
///
/// # async fn example(exchange: Exchange) -> Result<(), Box<dyn std::error::Error>> {
/// // The connection: what it may do, and what the member calls it.
/// let connection = exchange.connection().await?;
/// exchange.label(&Label::new("Gaming PC", &MachineNames::of_this_computer())?).await?;
/// // Collections, kept equal and read here.
/// let sync = exchange.sync(&Replica::in_memory());
/// sync.session(&connection).await?;
/// sync.once().await?;
/// // Changes, each sent once.
/// let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
/// outbox.enqueue(StockChanges::new()).await?;
/// outbox.flush().await?;
/// // Names of things, game accounts, demand.
/// let locations = exchange.catalogue(CatalogueMemory::default()).locations().await?;
/// let check = exchange.handles().check("Nova_Drifter-7").await?;
/// let demand = exchange.demand(DemandCadence::default()).look().await?;
/// // What leaves for the web.
/// let envelope = exchange.envelope()?.seal();
/// let handoff = exchange.drafts().blueprints(envelope).stage().await?;
/// // And every operation of the contract by itself.
/// let units = exchange.api().org_units_read().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Exchange {
    place: Place,
    identity: Identity,
    environment: Environment,
    settings: Settings,
    session: Option<Session>,
    tokens: Arc<dyn Tokens>,
    api: Client,
    pub(crate) handles: Arc<Handles>,
}

impl Exchange {
    /// Begins to set one up, for this place and as this client. There is none without an identity, since every
    /// request names its client (CLI-01).
    ///
    /// ```
    /// # use exchange_client::{Exchange, ExchangeBuilder, Identity, Place};
    /// fn begin(place: Place, identity: Identity) -> ExchangeBuilder {
    ///     Exchange::builder(place, identity)
    /// }
    /// ```
    ///
    /// ```compile_fail,E0061
    /// # use exchange_client::{Exchange, ExchangeBuilder, Identity, Place};
    /// fn begin(place: Place) -> ExchangeBuilder {
    ///     Exchange::builder(place)
    /// }
    /// ```
    pub fn builder(place: Place, identity: Identity) -> ExchangeBuilder {
        ExchangeBuilder { place, identity, environment: None, settings: Settings::default(), below: None }
    }

    /// Who is signed in; `None` where nobody ever is ([`ExchangeBuilder::build_signed_out`]).
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Every operation of the contract, signed and sent by this crate's rules. `Patience` and a correlation id
    /// of a call's own are given with it: `exchange.api().org_units_read().with(Patience::BACKGROUND)`.
    #[must_use]
    pub const fn api(&self) -> &Client {
        &self.api
    }

    /// Where it is.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Who calls.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Who signs its calls.
    pub(crate) const fn tokens(&self) -> &Arc<dyn Tokens> {
        &self.tokens
    }

    /// Its limits.
    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The time by the gateway's clock, as far as its answers told it; by this machine's while none did.
    pub(crate) fn gateway_time(&self) -> UnixTime {
        let now = self.environment.now();
        match (self.tokens.gateway(), Origin::of(self.place.gateway())) {
            (Some(proofs), Ok(gateway)) => proofs.clock(&gateway).now(now).time,
            _ => now.wall,
        }
    }

    /// Clocks, sleep and random numbers.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whose game accounts are: one value for all clones of this exchange, so that each handle is asked about once. What was
    /// answered to one member is gone when another signs in.
    ///
    /// ```
    /// # use exchange_client::{Error, Exchange};
    /// # async fn example(exchange: Exchange, handle: &str) -> Result<(), Error> {
    /// let check = exchange.handles().check(handle).await?;
    /// if !check.may_sync() {
    ///     println!("{}", check.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn handles(&self) -> &Handles {
        &self.handles
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, identity, .. } = self;
        f.debug_struct("Exchange").field("place", place).field("identity", identity).finish_non_exhaustive()
    }
}

/// An [`Exchange`] that is being set up.
#[must_use = "nothing is set up before `build`"]
pub struct ExchangeBuilder {
    place: Place,
    identity: Identity,
    environment: Option<Environment>,
    settings: Settings,
    below: Option<Arc<dyn Transport>>,
}

impl ExchangeBuilder {
    /// Other clocks, another sleep, other random numbers than the session's. What the exchange asked to wait is then
    /// remembered apart from the session, and for this value alone, and so is how much it sends.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Other limits than the usual. All exchanges of a session send within one budget, which is that of the last that was
    /// built: the exchange counts what a member and an address send (LIM-18).
    pub const fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Another way to the network. It sends each request once, as it is: no redirects, no retries, no cookies.
    pub fn transport(mut self, below: impl Transport + 'static) -> Self {
        self.below = Some(Arc::new(below));
        self
    }

    /// The exchange for whoever is signed in to this session, now or later; with the session's clocks unless others
    /// were given.
    ///
    /// # Errors
    /// When the session is of another exchange or client, to which its tokens do not belong, or there is no way
    /// to the network, as in [`build_signed_out`](Self::build_signed_out).
    pub fn build(mut self, session: &Session) -> Result<Exchange, Error> {
        if *session.place() != self.place || *session.identity() != self.identity {
            return Err(Error::new(ErrorKind::Bug, "the session is of another exchange or another client"));
        }
        let environment = self.environment.unwrap_or_else(|| session.environment().clone());
        // Moments of other clocks would mean nothing.
        let shared = environment.has_clock_of(session.environment()).then(|| session.road().clone());
        self.environment = Some(environment);
        let exchange = self.built(Arc::new(session.clone()), shared)?;
        Ok(Exchange { session: Some(session.clone()), ..exchange })
    }

    /// One in which nobody is signed in: the contract itself can be read, and everything else is refused as
    /// [`ErrorKind::SignInNeeded`] without being sent.
    ///
    /// # Errors
    /// When there is no way to the network: TLS cannot be set up, or without the feature `reqwest` no other
    /// transport was given.
    pub fn build_signed_out(self) -> Result<Exchange, Error> {
        self.build_with(Arc::new(SignedOut))
    }

    pub(crate) fn build_with(self, tokens: Arc<dyn Tokens>) -> Result<Exchange, Error> {
        self.built(tokens, None)
    }

    fn built(self, tokens: Arc<dyn Tokens>, road: Option<Road>) -> Result<Exchange, Error> {
        let Self { place, identity, environment, settings, below } = self;
        let environment = environment.unwrap_or_else(Environment::system);
        let below = match below {
            Some(below) => below,
            None => network(&settings)?,
        };
        let gateway = Origin::of(place.gateway())
            .map_err(|error| Error::caused(ErrorKind::Bug, "the gateway's address is none", error))?;
        let agent = identity.user_agent().clone();
        let (signer, clocks) = (Arc::clone(&tokens), environment.clone());
        let road = road.unwrap_or_else(|| Road::new(Gates::default(), environment.now().monotonic));
        let carrier = Carrier::new(gateway, agent, below, signer, clocks, settings, road);
        let api = Client::new(place.gateway(), carrier);
        let handles = Arc::new(Handles::over(api.clone(), Some(Arc::clone(&tokens))));
        Ok(Exchange { place, identity, environment, settings, session: None, tokens, api, handles })
    }
}

impl fmt::Debug for ExchangeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeBuilder").field("place", &self.place).finish_non_exhaustive()
    }
}

#[cfg(feature = "reqwest")]
fn network(settings: &Settings) -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(crate::transport::wire(settings.max_body)?))
}

#[cfg(not(feature = "reqwest"))]
fn network(_: &Settings) -> Result<Arc<dyn Transport>, Error> {
    Err(Error::new(ErrorKind::Bug, "no transport was given, and the feature `reqwest` is off"))
}

/// Nobody.
struct SignedOut;

impl SignedOut {
    fn refusal() -> Error {
        Error::new(ErrorKind::SignInNeeded, "nobody is signed in")
    }
}

impl Tokens for SignedOut {
    fn current(&self) -> Later<'_, Result<Grant, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }

    fn gateway(&self) -> Option<Arc<Proofs>> {
        None
    }

    fn renewed<'a>(&'a self, _: &'a TokenHash) -> Later<'a, Result<Grant, Error>> {
        Box::pin(async { Err(Self::refusal()) })
    }

    fn whose(&self) -> Option<Whose> {
        None
    }

    fn is_kept<'a>(&'a self, _: &'a Whose) -> Later<'a, Result<bool, Error>> {
        Box::pin(async { Ok(false) })
    }

    fn noted<'a>(&'a self, _: &'a Whose, _: Note<'a>) -> Later<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn told<'a>(&'a self, _: &'a Grant, _: &'a Error) -> Later<'a, ()> {
        Box::pin(async {})
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::calls::ContractOpenapi;

    use super::*;
    use crate::testkit::{Reply, ScriptedServer, VirtualEnvironment};

    /// CLI-03: without a session nothing is sent that needs one, and the contract can be read.
    #[tokio::test(start_paused = true)]
    async fn signed_out_nothing_is_sent_but_what_is_anonymous() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|_| Reply::json(200, r#"{"openapi": "3.1.0"}"#));
        let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        let place = Place::new("https://identity.test", gateway.origin()).unwrap();
        let exchange = Exchange::builder(place, identity)
            .environment(machine.environment())
            .transport(gateway.clone())
            .build_signed_out()
            .unwrap();
        let refused = exchange.api().org_units_read().await.unwrap_err();
        assert_eq!(Error::from(refused).kind(), ErrorKind::SignInNeeded);
        assert_eq!(gateway.count(), 0);
        exchange.api().contract_openapi(ContractOpenapi::default()).await.unwrap();
        assert_eq!(gateway.count(), 1);
        assert!(!format!("{exchange:?}").contains("api"));
    }
}
