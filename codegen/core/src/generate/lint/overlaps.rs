//! Finds unions with a `discriminator` whose `oneOf` rejects some values although their tag selects a single
//! branch. `oneOf` ignores the tag (OpenAPI 3.1, 4.8.25). It therefore rejects a value that another branch
//! accepts as well.

use std::collections::BTreeSet;

use contract_runtime::{Json, schema::TagCertainty};

use super::{LintInput, TableAccess};
use crate::{
    conjunction::{
        SchemaConjunction,
        discriminator::discriminator_values,
        sample::random::{SampleRequest, random_value},
    },
    diagnostics::{Diagnostic, Diagnostics},
    schema::SchemaId,
    shape::TypeBody,
};

/// Warns about each `oneOf` with a `discriminator` in which a value with the tag of one branch is also valid
/// under another branch. Returns these schemas, each with such a value.
pub(super) fn report_overlapping_unions(
    input: LintInput<'_>,
    tables: &TableAccess<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<(SchemaId, Json)> {
    let LintInput { graph, shapes, options, .. } = input;
    // If each branch allows only its own tags, no value is valid under two branches.
    let tagged = shapes.types.iter().chain(&shapes.parts).filter_map(|def| match &def.body {
        TypeBody::Objects(union) => Some(union),
        _ => None,
    });
    let tagged =
        tagged.filter(|union| union.tag().is_some_and(|tag| tag.certainty == TagCertainty::Required));
    let distinct: BTreeSet<SchemaId> = tagged.map(|union| union.holder).collect();
    let unions: Vec<SchemaId> = graph
        .ids()
        .filter(|id| graph.schema(*id).discriminator.is_some() && graph.schema(*id).one_of.len() > 1)
        .filter(|id| !distinct.contains(id))
        .collect();
    if unions.is_empty() {
        return Vec::new();
    }
    let is_valid = |id: SchemaId, value: &Json| tables().is_valid(id, value);
    let sample = SampleRequest { seed: 0, examples: true };
    let mut found = Vec::new();
    for id in unions {
        let schema = graph.schema(id);
        let Some(discriminator) = &schema.discriminator else { continue };
        let shown = schema.one_of.iter().find_map(|branch| {
            let tag_value = discriminator_values(graph, discriminator, *branch).into_iter().next()?;
            let place = SchemaConjunction::from_schema(*branch);
            let drawn = random_value(graph, &place, options.implied_objects, sample, &is_valid)?;
            let mut members = drawn.as_object()?.clone();
            members.insert(discriminator.tag.clone(), Json::from(tag_value));
            let value = Json::Object(members);
            let accepting = schema.one_of.iter().filter(|id| is_valid(**id, &value)).count();
            (accepting > 1 && is_valid(*branch, &value)).then_some(value)
        });
        let Some(value) = shown else { continue };
        let message =
            format!("more than one branch of the `oneOf` accepts {value}, which is therefore invalid");
        diagnostics.push(
            Diagnostic::warning("overlapping-union", message)
                .with_place(schema.place.clone())
                .help("give the tag of each branch a `const`, or use `anyOf`: a `discriminator` does not affect validation"),
        );
        found.push((id, value));
    }
    found
}
