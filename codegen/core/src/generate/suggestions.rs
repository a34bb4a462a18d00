//! Suggestions for misspelled selectors of schemas.

use std::collections::BTreeSet;

use crate::{names, resolve::suggest::nearest_match, schema::SchemaGraph};

/// Returns the selector of an existing schema that is most similar to `selector`, which selects none.
pub(super) fn nearest_selector(graph: &SchemaGraph, selector: &str) -> Option<String> {
    if let Some((schema, value)) = selector.split_once("/enum/") {
        return nearest_selector(graph, schema).map(|near| format!("{near}/enum/{value}"));
    }
    let segments: Vec<&str> = selector.split('/').collect();
    let locations = graph.ids().map(|id| graph.absolute_location(id));
    // The parts of the locations that have the form of the selector.
    let candidates: BTreeSet<String> = locations
        .flat_map(|location| {
            let stem = names::file_stem(location.split('#').next().unwrap_or_default());
            let end = location
                .rmatch_indices('/')
                .nth(segments.len() - 1)
                .map_or(&*location, |(at, _)| &location[at + 1..]);
            let end = if selector.starts_with('#') { end.find('#').map(|at| &end[at..]) } else { Some(end) };
            [Some(stem), end.map(str::to_owned)]
        })
        .flatten()
        .filter(|each| each.split('/').count() == segments.len())
        .collect();
    let whole = nearest_match(selector, candidates.iter().map(String::as_str)).map(str::to_owned);
    // A long selector is compared segment by segment: one of them is misspelled.
    whole.or_else(|| {
        let differing = |candidate: &&String| {
            let mut pairs = segments.iter().zip(candidate.split('/')).filter(|(one, other)| *one != other);
            match (pairs.next(), pairs.next()) {
                (Some((one, other)), None) => nearest_match(one, [other]).is_some(),
                _ => false,
            }
        };
        candidates.iter().find(differing).cloned()
    })
}

/// Returns the known option that is most similar to the unknown one in an error message of the parser, such as
/// "unknown field `by-tags`, expected one of `by-tag`, `shown`".
pub(super) fn suggest_option(message: &str) -> Option<&str> {
    let (unknown, known) = message.split_once(", expected ")?;
    let unknown =
        unknown.strip_prefix("unknown field `").or_else(|| unknown.strip_prefix("unknown variant `"))?;
    nearest_match(unknown.strip_suffix('`')?, known.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, generate::Project, load::Sources};

    const API: &str = "
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    post:
      operationId: addShip
      tags: [vessels]
      parameters: [{ name: Idempotency-Key, in: header, schema: { type: string } }]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } }, application/xml: {} } }
      responses: { default: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Problem' } } } } }
webhooks:
  shipMoved: { post: { operationId: shipMoved, responses: { '200': { description: '' } } } }
components:
  schemas:
    Ship:
      type: object
      required: [kind]
      properties:
        kind: { enum: [cargo, tanker] }
        built: { type: string, format: date-time }
        price: { type: string, x-rust-type: 'money::Price' }
        aPropertyWhoseNameIsLongerThanMostOtherNamesInTheContract: { type: string }
    Problem: { type: object, properties: { code: { type: string } }, additionalProperties: false }
";

    fn error_for(options: &str) -> String {
        let config: Config = toml::from_str(options).unwrap_or_else(|e| panic!("{options}: {e}"));
        let project = Project { config, ..Project::default() };
        let contract = project.analyze_sources(Sources::from_texts(&[("api.yaml", "", API)]).unwrap());
        let generated = contract.and_then(|contract| project.generate_from(contract));
        generated.err().unwrap_or_else(|| panic!("{options} is accepted")).render(false)
    }

    #[test]
    fn similar_options_are_suggested() {
        let message = "unknown field `by-tags`, expected one of `transport-headers`, `by-tag`, `shown`";
        assert_eq!(suggest_option(message), Some("by-tag"));
        assert_eq!(suggest_option("unknown field `x`, expected `authentication`"), None);
        assert_eq!(suggest_option("invalid type"), None);
    }

    /// Every option that names a part of the contract suggests the nearest name.
    #[test]
    fn misspelled_names_have_a_suggestion() {
        let schema = |options: &str| {
            (options.replace("SELECTOR", "#/components/schemas/Shp"), "#/components/schemas/Ship")
        };
        let cases = [
            schema("names = { 'SELECTOR' = 'Vessel' }"),
            schema("secrets = ['SELECTOR']"),
            schema("open = ['SELECTOR']"),
            schema("closed = ['SELECTOR']"),
            schema("nullable = ['SELECTOR']"),
            schema("replace = { 'SELECTOR' = 'crate::Ship' }"),
            schema("derives = { 'SELECTOR' = ['Default'] }"),
            schema("attributes = { 'SELECTOR' = ['#[doc(hidden)]'] }"),
            schema("types.unchecked = ['SELECTOR']"),
            schema("types.implied-otherwise = ['SELECTOR']"),
            schema("types.families = ['SELECTOR']"),
            schema("types.machine-integers = ['SELECTOR']"),
            schema("wire.schemas = { 'SELECTOR' = { nested = 'json' } }"),
            schema("client.shown = ['SELECTOR']"),
            schema("view = [{ name = 'V', types = ['SELECTOR'], members = ['kind'] }]"),
            schema("area = [{ name = 'a', schemas = ['SELECTOR'] }]"),
        ];
        let others = [
            ("names = { 'Shp/properties/kind/enum/cargo' = 'Freight' }", "Ship/properties/kind/enum/cargo"),
            ("names = { '#/components/schemas/Ship/properties/kind/enum/crago' = 'Freight' }", "cargo"),
            ("names = { 'POST /ship' = 'add' }", "POST /ships"),
            (
                "secrets = ['#/components/schemas/Ship/properties/aPropertyWhoseNameIsLongerThanMostOtherNamesInTheContrat']",
                "#/components/schemas/Ship/properties/aPropertyWhoseNameIsLongerThanMostOtherNamesInTheContract",
            ),
            ("area = [{ name = 'a', schemas = ['apy'] }]", "api"),
            ("area = [{ name = 'a', tags = ['vesels'] }]", "vessels"),
            ("types.formats = { date-tiem = { type = 'crate::Time' } }", "date-time"),
            ("types.rust-types = ['mony']", "money"),
            ("operations.media = ['application/xlm']", "application/xml"),
            ("operations.safe = ['addShpi']", "addShip"),
            ("operations.idempotent = ['addShpi']", "addShip"),
            ("operations.raw = ['addShpi']", "addShip"),
            ("operations.include = [{ operation = 'addShpi' }]", "addShip"),
            ("operations.include = [{ tag = 'vesels' }]", "vessels"),
            ("operations.include = [{ path = '/ship' }]", "/ships"),
            ("operations.include = [{ webhook = 'shipMove' }]", "shipMoved"),
            ("operations.include = [{ tag = 'vessels', operation = 'addShpi' }]", "addShip"),
            ("operations.exclude = [{ operation = 'addShpi' }]", "addShip"),
            ("operations.hidden-headers = ['Idempotency-Kye']", "Idempotency-Key"),
            ("operations.idempotency-header = 'Idempotency-Kye'", "Idempotency-Key"),
            (
                "operations.idempotency-header = { name = 'Idempotency-Key', operations = [{ operation = 'addShpi' }] }",
                "addShip",
            ),
            ("client.transport-headers = ['Idempotency-Kye']", "Idempotency-Key"),
            ("client.shown = ['cod']", "code"),
            ("streams.downloads = ['addShpi']", "addShip"),
            ("streams.uploads = ['addShpi']", "addShip"),
            (
                "view = [{ name = 'V', operations = ['addShpi'], parameters = ['Idempotency-Key'] }]",
                "addShip",
            ),
            ("pages = [{ operations = ['addShpi'], items = '', link = 'next' }]", "addShip"),
            ("pages = [{ include = [{ operation = 'addShpi' }], items = '', link = 'next' }]", "addShip"),
        ];
        let others = others.map(|(options, near)| (options.to_owned(), near));
        for (options, near) in cases.into_iter().chain(others) {
            let error = error_for(&options);
            // Long lines are wrapped.
            let whole: String = error.split_whitespace().collect();
            let help: String = format!("did you mean `{near}`?").split_whitespace().collect();
            assert!(whole.contains(&help), "{options}: {error}");
        }
    }
}
