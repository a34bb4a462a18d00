//! Tests that the client's logs and messages contain no secrets.

use std::fmt::{Debug, Display, Write as _};

use exchange_api::{calls::StockReadOptions, codes::Code, types::BlueprintDraft};

use super::*;
use crate::{address::ExchangeAddress, captured_log::CapturedLog, exchange::Exchange};

const HANDLE: &str = "Nova_Drifter-7";
const CONFIRMATION: &str = "https://web.test/confirm/c0nf1rm-s3cr3t";
const FRONTEND: &str = "https://web.test/handoff/fr0nt3nd-s3cr3t";
const HANDOFF: &str = "h4nd0ff-s3cr3t";
const CURSOR: &str = "cur50r-s3cr3t";
const BODY: &str = "b0dy-s3cr3t";
const NONCE: &str = "n0nc3-s3cr3t";
const PLANTED: [&str; 10] = [
    "token-0",
    "token-1",
    HANDLE,
    "c0nf1rm-s3cr3t",
    "fr0nt3nd-s3cr3t",
    HANDOFF,
    CURSOR,
    BODY,
    NONCE,
    // Every proof begins with this string.
    "eyJ0eXAiOiJkcG9wK2p3dCI",
];

/// CLI-05: in a session with every kind of failure, no token, proof, nonce, cursor, body, handle or private
/// URL appears in a log, in `Debug` or `Display` output, or in the source of an error.
#[tokio::test(start_paused = true)]
async fn no_secret_is_logged_or_displayed() {
    let Some(log) = CapturedLog::capture(module_path!(), "no_secret_is_logged_or_displayed") else { return };

    let fixture = TransportFixture::new();
    let mut shown = String::new();
    fixture.gateway.require_nonce(NONCE);
    fixture.gateway.refuse_token("token-0");
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    show(&mut shown, &fixture.write("key-12345678", LONG).await);
    for reply in [
        ScriptedReply::json(
            409,
            format_args!(
                r#"{{"status": 409, "code": "MASS_CHANGE_CONFIRMATION_REQUIRED", "title": "t", "detail": "d",
                "correlationId": "c-1", "confirmationUrl": "{CONFIRMATION}"}}"#
            ),
        )
        .with_header("Content-Language", "en"),
        ScriptedReply::json(400, format_args!(r#"{{"code": "{BODY}", "error": "{BODY}"}}"#)),
        ScriptedReply::new(502, "text/html", BODY),
        ScriptedReply::new(200, "text/html", BODY),
        ScriptedReply::redirect(&format!("https://far.test/{BODY}")),
        ScriptedReply::refused(),
        ScriptedReply::lost(),
        ScriptedReply::stalled(),
        ScriptedReply::challenge(&format!(r#"DPoP error="{BODY}""#), None),
        ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None).without_server_headers(),
        ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("9999"),
    ] {
        fixture.gateway.enqueue_reply(reply);
        let key = format!("key-{:08}", fixture.gateway.request_count());
        match fixture
            .write(&key, RetryPolicy::new(1, seconds(9), crate::rate_limiter::CallInitiator::Member))
            .await
        {
            Ok(effort) => show(&mut shown, &effort),
            Err(error) => show_error(&mut shown, &error),
        }
    }
    tokio::time::sleep(seconds(9999)).await;
    show(&mut shown, &fixture.check(LONG).await);
    fixture.gateway.enqueue_reply(ScriptedReply::new(
        200,
        "application/json",
        format!("{{\"items\": \"{BODY}\"}}"),
    ));
    show(&mut shown, &fixture.read(LONG).await);
    show(&mut shown, &fixture.api.stock_read(StockReadOptions::new().cursor(CURSOR)).await.err());
    let draft = BlueprintDraft::parse(include_bytes!(
        "../../../../../schemas/fixtures/blueprint-draft/valid/minimal.json"
    ));
    fixture.gateway.enqueue_reply(ScriptedReply::json(
        200,
        format_args!(r#"{{"handoffId": "{HANDOFF}", "kind": "BLUEPRINT", "frontendUrl": "{FRONTEND}"}}"#),
    ));
    let response = fixture.api.drafts_blueprints("key-of-draft", &draft.unwrap()).await.unwrap();
    // The response contains the link, but its `Debug` output does not.
    assert_eq!(response.frontend_url.expose(), FRONTEND);
    show(&mut shown, &response);
    show(&mut shown, response.body());
    show(&mut shown, &fixture.carrier);
    show(&mut shown, &fixture.tokens.proofs);
    show(&mut shown, &fixture.api);
    let address = ExchangeAddress::new("https://identity.test", fixture.gateway.origin()).unwrap();
    let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
    let builder = Exchange::builder(address, identity).transport(fixture.gateway.clone());
    show(&mut shown, &builder);
    show(&mut shown, &builder.build_signed_out().unwrap());

    let logged = log.contents();
    assert!(logged.contains("exchange.call") && logged.contains("blueprints_write"), "{logged}");
    for secret in PLANTED {
        for (name, text) in [("log", &logged), ("output", &shown)] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} is in the {name}");
        }
    }
}

fn show(shown: &mut String, thing: &impl Debug) {
    writeln!(shown, "{thing:?} {thing:#?}").unwrap();
}

fn show_error(shown: &mut String, error: &Error) {
    show(shown, error);
    show(shown, &error.problem());
    let mut error: &dyn std::error::Error = error;
    loop {
        writeln!(shown, "{} {error:?}", error as &dyn Display).unwrap();
        match error.source() {
            Some(source) => error = source,
            None => break,
        }
    }
}
