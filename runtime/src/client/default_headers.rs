//! [`DefaultHeaders`]: a transport that adds headers to every request.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    operation::Operation,
    transport::{ResponseFuture, Transport},
};

/// A transport that adds headers to each request: `User-Agent`, the version of an API, or a token that the contract
/// does not describe by `securitySchemes`. A header that the request already has is not replaced.
///
/// ```
/// # use contract_runtime::{client::DefaultHeaders, transport::Transport};
/// # fn example(transport: impl Transport, token: &str) -> Result<(), http::Error> {
/// let transport = DefaultHeaders::new(transport)
///     .with_header("user-agent", "issue-bot/1.0")?
///     .with_bearer_token(token)?;
/// # Ok(())
/// # }
/// ```
///
/// `Debug` output contains the names of the headers and no values.
#[derive(Clone)]
pub struct DefaultHeaders<T> {
    headers: HeaderMap,
    transport: T,
}

impl<T> DefaultHeaders<T> {
    /// Wraps a transport. Without further calls, no header is added.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self { headers: HeaderMap::new(), transport }
    }

    /// Adds a header to all requests.
    ///
    /// # Errors
    /// Returns an error if the name or the value is not valid in HTTP (RFC 9110, 5.1 and 5.5).
    pub fn with_header<N, V>(mut self, name: N, value: V) -> Result<Self, http::Error>
    where
        N: TryInto<HeaderName, Error: Into<http::Error>>,
        V: TryInto<HeaderValue, Error: Into<http::Error>>,
    {
        let name = name.try_into().map_err(Into::into)?;
        self.headers.insert(name, value.try_into().map_err(Into::into)?);
        Ok(self)
    }

    /// Adds `Authorization: Bearer` with this token to all requests (RFC 6750, 2.1). Transports do not print the
    /// header.
    ///
    /// # Errors
    /// Returns an error if the token contains characters that no header can contain.
    pub fn with_bearer_token(mut self, token: &str) -> Result<Self, http::Error> {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))?;
        value.set_sensitive(true);
        self.headers.insert(header::AUTHORIZATION, value);
        Ok(self)
    }

    fn add_headers<B>(&self, request: &mut http::Request<B>) {
        for (name, value) in &self.headers {
            request.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
    }
}

impl<T> fmt::Debug for DefaultHeaders<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("DefaultHeaders").field("headers", &names).finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for DefaultHeaders<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        self.add_headers(&mut request);
        self.transport.send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for DefaultHeaders<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        self.add_headers(&mut request);
        Box::pin(async move {
            let streams =
                self.transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            streams.open_stream(operation, request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(headers: &DefaultHeaders<()>, own: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut request = http::Request::new(());
        for (name, value) in own {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        headers.add_headers(&mut request);
        let mut lines: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn headers_are_added_and_not_replaced() {
        let headers =
            DefaultHeaders::new(()).with_header("x-version", "2").unwrap().with_bearer_token("t").unwrap();
        assert_eq!(added(&headers, &[]), ["authorization: Bearer t", "x-version: 2"]);
        let own = [("authorization", "Basic x"), ("x-version", "1"), ("x-version", "3")];
        assert_eq!(added(&headers, &own), ["authorization: Basic x", "x-version: 1", "x-version: 3"]);
    }

    #[test]
    fn invalid_headers_are_errors() {
        assert!(DefaultHeaders::new(()).with_header("a b", "x").is_err());
        assert!(DefaultHeaders::new(()).with_header("a", "x\r\ny: z").is_err());
        assert!(DefaultHeaders::new(()).with_bearer_token("a\nb").is_err());
    }

    #[test]
    fn values_are_not_printed() {
        let headers = DefaultHeaders::new(()).with_bearer_token("hush").unwrap();
        assert_eq!(format!("{headers:?}"), "DefaultHeaders { headers: [\"authorization\"], .. }");
        assert!(headers.headers[header::AUTHORIZATION].is_sensitive());
    }
}
