//! Documents of an external provider, over the network.

use std::time::Duration;

use dpop_bound::Pending;

use super::external::{Fetch, FetchError, Fetching};
use crate::logging::causes;

/// The largest document that is taken, in bytes.
const LARGEST: usize = 256 << 10;

/// Gets documents by HTTP.
#[derive(Clone, Debug)]
pub struct Network(reqwest::Client);

impl Network {
    /// With a bound on how long one document may take.
    ///
    /// # Errors
    /// When there are no certificates to trust.
    pub fn new(wait: Duration) -> Result<Self, FetchError> {
        let client = reqwest::Client::builder()
            .timeout(wait)
            // A redirect would make what is pinned depend on what it answers.
            .redirect(reqwest::redirect::Policy::none())
            .build();
        client.map(Self).map_err(|error| FetchError(causes(&error)))
    }
}

impl Fetch for Network {
    fn fetch<'a>(&'a self, url: &'a str) -> Fetching<'a> {
        Pending::later(async move {
            let failed = |error: reqwest::Error| FetchError(causes(&error));
            let mut answer = self.0.get(url).send().await.map_err(failed)?;
            if answer.status() != reqwest::StatusCode::OK {
                return Err(FetchError(format!("{url} answers {}", answer.status())));
            }
            let mut document = Vec::new();
            while let Some(chunk) = answer.chunk().await.map_err(failed)? {
                if document.len() + chunk.len() > LARGEST {
                    return Err(FetchError(format!("{url} answers more than {LARGEST} bytes")));
                }
                document.extend_from_slice(&chunk);
            }
            Ok(document)
        })
    }
}
