//! Formats that become types: built-in mappings to types of well-known packages, and types from the
//! configuration.
//!
//! A mapped format is asserted: a string that the type rejects violates the keyword `format`. Such a string
//! is kept when it is parsed.

use std::collections::BTreeMap;

use contract_runtime::format::{StringFormat, base64};

use crate::{config::FormatType, names, schema::Schema};

/// The formats of a contract that are mapped to types, by name.
#[derive(Clone, Debug, Default)]
pub struct FormatTypes(BTreeMap<String, MappedFormat>);

/// A format and the type to which it is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFormat {
    /// The value of the keyword `format`.
    pub format: String,
    /// The name of the generated wrapper type.
    pub name: String,
    /// The path of the wrapped type.
    pub value: String,
    /// The expression that converts the variable `text` to an `Option` of the value.
    read: String,
    /// The expression that converts the variable `value` to a string.
    write: String,
    /// The manifest line of the package that defines the type.
    pub dependency: Option<&'static str>,
    /// True if values are compared instead of strings.
    is_comparable: bool,
}

/// A built-in mapping of a format to a type of a package.
struct BuiltinMapping {
    format: &'static str,
    package: &'static str,
    value: &'static str,
    read: &'static str,
    write: &'static str,
}

const FROM_STR: &str = "text.parse().ok()";
const DISPLAY: &str = "value.to_string()";
const RFC_3339: &str = "::time::format_description::well_known::Rfc3339";

const fn builtin_mapping(
    format: &'static str,
    package: &'static str,
    value: &'static str,
    read: &'static str,
    write: &'static str,
) -> BuiltinMapping {
    BuiltinMapping { format, package, value, read, write }
}

const BUILTIN_MAPPINGS: &[BuiltinMapping] = &[
    builtin_mapping("date-time", "jiff", "::jiff::Timestamp", FROM_STR, DISPLAY),
    builtin_mapping("date", "jiff", "::jiff::civil::Date", FROM_STR, DISPLAY),
    builtin_mapping("duration", "jiff", "::jiff::Span", FROM_STR, DISPLAY),
    builtin_mapping(
        "date-time",
        "chrono",
        "::chrono::DateTime<::chrono::FixedOffset>",
        "::chrono::DateTime::parse_from_rfc3339(text).ok()",
        "value.to_rfc3339_opts(::chrono::SecondsFormat::AutoSi, true)",
    ),
    builtin_mapping("date", "chrono", "::chrono::NaiveDate", FROM_STR, DISPLAY),
    builtin_mapping(
        "date-time",
        "time",
        "::time::OffsetDateTime",
        "::time::OffsetDateTime::parse(text, &RFC_3339).ok()",
        "value.format(&RFC_3339).unwrap_or_default()",
    ),
    builtin_mapping(
        "date",
        "time",
        "::time::Date",
        "::time::Date::parse(text, &ISO_8601).ok()",
        "value.format(&ISO_8601).unwrap_or_default()",
    ),
    builtin_mapping("uuid", "uuid", "::uuid::Uuid", FROM_STR, DISPLAY),
    builtin_mapping("uri", "url", "::url::Url", FROM_STR, DISPLAY),
    builtin_mapping("ipv4", "std", "::std::net::Ipv4Addr", FROM_STR, DISPLAY),
    builtin_mapping("ipv6", "std", "::std::net::Ipv6Addr", FROM_STR, DISPLAY),
    builtin_mapping(
        BYTE,
        "base64",
        "::std::vec::Vec<u8>",
        "::contract_runtime::format::base64::decode(text)",
        "::contract_runtime::format::base64::encode(value)",
    ),
];

/// The name of the OpenAPI 3.0 format that corresponds to `contentEncoding: base64` in later versions.
const BYTE: &str = "byte";

/// The name that selects version 0.2 of jiff, for users whose other packages need it. Its types have the same paths
/// as those of version 1.
const JIFF_0_2: &str = "jiff-0.2";

/// The manifest lines of the packages that define the types.
const DEPENDENCIES: &[(&str, &str)] = &[
    ("jiff", "jiff = { version = \"1\", default-features = false, features = [\"std\"] }"),
    (JIFF_0_2, "jiff = { version = \"0.2\", default-features = false, features = [\"std\"] }"),
    ("chrono", "chrono = { version = \"0.4\", default-features = false, features = [\"std\"] }"),
    (
        "time",
        "time = { version = \"0.3\", default-features = false, features = [\"formatting\", \"parsing\", \"std\"] }",
    ),
    ("uuid", "uuid = { version = \"1\", default-features = false, features = [\"std\"] }"),
    ("url", "url = { version = \"2\", default-features = false, features = [\"std\"] }"),
];

impl FormatTypes {
    /// Resolves the option `types.formats`.
    ///
    /// # Errors
    /// Returns, in the second list, a format and a message for each unknown mapping and each invalid path.
    pub fn from_options(options: &BTreeMap<String, FormatType>) -> (Self, Vec<(String, String)>) {
        let (mut wires, mut all, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (format, chosen) in options {
            match map_format(format, chosen) {
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
        let named =
            named.map(|(format, (mapped, name))| (format.to_owned(), MappedFormat { name, ..mapped }));
        (Self(named.collect()), problems)
    }

    /// Returns the type for the format of a schema, or for its `contentEncoding: base64`.
    #[must_use]
    pub fn for_schema(&self, schema: &Schema) -> Option<&MappedFormat> {
        let own = schema.format.as_ref().and_then(|format| self.0.get(format));
        let encoded = || self.0.get(BYTE).filter(|_| schema.content_encoding.as_deref() == Some("base64"));
        own.or_else(encoded)
    }

    /// Iterates over all mapped formats, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &MappedFormat> {
        self.0.values()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MappedFormat {
    /// Returns the path of the wrapper type, as written in a module that contains model types.
    #[must_use]
    pub fn type_path(&self) -> String {
        format!("{MODULE_PATH}{}", self.name)
    }

    /// Returns the name of the wrapper type if `path` refers to one.
    #[must_use]
    pub fn name_from_path(path: &str) -> Option<&str> {
        path.strip_prefix(MODULE_PATH)
    }

    /// Returns the invocation of the runtime macro that defines the wrapper type.
    #[must_use]
    pub fn macro_call(&self) -> String {
        let Self { format, name, value, read, write, .. } = self;
        let by_value = if self.is_comparable { " by value," } else { "" };
        let about = value.trim_start_matches("::");
        format!(
            "::contract_runtime::format_type! {{\n    /// A string of the format `{format}` and its value as `{about}`.\n    \
             {name}: {value} = {format:?},{by_value}\n    |text: &str| {read},\n    |value: &{value}| {write}\n}}\n"
        )
    }
}

const MODULE_PATH: &str = "super::formats::";

fn map_format(format: &str, chosen: &FormatType) -> Result<MappedFormat, String> {
    let base = |value: &str, read: String, write: String, dependency| MappedFormat {
        format: format.to_owned(),
        name: names::type_name(format),
        value: value.to_owned(),
        read,
        write,
        // Of other types it is unknown whether they implement `Eq` and `Hash`; a `Span` does not.
        is_comparable: matches!(chosen, FormatType::Builtin(_)) && value != "::jiff::Span",
        dependency,
    };
    match chosen {
        FormatType::Builtin(package) => {
            let of_format = || BUILTIN_MAPPINGS.iter().filter(|ready| ready.format == format);
            let name = if package == JIFF_0_2 { "jiff" } else { package };
            let Some(found) = of_format().find(|ready| ready.package == name) else {
                let known: Vec<String> = of_format().map(|ready| format!("`{}`", ready.package)).collect();
                return Err(match known.as_slice() {
                    [] => "no built-in mapping exists for it: write `{ type = \"…\" }`".to_owned(),
                    known => format!("built-in mappings exist for {}", known.join(", ")),
                });
            };
            let written = |text: &str| {
                text.replace("RFC_3339", RFC_3339)
                    .replace("ISO_8601", "::time::format_description::well_known::Iso8601::DATE")
            };
            let dependency = DEPENDENCIES.iter().find(|(name, _)| name == package).map(|(_, line)| *line);
            Ok(base(found.value, written(found.read), written(found.write), dependency))
        }
        FormatType::Custom { path, read, write } => {
            let is_type = syn::parse_str::<syn::Type>(path).is_ok();
            let functions = read.iter().chain(write);
            let others = functions.filter(|path| syn::parse_str::<syn::ExprPath>(path).is_err());
            if let Some(other) = (!is_type).then_some(path).into_iter().chain(others).next() {
                return Err(format!("`{other}` is not a Rust path: write one like `crate::Sku`"));
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

/// Returns a function that checks a string against a format without its mapped type. If the format is
/// unknown, the function accepts every string.
#[must_use]
pub fn format_check(format: &str) -> fn(&str) -> bool {
    macro_rules! known {
        ($($variant:ident)*) => {
            match StringFormat::from_name(format) {
                $(Some(StringFormat::$variant) => |text| StringFormat::$variant.is_match(text),)*
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
    fn builtin_mappings_have_dependencies() {
        for ready in BUILTIN_MAPPINGS {
            let chosen = FormatType::Builtin(ready.package.to_owned());
            let mapped = map_format(ready.format, &chosen).unwrap();
            let own = ["std", "base64"].contains(&ready.package);
            assert_eq!(mapped.dependency.is_none(), own, "{}", ready.package);
        }
    }

    #[test]
    fn unknown_mappings_list_the_known_ones() {
        let check = |format: &str, package: &str, expected: &str| {
            let problem = map_format(format, &FormatType::Builtin(package.to_owned())).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        };
        check("date-time", "moment", "`jiff`, `chrono`, `time`");
        check("x-sku", "jiff", "type =");
    }

    #[test]
    fn format_types_have_unique_names() {
        let own = |path: &str| FormatType::Custom { path: path.to_owned(), read: None, write: None };
        let options = ["date-time", "dateTime", "result", "tag"].map(|name| (name.to_owned(), own("At")));
        let (formats, problems) = FormatTypes::from_options(&options.into());
        let names: Vec<&str> = formats.iter().map(|mapped| mapped.name.as_str()).collect();
        assert_eq!(names, ["LowerDateTime", "DateTime", "ResultValue", "Tag"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn invalid_paths_are_rejected() {
        let check = |path: &str, read: &str| {
            let own = FormatType::Custom { path: path.to_owned(), read: Some(read.to_owned()), write: None };
            FormatTypes::from_options(&BTreeMap::from([("x".to_owned(), own)])).1.len()
        };
        assert_eq!(check("Vec<crate::At>", "<crate::At as crate::Read>::read"), 0);
        assert_eq!(check("Vec<", "read"), 1);
        assert_eq!(check("At", "read()"), 1);
    }

    #[test]
    fn known_formats_are_checked() {
        assert!(
            format_check("uuid")("2eb8aa08-aa98-11ea-b4aa-73b441d16380") && !format_check("uuid")("2eb8")
        );
        assert!(format_check("byte")("AA==") && !format_check("byte")("AA"));
        assert!(format_check("x-sku")("anything"));
    }
}
