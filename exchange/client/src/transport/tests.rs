//! Tests of the transport's loop with a scripted gateway, in virtual time.

mod error_responses;
mod faults;
mod outage;
mod proofs;
mod secrets;
mod spans;
mod waits;
#[cfg(feature = "reqwest")]
mod wire;

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use dpop_bound::{AccessToken, KeyPair, Origin, ProofSigner, TokenHash};
use exchange_api::{
    Client, Contract as _,
    types::{AccountCheckRequest, BlueprintChangeSet},
};

use super::{CallStats, RetryPolicy, SharedLimiter, SigningTransport, TransportSettings};
use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    ownership::Ownership,
    retry_after::RetryAfterTable,
    testkit::{RecordedRequest, ScriptedReply, ScriptedServer, VirtualEnvironment},
    token_source::{AccessGrant, BoxFuture, ConnectionNote, ProofSession, TokenSource},
};

/// A client with the real transport, and the scripted gateway to which it sends its calls.
struct TransportFixture {
    machine: VirtualEnvironment,
    gateway: ScriptedServer,
    tokens: Arc<MockGateway>,
    carrier: SigningTransport,
    api: Client,
}

impl TransportFixture {
    fn new() -> Self {
        Self::with_settings(TransportSettings::default())
    }

    fn with_settings(settings: TransportSettings) -> Self {
        Self::signed_by(KeyPair::generate().unwrap(), settings)
    }

    fn signed_by(key: impl ProofSigner + 'static, settings: TransportSettings) -> Self {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(ok);
        let tokens = Arc::new(MockGateway::new(key, &machine.environment()));
        let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        let carrier = SigningTransport::new(
            Origin::from_url(gateway.origin()).unwrap(),
            identity.user_agent().clone(),
            Arc::new(gateway.clone()),
            Arc::clone(&tokens) as Arc<dyn TokenSource>,
            machine.environment(),
            settings,
            SharedLimiter::new(RetryAfterTable::default(), machine.environment().now().monotonic),
        );
        let api = Client::new(gateway.origin(), carrier.clone());
        Self { machine, gateway, tokens, carrier, api }
    }

    /// Sends a read.
    async fn read(&self, patience: RetryPolicy) -> Result<CallStats, Error> {
        let response = self.api.org_units_read().with_extension(patience).await?;
        Ok(response.extensions().get::<CallStats>().cloned().unwrap())
    }

    /// Sends a write under a key.
    async fn write(&self, key: &str, patience: RetryPolicy) -> Result<CallStats, Error> {
        let response = self.api.blueprints_write(key, &change_set()).with_extension(patience).await?;
        Ok(response.extensions().get::<CallStats>().cloned().unwrap())
    }

    /// Sends an account check, which must not be sent twice.
    async fn check(&self, patience: RetryPolicy) -> Result<CallStats, Error> {
        let request = AccountCheckRequest::parse(br#"{"handle": "Nova_Drifter-7"}"#).unwrap();
        let response = self.api.account_check(&request).with_extension(patience).await?;
        Ok(response.extensions().get::<CallStats>().cloned().unwrap())
    }

    /// Returns the time when each request arrived, in seconds.
    fn times(&self) -> Vec<f64> {
        self.gateway.requests().iter().map(|seen| seen.received_at.as_secs_f64()).collect()
    }

    /// Returns the time between each request and the next, in seconds.
    fn gaps(&self) -> Vec<f64> {
        self.times().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// A policy that permits enough time and attempts for every test.
const LONG: RetryPolicy = RetryPolicy::BACKGROUND;

/// Asserts that each gap has the expected length, plus at most 10 % jitter.
#[track_caller]
fn assert_gaps(gaps: &[f64], expect: &[f64]) {
    assert_eq!(gaps.len(), expect.len(), "{gaps:?}");
    for (gap, expect) in gaps.iter().zip(expect) {
        assert!(gap + 0.001 >= *expect && *gap <= expect * 1.1 + 0.001, "{gaps:?} is not {expect}");
    }
}

fn change_set() -> BlueprintChangeSet {
    BlueprintChangeSet::parse(br#"{"ops": [{"op": "add", "ref": {"bt": "bp-quartz-lens"}}]}"#).unwrap()
}

/// Returns a success response of the gateway.
fn ok(seen: &RecordedRequest) -> ScriptedReply {
    ScriptedReply::json(
        200,
        match seen.operation {
            "org_units_read" => r#"{"items": []}"#,
            "account_check" => r#"{"result": "match"}"#,
            "blueprints_write" => {
                r#"{"dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []}"#
            }
            _ => "{}",
        },
    )
}

fn wrote() -> ScriptedReply {
    ScriptedReply::json(
        200,
        r#"{"dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []}"#,
    )
}

/// Runs all futures concurrently and returns their results.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let Poll::Ready(ready) = Pin::new(future).poll(context)
            {
                *output = Some(ready);
            }
        }
        match futures.iter().all(|(_, output)| output.is_some()) {
            true => Poll::Ready(futures.iter_mut().filter_map(|(_, output)| output.take()).collect()),
            false => Poll::Pending,
        }
    })
    .await
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A session that always has a token until a halt or an end is reported to it.
struct MockGateway {
    proofs: Arc<ProofSession>,
    state: Mutex<MockState>,
}

#[derive(Default)]
struct MockState {
    number: u32,
    renewals: u32,
    over: Option<ErrorKind>,
    reported: Vec<ErrorKind>,
    /// The kind of the error with which a refresh fails.
    dead: Option<ErrorKind>,
    /// True if `current_grant` never completes, as during a refresh that does not end.
    silent: bool,
    /// True if `renew_grant` never completes.
    slow: bool,
    /// True if `report_rejection` never completes.
    deaf: bool,
}

fn test_owner() -> Ownership {
    Ownership { connection: Some("a-connection".into()), installation: None }
}

impl MockGateway {
    fn new(key: impl ProofSigner + 'static, environment: &Environment) -> Self {
        let key: Arc<dyn ProofSigner> = Arc::new(key);
        let proofs = Arc::new(ProofSession::new(key, environment.clone()));
        Self { proofs, state: Mutex::default() }
    }

    fn token(number: u32) -> AccessToken {
        AccessToken::new(format!("token-{number}")).unwrap()
    }

    fn grant(&self, number: u32) -> AccessGrant {
        let (token, proofs) = (Arc::new(Self::token(number)), Arc::clone(&self.proofs));
        AccessGrant { token, proofs, owner: test_owner(), jkt: "a-key".into(), open_count: 1 }
    }

    fn reported_errors(&self) -> Vec<ErrorKind> {
        self.state.lock().unwrap().reported.clone()
    }

    fn renewals(&self) -> u32 {
        self.state.lock().unwrap().renewals
    }
}

impl TokenSource for MockGateway {
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>> {
        let state = self.state.lock().unwrap();
        if state.silent {
            return Box::pin(std::future::pending());
        }
        let current = match state.over {
            Some(kind) => Err(Error::new(kind, "the session is over")),
            None => Ok(self.grant(state.number)),
        };
        Box::pin(async { current })
    }

    fn gateway_proofs(&self) -> Option<Arc<ProofSession>> {
        Some(Arc::clone(&self.proofs))
    }

    fn renew_grant<'a>(&'a self, refused: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>> {
        let mut state = self.state.lock().unwrap();
        if state.slow {
            return Box::pin(std::future::pending());
        }
        let renewed = match state.dead {
            Some(kind) => Err(Error::new(kind, "the refresh was refused")),
            None => {
                if *Self::token(state.number).hash() == *refused {
                    state.number += 1;
                    state.renewals += 1;
                }
                Ok(self.grant(state.number))
            }
        };
        Box::pin(async { renewed })
    }

    fn current_owner(&self) -> Option<Ownership> {
        Some(test_owner())
    }

    fn is_current_connection<'a>(&'a self, _: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async { Ok(true) })
    }

    fn record_note<'a>(
        &'a self,
        _: &'a Ownership,
        _: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn report_rejection<'a>(&'a self, _: &'a AccessGrant, error: &'a Error) -> BoxFuture<'a, ()> {
        let mut state = self.state.lock().unwrap();
        state.reported.push(error.kind());
        state.over = Some(error.kind());
        if state.deaf {
            return Box::pin(std::future::pending());
        }
        Box::pin(async {})
    }
}
