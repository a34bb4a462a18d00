//! The sandbox: the whole exchange in one process on the loopback interface, with seed data, for testing
//! clients.
//!
//! ```no_run
//! # async fn example() -> Result<(), exchange_service::sandbox::SandboxError> {
//! use exchange_service::sandbox::Sandbox;
//!
//! let sandbox = Sandbox::start().await?;
//! // A client shows a user code. The test approves it in place of the member.
//! sandbox.approve("BCDF-GHJK", "sandbox-member").await?;
//! // The sandbox has its own clock, so tests do not sleep.
//! sandbox.advance(std::time::Duration::from_secs(3600));
//! sandbox.stop().await;
//! # Ok(())
//! # }
//! ```

mod control;
mod faults;
mod journal;
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
use axum::response::Response;
use bytes::Bytes;
use dpop_bound::SystemRandom;
use http::HeaderValue;
use http::header::{DATE, HOST};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::app::{App, AppError};
use crate::backend::ChangeError;
use crate::backend::undo::UndoError;
use crate::config::Config;
use crate::environment::Environment;
use crate::gateway::{PROOF_WINDOW, is_gateway_path};
use crate::idp::{DecisionError, LoginDecision, UserCode, sessions};
use crate::ids::MemberId;
use crate::names::InvalidName;
use crate::peer::PeerAddr;
use crate::serve::{CutConnection, ServeError, Server};
use crate::store::{OpenError, Store, StoreError, StoreLocation, StoreOptions};
use crate::time::{Clock as _, ManualClock, SystemClock};
use crate::upkeep::Upkeep;

pub use control::{ActionOutcome, SandboxAction};
use faults::PlannedFaults;
pub use faults::{PlannedFault, SandboxFault};
pub use journal::{JournalEntry, Mismatch};
use journal::{ProofExpectation, RequestJournal};
pub use random::SeededRandom;
pub use seed::SandboxAccount;
use seed::{SandboxSeed, StoreOwner};

/// The environment variable that makes a client use a sandbox (IDP-03). Its value is the origin of both the
/// issuer and the gateway.
pub const ORIGIN_VARIABLE: &str = "EXCHANGE_SANDBOX";

/// The options of [`Sandbox::with_options`].
#[derive(Debug, Default)]
pub struct SandboxOptions {
    /// The TCP port; 0 selects a free port.
    pub port: u16,
    /// The data folder; `None` for a store in memory.
    pub data: Option<PathBuf>,
    /// The seed of all random numbers; `None` for the system's generator.
    pub seed: Option<u64>,
    /// The configuration; `None` for the defaults of the sandbox.
    pub config: Option<Config>,
}

/// The reason a sandbox could not be started, or an action in it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The port is in use or cannot be bound.
    #[error("cannot listen on 127.0.0.1:{port}: {error}")]
    Port {
        /// The port that could not be bound.
        port: u16,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A change set could not be applied.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The application could not be assembled.
    #[error(transparent)]
    App(#[from] AppError),
    /// The server could not be configured.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The store belongs to a service. Adding the sandbox's accounts, whose passwords are public, would let
    /// anyone sign in.
    #[error("the folder contains the store of a service, not of a sandbox: pass another folder")]
    ForeignStore,
    /// The sandbox has no account with this name.
    #[error("the sandbox has no account with this name")]
    UnknownAccount,
    /// The string is not a user code.
    #[error("invalid user code")]
    InvalidUserCode,
    /// The request was refused for the contained reason.
    #[error("{0}")]
    Refused(&'static str),
    /// The string is not a valid name.
    #[error("{what}: {why}")]
    InvalidName {
        /// The name of the field that contains the string.
        what: &'static str,
        /// The rule that the string violates.
        why: InvalidName,
    },
    /// A change set violates the contract; the error lists the violations.
    #[error(transparent)]
    InvalidChangeSet(#[from] contract_runtime::DocumentError),
    /// An op of a change set was not applied.
    #[error("op {op} was not applied: {reason}")]
    NotApplied {
        /// The index of the op in the change set.
        op: i64,
        /// The reason for the rejection, as defined by the contract.
        reason: String,
    },
    /// A client's writes could not be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The device login could not be decided.
    #[error(transparent)]
    Undecided(#[from] DecisionError),
}

/// The addresses of a sandbox. `exchange-service sandbox --json` prints them as its first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxDirectory {
    /// The issuer of the identity provider.
    pub issuer: String,
    /// The origin of the gateway, `{base_url}` in the contract.
    pub gateway: String,
    /// The URL of the control interface.
    pub control: String,
    /// The URL of the page on which a member enters a user code.
    pub pages: String,
    /// The environment variable that makes a client use this sandbox.
    pub developer_variable: EnvironmentVariable,
    /// The ids of the registered clients.
    pub clients: Vec<String>,
    /// The accounts with which members can sign in.
    pub accounts: Vec<SandboxAccount>,
}

/// An environment variable with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvironmentVariable {
    /// The name of the variable, which is [`ORIGIN_VARIABLE`].
    pub name: String,
    /// The value to set.
    pub value: String,
}

/// A running sandbox. It stops when it is dropped.
pub struct Sandbox {
    inner: Arc<SandboxInner>,
    serving: tokio::task::JoinHandle<()>,
    upkeep: tokio::task::JoinHandle<()>,
}

struct SandboxInner {
    address: SocketAddr,
    config: Arc<Config>,
    clock: ManualClock,
    environment: Environment,
    store: Store,
    app: ArcSwap<App>,
    seed: Arc<SandboxSeed>,
    accounts: Vec<SandboxAccount>,
    /// The lock that is held during a reset, so that resets run one after the other.
    resetting: Mutex<()>,
    faults: PlannedFaults,
    journal: RequestJournal,
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
    /// Starts a sandbox in memory on a free port.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if any part fails to start.
    pub async fn start() -> Result<Self, SandboxError> {
        Self::with_options(SandboxOptions::default()).await
    }

    /// Starts a sandbox with options. The sandbox serves requests when this function returns.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] if any part fails to start.
    pub async fn with_options(options: SandboxOptions) -> Result<Self, SandboxError> {
        let SandboxOptions { port, data, seed, config } = options;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|error| SandboxError::Port { port, error })?;
        let address = listener.local_addr().map_err(|error| SandboxError::Port { port, error })?;
        let config = Arc::new(with_address(address, config.unwrap_or_else(default_config)));
        let clock = ManualClock::offset_from(Arc::new(SystemClock));
        let environment = match seed {
            Some(seed) => Environment::new(Arc::new(clock.clone()), Arc::new(SeededRandom::new(seed))),
            None => Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom)),
        };
        let place = data.map_or(StoreLocation::Memory, StoreLocation::Folder);
        let store = Store::open(&StoreOptions::new(place))?;
        let owner = store.read(seed::find_owner).await?;
        if owner == StoreOwner::Service {
            return Err(SandboxError::ForeignStore);
        }
        let app = App::new(store.clone(), environment.clone(), Arc::clone(&config)).await?;
        let seed = Arc::new(SandboxSeed::parse_embedded()?);
        if owner == StoreOwner::Unclaimed {
            plant_seed(&store, &environment, &app, &seed, SandboxSeed::plant_all).await?;
        }
        let inner = Arc::new(SandboxInner {
            address,
            config,
            clock,
            environment,
            store,
            app: ArcSwap::from_pointee(app),
            accounts: seed.accounts(),
            seed,
            resetting: Mutex::new(()),
            faults: PlannedFaults::default(),
            journal: RequestJournal::default(),
        });
        let server = Server::new(build_router(&inner), &inner.config, &inner.environment)?;
        let upkeep = Upkeep::new(inner.store.clone(), inner.environment.clone(), Arc::clone(&inner.config));
        let upkeep = upkeep.map_err(AppError::from)?;
        let upkeep = tokio::spawn(upkeep.run());
        let serving = tokio::spawn(server.serve_until(listener, std::future::pending()));
        Ok(Self { inner, serving, upkeep })
    }

    /// Returns the addresses, clients and accounts of the sandbox.
    #[must_use]
    pub fn directory(&self) -> SandboxDirectory {
        self.inner.directory()
    }

    /// Returns the origin of both the issuer and the gateway.
    #[must_use]
    pub fn origin(&self) -> String {
        self.inner.origin()
    }

    /// Returns the sandbox's clock.
    #[must_use]
    pub fn clock(&self) -> &ManualClock {
        &self.inner.clock
    }

    /// Moves the sandbox's clock forward.
    pub fn advance(&self, by: Duration) {
        self.inner.clock.advance(by);
    }

    /// Approves the device login with a user code, as the member of an account.
    ///
    /// # Errors
    /// Returns [`SandboxError::UnknownAccount`], [`SandboxError::InvalidUserCode`], or
    /// [`SandboxError::Undecided`] if the login cannot be decided.
    pub async fn approve(&self, user_code: &str, account: &str) -> Result<(), SandboxError> {
        self.inner.decide_login(user_code, account, LoginDecision::Approve).await
    }

    /// Declines the device login with a user code, as the member of an account.
    ///
    /// # Errors
    /// Returns the same errors as [`approve`](Self::approve).
    pub async fn decline(&self, user_code: &str, account: &str) -> Result<(), SandboxError> {
        self.inner.decide_login(user_code, account, LoginDecision::Decline).await
    }

    /// Resets the sandbox to its seed: data, connections, signing keys, limits, proofs and nonces. Planned faults and
    /// the journal are removed. The clock is not reset. All earlier cursors, tokens and codes become invalid. A
    /// concurrent request may see either state.
    ///
    /// # Errors
    /// Returns an error if the store fails. The data is then either unchanged or that of the seed.
    pub async fn reset(&self) -> Result<(), SandboxError> {
        self.inner.reset_store().await
    }

    /// Plans a fault for the next requests of clients.
    ///
    /// # Errors
    /// Returns [`SandboxError::Refused`] for an unknown code, a delay of more than ten minutes, no requests, or if 100
    /// faults are planned already.
    pub fn plan_fault(&self, fault: PlannedFault) -> Result<(), SandboxError> {
        self.inner.faults.plan(fault)
    }

    /// Returns the last 1000 requests of clients whose numbers are greater than `after`, with the reasons of refusals.
    #[must_use]
    pub fn requests_after(&self, after: u64) -> Vec<JournalEntry> {
        self.inner.journal.after(after)
    }

    /// Acts like a restart of the service (LIM-12): forgets nonces, used proofs and counted requests. Data, tokens and
    /// cursors stay.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn restart(&self) -> Result<(), SandboxError> {
        self.inner.restart().await
    }

    /// Performs an action without the tested client, as a member on the web pages or as an administrator.
    ///
    /// # Errors
    /// Returns [`SandboxError::UnknownAccount`], or the error of the action.
    pub async fn act(&self, account: &str, act: SandboxAction) -> Result<ActionOutcome, SandboxError> {
        self.inner.perform_action(account, act).await
    }

    /// Handles a request without a network connection, as if it came from this machine. Clients in the same
    /// process can use this.
    ///
    /// # Errors
    /// Returns an error if the URL has no valid host, if the body of the response ends early, or if a fault closes the
    /// connection.
    pub async fn handle_request(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, SandboxError> {
        let (mut head, body) = request.into_parts();
        // The router expects the origin form of the URI, as in a request line.
        if let (Some(host), Some(line)) = (head.uri.authority(), head.uri.path_and_query()) {
            let host = HeaderValue::from_str(host.as_str());
            head.headers.insert(HOST, host.map_err(|_| SandboxError::Refused("the URL has no valid host"))?);
            head.uri = line.clone().into();
        }
        head.extensions.insert(PeerAddr(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let inner_request = Request::from_parts(head, Body::from(body));
        let response = self.inner.answer_request(inner_request).await;
        let (mut head, body) = response.into_parts();
        if head.extensions.get::<CutConnection>().is_some() {
            return Err(SandboxError::Refused("a fault closed the connection"));
        }
        let body = to_bytes(body, usize::MAX).await;
        let body = body.map_err(|_| SandboxError::Refused("the response body ended early"))?;
        if !head.headers.contains_key(DATE)
            && let Ok(date) = HeaderValue::from_str(&self.inner.clock.now().http_date())
        {
            head.headers.insert(DATE, date);
        }
        Ok(http::Response::from_parts(head, body))
    }

    /// Waits until the server has ended.
    pub async fn wait(&mut self) {
        let _ = (&mut self.serving).await;
    }

    /// Stops the sandbox. A store in a folder then consists of one file, unless a reader uses the store for
    /// longer than `serve.shutdown-seconds`.
    pub async fn stop(mut self) {
        self.upkeep.abort();
        self.serving.abort();
        let _ = (&mut self.upkeep).await;
        let _ = (&mut self.serving).await;
        let limit = Duration::from_secs(self.inner.config.serve.shutdown_seconds);
        let _ = self.inner.store.close_within(limit).await;
    }
}

impl SandboxInner {
    fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    fn directory(&self) -> SandboxDirectory {
        let origin = self.origin();
        SandboxDirectory {
            issuer: self.config.issuer.clone(),
            gateway: origin.clone(),
            control: format!("{origin}/_sandbox"),
            pages: format!("{origin}/device"),
            developer_variable: EnvironmentVariable { name: ORIGIN_VARIABLE.to_owned(), value: origin },
            clients: self.seed.clients(),
            accounts: self.accounts.clone(),
        }
    }

    fn find_account(&self, name: &str) -> Result<&SandboxAccount, SandboxError> {
        self.accounts.iter().find(|account| account.username == name).ok_or(SandboxError::UnknownAccount)
    }

    async fn decide_login(
        &self,
        code: &str,
        account: &str,
        decision: LoginDecision,
    ) -> Result<(), SandboxError> {
        let member = MemberId::new(self.find_account(account)?.member.clone());
        let code = UserCode::from_input(code).ok_or(SandboxError::InvalidUserCode)?;
        let (environment, life) =
            (self.environment.clone(), Duration::from_secs(self.config.idp.session_seconds));
        let session = self.store.write(move |connection| {
            let (_, session) = sessions::begin_session(connection, &environment, &member, life)?;
            Ok::<_, StoreError>(session)
        });
        let session = session.await?;
        // The source is an address for documentation (RFC 5737), so that guesses from browsers do not count
        // against this request.
        let peer = PeerAddr(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
        self.app.load_full().provider().decide_login(&code, peer, &session, decision).await?;
        Ok(())
    }

    /// Answers a request for any path outside of the control interface: applies its fault, and records it.
    async fn answer_request(&self, request: Request) -> Response {
        let app = self.app.load_full();
        if !journal::is_client_request(request.uri().path()) {
            return app.dispatcher().dispatch(request).await;
        }
        let (head, body) = request.into_parts();
        let fault = self.faults.take(head.method.as_str(), head.uri.path());
        if let Some(SandboxFault::Delay { milliseconds }) = fault {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        }
        let expected = ProofExpectation {
            now: self.environment.now(),
            origin: &self.origin(),
            window: if is_gateway_path(head.uri.path()) {
                PROOF_WINDOW
            } else {
                self.config.idp.proof_window()
            },
        };
        let response = match &fault {
            Some(SandboxFault::Cut {}) => None,
            Some(SandboxFault::Refuse { code, retry_after_seconds }) => {
                Some(faults::refuse(&head, code, *retry_after_seconds, &self.environment))
            }
            _ => {
                let request = Request::from_parts(head.clone(), body);
                Some(app.dispatcher().dispatch(request).await)
            }
        };
        let response = match response {
            Some(response) => {
                let (parts, body) = response.into_parts();
                // Responses of the contract have complete bodies.
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                Some(http::Response::from_parts(parts, body))
            }
            None => None,
        };
        let cuts = matches!(fault, Some(SandboxFault::Cut {} | SandboxFault::LoseResponse {}));
        self.journal.push(journal::describe_request(&head, &expected, fault, response.as_ref()));
        match response {
            Some(response) if !cuts => response.map(Body::from),
            _ => {
                let mut response = Response::new(Body::empty());
                response.extensions_mut().insert(CutConnection);
                response
            }
        }
    }

    async fn restart(&self) -> Result<(), SandboxError> {
        let _alone = self.resetting.lock().await;
        self.replace_app().await
    }

    /// Assembles the application again, which forgets everything that is not in the store.
    async fn replace_app(&self) -> Result<(), SandboxError> {
        let app = App::new(self.store.clone(), self.environment.clone(), Arc::clone(&self.config)).await?;
        self.app.store(Arc::new(app));
        Ok(())
    }

    async fn reset_store(&self) -> Result<(), SandboxError> {
        let _alone = self.resetting.lock().await;
        plant_seed(
            &self.store,
            &self.environment,
            &self.app.load_full(),
            &self.seed,
            SandboxSeed::replace_all,
        )
        .await?;
        self.replace_app().await?;
        self.faults.clear();
        self.journal.clear();
        Ok(())
    }
}

/// Returns the sandbox's default configuration. It has production values with two exceptions: a
/// higher limit per address, because all clients share one address, and cheaper password hashing, because the
/// passwords are public.
fn default_config() -> Config {
    let mut config = Config::default();
    config.limits.per_address = 100_000;
    config.idp.password_kib = 64;
    config.idp.password_passes = 1;
    config
}

fn with_address(address: SocketAddr, mut config: Config) -> Config {
    config.gateway_origin = format!("http://{address}");
    config.issuer = format!("http://{address}/idp");
    config
}

/// Returns true if a store belongs to a sandbox, whose accounts have public passwords.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn is_sandbox(connection: &rusqlite::Connection) -> Result<bool, StoreError> {
    Ok(seed::find_owner(connection)? == StoreOwner::Sandbox)
}

/// Hashes the passwords, then writes the seed with `plant`, which is one of the two methods of
/// [`SandboxSeed`].
async fn plant_seed(
    store: &Store,
    environment: &Environment,
    app: &App,
    seed: &Arc<SandboxSeed>,
    plant: fn(&SandboxSeed, &rusqlite::Connection, &Environment, &[String]) -> Result<(), StoreError>,
) -> Result<(), SandboxError> {
    let hash = |account: SandboxAccount| app.web().passwords().hash_password(&account.password, environment);
    let hashes =
        seed.accounts().into_iter().map(hash).collect::<Result<Vec<_>, _>>().map_err(AppError::from)?;
    let (inside, seed) = (environment.clone(), Arc::clone(seed));
    Ok(store.write(move |connection| plant(&seed, connection, &inside, &hashes)).await?)
}

/// Routes requests for `/_sandbox` to the control interface, and all others to the current application.
fn build_router(inner: &Arc<SandboxInner>) -> Router {
    let serving = Arc::clone(inner);
    let serve = move |request: Request| {
        let inner = Arc::clone(&serving);
        async move { inner.answer_request(request).await }
    };
    Router::new().nest("/_sandbox", control::control_routes(Arc::clone(inner))).fallback(serve)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// User codes that a browser guesses do not count against approvals through the control interface.
    #[tokio::test]
    async fn browser_guesses_do_not_block_the_control_interface() {
        let sandbox = Sandbox::start().await.unwrap();
        let app = sandbox.inner.app.load_full();
        let browser = PeerAddr(IpAddr::V4(Ipv4Addr::LOCALHOST));
        for last in ["B", "C", "D", "F", "G", "H", "J", "K", "L", "M"] {
            let code = UserCode::from_input(&format!("BBBB-BBB{last}")).unwrap();
            assert!(matches!(
                app.provider().find_pending_login(&code, browser).await,
                Err(DecisionError::NotFound)
            ));
        }
        let code = UserCode::from_input("CCCC-CCCC").unwrap();
        assert!(matches!(
            app.provider().find_pending_login(&code, browser).await,
            Err(DecisionError::Wait(_))
        ));
        let approved = sandbox.approve("CCCC-CCCC", "sandbox-member").await;
        assert!(matches!(approved, Err(SandboxError::Undecided(DecisionError::NotFound))), "{approved:?}");
    }
}
