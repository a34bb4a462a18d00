//! The table `[wire]`: the encoding of lists and nested values in queries and forms.

use std::collections::BTreeMap;

use contract_runtime::parameters::{ArrayNotation, NestedNotation};
use serde::Deserialize;

/// The table `[wire]`: conventions for lists and nested values in query parameters and form bodies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WireConfig {
    /// Objects, and lists that contain lists or objects.
    pub nested: Option<NestedSetting>,
    /// Lists of scalars.
    pub arrays: Option<ArraySetting>,
    /// Other settings for the schemas of parameters, fields and bodies: selector → settings.
    pub schemas: BTreeMap<String, WireSettings>,
}

/// The settings of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WireSettings {
    /// Objects, and lists that contain lists or objects.
    pub nested: Option<NestedSetting>,
    /// Lists of scalars.
    pub arrays: Option<ArraySetting>,
}

/// The encoding of objects, and of lists that contain lists or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NestedSetting {
    /// JSON.
    Json,
    /// `a[b][c]=x`, and lists as `arrays` defines: `items[][price]=x`.
    Brackets,
    /// `a[b][c]=x`, and lists with indices: `items[0][price]=x`.
    Indices,
}

/// The encoding of lists of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArraySetting {
    /// `tags=a&tags=b`.
    Repeat,
    /// `tags[]=a&tags[]=b`.
    Brackets,
    /// `tags[0]=a&tags[1]=b`.
    Indices,
    /// `tags=a,b`.
    Comma,
}

impl WireConfig {
    /// Returns the settings of the whole contract.
    pub(crate) const fn settings(&self) -> WireSettings {
        WireSettings { nested: self.nested, arrays: self.arrays }
    }
}

impl WireSettings {
    /// Returns the settings with those of `other` where they are absent.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { nested: self.nested.or(other.nested), arrays: self.arrays.or(other.arrays) }
    }

    /// Returns true if there are none.
    pub(crate) const fn is_empty(self) -> bool {
        self.nested.is_none() && self.arrays.is_none()
    }
}

impl From<NestedSetting> for NestedNotation {
    fn from(setting: NestedSetting) -> Self {
        match setting {
            NestedSetting::Json => Self::Json,
            NestedSetting::Brackets => Self::Brackets,
            NestedSetting::Indices => Self::Indices,
        }
    }
}

impl From<ArraySetting> for ArrayNotation {
    fn from(setting: ArraySetting) -> Self {
        match setting {
            ArraySetting::Repeat => Self::Repeat,
            ArraySetting::Brackets => Self::Brackets,
            ArraySetting::Indices => Self::Indices,
            ArraySetting::Comma => Self::Comma,
        }
    }
}
