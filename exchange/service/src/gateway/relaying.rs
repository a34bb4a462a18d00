//! Behind the stages: the backend's answer, and what becomes of the claim and the quota.

use std::sync::atomic::Ordering;
use std::time::Duration;

use contract_runtime::server::{Answer, Call, HeaderValue};
use exchange_api::codes::Code;
use exchange_api::refusals::PlainCode;
use serde::Deserialize;
use tokio::time::timeout;

use super::answering::REPLAYED;
use super::ending::{Ending, Refused};
use super::facts::Facts;
use super::ports::Ports;
use super::stages::ops;
use crate::relay::{RelayFailure, Relayed};

/// From how many ops on a set is large (LIM-02).
const LARGE: usize = 100;

/// What a request that ended at a stage is answered.
pub(super) async fn end(ports: &Ports, facts: &mut Facts, ending: Ending) -> Answer {
    match ending {
        Ending::Replayed(answer) => {
            let mut answer = *answer;
            answer.headers.insert(REPLAYED, HeaderValue::from_static("true"));
            answer
        }
        Ending::Refused(refused) => {
            let (code, reason) = (refused.code(), refused.reason());
            let answer = refused.into_answer(facts.correlation_id.clone(), facts.path());
            settle(ports, facts, &answer, Some(&code)).await;
            facts.ended = Some((code, reason));
            answer
        }
    }
}

/// Takes a request that passed every stage to the backend.
pub(super) async fn relay(ports: &Ports, facts: &mut Facts) -> Answer {
    let (answer, code) = match relayed(ports, facts).await {
        Ok(answer) => {
            let code = code_of(&answer);
            (answer, code)
        }
        Err(unrelayed) => {
            let code = unrelayed.code();
            let answer = Refused::plain(code).into_answer(facts.correlation_id.clone(), facts.path());
            (answer, Some(code.into()))
        }
    };
    // A success kept itself, in the transaction of its write (GW-10); what undid itself keeps nothing. Without an
    // answer the backend may still be writing: the claim stays until its lease is over (ERR-37).
    if !answer.status.is_success() && code != Some(Code::BackendRelayFailed) {
        settle(ports, facts, &answer, code.as_ref()).await;
    }
    facts.ended = code.map(|code| (code, ""));
    answer
}

/// Why the backend has not answered.
enum Unrelayed {
    /// Too many large sets at once (ERR-36).
    Busy,
    /// Nobody can say how many there are.
    Unasked,
    /// It could not be reached, or took too long.
    Failed,
    /// It answered what the contract does not know.
    Broken,
}

impl Unrelayed {
    fn code(&self) -> PlainCode {
        match self {
            Self::Busy => PlainCode::RelayBusy,
            Self::Unasked => PlainCode::ServiceUnavailable,
            Self::Failed => PlainCode::BackendRelayFailed,
            Self::Broken => PlainCode::InternalError,
        }
    }
}

async fn relayed(ports: &Ports, facts: &mut Facts) -> Result<Answer, Unrelayed> {
    let (Some(operation), Some(caller)) = (facts.operation, facts.caller()) else {
        return Err(Unrelayed::Broken);
    };
    let Some(Ok(incoming)) = facts.read.take() else { return Err(Unrelayed::Broken) };
    let large = ops(&incoming).is_some_and(|(ops, _)| ops > LARGE);
    let _place = if large {
        match ports.bulkhead.enter(facts.now).await {
            Ok(Some(place)) => Some(place),
            Ok(None) => return Err(Unrelayed::Busy),
            Err(_) => return Err(Unrelayed::Unasked),
        }
    } else {
        None
    };
    let context = facts.context_of(caller.clone());
    let call = Call::new(operation, context).map_err(|_| Unrelayed::Broken)?;
    let wait: Duration = ports.config.limits.relay_wait();
    let answered = timeout(wait, ports.relay.relay(Relayed { caller, call, incoming })).await;
    let answer = answered.unwrap_or(Err(RelayFailure::TooLate)).map_err(|failure| {
        tracing::error!(correlation_id = facts.correlation_id.as_str(), %failure, "no answer from the backend");
        Unrelayed::Failed
    })?;
    if !ports.relay.checks()
        && is_checked(ports)
        && let Err(broken) = answer.check(operation)
    {
        tracing::error!(
            correlation_id = facts.correlation_id.as_str(),
            operation = operation.id,
            %broken,
            "an answer breaks the contract",
        );
        return Err(Unrelayed::Broken);
    }
    Ok(answer)
}

/// Whether it is this answer's turn to be checked.
fn is_checked(ports: &Ports) -> bool {
    match ports.config.limits.checked_answers {
        0 => false,
        each => ports.checked.fetch_add(1, Ordering::Relaxed).is_multiple_of(each),
    }
}

/// Gives back what a refusal does not cost (GW-07), and keeps it for the key when it is one that is kept, unless the
/// write has done so itself.
async fn settle(ports: &Ports, facts: &mut Facts, answer: &Answer, code: Option<&Code>) {
    let given_back = matches!(code, Some(Code::RelayBusy | Code::ExchangeBudgetExhausted));
    if given_back
        && let Some((day, count)) = facts.counted.take()
        && let Some(proven) = facts.proven()
    {
        let (client, member) = (&proven.token.client, &proven.token.member);
        // What cannot be given back is not worth another refusal; it is in the log.
        let _ = ports.quota.give_back(client, member, day, count).await;
    }
    if facts.claim().is_none() {
        return;
    }
    let Some(caller) = facts.caller() else { return };
    // What cannot be kept is not replayed (GW-11); its lease ends by itself.
    let _ = ports.keys.settle(caller, answer.clone(), ports.environment.now()).await;
}

/// The code of a refusal that the backend wrote.
fn code_of(answer: &Answer) -> Option<Code> {
    #[derive(Deserialize)]
    struct Problem {
        code: String,
    }
    if answer.status.as_u16() < 400 {
        return None;
    }
    serde_json::from_slice(&answer.body).ok().map(|Problem { code }| Code::from(code.as_str()))
}
