//! Calls that are kept as bytes and sent later.

use super::*;
use crate::{client::Call, webhook_calls::JobDoneCall};

/// A repetition goes where the first sending went, to the operation's own server too.
#[test]
fn a_repeated_call_goes_to_its_own_server() {
    let (client, sent) = echo();
    let call = calls::BytesCall { body: Bytes::from("abc") };
    let stored = call.build_request(client.api_client()).into_stored().unwrap();
    let answers = [
        run(client.api_client().call(&call)).is_ok(),
        run(client.api_client().send_stored::<calls::BytesCall>(&stored)).is_ok(),
        run(client.with_base_url_only().api_client().send_stored::<calls::BytesCall>(&stored)).is_ok(),
    ];
    // That server has the start of its path before the operation's.
    assert_eq!(answers, [false, false, true]);
    let sent: Vec<String> = sent.lock().unwrap().iter().map(|request| request.uri().to_string()).collect();
    let own = "https://eu.files.example/up/bytes";
    assert_eq!(sent, [own, own, "https://exchange.example/bytes"]);
}

#[test]
fn a_webhook_is_kept_as_a_value_and_as_bytes() {
    let path = |operation: &'static Operation| format!("/hooks/{}", operation.id.to_lowercase());
    let router = webhook_server::router(Arc::new(Receiver), path, RouterOptions::default());
    let sender = webhook_client::Sender::new(InProcess(router, Sent::default()));
    let call = JobDoneCall { x_attempt: 3, body: read(r#"{"id":"a"}"#) };
    let address = "https://receiver.example/hooks/jobdone";
    let core = sender.api_client();
    assert_eq!(run(core.call_at(address, &call)).unwrap().seconds, 3);
    let stored = call.build_request(core).with_address(address).into_stored().unwrap();
    assert_eq!(run(core.send_stored::<JobDoneCall>(&stored)).unwrap().seconds, 3);
}
