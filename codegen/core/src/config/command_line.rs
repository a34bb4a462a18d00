//! The option `output.cli`, which enables the generated command line and configures it.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// The generated command line: `true`, or `{ name = "tickets", variables = "TICKETS", server =
/// "https://tickets.example" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CommandLineConfig {
    /// The name of the command. The default is the name of the package.
    pub name: Option<String>,
    /// The prefix of environment variables, such as `TICKETS` for `TICKETS_SERVER`. The default is the name
    /// of the command in capitals.
    pub variables: Option<String>,
    /// The URL of the server. The default is the first absolute URL in `servers` of the contract.
    pub server: Option<String>,
}

/// Deserializes `true`, `false` or a table. It is implemented by hand, because a derived untagged enum would
/// hide the errors inside the table.
pub(super) fn deserialize_command_line<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<CommandLineConfig>, D::Error> {
    struct CommandLineVisitor;

    impl<'de> Visitor<'de> for CommandLineVisitor {
        type Value = Option<CommandLineConfig>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("`true`, `false`, or `{ name = \"…\", variables = \"…\", server = \"…\" }`")
        }

        fn visit_bool<E: Error>(self, asked: bool) -> Result<Self::Value, E> {
            Ok(asked.then(CommandLineConfig::default))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            CommandLineConfig::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    from.deserialize_any(CommandLineVisitor)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Config;

    #[test]
    fn command_line_is_a_flag_or_a_table() {
        let read = |value: &str| toml::from_str::<Config>(&format!("[output]\ncli = {value}\n"));
        assert_eq!(read("false").unwrap().output.cli, None);
        assert_eq!(Config::default().output.cli, None);
        assert_eq!(read("true").unwrap().output.cli, Some(CommandLineConfig::default()));
        let with_name = CommandLineConfig { name: Some("t".to_owned()), ..CommandLineConfig::default() };
        assert_eq!(read("{ name = 't' }").unwrap().output.cli, Some(with_name));
        for (value, expected) in [
            ("{ names = 't' }", "unknown field `names`"),
            ("{ name = 1 }", "invalid type: integer"),
            ("'t'", "expected `true`, `false`, or `{ name = "),
        ] {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}
