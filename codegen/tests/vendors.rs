//! Runs the programs in `examples/vendors` against servers with scripted responses. Compares their requests
//! with the requests in the documentation of the imitated services.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "the programs do not use all generated items")]

#[path = "vendors/list_setters.rs"]
mod list_setters;

#[path = "cases/vendor_calendar/expected"]
pub mod calendar {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_chat/expected"]
pub mod chat {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod headers;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod responses;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_cloud/expected"]
pub mod cloud {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod headers;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_code_hosting/expected"]
pub mod code_hosting {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod headers;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod responses;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_commerce/expected"]
pub mod commerce {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_dns/expected"]
pub mod dns {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_language_model/expected"]
pub mod language_model {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod bodies;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_messaging/expected"]
pub mod messaging {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "cases/vendor_payments/expected"]
pub mod payments {
    pub use contract_runtime as runtime;
    #[rustfmt::skip]
    pub mod bodies;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod credentials;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod security_requirements;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

#[path = "../examples/vendors/calendar.rs"]
mod calendar_program;
#[path = "../examples/vendors/chat.rs"]
mod chat_program;
#[path = "../examples/vendors/cloud.rs"]
mod cloud_program;
#[path = "../examples/vendors/code_hosting.rs"]
mod code_hosting_program;
#[path = "../examples/vendors/commerce.rs"]
mod commerce_program;
#[path = "../examples/vendors/dns.rs"]
mod dns_program;
#[path = "../examples/vendors/language_model.rs"]
mod language_model_program;
#[path = "../examples/vendors/messaging.rs"]
mod messaging_program;
#[path = "../examples/vendors/payments.rs"]
mod payments_program;

use std::sync::{Arc, Mutex};

use contract_runtime::client::Bytes;
use contract_runtime::{
    operation::Operation,
    transport::{ByteStream, RequestBody, ResponseFuture, StreamResponseFuture, StreamTransport, Transport},
};
use http::{Request, Response};

/// A request as a string that contains the request line, the headers that differ between requests, and the
/// body.
type RequestText = String;

/// A function that returns the status, the headers and the body of the response to a request.
type Script = fn(&str) -> (u16, &'static [(&'static str, &'static str)], &'static str);

/// A transport that records requests and returns the responses of a script.
#[derive(Clone)]
struct ScriptedServer {
    script: Script,
    requests: Arc<Mutex<Vec<RequestText>>>,
}

impl ScriptedServer {
    fn new(script: Script) -> Self {
        Self { script, requests: Arc::default() }
    }

    fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let mut headers: Vec<String> = request
            .headers()
            .iter()
            .filter(|(name, _)| {
                !["accept", "user-agent", "x-github-api-version", "square-version", "content-length"]
                    .contains(&name.as_str())
            })
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        headers.sort();
        let head = format!("{} {}", request.method(), request.uri());
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let text = [head].into_iter().chain(headers).chain((!body.is_empty()).then_some(body));
        let text = text.collect::<Vec<_>>().join("\n");
        let (status, headers, body) = (self.script)(&text);
        self.requests.lock().unwrap().push(text);
        let mut response = Response::builder().status(status);
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            response = response.header("content-type", "application/json");
        }
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(Bytes::from_static(body.as_bytes())).unwrap()
    }

    /// Returns the recorded requests.
    fn requests(&self) -> Vec<RequestText> {
        self.requests.lock().unwrap().clone()
    }
}

impl Transport for ScriptedServer {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let response = self.respond(&request);
        Box::pin(async move { Ok(response) })
    }

    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for ScriptedServer {
    fn open_stream<'a>(
        &'a self,
        _: &'static Operation,
        request: Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match body {
                RequestBody::Buffered(bytes) => bytes,
                RequestBody::Streaming(chunks) => chunks.collect(1000).await?,
            };
            Ok(self.respond(&Request::from_parts(parts, body)).map(ByteStream::from))
        })
    }
}

#[tokio::test]
async fn code_hosting_sends_the_documented_requests() {
    let server = ScriptedServer::new(|request| {
        const ISSUE: &str = r#"{"id":1,"number":1348,"state":"open","title":"Broken lamp","labels":["bug"],"user":{"login":"octocat","id":1},"milestone":null,"html_url":"https://code.example/octocat/hello-world/issues/1348","comments":0}"#;
        const LAST: &str = r#"[{"id":3,"number":1,"state":"open","title":"Old","labels":[{"id":1,"name":"bug","color":null}],"user":null,"milestone":{"number":1,"title":"v1","state":"open"},"html_url":"https://code.example/1","comments":2}]"#;
        match request.lines().next().unwrap() {
            "GET https://api.code.example/repos/octocat/hello-world/issues?state=open&per_page=2" => (
                200,
                &[(
                    "link",
                    "<https://api.code.example/repositories/1/issues?state=open&per_page=2&page=2>; rel=\"next\"",
                )],
                r#"[{"id":1,"number":1347,"state":"open","title":"Found a bug","labels":[],"user":{"login":"octocat","id":1},"milestone":null,"html_url":"https://code.example/1347","comments":0}]"#,
            ),
            "GET https://api.code.example/repos/octocat/hello-world/issues?state=open&per_page=2&page=2" => {
                (200, &[], LAST)
            }
            "POST https://api.code.example/repos/octocat/hello-world/issues"
                if request.contains("Broken lamp") =>
            {
                (201, &[], ISSUE)
            }
            "POST https://api.code.example/repos/octocat/hello-world/issues" => (
                422,
                &[],
                r#"{"message":"Validation Failed","documentation_url":"https://docs.code.example","errors":[{"resource":"Issue","field":"title","code":"missing_field"}]}"#,
            ),
            "PATCH https://api.code.example/repos/octocat/hello-world/issues/1348" => (
                200,
                &[],
                r#"{"id":1,"number":1348,"state":"closed","title":"Broken lamp","labels":["bug"],"user":null,"milestone":null,"html_url":"https://code.example/1348","comments":0}"#,
            ),
            _ => (
                201,
                &[],
                r#"{"id":1,"name":"lamp.zip","state":"uploaded","size":5,"browser_download_url":"https://code.example/lamp.zip"}"#,
            ),
        }
    });
    let lines = code_hosting_program::run(server.clone(), "ghp_token").await.unwrap();
    assert_eq!(
        lines,
        [
            "#1347 Found a bug by octocat",
            "#1 Old by nobody",
            "created https://code.example/octocat/hello-world/issues/1348",
            "#1348 is closed",
            "uploaded 5 bytes",
            "Validation Failed: title",
        ]
    );
    assert_eq!(
        server.requests(),
        [
            "GET https://api.code.example/repos/octocat/hello-world/issues?state=open&per_page=2\nauthorization: Bearer ghp_token",
            "GET https://api.code.example/repos/octocat/hello-world/issues?state=open&per_page=2&page=2\nauthorization: Bearer ghp_token",
            "POST https://api.code.example/repos/octocat/hello-world/issues\nauthorization: Bearer ghp_token\ncontent-type: application/json\n{\"title\":\"Broken lamp\",\"body\":\"It flickers.\",\"labels\":[\"bug\"]}",
            "PATCH https://api.code.example/repos/octocat/hello-world/issues/1348\nauthorization: Bearer ghp_token\ncontent-type: application/json\n{\"state\":\"closed\"}",
            "POST https://uploads.code.example/repos/octocat/hello-world/releases/1/assets?name=lamp.zip\nauthorization: Bearer ghp_token\ncontent-type: application/octet-stream\nPK...",
            "POST https://api.code.example/repos/octocat/hello-world/issues\nauthorization: Bearer ghp_token\ncontent-type: application/json\n{\"title\":\"\"}",
        ]
    );
}

#[tokio::test]
async fn payments_send_the_documented_requests() {
    let server = ScriptedServer::new(|request| {
        const INTENT: &str = r#"{"id":"pi_1","object":"payment_intent","amount":2000,"currency":"usd","status":"requires_payment_method","created":1680800504,"customer":{"id":"cus_3","object":"customer","created":1680893993,"livemode":false}}"#;
        match request.lines().next().unwrap() {
            "GET https://api.payments.example/v1/customers?created%5Bgte%5D=1680000000&limit=2" => (
                200,
                &[],
                r#"{"object":"list","url":"/v1/customers","has_more":true,"data":[{"id":"cus_1","object":"customer","created":1,"livemode":false},{"id":"cus_2","object":"customer","created":1,"livemode":false}]}"#,
            ),
            "POST https://api.payments.example/v1/customers" => {
                (200, &[], r#"{"id":"cus_3","object":"customer","created":1680893993,"livemode":false}"#)
            }
            "POST https://api.payments.example/v1/payment_intents" if request.contains("confirm=true") => (
                402,
                &[],
                r#"{"error":{"type":"card_error","code":"card_declined","decline_code":"generic_decline","message":"Your card was declined."}}"#,
            ),
            "POST https://files.payments.example/v1/files" => {
                (200, &[], r#"{"id":"file_1","object":"file","purpose":"dispute_evidence","size":6}"#)
            }
            line if line.starts_with("GET") => {
                (200, &[], r#"{"object":"list","url":"/v1/customers","has_more":false,"data":[]}"#)
            }
            _ => (200, &[], INTENT),
        }
    });
    let lines = payments_program::run(server.clone(), "sk_test").await.unwrap();
    assert_eq!(
        lines,
        [
            "cus_1",
            "cus_2",
            "requires_payment_method by cus_3",
            "file_1 of 6 bytes",
            "402 Payment Required: generic_decline"
        ]
    );
    let requests = server.requests();
    let forms: Vec<String> = requests.iter().map(|request| without_random_key(request)).collect();
    assert_eq!(
        forms[..5],
        [
            "GET https://api.payments.example/v1/customers?created%5Bgte%5D=1680000000&limit=2\nauthorization: Bearer sk_test",
            "GET https://api.payments.example/v1/customers?created%5Bgte%5D=1680000000&limit=2&starting_after=cus_2\nauthorization: Bearer sk_test",
            "POST https://api.payments.example/v1/customers\nauthorization: Bearer sk_test\ncontent-type: application/x-www-form-urlencoded\nidempotency-key: random\nemail=jenny%40shop.example&preferred_locales%5B%5D=de&preferred_locales%5B%5D=en",
            "POST https://api.payments.example/v1/payment_intents\nauthorization: Bearer sk_test\ncontent-type: application/x-www-form-urlencoded\nidempotency-key: order-6735\namount=2000&currency=usd&customer=cus_3&automatic_payment_methods%5Benabled%5D=true&expand%5B%5D=customer&metadata%5Border%5D=6735",
            "POST https://api.payments.example/v1/payment_intents/pi_1\nauthorization: Bearer sk_test\ncontent-type: application/x-www-form-urlencoded\nidempotency-key: random\ndescription=A%20lamp",
        ]
    );
    let upload = &forms[5];
    assert!(upload.starts_with("POST https://files.payments.example/v1/files\n"), "{upload}");
    for part in [
        "content-disposition: form-data; name=\"purpose\"\r\n\r\ndispute_evidence\r\n",
        "content-disposition: form-data; name=\"file\"; filename=\"receipt.png\"\r\ncontent-type: image/png\r\n\r\nPNG...\r\n",
    ] {
        assert!(upload.to_lowercase().contains(&part.to_lowercase()), "{part}\n{upload}");
    }
    assert!(
        forms[6].ends_with("amount=100&currency=usd&confirm=true&payment_method=pm_card_visa_chargeDeclined")
    );
}

/// Replaces a random idempotency key.
fn without_random_key(request: &str) -> String {
    let line = |line: &str| match line.strip_prefix("idempotency-key: ") {
        Some(key) if key.len() == 36 => "idempotency-key: random".to_owned(),
        _ => line.to_owned(),
    };
    request.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn language_model_sends_the_documented_requests() {
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        "GET https://api.model.example/v1/files?purpose=user_data&limit=1" => (
            200,
            &[],
            r#"{"object":"list","data":[{"id":"file-1","object":"file","bytes":1,"filename":"a.pdf","purpose":"user_data"}],"first_id":"file-1","last_id":"file-1","has_more":true}"#,
        ),
        "GET https://api.model.example/v1/files?purpose=user_data&limit=1&after=file-1" => {
            (200, &[], r#"{"object":"list","data":[],"first_id":"","last_id":"","has_more":false}"#)
        }
        "POST https://api.model.example/v1/chat/completions" if request.contains("\"stream\":true") => (
            200,
            &[("content-type", "text/event-stream")],
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        "POST https://api.model.example/v1/files" => (
            200,
            &[],
            r#"{"id":"file-2","object":"file","bytes":3,"filename":"notes.jsonl","purpose":"user_data"}"#,
        ),
        "POST https://api.model.example/v1/audio/speech" => {
            (200, &[("content-type", "application/octet-stream")], "RIFF")
        }
        _ if request.contains("Bearer limited") => (
            429,
            &[("retry-after", "20")],
            r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
        ),
        _ => (
            200,
            &[],
            r#"{"id":"c","object":"chat.completion","created":1741569952,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!","refusal":null},"finish_reason":"stop"}]}"#,
        ),
    });
    let lines = language_model_program::run(server.clone(), "sk-test").await.unwrap();
    assert_eq!(lines, ["a.pdf", "Hello!", "Hello", "notes.jsonl of 3 bytes", "4 bytes of sound", "answered"]);
    let requests = server.requests();
    assert_eq!(
        requests[2],
        "POST https://api.model.example/v1/chat/completions\nauthorization: Bearer sk-test\ncontent-type: application/json\n{\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hello!\"}],\"model\":\"gpt-5\",\"temperature\":0.5}"
    );
    assert!(requests[3].contains("\"stream\":true"), "{}", requests[3]);
    let error = language_model_program::run(server, "limited").await.unwrap_err();
    assert!(error.to_string().contains("429"), "{error}");
}

#[tokio::test]
async fn calendar_sends_the_documented_requests() {
    const EVENTS: &str = "https://www.calendar.example/calendar/v3/calendars/primary/events";
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        line if line.starts_with("DELETE") => (410, &[], r#"{"error":{"code":410}}"#),
        line if line.starts_with("PATCH") => (200, &[], r#"{"id":"e-3","status":"confirmed"}"#),
        line if line.starts_with("POST") => (200, &[], r#"{"id":"e-3","summary":"New lamps"}"#),
        line if line.contains("pageToken=p-2") => (200, &[], r#"{"items":[{"id":"e-2"}]}"#),
        _ => (200, &[], r#"{"items":[{"id":"e-1","summary":"Stocktaking"}],"nextPageToken":"p-2"}"#),
    });
    let result = calendar_program::run(server.clone(), "ya29").await;
    assert_eq!(
        result.unwrap(),
        ["Stocktaking", "no title", "created New lamps", "moved confirmed", "410 Gone"]
    );
    let list = format!(
        "GET {EVENTS}?maxResults=2&orderBy=startTime&singleEvents=true&timeMin=2026-11-28T00%3A00%3A00Z"
    );
    let head = |line: &str| format!("{line}\nauthorization: Bearer ya29");
    let json = |line: &str, body: &str| format!("{}\ncontent-type: application/json\n{body}", head(line));
    assert_eq!(
        server.requests(),
        [
            head(&list),
            head(&format!("{list}&pageToken=p-2")),
            json(
                &format!("POST {EVENTS}"),
                r#"{"summary":"New lamps","start":{"dateTime":"2026-12-01T18:00:00+01:00","timeZone":"Europe/Berlin"},"end":{"dateTime":"2026-12-01T20:00:00+01:00","timeZone":"Europe/Berlin"},"attendees":[{"email":"ann@shop.example"},{"email":"ben@shop.example"}]}"#,
            ),
            json(
                &format!("PATCH {EVENTS}/e-3"),
                r#"{"start":{"dateTime":"2026-12-01T19:00:00+01:00","timeZone":"Europe/Berlin"}}"#,
            ),
            head(&format!("DELETE {EVENTS}/gone")),
        ]
    );
}

#[tokio::test]
async fn chat_sends_the_documented_requests() {
    const API: &str = "https://chat.example/api/v10";
    let server = ScriptedServer::new(|request| {
        const MESSAGE: &str = r#"{"id":"20","channel_id":"10","author":{"id":"1","username":"lampbot","bot":true,"avatar":null},"content":"Hello, all","edited_timestamp":null}"#;
        match request.lines().next().unwrap() {
            line if line.ends_with("members?limit=2") => (
                200,
                &[],
                r#"[{"user":{"id":"7","username":"ann","avatar":null},"joined_at":"2026-01-02T00:00:00Z","nick":null}]"#,
            ),
            line if line.starts_with("GET") => (200, &[], "[]"),
            line if line.ends_with("/channels") => (201, &[], r#"{"id":"10","name":"lamps","topic":null}"#),
            line if line.starts_with("POST") && request.ends_with("\n{}") => {
                (400, &[], r#"{"code":50006,"message":"Cannot send an empty message"}"#)
            }
            _ => (200, &[("x-ratelimit-remaining", "4")], MESSAGE),
        }
    });
    let result = chat_program::run(server.clone(), "token").await;
    assert_eq!(
        result.unwrap(),
        [
            "ann since 2026-01-02T00:00:00Z",
            "channel lamps",
            "message 20 by lampbot",
            "4 requests remain",
            "edited: Hello, all",
            "400 Bad Request"
        ]
    );
    let head = |line: &str| format!("{line}\nauthorization: Bot token");
    let json = |line: &str, body: &str| format!("{}\ncontent-type: application/json\n{body}", head(line));
    let guild = format!("{API}/guilds/197038439483310086");
    assert_eq!(
        server.requests(),
        [
            head(&format!("GET {guild}/members?limit=2")),
            head(&format!("GET {guild}/members?limit=2&after=7")),
            json(&format!("POST {guild}/channels"), r#"{"name":"lamps","topic":"Lamps, new and used"}"#),
            json(
                &format!("POST {API}/channels/10/messages"),
                r#"{"content":"Hello, @everyone","embeds":[{"title":"A lamp","color":16763904}],"allowed_mentions":{}}"#,
            ),
            json(&format!("PATCH {API}/channels/10/messages/20"), r#"{"content":"Hello, all"}"#),
            json(&format!("POST {API}/channels/10/messages"), "{}"),
        ]
    );
}

#[tokio::test]
async fn cloud_sends_the_documented_requests() {
    const API: &str = "https://api.cloud.example/v2";
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        line if line.ends_with("droplets?per_page=2") => (
            200,
            &[],
            r#"{"droplets":[{"id":1,"name":"a","region":{"slug":"fra1","name":"Frankfurt 1"}},{"id":2,"name":"b","region":{"slug":"nyc3","name":"New York 3"}}],"meta":{"total":3}}"#,
        ),
        line if line.starts_with("GET") => (
            200,
            &[],
            r#"{"droplets":[{"id":3,"name":"c","region":{"slug":"fra1","name":"Frankfurt 1"}}],"meta":{"total":3}}"#,
        ),
        line if line.starts_with("POST") => (
            202,
            &[],
            r#"{"droplet":{"id":4,"name":"lamp-1","region":{"slug":"fra1","name":"Frankfurt 1"}}}"#,
        ),
        line if line.starts_with("PATCH") => {
            (200, &[], r#"{"project":{"name":"lamps","environment":"Staging"}}"#)
        }
        _ => (404, &[], r#"{"id":"not_found","message":"The resource you requested could not be found."}"#),
    });
    let result = cloud_program::run(server.clone(), "dop").await;
    assert_eq!(
        result.unwrap(),
        ["a in fra1", "b in nyc3", "c in fra1", "lamp-1", "project lamps", "404 Not Found"]
    );
    let head = |line: &str| format!("{line}\nauthorization: Bearer dop");
    let json = |line: &str, body: &str| format!("{}\ncontent-type: application/json\n{body}", head(line));
    assert_eq!(
        server.requests(),
        [
            head(&format!("GET {API}/droplets?per_page=2")),
            head(&format!("GET {API}/droplets?per_page=2&page=2")),
            json(
                &format!("POST {API}/droplets"),
                r#"{"name":"lamp-1","size":"s-1vcpu-1gb","image":"ubuntu-24-04-x64","region":"fra1","ssh_keys":[289794,"3b:16:e4:bf:8b:00:8b:b8:59:8c:a9:d3:f0:19:fa:45"],"tags":["lamp"]}"#,
            ),
            json(
                &format!("PATCH {API}/projects/4e1bfbc3-dc3e-41f2-a18f-1b4d7ba71679"),
                r#"{"environment":"Staging"}"#
            ),
            head(&format!("DELETE {API}/droplets/1")),
        ]
    );
}

#[tokio::test]
async fn commerce_sends_the_documented_requests() {
    const API: &str = "https://connect.commerce.example/v2";
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        line if line.ends_with("cursor=c-2") => (200, &[], r#"{"customers":[{"given_name":"Ben"}]}"#),
        line if line.starts_with("GET") => (200, &[], r#"{"customers":[{"id":"C1"}],"cursor":"c-2"}"#),
        line if line.ends_with("/customers") => (200, &[], r#"{"customer":{"id":"C3"}}"#),
        line if line.ends_with("/orders") => (200, &[], r#"{"order":{"id":"O1","location_id":"L1"}}"#),
        _ if request.contains("declined") => {
            (200, &[], r#"{"errors":[{"category":"PAYMENT_METHOD_ERROR","code":"CARD_DECLINED"}]}"#)
        }
        _ => (200, &[], r#"{"payment":{"id":"P1","status":"COMPLETED"}}"#),
    });
    let result = commerce_program::run(server.clone(), "EAAA").await;
    assert_eq!(
        result.unwrap(),
        ["C1", "no id", "order O1", "payment COMPLETED", "PAYMENT_METHOD_ERROR: CARD_DECLINED"]
    );
    let head = |line: &str| format!("{line}\nauthorization: Bearer EAAA");
    let json = |line: &str, body: &str| format!("{}\ncontent-type: application/json\n{body}", head(line));
    assert_eq!(
        server.requests(),
        [
            head(&format!("GET {API}/customers?limit=2")),
            head(&format!("GET {API}/customers?limit=2&cursor=c-2")),
            json(
                &format!("POST {API}/customers"),
                r#"{"given_name":"Amelia","email_address":"amelia@shop.example"}"#
            ),
            json(
                &format!("POST {API}/orders"),
                r#"{"order":{"location_id":"057P5VYJ4A5X1","customer_id":"C3","line_items":[{"quantity":"2","name":"A lamp","base_price_money":{"amount":1599,"currency":"EUR"}}]},"idempotency_key":"order-8193"}"#,
            ),
            json(
                &format!("POST {API}/payments"),
                r#"{"amount_money":{"amount":3198,"currency":"EUR"},"idempotency_key":"order-8193-payment","source_id":"ccof:GaJGNaZa8x4OgDJn4GB","customer_id":"C3","order_id":"O1"}"#,
            ),
            json(
                &format!("POST {API}/payments"),
                r#"{"amount_money":{"amount":1,"currency":"EUR"},"idempotency_key":"declined","source_id":"cnon:card-nonce-declined"}"#,
            ),
        ]
    );
}

#[tokio::test]
async fn dns_sends_the_documented_requests() {
    const API: &str = "https://api.dns.example/api/v1";
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        line if line.ends_with("deploys?per_page=2") => (200, &[], r#"[{"id":"d-1","state":"ready"},{}]"#),
        line if line.contains("/deploys?") => (200, &[], "[]"),
        line if line.starts_with("GET") => (200, &[], r#"[{"id":"z-1","name":"lamps.example"}]"#),
        line if line.ends_with("/dns_zones") => (201, &[], r#"{"id":"z-1","name":"lamps.example"}"#),
        line if line.starts_with("POST") => (201, &[], r#"{"id":"r-1","type":"CNAME"}"#),
        line if line.starts_with("PUT") => (200, &[], r#"{"path":"/index.html","size":35}"#),
        _ => (404, &[], r#"{"code":404,"message":"Not Found"}"#),
    });
    let result = dns_program::run(server.clone(), "nfp").await;
    assert_eq!(
        result.unwrap(),
        ["ready", "no state", "record CNAME", "1 zones", "uploaded /index.html", "404 Not Found: Not Found"]
    );
    let head = |line: &str| format!("{line}\nauthorization: Bearer nfp");
    let json = |line: &str, body: &str| format!("{}\ncontent-type: application/json\n{body}", head(line));
    assert_eq!(
        server.requests(),
        [
            head(&format!("GET {API}/sites/lamps/deploys?per_page=2")),
            head(&format!("GET {API}/sites/lamps/deploys?per_page=2&page=2")),
            json(&format!("POST {API}/dns_zones"), r#"{"name":"lamps.example"}"#),
            json(
                &format!("POST {API}/dns_zones/z-1/dns_records"),
                r#"{"type":"CNAME","hostname":"www","value":"lamps.example.","ttl":3600}"#
            ),
            head(&format!("GET {API}/dns_zones?account_slug=lamps")),
            format!(
                "{}\ncontent-type: application/octet-stream\n<!doctype html><title>Lamps</title>",
                head(&format!("PUT {API}/deploys/5d7f/files/index.html?size=35"))
            ),
            head(&format!("DELETE {API}/dns_zones/z-1/dns_records/gone")),
        ]
    );
}

#[tokio::test]
async fn messaging_sends_the_documented_requests() {
    const ACCOUNT: &str =
        "https://api.messaging.example/2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef";
    let server = ScriptedServer::new(|request| match request.lines().next().unwrap() {
        line if line.contains("Page=1") => {
            (200, &[], r#"{"messages":[{"status":"undelivered"}],"next_page_uri":null}"#)
        }
        line if line.starts_with("GET") => (
            200,
            &[],
            r#"{"messages":[{"status":"sent"}],"next_page_uri":"/2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef/Messages.json?PageSize=2&Page=1"}"#,
        ),
        _ if request.contains("not%20a%20number") => {
            (400, &[], r#"{"code":21211,"message":"Invalid 'To' Phone Number"}"#)
        }
        line if line.ends_with("Messages.json") => {
            (201, &[], r#"{"sid":"SM0123456789abcdef0123456789abcdef","status":"queued"}"#)
        }
        _ => (200, &[], r#"{"sid":"SM0123456789abcdef0123456789abcdef","status":"canceled"}"#),
    });
    let result = messaging_program::run(server.clone(), "secret").await;
    assert_eq!(
        result.unwrap(),
        ["sent", "undelivered", "sent 34", "canceled: Some(\"canceled\")", "400 Bad Request"]
    );
    // RFC 7617: the base64 encoding of the account, a colon, and the secret.
    let basic = "authorization: Basic QUMwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjpzZWNyZXQ=";
    let head = |line: &str| format!("{line}\n{basic}");
    let form = |line: &str, body: &str| {
        format!("{}\ncontent-type: application/x-www-form-urlencoded\n{body}", head(line))
    };
    assert_eq!(
        server.requests(),
        [
            head(&format!("GET {ACCOUNT}/Messages.json?DateSent%3E=2026-11-28T00%3A00%3A00Z&PageSize=2")),
            head(&format!("GET {ACCOUNT}/Messages.json?PageSize=2&Page=1")),
            form(
                &format!("POST {ACCOUNT}/Messages.json"),
                "To=%2B15558675310&From=%2B15557122661&Body=Your%20lamp%20is%20ready%20%26%20shiny&MediaUrl=https%3A%2F%2Fshop.example%2Flamp.png"
            ),
            form(
                &format!("POST {ACCOUNT}/Messages/SM0123456789abcdef0123456789abcdef.json"),
                "Status=canceled"
            ),
            form(&format!("POST {ACCOUNT}/Messages.json"), "To=not%20a%20number"),
        ]
    );
}
