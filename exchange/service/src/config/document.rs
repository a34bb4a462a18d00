//! Prints a configuration as a TOML document in which every key has its documentation.
//!
//! The keys and their documentation come from the JSON Schema of the configuration
//! ([`CONFIG_SCHEMA`]), which a test generates from the types.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use toml::{Table, Value};

use super::Config;

/// The JSON Schema of the configuration, for editors and other tools.
pub const CONFIG_SCHEMA: &str = include_str!("../../config.schema.json");

/// The maximum width of a comment line, in characters.
const COMMENT_WIDTH: usize = 100;

/// A node of the schema: a key or a table.
#[derive(Deserialize)]
struct SchemaNode {
    #[serde(default)]
    description: String,
    default: Option<Value>,
    #[serde(default)]
    examples: Vec<Value>,
    #[serde(default)]
    properties: BTreeMap<String, SchemaNode>,
}

/// A key of the configuration.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConfigKey {
    /// The key with its tables, such as `serve.backend`.
    pub(super) path: String,
    /// The default, or `None` if the key is not set by default.
    pub(super) default: Option<Value>,
    /// An example of a value, for a key without a default.
    pub(super) example: Option<Value>,
    pub(super) description: String,
}

/// Lists all keys, in the order of the document: in each table the keys, then the tables, both by name.
///
/// # Errors
/// Returns an error if the schema is invalid.
#[cfg(test)]
pub(super) fn list_keys() -> Result<Vec<ConfigKey>, serde_json::Error> {
    fn collect(prefix: &str, node: &SchemaNode, all: &mut Vec<ConfigKey>) {
        let (tables, keys): (Vec<_>, Vec<_>) =
            node.properties.iter().partition(|(_, below)| !below.properties.is_empty());
        for (name, SchemaNode { description, default, examples, .. }) in keys {
            all.push(ConfigKey {
                path: format!("{prefix}{name}"),
                default: default.clone(),
                example: examples.first().cloned(),
                description: description.clone(),
            });
        }
        for (name, node) in tables {
            collect(&format!("{prefix}{name}."), node, all);
        }
    }
    let mut all = Vec::new();
    collect("", &serde_json::from_str(CONFIG_SCHEMA)?, &mut all);
    Ok(all)
}

/// The reason a configuration could not be printed.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// A value cannot be represented in TOML.
    #[error(transparent)]
    Value(#[from] toml::ser::Error),
    /// The embedded schema is invalid.
    #[error("the schema of the configuration is invalid: {0}")]
    Schema(#[from] serde_json::Error),
}

/// Prints the configuration as a valid configuration file. Every key has its documentation as a comment. A key that
/// is not set is commented out, with an example. A value that differs from the default has the default in its
/// comment.
///
/// # Errors
/// Returns a [`DocumentError`] if a number is outside of the range of TOML.
pub fn to_commented_toml(config: &Config) -> Result<String, DocumentError> {
    let root: SchemaNode = serde_json::from_str(CONFIG_SCHEMA)?;
    let mut text = String::new();
    write_table(&mut text, "", &root, Some(&Table::try_from(config)?));
    Ok(text)
}

/// Writes the keys of a table, then the tables in it. If the table is not set, all of its lines are comments.
fn write_table(text: &mut String, path: &str, node: &SchemaNode, values: Option<&Table>) {
    let off = if values.is_some() { "" } else { "# " };
    let (tables, keys): (Vec<_>, Vec<_>) =
        node.properties.iter().partition(|(_, below)| !below.properties.is_empty());
    for (name, key) in keys {
        text.push('\n');
        let value = values.and_then(|values| values.get(name));
        let mut comment = key.description.clone();
        if let (Some(value), Some(default)) = (value, &key.default)
            && value != default
        {
            let _ = write!(comment, " Default: {default}");
        }
        write_comment(text, &comment);
        let _ = match (value, key.default.as_ref().or(key.examples.first())) {
            (Some(value), _) => writeln!(text, "{name} = {value}"),
            (None, Some(example)) => writeln!(text, "# {name} = {example}"),
            (None, None) => writeln!(text, "# {name} ="),
        };
    }
    for (name, table) in tables {
        let below = values.and_then(|values| values.get(name)).and_then(Value::as_table);
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        text.push('\n');
        write_comment(text, &table.description);
        let _ = writeln!(text, "{}[{path}]", if below.is_some() { off } else { "# " });
        write_table(text, &path, table, below);
    }
}

fn write_comment(text: &mut String, comment: &str) {
    let mut width = usize::MAX;
    for word in comment.split_whitespace() {
        let length = word.chars().count() + 1;
        if width.saturating_add(length) > COMMENT_WIDTH {
            text.push_str(if width == usize::MAX { "#" } else { "\n#" });
            width = 1;
        }
        text.push(' ');
        text.push_str(word);
        width += length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ExternalIdpConfig;

    /// Returns the keys of a table with their paths. Values that are lists count as keys.
    fn paths(prefix: &str, table: &Table, all: &mut Vec<String>) {
        for (name, value) in table {
            match value {
                Value::Table(table) => paths(&format!("{prefix}{name}."), table, all),
                _ => all.push(format!("{prefix}{name}")),
            }
        }
    }

    /// Returns a configuration in which every key is set.
    fn complete() -> Config {
        let mut config = Config { pages_origin: Some("https://me.example".to_owned()), ..Config::default() };
        config.idp.external = Some(ExternalIdpConfig::default());
        let serve = &mut config.serve;
        serve.backend = Some("http://127.0.0.1:1".to_owned());
        serve.metrics = Some(std::net::SocketAddr::from(([127, 0, 0, 1], 9090)));
        serve.connections_of_address = Some(5);
        (serve.certificate, serve.private_key) = (Some("chain.pem".into()), Some("key.pem".into()));
        config
    }

    /// Every key that the types accept is documented, and printed whether or not it is set. The document has
    /// the values of the configuration.
    #[test]
    fn every_key_is_printed_with_its_documentation() {
        let keys = list_keys().unwrap();
        let mut all = Vec::new();
        paths("", &Table::try_from(complete()).unwrap(), &mut all);
        let mut listed: Vec<_> = keys.iter().map(|key| key.path.clone()).collect();
        all.sort();
        listed.sort();
        assert_eq!(listed, all);
        for key in &keys {
            assert!(key.description.len() > 8, "{}: {}", key.path, key.description);
            assert!(key.default.is_some() != key.example.is_some(), "{}", key.path);
        }
        for config in [Config::default(), complete()] {
            let text = to_commented_toml(&config).unwrap();
            assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
            for key in &keys {
                let name = key.path.rsplit('.').next().unwrap();
                let is_named = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} = "));
                assert!(text.lines().any(is_named), "{}: {text}", key.path);
            }
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= COMMENT_WIDTH + 20), "{longest:?}");
        }
    }

    /// If all commented keys of the printed defaults are activated, the result is a valid configuration, so that
    /// the examples have the right types.
    #[test]
    fn commented_keys_have_valid_examples() {
        let text = to_commented_toml(&Config::default()).unwrap();
        let is_setting = |line: &str| line.starts_with('[') || line.contains(" = ");
        let active = text.lines().map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_setting(rest) && !rest.contains(". ") => rest,
            _ => line,
        });
        let config: Config = toml::from_str(&active.collect::<Vec<_>>().join("\n")).unwrap();
        assert_eq!(config.idp.external, Some(ExternalIdpConfig::default()));
        assert!(config.pages_origin.is_some() && config.serve.private_key.is_some());
    }

    #[test]
    fn changed_values_show_their_default() {
        let mut config = Config::default();
        // The default of this key differs in builds for tests.
        (config.limits.per_member, config.limits.checked_answers) = (7, 100);
        let text = to_commented_toml(&config).unwrap();
        assert!(text.contains("Default: 120\nper-member = 7\n"), "{text}");
        assert_eq!(text.matches("Default: ").count(), 1);
    }
}
