//! Stages 5 to 10: check that the route exists, and that this client, version and installation may call it.

use exchange_api::error_responses::PlainCode;

use super::StageFuture;
use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::RequestFacts;
use crate::gateway::installations::{InstallationKey, LAST_SEEN_STEP};
use crate::gateway::ports::GatewayPorts;
use crate::gateway::{telemetry, version};
use crate::registry::MinVersion;
use crate::shared::SharedStateError;

/// Refuses an unknown method in the same way as an unknown route (GW-03).
pub(super) fn decide_route(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match facts.operation {
        Some(_) => Ok(()),
        None => reject(PlainCode::NotFound),
    }
}

pub(super) fn load_registry<'a>(ports: &'a GatewayPorts, facts: &'a mut RequestFacts) -> StageFuture<'a> {
    Box::pin(async move { facts.registry = Some(ports.registry.view(facts.now).await) })
}

pub(super) fn decide_registry(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    let (Some(Ok(registry)), Some(proven)) = (&facts.registry, facts.credentials()) else {
        return reject(PlainCode::RegistryUnavailable);
    };
    registry.admit(&proven.token.client).map(drop).or_else(reject)
}

pub(super) fn load_installation_status<'a>(
    ports: &'a GatewayPorts,
    facts: &'a mut RequestFacts,
) -> StageFuture<'a> {
    Box::pin(async move {
        facts.installation_status = Some(match installation_key(facts) {
            Some(installation) => ports.installations.status(installation).await,
            None => Err(SharedStateError),
        });
    })
}

pub(super) fn decide_key(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match &facts.installation_status {
        Some(Ok(standing)) if standing.key_revoked => {
            let why = "this installation was disconnected";
            Err(StageRejection::invalid_token(PlainCode::InstallationRevoked, why).into())
        }
        Some(Ok(_)) => Ok(()),
        Some(Err(SharedStateError)) | None => reject(PlainCode::ServiceUnavailable),
    }
}

pub(super) fn decide_client(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match &facts.installation_status {
        Some(Ok(standing)) if !standing.client_revoked => Ok(()),
        _ => {
            let why = "the client was disconnected after this sign-in";
            Err(StageRejection::invalid_token(PlainCode::ClientRevoked, why).into())
        }
    }
}

/// Creates or updates the installation. If the write fails, the request continues (SVC-03).
pub(super) fn record_installation<'a>(
    ports: &'a GatewayPorts,
    facts: &'a mut RequestFacts,
) -> StageFuture<'a> {
    Box::pin(async move {
        let Some(installation) = installation_key(facts) else { return };
        let now = facts.now;
        let Some(Ok(standing)) = &mut facts.installation_status else { return };
        if standing.installation.as_ref().is_some_and(|(_, last)| now.since(*last) < LAST_SEEN_STEP) {
            return;
        }
        let member = installation.member.clone();
        let Ok(Some(seen)) = ports.installations.record_call(installation, &ports.environment).await else {
            return;
        };
        if let Some(new) = seen.new_in_day {
            telemetry::record_installation(&member, new, ports.config.limits.new_installations);
        }
        standing.installation = Some((seen.id, now));
    })
}

/// Requires that both the token and the registry grant one of the route's scopes (GW-04).
pub(super) fn decide_scope(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    let (Some(operation), Some(proven), Some(client)) =
        (facts.operation, facts.credentials(), facts.client())
    else {
        return reject(PlainCode::ScopeMissing);
    };
    client.authorize_operation(&proven.token.scopes, operation).or_else(reject)
}

/// Requires the minimum version of the client, if the registry sets one (ERR-16).
pub(super) fn decide_version(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match facts.client().and_then(|client| client.min_version.as_ref()) {
        None => Ok(()),
        Some(MinVersion::AtLeast(oldest))
            if version::is_at_least(facts.single_header("user-agent"), oldest) =>
        {
            Ok(())
        }
        Some(_) => reject(PlainCode::ClientVersionUnsupported),
    }
}

fn installation_key(facts: &RequestFacts) -> Option<InstallationKey> {
    let proven = facts.credentials()?;
    Some(InstallationKey {
        client: proven.token.client.clone(),
        member: proven.token.member.clone(),
        jkt: proven.jkt.clone(),
        auth_time: proven.token.auth_time,
    })
}

fn reject(code: PlainCode) -> Result<(), EarlyResponse> {
    Err(StageRejection::from_code(code).into())
}
