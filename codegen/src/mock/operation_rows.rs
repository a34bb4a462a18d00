//! Converts the operations of a plan to rows of the runtime. With these rows, the runtime routes and parses
//! requests as in generated servers. [`contract_codegen_core::operations`] generates code for the same rows.
//!
//! Rows are created once and stay in memory until the process ends, like those of a generated table.

use contract_codegen_core::{
    api::{self, ResponseHeader},
    plan::{self, ParameterRow, PartArity, PlannedCall, PlannedHeader, RetrySafety, SidePlan},
    schema::SchemaId,
    tables::{TableSet, row_types},
};
use contract_runtime::{
    operation::{
        BodyFormat, BodySpec, ContentSpec, Operation, OperationTable, PartCount, PartEncoding, PartSpec,
        RepeatSafety,
    },
    parameters::{Parameter, ParameterStyle, RouteMatch, ScalarType, ValueShape},
    schema::Validator,
};

use super::leak_strings;

/// Returns the rows of all operations in `paths`.
pub(super) fn operation_rows(plan: &SidePlan<'static>, tables: &'static TableSet<'static>) -> OperationTable {
    let rows = RowBuilder { tables };
    let all: Vec<Operation> = plan.calls.iter().map(|call| rows.build_operation(call)).collect();
    let order = plan.order.iter().filter_map(|&at| u16::try_from(at).ok()).collect::<Vec<u16>>();
    OperationTable::new(all.leak(), order.leak())
}

/// Returns a row for each response of each operation. Its parameters are the declared headers of the response
/// whose values can be parsed. No header is required in the row.
pub(super) fn response_header_rows(
    plan: &SidePlan<'static>,
    tables: &'static TableSet<'static>,
) -> Vec<Vec<&'static Operation>> {
    let rows = RowBuilder { tables };
    let of_call = |call: &PlannedCall<'static>| -> Vec<&'static Operation> {
        let planned: Vec<&PlannedHeader<'static>> =
            call.headers.iter().chain(&plan.error_headers).flat_map(|own| &own.headers).collect();
        let of_response = |response: &'static api::Response| -> &'static Operation {
            let parameters: Vec<Parameter> = response
                .headers
                .iter()
                .filter_map(|header| {
                    let planned = planned.iter().find(|each| is_same_header(each.header, header))?;
                    let row = ParameterRow { schema: header.schema, required: false, ..planned.row.clone() };
                    Some(rows.build_parameter(&row))
                })
                .collect();
            Box::leak(Box::new(Operation { parameters: parameters.leak(), ..Operation::EMPTY }))
        };
        call.operation.responses.iter().map(of_response).collect()
    };
    plan.calls.iter().map(of_call).collect()
}

/// Returns true if two response headers have the same name and the same type.
fn is_same_header(one: &ResponseHeader, other: &ResponseHeader) -> bool {
    one.name.eq_ignore_ascii_case(&other.name)
        && (one.schema, one.explode, &one.content) == (other.schema, other.explode, &other.content)
}

struct RowBuilder {
    tables: &'static TableSet<'static>,
}

impl RowBuilder {
    fn build_operation(&self, call: &PlannedCall<'static>) -> Operation {
        let parameters: Vec<Parameter> =
            call.parameters.iter().map(|parameter| self.build_parameter(&parameter.row)).collect();
        let declared: &'static api::Operation = call.operation;
        let servers: Vec<&'static str> = declared.servers.iter().map(|server| server.url.as_str()).collect();
        Operation {
            id: &declared.id,
            method: &declared.method,
            path: &declared.route,
            tags: leak_strings(&declared.tags),
            summary: declared.summary.as_deref().unwrap_or_default(),
            anonymous: call.anonymous,
            idempotent: call.requires_key,
            repeat: repeat_safety(call),
            deprecated: declared.deprecated,
            parameters: parameters.leak(),
            body: call.body.as_ref().map(|body| self.build_body(body)),
            servers: servers.leak(),
            ..Operation::EMPTY
        }
    }

    fn build_parameter(&self, row: &ParameterRow) -> Parameter {
        Parameter {
            name: leak_string(&row.name),
            location: row.location,
            required: row.required,
            style: match row.style.as_str() {
                "form" => ParameterStyle::Form,
                "spaceDelimited" => ParameterStyle::SpaceDelimited,
                "pipeDelimited" => ParameterStyle::PipeDelimited,
                "deepObject" => ParameterStyle::DeepObject,
                "label" => ParameterStyle::Label,
                "matrix" => ParameterStyle::Matrix,
                "cookie" => ParameterStyle::Cookie,
                _ => ParameterStyle::Simple,
            },
            explode: row.explode,
            allow_reserved: row.allow_reserved,
            allow_empty: row.allow_empty,
            idempotency_key: row.idempotency_key,
            wire: row.wire,
            shape: self.build_shape(&row.shape),
            validator: self.build_validator(row.schema),
            route_match: row.mark.as_ref().map(|mark| match mark {
                plan::RequestMark::Present => RouteMatch::Present,
                plan::RequestMark::Text(text) => RouteMatch::Equals(leak_string(text)),
            }),
        }
    }

    fn build_body(&self, body: &plan::RequestBodyPlan<'static>) -> BodySpec {
        let content: Vec<ContentSpec> =
            body.contents.iter().map(|content| self.build_content(content)).collect();
        BodySpec { required: body.body.required, content: content.leak() }
    }

    fn build_content(&self, content: &plan::MediaTypePlan<'static>) -> ContentSpec {
        let format = match &content.format {
            plan::BodyFormat::Model | plan::BodyFormat::Json => BodyFormat::Json,
            plan::BodyFormat::Text => BodyFormat::Text,
            plan::BodyFormat::Bytes | plan::BodyFormat::Typed => BodyFormat::Bytes,
            plan::BodyFormat::Form(rows, others) => {
                let rows: Vec<Parameter> = rows.iter().map(|row| self.build_parameter(row)).collect();
                BodyFormat::Form(rows.leak(), scalar_row(*others))
            }
            plan::BodyFormat::Multipart(parts, _) => {
                BodyFormat::Multipart(parts.iter().map(part_row).collect::<Vec<PartSpec>>().leak())
            }
        };
        ContentSpec {
            media_type: &content.media.name,
            format,
            schema: "",
            validator: self.build_validator(content.media.schema),
        }
    }

    fn build_shape(&self, own: &plan::TextShape) -> ValueShape {
        match own {
            plan::TextShape::Scalar(own) => ValueShape::Scalar(scalar_row(*own)),
            plan::TextShape::Array(own) => ValueShape::Array(scalar_row(*own)),
            plan::TextShape::Object(fields, others) => {
                let fields: Vec<(&'static str, ValueShape)> =
                    fields.iter().map(|(name, own)| (leak_string(name), self.build_shape(own))).collect();
                match others {
                    Some(others) => ValueShape::Map(fields.leak(), scalar_row(*others)),
                    None => ValueShape::Object(fields.leak()),
                }
            }
            plan::TextShape::List(element) => {
                ValueShape::List(Box::leak(Box::new(self.build_shape(element))))
            }
            plan::TextShape::MapOf(fields, others) => {
                let fields: Vec<(&'static str, ValueShape)> =
                    fields.iter().map(|(name, own)| (leak_string(name), self.build_shape(own))).collect();
                ValueShape::MapOf(fields.leak(), Box::leak(Box::new(self.build_shape(others))))
            }
            plan::TextShape::OneOf(shapes) => ValueShape::OneOf(
                shapes.iter().map(|own| self.build_shape(own)).collect::<Vec<ValueShape>>().leak(),
            ),
            plan::TextShape::Json => ValueShape::Json,
            plan::TextShape::Form(rows, others) => {
                let rows: Vec<Parameter> = rows.iter().map(|row| self.build_parameter(row)).collect();
                ValueShape::Form(rows.leak(), scalar_row(*others))
            }
        }
    }

    fn build_validator(&self, schema: Option<SchemaId>) -> Option<Validator<'static>> {
        self.tables.validator_for(schema?)
    }
}

fn repeat_safety(call: &PlannedCall<'_>) -> RepeatSafety {
    match call.retry {
        RetrySafety::Safe => RepeatSafety::Safe,
        RetrySafety::Idempotent => RepeatSafety::Idempotent,
        RetrySafety::Keyed => RepeatSafety::Keyed,
        RetrySafety::ByMethod if call.operation.has_safe_method() => RepeatSafety::Safe,
        RetrySafety::ByMethod if call.operation.has_idempotent_method() => RepeatSafety::Idempotent,
        RetrySafety::ByMethod => RepeatSafety::NonIdempotent,
    }
}

fn leak_string(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn part_row(part: &plan::MultipartPart) -> PartSpec {
    PartSpec {
        name: leak_string(&part.name),
        encoding: match part.form {
            plan::PartForm::Binary => PartEncoding::Binary,
            plan::PartForm::Json => PartEncoding::Json,
            plan::PartForm::Text(own) => PartEncoding::Text(scalar_row(own)),
        },
        count: match part.count {
            PartArity::One => PartCount::Single,
            PartArity::Each => PartCount::PerElement,
            PartArity::OneOrEach => PartCount::SingleOrPerElement,
        },
        media_type: leak_string(&part.media_type),
        accepted: part.accepted.iter().map(|name| leak_string(name)).collect::<Vec<&str>>().leak(),
    }
}

fn scalar_row(own: plan::TextScalar) -> ScalarType {
    match own {
        plan::TextScalar::Text => ScalarType::Text,
        plan::TextScalar::Number => ScalarType::Number,
        plan::TextScalar::Integer(digits) => ScalarType::Integer(digits),
        plan::TextScalar::Boolean => ScalarType::Boolean,
        plan::TextScalar::Any => ScalarType::Any,
        plan::TextScalar::OneOf(types) => ScalarType::Of(row_types(types)),
        plan::TextScalar::Json => ScalarType::Json,
    }
}
