//! What happens to stock elsewhere than in a connected client: on the web, by the system.

use exchange_api::types::{ChangeResult, StockChangeSet};

use super::super::Backend;
use super::super::change::{ChangeError, Decided, Touched, Writer, carry_out};
use super::super::warehouse::{Keeping, Lot, Row, find, rows};
use super::decide::offers;
use super::{Holding, Stock};
use crate::feed::Author;
use crate::ids::MemberId;
use crate::store::StoreError;

impl Backend {
    /// Changes a member's stock by another way than a connected client. No guard asks, no removal has to be
    /// overruled, and nothing is answered twice.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is written then.
    pub async fn change_stock(
        &self,
        member: &MemberId,
        author: Author,
        body: StockChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_beside::<Stock>(member, author, body).await
    }

    /// Books all that a member has in a lot from personal to shared, into a unit's pool, or back. The lot
    /// stays what it is (STK-04). Says whether the member has such a lot.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn rebook_stock(
        &self,
        member: &MemberId,
        author: Author,
        lot: &str,
        keeping: Keeping,
    ) -> Result<bool, StoreError> {
        let (backend, member, key) = (self.clone(), member.clone(), lot.to_owned());
        let rebook = move |connection: &rusqlite::Connection| {
            let Some((lot, before)) = find(connection, &member, &key)? else { return Ok(false) };
            let rebooked = |row: &Row| match &row.keeping {
                is if *is == keeping => row.clone(),
                _ => Row { keeping: keeping.clone(), version: row.version + 1, ..row.clone() },
            };
            let after: Vec<Row> = before.iter().map(rebooked).collect();
            backend.arrange(connection, backend.writer(&member, author)?, &lot, [&before, &after])?;
            Ok(true)
        };
        self.store.write(rebook).await
    }

    /// Gives what a member has in a lot to another member, but for what is reserved; what was offered of it
    /// is offered no more. Says whether the member has such a lot.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn give_stock(
        &self,
        member: &MemberId,
        author: Author,
        lot: &str,
        to: &MemberId,
    ) -> Result<bool, StoreError> {
        let (backend, member, key, to) = (self.clone(), member.clone(), lot.to_owned(), to.clone());
        let give = move |connection: &rusqlite::Connection| {
            let Some((lot, before)) = find(connection, &member, &key)? else { return Ok(false) };
            let giver = backend.writer(&member, author.clone())?;
            // Of both halves the giver knows.
            let taker = Writer { by: giver.by.clone(), ..backend.writer(&to, author)? };
            let (kept, given) = parted(&before, &taker);
            backend.arrange(connection, giver, &lot, [&before, &kept])?;
            let had = rows(connection, &to, &key)?;
            let has: Vec<Row> = had.iter().cloned().chain(given).collect();
            backend.arrange(connection, taker, &lot, [&had, &has])?;
            Ok(true)
        };
        self.store.write(give).await
    }

    /// Writes, tells and journals what becomes of a member's rows of a lot.
    pub(in crate::backend) fn arrange(
        &self,
        connection: &rusqlite::Connection,
        writer: Writer,
        lot: &Lot,
        [before, after]: [&[Row]; 2],
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let extras = offers(before.iter(), after.iter());
        let [before, after] = Holding::pair(lot, [before, after]);
        let touched = Touched { key: lot.key(), before, after, removal: false, overridden: false };
        let (ends, notices) = Default::default();
        let decided = Decided { ends, touched: vec![touched], extras, notices };
        carry_out::<Stock>(connection, &writer, writer.author.channel(), &decided, &self.interruption)
    }
}

/// What stays of rows because it is reserved, with no more offered than that (STK-17), and what can be given: rows of
/// which nothing is reserved as they are, of others the rest as a row of its own.
fn parted(rows: &[Row], taker: &Writer) -> (Vec<Row>, Vec<Row>) {
    let (mut kept, mut given) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        let mut gift = Row { amount: row.free(), reserved: 0, offer: None, ..row.clone() };
        match (row.reserved, gift.amount) {
            (0, _) => gift.version += 1,
            (_, 0) => kept.push(row.clone()),
            (reserved, _) => {
                (gift.id, gift.version, gift.number) = (taker.made(at + 1), 1, None);
                let mut rest = Row { amount: reserved, version: row.version + 1, ..row.clone() };
                if let Some(offer) = &mut rest.offer {
                    offer.amount = offer.amount.min(reserved);
                }
                kept.push(rest);
            }
        }
        if gift.amount > 0 {
            given.push(gift);
        }
    }
    (kept, given)
}
