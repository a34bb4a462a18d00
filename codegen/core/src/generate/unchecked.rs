//! Handles patterns that the linear-time matcher does not support: depending on the options, they are
//! rejected or left unchecked.
//!
//! A schema without its pattern accepts more values, and so does a schema of which a part could not be parsed
//! ([`SchemaGap`]). Below `not`, `if`, `oneOf`, `maxContains` and `unevaluatedProperties`, this would make
//! the enclosing schema reject valid values. The enclosing keyword is then relaxed as well, with a warning.

use std::collections::BTreeSet;

use crate::{
    config::{TypeOptions, UnsupportedPolicy},
    diagnostics::{Diagnostic, Diagnostics},
    generate::shortest_selector,
    options::SchemaOptions,
    schema::{SchemaGap, SchemaGraph, SchemaId, keywords::KeywordRole},
    shape::is_tagged_union,
    tables::{PatternRole, RejectedPattern},
};

/// The unsupported patterns that generated code does not check.
#[derive(Debug, Default)]
pub(super) struct UncheckedPatterns {
    /// Schemas whose `pattern` is not checked.
    pub(super) schemas: BTreeSet<SchemaId>,
    /// The unsupported keys of `patternProperties`, with their schemas.
    keys: Vec<(SchemaId, String)>,
}

/// Reports each unsupported pattern as an error, warning or note, depending on the options. Returns those
/// that are left unchecked.
pub(super) fn report_patterns(
    config: &TypeOptions,
    graph: &SchemaGraph,
    options: &SchemaOptions,
    rejected: Vec<RejectedPattern>,
    problems: &mut Diagnostics,
) -> UncheckedPatterns {
    let ids: BTreeSet<SchemaId> = rejected.iter().map(|each| each.schema).collect();
    let mut unchecked = UncheckedPatterns::default();
    for RejectedPattern { schema: id, role, source, error } in rejected {
        let (what, left) = match role {
            PatternRole::Value => ("pattern", "it is not checked"),
            PatternRole::Key => (
                "`patternProperties`",
                "matching properties are not checked, nor are those that `additionalProperties` applies to",
            ),
        };
        let why = format!("{what} `{source}`: {}", error.reason);
        let problem = if options.unchecked.contains(&id) {
            Diagnostic::note("unsupported", format!("{why}; {left}, as configured by `unchecked`"))
        } else if config.unsupported == Some(UnsupportedPolicy::Keep) {
            Diagnostic::warning("unsupported", format!("{why}; {left}"))
        } else {
            let problem = Diagnostic::error("unsupported", why).help(format!(
                "{}; or leave it unchecked with `unchecked = [{:?}]` in [types], or everywhere with \
                 `unsupported = \"keep\"`",
                error.remedy(),
                shortest_selector(graph, id)
            ));
            if config.unsupported.is_none() { problem.with_fallback(left) } else { problem }
        };
        problems.push(problem.with_place(graph.schema(id).place.clone()));
        match role {
            PatternRole::Value => {
                unchecked.schemas.insert(id);
            }
            PatternRole::Key => unchecked.keys.push((id, source)),
        }
    }
    for id in options.unchecked.difference(&ids) {
        let message = "`unchecked` does nothing for this schema: it has no unsupported pattern";
        problems.push(
            Diagnostic::error("config", message)
                .with_place(graph.schema(*id).place.clone())
                .help("remove the schema from `unchecked` in [types]: supported patterns are always checked"),
        );
    }
    unchecked
}

/// Relaxes keywords that would reject valid values because a subschema has an unchecked pattern or a part
/// that could not be parsed. Each change causes a warning.
pub(super) fn loosen_schemas(
    graph: &mut SchemaGraph,
    options: &SchemaOptions,
    unchecked: &UncheckedPatterns,
    problems: &mut Diagnostics,
) {
    let unasserted = schemas_with_gap(graph, SchemaGap::Assertion);
    let keyed: BTreeSet<SchemaId> = unchecked.keys.iter().map(|(id, _)| *id).collect();
    if unchecked.schemas.is_empty() && keyed.is_empty() && unasserted.is_empty() {
        return;
    }
    let mut unknown = schemas_with_gap(graph, SchemaGap::Applicator);
    unknown.extend(&keyed);
    for (id, key) in &unchecked.keys {
        let schema = &mut graph.schemas[*id];
        schema.pattern_properties.retain(|(pattern, _)| pattern != key);
        // Without this pattern, it is unknown to which properties `additionalProperties` applies.
        schema.additional_properties = None;
    }
    let beyond = schemas_applying(graph, &unasserted, KeywordRole::applies_schemas);
    let patterns: BTreeSet<SchemaId> = unchecked.schemas.union(&keyed).copied().collect();
    let touched: BTreeSet<SchemaId> =
        schemas_applying(graph, &patterns, KeywordRole::applies_schemas).union(&beyond).copied().collect();
    let holds = |id: &SchemaId| graph.schema(*id).one_of.iter().any(|branch| touched.contains(branch));
    // The branches of a tagged union are selected by the tag alone, so that their other keywords do not
    // matter for `oneOf`.
    let mixed: BTreeSet<SchemaId> =
        graph.ids().filter(holds).filter(|id| !is_tagged_union(graph, options, *id)).collect();
    // A relaxed `if` or `oneOf` no longer marks properties as evaluated, so the `unevaluated…` keywords
    // around it are affected.
    unknown.extend(graph.ids().filter(|id| {
        let schema = graph.schema(*id);
        let is_asked = |applied: Option<SchemaId>| applied.is_some_and(|applied| touched.contains(&applied));
        is_asked(schema.condition) || (mixed.contains(id) && !schema.any_of.is_empty())
    }));
    let around = schemas_applying(graph, &unknown, |role| role == KeywordRole::InPlace);
    for id in graph.ids() {
        let schema = &mut graph.schemas[id];
        let (code, why) = if beyond.contains(&id) {
            ("loosened", "a subschema could not be read")
        } else {
            ("unsupported", "a pattern in a subschema is left unchecked")
        };
        let mut warn = |message: &str| {
            let message = format!("{message}: {why}");
            problems.push(Diagnostic::warning(code, message).with_place(schema.place.clone()));
        };
        if schema.not.is_some_and(|not| touched.contains(&not)) {
            warn("`not` is not checked");
            schema.not = None;
        }
        if schema.condition.is_some_and(|condition| touched.contains(&condition)) {
            warn("`if` is not checked, nor are `then` and `else`");
            schema.condition = None;
        }
        if around.contains(&id) && schema.unevaluated_properties.take().is_some() {
            warn("`unevaluatedProperties` is not checked");
        }
        if around.contains(&id) && schema.unevaluated_items.take().is_some() {
            warn("`unevaluatedItems` is not checked");
        }
        if let Some(contains) =
            schema.contains.as_mut().filter(|c| c.max.is_some() && touched.contains(&c.schema))
        {
            warn("`maxContains` is not checked");
            contains.max = None;
        }
        if schema.one_of.len() > 1 && mixed.contains(&id) {
            if schema.any_of.is_empty() {
                warn("`oneOf` is checked as `anyOf`");
                schema.any_of = std::mem::take(&mut schema.one_of);
            } else {
                warn("`oneOf` is not checked");
                schema.one_of.clear();
            }
        }
    }
}

/// Returns the schemas whose gap is at least `least`.
fn schemas_with_gap(graph: &SchemaGraph, least: SchemaGap) -> BTreeSet<SchemaId> {
    graph.ids().filter(|id| graph.schema(*id).gap >= least).collect()
}

/// Returns these schemas and all schemas that apply one of them, directly or indirectly. `by` selects the
/// keywords that are followed, by their role.
fn schemas_applying(
    graph: &SchemaGraph,
    below: &BTreeSet<SchemaId>,
    by: impl Fn(KeywordRole) -> bool,
) -> BTreeSet<SchemaId> {
    let mut holders = graph.schemas.map_ids(|_| Vec::new());
    for id in graph.ids() {
        let schema = graph.schema(id);
        let anchor = schema.dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_deref());
        let bearers = anchor.into_iter().flat_map(|anchor| {
            let anchors = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
            anchors.filter(move |(name, _)| name == anchor).map(|(_, bearer)| *bearer)
        });
        let applied = schema.keywords().filter(|(keyword, _)| by(keyword.role()));
        for child in applied.flat_map(|(_, value)| value.schema_ids()).chain(bearers) {
            holders[child].push(id);
        }
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<SchemaId> = below.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(&holders[id]);
        }
    }
    found
}
