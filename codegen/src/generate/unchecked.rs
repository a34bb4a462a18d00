//! Patterns that no linear matcher can run: refused, or left unchecked where the options say so.
//!
//! A pattern that is left out accepts more, and so does a schema of which something could not be
//! read ([`Gap`]). Where a document is accepted because something refuses it (`not`, `if`, `oneOf`,
//! `maxContains`, `unevaluatedProperties`), more would be less: there the keyword around it is
//! loosened as well, and said so.

use std::collections::BTreeSet;

use crate::{
    config::{TypeOptions, Unsupported},
    diagnostics::{Diagnostic, Diagnostics},
    generate::selector,
    options::Options,
    schema::{Gap, Graph, SchemaId, keywords::Role},
    shape::is_tagged,
    tables::{PatternRole, Refused},
};

/// What is left unchecked.
#[derive(Debug, Default)]
pub(super) struct Unchecked {
    /// Schemas, without their `pattern`.
    pub(super) schemas: BTreeSet<SchemaId>,
    /// Keys of `patternProperties`.
    keys: Vec<(SchemaId, String)>,
}

/// Says what becomes of each pattern, and what is left unchecked.
pub(super) fn patterns(
    config: &TypeOptions,
    graph: &Graph,
    options: &Options,
    refused: Vec<Refused>,
    problems: &mut Diagnostics,
) -> Unchecked {
    let ids: BTreeSet<SchemaId> = refused.iter().map(|each| each.schema).collect();
    let mut unchecked = Unchecked::default();
    for Refused { schema: id, role, source, error } in refused {
        let (what, left) = match role {
            PatternRole::Value => ("pattern", "it is not checked"),
            PatternRole::Key => (
                "`patternProperties`",
                "its members are not checked, nor are those that `additionalProperties` is for",
            ),
        };
        let why = format!("{what} `{source}`: {}", error.reason);
        let problem = if options.unchecked.contains(&id) {
            Diagnostic::note("unsupported", format!("{why}; {left}, as `unchecked` says"))
        } else if config.unsupported == Some(Unsupported::Keep) {
            Diagnostic::warning("unsupported", format!("{why}; {left}"))
        } else {
            let problem = Diagnostic::error("unsupported", why).help(format!(
                "{}; or leave it unchecked, here with `unchecked = [{:?}]` below [types], everywhere with \
                 `unsupported = \"keep\"`",
                error.remedy(),
                selector(graph, id)
            ));
            if config.unsupported.is_none() { problem.mended(left) } else { problem }
        };
        problems.push(problem.at(graph.schema(id).place.clone()));
        match role {
            PatternRole::Value => {
                unchecked.schemas.insert(id);
            }
            PatternRole::Key => unchecked.keys.push((id, source)),
        }
    }
    for id in options.unchecked.difference(&ids) {
        let message = "`unchecked` names a schema that has no pattern, or one that can be run";
        problems.push(
            Diagnostic::error("config", message)
                .at(graph.schema(*id).place.clone())
                .help("remove it from `unchecked` below [types]: it is checked"),
        );
    }
    unchecked
}

/// Loosens what would refuse valid documents without these patterns, and without what could not be
/// read.
pub(super) fn loosen(
    graph: &mut Graph,
    options: &Options,
    unchecked: &Unchecked,
    problems: &mut Diagnostics,
) {
    let lost = with_gap(graph, Gap::Check);
    let keyed: BTreeSet<SchemaId> = unchecked.keys.iter().map(|(id, _)| *id).collect();
    if unchecked.schemas.is_empty() && keyed.is_empty() && lost.is_empty() {
        return;
    }
    let mut unknown = with_gap(graph, Gap::Members);
    unknown.extend(&keyed);
    for (id, key) in &unchecked.keys {
        let schema = &mut graph.schemas[*id];
        schema.pattern_properties.retain(|(pattern, _)| pattern != key);
        // Nobody can tell any more which members this is for.
        schema.additional_properties = None;
    }
    let beyond = above(graph, &lost, Role::applies);
    let patterns: BTreeSet<SchemaId> = unchecked.schemas.union(&keyed).copied().collect();
    let touched: BTreeSet<SchemaId> =
        above(graph, &patterns, Role::applies).union(&beyond).copied().collect();
    let holds = |id: &SchemaId| graph.schema(*id).one_of.iter().any(|branch| touched.contains(branch));
    // A tag keeps branches apart, whatever else they say.
    let mixed: BTreeSet<SchemaId> =
        graph.ids().filter(holds).filter(|id| !is_tagged(graph, options, *id)).collect();
    // What is not asked any more says nothing about members either.
    unknown.extend(graph.ids().filter(|id| {
        let schema = graph.schema(*id);
        let is_asked = |applied: Option<SchemaId>| applied.is_some_and(|applied| touched.contains(&applied));
        is_asked(schema.condition) || (mixed.contains(id) && !schema.any_of.is_empty())
    }));
    let around = above(graph, &unknown, |role| role == Role::InPlace);
    for id in graph.ids() {
        let schema = &mut graph.schemas[id];
        let (code, why) = if beyond.contains(&id) {
            ("loosened", "something inside could not be read")
        } else {
            ("unsupported", "a pattern inside is left unchecked")
        };
        let mut say = |message: &str| {
            let message = format!("{message}: {why}");
            problems.push(Diagnostic::warning(code, message).at(schema.place.clone()));
        };
        if schema.not.is_some_and(|not| touched.contains(&not)) {
            say("`not` is not checked");
            schema.not = None;
        }
        if schema.condition.is_some_and(|condition| touched.contains(&condition)) {
            say("`if` is not checked, nor are `then` and `else`");
            schema.condition = None;
        }
        if around.contains(&id) && schema.unevaluated_properties.take().is_some() {
            say("`unevaluatedProperties` is not checked");
        }
        if around.contains(&id) && schema.unevaluated_items.take().is_some() {
            say("`unevaluatedItems` is not checked");
        }
        if let Some(contains) =
            schema.contains.as_mut().filter(|c| c.max.is_some() && touched.contains(&c.schema))
        {
            say("`maxContains` is not checked");
            contains.max = None;
        }
        if schema.one_of.len() > 1 && mixed.contains(&id) {
            if schema.any_of.is_empty() {
                say("`oneOf` is checked as `anyOf`");
                schema.any_of = std::mem::take(&mut schema.one_of);
            } else {
                say("`oneOf` is not checked");
                schema.one_of.clear();
            }
        }
    }
}

/// The schemas that lack at least this.
fn with_gap(graph: &Graph, least: Gap) -> BTreeSet<SchemaId> {
    graph.ids().filter(|id| graph.schema(*id).gap >= least).collect()
}

/// These schemas and all that apply them by keywords of such a role, at any depth.
fn above(graph: &Graph, below: &BTreeSet<SchemaId>, by: impl Fn(Role) -> bool) -> BTreeSet<SchemaId> {
    let mut holders = graph.schemas.map(|_| Vec::new());
    for id in graph.ids() {
        let schema = graph.schema(id);
        let anchor = schema.dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_deref());
        let bearers = anchor.into_iter().flat_map(|anchor| {
            let anchors = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
            anchors.filter(move |(name, _)| name == anchor).map(|(_, bearer)| *bearer)
        });
        let applied = schema.keywords().filter(|(keyword, _)| by(keyword.role()));
        for child in applied.flat_map(|(_, value)| value.schemas()).chain(bearers) {
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
