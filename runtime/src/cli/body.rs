//! The body of a request: from a file, the standard input or fields, judged by the contract before it is sent.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use clap::ArgMatches;

use super::{
    arguments,
    commands::{BODY, CONTENT_TYPE, FIELD},
    failure::Failure,
};
use crate::{
    Json, Map,
    client::Request,
    media::MediaType,
    multipart::{Field, File},
    operation::{Body, Content, Format, ItemForm, Items, Operation, Part, PartForm, Typed},
    parameters::{Parameter, Scalar, Shape},
    schema::Validator,
    sequence::Decoder,
};

/// What stands for the standard input.
const STDIN: &str = "-";

/// Bytes of one item that is looked at before all are sent.
const ITEM: usize = 64 << 20;

/// Whether a body of this media type can be given as it is.
pub(super) fn takes_file(content: &Content) -> bool {
    !matches!(content.format, Format::Multipart(_))
}

/// Whether it can be given field by field.
pub(super) fn takes_fields(content: &Content) -> bool {
    matches!(content.format, Format::Form(..) | Format::Multipart(_))
}

/// The fields that the contract names.
pub(super) fn fields(content: &Content) -> Vec<&'static str> {
    match content.format {
        Format::Form(fields, _) => fields.iter().map(|field| field.name).collect(),
        Format::Multipart(parts) => parts.iter().map(|part| part.name).collect(),
        _ => Vec::new(),
    }
}

/// How a body is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// All of it.
    File,
    /// Field by field.
    Fields,
}

/// The media type of a body of which nobody says another: JSON, or the first that can be given so.
pub(super) fn usual(body: &Body, given: Given) -> Option<&'static str> {
    let fits = |content: &&Content| match given {
        Given::File => takes_file(content),
        Given::Fields => takes_fields(content),
    };
    let plain = || {
        let plain = body.content.iter().filter(|content| !MediaType::of(content.media_type).is_range());
        plain.filter(fits)
    };
    let json = plain().find(|content| matches!(content.format, Format::Json));
    json.or_else(|| plain().next()).map(|content| content.media_type)
}

/// Adds the body that was given.
pub(super) fn attach(
    operation: &'static Operation,
    matches: &ArgMatches,
    request: Request,
    input: &mut dyn Read,
) -> Result<Request, Failure> {
    let Some(body) = operation.body else { return Ok(request) };
    let is_there = |id| matches.try_contains_id(id).unwrap_or(false);
    let given = match (is_there(BODY), is_there(FIELD)) {
        (_, true) => Given::Fields,
        (true, false) => Given::File,
        (false, false) => return Ok(request),
    };
    let named = matches.try_get_one::<String>(CONTENT_TYPE).ok().flatten().cloned();
    let meant = usual(&body, given);
    let Some(media_type) = named.or_else(|| meant.map(str::to_owned)) else {
        return Err(Failure::usage("the body has no media type").with_help("give --content-type TYPE"));
    };
    let Some(content) = body.of(&media_type) else {
        let known: Vec<&str> = body.content.iter().map(|content| content.media_type).collect();
        let message = format!("the body is not `{media_type}`");
        return Err(Failure::usage(message).with_help(format!("the contract has {}", known.join(", "))));
    };
    if given == Given::Fields {
        let texts: Vec<&str> =
            matches.get_many::<String>(FIELD).into_iter().flatten().map(String::as_str).collect();
        let by_name = arguments::by_name(&texts).map_err(|why| Failure::usage(format!("--{FIELD} {why}")))?;
        return of_names(content, &by_name, request, input);
    }
    let file = matches.get_one::<PathBuf>(BODY).map_or(Path::new(STDIN), PathBuf::as_path);
    let bytes = bytes_of(file, input)?;
    match content.format {
        Format::Json => {
            judge("the body", &parsed("the body", &bytes)?, content.validator)?;
        }
        Format::Text if std::str::from_utf8(&bytes).is_err() => {
            return Err(Failure::usage("the body is no text: it is not UTF-8"));
        }
        Format::Form(..) => return Ok(request.form(content.media_type, &parsed("the body", &bytes)?)),
        Format::Multipart(_) => {
            let message = format!("a body of `{}` is given by --{FIELD} NAME=VALUE", content.media_type);
            return Err(Failure::usage(message));
        }
        Format::Items(items) => judge_items(items, &bytes, content.validator)?,
        Format::Text | Format::Bytes | Format::Pieces => {}
    }
    // Byte for byte: what was judged is what is sent.
    let is_range = MediaType::of(content.media_type).is_range();
    Ok(match is_range {
        true => request.typed(&Typed::new(media_type, bytes)),
        false => request.bytes(content.media_type, bytes),
    })
}

/// What a file holds, or the standard input.
fn bytes_of(file: &Path, input: &mut dyn Read) -> Result<Vec<u8>, Failure> {
    let read = if file == Path::new(STDIN) {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

fn parsed(what: &str, bytes: &[u8]) -> Result<Json, Failure> {
    Json::parse(bytes).map_err(|error| Failure::usage(format!("{what} is no JSON: {error}")))
}

fn judge(what: &str, json: &Json, validator: Option<Validator<'_>>) -> Result<(), Failure> {
    match validator.map_or(Ok(()), |validator| validator.validate(json)) {
        Ok(()) => Ok(()),
        Err(violations) => Err(Failure::invalid(what, violations)),
    }
}

/// Each item by itself. Of texts and events nothing is asked that a reader of theirs could not say better.
fn judge_items(items: Items, bytes: &[u8], validator: Option<Validator<'_>>) -> Result<(), Failure> {
    let mut decoder = Decoder::new(items.framing, ITEM);
    decoder.push(bytes);
    decoder.finish();
    while let Some(item) = decoder.pop() {
        let item = item.map_err(|fault| Failure::usage(fault.to_string()))?;
        if matches!(items.form, ItemForm::Json) {
            let what = item.place.to_string();
            judge(&what, &parsed(&what, &item.data)?, validator)?;
        }
    }
    Ok(())
}

/// A form, or a body of parts, of fields that were typed.
fn of_names(
    content: &'static Content,
    by_name: &[(&str, Vec<&str>)],
    request: Request,
    input: &mut dyn Read,
) -> Result<Request, Failure> {
    match content.format {
        Format::Form(rows, others) => {
            let mut members: Map<Json> = Map::new();
            for (name, texts) in by_name {
                let read = texts.iter().map(|text| text_of(text, input)).collect::<Result<Vec<_>, _>>()?;
                let texts: Vec<&str> = read.iter().map(String::as_str).collect();
                let row = rows.iter().find(|row| row.name == *name).copied();
                let row = row.unwrap_or_else(|| other(others, texts.len()));
                let value = arguments::value(&row, &texts);
                let value = value.map_err(|why| Failure::usage(format!("the field `{name}` {why}")))?;
                members.insert((*name).to_owned(), value);
            }
            Ok(request.form(content.media_type, &Json::Object(members)))
        }
        Format::Multipart(rows) => {
            let mut fields = Vec::new();
            for (name, texts) in by_name {
                let row = rows.iter().find(|row| row.name == *name);
                for text in texts {
                    fields.push(Field { name: (*name).to_owned(), file: file_of(text, row, input)? });
                }
            }
            Ok(request.multipart(content.media_type, fields.as_slice()))
        }
        _ => {
            let message = format!("a body of `{}` has no fields", content.media_type);
            Err(Failure::usage(message).with_help(format!("give it by --{BODY} FILE")))
        }
    }
}

/// A field that the contract does not name.
const fn other(scalar: Scalar, texts: usize) -> Parameter {
    let shape = if texts == 1 { Shape::Scalar(scalar) } else { Shape::Array(scalar) };
    Parameter { shape, ..Parameter::QUERY }
}

/// What the value of a field stands for.
enum Value<'t> {
    /// Itself.
    Text(&'t str),
    /// What a file holds.
    File(&'t Path),
}

/// Behind an `@` stands the name of a file, behind two a text that begins with one.
fn value_of(typed: &str) -> Value<'_> {
    match typed.strip_prefix('@') {
        None => Value::Text(typed),
        Some(text) if text.starts_with('@') => Value::Text(text),
        Some(file) => Value::File(Path::new(file)),
    }
}

/// A text, or that of a file.
fn text_of(typed: &str, input: &mut dyn Read) -> Result<String, Failure> {
    let file = match value_of(typed) {
        Value::Text(text) => return Ok(text.to_owned()),
        Value::File(file) => file,
    };
    let no_text = |_| Failure::usage(format!("{} is no text: it is not UTF-8", file.display()));
    String::from_utf8(bytes_of(file, input)?).map_err(no_text)
}

/// A part: a text, or a file with its name.
fn file_of(typed: &str, row: Option<&Part>, input: &mut dyn Read) -> Result<File, Failure> {
    let mut file = match value_of(typed) {
        Value::File(path) => {
            let bytes = bytes_of(path, input)?;
            let name = path.file_name().filter(|_| path != Path::new(STDIN));
            File { name: name.map(|name| name.to_string_lossy().into_owned()), ..File::from(bytes) }
        }
        Value::Text(text) => File::from(text.to_owned()),
    };
    let usual = match row.map(|row| (row.media_type, row.form)) {
        Some(("", PartForm::Binary)) => "application/octet-stream",
        Some((usual, _)) => usual,
        None => "",
    };
    file.media_type = Some(usual.to_owned()).filter(|usual| !usual.is_empty());
    Ok(file)
}
