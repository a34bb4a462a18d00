//! Members and their accounts.

use exchange_api::types::AccountHandle;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::{AdminContext, AdminError, check_id, check_name};
use crate::backend::{self, DeletedData};
use crate::environment::Environment;
use crate::feed::ChangeAuthor;
use crate::idp::{self, accounts, password_resets, sessions};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::members::{self, RegistrationState};
use crate::names::MemberName;
use crate::time::Moment;

/// A member to add.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// The member's id, an opaque string that is never reused.
    pub id: MemberId,
    /// The name that other members see.
    pub name: MemberName,
    /// The handle of the member's game account.
    pub handle: Option<AccountHandle>,
    /// The state of the registration.
    pub state: RegistrationState,
    /// True if the member holds a role (ERR-19).
    pub has_role: bool,
}

/// Adds a member. The member can sign in only after [`set_password`] was called.
///
/// # Errors
/// Returns [`AdminError::AlreadyExists`], [`AdminError::Invalid`], or [`AdminError::Store`] if the database
/// fails.
pub fn add_member(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &NewMember,
) -> Result<(), AdminError> {
    check_id("a member's id", member.id.as_str(), 128)?;
    if is_known(connection, &member.id)? {
        return Err(AdminError::AlreadyExists { what: "a member", id: member.id.to_string() });
    }
    connection.execute(
        "INSERT INTO member (id, name, handle, state, has_role, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            member.id,
            member.name,
            member.handle.as_ref().map(AccountHandle::as_str),
            member.state.as_str(),
            member.has_role,
            admin.now.as_millis()
        ],
    )?;
    Ok(admin.record_audit(connection, None, ("member.add", member.id.as_str()), member.state.as_str())?)
}

/// Creates a member's account, or sets its password and, if given, its user name. Ends the member's browser
/// sessions and the connections that are bound to them; other connections stay. The hash must be a result of
/// [`accounts::PasswordHasher::hash_password`].
///
/// # Errors
/// Returns [`AdminError::NotFound`], [`AdminError::AlreadyExists`] if another member has the user name,
/// [`AdminError::Invalid`] for a new account without a user name, or [`AdminError::Store`] if the database fails.
pub fn set_password(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &MemberId,
    username: Option<&str>,
    hash: &str,
) -> Result<(), AdminError> {
    if !is_known(connection, member)? {
        return Err(AdminError::NotFound { what: "member", id: member.to_string() });
    }
    let sql = "SELECT username FROM account WHERE member = ?1";
    let before: Option<String> = connection.query_row(sql, [member], |row| row.get(0)).optional()?;
    let username = match (username, before) {
        (Some(name), _) => check_name("a user name", name, 128)?.to_owned(),
        (None, Some(name)) => name,
        (None, None) => {
            return Err(AdminError::Invalid(format!(
                "`{member}` has no account yet: set its user name with --username"
            )));
        }
    };
    if accounts::find_account(connection, &username)?.is_some_and(|(other, _)| other != *member) {
        return Err(AdminError::AlreadyExists { what: "an account", id: username });
    }
    accounts::set_account(connection, member, &username, hash)?;
    sessions::end_all_sessions(connection, member, admin.actor(), admin.now)?;
    Ok(admin.record_audit(connection, None, ("member.password", member.as_str()), "")?)
}

/// A link with which a member sets a new password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordLink {
    /// The secret at the end of the link's path, which follows [`password_resets::PATH`].
    pub secret: String,
    /// The time at which the link expires.
    pub expires_at: Moment,
}

/// Creates a link with which a member sets a new password once. It replaces an earlier link of the member.
/// Until the member uses the link, the current password works.
///
/// # Errors
/// Returns [`AdminError::NotFound`], [`AdminError::Invalid`] for a member without an account, or
/// [`AdminError::Store`] if the database or the random number generator fails.
pub fn create_password_link(
    connection: &Connection,
    admin: &AdminContext<'_>,
    environment: &Environment,
    member: &MemberId,
) -> Result<PasswordLink, AdminError> {
    if !is_known(connection, member)? {
        return Err(AdminError::NotFound { what: "member", id: member.to_string() });
    }
    if accounts::account_of_member(connection, member)?.is_none() {
        return Err(AdminError::Invalid(format!(
            "`{member}` has no account yet\nhelp: create it with `member password`, which sets the user name and a password"
        )));
    }
    let (secret, expires_at) = password_resets::create_reset(connection, environment, member)?;
    admin.record_audit(connection, None, ("member.reset-password", member.as_str()), "")?;
    Ok(PasswordLink { secret, expires_at })
}

/// Changes the state of a member's registration. Once a member is disabled, the exchange rejects all calls
/// for the member, and the identity provider rejects token refreshes. Pools do not show the name of a deleted
/// member (OST-12).
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn set_state(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &MemberId,
    state: RegistrationState,
) -> Result<(), AdminError> {
    let before = members::find_member(connection, member)?;
    let before = before.ok_or_else(|| AdminError::NotFound { what: "member", id: member.to_string() })?;
    let sql = "UPDATE member SET state = ?2 WHERE id = ?1";
    connection.execute(sql, params![member, state.as_str()])?;
    if (before.state == RegistrationState::Deleted) != (state == RegistrationState::Deleted) {
        backend::publish_holder_change(connection, &ChangeAuthor::System, admin.now, member)?;
    }
    Ok(admin.record_audit(connection, None, ("member.state", member.as_str()), state.as_str())?)
}

/// Changes the name that other members see (OST-07).
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn rename_member(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &MemberId,
    name: &MemberName,
) -> Result<(), AdminError> {
    find_present(connection, member)?;
    let sql = "UPDATE member SET name = ?2 WHERE id = ?1 AND name <> ?2";
    if connection.execute(sql, params![member, name])? > 0 {
        backend::publish_holder_change(connection, &ChangeAuthor::System, admin.now, member)?;
    }
    Ok(admin.record_audit(connection, None, ("member.rename", member.as_str()), "")?)
}

/// The name of a deleted member, whose real name is erased.
const DELETED_NAME: &str = "Deleted member";

/// Deletes a member's account and data. The id stays, so that it is never used again, and so do the audit, the
/// journal until its retention period ends, and stock that others rely on ([`DeletedData::stock_kept`]).
/// The member's clients are disconnected permanently. The feeds get tombstones of the channel `system` (TYP-14).
///
/// # Errors
/// Returns [`AdminError::NotFound`] for an unknown or deleted member, or [`AdminError::Store`] if the database
/// fails.
pub fn delete_member(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &MemberId,
) -> Result<DeletedData, AdminError> {
    find_present(connection, member)?;
    let sql = "SELECT id FROM installation WHERE member = ?1 AND revoked_at IS NULL ORDER BY id";
    let installations: Vec<InstallationId> =
        connection.prepare(sql)?.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for installation in &installations {
        idp::disconnect_installation(connection, admin.actor(), installation, admin.now)?;
    }
    let sql = "SELECT DISTINCT client FROM connection WHERE member = ?1 AND ended_at IS NULL \
               UNION SELECT DISTINCT client FROM device_login WHERE member = ?1 AND state = 'approved'";
    let clients: Vec<ClientId> =
        connection.prepare(sql)?.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for client in &clients {
        idp::disconnect_client(connection, admin.actor(), client, member, admin.now)?;
    }
    sessions::end_all_sessions(connection, member, admin.actor(), admin.now)?;
    connection.execute("DELETE FROM account WHERE member = ?1", [member])?;
    for unit in members::list_units(connection, member)? {
        members::set_role(connection, (admin.actor(), admin.now), member, &unit, None)?;
    }
    let deleted = backend::delete_member_data(connection, member, admin.now)?;
    connection.execute(
        "UPDATE member SET state = 'deleted', name = ?2, handle = NULL, terms = NULL, is_admin = 0 WHERE id = ?1",
        params![member, DELETED_NAME],
    )?;
    backend::publish_holder_change(connection, &ChangeAuthor::System, admin.now, member)?;
    admin.record_audit(connection, None, ("member.delete", member.as_str()), "")?;
    Ok(deleted)
}

/// Returns the member unless the account is deleted.
fn find_present(connection: &Connection, member: &MemberId) -> Result<members::Member, AdminError> {
    let found = members::find_member(connection, member)?;
    let found = found.filter(|found| found.state != RegistrationState::Deleted);
    found.ok_or_else(|| AdminError::NotFound { what: "member", id: member.to_string() })
}

/// An entry of the list of members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedMember {
    /// The member's id.
    pub id: MemberId,
    /// The name that other members see.
    pub name: String,
    /// The state of the registration.
    pub state: String,
    /// True if the member holds a role.
    pub has_role: bool,
    /// The account's user name, if the member has an account.
    pub username: Option<String>,
    /// True if the member may administer the service on the web pages.
    pub administers: bool,
}

/// Lists all members, ordered by id.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn list_members(connection: &Connection) -> Result<Vec<ListedMember>, AdminError> {
    let sql = "SELECT member.id, name, state, has_role, username, is_admin FROM member \
               LEFT JOIN account ON account.member = member.id ORDER BY member.id";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([], |row| {
        Ok(ListedMember {
            id: row.get(0)?,
            name: row.get(1)?,
            state: row.get(2)?,
            has_role: row.get(3)?,
            username: row.get(4)?,
            administers: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn is_known(connection: &Connection, member: &MemberId) -> Result<bool, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM member WHERE id = ?1)";
    Ok(connection.query_row(sql, [member], |row| row.get(0))?)
}
