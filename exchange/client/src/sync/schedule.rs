//! When which area is read. No clock: every moment is given, by the monotonic one.

use std::{collections::BTreeMap, time::Duration};

use crate::{backoff::Backoff, error::ErrorKind, feed::Area, pace::Asked};

/// The least time between synchronisations by timer (LIM-17).
pub const EVERY: Duration = Duration::from_secs(300);

/// When which area is read: at the start of a session, after a local change, and by timer (LIM-17); after trouble
/// with back-off (LIM-16).
#[derive(Clone, Debug)]
pub struct Schedule {
    every: Duration,
    backoff: Backoff,
    areas: BTreeMap<Area, Turn>,
    /// Trouble of the session stopped everything.
    stopped: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// `None`: not before something happens.
    due: Option<Duration>,
    /// What the exchange asked for: nothing makes it earlier (CLI-02).
    not_before: Duration,
    failures: u32,
    reading: bool,
    /// The member asked for it.
    by_member: bool,
    /// It is read for a session of before: whatever becomes of that, it is as due as the one that began since made it.
    of_former: bool,
    /// Something was sent while it was read, which may have come too late for a page, or the member asked.
    again: Option<Asked>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read this area, for whom.
    Read(Area, Asked),
    /// Nothing is due for so long.
    Wait(Duration),
    /// Nothing will be due before something happens.
    Nothing,
}

/// How far trouble goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// It passes: the area is tried again after a while.
    Passes,
    /// The area stops until a session begins or the member asks.
    Area,
    /// Everything stops until a session begins or the member asks.
    Session,
}

impl Trouble {
    /// What kind of error is how far.
    #[must_use]
    pub const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) | ErrorKind::Halted(_) | ErrorKind::Secrets => {
                Self::Session
            }
            ErrorKind::ScopeMissing
            | ErrorKind::NotPermitted
            | ErrorKind::Invalid
            | ErrorKind::TooLarge
            | ErrorKind::Bug => Self::Area,
            _ => Self::Passes,
        }
    }
}

impl Schedule {
    /// With so much time between synchronisations by timer, never less than [`EVERY`]. Nothing is due before a
    /// session begins.
    #[must_use]
    pub fn new(every: Duration) -> Self {
        let (backoff, areas) = (Backoff::default(), BTreeMap::new());
        Self { every: every.max(EVERY), backoff, areas, stopped: false }
    }

    /// A session begins, which can read these areas: all are due, and no other one is any more. What the exchange
    /// asked an area to wait for holds on.
    pub fn session(&mut self, areas: impl IntoIterator<Item = Area>, now: Duration) {
        let before = std::mem::take(&mut self.areas);
        self.stopped = false;
        for area in areas {
            let before = before.get(&area).copied().unwrap_or_default();
            let (due, of_former) = (Some(now.max(before.not_before)), before.reading);
            let turn = Turn { due, failures: 0, of_former, ..before };
            self.areas.insert(area, turn);
        }
    }

    /// Something was sent to the area (LIM-17, WRT-08). A stopped one stays so, and trouble is waited out.
    pub fn changed(&mut self, area: Area, now: Duration) {
        if let Some(turn) = self.areas.get_mut(&area) {
            turn.again = turn.again.or(turn.reading.then_some(Asked::ByProgram));
            if turn.failures == 0 && turn.due.is_some() {
                turn.due = Some(now.max(turn.not_before));
            }
        }
    }

    /// The member asked: everything is due, as soon as the exchange allows (CLI-02).
    pub fn asked(&mut self, now: Duration) {
        self.stopped = false;
        for turn in self.areas.values_mut() {
            turn.due = Some(now.max(turn.not_before));
            match turn.reading {
                true => turn.again = Some(Asked::ByMember),
                false => turn.by_member = true,
            }
        }
    }

    /// Whether it is time.
    #[must_use]
    pub fn is_due(&self, area: Area, now: Duration) -> bool {
        self.due(area).is_some_and(|due| due <= now)
    }

    /// When it is time; `None` while nothing makes it so.
    #[must_use]
    pub fn due(&self, area: Area) -> Option<Duration> {
        self.areas.get(&area).and_then(|turn| turn.due)
    }

    /// Whether everything stopped: nothing at all is sent by timer (CLI-04).
    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What to do now: whatever is due longest.
    #[must_use]
    pub fn next(&self, now: Duration) -> Next {
        let due = self.areas.iter().filter(|(_, turn)| !turn.reading);
        match due.filter_map(|(area, turn)| Some((turn.due?, *area, turn.by_member))).min() {
            None => Next::Nothing,
            Some((due, area, true)) if due <= now => Next::Read(area, Asked::ByMember),
            Some((due, area, false)) if due <= now => Next::Read(area, Asked::ByProgram),
            Some((due, ..)) => Next::Wait(due - now),
        }
    }

    /// An area is being read.
    pub fn begins(&mut self, area: Area) {
        if let Some(turn) = self.areas.get_mut(&area) {
            (turn.reading, turn.of_former, turn.again) = (true, false, None);
        }
    }

    /// Nobody reads it any more, neither to its end nor with trouble: it is as due as it was.
    pub fn abandoned(&mut self, area: Area) {
        if let Some(turn) = self.areas.get_mut(&area) {
            turn.by_member |= turn.again == Some(Asked::ByMember);
            (turn.reading, turn.of_former, turn.again) = (false, false, None);
        }
    }

    /// It was read to its end.
    pub fn done(&mut self, area: Area, now: Duration) {
        if self.is_of_former(area) {
            return self.abandoned(area);
        }
        if let Some(turn) = self.areas.get_mut(&area) {
            let due = if turn.again.is_some() { now } else { now.saturating_add(self.every) };
            // What the member asked for while it was read is still to come.
            let by_member = turn.again == Some(Asked::ByMember);
            *turn = Turn { due: Some(due), by_member, ..Turn::default() };
        }
    }

    fn is_of_former(&self, area: Area) -> bool {
        self.areas.get(&area).is_some_and(|turn| turn.of_former)
    }

    /// It could not be read. `asked` is what `Retry-After` said, `fraction` a random number from 0 to below 1.
    pub fn failed(
        &mut self,
        area: Area,
        kind: ErrorKind,
        asked: Option<Duration>,
        now: Duration,
        fraction: f64,
    ) {
        if self.is_of_former(area) {
            self.abandoned(area);
            if let (Some(turn), Some(asked)) = (self.areas.get_mut(&area), asked) {
                turn.not_before = now.saturating_add(asked);
                turn.due = turn.due.map(|due| due.max(turn.not_before));
            }
            return;
        }
        let trouble = Trouble::of(kind);
        if trouble == Trouble::Session {
            self.areas.values_mut().for_each(|turn| turn.due = None);
            self.stopped = true;
        }
        let Some(turn) = self.areas.get_mut(&area) else { return };
        let asked_again = turn.again.take() == Some(Asked::ByMember);
        (turn.reading, turn.by_member) = (false, asked_again);
        turn.failures = turn.failures.saturating_add(1);
        turn.not_before = now.saturating_add(asked.unwrap_or_default());
        turn.due = match trouble {
            // The member's word ends the own back-off, as it does while nothing is read.
            Trouble::Passes if asked_again => Some(turn.not_before),
            Trouble::Passes => Some(now.saturating_add(self.backoff.after(turn.failures, asked, fraction))),
            Trouble::Area | Trouble::Session => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Halt;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn begun() -> Schedule {
        let mut schedule = Schedule::new(EVERY);
        schedule.session([Area::Stock, Area::Ships], at(0));
        schedule
    }

    /// LIM-17: on start, after a local change, and every 5 minutes at most.
    #[test]
    fn areas_are_read_on_start_after_a_change_and_by_timer() {
        let mut schedule = Schedule::new(at(1));
        assert_eq!(schedule.next(at(0)), Next::Nothing);
        schedule.session([Area::Stock, Area::Ships], at(0));
        for _ in 0..2 {
            let Next::Read(area, Asked::ByProgram) = schedule.next(at(10)) else { panic!("both are due") };
            schedule.begins(area);
            schedule.done(area, at(10));
        }
        assert_eq!(schedule.next(at(10)), Next::Wait(at(300)));
        schedule.changed(Area::Ships, at(20));
        assert_eq!(schedule.next(at(20)), Next::Read(Area::Ships, Asked::ByProgram));
        schedule.begins(Area::Ships);
        assert_eq!(schedule.next(at(20)), Next::Wait(at(290)));
        // What was sent meanwhile may have come too late.
        schedule.changed(Area::Ships, at(21));
        schedule.done(Area::Ships, at(22));
        assert_eq!(schedule.next(at(22)), Next::Read(Area::Ships, Asked::ByProgram));
        schedule.begins(Area::Ships);
        schedule.asked(at(22));
        schedule.begins(Area::Stock);
        schedule.done(Area::Stock, at(22));
        schedule.done(Area::Ships, at(23));
        assert_eq!(
            schedule.next(at(23)),
            Next::Read(Area::Ships, Asked::ByMember),
            "the member's word counts"
        );
        schedule.begins(Area::Ships);
        schedule.done(Area::Ships, at(23));
        assert_eq!(schedule.next(at(322)), Next::Read(Area::Stock, Asked::ByProgram));
        // An area that no capability covers is not read, whatever is sent.
        schedule.changed(Area::Blueprints, at(24));
        assert!(!schedule.is_due(Area::Blueprints, at(10_000)));
    }

    /// LIM-16: trouble that passes is waited out, by that area alone.
    #[test]
    fn one_areas_trouble_does_not_stop_others() {
        let mut schedule = begun();
        for (failures, wait) in [(1, 5), (2, 10), (3, 20)] {
            schedule.begins(Area::Stock);
            schedule.failed(Area::Stock, ErrorKind::Busy, None, at(100 * failures), 0.0);
            assert_eq!(schedule.due(Area::Stock), Some(at(100 * failures + wait)));
        }
        assert_eq!(schedule.next(at(301)), Next::Read(Area::Ships, Asked::ByProgram));
        // Neither a local change nor another session is a reason to hurry a failing area; the member is.
        schedule.changed(Area::Stock, at(301));
        assert_eq!(schedule.due(Area::Stock), Some(at(320)));
        schedule.asked(at(302));
        assert_eq!(schedule.due(Area::Stock), Some(at(302)));
        assert_eq!(schedule.next(at(302)), Next::Read(Area::Stock, Asked::ByMember));
        // One that the exchange does not want read stops.
        schedule.failed(Area::Ships, ErrorKind::NotPermitted, None, at(303), 0.0);
        assert_eq!(schedule.due(Area::Ships), None);
        schedule.changed(Area::Ships, at(304));
        assert_eq!(schedule.due(Area::Ships), None);
        schedule.asked(at(305));
        assert!(schedule.is_due(Area::Ships, at(305)));
    }

    /// CLI-02: nobody makes it earlier than the exchange asked, neither the member nor a new session.
    #[test]
    fn retry_after_holds_whoever_asks() {
        let mut schedule = begun();
        schedule.failed(Area::Stock, ErrorKind::Busy, Some(at(600)), at(0), 0.0);
        schedule.asked(at(10));
        assert_eq!(schedule.due(Area::Stock), Some(at(600)));
        schedule.session([Area::Stock], at(20));
        assert_eq!(schedule.next(at(20)), Next::Wait(at(580)));
        schedule.changed(Area::Stock, at(30));
        assert_eq!(schedule.due(Area::Stock), Some(at(600)));
        schedule.done(Area::Stock, at(601));
        schedule.asked(at(602));
        assert!(schedule.is_due(Area::Stock, at(602)));
    }

    /// What is about the session stops all of it, until another begins or the member asks.
    #[test]
    fn trouble_of_the_session_stops_everything() {
        for kind in [ErrorKind::Halted(Halt::Suspended), ErrorKind::SignInNeeded] {
            let mut schedule = begun();
            schedule.failed(Area::Stock, kind, None, at(1), 0.0);
            assert_eq!(schedule.next(at(1_000_000)), Next::Nothing);
            schedule.session([Area::Ships], at(1_000_001));
            assert_eq!(schedule.next(at(1_000_001)), Next::Read(Area::Ships, Asked::ByProgram));
        }
    }

    /// LIM-17, CLI-02: what was read for the session before is read anew for the one that began meanwhile, whatever became of
    /// it, and no earlier than the exchange asked.
    #[test]
    fn a_session_that_begins_during_a_reading_has_one_of_its_own() {
        let during = || {
            let mut schedule = begun();
            schedule.begins(Area::Stock);
            schedule.session([Area::Stock], at(5));
            assert_eq!(schedule.next(at(5)), Next::Nothing, "it is being read");
            schedule
        };
        let mut schedule = during();
        schedule.done(Area::Stock, at(6));
        assert_eq!(schedule.next(at(6)), Next::Read(Area::Stock, Asked::ByProgram));
        for kind in [ErrorKind::SignInNeeded, ErrorKind::NotPermitted, ErrorKind::Unreachable] {
            let mut schedule = during();
            schedule.failed(Area::Stock, kind, None, at(6), 0.5);
            assert_eq!(schedule.next(at(6)), Next::Read(Area::Stock, Asked::ByProgram), "{kind:?}");
            schedule.begins(Area::Stock);
            schedule.failed(Area::Stock, kind, None, at(7), 0.5);
            assert!(!schedule.is_due(Area::Stock, at(7)), "{kind:?}");
        }
        let mut schedule = during();
        schedule.failed(Area::Stock, ErrorKind::Busy, Some(at(60)), at(6), 0.5);
        assert_eq!(schedule.due(Area::Stock), Some(at(66)));
    }

    /// CLI-02: what the member asked for while it was read is not put off by the trouble that the reading met, and is
    /// not forgotten when the reading is given up; what the exchange asked for holds.
    #[test]
    fn what_the_member_asks_during_a_reading_is_read_after_it() {
        for (asked, next) in
            [(None, Next::Read(Area::Stock, Asked::ByMember)), (Some(at(60)), Next::Wait(at(60)))]
        {
            let mut schedule = Schedule::new(EVERY);
            schedule.session([Area::Stock], at(0));
            schedule.begins(Area::Stock);
            schedule.asked(at(30));
            schedule.failed(Area::Stock, ErrorKind::Unreachable, asked, at(31), 0.5);
            assert_eq!(schedule.next(at(31)), next);
            schedule.begins(Area::Stock);
            schedule.failed(Area::Stock, ErrorKind::Unreachable, None, at(100), 0.5);
            assert!(matches!(schedule.next(at(100)), Next::Wait(_)), "it is asked for once");
        }
        let mut schedule = begun();
        schedule.begins(Area::Ships);
        schedule.asked(at(1));
        schedule.abandoned(Area::Ships);
        schedule.begins(Area::Stock);
        schedule.done(Area::Stock, at(2));
        assert_eq!(schedule.next(at(2)), Next::Read(Area::Ships, Asked::ByMember));
    }
}
