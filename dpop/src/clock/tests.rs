//! Tests of the server clock with a simulated machine and server.

use super::*;
use crate::Attempt;

/// The windows of the exchange's gateway and identity provider: LIM-10, and LIM-11 with A40.
pub(super) const GATEWAY: ProofWindow = ProofWindow::from_secs(30, 30);
pub(super) const PROVIDER: ProofWindow = ProofWindow::from_secs(25, 15);

/// The true time and the clocks of a simulated machine. All values are nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct SimulatedMachine {
    server: i128,
    wall: i128,
    monotonic: i128,
    /// The rate error of the monotonic clock, in parts per million.
    rate: i128,
}

pub(super) const MILLI: i128 = 1_000_000;
pub(super) const SECOND: i128 = 1_000 * MILLI;
pub(super) const MINUTE: i128 = 60 * SECOND;
pub(super) const HOUR: i128 = 60 * MINUTE;

impl SimulatedMachine {
    /// Creates a machine whose server is `offset` ahead of the wall clock.
    pub(super) fn server_ahead_by(offset: i128) -> Self {
        let server = 1_800_000_000 * SECOND + 123_456_789;
        Self { server, wall: server - offset, monotonic: HOUR, rate: 1_000_000 }
    }

    pub(super) fn rate(self, rate: i128) -> Self {
        Self { rate, ..self }
    }

    pub(super) fn advance(&mut self, time: i128) {
        self.sleep(time);
        self.monotonic += time * self.rate / 1_000_000;
    }

    /// Advances the true time and the wall clock, but not the monotonic clock.
    pub(super) fn sleep(&mut self, time: i128) {
        self.server += time;
        self.wall += time;
    }

    pub(super) fn step_wall(&mut self, by: i128) {
        self.wall += by;
    }

    fn step_server(&mut self, by: i128) {
        self.server += by;
    }

    pub(super) fn server(&self) -> UnixTime {
        UnixTime::default() + to_duration(self.server)
    }

    pub(super) fn reading(&self) -> ClockReading {
        ClockReading {
            wall: UnixTime::default() + to_duration(self.wall),
            monotonic: to_duration(self.monotonic),
        }
    }

    /// Returns a response whose `Date` was written `request_delay` after the request was sent, and which arrived
    /// `response_delay` later.
    pub(super) fn observe_response(
        &mut self,
        request_delay: i128,
        response_delay: i128,
    ) -> Result<ClockObservation, ObservationError> {
        let sent = self.reading();
        self.advance(request_delay);
        let date = self.server();
        self.advance(response_delay);
        ClockObservation::new(date, sent, self.reading())
    }

    /// Returns a response without a round trip and with a `Date` of this age.
    fn cached_response(&mut self, age: i128) -> ClockObservation {
        let date = UnixTime::default() + to_duration(self.server - age);
        ClockObservation::new(date, self.reading(), self.reading()).unwrap()
    }

    /// Returns the error of the estimate and asserts that it is within the reported uncertainty.
    #[track_caller]
    fn estimate_error(&self, clock: &ServerClock) -> i128 {
        let estimate = clock.now(self.reading());
        let error = to_nanos(estimate.time.since_epoch()) - self.server;
        assert!(error.abs() <= to_nanos(estimate.uncertainty), "{error} ns, {estimate:?}");
        error
    }

    fn basis(&self, clock: &ServerClock) -> EstimateBasis {
        clock.now(self.reading()).basis
    }

    /// Returns true if the server accepts a proof that is created now and arrives after `request_delay`.
    pub(super) fn accepts(mut self, clock: &ServerClock, window: ProofWindow, request_delay: i128) -> bool {
        let iat = clock.iat(self.reading(), window);
        self.advance(request_delay);
        let now = self.server();
        now <= iat + window.past && iat <= now + window.future
    }
}

fn clock_after(responses: impl IntoIterator<Item = ClockObservation>) -> ServerClock {
    let mut clock = ServerClock::default();
    responses.into_iter().for_each(|response| clock.observe(&response));
    clock
}

/// DPP-09: one response corrects any offset of the wall clock.
#[test]
fn one_response_corrects_any_offset() {
    for seconds in [25, 26, 30, 60, 90, 600, 3599, 3600] {
        for offset in [seconds * SECOND, -seconds * SECOND] {
            for round_trip in [0, 20 * MILLI, 300 * MILLI, SECOND, 3 * SECOND, 10 * SECOND] {
                for request_delay in [0, round_trip / 2, round_trip] {
                    let mut machine = SimulatedMachine::server_ahead_by(offset);
                    assert!(!machine.accepts(&ServerClock::default(), PROVIDER, 0));

                    let clock =
                        clock_after(machine.observe_response(request_delay, round_trip - request_delay));
                    assert!(machine.estimate_error(&clock).abs() <= SECOND / 2 + round_trip / 2);
                    assert_eq!(machine.basis(&clock), EstimateBasis::Server);
                    for window in [GATEWAY, PROVIDER] {
                        assert!(
                            machine.accepts(&clock, window, round_trip),
                            "{offset} {round_trip} {request_delay} {window:?}"
                        );
                    }
                }
            }
        }
    }
}

/// DPP-09, A30, A40: `iat` is a whole second in the middle of the window.
#[test]
fn iat_is_a_whole_second_near_the_middle() {
    let reading =
        |millis| ClockReading { wall: UnixTime::from_millis(millis), monotonic: Duration::from_secs(5) };
    let clock = ServerClock::default();
    let iat = |millis, window| clock.iat(reading(millis), window).since_epoch();
    assert_eq!(iat(1_000_999, GATEWAY), Duration::from_secs(1000));
    assert_eq!(iat(1_000_999, PROVIDER), Duration::from_secs(995));
    assert_eq!(iat(1_000_999, ProofWindow::from_secs(0, 10)), Duration::from_secs(1005));
    assert_eq!(iat(4_000, PROVIDER), Duration::ZERO); // no time before 1970
    let estimate = clock.now(reading(7));
    assert_eq!(
        estimate,
        TimeEstimate {
            time: UnixTime::from_millis(7),
            uncertainty: Duration::MAX,
            basis: EstimateBasis::Unmeasured
        }
    );
}

/// DPP-09, A30: only an offset of more than 2 s is corrected.
#[test]
fn small_offsets_are_not_corrected() {
    // The `Date` is 1000 and there is no round trip, so the server's time is 1000.5 ± 0.5.
    #[track_caller]
    fn check(wall_millis: u64, basis: EstimateBasis, time_millis: u64, uncertainty_millis: u64) {
        let reading = ClockReading { wall: UnixTime::from_millis(wall_millis), monotonic: Duration::ZERO };
        let clock = clock_after(ClockObservation::new(UnixTime::from_millis(1_000_900), reading, reading));
        let time = UnixTime::from_millis(time_millis);
        let uncertainty = Duration::from_millis(uncertainty_millis);
        assert_eq!(clock.now(reading), TimeEstimate { time, uncertainty, basis });
    }

    check(1_000_500, EstimateBasis::Local, 1_000_500, 500);
    check(1_000_900, EstimateBasis::Local, 1_000_900, 900);
    check(998_500, EstimateBasis::Local, 998_500, 2_500);
    check(998_499, EstimateBasis::Server, 1_000_500, 500);
    check(1_002_500, EstimateBasis::Local, 1_002_500, 2_500);
    check(1_002_501, EstimateBasis::Server, 1_000_500, 500);
}

/// DPP-09: a slow response does not widen the bounds, and many responses narrow them.
#[test]
fn slow_response_keeps_bounds_and_many_narrow_them() {
    let mut machine = SimulatedMachine::server_ahead_by(100 * SECOND);
    let mut clock = clock_after(machine.observe_response(10 * MILLI, 10 * MILLI));
    assert_eq!(clock.now(machine.reading()).uncertainty, Duration::from_millis(510));

    let slow = machine.observe_response(0, 30 * SECOND).unwrap();
    assert_eq!(clock_after([slow]).now(machine.reading()).uncertainty, Duration::from_millis(15_500));
    clock.observe(&slow);
    // The drift lowers the lower bound by 15 ms. The `Date` of the slow response lowers the upper bound by
    // the 20 ms of the fast response's round trip.
    assert_eq!(clock.now(machine.reading()).uncertainty, Duration::from_micros(507_500));

    for _ in 0..20 {
        machine.advance(1_130 * MILLI);
        clock.observe(&machine.observe_response(10 * MILLI, 10 * MILLI).unwrap());
        machine.estimate_error(&clock);
    }
    assert!(clock.now(machine.reading()).uncertainty < Duration::from_millis(150));
    assert_eq!(clock.contradictions(), 0);
}

/// DPP-09: after the machine was suspended, the estimate continues with the wall clock.
#[test]
fn suspended_machine() {
    for offset in [0, 60 * SECOND, -HOUR] {
        let mut machine = SimulatedMachine::server_ahead_by(offset);
        let mut clock = clock_after(machine.observe_response(50 * MILLI, 50 * MILLI));
        machine.sleep(8 * HOUR);
        assert_eq!(machine.basis(&clock), EstimateBasis::ReanchoredToWall);
        assert!(machine.estimate_error(&clock).abs() <= SECOND);
        assert!(clock.now(machine.reading()).uncertainty >= Duration::from_secs(8 * 3600));
        assert!(machine.accepts(&clock, PROVIDER, SECOND));

        clock.observe(&machine.observe_response(50 * MILLI, 50 * MILLI).unwrap());
        assert!(clock.now(machine.reading()).uncertainty < Duration::from_secs(2));
        assert_eq!(clock.contradictions(), 0);
    }
    // The machine slept during the request, so the `Date` may be as old as the sleep is long.
    let mut machine = SimulatedMachine::server_ahead_by(0);
    let sent = machine.reading();
    let date = machine.server();
    machine.sleep(HOUR);
    assert_eq!(ClockObservation::new(date, sent, machine.reading()), Err(ObservationError::TooSlow));
}

/// DPP-09: if the monotonic clock runs too fast or too slowly, the estimate continues with the wall clock.
#[test]
fn inaccurate_monotonic_clock() {
    for rate in [700_000, 1_300_000] {
        for offset in [0, 60 * SECOND, -HOUR] {
            let mut machine = SimulatedMachine::server_ahead_by(offset).rate(rate);
            let clock = clock_after(machine.observe_response(50 * MILLI, 50 * MILLI));
            for time in [SECOND, 5 * SECOND, MINUTE, HOUR, 24 * HOUR] {
                machine.advance(time);
                assert!(machine.estimate_error(&clock).abs() <= 3 * SECOND);
                assert!(machine.accepts(&clock, GATEWAY, SECOND));
                assert!(machine.accepts(&clock, PROVIDER, SECOND));
            }
            assert_eq!(machine.basis(&clock), EstimateBasis::ReanchoredToWall);
        }
    }
}

/// DPP-09: after a step of the wall clock, the uncertainty covers the step, and the next response corrects
/// the clock.
#[test]
fn stepped_wall_clock() {
    for step in [HOUR, -HOUR] {
        for offset in [0, HOUR, -HOUR] {
            let mut machine = SimulatedMachine::server_ahead_by(offset);
            let mut clock = clock_after(machine.observe_response(50 * MILLI, 50 * MILLI));
            machine.advance(MINUTE);
            machine.step_wall(step);
            assert_eq!(machine.basis(&clock), EstimateBasis::ReanchoredToWall);
            machine.estimate_error(&clock); // the error of an hour is within the reported uncertainty

            clock.observe(&machine.observe_response(50 * MILLI, 50 * MILLI).unwrap());
            assert!(machine.estimate_error(&clock).abs() <= 2 * SECOND);
            assert!(machine.accepts(&clock, PROVIDER, SECOND));
            assert_eq!(clock.contradictions(), 0);
        }
    }
}

/// DPP-09: between responses, the monotonic clock advances the estimate.
#[test]
fn monotonic_clock_counts_between_responses() {
    let mut machine = SimulatedMachine::server_ahead_by(MINUTE);
    let clock = clock_after(machine.observe_response(0, 0));
    let earlier = clock.now(machine.reading());
    for time in [2 * MINUTE, -2 * MINUTE] {
        // Responses may overtake each other, so a reading may be earlier than that of the last response.
        let mut then = machine;
        then.advance(time);
        then.step_wall(1_900 * MILLI);
        let estimate = clock.now(then.reading());
        assert_eq!(estimate.basis, EstimateBasis::Server);
        assert_eq!(to_nanos(estimate.time.since_epoch()) - to_nanos(earlier.time.since_epoch()), time);
        // The uncertainty grows by the step of 1.9 s, and by the drift over the time on the wall clock.
        let wider = to_nanos(estimate.uncertainty) - to_nanos(earlier.uncertainty);
        assert_eq!(wider, 1_900 * MILLI + (time + 1_900 * MILLI).abs() / 2_000);
    }
}

/// DPP-09: consecutive responses that contradict the previous bounds are counted.
#[test]
fn contradicting_responses_are_counted() {
    let mut machine = SimulatedMachine::server_ahead_by(10 * SECOND);
    let mut clock = clock_after(machine.observe_response(0, 0));

    // One cached response causes two contradictions: its own, and that of the next fresh response.
    clock.observe(&machine.cached_response(5 * MINUTE));
    assert_eq!(clock.contradictions(), 1);
    assert!(!machine.accepts(&clock, GATEWAY, 0));
    clock.observe(&machine.observe_response(0, 0).unwrap());
    assert_eq!(clock.contradictions(), 2);
    assert!(machine.estimate_error(&clock).abs() <= SECOND);
    machine.advance(SECOND);
    clock.observe(&machine.observe_response(0, 0).unwrap());
    assert_eq!(clock.contradictions(), 0);

    // The server's clock is set back.
    machine.step_server(-HOUR);
    clock.observe(&machine.observe_response(0, 0).unwrap());
    assert_eq!(clock.contradictions(), 1);
    assert!(machine.estimate_error(&clock).abs() <= SECOND);

    // A `Date` that is one second late does not contradict: another machine may have written it, or the
    // server updates it rarely.
    let mut clock = clock_after([machine.cached_response(0)]);
    clock.observe(&machine.cached_response(2 * SECOND));
    assert_eq!(clock.contradictions(), 0);
    clock.observe(&machine.cached_response(5 * SECOND));
    assert_eq!(clock.contradictions(), 1);
}

/// DPP-09: extreme dates and readings cause no overflow.
#[test]
fn extreme_dates_and_readings() {
    let ends = [UnixTime::default(), UnixTime::from_secs(253_402_300_799), UnixTime::from_secs(u64::MAX)];
    let readings = ends
        .into_iter()
        .flat_map(|wall| [Duration::ZERO, Duration::MAX].map(|monotonic| ClockReading { wall, monotonic }))
        .collect::<Vec<_>>();
    let mut clock = ServerClock::default();
    for _ in 0..3 {
        for date in ends {
            for &reading in &readings {
                let Ok(observation) = ClockObservation::new(date, reading, reading) else { unreachable!() };
                clock.observe(&observation);
                assert_eq!(clock.iat(reading, GATEWAY), date);
                for &later in &readings {
                    let iat = |past, future| clock.iat(later, ProofWindow { past, future });
                    let middle = iat(Duration::MAX, Duration::MAX);
                    assert_eq!(middle.as_secs(), clock.now(later).time.as_secs());
                    assert!(iat(Duration::MAX, Duration::ZERO) <= middle);
                    assert!(iat(Duration::ZERO, Duration::MAX) >= middle);
                }
                let refused = |iat| {
                    let clock = clock_after([observation]);
                    clock.after_rejection(iat, Some(&observation), GATEWAY, Attempt::First)
                };
                assert_eq!(refused(date), ClockAction::ClockIsCorrect);
                let other = UnixTime::from_secs(date.as_secs() / 2 + 1_000_000);
                assert_eq!(refused(other), ClockAction::RetryWithCorrectedClock);
            }
        }
    }
}

/// DPP-09; RFC 9110, 5.6.7: the three formats of a date are parsed.
#[test]
fn forms_of_a_date() {
    let expect = Some(UnixTime::from_secs(784_111_777));
    assert_eq!(parse_date(b"Sun, 06 Nov 1994 08:49:37 GMT"), expect);
    assert_eq!(parse_date(b"Sunday, 06-Nov-94 08:49:37 GMT"), expect);
    assert_eq!(parse_date(b"Sun Nov  6 08:49:37 1994"), expect);
    assert_eq!(parse_date(b" Sun, 06 Nov 1994 08:49:37 GMT\t"), expect);
    assert_eq!(parse_date(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(UnixTime::default()));
    assert_eq!(parse_date(b"Fri, 31 Dec 9999 23:59:59 GMT"), Some(UnixTime::from_secs(253_402_300_799)));
    for header in ["", "now", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:61 GMT"] {
        assert_eq!(parse_date(header.as_bytes()), None, "{header}");
    }
    for header in
        ["Wed, 31 Dec 1969 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 \u{fc}", "Sun, 31 Feb 2021 00:00:00 GMT"]
    {
        assert_eq!(parse_date(header.as_bytes()), None, "{header}");
    }
    assert_eq!(parse_date(b"Sun, 06 Nov 1994 08:49:37 GM\xff"), None);
}

/// DPP-09: observations with swapped readings or a long round trip are rejected.
#[test]
fn unusable_observations_are_rejected() {
    #[track_caller]
    fn check(sent: (u64, u64), received: (u64, u64), expect: Result<Duration, ObservationError>) {
        let reading = |(wall, monotonic)| ClockReading {
            wall: UnixTime::from_millis(wall),
            monotonic: Duration::from_millis(monotonic),
        };
        let observation = ClockObservation::new(UnixTime::from_secs(9), reading(sent), reading(received));
        assert_eq!(observation.map(|observation| observation.round_trip()), expect);
    }

    check((0, 5), (0, 5), Ok(Duration::ZERO));
    check((0, 5), (60_000, 60_005), Ok(Duration::from_secs(60)));
    check((0, 0), (7, 5), Ok(Duration::from_millis(7)));
    check((9_000, 0), (1_000, 5), Ok(Duration::from_millis(5)));
    check((0, 5), (0, 4), Err(ObservationError::Backwards));
    check((0, 0), (0, 60_001), Err(ObservationError::TooSlow));
    check((0, 0), (60_001, 0), Err(ObservationError::TooSlow));
    let reading = SimulatedMachine::server_ahead_by(0).reading();
    assert_eq!(ClockObservation::from_header(b"soon", reading, reading), Err(ObservationError::Malformed));
}

/// DPP-09: every origin has its own clock.
#[test]
fn each_origin_has_its_own_clock() {
    let mut clocks = ServerClocks::default();
    let (mut fast, mut slow) =
        (SimulatedMachine::server_ahead_by(HOUR), SimulatedMachine::server_ahead_by(-HOUR));
    clocks.observe("https://a.example", &fast.observe_response(0, 0).unwrap());
    clocks.observe("https://b.example", &slow.observe_response(0, 0).unwrap());
    assert!(fast.accepts(&clocks.for_origin("https://a.example"), GATEWAY, 0));
    assert!(!fast.accepts(&clocks.for_origin("https://b.example"), GATEWAY, 0));
    assert!(slow.accepts(&clocks.for_origin("https://b.example"), GATEWAY, 0));
    assert_eq!(clocks.for_origin("https://c.example"), ServerClock::default());

    // The clock that was least recently observed is dropped.
    for n in 0..15 {
        clocks.observe("https://a.example", &fast.observe_response(0, 0).unwrap());
        clocks.observe(&n.to_string(), &slow.observe_response(0, 0).unwrap());
    }
    assert_eq!(clocks.for_origin("https://b.example"), ServerClock::default());
    assert_ne!(clocks.for_origin("https://a.example"), ServerClock::default());
    assert_ne!(clocks.for_origin("0"), ServerClock::default());
}

/// DPP-10, A30, ERR-08: the action after a rejection depends on whether the clock can explain it.
#[test]
fn action_after_a_rejected_proof() {
    use ClockAction::{ClockIsCorrect, ClockUnsynchronized, RetryWithCorrectedClock};

    // Sends a proof with the clock as given, and passes the rejection with its `Date` to the clock.
    #[track_caller]
    fn check(
        machine: SimulatedMachine,
        clock: ServerClock,
        window: ProofWindow,
        round_trip: i128,
        expect: ClockAction,
    ) {
        check_delays(machine, clock, window, (round_trip / 2, round_trip / 2), expect);
    }

    #[track_caller]
    fn check_delays(
        mut machine: SimulatedMachine,
        mut clock: ServerClock,
        window: ProofWindow,
        (request_delay, response_delay): (i128, i128),
        expect: ClockAction,
    ) {
        let sent_iat = clock.iat(machine.reading(), window);
        let rejection = machine.observe_response(request_delay, response_delay).unwrap();
        clock.observe(&rejection);
        let then = |attempt| clock.after_rejection(sent_iat, Some(&rejection), window, attempt);
        assert_eq!(then(Attempt::First), expect);
        assert_eq!(then(Attempt::Retry), ClockUnsynchronized(ClockSyncError::RetryRefused));
        let without = clock.after_rejection(sent_iat, None, window, Attempt::First);
        assert_eq!(without, ClockUnsynchronized(ClockSyncError::NoDate));
        if expect == RetryWithCorrectedClock {
            assert!(machine.accepts(&clock, window, 100 * MILLI));
        }
    }

    let new = ServerClock::default();
    for window in [GATEWAY, PROVIDER] {
        for offset in [HOUR, -HOUR, 31 * SECOND, -31 * SECOND] {
            check(
                SimulatedMachine::server_ahead_by(offset),
                new,
                window,
                200 * MILLI,
                RetryWithCorrectedClock,
            );
        }
        // The offset is within the window, but the clock is corrected from now on.
        check(
            SimulatedMachine::server_ahead_by(4 * SECOND),
            new,
            window,
            200 * MILLI,
            RetryWithCorrectedClock,
        );
        check(
            SimulatedMachine::server_ahead_by(-4 * SECOND),
            new,
            window,
            200 * MILLI,
            RetryWithCorrectedClock,
        );
        // The correction is 2.2 s, which changes `iat` by 2 s.
        check(SimulatedMachine::server_ahead_by(-2_600 * MILLI), new, window, 0, RetryWithCorrectedClock);
        for offset in [0, SECOND, -SECOND] {
            check(SimulatedMachine::server_ahead_by(offset), new, window, 200 * MILLI, ClockIsCorrect);
        }
        // The clock was corrected by the same offset before.
        let mut machine = SimulatedMachine::server_ahead_by(HOUR);
        let clock = clock_after(machine.observe_response(100 * MILLI, 100 * MILLI));
        check(machine, clock, window, 200 * MILLI, ClockIsCorrect);
        // The clock was corrected by a cached response before.
        let clock = clock_after([machine.cached_response(20 * MINUTE)]);
        check(machine, clock, window, 200 * MILLI, RetryWithCorrectedClock);
        // The machine has just woken up, and its wall clock was set.
        machine.sleep(HOUR);
        machine.step_wall(-HOUR / 2);
        check(machine, clock, window, 200 * MILLI, RetryWithCorrectedClock);
    }
    // The clock is known precisely, but the proof may have been in transit for too long.
    let mut machine = SimulatedMachine::server_ahead_by(0);
    let clock = clock_after(machine.observe_response(0, 0));
    check_delays(machine, clock, GATEWAY, (25 * SECOND, 0), ClockIsCorrect);
    check_delays(machine, clock, GATEWAY, (35 * SECOND, 0), RetryWithCorrectedClock);

    // The window extends 30 s in each direction at the gateway, and 20 s from its middle at the identity
    // provider.
    check(SimulatedMachine::server_ahead_by(0), new, GATEWAY, 42 * SECOND, ClockIsCorrect);
    check(
        SimulatedMachine::server_ahead_by(0),
        new,
        PROVIDER,
        42 * SECOND,
        ClockUnsynchronized(ClockSyncError::TooUncertain),
    );

    // Every response has a different time.
    let mut machine = SimulatedMachine::server_ahead_by(0);
    let clock = clock_after([
        machine.cached_response(0),
        machine.cached_response(HOUR),
        machine.cached_response(MINUTE),
    ]);
    assert_eq!(clock.contradictions(), 2);
    check(machine, clock, GATEWAY, 0, ClockUnsynchronized(ClockSyncError::Contradictions));
}

/// A30: the threshold is 2 s by default and can be configured.
#[test]
fn tolerance_is_configurable() {
    for (corrected_beyond, expect) in
        [(2, EstimateBasis::Server), (3, EstimateBasis::Server), (6, EstimateBasis::Local)]
    {
        let mut machine = SimulatedMachine::server_ahead_by(5 * SECOND);
        let tolerance = ClockTolerance {
            corrected_beyond: Duration::from_secs(corrected_beyond),
            ..ClockTolerance::default()
        };
        let mut clock = ServerClock::new(tolerance);
        clock.observe(&machine.observe_response(MILLI, MILLI).unwrap());
        assert_eq!(clock.now(machine.reading()).basis, expect, "{corrected_beyond}");
    }
}
