//! Tests of selections from a small contract.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{analyzed_contract::AnalyzedContract, config::Config, generate::Project};

const API: &str = r#"
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    get:
      operationId: ships/list
      tags: [ships]
      parameters: [{ name: limit, in: query, schema: { $ref: '#/components/schemas/Limit' } }]
      responses: { '200': { description: '', content: { application/json: { schema: { type: array, items: { $ref: '#/components/schemas/Ship' } } } } } }
    post:
      operationId: ships/add
      tags: [ships, writes]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } }
      responses: { '204': { description: '' } }
  /orgs/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    get:
      operationId: orgs/read
      tags: [orgs]
      servers: [{ url: 'https://orgs.example' }]
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Org' } } } } }
webhooks:
  moved:
    post:
      operationId: moved
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Moved' } } } }
      responses: { '204': { description: '' } }
components:
  schemas:
    Ship: { type: object, properties: { hull: { $ref: '#/components/schemas/Hull' }, org: { $ref: 'own.schema.json#/$defs/orgId' } } }
    Hull: { type: string, pattern: '^[A-Z]' }
    Limit: { type: integer, maximum: 9 }
    Org: { type: object, properties: { next: { $ref: '#/components/schemas/Org' }, odd: { type: string, pattern: '(?=a)' } } }
    Moved: { type: object, properties: { ship: { $ref: '#/components/schemas/Ship' } } }
    Unused: { type: object, properties: { a: { type: string } } }
"#;
const OWN: &str = r#"{"$defs": {"orgId": {"type": "string", "minLength": 1}, "other": {"type": "object", "properties": {"x": {}}}}}"#;
const ALONE: &str = r##"{"title": "Alone", "type": "object", "properties": {"part": {"$ref": "#/$defs/part"}},
    "$defs": {"part": {"type": "object", "properties": {"y": {}}}}}"##;

fn read(options: &str) -> Result<AnalyzedContract, String> {
    let config: Config = toml::from_str(options).unwrap();
    let texts = [("api.yaml", "", API), ("own.schema.json", "", OWN), ("alone.schema.json", "", ALONE)];
    let project = Project { config, ..Project::default() };
    project.analyze_sources(Sources::from_texts(&texts).unwrap()).map_err(|problems| problems.render(false))
}

/// Asserts that these options of `[operations]` keep exactly these operations and webhooks, and these types.
#[track_caller]
fn check(options: &str, operations: &[&str], types: &[&str]) {
    let contract = read(&format!("[operations]\n{options}")).unwrap();
    let api = &contract.api;
    let found: Vec<&str> = api.operations.iter().chain(&api.webhooks).map(|o| o.id.as_str()).collect();
    assert_eq!(found, operations, "{options}");
    let mut found: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, types, "{options}");
    let full_size = contract.full_size.unwrap();
    assert_eq!((full_size.operations, full_size.webhooks), (3, 1));
    let remaining = contract.graph.schemas.len();
    assert!(remaining < full_size.schemas, "{remaining} of {}", full_size.schemas);
}

#[test]
fn operations_keep_only_reachable_schemas() {
    let always = ["Alone", "Part"];
    let with_always = |more: &[&'static str]| -> Vec<&'static str> {
        let mut names: Vec<&str> = always.iter().chain(more).copied().collect();
        names.sort_unstable();
        names
    };
    let ships = with_always(&["Hull", "Limit", "OrgId", "Ship"]);
    check("include = [{ tag = 'ships' }]", &["ships/list", "ships/add"], &ships);
    check("include = [{ path = '/ships/**' }]", &["ships/list", "ships/add"], &ships);
    let add_types = with_always(&["Hull", "OrgId", "Ship"]);
    check("include = [{ operation = '*/add' }]", &["ships/add"], &add_types);
    check("include = [{ tag = 'ships', operation = '*add' }]", &["ships/add"], &add_types);
    check(
        "include = [{ tag = 'ships' }]\nexclude = [{ operation = 'ships/list' }]",
        &["ships/add"],
        &add_types,
    );
    let webhook_types = with_always(&["Hull", "Moved", "OrgId", "Ship"]);
    check("include = [{ webhook = '*' }]", &["moved"], &webhook_types);
    check("include = [{ operation = 'moved' }, { tag = 'writes' }]", &["ships/add", "moved"], &webhook_types);
    check("exclude = [{ tag = 'orgs' }, { webhook = 'moved' }]", &["ships/list", "ships/add"], &ships);
}

#[test]
fn omitted_parts_have_no_diagnostics() {
    // The schema `Org.odd` has a pattern that is not supported.
    let error = read("[input]\nfaults = 'deny'").err().unwrap();
    assert!(error.contains("unsupported"), "{error}");
    let repaired = read("").unwrap();
    assert!(repaired.diagnostics.render(false).contains("it is not checked"), "{}", repaired.diagnostics);
    let part = read("[operations]\ninclude = [{ tag = 'ships' }]").unwrap();
    assert!(part.diagnostics.is_empty(), "{}", part.diagnostics);
    let part = read("[types]\nunsupported = 'keep'\n[operations]\ninclude = [{ tag = 'orgs' }]").unwrap();
    assert_eq!(part.diagnostics.iter().filter(|each| each.code == "unsupported").count(), 1);
}

#[test]
fn errors_in_omitted_parts_are_tolerated() {
    let faulty = API
        .replace("Unused: { type: object", "Unused: { minLength: x, type: object, not: { $ref: '#/gone' }");
    let read = |text: &str, options: &str| {
        let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
        let texts = [("api.yaml", "", text), ("own.schema.json", "", OWN)];
        project
            .analyze_sources(Sources::from_texts(&texts).unwrap())
            .map_err(|problems| problems.render(false))
    };
    let deny = "[input]\nfaults = 'deny'\n";
    let part = &format!("{deny}[operations]\ninclude = [{{ tag = 'ships' }}]");
    let error = read(&faulty, deny).err().unwrap();
    assert!(error.contains("minLength") && error.contains("#/gone"), "{error}");
    let contract = read(&faulty, part).unwrap_or_else(|problems| panic!("{problems}"));
    let diagnostics = contract.diagnostics.render(false);
    assert!(
        diagnostics.contains("note[left-out]: 2 errors in the parts that the selections omit"),
        "{diagnostics}"
    );
    let faulty = API.replace("maximum: 9", "maximum: x");
    let error = read(&faulty, part).err().unwrap();
    assert!(error.contains("`maximum` must be"), "{error}");
    let cyclic =
        API.replace("Unused: { type: object", "Unused: { $ref: '#/components/schemas/Unused', type: object");
    let error = read(&cyclic, deny).err().unwrap();
    assert!(error.contains("reference-cycle"), "{error}");
    assert!(read(&cyclic, part).is_ok() && read(&cyclic, "").is_ok());
}

#[test]
fn selectors_of_omitted_schemas_are_accepted() {
    read(
        "secrets = ['#/components/schemas/Org/properties/odd']\n[operations]\ninclude = [{ tag = 'ships' }]",
    )
    .unwrap();
    let error = read("secrets = ['#/none']\n[operations]\ninclude = [{ tag = 'ships' }]").err().unwrap();
    assert!(error.contains("`secrets` selects no schema"), "{error}");
}

#[test]
fn selections_without_matches_are_rejected() {
    for (options, message, help) in [
        ("include = [{ tag = 'ship' }]", "has the tag `ship`", "did you mean `ships`?"),
        ("include = [{ tag = 'people' }]", "has the tag `people`", "there are `orgs`, `ships`, `writes`"),
        (
            "include = [{ path = '/ship/**' }]",
            "has a path that matches `/ship/**`",
            "there are `/ships`, `/orgs/{id}`",
        ),
        ("include = [{ operation = 'ships/lst' }]", "is called `ships/lst`", "did you mean `ships/list`?"),
        ("include = [{ webhook = 'move' }]", "no webhook is called `move`", "did you mean `moved`?"),
        ("include = [{ tag = 'ships' }]\nexclude = [{ tag = 'orgs' }]", "has the tag `orgs`", "there are"),
        ("include = [{ tag = 'orgs', path = '/ships' }]", "{ tag = \"orgs\", path = \"/ships\" }", "remove"),
        ("include = [{}]", "no operation matches {  }", "remove"),
        ("exclude = [{ path = '/**' }, { webhook = '*' }]", "match no operation", "remove one"),
    ] {
        let error = read(&format!("[types]\nunsupported = 'keep'\n[operations]\n{options}")).err().unwrap();
        let text = error.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&message) && text.contains(help), "{options}: {text}");
    }
}

#[test]
fn areas_own_types_reached_only_by_their_tags() {
    let options = "[types]\nunsupported = 'keep'\n[[area]]\nname = 'fleet'\ntags = ['ships']\n\
                   [[area]]\nname = 'people'\ntags = ['orgs']\nschemas = ['#/components/schemas/Unused']\n";
    let contract = read(options).unwrap();
    let area = |name: &str| contract.shapes.types.iter().find(|def| def.name == name).unwrap().area.clone();
    assert_eq!([area("Ship"), area("Hull"), area("Limit")], ["fleet", "fleet", "fleet"]);
    assert_eq!([area("Org"), area("Unused"), area("Moved")], ["people", "people", "models"]);
    let error = read(&options.replace("'orgs'", "'org'")).err().unwrap();
    assert!(error.contains("contains a tag that no operation has: `org`"), "{error}");
}

/// If a discriminator base becomes an enum, the schemas that extend it are kept with it, because they are its
/// variants. Otherwise, they are omitted.
#[test]
fn children_are_kept_with_their_base() {
    let text = "
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ship:
    get:
      operationId: ship
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } } }
  /org:
    get: { operationId: org, responses: { '204': { description: '' } } }
components:
  schemas:
    Ship: { type: object, properties: { kind: { type: string } }, discriminator: { propertyName: kind } }
    Scout: { allOf: [{ $ref: '#/components/schemas/Ship' }], properties: { range: { $ref: '#/components/schemas/Range' } } }
    Range: { type: integer, maximum: 9 }
    Other: { type: object, properties: { a: { type: string } } }
";
    let types = |families: &str| {
        let options =
            format!("types.families = [{families}]\noperations.include = [{{ operation = 'ship' }}]");
        let project = Project { config: toml::from_str(&options).unwrap(), ..Project::default() };
        let contract =
            project.analyze_sources(Sources::from_texts(&[("api.yaml", "", text)]).unwrap()).unwrap();
        let mut names: Vec<String> = contract.shapes.types.iter().map(|def| def.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(types("'#/components/schemas/Ship'"), ["Range", "Scout", "Ship", "ShipBase"]);
    assert_eq!(types(""), ["Ship"]);
}
