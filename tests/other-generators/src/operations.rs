//! Runs progenitor on the operations of a contract and reports the operations that it rejects and the
//! constructs that its generated methods retain.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen::lower::{
    losses::Losses,
    names::Names,
    openapi::{Words, free, written},
    schemas::{Dialect, Schemas},
};
use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::{self, Operation, Parameter, ParameterIn, Response, StatusPattern},
    locations::LocationFormatter,
    schema::SchemaId,
};
use contract_runtime::media_type::MediaType;
use quote::ToTokens;
use serde_json::{Map, Value, json};

use super::{
    Opinion, Refusal, Row,
    methods::{Kind, Method, argument_name, methods},
    process::{Endless, Engines},
};

/// Maximum number of operations in one run; a failing group is split.
const TOGETHER: usize = 32;

/// Runs progenitor on every operation and compares the generated methods with the operations.
pub(super) fn ask(contract: &AnalyzedContract, engines: &Engines, names: &Names) -> Opinion {
    let schemas = Schemas::new(&contract.graph, Dialect::OpenApi30);
    let mut asking = Asking { contract, engines, names, schemas, endless: Endless::default() };
    let whereabouts = LocationFormatter::new(contract);
    let operations: Vec<(usize, &Operation)> = contract.api.operations.iter().enumerate().collect();
    let mut rows = BTreeMap::new();
    let mut refusals = Vec::new();
    for chunk in operations.chunks(TOGETHER) {
        for ((_, operation), made) in asking.made(chunk) {
            match made {
                Ok(method) => look(&whereabouts, operation, method.as_ref(), &mut rows),
                Err(reason) => {
                    each(operation, &mut |construct, _| Row::of(&mut rows, construct).refused += 1);
                    refusals.push(Refusal { place: whereabouts.format_location(&operation.place), reason });
                }
            }
        }
    }
    Opinion { engine: "progenitor", rows: rows.into_values().collect(), refusals }
}

struct Asking<'a> {
    contract: &'a AnalyzedContract,
    engines: &'a Engines,
    names: &'a Names,
    schemas: Schemas<'a>,
    endless: Endless,
}

/// An operation with its index, and its method if one was generated, or the reason for the failure.
type Asked<'o> = ((usize, &'o Operation), Result<Option<syn::ImplItemFn>, String>);

impl Asking<'_> {
    /// Generates methods for a group of operations. Splits the group in halves if it fails.
    fn made<'o>(&mut self, group: &[(usize, &'o Operation)]) -> Vec<Asked<'o>> {
        if let Some(reason) = self.endless.refusal() {
            return group.iter().map(|each| (*each, Err(reason.clone()))).collect();
        }
        match (self.run(group), group) {
            (Ok(mut methods), _) => {
                let own = |each: &(usize, &'o Operation)| {
                    let at = methods.iter().position(|method| method.sig.ident == method_name(each.0));
                    (*each, Ok(at.map(|at| methods.swap_remove(at))))
                };
                group.iter().map(own).collect()
            }
            (Err(reason), [one]) => vec![(*one, Err(reason))],
            (Err(_), several) => {
                let (left, right) = several.split_at(several.len() / 2);
                let mut all = self.made(left);
                all.extend(self.made(right));
                all
            }
        }
    }

    fn run(&mut self, group: &[(usize, &Operation)]) -> Result<Vec<syn::ImplItemFn>, String> {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut paths = Map::new();
        for (index, operation) in group {
            let item = self.operation(*index, operation, &mut used);
            let method = operation.method.to_ascii_lowercase();
            let key = free(&written(operation).0, |key| {
                paths.get(key).is_some_and(|path| path.get(&method).is_some())
            });
            paths.entry(key).or_insert_with(|| json!({}))[method] = item;
        }
        // Components are replaced by empty schemas: the types are tested with typify.
        let components: Map<String, Value> = used.iter().map(|key| (key.clone(), json!({}))).collect();
        let document = json!({
            "openapi": "3.0.3",
            "info": { "title": self.contract.api.title, "version": self.contract.api.version },
            "paths": paths,
            "components": { "schemas": components },
        });
        let made = self.engines.progenitor(&document, &used.into_iter().collect::<Vec<_>>());
        let code = self.endless.hear(made)?;
        let file = syn::parse_str(&code).map_err(|error| format!("its output is no Rust: {error}"))?;
        Ok(methods(file))
    }

    /// Returns the operation in OpenAPI 3.0, under an operation id that identifies its method.
    fn operation(&self, index: usize, operation: &Operation, used: &mut BTreeSet<String>) -> Value {
        let mut link = |id: SchemaId| {
            let name = self.names.get(id).to_owned();
            let link = format!("#/components/schemas/{name}");
            used.insert(name);
            link
        };
        let (contract, schemas) = (self.contract, &self.schemas);
        let mut words = Words { contract, schemas, link: &mut link, losses: &mut Losses::default() };
        let mut out = words.operation(operation);
        out["operationId"] = json!(method_name(index));
        out
    }
}

fn method_name(index: usize) -> String {
    format!("operation{index}")
}

/// A construct of an operation.
enum Part<'o> {
    Line(&'o Operation),
    Parameter(&'o Parameter),
    Body(&'o api::MediaType),
    Response(&'o Response),
    Answer(&'o Response, &'o api::MediaType),
    Header(&'o str),
}

impl Part<'_> {
    /// Returns the name of the construct for reports.
    fn words(&self) -> String {
        match self {
            Self::Line(operation) => format!("{} {}", operation.method, operation.path),
            Self::Parameter(parameter) => parameter.name.clone(),
            Self::Body(media) | Self::Answer(_, media) => media.name.clone(),
            Self::Response(response) => response.status.key(),
            Self::Header(name) => (*name).to_owned(),
        }
    }
}

/// Visits each construct of an operation that a method can express.
fn each<'o>(operation: &'o Operation, see: &mut dyn FnMut(&'static str, Part<'o>)) {
    see("method and path", Part::Line(operation));
    for parameter in &operation.parameters {
        let construct = match parameter.location {
            ParameterIn::Path => "parameter in the path",
            ParameterIn::Query => "parameter in the query",
            ParameterIn::Header => "parameter in a header",
            ParameterIn::Cookie => "parameter in a cookie",
            ParameterIn::QueryString => "parameter that is the whole query",
        };
        see(construct, Part::Parameter(parameter));
    }
    for media in operation.request_body.iter().flat_map(|body| &body.content) {
        see("media type of a request", Part::Body(media));
    }
    for response in &operation.responses {
        see("status", Part::Response(response));
        for media in &response.content {
            see("media type of an answer", Part::Answer(response, media));
        }
        for header in &response.headers {
            see("header of an answer", Part::Header(&header.name));
        }
    }
}

/// Compares an operation with its method.
fn look(
    whereabouts: &LocationFormatter<'_>,
    operation: &Operation,
    method: Option<&syn::ImplItemFn>,
    rows: &mut BTreeMap<String, Row>,
) {
    let read = method.map(Method::of);
    let Some(Ok(reading)) = read else {
        each(operation, &mut |construct, _| Row::of(rows, construct).unasked += 1);
        return;
    };
    let words = method.map(|method| method.to_token_stream().to_string().to_ascii_lowercase());
    let words = words.unwrap_or_default();
    let covered = |status: StatusPattern| {
        let of_class = |class: u16| class * 100..=class * 100 + 99;
        let arms = || reading.results.iter().chain(&reading.refusals);
        match status {
            StatusPattern::Code(code) => arms().find(|arm| (arm.from..=arm.to).contains(&code)),
            StatusPattern::Range(class) => arms().find(|arm| of_class(class.into()).contains(&arm.from)),
            // `default` matches the remaining statuses: any range that exceeds one class is accepted.
            StatusPattern::Default => {
                arms().find(|arm| arm.to >= 500 && arm.from <= 400 || arm.to == u16::MAX)
            }
        }
    };
    each(operation, &mut |construct, part| {
        let kept = match &part {
            Part::Line(_) => {
                let verb = reading.verb.to_ascii_uppercase();
                verb == operation.method && sent(&reading.path) == sent(&with_arguments(operation))
            }
            Part::Parameter(parameter) => match parameter.location {
                ParameterIn::Path => {
                    reading.path.contains(&format!("{{{}}}", argument_name(&parameter.name)))
                }
                ParameterIn::Query | ParameterIn::QueryString => reading.queries.contains(&parameter.name),
                ParameterIn::Header => reading.headers.contains(&parameter.name),
                ParameterIn::Cookie => {
                    words.contains(&format!("\"{}\"", parameter.name.to_ascii_lowercase()))
                }
            },
            Part::Body(media) => {
                let media = MediaType::parse(&media.name);
                match reading.body.as_deref() {
                    Some("json") => media.is_json(),
                    Some("form_urlencoded") => media.is_form(),
                    Some(_) => !media.is_json() && !media.is_form(),
                    None => false,
                }
            }
            Part::Response(response) => covered(response.status).is_some(),
            Part::Answer(response, media) => covered(response.status).is_some_and(|arm| {
                let due = if MediaType::parse(&media.name).is_json() { Kind::Json } else { Kind::Raw };
                arm.kind == due
            }),
            Part::Header(name) => words.contains(&format!("\"{}\"", name.to_ascii_lowercase())),
        };
        let row = Row::of(rows, construct);
        if kept {
            row.kept += 1;
        } else {
            row.drop_at(format!("{} `{}`", whereabouts.format_location(&operation.place), part.words()));
        }
    });
}

/// Returns the path template of an operation with progenitor's names for its parameters.
fn with_arguments(operation: &Operation) -> String {
    let in_path = operation.parameters.iter().filter(|each| each.location == ParameterIn::Path);
    in_path.fold(operation.path_template().to_owned(), |path, Parameter { name, .. }| {
        path.replace(&format!("{{{name}}}"), &format!("{{{}}}", argument_name(name)))
    })
}

/// Returns a path without its fragment number and with repeated slashes merged, as progenitor does.
fn sent(path: &str) -> String {
    let mut path = path.split('#').next().unwrap_or_default().to_owned();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    path
}
