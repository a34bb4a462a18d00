//! Operations and webhooks: their method, arguments, bodies, answers.

use super::{Explainer, Explanation, Part, reason};
use crate::{
    api::{Operation, Status},
    names,
    schema::SchemaId,
    together::Conj,
};

impl Explainer<'_> {
    pub(super) fn operation(&self, operation: &Operation, word: &str) -> Explanation {
        let named = |schema: Option<SchemaId>| {
            schema.map_or("bytes".to_owned(), |id| reason::name(self.contract, self.contract.shapes.of(id)))
        };
        let mut parts: Vec<Part> = Vec::new();
        for parameter in &operation.parameters {
            parts.push(Part {
                wire: parameter.name.clone(),
                name: names::field_name(&parameter.name),
                ty: named(parameter.schema),
                presence: format!("{:?} parameter, {}", parameter.location, presence(parameter.required))
                    .to_lowercase(),
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
        Explanation {
            title: format!("{word} {}: {} {}", operation.id, operation.method, operation.path),
            origins: vec![self.whereabouts(&operation.place)],
            description: (!text.is_empty()).then(|| text.join("\n")),
            form: match word {
                "webhook" => format!(
                    "method `{}` of the sender and of the receiver's trait",
                    names::field_name(&operation.id)
                ),
                _ => format!(
                    "method `{}` of the client and of the server's trait",
                    names::field_name(&operation.id)
                ),
            },
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
