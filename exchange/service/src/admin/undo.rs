//! The members whose data a client may have written, for an undo by an administrator.

use rusqlite::{Connection, params};

use super::{AdminError, clients, members};
use crate::ids::{ClientId, MemberId};

/// Lists the members for whom a client may have written: the given one, or all with an installation of it.
///
/// # Errors
/// [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn written_for(
    connection: &Connection,
    client: &ClientId,
    member: Option<&MemberId>,
) -> Result<Vec<MemberId>, AdminError> {
    // Writes of a disabled client can be undone, too.
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
