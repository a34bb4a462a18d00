//! Tests of the built-in identity provider's verifier of access tokens.

use std::time::Duration;

use exchange_service::idp;
use exchange_service::idp::tokens::{TokenClaims, TokenError, TokenVerifier as _};
use exchange_service::store::StoreError;
use serde_json::{Value, json};

use super::forge::{Key, encode, hs256, jws};
use super::harness::{Device, ISSUER, ProviderHarness, SCOPES};

/// Returns the id of the signing key and the key.
async fn signing_key(harness: &ProviderHarness) -> (String, Key) {
    let work = |database: &rusqlite::Connection| {
        let sql = "SELECT kid, pkcs8 FROM signing_key WHERE retired_at IS NULL";
        Ok::<(String, Vec<u8>), StoreError>(
            database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?,
        )
    };
    let (kid, pkcs8) = harness.store.read(work).await.unwrap();
    (kid, Key::from_pkcs8(&pkcs8))
}

fn claims(harness: &ProviderHarness) -> Value {
    let now = harness.now().as_secs();
    json!({
        "iss": ISSUER, "sub": "m-ada", "aud": "exchange-gateway", "client_id": "tool",
        "scope": "exchange.connect", "iat": now, "exp": now + 300, "auth_time": now - 10, "jti": "x",
        "cnf": { "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" },
    })
}

fn with_members(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (name, change) in changes {
        match change {
            Value::Null => drop(value.as_object_mut().unwrap().remove(*name)),
            change => value[*name] = change.clone(),
        }
    }
    value
}

/// Verifies a token whose header and claims are valid except for these changes.
async fn verify_with_changes(
    harness: &ProviderHarness,
    header: &[(&str, Value)],
    changes: &[(&str, Value)],
) -> Result<TokenClaims, TokenError> {
    let (kid, key) = signing_key(harness).await;
    let header = with_members(json!({ "typ": "at+jwt", "alg": "ES256", "kid": kid }), header);
    let token = jws(&header, &with_members(claims(harness), changes), |message| key.sign("ES256", message));
    harness.provider.verify_token(&token, harness.now()).await
}

/// RFC 9068: a valid token has these claims.
#[tokio::test]
async fn valid_token_has_its_claims() {
    let harness = ProviderHarness::new().await;
    let found = verify_with_changes(&harness, &[], &[]).await.unwrap();
    assert_eq!((found.client.as_str(), found.member.as_str()), ("tool", "m-ada"));
    assert_eq!(found.auth_time.as_secs(), harness.now().as_secs() - 10);
    assert!(found.is_for("exchange-gateway"));
    let several_audiences = [("aud", json!(["other", "exchange-gateway"]))];
    assert!(verify_with_changes(&harness, &[], &several_audiences).await.unwrap().is_for("exchange-gateway"));
    let typed = [("typ", json!("application/AT+JWT"))];
    assert!(verify_with_changes(&harness, &typed, &[]).await.is_ok());
    // A token without `auth_time` may belong to any sign-in (ERR-12).
    let found = verify_with_changes(&harness, &[], &[("auth_time", Value::Null)]).await.unwrap();
    assert_eq!(found.auth_time, exchange_service::time::Moment::default());
}

/// A token of another issuer is rejected; a token for another audience is returned with its audience.
#[tokio::test]
async fn foreign_issuer_is_rejected_and_audience_returned() {
    let harness = ProviderHarness::new().await;
    for issuer in ["https://other.example", "http://127.0.0.1:8080/idp/", "http://127.0.0.1:8080", ""] {
        assert_eq!(
            verify_with_changes(&harness, &[], &[("iss", json!(issuer))]).await,
            Err(TokenError::Issuer),
            "{issuer}"
        );
    }
    // A later stage checks the audience (GW-01), so the verifier only returns it.
    for audience in [json!("other"), json!(["other", "tool"]), json!([]), Value::Null] {
        let found = verify_with_changes(&harness, &[], &[("aud", audience)]).await.unwrap();
        assert!(!found.is_for("exchange-gateway"));
    }
}

/// A token that is expired or not yet valid is rejected.
#[tokio::test]
async fn token_outside_of_its_lifetime_is_rejected() {
    let harness = ProviderHarness::new().await;
    let now = harness.now().as_secs();
    let error_at = async |name: &str, offset: i64| {
        verify_with_changes(&harness, &[], &[(name, json!(now + offset))]).await.err()
    };
    assert_eq!(error_at("exp", 1).await, None);
    assert_eq!(error_at("exp", 0).await, Some(TokenError::Expired));
    assert_eq!(error_at("exp", -1).await, Some(TokenError::Expired));
    assert_eq!(error_at("nbf", 0).await, None);
    assert_eq!(error_at("nbf", 5).await, None);
    assert_eq!(error_at("nbf", 6).await, Some(TokenError::NotYetValid));
    assert_eq!(error_at("iat", 6).await, Some(TokenError::NotYetValid));
    for missing in ["exp", "iat"] {
        let refused = verify_with_changes(&harness, &[], &[(missing, Value::Null)]).await;
        assert_eq!(refused, Err(TokenError::Malformed), "{missing}");
        let refused = verify_with_changes(&harness, &[], &[(missing, json!("1790000000"))]).await;
        assert_eq!(refused, Err(TokenError::Malformed), "{missing}");
        let refused = verify_with_changes(&harness, &[], &[(missing, json!(-1))]).await;
        assert_eq!(refused, Err(TokenError::Malformed), "{missing}");
    }
}

/// LIM-07: the tokens of the provider are valid for 300 s.
#[tokio::test]
async fn token_expires_after_300_seconds() {
    let harness = ProviderHarness::new().await;
    let tokens = harness.connect(&Device::new(), SCOPES).await;
    harness.clock.advance(Duration::from_millis(299_749));
    assert!(harness.provider.verify_token(&tokens.access, harness.now()).await.is_ok());
    harness.clock.advance(Duration::from_millis(1));
    assert_eq!(harness.provider.verify_token(&tokens.access, harness.now()).await, Err(TokenError::Expired));
}

/// A token with a swapped algorithm is rejected, with and without a signature.
#[tokio::test]
async fn swapped_algorithms_are_rejected() {
    let harness = ProviderHarness::new().await;
    let (kid, key) = signing_key(&harness).await;
    let header = |algorithm: &str| json!({ "typ": "at+jwt", "alg": algorithm, "kid": kid });
    let verify = async |token: String| harness.provider.verify_token(&token, harness.now()).await;
    let secret = key.public_bytes();
    let swapped = jws(&header("HS256"), &claims(&harness), |message| hs256(&secret, message));
    assert_eq!(verify(swapped).await, Err(TokenError::Algorithm));
    for algorithm in ["ES384", "RS256", "PS256", "EdDSA"] {
        let token = jws(&header(algorithm), &claims(&harness), |message| key.sign("ES256", message));
        assert_eq!(verify(token).await, Err(TokenError::Algorithm), "{algorithm}");
    }
    for none in ["none", "None", "es256", ""] {
        let token = jws(&header(none), &claims(&harness), |_| Vec::new());
        assert_eq!(verify(token).await, Err(TokenError::Malformed), "{none}");
    }
    let unsigned = jws(&header("ES256"), &claims(&harness), |_| Vec::new());
    assert_eq!(verify(unsigned).await, Err(TokenError::Signature));
    let altered = jws(&header("ES256"), &claims(&harness), |message| {
        let mut signature = key.sign("ES256", message);
        signature[63] ^= 1;
        signature
    });
    assert_eq!(verify(altered).await, Err(TokenError::Signature));
    let other_signature =
        jws(&header("ES256"), &claims(&harness), |message| Key::p256().sign("ES256", message));
    assert_eq!(verify(other_signature).await, Err(TokenError::Signature));
    // Critical extensions are not supported (RFC 7515, 4.1.11).
    assert_eq!(
        verify_with_changes(&harness, &[("crit", json!(["b64"]))], &[]).await,
        Err(TokenError::Malformed)
    );
}

/// A token with an unknown key is rejected, even if its header contains the key.
#[tokio::test]
async fn unknown_keys_are_rejected() {
    let harness = ProviderHarness::new().await;
    assert_eq!(verify_with_changes(&harness, &[("kid", json!("x"))], &[]).await, Err(TokenError::Key));
    assert_eq!(verify_with_changes(&harness, &[("kid", Value::Null)], &[]).await, Err(TokenError::Key));
    let own = Key::p256();
    let header = json!({ "typ": "at+jwt", "alg": "ES256", "jwk": own.jwk(&[]) });
    let token = jws(&header, &claims(&harness), |message| own.sign("ES256", message));
    assert_eq!(harness.provider.verify_token(&token, harness.now()).await, Err(TokenError::Key));
}

async fn rotate(harness: &ProviderHarness) {
    let now = harness.now();
    harness.store.write(move |database| idp::rotate_signing_key(database, now)).await.unwrap();
}

/// A retired key is valid until its tokens have expired, and not for longer.
#[tokio::test]
async fn retired_key_is_valid_until_its_tokens_expire() {
    let harness = ProviderHarness::new().await;
    let published = async || {
        let keys = harness.get("/idp/jwks").await.expect(200).json()["keys"].clone();
        keys.as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (old, key) = signing_key(&harness).await;
    assert_eq!(published().await, std::slice::from_ref(&old));
    let tokens = harness.connect(&Device::new(), SCOPES).await;
    harness.advance(10);
    rotate(&harness).await;
    let (new, _) = signing_key(&harness).await;
    assert_ne!(new, old);
    // Another process has rotated the keys. This one uses the new key within five seconds, or as soon as a
    // token names it.
    let early = verify_with_changes(&harness, &[], &[]).await;
    assert!(early.is_ok(), "{early:?}");
    harness.advance(5);
    assert_eq!(published().await.len(), 2);
    assert!(harness.provider.verify_token(&tokens.access, harness.now()).await.is_ok());
    let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": old });
    let now = harness.now().as_secs();
    let long = with_members(claims(&harness), &[("exp", json!(now + 100_000))]);
    let long = jws(&header, &long, |message| key.sign("ES256", message));
    assert!(harness.provider.verify_token(&long, harness.now()).await.is_ok());
    harness.advance(299);
    assert!(harness.provider.verify_token(&long, harness.now()).await.is_ok());
    harness.advance(1);
    assert_eq!(harness.provider.verify_token(&long, harness.now()).await, Err(TokenError::Key));
    assert_eq!(published().await, [new]);
}

/// IDP-01: the published keys contain no private members and verify the tokens.
#[tokio::test]
async fn published_keys_verify_tokens() {
    let harness = ProviderHarness::new().await;
    let tokens = harness.connect(&Device::new(), SCOPES).await;
    let keys = harness.get("/idp/jwks").await.expect(200).json();
    let jwk = &keys["keys"][0];
    assert_eq!((&jwk["alg"], &jwk["use"], &jwk["kty"]), (&json!("ES256"), &json!("sig"), &json!("EC")));
    assert_eq!(jwk.get("d"), None);
    let header = jsonwebtoken::decode_header(&tokens.access).unwrap();
    assert_eq!((header.typ.as_deref(), header.kid.as_deref()), (Some("at+jwt"), jwk["kid"].as_str()));
    let key = serde_json::from_value(jwk.clone()).unwrap();
    let key = jsonwebtoken::DecodingKey::from_jwk(&key).unwrap();
    let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    validation.set_audience(&["exchange-gateway"]);
    (validation.validate_exp, validation.leeway) = (false, 0);
    let claims = jsonwebtoken::decode::<Value>(&tokens.access, &key, &validation).unwrap().claims;
    for name in ["iss", "sub", "aud", "client_id", "scope", "exp", "iat", "jti", "auth_time", "cnf"] {
        assert!(claims.get(name).is_some(), "{name}");
    }
    // IDP-06: no claim identifies the member.
    assert_eq!(claims.as_object().unwrap().len(), 10);
}

/// A token without a valid binding to a key is rejected. The check of the proof compares the key.
#[tokio::test]
async fn unbound_tokens_are_rejected() {
    let harness = ProviderHarness::new().await;
    for unbound in [Value::Null, json!({}), json!({ "x5t#S256": "x" })] {
        assert_eq!(verify_with_changes(&harness, &[], &[("cnf", unbound)]).await.unwrap().jkt, None);
    }
    for broken in [json!({ "jkt": "x" }), json!({ "jkt": 1 }), json!("x")] {
        assert_eq!(verify_with_changes(&harness, &[], &[("cnf", broken)]).await, Err(TokenError::Malformed));
    }
}

/// An id token or a refresh token is rejected in place of an access token.
#[tokio::test]
async fn other_token_types_are_rejected() {
    let harness = ProviderHarness::new().await;
    let tokens = harness.connect(&Device::new(), SCOPES).await;
    let verify = async |token: &str| harness.provider.verify_token(token, harness.now()).await;
    assert_eq!(verify(&tokens.refresh).await, Err(TokenError::Malformed));
    for typ in [json!("JWT"), json!("dpop+jwt"), json!("id_token"), json!("logout+jwt"), Value::Null] {
        assert_eq!(verify_with_changes(&harness, &[("typ", typ)], &[]).await, Err(TokenError::WrongType));
    }
    // An id token has neither client nor scope.
    let id = [("client_id", Value::Null)];
    assert_eq!(verify_with_changes(&harness, &[], &id).await, Err(TokenError::Malformed));
    for broken in [("sub", json!("")), ("sub", Value::Null), ("client_id", json!("")), ("scope", json!(1))] {
        assert_eq!(verify_with_changes(&harness, &[], &[broken]).await, Err(TokenError::Malformed));
    }
    let long = "x".repeat(9 << 10);
    for text in ["", ".", "..", "a.b.c", long.as_str(), &format!("{}.{}.", encode("{}"), encode("{}"))] {
        assert_eq!(verify(text).await, Err(TokenError::Malformed), "{} bytes", text.len());
    }
}

/// Headers and claims with a repeated member are rejected.
#[tokio::test]
async fn repeated_properties_are_rejected() {
    let harness = ProviderHarness::new().await;
    let (kid, key) = signing_key(&harness).await;
    let sign = |header: &str, claims: &str| {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = encode(key.sign("ES256", message.as_bytes()));
        format!("{message}.{signature}")
    };
    let valid_header = format!(r#"{{"typ":"at+jwt","alg":"ES256","kid":"{kid}"}}"#);
    let claims = claims(&harness).to_string();
    let twice = claims.replacen('{', r#"{"sub":"m-bob","#, 1);
    for (header, claims, expect) in [
        (valid_header.clone(), claims.clone(), None),
        (valid_header.clone(), twice, Some(TokenError::Malformed)),
        (valid_header.replacen('{', r#"{"alg":"none","#, 1), claims, Some(TokenError::Malformed)),
    ] {
        assert_eq!(harness.provider.verify_token(&sign(&header, &claims), harness.now()).await.err(), expect);
    }
}

/// Every error has its own keyword for counters.
#[test]
fn every_error_has_its_own_keyword() {
    use TokenError::{
        Algorithm, Expired, Issuer, Key, Malformed, NotYetValid, Signature, Unavailable, WrongType,
    };
    let errors = [Malformed, WrongType, Algorithm, Key, Signature, Issuer, Expired, NotYetValid, Unavailable];
    let keywords: std::collections::BTreeSet<_> = errors.iter().map(|error| error.reason()).collect();
    assert_eq!(keywords.len(), errors.len());
}
