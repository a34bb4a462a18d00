//! Tests of all kinds of pagination, ends of lists and errors, with a scripted transport.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::Waker,
};

use http::{HeaderMap, HeaderValue};

use super::*;
use crate::{
    Json,
    client::{Bytes, RequestBuilder},
    operation::{
        BodyFormat, ContentSpec, Operation, ResponseKind as Stands, ResponseSpec as Row, StatusRange,
    },
    parameters::{Parameter, ScalarType, ValueShape},
    transport::{Delivery, ResponseFuture as Carried, Transport, TransportError, TransportFault},
};

static LIST: Operation = Operation {
    id: "list",
    method: "GET",
    path: "/v1/list",
    parameters: &[
        Parameter { name: "from", ..Parameter::QUERY },
        Parameter {
            name: "offset",
            shape: ValueShape::Scalar(ScalarType::Integer(None)),
            ..Parameter::QUERY
        },
        Parameter { name: "limit", shape: ValueShape::Scalar(ScalarType::Integer(None)), ..Parameter::QUERY },
        Parameter { name: "from~ here", ..Parameter::QUERY },
    ],
    responses: &[Row {
        statuses: StatusRange::Code(200),
        kind: Stands::Success,
        content: &[ContentSpec {
            media_type: "application/json",
            format: BodyFormat::Json,
            schema: "",
            validator: None,
        }],
    }],
    ..Operation::EMPTY
};

const CURSOR: usize = 0;
const LINK: usize = 1;
const URL: usize = 2;
const OFFSET: usize = 3;
const GAPS: usize = 4;
const PAGE: usize = 5;
const ODD: usize = 6;
const FULL: usize = 7;
const FULL_PAGE: usize = 8;

const LIMIT: PageLimit = PageLimit { argument: 2, default: 3 };

const WAYS: [Pagination; 9] = [
    Pagination::Cursor { argument: 0 },
    Pagination::Link { rel: "next", targets: LinkPolicy::SamePath },
    Pagination::Url { targets: LinkPolicy::SameOrigin },
    Pagination::Offset { argument: 1, first: 0, step: OffsetStep::Items { full: None } },
    Pagination::Offset { argument: 1, first: 0, step: OffsetStep::Limit(LIMIT) },
    Pagination::Page { argument: 1, first: 1, full: None },
    Pagination::Cursor { argument: 3 },
    Pagination::Offset { argument: 1, first: 1, step: OffsetStep::Items { full: Some(LIMIT) } },
    Pagination::Page { argument: 1, first: 0, full: Some(LIMIT) },
];

/// A call whose arguments are given by their index.
struct List<const WAY: usize>(Vec<(usize, Json)>);

struct Page(Json);

impl ItemPage for Page {
    type Item = Json;

    fn items(&self) -> &[Json] {
        self.0.pointer("/items").and_then(Json::as_array).unwrap_or_default()
    }

    fn into_items(self) -> Vec<Json> {
        self.items().to_vec()
    }
}

impl<const WAY: usize> Call for List<WAY> {
    const OPERATION: &'static Operation = &LIST;
    type Success = Option<Json>;
    type ErrorBody = Json;
    type Headers = crate::client::NoHeaders;

    fn build_request(&self, core: &ApiClient) -> RequestBuilder {
        let request = core.request(&LIST);
        self.0.iter().fold(request, |request, (index, value)| request.argument(*index, value))
    }

    fn parse_response(response: RawResponse) -> Result<Response<Option<Json>>, Error<Json>> {
        match response.status() {
            200 => response.json().map(|answer: Response<Json>| answer.map(Some)),
            204 => response.empty().map(|answer: Response<()>| answer.map(|()| None)),
            _ => response.error_json(),
        }
    }
}

impl<const WAY: usize> PagedCall for List<WAY> {
    type Page = Page;
    const PAGINATION: Pagination = WAYS[WAY];

    fn into_page(response: Option<Json>) -> Option<Page> {
        response.map(Page)
    }

    fn markers(page: &Page) -> PageMarkers {
        let at = |pointer: &str| page.0.pointer(pointer).cloned();
        PageMarkers::new()
            .with_cursor(&at("/next"))
            .with_more(&at("/more"))
            .with_total(&at("/total"))
            .with_total_items(&at("/all"))
    }
}

/// A transport that responds to each request with the next line of a script: a body, `-` for a response
/// without a body, `!` for no response, or a status before an error. `link |` precedes a body with a `Link`
/// header.
#[derive(Clone, Default)]
struct ScriptedServer(Arc<Mutex<(Vec<String>, Vec<String>)>>);

impl ScriptedServer {
    fn new(lines: &[&str]) -> Self {
        let lines = lines.iter().rev().map(|line| (*line).to_owned()).collect();
        Self(Arc::new(Mutex::new((lines, Vec::new()))))
    }

    /// Returns the queries of the requests.
    fn sent(&self) -> Vec<String> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Transport for ScriptedServer {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> Carried<'a> {
        assert_eq!(request.uri().path(), "/v1/list");
        let mut server = self.0.lock().unwrap();
        server.1.push(request.uri().query().unwrap_or_default().to_owned());
        let line = server.0.pop().expect("a page for each request");
        let mut waited = line.starts_with("wait ");
        Box::pin(async move {
            // The response is pending once, so that tests can drop the pending poll.
            poll_fn(|_| if std::mem::take(&mut waited) { Poll::Pending } else { Poll::Ready(()) }).await;
            let line = line.trim_start_matches("wait ");
            let (link, body) = line.split_once(" | ").unwrap_or(("", line));
            let (status, body) = match body {
                "!" => return Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown)),
                "-" => (204, ""),
                "refused" => (403, "{}"),
                body => (200, body),
            };
            let mut response = http::Response::new(Bytes::from(body.to_owned()));
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
            if !link.is_empty() {
                response.headers_mut().insert("link", HeaderValue::from_str(link).unwrap());
            }
            Ok(response)
        })
    }
}

fn pages<const WAY: usize>(
    lines: &[&str],
    parameters: &[(usize, Json)],
) -> (PageStream<List<WAY>>, ScriptedServer) {
    let server = ScriptedServer::new(lines);
    let core = ApiClient::new("https://api.example", server.clone());
    (PageStream::new(&core, List(parameters.to_vec())), server)
}

/// Returns the items, joined into one string, and the error at the end.
async fn all<const WAY: usize>(pages: PageStream<List<WAY>>) -> (String, Option<String>) {
    let (mut items, mut found) = (pages.into_items(), Vec::new());
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => found.push(item.to_string()),
            Err(error) => {
                assert!(items.next().await.is_none(), "an error is returned once");
                return (found.join(" "), Some(error.to_string()));
            }
        }
    }
    assert!(items.is_complete() && items.next().await.is_none());
    (found.join(" "), None)
}

/// Asserts the items, the error and the queries that were sent.
#[track_caller]
fn check<const WAY: usize>(
    lines: &[&str],
    parameters: &[(usize, Json)],
    items: &str,
    error: Option<PageFault>,
    sent: &[&str],
) {
    let (pages, server) = pages::<WAY>(lines, parameters);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (found, failed) = runtime.block_on(all(pages));
    assert_eq!((found.as_str(), failed), (items, error.map(|error| error.to_string())), "{lines:?}");
    assert_eq!(server.sent(), sent, "{lines:?}");
}

fn number(value: i64) -> Json {
    Json::parse(value.to_string().as_bytes()).unwrap()
}

#[test]
fn cursor_is_followed_until_it_is_absent() {
    let first = r#"{"items": [1, 2], "next": "a&b"}"#;
    for last in [r#"{"items": [3]}"#, r#"{"items": [3], "next": null}"#, r#"{"items": [3], "next": ""}"#] {
        check::<CURSOR>(&[first, last], &[], "1 2 3", None, &["", "from=a%26b"]);
    }
    // The other arguments of the caller are sent with every page.
    let parameters = [(0, "start".into()), (2, number(2))];
    let sent = ["from=start&limit=2", "limit=2&from=a%26b"];
    check::<CURSOR>(&[first, r#"{"items": []}"#], &parameters, "1 2", None, &sent);
    check::<ODD>(
        &[first, r#"{"next": "c"}"#, "{}"],
        &[(3, "x".into())],
        "1 2",
        None,
        &["from~%20here=x", "from~%20here=a%26b", "from~%20here=c"],
    );
    // A cursor may be a number.
    check::<CURSOR>(&[r#"{"items": [7], "next": 7}"#, "{}"], &[], "7", None, &["", "from=7"]);
    // A response without a body ends the list.
    check::<CURSOR>(&[first, "-"], &[], "1 2", None, &["", "from=a%26b"]);
}

#[test]
fn has_more_takes_precedence_over_the_cursor() {
    let more = |more: &str| format!(r#"{{"items": [1], "next": "a", "more": {more}}}"#);
    check::<CURSOR>(&[&more("false")], &[], "1", None, &[""]);
    check::<CURSOR>(&[&more("true"), "{}"], &[], "1", None, &["", "from=a"]);
    check::<CURSOR>(&[&more("null"), "{}"], &[], "1", None, &["", "from=a"]);
    let lost = r#"{"items": [1], "more": true}"#;
    check::<CURSOR>(&[lost], &[], "1", Some(PageFault::MissingCursor), &[""]);
    let list = r#"{"items": [1], "next": ["a"]}"#;
    check::<CURSOR>(&[list], &[], "1", Some(PageFault::InvalidCursor), &[""]);
}

#[test]
fn circular_pages_are_detected() {
    let page = |next: &str| format!(r#"{{"items": [0], "next": "{next}"}}"#);
    let lines: Vec<String> = ["a", "a"].map(page).to_vec();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check::<CURSOR>(&lines, &[], "0 0", Some(PageFault::RepeatedPage), &["", "from=a"]);
    // A cycle of any length is detected before its third repetition.
    for length in 2..40usize {
        let lines: Vec<String> = (0..length * 4).map(|at| page(&format!("c{}", at % length))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (pages, server) = pages::<CURSOR>(&lines, &[]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_, failed) = runtime.block_on(all(pages));
        assert_eq!(failed, Some(PageFault::RepeatedPage.to_string()));
        assert!(server.sent().len() <= length * 3 + 1, "{length}: {}", server.sent().len());
    }
}

#[test]
fn empty_pages_are_followed_up_to_a_limit() {
    let lines: Vec<String> = (0..200).map(|at| format!(r#"{{"items": [], "next": "{at}"}}"#)).collect();
    let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (endless, server) = pages::<CURSOR>(&lines, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(all(endless)).1, Some(PageFault::TooManyEmpty.to_string()));
    assert_eq!(server.sent().len(), 101);
    let (few, server) = pages::<CURSOR>(&lines, &[]);
    assert_eq!(
        runtime.block_on(all(few.with_max_empty_pages(1))).1,
        Some(PageFault::TooManyEmpty.to_string())
    );
    assert_eq!(server.sent().len(), 2);
    // A page with an item resets the count of empty pages.
    lines.truncate(100);
    lines.push(r#"{"items": [1], "next": "x"}"#);
    lines.push(r#"{"items": [], "next": "y"}"#);
    lines.push("{}");
    let (some, _) = pages::<CURSOR>(&lines, &[]);
    assert_eq!(runtime.block_on(all(some)), ("1".to_owned(), None));
}

/// The items are counted from the first page; a stream that starts later ends with an empty page.
#[test]
fn numbered_pages_end_at_the_total_of_items() {
    let (first, last) = (r#"{"items": [1, 2], "all": 3}"#, r#"{"items": [3], "all": 3}"#);
    let empty = r#"{"items": [], "all": 3}"#;
    check::<PAGE>(&[first, last], &[], "1 2 3", None, &["", "offset=2"]);
    check::<PAGE>(&[first, last], &[(1, number(1))], "1 2 3", None, &["offset=1", "offset=2"]);
    check::<PAGE>(&[last, empty], &[(1, number(2))], "3", None, &["offset=2", "offset=3"]);
    check::<PAGE>(&[empty], &[], "", None, &[""]);
    let unknown = r#"{"items": [1], "all": -1}"#;
    check::<PAGE>(&[unknown, empty], &[], "1", None, &["", "offset=2"]);
    let (resumed, server) = pages::<PAGE>(&[first, empty], &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(all(resumed.resume_from("2"))), ("1 2".to_owned(), None));
    assert_eq!(server.sent(), ["offset=2", "offset=3"]);
}

#[test]
fn a_link_header_names_the_next_page() {
    let next = r#"</v1/list?page=2>; rel="next", </v1/list?page=9>; rel="last" | {"items": [1]}"#;
    check::<LINK>(&[next, r#"{"items": [2]}"#], &[(2, number(5))], "1 2", None, &["limit=5", "page=2"]);
    let elsewhere = r#"<https://evil.example/v1/list?page=2>; rel="next" | {"items": [1]}"#;
    check::<LINK>(&[elsewhere], &[], "1", Some(PageFault::ForeignTarget), &[""]);
    let other = r#"</v1/others?page=2>; rel="next" | {"items": [1]}"#;
    check::<LINK>(&[other], &[], "1", Some(PageFault::ForeignTarget), &[""]);
    check::<LINK>(&[r#"/v1/list?page=2 | {"items": [1]}"#], &[], "1", Some(PageFault::InvalidLink), &[""]);
    check::<LINK>(&[next, next], &[], "1 1", Some(PageFault::RepeatedPage), &["", "page=2"]);
}

/// `Link` headers are parsed as RFC 8288, 3 and appendix B.2 define.
#[test]
fn link_headers_follow_rfc_8288() {
    let check = |lines: &[&str], expect: Result<Option<&str>, PageFault>| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("link", HeaderValue::from_str(line).unwrap());
        }
        assert_eq!(
            link::find_link_target(&headers, "next"),
            expect.map(|text| text.map(str::to_owned)),
            "{lines:?}"
        );
    };
    check(&[], Ok(None));
    check(&["", " , "], Ok(None));
    check(&["</a>; rel=next"], Ok(Some("/a")));
    check(&["</a>;rel=\"prev\"", "</b> ; REL = \"last Next\""], Ok(Some("/b")));
    check(&["</a,b;c>; title=\"a \\\", <x>; rel=next\"; rel=\"next\""], Ok(Some("/a,b;c")));
    check(&["</a>; rel=prev, ,</b>; title; rel=next ; x=\"y\""], Ok(Some("/b")));
    // Only the first `rel` of a link counts, and a link with an `anchor` belongs to another context.
    check(&["</a>; rel=prev; rel=next"], Ok(None));
    check(&["</a>; anchor=\"/x\"; rel=next, </b>; rel=next"], Ok(Some("/b")));
    check(&["</a>; rel=nextish, </b>; rel=\"next\""], Ok(Some("/b")));
    for broken in ["/a", "</a", "</a>; rel=\"next", "</a> x; rel=next", "</a>; rel=\"prev\" </b>; rel=next"] {
        check(&[broken], Err(PageFault::InvalidLink));
    }
    // A title may contain non-ASCII characters.
    let mut headers = HeaderMap::new();
    headers.append("link", HeaderValue::from_bytes(b"</a>; title=\"\xe9\"; rel=next").unwrap());
    assert_eq!(link::find_link_target(&headers, "next"), Ok(Some("/a".to_owned())));
}

#[test]
fn a_url_in_the_body_names_the_next_page() {
    let next = r#"{"items": [1], "next": "https://api.example/other/path?page=2"}"#;
    check::<URL>(&[next, r#"{"items": [2], "next": null}"#], &[], "1 2", None, &["", "page=2"]);
    let elsewhere = r#"{"items": [1], "next": "https://evil.example/v1/list?page=2"}"#;
    check::<URL>(&[elsewhere], &[], "1", Some(PageFault::ForeignTarget), &[""]);
}

#[test]
fn an_offset_grows_by_the_items() {
    let two = r#"{"items": [1, 2]}"#;
    check::<OFFSET>(&[two, two, "{}"], &[], "1 2 1 2", None, &["", "offset=2", "offset=4"]);
    check::<OFFSET>(&[two, "{}"], &[(1, number(10))], "1 2", None, &["offset=10", "offset=12"]);
    let of_four = r#"{"items": [1, 2], "total": 4}"#;
    check::<OFFSET>(&[of_four, of_four], &[], "1 2 1 2", None, &["", "offset=2"]);
    // An empty page ends the list, even if the total is larger.
    check::<OFFSET>(&[r#"{"items": [], "total": 4}"#], &[], "", None, &[""]);
    let last = i64::MAX;
    let (over, _) = pages::<OFFSET>(&[], &[(1, "x".into())]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(all(over)).1, Some(PageFault::InvalidCount.to_string()));
    let (far, _) = pages::<OFFSET>(&[two, "{}"], &[(1, number(last))]);
    assert_eq!(runtime.block_on(all(far)), ("1 2".to_owned(), None));
}

#[test]
fn an_offset_grows_by_the_limit_where_pages_have_gaps() {
    let page = |items: &str| format!(r#"{{"items": [{items}], "total": 7}}"#);
    let lines = [page("1"), page(""), page("2")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check::<GAPS>(&lines, &[], "1 2", None, &["", "offset=3", "offset=6"]);
    check::<GAPS>(&lines[..2], &[(2, number(5))], "1", None, &["limit=5", "limit=5&offset=5"]);
    check::<GAPS>(&[r#"{"items": [1]}"#, "{}"], &[], "1", None, &["", "offset=3"]);
    // A limit of 0 would not change the position, so it is an error.
    let stays = [(1, number(4)), (2, number(0))];
    check::<GAPS>(
        &[r#"{"items": [1]}"#, r#"{"items": [1]}"#],
        &stays,
        "1 1",
        Some(PageFault::RepeatedPage),
        &["offset=4&limit=0", "limit=0&offset=4"],
    );
}

#[test]
fn pages_are_counted() {
    let one = r#"{"items": [1]}"#;
    check::<PAGE>(&[one, one, "{}"], &[], "1 1", None, &["", "offset=2", "offset=3"]);
    let of_two = r#"{"items": [1], "total": 2}"#;
    check::<PAGE>(&[of_two, of_two], &[], "1 1", None, &["", "offset=2"]);
    check::<PAGE>(&[of_two], &[(1, number(2))], "1", None, &["offset=2"]);
}

/// If the configuration declares that only the last page is short, the request after a short page is omitted.
#[test]
fn short_page_is_the_last() {
    let (full, short) = (r#"{"items": [1, 2, 3]}"#, r#"{"items": [4]}"#);
    check::<FULL>(&[full, short], &[], "1 2 3 4", None, &["", "offset=4"]);
    check::<FULL>(&[full, "{}"], &[], "1 2 3", None, &["", "offset=4"]);
    check::<FULL>(&[short, "{}"], &[(2, number(1))], "4", None, &["limit=1", "limit=1&offset=2"]);
    // The total counts items even if the first offset is 1.
    let of_three = r#"{"items": [1, 2, 3], "total": 3}"#;
    check::<FULL>(&[of_three], &[], "1 2 3", None, &[""]);
    check::<FULL_PAGE>(&[full, short], &[], "1 2 3 4", None, &["", "offset=1"]);
    check::<FULL_PAGE>(&[full, "{}"], &[], "1 2 3", None, &["", "offset=1"]);
    let broken = [(2, "many".into())];
    check::<FULL>(&[], &broken, "", Some(PageFault::InvalidCount), &[]);
}

/// An invalid total, such as `-1` for an unknown total, is ignored.
#[test]
fn invalid_total_is_ignored() {
    for total in ["-1", "null", "\"many\"", "[]", "1.5"] {
        let page = format!(r#"{{"items": [1], "total": {total}}}"#);
        check::<OFFSET>(&[&page, "{}"], &[], "1", None, &["", "offset=1"]);
    }
    for total in ["1", "\"1\"", "1.0"] {
        let page = format!(r#"{{"items": [1], "total": {total}}}"#);
        check::<OFFSET>(&[&page], &[], "1", None, &[""]);
    }
}

/// With a limit, no more pages are requested than needed, and the list can be resumed.
#[tokio::test]
async fn limits_end_a_list_early() {
    let lines = [r#"{"items": [1, 2], "next": "a"}"#, r#"{"items": [3], "next": "b"}"#];
    let (some, server) = pages::<CURSOR>(&lines, &[]);
    let mut some = some.with_max_pages(2);
    assert!(some.next().await.is_some() && some.next().await.is_some());
    assert!(some.next().await.is_none() && some.next().await.is_none());
    assert!(!some.is_complete());
    assert_eq!(some.cursor().unwrap().as_str(), "b");
    assert_eq!(server.sent(), ["", "from=a"]);

    for (limit, items, sent, complete) in
        [(0, "", 0, false), (1, "1", 1, false), (2, "1 2", 1, false), (3, "1 2 3", 2, true)]
    {
        let (some, server) = pages::<CURSOR>(&[lines[0], r#"{"items": [3]}"#], &[]);
        let (mut some, mut found) = (some.into_items().with_max_items(limit), Vec::new());
        while let Some(item) = some.next().await {
            found.push(item.unwrap().to_string());
        }
        assert_eq!((found.join(" ").as_str(), server.sent().len()), (items, sent), "{limit}");
        assert_eq!(some.is_complete(), complete, "{limit}");
    }
    let (few, server) = pages::<CURSOR>(&lines, &[]);
    let mut few = few.with_max_pages(1).into_items();
    while let Some(item) = few.next().await {
        item.unwrap();
    }
    assert_eq!((few.is_complete(), server.sent().len()), (false, 1));
}

/// A resumed stream does not return consumed items, but all others.
#[tokio::test]
async fn pages_resume_from_a_cursor() {
    let lines = [r#"{"items": [1, 2], "next": "a"}"#, r#"{"items": [3], "next": "b", "more": false}"#];
    let (mut whole, _) = pages::<CURSOR>(&lines, &[]);
    assert!(whole.cursor().is_none() && !whole.is_complete());
    assert_eq!(whole.next().await.unwrap().unwrap().items().len(), 2);
    let kept = whole.cursor().unwrap().as_str().to_owned();
    assert_eq!(kept, "a");
    let (rest, server) = pages::<CURSOR>(&lines[1..], &[]);
    let mut rest = rest.resume_from(kept);
    assert_eq!(rest.next().await.unwrap().unwrap().into_items(), [number(3)]);
    assert!(rest.next().await.is_none() && rest.is_complete());
    assert_eq!(server.sent(), ["from=a"]);
    // The cursor after the end is the position for later additions.
    assert_eq!(rest.cursor().unwrap().as_str(), "b");

    let (items, _) = pages::<CURSOR>(&lines, &[]);
    let mut items = items.into_items();
    let mut places = Vec::new();
    loop {
        places.push((items.cursor().map(|cursor| cursor.as_str().to_owned()), items.consumed_items()));
        if items.next().await.is_none() {
            break;
        }
    }
    let at = |cursor: &str| Some(cursor.to_owned());
    assert_eq!(places, [(None, 0), (None, 1), (at("a"), 0), (at("b"), 0)]);
    let (skipped, server) = pages::<CURSOR>(&["{}"], &[]);
    assert!(skipped.into_items().resume_from("a").next().await.is_none());
    assert_eq!(server.sent(), ["from=a"]);

    let (linked, server) = pages::<LINK>(&["{}", "{}"], &[(2, number(5))]);
    linked.resume_from("page=2").next().await.unwrap().unwrap();
    let (linked, again) = pages::<LINK>(&["{}"], &[(2, number(5))]);
    linked.resume_from("").next().await.unwrap().unwrap();
    assert_eq!((server.sent(), again.sent()), (vec!["page=2".to_owned()], vec![String::new()]));
}

#[tokio::test]
async fn failed_page_can_be_retried() {
    let (mut pages, server) =
        pages::<CURSOR>(&[r#"{"items": [1], "next": "a"}"#, "!", "refused", r#"{"items": [2]}"#], &[]);
    pages.next().await.unwrap().unwrap();
    let error = pages.next().await.unwrap().unwrap_err();
    assert!(matches!(error.call_error(), Some(Error::Transport(_))), "{error:?}");
    assert!(pages.next().await.is_none() && !pages.is_complete());
    pages.retry_failed();
    let error = pages.next().await.unwrap().unwrap_err();
    assert_eq!(error.call_error().and_then(Error::status).map(|status| status.as_u16()), Some(403));
    assert_eq!(format!("{error:?}"), "Call(the server returned 403 Forbidden)");
    pages.retry_failed();
    assert_eq!(pages.next().await.unwrap().unwrap().into_items(), [number(2)]);
    assert!(pages.next().await.is_none());
    // After the end, no request is sent.
    pages.retry_failed();
    assert!(pages.next().await.is_none());
    assert_eq!(server.sent(), ["", "from=a", "from=a", "from=a"]);
}

/// Dropping a pending poll loses no page.
#[tokio::test]
async fn dropped_poll_loses_no_page() {
    let (pages, server) = pages::<CURSOR>(&[r#"wait {"items": [1, 2]}"#], &[]);
    let mut items = pages.into_items();
    {
        let mut waiting = pin!(items.next());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(items.next().await.unwrap().unwrap(), number(1));
    assert_eq!(items.next().await.unwrap().unwrap(), number(2));
    assert!(items.next().await.is_none());
    assert_eq!(server.sent(), [""]);
}

/// Code can be generic over paginated calls and their pages.
#[tokio::test]
async fn generic_code_works_for_all_paged_calls() {
    async fn count<C: PagedCall + 'static>(mut pages: PageStream<C>) -> usize {
        let mut count = 0;
        while let Some(Ok(page)) = pages.next().await {
            count += length(page.into_body());
        }
        count
    }
    fn length(page: impl ItemPage) -> usize {
        page.into_items().len()
    }
    let (pages, _) = pages::<CURSOR>(&[r#"{"items": [1, 2], "next": "a"}"#, r#"{"items": [3]}"#], &[]);
    assert_eq!(count(pages).await, 3);
    assert_eq!((vec![1, 2].items().len(), length(vec!["a"])), (2, 1));
    let nothing = crate::Nullable::<Vec<u8>>::Null;
    assert_eq!((nothing.items().len(), length(nothing)), (0, 0));
    assert_eq!(crate::Nullable::Value(vec![1]).items(), [1]);
}

/// Extensions are passed to the transport with each request, and the futures of streams are `Send`.
#[tokio::test]
async fn extensions_are_sent_with_each_request() {
    struct Tagged(Arc<Mutex<Vec<Option<u8>>>>);
    impl Transport for Tagged {
        fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> Carried<'a> {
            let mut seen = self.0.lock().unwrap();
            seen.push(request.extensions().get::<u8>().copied());
            let body = if seen.len() == 1 { r#"{"items": [1], "next": "a"}"# } else { "{}" };
            Box::pin(async move { Ok(http::Response::new(Bytes::from(body))) })
        }
    }
    fn is_send(_: &(impl Stream + Send + Unpin)) {}
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let core = ApiClient::new("https://api.example", Tagged(Arc::clone(&seen)));
    let pages = PageStream::new(&core, List::<CURSOR>(Vec::new())).with_extension(7u8);
    is_send(&pages);
    assert_eq!(
        format!("{pages:?} {:?} {:?}", PageCursor::new("x"), PageMarkers::new().with_cursor(&"x")),
        "PageStream { operation: \"list\", .. } PageCursor { .. } PageMarkers { .. }"
    );
    let mut items = pages.into_items();
    is_send(&items);
    assert_eq!(items.next().await.unwrap().unwrap(), number(1));
    assert!(items.next().await.is_none());
    assert_eq!(*seen.lock().unwrap(), [Some(7), Some(7)]);
}
