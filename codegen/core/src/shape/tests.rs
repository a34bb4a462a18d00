//! Tests that types do not depend on the order of schemas.

#![allow(clippy::unwrap_used)]

use super::{Shapes, TypeBody, display_type};
use crate::{generate::Project, load::Sources};

/// Formats every type of a contract as one line. The lines are sorted.
fn lines(shapes: &Shapes) -> Vec<String> {
    let display = |ty: &_| display_type(shapes, ty);
    let display_body = |body: &TypeBody| match body {
        TypeBody::Struct(body) => {
            let fields = body.fields.iter().filter(|field| !field.omitted);
            fields.map(|field| format!(" {}: {}", field.wire, display(&field.ty))).collect::<String>()
        }
        TypeBody::Objects(body) => body.contents().map(|(_, ty)| format!(" | {}", display(ty))).collect(),
        TypeBody::ByKind(variants) => {
            variants.iter().map(|variant| format!(" | {}", display(&variant.ty))).collect()
        }
        TypeBody::Newtype(inner) => format!(" = {}", display(inner)),
        TypeBody::Enum(_) => " enum".to_owned(),
        TypeBody::Pending => " pending".to_owned(),
    };
    let mut lines: Vec<String> = shapes
        .ids()
        .map(|id| format!("{}{}", shapes.get(id).name, display_body(&shapes.get(id).body)))
        .collect();
    lines.sort();
    lines
}

/// Returns one line for each type of a document with these schemas in `$defs`.
fn describe_schemas(schemas: &[(&str, String)]) -> Vec<String> {
    let schemas: Vec<String> = schemas.iter().map(|(name, schema)| format!("{name:?}: {schema}")).collect();
    let document = format!("{{\"$defs\": {{{}}}}}", schemas.join(", "));
    let sources = Sources::from_texts(&[("input.json", "", &document)]).unwrap();
    let mut lines = lines(&Project::default().analyze_sources(sources).unwrap().shapes);
    // The type of the document itself is not compared.
    lines.retain(|line| line != "Input = Json");
    lines
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Asserts that the types are the same, whichever names replace `@0`, `@1` and `@2`.
fn check(schemas: &[&str], expected: &[&str]) {
    for order in ORDERS {
        let names = order.map(|index| ["Ant", "Bee", "Cow"][index]);
        let substitute = |text: &str| {
            (0..3).fold(text.to_owned(), |text, index| text.replace(&format!("@{index}"), names[index]))
        };
        let definitions: Vec<(&str, String)> = names
            .iter()
            .zip(schemas)
            .map(|(name, schema)| {
                let schema = substitute(schema).replace("=>", "{\"$ref\": \"#/$defs/").replace("<=", "\"}");
                (*name, schema)
            })
            .collect();
        let mut expected: Vec<String> = expected.iter().map(|line| substitute(line)).collect();
        expected.sort();
        assert_eq!(describe_schemas(&definitions), expected, "{names:?}");
    }
}

#[test]
fn recursive_schemas_have_a_type_beside_their_extensions() {
    for (member, ty) in [
        (r#"{"type": "array", "items": =>@0<=}"#, "Vec<@0>"),
        (r#"{"type": "object", "additionalProperties": =>@0<=}"#, "Map<@0>"),
        (r#"{"oneOf": [=>@0<=, {"type": "null"}]}"#, "Nullable<Box<@0>>"),
        (r#"{"allOf": [=>@0<=], "description": "again"}"#, "Box<@0>"),
        (r#"{"type": "array", "items": {"type": "array", "items": =>@0<=}}"#, "Vec<Vec<@0>>"),
    ] {
        let base = format!(r#"{{"type": "object", "properties": {{"own": {member}}}}}"#);
        let extension =
            r#"{"allOf": [=>@0<=, {"type": "object", "properties": {"lives": {"type": "integer"}}}]}"#;
        let user = r#"{"type": "object", "properties": {"of": =>@1<=}}"#;
        let (base_line, extension_line) =
            (format!("@0 own: {ty}"), format!("@1 own: {} lives: i64", remove_boxes(ty)));
        check(&[&base, extension, user], &[&base_line, &extension_line, "@2 of: @1"]);
    }
}

fn remove_boxes(ty: &str) -> String {
    ty.replace("Box<@0>", "@0")
}

/// The variants of a union have the same types regardless of the names and the order of the schemas, even if
/// a variant contains the union.
#[test]
fn variants_that_contain_their_union_are_stable() {
    let tagged = |more: &str| {
        format!(
            r#"{{"type": "object", "required": ["kind"], "properties": {{"kind": {{"type": "string"}}{more}}}}}"#
        )
    };
    let variant = |base: &str, kind: &str| {
        format!(r#"{{"allOf": [=>{base}<=], "properties": {{"kind": {{"const": "{kind}"}}}}}}"#)
    };
    let union = format!(r#"{{"oneOf": [{}, {}]}}"#, variant("@0", "a"), variant("@1", "b"));
    check(
        &[&tagged(r#", "next": =>@2<="#), &tagged(r#", "more": {"type": "array", "items": =>@2<=}"#), &union],
        &["@2 | Box<@2A> | @2B", "@2A next: Box<@2>", "@2B more: Vec<@2>"],
    );
}
