//! Which numbers can be written, and with them which schemas.

use serde_json::{Map, Value};

use crate::{
    Number,
    schema::{Keyword, Literal, SchemaId, Tables},
};

/// A number that keeps its value as `serde_json` holds it.
pub(super) fn exact(number: &Number) -> Option<serde_json::Number> {
    let held: serde_json::Number = serde_json::from_str(&number.text()).ok()?;
    (Number::parse(&held.to_string()).ok()? == *number).then_some(held)
}

/// A literal; nothing when a number in it cannot be written.
pub(super) fn literal(value: &Literal<'_>) -> Option<Value> {
    Some(match value {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(number) => Value::Number(exact(number)?),
        Literal::String(text) => Value::from(*text),
        Literal::Array(items) => Value::Array(items.iter().map(literal).collect::<Option<_>>()?),
        Literal::Object(members) => {
            let members = members.iter().map(|(name, value)| Some(((*name).to_owned(), literal(value)?)));
            Value::Object(members.collect::<Option<Map<_, _>>>()?)
        }
    })
}

/// Whether schemas, and all that they reach, are written without a rule that is wider than the
/// contract's: then they can stand where accepting more would refuse more, as below `not`.
pub(super) fn are_exact(tables: &Tables<'_>, rows: &[SchemaId]) -> bool {
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
        schema.keywords.iter().for_each(|keyword| reached(tables, keyword, &mut next));
    }
    true
}

fn is_exact(keyword: &Keyword<'_>) -> bool {
    match keyword {
        Keyword::Enum(values) => values.iter().all(|value| literal(value).is_some()),
        Keyword::Const(value) => literal(value).is_some(),
        Keyword::MultipleOf(number)
        | Keyword::Maximum(number)
        | Keyword::ExclusiveMaximum(number)
        | Keyword::Minimum(number)
        | Keyword::ExclusiveMinimum(number) => exact(number).is_some(),
        _ => true,
    }
}

/// The schemas that a keyword holds or refers to, whatever it may mean on any way.
fn reached(tables: &Tables<'_>, keyword: &Keyword<'_>, next: &mut Vec<SchemaId>) {
    keyword.schemas(next);
    if let Keyword::DynamicRef { anchor, .. } = keyword {
        let anchors = tables.resources.iter().flat_map(|resource| resource.dynamic_anchors);
        next.extend(anchors.filter(|(name, _)| name == anchor).map(|(_, target)| *target));
    }
}
