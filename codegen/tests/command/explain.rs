//! Tests of the output of `explain` for types, fields and operations.

use super::*;

#[test]
fn explain_lists_all_constraints_of_the_rustdoc() {
    let folder = Folder::new("explain-rules");
    folder.put(
        "rules.json",
        r#"{"$id": "https://a.example/rules.json", "title": "Rules", "type": "object", "properties": {
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^a", "format": "x"}},
            "day": {"type": "string", "format": "date", "default": "2026-01-01"},
            "list": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
            "version": {"const": true}
        }}"#,
    );
    let result = folder.run(&["explain", "Rules", "rules.json"]).expect_exit(0);
    for expected in [
        "- minItems 1: by `is_valid`",
        "- each element: pattern ^a: by `is_valid`",
        "- each element: format x: annotation, not checked",
        "- format date: annotation, not checked",
        "- default \"2026-01-01\": annotation, not checked",
        "- default [1,2]: annotation, not checked",
        "- const true: by",
    ] {
        assert!(result.out.contains(expected), "{expected}\n{}", result.out);
    }
    folder.run(&["generate", "rules.json", "-o", "api"]).expect_exit(0);
    let models = fs::read_to_string(folder.0.join("api/src/models.rs")).unwrap();
    for expected in [
        "Limits: at least 1 entry; each format `x`; matches `^a`.",
        "Limits: format `date`.",
        "Default: `\"2026-01-01\"`.",
        "Default: `[1,2]`.",
        "Always `true`.",
    ] {
        assert!(models.contains(expected), "{expected}\n{models}");
    }
}

/// `explain` uses the unique method names of the client.
#[test]
fn explain_uses_the_names_of_the_client() {
    let folder = Folder::new("explain-names");
    folder.put(
        "api.json",
        r#"{"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {"/a": {"get": {
            "operationId": "clone",
            "parameters": [
                {"name": "body", "in": "query", "schema": {"type": "string"}},
                {"name": "X-Hidden", "in": "header", "schema": {"type": "string"}},
                {"name": "X-Sent", "in": "header", "schema": {"type": "string"}}
            ],
            "responses": {"204": {"description": ""}}
        }}}}"#,
    );
    let options = "inputs = [\"api.json\"]\n[operations]\nhidden-headers = [\"X-Hidden\"]\n[client]\ntransport-headers = [\"X-Sent\"]\n";
    folder.put("codegen.toml", options);
    let result = folder.run(&["explain", "call_clone", "codegen.toml"]).expect_exit(0);
    for expected in [
        "method `call_clone`",
        "call type `CloneCall`",
        "body (query_body): ",
        "X-Hidden: String, header parameter, optional, used by neither client nor server",
        "X-Sent: String, header parameter, optional, supplied by the transport",
    ] {
        assert!(result.out.contains(expected), "{expected}\n{}", result.out);
    }
}

/// `explain` lists the response types of the client and the server. Media types other than JSON are strings
/// or bytes, and streams have an item type.
#[test]
fn explain_lists_response_types() {
    let folder = Folder::new("explain-answers");
    folder.put(
        "api.json",
        r#"{"openapi": "3.2.0", "info": {"title": "", "version": ""}, "paths": {"/a": {"get": {
            "operationId": "watch",
            "responses": {
                "404": {"description": "", "content": {"text/plain": {"schema": {"type": "integer"}}}},
                "200": {"description": "", "content": {
                    "text/event-stream": {"itemSchema": {"type": "object", "properties": {"data": {
                        "contentMediaType": "application/json", "contentSchema": {"type": "integer"}
                    }}}},
                    "image/png": {"schema": {"type": "string"}}
                }}
            }
        }}}}"#,
    );
    folder.put("codegen.toml", "inputs = [\"api.json\"]\n[streams]\n");
    let result = folder.run(&["explain", "watch", "codegen.toml"]).expect_exit(0);
    let expected = "  text/event-stream: stream of i64, response 200\n  image/png: bytes, response 200\n  text/plain: \
                i64, response 404\n";
    assert!(result.out.ends_with(expected), "{}", result.out);
}

#[test]
fn explain_lists_locations_and_enforcement() {
    let folder = Folder::new("explain");
    let result = folder.run(&["explain", "Ticket", "tickets.yaml"]).expect_exit(0);
    for expected in [
        "struct Ticket, in module `models`",
        "from tickets.yaml:20 #/components/schemas/Ticket",
        "A seat in a train.",
        "seat: i64, required",
        "- maximum 99: by `is_valid`",
        "- dependentRequired refund needs reason: by `is_valid`",
        "note: Nullable<String>, optional",
        "- type integer: by the type",
    ] {
        assert!(result.out.contains(expected), "{expected}\n{}", result.out);
    }
    let result = folder.run(&["explain", "Fare", "tickets.yaml"]).expect_exit(0);
    assert!(result.out.contains("enum by tag `kind`"), "{}", result.out);
    let result = folder.run(&["explain", "Ticket.note", "tickets.yaml"]).expect_exit(0);
    assert!(result.out.contains("/properties/note") && result.out.contains("maxLength 40"), "{}", result.out);
    let result = folder.run(&["explain", "readTicket", "tickets.yaml"]).expect_exit(0);
    assert!(result.out.contains("GET /tickets/{id}") && result.out.contains("minLength 4"), "{}", result.out);
    let result =
        folder.run(&["explain", "#/components/schemas/Fare", "tickets.yaml", "--json"]).expect_exit(0);
    assert_eq!(result.summary()["found"][0]["parts"][0]["name"], "Full");
    for (wrong, near) in [("Tiket", "Ticket"), ("Ticket.seet", "Ticket.seat"), ("readTickets", "readTicket")]
    {
        let result = folder.run(&["explain", wrong, "tickets.yaml"]).expect_exit(2);
        assert!(result.err.contains(&format!("did you mean `{near}`?")), "{}", result.err);
    }
}

#[test]
fn explain_names_the_scopes_of_an_operation() {
    let folder = Folder::new("explain-scopes");
    folder.put(
        "api.yaml",
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get: {operationId: readA, security: [{sign-in: [read, write]}, {key: []}], responses: {'204': {description: d}}}\n    put: {operationId: writeA, responses: {'204': {description: d}}}\ncomponents:\n  securitySchemes:\n    key: {type: apiKey, in: header, name: X-Key}\n    sign-in: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://a.test', scopes: {read: r, write: w}}}}\n",
    );
    let result = folder.run(&["explain", "readA", "api.yaml"]).expect_exit(0);
    assert!(result.out.contains("; requires `sign-in` (scopes `read`, `write`), or `key`"), "{}", result.out);
    let result = folder.run(&["explain", "writeA", "api.yaml"]).expect_exit(0);
    assert!(!result.out.contains("requires"), "{}", result.out);
}
