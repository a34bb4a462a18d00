//! Operations and webhooks: their method, arguments, bodies, answers.

use super::{Explainer, Explanation, Part, reason};
use crate::{
    api::Status,
    plan::{Call, Side},
    schema::SchemaId,
    together::Conj,
};

impl Explainer<'_> {
    pub(super) fn operation(&self, side: Side, call: &Call<'_>) -> Explanation {
        let operation = call.operation;
        let named = |schema: Option<SchemaId>| {
            schema.map_or("bytes".to_owned(), |id| reason::name(self.contract, self.contract.shapes.of(id)))
        };
        let mut parts: Vec<Part> = Vec::new();
        for parameter in &operation.parameters {
            let row = call.parameters.iter().find(|row| std::ptr::eq(row.parameter, parameter));
            let field = row.and_then(|row| row.field.clone());
            let given = match (row, &field) {
                (None, _) => ", which neither side sees",
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
                rules: parameter.schema.map_or_else(Vec::new, |id| {
                    let ty = self.contract.shapes.of(id);
                    self.rules(&Conj::one(id), ty, &self.covered(ty))
                }),
            });
        }
        let bodies = operation.request_body.iter().flat_map(|body| {
            body.content.iter().map(move |media| (format!("body, {}", presence(body.required)), media))
        });
        let answers = operation.responses.iter().flat_map(|response| {
            response.content.iter().map(move |media| (format!("answer {}", status(response.status)), media))
        });
        for (presence, media) in bodies.chain(answers) {
            parts.push(Part {
                wire: media.name.clone(),
                name: String::new(),
                ty: named(media.schema),
                presence,
                description: None,
                rules: Vec::new(),
            });
        }
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

fn presence(required: bool) -> &'static str {
    if required { "required" } else { "optional" }
}

fn status(status: Status) -> String {
    match status {
        Status::Code(code) => code.to_string(),
        Status::Range(digit) => format!("{digit}XX"),
        Status::Default => "default".to_owned(),
    }
}
