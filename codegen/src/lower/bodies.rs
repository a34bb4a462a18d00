//! Request bodies: one media type each.

use serde_json::{Value, json};

use super::{Body, BodyForm, Lowering, is_json};
use crate::api::{MediaType, Operation};

const FORM: &str = "application/x-www-form-urlencoded";

impl Lowering<'_> {
    pub(super) fn body(&mut self, operation: &Operation) -> Result<Option<(Body, Value)>, String> {
        let Some(body) = &operation.request_body else { return Ok(None) };
        let essence =
            |media: &MediaType| media.name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let multipart = |media: &&MediaType| essence(media).starts_with("multipart/");
        let json = body.content.iter().find(|media| is_json(&media.name));
        let form = body.content.iter().find(|media| essence(media) == FORM && media.schema.is_some());
        let raw = body.content.iter().find(|media| !multipart(media) && essence(media) != FORM);
        let Some(chosen) = json.or(form).or(raw) else {
            return match body.content.first() {
                None => Ok(None),
                Some(media) => Err(format!("a body of `{}` is not supported", media.name)),
            };
        };
        for other in body.content.iter().filter(|media| media.name != chosen.name) {
            let what = format!("request body as `{}`", other.name);
            self.lose(&body.place, what, format!("nothing: the client sends `{}`", chosen.name));
        }
        let form = match chosen.schema {
            schema if is_json(&chosen.name) => BodyForm::Json(schema),
            Some(schema) if essence(chosen) == FORM => BodyForm::Form(schema),
            _ => BodyForm::Raw,
        };
        if !chosen.encoding.is_empty() {
            if !matches!(form, BodyForm::Json(_)) {
                return Err(format!("`encoding` of a body of `{}` is not supported", chosen.name));
            }
            self.lose(&body.place, "`encoding` of a JSON body", "nothing: it has no meaning there");
        }
        if http_text(&chosen.name).is_none() {
            return Err(format!("`{}` is no media type that a client can send", chosen.name));
        }
        let (name, schema) = match form {
            BodyForm::Json(schema) => {
                let key = match schema {
                    Some(schema) => self.component(schema),
                    None => self.any(),
                };
                ("application/json", reference(&key))
            }
            BodyForm::Form(schema) => {
                if !self.types.is_contract(schema) {
                    return Err("a form that is no object with members is not supported".to_owned());
                }
                (FORM, reference(&self.component(schema)))
            }
            BodyForm::Raw => ("application/octet-stream", json!({ "type": "string", "format": "binary" })),
        };
        if name != chosen.name {
            let what = format!("request media type `{}`, carried as `{name}`", chosen.name);
            self.lose(&body.place, what, "the client sends the contract's own");
        }
        self.constraints(&body.place, &form);
        if !body.required {
            self.lose(&body.place, "a body that may be left out", "the argument is an `Option`");
        }
        let lowered = json!({ "required": true, "content": { name: { "schema": schema } } });
        let media_type = chosen.name.clone();
        Ok(Some((Body { media_type, required: body.required, form }, lowered)))
    }

    fn constraints(&mut self, place: &crate::tree::Place, form: &BodyForm) {
        let (BodyForm::Json(Some(schema)) | BodyForm::Form(schema)) = form else { return };
        let location = self.graph.location(*schema);
        let enforced = if self.types.is_contract(*schema) {
            "checked before it is sent, by the type's `validate`"
        } else if self.types.validator(*schema).is_some() {
            "checked before it is sent, by its schema"
        } else {
            "the server alone: the body's type is no generated one"
        };
        self.lose(place, format!("every constraint of the request body {location}"), enforced);
    }
}

pub(super) fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{key}") })
}

/// The text, when a header can hold it: visible ASCII.
fn http_text(text: &str) -> Option<&str> {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)).then_some(text)
}
