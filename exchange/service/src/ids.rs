//! Identifier types: opaque strings that are compared and stored, but never parsed (CON-07). Clones share the
//! string, because the ids of the member and the client are cloned many times per request.

use std::fmt;
use std::sync::Arc;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};

/// Defines newtypes around a shared string, with support for SQLite and serde.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates an id from a string, without validation.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            /// Returns the id as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(&*self.0))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                Ok(Self(value.as_str()?.into()))
            }
        }
    )* };
}

ids! {
    /// A member of the web application, who is the signed-in person (CON-15).
    MemberId;
    /// A registered client.
    ClientId;
    /// An installation: one client on one device of one member. The id is opaque and is not the thumbprint of
    /// the key (DPP-21).
    InstallationId;
    /// A unit of the organization. Its shared stock is a pool.
    UnitId;
}
