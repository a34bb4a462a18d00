//! The contract that a running service serves: its OpenAPI document and every schema that the
//! document refers to, or that the contract here has, by `$id`, from the same server.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use contract_codegen::{Sources, drift::Version};
use contract_runtime::Json;
use ureq::Agent;
use url::{Host, Url};

use super::Args;

/// Bytes that one document may have.
const MAX_BYTES: u64 = 16 << 20;
/// Documents that one contract may have.
const MAX_DOCUMENTS: usize = 2000;
const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(30);

/// Fetches and reads what a service serves. `here` is the contract it is compared with.
pub(super) fn read(address: &str, args: &Args, here: &Version, copy: &Path) -> Result<Version, String> {
    let mut base = Url::parse(address).map_err(|error| format!("`{address}` is no address: {error}"))?;
    let local = is_loopback(&base);
    if base.scheme() == "http" && !local && !args.allow_http {
        return Err(format!(
            "{address} would be asked without TLS\nhelp: use https://, or say `--allow-http` if you trust the network"
        ));
    }
    if base.scheme() == "https" && !cfg!(feature = "https") {
        return Err(format!(
            "{address} is asked by TLS, which is left out of `cargo xtask` to build faster\nhelp: say it as `cargo run --package xtask --features https -- drift --against {address}`"
        ));
    }
    let whole = [".json", ".yaml", ".yml"].iter().any(|ending| base.path().ends_with(ending));
    let document = if whole {
        let document = base.clone();
        base.set_path("");
        document
    } else {
        below(&base, &args.document)?
    };
    base.set_query(None);
    base.set_fragment(None);
    let mut fetch = Fetch { agent: agent(local), base, copy, got: BTreeMap::new(), files: Vec::new() };
    let Some(text) = fetch.get(&document)? else {
        return Err(format!(
            "there is no document at {document}\nhelp: say where it is with `--document PATH`, or give its whole address"
        ));
    };
    fetch.keep(document.clone(), &document, &text)?;
    fetch.follow(document, text, here)?;
    let mounts: Vec<(String, PathBuf)> =
        fetch.got.into_iter().filter_map(|(uri, file)| Some((uri, file?))).collect();
    // Only the contract here has a configuration.
    here.load_alike(&fetch.files, &mounts)
        .map_err(|problems| format!("what {address} serves cannot be read\n{}", problems.render(false)))
}

struct Fetch<'a> {
    agent: Agent,
    base: Url,
    copy: &'a Path,
    /// Per identifier: its file, `None` where the server has none.
    got: BTreeMap<String, Option<PathBuf>>,
    files: Vec<PathBuf>,
}

impl Fetch<'_> {
    /// Fetches every schema that is referred to, breadth first.
    fn follow(&mut self, document: Url, text: String, here: &Version) -> Result<(), String> {
        let mut waiting = VecDeque::new();
        references(&document, &text, &mut waiting)?;
        // Schemas that nothing refers to are served all the same.
        waiting.extend(here.identifiers().filter_map(|id| Url::parse(id).ok()));
        while let Some(mut id) = waiting.pop_front() {
            id.set_fragment(None);
            if !matches!(id.scheme(), "http" | "https") || self.got.contains_key(id.as_str()) {
                continue;
            }
            if self.files.len() >= MAX_DOCUMENTS {
                return Err(format!("{} has more than {MAX_DOCUMENTS} documents", self.base));
            }
            // The identifier's host need not be the server's: only the path counts.
            let place = below(&self.base, id.path())?;
            match self.get(&place)? {
                Some(text) => {
                    self.keep(id.clone(), &place, &text)?;
                    references(&id, &text, &mut waiting)?;
                }
                None => {
                    self.got.insert(id.to_string(), None);
                }
            }
        }
        Ok(())
    }

    /// The text at an address, `None` where the server knows none.
    fn get(&self, address: &Url) -> Result<Option<String>, String> {
        let failed = |error: ureq::Error| {
            format!("cannot fetch {address}: {error}\nhelp: is the service running, and is this its address?")
        };
        let mut response = self.agent.get(address.as_str()).call().map_err(failed)?;
        let status = response.status().as_u16();
        match status {
            200 => {}
            404 | 410 => return Ok(None),
            300..400 => {
                let to =
                    response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
                return Err(format!("{address} redirects to {to}\nhelp: give that address, if you trust it"));
            }
            _ => {
                return Err(format!(
                    "{address} answers {status}\nhelp: contracts are read without signing in"
                ));
            }
        }
        let bytes = response.body_mut().with_config().limit(MAX_BYTES).read_to_vec().map_err(failed)?;
        String::from_utf8(bytes).map(Some).map_err(|_| format!("{address} is not UTF-8"))
    }

    fn keep(&mut self, id: Url, place: &Url, text: &str) -> Result<(), String> {
        // Paths of URLs hold no `..`, and `%2e` and `\` were settled by the parser.
        let names: Vec<&str> =
            place.path_segments().into_iter().flatten().filter(|name| !name.is_empty()).collect();
        let odd = |name: &&str| name.contains([':', '\\']) || *name == "." || *name == "..";
        if names.is_empty() || names.iter().any(odd) {
            return Err(format!("no file can be called like {place}"));
        }
        let mut file: PathBuf = self.copy.join(names.iter().collect::<PathBuf>());
        if file.extension().is_none_or(|ending| !["json", "yaml", "yml"].iter().any(|known| ending == *known))
        {
            file.as_mut_os_string().push(".json");
        }
        let failed = |error: std::io::Error| format!("cannot keep a copy of {place}: {error}");
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&file, text).map_err(failed)?;
        self.got.insert(id.to_string(), Some(file.clone()));
        self.files.push(file);
        Ok(())
    }
}

fn agent(local: bool) -> Agent {
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(WHOLE))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("contract-drift/", env!("CARGO_PKG_VERSION")));
    // A proxy cannot reach this machine's loopback.
    let config = if local { config.proxy(None) } else { config };
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

/// A path below the address that was given, whose own path comes first.
fn below(base: &Url, path: &str) -> Result<Url, String> {
    let mut address = base.clone();
    let joined = format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/'));
    address.set_path(&joined);
    // A scheme without authority cannot hold a path.
    if address.cannot_be_a_base() { Err(format!("`{base}` is no address of a service")) } else { Ok(address) }
}

/// Every document that a text refers to.
fn references(id: &Url, text: &str, found: &mut VecDeque<Url>) -> Result<(), String> {
    let name = if id.path().ends_with(".yaml") || id.path().ends_with(".yml") { "a.yaml" } else { "a.json" };
    let sources = Sources::from_texts(&[(name, id.as_str(), text)])
        .map_err(|problems| format!("what is served as {id} cannot be read\n{}", problems.render(false)))?;
    for (uri, document) in sources.documents() {
        let base = Url::parse(uri).unwrap_or_else(|_| id.clone());
        walk(&document, &base, found);
    }
    Ok(())
}

fn walk(document: &Json, base: &Url, found: &mut VecDeque<Url>) {
    match document {
        Json::Array(elements) => elements.iter().for_each(|element| walk(element, base, found)),
        Json::Object(members) => {
            let own = members.get("$id").and_then(Json::as_str).and_then(|id| base.join(id).ok());
            let base = own.as_ref().unwrap_or(base);
            for (key, value) in members {
                match key {
                    // Values, not schemas.
                    "const" | "default" | "enum" | "example" | "examples" => {}
                    "$ref" | "$dynamicRef" => {
                        found.extend(value.as_str().and_then(|target| base.join(target).ok()));
                    }
                    _ => walk(value, base, found),
                }
            }
        }
        _ => {}
    }
}
