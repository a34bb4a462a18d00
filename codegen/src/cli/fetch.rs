//! `--fetch`: downloads documents, and records their digests in `codegen.lock`. Each configuration has its own lock
//! file, `other.lock` for `other.toml`, so that the removal of unused entries never affects another configuration.
//!
//! Only `https` is accepted, except for hosts on the loopback interface. Size, time and redirects are limited.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract_codegen::{DocumentFetcher, DocumentRequest, FetchError, write};
use contract_codegen_core::load::{sha256_hex, uri};
use ureq::{
    Agent, Error,
    http::{Response, Uri, header},
    tls::{RootCerts, TlsConfig},
};

use super::{args::FetchArgs, console::Console, error::CommandError};

/// The file with the digests of contracts without a configuration, in the current folder.
const LOCK_FILE: &str = "codegen.lock";
const LOCK_HEADER: &str = "\
# SHA-256 digests of the documents that contract-codegen downloaded. `generate --fetch` and `init --fetch`
# update this file; with `--locked`, a document with another digest is an error.
";
/// The maximum size of a document in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum time for one document, from the connection to the last byte.
const MAX_DURATION: Duration = Duration::from_secs(60);
const MAX_REDIRECTS: usize = 5;
/// The media types of documents, in order of preference.
const ACCEPT: &str = "application/json, application/yaml, */*;q=0.5";
const NO_CREDENTIALS: &str =
    "documents are downloaded without credentials: download it with another tool and give its path";

/// Downloads documents with [`FetchArgs`] and compares their digests with the lock file.
#[derive(Debug)]
pub(crate) struct Downloader {
    agent: Agent,
    lock_path: PathBuf,
    /// The digests in the lock file by URL.
    locked: BTreeMap<String, String>,
    /// True if each document must have the digest in the lock file.
    must_match: bool,
    /// The digests of the documents that were downloaded in this run.
    received: Mutex<BTreeMap<String, String>>,
    /// The names of all documents that were requested, also those that are not available.
    requested: Mutex<BTreeSet<String>>,
}

/// The treatment of entries of the lock file whose documents were not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnusedEntries {
    /// Another contract may use them.
    Keep,
    Remove,
}

impl Downloader {
    /// Returns a downloader if the options request downloads. Its lock file is beside the configuration and has the same
    /// stem. Without a configuration, it is `codegen.lock` in the current folder.
    pub(crate) fn from_args(
        args: FetchArgs,
        config: Option<&Path>,
    ) -> Result<Option<Arc<Self>>, CommandError> {
        if !args.fetch {
            return Ok(None);
        }
        let lock_path =
            config.map_or_else(|| PathBuf::from(LOCK_FILE), |config| config.with_extension("lock"));
        let locked = read_lock(&lock_path)?;
        let must_match = args.locked;
        Ok(Some(Arc::new(Self {
            agent: http_agent(),
            lock_path,
            locked,
            must_match,
            received: Mutex::default(),
            requested: Mutex::default(),
        })))
    }

    /// Prints a line for each document that differs from the lock file.
    pub(crate) fn print_changes(&self, console: &Console) {
        for (url, digest) in self.received.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if self.locked.get(url).is_some_and(|locked| locked != digest) {
                let lock = self.lock_path.display();
                console.print_status("changed", &format!("{url} differs from the digest in {lock}"));
            }
        }
    }

    /// Writes the digests of this run to the lock file.
    pub(crate) fn write_lock(&self, unused: UnusedEntries, console: &Console) -> Result<(), CommandError> {
        self.print_changes(console);
        let mut digests = self.locked.clone();
        if unused == UnusedEntries::Remove {
            let requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
            digests.retain(|name, _| requested.contains(name));
        }
        digests.extend(self.received.lock().unwrap_or_else(PoisonError::into_inner).clone());
        if self.must_match || digests == self.locked {
            return Ok(());
        }
        let table: toml::Table =
            digests.into_iter().map(|(url, digest)| (url, toml::Value::String(digest))).collect();
        write::replace_file(&self.lock_path, &format!("{LOCK_HEADER}\n{table}"))?;
        console.print_status("updated", &self.lock_path.display().to_string());
        Ok(())
    }

    fn download(&self, request: DocumentRequest<'_>) -> Result<Vec<u8>, FetchError> {
        let (mut address, mut referrer) = (request.url.to_owned(), request.referrer.map(str::to_owned));
        for _ in 0..=MAX_REDIRECTS {
            let name =
                if address == request.url { request.name } else { uri::without_query(&address) }.to_owned();
            check_url(&address, &name, referrer.as_deref())?;
            let cannot = |error: Error| {
                unavailable(
                    format!("cannot download {name}: {}", describe_error(&error)),
                    Some(
                        "check the URL and the network, or download the document with another tool and give its path",
                    ),
                )
            };
            let mut response =
                self.agent.get(&address).header(header::ACCEPT, ACCEPT).call().map_err(cannot)?;
            if !response.status().is_redirection() {
                check_status(&name, &response)?;
                if response.body().content_length().is_some_and(|length| length > MAX_BYTES) {
                    return Err(cannot(Error::BodyExceedsLimit(MAX_BYTES)));
                }
                return response.body_mut().with_config().limit(MAX_BYTES).read_to_vec().map_err(cannot);
            }
            let target = response.headers().get(header::LOCATION).and_then(|target| target.to_str().ok());
            let target = target.and_then(|target| uri::resolve(&address, target)).ok_or_else(|| {
                let status = response.status().as_u16();
                unavailable(format!("{name} returned status {status} without a valid target"), None)
            })?;
            referrer = Some(std::mem::replace(&mut address, target));
        }
        let message = format!("{} redirects more than {MAX_REDIRECTS} times", request.name);
        Err(unavailable(message, Some("give the final URL")))
    }
}

impl DocumentFetcher for Downloader {
    fn fetch(&self, request: DocumentRequest<'_>) -> Result<Vec<u8>, FetchError> {
        let name = request.name;
        self.requested.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        // Without the lock file, a document that does not exist is a fault like any unresolved reference. Other
        // failures may be temporary, so they must not change the generated code.
        let bytes = self
            .download(request)
            .map_err(|error| FetchError { is_fatal: error.is_fatal || self.must_match, ..error })?;
        let digest = format!("sha256:{}", sha256_hex(&bytes));
        let locked = self.locked.get(name);
        if self.must_match && locked != Some(&digest) {
            let lock = self.lock_path.display();
            let message = match locked {
                Some(_) => format!("{name} differs from the digest in {lock}"),
                None => format!("{lock} has no digest of {name}"),
            };
            let help = Some("run `generate --fetch` without `--locked`, and review the changes");
            return Err(FetchError { message, help, is_fatal: true });
        }
        self.received.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), digest);
        Ok(bytes)
    }
}

fn unavailable(message: String, help: Option<&'static str>) -> FetchError {
    FetchError { message, help, is_fatal: true }
}

fn read_lock(path: &Path) -> Result<BTreeMap<String, String>, CommandError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(CommandError::Io(format!("cannot read {}: {error}", path.display()))),
    };
    let invalid = |reason: &str| {
        let place = path.display();
        CommandError::Usage(format!(
            "{place} is invalid: {reason}\nhelp: restore it, or delete it to accept the current documents"
        ))
    };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| invalid(error.message()))?;
    let digest = |(url, digest): (String, toml::Value)| match digest {
        toml::Value::String(digest) if digest.starts_with("sha256:") => Ok((url, digest)),
        _ => Err(invalid(&format!("the value of `{url}` is not `sha256:` with a digest"))),
    };
    table.into_iter().map(digest).collect()
}

fn http_agent() -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .timeout_global(Some(MAX_DURATION))
        .max_redirects(0)
        .http_status_as_error(false)
        .tls_config(tls)
        .user_agent(concat!("contract-codegen/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}

/// Returns an error if a URL must not be downloaded. `name` represents it in messages. `referrer` is the URL of the
/// document that refers or redirects to it: a document from another host must not cause requests to this machine.
/// The message never contains credentials.
fn check_url(url: &str, name: &str, referrer: Option<&str>) -> Result<(), FetchError> {
    let parsed = url.parse::<Uri>().ok();
    let Some((parsed, authority)) = parsed.as_ref().and_then(|url| Some((url, url.authority()?))) else {
        // The message must not contain credentials.
        let shown = if url.contains('@') { "a URL" } else { name };
        let message = format!("`{shown}` cannot be downloaded: it is not a valid URL with a host");
        return Err(unavailable(message, Some("percent-encode spaces, and use `https:`")));
    };
    if authority.as_str().contains('@') {
        let host = authority.host();
        let message = format!("the URL of a document on {host} contains credentials");
        return Err(unavailable(message, Some(NO_CREDENTIALS)));
    }
    match parsed.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if uri::is_loopback(authority.host()) => match referrer.map(str::parse::<Uri>) {
            None => Ok(()),
            Some(Ok(referrer)) if referrer.host().is_some_and(uri::is_loopback) => Ok(()),
            Some(_) => {
                let message = format!("{name} is on this machine, but the document that refers to it is not");
                Err(unavailable(message, Some("download it with another tool, and give its path")))
            }
        },
        _ => Err(unavailable(format!("{name} is not encrypted"), Some("use a URL with `https:`"))),
    }
}

fn check_status<B>(url: &str, response: &Response<B>) -> Result<(), FetchError> {
    let status = response.status().as_u16();
    let help = matches!(status, 401 | 403).then_some(NO_CREDENTIALS);
    let message = format!("{url} returned status {status}");
    match status {
        200 => Ok(()),
        404 | 410 => Err(FetchError { message, help, is_fatal: false }),
        _ => Err(unavailable(message, help)),
    }
}

fn describe_error(error: &Error) -> String {
    match error {
        Error::BodyExceedsLimit(_) => format!("the document is larger than {} MiB", MAX_BYTES >> 20),
        Error::Timeout(_) => format!("it took longer than {} seconds", MAX_DURATION.as_secs()),
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document from another host must not cause requests to this machine, and no redirect leaves TLS.
    #[test]
    fn referrer_decides_about_loopback_addresses() {
        for (url, referrer, allowed) in [
            ("https://a.example/b.json", None, true),
            ("https://a.example/b.json", Some("http://localhost/a.json"), true),
            ("http://localhost:1/b.json", None, true),
            ("http://[::1]/b.json", Some("http://127.0.0.1/a.json"), true),
            ("http://127.0.0.1/b.json", Some("https://a.example/a.json"), false),
            ("http://127.0.0.1.a.example/b.json", None, false),
            ("ftp://a.example/b.json", None, false),
        ] {
            assert_eq!(check_url(url, url, referrer).is_ok(), allowed, "{url} from {referrer:?}");
        }
    }
}
