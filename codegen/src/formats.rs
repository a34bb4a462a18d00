//! Formats that become types: by ready mappings to types of well-known packages, and to types of the
//! owner's own.
//!
//! A mapped format is asserted: a text that the type cannot be made of breaks the keyword `format`.
//! Readers keep such a text all the same.

use std::collections::BTreeMap;

use contract_runtime::format::{Format, base64};

use crate::{config::FormatType, names, schema::Schema};

/// The formats of a contract that become types, by name.
#[derive(Clone, Debug, Default)]
pub struct Formats(BTreeMap<String, Mapped>);

/// A format and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// What `format` calls it.
    pub format: String,
    /// The name of the generated type.
    pub name: String,
    /// The path of what the type holds.
    pub value: String,
    /// An expression of `text`, an `Option` of the value.
    read: String,
    /// An expression of `value`, its text.
    write: String,
    /// The line of a manifest that the value asks for.
    pub dependency: Option<&'static str>,
}

/// A mapping by the name of a package.
struct Ready {
    format: &'static str,
    package: &'static str,
    value: &'static str,
    read: &'static str,
    write: &'static str,
}

const FROM_STR: &str = "text.parse().ok()";
const DISPLAY: &str = "value.to_string()";
const RFC_3339: &str = "::time::format_description::well_known::Rfc3339";

const fn ready(
    format: &'static str,
    package: &'static str,
    value: &'static str,
    read: &'static str,
    write: &'static str,
) -> Ready {
    Ready { format, package, value, read, write }
}

const READY: &[Ready] = &[
    ready("date-time", "jiff", "::jiff::Timestamp", FROM_STR, DISPLAY),
    ready("date", "jiff", "::jiff::civil::Date", FROM_STR, DISPLAY),
    ready("duration", "jiff", "::jiff::Span", FROM_STR, DISPLAY),
    ready(
        "date-time",
        "chrono",
        "::chrono::DateTime<::chrono::FixedOffset>",
        "::chrono::DateTime::parse_from_rfc3339(text).ok()",
        "value.to_rfc3339_opts(::chrono::SecondsFormat::AutoSi, true)",
    ),
    ready("date", "chrono", "::chrono::NaiveDate", FROM_STR, DISPLAY),
    ready(
        "date-time",
        "time",
        "::time::OffsetDateTime",
        "::time::OffsetDateTime::parse(text, &RFC_3339).ok()",
        "value.format(&RFC_3339).unwrap_or_default()",
    ),
    ready(
        "date",
        "time",
        "::time::Date",
        "::time::Date::parse(text, &ISO_8601).ok()",
        "value.format(&ISO_8601).unwrap_or_default()",
    ),
    ready("uuid", "uuid", "::uuid::Uuid", FROM_STR, DISPLAY),
    ready("uri", "url", "::url::Url", FROM_STR, DISPLAY),
    ready("ipv4", "std", "::std::net::Ipv4Addr", FROM_STR, DISPLAY),
    ready("ipv6", "std", "::std::net::Ipv6Addr", FROM_STR, DISPLAY),
    ready(
        BYTE,
        "base64",
        "::std::vec::Vec<u8>",
        "::contract_runtime::format::base64::decode(text)",
        "::contract_runtime::format::base64::encode(value)",
    ),
];

/// OpenAPI 3.0's name for what `contentEncoding: base64` says since.
const BYTE: &str = "byte";

/// What a package has to depend on.
const DEPENDENCIES: &[(&str, &str)] = &[
    ("jiff", "jiff = { version = \"0.2\", default-features = false, features = [\"std\"] }"),
    ("chrono", "chrono = { version = \"0.4\", default-features = false, features = [\"std\"] }"),
    (
        "time",
        "time = { version = \"0.3\", default-features = false, features = [\"formatting\", \"parsing\", \"std\"] }",
    ),
    ("uuid", "uuid = { version = \"1\", default-features = false, features = [\"std\"] }"),
    ("url", "url = { version = \"2\", default-features = false, features = [\"std\"] }"),
];

impl Formats {
    /// Settles what the options say.
    ///
    /// # Errors
    /// For each format without a ready mapping of that name: the format, and what there is. For each
    /// with a path that is none.
    pub fn settle(options: &BTreeMap<String, FormatType>) -> (Self, Vec<(String, String)>) {
        let (mut wires, mut all, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (format, chosen) in options {
            match mapped(format, chosen) {
                Ok(mapped) => {
                    wires.push(format.as_str());
                    all.push(mapped);
                }
                Err(problem) => problems.push((format.clone(), problem)),
            }
        }
        let mut types: Vec<String> = all.iter().map(|mapped| mapped.name.clone()).collect();
        names::make_distinct(&wires, &mut types);
        let named = wires.into_iter().zip(all.into_iter().zip(types));
        let named = named.map(|(format, (mapped, name))| (format.to_owned(), Mapped { name, ..mapped }));
        (Self(named.collect()), problems)
    }

    /// The type of a schema's format.
    #[must_use]
    pub fn of(&self, schema: &Schema) -> Option<&Mapped> {
        let own = schema.format.as_ref().and_then(|format| self.0.get(format));
        let encoded = || self.0.get(BYTE).filter(|_| schema.content_encoding.as_deref() == Some("base64"));
        own.or_else(encoded)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Mapped> {
        self.0.values()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Mapped {
    /// The type as the models name it.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{PATH}{}", self.name)
    }

    /// The type of a path, if it is one.
    #[must_use]
    pub fn of_path(path: &str) -> Option<&str> {
        path.strip_prefix(PATH)
    }

    /// The call of the runtime's macro that writes the type.
    #[must_use]
    pub fn item(&self) -> String {
        let Self { format, name, value, read, write, .. } = self;
        let about = value.trim_start_matches("::");
        format!(
            "::contract_runtime::format_type! {{\n    /// A text of the format `{format}`, and the `{about}` that it means.\n    \
             {name}: {value} = {format:?},\n    |text: &str| {read},\n    |value: &{value}| {write}\n}}\n"
        )
    }
}

const PATH: &str = "super::formats::";

fn mapped(format: &str, chosen: &FormatType) -> Result<Mapped, String> {
    let base = |value: &str, read: String, write: String, dependency| Mapped {
        format: format.to_owned(),
        name: names::model_name(format),
        value: value.to_owned(),
        read,
        write,
        dependency,
    };
    match chosen {
        FormatType::Ready(package) => {
            let of_format = || READY.iter().filter(|ready| ready.format == format);
            let Some(found) = of_format().find(|ready| ready.package == package) else {
                let known: Vec<String> = of_format().map(|ready| format!("`{}`", ready.package)).collect();
                return Err(match known.as_slice() {
                    [] => "no package has a ready type for it: say `{ type = \"…\" }`".to_owned(),
                    known => format!("ready types are those of {}", known.join(", ")),
                });
            };
            let written = |text: &str| {
                text.replace("RFC_3339", RFC_3339)
                    .replace("ISO_8601", "::time::format_description::well_known::Iso8601::DATE")
            };
            let dependency = DEPENDENCIES.iter().find(|(name, _)| name == package).map(|(_, line)| *line);
            Ok(base(found.value, written(found.read), written(found.write), dependency))
        }
        FormatType::Own { path, read, write } => {
            let is_type = syn::parse_str::<syn::Type>(path).is_ok();
            let functions = read.iter().chain(write);
            let others = functions.filter(|path| syn::parse_str::<syn::ExprPath>(path).is_err());
            if let Some(other) = (!is_type).then_some(path).into_iter().chain(others).next() {
                return Err(format!("`{other}` is no path: write one like `crate::Sku`"));
            }
            let read = match read {
                Some(read) => format!("{read}(text).ok()"),
                None => FROM_STR.to_owned(),
            };
            let write = match write {
                Some(write) => format!("{write}(value)"),
                None => DISPLAY.to_owned(),
            };
            Ok(base(path, read, write, None))
        }
    }
}

/// Whether a text has a format, as far as anybody knows who does not have its type.
#[must_use]
pub fn judge(format: &str) -> fn(&str) -> bool {
    macro_rules! known {
        ($($variant:ident)*) => {
            match Format::named(format) {
                $(Some(Format::$variant) => |text| Format::$variant.is_match(text),)*
                None if format == BYTE => |text| base64::decode(text).is_some(),
                None => |_| true,
            }
        };
    }
    known!(
        DateTime Date Time Duration Email Hostname Ipv4 Ipv6 Uri UriReference Iri IriReference UriTemplate
        Uuid JsonPointer RelativeJsonPointer
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ready_type_says_what_it_depends_on() {
        for ready in READY {
            let chosen = FormatType::Ready(ready.package.to_owned());
            let mapped = mapped(ready.format, &chosen).unwrap();
            let own = ["std", "base64"].contains(&ready.package);
            assert_eq!(mapped.dependency.is_none(), own, "{}", ready.package);
        }
    }

    #[test]
    fn what_is_not_ready_is_named_with_what_is() {
        let check = |format: &str, package: &str, expected: &str| {
            let problem = mapped(format, &FormatType::Ready(package.to_owned())).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        };
        check("date-time", "moment", "`jiff`, `chrono`, `time`");
        check("x-sku", "jiff", "type =");
    }

    #[test]
    fn types_of_formats_have_names_that_nothing_else_has() {
        let own = |path: &str| FormatType::Own { path: path.to_owned(), read: None, write: None };
        let options = ["date-time", "dateTime", "result", "tag"].map(|name| (name.to_owned(), own("At")));
        let (formats, problems) = Formats::settle(&options.into());
        let names: Vec<&str> = formats.iter().map(|mapped| mapped.name.as_str()).collect();
        assert_eq!(names, ["LowerDateTime", "DateTime", "ResultValue", "TagValue"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let check = |path: &str, read: &str| {
            let own = FormatType::Own { path: path.to_owned(), read: Some(read.to_owned()), write: None };
            Formats::settle(&BTreeMap::from([("x".to_owned(), own)])).1.len()
        };
        assert_eq!(check("Vec<crate::At>", "<crate::At as crate::Read>::read"), 0);
        assert_eq!(check("Vec<", "read"), 1);
        assert_eq!(check("At", "read()"), 1);
    }

    #[test]
    fn what_is_known_of_a_format_is_asked() {
        assert!(judge("uuid")("2eb8aa08-aa98-11ea-b4aa-73b441d16380") && !judge("uuid")("2eb8"));
        assert!(judge("byte")("AA==") && !judge("byte")("AA"));
        assert!(judge("x-sku")("anything"));
    }
}
