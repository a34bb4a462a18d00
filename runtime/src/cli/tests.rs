//! Commands of a table by hand, against a transport that answers as it is told.

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
        credentials::{Requirement, Scheme, Scopes},
    },
    operation::{
        Body, Content, Format, Framing, ItemForm, Items, Outcome, Part, PartForm, Parts, Repeat, Statuses,
    },
    parameters::{Mark, Parameter, Scalar, Shape},
    schema::{Keyword, Resource, ResourceId, Schema, SchemaId, Tables, Types, Validator},
    transport::{ByteStream, Delivery, Opening, RequestBody, Sending, StreamTransport, TransportFault},
};

static TABLES: Tables = Tables {
    schemas: &[
        Schema {
            resource: ResourceId(0),
            location: "/seat",
            keywords: &[Keyword::Type(Types::OBJECT), Keyword::Properties(&[("seat", SchemaId(1))], 0b1)],
        },
        Schema { resource: ResourceId(0), location: "/number", keywords: &[Keyword::Type(Types::INTEGER)] },
        Schema {
            resource: ResourceId(0),
            location: "/id",
            keywords: &[Keyword::Type(Types::STRING), Keyword::MinLength(3)],
        },
    ],
    resources: &[Resource { uri: "test", dynamic_anchors: &[] }],
};

const fn content(media_type: &'static str, format: Format) -> Content {
    Content { media_type, format, schema: "", validator: None }
}

const SEAT: Content = Content {
    media_type: "application/json",
    format: Format::Json,
    schema: "",
    validator: Some(Validator::new(&TABLES, SchemaId(0))),
};

const ID: Parameter =
    Parameter { name: "id", validator: Some(Validator::new(&TABLES, SchemaId(2))), ..Parameter::PATH };

const fn success(content: &'static [Content]) -> crate::operation::Response {
    crate::operation::Response { statuses: Statuses::Code(200), outcome: Outcome::Success, content }
}

const EVENTS: Items =
    Items { framing: Framing::Events, form: ItemForm::Json, ends: &["[DONE]"], last: &["stop"] };

static LIST: Operation = Operation {
    id: "list",
    path: "/seats",
    tags: &["seats"],
    summary: "All seats",
    repeat: Repeat::Safe,
    parameters: &[
        Parameter { name: "limit", shape: Shape::Scalar(Scalar::Integer(None)), ..Parameter::QUERY },
        Parameter { name: "free", shape: Shape::Scalar(Scalar::Boolean), ..Parameter::QUERY },
        Parameter { name: "class", shape: Shape::Array(Scalar::Text), ..Parameter::QUERY },
        Parameter { name: "X-Trace", ..Parameter::HEADER },
    ],
    responses: &[success(&[SEAT])],
    ..Operation::NONE
};
static WRITE: Operation = Operation {
    id: "write",
    method: "PUT",
    path: "/seats/{id}",
    tags: &["seats"],
    deprecated: true,
    parameters: &[ID],
    body: Some(Body { required: true, content: &[SEAT, content("text/csv", Format::Text)] }),
    ..Operation::NONE
};
static EVENT: Operation = Operation {
    id: "watch",
    path: "/events",
    tags: &["events"],
    responses: &[success(&[content("text/event-stream", Format::Items(EVENTS))])],
    ..Operation::NONE
};
static PICTURE: Operation = Operation {
    id: "picture",
    method: "POST",
    path: "/pictures",
    body: Some(Body {
        required: false,
        content: &[
            content(
                "application/x-www-form-urlencoded",
                Format::Form(
                    &[Parameter {
                        name: "seat",
                        shape: Shape::Scalar(Scalar::Integer(None)),
                        ..Parameter::QUERY
                    }],
                    Scalar::Text,
                ),
            ),
            content(
                "multipart/form-data",
                Format::Multipart(&[Part {
                    name: "picture",
                    form: PartForm::Binary,
                    parts: Parts::One,
                    media_type: "image/png",
                }]),
            ),
            content("image/*", Format::Bytes),
        ],
    }),
    responses: &[success(&[content("image/png", Format::Bytes)])],
    servers: &["https://pictures.example"],
    ..Operation::NONE
};

static STOP: Operation = Operation {
    id: "stop",
    path: "/run",
    parameters: &[
        Parameter { name: "action", required: true, mark: Some(Mark::Text("stop all")), ..Parameter::QUERY },
        Parameter { name: "after", shape: Shape::Scalar(Scalar::Integer(None)), ..Parameter::QUERY },
    ],
    ..Operation::NONE
};

fn security(operation: &Operation) -> &'static [Requirement] {
    match operation.id {
        "write" => &[&[0], &[1]],
        "picture" => &[&[], &[2], &[3]],
        _ => &[],
    }
}

fn scopes(operation: &Operation) -> &'static [Scopes] {
    match operation.id {
        "picture" => &[
            Scopes { alternative: 1, scheme: 2, names: &["x"] },
            Scopes { alternative: 2, scheme: 3, names: &["y", "z"] },
        ],
        _ => &[],
    }
}

static PROGRAM: Program = Program {
    name: "seats",
    title: "Seats",
    version: "1.0",
    about: "",
    variables: "SEATS",
    server: "https://seats.example/v1",
    commands: &[
        Command {
            name: "list",
            operation: &LIST,
            about: "More of it.",
            arguments: &[
                Argument { name: "limit", about: "How many.\n\nOr fewer.", ..Argument::NONE },
                Argument { name: "free", ..Argument::NONE },
                Argument { name: "class", values: &["first", "second"], deprecated: true, ..Argument::NONE },
                Argument { name: "x-trace", supplied: true, ..Argument::NONE },
            ],
            body: "",
        },
        Command {
            name: "write",
            operation: &WRITE,
            about: "Writes one.",
            arguments: &[Argument { name: "id", ..Argument::NONE }],
            body: "The seat.",
        },
        Command { name: "watch", operation: &EVENT, about: "", arguments: &[], body: "" },
        Command { name: "picture", operation: &PICTURE, about: "", arguments: &[], body: "" },
        Command {
            name: "stop",
            operation: &STOP,
            about: "",
            arguments: &[Argument::NONE, Argument { name: "after", ..Argument::NONE }],
            body: "",
        },
    ],
    security: Some(Security {
        schemes: &[
            Scheme { name: "key", kind: SchemeKind::Header("X-Key") },
            Scheme { name: "person", kind: SchemeKind::Basic },
            Scheme { name: "own", kind: SchemeKind::Bearer { token_url: "https://own.example/token" } },
            Scheme { name: "other", kind: SchemeKind::Bearer { token_url: "https://other.example/token" } },
        ],
        of: security,
        scopes,
    }),
    credentials: &[
        Credential { name: "key", client: "", about: "From the settings." },
        Credential { name: "person", client: "", about: "" },
        Credential { name: "own", client: "own-client", about: "" },
        Credential { name: "other", client: "other-client", about: "" },
    ],
};

type Reply = fn() -> Result<Response<&'static [u8]>, TransportError>;

/// Answers all the same, and keeps what was sent.
#[derive(Clone)]
struct Fake(Reply, Arc<Mutex<Vec<String>>>);

impl Transport for Fake {
    /// What is sent whole is asked of a token endpoint, which takes no client.
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        let text = format!("{} {}", request.uri(), String::from_utf8_lossy(request.body()));
        self.1.lock().unwrap().push(text);
        let body = Bytes::from_static(br#"{"error":"invalid_client"}"#);
        Box::pin(async { Ok(Response::builder().status(401).body(body).unwrap()) })
    }

    fn streams(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for Fake {
    fn open<'a>(&'a self, _: &'static Operation, request: Request<RequestBody>) -> Opening<'a> {
        let mut text = format!("{} {}", request.method(), request.uri());
        for (name, value) in request.headers() {
            text += &format!("\n{name}: {}", value.to_str().unwrap());
        }
        if let RequestBody::Whole(body) = request.body() {
            text += &format!("\n\n{}", String::from_utf8_lossy(body));
        }
        self.1.lock().unwrap().push(text.trim_end().to_owned());
        Box::pin(async { (self.0)().map(|answer| answer.map(ByteStream::from)) })
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
    let mut answer = ok(media_type, body)?;
    *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
    Ok(answer)
}

/// What a run has around it, and what it came to.
struct Run {
    reply: Reply,
    variables: BTreeMap<&'static str, &'static str>,
    input: &'static [u8],
    terminal: bool,
}

#[derive(Debug)]
struct Ran {
    exit: Exit,
    out: String,
    err: String,
    sent: Vec<String>,
}

impl Run {
    fn new(reply: Reply) -> Self {
        Self { reply, variables: BTreeMap::new(), input: b"", terminal: false }
    }

    fn with(mut self, variable: &'static str, text: &'static str) -> Self {
        self.variables.insert(variable, text);
        self
    }

    fn run(&self, words: &str) -> Ran {
        let fake = Fake(self.reply, Arc::default());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut process = Process {
            variable: &|name| self.variables.get(name).map(|text| (*text).to_owned()),
            input: &mut io::Cursor::new(self.input),
            output: &mut out,
            errors: &mut err,
            terminal: self.terminal,
            now: &|| SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770),
            transport: &|| Ok(Box::new(fake.clone())),
        };
        let exit = PROGRAM.run(std::iter::once("seats").chain(words.split_whitespace()), &mut process);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { exit, out: text(out), err: text(err), sent: fake.1.lock().unwrap().clone() }
    }
}

impl Ran {
    #[track_caller]
    fn ended(self, exit: Exit) -> Self {
        assert_eq!(self.exit, exit, "{}{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn said(self, words: &[&str]) -> Self {
        for words in words {
            assert!(self.err.contains(words), "{words}: {}", self.err);
        }
        self
    }
}

fn seats() -> Result<Response<&'static [u8]>, TransportError> {
    ok("application/json", r#"{"seat": 7, "class": "first", "at": "07:30"}"#)
}

fn nobody() -> Result<Response<&'static [u8]>, TransportError> {
    Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown))
}

#[test]
fn arguments_go_where_the_table_says() {
    let ran = Run::new(seats).run("list --limit 07 --free --class first --class second --x-trace a");
    let ran = ran.ended(Exit::Done).said(&["note: `class` of `list` is deprecated"]);
    assert_eq!(
        ran.sent,
        ["GET https://seats.example/v1/seats?limit=7&free=true&class=first&class=second\n\
          x-trace: a\naccept: application/json"]
    );
    assert_eq!(ran.out, "seat: 7\nclass: first\nat: \"07:30\"\n");
    let ran = Run::new(seats).run("list --free=false --server http://localhost:1/ --json").ended(Exit::Done);
    assert_eq!(ran.sent, ["GET http://localhost:1/seats?free=false\naccept: application/json"]);
    assert_eq!(ran.out, "{\"seat\": 7, \"class\": \"first\", \"at\": \"07:30\"}\n", "byte for byte");
    let ran = Run::new(seats).with("SEATS_SERVER", "http://variable").run("list").ended(Exit::Done);
    assert_eq!(ran.sent, ["GET http://variable/seats\naccept: application/json"]);
}

/// By which requests are known among those of one path.
#[test]
fn nobody_is_asked_for_what_is_always_the_same() {
    let ran = Run::new(seats).run("stop --after 7").ended(Exit::Done);
    assert_eq!(ran.sent, ["GET https://seats.example/v1/run?action=stop%20all&after=7"]);
    let help = Run::new(seats).run("stop --help").ended(Exit::Done).out;
    assert!(help.contains("--after <INTEGER>") && !help.contains("action"), "{help}");
    Run::new(seats).run("stop --action x").ended(Exit::Usage).said(&["unexpected argument '--action'"]);
}

#[test]
fn what_is_mistyped_is_not_sent() {
    for (words, said) in [
        ("list --limit many", "it is no whole number"),
        ("list --class third", "[possible values: first, second]"),
        ("list --free=perhaps", "[possible values: true, false]"),
        ("list --none", "unexpected argument '--none'"),
        ("write --body -", "<id>"),
        ("write abc", "--body <FILE>"),
        ("wriet abc", "'write'"),
        ("", "Usage: seats [OPTIONS] <COMMAND>"),
    ] {
        let ran = Run::new(seats).run(words).ended(Exit::Usage).said(&[said]);
        assert!(ran.sent.is_empty() && ran.out.is_empty(), "{words}: {ran:?}");
    }
}

#[test]
fn bodies_are_judged_before_they_are_sent() {
    let mut run = Run::new(seats).with("SEATS_KEY", "hush");
    run.input = br#"{"seat": 7.5}"#;
    let ran = run.run("write abc --body -").ended(Exit::Usage);
    let ran = ran.said(&["the body breaks the contract, and nothing was sent\n  /seat: type (test#/number)"]);
    assert!(ran.sent.is_empty());
    let ran = run.run("write abc --body - --json").ended(Exit::Usage);
    assert_eq!(
        ran.err,
        "note: `write` is deprecated\n{\"error\":{\"message\":\"the body breaks the contract, and nothing was \
         sent\",\"violations\":[{\"pointer\":\"/seat\",\"keyword\":\"type\",\"schema\":\"test#/number\"}],\
         \"exit\":2}}\n"
    );
    run.input = b"{";
    run.run("write abc --body -").ended(Exit::Usage).said(&["no JSON: unexpected end at line 1, column 2"]);
    run.input = br#"{ "seat": 7 }"#;
    let ran = run.run("write ab --body -").ended(Exit::Usage);
    ran.said(&["<id> breaks the contract", "/id: minLength (test#/id)"]);
    run.run("write abc --body /none/of/these").ended(Exit::Usage).said(&["/none/of/these: "]);
    let ran = run.run("write abc --body -").ended(Exit::Done).said(&["note: `write` is deprecated"]);
    assert_eq!(
        ran.sent,
        [
            "PUT https://seats.example/v1/seats/abc\ncontent-type: application/json\nx-key: hush\n\n{ \"seat\": 7 }"
        ],
        "what was judged is what is sent"
    );
    run.input = b"a,b";
    let ran = run.run("write abc --body - --content-type text/csv").ended(Exit::Done);
    assert!(ran.sent[0].ends_with("\n\na,b") && ran.sent[0].contains("content-type: text/csv"), "{ran:?}");
    let ran = run.run("write abc --body - --content-type text/html").ended(Exit::Usage);
    ran.said(&["the body is not `text/html`", "the contract has application/json, text/csv"]);
}

#[test]
fn fields_become_forms_and_parts() {
    let mut run = Run::new(|| ok("image/png", "PNG"));
    run.input = b"\x89PNG";
    let ran = run.run("picture --field seat=07 --field note=a&b").ended(Exit::Done);
    let form = "content-type: application/x-www-form-urlencoded\naccept: image/png\n\nseat=7&note=a%26b";
    assert_eq!(ran.sent, [format!("POST https://pictures.example/pictures\n{form}")]);
    // What begins with the sign of a file.
    let ran =
        run.run("picture --field seat=07 --field nick=@@ann --field at=@@ --field a=b@c").ended(Exit::Done);
    assert!(ran.sent[0].ends_with("\n\nseat=7&nick=%40ann&at=%40&a=b%40c"), "{ran:?}");
    let ran = run.run("picture --content-type multipart/form-data --field nick=@@ann").ended(Exit::Done);
    assert!(ran.sent[0].contains("name=\"nick\"\r\n\r\n@ann\r\n"), "{ran:?}");
    let ran = run.run("picture --content-type multipart/form-data --field picture=@-").ended(Exit::Done);
    assert!(ran.sent[0].contains("name=\"picture\"\r\nContent-Type: image/png\r\n\r\n"), "{ran:?}");
    let ran = run.run("picture --content-type image/png --body -").ended(Exit::Done);
    assert!(ran.sent[0].contains("content-type: image/png"), "{ran:?}");
    for (words, said) in [
        ("picture --field seat", "NAME=VALUE, and there is no `=`"),
        ("picture --content-type image/png --field a=b", "has no fields"),
        ("picture --content-type multipart/form-data --body -", "is given by --field"),
    ] {
        run.run(words).ended(Exit::Usage).said(&[said]);
    }
}

/// Nobody sees them, wherever they come from.
#[test]
fn credentials_are_shown_to_the_server_alone() {
    let mut run = Run::new(|| status(403, "text/plain", "no"));
    run.input = br#"{"seat":1}"#;
    let missing = run.run("write abc --body -").ended(Exit::SignIn);
    missing.said(&["`write` needs credentials that are not set: `key`, or `person`", "under Credentials"]);
    run = run.with("SEATS_PERSON", "me:hush");
    let ran = run.run("write abc --body -").ended(Exit::Refused);
    assert!(ran.sent[0].contains("authorization: Basic bWU6aHVzaA=="), "{ran:?}");
    let ran = run.run("write abc --body - --key whisper").ended(Exit::Refused);
    assert!(ran.sent[0].contains("x-key: whisper"), "what is typed counts: {ran:?}");
    for words in
        ["--help", "write --help", "write abc --body - --person hush", "write abc --body - --key hush"]
    {
        let ran = run.run(words);
        assert!(!(ran.out + &ran.err).contains("hush"), "{words}");
    }
    run.run("write abc --body - --person hush").ended(Exit::Usage).said(&["--person is NAME:PASSWORD"]);
}

/// Those of the scheme that is shown, though another alternative asks for others or for none.
#[test]
fn tokens_are_asked_for_with_the_scopes_of_their_scheme() {
    let asked = |words: &str| Run::new(seats).run(words).sent.remove(0);
    assert_eq!(
        asked("picture --own-client a:b"),
        "https://own.example/token grant_type=client_credentials&scope=x"
    );
    assert_eq!(
        asked("picture --other-client a:b"),
        "https://other.example/token grant_type=client_credentials&scope=y%20z"
    );
    // A client that gets none has to say another.
    Run::new(seats).run("picture --own-client a:b").ended(Exit::SignIn).said(&[
        "error: no token: the token endpoint answered 401 Unauthorized invalid_client",
        "under Credentials",
    ]);
    // A token that is there is shown, and none fetched.
    assert!(asked("picture --own-client a:b --own hush").contains("authorization: Bearer hush"));
}

#[test]
fn exit_codes_say_what_happened() {
    let check = |reply: Reply, exit: Exit, said: &str| {
        let ran = Run::new(reply).run("list").ended(exit).said(&[said]);
        assert_eq!(ran.out, "");
    };
    check(
        || status(404, "application/problem+json", r#"{"title":"Gone"}"#),
        Exit::Refused,
        "404 Not Found\n  title: Gone",
    );
    check(|| status(401, "text/plain", ""), Exit::SignIn, "401 Unauthorized");
    check(|| status(429, "text/plain", ""), Exit::Refused, "429 Too Many Requests");
    check(|| status(500, "text/html", "<p>\u{1b}[2J"), Exit::Failed, "  <p>\u{fffd}[2J");
    check(
        || {
            let mut answer = status(503, "text/plain", "")?;
            let date = "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap();
            answer.headers_mut().insert("retry-after", date);
            Ok(answer)
        },
        Exit::Wait,
        "asks to wait 7 s",
    );
    check(
        || {
            let mut answer = status(503, "text/plain", "")?;
            answer.headers_mut().insert("date", "Sun, 06 Nov 1994 08:49:17 GMT".parse().unwrap());
            answer.headers_mut().insert("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
            Ok(answer)
        },
        Exit::Wait,
        "asks to wait 20 s",
    );
    check(
        || {
            let mut answer = status(302, "text/plain", "")?;
            answer.headers_mut().insert("location", "/other".parse().unwrap());
            Ok(answer)
        },
        Exit::Failed,
        "it names /other",
    );
    check(nobody, Exit::Failed, "error: the connection ended before the answer did\n");
    let ran = Run::new(nobody).run("watch").ended(Exit::Failed);
    ran.said(&["it may have been carried out all the same"]);
    check(|| ok("application/json", "{"), Exit::Failed, "the answer is no JSON");
    let ran =
        Run::new(|| status(422, "application/json", r#"{"why":1}"#)).run("list --json").ended(Exit::Refused);
    let said = r#"{"error":{"message":"the server answered 422 Unprocessable Entity","status":422,"body":{"why":1},"exit":5}}"#;
    assert_eq!(ran.err, format!("{said}\n"));
}

#[test]
fn items_are_printed_one_by_one() {
    let events = || {
        ok(
            "text/event-stream; charset=utf-8",
            "id: 1\nevent: said\ndata: {\"a\": 1}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\ndata: 3\n\n",
        )
    };
    let ran = Run::new(events).run("watch").ended(Exit::Done);
    assert_eq!(ran.out, "said: {\"a\":1}\ntwo lines\n");
    let ran = Run::new(events).run("watch --json").ended(Exit::Done);
    assert_eq!(ran.out, "{\"event\":\"said\",\"id\":\"1\",\"data\":{\"a\":1}}\n{\"data\":\"two\\nlines\"}\n");
    let last = || ok("text/event-stream", "event: stop\ndata: 1\n\ndata: 2\n\n");
    assert_eq!(Run::new(last).run("watch").ended(Exit::Done).out, "stop: 1\n");
    // Lines of JSON, which the contract does not speak of.
    let lines = || ok("application/x-ndjson", "{\"a\": 1}\n[2]\n");
    assert_eq!(Run::new(lines).run("list").ended(Exit::Done).out, "{\"a\":1}\n[2]\n");
}

/// No line that a program could take for a record: it is told, and the command fails.
#[test]
fn records_that_are_none_are_not_printed() {
    let lines = || ok("application/x-ndjson", "{\"a\": 1}\nnonsense\n[2]\n{\"a\"");
    for words in ["list", "list --json"] {
        let ran = Run::new(lines).run(words).ended(Exit::Failed).said(&[
            "note: item 1 at byte 9 cannot be read: not a JSON document: ",
            "note: item 3 at byte 22 cannot be read: not a JSON document: ",
            "items that cannot be read: 2",
        ]);
        assert_eq!(ran.out, "{\"a\":1}\n[2]\n", "{words}");
    }
    let records = || ok("application/json-seq", "\u{1e}[1]\n\u{1e}{\"a\":\u{1e}12");
    let ran = Run::new(records).run("list").ended(Exit::Failed);
    let ran = ran.said(&[
        "note: item 1 at byte 6 cannot be read: ",
        "note: item 2 at byte 12 cannot be read: it was cut off",
    ]);
    assert_eq!(ran.out, "[1]\n");
}

#[test]
fn bytes_go_to_a_file_or_to_no_terminal() {
    let mut run = Run::new(|| ok("image/png", "\u{1}PNG"));
    assert_eq!(run.run("picture").ended(Exit::Done).out, "\u{1}PNG");
    run.terminal = true;
    run.run("picture")
        .ended(Exit::Failed)
        .said(&["`image/png`, which no terminal shows", "give --output FILE"]);
    assert_eq!(run.run("picture --output -").ended(Exit::Done).out, "\u{1}PNG");
    let file = std::env::temp_dir().join(format!("contract-runtime-cli-{}", std::process::id()));
    let words = format!("picture --output {}", file.display());
    assert_eq!(run.run(&words).ended(Exit::Done).out, "");
    assert_eq!(std::fs::read(&file).unwrap(), b"\x01PNG");
    std::fs::remove_file(&file).unwrap();
    run.run("picture --output /none/of/these").ended(Exit::Failed).said(&["/none/of/these: "]);
    let mut text = Run::new(|| ok("text/plain", "a\u{1b}[2J\nb"));
    assert_eq!(text.run("list").ended(Exit::Done).out, "a\u{1b}[2J\nb\n");
    text.terminal = true;
    assert_eq!(text.run("list").ended(Exit::Done).out, "a\u{fffd}[2J\nb\n");
}

#[test]
fn help_teaches_what_the_contract_says() {
    let help = |words: &str| Run::new(seats).run(words).ended(Exit::Done).out;
    // Long lines are folded.
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
    let told = |page: &str, all: &[&str]| {
        all.iter().for_each(|words| assert!(flat(page).contains(words), "{words}: {page}"));
    };
    told(
        &root,
        &[
            "--server <URL> Where requests go [env: SEATS_SERVER] [default: https://seats.example/v1]",
            "--key <KEY> A key. From the settings. Better said by the variable [env: SEATS_KEY]",
            "--person <NAME:PASSWORD> A name and a password. Better said by",
            "Exit codes: 0 done",
        ],
    );
    told(
        &help("list --help"),
        &[
            "All seats More of it. GET /seats",
            "--limit <INTEGER> How many. Or fewer. [query limit]",
            "--class <VALUE> (deprecated) [query class] [possible values: first, second]",
            "--free[=<BOOL>] [query free] [possible values: true, false]",
        ],
    );
    told(
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

/// What every name of the table has to be for clap: the same that a debug build asserts.
#[test]
fn commands_hold_together() {
    commands::command(&PROGRAM).debug_assert();
}
