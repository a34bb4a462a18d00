//! Property tests of the server clock, with random events on the client's machine and a server whose clock is
//! never changed.

use proptest::{collection::vec, prelude::*};

use super::{
    tests::{GATEWAY, HOUR, MILLI, MINUTE, PROVIDER, SECOND, World},
    *,
};
use crate::Attempt;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() }
}

#[derive(Clone, Copy, Debug)]
enum ClockEvent {
    /// A response, with the durations of the request's and of its own transmission.
    Answer(i128, i128),
    Idle(i128),
    Sleep(i128),
    StepWall(i128),
}

/// Generates a history of responses, idle times and disturbances. All disturbances of a history are of the
/// same kind, sleep or steps of the wall clock, so one of the two local clocks is always correct.
fn clock_history() -> impl Strategy<Value = Vec<ClockEvent>> {
    let event = |sleeps: bool| {
        let trouble = if sleeps {
            (0..24 * HOUR).prop_map(ClockEvent::Sleep).boxed()
        } else {
            (-24 * HOUR..24 * HOUR).prop_map(ClockEvent::StepWall).boxed()
        };
        prop_oneof![
            4 => trip().prop_map(|(there, back)| ClockEvent::Answer(there, back)),
            2 => (0..2 * HOUR).prop_map(ClockEvent::Idle),
            1 => trouble,
        ]
    };
    any::<bool>().prop_flat_map(move |sleeps| vec(event(sleeps), 1..30))
}

/// Generates round trips, most of which are short.
fn trip() -> impl Strategy<Value = (i128, i128)> {
    let way = || prop_oneof![3 => 0..200 * MILLI, 1 => 0..29 * SECOND];
    (way(), way())
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
        let mut world = World::ahead(offset).rate(rate);
        let mut clock = ServerClock::default();
        for event in history {
            match event {
                ClockEvent::Idle(time) => world.pass(time),
                ClockEvent::Sleep(time) => world.sleep(time),
                ClockEvent::StepWall(by) => world.step_wall(by),
                ClockEvent::Answer(there, back) => {
                    let response = world.answer(there, back).unwrap();
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
                let truth = TimeBounds::from_start(world.server().since_epoch(), Duration::ZERO);
                let bounds = anchor.extrapolate_to(world.reading(), ClockTolerance::default()).bounds;
                prop_assert!(bounds.intersection(truth).is_some());
                let estimate = clock.now(world.reading());
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
        there in 0..10 * SECOND,
        back in 0..10 * SECOND,
        idle in 0..10 * MINUTE,
        next in 0..6 * SECOND,
    ) {
        for offset in [offset, small] {
            let mut world = World::ahead(offset).rate(rate);
            let mut clock = ServerClock::default();
            clock.observe(&world.answer(there, back).unwrap());
            world.pass(idle);
            prop_assert!(world.accepts(&clock, GATEWAY, next));
            prop_assert!(world.accepts(&clock, PROVIDER, next));
        }
    }

    /// DPP-10: whatever caused the first rejection, the second proof has a correct `iat`.
    #[test]
    fn retry_is_accepted_after_any_offset(
        offset in -24 * HOUR..24 * HOUR,
        there in 0..5 * SECOND,
        back in 0..5 * SECOND,
    ) {
        for window in [GATEWAY, PROVIDER] {
            let mut world = World::ahead(offset);
            let mut clock = ServerClock::default();
            let sent_iat = clock.iat(world.reading(), window);
            let accepted = world.accepts(&clock, window, there);
            let rejection = world.answer(there, back).unwrap();
            clock.observe(&rejection);
            let then = clock.after_rejection(sent_iat, Some(&rejection), window, Attempt::First);
            if !accepted {
                prop_assert_eq!(then, ClockAction::RetryWithCorrectedClock);
            }
            prop_assert!(world.accepts(&clock, window, there));
        }
    }
}
