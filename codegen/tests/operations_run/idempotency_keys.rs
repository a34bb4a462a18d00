//! Tests of the case `idempotency_keys`, in which the contract declares the keys as optional or describes
//! them only in prose.

#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "../cases/idempotency_keys/expected/types.rs"]
pub mod types;

use std::sync::atomic::{AtomicU64, Ordering};

use contract_runtime::{
    client::{ApiClient, Call as _},
    layers::{Retry, RetryOptions},
    transport::{Delivery, SleepFuture, Timer, TransportError, TransportFault},
};

use super::*;

/// A transport that loses the connection twice before it passes a request on, and that records the keys.
#[derive(Clone)]
struct FailingTransport(InProcess, SentKeys);

type SentKeys = Arc<Mutex<Vec<Option<String>>>>;

impl Transport for FailingTransport {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        let key = request.headers().get("Idempotency-Key").map(|key| key.to_str().unwrap().to_owned());
        let mut keys = self.1.lock().unwrap();
        keys.push(key);
        if keys.len().is_multiple_of(3) {
            return self.0.send(operation, request);
        }
        let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
        Box::pin(std::future::ready(Err(lost)))
    }
}

struct NoDelay;

impl Timer for NoDelay {
    fn sleep(&self, _: std::time::Duration) -> SleepFuture {
        Box::pin(std::future::ready(()))
    }
}

/// A service that records the received keys.
#[derive(Default)]
struct Payments(Mutex<Vec<Option<String>>>);

impl server::Service for Payments {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejection_response(&rejection)
    }

    async fn charge(
        &self,
        call: calls::ChargeCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        self.0.lock().unwrap().push(call.options.idempotency_key);
        Ok(())
    }

    async fn refund(
        &self,
        call: calls::RefundCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        self.0.lock().unwrap().push(call.options.idempotency_key);
        Ok(())
    }
}

/// Returns an API client that numbers its keys, the list of sent keys, and the service, which records the
/// keys that it receives.
fn payments() -> (ApiClient, SentKeys, Arc<Payments>) {
    let service = Arc::new(Payments::default());
    let router = server::router(Arc::clone(&service), RouterOptions::default());
    let keys = SentKeys::default();
    let transport = FailingTransport(InProcess(router, SentRequests::default()), Arc::clone(&keys));
    let retry = Retry::new(transport, RetryOptions::default(), NoDelay);
    let count = AtomicU64::new(0);
    let client = ApiClient::new("https://pay.example", retry)
        .with_random(move || count.fetch_add(1, Ordering::Relaxed));
    (client, keys, service)
}

fn charge() -> calls::ChargeCall {
    calls::ChargeCall { body: read(r#"{"amount":1}"#), options: calls::ChargeOptions::new() }
}

const FIRST: &str = "00000000-0000-4000-8000-000000000001";
const SECOND: &str = "00000000-0000-4002-8000-000000000003";

#[test]
fn calls_without_a_key_are_repeated_under_one_random_key() {
    let (client, keys, service) = payments();
    run(client.call(&charge())).unwrap();
    assert_eq!(*keys.lock().unwrap(), vec![Some(FIRST.to_owned()); 3]);
    let refund = calls::RefundCall { options: calls::RefundOptions::new() };
    run(client.call(&refund)).unwrap();
    assert_eq!(keys.lock().unwrap()[3..], vec![Some(SECOND.to_owned()); 3]);
    let received = service.0.lock().unwrap().clone();
    assert_eq!(received, [Some(FIRST.to_owned()), Some(SECOND.to_owned())]);
}

#[test]
fn keys_of_the_caller_are_kept() {
    let (client, keys, _) = payments();
    let mut call = charge();
    call.options = call.options.idempotency_key("own");
    run(client.call(&call)).unwrap();
    assert_eq!(*keys.lock().unwrap(), vec![Some("own".to_owned()); 3]);
    // A stored request contains its key.
    let stored = charge().build_request(&client).into_stored().unwrap();
    run(client.send_stored::<calls::ChargeCall>(&stored)).unwrap();
    run(client.send_stored::<calls::ChargeCall>(&stored)).unwrap();
    assert_eq!(keys.lock().unwrap()[3..], vec![Some(FIRST.to_owned()); 6]);
}

#[test]
fn only_operations_that_need_a_key_have_one() {
    let added = operations::OPERATIONS.iter().map(|operation| {
        let added = operation.parameters.iter().any(|row| row.idempotency_key);
        format!("{} {:?} {} {added}", operation.id, operation.repeat, operation.idempotent)
    });
    assert_eq!(
        added.collect::<Vec<_>>(),
        [
            "listCharges Safe false false",
            "charge Keyed false true",
            "refund Keyed false true",
            "replaceRefund Idempotent false false",
            "payOut Keyed true false",
        ]
    );
}
