//! The option `package`: the name of the generated package, or a table with more fields of its manifest.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// The generated package: `"tickets"`, or a table `[package]` with the fields of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PackageConfig {
    /// The name; by default it is derived from the title of the contract.
    pub name: Option<String>,
    /// The version; the default is `0.1.0`.
    pub version: Option<String>,
    /// The license as an SPDX expression.
    pub license: Option<String>,
    /// One sentence about the package; the default names the contract.
    pub description: Option<String>,
    /// The URL of the repository.
    pub repository: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// At most five words for the search in a registry.
    pub keywords: Vec<String>,
}

/// Implemented by hand: an untagged enum would hide the errors inside of the table.
pub(super) fn deserialize_package<'de, D: Deserializer<'de>>(from: D) -> Result<PackageConfig, D::Error> {
    struct PackageVisitor;

    impl<'de> Visitor<'de> for PackageVisitor {
        type Value = PackageConfig;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("the name of the package, or a table `[package]`")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
            Ok(PackageConfig { name: Some(name.to_owned()), ..PackageConfig::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            PackageConfig::deserialize(MapAccessDeserializer::new(map))
        }
    }

    from.deserialize_any(PackageVisitor)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Config;

    #[test]
    fn package_is_a_name_or_a_table() {
        let read = |text: &str| toml::from_str::<Config>(text);
        assert_eq!(read("package = 'a'").unwrap().package.name.as_deref(), Some("a"));
        let package = read("[package]\nlicense = 'MIT'\nkeywords = ['x']").unwrap().package;
        let expected = PackageConfig {
            license: Some("MIT".to_owned()),
            keywords: vec!["x".to_owned()],
            ..PackageConfig::default()
        };
        assert_eq!(package, expected);
        for (text, message) in [
            ("[package]\nlicence = 'MIT'", "unknown field `licence`"),
            ("package = 1", "expected the name of the package, or a table"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
