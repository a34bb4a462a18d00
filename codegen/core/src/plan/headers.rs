//! Plans the response headers that the contract declares: one struct for the success responses of each
//! operation, and one for the error responses of all operations.

use super::{
    OperationSide, ParameterRow, PlanInput, PlannedCall, ResponseOutcome, TextScalar, TextShape,
    responses::outcome_of,
};
use crate::{
    api::{Operation, ParameterIn, Response, ResponseHeader, StatusPattern},
    names,
    shape::TypeRef,
};

/// The name of the struct for the headers of error responses.
const ERROR_HEADERS: &str = "ErrorHeaders";

/// A struct of response headers.
#[derive(Clone, Debug)]
pub struct HeaderStruct<'a> {
    pub name: String,
    /// The fields, in the order of the contract.
    pub headers: Vec<PlannedHeader<'a>>,
}

/// The plan of one response header.
#[derive(Clone, Debug)]
pub struct PlannedHeader<'a> {
    pub header: &'a ResponseHeader,
    /// The name of the field.
    pub field: String,
    /// The Rust type of the value, without `Option` for a header that is not required.
    pub ty: TypeRef,
    pub row: ParameterRow,
}

/// Plans the headers of the success responses of each call, and of the error responses of all calls.
pub(super) fn plan_headers<'a>(
    given: PlanInput<'a>,
    side: OperationSide,
    calls: &mut [PlannedCall<'a>],
) -> Option<HeaderStruct<'a>> {
    for call in calls.iter_mut() {
        let responses = responses_of(call.operation, ResponseOutcome::Success);
        call.headers = given.header_struct(format!("{}Headers", call.id), &responses);
    }
    let operations = side.operations(given.api).iter();
    let responses: Vec<&Response> =
        operations.flat_map(|operation| responses_of(operation, ResponseOutcome::Error)).collect();
    let mut name = ERROR_HEADERS.to_owned();
    while calls.iter().any(|call| call.headers.as_ref().is_some_and(|own| own.name == name)) {
        name.push_str("Headers");
    }
    let mut errors = given.header_struct(name, &responses)?;
    // Error responses of other operations may lack the header.
    errors.headers.iter_mut().for_each(|header| header.row.required = false);
    Some(errors)
}

/// Returns the responses of an operation with this outcome. A `default` without a success response describes
/// success responses as well.
fn responses_of(operation: &Operation, outcome: ResponseOutcome) -> Vec<&Response> {
    let of = |outcome| {
        let responses = operation.responses.iter();
        responses.filter(move |response| outcome_of(operation, response.status) == Some(outcome))
    };
    let mut found: Vec<&Response> = of(outcome).collect();
    if found.is_empty() && outcome == ResponseOutcome::Success {
        found.extend(of(ResponseOutcome::Error).filter(|response| response.status == StatusPattern::Default));
    }
    found
}

impl<'a> PlanInput<'a> {
    /// Plans the struct for the headers of these responses; `None` if they declare no headers.
    fn header_struct(&self, name: String, responses: &[&'a Response]) -> Option<HeaderStruct<'a>> {
        let mut headers: Vec<PlannedHeader<'a>> = Vec::new();
        for response in responses {
            for header in response.headers.iter().filter(|header| self.is_typed_header(header)) {
                let planned = self.plan_header(header);
                match headers.iter_mut().find(|own| own.row.name.eq_ignore_ascii_case(&header.name)) {
                    // Responses describe the header differently, so only its string is common to all.
                    Some(own) if own.ty != planned.ty || own.row.shape != planned.row.shape => {
                        own.ty = TypeRef::String;
                        own.row.shape = TextShape::Scalar(TextScalar::Text);
                    }
                    Some(_) => {}
                    None => headers.push(planned),
                }
            }
        }
        for header in &mut headers {
            header.row.required = responses.iter().all(|response| {
                let mut own = response.headers.iter();
                own.any(|own| own.required && own.name.eq_ignore_ascii_case(&header.row.name))
            });
        }
        let wires: Vec<&str> = headers.iter().map(|header| header.header.name.as_str()).collect();
        let plain = |wire: &&str| match wire.eq_ignore_ascii_case("etag") {
            true => "etag".to_owned(),
            false => names::field_name(wire),
        };
        let mut fields: Vec<String> = wires.iter().map(plain).collect();
        names::make_distinct(&wires, &mut fields);
        headers.iter_mut().zip(fields).for_each(|(header, field)| header.field = field);
        (!headers.is_empty()).then_some(HeaderStruct { name, headers })
    }

    /// Returns false for headers that the option `hidden-headers` lists, and for `Set-Cookie`, whose lines cannot
    /// be combined into one value (RFC 9110, 5.3).
    fn is_typed_header(&self, header: &ResponseHeader) -> bool {
        let hidden = self.operations.hidden_headers.iter().map(String::as_str);
        hidden.chain(["set-cookie"]).all(|name| !name.eq_ignore_ascii_case(&header.name))
    }

    fn plan_header(&self, header: &'a ResponseHeader) -> PlannedHeader<'a> {
        PlannedHeader {
            header,
            field: String::new(),
            ty: match header.schema.map(|schema| self.shapes.type_of_schema(schema)) {
                Some(TypeRef::Nullable(inner)) => (**inner).clone(),
                Some(ty) => ty.clone(),
                None => TypeRef::String,
            },
            row: ParameterRow {
                name: header.name.clone(),
                location: ParameterIn::Header,
                required: header.required,
                style: "simple".to_owned(),
                explode: header.explode,
                allow_reserved: false,
                allow_empty: false,
                idempotency_key: false,
                wire: None,
                shape: self.described_shape(header.schema, header.content.as_deref()),
                // Responses are parsed without validation.
                schema: None,
                mark: None,
            },
        }
    }
}
