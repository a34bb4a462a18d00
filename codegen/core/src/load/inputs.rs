//! The inputs of a contract: files and folders, documents that the caller has read, and downloads.
//!
//! The pipeline never accesses the network. A [`DocumentFetcher`] of the caller downloads documents.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    tree::{DocumentNode, NodeValue, SourceId},
};

use super::{STDIN_NAME, Sources, files, uri};

/// Downloads documents for inputs and references that are URLs.
pub trait DocumentFetcher: fmt::Debug + Send + Sync {
    /// Returns the content of a document.
    ///
    /// # Errors
    /// Returns the reason why the document is not available.
    fn fetch(&self, request: DocumentRequest<'_>) -> Result<Vec<u8>, FetchError>;
}

/// A document to download.
#[derive(Clone, Copy, Debug)]
pub struct DocumentRequest<'a> {
    /// The URL, with the scheme `https` or `http`.
    pub url: &'a str,
    /// The name of the document in messages and files. For an input, it is the URL without the query, which may be a
    /// signature or another secret.
    pub name: &'a str,
    /// The URL of the downloaded document that refers to this one, or `None` for an input and for references in files.
    pub referrer: Option<&'a str>,
}

/// The reason why a document was not downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchError {
    /// The URL and the reason.
    pub message: String,
    /// The next step for the user.
    pub help: Option<&'static str>,
    /// True if the contract must be rejected. Otherwise, a reference to the document is a fault like any
    /// unresolved reference.
    pub is_fatal: bool,
}

impl FetchError {
    fn into_diagnostic(self) -> Diagnostic {
        let failure = Diagnostic::error("io", self.message);
        match self.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

/// A document whose content the caller has read, for example from standard input.
#[derive(Clone, Debug)]
pub struct InputDocument {
    /// The name for diagnostics. A YAML extension selects YAML; without an extension, the content selects
    /// JSON or YAML.
    pub name: String,
    pub content: Vec<u8>,
}

/// The inputs of a contract, and the sources of documents that references need.
#[derive(Clone, Debug, Default)]
pub struct ContractInputs {
    /// Files, folders, and URLs with the scheme `https` or `http`.
    pub paths: Vec<PathBuf>,
    /// Documents that the caller has read. References in them are relative to the current folder.
    pub documents: Vec<InputDocument>,
    /// URI prefixes with the folders to which they are mapped, or single URIs with files.
    pub mounts: Vec<(String, PathBuf)>,
    /// Downloads URLs. Without it, a URL among the paths is an error, and references to URLs are unresolved.
    pub fetcher: Option<Arc<dyn DocumentFetcher>>,
    /// The folder to which the names of files in messages are relative. By default, it is the common folder of
    /// the inputs.
    pub shown_from: Option<PathBuf>,
}

/// Returns the URL if a path among the inputs is a URL with the scheme `https` or `http`.
#[must_use]
pub fn as_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_http_url(text))
}

/// Returns an error message if an input is a URL with a scheme other than `https` and `http`, such as `ftp:` or `file:`.
#[must_use]
pub fn unsupported_scheme(path: &Path) -> Option<String> {
    let (scheme, rest) = path.to_str()?.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_url = is_scheme && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"));
    if !is_url || as_url(path).is_some() || path.exists() {
        return None;
    }
    let instead = match scheme.eq_ignore_ascii_case("file") {
        true => "pass the path of the file without `file:`",
        false => "pass an `https:` URL with `--fetch`, or a file",
    };
    Some(format!("`{scheme}:` URLs are not supported: {instead}"))
}

/// Returns true if the scheme is `https` or `http`, which are case-insensitive (RFC 3986, 3.1).
fn is_http_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// Returns true if a document has no file: it was read from standard input or from a URL.
pub(super) fn is_unnamed(name: &str) -> bool {
    name == STDIN_NAME || is_http_url(name)
}

/// Returns the path of an input in the options, which is relative to `base` unless it is a URL.
#[must_use]
pub fn join_base(base: &Path, input: &Path) -> PathBuf {
    if as_url(input).is_some() || unsupported_scheme(input).is_some() {
        input.to_path_buf()
    } else {
        base.join(input)
    }
}

impl Sources {
    /// Downloads an input, which is called `name`. Returns `None` and reports a problem if it is not available.
    pub(super) fn fetch_input(&self, url: &str, name: &str, problems: &mut Diagnostics) -> Option<Vec<u8>> {
        let Some(fetcher) = &self.fetcher else {
            let message = format!("`{name}` is a URL, and documents are downloaded only with `--fetch`");
            let help = "use `--fetch`, or download the document and give its path";
            problems.push(Diagnostic::error("io", message).help(help));
            return None;
        };
        if url.contains('#') {
            let message = format!("`{name}` has a fragment, but an input is a whole document");
            problems.push(Diagnostic::error("io", message).help("remove the part after `#`"));
            return None;
        }
        let request = DocumentRequest { url, name, referrer: None };
        fetcher.fetch(request).map_err(|error| problems.push(error.into_diagnostic())).ok()
    }

    /// Downloads the document of a reference if the URI is a URL and there is a fetcher. Returns false if
    /// there is no new document. `key` is the normalized URI.
    pub(super) fn load_url(
        &mut self,
        uri: &str,
        key: String,
        from: SourceId,
        problems: &mut Diagnostics,
    ) -> bool {
        let is_new = is_http_url(uri) && !self.unfetched.contains(&key);
        let fetcher = self.fetcher.clone().filter(|_| is_new);
        let Some(fetcher) = fetcher else { return false };
        let retrieval = self.retrievals.get(from.0 as usize).filter(|retrieval| retrieval.path.is_none());
        let referrer = retrieval.map(|retrieval| retrieval.base_uri.as_str());
        let referrer = referrer.filter(|uri| is_http_url(uri));
        match fetcher.fetch(DocumentRequest { url: uri, name: uri, referrer }) {
            Ok(content) => {
                let id = self.add_source(uri.to_owned(), None, &content, uri, false, problems);
                self.names.insert(key, id);
                true
            }
            Err(error) => {
                let is_fatal = error.is_fatal;
                let problem = error.into_diagnostic();
                problems.push(if is_fatal {
                    problem
                } else {
                    problem.with_fallback("references to it accept any JSON")
                });
                self.unfetched.insert(key);
                false
            }
        }
    }

    /// Returns true if the document of a URL could not be downloaded.
    pub(crate) fn is_unfetched(&self, uri: &str) -> bool {
        self.unfetched.contains(&uri::normalized_key(uri))
    }
}

/// Returns the name whose extension determines the syntax of a document without a file. If the name has no
/// extension of a document, the content decides: JSON starts with `{`, `[` or `"`.
pub(super) fn syntax_name(name: &str, content: &[u8]) -> &'static str {
    let path = uri::without_query(name);
    let is_json = Path::new(path).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let starts_like_json = || {
        let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content).trim_ascii_start();
        matches!(text.first(), Some(b'{' | b'[' | b'"'))
    };
    if files::is_yaml(path) || !is_json && !starts_like_json() { "document.yaml" } else { "document.json" }
}

/// Returns an error if a document without a file cannot be part of a contract. Any text is a YAML string, for
/// example a login page or the output of a failed program, and would be a contract without types.
pub(super) fn check_unnamed_document(name: &str, tree: &DocumentNode) -> Option<Diagnostic> {
    let is_schema = tree.is_object() || matches!(tree.value, NodeValue::Bool(_));
    let message = format!("`{name}` is not an object, so it is neither a schema nor an OpenAPI document");
    (!is_schema).then(|| Diagnostic::error("io", message).help("check the document that the source returns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_or_content_selects_the_syntax() {
        for (name, content, expected) in [
            ("https://a.example/openapi.yml?at=1.json", "{}", "document.yaml"),
            ("https://a.example/openapi.json", "a: 1", "document.json"),
            ("https://a.example/openapi", " {}", "document.json"),
            ("https://a.example/v1.2", "\u{feff}{}", "document.json"),
            ("stdin", "openapi: 3.1.0", "document.yaml"),
            ("stdin", "\n[]", "document.json"),
        ] {
            assert_eq!(syntax_name(name, content.as_bytes()), expected, "{name} {content}");
        }
    }

    #[test]
    fn urls_are_not_joined_to_folders() {
        let join = |input: &str| join_base(Path::new("schemas"), Path::new(input));
        assert_eq!(join("https://a.example/b.json"), Path::new("https://a.example/b.json"));
        assert_eq!(join("https.json"), Path::new("schemas/https.json"));
        assert_eq!(join("HTTPS://a.example/b.json"), Path::new("HTTPS://a.example/b.json"));
        assert_eq!(as_url(Path::new("ftp://a.example")), None);
        for (input, is_unsupported) in [
            ("ftp://a.example/api.json", true),
            ("FILE:///tmp/api.json", true),
            ("file:api.json", true),
            ("s3://bucket/api.json", true),
            ("https://a.example", false),
            ("C:\\api.json", false),
            ("a:b.json", false),
            ("api.json", false),
        ] {
            assert_eq!(unsupported_scheme(Path::new(input)).is_some(), is_unsupported, "{input}");
        }
    }
}
