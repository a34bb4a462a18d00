//! Sends requests to the service's router in this process. This measures the service itself, without
//! networking and HTTP parsing.
//!
//! Logging is not enabled, so no lines are written.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use dpop_bound::Nonce;
use exchange_service::peer::PeerAddr;
use tower::ServiceExt as _;

use crate::data_folder::DataFolder;
use crate::signed_requests::{DOCUMENT, Request, Signer, Target};
use crate::{Outcome, machine};

/// The number of requests for warming up, and of measured requests.
const WARM_UP_REQUESTS: usize = 3000;
const COUNTED: usize = 20_000;
/// The maximum size of a response in bytes.
const LARGEST: usize = 8 << 20;

/// Returns the CPU time per request over all threads; `None` if the system does not report it.
pub(crate) async fn one_request(data_folder: &DataFolder, target: &Target) -> Outcome<Option<Duration>> {
    let router = data_folder.app().await?.router();
    let mut signer = Signer::without_nonce(data_folder)?;
    let challenged = ask(&router, signer.sign(0, &DOCUMENT, None)?.to_http()?).await?;
    let nonce = challenged.nonce.ok_or("the service gave no nonce")?;
    signer.nonce = Nonce::new(&nonce)?;
    all(&router, signer.sign_many(target, WARM_UP_REQUESTS)?).await?;
    let requests = signer.sign_many(target, COUNTED)?;
    let requests = requests.iter().map(Request::to_http).collect::<Outcome<Vec<_>>>()?;
    let before = machine::processor_time(std::process::id());
    for request in requests {
        expect(&ask(&router, request).await?)?;
    }
    let after = machine::processor_time(std::process::id());
    let took = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(took.map(|took| took / u32::try_from(COUNTED).unwrap_or(u32::MAX)))
}

async fn all(router: &Router, requests: Vec<Request>) -> Outcome<()> {
    for request in requests {
        expect(&ask(router, request.to_http()?).await?)?;
    }
    Ok(())
}

struct RouterResponse {
    status: u16,
    nonce: Option<String>,
}

fn expect(response: &RouterResponse) -> Outcome<()> {
    if response.status == 200 { Ok(()) } else { Err(format!("the answer was {}", response.status).into()) }
}

async fn ask(router: &Router, mut request: http::Request<Body>) -> Outcome<RouterResponse> {
    request.extensions_mut().insert(PeerAddr(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let (head, body) = router.clone().oneshot(request).await?.into_parts();
    to_bytes(body, LARGEST).await?;
    let nonce = head.headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
    Ok(RouterResponse { status: head.status.as_u16(), nonce: nonce.map(str::to_owned) })
}
