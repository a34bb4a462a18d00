//! Tests of a server that is unreachable for an hour and then available again.

use exchange_api::codes::Code;

use super::*;
use crate::rate_limiter::CallInitiator;

const HOUR: Duration = Duration::from_secs(3600);

/// LIM-16, CLI-02: during an outage of an hour, five areas that retry endlessly send at most sixteen requests
/// in total after the first moment. All of them continue within one back-off step after the server is
/// available again.
#[tokio::test(start_paused = true)]
async fn outage_causes_no_request_flood() {
    for gone in [
        ScriptedReply::refused(),
        ScriptedReply::interrupted(),
        ScriptedReply::html(502),
        ScriptedReply::problem(Code::ExchangeDisabled),
    ] {
        let fixture = TransportFixture::new();
        fixture.read(LONG).await.unwrap();
        let machine = fixture.machine.clone();
        fixture
            .gateway
            .set_script(move |seen| if machine.elapsed() < HOUR { gone.clone() } else { ok(seen) });
        let areas = join_all((0..5).map(|_| async {
            while fixture.read(LONG).await.is_err() {
                // An area of the application retries immediately.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            fixture.machine.elapsed()
        }))
        .await;
        let times = fixture.times();
        let during = times.iter().filter(|at| **at > 0.0 && **at < 3600.0).count();
        assert!(during <= 16, "{during}: {times:?}");
        assert!(areas.iter().all(|at| *at >= HOUR && *at <= HOUR + seconds(301)), "{areas:?}");
    }
}

/// A call of the member does not wait for the whole back-off step, but for at most five seconds.
#[tokio::test(start_paused = true)]
async fn request_of_a_member_skips_the_backoff() {
    let fixture = TransportFixture::new();
    let machine = fixture.machine.clone();
    fixture
        .gateway
        .set_script(move |seen| if machine.elapsed() < HOUR { ScriptedReply::refused() } else { ok(seen) });
    let background = async { while fixture.read(LONG).await.is_err() {} };
    let member = async {
        tokio::time::sleep(HOUR).await;
        fixture.read(RetryPolicy::INTERACTIVE).await.unwrap();
        fixture.machine.elapsed()
    };
    let ((), served) = tokio::join!(background, member);
    assert!(served <= HOUR + seconds(5), "{served:?}");
}

/// LIM-16: a stalled server receives fewer requests than there are callers that time out.
#[tokio::test(start_paused = true)]
async fn short_timeouts_do_not_flood_a_stalled_server() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::refused());
    for _ in 0..2 {
        fixture.read(RetryPolicy::new(1, seconds(1), CallInitiator::Program)).await.unwrap_err();
    }
    fixture.gateway.set_script(|_| ScriptedReply::stalled());
    let before = fixture.gateway.request_count();
    for _ in 0..60 {
        let _ = tokio::time::timeout(seconds(1), fixture.read(LONG)).await;
    }
    let request_count = fixture.gateway.request_count() - before;
    assert!((3..=6).contains(&request_count), "{request_count}");
}

/// A single connection that has become stale is not an outage, so other calls continue.
#[tokio::test(start_paused = true)]
async fn one_lost_connection_blocks_no_others() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
    let (first, others) = tokio::join!(fixture.read(LONG), async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        join_all((0..5).map(|_| fixture.read(LONG))).await
    });
    assert!(first.is_ok() && others.iter().all(Result::is_ok));
    assert_eq!(fixture.times()[1..6].iter().filter(|at| **at > 0.1).count(), 0, "{:?}", fixture.times());
}

/// LIM-18: at most 120 requests are sent in any minute, whatever the number of callers is.
#[tokio::test(start_paused = true)]
async fn client_stays_below_the_rate_limit() {
    let fixture = TransportFixture::new();
    let patience = RetryPolicy::new(1, seconds(300), CallInitiator::Program);
    let calls = join_all((0..300).map(|_| fixture.read(patience))).await;
    assert!(calls.iter().all(Result::is_ok));
    let times = fixture.times();
    for (index, from) in times.iter().enumerate() {
        let minute = times[index..].iter().take_while(|to| **to < from + 60.0).count();
        assert!(minute <= 120, "{minute} from {from}");
    }
}
