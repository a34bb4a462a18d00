//! Whose data a client wrote, for an administrator who undoes it.

use rusqlite::{Connection, params};

use super::{AdminError, clients, members};
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
    // What a client that is disabled by now wrote can be undone as well.
    if !clients::is_known(connection, client)? {
        return Err(AdminError::Unknown { what: "client", id: client.to_string() });
    }
    if let Some(member) = member {
        return match members::is_known(connection, member)? {
            true => Ok(vec![member.clone()]),
            false => Err(AdminError::Unknown { what: "member", id: member.to_string() }),
        };
    }
    let sql = "SELECT DISTINCT member FROM installation WHERE client = ?1 ORDER BY member";
    let mut members = connection.prepare(sql)?;
    Ok(members.query_map(params![client], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
