//! What `client.rs` generates, for `client_runs.rs` to call.

use ::contract_runtime::{client::Core, transport::Transport};
use super::operations::OperationId;
pub use ::contract_runtime::client::{Answer, Bytes, Error, RequestChecks};
/// The client of Hangar, version 1.0.0.
///
/// Cloning is cheap and shares the transport.
#[derive(Clone, Debug)]
pub struct Client {
    core: Core,
}
impl Client {
    /// A client for the interface at `base_url` (scheme, host and, if there is one, the
    /// start of every path), reached through `transport`.
    pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
        Self {
            core: Core::new(base_url, transport),
        }
    }
    /// The same client with arguments and bodies checked before they are sent, which is how
    /// it begins, or not.
    #[must_use]
    pub fn with_request_checks(self, checks: RequestChecks) -> Self {
        Self {
            core: self.core.with_request_checks(checks),
        }
    }
    /// The address given to [`Client::new`].
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.core.base_url()
    }
    /// Ships of a member.
    ///
    /// One page of the member's ships \[A1\], see `hangar`.
    ///
    /// `GET /ships/{shipId}/parts`, needs one of `hangar.read`, `hangar.write`.
    ///
    /// # Arguments
    ///
    /// * `ship_id`: `shipId` in the path, at most 64 characters. The shipId.
    /// * `cursor`: `cursor` in the query, at most 64 characters. The cursor.
    /// * `limit`: `limit` in the query, 1 to 1000. The limit.
    /// * `tag`: `tag` in the query. The tag.
    /// * `query_type`: `type` in the query, at most 64 characters. The type.
    ///
    /// # Errors
    ///
    /// * [`Error::Answer`] with [`Problem`](super::types::Problem) for any `4XX` or `5XX`: A refusal.
    /// * [`Error::InvalidRequest`] for what breaks the contract: it is not sent.
    /// * [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.
    pub async fn ships_read(
        &self,
        ship_id: &str,
        cursor: Option<&str>,
        limit: Option<i64>,
        tag: &[&str],
        query_type: &str,
    ) -> Result<Answer<super::types::ShipPage>, Error<super::types::Problem>> {
        let request = self
            .core
            .request(OperationId::ShipsRead.operation())
            .path("shipId", ship_id)
            .query("cursor", cursor)
            .query("limit", limit)
            .query("tag", tag)
            .query("type", query_type)
            .accept("application/json, application/problem+json");
        let response = self.core.send(request).await?;
        match response.status() {
            200 => response.json(),
            400..=599 => response.refusal(),
            _ => response.undocumented(),
        }
    }
    /// Change ships.
    ///
    /// `POST /ships/changes`, needs `hangar.write`.
    ///
    /// # Arguments
    ///
    /// * `idempotency_key`: `Idempotency-Key` header, 8 to 128 characters; matches `^[A-Za-z0-9._~-]+$`. The Idempotency-Key.
    /// * `x_note`: `X-Note` header. The X-Note.
    /// * `body`: `application/merge-patch+json`. What changes.
    ///
    /// # Errors
    ///
    /// * [`Error::Answer`] with [`Problem`](super::types::Problem) for `409`: Conflict.
    /// * [`Error::Answer`] with [`Problem`](super::types::Problem) for any other `4XX` or `5XX`: A refusal.
    /// * [`Error::InvalidRequest`] for what breaks the contract: it is not sent.
    /// * [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.
    pub async fn ships_write(
        &self,
        idempotency_key: &super::types::IdempotencyKey,
        x_note: Option<&str>,
        body: &super::types::ShipChangeSet,
    ) -> Result<Answer<Option<super::types::Ship>>, Error<super::types::Problem>> {
        let request = self
            .core
            .request(OperationId::ShipsWrite.operation())
            .header("Idempotency-Key", idempotency_key)
            .header("X-Note", x_note)
            .accept("application/ship+json, application/problem+json")
            .json("application/merge-patch+json", body);
        let response = self.core.send(request).await?;
        match response.status() {
            200 | 202 => response.json_or_nothing(),
            400..=599 => response.refusal(),
            _ => response.undocumented(),
        }
    }
    /// `DELETE /ships/{body}`.
    ///
    /// # Arguments
    ///
    /// * `path_body`: `body` in the path, at most 64 characters. The body.
    ///
    /// # Errors
    ///
    /// * [`Error::Answer`] with [`ShipRemoveRefusal::NotFound`] for `404`: Unknown.
    /// * [`Error::Answer`] with [`ShipRemoveRefusal::Conflict`] for `409`: In use.
    /// * [`Error::InvalidRequest`] for what breaks the contract: it is not sent.
    /// * [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.
    #[deprecated = "the contract says so"]
    pub async fn ship_remove(
        &self,
        path_body: &str,
    ) -> Result<Answer<()>, Error<ShipRemoveRefusal>> {
        let request = self
            .core
            .request(OperationId::ShipRemove.operation())
            .path("body", path_body)
            .accept("application/json");
        let response = self.core.send(request).await?;
        match response.status() {
            204 => response.nothing(),
            404 => response.read_json().refusal(ShipRemoveRefusal::NotFound),
            409 => response.read_json().refusal(ShipRemoveRefusal::Conflict),
            _ => response.undocumented(),
        }
    }
    /// `PUT /ships/picture`.
    ///
    /// # Arguments
    ///
    /// * `body`: `application/json`. What changes.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidRequest`] for what breaks the contract: it is not sent.
    /// * [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.
    pub async fn picture(
        &self,
        body: Option<&[super::types::Ship]>,
    ) -> Result<Answer<Bytes>, Error<()>> {
        let request = self
            .core
            .request(OperationId::Picture.operation())
            .accept("image/png");
        let request = match body {
            Some(body) => request.json_value("application/json", body),
            None => request,
        };
        let response = self.core.send(request).await?;
        match response.status() {
            200 => response.bytes(),
            _ => response.undocumented(),
        }
    }
    /// `POST /ships/import`.
    ///
    /// # Arguments
    ///
    /// * `body`: `text/csv`. What changes.
    ///
    /// # Errors
    ///
    /// * [`Error::Answer`] with [`Problem`](super::types::Problem) for any `4XX` or `5XX`: A refusal.
    /// * [`Error::InvalidRequest`] for what breaks the contract: it is not sent.
    /// * [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.
    pub async fn import(
        &self,
        body: &str,
    ) -> Result<Answer<()>, Error<super::types::Problem>> {
        let request = self
            .core
            .request(OperationId::Import.operation())
            .accept("application/problem+json")
            .text("text/csv", body);
        let response = self.core.send(request).await?;
        match response.status() {
            200..=299 => response.nothing(),
            400..=599 => response.refusal(),
            _ => response.undocumented(),
        }
    }
}
/// What `DELETE /ships/{body}` refuses with.
#[derive(Clone, Debug, PartialEq)]
pub enum ShipRemoveRefusal {
    /// `404`: Unknown.
    NotFound(super::types::Problem),
    /// `409`: In use.
    Conflict(super::types::Other),
}
