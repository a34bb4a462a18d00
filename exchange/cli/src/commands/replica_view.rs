//! The view of the replica that commands display. It contains only entries that were read for the current
//! connection (OST-14, DEM-10).
//!
//! A new connection removes the entries of an earlier one. However, a login may be killed before that, and
//! another run of this program may still read data for the earlier member. This module therefore checks the
//! owner of all data that is displayed: every area stores the installation for which it was read, and the
//! saved summary contains the id of the current installation. Data is hidden if its owner is unknown or
//! another installation. Demand has the same owner as the area of org stock.

use std::time::Duration;

use exchange_client::{
    Replica, UnixTime,
    api::types::OrgDemand,
    feed::{Area, AreaState, FeedEntry, FeedPosition},
};

use super::{CommandContext, change::is_transient};
use crate::error::{CommandError, ExitStatus};

/// The replica, restricted to the entries of this connection.
pub(super) struct ReplicaView {
    replica: Replica,
    /// The id of this installation; `None` between a login and the first response of the exchange.
    installation: Option<String>,
}

/// The state of an area in the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AreaFreshness {
    /// The area was never read completely.
    Unread,
    /// The area was read for another installation, or it is unknown for which one.
    OtherConnection,
    /// The area was read completely, as of this time.
    AsOf(UnixTime),
}

/// A demand document. If the current document could not be read, this is the cached one, with the time at
/// which it was read and the error.
type DemandResult = (OrgDemand, Option<(UnixTime, CommandError)>);

impl CommandContext {
    /// Returns the view of the replica for the current connection.
    pub(super) async fn replica_view(&self) -> Result<ReplicaView, CommandError> {
        let installation = self.connection_summary().await?.installation_id;
        Ok(ReplicaView { replica: self.replica()?.clone(), installation })
    }
}

impl ReplicaView {
    /// Returns the state of an area.
    pub(super) fn area_freshness(&self, area: Area) -> Result<AreaFreshness, CommandError> {
        let area_state = self.replica.store().area_state(area)?;
        let is_empty = area_state.position == FeedPosition::Start && area_state.as_of.is_none();
        Ok(match area_state.as_of {
            _ if is_empty => AreaFreshness::Unread,
            _ if !self.is_own(&area_state) => AreaFreshness::OtherConnection,
            Some(as_of) => AreaFreshness::AsOf(as_of),
            None => AreaFreshness::Unread,
        })
    }

    /// Returns the number of entries of an area, or zero if the area was read for another connection.
    pub(super) fn entry_count(&self, area: Area) -> Result<u64, CommandError> {
        match self.area_freshness(area)? {
            AreaFreshness::OtherConnection => Ok(0),
            AreaFreshness::Unread | AreaFreshness::AsOf(_) => Ok(self.replica.count(area)?),
        }
    }

    /// Returns the entries for which `wanted` is true, and the time as of which the area is complete.
    pub(super) fn entries<E: FeedEntry>(
        &self,
        mut wanted: impl FnMut(&E) -> bool,
    ) -> Result<(UnixTime, Vec<E>), CommandError> {
        self.read_own::<E, _>(|| {
            let entries = self.replica.entries::<E>();
            Ok(entries.filter(|entry| entry.as_ref().map_or(true, &mut wanted)).collect::<Result<_, _>>()?)
        })
    }

    /// Returns the entry with this key.
    pub(super) fn entry<E: FeedEntry>(&self, key: &str) -> Result<Option<E>, CommandError> {
        Ok(self.read_own::<E, _>(|| Ok(self.replica.entry::<E>(key)?))?.1)
    }

    /// Returns the cached demand of this connection and the time at which it was read.
    pub(super) fn cached_demand(&self, now: UnixTime) -> Result<Option<(OrgDemand, UnixTime)>, CommandError> {
        let demand = self.replica.demand(now)?;
        // Checked after the read, because another run may have stored its own demand in the meantime.
        Ok(if self.has_own_demand()? { demand } else { None })
    }

    /// Runs `read` and returns its demand. Returns the cached demand if the demand was requested too recently
    /// (DEM-11), or if `read` fails with a temporary error.
    pub(super) async fn read_or_cached_demand(
        &self,
        now: UnixTime,
        read: impl Future<Output = Result<OrgDemand, CommandError>>,
    ) -> Result<DemandResult, CommandError> {
        // Requests of another installation do not delay the requests of this one.
        let cadence =
            if self.has_own_demand()? { self.replica.demand_cadence()? } else { Default::default() };
        let wait = cadence.due_in(now);
        if !wait.is_zero() {
            return self
                .cached_demand(now)?
                .map(|(document, _)| (document, None))
                .ok_or_else(|| demand_wait_error(wait));
        }
        match read.await {
            Ok(document) => Ok((document, None)),
            Err(failure) if is_transient(&failure) => match self.cached_demand(now)? {
                Some((document, read_at)) => Ok((document, Some((read_at, failure)))),
                None => Err(failure),
            },
            Err(failure) => Err(failure),
        }
    }

    /// Returns true if the cached demand belongs to this connection.
    fn has_own_demand(&self) -> Result<bool, CommandError> {
        Ok(self.is_own(&self.replica.store().area_state(Area::OrgStock)?))
    }

    /// Reads from an area, and checks before and after the read that the area belongs to this connection.
    fn read_own<E: FeedEntry, T>(
        &self,
        read: impl FnOnce() -> Result<T, CommandError>,
    ) -> Result<(UnixTime, T), CommandError> {
        let as_of = self.as_of(E::AREA)?;
        let found = read()?;
        // Another run may have replaced the area with data of another installation during the read.
        self.as_of(E::AREA)?;
        Ok((as_of, found))
    }

    /// Returns the time as of which an area is complete. Returns an error if the area was never read for this
    /// connection.
    fn as_of(&self, area: Area) -> Result<UnixTime, CommandError> {
        let what = match self.area_freshness(area)? {
            AreaFreshness::AsOf(as_of) => return Ok(as_of),
            AreaFreshness::Unread => format!("{area} was not read yet"),
            AreaFreshness::OtherConnection => {
                format!("the local data of {area} was not read for this connection")
            }
        };
        Err(CommandError::new(ExitStatus::Failure, what, "run `exchange sync` first"))
    }

    fn is_own(&self, area_state: &AreaState) -> bool {
        let reader = area_state.reader.installation.as_ref().map(|id| id.as_str());
        // If it is unknown for which installation the data was read, it counts as data of another one.
        reader.is_some() && reader == self.installation.as_deref()
    }
}

/// Creates the error for demand that was requested too recently and is not cached.
fn demand_wait_error(wait: Duration) -> CommandError {
    let seconds = wait.as_secs() + 1;
    let what = format!("the demand was requested recently; the next request is possible in {seconds} s");
    CommandError::new(ExitStatus::RetryLater, what, "wait, then try again")
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use exchange_client::api::types::{Blueprint, InstallationId};
    use exchange_client::{
        Error, ErrorKind,
        feed::FeedReader,
        replica::{AreaCommit, DemandDocument},
    };

    use super::*;

    fn moment() -> UnixTime {
        UnixTime::from_secs(1_790_000_000)
    }

    /// Creates the view of an installation. The areas were read for `reader`.
    fn copies(installation: Option<&str>, reader: Option<&str>) -> ReplicaView {
        let replica = Replica::in_memory();
        let mut of_reader = FeedReader::default();
        of_reader.installation = reader.map(|id| InstallationId::new(id).unwrap());
        for area in [Area::Blueprints, Area::OrgStock] {
            let mut area_state = AreaState::default();
            (area_state.sequence, area_state.as_of, area_state.reader) =
                (1, Some(moment()), of_reader.clone());
            area_state.position = FeedPosition::Feed("c".parse().unwrap());
            replica.store().commit(&AreaCommit::new(area, 0, area_state)).unwrap();
        }
        ReplicaView { replica, installation: installation.map(str::to_owned) }
    }

    /// OST-14, DEM-10: data is displayed only if it was read for this installation.
    #[test]
    fn only_data_with_a_known_owner_is_shown() {
        for (installation, reader, is_own) in [
            (Some("i-1"), Some("i-1"), true),
            (Some("i-2"), Some("i-1"), false),
            (None, Some("i-1"), false),
            (Some("i-1"), None, false),
            (None, None, false),
        ] {
            let copies = copies(installation, reader);
            let standing =
                if is_own { AreaFreshness::AsOf(moment()) } else { AreaFreshness::OtherConnection };
            assert_eq!(
                copies.area_freshness(Area::Blueprints).unwrap(),
                standing,
                "{installation:?} {reader:?}"
            );
            assert_eq!(copies.area_freshness(Area::Stock).unwrap(), AreaFreshness::Unread);
            assert_eq!(copies.entries::<Blueprint>(|_| true).is_ok(), is_own);
            assert_eq!(copies.entry::<Blueprint>("bp").is_ok(), is_own);
            assert_eq!(copies.has_own_demand().unwrap(), is_own);
        }
    }

    /// DEM-10, DEM-11: if demand cannot be read, the cached demand is displayed with the time at which it was
    /// read, for up to seven days. Demand is requested at most once every five minutes, even after a failure.
    #[tokio::test]
    async fn cached_demand_is_shown_if_reading_fails() {
        let copies = copies(Some("i-1"), Some("i-1"));
        let at = |seconds| moment() + Duration::from_secs(seconds);
        let fails = |kind| ready(Err(CommandError::from(Error::new(kind, "no way"))));
        let body = br#"{"updatedAt": "2026-09-21T13:00:00Z", "items": [], "materials": []}"#;
        let document = DemandDocument { at: moment(), body: body[..].into() };
        let of = InstallationId::new("i-1").unwrap();
        assert!(copies.replica.store().store_demand(&document, &of).unwrap());
        // Within five minutes, the demand is not requested.
        assert!(copies.read_or_cached_demand(at(299), pending()).await.unwrap().1.is_none());
        let (_, failure) =
            copies.read_or_cached_demand(at(400), fails(ErrorKind::Unreachable)).await.unwrap();
        assert_eq!(failure.unwrap().0, moment());
        // An error about the member's rights is returned, even if there is a cached demand.
        assert!(copies.read_or_cached_demand(at(400), fails(ErrorKind::ScopeMissing)).await.is_err());
        // A failed request also counts as a request.
        copies.replica.note_demand_request(at(400)).unwrap();
        assert!(copies.read_or_cached_demand(at(699), pending()).await.unwrap().1.is_none());
        let week = 7 * 86_400;
        assert!(copies.read_or_cached_demand(at(week), fails(ErrorKind::Unreachable)).await.is_err());
        copies.replica.note_demand_request(at(week)).unwrap();
        let refused = copies.read_or_cached_demand(at(week + 10), pending()).await.unwrap_err();
        assert_eq!(refused.exit_status(), ExitStatus::RetryLater);
    }

    /// OST-14: if another process replaces the data with that of another installation during the read,
    /// nothing is displayed.
    #[test]
    fn data_that_changes_its_owner_is_not_shown() {
        let copies = copies(Some("i-1"), Some("i-1"));
        let store = copies.replica.store();
        let shown = copies.read_own::<Blueprint, _>(|| {
            let mut area_state = store.area_state(Area::Blueprints)?;
            area_state.sequence += 1;
            area_state.reader.installation = Some(InstallationId::new("i-2").unwrap());
            store.commit(&AreaCommit::new(Area::Blueprints, area_state.sequence - 1, area_state))?;
            Ok(())
        });
        assert!(shown.is_err());
    }
}
