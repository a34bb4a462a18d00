//! The first call of a client, as example code for the README and the documentation of a package.

use contract_runtime::Json;

use crate::{
    api::Operation,
    config::Config,
    conjunction::{
        SchemaConjunction,
        sample::{SampleCache, SampleEffort, edge_values},
    },
    credentials::{SchemeSetter, credential_setters},
    emit::ident,
    plan::{BodyType, PlannedCall, SidePlan},
    rust_types::{PassingMode, RustTypes},
    schema::{SchemaGraph, SchemaId},
    servers::named_servers,
    shape::TypeRef,
};

/// The server of a contract that declares no absolute URL.
const EXAMPLE_SERVER: &str = "https://api.example.com";
/// The maximum length of an argument's JSON in bytes.
const MAX_JSON_BYTES: usize = 160;

/// The planned operations and their types.
#[derive(Clone, Copy)]
pub(crate) struct CallSources<'a> {
    pub(crate) plan: &'a SidePlan<'a>,
    pub(crate) graph: &'a SchemaGraph,
    pub(crate) types: &'a dyn RustTypes,
    /// True if a schema with `properties` and without `type` describes an object.
    pub(crate) implied_objects: bool,
    /// The samples of all operations, which often have the same parameters.
    pub(crate) samples: &'a SampleCache,
}

/// An example in two parts: imports, and statements that end with the call.
pub(crate) struct FirstCall {
    pub(super) imports: Vec<String>,
    pub(super) statements: Vec<String>,
}

impl FirstCall {
    /// Writes an example with the simplest operation; `None` if no operation has arguments with short samples.
    pub(crate) fn new(config: &Config, library: &str, sources: CallSources<'_>) -> Option<Self> {
        let rank = |call: &PlannedCall<'_>, arguments: &[Argument]| {
            let complex = arguments.iter().filter(|argument| argument.is_json).count();
            (call.operation.deprecated, complex, call.operation.method != "GET", arguments.len())
        };
        let calls = sources.plan.calls.iter().filter(|call| call.unsendable_reason.is_none());
        let eligible = calls.filter_map(|call| Some((call, sources.arguments(call)?)));
        let (call, arguments) = eligible.min_by_key(|(call, arguments)| rank(call, arguments))?;
        let has_json = arguments.iter().any(|argument| argument.is_json);
        let mut imports = vec!["client::Client".to_owned()];
        let has_credentials = config.has_credentials() && !call.anonymous;
        let setters = if has_credentials { credentials_of(call.operation, sources.plan) } else { Vec::new() };
        let mut statements = vec!["let transport = ReqwestTransport::with_default_layers()?;".to_owned()];
        let mut transport = "transport";
        if !setters.is_empty() {
            imports.push("credentials::Credentials".to_owned());
            let set = setters.concat();
            statements.push(format!("let credentials = Credentials::new(){set};"));
            transport = "credentials.wrap(transport)";
        }
        let contract = if has_json { "Contract as _, " } else { "" };
        imports.push(match has_json {
            true => format!("runtime::{{{contract}client::ReqwestTransport}}"),
            false => "runtime::client::ReqwestTransport".to_owned(),
        });
        if has_json {
            imports.push("types".to_owned());
        }
        let servers = named_servers(sources.plan.api);
        let server = match servers.first() {
            Some(server) => server.expression(),
            None => format!("{EXAMPLE_SERVER:?}"),
        };
        if !servers.is_empty() {
            imports.push("servers".to_owned());
        }
        statements.push(format!("let client = Client::new({server}, {transport});"));
        let group =
            call.accessor.as_ref().map(|accessor| format!("{}().", ident(accessor))).unwrap_or_default();
        let method = ident(&call.client_method);
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.code).collect();
        statements.push(format!("let response = client.{group}{method}({}).await?;", arguments.join(", ")));
        statements.push("println!(\"{}\", response.status());".to_owned());
        imports.sort_unstable();
        let imports = vec![format!("use {library}::{{{}}};", imports.join(", "))];
        Some(Self { imports, statements })
    }
}

/// The code of an argument.
struct Argument {
    code: String,
    /// True if the code parses JSON.
    is_json: bool,
}

impl CallSources<'_> {
    /// Returns the code of all arguments; `None` if one of them has no short sample.
    fn arguments(&self, call: &PlannedCall<'_>) -> Option<Vec<Argument>> {
        let parameters = call.required_parameters().map(|(_, parameter)| {
            let allowed = parameter.allowed_values.first().map(|text| Json::String(text.clone()));
            let schema = parameter.row.schema;
            match (&parameter.ty, allowed) {
                (TypeRef::String, Some(text)) => self.argument(&TypeRef::String, None, Some(&text), false),
                (ty, _) => self.argument(ty, schema, None, false),
            }
        });
        let body = call.body.as_ref().filter(|body| body.is_argument()).map(|body| {
            let [variant] = body.variants.as_slice() else { return None };
            let content = &body.contents[variant.sent];
            match &variant.ty {
                BodyType::Value(ty) => self.argument(ty, content.media.schema, None, true),
                BodyType::Text | BodyType::Bytes => {
                    Some(Argument { code: "\"text\"".to_owned(), is_json: false })
                }
                _ => None,
            }
        });
        let options = call
            .has_options()
            .then(|| Some(Argument { code: "Default::default()".to_owned(), is_json: false }));
        parameters.chain(body).chain(options).collect()
    }

    fn argument(
        &self,
        ty: &TypeRef,
        schema: Option<SchemaId>,
        value: Option<&Json>,
        is_body: bool,
    ) -> Option<Argument> {
        let sampled = schema.and_then(|schema| self.sample(schema, ty));
        let value = value.or(sampled.as_ref());
        let simple = |code: String| Some(Argument { code, is_json: false });
        match (ty, value) {
            (TypeRef::String, value) => {
                let text = value.and_then(Json::as_str).filter(|text| is_short(text)).unwrap_or("text");
                simple(format!("{text:?}"))
            }
            (TypeRef::Bool, _) if !is_body => simple("true".to_owned()),
            (TypeRef::Int(_), Some(Json::Number(number))) if !is_body => simple(number.to_string()),
            (TypeRef::Named(_), Some(value)) => {
                let name = self.types.type_name(ty)?;
                let json = value.to_string();
                let is_by_value = !is_body && PassingMode::for_type(ty, self.types) == PassingMode::ByValue;
                let reference = if is_by_value { "" } else { "&" };
                let quoted = if json.contains('\\') || !json.is_ascii() { None } else { Some(json) };
                let json = quoted.filter(|json| json.len() <= MAX_JSON_BYTES && !json.contains("\"#"))?;
                let code = format!("{reference}types::{}::parse(br#\"{json}\"#)?", ident(name));
                Some(Argument { code, is_json: true })
            }
            _ => None,
        }
    }

    /// Returns the first sample of a schema that the type can hold and that an example may show.
    fn sample(&self, schema: SchemaId, ty: &TypeRef) -> Option<Json> {
        let conjunction = SchemaConjunction::from_schema(schema);
        let all = edge_values(
            self.graph,
            &conjunction,
            self.implied_objects,
            SampleEffort::Quick,
            &|_, _| true,
            self.samples,
        );
        let fits = |value: &Json| match (ty, value) {
            (TypeRef::String, value) => value.as_str().is_some_and(is_short),
            (TypeRef::Int(kind), Json::Number(number)) => {
                kind.value_of(number).is_some() && number.to_string().parse::<u32>().is_ok()
            }
            (TypeRef::Int(_), _) => false,
            (_, value) => !matches!(value, Json::Null),
        };
        all.into_iter().find(fits)
    }
}

/// Returns true if an example may show the string.
fn is_short(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')
}

/// Returns the calls that set the credentials of the first alternative of `security` that is not empty.
fn credentials_of(operation: &Operation, plan: &SidePlan<'_>) -> Vec<String> {
    let setters = credential_setters(plan);
    let required = operation.security.iter().find(|all| !all.is_empty());
    let names = required.into_iter().flatten().map(|(name, _)| name.as_str());
    let code = names.filter_map(|name| setters.iter().find(|setter| setter.scheme == name)).map(
        |SchemeSetter { name, has_user_name, .. }| match has_user_name {
            true => format!(".{}(\"name\", \"password\")", ident(name)),
            false => format!(".{}(\"secret\")", ident(name)),
        },
    );
    code.collect()
}
