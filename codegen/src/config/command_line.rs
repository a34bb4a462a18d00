//! `cli` below `[output]`: whether there is a command line, and what is decided about it.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A command line: `true`, or `{ name = "tickets", variables = "TICKETS", server = "https://tickets.example" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CommandLine {
    /// What the command is called; as the package unless it is said.
    pub name: Option<String>,
    /// How its variables begin: `TICKETS` for `TICKETS_SERVER`; its name in capitals unless it is said.
    pub variables: Option<String>,
    /// Where requests go unless somebody says otherwise; the first absolute address of `servers` unless it is
    /// said.
    pub server: Option<String>,
}

/// By hand: what is wrong with the table is said of the table, not that it is no `true`.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CommandLine>, D::Error> {
    struct Asked;

    impl<'de> Visitor<'de> for Asked {
        type Value = Option<CommandLine>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("`true`, `false`, or `{ name = \"…\", variables = \"…\", server = \"…\" }`")
        }

        fn visit_bool<E: Error>(self, asked: bool) -> Result<Self::Value, E> {
            Ok(asked.then(CommandLine::default))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            CommandLine::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    from.deserialize_any(Asked)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Config;

    #[test]
    fn it_is_asked_for_or_described() {
        let read = |value: &str| toml::from_str::<Config>(&format!("[output]\ncli = {value}\n"));
        assert_eq!(read("false").unwrap().output.cli, None);
        assert_eq!(Config::default().output.cli, None);
        assert_eq!(read("true").unwrap().output.cli, Some(CommandLine::default()));
        let named = CommandLine { name: Some("t".to_owned()), ..CommandLine::default() };
        assert_eq!(read("{ name = 't' }").unwrap().output.cli, Some(named));
        for (value, said) in [
            ("{ names = 't' }", "unknown field `names`"),
            ("{ name = 1 }", "invalid type: integer"),
            ("'t'", "expected `true`, `false`, or `{ name = "),
        ] {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains(said), "{value}: {error}");
        }
    }
}
