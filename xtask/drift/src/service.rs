//! Downloads the contract of a running service: its OpenAPI document and, from the same server, every schema
//! that the document refers to. Also requests each schema of the local contract by the path of its `$id`.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use contract_codegen::{Sources, drift::ContractVersion};
use contract_runtime::Json;
use ureq::Agent;
use url::{Host, Url};

use crate::args::DriftArgs;

/// The maximum size of one document in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum number of documents of one contract.
const MAX_DOCUMENTS: usize = 2000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Downloads and parses the contract of a service. `local` is the contract to compare it with; it supplies
/// the configuration and further schema identifiers.
pub(super) fn fetch_contract(
    address: &str,
    args: &DriftArgs,
    local: &ContractVersion,
    copy: &Path,
) -> Result<ContractVersion, String> {
    let mut base = Url::parse(address).map_err(|error| format!("`{address}` is not a URL: {error}"))?;
    let is_local = is_loopback(&base);
    if base.scheme() == "http" && !is_local && !args.allow_http {
        return Err(format!(
            "{address} does not use TLS\nhelp: use https://, or add `--allow-http` if you trust the network"
        ));
    }
    if base.scheme() == "https" && !cfg!(feature = "https") {
        return Err(format!(
            "{address} needs TLS, which this build does not support\nhelp: `cargo xtask drift` adds it; without xtask, add `--features https`"
        ));
    }
    let is_document = [".json", ".yaml", ".yml"].iter().any(|ending| base.path().ends_with(ending));
    let document = if is_document {
        let document = base.clone();
        base.set_path("");
        document
    } else {
        join_path(&base, &args.document)?
    };
    base.set_query(None);
    base.set_fragment(None);
    let mut fetch = ContractFetcher {
        agent: http_agent(is_local),
        base,
        copy,
        fetched: BTreeMap::new(),
        files: Vec::new(),
    };
    let Some(text) = fetch.fetch_document(&document)? else {
        return Err(format!(
            "there is no document at {document}\nhelp: set its path with `--document PATH`, or give its full URL"
        ));
    };
    fetch.store_document(document.clone(), &document, &text)?;
    fetch.fetch_references(document, text, local)?;
    let mounts: Vec<(String, PathBuf)> =
        fetch.fetched.into_iter().filter_map(|(uri, file)| Some((uri, file?))).collect();
    // Only the local contract has a configuration.
    local
        .load_with_same_options(&fetch.files, &mounts)
        .map_err(|problems| format!("the contract of {address} is invalid\n{}", problems.render(false)))
}

struct ContractFetcher<'a> {
    agent: Agent,
    base: Url,
    copy: &'a Path,
    /// The local file of each identifier, or `None` if the server does not have the document.
    fetched: BTreeMap<String, Option<PathBuf>>,
    files: Vec<PathBuf>,
}

impl ContractFetcher<'_> {
    fn fetch_references(
        &mut self,
        document: Url,
        text: String,
        local: &ContractVersion,
    ) -> Result<(), String> {
        let mut pending = VecDeque::new();
        collect_references(&document, &text, &mut pending)?;
        // The service also has schemas that no document refers to.
        pending.extend(local.schema_identifiers().filter_map(|id| Url::parse(id).ok()));
        while let Some(mut id) = pending.pop_front() {
            id.set_fragment(None);
            if !matches!(id.scheme(), "http" | "https") || self.fetched.contains_key(id.as_str()) {
                continue;
            }
            if self.files.len() >= MAX_DOCUMENTS {
                return Err(format!("{} has more than {MAX_DOCUMENTS} documents", self.base));
            }
            // The host in the identifier may differ from the server's host, so only its path is used.
            let place = join_path(&self.base, id.path())?;
            match self.fetch_document(&place)? {
                Some(text) => {
                    self.store_document(id.clone(), &place, &text)?;
                    collect_references(&id, &text, &mut pending)?;
                }
                None => {
                    self.fetched.insert(id.to_string(), None);
                }
            }
        }
        Ok(())
    }

    /// Fetches a document; `None` if the server does not have it.
    fn fetch_document(&self, address: &Url) -> Result<Option<String>, String> {
        let failed = |error: ureq::Error| {
            format!(
                "cannot fetch {address}: {error}\nhelp: check that the service is running at this address"
            )
        };
        let mut response = self.agent.get(address.as_str()).call().map_err(failed)?;
        let status = response.status().as_u16();
        match status {
            200 => {}
            404 | 410 => return Ok(None),
            300..400 => {
                let to =
                    response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
                return Err(format!("{address} redirects to {to}\nhelp: use that URL if you trust it"));
            }
            _ => {
                return Err(format!(
                    "{address} returned status {status}\nhelp: the contract must be readable without signing in"
                ));
            }
        }
        let bytes = response.body_mut().with_config().limit(MAX_BYTES).read_to_vec().map_err(failed)?;
        String::from_utf8(bytes).map(Some).map_err(|_| format!("{address} is not UTF-8"))
    }

    fn store_document(&mut self, id: Url, place: &Url, text: &str) -> Result<(), String> {
        // The URL parser has already resolved `..`, `%2e` and `\`.
        let names: Vec<&str> =
            place.path_segments().into_iter().flatten().filter(|name| !name.is_empty()).collect();
        let is_unsafe = |name: &&str| name.contains([':', '\\']) || *name == "." || *name == "..";
        if names.is_empty() || names.iter().any(is_unsafe) {
            return Err(format!("{place} is not a valid file name"));
        }
        let mut file: PathBuf = self.copy.join(names.iter().collect::<PathBuf>());
        if file.extension().is_none_or(|ending| !["json", "yaml", "yml"].iter().any(|known| ending == *known))
        {
            file.as_mut_os_string().push(".json");
        }
        let failed = |error: std::io::Error| format!("cannot store a copy of {place}: {error}");
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&file, text).map_err(failed)?;
        self.fetched.insert(id.to_string(), Some(file.clone()));
        self.files.push(file);
        Ok(())
    }
}

fn http_agent(is_local: bool) -> Agent {
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(REQUEST_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("contract-drift/", env!("CARGO_PKG_VERSION")));
    // A proxy could not connect to the loopback interface of this machine.
    let config = if is_local { config.proxy(None) } else { config };
    config.build().into()
}

fn is_loopback(address: &Url) -> bool {
    match address.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        None => false,
    }
}

/// Appends a path to the given base URL.
fn join_path(base: &Url, path: &str) -> Result<Url, String> {
    let mut address = base.clone();
    let joined = format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/'));
    address.set_path(&joined);
    // A URL like `mailto:a` cannot have a path.
    if address.cannot_be_a_base() {
        Err(format!("`{base}` is not the URL of a service"))
    } else {
        Ok(address)
    }
}

fn collect_references(id: &Url, text: &str, found: &mut VecDeque<Url>) -> Result<(), String> {
    let name = if id.path().ends_with(".yaml") || id.path().ends_with(".yml") { "a.yaml" } else { "a.json" };
    let sources = Sources::from_texts(&[(name, id.as_str(), text)])
        .map_err(|problems| format!("the document {id} is invalid\n{}", problems.render(false)))?;
    for (uri, document) in sources.documents() {
        let base = Url::parse(uri).unwrap_or_else(|_| id.clone());
        walk_references(&document, &base, found);
    }
    Ok(())
}

fn walk_references(document: &Json, base: &Url, found: &mut VecDeque<Url>) {
    match document {
        Json::Array(elements) => elements.iter().for_each(|element| walk_references(element, base, found)),
        Json::Object(members) => {
            let uri = members.get("$id").and_then(Json::as_str).and_then(|id| base.join(id).ok());
            let base = uri.as_ref().unwrap_or(base);
            for (key, value) in members {
                match key {
                    // The values of these keywords are data, not schemas.
                    "const" | "default" | "enum" | "example" | "examples" => {}
                    "$ref" | "$dynamicRef" => {
                        found.extend(value.as_str().and_then(|target| base.join(target).ok()));
                    }
                    _ => walk_references(value, base, found),
                }
            }
        }
        _ => {}
    }
}
