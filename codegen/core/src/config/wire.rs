//! The table `[wire]`: how lists and nested values are encoded in query parameters and form bodies.

use std::collections::BTreeMap;

use contract_runtime::parameters::{ArrayNotation, NestedNotation};
use serde::Deserialize;

/// The table `[wire]`: how lists and nested values are encoded in query parameters and form bodies. The
/// settings apply to the whole contract.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WireConfig {
    /// The encoding of objects, and of lists that contain lists or objects.
    pub nested: Option<NestedSetting>,
    /// The encoding of lists of scalars.
    pub arrays: Option<ArraySetting>,
    /// Settings for single schemas of parameters, fields and bodies, which override those of the contract:
    /// selector → settings.
    pub schemas: BTreeMap<String, WireSettings>,
}

/// The encoding of lists and nested values in a schema, or in the whole contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WireSettings {
    /// The encoding of objects, and of lists that contain lists or objects. If absent, the setting of the
    /// contract applies.
    pub nested: Option<NestedSetting>,
    /// The encoding of lists of scalars. If absent, the setting of the contract applies.
    pub arrays: Option<ArraySetting>,
}

/// The encoding of objects, and of lists that contain lists or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NestedSetting {
    /// The value is encoded as JSON.
    Json,
    /// Each value has its path in brackets: `a[b][c]=x`. Lists are encoded as `arrays` specifies:
    /// `items[][price]=x`.
    Brackets,
    /// Each value has its path in brackets, with indices in lists: `a[b][c]=x`, `items[0][price]=x`.
    Indices,
}

/// The encoding of lists of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ArraySetting {
    /// The name is repeated for each element: `tags=a&tags=b`.
    Repeat,
    /// The name is followed by empty brackets: `tags[]=a&tags[]=b`.
    Brackets,
    /// The name is followed by the index of the element: `tags[0]=a&tags[1]=b`.
    Indices,
    /// The elements are separated by commas: `tags=a,b`.
    Comma,
}

impl WireConfig {
    /// Returns the settings that apply to the whole contract.
    pub(crate) const fn settings(&self) -> WireSettings {
        WireSettings { nested: self.nested, arrays: self.arrays }
    }
}

impl WireSettings {
    /// Returns these settings, with those of `other` for each setting that is absent.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { nested: self.nested.or(other.nested), arrays: self.arrays.or(other.arrays) }
    }

    /// Returns true if both settings are absent.
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
