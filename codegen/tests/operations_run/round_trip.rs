//! Tests that random arguments round-trip between the generated client and server, and that both interpret
//! every status in the same way as the tables.

use std::sync::Mutex;

use super::*;
use crate::texts::Random;
use client::Call;
use contract_runtime::operation::ResponseKind;

impl Random {
    fn strings(&mut self) -> Vec<String> {
        (0..=self.below(3)).map(|_| self.text()).collect()
    }

    fn wholes(&mut self) -> Vec<i64> {
        (0..=self.below(3)).map(|_| self.whole()).collect()
    }

    fn range(&mut self) -> types::Range {
        let from = format!("{}.{:02}", self.whole(), self.below(100));
        let until = serde_json::to_string(&self.text()).unwrap();
        read(&format!(r#"{{"from":{from},"until":{until}}}"#))
    }

    fn filter(&mut self) -> types::Filter {
        let name = serde_json::to_string(&self.text()).unwrap();
        let (ages, range) = (json(&self.wholes()), json(&self.range()));
        read(&format!(r#"{{"name":{name},"ages":{ages},"range":{range}}}"#))
    }

    fn call(&mut self) -> calls::FindCall {
        let mut options = FindOptions::new();
        // Each option is set with a probability of 1/2.
        for field in 0..10 {
            if self.below(2) == 0 {
                continue;
            }
            options = match field {
                0 => options.joined(self.strings()),
                1 => options.piped(self.wholes()),
                2 => options.spaced(self.strings()),
                3 => options.filter(self.filter()),
                4 => options.range2(self.range()),
                5 => options.workflow(types::FindWorkflow::Integer(self.whole())),
                6 => options.address(self.text()),
                7 => options.where_(self.filter()),
                8 => options.x_parts(self.strings()),
                _ => options.session(self.text()).seen(self.wholes()),
            };
        }
        calls::FindCall { ids: self.strings(), range: self.range(), tags: self.strings(), options }
    }
}

/// A service that records the last call.
struct CallRecorder(Mutex<Option<server::AnyCall>>);

impl server::Service for CallRecorder {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejection_response(&rejection)
    }

    async fn find(
        &self,
        call: calls::FindCall,
        _: runtime::RequestContext,
    ) -> Result<Vec<Json>, runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::Find(call));
        Ok(Vec::new())
    }

    async fn upload(
        &self,
        call: calls::UploadCall,
        _: runtime::RequestContext,
    ) -> Result<String, runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::Upload(call));
        Ok(String::new())
    }

    async fn form(
        &self,
        call: calls::FormCall,
        _: runtime::RequestContext,
    ) -> Result<types::Note, runtime::ErrorResponse<()>> {
        let body = call.body.clone();
        *self.0.lock().unwrap() = Some(server::AnyCall::Form(call));
        Ok(body)
    }
}

fn recorder_client() -> (Client, Arc<CallRecorder>) {
    let recorder = Arc::new(CallRecorder(Mutex::default()));
    let router = server::router(Arc::clone(&recorder), RouterOptions::default());
    (Client::new("https://exchange.example", InProcess(router, SentRequests::default())), recorder)
}

#[test]
fn random_parameters_round_trip() {
    let (client, recorder) = recorder_client();
    let mut random = Random(7);
    let mut arrived = 0;
    for round in 0..3000 {
        let call = random.call();
        match run(client.api_client().call(&call)) {
            Ok(_) => {
                let read = recorder.0.lock().unwrap().take();
                assert_eq!(read, Some(server::AnyCall::Find(call)), "round {round}");
                arrived += 1;
            }
            // Values that cannot be serialized are rejected before they are sent.
            Err(Error::InvalidRequest(_)) => {}
            Err(other) => panic!("round {round}: {other} for {call:?}"),
        }
    }
    assert!(arrived > 800, "{arrived} of 3000");
}

#[test]
fn random_bodies_round_trip() {
    let (client, recorder) = recorder_client();
    let mut random = Random(11);
    for round in 0..1000 {
        let mut form =
            UploadForm::new(random.text(), FilePart::new(random.text(), random.text().into_bytes()));
        form.size = (random.below(2) == 0).then(|| random.whole().abs());
        form.meta = (random.below(2) == 0).then(|| random.filter());
        let call = calls::UploadCall { body: form };
        if let Err(error) = run(client.api_client().call(&call)) {
            assert!(matches!(error, Error::InvalidRequest(_)), "round {round}: {error} for {call:?}");
            continue;
        }
        let Some(server::AnyCall::Upload(mut received)) = recorder.0.lock().unwrap().take() else {
            panic!("round {round}")
        };
        // The file has no media type, so the default of the contract applies.
        assert_eq!(received.body.file.media_type.take().as_deref(), Some("image/png"));
        assert_eq!(received, call, "round {round}");

        let (text, filter) = (json(&random.text()), json(&random.filter()));
        let tags = json(&random.strings());
        let note: types::Note = read(&format!(r#"{{"text":{text},"tags":{tags},"filter":{filter}}}"#));
        let call = calls::FormCall { body: note };
        match run(client.api_client().call(&call)) {
            Ok(response) => assert_eq!(*response, call.body, "round {round}"),
            Err(error) => assert!(matches!(error, Error::InvalidRequest(_)), "round {round}: {error}"),
        }
    }
}

/// A transport that always responds with the given status and with the media type at the given index in the
/// contract.
struct FixedStatus(u16, usize);

impl Transport for FixedStatus {
    fn send<'a>(&'a self, operation: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        let row = operation.response_for_status(self.0).and_then(|response| response.content.get(self.1));
        let mut response = http::Response::new(Bytes::from_static(if row.is_some() { b"{}" } else { b"" }));
        *response.status_mut() = StatusCode::from_u16(self.0).unwrap();
        if let Some(row) = row {
            response.headers_mut().insert("content-type", http::HeaderValue::from_static(row.media_type));
        }
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn assert_same_kinds<C: Call>(call: &C) {
    let rows = |status| C::OPERATION.response_for_status(status).map_or(0, |response| response.content.len());
    for (status, index) in
        (100..600).flat_map(|status| (0..rows(status).max(1)).map(move |index| (status, index)))
    {
        let client = Client::new("https://exchange.example", FixedStatus(status, index));
        let kind = match run(client.api_client().call(call)) {
            Ok(_) => Some(ResponseKind::Success),
            Err(Error::ErrorResponse(_)) => Some(ResponseKind::Error),
            // An invalid body is reported for any status.
            Err(Error::UnexpectedResponse(other))
                if *other.reason() != UnexpectedReason::UndocumentedStatus =>
            {
                continue;
            }
            Err(Error::UnexpectedResponse(_)) => None,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(kind, C::OPERATION.response_kind(status), "{} {status}", C::OPERATION.id);
    }
}

#[test]
fn client_server_and_tables_agree_on_every_status() {
    assert_same_kinds(&calls::JobCall { id: "a".to_owned() });
    assert_same_kinds(&calls::NoteCall { options: NoteOptions::new() });
    assert_same_kinds(&calls::PartsCall { body: vec![MultipartField::default()] });
    assert_same_kinds(&calls::BytesCall { body: Bytes::from_static(b"abc") });
    assert_same_kinds(&calls::ExportCall {});
    assert_same_kinds(&calls::UploadCall {
        body: UploadForm::new("a".to_owned(), FilePart::new("a.png", Vec::new())),
    });
    assert_same_kinds(&calls::FormCall { body: read(r#"{"text":"a"}"#) });
    assert_same_kinds(&Random(1).call());
}

/// A call implements `Hash` if all of its fields do. Files and typed bytes do not implement `Hash`.
#[test]
fn calls_implement_the_traits_of_their_fields() {
    const fn assert_hash<T: Eq + std::hash::Hash>() {}
    const fn assert_eq_trait<T: Eq>() {}
    assert_hash::<(calls::FindCall, FindOptions, calls::FormCall, JobResponse)>();
    assert_eq_trait::<(calls::UploadCall, UploadForm, calls::PartsCall, NoteBody, server::AnyCall)>();
}

/// A transport that returns the same media type for every call.
struct FixedMediaType(&'static str);

impl Transport for FixedMediaType {
    fn send<'a>(&'a self, _: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        let response = http::Response::builder().header("content-type", self.0);
        Box::pin(std::future::ready(Ok(response.body(Bytes::from_static(br#"{"id":"a"}"#)).unwrap())))
    }
}

/// If several media types match, client and server use the most specific media type, regardless of the order
/// in the contract.
#[test]
fn most_specific_media_type_is_used() {
    use crate::responses::ExportResponse::{OkAny as Any, OkCsv as Csv, OkJson, OkText as Text};
    let text = || r#"{"id":"a"}"#.to_owned();
    let job = || OkJson(read(&text()));
    for (media_type, row, expect) in [
        ("application/json; charset=utf-8", "application/json", job()),
        ("application/vnd.job+json", "application/vnd.job+json", job()),
        ("application/problem+json", "*/*", Any(text().into())),
        ("text/csv", "text/csv", Csv(text())),
        ("text/plain", "text/*", Text(text())),
        ("image/png", "*/*", Any(text().into())),
    ] {
        let client = Client::new("https://exchange.example", FixedMediaType(media_type));
        assert_eq!(run(client.export()).unwrap().into_body(), expect, "{media_type}");
        let response = calls::ExportCall::OPERATION.response_for_status(200).unwrap();
        assert_eq!(
            response.content_for(media_type).map(|content| content.media_type),
            Some(row),
            "{media_type}"
        );
    }
}

/// A transport that returns JSON without a media type.
struct WithoutMediaType(&'static str);

impl Transport for WithoutMediaType {
    fn send<'a>(&'a self, _: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(std::future::ready(Ok(http::Response::new(Bytes::from_static(self.0.as_bytes())))))
    }
}

/// If a response has no media type, the client parses its body as the first JSON media type of the contract.
/// If parsing fails, the error contains the violations of this media type's schema.
#[test]
fn missing_media_type_selects_the_first_json_type() {
    use crate::responses::ExportResponse;
    let export = |body| run(Client::new("https://exchange.example", WithoutMediaType(body)).export());
    assert_eq!(export(r#"{"id":"a"}"#).unwrap().into_body(), ExportResponse::OkJson(read(r#"{"id":"a"}"#)));
    let Err(Error::UnexpectedResponse(response)) = export(r#"{"seconds":1}"#) else {
        panic!("the body must not be parsed as another type")
    };
    let UnexpectedReason::Shape { violations: Some(violations), .. } = response.reason() else {
        panic!("the violations are missing: {:?}", response.reason())
    };
    let found: Vec<_> = violations.iter().map(|found| (found.pointer.as_str(), found.keyword)).collect();
    assert_eq!(found, [("/id", "required")]);
}
