//! CON-13, CON-14 and the routes of every area: method, path, scope, idempotency key, query parameters and
//! bodies.

use contract_runtime::{
    operation::{Operation, ResponseKind, StatusRange},
    parameters::{Parameter, ParameterLocation, ParameterReader, QueryPairs},
};
use exchange_api::operations::OPERATIONS;

use super::{scopes::SCOPES, *};

/// Requirements, operation, method, path below `/exchange/v1`, scope (empty: any scope), request body (empty:
/// no body), response body.
type Route =
    (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const ROUTES: [Route; 18] = [
    ("SVC-01", "service_document", "GET", "", "exchange.connect", "", "service-document"),
    (
        "SVC-08, SVC-11",
        "installation_label",
        "POST",
        "/me/installation",
        "exchange.connect",
        "installation--labelledInstallation",
        "installation",
    ),
    (
        "SVC-13, SVC-14",
        "account_check",
        "POST",
        "/me/account-check",
        "exchange.connect",
        "account-check-request",
        "account-check-response",
    ),
    ("RES-01", "catalog_resolve", "POST", "/catalog/resolve", "", "resolve-request", "resolve-response"),
    ("RES-15", "catalog_locations", "GET", "/catalog/locations", "", "", "location-list"),
    (
        "BPR-01",
        "blueprints_read",
        "GET",
        "/me/blueprints",
        "exchange.blueprints.read",
        "",
        "page--blueprintPage",
    ),
    (
        "BPR-04",
        "blueprints_write",
        "POST",
        "/me/blueprints/changes",
        "exchange.blueprints.write",
        "change-set--blueprintChangeSet",
        "change-result",
    ),
    ("STK-01", "stock_read", "GET", "/me/stock", "exchange.stock.read", "", "page--stockPage"),
    (
        "STK-05",
        "stock_write",
        "POST",
        "/me/stock/changes",
        "exchange.stock.write",
        "change-set--stockChangeSet",
        "change-result",
    ),
    ("SHP-01", "ships_read", "GET", "/me/ships", "exchange.hangar.read", "", "page--shipPage"),
    (
        "SHP-06",
        "ships_write",
        "POST",
        "/me/ships/changes",
        "exchange.hangar.write",
        "change-set--shipChangeSet",
        "change-result",
    ),
    ("ORG-02", "org_units_read", "GET", "/me/org-units", "exchange.orgunits.read", "", "org-unit-list"),
    ("OST-04", "org_stock_read", "GET", "/org-stock", "exchange.orgstock.read", "", "page--orgStockPage"),
    (
        "OST-15",
        "org_stock_members",
        "GET",
        "/org-stock/members",
        "exchange.orgstock.write",
        "",
        "org-stock-members",
    ),
    (
        "OST-16",
        "org_stock_write",
        "POST",
        "/org-stock/changes",
        "exchange.orgstock.write",
        "change-set--orgStockChangeSet",
        "change-result",
    ),
    ("DEM-01", "demand_read", "GET", "/me/org-demand", "exchange.demand.read", "", "org-demand"),
    (
        "DRF-06",
        "drafts_blueprints",
        "POST",
        "/me/drafts/blueprints",
        "exchange.drafts.blueprints",
        "blueprint-draft",
        "draft-result",
    ),
    (
        "DRF-08",
        "drafts_refinery",
        "POST",
        "/me/drafts/refinery-orders",
        "exchange.drafts.refinery",
        "refinery-draft",
        "draft-result",
    ),
];

fn full(path: &str) -> String {
    format!("/exchange/v1{path}")
}

/// Returns the operation with a method and a path from the OpenAPI document.
fn described<'a>(document: &'a Value, method: &str, path: &str) -> &'a Value {
    let operation = &document["paths"][full(path)][method.to_lowercase()];
    assert!(operation.is_object(), "{method} {path} is not described");
    operation
}

/// Returns the fixture folder of the schema that a `$ref` names by its absolute `$id`.
fn folder(reference: &Value) -> String {
    let uri = reference["$ref"].as_str().unwrap_or_else(|| panic!("no reference: {reference}"));
    let name = uri.strip_prefix("https://exchange.example/exchange/v1/schemas/").unwrap();
    name.replace(".schema.json#/$defs/", "--").replace(".schema.json", "")
}

/// Returns the statuses of an operation's success responses.
fn successes(operation: &Operation) -> Vec<u16> {
    let own = operation.responses.iter().filter(|response| response.kind == ResponseKind::Success);
    own.filter_map(|response| match response.statuses {
        StatusRange::Code(code) => Some(code),
        _ => None,
    })
    .collect()
}

/// CON-01, CON-14: the routes that need a token are exactly `ROUTES`, and the server URL has no path.
#[test]
fn the_signed_in_routes_are_these() {
    let mut found: Vec<_> =
        OPERATIONS.iter().filter(|o| !o.anonymous).map(|o| (o.path.to_owned(), o.method, o.id)).collect();
    let mut expected: Vec<_> =
        ROUTES.iter().map(|(_, id, method, path, ..)| (full(path), *method, *id)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    let servers = file("openapi.json")["servers"].clone();
    assert_eq!(servers.as_array().unwrap().len(), 1);
    let origin = servers[0]["url"].as_str().unwrap().strip_prefix("https://").unwrap();
    assert!(!origin.contains('/'), "CON-01: {origin}");
}

/// CON-05, CON-03: only the OpenAPI document and the schema files are served without a token.
#[test]
fn the_contract_is_read_without_signing_in() {
    let anonymous: Vec<_> =
        OPERATIONS.iter().filter(|o| o.anonymous).map(|o| (o.method, o.path, o.scopes.len())).collect();
    assert_eq!(
        anonymous,
        [("GET", "/exchange/v1/openapi.json", 0), ("GET", "/exchange/v1/schemas/{name}.schema.json", 0),]
    );
    let document = file("openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    for path in ["/openapi.json", "/schemas/{name}.schema.json"] {
        assert_eq!(described(&document, "GET", path)["security"], serde_json::json!([]), "CON-05: {path}");
    }
}

/// CON-13, RES-02, SVC-01, SVC-08, SVC-13, BPR-01, BPR-04, STK-01, STK-05, SHP-01, SHP-06, OST-15, OST-16,
/// DEM-01, DRF-06, DRF-08: every route requires the scope of its area; the catalogue accepts any scope.
#[test]
fn every_route_requires_its_scope() {
    let any: Vec<Vec<&str>> = SCOPES.iter().map(|(scope, ..)| vec![*scope]).collect();
    let document = file("openapi.json");
    for (rows, id, method, path, scope, ..) in ROUTES {
        let operation = OPERATIONS.iter().find(|o| o.id == id).unwrap();
        let expected = if scope.is_empty() { any.clone() } else { vec![vec![scope]] };
        assert_eq!(operation.scopes, expected, "{rows}: {id}");
        let described = described(&document, method, path)["security"].as_array().unwrap().clone();
        let security: Vec<Value> = expected.iter().map(|all| serde_json::json!({ "member": all })).collect();
        assert_eq!(described, security, "{rows}: {id}");
    }
}

/// CON-13: `exchange.orgstock.details` is the only optional scope: it adds data to a response that is also
/// sent without it.
#[test]
fn org_stock_details_scope_is_optional() {
    let document = file("openapi.json");
    for (_, id, method, path, ..) in ROUTES {
        let optional = &described(&document, method, path)["x-optional-scopes"];
        if id == "org_stock_read" {
            assert_eq!(*optional, serde_json::json!(["exchange.orgstock.details"]));
        } else {
            assert!(optional.is_null(), "CON-13: {id}");
        }
    }
}

/// CON-02: every request and response body is JSON that one schema file describes.
#[test]
fn every_body_has_a_schema_file() {
    let document = file("openapi.json");
    for (rows, id, method, path, _, request, response) in ROUTES {
        let described = described(&document, method, path);
        let operation = OPERATIONS.iter().find(|o| o.id == id).unwrap();
        assert_eq!(successes(operation), [200], "{rows}: {id}");
        let content = described["responses"]["200"]["content"].as_object().unwrap();
        assert_eq!(content.keys().collect::<Vec<_>>(), ["application/json"], "CON-02: {id}");
        assert_eq!(folder(&content["application/json"]["schema"]), response, "{rows}: {id}");
        if request.is_empty() {
            assert!(described["requestBody"].is_null() && operation.body.is_none(), "{rows}: {id}");
            continue;
        }
        let body = operation.body.unwrap();
        let types: Vec<&str> = body.content.iter().map(|content| content.media_type).collect();
        assert_eq!((body.required, types.as_slice()), (true, &["application/json"][..]), "CON-02: {id}");
        let content = described["requestBody"]["content"].as_object().unwrap();
        assert_eq!(content.keys().collect::<Vec<_>>(), ["application/json"], "CON-02: {id}");
        assert_eq!(folder(&content["application/json"]["schema"]), request, "{rows}: {id}");
    }
}

/// GW-09, SVC-08, SVC-13, WRT-01, OST-16: the four change sets and both drafts require an idempotency key; no
/// other operation has one.
#[test]
fn writes_need_an_idempotency_key() {
    let writes = [
        "blueprints_write",
        "stock_write",
        "ships_write",
        "org_stock_write",
        "drafts_blueprints",
        "drafts_refinery",
    ];
    for operation in OPERATIONS {
        let expected = writes.contains(&operation.id);
        assert_eq!(operation.idempotent, expected, "GW-09: {operation:?}");
        let key = operation.parameters.iter().find(|p| p.name == "Idempotency-Key");
        let found = key.map(|p| (p.location, p.required));
        assert_eq!(found, expected.then_some((ParameterLocation::Header, true)), "GW-09: {operation:?}");
    }
    assert_eq!(exchange_api::codes::Code::from("IDEMPOTENCY_KEY_MISSING").status(), Some(400));
}

/// FED-01, OST-15, SVC-01, RES-15, DEM-01: the four feeds have the query parameters `cursor` and `limit`, the
/// roster has `unit`, and no other route has query parameters.
#[test]
fn feeds_take_cursor_and_limit() {
    for (rows, id, ..) in ROUTES {
        let operation = OPERATIONS.iter().find(|o| o.id == id).unwrap();
        let query = operation.parameters.iter().filter(|p| p.location == ParameterLocation::Query);
        let found: Vec<_> = query.map(|p| (p.name, p.required)).collect();
        let expected: &[(&str, bool)] = match id {
            "blueprints_read" | "stock_read" | "ships_read" | "org_stock_read" => {
                &[("cursor", false), ("limit", false)]
            }
            "org_stock_members" => &[("unit", true)],
            _ => &[],
        };
        assert_eq!(found, expected, "FED-01, {rows}: {id}");
    }
}

/// FED-08: any string is valid as a cursor parameter; only the server decides whether it issued it. The
/// length of cursors in responses is limited. FED-01, LIM-14: the schema validates only `limit`.
#[test]
fn any_string_is_a_cursor() {
    let mut feeds = 0;
    for cursor in OPERATIONS.iter().flat_map(|o| o.parameters).filter(|p| p.name == "cursor") {
        feeds += 1;
        let valid = |text: &str| {
            let json = Json::parse(text.as_bytes()).unwrap();
            cursor.validator.is_none_or(|validator| validator.is_valid(&json))
        };
        for text in ["\"Zz09._:-\"", "\"\"", "\"a b/ü\\u0000\"", &letters(4000)] {
            assert!(valid(text), "FED-08: {text:.40}");
        }
    }
    assert_eq!(feeds, 4);
    let declared = &file("openapi.json")["components"]["parameters"]["Cursor"]["schema"];
    assert_eq!(*declared, serde_json::json!({"type": "string"}), "FED-08");
    check(&[
        ("FED-08", "page--cursor", &letters(129), &[("", "maxLength")]),
        ("FED-08", "page--cursor", r#""a b""#, &[("", "pattern")]),
        ("FED-08", "page--cursor", r#""""#, &[("", "minLength"), ("", "pattern")]),
    ]);
    assert_eq!(exchange_api::codes::Code::from("CURSOR_EXPIRED").status(), Some(410));
}

/// FED-08: a limit consists of one to four ASCII digits that are not percent-encoded.
#[test]
fn a_limit_is_one_to_four_digits() {
    let operation = OPERATIONS.iter().find(|o| o.parameters.iter().any(|p| p.name == "limit")).unwrap();
    let read = |text: &str| {
        let path = operation.path.replace(['{', '}'], "");
        let request = http::Request::builder().uri(format!("{path}?limit={text}")).body(()).unwrap();
        let (parts, ()) = request.into_parts();
        let query = QueryPairs::parse(parts.uri.query().unwrap()).unwrap();
        let parameters: Vec<Parameter> =
            operation.parameters.iter().filter(|p| p.name == "limit").copied().collect();
        let sources = ParameterReader {
            template: operation.path,
            parameters: &parameters,
            parts: &parts,
            query: &query,
        };
        match sources.read_all() {
            Ok(values) => values[0].as_ref().unwrap().to_string(),
            Err(faults) => faults.iter().map(|fault| fault.keyword).collect::<Vec<_>>().join(" "),
        }
    };
    for (text, expect) in [
        ("1", "1"),
        ("1000", "1000"),
        ("0500", "500"),
        ("0001", "1"),
        ("0", "minimum"),
        ("0000", "minimum"),
        ("1001", "maximum"),
        ("9999", "maximum"),
        ("00500", "type"),
        ("10000", "maximum"),
        ("1e2", "type"),
        ("5.0", "type"),
        ("-5", "minimum"),
        ("%2B5", "type"),
        ("+5", "type"),
        ("", "type"),
        ("%D9%A3", "type"),
    ] {
        assert_eq!(read(text), expect, "FED-08: {text}");
    }
}

/// OST-15: the `unit` parameter of the roster is a unit id, as on every other route.
#[test]
fn the_unit_of_a_roster_is_a_unit_id() {
    let declared = &file("openapi.json")["components"]["parameters"]["Unit"]["schema"];
    assert_eq!(folder(declared), "org-unit--unitId");
}

/// CON-05, CON-03: the response for a file that has not changed is `304` without a body.
#[test]
fn unchanged_file_is_not_sent_again() {
    let document = file("openapi.json");
    let sent = serde_json::json!({"$ref": "#/components/parameters/IfNoneMatch"});
    let tag = serde_json::json!({"$ref": "#/components/headers/ETag"});
    let caching = serde_json::json!({"$ref": "#/components/headers/CacheControl"});
    for (method, path) in [("GET", "/openapi.json"), ("GET", "/schemas/{name}.schema.json")] {
        let described = described(&document, method, path);
        assert!(described["parameters"].as_array().unwrap().contains(&sent), "CON-05: {path}");
        let same = &described["responses"]["304"];
        assert!(same.is_object() && same["content"].is_null(), "CON-05: {path}");
        for response in [same, &described["responses"]["200"]] {
            assert_eq!(
                (&response["headers"]["ETag"], &response["headers"]["Cache-Control"]),
                (&tag, &caching)
            );
        }
    }
    for operation in OPERATIONS {
        let known = successes(operation).contains(&304);
        assert_eq!(known, operation.anonymous, "CON-05: {operation:?}");
    }
}

/// GW-13: every request may contain a correlation id with any value; every response contains one.
#[test]
fn every_call_may_carry_a_correlation_id() {
    let document = file("openapi.json");
    let parameter = &document["components"]["parameters"]["CorrelationId"];
    assert_eq!(
        (&parameter["name"], &parameter["in"]),
        (&Value::from("X-Correlation-Id"), &Value::from("header"))
    );
    assert_eq!(parameter["required"], false);
    assert_eq!(parameter["schema"], serde_json::json!({"type": "string"}));
    let sent = serde_json::json!({"$ref": "#/components/parameters/CorrelationId"});
    let answered = serde_json::json!({"$ref": "#/components/headers/CorrelationId"});
    for operation in OPERATIONS {
        let path = operation.path.strip_prefix("/exchange/v1").unwrap();
        let described = described(&document, operation.method, path);
        assert!(described["parameters"].as_array().unwrap().contains(&sent), "GW-13: {operation:?}");
        let headers = &described["responses"]["200"]["headers"];
        assert_eq!(headers["X-Correlation-Id"], answered, "GW-13: {operation:?}");
    }
    assert_eq!(document["components"]["responses"]["Problem"]["headers"]["X-Correlation-Id"], answered);
    assert_eq!(document["components"]["headers"]["CorrelationId"]["schema"]["maxLength"], 128);
}
