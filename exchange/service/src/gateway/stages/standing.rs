//! Stages 5 to 10: whether there is such a route, and whether this client, in this version, on this
//! device, may call it.

use exchange_api::refusals::PlainCode;

use super::Asking;
use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::Facts;
use crate::gateway::installations::{Of, STEP};
use crate::gateway::ports::Ports;
use crate::gateway::{measures, version};
use crate::registry::MinVersion;
use crate::shared::Unavailable;

/// GW-03: an unknown method is no different from an unknown route.
pub(super) fn decide_route(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match facts.operation {
        Some(_) => Ok(()),
        None => refuse(PlainCode::NotFound),
    }
}

pub(super) fn ask_registry<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move { facts.registry = Some(ports.registry.view(facts.now).await) })
}

pub(super) fn decide_registry(facts: &Facts, _: &Config) -> Result<(), Ending> {
    let (Some(Ok(registry)), Some(proven)) = (&facts.registry, facts.proven()) else {
        return refuse(PlainCode::RegistryUnavailable);
    };
    registry.admit(&proven.token.client).map(drop).or_else(refuse)
}

pub(super) fn ask_standing<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        facts.standing = Some(match of(facts) {
            Some(of) => ports.installations.standing(of).await,
            None => Err(Unavailable),
        });
    })
}

pub(super) fn decide_key(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match &facts.standing {
        Some(Ok(standing)) if standing.key_revoked => {
            let why = "this installation was disconnected";
            Err(Refused::of_token(PlainCode::InstallationRevoked, why).into())
        }
        Some(Ok(_)) => Ok(()),
        Some(Err(Unavailable)) | None => refuse(PlainCode::ServiceUnavailable),
    }
}

pub(super) fn decide_client(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match &facts.standing {
        Some(Ok(standing)) if !standing.client_revoked => Ok(()),
        _ => {
            let why = "the client was disconnected after this sign-in";
            Err(Refused::of_token(PlainCode::ClientRevoked, why).into())
        }
    }
}

/// Makes the installation, or says that it was seen. When that cannot be written the request goes on without
/// (SVC-03).
pub(super) fn see<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        let Some(of) = of(facts) else { return };
        let now = facts.now;
        let Some(Ok(standing)) = &mut facts.standing else { return };
        if standing.installation.as_ref().is_some_and(|(_, last)| now.since(*last) < STEP) {
            return;
        }
        let member = of.member.clone();
        let Ok(Some(seen)) = ports.installations.seen(of, &ports.environment).await else { return };
        if let Some(new) = seen.new {
            measures::installation(&member, new, ports.config.limits.new_installations);
        }
        standing.installation = Some((seen.id, now));
    })
}

/// GW-04: the token and the registry both grant one of the route's scopes.
pub(super) fn decide_scope(facts: &Facts, _: &Config) -> Result<(), Ending> {
    let (Some(operation), Some(proven), Some(client)) = (facts.operation, facts.proven(), facts.client())
    else {
        return refuse(PlainCode::ScopeMissing);
    };
    client.allow(&proven.token.scopes, operation).or_else(refuse)
}

/// ERR-16: without a minimum nothing is checked.
pub(super) fn decide_version(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match facts.client().and_then(|client| client.min_version.as_ref()) {
        None => Ok(()),
        Some(MinVersion::At(oldest)) if version::is_at_least(facts.only("user-agent"), oldest) => Ok(()),
        Some(_) => refuse(PlainCode::ClientVersionUnsupported),
    }
}

fn of(facts: &Facts) -> Option<Of> {
    let proven = facts.proven()?;
    Some(Of {
        client: proven.token.client.clone(),
        member: proven.token.member.clone(),
        jkt: proven.jkt.clone(),
        auth_time: proven.token.auth_time,
    })
}

fn refuse(code: PlainCode) -> Result<(), Ending> {
    Err(Refused::plain(code).into())
}
