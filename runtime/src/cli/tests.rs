//! Tests of commands from a handwritten table, with a scripted transport.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use http::{Request, Response};

use super::*;
use crate::{
    client::{
        Bytes,
        credentials::{RequiredScopes, SecurityRequirement, SecurityScheme},
    },
    operation::{
        BodyFormat, BodySpec, ContentSpec, ItemEncoding, ItemFormat, ItemFraming, PartCount, PartEncoding,
        PartSpec, RepeatSafety, ResponseKind, StatusRange,
    },
    parameters::{Parameter, RouteMatch, ScalarType, ValueShape},
    schema::{Keyword, ResourceId, Schema, SchemaId, SchemaResource, SchemaTables, TypeSet, Validator},
    transport::{
        ByteStream, Delivery, RequestBody, ResponseFuture, StreamResponseFuture, StreamTransport,
        TransportFault,
    },
};

static TABLES: SchemaTables = SchemaTables {
    schemas: &[
        Schema {
            resource: ResourceId(0),
            location: "/seat",
            keywords: &[Keyword::Type(TypeSet::OBJECT), Keyword::Properties(&[("seat", SchemaId(1))], 0b1)],
        },
        Schema { resource: ResourceId(0), location: "/number", keywords: &[Keyword::Type(TypeSet::INTEGER)] },
        Schema {
            resource: ResourceId(0),
            location: "/id",
            keywords: &[Keyword::Type(TypeSet::STRING), Keyword::MinLength(3)],
        },
    ],
    resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
};

const fn content(media_type: &'static str, format: BodyFormat) -> ContentSpec {
    ContentSpec { media_type, format, schema: "", validator: None }
}

const SEAT: ContentSpec = ContentSpec {
    media_type: "application/json",
    format: BodyFormat::Json,
    schema: "",
    validator: Some(Validator::new(&TABLES, SchemaId(0))),
};

const ID: Parameter =
    Parameter { name: "id", validator: Some(Validator::new(&TABLES, SchemaId(2))), ..Parameter::PATH };

const fn success(content: &'static [ContentSpec]) -> crate::operation::ResponseSpec {
    crate::operation::ResponseSpec { statuses: StatusRange::Code(200), kind: ResponseKind::Success, content }
}

const EVENTS: ItemFormat = ItemFormat {
    framing: ItemFraming::Events,
    encoding: ItemEncoding::Json,
    end_markers: &["[DONE]"],
    last_events: &["stop"],
};

static LIST: Operation = Operation {
    id: "list",
    path: "/seats",
    tags: &["seats"],
    summary: "All seats",
    repeat: RepeatSafety::Safe,
    parameters: &[
        Parameter { name: "limit", shape: ValueShape::Scalar(ScalarType::Integer(None)), ..Parameter::QUERY },
        Parameter { name: "free", shape: ValueShape::Scalar(ScalarType::Boolean), ..Parameter::QUERY },
        Parameter { name: "class", shape: ValueShape::Array(ScalarType::Text), ..Parameter::QUERY },
        Parameter { name: "X-Trace", ..Parameter::HEADER },
    ],
    responses: &[success(&[SEAT])],
    ..Operation::EMPTY
};
static WRITE: Operation = Operation {
    id: "write",
    method: "PUT",
    path: "/seats/{id}",
    tags: &["seats"],
    deprecated: true,
    parameters: &[ID],
    body: Some(BodySpec { required: true, content: &[SEAT, content("text/csv", BodyFormat::Text)] }),
    ..Operation::EMPTY
};
static EVENT: Operation = Operation {
    id: "watch",
    path: "/events",
    tags: &["events"],
    responses: &[success(&[content("text/event-stream", BodyFormat::Items(EVENTS))])],
    ..Operation::EMPTY
};
static PICTURE: Operation = Operation {
    id: "picture",
    method: "POST",
    path: "/pictures",
    body: Some(BodySpec {
        required: false,
        content: &[
            content(
                "application/x-www-form-urlencoded",
                BodyFormat::Form(
                    &[Parameter {
                        name: "seat",
                        shape: ValueShape::Scalar(ScalarType::Integer(None)),
                        ..Parameter::QUERY
                    }],
                    ScalarType::Text,
                ),
            ),
            content(
                "multipart/form-data",
                BodyFormat::Multipart(&[PartSpec {
                    name: "picture",
                    encoding: PartEncoding::Binary,
                    count: PartCount::Single,
                    media_type: "image/png",
                    accepted: &[],
                }]),
            ),
            content("image/*", BodyFormat::Bytes),
        ],
    }),
    responses: &[success(&[content("image/png", BodyFormat::Bytes)])],
    servers: &["https://pictures.example"],
    ..Operation::EMPTY
};

static STOP: Operation = Operation {
    id: "stop",
    path: "/run",
    parameters: &[
        Parameter {
            name: "action",
            required: true,
            route_match: Some(RouteMatch::Equals("stop all")),
            ..Parameter::QUERY
        },
        Parameter { name: "after", shape: ValueShape::Scalar(ScalarType::Integer(None)), ..Parameter::QUERY },
    ],
    ..Operation::EMPTY
};

fn security(operation: &Operation) -> &'static [SecurityRequirement] {
    match operation.id {
        "write" => &[&[0], &[1]],
        "picture" => &[&[], &[2], &[3]],
        _ => &[],
    }
}

fn scopes(operation: &Operation) -> &'static [RequiredScopes] {
    match operation.id {
        "picture" => &[
            RequiredScopes { alternative: 1, scheme: 2, names: &["x"] },
            RequiredScopes { alternative: 2, scheme: 3, names: &["y", "z"] },
        ],
        _ => &[],
    }
}

static PROGRAM: CliProgram = CliProgram {
    name: "seats",
    title: "Seats",
    version: "1.0",
    about: "",
    variable_prefix: "SEATS",
    server: "https://seats.example/v1",
    commands: &[
        CommandSpec {
            name: "list",
            operation: &LIST,
            about: "More of it.",
            arguments: &[
                ArgumentSpec { name: "limit", about: "How many.\n\nOr fewer.", ..ArgumentSpec::EMPTY },
                ArgumentSpec { name: "free", ..ArgumentSpec::EMPTY },
                ArgumentSpec {
                    name: "class",
                    values: &["first", "second"],
                    deprecated: true,
                    ..ArgumentSpec::EMPTY
                },
                ArgumentSpec { name: "x-trace", supplied: true, ..ArgumentSpec::EMPTY },
            ],
            body: "",
        },
        CommandSpec {
            name: "write",
            operation: &WRITE,
            about: "Writes one.",
            arguments: &[ArgumentSpec { name: "id", ..ArgumentSpec::EMPTY }],
            body: "The seat.",
        },
        CommandSpec { name: "watch", operation: &EVENT, about: "", arguments: &[], body: "" },
        CommandSpec { name: "picture", operation: &PICTURE, about: "", arguments: &[], body: "" },
        CommandSpec {
            name: "stop",
            operation: &STOP,
            about: "",
            arguments: &[ArgumentSpec::EMPTY, ArgumentSpec { name: "after", ..ArgumentSpec::EMPTY }],
            body: "",
        },
    ],
    security: Some(SecurityTable {
        schemes: &[
            SecurityScheme { name: "key", kind: SchemeKind::Header("X-Key") },
            SecurityScheme { name: "person", kind: SchemeKind::Basic },
            SecurityScheme {
                name: "own",
                kind: SchemeKind::Bearer { token_url: "https://own.example/token" },
            },
            SecurityScheme {
                name: "other",
                kind: SchemeKind::Bearer { token_url: "https://other.example/token" },
            },
        ],
        requirements: security,
        scopes,
    }),
    credentials: &[
        CredentialSpec { name: "key", client: "", about: "From the settings." },
        CredentialSpec { name: "person", client: "", about: "" },
        CredentialSpec { name: "own", client: "own-client", about: "" },
        CredentialSpec { name: "other", client: "other-client", about: "" },
    ],
};

type Reply = fn() -> Result<Response<&'static [u8]>, TransportError>;

/// A transport that returns the same response to every request and records the requests.
#[derive(Clone)]
struct Fake(Reply, Arc<Mutex<Vec<String>>>);

impl Transport for Fake {
    /// Only requests to the token endpoint have a buffered body.
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let text = format!("{} {}", request.uri(), String::from_utf8_lossy(request.body()));
        self.1.lock().unwrap().push(text);
        let body = Bytes::from_static(br#"{"error":"invalid_client"}"#);
        Box::pin(async { Ok(Response::builder().status(401).body(body).unwrap()) })
    }

    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for Fake {
    fn open_stream<'a>(
        &'a self,
        _: &'static Operation,
        request: Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        let mut text = format!("{} {}", request.method(), request.uri());
        for (name, value) in request.headers() {
            text += &format!("\n{name}: {}", value.to_str().unwrap());
        }
        if let RequestBody::Buffered(body) = request.body() {
            text += &format!("\n\n{}", String::from_utf8_lossy(body));
        }
        self.1.lock().unwrap().push(text.trim_end().to_owned());
        Box::pin(async { (self.0)().map(|response| response.map(ByteStream::from)) })
    }
}

fn ok(media_type: &str, body: &'static str) -> Result<Response<&'static [u8]>, TransportError> {
    Ok(Response::builder().header("content-type", media_type).body(body.as_bytes()).unwrap())
}

fn status(
    status: u16,
    media_type: &str,
    body: &'static str,
) -> Result<Response<&'static [u8]>, TransportError> {
    let mut response = ok(media_type, body)?;
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    Ok(response)
}

/// The input, environment and results of a run.
struct Run {
    reply: Reply,
    variables: BTreeMap<&'static str, &'static str>,
    input: &'static [u8],
    terminal: bool,
}

#[derive(Debug)]
struct CommandResult {
    exit: CliExit,
    out: String,
    err: String,
    sent: Vec<String>,
}

impl Run {
    fn new(reply: Reply) -> Self {
        Self { reply, variables: BTreeMap::new(), input: b"", terminal: false }
    }

    fn with_variable(mut self, variable: &'static str, text: &'static str) -> Self {
        self.variables.insert(variable, text);
        self
    }

    fn run(&self, words: &str) -> CommandResult {
        let fake = Fake(self.reply, Arc::default());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut process = ProcessContext {
            variable: &|name| self.variables.get(name).map(|text| (*text).to_owned()),
            input: &mut io::Cursor::new(self.input),
            output: &mut out,
            errors: &mut err,
            is_terminal: self.terminal,
            now: &|| SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770),
            transport: &|| Ok(Box::new(fake.clone())),
        };
        let exit = PROGRAM.run(std::iter::once("seats").chain(words.split_whitespace()), &mut process);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CommandResult { exit, out: text(out), err: text(err), sent: fake.1.lock().unwrap().clone() }
    }
}

impl CommandResult {
    #[track_caller]
    fn assert_exit(self, exit: CliExit) -> Self {
        assert_eq!(self.exit, exit, "{}{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn assert_errors(self, words: &[&str]) -> Self {
        for words in words {
            assert!(self.err.contains(words), "{words}: {}", self.err);
        }
        self
    }
}

fn seats() -> Result<Response<&'static [u8]>, TransportError> {
    ok("application/json", r#"{"seat": 7, "class": "first", "at": "07:30"}"#)
}

fn lost_connection() -> Result<Response<&'static [u8]>, TransportError> {
    Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown))
}

#[test]
fn arguments_are_sent_in_their_location() {
    let ran = Run::new(seats).run("list --limit 07 --free --class first --class second --x-trace a");
    let ran = ran.assert_exit(CliExit::Done).assert_errors(&["note: `class` of `list` is deprecated"]);
    assert_eq!(
        ran.sent,
        ["GET https://seats.example/v1/seats?limit=7&free=true&class=first&class=second\n\
          x-trace: a\naccept: application/json"]
    );
    assert_eq!(ran.out, "seat: 7\nclass: first\nat: \"07:30\"\n");
    let ran = Run::new(seats)
        .run("list --free=false --server http://localhost:1/ --json")
        .assert_exit(CliExit::Done);
    assert_eq!(ran.sent, ["GET http://localhost:1/seats?free=false\naccept: application/json"]);
    assert_eq!(ran.out, "{\"seat\": 7, \"class\": \"first\", \"at\": \"07:30\"}\n", "byte for byte");
    let ran = Run::new(seats)
        .with_variable("SEATS_SERVER", "http://variable")
        .run("list")
        .assert_exit(CliExit::Done);
    assert_eq!(ran.sent, ["GET http://variable/seats\naccept: application/json"]);
}

/// Constant parameters that distinguish operations with the same path are sent, but are not command-line
/// arguments.
#[test]
fn constant_parameters_are_not_arguments() {
    let ran = Run::new(seats).run("stop --after 7").assert_exit(CliExit::Done);
    assert_eq!(ran.sent, ["GET https://seats.example/v1/run?action=stop%20all&after=7"]);
    let help = Run::new(seats).run("stop --help").assert_exit(CliExit::Done).out;
    assert!(help.contains("--after <INTEGER>") && !help.contains("action"), "{help}");
    Run::new(seats)
        .run("stop --action x")
        .assert_exit(CliExit::Usage)
        .assert_errors(&["unexpected argument '--action'"]);
}

#[test]
fn invalid_arguments_are_not_sent() {
    for (words, expected) in [
        ("list --limit many", "not an integer"),
        ("list --class third", "[possible values: first, second]"),
        ("list --free=perhaps", "[possible values: true, false]"),
        ("list --none", "unexpected argument '--none'"),
        ("write --body -", "<id>"),
        ("write abc", "--body <FILE>"),
        ("wriet abc", "'write'"),
        ("", "Usage: seats [OPTIONS] <COMMAND>"),
    ] {
        let ran = Run::new(seats).run(words).assert_exit(CliExit::Usage).assert_errors(&[expected]);
        assert!(ran.sent.is_empty() && ran.out.is_empty(), "{words}: {ran:?}");
    }
}

#[test]
fn bodies_are_validated_before_sending() {
    let mut run = Run::new(seats).with_variable("SEATS_KEY", "hush");
    run.input = br#"{"seat": 7.5}"#;
    let ran = run.run("write abc --body -").assert_exit(CliExit::Usage);
    let ran =
        ran.assert_errors(&["the body violates the contract; nothing was sent\n  /seat: must be an integer"]);
    assert!(ran.sent.is_empty());
    let ran = run.run("write abc --body - --json").assert_exit(CliExit::Usage);
    assert_eq!(
        ran.err,
        "note: `write` is deprecated\n{\"error\":{\"message\":\"the body violates the contract; nothing was \
         sent\",\"violations\":[{\"pointer\":\"/seat\",\"keyword\":\"type\",\"schema\":\"test#/number\"}],\
         \"exit\":2}}\n"
    );
    run.input = b"{";
    run.run("write abc --body -")
        .assert_exit(CliExit::Usage)
        .assert_errors(&["not JSON: unexpected end at line 1, column 2"]);
    run.input = br#"{ "seat": 7 }"#;
    let ran = run.run("write ab --body -").assert_exit(CliExit::Usage);
    ran.assert_errors(&["<id> violates the contract", "/id: must have at least 3 characters"]);
    run.run("write abc --body /none/of/these")
        .assert_exit(CliExit::Usage)
        .assert_errors(&["/none/of/these: "]);
    let ran = run
        .run("write abc --body -")
        .assert_exit(CliExit::Done)
        .assert_errors(&["note: `write` is deprecated"]);
    assert_eq!(
        ran.sent,
        [
            "PUT https://seats.example/v1/seats/abc\ncontent-type: application/json\nx-key: hush\n\n{ \"seat\": 7 }"
        ],
        "the validated bytes are sent unchanged"
    );
    run.input = b"a,b";
    let ran = run.run("write abc --body - --content-type text/csv").assert_exit(CliExit::Done);
    assert!(ran.sent[0].ends_with("\n\na,b") && ran.sent[0].contains("content-type: text/csv"), "{ran:?}");
    let ran = run.run("write abc --body - --content-type text/html").assert_exit(CliExit::Usage);
    ran.assert_errors(&[
        "unsupported media type `text/html`",
        "the contract accepts application/json, text/csv",
    ]);
}

#[test]
fn fields_become_forms_and_parts() {
    let mut run = Run::new(|| ok("image/png", "PNG"));
    run.input = b"\x89PNG";
    let ran = run.run("picture --field seat=07 --field note=a&b").assert_exit(CliExit::Done);
    let form = "content-type: application/x-www-form-urlencoded\naccept: image/png\n\nseat=7&note=a%26b";
    assert_eq!(ran.sent, [format!("POST https://pictures.example/pictures\n{form}")]);
    // `@@` stands for a value that begins with `@`.
    let ran = run
        .run("picture --field seat=07 --field nick=@@ann --field at=@@ --field a=b@c")
        .assert_exit(CliExit::Done);
    assert!(ran.sent[0].ends_with("\n\nseat=7&nick=%40ann&at=%40&a=b%40c"), "{ran:?}");
    let ran =
        run.run("picture --content-type multipart/form-data --field nick=@@ann").assert_exit(CliExit::Done);
    assert!(ran.sent[0].contains("name=\"nick\"\r\n\r\n@ann\r\n"), "{ran:?}");
    let ran =
        run.run("picture --content-type multipart/form-data --field picture=@-").assert_exit(CliExit::Done);
    assert!(ran.sent[0].contains("name=\"picture\"\r\nContent-Type: image/png\r\n\r\n"), "{ran:?}");
    let ran = run.run("picture --content-type image/png --body -").assert_exit(CliExit::Done);
    assert!(ran.sent[0].contains("content-type: image/png"), "{ran:?}");
    for (words, expected) in [
        ("picture --field seat", "NAME=VALUE; no `=` found"),
        ("picture --content-type image/png --field a=b", "cannot be given as fields"),
        ("picture --content-type multipart/form-data --body -", "must be given as fields"),
    ] {
        run.run(words).assert_exit(CliExit::Usage).assert_errors(&[expected]);
    }
}

/// Credentials from options and environment variables are sent, but never printed.
#[test]
fn credentials_are_sent_but_not_printed() {
    let mut run = Run::new(|| status(403, "text/plain", "no"));
    run.input = br#"{"seat":1}"#;
    let missing = run.run("write abc --body -").assert_exit(CliExit::Unauthorized);
    missing.assert_errors(&[
        "`write` requires credentials that are not set: `key`, or `person`",
        "under Credentials",
    ]);
    run = run.with_variable("SEATS_PERSON", "me:hush");
    let ran = run.run("write abc --body -").assert_exit(CliExit::Rejected);
    assert!(ran.sent[0].contains("authorization: Basic bWU6aHVzaA=="), "{ran:?}");
    let ran = run.run("write abc --body - --key whisper").assert_exit(CliExit::Rejected);
    assert!(ran.sent[0].contains("x-key: whisper"), "options override variables: {ran:?}");
    for words in
        ["--help", "write --help", "write abc --body - --person hush", "write abc --body - --key hush"]
    {
        let ran = run.run(words);
        assert!(!(ran.out + &ran.err).contains("hush"), "{words}");
    }
    run.run("write abc --body - --person hush")
        .assert_exit(CliExit::Usage)
        .assert_errors(&["--person must have the form NAME:PASSWORD"]);
}

/// A token is requested with the scopes of the alternative in use, even if other alternatives require other
/// scopes or none.
#[test]
fn tokens_are_requested_with_the_scopes_of_their_scheme() {
    let request = |args: &str| Run::new(seats).run(args).sent.remove(0);
    assert_eq!(
        request("picture --own-client a:b"),
        "https://own.example/token grant_type=client_credentials&scope=x"
    );
    assert_eq!(
        request("picture --other-client a:b"),
        "https://other.example/token grant_type=client_credentials&scope=y%20z"
    );
    // If the token endpoint rejects the client, the user must provide another one.
    Run::new(seats).run("picture --own-client a:b").assert_exit(CliExit::Unauthorized).assert_errors(&[
        "error: cannot get an access token: the token endpoint returned 401 Unauthorized invalid_client",
        "under Credentials",
    ]);
    // If a token is given, it is sent and none is fetched.
    assert!(request("picture --own-client a:b --own hush").contains("authorization: Bearer hush"));
}

#[test]
fn exit_codes_depend_on_the_outcome() {
    let check = |reply: Reply, exit: CliExit, expected: &str| {
        let ran = Run::new(reply).run("list").assert_exit(exit).assert_errors(&[expected]);
        assert_eq!(ran.out, "");
    };
    check(
        || status(404, "application/problem+json", r#"{"title":"Gone"}"#),
        CliExit::Rejected,
        "404 Not Found\n  title: Gone",
    );
    check(|| status(401, "text/plain", ""), CliExit::Unauthorized, "401 Unauthorized");
    check(|| status(429, "text/plain", ""), CliExit::Rejected, "429 Too Many Requests");
    check(|| status(500, "text/html", "<p>\u{1b}[2J"), CliExit::Failed, "  <p>\u{fffd}[2J");
    check(
        || {
            let mut response = status(503, "text/plain", "")?;
            let date = "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap();
            response.headers_mut().insert("retry-after", date);
            Ok(response)
        },
        CliExit::RetryLater,
        "requires a wait of 7 s",
    );
    check(
        || {
            let mut response = status(503, "text/plain", "")?;
            response.headers_mut().insert("date", "Sun, 06 Nov 1994 08:49:17 GMT".parse().unwrap());
            response.headers_mut().insert("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
            Ok(response)
        },
        CliExit::RetryLater,
        "requires a wait of 20 s",
    );
    check(
        || {
            let mut response = status(302, "text/plain", "")?;
            response.headers_mut().insert("location", "/other".parse().unwrap());
            Ok(response)
        },
        CliExit::Failed,
        "redirects to /other",
    );
    check(lost_connection, CliExit::Failed, "error: the connection ended before the response was complete\n");
    let ran = Run::new(lost_connection).run("watch").assert_exit(CliExit::Failed);
    ran.assert_errors(&["the operation may have been executed"]);
    check(|| ok("application/json", "{"), CliExit::Failed, "the response is not JSON");
    let ran = Run::new(|| status(422, "application/json", r#"{"why":1}"#))
        .run("list --json")
        .assert_exit(CliExit::Rejected);
    let expected = r#"{"error":{"message":"the server returned 422 Unprocessable Entity","status":422,"body":{"why":1},"exit":5}}"#;
    assert_eq!(ran.err, format!("{expected}\n"));
}

#[test]
fn items_are_printed_individually() {
    let events = || {
        ok(
            "text/event-stream; charset=utf-8",
            "id: 1\nevent: said\ndata: {\"a\": 1}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\ndata: 3\n\n",
        )
    };
    let ran = Run::new(events).run("watch").assert_exit(CliExit::Done);
    assert_eq!(ran.out, "said: {\"a\":1}\ntwo lines\n");
    let ran = Run::new(events).run("watch --json").assert_exit(CliExit::Done);
    assert_eq!(ran.out, "{\"event\":\"said\",\"id\":\"1\",\"data\":{\"a\":1}}\n{\"data\":\"two\\nlines\"}\n");
    let last = || ok("text/event-stream", "event: stop\ndata: 1\n\ndata: 2\n\n");
    assert_eq!(Run::new(last).run("watch").assert_exit(CliExit::Done).out, "stop: 1\n");
    // JSON lines are printed item by item, even if the contract does not describe them.
    let lines = || ok("application/x-ndjson", "{\"a\": 1}\n[2]\n");
    assert_eq!(Run::new(lines).run("list").assert_exit(CliExit::Done).out, "{\"a\":1}\n[2]\n");
}

/// An unreadable item is reported on standard error, and the command fails.
#[test]
fn unreadable_records_are_not_printed() {
    let lines = || ok("application/x-ndjson", "{\"a\": 1}\nnonsense\n[2]\n{\"a\"");
    for words in ["list", "list --json"] {
        let ran = Run::new(lines).run(words).assert_exit(CliExit::Failed).assert_errors(&[
            "note: item 1 at byte 9 cannot be read: not a JSON document: ",
            "note: item 3 at byte 22 cannot be read: not a JSON document: ",
            "items that cannot be read: 2",
        ]);
        assert_eq!(ran.out, "{\"a\":1}\n[2]\n", "{words}");
    }
    let records = || ok("application/json-seq", "\u{1e}[1]\n\u{1e}{\"a\":\u{1e}12");
    let ran = Run::new(records).run("list").assert_exit(CliExit::Failed);
    let ran = ran.assert_errors(&[
        "note: item 1 at byte 6 cannot be read: ",
        "note: item 2 at byte 12 cannot be read: it is truncated",
    ]);
    assert_eq!(ran.out, "[1]\n");
}

#[test]
fn binary_output_is_not_printed_on_a_terminal() {
    let mut run = Run::new(|| ok("image/png", "\u{1}PNG"));
    assert_eq!(run.run("picture").assert_exit(CliExit::Done).out, "\u{1}PNG");
    run.terminal = true;
    run.run("picture")
        .assert_exit(CliExit::Failed)
        .assert_errors(&["`image/png`, which a terminal cannot show", "give --output FILE"]);
    assert_eq!(run.run("picture --output -").assert_exit(CliExit::Done).out, "\u{1}PNG");
    let file = std::env::temp_dir().join(format!("contract-runtime-cli-{}", std::process::id()));
    let words = format!("picture --output {}", file.display());
    assert_eq!(run.run(&words).assert_exit(CliExit::Done).out, "");
    assert_eq!(std::fs::read(&file).unwrap(), b"\x01PNG");
    std::fs::remove_file(&file).unwrap();
    run.run("picture --output /none/of/these")
        .assert_exit(CliExit::Failed)
        .assert_errors(&["/none/of/these: "]);
    let mut text = Run::new(|| ok("text/plain", "a\u{1b}[2J\nb"));
    assert_eq!(text.run("list").assert_exit(CliExit::Done).out, "a\u{1b}[2J\nb\n");
    text.terminal = true;
    assert_eq!(text.run("list").assert_exit(CliExit::Done).out, "a\u{fffd}[2J\nb\n");
}

#[test]
fn help_shows_the_contract() {
    let help = |args: &str| Run::new(seats).run(args).assert_exit(CliExit::Done).out;
    // Help texts wrap long lines, so whitespace is normalized before the comparison.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let root = help("--help");
    for lines in [
        "Usage: seats [OPTIONS] <COMMAND>\n",
        "seats:\n  list         All seats\n  write        (deprecated) Writes one\n",
        "events:\n  watch        GET /events\n",
        "Others:\n  picture      POST /pictures\n  stop         GET /run\n  completions  Print the completions of a shell\n",
        "Every command:\n",
        "Credentials:\n",
    ] {
        assert!(root.contains(lines), "{lines}: {root}");
    }
    let check = |page: &str, all: &[&str]| {
        all.iter().for_each(|args| assert!(flat(page).contains(args), "{args}: {page}"));
    };
    check(
        &root,
        &[
            "--server <URL> The URL of the server [env: SEATS_SERVER] [default: https://seats.example/v1]",
            "--key <KEY> A key. From the settings. Prefer the environment variable [env: SEATS_KEY]",
            "--person <NAME:PASSWORD> A name and a password. Prefer the environment variable",
            "Exit codes: 0 success",
        ],
    );
    check(
        &help("list --help"),
        &[
            "All seats More of it. GET /seats",
            "--limit <INTEGER> How many. Or fewer. [query limit]",
            "--class <VALUE> (deprecated) [query class] [possible values: first, second]",
            "--free[=<BOOL>] [query free] [possible values: true, false]",
        ],
    );
    check(
        &help("write --help"),
        &[
            "Deprecated. PUT /seats/{id}",
            "Usage: seats write [OPTIONS]",
            "<id> [path id]",
            "The seat, from a file",
        ],
    );
    assert_eq!(help("--version"), "seats 1.0\n");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = help(&format!("completions {shell}"));
        assert!(script.contains("picture") && script.contains("limit"), "{shell}: {script}");
    }
}

/// The definitions of all commands pass clap's own checks, which only debug builds perform.
#[test]
fn command_definitions_are_valid() {
    commands::build_command(&PROGRAM).debug_assert();
}
