//! Detects numbers that `serde_json` cannot represent exactly, and schemas that contain them.

use serde_json::{Map, Value};

use crate::{
    Number,
    schema::{Keyword, Literal, SchemaId, SchemaTables},
};

/// Converts a number if `serde_json` represents its exact value.
pub(super) fn exact_number(number: &Number) -> Option<serde_json::Number> {
    let parsed: serde_json::Number = serde_json::from_str(&number.to_json_text()).ok()?;
    (Number::parse(&parsed.to_string()).ok()? == *number).then_some(parsed)
}

/// Converts a literal. Returns `None` if it contains a number that cannot be converted exactly.
pub(super) fn exact_literal(value: &Literal<'_>) -> Option<Value> {
    Some(match value {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(number) => Value::Number(exact_number(number)?),
        Literal::String(text) => Value::from(*text),
        Literal::Array(items) => Value::Array(items.iter().map(exact_literal).collect::<Option<_>>()?),
        Literal::Object(members) => {
            let members =
                members.iter().map(|(name, value)| Some(((*name).to_owned(), exact_literal(value)?)));
            Value::Object(members.collect::<Option<Map<_, _>>>()?)
        }
    })
}

/// Returns true if the schemas, and all schemas that they reach, are written without widening. A widened
/// schema must not be used where accepting more values rejects more documents, for example below `not`.
pub(super) fn are_exact(tables: &SchemaTables<'_>, rows: &[SchemaId]) -> bool {
    let (mut seen, mut next) = (vec![false; tables.schemas.len()], rows.to_vec());
    while let Some(row) = next.pop() {
        let at = row.0 as usize;
        let (Some(schema), Some(seen)) = (tables.schemas.get(at), seen.get_mut(at)) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        if !schema.keywords.iter().all(is_exact) {
            return false;
        }
        schema.keywords.iter().for_each(|keyword| collect_reached(tables, keyword, &mut next));
    }
    true
}

fn is_exact(keyword: &Keyword<'_>) -> bool {
    match keyword {
        Keyword::Enum(values) => values.iter().all(|value| exact_literal(value).is_some()),
        Keyword::Const(value) => exact_literal(value).is_some(),
        Keyword::MultipleOf(number)
        | Keyword::Maximum(number)
        | Keyword::ExclusiveMaximum(number)
        | Keyword::Minimum(number)
        | Keyword::ExclusiveMinimum(number) => exact_number(number).is_some(),
        _ => true,
    }
}

/// Appends the schemas that a keyword contains or refers to, including all possible targets of a
/// `$dynamicRef`.
fn collect_reached(tables: &SchemaTables<'_>, keyword: &Keyword<'_>, next: &mut Vec<SchemaId>) {
    keyword.collect_schemas(next);
    if let Keyword::DynamicRef { anchor, .. } = keyword {
        let anchors = tables.resources.iter().flat_map(|resource| resource.dynamic_anchors);
        next.extend(anchors.filter(|(name, _)| name == anchor).map(|(_, target)| *target));
    }
}
