//! What is shown of the replica: what was read for the connection that there is, and nothing else (OST-14, DEM-10).
//!
//! Somebody else's copies are forgotten when a new connection is read. But a login may be killed before that, and
//! another run of this program may still be reading for the member who was signed in before. So whatever is shown is
//! asked whose it is: every area notes for which installation it was read, the session's notes say which one this is,
//! and what is not surely the same is not shown. Demand has its owner beside org stock.

use std::time::Duration;

use exchange_client::{
    Replica, UnixTime,
    api::types::OrgDemand,
    feed::{Area, Entry, Kept, Position},
};

use super::{App, change::passes};
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

/// A document of demand; and where another one was wanted and could not be read, when this one was, and why.
type Demanded = (OrgDemand, Option<(UnixTime, Failure)>);

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

    /// The demand that `read` brings, when it may be asked for (DEM-11); what was read last before that, and where the way
    /// to the exchange keeps it from being read.
    pub(super) async fn demand_or(
        &self,
        now: UnixTime,
        read: impl Future<Output = Result<OrgDemand, Failure>>,
    ) -> Result<Demanded, Failure> {
        // What others asked holds back nobody else.
        let cadence =
            if self.has_own_demand()? { self.replica.demand_cadence()? } else { Default::default() };
        let wait = cadence.due_in(now);
        if !wait.is_zero() {
            return self
                .demand(now)?
                .map(|(document, _)| (document, None))
                .ok_or_else(|| asked_already(wait));
        }
        match read.await {
            Ok(document) => Ok((document, None)),
            Err(failure) if passes(&failure) => match self.demand(now)? {
                Some((document, read_at)) => Ok((document, Some((read_at, failure)))),
                None => Err(failure),
            },
            Err(failure) => Err(failure),
        }
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

/// The last time came to nothing.
fn asked_already(wait: Duration) -> Failure {
    let seconds = wait.as_secs() + 1;
    let what = format!("the demand was asked for a moment ago, and is not asked for again for {seconds} s");
    Failure::new(Exit::Wait, what, "wait, then try again")
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use exchange_client::api::types::{Blueprint, InstallationId};
    use exchange_client::{
        Error, ErrorKind,
        feed::Reader,
        replica::{Commit, Document},
    };

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

    /// DEM-11: demand that cannot be read is shown as it was read last, with when that was, for seven days (DEM-10); it is
    /// asked for once in five minutes, whatever came of it.
    #[tokio::test]
    async fn demand_is_shown_as_it_was_read_last() {
        let copies = copies(Some("i-1"), Some("i-1"));
        let at = |seconds| moment() + Duration::from_secs(seconds);
        let fails = |kind| ready(Err(Failure::from(Error::new(kind, "no way"))));
        let body = br#"{"updatedAt": "2026-09-21T13:00:00Z", "items": [], "materials": []}"#;
        let document = Document { at: moment(), body: body[..].into() };
        let of = InstallationId::new("i-1").unwrap();
        assert!(copies.replica.store().keep_demand(&document, &of).unwrap());
        // Nobody asks.
        assert!(copies.demand_or(at(299), pending()).await.unwrap().1.is_none());
        let (_, trouble) = copies.demand_or(at(400), fails(ErrorKind::Unreachable)).await.unwrap();
        assert_eq!(trouble.unwrap().0, moment());
        // What is about the member hides behind nothing.
        assert!(copies.demand_or(at(400), fails(ErrorKind::ScopeMissing)).await.is_err());
        // What came to nothing counts.
        copies.replica.note_demand_asked(at(400)).unwrap();
        assert!(copies.demand_or(at(699), pending()).await.unwrap().1.is_none());
        let week = 7 * 86_400;
        assert!(copies.demand_or(at(week), fails(ErrorKind::Unreachable)).await.is_err());
        copies.replica.note_demand_asked(at(week)).unwrap();
        let refused = copies.demand_or(at(week + 10), pending()).await.unwrap_err();
        assert_eq!(refused.exit(), Exit::Wait);
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
