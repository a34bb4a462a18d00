//! What a server answers, as it comes: items one by one, documents in lines, bytes where they may go.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    io,
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use http::{
    StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};

use super::{failure::Failure, print};
use crate::{
    Json, Map,
    client::RetryAfter,
    contract::Rejected,
    media::MediaType,
    operation::{Format, Items, Operation, Outcome},
    sequence::{Decoder, Framing, Item},
    stream::{ItemFault, StreamError},
    transport::ByteStream,
};

/// Bytes of a document that is printed, since it is printed whole.
const WHOLE: usize = 256 << 20;

/// Bytes of one item of a stream.
const ITEM: usize = 64 << 20;

/// Where answers go, and how.
pub(super) struct Outlet<'a> {
    /// As they came, for programs.
    pub(super) json: bool,
    /// Into a file; `-` for the standard output whatever it is.
    pub(super) file: Option<PathBuf>,
    /// Whether the standard output is a terminal.
    pub(super) terminal: bool,
    pub(super) output: &'a mut dyn Write,
    pub(super) errors: &'a mut dyn Write,
    pub(super) now: &'a dyn Fn() -> SystemTime,
}

/// All media types that an operation answers with: `Accept`.
pub(super) fn accepted(operation: &Operation) -> String {
    let mut all: Vec<&str> = Vec::new();
    for content in operation.responses.iter().flat_map(|response| response.content) {
        if !all.contains(&content.media_type) {
            all.push(content.media_type);
        }
    }
    all.join(", ")
}

/// Shows an answer, or says why there is none to show.
pub(super) async fn show(
    operation: &Operation,
    answer: http::Response<ByteStream>,
    outlet: &mut Outlet<'_>,
) -> Result<(), Failure> {
    let (parts, body) = answer.into_parts();
    let status = parts.status;
    let media_type =
        parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = MediaType::of(media_type);
    let is_success = match operation.outcome(status.as_u16()) {
        Some(outcome) => outcome == Outcome::Success,
        None => status.is_success(),
    };
    if !is_success {
        let wait = RetryAfter::wait(&parts.headers, (outlet.now)());
        let wait = wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        // Its head says what it is, whatever becomes of its body.
        let (came, error) = body.gather(WHOLE).await;
        if let Some(error) = error {
            let _ = writeln!(outlet.errors, "note: the body of the answer is not whole: {error}");
        }
        let failure = Failure::answered(status, wait, said(media_type, &came));
        // Nobody is sent elsewhere without being asked: credentials would go along.
        let location = parts.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        return Err(match location.filter(|_| status.is_redirection()) {
            Some(location) => failure.with_help(format!("it names {location}")),
            None => failure,
        });
    }
    match outlet.file.clone() {
        Some(file) if file == Path::new("-") => copy(body, outlet.output).await,
        Some(file) => keep(body, &file).await,
        None => print(operation, status, media_type, body, outlet).await,
    }
}

/// What a refusal says, where that can be shown.
fn said(media_type: MediaType<'_>, body: &[u8]) -> Option<Json> {
    if body.is_empty() {
        return None;
    }
    let json = if media_type.is_json() { Json::parse(body).ok() } else { None };
    let text = || std::str::from_utf8(body).ok().filter(|text| !text.trim().is_empty()).map(Json::from);
    json.or_else(text)
}

async fn print(
    operation: &Operation,
    status: StatusCode,
    media_type: MediaType<'_>,
    body: ByteStream,
    outlet: &mut Outlet<'_>,
) -> Result<(), Failure> {
    if let Some(framing) = Framing::of(&media_type) {
        let response = operation.response(status.as_u16());
        let content = response.and_then(|response| response.of(media_type.essence()));
        return stream(framing, content.map(|content| content.format), body, outlet).await;
    }
    let is_text = media_type.is_text() || media_type.is_form();
    if !(media_type.is_json() || is_text || media_type.essence().is_empty()) {
        if outlet.terminal {
            let message = format!("the answer is `{}`, which no terminal shows", media_type.essence());
            return Err(Failure::failed(message).with_help("give --output FILE"));
        }
        return copy(body, outlet.output).await;
    }
    let body = body.collect(WHOLE).await?;
    if body.is_empty() {
        if outlet.terminal {
            let _ = writeln!(outlet.errors, "done: {status}");
        }
        return Ok(());
    }
    let json = Json::parse(&body);
    let shown = match json {
        // As it came, but for what would move the cursor.
        Ok(json) if !is_text && outlet.json && outlet.terminal => print::compact(&json),
        Ok(json) if !is_text && !outlet.json => print::readable(&json),
        Err(error) if media_type.is_json() && !outlet.json => {
            return Err(Failure::failed(format!("the answer is no JSON: {error}")));
        }
        _ if outlet.terminal => match std::str::from_utf8(&body) {
            Ok(text) => print::clean(text),
            Err(_) => {
                let message = "the answer is not UTF-8, and no terminal shows it";
                return Err(Failure::failed(message).with_help("give --output FILE"));
            }
        },
        _ => {
            let end: &[u8] = if body.ends_with(b"\n") { b"" } else { b"\n" };
            return Ok(print::whole(outlet.output, &[&body[..], end].concat())?);
        }
    };
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    Ok(print::whole(outlet.output, format!("{shown}{end}").as_bytes())?)
}

/// Prints items as they come, each at once.
async fn stream(
    framing: Framing,
    format: Option<Format>,
    mut body: ByteStream,
    outlet: &mut Outlet<'_>,
) -> Result<(), Failure> {
    let row = match format {
        Some(Format::Items(row)) => Items { framing, ..row },
        _ => Items::new(framing),
    };
    let mut decoder = Decoder::new(framing, ITEM);
    let mut faults = 0;
    loop {
        let piece = body.next().await;
        let is_over = piece.is_none();
        match piece {
            Some(piece) => decoder.push(&piece?),
            None => decoder.finish(),
        }
        while let Some(item) = decoder.pop() {
            let item = match item {
                Ok(item) if row.is_end(&item) => return finished(faults),
                item => item,
            };
            let is_last = item.as_ref().is_ok_and(|item| row.is_last(item.event.as_deref()));
            match item.map_err(StreamError::from).and_then(|item| line(framing, &item, outlet.json)) {
                Ok(line) => print::whole(outlet.output, format!("{line}\n").as_bytes())?,
                Err(error) => {
                    faults += 1;
                    let _ = writeln!(outlet.errors, "note: {error}");
                }
            }
            if is_last {
                return finished(faults);
            }
        }
        if is_over {
            return finished(faults);
        }
    }
}

fn finished(faults: usize) -> Result<(), Failure> {
    match faults {
        0 => Ok(()),
        faults => Err(Failure::failed(format!("items that cannot be read: {faults}"))),
    }
}

/// An item in one line. For programs an event is an object; its data may be any text, which is a string
/// then.
fn line(framing: Framing, item: &Item, json: bool) -> Result<String, StreamError> {
    let data = match Json::parse(&item.data) {
        Ok(data) => data,
        Err(_) if framing == Framing::Events => Json::from(&*String::from_utf8_lossy(&item.data)),
        Err(error) => {
            let fault = ItemFault::Rejected(Rejected::of_text(error));
            return Err(StreamError::Item { place: item.place, fault });
        }
    };
    if !json {
        let shown = match &data {
            Json::String(text) => print::clean(text).replace('\n', " "),
            data => print::compact(data),
        };
        return Ok(match &item.event {
            Some(event) => format!("{}: {shown}", print::clean(event)),
            None => shown,
        });
    }
    if framing != Framing::Events {
        return Ok(print::compact(&data));
    }
    let mut members: Map<Json> = Map::new();
    for (name, value) in [("event", &item.event), ("id", &item.id)] {
        if let Some(value) = value {
            members.insert(name.to_owned(), value.as_str().into());
        }
    }
    members.insert("data".to_owned(), data);
    Ok(print::compact(&Json::Object(members)))
}

/// Bytes as they come.
async fn copy(mut body: ByteStream, output: &mut dyn Write) -> Result<(), Failure> {
    while let Some(piece) = body.next().await {
        match output.write_all(&piece?) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(print::whole(output, b"")?)
}

/// Bytes as they come into a file, which is there when all of them are: those of one answer, whoever else writes it
/// meanwhile.
async fn keep(body: ByteStream, file: &Path) -> Result<(), Failure> {
    let of_file = |error: io::Error| Failure::failed(format!("{}: {error}", file.display()));
    let path = beside(file);
    let mut output = fs::File::create_new(&path).map_err(of_file)?;
    let part = Part(path);
    copy(body, &mut output).await?;
    drop(output);
    fs::rename(&part.0, file).map_err(of_file)
}

/// A name that nobody else has at the moment.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.part", RandomState::new().hash_one(file)));
    file.with_file_name(name)
}

/// What was written so far. It goes, unless it took its place: what is left of it is no answer.
struct Part(PathBuf);

impl Drop for Part {
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
        cli::Exit,
        transport::{Delivery, TransportError, TransportFault},
    };

    /// A piece, and then an error.
    struct Cut(Option<&'static str>);

    impl Stream for Cut {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let cut = || TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
            Poll::Ready(Some(self.0.take().map(Bytes::from).ok_or_else(cut)))
        }
    }

    /// Its head says what it is, and how long to wait.
    #[test]
    fn a_refusal_is_one_without_its_body() {
        let answer = http::Response::builder().status(503).header("retry-after", "7");
        let answer = answer.body(ByteStream::new(Cut(Some("slowly")))).unwrap();
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut outlet = Outlet {
            json: false,
            file: None,
            terminal: false,
            output: &mut output,
            errors: &mut errors,
            now: &|| SystemTime::UNIX_EPOCH,
        };
        let mut context = Context::from_waker(Waker::noop());
        let shown = pin!(show(&Operation::NONE, answer, &mut outlet)).poll(&mut context);
        let Poll::Ready(Err(failure)) = shown else { panic!("no refusal") };
        failure.tell(false, &mut errors);
        assert_eq!((failure.exit, output.len()), (Exit::Wait, 0));
        let said = "note: the body of the answer is not whole: the connection ended before the answer did\n\
                    error: the server answered 503 Service Unavailable, and asks to wait 7 s\n  slowly\n";
        assert_eq!(String::from_utf8(errors).unwrap(), said);
    }

    /// Pieces of a body; nothing is one that is waited for.
    struct Pieces(VecDeque<Option<&'static str>>);

    impl Stream for Pieces {
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
        ByteStream::new(Pieces(pieces.iter().copied().collect()))
    }

    #[test]
    fn a_file_is_one_answer_and_nothing_lies_beside_it() {
        let folder = std::env::temp_dir().join(format!("contract-runtime-cli-keep-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("answer");
        let count = || fs::read_dir(&folder).unwrap().count();
        let mut context = Context::from_waker(Waker::noop());
        // Another process writes the same file from its beginning to its end meanwhile.
        let mut slow = pin!(keep(body(&[Some("one, "), None, Some("whole")]), &file));
        assert!(slow.as_mut().poll(&mut context).is_pending());
        let quick = pin!(keep(body(&[Some("another")]), &file)).poll(&mut context);
        assert!(matches!(quick, Poll::Ready(Ok(()))));
        assert_eq!(fs::read(&file).unwrap(), b"another");
        assert!(matches!(slow.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
        assert_eq!((fs::read(&file).unwrap(), count()), (b"one, whole".to_vec(), 1));
        // One that is broken off, and one that cannot take its place.
        let mut dropped = Box::pin(keep(body(&[Some("half"), None]), &file));
        assert!(dropped.as_mut().poll(&mut context).is_pending());
        assert_eq!(count(), 2);
        drop(dropped);
        let taken = folder.join("taken");
        fs::create_dir(&taken).unwrap();
        let refused = pin!(keep(body(&[Some("a")]), &taken)).poll(&mut context);
        assert!(matches!(refused, Poll::Ready(Err(_))));
        assert_eq!((fs::read(&file).unwrap(), count()), (b"one, whole".to_vec(), 2));
        fs::remove_dir_all(&folder).unwrap();
    }
}
