//! Tests of calls that are stored as bytes and sent later.

use super::*;
use crate::{client::Call, webhook_calls::JobDoneCall};

/// A stored call is sent to the same server as the original call.
#[test]
fn stored_calls_use_the_server_of_their_operation() {
    let (client, sent) = echo_client();
    let call = calls::BytesCall { body: Bytes::from("abc") };
    let stored = call.build_request(client.api_client()).into_stored().unwrap();
    let results = [
        run(client.api_client().call(&call)).is_ok(),
        run(client.api_client().send_stored::<calls::BytesCall>(&stored)).is_ok(),
        run(client.with_base_url_only().api_client().send_stored::<calls::BytesCall>(&stored)).is_ok(),
    ];
    // The router has no route with the path prefix of that server.
    assert_eq!(results, [false, false, true]);
    let sent: Vec<String> = sent.lock().unwrap().iter().map(|request| request.uri().to_string()).collect();
    let own = "https://eu.files.example/up/bytes";
    assert_eq!(sent, [own, own, "https://exchange.example/bytes"]);
}

#[test]
fn webhooks_are_sent_directly_and_from_storage() {
    let path = |operation: &'static Operation| format!("/hooks/{}", operation.id.to_lowercase());
    let router = webhook_server::router(Arc::new(Receiver), path, RouterOptions::default());
    let sender = webhook_client::Sender::new(InProcess(router, SentRequests::default()));
    let call = JobDoneCall { x_attempt: 3, body: read(r#"{"id":"a"}"#) };
    let address = "https://receiver.example/hooks/jobdone";
    let core = sender.api_client();
    assert_eq!(run(core.call_at(address, &call)).unwrap().seconds, 3);
    let stored = call.build_request(core).with_address(address).into_stored().unwrap();
    assert_eq!(run(core.send_stored::<JobDoneCall>(&stored)).unwrap().seconds, 3);
}
