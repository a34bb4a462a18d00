//! Tests of refresh and revocation.

use dpop_bound::SystemRandom;
use exchange_service::idp::tokens::TokenVerifier as _;
use exchange_service::idp::{DisconnectOutcome, disconnect_client, disconnect_installation};
use exchange_service::ids::{ClientId, InstallationId, MemberId};
use exchange_service::records::Actor;
use exchange_service::registry;
use exchange_service::store::{self, StoreError};
use exchange_service::time::ManualClock;

use super::harness::{Device, NOW, ProviderHarness, SCOPES, Tokens};

const DAY: u64 = 86_400;

/// IDP-19: every refresh returns new tokens with the same scopes.
#[tokio::test]
async fn refresh_returns_new_tokens() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let first = harness.connect(&device, SCOPES).await;
    harness.advance(290);
    let reply = harness.refresh(&first.refresh, &device).await.expect(200);
    assert_eq!(reply.json()["token_type"], "DPoP");
    assert_eq!(reply.json()["scope"], "exchange.connect exchange.stock.read offline_access");
    let second = Tokens::from_reply(&reply);
    assert!(second.access != first.access && second.refresh != first.refresh);
    let claims = harness.provider.verify_token(&second.access, harness.now()).await.unwrap();
    assert_eq!(claims.jkt, Some(device.thumbprint().to_string()));
    // The time of the sign-in does not change.
    assert_eq!(claims.auth_time.as_secs(), NOW.as_secs());
}

/// IDP-20: a refresh with another key is rejected and does not end the connection.
#[tokio::test]
async fn refresh_with_another_key_is_rejected() {
    let harness = ProviderHarness::new().await;
    let (device, thief) = (Device::new(), Device::new());
    let tokens = harness.connect(&device, SCOPES).await;
    let next = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    for token in [&tokens.refresh, &next.refresh] {
        harness.refresh(token, &thief).await.expect_error(400, "invalid_grant");
        harness.revoke(token, &thief).await.expect_error(400, "invalid_grant");
    }
    harness.refresh(&next.refresh, &device).await.expect(200);
}

/// A refresh by another client is rejected.
#[tokio::test]
async fn refresh_by_another_client_is_rejected() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let refused = harness.refresh_as("other", &tokens.refresh, &device, &[]).await;
    refused.expect_error(400, "invalid_grant");
    harness.refresh_as("nobody", &tokens.refresh, &device, &[]).await.expect_error(400, "invalid_client");
    harness.refresh(&tokens.refresh, &device).await.expect(200);
}

/// Two parallel refreshes return the same new token, so the client can use either response.
#[tokio::test]
async fn parallel_refreshes_get_the_same_successor() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let (one, other) =
        tokio::join!(harness.refresh(&tokens.refresh, &device), harness.refresh(&tokens.refresh, &device));
    let (one, other) = (Tokens::from_reply(&one), Tokens::from_reply(&other));
    assert_eq!(one.refresh, other.refresh);
    assert_ne!(one.access, other.access);
    harness.refresh(&other.refresh, &device).await.expect(200);
}

/// After a lost response, a refresh can be repeated after any time and any number of times.
#[tokio::test]
async fn refresh_can_be_repeated_after_a_lost_response() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let lost_tokens = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    for _ in 0..3 {
        harness.advance(DAY);
        let again = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
        assert_eq!(again.refresh, lost_tokens.refresh);
    }
    let next = Tokens::from_reply(&harness.refresh(&lost_tokens.refresh, &device).await);
    harness.refresh(&next.refresh, &device).await.expect(200);
}

/// Using a token again after its successor was used ends the connection for both holders and notifies
/// the member.
#[tokio::test]
async fn token_reuse_ends_the_connection() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let first = harness.connect(&device, SCOPES).await;
    let second = Tokens::from_reply(&harness.refresh(&first.refresh, &device).await);
    let third = Tokens::from_reply(&harness.refresh(&second.refresh, &device).await);
    harness.refresh(&first.refresh, &device).await.expect_error(400, "invalid_grant");
    for token in [&second.refresh, &third.refresh] {
        harness.refresh(token, &device).await.expect_error(400, "invalid_grant");
    }
    assert_eq!(harness.count("SELECT count(*) FROM notice WHERE kind = 'connection-reused'").await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM connection WHERE end_reason = 'reused'").await, 1);
}

/// IDP-21: a restored store lacks the tokens that were issued since the backup. Such tokens end their
/// connection without a notice of theft; clients with known tokens continue.
#[tokio::test]
async fn unknown_token_after_restore_is_not_theft() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let clock = ManualClock::fixed_at(NOW);
    let harness = ProviderHarness::in_folder(&path("first"), clock.clone()).await;
    let (stale, fresh) = (Device::new(), Device::new());
    let known_tokens = harness.connect(&fresh, SCOPES).await;
    let lost_tokens = harness.connect(&stale, SCOPES).await;
    store::write_backup(&path("first"), &path("backup.db")).unwrap();
    let lost_tokens = Tokens::from_reply(&harness.refresh(&lost_tokens.refresh, &stale).await);
    let lost_tokens = Tokens::from_reply(&harness.refresh(&lost_tokens.refresh, &stale).await);
    harness.advance(DAY);
    store::restore_backup(&path("backup.db"), &path("second"), &SystemRandom, harness.now()).unwrap();

    let harness = ProviderHarness::in_folder(&path("second"), clock).await;
    harness.refresh(&lost_tokens.refresh, &stale).await.expect_error(400, "invalid_grant");
    let ended = "SELECT count(*) FROM connection WHERE end_reason = 'restored'";
    let notice_query = "SELECT count(*) FROM notice WHERE kind = 'connection-reused'";
    assert_eq!((harness.count(ended).await, harness.count(notice_query).await), (1, 0));
    let next = Tokens::from_reply(&harness.refresh(&known_tokens.refresh, &fresh).await);
    let last = Tokens::from_reply(&harness.refresh(&next.refresh, &fresh).await);
    // The reuse of a token that the store knows is still treated as theft.
    harness.refresh(&known_tokens.refresh, &fresh).await.expect_error(400, "invalid_grant");
    harness.refresh(&last.refresh, &fresh).await.expect_error(400, "invalid_grant");
    assert_eq!((harness.count(ended).await, harness.count(notice_query).await), (1, 1));
}

/// A refresh that requests more scopes is rejected and does not use up the token. A refresh may
/// request fewer scopes, and the next one all scopes again.
#[tokio::test]
async fn refresh_never_widens_scopes() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, "exchange.connect exchange.stock.read").await;
    for wider in ["exchange.connect exchange.blueprints.read", "exchange.connect offline_access"] {
        let refused = harness.refresh_as("tool", &tokens.refresh, &device, &[("scope", wider)]).await;
        refused.expect_error(400, "invalid_scope");
    }
    let narrow = [("scope", "exchange.connect")];
    let reply = harness.refresh_as("tool", &tokens.refresh, &device, &narrow).await.expect(200);
    assert_eq!(reply.json()["scope"], "exchange.connect");
    let reply = harness.refresh(&Tokens::from_reply(&reply).refresh, &device).await.expect(200);
    assert_eq!(reply.json()["scope"], "exchange.connect exchange.stock.read");
}

/// IDP-21, LIM-08, ERR-47: a connection expires after 30 days without use.
#[tokio::test]
async fn unused_connection_expires_after_30_days() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    harness.advance(30 * DAY - 1);
    let tokens = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    harness.advance(30 * DAY);
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    assert_eq!(harness.count("SELECT count(*) FROM connection WHERE end_reason = 'unused'").await, 1);
}

/// IDP-21, LIM-08: a connection expires after 90 days, and no token is valid for longer.
#[tokio::test]
async fn connection_expires_after_90_days() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let mut tokens = harness.connect(&device, SCOPES).await;
    for _ in 0..4 {
        harness.advance(20 * DAY);
        tokens = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    }
    harness.advance(10 * DAY - 60);
    tokens = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    assert_eq!(tokens.expires_in, 60);
    harness.advance(60);
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    assert_eq!(harness.count("SELECT count(*) FROM connection WHERE end_reason = 'longest'").await, 1);
}

/// ERR-47: the connection ends when the member leaves or is disabled by an administrator.
#[tokio::test]
async fn connection_ends_when_the_member_is_disabled() {
    for state in [
        "UPDATE member SET state = 'deleted' WHERE id = 'm-ada'",
        "UPDATE member SET state = 'disabled' WHERE id = 'm-ada'",
    ] {
        let harness = ProviderHarness::new().await;
        let device = Device::new();
        let tokens = harness.connect(&device, SCOPES).await;
        harness.change(state).await;
        harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
        // The connection has ended, so a member who returns must sign in again.
        harness.change("UPDATE member SET state = 'active' WHERE id = 'm-ada'").await;
        harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    }
}

async fn disconnect_tool(harness: &ProviderHarness) -> DisconnectOutcome {
    let now = harness.now();
    let work = move |database: &rusqlite::Connection| {
        let (client, member) = (ClientId::new("tool"), MemberId::new("m-ada"));
        disconnect_client(database, Actor::Member(&member), &client, &member, now)
    };
    harness.store.write::<_, StoreError, _>(work).await.unwrap()
}

async fn is_revoked(harness: &ProviderHarness, tokens: &Tokens) -> bool {
    let claims = harness.provider.verify_token(&tokens.access, harness.now()).await.unwrap();
    let work = move |database: &rusqlite::Connection| {
        registry::client_is_revoked(database, &claims.client, &claims.member, claims.auth_time)
    };
    harness.store.read::<_, StoreError, _>(work).await.unwrap()
}

/// IDP-25, ERR-12: when the member disconnects a client, its tokens are revoked, its connections end,
/// and approvals without tokens become void. A new sign-in is valid, even in the same second.
#[tokio::test]
async fn disconnecting_a_client_revokes_its_tokens() {
    let harness = ProviderHarness::new().await;
    let (device, other_device) = (Device::new(), Device::new());
    let (tokens, other_tokens) =
        (harness.connect(&device, SCOPES).await, harness.connect(&other_device, SCOPES).await);
    let approved = harness.begin(SCOPES).await;
    harness.browser().await.decide(&harness, &approved, "approve").await.expect(200);
    let bobs = Device::new();
    let mut bob = harness.browser_of("bob").await;
    let his = harness.connect_by(&mut bob, &bobs, SCOPES).await;
    assert!(!is_revoked(&harness, &tokens).await);

    assert_eq!(disconnect_tool(&harness).await, DisconnectOutcome::Disconnected);
    assert!(is_revoked(&harness, &tokens).await && is_revoked(&harness, &other_tokens).await);
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.refresh(&other_tokens.refresh, &other_device).await.expect_error(400, "invalid_grant");
    harness.poll(&approved, &device).await.expect_error(400, "access_denied");
    harness.refresh(&his.refresh, &bobs).await.expect(200);
    assert!(!is_revoked(&harness, &his).await);

    let again = harness.connect(&device, SCOPES).await;
    assert!(!is_revoked(&harness, &again).await);
    let again = Tokens::from_reply(&harness.refresh(&again.refresh, &device).await);
    // The client is disconnected again in the same second.
    disconnect_tool(&harness).await;
    assert!(is_revoked(&harness, &again).await);
    harness.refresh(&again.refresh, &device).await.expect_error(400, "invalid_grant");
    let last = harness.connect(&device, SCOPES).await;
    assert!(!is_revoked(&harness, &last).await);
    assert_eq!(harness.count("SELECT count(*) FROM notice WHERE kind = 'client-disconnected'").await, 2);
    assert_eq!(harness.count("SELECT count(*) FROM audit WHERE action = 'disconnect-client'").await, 2);
}

/// IDP-08: without `offline_access`, the sign-in time is that of the browser session. A disconnected client
/// therefore stays revoked until the member signs in again.
#[tokio::test]
async fn disconnected_client_stays_revoked_within_the_session() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let mut browser = harness.browser().await;
    harness.advance(60);
    disconnect_tool(&harness).await;
    harness.advance(60);
    let tokens = harness.connect_by(&mut browser, &device, "exchange.connect").await;
    assert!(is_revoked(&harness, &tokens).await);
    let offline_tokens = harness.connect_by(&mut browser, &Device::new(), SCOPES).await;
    assert!(!is_revoked(&harness, &offline_tokens).await);
    let mut browser = harness.browser().await;
    let tokens = harness.connect_by(&mut browser, &device, "exchange.connect").await;
    assert!(!is_revoked(&harness, &tokens).await);
}

/// IDP-25, ERR-13: disconnecting one installation revokes only its tokens.
#[tokio::test]
async fn disconnecting_an_installation_revokes_its_tokens() {
    let harness = ProviderHarness::new().await;
    let (device, other_device) = (Device::new(), Device::new());
    let (tokens, other_tokens) =
        (harness.connect(&device, SCOPES).await, harness.connect(&other_device, SCOPES).await);
    let (jkt, now) = (device.thumbprint().to_string(), harness.now());
    let disconnected = harness
        .store
        .write(move |database| {
            database.execute(
                "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) \
                 VALUES ('i-1', 'tool', 'm-ada', ?1, 0, 0)",
                [jkt],
            )?;
            let (installation, bob, ada) =
                (InstallationId::new("i-1"), MemberId::new("m-bob"), MemberId::new("m-ada"));
            let disconnect_as =
                |member| disconnect_installation(database, Actor::Member(member), &installation, now);
            let unknown = InstallationId::new("i-2");
            let administrator = Actor::Administrator("root");
            Ok::<_, StoreError>([
                disconnect_as(&bob)?,
                disconnect_as(&ada)?,
                disconnect_as(&ada)?,
                disconnect_installation(database, administrator, &unknown, now)?,
            ])
        })
        .await
        .unwrap();
    use DisconnectOutcome::{AlreadyDisconnected, Disconnected, NotFound};
    assert_eq!(disconnected, [NotFound, Disconnected, AlreadyDisconnected, NotFound]);
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.refresh(&other_tokens.refresh, &other_device).await.expect(200);
    let jkt = device.thumbprint().to_string();
    let work = move |database: &rusqlite::Connection| registry::key_is_revoked(database, &jkt);
    assert!(harness.store.read::<_, StoreError, _>(work).await.unwrap());
    assert_eq!(
        harness.count("SELECT count(*) FROM notice WHERE kind = 'installation-disconnected'").await,
        1
    );
    assert_eq!(harness.count("SELECT count(*) FROM audit WHERE action = 'disconnect-installation'").await, 1);
}

/// IDP-23, IDP-24: revoking the current refresh token or its predecessor ends the connection.
/// Revoking an unknown token succeeds.
#[tokio::test]
async fn revoking_either_token_ends_the_connection() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let next = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    for unknown in ["x", "a.b", ".", "x.", &"y".repeat(2000)] {
        harness.revoke(unknown, &device).await.expect(200);
    }
    harness.revoke_as("other", &next.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.revoke(&tokens.access, &device).await.expect_error(400, "unsupported_token_type");
    let next = Tokens::from_reply(&harness.refresh(&next.refresh, &device).await);
    harness.revoke(&next.refresh, &device).await.expect(200);
    harness.refresh(&next.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.revoke(&next.refresh, &device).await.expect(200);
    assert_eq!(harness.count("SELECT count(*) FROM connection WHERE end_reason = 'revoked'").await, 1);

    let tokens = harness.connect(&device, SCOPES).await;
    let next = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    harness.revoke(&tokens.refresh, &device).await.expect(200);
    harness.refresh(&next.refresh, &device).await.expect_error(400, "invalid_grant");
}

/// If revocation and refresh are concurrent, the connection ends in either order.
#[tokio::test]
async fn concurrent_revocation_and_refresh() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    for _ in 0..8 {
        let tokens = harness.connect(&device, SCOPES).await;
        let (refreshed, revoked) =
            tokio::join!(harness.refresh(&tokens.refresh, &device), harness.revoke(&tokens.refresh, &device));
        revoked.expect(200);
        let last = match refreshed.status {
            200 => Tokens::from_reply(&refreshed).refresh,
            _ => tokens.refresh,
        };
        harness.refresh(&last, &device).await.expect_error(400, "invalid_grant");
    }
}

/// A crash between the commit and the response is like a lost response, even if the process restarts.
#[tokio::test]
async fn crash_after_commit_is_like_a_lost_response() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::fixed_at(NOW);
    let device = Device::new();
    let (tokens, lost_tokens) = {
        let harness = ProviderHarness::in_folder(folder.path(), clock.clone()).await;
        let tokens = harness.connect(&device, SCOPES).await;
        let lost_tokens = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
        (tokens, lost_tokens)
    };
    let harness = ProviderHarness::in_folder(folder.path(), clock).await;
    let again = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    assert_eq!(again.refresh, lost_tokens.refresh);
    // Earlier tokens are still valid, because the signing keys are the same.
    assert!(harness.provider.verify_token(&lost_tokens.access, harness.now()).await.is_ok());
    harness.refresh(&again.refresh, &device).await.expect(200);
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
}

/// If the store is full or closed, the refresh token is not used up, and the response tells the client to
/// retry.
#[tokio::test]
async fn failed_store_write_spends_nothing() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    harness
        .change("CREATE TRIGGER full BEFORE UPDATE ON connection BEGIN SELECT RAISE(FAIL, 'no room'); END")
        .await;
    let refused = harness.refresh(&tokens.refresh, &device).await;
    refused.expect_error(503, "temporarily_unavailable");
    assert_eq!(refused.header("retry-after"), "60");
    harness.change("DROP TRIGGER full").await;
    harness.refresh(&tokens.refresh, &device).await.expect(200);
}
