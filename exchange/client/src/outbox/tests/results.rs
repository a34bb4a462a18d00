//! Tests of change results that lack members.

use super::*;

/// WRT-05: a change set that was answered is decided, whichever members the result lacks or has as `null`. No
/// op counts as applied unless the rest of the result shows it.
#[tokio::test(start_paused = true)]
async fn incomplete_result_decides_the_change_set() {
    const MEMBERS: [&str; 6] = ["dryRun", "applied", "unchanged", "notApplied", "results", "warnings"];
    let whole = json!({
        "dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []
    });
    for missing in 0..(1_usize << MEMBERS.len()) - 1 {
        for is_null in [false, true] {
            let mut body = whole.clone();
            for (_, name) in MEMBERS.iter().enumerate().filter(|(at, _)| missing >> at & 1 == 1) {
                match is_null {
                    true => body[name] = json!(null),
                    false => drop(body.as_object_mut().unwrap().remove(*name)),
                }
            }
            let fixture = OutboxFixture::new();
            let reply = ScriptedReply::json(200, &body);
            fixture.server.set_script(move |_| reply.clone());
            let entry = fixture.enqueue("bp-1").await;
            let published = fixture.flush().await;
            let has = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
            let is_derivable = has("applied") || has("results") || (has("unchanged") && has("notApplied"));
            let has_count = has("unchanged") || has("notApplied");
            // With none of them, only `dryRun` and `warnings` are left. A `null` is then not a valid member.
            let is_result = is_derivable || has_count || (!is_null && has("dryRun"));
            let expected = if is_result { EntryState::Done } else { EntryState::Unknown };
            assert_eq!(fixture.state(entry).await, expected, "{body}");
            assert_eq!(decided(&published[0]), is_derivable, "{body}");
            assert_eq!(published[0].lane_to_pull(), Some(Lane::Blueprints), "{body}");
            assert_eq!(fixture.server.request_count(), 1, "{body}");
        }
    }
}
