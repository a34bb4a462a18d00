//! `explain`: what it tells of types, members and operations.

use super::*;

#[test]
fn explain_tells_all_that_stands_in_rustdoc() {
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
    let ran = folder.run(&["explain", "Rules", "rules.json"]).ended(0);
    for words in [
        "- minItems 1: by `is_valid`",
        "- each element: pattern ^a: by `is_valid`",
        "- each element: format x: annotation, not checked",
        "- format date: annotation, not checked",
        "- default \"2026-01-01\": annotation, not checked",
        "- default [1,2]: annotation, not checked",
        "- const true: by",
    ] {
        assert!(ran.out.contains(words), "{words}\n{}", ran.out);
    }
    folder.run(&["generate", "rules.json", "-o", "api"]).ended(0);
    let models = fs::read_to_string(folder.0.join("api/src/models.rs")).unwrap();
    for words in [
        "Limits: at least 1 entry; each format `x`; matches `^a`.",
        "Limits: format `date`.",
        "Default: `\"2026-01-01\"`.",
        "Default: `[1,2]`.",
        "Always `true`.",
    ] {
        assert!(models.contains(words), "{words}\n{models}");
    }
}

/// The names of methods are the plan's, which keeps them apart.
#[test]
fn explain_names_operations_as_the_client_does() {
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
    let ran = folder.run(&["explain", "call_clone", "codegen.toml"]).ended(0);
    for words in [
        "method `call_clone`",
        "call type `CloneCall`",
        "body (query_body): ",
        "X-Hidden: String, header parameter, optional, used by neither client nor server",
        "X-Sent: String, header parameter, optional, supplied by the transport",
    ] {
        assert!(ran.out.contains(words), "{words}\n{}", ran.out);
    }
}

/// Answers are the plan's: what is no JSON is text or bytes whatever its schema says, and what comes
/// one after another is told by what one is.
#[test]
fn explain_tells_answers_as_both_sides_have_them() {
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
    let ran = folder.run(&["explain", "watch", "codegen.toml"]).ended(0);
    let told = "  text/event-stream: stream of i64, response 200\n  image/png: bytes, response 200\n  text/plain: \
                String, response 404\n";
    assert!(ran.out.ends_with(told), "{}", ran.out);
}

#[test]
fn explain_says_where_from_and_what_enforces() {
    let folder = Folder::new("explain");
    let ran = folder.run(&["explain", "Ticket", "tickets.yaml"]).ended(0);
    for words in [
        "struct Ticket, in module `models`",
        "from tickets.yaml:20 #/components/schemas/Ticket",
        "A seat in a train.",
        "seat: i64, required",
        "- maximum 99: by `is_valid`",
        "- dependentRequired refund needs reason: by `is_valid`",
        "note: Nullable<String>, optional",
        "- type integer: by the type",
    ] {
        assert!(ran.out.contains(words), "{words}\n{}", ran.out);
    }
    let ran = folder.run(&["explain", "Fare", "tickets.yaml"]).ended(0);
    assert!(ran.out.contains("enum by tag `kind`"), "{}", ran.out);
    let ran = folder.run(&["explain", "Ticket.note", "tickets.yaml"]).ended(0);
    assert!(ran.out.contains("/properties/note") && ran.out.contains("maxLength 40"), "{}", ran.out);
    let ran = folder.run(&["explain", "readTicket", "tickets.yaml"]).ended(0);
    assert!(ran.out.contains("GET /tickets/{id}") && ran.out.contains("minLength 4"), "{}", ran.out);
    let ran = folder.run(&["explain", "#/components/schemas/Fare", "tickets.yaml", "--json"]).ended(0);
    assert_eq!(ran.summary()["found"][0]["parts"][0]["name"], "Full");
    for (wrong, near) in [("Tiket", "Ticket"), ("Ticket.seet", "Ticket.seat"), ("readTickets", "readTicket")]
    {
        let ran = folder.run(&["explain", wrong, "tickets.yaml"]).ended(2);
        assert!(ran.err.contains(&format!("did you mean `{near}`?")), "{}", ran.err);
    }
}
