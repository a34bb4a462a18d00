//! The settings of the log.

use serde::{Deserialize, Serialize};

/// The settings of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogConfig {
    /// The log filter: a level such as `info`, or levels by module, such as `exchange_service=debug,info`. A
    /// reload applies a change. If the environment variable `EXCHANGE_LOG` is set, it overrides this value.
    pub level: String,
    /// How log lines identify members: `id`, or `pseudonym`. A pseudonym is the same in all lines of this
    /// service, and only a person with access to the data folder can compute it. The audit always contains
    /// ids.
    pub members: MemberNaming,
}

/// How log lines identify members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MemberNaming {
    /// By the member's id.
    #[default]
    Id,
    /// By a keyed hash of the member's id.
    Pseudonym,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".to_owned(), members: MemberNaming::default() }
    }
}
