//! Members and their units, as every part of the service reads them.

use exchange_api::refusals::PlainCode;
use rusqlite::{Connection, OptionalExtension as _};

use crate::ids::{MemberId, UnitId};
use crate::store::StoreError;

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
