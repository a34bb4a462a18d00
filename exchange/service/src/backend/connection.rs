//! Handlers for the service document, the installation's label and the account check (SVC rows).

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::error_responses::PlainCode;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{
    AccountCheckRequest, AccountCheckResponse, AccountCheckResult, Installation, InstallationId,
    InstallationLabel, LabelledInstallation, ServiceDocument, Timestamp,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use unicode_normalization::UnicodeNormalization as _;

use super::Backend;
use super::admission::AdmittedCaller;
use super::handler_error::HandlerError;
use crate::service_document::build_service_document;
use crate::store::StoreError;
use crate::time::Moment;

impl Backend {
    pub(super) async fn service_document_of(
        &self,
        context: &RequestContext,
    ) -> Result<ServiceDocument, ErrorResponse> {
        let docs_url = self.config.docs_url.clone();
        self.read_inline_admitted(context, move |_, admitted| {
            let AdmittedCaller { client, caller, .. } = admitted;
            let installation_id =
                admitted.known_installation().map(|id| shown_id(id.as_str())).transpose()?;
            Ok(build_service_document(client, &caller.scopes, installation_id, docs_url))
        })
        .await
    }

    pub(super) async fn label_installation(
        &self,
        body: LabelledInstallation,
        context: &RequestContext,
    ) -> Result<Installation, ErrorResponse> {
        // Normalization can lengthen a label beyond the limit that its schema checked (SVC-10).
        let label: String = body.label.as_str().nfc().collect();
        let label = InstallationLabel::new(label).map_err(|_| PlainCode::SchemaInvalid);
        self.write_admitted(context, move |connection, admitted| set_label(connection, admitted, label?))
            .await
    }

    pub(super) async fn check_account(
        &self,
        body: AccountCheckRequest,
        context: &RequestContext,
    ) -> Result<AccountCheckResponse, ErrorResponse> {
        self.read_inline_admitted(context, move |_, admitted| {
            let result = match &admitted.member.handle {
                None => AccountCheckResult::UnknownValue,
                Some(handle) if handle.eq_ignore_ascii_case(body.handle.as_str()) => {
                    AccountCheckResult::Match
                }
                Some(_) => AccountCheckResult::Mismatch,
            };
            Ok(AccountCheckResponse { result, extra: Map::new() })
        })
        .await
    }
}

fn set_label(
    connection: &Connection,
    admitted: &AdmittedCaller,
    label: InstallationLabel,
) -> Result<Installation, HandlerError> {
    let id = admitted.installation()?;
    let sql = "UPDATE installation SET label = ?2 WHERE id = ?1 RETURNING first_seen, last_seen";
    let seen: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![id, label.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (first, last) = seen.ok_or(HandlerError::Rejected(PlainCode::RegistryUnavailable))?;
    Ok(Installation {
        label,
        installation_id: shown_id(id.as_str())?,
        first_seen_at: format_timestamp(Moment::from_millis(first))?,
        last_seen_at: format_timestamp(Moment::from_millis(last))?,
        extra: Map::new(),
    })
}

fn shown_id(id: &str) -> Result<InstallationId, StoreError> {
    InstallationId::new(id).map_err(|_| StoreError::Corrupt("invalid installation id"))
}

/// Converts a timestamp into a moment, truncated to milliseconds. Returns `None` for a calendar date that
/// does not exist (CON-06).
pub(super) fn parse_timestamp(text: &Timestamp) -> Option<Moment> {
    let moment = text.timestamp()?;
    let millis = i64::from(moment.subsec_nanos() / 1_000_000);
    Some(Moment::from_millis(moment.unix_seconds().saturating_mul(1000).saturating_add(millis)))
}

/// Formats a moment as a timestamp of the contract (CON-06).
pub(super) fn format_timestamp(moment: Moment) -> Result<Timestamp, StoreError> {
    Timestamp::new(moment.to_string()).map_err(|_| StoreError::Corrupt("a time is out of range"))
}
