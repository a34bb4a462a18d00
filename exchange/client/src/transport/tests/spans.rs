//! Tests of the fields of request spans, which are used for metrics.

use exchange_api::codes::Code;

use super::*;
use crate::captured_log::CapturedLog;

/// GW-13: request spans follow the OpenTelemetry conventions for HTTP clients. The server's name and port are
/// separate fields, and each failure has an `error.type`, which is the status if there is a response.
#[tokio::test(start_paused = true)]
async fn request_span_follows_http_client_conventions() {
    let Some(log) = CapturedLog::capture(module_path!(), "request_span_follows_http_client_conventions")
    else {
        return;
    };
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
    fixture.read(LONG).await.unwrap();
    let text = log.contents();
    let is_end = |line: &&str| line.contains("exchange.request{") && line.contains(": close ");
    let ends: Vec<&str> = text.lines().filter(is_end).collect();
    assert_eq!(ends.len(), 3, "{text}");
    for (end, (status, failure)) in
        ends.into_iter().zip([(Some(503), Some("\"503\"")), (None, Some("Interrupted")), (Some(200), None)])
    {
        assert!(end.contains("server.address=\"gateway.test\" server.port=443"), "{end}");
        let status = status.map(|status| format!("http.response.status_code={status}"));
        assert_eq!(end.contains("http.response.status_code="), status.is_some(), "{end}");
        assert!(status.is_none_or(|status| end.contains(&status)), "{end}");
        let failure = failure.map(|failure| format!("error.type={failure}"));
        assert_eq!(end.contains("error.type="), failure.is_some(), "{end}");
        assert!(failure.is_none_or(|failure| end.contains(&failure)), "{end}");
    }
}
