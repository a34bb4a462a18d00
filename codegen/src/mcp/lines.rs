//! Reads the lines of a client and answers those that the SDK would drop: lines that are no JSON, no requests, or too
//! long, and requests with invalid parameters (JSON-RPC 2.0, 5.1).

use std::{cell::RefCell, fmt, io, pin::pin};

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, InitializeRequestParams, PaginatedRequestParams,
};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader,
        DuplexStream,
    },
    sync::mpsc,
};

/// The maximum size of a line in bytes.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// The number of bytes between the reader and the SDK.
const BUFFER_BYTES: usize = 64 << 10;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// The reason why a line is not passed to the SDK.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RejectedLine {
    code: i32,
    /// The description. It contains no value from the line, because arguments may be secret.
    pub(super) message: String,
    /// The id of the request, if it can be read.
    id: Option<Value>,
    /// True if the line is a notification, to which servers send no response.
    is_notification: bool,
}

impl RejectedLine {
    fn new(code: i32, message: impl Into<String>, id: Option<Value>) -> Self {
        Self { code, message: message.into(), id, is_notification: false }
    }

    /// Returns the error response.
    fn response(&self) -> Option<String> {
        let error = json!({ "code": self.code, "message": self.message });
        (!self.is_notification)
            .then(|| json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string())
    }
}

/// Checks a line before the SDK parses it.
pub(super) fn check_line(line: &[u8]) -> Result<(), RejectedLine> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        // The messages of these errors contain no value.
        RejectedLine::new(PARSE_ERROR, format!("the line is not valid JSON: {error}"), find_id(line))
    })?;
    let Value::Object(members) = &value else {
        return Err(RejectedLine::new(INVALID_REQUEST, "a message is one JSON object in one line", None));
    };
    let id = members.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RejectedLine::new(INVALID_REQUEST, "the member `jsonrpc` must be \"2.0\"", id));
    }
    if members.contains_key("result") || members.contains_key("error") {
        return Ok(());
    }
    let Some(method) = members.get("method").and_then(Value::as_str) else {
        return Err(RejectedLine::new(INVALID_REQUEST, "the member `method` must be a string", id));
    };
    if members.contains_key("id") && id.is_none() {
        return Err(RejectedLine::new(INVALID_REQUEST, "the member `id` must be a string or a number", None));
    }
    let parameters = members.get("params");
    let fault = match (parameters, method) {
        (Some(Value::Object(_)) | None, "tools/call") => {
            parameters_fault::<CallToolRequestParams>(parameters)
        }
        (Some(Value::Object(_)) | None, "initialize") => {
            parameters_fault::<InitializeRequestParams>(parameters)
        }
        (Some(parameters @ Value::Object(_)), "tools/list") => {
            parameters_fault::<PaginatedRequestParams>(Some(parameters))
        }
        (Some(Value::Object(_)) | None, _) => None,
        (Some(_), _) => Some("they must be an object".to_owned()),
    };
    let Some(fault) = fault else {
        // The SDK drops messages that it cannot parse.
        return match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
            Err(_) if id.is_some() => Err(RejectedLine::new(
                PARSE_ERROR,
                "the message cannot be parsed; its values may be nested too deeply",
                id,
            )),
            _ => Ok(()),
        };
    };
    let is_notification = id.is_none();
    let message = format!("invalid parameters of `{}`: {fault}", method.escape_debug());
    Err(RejectedLine { is_notification, ..RejectedLine::new(INVALID_PARAMS, message, id) })
}

/// Returns the reason why parameters do not have the type of their method.
fn parameters_fault<T: DeserializeOwned>(parameters: Option<&Value>) -> Option<String> {
    let Some(parameters) = parameters else { return Some("they are missing".to_owned()) };
    if parameters.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
        return Some("`arguments` must be an object".to_owned());
    }
    if parameters.get("name").is_some_and(|name| !name.is_string()) {
        return Some("`name` must be a string".to_owned());
    }
    // Messages about missing members and unknown types contain no values of arguments, which are arbitrary JSON.
    T::deserialize(parameters).err().map(|error| error.to_string())
}

/// Returns the id of a request, also if another part of the line is invalid or missing.
fn find_id(line: &[u8]) -> Option<Value> {
    let found = RefCell::new(None);
    // The error is expected; the id may have been read before it.
    let _ = IdSeed(&found).deserialize(&mut serde_json::Deserializer::from_slice(line));
    found.into_inner()
}

/// Reads the member `id` of an object, and skips all others.
struct IdSeed<'c>(&'c RefCell<Option<Value>>);

impl<'de> DeserializeSeed<'de> for IdSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == "id" {
                let id: Value = members.next_value()?;
                *self.0.borrow_mut() = Some(id).filter(|id| id.is_string() || id.is_number());
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Connects the streams of a client with the SDK. Returns the stream for the SDK, and a future that runs until the SDK
/// drops its stream. `log` receives the reason of each rejected line.
pub(super) fn checked_streams(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    log: impl Fn(&str),
) -> (DuplexStream, impl Future<Output = io::Result<()>>) {
    let (sdk, own) = tokio::io::duplex(BUFFER_BYTES);
    let (answers, checked) = tokio::io::split(own);
    let (rejections, rejected) = mpsc::unbounded_channel::<String>();
    let run = async move {
        let read = pin!(read_lines(input, checked, rejections, log));
        let mut write = pin!(write_lines(answers, rejected, output));
        tokio::select! {
            result = &mut write => result,
            result = read => {
                result?;
                write.await
            }
        }
    };
    (sdk, run)
}

/// Passes the valid lines of the input to the SDK, until the input ends.
async fn read_lines(
    input: impl AsyncRead + Unpin,
    mut checked: impl AsyncWrite + Unpin,
    rejections: mpsc::UnboundedSender<String>,
    log: impl Fn(&str),
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(line) = next_line(&mut input).await? {
        let rejection = match &line {
            Line::Complete(line) if line.trim_ascii().is_empty() => continue,
            Line::Complete(line) => check_line(line).err(),
            Line::TooLong(start) => {
                let message = format!("the line exceeds {} MiB", MAX_LINE_BYTES >> 20);
                Some(RejectedLine::new(INVALID_REQUEST, message, find_id(start)))
            }
        };
        match (rejection, line) {
            (Some(rejection), _) => {
                log(&format!("rejected a message: {}", rejection.message));
                // The receiver exists until the output ends.
                let _ = rejection.response().map(|response| rejections.send(response));
            }
            (None, Line::Complete(mut line)) => {
                line.push(b'\n');
                checked.write_all(&line).await?;
            }
            (None, Line::TooLong(_)) => {}
        }
    }
    checked.shutdown().await
}

/// Writes the lines of the SDK and the error responses, until the SDK drops its stream.
async fn write_lines(
    answers: impl AsyncRead + Unpin,
    mut rejected: mpsc::UnboundedReceiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut answers = BufReader::new(answers);
    // If a rejection interrupts a read, the line keeps its first part.
    let mut line = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(response) = rejected.recv() => {
                output.write_all(format!("{response}\n").as_bytes()).await?;
            }
            count = answers.read_until(b'\n', &mut line) => {
                let is_end = count? == 0;
                output.write_all(&line).await?;
                line.clear();
                if is_end {
                    return output.flush().await;
                }
            }
        }
        output.flush().await?;
    }
}

/// A line without its end.
enum Line {
    Complete(Vec<u8>),
    /// The start of a line that exceeds [`MAX_LINE_BYTES`].
    TooLong(Vec<u8>),
}

/// Reads the next line, of which at most [`MAX_LINE_BYTES`] are kept. Returns `None` at the end of the input.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let bytes = input.fill_buf().await?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = MAX_LINE_BYTES - line.len();
        is_too_long |= part.len() > room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let (read, is_end) = (end.map_or(bytes.len(), |end| end + 1), bytes.is_empty());
        input.consume(read);
        if end.is_some() || is_end {
            let is_nothing = is_end && line.is_empty();
            let line = if is_too_long { Line::TooLong(line) } else { Line::Complete(line) };
            return Ok((!is_nothing).then_some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_lines_have_codes_and_ids() {
        let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"a","arguments":{arguments}}}}}"#
            )
        };
        for (line, code, id) in [
            (call(r#"{"a":1e400}"#), PARSE_ERROR, json!(7)),
            (call(r#"{"a":"\ud800"}"#), PARSE_ERROR, json!(7)),
            (call(&format!(r#"{{"a":{deep}}}"#)), PARSE_ERROR, json!(7)),
            (call(r#"{"a":1}"#).replace("}}}", "}"), PARSE_ERROR, json!(7)),
            ("{".to_owned(), PARSE_ERROR, Value::Null),
            ("\u{feff}x".to_owned(), PARSE_ERROR, Value::Null),
            ("[]".to_owned(), INVALID_REQUEST, Value::Null),
            (r#"{"id":7,"method":"ping"}"#.to_owned(), INVALID_REQUEST, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7}"#.to_owned(), INVALID_REQUEST, json!(7)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_owned(), INVALID_REQUEST, Value::Null),
            (call(r#""text""#), INVALID_PARAMS, json!(7)),
            (call("[]"), INVALID_PARAMS, json!(7)),
            (call("{}").replace(r#""name":"a","#, ""), INVALID_PARAMS, json!(7)),
            (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call"}"#.to_owned(), INVALID_PARAMS, json!("x")),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":1}}"#.to_owned(),
                INVALID_PARAMS,
                json!(7),
            ),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#.to_owned(), INVALID_PARAMS, json!(7)),
        ] {
            let rejection = check_line(line.as_bytes()).err().unwrap_or_else(|| panic!("{line} is accepted"));
            let response: Value = serde_json::from_str(&rejection.response().unwrap()).unwrap();
            assert_eq!(
                (&response["error"]["code"], &response["id"]),
                (&json!(code), &id),
                "{line}: {rejection:?}"
            );
        }
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":1}"#;
        assert_eq!(check_line(notification.as_bytes()).unwrap_err().response(), None);
        for line in [
            call("{}"),
            call(r#"{"a":[1,"x"]}"#),
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
        ] {
            assert_eq!(check_line(line.as_bytes()), Ok(()), "{line}");
        }
    }
}
