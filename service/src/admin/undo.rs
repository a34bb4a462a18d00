//! Whose data a client wrote, for an administrator who undoes it.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::AdminError;
use crate::ids::{ClientId, MemberId};

/// The members for whom a client may have written: the one that is named, or all who connected it.
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn written_for(
    connection: &Connection,
    client: &ClientId,
    member: Option<&MemberId>,
) -> Result<Vec<MemberId>, AdminError> {
    let is_there = |sql: &str, id: &str| connection.query_row(sql, [id], |_| Ok(())).optional();
    if is_there("SELECT 1 FROM client WHERE id = ?1", client.as_str())?.is_none() {
        return Err(AdminError::Unknown { what: "client", id: client.to_string() });
    }
    if let Some(member) = member {
        return match is_there("SELECT 1 FROM member WHERE id = ?1", member.as_str())? {
            Some(()) => Ok(vec![member.clone()]),
            None => Err(AdminError::Unknown { what: "member", id: member.to_string() }),
        };
    }
    let sql = "SELECT DISTINCT member FROM installation WHERE client = ?1 ORDER BY member";
    let mut members = connection.prepare(sql)?;
    Ok(members.query_map(params![client], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
