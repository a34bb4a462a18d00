//! Changes of stock by the web pages and the system, not by a connected client.

use exchange_api::types::{ChangeResult, StockChangeSet};

use super::super::Backend;
use super::super::change::{BatchDecision, ChangeError, EntryDelta, WriteContext, commit_decision};
use super::super::warehouse::{Lot, StockOwnership, StockRow, find_lot, load_lot_rows};
use super::decide::offer_extras;
use super::{LotHolding, StockArea};
use crate::feed::ChangeAuthor;
use crate::ids::MemberId;
use crate::store::StoreError;

impl Backend {
    /// Changes a member's stock on behalf of an author other than a connected client. The guard does not
    /// apply, removals need no override, and no response is stored for repetition.
    ///
    /// # Errors
    /// Returns a [`ChangeError`] if the change fails; nothing is written in that case.
    pub async fn change_stock(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        body: StockChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_server_side::<StockArea>(member, author, body).await
    }

    /// Changes the ownership of all rows of a member's lot, for example from personal stock to a unit's pool.
    /// The lot keeps its key and amount (STK-04). Returns false if the member has no such lot.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn rebook_stock(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        lot: &str,
        keeping: StockOwnership,
    ) -> Result<bool, StoreError> {
        let (backend, member, key) = (self.clone(), member.clone(), lot.to_owned());
        let rebook = move |connection: &rusqlite::Connection| {
            let Some((lot, before)) = find_lot(connection, &member, &key)? else { return Ok(false) };
            let rebooked = |row: &StockRow| match &row.keeping {
                is if *is == keeping => row.clone(),
                _ => StockRow { keeping: keeping.clone(), version: row.version + 1, ..row.clone() },
            };
            let after: Vec<StockRow> = before.iter().map(rebooked).collect();
            backend.replace_rows(
                connection,
                backend.write_context(&member, author)?,
                &lot,
                [&before, &after],
            )?;
            Ok(true)
        };
        self.store.write(rebook).await
    }

    /// Transfers the unreserved amount of a member's lot to another member, and ends or lowers its offers.
    /// Returns false if the member has no such lot.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn give_stock(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        lot: &str,
        to: &MemberId,
    ) -> Result<bool, StoreError> {
        let (backend, member, key, to) = (self.clone(), member.clone(), lot.to_owned(), to.clone());
        let give = move |connection: &rusqlite::Connection| {
            let Some((lot, before)) = find_lot(connection, &member, &key)? else { return Ok(false) };
            let giver = backend.write_context(&member, author.clone())?;
            // The member who gives the stock is the audit actor of both changes.
            let taker = WriteContext { actor: giver.actor.clone(), ..backend.write_context(&to, author)? };
            let (retained, transferred) = split_reserved(&before, &taker);
            backend.replace_rows(connection, giver, &lot, [&before, &retained])?;
            let had = load_lot_rows(connection, &to, &key)?;
            let has: Vec<StockRow> = had.iter().cloned().chain(transferred).collect();
            backend.replace_rows(connection, taker, &lot, [&had, &has])?;
            Ok(true)
        };
        self.store.write(give).await
    }

    /// Writes the new rows of a member's lot to the tables, feeds, journal and audit.
    pub(in crate::backend) fn replace_rows(
        &self,
        connection: &rusqlite::Connection,
        writer: WriteContext,
        lot: &Lot,
        [before, after]: [&[StockRow]; 2],
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let extras = offer_extras(before.iter(), after.iter());
        let [before, after] = LotHolding::delta_pair(lot, [before, after]);
        let touched = EntryDelta { key: lot.key(), before, after, removal: false, overridden: false };
        let (ends, notices) = Default::default();
        let decided = BatchDecision { statuses: ends, touched: vec![touched], extras, notices };
        commit_decision::<StockArea>(
            connection,
            &writer,
            writer.author.channel(),
            &decided,
            &self.fault_injector,
        )
    }
}

/// Splits rows into the reserved parts, which stay, and the free parts, which can be given. An offer is
/// lowered to the reserved part (STK-17). A row without a reservation is given as a whole; the free part of
/// any other row becomes a new row.
fn split_reserved(rows: &[StockRow], taker: &WriteContext) -> (Vec<StockRow>, Vec<StockRow>) {
    let (mut retained, mut transferred) = (Vec::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        let mut gift = StockRow { amount: row.free_amount(), reserved: 0, offer: None, ..row.clone() };
        match (row.reserved, gift.amount) {
            (0, _) => gift.version += 1,
            (_, 0) => retained.push(row.clone()),
            (reserved, _) => {
                (gift.id, gift.version, gift.number) = (taker.entry_id(index + 1), 1, None);
                let mut rest = StockRow { amount: reserved, version: row.version + 1, ..row.clone() };
                if let Some(offer) = &mut rest.offer {
                    offer.amount = offer.amount.min(reserved);
                }
                retained.push(rest);
            }
        }
        if gift.amount > 0 {
            transferred.push(gift);
        }
    }
    (retained, transferred)
}
