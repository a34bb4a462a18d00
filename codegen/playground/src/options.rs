//! The options: the text of a `codegen.toml`, or its values from the form.

use contract_codegen::{
    config::{Config, ConfigFile},
    diagnostics::{Diagnostic, Diagnostics, DocumentLocation, SourceId, Span},
};
use serde_json::Value;

/// The name of the options in diagnostics.
const FILE_NAME: &str = "codegen.toml";

/// The options of a request, in all their forms.
pub(crate) struct ParsedOptions {
    pub(crate) text: String,
    /// The values for the form; `null` if the text is not valid TOML.
    pub(crate) values: Value,
    pub(crate) config: Result<Config, Diagnostics>,
}

/// Parses options. If the request has values from the form, they replace the text.
pub(crate) fn parse_options(text: String, values: Option<Value>) -> ParsedOptions {
    let text = match values {
        Some(values) => match render_values(&values) {
            Ok(text) => text,
            Err(error) => {
                let config = Err(config_error(&text, error, None));
                return ParsedOptions { text, values, config };
            }
        },
        None => text,
    };
    let table: Option<toml::Table> = toml::from_str(&text).ok();
    let has_layout = table.as_ref().is_some_and(|table| has_key(table, "output", "layout"));
    let values = table.and_then(|table| serde_json::to_value(table).ok()).unwrap_or_default();
    let config = parse_config(&text, has_layout);
    ParsedOptions { text, values, config }
}

/// Renders the values of the form as TOML.
fn render_values(values: &Value) -> Result<String, String> {
    let table = toml::Table::try_from(values).map_err(|error| error.to_string())?;
    toml::to_string(&table).map_err(|error| error.to_string())
}

fn has_key(table: &toml::Table, section: &str, key: &str) -> bool {
    table.get(section).is_some_and(|section| section.get(key).is_some())
}

/// Parses the configuration. Its inputs are ignored, because the page has no files. The default layout is
/// `modules`, because the source files of the runtime in a package would hide the generated code.
fn parse_config(text: &str, has_layout: bool) -> Result<Config, Diagnostics> {
    let mut config: Config =
        toml::from_str(text).map_err(|error| config_error(text, error.message().to_owned(), error.span()))?;
    config.file = Some(config_file(text));
    config.inputs.clear();
    config.output.path = None;
    if !has_layout {
        config.output.layout = contract_codegen::config::OutputLayout::Modules;
    }
    Ok(config)
}

fn config_file(text: &str) -> ConfigFile {
    ConfigFile { name: FILE_NAME.to_owned(), text: text.into() }
}

fn config_error(text: &str, message: String, span: Option<std::ops::Range<usize>>) -> Diagnostics {
    let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    let mut diagnostic = Diagnostic::error("config", message);
    diagnostic.place = span.map(|range| DocumentLocation {
        source: SourceId::OPTIONS,
        pointer: String::new(),
        span: Span { start: narrow(range.start), end: narrow(range.end) },
    });
    let mut problems = Diagnostics::new();
    problems.push(diagnostic);
    problems.attach_sources(&config_file(text));
    problems
}
