//! Runs progenitor on the operations of a contract and reports the operations that it rejects and the
//! constructs that its generated methods retain.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen::lower::{
    losses::LossList,
    names::SchemaNames,
    openapi::{OperationLowerer, split_fixed_query, unused_path_key},
    schemas::{SchemaLowerer, TargetDialect},
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
    ConstructRow, GeneratorReport, Rejection,
    methods::{BodyKind, MethodBehavior, argument_name, client_methods},
    process::{GeneratorRunner, TimeoutCounter},
};

/// The maximum number of operations in one run; a group that fails is split.
const MAX_GROUP_SIZE: usize = 32;

/// Runs progenitor on every operation and compares the generated methods with the operations.
pub(super) fn measure_progenitor(
    contract: &AnalyzedContract,
    runner: &GeneratorRunner,
    names: &SchemaNames,
) -> GeneratorReport {
    let schemas = SchemaLowerer::new(&contract.graph, TargetDialect::OpenApi30);
    let mut session =
        ProgenitorSession { contract, runner, names, schemas, timeouts: TimeoutCounter::default() };
    let formatter = LocationFormatter::new(contract);
    let operations: Vec<(usize, &Operation)> = contract.api.operations.iter().enumerate().collect();
    let mut rows = BTreeMap::new();
    let mut rejections = Vec::new();
    for chunk in operations.chunks(MAX_GROUP_SIZE) {
        for ((_, operation), result) in session.generate_methods(chunk) {
            match result {
                Ok(method) => compare_operation(&formatter, operation, method.as_ref(), &mut rows),
                Err(reason) => {
                    visit_parts(operation, &mut |construct, _| {
                        ConstructRow::entry(&mut rows, construct).rejected += 1
                    });
                    rejections
                        .push(Rejection { location: formatter.format_location(&operation.place), reason });
                }
            }
        }
    }
    GeneratorReport { generator: "progenitor", rows: rows.into_values().collect(), rejections }
}

struct ProgenitorSession<'a> {
    contract: &'a AnalyzedContract,
    runner: &'a GeneratorRunner,
    names: &'a SchemaNames,
    schemas: SchemaLowerer<'a>,
    timeouts: TimeoutCounter,
}

/// An operation with its index, and its method if one was generated, or the reason for the failure.
type OperationResult<'o> = ((usize, &'o Operation), Result<Option<syn::ImplItemFn>, String>);

impl ProgenitorSession<'_> {
    /// Generates methods for a group of operations. Splits the group in halves if it fails.
    fn generate_methods<'o>(&mut self, group: &[(usize, &'o Operation)]) -> Vec<OperationResult<'o>> {
        if let Some(reason) = self.timeouts.limit_error() {
            return group.iter().map(|operation| (*operation, Err(reason.clone()))).collect();
        }
        match (self.run_group(group), group) {
            (Ok(mut methods), _) => {
                let take_method = |operation: &(usize, &'o Operation)| {
                    let index =
                        methods.iter().position(|method| method.sig.ident == method_name(operation.0));
                    (*operation, Ok(index.map(|index| methods.swap_remove(index))))
                };
                group.iter().map(take_method).collect()
            }
            (Err(reason), [one]) => vec![(*one, Err(reason))],
            (Err(_), several) => {
                let (left, right) = several.split_at(several.len() / 2);
                let mut results = self.generate_methods(left);
                results.extend(self.generate_methods(right));
                results
            }
        }
    }

    fn run_group(&mut self, group: &[(usize, &Operation)]) -> Result<Vec<syn::ImplItemFn>, String> {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut paths = Map::new();
        for (index, operation) in group {
            let item = self.lower_operation(*index, operation, &mut used);
            let method = operation.method.to_ascii_lowercase();
            let key = unused_path_key(&split_fixed_query(operation).0, |key| {
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
        let result = self.runner.run_progenitor(&document, &used.into_iter().collect::<Vec<_>>());
        let code = self.timeouts.count_timeout(result)?;
        let file = syn::parse_str(&code).map_err(|error| format!("invalid Rust output: {error}"))?;
        Ok(client_methods(file))
    }

    /// Returns the operation in OpenAPI 3.0, under an operation id that identifies its method.
    fn lower_operation(&self, index: usize, operation: &Operation, used: &mut BTreeSet<String>) -> Value {
        let mut link = |id: SchemaId| {
            let name = self.names.get(id).to_owned();
            let link = format!("#/components/schemas/{name}");
            used.insert(name);
            link
        };
        let (contract, schemas) = (self.contract, &self.schemas);
        let mut lowerer =
            OperationLowerer { contract, schemas, link: &mut link, losses: &mut LossList::default() };
        let mut out = lowerer.write_operation(operation);
        out["operationId"] = json!(method_name(index));
        out
    }
}

fn method_name(index: usize) -> String {
    format!("operation{index}")
}

/// A construct of an operation.
enum OperationPart<'o> {
    Route(&'o Operation),
    Parameter(&'o Parameter),
    RequestBody(&'o api::MediaType),
    Response(&'o Response),
    ResponseBody(&'o Response, &'o api::MediaType),
    Header(&'o str),
}

impl OperationPart<'_> {
    /// Returns the name of the construct for reports.
    fn label(&self) -> String {
        match self {
            Self::Route(operation) => format!("{} {}", operation.method, operation.path),
            Self::Parameter(parameter) => parameter.name.clone(),
            Self::RequestBody(media) | Self::ResponseBody(_, media) => media.name.clone(),
            Self::Response(response) => response.status.key(),
            Self::Header(name) => (*name).to_owned(),
        }
    }
}

/// Visits each construct of an operation that a method can express.
fn visit_parts<'o>(operation: &'o Operation, visit: &mut dyn FnMut(&'static str, OperationPart<'o>)) {
    visit("method and path", OperationPart::Route(operation));
    for parameter in &operation.parameters {
        let construct = match parameter.location {
            ParameterIn::Path => "path parameter",
            ParameterIn::Query => "query parameter",
            ParameterIn::Header => "header parameter",
            ParameterIn::Cookie => "cookie parameter",
            ParameterIn::QueryString => "query string parameter",
        };
        visit(construct, OperationPart::Parameter(parameter));
    }
    for media in operation.request_body.iter().flat_map(|body| &body.content) {
        visit("request media type", OperationPart::RequestBody(media));
    }
    for response in &operation.responses {
        visit("status", OperationPart::Response(response));
        for media in &response.content {
            visit("response media type", OperationPart::ResponseBody(response, media));
        }
        for header in &response.headers {
            visit("response header", OperationPart::Header(&header.name));
        }
    }
}

/// Compares an operation with its method and counts the constructs that the method keeps.
fn compare_operation(
    formatter: &LocationFormatter<'_>,
    operation: &Operation,
    method: Option<&syn::ImplItemFn>,
    rows: &mut BTreeMap<String, ConstructRow>,
) {
    let behavior = method.map(MethodBehavior::parse);
    let Some(Ok(behavior)) = behavior else {
        visit_parts(operation, &mut |construct, _| ConstructRow::entry(rows, construct).untested += 1);
        return;
    };
    let method_text = method.map(|method| method.to_token_stream().to_string().to_ascii_lowercase());
    let method_text = method_text.unwrap_or_default();
    let matching_arm = |status: StatusPattern| {
        let of_class = |class: u16| class * 100..=class * 100 + 99;
        let arms = || behavior.success_arms.iter().chain(&behavior.error_arms);
        match status {
            StatusPattern::Code(code) => arms().find(|arm| (arm.from..=arm.to).contains(&code)),
            StatusPattern::Range(class) => arms().find(|arm| of_class(class.into()).contains(&arm.from)),
            // `default` matches the remaining statuses: any range that exceeds one class is accepted.
            StatusPattern::Default => {
                arms().find(|arm| arm.to >= 500 && arm.from <= 400 || arm.to == u16::MAX)
            }
        }
    };
    visit_parts(operation, &mut |construct, part| {
        let kept = match &part {
            OperationPart::Route(_) => {
                let verb = behavior.verb.to_ascii_uppercase();
                verb == operation.method
                    && normalize_path(&behavior.path) == normalize_path(&path_with_arguments(operation))
            }
            OperationPart::Parameter(parameter) => match parameter.location {
                ParameterIn::Path => {
                    behavior.path.contains(&format!("{{{}}}", argument_name(&parameter.name)))
                }
                ParameterIn::Query | ParameterIn::QueryString => {
                    behavior.query_parameters.contains(&parameter.name)
                }
                ParameterIn::Header => behavior.headers.contains(&parameter.name),
                ParameterIn::Cookie => {
                    method_text.contains(&format!("\"{}\"", parameter.name.to_ascii_lowercase()))
                }
            },
            OperationPart::RequestBody(media) => {
                let media = MediaType::parse(&media.name);
                match behavior.body.as_deref() {
                    Some("json") => media.is_json(),
                    Some("form_urlencoded") => media.is_form(),
                    Some(_) => !media.is_json() && !media.is_form(),
                    None => false,
                }
            }
            OperationPart::Response(response) => matching_arm(response.status).is_some(),
            OperationPart::ResponseBody(response, media) => {
                matching_arm(response.status).is_some_and(|arm| {
                    let expected =
                        if MediaType::parse(&media.name).is_json() { BodyKind::Json } else { BodyKind::Raw };
                    arm.kind == expected
                })
            }
            OperationPart::Header(name) => {
                method_text.contains(&format!("\"{}\"", name.to_ascii_lowercase()))
            }
        };
        let row = ConstructRow::entry(rows, construct);
        if kept {
            row.kept += 1;
        } else {
            row.record_drop(format!("{} `{}`", formatter.format_location(&operation.place), part.label()));
        }
    });
}

/// Returns the path template of an operation with progenitor's names for its parameters.
fn path_with_arguments(operation: &Operation) -> String {
    let path_parameters =
        operation.parameters.iter().filter(|parameter| parameter.location == ParameterIn::Path);
    path_parameters.fold(operation.path_template().to_owned(), |path, Parameter { name, .. }| {
        path.replace(&format!("{{{name}}}"), &format!("{{{}}}", argument_name(name)))
    })
}

/// Returns a path without its fragment number and with repeated slashes merged, as progenitor does.
fn normalize_path(path: &str) -> String {
    let mut path = path.split('#').next().unwrap_or_default().to_owned();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    path
}
