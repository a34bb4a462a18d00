//! What a generated client writes a generated server reads back equal, for random arguments; and
//! of every status both sides and the table say the same.

use std::sync::Mutex;

use super::*;
use crate::texts::Random;
use client::Call;
use contract_runtime::operation::ResponseKind;

impl Random {
    fn texts(&mut self) -> Vec<String> {
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
        // Each with even odds: most calls leave something out.
        for field in 0..10 {
            if self.below(2) == 0 {
                continue;
            }
            options = match field {
                0 => options.joined(self.texts()),
                1 => options.piped(self.wholes()),
                2 => options.spaced(self.texts()),
                3 => options.filter(self.filter()),
                4 => options.range2(self.range()),
                5 => options.workflow(types::FindWorkflow::Integer(self.whole())),
                6 => options.address(self.text()),
                7 => options.where_(self.filter()),
                8 => options.x_parts(self.texts()),
                _ => options.session(self.text()).seen(self.wholes()),
            };
        }
        calls::FindCall { ids: self.texts(), range: self.range(), tags: self.texts(), options }
    }
}

/// Keeps what it is asked.
struct Keeping(Mutex<Option<server::AnyCall>>);

impl server::Service for Keeping {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejected(&rejection)
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

fn keeping() -> (Client, Arc<Keeping>) {
    let keeping = Arc::new(Keeping(Mutex::default()));
    let router = server::router(Arc::clone(&keeping), RouterOptions::default());
    (Client::new("https://exchange.example", InProcess(router, Sent::default())), keeping)
}

#[test]
fn parameters_are_read_as_they_were_written() {
    let (client, keeping) = keeping();
    let mut random = Random(7);
    let mut arrived = 0;
    for turn in 0..3000 {
        let call = random.call();
        match run(client.api_client().call(&call)) {
            Ok(_) => {
                let read = keeping.0.lock().unwrap().take();
                assert_eq!(read, Some(server::AnyCall::Find(call)), "turn {turn}");
                arrived += 1;
            }
            // What has no text is refused here, before it is lost.
            Err(Error::InvalidRequest(_)) => {}
            Err(other) => panic!("turn {turn}: {other} for {call:?}"),
        }
    }
    assert!(arrived > 800, "{arrived} of 3000");
}

#[test]
fn bodies_are_read_as_they_were_written() {
    let (client, keeping) = keeping();
    let mut random = Random(11);
    for turn in 0..1000 {
        let mut form =
            UploadForm::new(random.text(), FilePart::new(random.text(), random.text().into_bytes()));
        form.size = (random.below(2) == 0).then(|| random.whole().abs());
        form.meta = (random.below(2) == 0).then(|| random.filter());
        let call = calls::UploadCall { body: form };
        if let Err(error) = run(client.api_client().call(&call)) {
            assert!(matches!(error, Error::InvalidRequest(_)), "turn {turn}: {error} for {call:?}");
            continue;
        }
        let Some(server::AnyCall::Upload(mut came)) = keeping.0.lock().unwrap().take() else {
            panic!("turn {turn}")
        };
        // The contract's own, where the file has none.
        assert_eq!(came.body.file.media_type.take().as_deref(), Some("image/png"));
        assert_eq!(came, call, "turn {turn}");

        let (text, filter) = (json(&random.text()), json(&random.filter()));
        let tags = json(&random.texts());
        let note: types::Note = read(&format!(r#"{{"text":{text},"tags":{tags},"filter":{filter}}}"#));
        let call = calls::FormCall { body: note };
        match run(client.api_client().call(&call)) {
            Ok(answer) => assert_eq!(*answer, call.body, "turn {turn}"),
            Err(error) => assert!(matches!(error, Error::InvalidRequest(_)), "turn {turn}: {error}"),
        }
    }
}

/// Answers every call with one status and one of the media types that the contract has for it.
struct Status(u16, usize);

impl Transport for Status {
    fn send<'a>(&'a self, operation: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        let row = operation.response_for_status(self.0).and_then(|response| response.content.get(self.1));
        let mut answer = http::Response::new(Bytes::from_static(if row.is_some() { b"{}" } else { b"" }));
        *answer.status_mut() = StatusCode::from_u16(self.0).unwrap();
        if let Some(row) = row {
            answer.headers_mut().insert("content-type", http::HeaderValue::from_static(row.media_type));
        }
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn agree<C: Call>(call: &C) {
    let rows = |status| C::OPERATION.response_for_status(status).map_or(0, |response| response.content.len());
    for (status, at) in (100..600).flat_map(|status| (0..rows(status).max(1)).map(move |at| (status, at))) {
        let client = Client::new("https://exchange.example", Status(status, at));
        let said = match run(client.api_client().call(call)) {
            Ok(_) => Some(ResponseKind::Success),
            Err(Error::ErrorResponse(_)) => Some(ResponseKind::Error),
            // A body that its type cannot hold says nothing about the status.
            Err(Error::UnexpectedResponse(other)) if other.reason != UnexpectedReason::UndocumentedStatus => {
                continue;
            }
            Err(Error::UnexpectedResponse(_)) => None,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(said, C::OPERATION.response_kind(status), "{} {status}", C::OPERATION.id);
    }
}

#[test]
fn of_every_status_both_sides_say_the_same() {
    agree(&calls::JobCall { id: "a".to_owned() });
    agree(&calls::NoteCall { options: NoteOptions::new() });
    agree(&calls::PartsCall { body: vec![MultipartField::default()] });
    agree(&calls::BytesCall { body: Bytes::from_static(b"abc") });
    agree(&calls::ExportCall {});
    agree(&calls::UploadCall { body: UploadForm::new("a".to_owned(), FilePart::new("a.png", Vec::new())) });
    agree(&calls::FormCall { body: read(r#"{"text":"a"}"#) });
    agree(&Random(1).call());
}

/// A call can be a key where all that it holds can; files and bytes of a media type have no hash.
#[test]
fn calls_are_compared_as_what_they_hold() {
    const fn keyed<T: Eq + std::hash::Hash>() {}
    const fn compared<T: Eq>() {}
    keyed::<(calls::FindCall, FindOptions, calls::FormCall, JobResponse)>();
    compared::<(calls::UploadCall, UploadForm, calls::PartsCall, NoteBody, server::AnyCall)>();
}

/// Answers every call with the same media type.
struct Of(&'static str);

impl Transport for Of {
    fn send<'a>(&'a self, _: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        let answer = http::Response::builder().header("content-type", self.0);
        Box::pin(std::future::ready(Ok(answer.body(Bytes::from_static(br#"{"id":"a"}"#)).unwrap())))
    }
}

/// Of several media types that an answer has, both sides mean the most literal one, wherever it
/// stands in the contract.
#[test]
fn the_most_literal_media_type_is_read() {
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
        let client = Client::new("https://exchange.example", Of(media_type));
        assert_eq!(run(client.export()).unwrap().into_body(), expect, "{media_type}");
        let response = calls::ExportCall::OPERATION.response_for_status(200).unwrap();
        assert_eq!(
            response.content_for(media_type).map(|content| content.media_type),
            Some(row),
            "{media_type}"
        );
    }
}

/// Answers every call with JSON that does not say so.
struct Bare(&'static str);

impl Transport for Bare {
    fn send<'a>(&'a self, _: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(std::future::ready(Ok(http::Response::new(Bytes::from_static(self.0.as_bytes())))))
    }
}

/// What is read and what explains why it cannot be are one row.
#[test]
fn without_a_media_type_the_first_json_type_is_read() {
    use crate::responses::ExportResponse;
    let export = |body| run(Client::new("https://exchange.example", Bare(body)).export());
    assert_eq!(export(r#"{"id":"a"}"#).unwrap().into_body(), ExportResponse::OkJson(read(r#"{"id":"a"}"#)));
    let Err(Error::UnexpectedResponse(answer)) = export(r#"{"seconds":1}"#) else {
        panic!("read as another type")
    };
    let UnexpectedReason::Shape { violations: Some(violations), .. } = answer.reason else {
        panic!("not explained: {:?}", answer.reason)
    };
    let found: Vec<_> = violations.iter().map(|found| (found.pointer.as_str(), found.keyword)).collect();
    assert_eq!(found, [("/id", "required")]);
}
