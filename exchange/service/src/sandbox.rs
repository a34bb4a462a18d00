//! The whole exchange in one process, seeded, on the loopback interface, for clients to be tried against.
//!
//! ```no_run
//! # async fn example() -> Result<(), exchange_service::sandbox::SandboxError> {
//! use exchange_service::sandbox::Sandbox;
//!
//! let sandbox = Sandbox::start().await?;
//! // A client shows a user code; this is the member who types it.
//! sandbox.approve("BCDF-GHJK", "sandbox-member").await?;
//! // Nothing sleeps: time is moved.
//! sandbox.advance(std::time::Duration::from_secs(3600));
//! sandbox.stop().await;
//! # Ok(())
//! # }
//! ```

mod control;
mod random;
mod seed;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use bytes::Bytes;
use dpop_bound::SystemRandom;
use http::HeaderValue;
use http::header::{DATE, HOST};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tower::ServiceExt as _;

use crate::app::{App, AppError};
use crate::backend::ChangeError;
use crate::backend::undo::UndoError;
use crate::config::Config;
use crate::environment::Environment;
use crate::idp::{Decision, Undecided, UserCode, sessions};
use crate::ids::MemberId;
use crate::names::NoName;
use crate::peer::Peer;
use crate::serve::{ServeError, Server};
use crate::store::{OpenError, Options as StoreOptions, Place, Store, StoreError};
use crate::time::{Clock as _, MovedClock, SystemClock};
use crate::upkeep::Upkeep;

pub use control::{Act, Acted};
pub use random::SeededRandom;
pub use seed::SandboxAccount;
use seed::{Owner, Seed};

/// The variable by which a developer points a client at a sandbox (IDP-03): its value is the origin, below
/// which issuer and gateway stand.
pub const VARIABLE: &str = "EXCHANGE_SANDBOX";

/// How a sandbox is started.
#[derive(Debug, Default)]
pub struct Options {
    /// The port; 0 takes a free one.
    pub port: u16,
    /// The folder of the data; without one they are in memory.
    pub data: Option<PathBuf>,
    /// The seed of all random numbers; without one they are the system's.
    pub seed: Option<u64>,
    /// Numbers of the configuration that are to be others than a sandbox's.
    pub config: Option<Config>,
}

/// Why a sandbox did not start, or not do as it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The port is taken, or not to be had.
    #[error("cannot listen on 127.0.0.1:{port}: {error}")]
    Port {
        /// The port that was asked for.
        port: u16,
        /// What the system says.
        error: io::Error,
    },
    /// The data cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The data cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was done elsewhere cannot be done.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The parts do not fit together.
    #[error(transparent)]
    App(#[from] AppError),
    /// Connections cannot be served as it is configured.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The data are a service's: with a sandbox's accounts among them, anybody could sign in.
    #[error("the folder holds a store of a service, whose members are no sandbox's: name another folder")]
    Foreign,
    /// There is no such account.
    #[error("the sandbox has no account of this name")]
    Account,
    /// What was typed cannot be a user code.
    #[error("this is no user code")]
    Code,
    /// What was asked for cannot be done.
    #[error("{0}")]
    Refused(&'static str),
    /// A text is no name of what it is to name.
    #[error("{what}: {why}")]
    Name {
        /// Which of those that were given.
        what: &'static str,
        /// What a name is.
        why: NoName,
    },
    /// A change set breaks the contract, at the places that are named.
    #[error(transparent)]
    Broken(#[from] contract_runtime::Rejected),
    /// An op of a change set was not applied.
    #[error("op {op} was not applied: {reason}")]
    NotApplied {
        /// Its place in the change set.
        op: i64,
        /// The contract's reason.
        reason: String,
    },
    /// What a client wrote cannot be taken back.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The code was not decided on.
    #[error(transparent)]
    Undecided(#[from] Undecided),
}

/// Where everything of a sandbox is: the first line of `exchange-service sandbox --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Directory {
    /// The identity provider's issuer.
    pub issuer: String,
    /// The gateway's origin: `{base_url}`.
    pub gateway: String,
    /// The control interface.
    pub control: String,
    /// The page on which a member types a user code.
    pub pages: String,
    /// What points a client at this sandbox.
    pub developer_variable: Variable,
    /// The registered clients.
    pub clients: Vec<String>,
    /// The accounts to sign in with.
    pub accounts: Vec<SandboxAccount>,
}

/// A variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name: [`VARIABLE`].
    pub name: String,
    /// What to set it to.
    pub value: String,
}

/// A running sandbox. Dropping it ends it.
pub struct Sandbox {
    inner: Arc<Inner>,
    serving: tokio::task::JoinHandle<()>,
    upkeep: tokio::task::JoinHandle<()>,
}

struct Inner {
    address: SocketAddr,
    config: Arc<Config>,
    clock: MovedClock,
    environment: Environment,
    store: Store,
    app: ArcSwap<App>,
    seed: Arc<Seed>,
    accounts: Vec<SandboxAccount>,
    /// One reset at a time.
    resetting: Mutex<()>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("address", &self.inner.address).finish_non_exhaustive()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.upkeep.abort();
        self.serving.abort();
    }
}

impl Sandbox {
    /// One in memory, on a free port.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub async fn start() -> Result<Self, SandboxError> {
        Self::with(Options::default()).await
    }

    /// One as it is asked for; it answers as soon as this does.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub async fn with(options: Options) -> Result<Self, SandboxError> {
        let Options { port, data, seed, config } = options;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|error| SandboxError::Port { port, error })?;
        let address = listener.local_addr().map_err(|error| SandboxError::Port { port, error })?;
        let config = Arc::new(at(address, config.unwrap_or_else(usual)));
        let clock = MovedClock::over(Arc::new(SystemClock));
        let environment = match seed {
            Some(seed) => Environment::new(Arc::new(clock.clone()), Arc::new(SeededRandom::new(seed))),
            None => Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom)),
        };
        let place = data.map_or(Place::Memory, Place::Folder);
        let store = Store::open(&StoreOptions::new(place))?;
        let owner = store.read(seed::owner).await?;
        if owner == Owner::Service {
            return Err(SandboxError::Foreign);
        }
        let app = App::new(store.clone(), environment.clone(), Arc::clone(&config)).await?;
        let seed = Arc::new(Seed::read()?);
        if owner == Owner::Nobody {
            plant(&store, &environment, &app, &seed, Seed::plant).await?;
        }
        let inner = Arc::new(Inner {
            address,
            config,
            clock,
            environment,
            store,
            app: ArcSwap::from_pointee(app),
            accounts: seed.accounts(),
            seed,
            resetting: Mutex::new(()),
        });
        let server = Server::new(router(&inner), &inner.config, &inner.environment)?;
        let upkeep = Upkeep::new(inner.store.clone(), inner.environment.clone(), Arc::clone(&inner.config));
        let upkeep = upkeep.map_err(AppError::from)?;
        let upkeep = tokio::spawn(upkeep.run());
        let serving = tokio::spawn(server.run(listener, std::future::pending()));
        Ok(Self { inner, serving, upkeep })
    }

    /// Where everything is.
    #[must_use]
    pub fn directory(&self) -> Directory {
        self.inner.directory()
    }

    /// Its origin, below which issuer and gateway stand.
    #[must_use]
    pub fn origin(&self) -> String {
        self.inner.origin()
    }

    /// The time as the sandbox has it.
    #[must_use]
    pub fn clock(&self) -> &MovedClock {
        &self.inner.clock
    }

    /// Moves the sandbox's clock forward.
    pub fn advance(&self, by: Duration) {
        self.inner.clock.advance(by);
    }

    /// Approves the device login of a user code, as this account's member.
    ///
    /// # Errors
    /// [`SandboxError::Account`], [`SandboxError::Code`] or [`SandboxError::Undecided`].
    pub async fn approve(&self, user_code: &str, account: &str) -> Result<(), SandboxError> {
        self.inner.decide(user_code, account, Decision::Approve).await
    }

    /// Declines it.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub async fn decline(&self, user_code: &str, account: &str) -> Result<(), SandboxError> {
        self.inner.decide(user_code, account, Decision::Decline).await
    }

    /// Goes back to the seed: data, connections, signing keys, limits, proofs and nonces; the clock stays where it is.
    /// Every cursor, token and code of before is refused; a request that is under way meanwhile may find either.
    ///
    /// # Errors
    /// What the store says: data are as they were then, or the seed's.
    pub async fn reset(&self) -> Result<(), SandboxError> {
        self.inner.reset().await
    }

    /// Does something as somebody else: a member on the web, an administrator.
    ///
    /// # Errors
    /// [`SandboxError::Account`], or what the store says.
    pub async fn act(&self, account: &str, act: Act) -> Result<Acted, SandboxError> {
        self.inner.act(account, act).await
    }

    /// Answers a request without a connection, as one that came from this machine: for clients in the same process.
    ///
    /// # Errors
    /// When the body of the answer ends before its time.
    pub async fn answer(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, SandboxError> {
        let (mut head, body) = request.into_parts();
        // As it would stand in the request line.
        if let (Some(host), Some(line)) = (head.uri.authority(), head.uri.path_and_query()) {
            let host = HeaderValue::from_str(host.as_str());
            head.headers.insert(HOST, host.map_err(|_| SandboxError::Refused("the address has no host"))?);
            head.uri = line.clone().into();
        }
        head.extensions.insert(Peer(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let asked = Request::from_parts(head, Body::from(body));
        let answer = match self.inner.app.load_full().router().oneshot(asked).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let (mut head, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await;
        let body = body.map_err(|_| SandboxError::Refused("the answer ended before its time"))?;
        if !head.headers.contains_key(DATE)
            && let Ok(date) = HeaderValue::from_str(&self.inner.clock.now().http_date())
        {
            head.headers.insert(DATE, date);
        }
        Ok(http::Response::from_parts(head, body))
    }

    /// Waits for as long as it runs.
    pub async fn ended(&mut self) {
        let _ = (&mut self.serving).await;
    }

    /// Ends it. Data in a folder are one file then, unless somebody goes on reading them for longer than
    /// `serve.shutdown-seconds`.
    pub async fn stop(mut self) {
        self.upkeep.abort();
        self.serving.abort();
        let _ = (&mut self.upkeep).await;
        let _ = (&mut self.serving).await;
        let most = Duration::from_secs(self.inner.config.serve.shutdown_seconds);
        let _ = self.inner.store.close_within(most).await;
    }
}

impl Inner {
    fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    fn directory(&self) -> Directory {
        let origin = self.origin();
        Directory {
            issuer: self.config.issuer.clone(),
            gateway: origin.clone(),
            control: format!("{origin}/_sandbox"),
            pages: format!("{origin}/device"),
            developer_variable: Variable { name: VARIABLE.to_owned(), value: origin },
            clients: self.seed.clients(),
            accounts: self.accounts.clone(),
        }
    }

    fn account(&self, name: &str) -> Result<&SandboxAccount, SandboxError> {
        self.accounts.iter().find(|account| account.username == name).ok_or(SandboxError::Account)
    }

    async fn decide(&self, code: &str, account: &str, decision: Decision) -> Result<(), SandboxError> {
        let member = MemberId::new(self.account(account)?.member.clone());
        let code = UserCode::typed(code).ok_or(SandboxError::Code)?;
        let (environment, life) =
            (self.environment.clone(), Duration::from_secs(self.config.idp.session_seconds));
        let session = self.store.write(move |connection| {
            let (_, session) = sessions::begin(connection, &environment, &member, life)?;
            Ok::<_, StoreError>(session)
        });
        let session = session.await?;
        // An address of documentation (RFC 5737), from which no browser comes: their guesses are not counted here.
        let peer = Peer(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
        self.app.load_full().provider().decide(&code, peer, &session, decision).await?;
        Ok(())
    }

    async fn reset(&self) -> Result<(), SandboxError> {
        let _alone = self.resetting.lock().await;
        plant(&self.store, &self.environment, &self.app.load_full(), &self.seed, Seed::plant_anew).await?;
        let app = App::new(self.store.clone(), self.environment.clone(), Arc::clone(&self.config)).await?;
        self.app.store(Arc::new(app));
        Ok(())
    }
}

/// A sandbox's numbers: as in production, but for what one address may do, since all its clients have the
/// same one, and for what a public password costs.
fn usual() -> Config {
    let mut config = Config::default();
    config.limits.per_address = 100_000;
    config.idp.password_kib = 64;
    config.idp.password_passes = 1;
    config
}

fn at(address: SocketAddr, mut config: Config) -> Config {
    config.gateway_origin = format!("http://{address}");
    config.issuer = format!("http://{address}/idp");
    config
}

/// Whether a store is a sandbox's, with accounts whose passwords are public.
///
/// # Errors
/// What the database says.
pub fn is_sandbox(connection: &rusqlite::Connection) -> Result<bool, StoreError> {
    Ok(seed::owner(connection)? == Owner::Sandbox)
}

/// Plants the seed, in one of two ways.
async fn plant(
    store: &Store,
    environment: &Environment,
    app: &App,
    seed: &Arc<Seed>,
    plant: fn(&Seed, &rusqlite::Connection, &Environment, &[String]) -> Result<(), StoreError>,
) -> Result<(), SandboxError> {
    let hash = |account: SandboxAccount| app.web().passwords().hash(&account.password, environment);
    let hashes =
        seed.accounts().into_iter().map(hash).collect::<Result<Vec<_>, _>>().map_err(AppError::from)?;
    let (inside, seed) = (environment.clone(), Arc::clone(seed));
    Ok(store.write(move |connection| plant(&seed, connection, &inside, &hashes)).await?)
}

/// The app as it is at the moment, and the control interface beside it.
fn router(inner: &Arc<Inner>) -> Router {
    let app = Arc::clone(inner);
    let serve = move |request: Request| {
        let app = app.app.load_full();
        async move { app.front().answer(request).await }
    };
    Router::new().nest("/_sandbox", control::routes(Arc::clone(inner))).fallback(serve)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes that a browser guesses are not counted for who approves by the control interface.
    #[tokio::test]
    async fn guesses_of_browsers_are_their_own() {
        let sandbox = Sandbox::start().await.unwrap();
        let app = sandbox.inner.app.load_full();
        let browser = Peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
        for last in ["B", "C", "D", "F", "G", "H", "J", "K", "L", "M"] {
            let code = UserCode::typed(&format!("BBBB-BBB{last}")).unwrap();
            assert!(matches!(app.provider().waiting(&code, browser).await, Err(Undecided::NotFound)));
        }
        let code = UserCode::typed("CCCC-CCCC").unwrap();
        assert!(matches!(app.provider().waiting(&code, browser).await, Err(Undecided::Wait(_))));
        let approved = sandbox.approve("CCCC-CCCC", "sandbox-member").await;
        assert!(matches!(approved, Err(SandboxError::Undecided(Undecided::NotFound))), "{approved:?}");
    }
}
