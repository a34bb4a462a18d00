//! Tests that secrets appear only in the store: not in logs, errors, `Debug` output or other files.

use std::fmt::{Debug, Write as _};

use serde_json::json;

use super::*;
use crate::{captured_log::CapturedLog, oauth::fake_provider::FakeReply};

/// IDP-18, IDP-12: in a complete session, the word that all tokens, codes and invalid responses contain is
/// never printed or written to the state folder.
#[tokio::test(start_paused = true)]
async fn no_secret_is_printed_or_stored_in_plain_text() {
    let Some(log) = CapturedLog::capture(module_path!(), "no_secret_is_printed_or_stored_in_plain_text")
    else {
        return;
    };
    let machine = Machine::new();
    let session = machine.process().await;
    let mut shown = String::new();
    let mut show = |what: &dyn Debug| write!(shown, "{what:?} {what:#?}").unwrap();

    let bad = [
        json!({ "access_token": 5, "refresh_token": "hush", "token_type": "DPoP" }),
        json!({ "access_token": "hush hush", "refresh_token": "hush", "token_type": "DPoP" }),
        json!({ "access_token": "hush", "refresh_token": ["hush"], "token_type": "DPoP" }),
        json!({ "access_token": "hush", "refresh_token": "hush", "token_type": "hush" }),
        json!({ "error": "hush hush", "error_description": "hush" }),
    ];
    for response in bad {
        let login = session.sign_in(&[]).await.unwrap();
        show(&login);
        machine.fake.enqueue_reply("oauth.token", FakeReply::Json(200, response));
        machine.fake.enqueue_error("access_denied");
        let error = login.finish().await.unwrap_err();
        show(&(error.to_string(), &error));
        machine.fake.clear_replies();
    }
    for page in [json!({ "device_code": "hush", "user_code": "hush\u{1b}", "verification_uri": "hush:" })] {
        machine.fake.enqueue_reply("oauth.device", FakeReply::Json(200, page));
        show(&session.sign_in(&[]).await.err());
    }
    machine.sign_in(&session).await;
    show(&(&session, &machine.store.inner, session.watch()));
    for reply in [
        FakeReply::Page(200, "hush"),
        FakeReply::Page(502, "hush"),
        FakeReply::Json(400, json!({ "error": "invalid_grant", "error_description": "hush" })),
    ] {
        machine.pass(700).await;
        machine.fake.enqueue_reply("oauth.token", reply);
        show(&session.current_grant().await.err());
    }
    machine.sign_in(&session).await;
    for file in std::fs::read_dir(machine.folder.path().join("state")).unwrap() {
        show(&String::from_utf8(std::fs::read(file.unwrap().path()).unwrap()).unwrap());
    }
    machine.store.be_full(true);
    machine.pass(301).await;
    show(&session.current_grant().await.err());
    show(&session.disconnect().await);

    let log = log.contents();
    assert!(log.contains("oauth.token") && log.contains("Active"), "requests and states are logged");
    for (what, text) in [("shown", &shown), ("logged", &log)] {
        let at = text.find(PLANTED).map(|at| &text[at.saturating_sub(200)..(at + 50).min(text.len())]);
        assert_eq!(at, None, "{what}");
    }
}
