//! Request bodies: what is sent, and the one media type that progenitor is shown.

use serde_json::{Value, json};

use super::{Body, BodyForm, BodyKind, Lowering, exceed};
use crate::operations::{ContentPlan, Format, Plan};

const FORM: &str = "application/x-www-form-urlencoded";

impl Lowering<'_> {
    pub(super) fn body(
        &mut self,
        plan: &Plan<'_>,
        beyond: &mut Option<String>,
    ) -> Result<Option<(Body, Value)>, String> {
        let Some(planned) = &plan.body else { return Ok(None) };
        let place = &planned.body.place;
        let form = |(variant, content): (&crate::operations::BodyVariant, &ContentPlan<'_>)| BodyForm {
            media_type: content.media.name.clone(),
            variant: variant.name.clone(),
            kind: kind(&content.format),
        };
        let sent: Vec<&ContentPlan<'_>> =
            planned.variants.iter().map(|variant| &planned.contents[variant.sent]).collect();
        for content in &sent {
            let name = &content.media.name;
            if !name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                return Err(format!("`{name}` is no media type that a client can send"));
            }
        }
        let forms: Vec<BodyForm> = planned.variants.iter().zip(sent.iter().copied()).map(form).collect();
        for content in &planned.contents {
            let name = &content.media.name;
            let chosen = &sent[content.variant].media.name;
            if name != chosen {
                let what = format!("request body as `{name}`, of the same type as `{chosen}`");
                self.lose(place, what, format!("nothing: the client sends `{chosen}`"));
            }
        }
        let lowered = match (sent.as_slice(), forms.as_slice()) {
            ([content], [form]) => self.lowered_body(place, content, form, beyond),
            _ => {
                exceed(beyond, "its body has several media types");
                Value::Null
            }
        };
        for content in &sent {
            self.constraints(place, content);
        }
        if !planned.body.required {
            self.lose(place, "a body that may be left out", "the argument is an `Option`");
        }
        let body = Body { required: planned.body.required, rust_type: planned.ty(self.side), forms };
        Ok(Some((body, lowered)))
    }

    fn lowered_body(
        &mut self,
        place: &crate::tree::Place,
        content: &ContentPlan<'_>,
        form: &BodyForm,
        beyond: &mut Option<String>,
    ) -> Value {
        let typed = |lowering: &mut Self| match content.media.schema {
            Some(schema) => reference(&lowering.component(schema)),
            None => reference(&lowering.any()),
        };
        let (name, schema) = match form.kind {
            BodyKind::Model | BodyKind::Json => ("application/json", typed(self)),
            BodyKind::Form => {
                if !content.media.encoding.is_empty() {
                    exceed(beyond, "its form has an `encoding`");
                }
                (FORM, typed(self))
            }
            BodyKind::Multipart => {
                exceed(beyond, "its body consists of parts");
                return Value::Null;
            }
            BodyKind::Text | BodyKind::Bytes => {
                ("application/octet-stream", json!({ "type": "string", "format": "binary" }))
            }
            BodyKind::Typed => {
                exceed(beyond, format!("its body is any of `{}`", form.media_type));
                return Value::Null;
            }
        };
        if name != form.media_type {
            let what = format!("request media type `{}`, carried as `{name}`", form.media_type);
            self.lose(place, what, "the client sends the contract's own");
        }
        json!({ "required": true, "content": { name: { "schema": schema } } })
    }

    fn constraints(&mut self, place: &crate::tree::Place, content: &ContentPlan<'_>) {
        let Some(schema) = content.media.schema else { return };
        let form = kind(&content.format);
        if matches!(form, BodyKind::Text | BodyKind::Bytes | BodyKind::Typed) {
            return;
        }
        let location = self.graph.location(schema);
        let enforced = if form == BodyKind::Model {
            "checked before it is sent, by the type's `validate`"
        } else if self.types.is_contract(schema) || self.types.validator(schema).is_some() {
            "checked before it is sent, by its schema"
        } else {
            "the server alone: the body's type is no generated one"
        };
        self.lose(place, format!("every constraint of the request body {location}"), enforced);
    }
}

const fn kind(format: &Format) -> BodyKind {
    match format {
        Format::Model => BodyKind::Model,
        Format::Json => BodyKind::Json,
        Format::Form(..) => BodyKind::Form,
        Format::Multipart(..) => BodyKind::Multipart,
        Format::Text => BodyKind::Text,
        Format::Bytes => BodyKind::Bytes,
        Format::Typed => BodyKind::Typed,
    }
}

pub(super) fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{key}") })
}
