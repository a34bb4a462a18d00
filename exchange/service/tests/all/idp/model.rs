//! Model test of refresh: random interleavings of refreshes, lost responses, reuse, other keys and clients,
//! revocations, disconnections and time.

use exchange_service::idp::disconnect_client;
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::records::Actor;
use exchange_service::store::StoreError;
use exchange_service::time::Moment;
use proptest::prelude::*;

use super::super::support::cases;
use super::harness::{Device, ProviderHarness, Reply, SCOPES, Tokens};

const DAY: i64 = 86_400_000;

/// A step. Connections and their tokens are counted from the newest one. A lost response is simulated by
/// using the predecessor of its token again.
#[derive(Clone, Debug)]
enum Step {
    Connect,
    Refresh { connection: usize, token: usize, by: Presenter },
    Revoke { connection: usize, token: usize, by: Presenter },
    Both { connection: usize, token: usize },
    Disconnect,
    Wait { hours: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presenter {
    Owner,
    OtherKey,
    OtherClient,
}

/// The expected state of a connection.
struct Connection {
    device: usize,
    /// All tokens of the connection, oldest first; the last one is the current token.
    tokens: Vec<String>,
    created_at: Moment,
    used_at: Moment,
    ended: bool,
}

/// The expected outcome of a refresh.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    New,
    Same(String),
    Refused,
}

impl Connection {
    fn refresh(&mut self, token: usize, presenter: Presenter, now: Moment) -> Expected {
        if presenter != Presenter::Owner || self.ended {
            return Expected::Refused;
        }
        let unused = now.as_millis() - self.used_at.as_millis() >= 30 * DAY;
        let is_expired = now.as_millis() - self.created_at.as_millis() >= 90 * DAY;
        let current = self.tokens.len() - 1;
        if unused || is_expired || token + 1 < current {
            self.ended = true;
            return Expected::Refused;
        }
        self.used_at = now;
        if token == current { Expected::New } else { Expected::Same(self.tokens[current].clone()) }
    }
}

struct Model {
    harness: ProviderHarness,
    devices: [Device; 2],
    thief: Device,
    connections: Vec<Connection>,
}

impl Model {
    async fn new() -> Self {
        let devices = [Device::new(), Device::new()];
        let mut model = Self {
            harness: ProviderHarness::new().await,
            devices,
            thief: Device::new(),
            connections: Vec::new(),
        };
        model.connect().await;
        model
    }

    async fn connect(&mut self) {
        // The devices alternate, so that some connections are replaced and others are kept.
        let device = self.connections.len() % 2;
        let tokens = self.harness.connect(&self.devices[device], SCOPES).await;
        for connection in self.connections.iter_mut().filter(|connection| connection.device == device) {
            connection.ended = true;
        }
        let now = self.harness.now();
        let tokens = vec![tokens.refresh];
        self.connections.push(Connection { device, tokens, created_at: now, used_at: now, ended: false });
    }

    /// Returns the indices of the connection and the token of a step, and the token.
    fn pick(&self, connection: usize, token: usize) -> (usize, usize, String) {
        let index = self.connections.len() - 1 - connection % self.connections.len();
        let tokens = &self.connections[index].tokens;
        let token = tokens.len() - 1 - token % tokens.len();
        (index, token, tokens[token].clone())
    }

    fn device(&self, index: usize, presenter: Presenter) -> &Device {
        if presenter == Presenter::OtherKey {
            &self.thief
        } else {
            &self.devices[self.connections[index].device]
        }
    }

    fn assert_reply(&mut self, index: usize, expected: &Expected, reply: &Reply) {
        match expected {
            Expected::Refused => reply.expect_error(400, "invalid_grant"),
            Expected::Same(token) => assert_eq!(&Tokens::from_reply(reply).refresh, token),
            Expected::New => {
                let token = Tokens::from_reply(reply).refresh;
                let tokens = self.connections.iter().flat_map(|connection| &connection.tokens);
                assert!(tokens.clone().all(|other_token| *other_token != token), "a token was issued twice");
                self.connections[index].tokens.push(token);
            }
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Connect => self.connect().await,
            Step::Wait { hours } => self.harness.advance(hours * 3600),
            Step::Refresh { connection, token, by: presenter } => {
                let (index, token, text) = self.pick(connection, token);
                let client = if presenter == Presenter::OtherClient { "other" } else { "tool" };
                let reply = self.harness.refresh_as(client, &text, self.device(index, presenter), &[]).await;
                let expected = self.connections[index].refresh(token, presenter, self.harness.now());
                self.assert_reply(index, &expected, &reply);
            }
            Step::Both { connection, token } => {
                let (index, token, text) = self.pick(connection, token);
                let (device, now) = (self.device(index, Presenter::Owner), self.harness.now());
                let (one, other) =
                    tokio::join!(self.harness.refresh(&text, device), self.harness.refresh(&text, device));
                let expected = self.connections[index].refresh(token, Presenter::Owner, now);
                self.assert_reply(index, &expected, &one);
                // The second of the two concurrent refreshes repeats the first one.
                let expected = self.connections[index].refresh(token, Presenter::Owner, now);
                self.assert_reply(index, &expected, &other);
            }
            Step::Revoke { connection, token, by: presenter } => {
                let (index, _, text) = self.pick(connection, token);
                let client = if presenter == Presenter::OtherClient { "other" } else { "tool" };
                let reply = self.harness.revoke_as(client, &text, self.device(index, presenter)).await;
                if presenter == Presenter::Owner {
                    assert_eq!(reply.status, 200, "{}", reply.body);
                    self.connections[index].ended = true;
                } else {
                    reply.expect_error(400, "invalid_grant");
                }
            }
            Step::Disconnect => {
                let now = self.harness.now();
                let work = move |database: &rusqlite::Connection| {
                    let (client, member) = (ClientId::new("tool"), MemberId::new("m-ada"));
                    disconnect_client(database, Actor::Administrator("root"), &client, &member, now)
                };
                self.harness.store.write::<_, StoreError, _>(work).await.unwrap();
                self.connections.iter_mut().for_each(|connection| connection.ended = true);
            }
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let presenter = || prop_oneof![6 => Just(Presenter::Owner), 1 => Just(Presenter::OtherKey), 1 => Just(Presenter::OtherClient)];
    // Steps mostly use the newest connection and its newest tokens.
    let connection = || prop_oneof![4 => Just(0_usize), 1 => 0..3_usize];
    let token = || prop_oneof![6 => Just(0_usize), 3 => Just(1), 1 => 2..4_usize];
    let step = prop_oneof![
        12 => (connection(), token(), presenter())
            .prop_map(|(connection, token, presenter)| Step::Refresh { connection, token, by: presenter }),
        3 => (connection(), token()).prop_map(|(connection, token)| Step::Both { connection, token }),
        1 => (connection(), token(), presenter())
            .prop_map(|(connection, token, presenter)| Step::Revoke { connection, token, by: presenter }),
        2 => Just(Step::Connect),
        1 => Just(Step::Disconnect),
        3 => prop_oneof![0..48_u64, 24 * 25..24 * 31_u64].prop_map(|hours| Step::Wait { hours }),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(cases(48))]

    /// IDP-19 to IDP-22, LIM-08: every step has the outcome that the model expects.
    #[test]
    fn refresh_interleavings_match_the_model(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut model = Model::new().await;
            for step in steps {
                model.step(step).await;
            }
        });
    }
}
