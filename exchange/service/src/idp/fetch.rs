//! Fetches documents of an external provider over HTTP.

use std::time::Duration;

use dpop_bound::MaybeReady;

use super::external::{DocumentFetcher, FetchError, FetchFuture};
use crate::logging::error_chain;

const MAX_DOCUMENT_BYTES: usize = 256 << 10;

/// An HTTP client for documents of an external provider.
#[derive(Clone, Debug)]
pub struct HttpFetcher(reqwest::Client);

impl HttpFetcher {
    /// Creates a client with a timeout for each document.
    ///
    /// # Errors
    /// Returns a [`FetchError`] if the system has no trusted certificates.
    pub fn new(wait: Duration) -> Result<Self, FetchError> {
        let client = reqwest::Client::builder()
            .timeout(wait)
            // Redirects are disabled, because a redirect could replace the configured address.
            .redirect(reqwest::redirect::Policy::none())
            .build();
        client.map(Self).map_err(|error| FetchError(error_chain(&error)))
    }
}

impl DocumentFetcher for HttpFetcher {
    fn fetch_document<'a>(&'a self, url: &'a str) -> FetchFuture<'a> {
        MaybeReady::boxed(async move {
            let failed = |error: reqwest::Error| FetchError(error_chain(&error));
            let mut response = self.0.get(url).send().await.map_err(failed)?;
            if response.status() != reqwest::StatusCode::OK {
                return Err(FetchError(format!("{url} responded with {}", response.status())));
            }
            let mut document = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                if document.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                    return Err(FetchError(format!("response of {url} exceeds {MAX_DOCUMENT_BYTES} bytes")));
                }
                document.extend_from_slice(&chunk);
            }
            Ok(document)
        })
    }
}
