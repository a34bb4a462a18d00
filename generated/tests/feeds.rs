//! Tests that one function reads every feed through the traits `FeedPage` and `FeedRead`: blueprints, stock,
//! ships and the stock of org units.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use contract_runtime::{client::ApiClient, operation::Operation, transport::ResponseFuture};
use exchange_api::{
    Contract as _, Error, Transport,
    call_views::FeedRead,
    calls::{
        BlueprintsReadCall, BlueprintsReadOptions, OrgStockReadCall, OrgStockReadOptions, ShipsReadCall,
        ShipsReadOptions, StockReadCall, StockReadOptions,
    },
    types::{Cursor, Problem, Tombstone},
    views::FeedPage,
};
use http::{Request, Response};
use serde_json::Value;

/// All entries of a feed, its tombstones, and the position after the last entry.
struct Read<Item> {
    items: Vec<Item>,
    removed: Vec<Tombstone>,
    position: Cursor,
}

/// Reads any feed to its end.
async fn read_all<C: FeedRead>(
    core: &ApiClient,
    mut call: C,
) -> Result<Read<<C::Success as FeedPage>::Item>, Error<Problem>> {
    let (mut items, mut removed) = (Vec::new(), Vec::new());
    loop {
        let page = core.call(&call).await?.into_body().into_parts();
        items.extend(page.items.into_iter().flatten());
        removed.extend(page.removed.into_iter().flatten());
        if !page.has_more {
            return Ok(Read { items, removed, position: page.next_cursor });
        }
        call = call.with_cursor(Some(page.next_cursor.as_str().to_owned()));
    }
}

/// A transport that returns the same page three times, as a feed of three pages.
#[derive(Clone)]
struct ThreePages {
    page: Value,
    queries: Arc<Mutex<Vec<String>>>,
}

impl Transport for ThreePages {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let mut queries = self.queries.lock().unwrap();
        queries.push(query);
        let mut page = self.page.clone();
        page["nextCursor"] = format!("c-{}", queries.len()).into();
        page["hasMore"] = (queries.len() < 3).into();
        let response = Response::builder().header("Content-Type", "application/json");
        let response = response.body(Bytes::from(page.to_string())).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

/// Reads a feed of three pages, and checks the entries and the requests.
async fn check<C: FeedRead>(fixture: &str, call: C) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/fixtures").join(fixture);
    let text = fs::read(path.join("valid/full.json")).unwrap();
    let page = C::Success::parse(&text).unwrap();
    let (items, removed) = (page.items().unwrap_or_default(), page.removed().unwrap_or_default());
    assert!(!items.is_empty() && items.iter().all(|item| item.is_valid()), "{fixture}");
    let transport = ThreePages { page: serde_json::from_slice(&text).unwrap(), queries: Arc::default() };
    let core = ApiClient::new("https://exchange.example", transport.clone());
    assert_eq!((call.cursor(), call.limit()), (None, Some(7)), "{fixture}");
    let read = read_all(&core, call).await.unwrap();
    assert_eq!(read.items.len(), 3 * items.len(), "{fixture}");
    assert_eq!(read.removed.len(), 3 * removed.len(), "{fixture}");
    assert_eq!(read.position.as_str(), "c-3", "{fixture}");
    let queries = transport.queries.lock().unwrap();
    assert_eq!(*queries, ["limit=7", "cursor=c-1&limit=7", "cursor=c-2&limit=7"], "{fixture}");
}

/// FED-01: one function reads every feed with the cursor of the previous page.
#[tokio::test]
async fn one_function_reads_every_feed() {
    check("page--blueprintPage", BlueprintsReadCall { options: BlueprintsReadOptions::new().limit(7) }).await;
    check("page--stockPage", StockReadCall { options: StockReadOptions::new().limit(7) }).await;
    check("page--shipPage", ShipsReadCall { options: ShipsReadOptions::new().limit(7) }).await;
    check("page--orgStockPage", OrgStockReadCall { options: OrgStockReadOptions::new().limit(7) }).await;
}
