//! The operations of a plan as the runtime's rows, by which generated servers route and read: what
//! `operations` writes as code for them, here in memory.
//!
//! Rows are made once for a process and kept to its end, as those of a generated table are.

use contract_runtime::{
    operation::{Body, Content, Format, Operation, Operations, Part, PartForm, Parts},
    parameters::{Mark, Parameter, Scalar, Shape, Style},
    schema::Validator,
};

use crate::{
    plan::{self, Call, PartCount, Plan, Row},
    schema::SchemaId,
    tables::{TableSet, row_types},
};

/// The rows of all operations below `paths`, searchable.
pub(super) fn operations(plan: &Plan<'static>, tables: &'static TableSet<'static>) -> Operations {
    let rows = Rows { tables };
    let all: Vec<Operation> = plan.calls.iter().map(|call| rows.operation(call)).collect();
    let order = plan.order.iter().filter_map(|&at| u16::try_from(at).ok()).collect::<Vec<u16>>();
    Operations::new(all.leak(), order.leak())
}

struct Rows {
    tables: &'static TableSet<'static>,
}

impl Rows {
    fn operation(&self, call: &Call<'static>) -> Operation {
        let parameters: Vec<Parameter> =
            call.parameters.iter().map(|parameter| self.parameter(&parameter.row)).collect();
        Operation {
            id: &call.operation.id,
            method: &call.operation.method,
            path: &call.operation.route,
            parameters: parameters.leak(),
            body: call.body.as_ref().map(|body| self.body(body)),
            ..Operation::NONE
        }
    }

    fn parameter(&self, row: &Row) -> Parameter {
        Parameter {
            name: kept(&row.name),
            location: row.location,
            required: row.required,
            style: match row.style.as_str() {
                "form" => Style::Form,
                "spaceDelimited" => Style::SpaceDelimited,
                "pipeDelimited" => Style::PipeDelimited,
                "deepObject" => Style::DeepObject,
                "label" => Style::Label,
                "matrix" => Style::Matrix,
                "cookie" => Style::Cookie,
                _ => Style::Simple,
            },
            explode: row.explode,
            allow_reserved: row.allow_reserved,
            allow_empty: row.allow_empty,
            shape: self.shape(&row.shape),
            validator: self.validator(row.schema),
            mark: row.mark.as_ref().map(|mark| match mark {
                plan::Mark::There => Mark::There,
                plan::Mark::Text(text) => Mark::Text(kept(text)),
            }),
        }
    }

    fn body(&self, body: &plan::Body<'static>) -> Body {
        let content: Vec<Content> = body.contents.iter().map(|content| self.content(content)).collect();
        Body { required: body.body.required, content: content.leak() }
    }

    fn content(&self, content: &plan::Content<'static>) -> Content {
        let format = match &content.format {
            plan::Format::Model | plan::Format::Json => Format::Json,
            plan::Format::Text => Format::Text,
            plan::Format::Bytes | plan::Format::Typed => Format::Bytes,
            plan::Format::Form(rows, others) => {
                let rows: Vec<Parameter> = rows.iter().map(|row| self.parameter(row)).collect();
                Format::Form(rows.leak(), scalar(*others))
            }
            plan::Format::Multipart(parts, _) => {
                Format::Multipart(parts.iter().map(part).collect::<Vec<Part>>().leak())
            }
        };
        Content {
            media_type: &content.media.name,
            format,
            schema: "",
            validator: self.validator(content.media.schema),
        }
    }

    fn shape(&self, own: &plan::Shape) -> Shape {
        match own {
            plan::Shape::Scalar(own) => Shape::Scalar(scalar(*own)),
            plan::Shape::Array(own) => Shape::Array(scalar(*own)),
            plan::Shape::Object(fields, others) => {
                let fields: Vec<(&'static str, Shape)> =
                    fields.iter().map(|(name, own)| (kept(name), self.shape(own))).collect();
                match others {
                    Some(others) => Shape::Map(fields.leak(), scalar(*others)),
                    None => Shape::Object(fields.leak()),
                }
            }
            plan::Shape::OneOf(shapes) => {
                Shape::OneOf(shapes.iter().map(|own| self.shape(own)).collect::<Vec<Shape>>().leak())
            }
            plan::Shape::Json => Shape::Json,
            plan::Shape::Form(rows, others) => {
                let rows: Vec<Parameter> = rows.iter().map(|row| self.parameter(row)).collect();
                Shape::Form(rows.leak(), scalar(*others))
            }
        }
    }

    fn validator(&self, schema: Option<SchemaId>) -> Option<Validator<'static>> {
        self.tables.validator(schema?)
    }
}

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn part(part: &plan::Part) -> Part {
    Part {
        name: kept(&part.name),
        form: match part.form {
            plan::PartForm::Binary => PartForm::Binary,
            plan::PartForm::Json => PartForm::Json,
            plan::PartForm::Text(own) => PartForm::Text(scalar(own)),
        },
        parts: match part.count {
            PartCount::One => Parts::One,
            PartCount::Each => Parts::Each,
            PartCount::OneOrEach => Parts::OneOrEach,
        },
        media_type: kept(&part.media_type),
    }
}

fn scalar(own: plan::Scalar) -> Scalar {
    match own {
        plan::Scalar::Text => Scalar::Text,
        plan::Scalar::Number => Scalar::Number,
        plan::Scalar::Integer(digits) => Scalar::Integer(digits),
        plan::Scalar::Boolean => Scalar::Boolean,
        plan::Scalar::Any => Scalar::Any,
        plan::Scalar::Of(types) => Scalar::Of(row_types(types)),
        plan::Scalar::Json => Scalar::Json,
    }
}
