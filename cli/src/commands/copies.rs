//! What is shown of the replica: what was read for the connection that there is, and nothing else (OST-14, DEM-10).
//!
//! Somebody else's copies are forgotten when a new connection is read. But a login may be killed before that, and
//! another run of this program may still be reading for the member who was signed in before. So whatever is shown is
//! asked whose it is: every area notes for which installation it was read, the session's notes say which one this is,
//! and what is not surely the same is not shown. Demand has its owner beside org stock.

use exchange_client::{
    Replica, UnixTime,
    api::types::OrgDemand,
    feed::{Area, Entry, Kept, Position},
};

use super::App;
use crate::failure::{Exit, Failure};

/// The replica as far as it is this connection's.
pub(super) struct Copies {
    replica: Replica,
    /// What the exchange calls this installation; not known from the moment on in which somebody signed in, until it
    /// has said it.
    installation: Option<String>,
}

/// How an area stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was never read to its end.
    Unread,
    /// It was not read for this connection, as far as anybody can tell.
    Others,
    /// Everything until then is in it.
    AsOf(UnixTime),
}

impl App {
    /// What of the replica may be shown now.
    pub(super) async fn copies(&self) -> Result<Copies, Failure> {
        let installation = self.noted().await?.installation_id;
        Ok(Copies { replica: self.replica()?.clone(), installation })
    }
}

impl Copies {
    /// How an area stands.
    pub(super) fn standing(&self, area: Area) -> Result<Standing, Failure> {
        let kept = self.replica.store().kept(area)?;
        let is_empty = kept.position == Position::Start && kept.as_of.is_none();
        Ok(match kept.as_of {
            _ if is_empty => Standing::Unread,
            _ if !self.are_own(&kept) => Standing::Others,
            Some(as_of) => Standing::AsOf(as_of),
            None => Standing::Unread,
        })
    }

    /// How many entries an area has; none of those of others.
    pub(super) fn count(&self, area: Area) -> Result<u64, Failure> {
        match self.standing(area)? {
            Standing::Others => Ok(0),
            Standing::Unread | Standing::AsOf(_) => Ok(self.replica.count(area)?),
        }
    }

    /// The entries of an area that are wanted, and until when everything is among them.
    pub(super) fn entries<E: Entry>(
        &self,
        mut wanted: impl FnMut(&E) -> bool,
    ) -> Result<(UnixTime, Vec<E>), Failure> {
        self.own::<E, _>(|| {
            let entries = self.replica.entries::<E>();
            Ok(entries.filter(|entry| entry.as_ref().map_or(true, &mut wanted)).collect::<Result<_, _>>()?)
        })
    }

    /// The entry of a key.
    pub(super) fn entry<E: Entry>(&self, key: &str) -> Result<Option<E>, Failure> {
        Ok(self.own::<E, _>(|| Ok(self.replica.entry::<E>(key)?))?.1)
    }

    /// The demand that was read last, and when; none of others'.
    pub(super) fn demand(&self, now: UnixTime) -> Result<Option<(OrgDemand, UnixTime)>, Failure> {
        let demand = self.replica.demand(now)?;
        // Asked afterwards: another run may have kept it just now.
        Ok(if self.has_own_demand()? { demand } else { None })
    }

    /// Whether the demand that is kept is this connection's.
    fn has_own_demand(&self) -> Result<bool, Failure> {
        Ok(self.are_own(&self.replica.store().kept(Area::OrgStock)?))
    }

    /// What is read of an area, if it is this connection's before and after that.
    fn own<E: Entry, T>(&self, read: impl FnOnce() -> Result<T, Failure>) -> Result<(UnixTime, T), Failure> {
        let as_of = self.as_of(E::AREA)?;
        let found = read()?;
        // Another run may have kept meanwhile what it read for somebody else.
        self.as_of(E::AREA)?;
        Ok((as_of, found))
    }

    /// When an area was read to its end; an area that never was is no empty one.
    fn as_of(&self, area: Area) -> Result<UnixTime, Failure> {
        let what = match self.standing(area)? {
            Standing::AsOf(as_of) => return Ok(as_of),
            Standing::Unread => format!("nothing of {area} was read yet"),
            Standing::Others => format!("what is here of {area} was not read for this connection"),
        };
        Err(Failure::new(Exit::Failed, what, "run `exchange sync` first"))
    }

    fn are_own(&self, kept: &Kept) -> bool {
        let reader = kept.reader.installation.as_ref().map(|id| id.as_str());
        // Of what nobody knows whose it is neither is.
        reader.is_some() && reader == self.installation.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use exchange_client::api::types::{Blueprint, InstallationId};
    use exchange_client::{feed::Reader, replica::Commit};

    use super::*;

    fn moment() -> UnixTime {
        UnixTime::from_secs(1_790_000_000)
    }

    /// Copies of an installation, as far as it is known, with blueprints that were read for one, as far as that was.
    fn copies(installation: Option<&str>, reader: Option<&str>) -> Copies {
        let replica = Replica::in_memory();
        let mut of_reader = Reader::default();
        of_reader.installation = reader.map(|id| InstallationId::new(id).unwrap());
        for area in [Area::Blueprints, Area::OrgStock] {
            let mut kept = Kept::default();
            (kept.sequence, kept.as_of, kept.reader) = (1, Some(moment()), of_reader.clone());
            kept.position = Position::Feed("c".parse().unwrap());
            replica.store().commit(&Commit::of(area, 0, kept)).unwrap();
        }
        Copies { replica, installation: installation.map(str::to_owned) }
    }

    /// OST-14, DEM-10: what is not surely this connection's is not shown.
    #[test]
    fn only_what_is_surely_own_is_shown() {
        for (installation, reader, is_own) in [
            (Some("i-1"), Some("i-1"), true),
            (Some("i-2"), Some("i-1"), false),
            (None, Some("i-1"), false),
            (Some("i-1"), None, false),
            (None, None, false),
        ] {
            let copies = copies(installation, reader);
            let standing = if is_own { Standing::AsOf(moment()) } else { Standing::Others };
            assert_eq!(copies.standing(Area::Blueprints).unwrap(), standing, "{installation:?} {reader:?}");
            assert_eq!(copies.standing(Area::Stock).unwrap(), Standing::Unread);
            assert_eq!(copies.entries::<Blueprint>(|_| true).is_ok(), is_own);
            assert_eq!(copies.entry::<Blueprint>("bp").is_ok(), is_own);
            assert_eq!(copies.has_own_demand().unwrap(), is_own);
        }
    }

    /// OST-14: what another run keeps while it is read is not shown either.
    #[test]
    fn what_becomes_another_s_while_it_is_read_is_not_shown() {
        let copies = copies(Some("i-1"), Some("i-1"));
        let store = copies.replica.store();
        let shown = copies.own::<Blueprint, _>(|| {
            let mut kept = store.kept(Area::Blueprints)?;
            kept.sequence += 1;
            kept.reader.installation = Some(InstallationId::new("i-2").unwrap());
            store.commit(&Commit::of(Area::Blueprints, kept.sequence - 1, kept))?;
            Ok(())
        });
        assert!(shown.is_err());
    }
}
