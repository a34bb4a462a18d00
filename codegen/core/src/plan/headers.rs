//! Plans the response headers that the contract declares: one struct for the success responses of each
//! operation, and one for the error responses of all operations. Operations with equal headers share a struct.

use std::collections::BTreeSet;

use super::{
    OperationSide, ParameterRow, PlanInput, PlannedCall, ResponseOutcome, TextScalar, TextShape,
    responses::outcome_of,
};
use crate::{
    api::{Operation, ParameterIn, Response, ResponseHeader, StatusPattern},
    names,
    shape::TypeRef,
    tree::unescape_token,
};

/// The name of the struct for the headers of error responses.
const ERROR_HEADERS: &str = "ErrorHeaders";
/// The maximum number of headers in the name of a shared struct.
const MAX_NAMED_HEADERS: usize = 2;

/// A struct of response headers.
#[derive(Clone, Debug)]
pub struct HeaderStruct<'a> {
    pub name: String,
    /// The fields, in the order of the contract.
    pub headers: Vec<PlannedHeader<'a>>,
}

impl HeaderStruct<'_> {
    /// Returns true if both structs have the same fields with the same documentation, in any order.
    fn is_equal_to(&self, other: &Self) -> bool {
        let is_equal = |own: &PlannedHeader<'_>, other: &PlannedHeader<'_>| {
            own.row.name.eq_ignore_ascii_case(&other.row.name)
                && own.field == other.field
                && own.ty.is_same_rust_type(&other.ty)
                && own.header.description == other.header.description
                && (own.row.required, own.row.explode) == (other.row.required, other.row.explode)
                && own.row.shape == other.row.shape
        };
        self.headers.len() == other.headers.len()
            && self.headers.iter().all(|own| other.headers.iter().any(|each| is_equal(own, each)))
    }
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
    share_equal_structs(calls);
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

/// Gives each struct that several calls have a name of its own, which does not depend on one of the calls.
fn share_equal_structs(calls: &mut [PlannedCall<'_>]) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let Some(own) = &call.headers else { continue };
        let is_equal = |group: &&mut Vec<usize>| {
            let first = group.first().and_then(|&first| calls.get(first)?.headers.as_ref());
            first.is_some_and(|first| first.is_equal_to(own))
        };
        match groups.iter_mut().find(is_equal) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let (single, shared): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.len() == 1);
    let name_of = |at: &usize| Some(calls.get(*at)?.headers.as_ref()?.name.clone());
    let mut taken: BTreeSet<String> = single.iter().flatten().filter_map(name_of).collect();
    for group in shared {
        let plain = shared_name(calls, &group);
        let mut name = format!("{plain}Headers");
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{plain}Headers{number}");
            number += 1;
        }
        for at in group {
            if let Some(own) = calls.get_mut(at).and_then(|call| call.headers.as_mut()) {
                own.name.clone_from(&name);
            }
        }
    }
}

/// Returns the start of the name of a struct that these calls share: the name of the response component that all of them
/// use, or else the common parts of the names of the headers.
fn shared_name(calls: &[PlannedCall<'_>], group: &[usize]) -> String {
    let calls: Vec<&PlannedCall<'_>> = group.iter().filter_map(|&at| calls.get(at)).collect();
    let component = |call: &&PlannedCall<'_>| match responses_of(call.operation, ResponseOutcome::Success)[..]
    {
        [one] => {
            let name = one.place.pointer.strip_prefix("/components/responses/")?;
            Some(names::type_name(&unescape_token(name)))
        }
        _ => None,
    };
    let components: Option<BTreeSet<String>> = calls.iter().map(component).collect();
    if let Some(one) = components.filter(|names| names.len() == 1).and_then(|names| names.into_iter().next())
    {
        return one;
    }
    let headers = calls.first().and_then(|call| call.headers.as_ref()).map_or(&[][..], |own| &own.headers);
    name_after_headers(headers.iter().map(|header| header.row.name.as_str()))
}

/// Returns a name for some headers, such as `RateLimit` for `X-Rate-Limit-Left` and `X-Rate-Limit-Reset`, and
/// `LinkAndRateLimit` if `Link` is among them.
fn name_after_headers<'h>(wires: impl Iterator<Item = &'h str>) -> String {
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for wire in wires {
        let mut words: Vec<&str> = wire.split(['-', '_']).filter(|word| !word.is_empty()).collect();
        if words.len() > 1 && words.first().is_some_and(|first| first.eq_ignore_ascii_case("x")) {
            words.remove(0);
        }
        let count_shared = |group: &[&str]| {
            let pairs = group.iter().zip(&words);
            pairs.take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
        };
        match groups.iter_mut().find(|group| count_shared(group) > 0) {
            Some(group) => {
                let shared = count_shared(group);
                group.truncate(shared);
            }
            None => groups.push(words),
        }
    }
    let shown = groups.iter().take(MAX_NAMED_HEADERS).map(|group| names::type_name(&group.join("-")));
    let more = (groups.len() > MAX_NAMED_HEADERS).then(|| "More".to_owned());
    shown.chain(more).collect::<Vec<_>>().join("And")
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use crate::plan::tests::with_plan;

    /// Operations with equal response headers share a struct, whose name depends on none of them.
    #[test]
    fn equal_response_headers_share_a_struct() {
        let header = |name: &str, kind: &str| {
            format!(r#""{name}": {{"description": "{name}.", "schema": {{"type": "{kind}"}}}}"#)
        };
        let check = |first: &[(&str, &str)], second: &[(&str, &str)], expected: [&str; 2]| {
            let operation = |id: &str, headers: &[(&str, &str)]| {
                let headers: Vec<String> = headers.iter().map(|(name, kind)| header(name, kind)).collect();
                format!(
                    r#"{{"operationId": "{id}", "responses": {{"200": {{"description": "", "headers": {{{}}}}}}}}}"#,
                    headers.join(", ")
                )
            };
            let document = format!(
                r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}},
                    "paths": {{"/a": {{"get": {}}}, "/b": {{"get": {}}}}}}}"#,
                operation("a", first),
                operation("b", second),
            );
            with_plan(&document, |plan, graph, types| {
                let names: Vec<&str> =
                    plan.calls.iter().filter_map(|call| Some(call.headers.as_ref()?.name.as_str())).collect();
                assert_eq!(names, expected, "{first:?} {second:?}");
                let written = crate::calls::headers_module(plan, graph, types).unwrap().to_string();
                let count = written.matches("pub struct").count();
                assert_eq!(count, if expected[0] == expected[1] { 1 } else { 2 }, "{written}");
            });
        };
        let (limit, left) = (("X-RateLimit-Limit", "integer"), ("X-RateLimit-Left", "integer"));
        let (link, tag, id) = (("Link", "string"), ("ETag", "string"), ("X-Request-Id", "string"));
        check(&[limit, left], &[left, limit], ["RateLimitHeaders"; 2]);
        check(
            &[("X-Rate-Limit-A", "string"), ("X-Rate-Limit-B", "string")],
            &[("X-Rate-Limit-A", "string"), ("X-Rate-Limit-B", "string")],
            ["RateLimitHeaders"; 2],
        );
        check(&[link, limit, left], &[link, limit, left], ["LinkAndRateLimitHeaders"; 2]);
        check(&[id], &[id], ["RequestIdHeaders"; 2]);
        check(&[link, limit, id, tag], &[link, limit, id, tag], ["LinkAndRateLimitLimitAndMoreHeaders"; 2]);
        check(&[limit], &[limit, left], ["AHeaders", "BHeaders"]);
        check(&[limit], &[("X-RateLimit-Limit", "string")], ["AHeaders", "BHeaders"]);

        let component = r##"{"openapi": "3.1.0", "info": {"title": "", "version": "1"},
        "components": {"responses": {"found": {"description": "", "headers": {"Link": {"schema": {"type": "string"}}}}}},
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"$ref": "#/components/responses/found"}}}},
                  "/b": {"get": {"operationId": "b", "responses": {"200": {"$ref": "#/components/responses/found"}}}}}}"##;
        with_plan(component, |plan, _, _| {
            let names: Vec<&str> =
                plan.calls.iter().filter_map(|call| Some(call.headers.as_ref()?.name.as_str())).collect();
            assert_eq!(names, ["FoundHeaders"; 2]);
        });
    }
}
