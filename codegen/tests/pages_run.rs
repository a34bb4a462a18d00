//! Tests of the pagination in the case `pages`, with a server that uses a different style for each list.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[rustfmt::skip]
#[path = "cases/pages/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/pages/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/pages/expected/headers.rs"]
pub mod headers;
#[rustfmt::skip]
#[path = "cases/pages/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/pages/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/pages/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/pages/expected/types.rs"]
pub mod types;

#[path = "harness/http_server.rs"]
mod http_server;

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use calls::{
    ChargesOptions, ListBooksOptions, ListEventsOptions, ListParcelsOptions, ListRowsOptions,
    ListShelvesOptions, ReadLogOptions, SearchParcelsOptions,
};
use client::{Bytes, Call, Client, Error};
use contract_runtime::{
    Map,
    client::{
        ReqwestTransport,
        pages::{ItemPage, PageCursor, PageError, PageFault, PageItems, PageStream, PagedCall, Stream},
    },
    operation::Operation,
    transport::{ResponseFuture, Transport},
};
use http::{Request, Response};

/// A transport that serves seven items for each list and records the queries.
#[derive(Clone, Default)]
struct Depot(Arc<Mutex<Vec<String>>>);

/// Serializes the numbers from 1 to 7 in `numbers` as a JSON array. `each` serializes one number.
fn list(numbers: impl Iterator<Item = u64>, each: impl Fn(u64) -> String) -> String {
    let each: Vec<String> = numbers.filter(|number| (1..=7).contains(number)).map(each).collect();
    format!("[{}]", each.join(","))
}

fn object(member: &str) -> impl Fn(u64) -> String {
    move |number| format!("{{\"{member}\":{number}}}")
}

fn text(number: u64) -> String {
    format!("\"{number}\"")
}

impl Depot {
    fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let query = request.uri().query().unwrap_or_default();
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
        };
        let number = |name: &str| parameter(name).map(|text| text.parse::<u64>().unwrap());
        let mut link = String::new();
        let body = match request.uri().path() {
            "/v1/depots/north/parcels" | "/v1/parcels/search" => {
                // The second page is empty, but it is not the last page.
                let (page, next) = match parameter("cursor") {
                    None => (list(1..=3, object("id")), "\"a%2F3\""),
                    Some("a%252F3") => ("[]".to_owned(), "\"b\""),
                    Some("b") => (list(4..=7, object("id")), "null"),
                    Some("loop") => (list(1..=1, object("id")), "\"loop\""),
                    Some("long") => ("[]".to_owned(), "\"more than eight\""),
                    Some(other) => panic!("{other}"),
                };
                format!("{{\"items\":{page},\"next_cursor\":{next}}}")
            }
            "/v1/charges" => {
                let after = number("starting_after").unwrap_or(0);
                let page = list(after + 1..=after + 3, object("id"));
                format!("{{\"data\":{page},\"has_more\":{}}}", after + 3 < 7)
            }
            "/v1/events" => {
                let page = number("page").unwrap_or(1);
                if page == 9 {
                    return status(304);
                }
                if page < 3 {
                    link = format!("<https://depot.example/v1/events?page={}>; rel=\"next\"", page + 1);
                }
                list(3 * page - 2..=3 * page, |number| format!("{{\"what\":\"{number}\"}}"))
            }
            "/v1/people" => match parameter("token") {
                None => format!(
                    "{{\"found\":{{\"people\":{}}},\"links\":{{\"next\":\"/v2/people?token=x\"}}}}",
                    list(1..=4, text)
                ),
                Some("x") => format!("{{\"found\":{{\"people\":{}}},\"links\":null}}", list(5..=7, text)),
                Some("evil") => "{\"links\":{\"next\":\"https://evil.example/v1/people\"}}".to_owned(),
                Some(_) => "{}".to_owned(),
            },
            "/v1/cranes" | "/v1/barges" => {
                let is_first = parameter("token").is_none();
                let items = if is_first { list(1..=4, text) } else { list(5..=7, text) };
                let next = if is_first { "\"?token=x\"" } else { "null" };
                let (links, meta) =
                    (format!("{{\"next\":{{\"href\":{next}}}}}"), format!("{{\"next\":{next}}}"));
                format!("{{\"items\":{items},\"links\":{links},\"meta\":{{\"links\":{meta}}}}}")
            }
            "/v1/rows" => {
                let before = number("offset").unwrap_or(0);
                format!("{{\"rows\":{},\"total\":7}}", list(before + 1..=before + 3, object("n")))
            }
            "/v1/log" => {
                // Even rows are not listed.
                let (skip, top) = (number("skip").unwrap_or(0), number("top").unwrap_or(2));
                let seen = (skip + 1..=skip + top).filter(|number| number % 2 == 1);
                format!("{{\"rows\":{},\"total\":7}}", list(seen, object("n")))
            }
            "/v1/hooks" => match query {
                "" => {
                    // The link contains the internal address of the server.
                    link = "<http://inner/all/hooks?from=5>; rel=\"self next\"".to_owned();
                    format!("{{\"hooks\":{}}}", list(1..=4, text))
                }
                "from=5" => {
                    link = "</v1/hooks?from=8>; rel=next".to_owned();
                    format!("{{\"hooks\":{}}}", list(5..=7, text))
                }
                _ => "null".to_owned(),
            },
            "/v1/books" => {
                let page = number("page").unwrap_or(0);
                list(2 * page + 1..=2 * page + 2, text)
            }
            "/v1/shelves" => {
                let page = number("page").unwrap_or(1);
                let shelves = list(4 * page - 3..=4 * page, text);
                format!("{{\"meta\":{{\"page_count\":2}},\"shelves\":{shelves}}}")
            }
            path => panic!("{path}"),
        };
        let mut response = Response::new(Bytes::from(body));
        if request.uri().path() == "/v1/events" {
            response.headers_mut().insert("x-total", "7".parse().unwrap());
        }
        if !link.is_empty() {
            response.headers_mut().insert("link", link.parse().unwrap());
        }
        response
    }

    fn take_queries(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn status(status: u16) -> Response<Bytes> {
    Response::builder().status(status).body(Bytes::new()).unwrap()
}

impl Transport for Depot {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        assert_eq!(request.uri().host(), Some("depot.example"), "a page must not redirect to another host");
        self.0.lock().unwrap().push(request.uri().query().unwrap_or_default().to_owned());
        let response = self.respond(&request);
        Box::pin(async move { Ok(response) })
    }
}

fn client() -> (Client, Depot) {
    let depot = Depot::default();
    (Client::new("https://depot.example/v1", depot.clone()), depot)
}

/// Returns all items, and the error that ended the stream.
async fn collect_items<C: PagedCall + 'static>(
    mut items: PageItems<C>,
) -> (Vec<<C::Page as ItemPage>::Item>, Option<PageError<C::ErrorBody>>) {
    let mut found = Vec::new();
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => found.push(item),
            Err(error) => return (found, Some(error)),
        }
    }
    (found, None)
}

/// Asserts that the items are the numbers 1 to 7.
async fn assert_seven_items<C: PagedCall + 'static>(
    items: PageItems<C>,
    number: impl Fn(<C::Page as ItemPage>::Item) -> i64,
) {
    let (found, failed) = collect_items(items).await;
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(found.into_iter().map(number).collect::<Vec<_>>(), (1..=7).collect::<Vec<_>>());
}

#[tokio::test]
async fn cursor_of_the_page_selects_the_next_page() {
    let (client, depot) = client();
    let options = ListParcelsOptions::new().limit(3);
    let mut ids = Vec::new();
    let mut parcels = client.list_parcels_items("north", &["box"], &[1, 2], options);
    while let Some(parcel) = parcels.next().await {
        ids.push(parcel.unwrap().id);
    }
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
    let query = "kinds=box&sizes=1&sizes=2&limit=3";
    assert_eq!(
        depot.take_queries(),
        [query.to_owned(), format!("{query}&cursor=a%252F3"), format!("{query}&cursor=b")]
    );
    let search = types::Search { words: "box".to_owned(), extra: Map::new() };
    assert_seven_items(client.search_parcels_items(&search, SearchParcelsOptions::new()), |parcel| parcel.id)
        .await;
}

/// Pages and items are blocking iterators, which request all pages over one connection.
#[test]
fn pages_are_blocking_iterators() {
    let depot = Depot::default();
    let (origin, connections) = http_server::serve(move |head, _| {
        let path = head.split(' ').nth(1).unwrap();
        let response = depot.respond(&Request::get(path).body(Bytes::new()).unwrap());
        let body = str::from_utf8(response.body()).unwrap();
        let fields = format!("content-type: application/json\r\ncontent-length: {}", body.len());
        format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}").into_bytes()
    });
    let client = Client::new(format!("{origin}/v1"), ReqwestTransport::new().unwrap());
    let options = ListParcelsOptions::new();
    let mut ids = Vec::new();
    for parcel in client.list_parcels_items("north", &["box"], &[1], options).into_blocking_iter() {
        ids.push(parcel.unwrap().id);
    }
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);

    let mut pages = client.list_books_pages(ListBooksOptions::new().page(0)).into_blocking_iter();
    assert_eq!(pages.next().unwrap().unwrap().body().len(), 2);
    assert_eq!(pages.get_ref().cursor().map(PageCursor::as_str), Some("1"));
    assert_eq!(pages.by_ref().count(), 3);
    assert!(pages.get_ref().is_complete());
    drop((client, pages));
    assert_eq!(connections.recv().unwrap(), 7);
}

/// Invalid requests are not sent, even if their cursor comes from the server.
#[tokio::test]
async fn invalid_cursors_are_not_sent() {
    let (client, depot) = client();
    let long = ListParcelsOptions::new().cursor("long");
    let mut pages = client.list_parcels_pages("north", &["box"], &[1], long);
    assert!(pages.next().await.unwrap().is_ok());
    let error = pages.next().await.unwrap().unwrap_err();
    assert!(matches!(error, PageError::Call(Error::InvalidRequest(_))), "{error}");
    assert_eq!(depot.take_queries().len(), 1);
    let wrong = client.list_parcels_items("NORTH", &["box"], &[1], ListParcelsOptions::new());
    assert!(matches!(collect_items(wrong).await.1, Some(PageError::Call(Error::InvalidRequest(_)))));
    assert!(depot.take_queries().is_empty());
}

#[tokio::test]
async fn repeated_cursors_are_an_error() {
    let (client, depot) = client();
    let again = ListParcelsOptions::new().cursor("loop");
    let (found, failed) = collect_items(client.list_parcels_items("north", &["box"], &[1], again)).await;
    assert!(matches!(failed, Some(PageError::Page(PageFault::RepeatedPage))));
    assert_eq!((found.len(), depot.take_queries().len()), (2, 2));
}

#[tokio::test]
async fn field_of_the_last_item_is_the_cursor() {
    let (client, depot) = client();
    // The method has another name, because `charges_items` is the name of an operation.
    assert_seven_items(client.charges_each(ChargesOptions::new()), |charge| charge.id).await;
    assert_eq!(depot.take_queries(), ["", "starting_after=3", "starting_after=6"]);
}

#[tokio::test]
async fn link_header_selects_the_next_page() {
    let (client, depot) = client();
    assert_seven_items(client.list_events_items(ListEventsOptions::new()), |event| {
        event.what.parse().unwrap()
    })
    .await;
    assert_eq!(depot.take_queries(), ["", "page=2", "page=3"]);
    // A response without a page ends the stream.
    let mut none = client.list_events_pages(ListEventsOptions::new().page(9));
    assert!(none.next().await.is_none() && none.is_complete());
}

/// Response headers that the contract declares are read as typed values.
#[tokio::test]
async fn response_headers_are_typed() {
    let (client, _) = client();
    let events = client.list_events(ListEventsOptions::new()).await.unwrap();
    let headers = events.typed_headers();
    if let Ok(Some(total)) = headers.x_total() {
        println!("{} of {total} events", events.body().as_ref().map_or(0, Vec::len));
    }
    assert_eq!(headers.x_total(), Ok(Some(7)));
    assert!(headers.link().unwrap().unwrap().starts_with("<https://depot.example/v1/events?page=2>"));
}

/// If the link to the next page has another origin, only the query of the link is used. The configuration
/// must allow this.
#[tokio::test]
async fn only_the_query_of_a_foreign_link_is_used() {
    let (client, depot) = client();
    assert_seven_items(client.list_hooks_items(), |hook| hook.parse().unwrap()).await;
    assert_eq!(depot.take_queries(), ["", "from=5", "from=8"]);
    let mut first = client.list_hooks_pages().with_max_pages(1);
    assert_eq!(first.next().await.unwrap().unwrap().into_items().len(), 4);
    assert!(first.next().await.is_none() && !first.is_complete());
    assert_eq!(first.cursor().unwrap().as_str(), "from=5");
}

#[tokio::test]
#[allow(deprecated, reason = "the contract declares the operation as deprecated")]
async fn url_in_the_body_selects_the_next_page() {
    let (client, depot) = client();
    assert_seven_items(client.list_people_items(calls::ListPeopleOptions::new()), |name| {
        name.parse().unwrap()
    })
    .await;
    assert_eq!(depot.take_queries(), ["", "token=x"]);
    let elsewhere = calls::ListPeopleOptions::new().token("evil");
    let (found, failed) = collect_items(client.list_people_items(elsewhere)).await;
    assert!(found.is_empty() && matches!(failed, Some(PageError::Page(PageFault::ForeignTarget))));
}

/// The link is found by a JSON Pointer, in an object without properties and in any JSON.
#[tokio::test]
async fn url_in_untyped_json_selects_the_next_page() {
    let (client, depot) = client();
    let number = |name: String| name.parse().unwrap();
    assert_seven_items(client.list_cranes_items(calls::ListCranesOptions::new()), number).await;
    assert_eq!(depot.take_queries(), ["", "token=x"]);
    assert_seven_items(client.list_barges_items(calls::ListBargesOptions::new()), number).await;
    assert_eq!(depot.take_queries(), ["", "token=x"]);
}

#[tokio::test]
async fn offsets_advance_by_items_or_by_limit() {
    let (client, depot) = client();
    assert_seven_items(client.list_rows_items(ListRowsOptions::new()), |row| row.n).await;
    assert_eq!(depot.take_queries(), ["", "offset=3", "offset=6"]);
    let (odd, failed) = collect_items(client.read_log_items(ReadLogOptions::new())).await;
    assert!(failed.is_none());
    assert_eq!(odd.into_iter().map(|row| row.n).collect::<Vec<_>>(), [1, 3, 5, 7]);
    assert_eq!(depot.take_queries(), ["", "skip=2", "skip=4", "skip=6"]);
    let (odd, _) = collect_items(client.read_log_items(ReadLogOptions::new().top(1))).await;
    assert_eq!(odd.len(), 4);
    assert_eq!(depot.take_queries()[..2], ["top=1", "top=1&skip=1"]);
}

#[tokio::test]
async fn page_numbers_advance_until_the_last_page() {
    let (client, depot) = client();
    assert_seven_items(client.list_books_items(ListBooksOptions::new().page(0)), |book| {
        book.parse().unwrap()
    })
    .await;
    // The last page has one book, fewer than the limit of two.
    assert_eq!(depot.take_queries(), ["page=0", "page=1", "page=2", "page=3"]);
    assert_eq!(
        collect_items(client.list_books_items(ListBooksOptions::new()).with_max_items(3)).await.0.len(),
        3
    );
    assert_eq!(depot.take_queries(), ["", "page=1"]);
    assert_seven_items(client.list_shelves_items(ListShelvesOptions::new()), |book| book.parse().unwrap())
        .await;
    assert_eq!(depot.take_queries(), ["", "page=2"]);
}

#[tokio::test]
async fn item_streams_resume_from_their_cursor() {
    let (client, depot) = client();
    let mut rows = client.list_rows_items(ListRowsOptions::new());
    for _ in 0..4 {
        rows.next().await.unwrap().unwrap();
    }
    // One row of the second page was consumed.
    let (cursor, consumed) = (rows.cursor().map(|cursor| cursor.as_str().to_owned()), rows.consumed_items());
    assert_eq!((cursor.as_deref(), consumed), (Some("3"), 1));
    depot.take_queries();
    let mut rows = client.list_rows_items(ListRowsOptions::new()).resume_from(cursor.unwrap());
    assert_eq!(rows.next().await.unwrap().unwrap().n, 4);
    assert_eq!(depot.take_queries(), ["offset=3"]);
}

/// Returns the number of items of any paginated operation.
async fn count<C: PagedCall + 'static>(mut pages: PageStream<C>) -> usize {
    let mut count = 0;
    while let Some(Ok(page)) = pages.next().await {
        count += page.items().len();
    }
    count
}

#[tokio::test]
async fn generic_code_works_for_all_operations() {
    let (client, _) = client();
    assert_eq!(count(client.charges_pages(ChargesOptions::new())).await, 7);
    assert_eq!(count(client.list_events_pages(ListEventsOptions::new())).await, 7);
    // A call that was created as a value can also be used.
    let call = calls::ListRowsCall { options: ListRowsOptions::new() };
    assert_eq!(count(PageStream::new(client.api_client(), call)).await, 7);
}

/// Page streams can implement the `Stream` trait of another library.
#[tokio::test]
async fn page_streams_adapt_to_other_stream_traits() {
    type Count<C> = Result<usize, PageError<<C as Call>::ErrorBody>>;
    fn boxed<C: PagedCall + Send + 'static>(
        pages: PageStream<C>,
    ) -> Pin<Box<dyn Stream<Item = Count<C>> + Send>>
    where
        <C::Page as ItemPage>::Item: Send,
    {
        struct CountStream<C: PagedCall>(PageStream<C>);
        impl<C: PagedCall + 'static> Stream for CountStream<C> {
            type Item = Count<C>;
            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                let next = Pin::new(&mut self.0).poll_next(context);
                next.map(|page| page.map(|page| page.map(|page| page.items().len())))
            }
        }
        Box::pin(CountStream(pages))
    }
    let (client, _) = client();
    let mut counts = boxed(client.charges_pages(ChargesOptions::new()).resume_from(PageCursor::new("5")));
    let count = std::future::poll_fn(|context| counts.as_mut().poll_next(context)).await;
    assert_eq!(count.unwrap().unwrap(), 2);
}
