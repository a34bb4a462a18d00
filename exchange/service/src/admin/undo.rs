//! Lists the members whose data a client may have changed, for an undo by an administrator.

use rusqlite::{Connection, params};

use super::{AdminError, clients, members};
use crate::ids::{ClientId, MemberId};

/// Returns `member` if it is given, otherwise all members with an installation of the client.
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn written_for(
    connection: &Connection,
    client: &ClientId,
    member: Option<&MemberId>,
) -> Result<Vec<MemberId>, AdminError> {
    // The writes of a disabled client can also be undone.
    if !clients::is_known(connection, client)? {
        return Err(AdminError::NotFound { what: "client", id: client.to_string() });
    }
    if let Some(member) = member {
        return match members::is_known(connection, member)? {
            true => Ok(vec![member.clone()]),
            false => Err(AdminError::NotFound { what: "member", id: member.to_string() }),
        };
    }
    let sql = "SELECT DISTINCT member FROM installation WHERE client = ?1 ORDER BY member";
    let mut members = connection.prepare(sql)?;
    Ok(members.query_map(params![client], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
