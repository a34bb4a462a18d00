//! Types must not depend on the order of schemas.

#![allow(clippy::unwrap_used)]

use super::{Shapes, TypeBody, display_type};
use crate::{generate::Project, load::Sources};

/// Returns every type of a contract as a line, sorted.
fn lines(shapes: &Shapes) -> Vec<String> {
    let ty = |ty: &_| display_type(shapes, ty);
    let body = |body: &TypeBody| match body {
        TypeBody::Struct(body) => {
            let fields = body.fields.iter().filter(|field| !field.omitted);
            fields.map(|field| format!(" {}: {}", field.wire, ty(&field.ty))).collect::<String>()
        }
        TypeBody::Objects(body) => {
            body.variants.iter().map(|variant| format!(" | {}", ty(&variant.ty))).collect()
        }
        TypeBody::ByKind(variants) => {
            variants.iter().map(|variant| format!(" | {}", ty(&variant.ty))).collect()
        }
        TypeBody::Newtype(inner) => format!(" = {}", ty(inner)),
        TypeBody::Enum(_) => " enum".to_owned(),
        TypeBody::Pending => " pending".to_owned(),
    };
    let mut lines: Vec<String> =
        shapes.ids().map(|id| format!("{}{}", shapes.get(id).name, body(&shapes.get(id).body))).collect();
    lines.sort();
    lines
}

/// Returns the types of schemas with these names.
fn shaped(schemas: &[(&str, String)]) -> Vec<String> {
    let schemas: Vec<String> = schemas.iter().map(|(name, schema)| format!("{name:?}: {schema}")).collect();
    let document = format!("{{\"$defs\": {{{}}}}}", schemas.join(", "));
    let sources = Sources::from_texts(&[("input.json", "", &document)]).unwrap();
    let mut lines = lines(&Project::default().analyze_sources(sources).unwrap().shapes);
    // The enclosing document.
    lines.retain(|line| line != "Input = Json");
    lines
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The types must be the same for any names in place of `@0`, `@1` and `@2`.
fn check(schemas: &[&str], expected: &[&str]) {
    for order in ORDERS {
        let names = order.map(|at| ["Ant", "Bee", "Cow"][at]);
        let named =
            |text: &str| (0..3).fold(text.to_owned(), |text, at| text.replace(&format!("@{at}"), names[at]));
        let own: Vec<(&str, String)> = names
            .iter()
            .zip(schemas)
            .map(|(name, schema)| {
                let schema = named(schema).replace("=>", "{\"$ref\": \"#/$defs/").replace("<=", "\"}");
                (*name, schema)
            })
            .collect();
        let mut expected: Vec<String> = expected.iter().map(|line| named(line)).collect();
        expected.sort();
        assert_eq!(shaped(&own), expected, "{names:?}");
    }
}

#[test]
fn what_holds_itself_has_a_type_beside_what_is_made_of_it() {
    for (member, ty) in [
        (r#"{"type": "array", "items": =>@0<=}"#, "Vec<@0>"),
        (r#"{"type": "object", "additionalProperties": =>@0<=}"#, "Map<@0>"),
        (r#"{"oneOf": [=>@0<=, {"type": "null"}]}"#, "Nullable<Box<@0>>"),
        (r#"{"allOf": [=>@0<=], "description": "again"}"#, "Box<@0>"),
        (r#"{"type": "array", "items": {"type": "array", "items": =>@0<=}}"#, "Vec<Vec<@0>>"),
    ] {
        let base = format!(r#"{{"type": "object", "properties": {{"own": {member}}}}}"#);
        let made = r#"{"allOf": [=>@0<=, {"type": "object", "properties": {"lives": {"type": "integer"}}}]}"#;
        let other = r#"{"type": "object", "properties": {"of": =>@1<=}}"#;
        let (base_line, made_line) = (format!("@0 own: {ty}"), format!("@1 own: {} lives: i64", unboxed(ty)));
        check(&[&base, made, other], &[&base_line, &made_line, "@2 of: @1"]);
    }
}

fn unboxed(ty: &str) -> String {
    ty.replace("Box<@0>", "@0")
}

/// The content of a variant depends on other types, which may contain the union.
#[test]
fn variants_of_a_union_that_stands_in_them_are_the_same() {
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
