//! Rules that hold for all histories of a machine and an honest server.

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
enum Event {
    /// There and back.
    Answer(i128, i128),
    Idle(i128),
    Sleep(i128),
    StepWall(i128),
}

/// Answers, and one kind of trouble: each leaves one of the local clocks right.
fn history() -> impl Strategy<Value = Vec<Event>> {
    let event = |sleeps: bool| {
        let trouble = if sleeps {
            (0..24 * HOUR).prop_map(Event::Sleep).boxed()
        } else {
            (-24 * HOUR..24 * HOUR).prop_map(Event::StepWall).boxed()
        };
        prop_oneof![
            4 => trip().prop_map(|(there, back)| Event::Answer(there, back)),
            2 => (0..2 * HOUR).prop_map(Event::Idle),
            1 => trouble,
        ]
    };
    any::<bool>().prop_flat_map(move |sleeps| vec(event(sleeps), 1..30))
}

/// Short ones most of the time.
fn trip() -> impl Strategy<Value = (i128, i128)> {
    let way = || prop_oneof![3 => 0..200 * MILLI, 1 => 0..29 * SECOND];
    (way(), way())
}

/// Parts per million by which the monotonic clock runs right or wrong, within the allowance.
fn rate() -> impl Strategy<Value = i128> {
    999_510..1_000_490i128
}

fn width(interval: Interval) -> i128 {
    2 * interval.reach_from(interval.centre())
}

/// Rounding of halves and of drift.
const ROUNDING: i128 = 4;

proptest! {
    #![proptest_config(config())]

    /// DPP-09
    #[test]
    fn bounds_hold_and_never_grow_by_an_answer(
        offset in -24 * HOUR..24 * HOUR,
        rate in rate(),
        history in history(),
    ) {
        let mut world = World::ahead(offset).rate(rate);
        let mut clock = ServerClock::default();
        for event in history {
            match event {
                Event::Idle(time) => world.pass(time),
                Event::Sleep(time) => world.sleep(time),
                Event::StepWall(by) => world.step_wall(by),
                Event::Answer(there, back) => {
                    let answer = world.answer(there, back).unwrap();
                    let before = clock.anchor.map(|anchor| anchor.run_to(answer.received(), Tolerance::default()).bounds);
                    clock.observe(&answer);
                    prop_assert_eq!(clock.contradictions(), 0);
                    let bounds = clock.anchor.unwrap().server;
                    prop_assert!(width(bounds) <= width(answer.server()) + ROUNDING);
                    if let Some(before) = before {
                        prop_assert!(width(bounds) <= width(before) + ROUNDING);
                    }
                }
            }
            if let Some(anchor) = clock.anchor {
                let truth = Interval::starting(world.server().since_epoch(), Duration::ZERO);
                let bounds = anchor.run_to(world.reading(), Tolerance::default()).bounds;
                prop_assert!(bounds.intersection(truth).is_some());
                let estimate = clock.now(world.reading());
                let reach = truth.reach_from(nanos(estimate.time.since_epoch()));
                prop_assert!(reach.abs() <= nanos(estimate.uncertainty));
            }
        }
    }

    /// DPP-09, DPP-10: up to ten minutes later, when the request takes up to 6 s to the server.
    #[test]
    fn one_honest_answer_is_enough(
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

    /// DPP-10: whatever refused the first proof, the second is right when time was the reason.
    #[test]
    fn a_retry_is_right_after_any_offset(
        offset in -24 * HOUR..24 * HOUR,
        there in 0..5 * SECOND,
        back in 0..5 * SECOND,
    ) {
        for window in [GATEWAY, PROVIDER] {
            let mut world = World::ahead(offset);
            let mut clock = ServerClock::default();
            let sent_iat = clock.iat(world.reading(), window);
            let accepted = world.accepts(&clock, window, there);
            let refusal = world.answer(there, back).unwrap();
            clock.observe(&refusal);
            let then = clock.after_refusal(sent_iat, Some(&refusal), window, Attempt::First);
            if !accepted {
                prop_assert_eq!(then, AfterRefusal::RetryWithCorrectedClock);
            }
            prop_assert!(world.accepts(&clock, window, there));
        }
    }
}
