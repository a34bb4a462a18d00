//! Converts the arguments of a tool call to the request of its operation, as a generated client encodes it.

use contract_codegen_core::plan::StreamItem;
use contract_runtime::{
    Json,
    client::RequestBuilder,
    format::base64,
    media_type::MediaType,
    multipart::{FilePart, Multipart, MultipartField, MultipartReader, MultipartWriter},
    operation::{BodyFormat, ContentSpec, Operation, PartEncoding, PartSpec, TypedBytes},
    pointer,
    server::Bytes,
    transport::UserAgent,
    violation::{Violation, Violations},
};
use http::Request;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    ContractTools,
    tools::{BODY, BodyForm, PlannedTool, ToolArgument, ToolBody},
};

const USER_AGENT: UserAgent = UserAgent(concat!("contract-codegen/", env!("CARGO_PKG_VERSION")));
/// The members of a file object.
const FILE_MEMBERS: &[&str] = &["base64", "content_type", "filename", "text"];

/// The reason why the arguments of a call are invalid. It contains no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidArgument {
    /// The JSON Pointer of the invalid value in the arguments.
    pub(super) pointer: String,
    pub(super) message: String,
}

impl InvalidArgument {
    fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }

    fn from_violation(within: &str, violation: &Violation) -> Self {
        Self::new(format!("{within}{}", violation.pointer), violation.message())
    }
}

/// A body that can be encoded.
enum BodyValue {
    Json(Json),
    Form(Json),
    Parts(ToolParts),
    Text(String),
    Bytes(Bytes),
    Typed(TypedBytes),
}

/// A part of a multipart body.
enum ToolPart {
    Files(&'static str, Vec<FilePart>),
    Value(&'static str, Json),
    Undeclared(MultipartField),
}

/// The parts of a body.
struct ToolParts(Vec<ToolPart>);

impl Multipart for ToolParts {
    fn write_parts(&self, form: &mut MultipartWriter) {
        for part in &self.0 {
            match part {
                ToolPart::Files(name, files) => form.write_files(name, files),
                ToolPart::Value(name, value) => form.write_value(name, value),
                ToolPart::Undeclared(field) => form.write_fields(std::slice::from_ref(field)),
            }
        }
    }

    fn read_parts(_: &MultipartReader) -> Option<Self> {
        None
    }
}

impl ContractTools {
    /// Encodes the request of a call. The error lists all violations of the contract.
    pub(super) fn encode_request(
        &self,
        tool: &PlannedTool,
        arguments: &JsonObject,
        base_url: &str,
    ) -> Result<Request<Bytes>, Vec<InvalidArgument>> {
        let operation = &self.mock.operations().all()[tool.at];
        let mut invalid = find_unknown(tool, arguments);
        let values: Vec<Json> =
            tool.arguments.iter().map(|own| read_argument(arguments, &own.name)).collect();
        for (own, value) in tool.arguments.iter().zip(&values) {
            invalid.extend(self.check_argument(operation, own, value));
        }
        let body = tool.body.as_ref().and_then(|body| Some((body, self.content(tool.at, body)?)));
        let body =
            match body.map(|(body, content)| (content, self.read_body(tool.at, body, content, arguments))) {
                Some((content, Ok(Some(value)))) => Some((content, value)),
                Some((_, Err(faults))) => {
                    invalid.extend(faults);
                    None
                }
                Some((_, Ok(None))) | None => None,
            };
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let call = &self.mock.plan.calls[tool.at];
        let mut builder = self.encoder.request(operation);
        for (own, value) in tool.arguments.iter().zip(values) {
            builder = builder.argument(own.parameter, value);
        }
        for (at, parameter) in call.parameters.iter().enumerate() {
            if let Some(constant) = &parameter.parameter.constant {
                builder = builder.argument(at, constant);
            }
        }
        if let Some(media_types) = self.accepted_types(tool.at) {
            builder = builder.accept(media_types);
        }
        if let Some((content, value)) = &body {
            builder = value.attach(builder, content);
        }
        finish_request(builder, operation, base_url)
    }

    /// Returns the value of `Accept`. Streams are received as a whole.
    fn accepted_types(&self, at: usize) -> Option<&'static str> {
        let call = &self.mock.plan.calls[at];
        let streamed = call.streams.response.as_ref().map(|response| response.accept.as_str());
        call.accept.as_deref().or(streamed)
    }

    fn content(&self, at: usize, body: &ToolBody) -> Option<&'static ContentSpec> {
        self.mock.operations().all()[at].body?.content.get(body.content)
    }

    /// Returns the violations of one argument, with pointers that start with the name of the argument.
    fn check_argument(
        &self,
        operation: &'static Operation,
        own: &ToolArgument,
        value: &Json,
    ) -> Vec<InvalidArgument> {
        if *value == Json::Null && own.is_required {
            return vec![InvalidArgument::new(pointer_to(&own.name), "is required")];
        }
        let Err(violations) = self.encoder.request(operation).argument(own.parameter, value).into_stored()
        else {
            return Vec::new();
        };
        // A generated idempotency key may violate its schema as well.
        let wire = pointer_to(operation.parameters[own.parameter].name);
        let below = |violation: &Violation| {
            let rest = violation.pointer.strip_prefix(&wire)?;
            let is_own = rest.is_empty() || rest.starts_with('/');
            is_own.then(|| {
                InvalidArgument::new(format!("{}{rest}", pointer_to(&own.name)), violation.message())
            })
        };
        violations.iter().filter_map(below).collect()
    }

    /// Reads and validates the body of a call. Returns `None` if an optional body is absent.
    fn read_body(
        &self,
        at: usize,
        body: &ToolBody,
        content: &'static ContentSpec,
        arguments: &JsonObject,
    ) -> Result<Option<BodyValue>, Vec<InvalidArgument>> {
        let own = pointer_to(BODY);
        let Some(given) = arguments.get(BODY) else {
            return match body.is_required {
                true => Err(vec![InvalidArgument::new(own, "is required")]),
                false => Ok(None),
            };
        };
        // Without a schema that accepts `null`, clients mean by it that the body is absent.
        if given.is_null() && !body.is_required && !accepts_null(&body.form, content) {
            return Ok(None);
        }
        let value = match &body.form {
            BodyForm::Json => Ok(BodyValue::Json(Json::from(given))),
            BodyForm::Form => Ok(BodyValue::Form(Json::from(given))),
            BodyForm::Multipart => read_parts(content, given),
            BodyForm::Items(item) => self.read_items(item, given),
            BodyForm::Text => self.read_text(at, body, content, given),
            BodyForm::File => read_file_body(content, given).map_err(|fault| vec![fault]),
        }?;
        // The row without parameters reports only violations of the body.
        let operation = &self.mock.bodies[at];
        match value.attach(self.encoder.request(operation), content).into_stored() {
            Ok(_) => Ok(Some(value)),
            Err(violations) => Err(below_body(&violations)),
        }
    }

    fn read_text(
        &self,
        at: usize,
        body: &ToolBody,
        content: &'static ContentSpec,
        given: &Value,
    ) -> Result<BodyValue, Vec<InvalidArgument>> {
        let text =
            given.as_str().ok_or_else(|| vec![InvalidArgument::new(pointer_to(BODY), "must be a string")])?;
        let planned = self.mock.plan.calls[at].body.as_ref();
        let schema = planned.and_then(|planned| planned.contents.get(body.content)?.media.schema);
        if let Some(validator) = content.validator
            && schema.is_some_and(|schema| self.mock.allows_string(schema))
        {
            validator.validate(&Json::from(text)).map_err(|violations| below_body(&violations))?;
        }
        Ok(BodyValue::Text(text.to_owned()))
    }

    fn read_items(&self, item: &StreamItem, given: &Value) -> Result<BodyValue, Vec<InvalidArgument>> {
        let Value::Array(items) = given else {
            return Err(vec![InvalidArgument::new(pointer_to(BODY), "must be an array")]);
        };
        let items: Vec<Json> = items.iter().map(Json::from).collect();
        let mut faults = Vec::new();
        for (index, value) in items.iter().enumerate() {
            let valid = item.schema.map_or(Ok(()), |schema| self.mock.tables.validate(schema, value));
            if let Err(violations) = valid {
                let within = format!("{}/{index}", pointer_to(BODY));
                faults.extend(violations.iter().map(|own| InvalidArgument::from_violation(&within, own)));
            }
        }
        match faults.is_empty() {
            true => Ok(BodyValue::Bytes(self.mock.frame_items(item, &items))),
            false => Err(faults),
        }
    }
}

impl BodyValue {
    fn attach(&self, builder: RequestBuilder, content: &'static ContentSpec) -> RequestBuilder {
        let media_type = content.media_type;
        match self {
            Self::Json(value) => builder.json_value(media_type, value),
            Self::Form(value) => builder.form(media_type, value),
            Self::Text(text) => builder.text(media_type, text),
            Self::Bytes(bytes) => builder.bytes(media_type, bytes.clone()),
            Self::Typed(body) => builder.typed_bytes(body),
            Self::Parts(parts) => builder.multipart(media_type, parts),
        }
    }
}

/// Completes the request with its absolute URI.
fn finish_request(
    builder: RequestBuilder,
    operation: &'static Operation,
    base_url: &str,
) -> Result<Request<Bytes>, Vec<InvalidArgument>> {
    let own = |violations: Violations| -> Vec<InvalidArgument> {
        violations.iter().map(|violation| InvalidArgument::from_violation("", violation)).collect()
    };
    let stored = builder.into_stored().map_err(own)?;
    let request = Request::builder()
        .method(operation.method)
        .uri(format!("{}{}", base_url.trim_end_matches('/'), stored.path_and_query))
        .extension(USER_AGENT)
        .body(stored.body);
    let mut request =
        request.map_err(|error| vec![InvalidArgument::new("", format!("form no valid URL: {error}"))])?;
    *request.headers_mut() = stored.headers;
    Ok(request)
}

/// Returns an error for each argument that the tool does not have.
fn find_unknown(tool: &PlannedTool, arguments: &JsonObject) -> Vec<InvalidArgument> {
    let own = tool.arguments.iter().map(|argument| argument.name.as_str());
    let known: Vec<&str> = own.chain(tool.body.as_ref().map(|_| BODY)).collect();
    let unknown = arguments.keys().filter(|name| !known.contains(&name.as_str()));
    let describe = |name: &String| {
        let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        InvalidArgument::new(
            pointer_to(name),
            format!("is not an argument of this tool; its arguments: {listed}"),
        )
    };
    unknown.map(describe).collect()
}

/// Returns the value of an argument; `null` if it is absent.
fn read_argument(arguments: &JsonObject, name: &str) -> Json {
    arguments.get(name).map_or(Json::Null, Json::from)
}

fn pointer_to(name: &str) -> String {
    let mut text = String::new();
    pointer::push_token(&mut text, name);
    text
}

fn below_body(violations: &Violations) -> Vec<InvalidArgument> {
    violations.iter().map(|violation| InvalidArgument::from_violation(&pointer_to(BODY), violation)).collect()
}

fn accepts_null(form: &BodyForm, content: &ContentSpec) -> bool {
    matches!(form, BodyForm::Json)
        && content.validator.is_none_or(|validator| validator.is_valid(&Json::Null))
}

/// Reads the parts of a multipart body from the members of an object.
fn read_parts(content: &ContentSpec, given: &Value) -> Result<BodyValue, Vec<InvalidArgument>> {
    let rows: &'static [PartSpec] = match content.format {
        BodyFormat::Multipart(rows) => rows,
        _ => &[],
    };
    let Value::Object(members) = given else {
        return Err(vec![InvalidArgument::new(pointer_to(BODY), "must be an object")]);
    };
    let mut parts = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in members {
        let row = rows.iter().find(|row| row.name == name);
        match row {
            Some(row) if row.encoding == PartEncoding::Binary => {
                let within = format!("{}{}", pointer_to(BODY), pointer_to(name));
                let files: Result<Vec<FilePart>, InvalidArgument> = match value {
                    Value::Array(items) => {
                        let items = items.iter().enumerate();
                        items.map(|(index, item)| read_file(item, &format!("{within}/{index}"))).collect()
                    }
                    Value::Null => Ok(Vec::new()),
                    one => read_file(one, &within).map(|file| vec![file]),
                };
                match files {
                    Ok(files) => parts.push(ToolPart::Files(row.name, files)),
                    Err(fault) => faults.push(fault),
                }
            }
            Some(row) => parts.push(ToolPart::Value(row.name, Json::from(value))),
            None => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                parts.push(ToolPart::Undeclared(MultipartField {
                    name: name.clone(),
                    file: FilePart::from(text),
                }));
            }
        }
    }
    if faults.is_empty() { Ok(BodyValue::Parts(ToolParts(parts))) } else { Err(faults) }
}

/// Reads a file object.
fn read_file(given: &Value, within: &str) -> Result<FilePart, InvalidArgument> {
    let fault = |below: &str, message: &str| Err(InvalidArgument::new(format!("{within}{below}"), message));
    let Value::Object(members) = given else { return fault("", "must be an object with `text` or `base64`") };
    for (name, value) in members {
        if !FILE_MEMBERS.contains(&name.as_str()) {
            return fault(&pointer_to(name), "is unknown; a file has `text` or `base64`");
        }
        if !value.is_string() {
            return fault(&pointer_to(name), "must be a string");
        }
    }
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let bytes: Vec<u8> = match (text("text"), text("base64")) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(encoded)) => match base64::decode(encoded) {
            Some(bytes) => bytes,
            None => return fault("/base64", "must be base64"),
        },
        _ => return fault("", "must have either `text` or `base64`"),
    };
    Ok(FilePart {
        name: text("filename").map(str::to_owned),
        media_type: text("content_type").map(str::to_owned),
        ..FilePart::from(bytes)
    })
}

/// Reads a body of bytes from a file object.
fn read_file_body(content: &ContentSpec, given: &Value) -> Result<BodyValue, InvalidArgument> {
    let own = pointer_to(BODY);
    let file = read_file(given, &own)?;
    if file.name.is_some() {
        return Err(InvalidArgument::new(format!("{own}/filename"), "is not sent; remove it"));
    }
    let range = MediaType::parse(content.media_type);
    if !range.is_range() {
        return match file.media_type {
            Some(_) => Err(InvalidArgument::new(
                format!("{own}/content_type"),
                format!("is always {}; remove it", content.media_type),
            )),
            None => Ok(BodyValue::Bytes(file.bytes)),
        };
    }
    let default = Some("application/octet-stream".to_owned());
    let media_type = file.media_type.or(default).filter(|name| range.contains(&MediaType::parse(name)));
    let required = || {
        InvalidArgument::new(format!("{own}/content_type"), format!("must be within {}", content.media_type))
    };
    Ok(BodyValue::Typed(TypedBytes::new(media_type.ok_or_else(required)?, file.bytes)))
}
