//! Reads request bodies from files, standard input or fields, and validates them before sending.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use clap::ArgMatches;

use super::{
    arguments,
    commands::{BODY, CONTENT_TYPE, FIELD},
    error::CliError,
};
use crate::{
    Json, Map,
    client::RequestBuilder,
    media_type::MediaType,
    multipart::{FilePart, MultipartField},
    operation::{
        BodyFormat, BodySpec, ContentSpec, ItemEncoding, ItemFormat, Operation, PartSpec, TypedBytes,
    },
    parameters::{Parameter, ScalarType, ValueShape},
    schema::Validator,
    sequence::ItemDecoder,
};

/// The file name that means standard input.
const STDIN_PATH: &str = "-";

/// The maximum size of an item that is validated before sending, in bytes.
const MAX_ITEM_BYTES: usize = 64 << 20;

/// Returns true if a body of this media type can be read from a file.
pub(super) fn takes_file(content: &ContentSpec) -> bool {
    !matches!(content.format, BodyFormat::Multipart(_))
}

/// Returns true if a body of this media type can be given as fields.
pub(super) fn takes_fields(content: &ContentSpec) -> bool {
    matches!(content.format, BodyFormat::Form(..) | BodyFormat::Multipart(_))
}

/// Returns the declared fields of a media type.
pub(super) fn field_names(content: &ContentSpec) -> Vec<&'static str> {
    match content.format {
        BodyFormat::Form(fields, _) => fields.iter().map(|field| field.name).collect(),
        BodyFormat::Multipart(parts) => parts.iter().map(|part| part.name).collect(),
        _ => Vec::new(),
    }
}

/// The source of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodySource {
    /// A file or standard input.
    File,
    /// `--field` options.
    Fields,
}

/// Returns the default media type for a body from this source: the first JSON media type that can be read
/// from the source, or else the first other one. Media type ranges are ignored.
pub(super) fn default_media_type(body: &BodySpec, source: BodySource) -> Option<&'static str> {
    let fits = |content: &&ContentSpec| match source {
        BodySource::File => takes_file(content),
        BodySource::Fields => takes_fields(content),
    };
    let plain = || {
        let plain = body.content.iter().filter(|content| !MediaType::parse(content.media_type).is_range());
        plain.filter(fits)
    };
    let json = plain().find(|content| matches!(content.format, BodyFormat::Json));
    json.or_else(|| plain().next()).map(|content| content.media_type)
}

/// Adds the body to the request.
pub(super) fn attach_body(
    operation: &'static Operation,
    matches: &ArgMatches,
    request: RequestBuilder,
    input: &mut dyn Read,
) -> Result<RequestBuilder, CliError> {
    let Some(body) = operation.body else { return Ok(request) };
    let is_there = |id| matches.try_contains_id(id).unwrap_or(false);
    let source = match (is_there(BODY), is_there(FIELD)) {
        (_, true) => BodySource::Fields,
        (true, false) => BodySource::File,
        (false, false) => return Ok(request),
    };
    let named = matches.try_get_one::<String>(CONTENT_TYPE).ok().flatten().cloned();
    let default = default_media_type(&body, source);
    let Some(media_type) = named.or_else(|| default.map(str::to_owned)) else {
        return Err(CliError::usage_error("the contract does not determine the media type of the body")
            .with_help("give --content-type TYPE"));
    };
    let Some(content) = body.content_for(&media_type) else {
        let known: Vec<&str> = body.content.iter().map(|content| content.media_type).collect();
        let message = format!("unsupported media type `{media_type}`");
        return Err(
            CliError::usage_error(message).with_help(format!("the contract accepts {}", known.join(", ")))
        );
    };
    if source == BodySource::Fields {
        let texts: Vec<&str> =
            matches.get_many::<String>(FIELD).into_iter().flatten().map(String::as_str).collect();
        let by_name = arguments::group_by_name(&texts)
            .map_err(|why| CliError::usage_error(format!("--{FIELD} {why}")))?;
        return attach_fields(content, &by_name, request, input);
    }
    let file = matches.get_one::<PathBuf>(BODY).map_or(Path::new(STDIN_PATH), PathBuf::as_path);
    let bytes = read_source(file, input)?;
    match content.format {
        BodyFormat::Json => {
            validate_json("the body", &parse_json("the body", &bytes)?, content.validator)?;
        }
        BodyFormat::Text if std::str::from_utf8(&bytes).is_err() => {
            return Err(CliError::usage_error("the body is not UTF-8"));
        }
        BodyFormat::Form(..) => return Ok(request.form(content.media_type, &parse_json("the body", &bytes)?)),
        BodyFormat::Multipart(_) => {
            let message = format!(
                "a body of `{}` must be given as fields, with --{FIELD} NAME=VALUE",
                content.media_type
            );
            return Err(CliError::usage_error(message));
        }
        BodyFormat::Items(items) => validate_items(items, &bytes, content.validator)?,
        BodyFormat::Text | BodyFormat::Bytes | BodyFormat::Stream => {}
    }
    // The validated bytes are sent unchanged.
    let is_range = MediaType::parse(content.media_type).is_range();
    Ok(match is_range {
        true => request.typed_bytes(&TypedBytes::new(media_type, bytes)),
        false => request.bytes(content.media_type, bytes),
    })
}

/// Reads a file or standard input.
fn read_source(file: &Path, input: &mut dyn Read) -> Result<Vec<u8>, CliError> {
    let read = if file == Path::new(STDIN_PATH) {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|error| CliError::usage_error(format!("{}: {error}", file.display())))
}

fn parse_json(what: &str, bytes: &[u8]) -> Result<Json, CliError> {
    Json::parse(bytes).map_err(|error| CliError::usage_error(format!("{what} is not JSON: {error}")))
}

fn validate_json(what: &str, json: &Json, validator: Option<Validator<'_>>) -> Result<(), CliError> {
    match validator.map_or(Ok(()), |validator| validator.validate(json)) {
        Ok(()) => Ok(()),
        Err(violations) => Err(CliError::contract_violation(what, violations)),
    }
}

/// Validates each JSON item. Items of plain text and server-sent events are not validated.
fn validate_items(items: ItemFormat, bytes: &[u8], validator: Option<Validator<'_>>) -> Result<(), CliError> {
    let mut decoder = ItemDecoder::new(items.framing, MAX_ITEM_BYTES);
    decoder.push(bytes);
    decoder.finish();
    while let Some(item) = decoder.next_item() {
        let item = item.map_err(|fault| CliError::usage_error(fault.to_string()))?;
        if matches!(items.encoding, ItemEncoding::Json) {
            let what = item.position.to_string();
            validate_json(&what, &parse_json(&what, &item.data)?, validator)?;
        }
    }
    Ok(())
}

/// Builds a form or a multipart body from fields.
fn attach_fields(
    content: &'static ContentSpec,
    by_name: &[(&str, Vec<&str>)],
    request: RequestBuilder,
    input: &mut dyn Read,
) -> Result<RequestBuilder, CliError> {
    match content.format {
        BodyFormat::Form(rows, others) => {
            let mut members: Map<Json> = Map::new();
            for (name, texts) in by_name {
                let read = texts.iter().map(|text| read_text(text, input)).collect::<Result<Vec<_>, _>>()?;
                let texts: Vec<&str> = read.iter().map(String::as_str).collect();
                let row = rows.iter().find(|row| row.name == *name).copied();
                let row = row.unwrap_or_else(|| undeclared_field(others, texts.len()));
                let value = arguments::parse_argument(&row, &texts);
                let value =
                    value.map_err(|why| CliError::usage_error(format!("the field `{name}` {why}")))?;
                members.insert((*name).to_owned(), value);
            }
            Ok(request.form(content.media_type, &Json::Object(members)))
        }
        BodyFormat::Multipart(rows) => {
            let mut fields = Vec::new();
            for (name, texts) in by_name {
                let row = rows.iter().find(|row| row.name == *name);
                for text in texts {
                    fields.push(MultipartField {
                        name: (*name).to_owned(),
                        file: read_part(text, row, input)?,
                    });
                }
            }
            Ok(request.multipart(content.media_type, fields.as_slice()))
        }
        _ => {
            let message = format!("a body of `{}` cannot be given as fields", content.media_type);
            Err(CliError::usage_error(message).with_help(format!("give it with --{BODY} FILE")))
        }
    }
}

/// Returns the table row for an undeclared field with this number of values.
const fn undeclared_field(scalar: ScalarType, texts: usize) -> Parameter {
    let shape = if texts == 1 { ValueShape::Scalar(scalar) } else { ValueShape::Array(scalar) };
    Parameter { shape, ..Parameter::QUERY }
}

/// The value of a field.
enum FieldValue<'t> {
    /// The string itself.
    Text(&'t str),
    /// The content of a file.
    File(&'t Path),
}

/// Parses a field value: `@NAME` is a file, and `@@TEXT` is the string `@TEXT`.
fn parse_field_value(typed: &str) -> FieldValue<'_> {
    match typed.strip_prefix('@') {
        None => FieldValue::Text(typed),
        Some(text) if text.starts_with('@') => FieldValue::Text(text),
        Some(file) => FieldValue::File(Path::new(file)),
    }
}

/// Returns the string itself or the content of its file.
fn read_text(typed: &str, input: &mut dyn Read) -> Result<String, CliError> {
    let file = match parse_field_value(typed) {
        FieldValue::Text(text) => return Ok(text.to_owned()),
        FieldValue::File(file) => file,
    };
    let no_text = |_| CliError::usage_error(format!("{} is not UTF-8", file.display()));
    String::from_utf8(read_source(file, input)?).map_err(no_text)
}

/// Returns a multipart part with a string, or with the content of a file and its name.
fn read_part(typed: &str, row: Option<&PartSpec>, input: &mut dyn Read) -> Result<FilePart, CliError> {
    let mut file = match parse_field_value(typed) {
        FieldValue::File(path) => {
            let bytes = read_source(path, input)?;
            let name = path.file_name().filter(|_| path != Path::new(STDIN_PATH));
            FilePart { name: name.map(|name| name.to_string_lossy().into_owned()), ..FilePart::from(bytes) }
        }
        FieldValue::Text(text) => FilePart::from(text.to_owned()),
    };
    file.media_type = row.and_then(|row| row.default_media_type(&file)).map(str::to_owned);
    Ok(file)
}
