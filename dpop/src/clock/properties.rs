//! Property tests of the server clock, with random events on the client's machine and a server whose clock is
//! never changed.

use proptest::{collection::vec, prelude::*};

use super::{
    tests::{GATEWAY, HOUR, MILLI, MINUTE, PROVIDER, SECOND, SimulatedMachine},
    *,
};
use crate::Attempt;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() }
}

#[derive(Clone, Copy, Debug)]
enum ClockEvent {
    /// A response, with the durations of the request's and of its own transmission.
    Response(i128, i128),
    Idle(i128),
    Sleep(i128),
    StepWall(i128),
}

/// Generates a history of responses, idle times and disturbances. All disturbances of a history are of the
/// same kind, sleep or steps of the wall clock, so one of the two local clocks is always correct.
fn clock_history() -> impl Strategy<Value = Vec<ClockEvent>> {
    let event = |sleeps: bool| {
        let disturbance = if sleeps {
            (0..24 * HOUR).prop_map(ClockEvent::Sleep).boxed()
        } else {
            (-24 * HOUR..24 * HOUR).prop_map(ClockEvent::StepWall).boxed()
        };
        prop_oneof![
            4 => round_trip().prop_map(|(request_delay, response_delay)| ClockEvent::Response(request_delay, response_delay)),
            2 => (0..2 * HOUR).prop_map(ClockEvent::Idle),
            1 => disturbance,
        ]
    };
    any::<bool>().prop_flat_map(move |sleeps| vec(event(sleeps), 1..30))
}

/// Generates round trips, most of which are short.
fn round_trip() -> impl Strategy<Value = (i128, i128)> {
    let delay = || prop_oneof![3 => 0..200 * MILLI, 1 => 0..29 * SECOND];
    (delay(), delay())
}

/// Generates rates of the monotonic clock within the assumed drift, in millionths of the correct rate.
fn rate() -> impl Strategy<Value = i128> {
    999_510..1_000_490i128
}

fn width(interval: TimeBounds) -> i128 {
    2 * interval.max_distance_from(interval.midpoint())
}

/// The maximum rounding error of divisions, in nanoseconds.
const ROUNDING: i128 = 4;

proptest! {
    #![proptest_config(config())]

    /// DPP-09: a response never widens the bounds.
    #[test]
    fn responses_never_widen_the_bounds(
        offset in -24 * HOUR..24 * HOUR,
        rate in rate(),
        history in clock_history(),
    ) {
        let mut machine = SimulatedMachine::server_ahead_by(offset).rate(rate);
        let mut clock = ServerClock::default();
        for event in history {
            match event {
                ClockEvent::Idle(time) => machine.advance(time),
                ClockEvent::Sleep(time) => machine.sleep(time),
                ClockEvent::StepWall(by) => machine.step_wall(by),
                ClockEvent::Response(request_delay, response_delay) => {
                    let response = machine.observe_response(request_delay, response_delay).unwrap();
                    let before = clock.anchor.map(|anchor| anchor.extrapolate_to(response.received(), ClockTolerance::default()).bounds);
                    clock.observe(&response);
                    prop_assert_eq!(clock.contradictions(), 0);
                    let bounds = clock.anchor.unwrap().server;
                    prop_assert!(width(bounds) <= width(response.server_bounds()) + ROUNDING);
                    if let Some(before) = before {
                        prop_assert!(width(bounds) <= width(before) + ROUNDING);
                    }
                }
            }
            if let Some(anchor) = clock.anchor {
                let truth = TimeBounds::from_start(machine.server().since_epoch(), Duration::ZERO);
                let bounds = anchor.extrapolate_to(machine.reading(), ClockTolerance::default()).bounds;
                prop_assert!(bounds.intersection(truth).is_some());
                let estimate = clock.now(machine.reading());
                let reach = truth.max_distance_from(to_nanos(estimate.time.since_epoch()));
                prop_assert!(reach.abs() <= to_nanos(estimate.uncertainty));
            }
        }
    }

    /// DPP-09, DPP-10: after one correct response, proofs are valid for ten minutes, even if a request takes
    /// up to 6 s to reach the server.
    #[test]
    fn one_correct_response_synchronizes_the_clock(
        offset in -24 * HOUR..24 * HOUR,
        small in -20 * SECOND..20 * SECOND,
        rate in rate(),
        request_delay in 0..10 * SECOND,
        response_delay in 0..10 * SECOND,
        idle in 0..10 * MINUTE,
        next in 0..6 * SECOND,
    ) {
        for offset in [offset, small] {
            let mut machine = SimulatedMachine::server_ahead_by(offset).rate(rate);
            let mut clock = ServerClock::default();
            clock.observe(&machine.observe_response(request_delay, response_delay).unwrap());
            machine.advance(idle);
            prop_assert!(machine.accepts(&clock, GATEWAY, next));
            prop_assert!(machine.accepts(&clock, PROVIDER, next));
        }
    }

    /// DPP-10: whatever caused the first rejection, the second proof has a correct `iat`.
    #[test]
    fn retry_is_accepted_after_any_offset(
        offset in -24 * HOUR..24 * HOUR,
        request_delay in 0..5 * SECOND,
        response_delay in 0..5 * SECOND,
    ) {
        for window in [GATEWAY, PROVIDER] {
            let mut machine = SimulatedMachine::server_ahead_by(offset);
            let mut clock = ServerClock::default();
            let sent_iat = clock.iat(machine.reading(), window);
            let accepted = machine.accepts(&clock, window, request_delay);
            let rejection = machine.observe_response(request_delay, response_delay).unwrap();
            clock.observe(&rejection);
            let then = clock.after_rejection(sent_iat, Some(&rejection), window, Attempt::First);
            if !accepted {
                prop_assert_eq!(then, ClockAction::RetryWithCorrectedClock);
            }
            prop_assert!(machine.accepts(&clock, window, request_delay));
        }
    }
}
