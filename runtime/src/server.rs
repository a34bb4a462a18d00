//! The runtime of generated servers: parsing requests, encoding responses, routing.
//!
//! A generated `Service` trait has one method for each operation. A generated `AnyCall` enum contains the
//! arguments of any operation, and the code that parses them and encodes the response. [`Endpoints`] does
//! everything else, for all contracts, in this order:
//!
//! 1. find the operation by method and path, 2. check the media type, 3. limit the size of the body, 4. parse
//!    and validate the query and all parameters, 5. parse and validate the body, 6. call the method of the
//!    service.
//!
//! The first step that fails ends the request: its [`Rejection`] is passed to the service's `reject`, the one
//! place that turns rejections into responses of the contract. A panic of a method becomes
//! [`Rejection::Internal`]. `HEAD` is served as `GET` without the body.
//!
//! With the feature `authentication`, [`Endpoints`] can verify the credentials of a request directly after
//! step 1. Layers around the router find the operation of a request with
//! [`OperationTable::find`](crate::operation::OperationTable::find). A layer may read the body and pass it on
//! buffered. A gateway that adds its own steps calls the functions of [`Endpoints`] one by one, so that each
//! request is parsed once.

#[cfg(feature = "authentication")]
pub mod authentication;
mod endpoints;
mod incoming_request;
pub mod media;
mod rejection;
mod request_context;
mod response;
#[cfg(feature = "stream")]
mod streaming;

pub use axum::{Router, response::Response};
pub use bytes::Bytes;
pub use endpoints::{
    Endpoints, EventHook, HandlerFuture, OperationHandler, RejectionHandler, ResponseChecks, RouterOptions,
    ServerEvent, without_body,
};
pub use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
pub use incoming_request::{FromIncomingRequest, IncomingRequest};
pub use rejection::{MAX_REQUEST_VIOLATIONS, Rejection, RequestViolation};
pub use request_context::RequestContext;
pub use response::{
    DeclaredHeaders, EncodedResponse, ErrorResponse, HandlerResult, HeaderWriter, InvalidResponse,
    NotImplemented, TypedError, TypedResponse, not_implemented,
};
#[cfg(feature = "stream")]
pub use streaming::{EventStream, IntoByteStream, InvalidItemHook, ItemStream, ResponseBody, StreamOptions};

#[cfg(test)]
mod tests;
