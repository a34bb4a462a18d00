//! What an administrator changes: which clients there are and what they may do, whether the exchange is on,
//! members and their accounts, units, the catalogue, the terms, connections, the keys that tokens are signed with; and
//! the audit, which says who did what.
//!
//! Each function that changes something is one decision inside its caller's transaction, audited there under the administrator's
//! name. A running service sees it within seconds: the registry and the keys are read again every five,
//! everything else at each request.

mod audit;
mod catalogue;
mod clients;
mod connections;
mod documents;
mod members;
mod undo;
mod units;

use rusqlite::Connection;

pub use audit::{Audited, Page as AuditPage, Wanted as WantedAudit, list as list_audit};
pub use catalogue::{
    Imported, compare_catalogue, import_catalogue, read_catalogue, read_defaults, set_defaults,
};
pub use clients::{
    Changes, Listed as ListedClient, NewClient, Standing, add as add_client, limit, list as list_clients,
    set_scopes, set_standing, standing_of,
};
pub use connections::{
    Filter, Listed as ListedConnection, end_client, end_installation, list as list_connections,
};
pub use members::{
    Listed as ListedMember, NewMember, add as add_member, list as list_members, set_password, set_state,
};

pub use undo::written_for;
pub use units::{NewUnit, read_units, set_administrator, set_terms, set_units, terms};

pub use crate::registry::is_switched_on as is_on;

use crate::backend::undo::UndoError;
use crate::idp;
use crate::ids::{ClientId, MemberId};
use crate::names::is_name;
use crate::records::{self, Actor, Deed};
use crate::store::{EditError, StoreError};
use crate::time::Moment;

/// Who changes something, and when.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    actor: Actor<'a>,
    /// The moment.
    pub now: Moment,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// There is no such thing.
    #[error("there is no {what} `{id}`")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        id: String,
    },
    /// There is one already.
    #[error("there is {what} `{id}` already")]
    Exists {
        /// What, with its article.
        what: &'static str,
        /// By which name.
        id: String,
    },
    /// A value is none that could be stored.
    #[error("{0}")]
    Wrong(String),
    /// A client's writes could not be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The store could not be edited.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for AdminError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl<'a> By<'a> {
    /// An administrator by name, at a command line: one whose name can be told from others'.
    ///
    /// # Errors
    /// [`AdminError::Wrong`]
    pub fn new(name: &'a str, now: Moment) -> Result<Self, AdminError> {
        Ok(Self { actor: Actor::Administrator(text("an administrator's name", name, 128)?), now })
    }

    /// A member who administers the service, on a page: the audit tells them from whoever has the member's id for a name.
    #[must_use]
    pub const fn member(member: &'a MemberId, now: Moment) -> Self {
        Self { actor: Actor::Member(member), now }
    }

    const fn actor(&self) -> Actor<'_> {
        self.actor
    }

    fn audit(
        &self,
        connection: &Connection,
        client: Option<&ClientId>,
        (action, subject): (&str, &str),
        detail: &str,
    ) -> Result<(), StoreError> {
        records::audit(connection, self.now, self.actor(), Deed { client, action, subject, detail })
    }
}

/// Switches the exchange on or off (ERR-39).
///
/// # Errors
/// What the database says.
pub fn switch(connection: &Connection, by: &By<'_>, on: bool) -> Result<(), AdminError> {
    let value = if on { "on" } else { "off" };
    connection.execute(
        "INSERT INTO setting (name, value) VALUES ('exchange', ?1) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [value],
    )?;
    Ok(by.audit(connection, None, ("switch", "exchange"), value)?)
}

/// Signs access tokens with a new key from now on; the one before stays published until its tokens have ended.
///
/// # Errors
/// What the database says, or that no key could be made.
pub fn rotate_keys(connection: &Connection, by: &By<'_>) -> Result<(), AdminError> {
    idp::rotate(connection, by.now)?;
    Ok(by.audit(connection, None, ("keys.rotate", "access tokens"), "")?)
}

/// A text of so many characters, none of which is invisible or turns the others around: what people tell apart.
fn text<'a>(what: &str, text: &'a str, most: usize) -> Result<&'a str, AdminError> {
    if is_name(text, most) {
        return Ok(text);
    }
    let said = format!(
        "{what} is 1 to {most} characters that are seen, without blanks around it; `{}` is not",
        text.escape_debug()
    );
    Err(AdminError::Wrong(said))
}

/// An identifier: what is compared, stands in URLs and logs, and never changes.
fn id<'a>(what: &str, id: &'a str, most: usize) -> Result<&'a str, AdminError> {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if (1..=most).contains(&id.len()) && id.bytes().all(usual) {
        return Ok(id);
    }
    let said = format!(
        "{what} is 1 to {most} letters, digits, `-`, `.`, `_` and `~`; `{}` is not",
        id.escape_debug()
    );
    Err(AdminError::Wrong(said))
}
