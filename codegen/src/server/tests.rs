//! The important parts of what is written for a small contract.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::tests::{PETS, has, with};

fn code() -> TokenStream {
    let mut written = TokenStream::new();
    with(PETS, |plan, _, types| written = server(plan, types));
    syn::parse2::<syn::File>(written.clone()).unwrap();
    written
}

#[test]
fn the_trait_has_a_method_for_each_operation() {
    let code = code();
    for piece in [
        "pub type Refusal = ::contract_runtime::server::Refusal<super::types::Problem>;",
        "fn reject(&self, context: &Context, rejection: Rejection) -> Response;",
        "fn pet_read(&self, call: super::calls::PetReadCall, context: Context,)
            -> impl Future<Output = Result<Reply<super::types::Pet>, Refusal>> + Send {
            runtime::not_implemented((call, context))
        }",
        "fn pet_write(&self, call: super::calls::PetWriteCall, context: Context,)
            -> impl Future<Output = Result<Option<super::types::Pet>, runtime::Refusal<super::answers::PetOrProblem>>> + Send",
        "-> impl Future<Output = Result<Vec<super::types::Pet>, Refusal>> + Send",
        "-> impl Future<Output = Result<String, runtime::Refusal<()>>> + Send",
        "fn upload(&self, call: super::calls::UploadCall, context: Context,)",
    ] {
        has(&code, piece);
    }
}

#[test]
fn answers_are_written_in_a_few_lines() {
    let code = code();
    for piece in [
        r#"Self::PetRead(request) => Box::pin(async move {
            match service.pet_read(request, call.context()).await {
                Ok(reply) => call.answer_json(200, "application/json", reply),
                Err(refusal) => call.refuse(refusal, |reply| call.answer_json(500, "application/problem+json", reply)),
            }
        }),"#,
        r#"Ok(body) => call.answer_json_or_nothing(201, "application/json", 204, Reply::new(body)),"#,
        r#"super::answers::PetOrProblem::Pet(body) => call.answer_json(409, "application/json", reply.map(|()| body)),"#,
        r#"super::answers::PetOrProblem::Problem(body) => call.answer_json(500, "application/problem+json", reply.map(|()| body)),"#,
        r#"Ok(body) => call.answer_bytes(200, "text/plain", Reply::new(body)),"#,
        "Some(OperationId::PetWrite) => Request::read(call).map(Self::PetWrite),",
        "match self { Self::PetWrite(call) => call.undeclared(limit), _ => Vec::new(), }",
    ] {
        has(&code, piece);
    }
}

#[test]
fn requests_are_read_by_their_rows() {
    let code = code();
    has(
        &code,
        "fn read(call: &Call) -> Result<Self, Rejection> {
            Ok(Self {
                idempotency_key: call.parameter(0)?,
                body: call.json()?,
                options: super::calls::PetWrite { limit: call.optional(1)?, query_body: call.optional(2)?, },
            })
        }",
    );
    has(&code, "options: super::calls::Note { body: call.optional_text()?, },");
}
