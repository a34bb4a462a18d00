//! Whether headers and members that options name are in the contract: one that is nowhere would switch
//! something off in silence.

use std::collections::BTreeSet;

use contract_runtime::media::MediaType;

use super::IGNORED;
use crate::{
    api::{Api, ParameterIn, Status},
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, SchemaId, Types},
};

/// Reports headers and members that nothing of the contract has.
pub fn check_names(options: &Config, graph: &Graph, api: &Api, diagnostics: &mut Diagnostics) {
    const CORRECT: &str = "correct its name, or remove it";
    let mut idle = |option: &str, name: &str, why: &str, help: &str| {
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` does nothing for `{name}`: {why}"))
                .maybe_at(options.place(option, name))
                .help(help),
        );
    };
    let operations = || api.operations.iter().chain(&api.webhooks);
    let parameters = |location: ParameterIn, name: &str| {
        let name = name.to_owned();
        let all = operations().flat_map(|operation| &operation.parameters);
        all.filter(move |each| each.location == location && each.name.eq_ignore_ascii_case(&name))
    };
    let config = &options.operations;
    if let Some(name) = &config.idempotency_header
        && !parameters(ParameterIn::Header, name).any(|each| each.required)
    {
        let is_there = parameters(ParameterIn::Header, name).next().is_some();
        let (why, help) = match is_there {
            true => {
                ("no operation requires it", "a call without it is not safe to repeat; remove the option")
            }
            false => ("no operation has this header parameter", CORRECT),
        };
        idle("operations.idempotency-header", name, why, help);
    }
    let responses = || operations().flat_map(|operation| &operation.responses);
    for name in &config.hidden_headers {
        let mut answered = responses().flat_map(|response| &response.headers).map(|header| &header.name);
        if parameters(ParameterIn::Header, name).next().is_none()
            && !answered.any(|each| each.eq_ignore_ascii_case(name))
            && !IGNORED.iter().any(|ignored| ignored.eq_ignore_ascii_case(name))
        {
            idle("operations.hidden-headers", name, "no request and no answer has this header", CORRECT);
        }
    }
    for name in &options.client.transport_headers {
        if [ParameterIn::Header, ParameterIn::Cookie].iter().all(|at| parameters(*at, name).next().is_none())
        {
            let why = "no operation has this header or cookie parameter";
            idle("client.transport-headers", name, why, CORRECT);
        }
    }
    let bodies = responses().filter(|response| may_refuse(response.status)).flat_map(|it| &it.content);
    let bodies = bodies.filter(|media| MediaType::of(&media.name).is_json());
    let members: Option<Vec<BTreeSet<&str>>> = bodies.map(|media| members(graph, media.schema?)).collect();
    // Where a refusal may have any member, each may be shown.
    let Some(members) = members else { return };
    for name in
        options.client.shown.iter().filter(|name| !members.iter().any(|it| it.contains(name.as_str())))
    {
        idle("client.shown", name, "no refusal has this member", CORRECT);
    }
}

/// Whether what comes with a status is shown as a refusal.
const fn may_refuse(status: Status) -> bool {
    match status {
        Status::Code(code) => code >= 300,
        Status::Range(class) => class >= 3,
        Status::Default => true,
    }
}

/// The members that are described for a value; `None` where it may have any.
fn members(graph: &Graph, root: SchemaId) -> Option<BTreeSet<&str>> {
    let mut look = Look { graph, seen: BTreeSet::new(), found: BTreeSet::new() };
    look.describes(root).then_some(look.found)
}

/// A walk over the schemas that hold for the same value.
struct Look<'a> {
    graph: &'a Graph,
    seen: BTreeSet<SchemaId>,
    found: BTreeSet<&'a str>,
}

impl Look<'_> {
    /// Whether a schema says what members there are, if there are any.
    fn describes(&mut self, id: SchemaId) -> bool {
        if !self.seen.insert(id) {
            return true;
        }
        let schema = self.graph.schema(id);
        self.found.extend(schema.properties.iter().map(|(name, _)| name.as_str()));
        let unions = [&schema.any_of, &schema.one_of];
        let more = schema.additional_properties.or(schema.unevaluated_properties);
        let is_map = more.is_some_and(|more| self.graph.schema(more).boolean != Some(false));
        // What takes a base in by `allOf` has members of its own.
        let is_base = schema.discriminator.is_some() && unions.iter().all(|union| union.is_empty());
        if is_map || is_base || !schema.pattern_properties.is_empty() || schema.dynamic_reference.is_some() {
            return false;
        }
        let mut described =
            !schema.properties.is_empty() || schema.types.is_some_and(|types| !types.contains(Types::OBJECT));
        let conditional = [schema.condition, schema.then, schema.otherwise].into_iter().flatten();
        for step in conditional.chain(schema.dependent_schemas.iter().map(|(_, step)| *step)) {
            self.describes(step);
        }
        for step in schema.all_of.iter().chain(&schema.reference) {
            described |= self.describes(*step);
        }
        for union in unions.into_iter().filter(|union| !union.is_empty()) {
            let branches: Vec<bool> = union.iter().map(|step| self.describes(*step)).collect();
            described |= branches.iter().all(|described| *described);
        }
        described
    }
}
