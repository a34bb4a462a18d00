//! Warns about parts of a contract that have no effect or contradict each other, although each is valid by
//! itself. The entry point is [`lint_contract`].

mod overlaps;

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
};

use contract_runtime::Json;

use crate::{
    api::{MediaType, OpenApiDocument},
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    load::Sources,
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId},
    shape::{Shapes, TypeBody, machine_kind_of},
    tables::{TableArenas, TablePlan, TableSet},
    tree::{DocumentLocation, join_token},
};

/// The analyzed contract, and the validation tables to check its values.
#[derive(Clone, Copy)]
pub(super) struct LintInput<'a> {
    pub(super) sources: &'a Sources,
    pub(super) graph: &'a SchemaGraph,
    pub(super) api: &'a OpenApiDocument,
    pub(super) shapes: &'a Shapes,
    pub(super) options: &'a SchemaOptions,
    pub(super) plan: &'a TablePlan,
}

/// Adds warnings about the contract to `diagnostics`. Returns each `oneOf` that has a `discriminator` and
/// rejects a value because several branches accept the value, together with such a value.
pub(super) fn lint_contract(input: LintInput<'_>, diagnostics: &mut Diagnostics) -> Vec<(SchemaId, Json)> {
    let arenas = TableArenas::default();
    let tables = OnceCell::new();
    // The tables are built on first use, because few contracts need them here.
    let tables = || tables.get_or_init(|| input.plan.build_tables(input.graph, &arenas));
    diagnostics.extend(find_unused_encodings(input));
    diagnostics.extend(group(
        "invalid-default",
        find_invalid_defaults(input, &tables),
        |count| match count {
            1 => "a `default` is not valid under its own schema".to_owned(),
            count => format!("{count} `default`s are not valid under their own schemas"),
        },
    ));
    diagnostics.extend(group("invalid-default", find_unrepresentable_defaults(input), |count| match count {
        1 => "a `default` is outside of the type of its integer".to_owned(),
        count => format!("{count} `default`s are outside of the types of their integers"),
    }));
    diagnostics.extend(find_undeclared_names(input));
    overlaps::report_overlapping_unions(input, &tables, diagnostics)
}

/// A function that returns the validation tables, which are built when it is first called.
type TableAccess<'a> = dyn Fn() -> &'a TableSet<'a> + 'a;

/// Returns one warning that lists all of these locations, or `None` if there are none.
fn group(
    code: &'static str,
    places: Vec<DocumentLocation>,
    message: impl Fn(usize) -> String,
) -> Option<Diagnostic> {
    let (first, others) = places.split_first()?;
    let problem = Diagnostic::warning(code, message(places.len())).with_place(first.clone());
    Some(problem.with_related_places(others))
}

/// Returns the locations of the `default` values that are not valid under their own schema.
fn find_invalid_defaults(input: LintInput<'_>, tables: &TableAccess<'_>) -> Vec<DocumentLocation> {
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    for id in input.graph.ids() {
        let schema = input.graph.schema(id);
        let Some(default) = &schema.default else { continue };
        let pointer = join_token(&schema.place.pointer, "default");
        if !tables().is_valid(id, default) && seen.insert((schema.place.source, pointer.clone())) {
            places.push(value_place(input.sources, &schema.place, pointer));
        }
    }
    places
}

/// Returns the locations of the `default` values that the type of `types.machine-integers` cannot represent.
fn find_unrepresentable_defaults(input: LintInput<'_>) -> Vec<DocumentLocation> {
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    for id in input.graph.ids() {
        let schema = input.graph.schema(id);
        let Some(value) = schema.default.as_ref().and_then(Json::as_number) else { continue };
        let Some(kind) = machine_kind_of(input.graph, input.options, id) else { continue };
        let pointer = join_token(&schema.place.pointer, "default");
        let is_outside = value.is_integer() && !value.as_i128().is_some_and(|value| kind.contains(value));
        if is_outside && seen.insert((schema.place.source, pointer.clone())) {
            places.push(value_place(input.sources, &schema.place, pointer));
        }
    }
    places
}

/// Warns about each entry of `encoding` for a property that the schema of the body does not declare (OpenAPI
/// 3.1, 4.8.15.1).
fn find_unused_encodings(input: LintInput<'_>) -> Vec<Diagnostic> {
    let operations = input.api.operations.iter().chain(&input.api.webhooks);
    let bodies = operations.flat_map(|operation| {
        let requests = operation.request_body.iter().flat_map(|body| &body.content);
        requests.chain(operation.responses.iter().flat_map(|response| &response.content))
    });
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for MediaType { schema, encoding, .. } in bodies {
        let Some(schema) = schema.filter(|_| !encoding.is_empty()) else { continue };
        let place = SchemaConjunction::from_schema(schema);
        let facts = SchemaFacts::from_conjunction(input.graph, &place, input.options.implied_objects);
        let declared = facts.declared_properties(input.graph);
        // If the schema declares no properties, their names are unknown and nothing is reported.
        let is_unused =
            |name: &str| !declared.is_empty() && declared.iter().all(|(known, ..)| *known != name);
        let holder = &input.graph.schema(schema).place;
        let Some(media) = holder.pointer.strip_suffix("/schema") else { continue };
        for (name, _) in encoding.iter().filter(|(name, _)| is_unused(name)) {
            let pointer = join_token(&join_token(media, "encoding"), name);
            if seen.insert((holder.source, pointer.clone())) {
                let message = format!("`encoding` describes `{name}`, which is not a property of the body");
                let place = value_place(input.sources, holder, pointer);
                problems.push(Diagnostic::warning("ignored", message).with_place(place));
            }
        }
    }
    problems
}

/// Returns a note if `required` of an object with properties lists names that no `properties` declares.
fn find_undeclared_names(input: LintInput<'_>) -> Option<Diagnostic> {
    let mut found: Vec<(DocumentLocation, &str)> = Vec::new();
    let mut seen = BTreeSet::new();
    for def in &input.shapes.types {
        let TypeBody::Struct(body) = &def.body else { continue };
        let facts = SchemaFacts::from_conjunction(input.graph, &def.conj, input.options.implied_objects);
        let is_typed = facts.unconditional_schemas(input.graph).any(|schema| {
            let others = schema.additional_properties.map(|id| input.graph.schema(id));
            !schema.pattern_properties.is_empty() || others.is_some_and(|others| others.boolean.is_none())
        });
        if is_typed {
            continue;
        }
        let declared: HashSet<&str> = body.fields.iter().map(|field| field.wire.as_str()).collect();
        for &id in &facts.unconditional {
            let schema = input.graph.schema(id);
            let mut undeclared =
                schema.required.iter().filter(|name| !declared.contains(name.as_str())).peekable();
            if undeclared.peek().is_none() {
                continue;
            }
            let place =
                value_place(input.sources, &schema.place, join_token(&schema.place.pointer, "required"));
            let new = undeclared.filter(|name| seen.insert((id, name.as_str())));
            found.extend(new.map(|name| (place.clone(), name.as_str())));
        }
    }
    found.sort_by_key(|(place, _)| (place.source, place.span.start));
    let ((first, name), others) = found.split_first()?;
    let message = match others.len() {
        0 => format!("`required` names `{name}`, which no `properties` declares"),
        more => format!("`required` names `{name}` and {more} others, which no `properties` declares"),
    };
    let others: Vec<DocumentLocation> = others.iter().map(|(place, _)| place.clone()).collect();
    Some(
        Diagnostic::note("undeclared-required", message)
            .with_place(first.clone())
            .help("such a property has no field and is in `extra`: declare it, or correct its name")
            .with_related_places(&others),
    )
}

/// Returns the location of the value at `pointer` in the document that contains `holder`.
fn value_place(sources: &Sources, holder: &DocumentLocation, pointer: String) -> DocumentLocation {
    let tree = sources.get(holder.source).and_then(|source| source.tree.resolve_pointer(&pointer));
    let span = tree.map_or(holder.span, |tree| tree.span);
    DocumentLocation { source: holder.source, pointer, span }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources, resolve::tests::format_problems};

    fn check(text: &str, expected: &[&str]) {
        let text = format!("openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\n{text}");
        let sources = Sources::from_texts(&[("api.yaml", "", &text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        assert_eq!(format_problems(&contract.diagnostics), expected.join("\n"), "{text}");
    }

    #[test]
    fn contradictions_are_reported() {
        let schemas = |text: &str| format!("components:\n  schemas:\n{text}");
        let a = "    A: { type: object, properties: { a: { type: integer, default: 1 } }, required: [a] }\n";
        check(&schemas(a), &[]);
        check(
            &schemas(&a.replace("default: 1", "default: x").replace("[a]", "[a, b]")),
            &[
                "?invalid-default /components/schemas/A/properties/a/default",
                "!undeclared-required /components/schemas/A/required",
            ],
        );
        // A name in `required` is not reported if `additionalProperties` is a schema, because it may be a key
        // of a map.
        check(&schemas(&a.replace("[a]", "[a, b], additionalProperties: { type: string }")), &[]);
        let body = |encoding: &str| {
            format!(
                "paths: {{ /a: {{ post: {{ requestBody: {{ content: {{ multipart/form-data: {{ schema: {{ $ref: '#/components/schemas/A' }}, encoding: {{ {encoding}: {{ contentType: a/b }} }} }} }} }}, responses: {{ '204': {{ description: d }} }} }} }} }}\n{}",
                schemas(a)
            )
        };
        check(&body("a"), &[]);
        check(&body("b"), &["?ignored /paths/~1a/post/requestBody/content/multipart~1form-data/encoding/b"]);
    }

    #[test]
    fn overlapping_unions_are_reported() {
        let pet = |tag: &str| {
            format!(
                "components:\n  schemas:\n    Pet: {{ oneOf: [{{ $ref: '#/components/schemas/Cat' }}, {{ $ref: '#/components/schemas/Dog' }}], discriminator: {{ propertyName: kind }} }}\n    Cat: {{ type: object, required: [kind], properties: {{ kind: {{ {tag}: Cat }} }} }}\n    Dog: {{ type: object, required: [kind], properties: {{ kind: {{ {tag}: Dog }} }} }}\n"
            )
        };
        check(&pet("const"), &[]);
        check(&pet("title"), &["?overlapping-union /components/schemas/Pet"]);
    }
}
