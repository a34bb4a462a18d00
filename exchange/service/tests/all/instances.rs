//! Tests of two services over one store: which state they share.
//!
//! They share idempotency keys, feeds, connections, signing keys and revocations. Nonces and used proofs
//! belong to an instance, so a proof is valid only at the instance that issued its nonce, unless the
//! instances also share a store of used proofs.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::path::Path;
use std::sync::Arc;

use exchange_service::Environment;
use exchange_service::app::App;
use exchange_service::backend::Backend;
use exchange_service::config::Config;
use exchange_service::gateway::{Gateway, GatewayParts};
use exchange_service::idp::IdentityProvider;
use exchange_service::relay::{LocalRelay, Relay};
use exchange_service::sandbox::{Sandbox, SandboxOptions};
use exchange_service::store::{self, Store, StoreLocation};
use exchange_service::time::{ManualClock, SystemClock};
use serde_json::json;

use super::client::{Client, approve_on_pages, keys};
use super::support::served;

/// Starts an instance that shares only the files, and returns its address.
async fn instance(folder: &Path, clock: &ManualClock) -> String {
    let environment = Environment::new(Arc::new(clock.clone()), Arc::new(dpop_bound::SystemRandom));
    let store = Store::open(&store::StoreOptions::new(StoreLocation::Folder(folder.to_owned()))).unwrap();
    let config = Arc::new(Config::default());
    let app = App::new(store, environment.clone(), Arc::clone(&config)).await.unwrap();
    served(app.router(), &config, &environment).await
}

/// Starts two gateways that also share used proofs and the nonce key, as with an external store.
async fn gateways_with_one_memory(folder: &Path, clock: &ManualClock) -> [String; 2] {
    let environment = Environment::new(Arc::new(clock.clone()), Arc::new(dpop_bound::SystemRandom));
    let store = Store::open(&store::StoreOptions::new(StoreLocation::Folder(folder.to_owned()))).unwrap();
    let config = Arc::new(Config::default());
    let provider = IdentityProvider::new(store.clone(), environment.clone(), &config).await.unwrap();
    let backend = Backend::new(store.clone(), environment.clone(), Arc::clone(&config)).await.unwrap();
    let relay: Arc<dyn Relay> = Arc::new(LocalRelay::new(Arc::new(backend)));
    let parts = || {
        let verifier = Arc::new(provider.clone());
        GatewayParts::in_process(&store, &environment, &config, verifier, Arc::clone(&relay)).unwrap()
    };
    let (one, mut other) = (parts(), parts());
    other.proofs = Arc::clone(&one.proofs);
    other.nonce_key = one.nonce_key.clone();
    let [one, other] = [one, other].map(|parts| Gateway::new(parts.into_ports().unwrap()).router());
    [served(one, &config, &environment).await, served(other, &config, &environment).await]
}

/// Two instances behind one public origin, and a signed-in client.
struct Pair {
    folder: tempfile::TempDir,
    clock: ManualClock,
    bases: [String; 2],
    client: Client,
}

impl Pair {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SandboxOptions { data: Some(folder.path().to_owned()), ..SandboxOptions::default() };
        Sandbox::with_options(options).await.unwrap().stop().await;
        let clock = ManualClock::offset_from(Arc::new(SystemClock));
        let bases = [instance(folder.path(), &clock).await, instance(folder.path(), &clock).await];
        let config = Config::default();
        let client = Client::new(&config.gateway_origin, &config.issuer, clock.clone());
        let mut pair = Self { folder, clock, bases, client };
        pair.use_instance(0);
        // The login is started at one instance, approved at the other, and completed at the first.
        let login = pair.client.begin().await;
        let password = "sandbox-member-pw-do-not-use-in-prod";
        approve_on_pages(&pair.bases[1], "sandbox-member", password, &login.user_code).await;
        pair.client.finish(&login).await;
        pair
    }

    /// Sends further requests of the client to this instance.
    fn use_instance(&mut self, to: usize) {
        let base = &self.bases[to];
        self.client.use_addresses(base, &format!("{base}/idp"));
    }
}

fn knife() -> serde_json::Value {
    json!([{ "op": "add", "ref": { "scRecord": "BP_CRAFT_SBXM_KNIFE_01" } }])
}

/// DPP-18: of two identical proofs sent to two instances concurrently, only the instance that issued
/// the nonce accepts one, and only once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_proofs_at_two_instances() {
    let mut pair = Pair::new().await;
    let path = "/exchange/v1";
    for first in [0, 1] {
        pair.use_instance(first);
        assert_eq!(pair.client.call("service_document", path, None, "").await.status, 200);
        let proof = pair.client.proof_of("GET", path);
        let [one, other] = [&pair.bases[first], &pair.bases[1 - first]];
        let (here, again, there) = tokio::join!(
            pair.client.send_proof(one, path, &proof),
            pair.client.send_proof(one, path, &proof),
            pair.client.send_proof(other, path, &proof),
        );
        let mut statuses = [here.status.as_u16(), again.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 401]);
        assert_eq!(there.challenge(), "use_dpop_nonce");
    }
}

/// DPP-18: of identical proofs sent concurrently to two gateways with shared state, one is accepted.
/// A nonce of one gateway is valid at the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_proofs_at_gateways_with_shared_memory() {
    let mut pair = Pair::new().await;
    let bases = gateways_with_one_memory(pair.folder.path(), &pair.clock).await;
    let (path, issuer) = ("/exchange/v1", format!("{}/idp", pair.bases[0]));
    pair.client.use_addresses(&bases[0], &issuer);
    assert_eq!(pair.client.call("service_document", path, None, "").await.status, 200);
    pair.client.use_addresses(&bases[1], &issuer);
    for _ in 0..10 {
        assert_eq!(pair.client.once(path, None, "").await.status, 200, "the other gateway accepts the nonce");
        let proof = pair.client.proof_of("GET", path);
        let send = |to: usize| pair.client.send_proof(&bases[to], path, &proof);
        let answers = tokio::join!(send(0), send(1), send(0), send(1));
        let (accepted, refused): (Vec<_>, Vec<_>) =
            <[_; 4]>::from(answers).into_iter().partition(|one| one.status == 200);
        assert_eq!(accepted.len(), 1);
        assert!(refused.iter().all(|one| one.challenge() == "invalid_dpop_proof"));
    }
}

/// DPP-18, LIM-12: a proof that was accepted before a restart is not accepted afterwards.
#[tokio::test]
async fn replay_after_a_process_restart_is_rejected() {
    let mut pair = Pair::new().await;
    let path = "/exchange/v1";
    assert_eq!(pair.client.call("service_document", path, None, "").await.status, 200);
    let proof = pair.client.proof_of("GET", path);
    assert_eq!(pair.client.send_proof(&pair.bases[0], path, &proof).await.status, 200);
    let again = pair.client.send_proof(&pair.bases[0], path, &proof).await;
    assert_eq!(again.challenge(), "invalid_dpop_proof");
    pair.bases[0] = instance(pair.folder.path(), &pair.clock).await;
    let again = pair.client.send_proof(&pair.bases[0], path, &proof).await;
    assert_eq!(again.challenge(), "use_dpop_nonce");
    pair.use_instance(0);
    assert_eq!(pair.client.call("service_document", path, None, "").await.status, 200);
}

/// GW-10, FED-08: a write at one instance can be repeated at the other, which returns the same bytes. The
/// write is in the other instance's feed, for a cursor of the first.
#[tokio::test]
async fn write_at_one_instance_is_replayed_at_the_other() {
    let mut pair = Pair::new().await;
    let snapshot = pair.client.read(None).await;
    let written = pair.client.write(knife(), "a-key-of-two-instances").await;
    assert_eq!((written.status.as_u16(), &written.body["applied"]), (200, &json!(1)));
    pair.use_instance(1);
    let again = pair.client.write(knife(), "a-key-of-two-instances").await;
    assert_eq!((&again.bytes, again.headers.contains_key("idempotency-replayed")), (&written.bytes, true));
    let page = pair.client.read(snapshot.body["nextCursor"].as_str()).await;
    assert_eq!(keys(&page.body["items"]), ["bp-sandbox-knife"]);
}

/// GW-10, ERR-25, WRT-03: a change set that is sent concurrently to two instances with one idempotency key is
/// applied once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_idempotency_key_at_two_instances_applies_once() {
    let mut pair = Pair::new().await;
    let (mut clients, bases) = ([pair.client.twin(), pair.client.twin()], pair.bases.clone());
    for (client, base) in clients.iter_mut().zip(&bases) {
        client.use_addresses(base, &format!("{base}/idp"));
        // Each instance has its own nonce.
        assert_eq!(client.call("service_document", "/exchange/v1", None, "").await.status, 200);
    }
    let snapshot = pair.client.read(None).await;
    for round in 0..8 {
        let key = format!("a-key-of-round-{round}");
        let ops =
            if round % 2 == 0 { knife() } else { json!([{ "op": "remove", "key": "bp-sandbox-knife" }]) };
        let [one, other] = &mut clients;
        let answers = tokio::join!(one.write(ops.clone(), &key), other.write(ops.clone(), &key));
        let applied = |response: &&super::client::ClientResponse| {
            response.status == 200 && !response.headers.contains_key("idempotency-replayed")
        };
        let answers = [answers.0, answers.1];
        assert_eq!(answers.iter().filter(applied).count(), 1, "{round}");
        for response in answers.iter().filter(|response| response.status != 200) {
            assert_eq!(response.code(), "IDEMPOTENCY_IN_PROGRESS");
        }
        let again = other.write(ops, &key).await;
        assert_eq!((again.status.as_u16(), &again.body["applied"]), (200, &json!(1)), "{round}");
    }
    let page = pair.client.read(snapshot.body["nextCursor"].as_str()).await;
    assert_eq!(keys(&page.body["removed"]), ["bp-sandbox-knife"]);
}

/// Two concurrent refreshes with one token, one per instance, return the same new token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_refreshes_at_two_instances_agree() {
    let mut pair = Pair::new().await;
    let bases = pair.bases.clone();
    for _ in 0..5 {
        let mut clients = [pair.client.twin(), pair.client.twin()];
        for (client, base) in clients.iter_mut().zip(&bases) {
            client.use_addresses(base, &format!("{base}/idp"));
        }
        let [one, other] = &mut clients;
        let ((first, _), (second, _)) = tokio::join!(one.renew(), other.renew());
        assert_eq!((first.as_u16(), second.as_u16()), (200, 200));
        assert_eq!(one.refresh, other.refresh);
        pair.client.refresh.clone_from(&one.refresh);
    }
}

/// Of two concurrent polls with one approved code, one per instance, only one receives the tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_device_code_at_two_instances_is_used_once() {
    let pair = Pair::new().await;
    let login = pair.client.begin().await;
    let password = "sandbox-member-pw-do-not-use-in-prod";
    approve_on_pages(&pair.bases[0], "sandbox-member", password, &login.user_code).await;
    let mut clients = [pair.client.twin(), pair.client.twin()];
    for (client, base) in clients.iter_mut().zip(&pair.bases) {
        client.use_addresses(base, &format!("{base}/idp"));
    }
    let [one, other] = &clients;
    let (first, second) = tokio::join!(one.poll(&login), other.poll(&login));
    let mut statuses = [first.0.as_u16(), second.0.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    let refused = if first.0 == 400 { first.1 } else { second.1 };
    assert_eq!(refused["error"], "invalid_grant");
}

/// IDP-23, IDP-25: a connection that ends at one instance also ends at the other.
#[tokio::test]
async fn revocation_takes_effect_at_both_instances() {
    let mut pair = Pair::new().await;
    assert_eq!(pair.client.revoke().await.0, 200);
    pair.use_instance(1);
    let (status, refused) = pair.client.renew().await;
    assert_eq!((status.as_u16(), &refused["error"]), (400, &json!("invalid_grant")));
}
