//! The important parts of what is written for a small contract.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::operations::tests::{PETS, has, with};

fn code() -> TokenStream {
    let mut written = TokenStream::new();
    with(PETS, |contract| {
        let mut diagnostics = Diagnostics::new();
        written = server(contract, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics}");
    });
    syn::parse2::<syn::File>(written.clone()).unwrap();
    written
}

#[test]
fn the_trait_has_a_method_for_each_operation() {
    let code = code();
    has(&code, "pub type Refusal = ::contract_runtime::server::Refusal<super::types::Problem>;");
    has(&code, "fn reject(&self, context: &Context, rejection: Rejection) -> Response;");
    has(
        &code,
        "fn pet_read(&self, request: PetRead,) -> impl Future<Output = Result<Reply<super::types::Pet>, Refusal>> + Send {
            runtime::not_implemented(request)
        }",
    );
    has(
        &code,
        "fn pet_write(&self, request: PetWrite,) -> impl Future<Output = Result<PetWriteAnswer, runtime::Refusal<PetWriteProblem>>> + Send",
    );
    has(
        &code,
        "fn pets(&self, request: Pets,) -> impl Future<Output = Result<Vec<super::types::Pet>, Refusal>> + Send",
    );
    has(
        &code,
        "fn note(&self, request: Note,) -> impl Future<Output = Result<String, runtime::Refusal<()>>> + Send",
    );
    has(&code, "fn upload(&self, request: Upload,)");
}

#[test]
fn routes_are_a_few_lines() {
    let code = code();
    has(
        &code,
        r#".on(PetRead::OPERATION, |service, call| Box::pin(async move {
            match service.pet_read(PetRead::read(&call)?).await {
                Ok(reply) => call.answer_json(200, "application/json", reply),
                Err(refusal) => call.answer_json(500, "application/problem+json", refusal.into_reply()?),
            }
        }))"#,
    );
    has(
        &code,
        r#"Ok(PetWriteAnswer::Created(body)) => call.answer_json(201, "application/json", Reply::new(body)),
           Ok(PetWriteAnswer::NoContent) => call.answer_empty(204, Reply::new(())),
           Err(refusal) => {
               let (reply, problem) = refusal.into_reply()?.split();
               match problem {
                   PetWriteProblem::Conflict(body) => call.answer_json(500, "application/json", reply.map(|()| body)),
                   PetWriteProblem::Default(body) => call.answer_json(500, "application/problem+json", reply.map(|()| body)),
               }
           }"#,
    );
    has(&code, r#"Ok(body) => call.answer_value(200, "application/json", Reply::new(body), None),"#);
    has(&code, r#"Ok(body) => call.answer_bytes(200, "text/plain", Reply::new(body)),"#);
}

#[test]
fn requests_name_what_they_read() {
    let code = code();
    has(
        &code,
        "fn read(call: &Call) -> Result<Self, Rejection> {
            let (body, undeclared) = call.json()?;
            Ok(Self {
                idempotency_key: call.parameter(0)?,
                limit: call.optional(1)?,
                query_body: call.optional(2)?,
                body, undeclared,
                context: call.context(),
            })
        }",
    );
    has(&code, "pub limit: Option<i64>");
    has(&code, "pub query_body: Option<Vec<i64>>");
    has(&code, "pub body: super::types::Pet");
    has(&code, "let body = call.optional_text()?;");
    has(&code, "pub body: Option<String>");
}
