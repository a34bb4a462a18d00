//! Tests that the generated server code of a small contract contains the essential parts.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::tests::{PETS, assert_contains, with_plan};

fn code() -> TokenStream {
    let mut tokens = TokenStream::new();
    with_plan(PETS, |plan, _, types| tokens = server_module(plan, types, &Config::default()).root);
    syn::parse2::<syn::File>(tokens.clone()).unwrap();
    tokens
}

#[test]
fn trait_has_a_method_for_each_operation() {
    let code = code();
    for piece in [
        "pub type ErrorResponse = ::contract_runtime::server::ErrorResponse<super::types::Problem>;",
        "fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response;",
        "fn pet_read(&self, call: super::calls::PetReadCall, context: RequestContext,)
            -> impl Future<Output = Result<TypedResponse<super::types::Pet, super::response_headers::PetReadResponseHeaders>, ErrorResponse>> + Send {
            runtime::not_implemented((call, context))
        }",
        "fn pet_write(&self, call: super::calls::PetWriteCall, context: RequestContext,)
            -> impl Future<Output = Result<Option<super::types::Pet>, runtime::ErrorResponse<super::responses::PetOrProblem>>> + Send",
        "-> impl Future<Output = Result<Vec<super::types::Pet>, ErrorResponse>> + Send",
        "-> impl Future<Output = Result<String, runtime::ErrorResponse<()>>> + Send",
        "fn upload(&self, call: super::calls::UploadCall, context: RequestContext,)",
    ] {
        assert_contains(&code, piece);
    }
}

#[test]
fn responses_are_written_compactly() {
    let code = code();
    for piece in [
        r#"Self::PetRead(call) => Box::pin(async move {
            match service.pet_read(call, request.context()).await {
                Ok(response) => match response.encode_headers() {
                    Ok(response) => request.write_json(200, "application/json", response),
                    Err(rejection) => Err(rejection),
                },
                Err(error) => request.write_error(error, |response| request.write_json(500, "application/problem+json", response)),
            }
        }),"#,
        r#"Ok(body) => request.write_json_or_empty(201, "application/json", 204, TypedResponse::new(body)),"#,
        r#"super::responses::PetOrProblem::Pet(body) => request.write_json(409, "application/json", response.map(|()| body)),"#,
        r#"super::responses::PetOrProblem::Problem(body) => request.write_json(500, "application/problem+json", response.map(|()| body)),"#,
        r#"Ok(body) => request.write_bytes(200, "text/plain", TypedResponse::new(body)),"#,
        "Some(OperationId::PetWrite) => FromIncomingRequest::from_request(request).map(Self::PetWrite),",
        "match self { Self::PetWrite(call) => call.undeclared_members(limit), _ => Vec::new(), }",
    ] {
        assert_contains(&code, piece);
    }
}

#[test]
fn requests_are_decoded_by_their_rows() {
    let code = code();
    assert_contains(
        &code,
        "fn from_request(request: &IncomingRequest) -> Result<Self, Rejection> {
            Ok(Self {
                idempotency_key: request.required_parameter(0)?,
                body: request.json_body()?,
                options: super::calls::PetWriteOptions { limit: request.optional_parameter(1)?, query_body: request.optional_parameter(2)?, },
            })
        }",
    );
    assert_contains(&code, "options: super::calls::NoteOptions { body: request.optional_text_body()?, },");
}
