//! Members and their units, as read by all parts of the service, and the function that changes memberships.

use exchange_api::error_responses::PlainCode;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::ids::{MemberId, UnitId};
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use crate::time::Moment;

/// The properties of a member that the exchange uses. All other properties belong to the web application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The member's id.
    pub id: MemberId,
    /// The name that other members see.
    pub name: String,
    /// The handle of the game account in the member's profile. It is never sent to a client (SVC-14).
    pub handle: Option<String>,
    /// The state of the registration.
    pub state: RegistrationState,
    /// True if the member holds a role (ERR-19).
    pub has_role: bool,
    /// True if the member may administer the service.
    pub is_admin: bool,
    /// The version of the terms that the member accepted most recently.
    pub terms: Option<String>,
    /// True if the name is withheld from connected applications (WEB-07).
    pub withholds_name: bool,
}

/// The state of a member's registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationState {
    /// Approved and not disabled.
    Active,
    /// Awaiting approval (ERR-18).
    Pending,
    /// Disabled by an administrator.
    Disabled,
    /// The member has left.
    Deleted,
}

impl RegistrationState {
    /// Parses the state as stored in the database. An unknown string counts as disabled.
    #[must_use]
    pub fn from_stored(text: &str) -> Self {
        match text {
            "active" => Self::Active,
            "pending" => Self::Pending,
            "deleted" => Self::Deleted,
            _ => Self::Disabled,
        }
    }

    /// Returns the stored name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending => "pending",
            Self::Disabled => "disabled",
            Self::Deleted => "deleted",
        }
    }
}

/// A member's role in a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitRole {
    /// The member has no permissions for the unit's pool.
    #[default]
    Member,
    /// The member has the Logistician flag.
    Logistician,
    /// The member has a leadership rank, which includes the permissions of a Logistician (CON-16).
    Leader,
}

impl UnitRole {
    /// Returns the name of the role in documents and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Logistician => "logistician",
            Self::Leader => "leader",
        }
    }
}

/// Finds a member by id.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_member(connection: &Connection, id: &MemberId) -> Result<Option<Member>, StoreError> {
    Ok(find_with_terms(connection, id)?.map(|(member, _)| member))
}

/// Finds a member, and the version of the terms that members must have accepted. Both are read with one
/// statement, because every request needs both.
fn find_with_terms(
    connection: &Connection,
    id: &MemberId,
) -> Result<Option<(Member, Option<String>)>, StoreError> {
    let sql = "SELECT id, name, handle, state, has_role, is_admin, terms, withholds_name, \
               (SELECT value FROM setting WHERE name = 'terms') FROM member WHERE id = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([id], |row| {
            let member = Member {
                id: row.get(0)?,
                name: row.get(1)?,
                handle: row.get(2)?,
                state: RegistrationState::from_stored(row.get_ref(3)?.as_str()?),
                has_role: row.get(4)?,
                is_admin: row.get(5)?,
                terms: row.get(6)?,
                withholds_name: row.get(7)?,
            };
            Ok((member, row.get(8)?))
        })
        .optional()?;
    Ok(found)
}

/// Returns the member if clients may act for the member (A19).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails. The inner error is the first of `ACTING_MEMBER_REFUSED`,
/// `PENDING_APPROVAL`, `NO_ROLE` and `TERMS_NOT_ACCEPTED` that applies.
pub fn find_acting_member(
    connection: &Connection,
    id: &MemberId,
) -> Result<Result<Member, PlainCode>, StoreError> {
    let Some((member, terms)) = find_with_terms(connection, id)? else {
        return Ok(Err(PlainCode::ActingMemberRefused));
    };
    Ok(match member.state {
        RegistrationState::Disabled | RegistrationState::Deleted => Err(PlainCode::ActingMemberRefused),
        RegistrationState::Pending => Err(PlainCode::PendingApproval),
        RegistrationState::Active if !member.has_role => Err(PlainCode::NoRole),
        RegistrationState::Active if terms.is_some() && member.terms != terms => {
            Err(PlainCode::TermsNotAccepted)
        }
        RegistrationState::Active => Ok(member),
    })
}

/// Lists the units of which the member is a direct member, sorted by id.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn list_units(connection: &Connection, member: &MemberId) -> Result<Vec<UnitId>, StoreError> {
    let mut rows =
        connection.prepare_cached("SELECT unit FROM membership WHERE member = ?1 ORDER BY unit")?;
    let units = rows.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(units)
}

/// Adds a member to a unit or changes the member's role; `None` removes the member from the unit. If nothing
/// changes, writes nothing, not even an audit entry. Returns false if the unit does not exist, if the member
/// does not exist or was deleted, or if the member to remove was not in the unit.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn set_role(
    connection: &Connection,
    (actor, now): (Actor<'_>, Moment),
    member: &MemberId,
    unit: &UnitId,
    role: Option<UnitRole>,
) -> Result<bool, StoreError> {
    let before = find_role(connection, member, unit)?;
    match role {
        None if before.is_none() => return Ok(false),
        None => {
            let sql = "DELETE FROM membership WHERE member = ?1 AND unit = ?2";
            connection.prepare_cached(sql)?.execute(params![member, unit])?;
        }
        Some(role) => {
            let sql = "SELECT EXISTS (SELECT 1 FROM member WHERE id = ?1 AND state <> 'deleted') \
                       AND EXISTS (SELECT 1 FROM unit WHERE id = ?2)";
            if !connection.prepare_cached(sql)?.query_row(params![member, unit], |row| row.get(0))? {
                return Ok(false);
            }
            if before == Some(role) {
                return Ok(true);
            }
            let sql = "INSERT INTO membership (member, unit, logistician, leadership) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT (member, unit) DO UPDATE \
                       SET logistician = excluded.logistician, leadership = excluded.leadership";
            let (logistician, leader) = (role == UnitRole::Logistician, role == UnitRole::Leader);
            connection.prepare_cached(sql)?.execute(params![member, unit, logistician, leader])?;
        }
    }
    let detail = format!("{member}: {}", role.map_or("none", UnitRole::as_str));
    let entry = AuditEntry { client: None, action: "unit.role", subject: unit.as_str(), detail: &detail };
    records::record_audit(connection, now, actor, entry)?;
    Ok(true)
}

fn find_role(
    connection: &Connection,
    member: &MemberId,
    unit: &UnitId,
) -> Result<Option<UnitRole>, StoreError> {
    let sql = "SELECT logistician, leadership FROM membership WHERE member = ?1 AND unit = ?2";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (_, true) => UnitRole::Leader,
            (true, false) => UnitRole::Logistician,
            (false, false) => UnitRole::Member,
        })
    };
    Ok(connection.prepare_cached(sql)?.query_row(params![member, unit], read).optional()?)
}
