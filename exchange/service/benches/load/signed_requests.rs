//! Requests that are signed before the measurement.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dpop_bound::{Htu, Nonce, ProofRequest, UnixTime};

use crate::Outcome;
use crate::data_folder::{Caller, DataFolder};
use crate::http_connection::HttpConnection;

/// A request before it is signed.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The query, including its question mark.
    pub(crate) query: Cow<'static, str>,
    /// The body of a write; `None` for a read.
    pub(crate) body: Option<Arc<[u8]>>,
}

/// A request for the service document.
pub(crate) const DOCUMENT: Target =
    Target { method: "GET", path: "/exchange/v1", query: Cow::Borrowed(""), body: None };
/// A request for a page of 100 blueprints.
pub(crate) const PAGE: Target = Target::page("/exchange/v1/me/blueprints", "?limit=100");
/// A request for a page of 20 lots.
pub(crate) const LOTS: Target = Target::page("/exchange/v1/me/stock", "?limit=20");

impl Target {
    /// Creates a request for a page or a list.
    pub(crate) const fn page(path: &'static str, query: &'static str) -> Self {
        Self { method: "GET", path, query: Cow::Borrowed(query), body: None }
    }

    /// Creates a request that sends a change set.
    pub(crate) fn changes(path: &'static str, body: Arc<[u8]>) -> Self {
        Self { method: "POST", path, query: Cow::Borrowed(""), body: Some(body) }
    }
}

/// A signed request. Parts that requests share are stored once.
#[derive(Clone)]
pub(crate) struct Request {
    head: Arc<str>,
    lines: Box<str>,
    body: Option<Arc<[u8]>>,
}

impl Request {
    /// Writes the request's bytes into a buffer, which replaces its content.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(self.head.as_bytes());
        to.extend_from_slice(self.lines.as_bytes());
        if let Some(body) = &self.body {
            to.extend_from_slice(body);
        }
    }

    /// Converts the request into one for the service's router.
    pub(crate) fn to_http(&self) -> Outcome<http::Request<axum::body::Body>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut head = httparse::Request::new(&mut headers);
        head.parse(&bytes)?;
        let (method, uri) = (head.method.ok_or("no method")?, head.path.ok_or("no path")?);
        let mut request = http::Request::builder().method(method).uri(uri);
        for header in head.headers {
            request = request.header(header.name, header.value);
        }
        let body = self.body.as_deref().map_or_else(axum::body::Body::empty, |body| body.to_vec().into());
        Ok(request.body(body)?)
    }

    /// Returns the request with another well-formed signature, which is invalid.
    pub(crate) fn with_invalid_signature(&self) -> Self {
        let mut lines = self.lines.to_string();
        let end = lines.find("\r\n").unwrap_or(lines.len());
        // All bits of the character at which the second half of the signature begins are significant.
        let at = end - 43;
        let other = if lines.as_bytes().get(at) == Some(&b'A') { "B" } else { "A" };
        lines.replace_range(at..=at, other);
        Self { lines: lines.into(), ..self.clone() }
    }
}

/// Signs requests for one origin, with the nonce of the service.
pub(crate) struct Signer {
    origin: String,
    pub(crate) nonce: Nonce,
    callers: Vec<Arc<Caller>>,
}

impl Signer {
    /// Creates a signer and requests the current nonce. Each caller sends one request, so that the service
    /// caches its token and its installation.
    pub(crate) async fn new(data_folder: &DataFolder) -> Outcome<Self> {
        let mut http_connection = HttpConnection::open(data_folder.address()).await?;
        let mut signer = Self::without_nonce(data_folder)?;
        let mut bytes = Vec::new();
        signer.sign(0, &DOCUMENT, None)?.write(&mut bytes);
        let response = http_connection.call(&bytes).await?;
        signer.nonce = Nonce::new(&response.nonce.ok_or("the service gave no nonce")?)?;
        for caller in 0..signer.callers.len() {
            signer.sign(caller, &DOCUMENT, None)?.write(&mut bytes);
            let response = http_connection.call(&bytes).await?;
            if response.status != 200 {
                return Err(format!("{}: {}", response.status, response.error_excerpt).into());
            }
        }
        Ok(signer)
    }

    /// Creates a signer without a nonce. The service responds with a nonce to its first request.
    pub(crate) fn without_nonce(data_folder: &DataFolder) -> Outcome<Self> {
        Ok(Self {
            origin: data_folder.config.gateway_origin.clone(),
            nonce: Nonce::new("none-yet")?,
            callers: data_folder.callers.clone(),
        })
    }

    /// Signs a request of the caller with this number.
    pub(crate) fn sign(&self, caller: usize, target: &Target, key: Option<&str>) -> Outcome<Request> {
        let caller_state = &self.callers[caller % self.callers.len()];
        let htu = Htu::from_url(&format!("{}{}", self.origin, target.path))?;
        let proof = self.prove(caller_state, target.method, &htu)?;
        let key = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
        let own_lines = format!("{proof}\r\n{key}\r\n").into();
        Ok(Request { head: self.head(caller_state, target), lines: own_lines, body: target.body.clone() })
    }

    /// Signs `count` requests, of all callers in turn.
    pub(crate) fn sign_many(&self, target: &Target, count: usize) -> Outcome<Vec<Request>> {
        let htu = Htu::from_url(&format!("{}{}", self.origin, target.path))?;
        let heads: Vec<Arc<str>> = self.callers.iter().map(|caller| self.head(caller, target)).collect();
        (0..count)
            .map(|number| {
                let caller = number % self.callers.len();
                let lines = format!("{}\r\n\r\n", self.prove(&self.callers[caller], target.method, &htu)?);
                Ok(Request {
                    head: Arc::clone(&heads[caller]),
                    lines: lines.into(),
                    body: target.body.clone(),
                })
            })
            .collect()
    }

    fn prove(&self, caller: &Caller, method: &str, htu: &Htu) -> Outcome<String> {
        let proof = caller.prover.prove_now(&ProofRequest {
            method,
            htu,
            iat: now(),
            nonce: Some(&self.nonce),
            token: Some(caller.token.hash()),
        })?;
        Ok(proof.into_string())
    }

    fn head(&self, caller: &Caller, target: &Target) -> Arc<str> {
        let Target { method, path, query, body } = target;
        let host = self.origin.trim_start_matches("http://");
        let length = body.as_ref().map_or(String::new(), |body| {
            format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
        });
        let token = caller.token.authorization();
        format!(
            "{method} {path}{query} HTTP/1.1\r\nhost: {host}\r\nauthorization: {}\r\n\
             user-agent: LoadTest/1.0.0 (+https://client.example)\r\naccept: application/json\r\n\
             {length}dpop: ",
            &*token
        )
        .into()
    }
}

fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixTime::from_secs(since.as_secs())
}
