//! The schedule that decides when each area is read. It has no clock: callers pass times of the monotonic
//! clock.

use std::{collections::BTreeMap, time::Duration};

use crate::{backoff::Backoff, error::ErrorKind, feed::Area, rate_limiter::CallInitiator};

/// The minimum interval between two rounds that a timer starts (LIM-17).
pub const MIN_SYNC_INTERVAL: Duration = Duration::from_secs(300);

/// The schedule of all areas. Each area is read at the start of a session, after a local change, and by a
/// timer (LIM-17). After an error, it is read with back-off (LIM-16).
#[derive(Clone, Debug)]
pub struct SyncSchedule {
    interval: Duration,
    backoff: Backoff,
    areas: BTreeMap<Area, AreaSchedule>,
    /// True if an error of the session stopped all areas.
    stopped: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct AreaSchedule {
    /// The time when the area is due; `None` if only an event can make it due.
    due: Option<Duration>,
    /// The end of the exchange's `Retry-After` time, which nothing shortens (CLI-02).
    not_before: Duration,
    failures: u32,
    reading: bool,
    /// True if the member requested the read.
    by_member: bool,
    /// True if the current read belongs to an earlier session. Its result then does not change when the area
    /// is due for the new session.
    of_former: bool,
    /// Set if the area has to be read again after the current read: the member requested it, or a write may
    /// have come too late to be on the pages of this read. The value is the initiator of the next read.
    again: Option<CallInitiator>,
}

/// The next action of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduledAction {
    /// Read this area; the second field is the initiator of the call.
    Read(Area, CallInitiator),
    /// Wait for this duration, because no area is due before.
    Wait(Duration),
    /// Wait for an event, because no area becomes due by time alone.
    Idle,
}

/// The part of a synchronization that an error stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorScope {
    /// A transient error: the area is retried later.
    Transient,
    /// The area stops until a session begins or the member requests a read.
    Area,
    /// All areas stop until a session begins or the member requests a read.
    Session,
}

impl ErrorScope {
    /// Returns the part of the synchronization that an error of this kind stops.
    #[must_use]
    pub const fn from_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) | ErrorKind::Halted(_) | ErrorKind::Secrets => {
                Self::Session
            }
            ErrorKind::ScopeMissing
            | ErrorKind::NotPermitted
            | ErrorKind::Invalid
            | ErrorKind::TooLarge
            | ErrorKind::Bug => Self::Area,
            _ => Self::Transient,
        }
    }
}

impl SyncSchedule {
    /// Creates a schedule with this interval between the rounds that a timer starts. The interval is at least
    /// [`MIN_SYNC_INTERVAL`]. Nothing is due before a session begins.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        let (backoff, areas) = (Backoff::default(), BTreeMap::new());
        Self { interval: interval.max(MIN_SYNC_INTERVAL), backoff, areas, stopped: false }
    }

    /// Begins a session that can read these areas. They become due, and all other areas are dropped. The
    /// `Retry-After` times of the areas still apply.
    pub fn begin_session(&mut self, areas: impl IntoIterator<Item = Area>, now: Duration) {
        let before = std::mem::take(&mut self.areas);
        self.stopped = false;
        for area in areas {
            let before = before.get(&area).copied().unwrap_or_default();
            let (due, of_former) = (Some(now.max(before.not_before)), before.reading);
            let turn = AreaSchedule { due, failures: 0, of_former, ..before };
            self.areas.insert(area, turn);
        }
    }

    /// Records that an area was written to (LIM-17, WRT-08). Does not start a stopped area again, and does
    /// not end a back-off.
    pub fn mark_changed(&mut self, area: Area, now: Duration) {
        if let Some(turn) = self.areas.get_mut(&area) {
            turn.again = turn.again.or(turn.reading.then_some(CallInitiator::Program));
            if turn.failures == 0 && turn.due.is_some() {
                turn.due = Some(now.max(turn.not_before));
            }
        }
    }

    /// Makes all areas due because the member requested it, but not before their `Retry-After` times
    /// (CLI-02).
    pub fn request_all(&mut self, now: Duration) {
        self.stopped = false;
        for turn in self.areas.values_mut() {
            turn.due = Some(now.max(turn.not_before));
            match turn.reading {
                true => turn.again = Some(CallInitiator::Member),
                false => turn.by_member = true,
            }
        }
    }

    /// Returns true if the area is due.
    #[must_use]
    pub fn is_due(&self, area: Area, now: Duration) -> bool {
        self.due_at(area).is_some_and(|due| due <= now)
    }

    /// Returns the time when the area is due; `None` if only an event can make it due.
    #[must_use]
    pub fn due_at(&self, area: Area) -> Option<Duration> {
        self.areas.get(&area).and_then(|turn| turn.due)
    }

    /// Returns true if an error of the session stopped all areas. No timer causes a request then (CLI-04).
    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns the next action: read the area that has been due for the longest time, or wait until one is
    /// due.
    #[must_use]
    pub fn next_action(&self, now: Duration) -> ScheduledAction {
        let due = self.areas.iter().filter(|(_, turn)| !turn.reading);
        match due.filter_map(|(area, turn)| Some((turn.due?, *area, turn.by_member))).min() {
            None => ScheduledAction::Idle,
            Some((due, area, true)) if due <= now => ScheduledAction::Read(area, CallInitiator::Member),
            Some((due, area, false)) if due <= now => ScheduledAction::Read(area, CallInitiator::Program),
            Some((due, ..)) => ScheduledAction::Wait(due - now),
        }
    }

    /// Marks an area as being read.
    pub fn mark_reading(&mut self, area: Area) {
        if let Some(turn) = self.areas.get_mut(&area) {
            (turn.reading, turn.of_former, turn.again) = (true, false, None);
        }
    }

    /// Ends a read without a result. The area is due at the same time as before.
    pub fn mark_abandoned(&mut self, area: Area) {
        if let Some(turn) = self.areas.get_mut(&area) {
            turn.by_member |= turn.again == Some(CallInitiator::Member);
            (turn.reading, turn.of_former, turn.again) = (false, false, None);
        }
    }

    /// Ends a read that reached the end of the feed.
    pub fn mark_done(&mut self, area: Area, now: Duration) {
        if self.is_for_former_session(area) {
            return self.mark_abandoned(area);
        }
        if let Some(turn) = self.areas.get_mut(&area) {
            let due = if turn.again.is_some() { now } else { now.saturating_add(self.interval) };
            // A request that the member made during the read has not been served yet.
            let by_member = turn.again == Some(CallInitiator::Member);
            *turn = AreaSchedule { due: Some(due), by_member, ..AreaSchedule::default() };
        }
    }

    fn is_for_former_session(&self, area: Area) -> bool {
        self.areas.get(&area).is_some_and(|turn| turn.of_former)
    }

    /// Ends a read with an error. `retry_after` is the value of `Retry-After`, and `fraction` is a random
    /// number in `0.0..1.0`.
    pub fn mark_failed(
        &mut self,
        area: Area,
        kind: ErrorKind,
        retry_after: Option<Duration>,
        now: Duration,
        fraction: f64,
    ) {
        if self.is_for_former_session(area) {
            self.mark_abandoned(area);
            if let (Some(turn), Some(retry_after)) = (self.areas.get_mut(&area), retry_after) {
                turn.not_before = now.saturating_add(retry_after);
                turn.due = turn.due.map(|due| due.max(turn.not_before));
            }
            return;
        }
        let trouble = ErrorScope::from_kind(kind);
        if trouble == ErrorScope::Session {
            self.areas.values_mut().for_each(|turn| turn.due = None);
            self.stopped = true;
        }
        let Some(turn) = self.areas.get_mut(&area) else { return };
        let asked_again = turn.again.take() == Some(CallInitiator::Member);
        (turn.reading, turn.by_member) = (false, asked_again);
        turn.failures = turn.failures.saturating_add(1);
        turn.not_before = now.saturating_add(retry_after.unwrap_or_default());
        turn.due = match trouble {
            // A request of the member during the read ends the back-off, as a request between reads does.
            ErrorScope::Transient if asked_again => Some(turn.not_before),
            ErrorScope::Transient => {
                Some(now.saturating_add(self.backoff.delay_after(turn.failures, retry_after, fraction)))
            }
            ErrorScope::Area | ErrorScope::Session => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::HaltReason;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn begun() -> SyncSchedule {
        let mut schedule = SyncSchedule::new(MIN_SYNC_INTERVAL);
        schedule.begin_session([Area::Stock, Area::Ships], at(0));
        schedule
    }

    /// LIM-17: areas are read at the start of a session, after a local change, and otherwise at most once
    /// every 5 minutes.
    #[test]
    fn areas_are_read_on_start_after_a_change_and_by_timer() {
        let mut schedule = SyncSchedule::new(at(1));
        assert_eq!(schedule.next_action(at(0)), ScheduledAction::Idle);
        schedule.begin_session([Area::Stock, Area::Ships], at(0));
        for _ in 0..2 {
            let ScheduledAction::Read(area, CallInitiator::Program) = schedule.next_action(at(10)) else {
                panic!("both areas are due")
            };
            schedule.mark_reading(area);
            schedule.mark_done(area, at(10));
        }
        assert_eq!(schedule.next_action(at(10)), ScheduledAction::Wait(at(300)));
        schedule.mark_changed(Area::Ships, at(20));
        assert_eq!(schedule.next_action(at(20)), ScheduledAction::Read(Area::Ships, CallInitiator::Program));
        schedule.mark_reading(Area::Ships);
        assert_eq!(schedule.next_action(at(20)), ScheduledAction::Wait(at(290)));
        // A write during the read may have been too late for the pages.
        schedule.mark_changed(Area::Ships, at(21));
        schedule.mark_done(Area::Ships, at(22));
        assert_eq!(schedule.next_action(at(22)), ScheduledAction::Read(Area::Ships, CallInitiator::Program));
        schedule.mark_reading(Area::Ships);
        schedule.request_all(at(22));
        schedule.mark_reading(Area::Stock);
        schedule.mark_done(Area::Stock, at(22));
        schedule.mark_done(Area::Ships, at(23));
        assert_eq!(
            schedule.next_action(at(23)),
            ScheduledAction::Read(Area::Ships, CallInitiator::Member),
            "the member requested this read"
        );
        schedule.mark_reading(Area::Ships);
        schedule.mark_done(Area::Ships, at(23));
        assert_eq!(schedule.next_action(at(322)), ScheduledAction::Read(Area::Stock, CallInitiator::Program));
        // An area without a capability is not read after a write.
        schedule.mark_changed(Area::Blueprints, at(24));
        assert!(!schedule.is_due(Area::Blueprints, at(10_000)));
    }

    /// LIM-16: a transient error delays only its area.
    #[test]
    fn error_of_one_area_does_not_stop_others() {
        let mut schedule = begun();
        for (failures, wait) in [(1, 5), (2, 10), (3, 20)] {
            schedule.mark_reading(Area::Stock);
            schedule.mark_failed(Area::Stock, ErrorKind::Busy, None, at(100 * failures), 0.0);
            assert_eq!(schedule.due_at(Area::Stock), Some(at(100 * failures + wait)));
        }
        assert_eq!(schedule.next_action(at(301)), ScheduledAction::Read(Area::Ships, CallInitiator::Program));
        // A local change does not shorten the back-off of a failing area, but a request of the member does.
        schedule.mark_changed(Area::Stock, at(301));
        assert_eq!(schedule.due_at(Area::Stock), Some(at(320)));
        schedule.request_all(at(302));
        assert_eq!(schedule.due_at(Area::Stock), Some(at(302)));
        assert_eq!(schedule.next_action(at(302)), ScheduledAction::Read(Area::Stock, CallInitiator::Member));
        // An area to which the exchange refuses access stops.
        schedule.mark_failed(Area::Ships, ErrorKind::NotPermitted, None, at(303), 0.0);
        assert_eq!(schedule.due_at(Area::Ships), None);
        schedule.mark_changed(Area::Ships, at(304));
        assert_eq!(schedule.due_at(Area::Ships), None);
        schedule.request_all(at(305));
        assert!(schedule.is_due(Area::Ships, at(305)));
    }

    /// CLI-02: neither the member nor a new session shortens a `Retry-After` time.
    #[test]
    fn retry_after_applies_to_every_initiator() {
        let mut schedule = begun();
        schedule.mark_failed(Area::Stock, ErrorKind::Busy, Some(at(600)), at(0), 0.0);
        schedule.request_all(at(10));
        assert_eq!(schedule.due_at(Area::Stock), Some(at(600)));
        schedule.begin_session([Area::Stock], at(20));
        assert_eq!(schedule.next_action(at(20)), ScheduledAction::Wait(at(580)));
        schedule.mark_changed(Area::Stock, at(30));
        assert_eq!(schedule.due_at(Area::Stock), Some(at(600)));
        schedule.mark_done(Area::Stock, at(601));
        schedule.request_all(at(602));
        assert!(schedule.is_due(Area::Stock, at(602)));
    }

    /// An error of the session stops all areas until another session begins or the member requests a read.
    #[test]
    fn session_error_stops_all_areas() {
        for kind in [ErrorKind::Halted(HaltReason::Suspended), ErrorKind::SignInNeeded] {
            let mut schedule = begun();
            schedule.mark_failed(Area::Stock, kind, None, at(1), 0.0);
            assert_eq!(schedule.next_action(at(1_000_000)), ScheduledAction::Idle);
            schedule.begin_session([Area::Ships], at(1_000_001));
            assert_eq!(
                schedule.next_action(at(1_000_001)),
                ScheduledAction::Read(Area::Ships, CallInitiator::Program)
            );
        }
    }

    /// LIM-17, CLI-02: an area that was read for the previous session is read again for the new one, whatever
    /// the result was, but not before its `Retry-After` time.
    #[test]
    fn session_begun_during_a_read_is_read_again() {
        let during = || {
            let mut schedule = begun();
            schedule.mark_reading(Area::Stock);
            schedule.begin_session([Area::Stock], at(5));
            assert_eq!(schedule.next_action(at(5)), ScheduledAction::Idle, "the area is being read");
            schedule
        };
        let mut schedule = during();
        schedule.mark_done(Area::Stock, at(6));
        assert_eq!(schedule.next_action(at(6)), ScheduledAction::Read(Area::Stock, CallInitiator::Program));
        for kind in [ErrorKind::SignInNeeded, ErrorKind::NotPermitted, ErrorKind::Unreachable] {
            let mut schedule = during();
            schedule.mark_failed(Area::Stock, kind, None, at(6), 0.5);
            assert_eq!(
                schedule.next_action(at(6)),
                ScheduledAction::Read(Area::Stock, CallInitiator::Program),
                "{kind:?}"
            );
            schedule.mark_reading(Area::Stock);
            schedule.mark_failed(Area::Stock, kind, None, at(7), 0.5);
            assert!(!schedule.is_due(Area::Stock, at(7)), "{kind:?}");
        }
        let mut schedule = during();
        schedule.mark_failed(Area::Stock, ErrorKind::Busy, Some(at(60)), at(6), 0.5);
        assert_eq!(schedule.due_at(Area::Stock), Some(at(66)));
    }

    /// CLI-02: a request of the member during a read is neither delayed by an error of that read, nor lost if
    /// the read is abandoned. A `Retry-After` time still applies.
    #[test]
    fn request_during_a_read_is_served_after_it() {
        for (retry_after, next) in [
            (None, ScheduledAction::Read(Area::Stock, CallInitiator::Member)),
            (Some(at(60)), ScheduledAction::Wait(at(60))),
        ] {
            let mut schedule = SyncSchedule::new(MIN_SYNC_INTERVAL);
            schedule.begin_session([Area::Stock], at(0));
            schedule.mark_reading(Area::Stock);
            schedule.request_all(at(30));
            schedule.mark_failed(Area::Stock, ErrorKind::Unreachable, retry_after, at(31), 0.5);
            assert_eq!(schedule.next_action(at(31)), next);
            schedule.mark_reading(Area::Stock);
            schedule.mark_failed(Area::Stock, ErrorKind::Unreachable, None, at(100), 0.5);
            assert!(
                matches!(schedule.next_action(at(100)), ScheduledAction::Wait(_)),
                "the request of the member is served once"
            );
        }
        let mut schedule = begun();
        schedule.mark_reading(Area::Ships);
        schedule.request_all(at(1));
        schedule.mark_abandoned(Area::Ships);
        schedule.mark_reading(Area::Stock);
        schedule.mark_done(Area::Stock, at(2));
        assert_eq!(schedule.next_action(at(2)), ScheduledAction::Read(Area::Ships, CallInitiator::Member));
    }
}
