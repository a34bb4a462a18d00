//! Why a request is refused, or cannot be answered: a problem of RFC 9457 that says what to change.

use contract_runtime::{Json, Map};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use contract_runtime::server::Bytes;

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// `path`, `query`, `header`, `cookie` or `body`.
    pub place: &'static str,
    /// JSON Pointer into the body, or one that begins with the name of the parameter. That of a body of
    /// items begins with how many stand before the item.
    pub pointer: String,
    /// The keyword that says so.
    pub keyword: String,
    /// What it asks for.
    pub message: String,
    /// Where in the documents it stands: file, line and JSON Pointer.
    pub origin: String,
}

/// An answer that is none of the contract's.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) detail: String,
    pub(super) broken: Vec<Broken>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), broken: Vec::new(), headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::try_from(value).ok().map(|value| (name, value)));
        self
    }

    /// As `application/problem+json`.
    pub(super) fn response(&self, operation: Option<&str>) -> Response<Bytes> {
        let mut problem = Map::new();
        let mut say = |name: &str, value: Json| drop(problem.insert(name.to_owned(), value));
        say("type", Json::from("about:blank"));
        say("title", Json::from(self.status.canonical_reason().unwrap_or("Refused")));
        say("status", Json::from(i64::from(self.status.as_u16())));
        say("detail", Json::from(self.detail.as_str()));
        if let Some(operation) = operation {
            say("operation", Json::from(operation));
        }
        if !self.broken.is_empty() {
            let broken = self.broken.iter().map(|each| {
                let members = [
                    ("in", each.place),
                    ("pointer", &each.pointer),
                    ("keyword", &each.keyword),
                    ("message", &each.message),
                    ("origin", &each.origin),
                ];
                let members = members.into_iter().map(|(name, text)| (name.to_owned(), Json::from(text)));
                Json::Object(members.collect())
            });
            say("violations", Json::Array(broken.collect()));
        }
        let mut response = Response::new(Bytes::from(Json::Object(problem).to_string()));
        *response.status_mut() = self.status;
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
        response
    }
}

/// What a keyword asks for, in words; `said` is its value.
pub(super) fn message(keyword: &str, said: Option<&str>) -> String {
    let value = said.unwrap_or("what the schema says");
    match keyword {
        "required" | "dependentRequired" => "has to be here".to_owned(),
        "type" => format!("has to be {value}"),
        "enum" => format!("has to be one of {value}"),
        "const" => format!("has to be {value}"),
        "minimum" => format!("has to be at least {value}"),
        "maximum" => format!("has to be at most {value}"),
        "exclusiveMinimum" => format!("has to be more than {value}"),
        "exclusiveMaximum" => format!("has to be less than {value}"),
        "multipleOf" => format!("has to be a multiple of {value}"),
        "minLength" => format!("has too few characters: at least {value}"),
        "maxLength" => format!("has too many characters: at most {value}"),
        "pattern" => format!("does not match {value}"),
        "format" => format!("is no {value}"),
        "minItems" => format!("has too few elements: at least {value}"),
        "maxItems" => format!("has too many elements: at most {value}"),
        "uniqueItems" => "has equal elements".to_owned(),
        "minProperties" => format!("has too few members: at least {value}"),
        "maxProperties" => format!("has too many members: at most {value}"),
        "additionalProperties" | "unevaluatedProperties" | "false" => "is not declared".to_owned(),
        "unevaluatedItems" | "items" => "is one element too many".to_owned(),
        "propertyNames" => "has a name that is not allowed".to_owned(),
        "anyOf" | "oneOf" => format!("fits none of {value}, or more than one where one is meant"),
        "not" => "is what is excluded".to_owned(),
        "depth" | "effort" => "is too large to be checked".to_owned(),
        other => format!("breaks `{other}`"),
    }
}
