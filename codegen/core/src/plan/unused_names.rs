//! Reports options that name headers or properties that do not occur in the contract. With a misspelled name,
//! the option would silently have no effect.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::media_type::MediaType;

use super::{
    IGNORED_HEADERS,
    shown_fields::{find_shown_fields, is_selector},
};
use crate::{
    api::{OpenApiDocument, ParameterIn, StatusPattern},
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    resolve::suggest::help_nearest,
    schema::{SchemaGraph, SchemaId, TypeSet},
};

/// Reports the names of headers and properties in options that do not occur in the contract. `shown` contains the
/// schemas of each selector in `client.shown`.
pub fn check_names(
    options: &Config,
    (graph, api): (&SchemaGraph, &OpenApiDocument),
    shown: &BTreeMap<String, Vec<SchemaId>>,
    diagnostics: &mut Diagnostics,
) {
    let mut idle = |option: &str, name: &str, why: &str, known: Vec<&str>| {
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` does nothing for `{name}`: {why}"))
                .with_optional_place(options.option_place(option, name))
                .help(help_nearest(name, known, "correct its name, or remove it")),
        );
    };
    let operations = || api.operations.iter().chain(&api.webhooks);
    let parameters = |location: ParameterIn, name: &str| {
        let name = name.to_owned();
        let all = operations().flat_map(|operation| &operation.parameters);
        all.filter(move |each| each.location == location && each.name.eq_ignore_ascii_case(&name))
    };
    let config = &options.operations;
    let responses = || operations().flat_map(|operation| &operation.responses);
    let parameter_names = |locations: &'static [ParameterIn]| {
        let all = operations().flat_map(|operation| &operation.parameters);
        all.filter(|each| locations.contains(&each.location)).map(|each| each.name.as_str())
    };
    let response_header_names =
        || responses().flat_map(|response| &response.headers).map(|header| header.name.as_str());
    for name in &config.hidden_headers {
        if parameters(ParameterIn::Header, name).next().is_none()
            && !response_header_names().any(|each| each.eq_ignore_ascii_case(name))
            && !IGNORED_HEADERS.iter().any(|ignored| ignored.eq_ignore_ascii_case(name))
        {
            let known = parameter_names(&[ParameterIn::Header]).chain(response_header_names()).collect();
            idle("operations.hidden-headers", name, "no request or response has this header", known);
        }
    }
    for name in &options.client.transport_headers {
        if [ParameterIn::Header, ParameterIn::Cookie].iter().all(|at| parameters(*at, name).next().is_none())
        {
            let why = "no operation has this header or cookie parameter";
            let known = parameter_names(&[ParameterIn::Header, ParameterIn::Cookie]).collect();
            idle("client.transport-headers", name, why, known);
        }
    }
    for (selector, ids) in shown {
        let ids: BTreeSet<SchemaId> = ids.iter().copied().collect();
        if !ids.is_empty() && find_shown_fields(graph, operations(), &ids).is_empty() {
            idle("client.shown", selector, "it selects no field of an error response", Vec::new());
        }
    }
    let bodies = responses().filter(|response| may_refuse(response.status)).flat_map(|it| &it.content);
    let bodies = bodies.filter(|media| MediaType::parse(&media.name).is_json());
    let members: Option<Vec<BTreeSet<&str>>> =
        bodies.map(|media| described_members(graph, media.schema?)).collect();
    // If the properties of an error response are unknown, every name in the option may be correct.
    let Some(members) = members else { return };
    let names = options.client.shown.iter().filter(|name| !is_selector(name));
    for name in names.filter(|name| !members.iter().any(|it| it.contains(name.as_str()))) {
        let known = members.iter().flatten().copied().collect();
        idle("client.shown", name, "no error response has this property", known);
    }
}

/// Returns true if a client may return a response with this status as an error.
pub(super) const fn may_refuse(status: StatusPattern) -> bool {
    match status {
        StatusPattern::Code(code) => code >= 300,
        StatusPattern::Range(class) => class >= 3,
        StatusPattern::Default => true,
    }
}

/// Returns the declared properties of a value, or `None` if its schemas do not describe all properties.
fn described_members(graph: &SchemaGraph, root: SchemaId) -> Option<BTreeSet<&str>> {
    let mut look = MemberCollector { graph, seen: BTreeSet::new(), found: BTreeSet::new() };
    look.collect_members(root).then_some(look.found)
}

/// A collector of the properties that the schemas of one value declare.
struct MemberCollector<'a> {
    graph: &'a SchemaGraph,
    seen: BTreeSet<SchemaId>,
    found: BTreeSet<&'a str>,
}

impl MemberCollector<'_> {
    /// Collects the properties that a schema declares. Returns false if a value may have further properties:
    /// the schema declares none, has a schema for undeclared properties, or is a base that other schemas
    /// extend.
    fn collect_members(&mut self, id: SchemaId) -> bool {
        if !self.seen.insert(id) {
            return true;
        }
        let schema = self.graph.schema(id);
        self.found.extend(schema.properties.iter().map(|(name, _)| name.as_str()));
        let unions = [&schema.any_of, &schema.one_of];
        let more = schema.additional_properties.or(schema.unevaluated_properties);
        let is_map = more.is_some_and(|more| self.graph.schema(more).boolean != Some(false));
        // Other schemas extend a base with a `discriminator`, and may declare further properties.
        let is_base = schema.discriminator.is_some() && unions.iter().all(|union| union.is_empty());
        if is_map || is_base || !schema.pattern_properties.is_empty() || schema.dynamic_reference.is_some() {
            return false;
        }
        let mut described = !schema.properties.is_empty()
            || schema.types.is_some_and(|types| !types.contains(TypeSet::OBJECT));
        let conditional = [schema.condition, schema.then, schema.otherwise].into_iter().flatten();
        for step in conditional.chain(schema.dependent_schemas.iter().map(|(_, step)| *step)) {
            self.collect_members(step);
        }
        for step in schema.all_of.iter().chain(&schema.reference) {
            described |= self.collect_members(*step);
        }
        for union in unions.into_iter().filter(|union| !union.is_empty()) {
            let branches: Vec<bool> = union.iter().map(|step| self.collect_members(*step)).collect();
            described |= branches.iter().all(|described| *described);
        }
        described
    }
}
