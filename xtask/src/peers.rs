//! `peers`: clients, an issuer and a guard that others wrote, against service and client of this checkout.
//!
//! Each peer is a script in `exchange/service/tests/peers/` over packages that are installed below `target/`. It says
//! one line of JSON a step, which [`mod@print`] shows. The service runs beside it as a process ([`beside`]): the
//! sandbox for clients, `serve` with an external issuer for `oidc-provider`. For `oauth4webapi` it is the other way
//! round: two peers run beside our client, an example of its crate. Nothing else needs either language.

mod beside;
mod print;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use clap::ValueEnum as _;
use serde_json::{Value, json};

use self::{
    beside::Beside,
    print::{Outcome, Step},
};
use crate::{
    Verdict,
    cli::{Peer, PeersArgs},
    packages::{self, Package},
    program,
    style::{complain, progress},
    test,
};

/// Where everything goes that this command makes.
const TARGET: &str = "target/peers";
/// The scripts.
const SCRIPTS: &str = "exchange/service/tests/peers";
/// Our client, as the peers meet it; from the scripts' folder.
const OUR_CLIENT: &str = "../../../client/examples/peer_client.rs";
/// How long a process may take until it answers.
const START: Duration = Duration::from_secs(60);

impl Peer {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenidClient => "openid-client",
            Self::RequestsOauth2client => "requests_oauth2client",
            Self::OidcProvider => "oidc-provider",
            Self::Httpx => "httpx",
            Self::Oauth4webapi => "oauth4webapi",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// Itself, and what else its scripts import.
    const fn packages(self) -> &'static [Package] {
        const OPENID_CLIENT: Package = Package::npm("openid-client", "6.8.9");
        const REQUESTS_OAUTH2CLIENT: Package = Package::pypi("requests_oauth2client", "1.8.0");
        const OIDC_PROVIDER: Package = Package::npm("oidc-provider", "9.13.3");
        const HTTPX: Package = Package::pypi("httpx", "0.28.1");
        // What signs there; `httpx` has no part in it.
        const CRYPTOGRAPHY: Package = Package::pypi("cryptography", "50.0.2");
        const OAUTH4WEBAPI: Package = Package::npm("oauth4webapi", "3.8.8");
        const SCHEMATHESIS: Package = Package::pypi("schemathesis", "4.32.5");
        // What it draws from; the same seed draws the same from the same version.
        const HYPOTHESIS: Package = Package::pypi("hypothesis", "6.170.15");
        match self {
            Self::OpenidClient => &[OPENID_CLIENT],
            Self::RequestsOauth2client => &[REQUESTS_OAUTH2CLIENT],
            Self::OidcProvider => &[OIDC_PROVIDER, OPENID_CLIENT],
            Self::Httpx => &[HTTPX, CRYPTOGRAPHY],
            Self::Oauth4webapi => &[OAUTH4WEBAPI, OIDC_PROVIDER],
            Self::Schemathesis => &[SCHEMATHESIS, HYPOTHESIS, REQUESTS_OAUTH2CLIENT],
        }
    }

    /// The client that signs in.
    const fn client(self) -> &'static str {
        match self {
            Self::OpenidClient | Self::OidcProvider => "openid-client.mjs",
            Self::RequestsOauth2client => "requests_oauth2client.py",
            Self::Httpx => "by_hand.py",
            Self::Oauth4webapi => OUR_CLIENT,
            Self::Schemathesis => "schemathesis.py",
        }
    }

    /// How long its client may take: several times what it takes alone on a small machine.
    const fn longest(self) -> Duration {
        match self {
            Self::Schemathesis => Duration::from_secs(600),
            _ => Duration::from_secs(120),
        }
    }
}

/// Carries the command out.
pub(crate) fn run(args: &PeersArgs, root: &Path) -> Verdict {
    let peers = asked(args);
    // All that is missing is said at once.
    let mut missing = Vec::new();
    for peer in &peers {
        let names: Vec<String> = peer.packages().iter().map(|package| package.label()).collect();
        progress("packages", &format!("{} in {TARGET}/{}", names.join(", "), peer.name()));
        let installed = packages::install(peer.packages(), &root.join(TARGET).join(peer.name()));
        missing.extend(installed.err().into_iter().flatten());
    }
    if !missing.is_empty() {
        missing.iter().for_each(|what| complain(what));
        return Verdict::NotRun;
    }
    // With the packages at hand, whatever keeps them from being asked is ours to repair.
    let built = match build(root) {
        Ok(built) => built,
        Err(error) => {
            complain(&error);
            return Verdict::ToRepair;
        }
    };
    let mut verdict = Verdict::InOrder;
    for peer in peers {
        // One that cannot be asked keeps nobody from hearing what the others say.
        let outcome = Asking { peer, built: &built, root }.outcome();
        anstream::print!("{}", if args.json { outcome.json() } else { outcome.text() });
        if !outcome.agrees() {
            verdict = Verdict::ToRepair;
        }
    }
    verdict
}

/// The peers that are named; all of them, where none is.
fn asked(args: &PeersArgs) -> Vec<Peer> {
    if args.peers.is_empty() { Peer::value_variants().to_vec() } else { args.peers.clone() }
}

/// Our programs.
struct Built {
    service: PathBuf,
    client: PathBuf,
}

/// Builds them as everything else here is built.
fn build(root: &Path) -> Result<Built, String> {
    progress("build", "exchange-service, peer_client");
    let mut cargo = test::cargo();
    // With examples the features of dependencies are those of the tests: nothing is built twice.
    cargo.arg("build").args(test::WHOLE).args(["--bin", "exchange-service", "--examples", "--quiet"]);
    cargo.arg("--message-format=json-render-diagnostics").current_dir(root);
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    let said = program::text(&output.stdout);
    let built = |name: &str| {
        let mut programs =
            said.lines().filter_map(|line| executable(&serde_json::from_str(line).ok()?, name));
        programs.next_back().filter(|_| output.status.success())
    };
    let program = |name: &str| built(name).ok_or_else(|| format!("{name} could not be built"));
    Ok(Built { service: program("exchange-service")?, client: program("peer_client")? })
}

/// The program of this name that a message of cargo says it made.
fn executable(message: &Value, name: &str) -> Option<PathBuf> {
    let is_it = message["target"]["name"] == name && message["reason"] == "compiler-artifact";
    message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
}

/// One peer and what it is asked about.
struct Asking<'a> {
    peer: Peer,
    built: &'a Built,
    root: &'a Path,
}

impl Asking<'_> {
    fn folder(&self) -> PathBuf {
        self.root.join(TARGET).join(self.peer.name())
    }

    /// What came of asking it; what kept it from being asked is a step that failed.
    fn outcome(&self) -> Outcome {
        let start = Instant::now();
        let steps = self.ask().unwrap_or_else(|error| vec![Step::failed("it is asked", error)]);
        let by = self.peer.packages().first().map(|package| package.label()).unwrap_or_default();
        Outcome { name: self.peer.name(), by, steps, time: start.elapsed() }
    }

    fn ask(&self) -> Result<Vec<Step>, String> {
        match self.peer {
            Peer::OpenidClient | Peer::RequestsOauth2client | Peer::Httpx | Peer::Schemathesis => {
                let (_sandbox, directory) = self.sandbox(&[])?;
                self.client(&directory)
            }
            Peer::OidcProvider => self.with_issuer(),
            Peer::Oauth4webapi => self.with_our_client(),
        }
    }

    /// Starts a sandbox; what it says of itself.
    fn sandbox(&self, args: &[&str]) -> Result<(Beside, String), String> {
        let mut command = Command::new(&self.built.service);
        command.args(["sandbox", "--json"]).args(args);
        progress(self.peer.name(), "exchange-service sandbox");
        let mut sandbox = Beside::start(&mut command, self.folder().join("service.log"))?;
        let directory = sandbox.first_line(START)?;
        Ok((sandbox, directory))
    }

    /// Our gateway with the peer as its issuer.
    fn with_issuer(&self) -> Result<Vec<Step>, String> {
        let folder = self.folder();
        let data = folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|error| format!("cannot empty {}: {error}", data.display()))?;
        }
        // Members, client and catalogue are those of the sandbox, which leaves them in the folder.
        drop(self.sandbox(&["--data", &data.to_string_lossy()])?);

        progress(self.peer.name(), &format!("{SCRIPTS}/oidc-provider.mjs, exchange-service serve"));
        let registry = packages::Registry::Npm;
        let mut issuer = registry.script(&self.script("oidc-provider.mjs"), &folder)?;
        let mut issuer = Beside::start(&mut issuer, folder.join("issuer.log"))?;
        let mut directory: Value = serde_json::from_str(&issuer.first_line(START)?)
            .map_err(|error| format!("oidc-provider.mjs does not say where it is: {error}"))?;

        let port = beside::free_port()?;
        let origin = format!("http://127.0.0.1:{port}");
        directory["gateway"] = json!(origin);
        let config = folder.join("exchange.toml");
        let text = config_of(&origin, directory["issuer"].as_str().unwrap_or_default(), port, &data);
        fs::write(&config, text).map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        let mut serve = Command::new(&self.built.service);
        serve.args(["serve", "--config"]).arg(&config);
        let mut serve = Beside::start(&mut serve, folder.join("service.log"))?;
        serve.answers(port, START)?;
        self.client(&directory.to_string())
    }

    /// Our client with peers as its issuer and as what guards its gateway.
    fn with_our_client(&self) -> Result<Vec<Step>, String> {
        let folder = self.folder();
        let scripts = "oidc-provider.mjs, oauth4webapi.mjs";
        progress(self.peer.name(), &format!("{SCRIPTS}/{{{scripts}}}"));
        let npm = packages::Registry::Npm;
        let mut issuer = npm.script(&self.script("oidc-provider.mjs"), &folder)?;
        let mut issuer = Beside::start(&mut issuer, folder.join("issuer.log"))?;
        let mut guard = npm.script(&self.script("oauth4webapi.mjs"), &folder)?;
        guard.arg(issuer.first_line(START)?);
        let mut guard = Beside::start(&mut guard, folder.join("service.log"))?;
        self.client(&guard.first_line(START)?)
    }

    fn script(&self, name: &str) -> PathBuf {
        self.root.join(SCRIPTS).join(name)
    }

    /// Runs the client to its end; the steps that it took.
    fn client(&self, directory: &str) -> Result<Vec<Step>, String> {
        let name = self.peer.client();
        let script = |registry: packages::Registry| registry.script(&self.script(name), &self.folder());
        let (shown, mut command) = match name.rsplit_once('.') {
            Some((_, "rs")) => ("peer_client".to_owned(), Command::new(&self.built.client)),
            Some((_, "py")) => (format!("{SCRIPTS}/{name}"), script(packages::Registry::Pypi)?),
            _ => (format!("{SCRIPTS}/{name}"), script(packages::Registry::Npm)?),
        };
        progress(self.peer.name(), &shown);
        command.arg(directory).current_dir(self.folder());
        let said = program::run_within(&mut command, self.peer.longest())?;
        if !said.status.success() {
            return Err(format!("{name} failed: {}\n{}", said.status, program::text(&said.stderr).trim()));
        }
        Step::read(&program::text(&said.stdout)).map_err(|error| format!("{name} said {error}"))
    }
}

/// A gateway over a sandbox's data that takes an external issuer's tokens.
fn config_of(origin: &str, issuer: &str, port: u16, data: &Path) -> String {
    // As JSON a text is a basic string of TOML.
    let [origin, issuer, data] =
        [origin, issuer, &data.to_string_lossy()].map(|text| Value::from(text).to_string());
    format!(
        "gateway-origin = {origin}\npages-origin = {origin}\nissuer = {issuer}\n\n[idp.external]\n\n\
         [serve]\nlisten = \"127.0.0.1:{port}\"\ndata = {data}\nsandbox-data = true\n"
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_scripts_are_there_and_name_their_package() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(SCRIPTS);
        for peer in Peer::value_variants() {
            let client = fs::read_to_string(scripts.join(peer.client())).unwrap();
            let own = fs::read_to_string(scripts.join(format!("{}.mjs", peer.name()))).unwrap_or(client);
            assert!(own.contains(&format!("`{}`", peer.name())), "{peer:?}");
            assert!(own.contains(&format!("cargo xtask peers {}", peer.name())), "{peer:?}");
        }
    }

    /// A peer that no list has is run by nobody: neither by this command without names, nor by whoever reads its help.
    #[test]
    fn without_a_name_all_are_asked_and_the_help_has_each() {
        let all: Vec<&str> = asked(&PeersArgs::default()).into_iter().map(Peer::name).collect();
        let cli = crate::cli::Cli::command();
        let command = cli.find_subcommand("peers").unwrap();
        let argument = command.get_arguments().find(|argument| argument.get_id() == "peers").unwrap();
        let can_be_named = argument.get_possible_values();
        assert_eq!(all, can_be_named.iter().map(|value| value.get_name()).collect::<Vec<_>>());
        let about = command.get_long_about().unwrap().to_string();
        for name in all {
            assert!(about.contains(&format!("`{name}`")), "{name}");
        }
        let one = PeersArgs { peers: vec![Peer::Httpx], ..PeersArgs::default() };
        assert_eq!(asked(&one), [Peer::Httpx]);
    }

    #[test]
    fn cargo_says_where_the_program_is() {
        let message = |reason: &str, name: &str| {
            let message = json!({ "reason": reason, "target": { "name": name }, "executable": "/t/x" });
            executable(&message, "exchange-service")
        };
        assert_eq!(message("compiler-artifact", "exchange-service"), Some(PathBuf::from("/t/x")));
        assert_eq!(message("compiler-artifact", "xtask"), None);
        assert_eq!(message("build-finished", "exchange-service"), None);
    }

    #[test]
    fn a_folder_of_any_name_is_configured() {
        let text = config_of("http://a:1", "http://b:2", 1, Path::new("C:\\a \"b\""));
        let read: toml::Table = text.parse().unwrap();
        assert_eq!(read["serve"]["data"].as_str(), Some("C:\\a \"b\""));
        assert!(read["idp"]["external"].is_table());
    }
}
