//! Explains operations and webhooks: method, parameters, bodies and responses.

use contract_codegen_core::{
    conjunction::SchemaConjunction,
    plan::{
        BodyType, MediaTypePlan, OperationSide, PlannedCall, ResponseCase, ResponsePayload, StreamContent,
        StreamedResponse,
    },
    schema::SchemaId,
};

use super::{ExplainedPart, ExplainedRule, Explainer, Explanation, reason};

impl Explainer<'_> {
    pub(super) fn explain_operation(&self, side: OperationSide, call: &PlannedCall<'_>) -> Explanation {
        let operation = call.operation;
        let named = |schema: Option<SchemaId>| {
            schema.map_or("bytes".to_owned(), |id| {
                reason::type_name(self.contract, self.contract.shapes.type_of_schema(id))
            })
        };
        let rules = |schema: Option<SchemaId>| {
            schema.map_or_else(Vec::new, |id| {
                let ty = self.contract.shapes.type_of_schema(id);
                self.rules_at(&SchemaConjunction::from_schema(id), ty, &self.schemas_of_type(ty))
            })
        };
        let mut parts: Vec<ExplainedPart> = Vec::new();
        for parameter in &operation.parameters {
            let row = call.parameters.iter().find(|row| std::ptr::eq(row.parameter, parameter));
            let field = row.and_then(|row| row.field.clone());
            let given = match (row, &field) {
                (None, _) => ", used by neither client nor server",
                (Some(row), None) if row.parameter.constant.is_some() => ", a constant",
                (Some(_), None) => ", supplied by the transport",
                (Some(_), Some(_)) => "",
            };
            let required = row.map_or(parameter.required, |row| row.row.required);
            let location = format!("{:?}", parameter.location).to_lowercase();
            parts.push(ExplainedPart {
                wire: parameter.name.clone(),
                name: field.unwrap_or_default(),
                ty: named(parameter.schema),
                presence: format!("{location} parameter, {}{given}", required_or_optional(required)),
                description: parameter.description.clone(),
                rules: rules(parameter.schema),
            });
        }
        parts.extend(self.body_parts(call, &rules));
        parts.extend(self.response_parts(call));
        let text = [operation.summary.clone(), operation.description.clone()].into_iter().flatten();
        let text: Vec<String> = text.collect();
        let (label, sides) = match side {
            OperationSide::Paths => ("operation", "the client and of the server trait"),
            OperationSide::Webhooks => ("webhook", "the sender and of the receiver trait"),
        };
        let unsendable =
            call.unsendable_reason.as_ref().map(|why| format!("; the client cannot send it: {why}"));
        let paged = call.pages.as_ref().map(|(_, pages)| {
            format!("; paginated by `{}` and `{}`", pages.pages_method, pages.items_method)
        });
        Explanation {
            title: format!("{label} {}: {}", operation.id, call.describe_place()),
            origins: vec![self.format_location(&operation.place)],
            description: (!text.is_empty()).then(|| text.join("\n")),
            form: format!(
                "method `{}` of {sides}, call type `{}`{}{}{}",
                call.client_path(),
                call.name,
                paged.unwrap_or_default(),
                describe_security(&operation.security),
                unsendable.unwrap_or_default()
            ),
            rules: Vec::new(),
            parts,
        }
    }
}

impl Explainer<'_> {
    /// Returns a part for each media type of the request body. `rules` is a function that returns the rules
    /// of a schema. It is called only for bodies that are validated.
    fn body_parts(
        &self,
        call: &PlannedCall<'_>,
        rules: &dyn Fn(Option<SchemaId>) -> Vec<ExplainedRule>,
    ) -> Vec<ExplainedPart> {
        let Some(body) = &call.body else { return Vec::new() };
        let part = |(at, content): (usize, &MediaTypePlan<'_>)| {
            let streamed = call.streams.body.as_ref().filter(|own| own.content_index == at);
            let (ty, judged) = match streamed.map(|own| &own.content) {
                Some(own @ StreamContent::Items(item)) => (self.stream_type_name(own), item.schema),
                Some(own) => (self.stream_type_name(own), None),
                None => {
                    let ty = &body.variants[content.variant].ty;
                    (self.body_type_name(ty), content.media.schema.filter(|_| content.format.is_validated()))
                }
            };
            let presence = format!("body, {}", required_or_optional(body.body.required));
            let wire = content.media.name.clone();
            ExplainedPart { wire, ty, presence, rules: rules(judged), ..ExplainedPart::default() }
        };
        body.contents.iter().enumerate().map(part).collect()
    }

    fn body_type_name(&self, ty: &BodyType) -> String {
        match ty {
            BodyType::Value(ty) => reason::type_name(self.contract, ty),
            BodyType::Text => "String".to_owned(),
            BodyType::Bytes => "bytes".to_owned(),
            BodyType::Typed => "bytes of any media type in the range".to_owned(),
            BodyType::Fields => "form fields".to_owned(),
            BodyType::Form(name) => name.clone(),
        }
    }

    /// Returns a part for each media type of each response. Success responses come first.
    fn response_parts(&self, call: &PlannedCall<'_>) -> Vec<ExplainedPart> {
        let streamed = |case: &ResponseCase, media_type: &str| {
            let own = call.streams.response.as_ref();
            own.filter(|own| own.status == case.status && own.media_type == media_type)
        };
        let mut parts: Vec<ExplainedPart> = Vec::new();
        // A streamed response beside other media types is not among the whole responses.
        let is_whole = |own: &StreamedResponse| {
            let mut same_status = call.responses.cases.iter().filter(|case| case.status == own.status);
            same_status.any(|case| case.media_types().any(|name| name == own.media_type))
        };
        if let Some(own) = call.streams.response.as_ref().filter(|own| !is_whole(own)) {
            parts.push(ExplainedPart {
                wire: own.media_type.clone(),
                ty: self.stream_type_name(&own.content),
                presence: format!("response {}", own.status.key()),
                ..ExplainedPart::default()
            });
        }
        for case in call.responses.cases.iter().chain(&call.errors.cases) {
            // A response without a body has no media type.
            for media_type in case.media_types().filter(|name| !name.is_empty()) {
                let presence = format!("response {}", case.status.key());
                // The entry `default` may belong to the success and to the error responses, but it is listed
                // only once.
                if parts.iter().any(|part| part.presence == presence && part.wire == media_type) {
                    continue;
                }
                let ty = match streamed(case, media_type) {
                    Some(own) => self.stream_type_name(&own.content),
                    None => self.payload_type_name(&case.payload),
                };
                let wire = media_type.to_owned();
                parts.push(ExplainedPart { wire, ty, presence, ..ExplainedPart::default() });
            }
        }
        parts
    }

    fn payload_type_name(&self, payload: &ResponsePayload) -> String {
        match payload {
            ResponsePayload::Json(ty) => reason::type_name(self.contract, ty),
            ResponsePayload::Text => "String".to_owned(),
            ResponsePayload::Bytes => "bytes".to_owned(),
            ResponsePayload::Nothing => "no body".to_owned(),
        }
    }

    fn stream_type_name(&self, streamed: &StreamContent) -> String {
        match streamed {
            StreamContent::Bytes => "byte stream".to_owned(),
            StreamContent::Items(item) => format!("stream of {}", reason::type_name(self.contract, &item.ty)),
        }
    }
}

/// Describes the alternatives of `security`, for example as
/// `; requires `oauth` (scopes `read`, `write`), or `key``.
fn describe_security(alternatives: &[Vec<(String, Vec<String>)>]) -> String {
    let quote =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let scheme = |(name, scopes): &(String, Vec<String>)| match scopes.as_slice() {
        [] => format!("`{name}`"),
        [scope] => format!("`{name}` (scope `{scope}`)"),
        scopes => format!("`{name}` (scopes {})", quote(scopes)),
    };
    let all = alternatives.iter().map(|schemes| match schemes.as_slice() {
        [] => "nothing".to_owned(),
        schemes => schemes.iter().map(scheme).collect::<Vec<_>>().join(" and "),
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { String::new() } else { format!("; requires {}", all.join(", or ")) }
}

fn required_or_optional(required: bool) -> &'static str {
    if required { "required" } else { "optional" }
}
