//! Tokens, tested at the gateway. The identity provider's verification has separate tests.

use std::time::Duration;

use dpop_bound::KeyPair;
use exchange_service::idp::tokens::TokenError;

use super::harness::{CLIENT, DOCUMENT, GatewayHarness, MEMBER, NOW};

/// ERR-05: all tokens that the identity provider rejects cause the same code.
#[tokio::test]
async fn rejected_tokens_are_unauthenticated() {
    let harness = GatewayHarness::new().await;
    for error in [
        TokenError::Malformed,
        TokenError::WrongType,
        TokenError::Algorithm,
        TokenError::Key,
        TokenError::Signature,
        TokenError::Issuer,
        TokenError::Expired,
        TokenError::NotYetValid,
    ] {
        harness.refused_token("refused", error);
        let reply = harness.send(harness.get(DOCUMENT).token("refused")).await;
        assert_eq!((reply.status, reply.code()), (401, "UNAUTHENTICATED"), "{error}");
        assert_eq!((reply.challenge().as_str(), reply.has("dpop-nonce")), ("invalid_token", true));
    }
    assert_eq!(harness.traces().await.live, 0);
}

/// IDP-07, ERR-05: a token for another audience is rejected.
#[tokio::test]
async fn token_for_another_audience_is_rejected() {
    let harness = GatewayHarness::new().await;
    for audiences in [vec![], vec!["other"], vec!["Exchange-Gateway"]] {
        harness.token("other", |claims| claims.audiences = audiences.iter().map(|&a| a.to_owned()).collect());
        // Verified tokens are cached, so each case has its own token.
        let harness = GatewayHarness::new().await;
        harness.token("other", |claims| claims.audiences = audiences.iter().map(|&a| a.to_owned()).collect());
        assert_eq!(harness.send(harness.get(DOCUMENT).token("other")).await.code(), "UNAUTHENTICATED");
    }
    harness.token("both", |claims| claims.audiences.extend(["other".to_owned()]));
    assert_eq!(harness.send(harness.get(DOCUMENT).token("both")).await.status, 200);
}

/// ERR-06, ERR-08: a token that is bound to no key, or to another key, is rejected.
#[tokio::test]
async fn token_bound_to_another_key_is_rejected() {
    let harness = GatewayHarness::new().await;
    harness.token("unbound", |claims| claims.jkt = None);
    let reply = harness.send(harness.get(DOCUMENT).token("unbound")).await;
    assert_eq!((reply.code(), reply.challenge().as_str()), ("DPOP_REQUIRED", ""));
    let other_thumbprint = KeyPair::generate().unwrap().public_key().thumbprint().to_string();
    harness.token("anothers", |claims| claims.jkt = Some(other_thumbprint));
    let reply = harness.send(harness.get(DOCUMENT).token("anothers")).await;
    assert_eq!((reply.code(), reply.challenge().as_str()), ("DPOP_INVALID", "invalid_dpop_proof"));
    harness.token("garbled", |claims| claims.jkt = Some("no thumbprint".to_owned()));
    assert_eq!(harness.send(harness.get(DOCUMENT).token("garbled")).await.code(), "UNAUTHENTICATED");
}

/// LIM-07: a token is verified once and then cached until it expires.
#[tokio::test]
async fn verified_token_is_cached_until_it_expires() {
    let harness = GatewayHarness::new().await;
    harness.token("short", |claims| claims.expires_at = NOW.plus(Duration::from_secs(300)));
    for _ in 0..3 {
        assert_eq!(harness.send(harness.get(DOCUMENT).token("short")).await.status, 200);
    }
    assert_eq!(*harness.provider.received.lock().unwrap(), 1);
    harness.advance(299);
    assert_eq!(harness.send(harness.get(DOCUMENT).token("short")).await.status, 200);
    harness.advance(1);
    assert_eq!(harness.send(harness.get(DOCUMENT).token("short")).await.code(), "UNAUTHENTICATED");
}

/// Cached tokens are accepted while the identity provider is unreachable.
#[tokio::test]
async fn cached_token_needs_no_provider() {
    let harness = GatewayHarness::new().await;
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    harness.refused_token(super::harness::TOKEN, TokenError::Unavailable);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
}

/// ERR-12, ERR-13, IDP-25: a disconnection takes effect at the next request, also for a cached token.
#[tokio::test]
async fn disconnected_connections_are_rejected() {
    let harness = GatewayHarness::new().await;
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    let signed_in = NOW.minus(Duration::from_secs(60)).as_millis();
    harness.sql(&format!("INSERT INTO client_revocation VALUES ('{CLIENT}', '{MEMBER}', {signed_in})")).await;
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.status, reply.code()), (401, "CLIENT_REVOKED"));
    // A later sign-in creates a new connection.
    harness.token("later", |claims| claims.auth_time = NOW.minus(Duration::from_secs(59)));
    assert_eq!(harness.send(harness.get(DOCUMENT).token("later")).await.status, 200);
    // The key stays rejected, and this is checked before the client.
    harness.sql("UPDATE installation SET revoked_at = 1").await;
    for token in [super::harness::TOKEN, "later"] {
        let reply = harness.send(harness.get(DOCUMENT).token(token)).await;
        assert_eq!((reply.status, reply.code()), (401, "INSTALLATION_REVOKED"), "{token}");
    }
}

/// GW-04, ERR-11: token and registry must both grant the scope. After a scope is removed from the registry,
/// it is rejected within five seconds.
#[tokio::test]
async fn scope_is_required_in_token_and_registry() {
    let harness = GatewayHarness::new().await;
    harness.token("narrow", |claims| claims.scopes = ["exchange.connect".to_owned()].into());
    let ask = async |token, target: &str| {
        let reply = harness.send(harness.get(target).token(token)).await;
        (reply.status, reply.code().to_owned())
    };
    assert_eq!(ask("narrow", DOCUMENT).await.0, 200);
    assert_eq!(ask("narrow", "/exchange/v1/me/stock").await, (403, "SCOPE_MISSING".to_owned()));
    // RES-02, A23: any scope of the exchange is sufficient.
    assert_eq!(ask("narrow", "/exchange/v1/catalog/locations").await.0, 200);
    harness.token("none", |claims| claims.scopes = ["offline_access".to_owned()].into());
    assert_eq!(ask("none", "/exchange/v1/catalog/locations").await, (403, "SCOPE_MISSING".to_owned()));
    let full_token = super::harness::TOKEN;
    assert_eq!(ask(full_token, "/exchange/v1/me/stock").await.0, 200);
    harness.sql("DELETE FROM client_scope WHERE scope = 'exchange.stock.read'").await;
    harness.advance(5);
    assert_eq!(ask(full_token, "/exchange/v1/me/stock").await, (403, "SCOPE_MISSING".to_owned()));
}

/// ERR-14, ERR-15, ERR-39, ERR-40: each rejection by the registry has its headers.
#[tokio::test]
async fn registry_rejections_have_their_headers() {
    for (sql, code, wait) in [
        ("UPDATE setting SET value = 'off'", "EXCHANGE_DISABLED", Some("30")),
        ("UPDATE client SET state = 'suspended'", "CLIENT_SUSPENDED", None),
        ("DELETE FROM client_scope; DELETE FROM client", "CLIENT_NOT_ALLOWED", None),
    ] {
        let harness = GatewayHarness::new().await;
        harness.sql(sql).await;
        let reply = harness.send(harness.get(DOCUMENT)).await;
        assert_eq!((reply.code(), reply.header("retry-after")), (code, wait));
        assert!(reply.has("dpop-nonce") && !reply.has("ratelimit"));
    }
    let harness = GatewayHarness::new().await;
    harness.registry.off();
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("REGISTRY_UNAVAILABLE", Some("30")));
}
