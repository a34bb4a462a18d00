//! Members and their accounts.

use exchange_api::types::AccountHandle;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::{AdminError, By, id, text};
use crate::backend;
use crate::feed::Author;
use crate::idp::{accounts, sessions};
use crate::ids::MemberId;
use crate::members::{self, State};
use crate::names::MemberName;

/// A member to add.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// The id: opaque, and never another's.
    pub id: MemberId,
    /// The name that others see.
    pub name: MemberName,
    /// The game-account handle.
    pub handle: Option<AccountHandle>,
    /// Where the registration stands.
    pub state: State,
    /// Whether the member holds a role (ERR-19).
    pub has_role: bool,
}

/// Adds a member, who cannot sign in until [`set_password`].
///
/// # Errors
/// [`AdminError::Exists`], [`AdminError::Wrong`], or what the database says.
pub fn add(connection: &Connection, by: &By<'_>, member: &NewMember) -> Result<(), AdminError> {
    id("a member's id", member.id.as_str(), 128)?;
    if is_known(connection, &member.id)? {
        return Err(AdminError::Exists { what: "a member", id: member.id.to_string() });
    }
    connection.execute(
        "INSERT INTO member (id, name, handle, state, has_role, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            member.id,
            member.name,
            member.handle.as_ref().map(AccountHandle::as_str),
            member.state.as_str(),
            member.has_role,
            by.now.millis()
        ],
    )?;
    Ok(by.audit(connection, None, ("member.add", member.id.as_str()), member.state.as_str())?)
}

/// Gives a member an account, or the one that there is another password (and name, where one is given), and
/// ends the member's browser sessions: whoever is signed in by the old password is so no longer. So are
/// the clients that were to stay connected no longer than such a session; the others stay connected. The hash is one of [`accounts::Passwords::hash`].
///
/// # Errors
/// [`AdminError::Unknown`], [`AdminError::Exists`] for a name that is another member's, or what the database
/// says.
pub fn set_password(
    connection: &Connection,
    by: &By<'_>,
    member: &MemberId,
    username: Option<&str>,
    hash: &str,
) -> Result<(), AdminError> {
    if !is_known(connection, member)? {
        return Err(AdminError::Unknown { what: "member", id: member.to_string() });
    }
    let sql = "SELECT username FROM account WHERE member = ?1";
    let before: Option<String> = connection.query_row(sql, [member], |row| row.get(0)).optional()?;
    let username = match (username, before) {
        (Some(name), _) => text("a user name", name, 128)?.to_owned(),
        (None, Some(name)) => name,
        (None, None) => {
            return Err(AdminError::Wrong(format!("`{member}` has no account yet: name it by --username")));
        }
    };
    if accounts::find(connection, &username)?.is_some_and(|(other, _)| other != *member) {
        return Err(AdminError::Exists { what: "an account", id: username });
    }
    accounts::set(connection, member, &username, hash)?;
    sessions::end_all(connection, member, by.actor(), by.now)?;
    Ok(by.audit(connection, None, ("member.password", member.as_str()), "")?)
}

/// Changes where a member's registration stands. A member who is switched off is refused at once, by the
/// exchange and at every refresh; of one who left, pools show no name any more (OST-12).
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn set_state(
    connection: &Connection,
    by: &By<'_>,
    member: &MemberId,
    state: State,
) -> Result<(), AdminError> {
    let before = members::find(connection, member)?;
    let before = before.ok_or_else(|| AdminError::Unknown { what: "member", id: member.to_string() })?;
    let sql = "UPDATE member SET state = ?2 WHERE id = ?1";
    connection.execute(sql, params![member, state.as_str()])?;
    if (before.state == State::Deleted) != (state == State::Deleted) {
        backend::tell_of_holder(connection, &Author::System, by.now, member)?;
    }
    Ok(by.audit(connection, None, ("member.state", member.as_str()), state.as_str())?)
}

/// A member as an administrator sees one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The id.
    pub id: MemberId,
    /// The name that others see.
    pub name: String,
    /// Where the registration stands.
    pub state: String,
    /// Whether the member holds a role.
    pub has_role: bool,
    /// The name of the account, when there is one.
    pub username: Option<String>,
}

/// All members, by id.
///
/// # Errors
/// What the database says.
pub fn list(connection: &Connection) -> Result<Vec<Listed>, AdminError> {
    let sql = "SELECT member.id, name, state, has_role, username FROM member \
               LEFT JOIN account ON account.member = member.id ORDER BY member.id";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([], |row| {
        Ok(Listed {
            id: row.get(0)?,
            name: row.get(1)?,
            state: row.get(2)?,
            has_role: row.get(3)?,
            username: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn is_known(connection: &Connection, member: &MemberId) -> Result<bool, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM member WHERE id = ?1)";
    Ok(connection.query_row(sql, [member], |row| row.get(0))?)
}
