//! Prints responses: streams item by item, documents as YAML or JSON, and binary data to a file.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use http::{
    StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};

use super::{error::CliError, print};
use crate::{
    Json, Map,
    client::RetryAfter,
    contract::DocumentError,
    media_type::MediaType,
    operation::{BodyFormat, ItemFormat, Operation, ResponseKind},
    random::random_u64,
    sequence::{ItemDecoder, ItemFraming, RawItem},
    stream::{ItemFault, StreamError},
    transport::ByteStream,
};

/// The maximum size of a document in bytes. Documents are printed as a whole.
const MAX_DOCUMENT_BYTES: usize = 256 << 20;

/// The maximum size of an item of a stream in bytes.
const MAX_ITEM_BYTES: usize = 64 << 20;

/// The destination and format of responses.
pub(super) struct OutputTarget<'a> {
    /// Prints documents unchanged instead of as YAML, for use by other programs.
    pub(super) json: bool,
    /// The file to write to; `-` is standard output, even for binary data.
    pub(super) file: Option<PathBuf>,
    /// Whether standard output is a terminal.
    pub(super) is_terminal: bool,
    pub(super) output: &'a mut dyn Write,
    pub(super) errors: &'a mut dyn Write,
    pub(super) now: &'a dyn Fn() -> SystemTime,
}

/// Returns all response media types of an operation, for `Accept`.
pub(super) fn accept_header(operation: &Operation) -> String {
    let mut all: Vec<&str> = Vec::new();
    for content in operation.responses.iter().flat_map(|response| response.content) {
        if !all.contains(&content.media_type) {
            all.push(content.media_type);
        }
    }
    all.join(", ")
}

/// Prints a successful response. Any other response is returned as an error.
pub(super) async fn show_response(
    operation: &Operation,
    answer: http::Response<ByteStream>,
    outlet: &mut OutputTarget<'_>,
) -> Result<(), CliError> {
    let (parts, body) = answer.into_parts();
    let status = parts.status;
    let media_type =
        parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = MediaType::parse(media_type);
    let is_success = match operation.response_kind(status.as_u16()) {
        Some(outcome) => outcome == ResponseKind::Success,
        None => status.is_success(),
    };
    if !is_success {
        let wait = RetryAfter::wait_from_headers(&parts.headers, (outlet.now)());
        let wait = wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        // The head determines the error even if the body is incomplete.
        let (came, error) = body.collect_partial(MAX_DOCUMENT_BYTES).await;
        if let Some(error) = error {
            let _ = writeln!(outlet.errors, "note: the body of the response is incomplete: {error}");
        }
        let failure = CliError::error_response(status, wait, displayable_body(media_type, &came));
        // Redirects are not followed, because the credentials would be sent to another server.
        let location = parts.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        return Err(match location.filter(|_| status.is_redirection()) {
            Some(location) => failure.with_help(format!("the response redirects to {location}")),
            None => failure,
        });
    }
    match outlet.file.clone() {
        Some(file) if file == Path::new("-") => copy_body(body, outlet.output).await,
        Some(file) => save_body(body, &file).await,
        None => print_response(operation, status, media_type, body, outlet).await,
    }
}

/// Returns the body of an error response, if it can be displayed.
fn displayable_body(media_type: MediaType<'_>, body: &[u8]) -> Option<Json> {
    if body.is_empty() {
        return None;
    }
    let json = if media_type.is_json() { Json::parse(body).ok() } else { None };
    let text = || std::str::from_utf8(body).ok().filter(|text| !text.trim().is_empty()).map(Json::from);
    json.or_else(text)
}

async fn print_response(
    operation: &Operation,
    status: StatusCode,
    media_type: MediaType<'_>,
    body: ByteStream,
    outlet: &mut OutputTarget<'_>,
) -> Result<(), CliError> {
    if let Some(framing) = ItemFraming::from_media_type(&media_type) {
        let response = operation.response_for_status(status.as_u16());
        let content = response.and_then(|response| response.content_for(media_type.essence()));
        return print_items(framing, content.map(|content| content.format), body, outlet).await;
    }
    let is_text = media_type.is_text() || media_type.is_form();
    if !(media_type.is_json() || is_text || media_type.essence().is_empty()) {
        if outlet.is_terminal {
            let message = format!(
                "the response has the media type `{}`, which a terminal cannot show",
                media_type.essence()
            );
            return Err(CliError::failure(message).with_help("give --output FILE"));
        }
        return copy_body(body, outlet.output).await;
    }
    let body = body.collect(MAX_DOCUMENT_BYTES).await?;
    if body.is_empty() {
        if outlet.is_terminal {
            let _ = writeln!(outlet.errors, "done: {status}");
        }
        return Ok(());
    }
    let json = Json::parse(&body);
    let shown = match json {
        // The document is printed unchanged, except for control characters.
        Ok(json) if !is_text && outlet.json && outlet.is_terminal => print::to_compact(&json),
        Ok(json) if !is_text && !outlet.json => print::to_yaml(&json),
        Err(error) if media_type.is_json() && !outlet.json => {
            return Err(CliError::failure(format!("the response is not JSON: {error}")));
        }
        _ if outlet.is_terminal => match std::str::from_utf8(&body) {
            Ok(text) => print::escape_text(text),
            Err(_) => {
                let message = "the response is not UTF-8 and cannot be shown on a terminal";
                return Err(CliError::failure(message).with_help("give --output FILE"));
            }
        },
        _ => {
            let end: &[u8] = if body.ends_with(b"\n") { b"" } else { b"\n" };
            return Ok(print::write_all(outlet.output, &[&body[..], end].concat())?);
        }
    };
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    Ok(print::write_all(outlet.output, format!("{shown}{end}").as_bytes())?)
}

/// Prints each item as soon as it arrives.
async fn print_items(
    framing: ItemFraming,
    format: Option<BodyFormat>,
    mut body: ByteStream,
    outlet: &mut OutputTarget<'_>,
) -> Result<(), CliError> {
    let row = match format {
        Some(BodyFormat::Items(row)) => ItemFormat { framing, ..row },
        _ => ItemFormat::new(framing),
    };
    let mut decoder = ItemDecoder::new(framing, MAX_ITEM_BYTES);
    let mut faults = 0;
    loop {
        let piece = body.next().await;
        let is_over = piece.is_none();
        match piece {
            Some(piece) => decoder.push(&piece?),
            None => decoder.finish(),
        }
        while let Some(item) = decoder.next_item() {
            let item = match item {
                Ok(item) if row.is_end_marker(&item) => return finish_items(faults),
                item => item,
            };
            let is_last = item.as_ref().is_ok_and(|item| row.is_last_event(item.event.as_deref()));
            match item.map_err(StreamError::from).and_then(|item| format_item(framing, &item, outlet.json)) {
                Ok(line) => print::write_all(outlet.output, format!("{line}\n").as_bytes())?,
                Err(error) => {
                    faults += 1;
                    let _ = writeln!(outlet.errors, "note: {error}");
                }
            }
            if is_last {
                return finish_items(faults);
            }
        }
        if is_over {
            return finish_items(faults);
        }
    }
}

fn finish_items(faults: usize) -> Result<(), CliError> {
    match faults {
        0 => Ok(()),
        faults => Err(CliError::failure(format!("items that cannot be read: {faults}"))),
    }
}

/// Formats an item as one line. With `--json`, a server-sent event is printed as an object. Event data that
/// is not JSON becomes a JSON string.
fn format_item(framing: ItemFraming, item: &RawItem, json: bool) -> Result<String, StreamError> {
    let data = match Json::parse(&item.data) {
        Ok(data) => data,
        Err(_) if framing == ItemFraming::Events => Json::from(&*String::from_utf8_lossy(&item.data)),
        Err(error) => {
            let fault = ItemFault::Rejected(DocumentError::from_json_error(error));
            return Err(StreamError::Item { place: item.position, fault });
        }
    };
    if !json {
        let shown = match &data {
            Json::String(text) => print::escape_text(text).replace('\n', " "),
            data => print::to_compact(data),
        };
        return Ok(match &item.event {
            Some(event) => format!("{}: {shown}", print::escape_text(event)),
            None => shown,
        });
    }
    if framing != ItemFraming::Events {
        return Ok(print::to_compact(&data));
    }
    let mut members: Map<Json> = Map::new();
    for (name, value) in [("event", &item.event), ("id", &item.id)] {
        if let Some(value) = value {
            members.insert(name.to_owned(), value.as_str().into());
        }
    }
    members.insert("data".to_owned(), data);
    Ok(print::to_compact(&Json::Object(members)))
}

/// Copies chunks to the output.
async fn copy_body(mut body: ByteStream, output: &mut dyn Write) -> Result<(), CliError> {
    while let Some(piece) = body.next().await {
        match output.write_all(&piece?) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(print::write_all(output, b"")?)
}

/// Writes the body to a temporary file, which replaces `file` when it is complete. Output of concurrent
/// writers is therefore never mixed.
async fn save_body(body: ByteStream, file: &Path) -> Result<(), CliError> {
    let of_file = |error: io::Error| CliError::failure(format!("{}: {error}", file.display()));
    let path = temporary_path(file);
    let mut output = fs::File::create_new(&path).map_err(of_file)?;
    let part = PartialFile(path);
    copy_body(body, &mut output).await?;
    drop(output);
    fs::rename(&part.0, file).map_err(of_file)
}

/// Returns a file name that no other process uses, in the folder of `file`.
fn temporary_path(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.part", random_u64()));
    file.with_file_name(name)
}

/// A temporary file that is removed when dropped, unless it was renamed, because an incomplete response is
/// useless.
struct PartialFile(PathBuf);

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        pin::{Pin, pin},
        task::{Context, Poll, Waker},
    };

    use bytes::Bytes;
    use futures_core::Stream;

    use super::*;
    use crate::{
        cli::CliExit,
        transport::{Delivery, TransportError, TransportFault},
    };

    /// A body of one chunk, followed by an error.
    struct InterruptedBody(Option<&'static str>);

    impl Stream for InterruptedBody {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let cut = || TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
            Poll::Ready(Some(self.0.take().map(Bytes::from).ok_or_else(cut)))
        }
    }

    /// If the body is cut off, status and headers still determine the error and the `Retry-After` delay.
    #[test]
    fn error_response_is_valid_without_its_body() {
        let response = http::Response::builder().status(503).header("retry-after", "7");
        let response = response.body(ByteStream::new(InterruptedBody(Some("slowly")))).unwrap();
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut outlet = OutputTarget {
            json: false,
            file: None,
            is_terminal: false,
            output: &mut output,
            errors: &mut errors,
            now: &|| SystemTime::UNIX_EPOCH,
        };
        let mut context = Context::from_waker(Waker::noop());
        let shown = pin!(show_response(&Operation::EMPTY, response, &mut outlet)).poll(&mut context);
        let Poll::Ready(Err(failure)) = shown else { panic!("no error") };
        failure.print_to(false, &mut errors);
        assert_eq!((failure.exit, output.len()), (CliExit::RetryLater, 0));
        let expected = "note: the body of the response is incomplete: the connection ended before the response was complete\n\
                    error: the server returned 503 Service Unavailable and requires a wait of 7 s\n  slowly\n";
        assert_eq!(String::from_utf8(errors).unwrap(), expected);
    }

    /// The chunks of a body. `None` is a pending poll.
    struct ChunkedBody(VecDeque<Option<&'static str>>);

    impl Stream for ChunkedBody {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            match self.0.pop_front() {
                Some(Some(piece)) => Poll::Ready(Some(Ok(Bytes::from(piece)))),
                Some(None) => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn body(pieces: &[Option<&'static str>]) -> ByteStream {
        ByteStream::new(ChunkedBody(pieces.iter().copied().collect()))
    }

    #[test]
    fn output_file_is_replaced_atomically() {
        let folder = std::env::temp_dir().join(format!("contract-runtime-cli-keep-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("answer");
        let count = || fs::read_dir(&folder).unwrap().count();
        let mut context = Context::from_waker(Waker::noop());
        // While this write is pending, another one writes to the same file.
        let mut slow = pin!(save_body(body(&[Some("one, "), None, Some("whole")]), &file));
        assert!(slow.as_mut().poll(&mut context).is_pending());
        let quick = pin!(save_body(body(&[Some("another")]), &file)).poll(&mut context);
        assert!(matches!(quick, Poll::Ready(Ok(()))));
        assert_eq!(fs::read(&file).unwrap(), b"another");
        assert!(matches!(slow.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
        assert_eq!((fs::read(&file).unwrap(), count()), (b"one, whole".to_vec(), 1));
        // The temporary file is removed if the body is interrupted or if the file cannot be renamed.
        let mut dropped = Box::pin(save_body(body(&[Some("half"), None]), &file));
        assert!(dropped.as_mut().poll(&mut context).is_pending());
        assert_eq!(count(), 2);
        drop(dropped);
        let taken = folder.join("taken");
        fs::create_dir(&taken).unwrap();
        let refused = pin!(save_body(body(&[Some("a")]), &taken)).poll(&mut context);
        assert!(matches!(refused, Poll::Ready(Err(_))));
        assert_eq!((fs::read(&file).unwrap(), count()), (b"one, whole".to_vec(), 2));
        fs::remove_dir_all(&folder).unwrap();
    }
}
