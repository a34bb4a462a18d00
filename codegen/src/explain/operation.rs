//! Operations and webhooks: their method, arguments, bodies, answers.

use super::{Explainer, Explanation, Part, Rule, reason};
use crate::{
    plan::{BodyType, Call, Case, Content, Payload, Side, Streamed},
    schema::SchemaId,
    together::Conj,
};

impl Explainer<'_> {
    pub(super) fn operation(&self, side: Side, call: &Call<'_>) -> Explanation {
        let operation = call.operation;
        let named = |schema: Option<SchemaId>| {
            schema.map_or("bytes".to_owned(), |id| reason::name(self.contract, self.contract.shapes.of(id)))
        };
        let rules = |schema: Option<SchemaId>| {
            schema.map_or_else(Vec::new, |id| {
                let ty = self.contract.shapes.of(id);
                self.rules(&Conj::one(id), ty, &self.covered(ty))
            })
        };
        let mut parts: Vec<Part> = Vec::new();
        for parameter in &operation.parameters {
            let row = call.parameters.iter().find(|row| std::ptr::eq(row.parameter, parameter));
            let field = row.and_then(|row| row.field.clone());
            let given = match (row, &field) {
                (None, _) => ", which neither side sees",
                (Some(row), None) if row.parameter.constant.is_some() => ", which is always the same",
                (Some(_), None) => ", which the transport supplies",
                (Some(_), Some(_)) => "",
            };
            let required = row.map_or(parameter.required, |row| row.row.required);
            let location = format!("{:?}", parameter.location).to_lowercase();
            parts.push(Part {
                wire: parameter.name.clone(),
                name: field.unwrap_or_default(),
                ty: named(parameter.schema),
                presence: format!("{location} parameter, {}{given}", presence(required)),
                description: parameter.description.clone(),
                rules: rules(parameter.schema),
            });
        }
        parts.extend(self.bodies(call, &rules));
        parts.extend(self.answers(call));
        let text = [operation.summary.clone(), operation.description.clone()].into_iter().flatten();
        let text: Vec<String> = text.collect();
        let (word, sides) = match side {
            Side::Paths => ("operation", "the client and of the server's trait"),
            Side::Webhooks => ("webhook", "the sender and of the receiver's trait"),
        };
        let unsendable = call.unsendable.as_ref().map(|why| format!("; no client can send it: {why}"));
        let paged = call.pages.as_ref().map(|(_, pages)| {
            format!("; page by page by `{}` and `{}`", pages.pages_method, pages.items_method)
        });
        Explanation {
            title: format!("{word} {}: {}", operation.id, call.place()),
            origins: vec![self.whereabouts(&operation.place)],
            description: (!text.is_empty()).then(|| text.join("\n")),
            form: format!(
                "method `{}` of {sides}, and `{}` as a value{}{}",
                call.method,
                call.name,
                paged.unwrap_or_default(),
                unsendable.unwrap_or_default()
            ),
            rules: Vec::new(),
            parts,
        }
    }
}

impl Explainer<'_> {
    /// What it is sent, as both sides have it; `rules` are those of a schema, which no one asks of text and bytes.
    fn bodies(&self, call: &Call<'_>, rules: &dyn Fn(Option<SchemaId>) -> Vec<Rule>) -> Vec<Part> {
        let Some(body) = &call.body else { return Vec::new() };
        let part = |(at, content): (usize, &Content<'_>)| {
            let streamed = call.streams.body.as_ref().filter(|own| own.content_index == at);
            let (ty, judged) = match streamed.map(|own| &own.content) {
                Some(own @ Streamed::Items(item)) => (self.stream(own), item.schema),
                Some(own) => (self.stream(own), None),
                None => {
                    let ty = &body.variants[content.variant].ty;
                    (self.body(ty), content.media.schema.filter(|_| content.format.is_judged()))
                }
            };
            let presence = format!("body, {}", presence(body.body.required));
            let wire = content.media.name.clone();
            Part { wire, ty, presence, rules: rules(judged), ..Part::default() }
        };
        body.contents.iter().enumerate().map(part).collect()
    }

    fn body(&self, ty: &BodyType) -> String {
        match ty {
            BodyType::Value(ty) => reason::name(self.contract, ty),
            BodyType::Text => "String".to_owned(),
            BodyType::Bytes => "bytes".to_owned(),
            BodyType::Typed => "bytes of any media type in the range".to_owned(),
            BodyType::Fields => "fields of a form".to_owned(),
            BodyType::Form(name) => name.clone(),
        }
    }

    /// What it answers, as both sides have it: successes, then refusals.
    fn answers(&self, call: &Call<'_>) -> Vec<Part> {
        let streamed = |case: &Case, media_type: &str| {
            let own = call.streams.answer.as_ref();
            own.filter(|own| own.status == case.status && own.media_type == media_type)
        };
        let mut parts: Vec<Part> = Vec::new();
        for case in call.answers.cases.iter().chain(&call.refusals.cases) {
            // Without a body there is no media type.
            for media_type in case.names().filter(|name| !name.is_empty()) {
                let presence = format!("answer {}", case.status.key());
                // `default` may be a success and a refusal.
                if parts.iter().any(|part| part.presence == presence && part.wire == media_type) {
                    continue;
                }
                let ty = match streamed(case, media_type) {
                    Some(own) => self.stream(&own.content),
                    None => self.payload(&case.payload),
                };
                let wire = media_type.to_owned();
                parts.push(Part { wire, ty, presence, ..Part::default() });
            }
        }
        parts
    }

    fn payload(&self, payload: &Payload) -> String {
        match payload {
            Payload::Json(ty) => reason::name(self.contract, ty),
            Payload::Text => "String".to_owned(),
            Payload::Bytes => "bytes".to_owned(),
            Payload::Nothing => "nothing".to_owned(),
        }
    }

    fn stream(&self, streamed: &Streamed) -> String {
        match streamed {
            Streamed::Pieces => "bytes as they come".to_owned(),
            Streamed::Items(item) => format!("{}, one after another", reason::name(self.contract, &item.ty)),
        }
    }
}

fn presence(required: bool) -> &'static str {
    if required { "required" } else { "optional" }
}
