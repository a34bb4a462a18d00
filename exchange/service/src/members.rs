//! Members and their units, as every part of the service reads them; and the one way in which a unit gets and loses them.

use exchange_api::refusals::PlainCode;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::ids::{MemberId, UnitId};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;
use crate::time::Moment;

/// What the exchange goes by; the rest of a member is the web application's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The member.
    pub id: MemberId,
    /// The name that others see.
    pub name: String,
    /// The game-account handle of the profile, never told to a client (SVC-14).
    pub handle: Option<String>,
    /// Where the registration stands.
    pub state: State,
    /// Whether the member holds a role (ERR-19).
    pub has_role: bool,
    /// Whether the member administers the service.
    pub is_admin: bool,
    /// The version of the terms that the member accepted last.
    pub terms: Option<String>,
    /// Whether the name is kept from connected applications (WEB-07).
    pub withholds_name: bool,
}

/// Where a registration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In order.
    Active,
    /// Awaits approval (ERR-18).
    Pending,
    /// Switched off by an administrator.
    Disabled,
    /// Left.
    Deleted,
}

impl State {
    /// From its name in the store; what cannot be read is treated as switched off.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "active" => Self::Active,
            "pending" => Self::Pending,
            "deleted" => Self::Deleted,
            _ => Self::Disabled,
        }
    }

    /// Its name in the store.
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

/// As what a member belongs to a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Without a say over its pool.
    #[default]
    Member,
    /// With the Logistician flag.
    Logistician,
    /// With a leadership rank, which makes a Logistician too (CON-16).
    Leader,
}

impl Role {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Logistician => "logistician",
            Self::Leader => "leader",
        }
    }
}

/// The member, when there is one of this id.
///
/// # Errors
/// What the database says.
pub fn find(connection: &Connection, id: &MemberId) -> Result<Option<Member>, StoreError> {
    Ok(with_terms(connection, id)?.map(|(member, _)| member))
}

/// The member, and the version of the terms that members have to have accepted: in one statement, since every
/// request asks for both.
fn with_terms(
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
                state: State::of(row.get_ref(3)?.as_str()?),
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

/// The member, when the exchange may act for them (A19).
///
/// # Errors
/// `ACTING_MEMBER_REFUSED`, `PENDING_APPROVAL`, `NO_ROLE` or `TERMS_NOT_ACCEPTED`, in this order; or
/// what the database says.
pub fn acting(connection: &Connection, id: &MemberId) -> Result<Result<Member, PlainCode>, StoreError> {
    let Some((member, terms)) = with_terms(connection, id)? else {
        return Ok(Err(PlainCode::ActingMemberRefused));
    };
    Ok(match member.state {
        State::Disabled | State::Deleted => Err(PlainCode::ActingMemberRefused),
        State::Pending => Err(PlainCode::PendingApproval),
        State::Active if !member.has_role => Err(PlainCode::NoRole),
        State::Active if terms.is_some() && member.terms != terms => Err(PlainCode::TermsNotAccepted),
        State::Active => Ok(member),
    })
}

/// The units that the member directly belongs to, by id.
///
/// # Errors
/// What the database says.
pub fn units(connection: &Connection, member: &MemberId) -> Result<Vec<UnitId>, StoreError> {
    let mut rows =
        connection.prepare_cached("SELECT unit FROM membership WHERE member = ?1 ORDER BY unit")?;
    let units = rows.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(units)
}

/// Makes a member one of a unit, gives them another role in it, or makes them leave it. What is so already is neither
/// written nor audited. Says whether there are such a member, who has not left, and unit; of one who is to leave the unit,
/// whether they were in it.
///
/// # Errors
/// What the database says.
pub fn set_role(
    connection: &Connection,
    (actor, now): (Actor<'_>, Moment),
    member: &MemberId,
    unit: &UnitId,
    role: Option<Role>,
) -> Result<bool, StoreError> {
    let before = role_in(connection, member, unit)?;
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
            let (logistician, leader) = (role == Role::Logistician, role == Role::Leader);
            connection.prepare_cached(sql)?.execute(params![member, unit, logistician, leader])?;
        }
    }
    let detail = format!("{member}: {}", role.map_or("none", Role::as_str));
    let deed = Deed { client: None, action: "unit.role", subject: unit.as_str(), detail: &detail };
    records::audit(connection, now, actor, deed)?;
    Ok(true)
}

fn role_in(connection: &Connection, member: &MemberId, unit: &UnitId) -> Result<Option<Role>, StoreError> {
    let sql = "SELECT logistician, leadership FROM membership WHERE member = ?1 AND unit = ?2";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (_, true) => Role::Leader,
            (true, false) => Role::Logistician,
            (false, false) => Role::Member,
        })
    };
    Ok(connection.prepare_cached(sql)?.query_row(params![member, unit], read).optional()?)
}
