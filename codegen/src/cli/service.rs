//! The HTTP client of `mock --proxy`, `test` and `mcp`. It follows no redirects and changes no response.

use std::{error::Error, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use contract_codegen_core::load::uri;
use http::{HeaderMap, Uri, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use super::error::CommandError;

/// The maximum time for a connection to the service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The headers of a connection, which a proxy does not forward (RFC 9110, 7.6.1).
const CONNECTION_HEADERS: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[cfg(feature = "https")]
type ServiceConnector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "https"))]
type ServiceConnector = HttpConnector;

/// The reason why a request has no response.
#[derive(Debug)]
pub(crate) struct SendError {
    pub(crate) message: String,
    /// True if the connection failed, so that nothing was sent.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only `mcp` reports it"))]
    pub(crate) is_unconnected: bool,
}

/// A client for all servers.
#[derive(Debug)]
pub(crate) struct HttpClient(Client<ServiceConnector, Body>);

impl HttpClient {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = connect_with_tls(http)?;
        Ok(Self(Client::builder(TokioExecutor::new()).build(connector)))
    }

    /// Sends a request to a URL, without the headers of a connection.
    pub(crate) async fn send(&self, url: Uri, request: &Request<Bytes>) -> Result<Response, SendError> {
        let mut forwarded = Request::new(Body::from(request.body().clone()));
        *forwarded.method_mut() = request.method().clone();
        *forwarded.uri_mut() = url;
        let headers = forwarded.headers_mut();
        *headers = end_to_end_headers(request.headers());
        // The client sends the host of the service. The server has processed `Expect`. Compressed bodies
        // cannot be validated.
        for name in [header::HOST, header::EXPECT, header::ACCEPT_ENCODING] {
            headers.remove(name);
        }
        let failed = |error: hyper_util::client::legacy::Error| SendError {
            message: describe_error(&error),
            is_unconnected: error.is_connect(),
        };
        Ok(self.0.request(forwarded).await.map_err(failed)?.map(Body::new))
    }
}

/// The client of a live service.
#[derive(Debug)]
pub(crate) struct ServiceClient {
    client: HttpClient,
    /// The URL of the service without a trailing slash.
    base: String,
}

impl ServiceClient {
    /// Creates a client for a service. Unlike `--fetch`, it accepts `http` for every
    /// host.
    pub(crate) fn from_url(url: &str) -> Result<Self, CommandError> {
        parse_service_url(url)?;
        Ok(Self { client: HttpClient::new()?, base: url.trim_end_matches('/').to_owned() })
    }

    /// Returns the URL of the service.
    pub(crate) fn base_url(&self) -> &str {
        &self.base
    }

    /// Returns true if requests to the service cannot be read by others: the URL is `https:`, or the host is this
    /// machine.
    pub(crate) fn is_protected(&self) -> bool {
        let url = self.base.parse::<Uri>().unwrap_or_default();
        url.scheme_str() == Some("https") || url.host().is_some_and(uri::is_loopback)
    }

    /// Sends a request to the service. The error describes the reason why there is no response.
    pub(crate) async fn send(&self, request: &Request<Bytes>) -> Result<Response, String> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri = format!("{}{path}", self.base).parse().map_err(|_| "its URL is invalid".to_owned())?;
        self.client.send(uri, request).await.map_err(|error| error.message)
    }
}

/// Parses the URL of a service: scheme, host and start of the path.
pub(crate) fn parse_service_url(url: &str) -> Result<Uri, CommandError> {
    let invalid = |reason: &str| {
        let message =
            format!("the URL of the service {reason}, expected one such as http://localhost:8080/v1");
        CommandError::Usage(message)
    };
    let parsed = url.parse::<Uri>().map_err(|_| invalid("is invalid"))?;
    let authority = parsed.authority().ok_or_else(|| invalid("has no host"))?.as_str();
    if !matches!(parsed.scheme_str(), Some("http" | "https")) {
        return Err(invalid("is neither `http:` nor `https:`"));
    }
    // The parser removes a fragment, so it is looked for in the text.
    if authority.contains('@') || parsed.query().is_some() || url.contains('#') {
        // The message must not contain the URL.
        return Err(invalid("contains credentials, a query or a fragment, which requests have themselves"));
    }
    if parsed.scheme_str() == Some("https") && !cfg!(feature = "https") {
        let message = "this build has no TLS: rebuild it with `--features https`";
        return Err(CommandError::Usage(message.to_owned()));
    }
    Ok(parsed)
}

/// Returns a connector that also connects with TLS, and verifies certificates with those of the system.
#[cfg(feature = "https")]
fn connect_with_tls(http: HttpConnector) -> Result<ServiceConnector, CommandError> {
    let tls = hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_platform_verifier(rustls::crypto::ring::default_provider())
        .map_err(|error| CommandError::Io(format!("cannot read the certificates of the system: {error}")))?;
    Ok(tls.https_or_http().enable_http1().wrap_connector(http))
}

/// Returns the connector unchanged, in a build without TLS.
#[cfg(not(feature = "https"))]
#[allow(clippy::unnecessary_wraps, reason = "the connector with TLS can fail")]
fn connect_with_tls(http: HttpConnector) -> Result<ServiceConnector, CommandError> {
    Ok(http)
}

/// Copies headers without those of the connection.
pub(crate) fn end_to_end_headers(headers: &HeaderMap) -> HeaderMap {
    let mut copy = headers.clone();
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in CONNECTION_HEADERS.iter().copied().chain(named.iter().map(String::as_str)) {
        copy.remove(name);
    }
    copy
}

/// Joins the messages of an error and its causes.
fn describe_error(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_urls_have_a_host_and_no_secrets() {
        for (url, accepted) in [
            ("http://localhost:8080/v1", true),
            ("http://127.0.0.1", true),
            ("http://localhost/#x", false),
            ("http://localhost/?token=x", false),
            ("http://user@localhost", false),
            ("ftp://localhost", false),
            ("/v1", false),
        ] {
            assert_eq!(parse_service_url(url).is_ok(), accepted, "{url}");
        }
    }
}
