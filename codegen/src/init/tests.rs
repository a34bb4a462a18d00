//! Tests of `init`: the suggestions for a small contract, and the file that contains them.

#![allow(clippy::unwrap_used)]

use contract_codegen_core::{config::Config, load::Sources};

use super::*;

const API: &str = r#"
openapi: 3.1.0
info: { title: Fleet, version: '1' }
servers: [{ url: 'https://fleet.example' }]
paths:
  /ships:
    post:
      operationId: addShip
      tags: [ships]
      parameters: [{ name: Idempotency-Key, in: header, required: true, schema: { type: string } }, { name: Vendor-Request-Id, in: header, description: For idempotent requests., schema: { type: string } }, { name: DPoP, in: header, schema: { type: string } }]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Login' } } } }
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Event' } } } } }
    get:
      operationId: listShips
      parameters: [{ name: cursor, in: query, schema: { type: string } }]
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ships' } } } } }
  /events:
    get:
      operationId: listEvents
      parameters: [{ name: page, in: query, schema: { type: integer, minimum: 1, maximum: 9 } }]
      responses: { '200': { description: '', headers: { Link: { schema: { type: string } } }, content: { application/json: { schema: { type: array, items: { $ref: '#/components/schemas/Event' } } } } } }
  /seats:
    get:
      operationId: listSeats
      parameters: [{ name: after, in: query, schema: { type: string } }]
      responses: { '200': { description: No cursor in it., content: { application/json: { schema: { type: array, items: { type: string } } } } } }
  /name:
    put:
      operationId: nameShip
      parameters: [{ name: Authorization, in: header, schema: { type: string } }]
      requestBody: { content: { text/plain; charset=größe: {} } }
      responses: { '204': { description: '' } }
components:
  schemas:
    Login:
      type: object
      properties:
        password: { type: string }
        pin: { type: string, format: password }
        handle: { type: string, pattern: '^(?!x)' }
        seed: { $ref: '#/components/schemas/Seed' }
        proof: { type: string, description: Keep this secret. }
        other: { $ref: 'https://vendor.example/v1/other.json#/a' }
        another: { $ref: 'https://vendor.example/v1/other.json#/b' }
        nextPageToken: { type: string }
        token: { type: string, enum: [a, b] }
        size: { type: integer }
        width: { type: integer, minimum: 0, maximum: 9 }
    Seed: { type: string, writeOnly: true }
    Ticket: { type: string, description: This value is secret. }
    Tickets: { type: array, items: { type: string, description: Do not share it. } }
    Ships:
      type: object
      properties:
        data: { type: array, items: { type: string } }
        hasMore: { type: boolean }
        nextPageToken: { type: [string, 'null'] }
    Cargo: { type: object, discriminator: { propertyName: kind }, properties: { kind: { type: string } } }
    Ore: { allOf: [{ $ref: '#/components/schemas/Cargo' }], properties: { grade: { type: string } } }
    Event:
      oneOf:
        - { type: object, required: [kind], properties: { kind: { const: a } } }
        - { type: object, required: [kind], properties: { kind: { const: b } } }
"#;

fn inspect_api() -> InitFindings {
    inspect(API)
}

fn inspect(api: &str) -> InitFindings {
    let mut project = Project::default();
    project.config.types.unsupported = Some(UnsupportedPolicy::Keep);
    project.config.client.skip_unsupported = Some(true);
    let contract = project.analyze_sources(Sources::from_texts(&[("api.yaml", "", api)]).unwrap());
    let contract = contract.unwrap_or_else(|problems| panic!("{problems}"));
    inspect_reading(&project, &contract).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn suggestions_match_the_contract() {
    let found = inspect_api();
    let login = "#/components/schemas/Login/properties";
    let secrets: Vec<&str> = found.secrets.iter().map(|(selector, _)| selector.as_str()).collect();
    assert_eq!(
        secrets,
        [
            &format!("{login}/password"),
            &format!("{login}/pin"),
            &format!("{login}/proof"),
            "#/components/schemas/Seed",
            "#/components/schemas/Ticket",
            "#/components/schemas/Tickets/items"
        ]
    );
    assert_eq!(found.unresolved_uris, ["https://vendor.example/v1/other.json"]);
    assert_eq!(found.unbounded_integers, [format!("{login}/size")]);
    assert_eq!(found.families, [("#/components/schemas/Cargo".to_owned(), 1)]);
    assert_eq!(found.unsupported_patterns, [(format!("{login}/handle"), "^(?!x)".to_owned())]);
    assert_eq!(
        (found.idempotency_headers, found.transport_headers),
        (vec!["Idempotency-Key".to_owned(), "Vendor-Request-Id".to_owned()], vec!["DPoP".to_owned()])
    );
    assert_eq!(found.operations, 5);
    let unsendable = "`nameShip` has no method in the client: a client cannot send the media type `text/plain; charset=größe`";
    assert_eq!(found.unsupported_operations, [unsendable]);
    assert!(found.diagnostics.iter().any(|each| each.message == unsendable), "{}", found.diagnostics);
    assert_eq!(found.servers, ["https://fleet.example"]);
    let paged: Vec<(Vec<&str>, &[String])> = found
        .pages
        .iter()
        .map(|paged| (paged.operations.iter().map(String::as_str).collect(), paged.lines.as_slice()))
        .collect();
    let cursor = r#"cursor = { from = "/nextPageToken", to = "cursor", more = "/hasMore" }"#;
    let lines = [[r#"items = "/data""#, cursor], [r#"items = """#, r#"link = "next""#]];
    let lines = lines.map(|lines| lines.map(str::to_owned));
    assert_eq!(paged, [(vec!["listShips"], &lines[0][..]), (vec!["listEvents"], &lines[1][..])]);
    let [(tag, types)] = found.tags.as_slice() else { panic!("{:?}", found.tags) };
    assert!(tag == "ships" && *types >= 3, "{types}");
}

/// For an operation whose query parameter and response look paginated, `init` suggests a `[[pages]]` table,
/// and `generate` accepts the suggested table.
#[test]
fn pagination_is_recognized_by_parameter_and_response() {
    let check = |parameter: &str, page: &str, lines: &[&str]| {
        let mut api = format!(
            "openapi: 3.1.0\ninfo: {{ title: Fleet, version: '1' }}\npaths:\n  /ships:\n    get:\n      \
             operationId: ships\n      parameters: [{{ name: {parameter}, in: query, schema: {{ type: string }} }}]\n      \
             responses: {{ '200': {{ description: '', content: {{ application/json: {{ schema: {page} }} }} }} }}\n"
        );
        if ["offset", "page"].contains(&parameter) {
            api = api.replace("in: query, schema: { type: string }", "in: query, schema: { type: integer }");
        }
        let found = inspect(&api);
        let proposed: Vec<&str> =
            found.pages.iter().flat_map(|paged| &paged.lines).map(String::as_str).collect();
        assert_eq!(proposed, lines, "{parameter} {page}");
        let options: String = found.pages.iter().fold(String::new(), |options, paged| {
            format!("{options}[[pages]]\noperations = {:?}\n{}\n", paged.operations, paged.lines.join("\n"))
        });
        let project = Project { config: toml::from_str(&options).unwrap(), ..Project::default() };
        let contract = project.analyze_sources(Sources::from_texts(&[("api.yaml", "", &api)]).unwrap());
        let taken = contract.and_then(|contract| project.generate_from(contract).map(drop));
        taken.unwrap_or_else(|problems| panic!("{options}{problems}"));
    };
    let page = |more: &str| {
        format!(
            "{{ type: object, properties: {{ data: {{ type: array, items: {{ type: object, properties: \
             {{ id: {{ type: string }} }} }} }}{more} }} }}"
        )
    };
    let data = r#"items = "/data""#;
    let url = page(", next: { type: [string, 'null'], format: uri }");
    for parameter in ["cursor", "page", "offset"] {
        check(parameter, &url, &[data, r#"next-url = "/next""#]);
    }
    check(
        "starting_after",
        &page(", has_more: { type: boolean }"),
        &[data, r#"last-item = { from = "/id", to = "starting_after", more = "/has_more" }"#],
    );
    check("starting_after", "{ type: array, items: { type: string } }", &[]);
    check(
        "offset",
        &page(", total: { type: integer }"),
        &[data, r#"offset = { to = "offset", total = "/total" }"#],
    );
    check(
        "page",
        &page(", page_count: { type: integer }"),
        &[data, r#"page = { to = "page", total-pages = "/page_count" }"#],
    );
    let composed = "{ allOf: [{ type: object, properties: { count: { type: integer } } }, { type: object, required: \
                    [total], properties: { total: { type: integer } } }] }";
    let meta = page(&format!(", meta: {composed}"));
    let whole = page("");
    for page in
        [meta, format!("{{ allOf: [{whole}, {{ type: object, properties: {{ meta: {composed} }} }}] }}")]
    {
        check("page", &page, &[data, r#"page = { to = "page", total = "/meta/total" }"#]);
        check("offset", &page, &[data, r#"offset = { to = "offset", total = "/meta/total" }"#]);
    }
    let links = page(
        ", links: { type: object, properties: { pages: { type: object, properties: { next: { type: string, format: \
         uri } } } } }",
    );
    check("page", &links, &[data, r#"next-url = "/links/pages/next""#]);
    // Errors precede the items, and the path is `/ships`.
    let list = |names: &[&str]| {
        let lists =
            names.iter().map(|name| format!("{name}: {{ type: array, items: {{ type: object }} }}, "));
        format!("{{ type: object, properties: {{ {}next: {{ type: string }} }} }}", lists.collect::<String>())
    };
    let cursor = r#"cursor = { from = "/next", to = "Page_Token" }"#;
    check("Page_Token", &list(&["errors", "cargo"]), &[r#"items = "/cargo""#, cursor]);
    check("Page_Token", &list(&["cargo", "ships"]), &[r#"items = "/ships""#, cursor]);
    check("Page_Token", &list(&["errors"]), &[r#"items = "/errors""#, cursor]);
    // A URL of the next page needs no parameter.
    check(
        "filter",
        &page(", next_page_uri: { type: string, format: uri }"),
        &[data, r#"next-url = "/next_page_uri""#],
    );
    let other = page(", cargo: { type: object, properties: { total: { type: integer } } }");
    check("page", &other, &[data, r#"page = { to = "page" }"#]);
    check(
        "page",
        "{ type: array, items: { type: string } }",
        &[r#"items = """#, r#"page = { to = "page" }"#],
    );
    check("colour", &page(""), &[]);
}

#[test]
fn generated_file_is_valid_with_and_without_comments() {
    let text = codegen_toml(&inspect_api(), &["api.yaml".to_owned()]);
    let config: Config = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(config.inputs, [PathBuf::from("api.yaml")]);
    assert_eq!(config.types.unchecked, ["#/components/schemas/Login/properties/handle"]);
    // Each option that a comment of the file mentions is an option that the configuration supports.
    let options = |line: &str| {
        let name = line.split([' ', '=']).next().unwrap_or_default();
        line.contains(" = ") && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let mut awake = String::new();
    for line in text.lines() {
        let inner = line.strip_prefix("# ").unwrap_or(line);
        let list = inner.starts_with("    \"") || inner == "]";
        let selector = inner.starts_with('"') && inner.contains("\" = ");
        let wake = options(inner) || list || selector || inner.starts_with('[');
        awake.push_str(if wake { inner } else { line });
        awake.push('\n');
    }
    let config: Config = toml::from_str(&awake).unwrap_or_else(|e| panic!("{e}\n{awake}"));
    assert_eq!((config.secrets.len(), config.open.len(), config.areas.len()), (6, 0, 1));
    assert_eq!(config.mounts["https://vendor.example/v1/"], PathBuf::from("vendor"));
    assert_eq!(
        config.operations.idempotency_header.as_ref().map(|header| header.name()),
        Some("Idempotency-Key")
    );
    assert_eq!((config.names.len(), config.replace.len()), (3, 1), "{awake}");
    assert_eq!(config.pages.len(), 2, "{awake}");
    assert!(
        config.pages.iter().all(|pages| pages.strategy_names().len() == 1 && pages.operations.len() == 1)
    );
    assert_eq!((config.derives.len(), config.attributes.len()), (1, 1), "{awake}");
    assert_eq!(config.streams.ends, ["[DONE]"], "{awake}");
    // The file mentions options that users of other generators may look for.
    for option in ["[derives]", "[attributes]", "rust-types = ", "formats = ", "[streams]", "credentials = "]
    {
        assert!(text.contains(&format!("\n# {option}")), "{option}\n{text}");
    }
}

/// The commented lines with default values, once uncommented, give a configuration that is equal to the
/// default.
#[test]
fn commented_defaults_change_nothing() {
    let page = |workspace| {
        codegen_toml(
            &InitFindings { operations: 1, in_workspace: workspace, ..InitFindings::default() },
            &["api.yaml".to_owned()],
        )
    };
    // The example of `rust-types` refers to a type in the user's crate.
    assert!(
        page(false).contains("\n# \"#/components/schemas/Money\" = \"crate::Money\"\n"),
        "{}",
        page(false)
    );
    assert!(!page(false).contains("contract_codegen"), "{}", page(false));
    assert!(page(false).contains("\n# skip-unsupported = true\n"), "{}", page(false));
    assert!(page(false).contains("\n# member = false\n") && page(true).contains("\n# member = true\n"));
}

/// File names with quotes, control characters or non-ASCII characters are written as TOML strings that parse
/// to the same name.
#[test]
fn unusual_file_names_are_valid_toml_strings() {
    for name in ["e\u{301}.yaml", "a\u{200b}\"\\.yaml", "a\tb\u{85}\u{7f}\u{1}.yaml", "\u{1f600}'.yaml"] {
        let text = codegen_toml(
            &InitFindings { package: name.to_owned(), ..InitFindings::default() },
            &[name.to_owned()],
        );
        let config: Config = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!((config.inputs, config.package.name.as_deref()), (vec![PathBuf::from(name)], Some(name)));
    }
}
