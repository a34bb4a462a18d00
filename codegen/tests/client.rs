//! A small contract with everything that the engine cannot carry by itself, through `lower`,
//! progenitor and `refine`. What is generated stands in `client/`; `UPDATE=1` writes it anew.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path, sync::LazyLock};

use contract_codegen::{
    api::{Api, Header, MediaType, Operation, Parameter, ParameterIn, RequestBody, Response, Status},
    client::{ClientOptions, client},
    config::OperationConfig,
    diagnostics::Diagnostics,
    lower::lower,
    operations::{Contract, Side, operations},
    rust_types::RustTypes,
    schema::{Graph, Resource, Schema, SchemaId, Types},
    tree::{Place, SourceId},
};
use contract_runtime::{Json, Number};
use proc_macro2::TokenStream;
use quote::quote;

/// Where the schemas of the contract stand.
const TEXT: &str = "/text";
const LIMIT: &str = "/limit";
const KEY: &str = "/key";
const SHIP: &str = "/ship";
const PAGE: &str = "/page";
const CHANGES: &str = "/changes";
const PROBLEM: &str = "/problem";
const TEXTS: &str = "/texts";
const MAYBE: &str = "/maybe";
const SHIPS: &str = "/ships";
const OTHER: &str = "/other";

/// The schema at a location.
fn at(location: &str) -> SchemaId {
    static GRAPH: LazyLock<Graph> = LazyLock::new(graph);
    GRAPH.ids().find(|id| GRAPH.schema(*id).location == location).unwrap()
}

struct Shapes;

impl RustTypes for Shapes {
    fn rust_type(&self, schema: SchemaId) -> TokenStream {
        match graph().schema(schema).location.as_str() {
            TEXT => quote!(String),
            LIMIT => quote!(i64),
            KEY => quote!(super::types::IdempotencyKey),
            SHIP => quote!(super::types::Ship),
            PAGE => quote!(super::types::ShipPage),
            CHANGES => quote!(super::types::ShipChangeSet),
            PROBLEM => quote!(super::types::Problem),
            TEXTS => quote!(Vec<String>),
            MAYBE => quote!(Nullable<String>),
            SHIPS => quote!(Vec<super::types::Ship>),
            _ => quote!(super::types::Other),
        }
    }

    fn is_scalar(&self, schema: SchemaId) -> bool {
        [TEXT, LIMIT, KEY].map(at).contains(&schema)
    }
}

fn graph() -> Graph {
    let number = |text: &str| Some(Number::parse(text).unwrap());
    let plain = |location: &str| Schema { location: location.to_owned(), ..Schema::default() };
    let mut graph = Graph::default();
    let text = graph.schemas.push(Schema { types: Some(Types::STRING), max_length: Some(64), ..plain(TEXT) });
    graph.schemas.push(Schema {
        types: Some(Types::INTEGER),
        minimum: number("1"),
        maximum: number("1000"),
        default: Some(Json::parse(b"500").unwrap()),
        ..plain(LIMIT)
    });
    graph.schemas.push(Schema {
        types: Some(Types::STRING),
        min_length: Some(8),
        max_length: Some(128),
        pattern: Some("^[A-Za-z0-9._~-]+$".to_owned()),
        ..plain(KEY)
    });
    let ship = graph.schemas.push(plain(SHIP));
    for location in [PAGE, CHANGES, PROBLEM] {
        graph.schemas.push(plain(location));
    }
    graph.schemas.push(Schema { types: Some(Types::ARRAY), items: Some(text), ..plain(TEXTS) });
    graph.schemas.push(Schema { types: Some(Types::STRING.or(Types::NULL)), ..plain(MAYBE) });
    graph.schemas.push(Schema { types: Some(Types::ARRAY), items: Some(ship), ..plain(SHIPS) });
    graph.schemas.push(plain(OTHER));
    graph.resources.push(Resource {
        uri: "https://exchange.example/test".to_owned(),
        source: SourceId(0),
        root: None,
        dynamic_anchors: Vec::new(),
    });
    graph
}

fn parameter(name: &str, location: ParameterIn, required: bool, schema: &str) -> Parameter {
    let query = location == ParameterIn::Query;
    Parameter {
        place: Place { pointer: format!("/parameters/{name}"), ..Place::default() },
        name: name.to_owned(),
        location,
        required,
        deprecated: false,
        description: Some(format!("The {name}.")),
        style: if query { "form" } else { "simple" }.to_owned(),
        explode: query,
        allow_reserved: false,
        schema: Some(at(schema)),
        content: None,
    }
}

fn media(name: &str, schema: &str) -> MediaType {
    MediaType { name: name.to_owned(), schema: Some(at(schema)), encoding: Vec::new() }
}

fn response(status: Status, description: &str, content: Vec<MediaType>) -> Response {
    Response {
        place: Place::default(),
        status,
        description: description.to_owned(),
        content,
        headers: Vec::new(),
    }
}

fn problem() -> Response {
    let headers = vec![Header {
        name: "Retry-After".to_owned(),
        required: false,
        description: None,
        schema: Some(at(LIMIT)),
    }];
    let content = vec![media("application/problem+json", PROBLEM)];
    Response { headers, ..response(Status::Default, "A refusal.", content) }
}

fn operation(method: &str, path: &str, id: &str) -> Operation {
    Operation {
        place: Place { pointer: format!("/paths/{id}"), ..Place::default() },
        id: id.to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        ..Operation::default()
    }
}

fn body(content: Vec<MediaType>, required: bool) -> Option<RequestBody> {
    Some(RequestBody {
        place: Place::default(),
        required,
        description: Some("What changes.".to_owned()),
        content,
    })
}

fn api() -> Api {
    use ParameterIn::{Header, Path, Query};
    let scope = |name: &str| vec![("member".to_owned(), vec![name.to_owned()])];
    let json = "application/json";
    let operations = vec![
        Operation {
            summary: Some("Ships of a member".to_owned()),
            description: Some("One page of the member's ships [A1], see `hangar`.".to_owned()),
            parameters: vec![
                parameter("DPoP", Header, true, TEXT),
                parameter("shipId", Path, true, TEXT),
                parameter("cursor", Query, false, TEXT),
                parameter("limit", Query, false, LIMIT),
                parameter("tag", Query, false, TEXTS),
                parameter("type", Query, true, TEXT),
            ],
            responses: vec![response(Status::Code(200), "A page.", vec![media(json, PAGE)]), problem()],
            security: vec![scope("hangar.read"), scope("hangar.write")],
            ..operation("GET", "/ships/{shipId}/parts", "ships_read")
        },
        Operation {
            summary: Some("Change ships".to_owned()),
            parameters: vec![
                parameter("DPoP", Header, true, TEXT),
                parameter("Idempotency-Key", Header, true, KEY),
                parameter("X-Note", Header, false, MAYBE),
            ],
            request_body: body(vec![media("application/merge-patch+json", CHANGES)], true),
            responses: vec![
                response(Status::Code(200), "Done.", vec![media("application/ship+json", SHIP)]),
                response(Status::Code(202), "Later.", Vec::new()),
                response(Status::Code(409), "Conflict.", vec![media("application/problem+json", PROBLEM)]),
                problem(),
            ],
            security: vec![scope("hangar.write")],
            ..operation("POST", "/ships/changes", "ships_write")
        },
        Operation {
            deprecated: true,
            parameters: vec![parameter("body", Path, true, TEXT)],
            responses: vec![
                response(Status::Code(204), "Gone.", Vec::new()),
                response(Status::Code(404), "Unknown.", vec![media(json, PROBLEM)]),
                response(Status::Code(409), "In use.", vec![media(json, OTHER)]),
            ],
            ..operation("DELETE", "/ships/{body}", "shipRemove")
        },
        Operation {
            request_body: body(vec![media(json, SHIPS)], false),
            responses: vec![response(Status::Code(200), "A picture.", vec![media("image/png", TEXT)])],
            ..operation("PUT", "/ships/picture", "picture")
        },
        Operation {
            request_body: body(vec![media("text/csv", TEXT)], true),
            responses: vec![response(Status::Range(2), "Read.", Vec::new()), problem()],
            ..operation("POST", "/ships/import", "import")
        },
    ];
    Api { title: "Hangar".to_owned(), version: "1.0.0".to_owned(), operations, ..Api::default() }
}

fn options() -> ClientOptions {
    ClientOptions { transport_parameters: vec!["dpop".to_owned()], ..ClientOptions::default() }
}

/// The table that the client describes its calls with.
fn table(api: &Api) -> TokenStream {
    let config = OperationConfig {
        idempotency_header: Some("Idempotency-Key".to_owned()),
        hidden_headers: vec!["DPoP".to_owned()],
        ..OperationConfig::default()
    };
    let contract = Contract { api, graph: &graph(), types: &Shapes, config: &config, side: Side::Paths };
    operations(contract, &mut Diagnostics::new())
}

fn expect(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client").join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{name} differs; look at it and run `UPDATE=1 cargo test -p contract-codegen --test client`"
    );
}

#[test]
fn a_client_is_generated() {
    let module = client(&api(), &graph(), &Shapes, &options(), Side::Paths).unwrap();
    assert!(module.diagnostics.is_empty());
    let printed = |tokens| {
        let code = prettyplease::unparse(&syn::parse2(tokens).unwrap());
        format!("//! What `client.rs` generates, for `client_runs.rs` to call.\n\n{code}")
    };
    let text = printed(module.tokens);
    // `client_runs.rs` compiles and calls what this writes.
    for foreign in ["progenitor", "reqwest", "Lowered", "api-version", "#[allow", "DPoP"] {
        assert!(!text.contains(foreign), "{foreign} is left");
    }
    expect("client.rs", &text);
    expect("operations.rs", &printed(table(&api())));
    let losses: String = module
        .losses
        .iter()
        .map(|loss| format!("{}: {} -> {}\n", loss.place.pointer, loss.what, loss.enforced))
        .collect();
    expect("losses.txt", &losses);
}

#[test]
fn the_lowered_document_is_plain_openapi_3_0() {
    let lowered = lower(&api(), &graph(), &Shapes, &options(), Side::Paths);
    assert!(lowered.diagnostics.is_empty());
    let text = serde_json::to_string_pretty(&lowered.document).unwrap();
    expect("lowered.json", &(text + "\n"));
}

#[test]
fn generation_is_repeatable() {
    let print = || client(&api(), &graph(), &Shapes, &options(), Side::Paths).unwrap().tokens.to_string();
    assert_eq!(print(), print());
}

/// What no client can send is refused by name, or left out with a warning; the rest stays.
#[test]
fn impossible_operations_are_refused_or_skipped() {
    use ParameterIn::Path;
    let with = |parameters: Vec<Parameter>| Operation {
        parameters,
        responses: vec![response(Status::Code(200), "", vec![media("application/json", SHIP)])],
        ..operation("GET", "/odd", "odd")
    };
    let check = |odd: Operation, reason: &str| {
        let mut api = api();
        api.operations.push(odd);
        let error = client(&api, &graph(), &Shapes, &options(), Side::Paths).unwrap_err();
        let messages: Vec<_> = error.iter().map(|each| each.message.clone()).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].starts_with("`odd` has no method"), "{messages:?}");
        assert!(messages[0].contains(reason), "{messages:?}");

        let skip = ClientOptions { skip_unsupported: true, ..options() };
        let module = client(&api, &graph(), &Shapes, &skip, Side::Paths).unwrap();
        assert_eq!(module.diagnostics.len(), 1);
        assert!(!module.tokens.to_string().contains("fn odd"));
        assert!(module.tokens.to_string().contains("fn ships_read"));
    };
    check(with(vec![parameter("lost", Path, true, TEXT)]), "path parameter `lost` is not in the path");
    check(Operation { path: "/odd/{x}".to_owned(), ..with(Vec::new()) }, "the path's `{x}` is no parameter");
    check(Operation { method: "QUERY".to_owned(), ..with(Vec::new()) }, "method `QUERY`");
    check(
        Operation { path: "/ships/picture".to_owned(), method: "PUT".to_owned(), ..with(Vec::new()) },
        "same method and path",
    );
}

/// What progenitor cannot carry is decided without asking it, gets its method all the same, and
/// is said to lack the second opinion.
#[test]
fn operations_beyond_progenitor_are_written_all_the_same() {
    use ParameterIn::{Cookie, Path, Query};
    let ok = || vec![response(Status::Code(200), "", vec![media("application/json", SHIP)])];
    let with = |parameters: Vec<Parameter>| Operation {
        parameters,
        responses: ok(),
        ..operation("GET", "/odd", "odd")
    };
    let check = |odd: Operation, reason: &str, piece: &str| {
        let mut api = api();
        api.operations.push(odd);
        let module = client(&api, &graph(), &Shapes, &options(), Side::Paths).unwrap();
        assert!(module.diagnostics.is_empty(), "{}", module.diagnostics);
        let said: Vec<_> = module.losses.iter().filter(|loss| loss.place.pointer == "/paths/odd").collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].what.starts_with("the operation: ") && said[0].what.contains(reason), "{said:?}");
        let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let code = dense(&module.tokens.to_string());
        assert!(code.contains(&dense(piece)), "{piece}");
    };
    let styled = |style: &str, parameter: Parameter| Parameter { style: style.to_owned(), ..parameter };
    let session = parameter("session", Cookie, false, TEXT);
    check(with(vec![session]), "`session` is a cookie", r#".cookie("session", session)"#);
    check(
        with(vec![parameter("filter", Query, false, SHIP)]),
        "neither a plain value nor a list",
        "filter: Option<&super::types::Ship>",
    );
    check(
        with(vec![styled("deepObject", parameter("filter", Query, false, SHIP))]),
        "the style `deepObject`",
        r#".query("filter", filter)"#,
    );
    check(
        Operation {
            path: "/odd/{at}".to_owned(),
            ..with(vec![styled("matrix", parameter("at", Path, true, TEXT))])
        },
        "the style `matrix`",
        r#".path("at", at)"#,
    );
    let content = Some("application/json".to_owned());
    check(
        with(vec![Parameter { content, ..parameter("filter", Query, false, SHIP) }]),
        "parameter `filter` is `application/json`",
        r#".query("filter", filter)"#,
    );
    check(
        Operation { request_body: body(vec![media("multipart/form-data", SHIP)], true), ..with(Vec::new()) },
        "its body consists of parts",
        r#".multipart("multipart/form-data", body)"#,
    );
    check(
        Operation {
            request_body: body(vec![media("application/json", SHIP), media("text/csv", TEXT)], true),
            ..with(Vec::new())
        },
        "several media types",
        r#"super::bodies::OddBody::Csv(body) => request.text("text/csv", body)"#,
    );
    let answers = vec![
        response(Status::Code(200), "", vec![media("application/json", SHIP), media("text/csv", TEXT)]),
        response(Status::Code(201), "", vec![media("application/json", PAGE)]),
        response(Status::Code(404), "", vec![media("application/json", PROBLEM)]),
        response(Status::Range(4), "", Vec::new()),
        response(Status::Default, "", vec![media("text/plain", TEXT)]),
    ];
    check(
        Operation { responses: answers, ..operation("GET", "/odd", "odd") },
        "bodies of several kinds",
        r#"match response.status() {
            200 if response.is("text/csv") => response.read_text().result(OddAnswer::OkCsv),
            200 => response.read_json().result(OddAnswer::OkJson),
            201 => response.read_json().result(OddAnswer::Created),
            404 => response.read_json().refusal(OddRefusal::NotFound),
            400..=499 => response.read_nothing().refusal(|()| OddRefusal::Status4xx),
            500..=599 => response.read_text().refusal(OddRefusal::Default),
            _ => response.undocumented(),
        }"#,
    );
}
