//! `peers`: runs the service and the client of this checkout together with programs of other projects:
//! clients, an issuer, a verifier and a test generator.
//!
//! Each peer is a script in `exchange/service/tests/peers/` that uses packages installed below `target/`. It
//! prints one line of JSON per step, which [`mod@print`] renders. The service runs as a background process
//! ([`crate::background`]): as the sandbox for clients, and as `serve` with an external issuer for `oidc-provider`.
//! For `oauth4webapi` the roles are reversed: our client, an example of its crate, runs against two peers in
//! background processes. Except for `oracles`, no other command needs Node.js or Python.

mod print;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use clap::ValueEnum as _;
use serde_json::{Value, json};

use self::print::{PeerResult, PeerStep};
use crate::{
    CommandOutcome,
    background::{self, BackgroundProcess},
    cli::{PeerProgram, PeersArgs},
    packages::{self, ToolPackage},
    program,
    style::{report_error, report_progress},
    test,
};

/// The folder for everything that this command creates.
const TARGET_FOLDER: &str = "target/peers";
const SCRIPTS_FOLDER: &str = "exchange/service/tests/peers";
/// The path of our client for the peer `oauth4webapi`, relative to the folder of the scripts.
const OUR_CLIENT: &str = "../../../client/examples/peer_client.rs";
/// The maximum time that a background process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

impl PeerProgram {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenidClient => "openid-client",
            Self::RequestsOauth2client => "requests_oauth2client",
            Self::OidcProvider => "oidc-provider",
            Self::Httpx => "httpx",
            Self::Example => "example",
            Self::Oauth4webapi => "oauth4webapi",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// Returns the package of the peer, followed by other packages that its scripts import.
    const fn packages(self) -> &'static [ToolPackage] {
        const OPENID_CLIENT: ToolPackage = ToolPackage::from_npm("openid-client", "6.8.9");
        const REQUESTS_OAUTH2CLIENT: ToolPackage = ToolPackage::from_pypi("requests_oauth2client", "1.8.0");
        const OIDC_PROVIDER: ToolPackage = ToolPackage::from_npm("oidc-provider", "9.13.3");
        const HTTPX: ToolPackage = ToolPackage::from_pypi("httpx", "0.28.1");
        // Creates signatures; `httpx` itself does not depend on it.
        const CRYPTOGRAPHY: ToolPackage = ToolPackage::from_pypi("cryptography", "50.0.2");
        const OAUTH4WEBAPI: ToolPackage = ToolPackage::from_npm("oauth4webapi", "3.8.8");
        const SCHEMATHESIS: ToolPackage = ToolPackage::from_pypi("schemathesis", "4.32.5");
        // The version is pinned, because a seed selects the same requests only with the same version.
        const HYPOTHESIS: ToolPackage = ToolPackage::from_pypi("hypothesis", "6.170.15");
        match self {
            Self::OpenidClient => &[OPENID_CLIENT],
            Self::RequestsOauth2client => &[REQUESTS_OAUTH2CLIENT],
            Self::OidcProvider => &[OIDC_PROVIDER, OPENID_CLIENT],
            Self::Httpx => &[HTTPX, CRYPTOGRAPHY],
            Self::Example => &[CRYPTOGRAPHY],
            Self::Oauth4webapi => &[OAUTH4WEBAPI, OIDC_PROVIDER],
            Self::Schemathesis => &[SCHEMATHESIS, HYPOTHESIS, REQUESTS_OAUTH2CLIENT],
        }
    }

    const fn client_script(self) -> &'static str {
        match self {
            Self::OpenidClient | Self::OidcProvider => "openid-client.mjs",
            Self::RequestsOauth2client => "requests_oauth2client.py",
            Self::Httpx => "by_hand.py",
            Self::Example => "documented_example.py",
            Self::Oauth4webapi => OUR_CLIENT,
            Self::Schemathesis => "schemathesis.py",
        }
    }

    /// Returns the timeout of the script or program that acts as the client. It is several times the duration
    /// of a run on a small idle machine.
    const fn time_limit(self) -> Duration {
        match self {
            Self::Schemathesis => Duration::from_secs(600),
            _ => Duration::from_secs(120),
        }
    }
}

pub(crate) fn run(args: &PeersArgs, root: &Path) -> CommandOutcome {
    let peers = selected_peers(args);
    // Install the packages of all peers first, so that all missing programs are reported at once.
    let mut missing = Vec::new();
    for peer in &peers {
        let names: Vec<String> = peer.packages().iter().map(|package| package.label()).collect();
        report_progress("packages", &format!("{} in {TARGET_FOLDER}/{}", names.join(", "), peer.name()));
        let installed =
            packages::install_packages(peer.packages(), &root.join(TARGET_FOLDER).join(peer.name()));
        missing.extend(installed.err().into_iter().flatten());
    }
    if !missing.is_empty() {
        missing.iter().for_each(|error| report_error(error));
        return CommandOutcome::NotRun;
    }
    // If the packages are installed, any other error is a failure and not a missing prerequisite.
    let built = match build_programs(root) {
        Ok(built) => built,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::Failed;
        }
    };
    let mut verdict = CommandOutcome::Passed;
    for peer in peers {
        // An error of one peer does not stop the others.
        let outcome = PeerRun { peer, built: &built, root }.run_peer();
        anstream::print!("{}", if args.json { outcome.render_json() } else { outcome.render_text() });
        if !outcome.is_passed() {
            verdict = CommandOutcome::Failed;
        }
    }
    verdict
}

/// Returns the selected peers, or all of them.
fn selected_peers(args: &PeersArgs) -> Vec<PeerProgram> {
    if args.peers.is_empty() { PeerProgram::value_variants().to_vec() } else { args.peers.clone() }
}

struct BuiltPrograms {
    service: PathBuf,
    client: PathBuf,
}

/// Builds the service and our client with the same features as all other builds.
fn build_programs(root: &Path) -> Result<BuiltPrograms, String> {
    report_progress("build", "exchange-service, peer_client");
    let mut cargo = test::cargo_command();
    // With `--examples`, dependencies have the same features as for the tests, so that nothing is built
    // twice.
    cargo.arg("build").args(test::WORKSPACE_FLAGS).args([
        "--bin",
        "exchange-service",
        "--examples",
        "--quiet",
    ]);
    cargo.arg("--message-format=json-render-diagnostics").current_dir(root);
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    let messages = program::decode_output(&output.stdout);
    let built = |name: &str| {
        let mut programs =
            messages.lines().filter_map(|line| artifact_path(&serde_json::from_str(line).ok()?, name));
        programs.next_back().filter(|_| output.status.success())
    };
    let program = |name: &str| built(name).ok_or_else(|| format!("cannot build {name}"));
    Ok(BuiltPrograms { service: program("exchange-service")?, client: program("peer_client")? })
}

/// Returns the path of the program if the message from cargo reports that it was built.
fn artifact_path(message: &Value, name: &str) -> Option<PathBuf> {
    let is_it = message["target"]["name"] == name && message["reason"] == "compiler-artifact";
    message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
}

struct PeerRun<'a> {
    peer: PeerProgram,
    built: &'a BuiltPrograms,
    root: &'a Path,
}

impl PeerRun<'_> {
    fn folder(&self) -> PathBuf {
        self.root.join(TARGET_FOLDER).join(self.peer.name())
    }

    /// Runs the peer. An error is reported as a failed step.
    fn run_peer(&self) -> PeerResult {
        let start = Instant::now();
        let steps = self.run_steps().unwrap_or_else(|error| vec![PeerStep::from_error("run", error)]);
        let by = self.peer.packages().first().map(|package| package.label()).unwrap_or_default();
        PeerResult { name: self.peer.name(), package: by, steps, time: start.elapsed() }
    }

    fn run_steps(&self) -> Result<Vec<PeerStep>, String> {
        match self.peer {
            PeerProgram::OpenidClient
            | PeerProgram::RequestsOauth2client
            | PeerProgram::Httpx
            | PeerProgram::Example
            | PeerProgram::Schemathesis => {
                let (_sandbox, directory) = self.start_sandbox(&[])?;
                self.run_client(&directory)
            }
            PeerProgram::OidcProvider => self.run_with_issuer(),
            PeerProgram::Oauth4webapi => self.run_our_client(),
        }
    }

    /// Starts a sandbox. Also returns the line of JSON with which the sandbox describes itself.
    fn start_sandbox(&self, args: &[&str]) -> Result<(BackgroundProcess, String), String> {
        let mut command = Command::new(&self.built.service);
        command.args(["sandbox", "--json"]).args(args);
        report_progress(self.peer.name(), "exchange-service sandbox");
        let mut sandbox = BackgroundProcess::start(&mut command, self.folder().join("service.log"))?;
        let directory = sandbox.first_line(START_TIMEOUT)?;
        Ok((sandbox, directory))
    }

    /// Runs our gateway with the peer as its issuer.
    fn run_with_issuer(&self) -> Result<Vec<PeerStep>, String> {
        let folder = self.folder();
        let data = folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|error| format!("cannot clear {}: {error}", data.display()))?;
        }
        // Starting a sandbox once creates members, a client and a catalog in the folder.
        drop(self.start_sandbox(&["--data", &data.to_string_lossy()])?);

        report_progress(
            self.peer.name(),
            &format!("{SCRIPTS_FOLDER}/oidc-provider.mjs, exchange-service serve"),
        );
        let registry = packages::PackageRegistry::Npm;
        let mut issuer = registry.script_command(&self.script_path("oidc-provider.mjs"), &folder)?;
        let mut issuer = BackgroundProcess::start(&mut issuer, folder.join("issuer.log"))?;
        let mut directory: Value = serde_json::from_str(&issuer.first_line(START_TIMEOUT)?)
            .map_err(|error| format!("oidc-provider.mjs did not print its address: {error}"))?;

        let port = background::free_port()?;
        let origin = format!("http://127.0.0.1:{port}");
        directory["gateway"] = json!(origin);
        let config = folder.join("exchange.toml");
        let text = gateway_config(&origin, directory["issuer"].as_str().unwrap_or_default(), port, &data);
        fs::write(&config, text).map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        let mut serve = Command::new(&self.built.service);
        serve.args(["serve", "--config"]).arg(&config);
        let mut serve = BackgroundProcess::start(&mut serve, folder.join("service.log"))?;
        serve.wait_for_port(port, START_TIMEOUT)?;
        self.run_client(&directory.to_string())
    }

    /// Runs our client against two peers: `oidc-provider` as the issuer, and `oauth4webapi` as the verifier
    /// in place of our gateway.
    fn run_our_client(&self) -> Result<Vec<PeerStep>, String> {
        let folder = self.folder();
        let scripts = "oidc-provider.mjs, oauth4webapi.mjs";
        report_progress(self.peer.name(), &format!("{SCRIPTS_FOLDER}/{{{scripts}}}"));
        let npm = packages::PackageRegistry::Npm;
        let mut issuer = npm.script_command(&self.script_path("oidc-provider.mjs"), &folder)?;
        let mut issuer = BackgroundProcess::start(&mut issuer, folder.join("issuer.log"))?;
        let mut guard = npm.script_command(&self.script_path("oauth4webapi.mjs"), &folder)?;
        guard.arg(issuer.first_line(START_TIMEOUT)?);
        let mut guard = BackgroundProcess::start(&mut guard, folder.join("service.log"))?;
        self.run_client(&guard.first_line(START_TIMEOUT)?)
    }

    fn script_path(&self, name: &str) -> PathBuf {
        self.root.join(SCRIPTS_FOLDER).join(name)
    }

    /// Runs the client of the peer and returns its steps. Its only argument is the JSON with the addresses of
    /// the service.
    fn run_client(&self, directory: &str) -> Result<Vec<PeerStep>, String> {
        let name = self.peer.client_script();
        let script = |registry: packages::PackageRegistry| {
            registry.script_command(&self.script_path(name), &self.folder())
        };
        let (shown, mut command) = match name.rsplit_once('.') {
            Some((_, "rs")) => ("peer_client".to_owned(), Command::new(&self.built.client)),
            Some((_, "py")) => (format!("{SCRIPTS_FOLDER}/{name}"), script(packages::PackageRegistry::Pypi)?),
            _ => (format!("{SCRIPTS_FOLDER}/{name}"), script(packages::PackageRegistry::Npm)?),
        };
        report_progress(self.peer.name(), &shown);
        command.arg(directory).current_dir(self.folder());
        let output = program::run_with_timeout(&mut command, self.peer.time_limit())?;
        if !output.status.success() {
            return Err(format!(
                "{name} failed: {}\n{}",
                output.status,
                program::decode_output(&output.stderr).trim()
            ));
        }
        PeerStep::parse_lines(&program::decode_output(&output.stdout))
            .map_err(|error| format!("invalid output of {name}: {error}"))
    }
}

/// Builds the configuration of a gateway that uses the data of a sandbox and accepts the tokens of an
/// external issuer.
fn gateway_config(origin: &str, issuer: &str, port: u16, data: &Path) -> String {
    // A JSON string is also a valid basic string in TOML.
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
    fn scripts_name_their_package() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(SCRIPTS_FOLDER);
        for peer in PeerProgram::value_variants() {
            let client = fs::read_to_string(scripts.join(peer.client_script())).unwrap();
            let script = fs::read_to_string(scripts.join(format!("{}.mjs", peer.name()))).unwrap_or(client);
            assert!(script.contains(&format!("`{}`", peer.name())), "{peer:?}");
            assert!(script.contains(&format!("cargo xtask peers {}", peer.name())), "{peer:?}");
        }
    }

    /// Without names, all peers run, and the help describes each of them.
    #[test]
    fn all_peers_run_by_default() {
        let all: Vec<&str> =
            selected_peers(&PeersArgs::default()).into_iter().map(PeerProgram::name).collect();
        let cli = crate::cli::Cli::command();
        let command = cli.find_subcommand("peers").unwrap();
        let argument = command.get_arguments().find(|argument| argument.get_id() == "peers").unwrap();
        let possible_values = argument.get_possible_values();
        assert_eq!(all, possible_values.iter().map(|value| value.get_name()).collect::<Vec<_>>());
        let about = command.get_long_about().unwrap().to_string();
        for name in all {
            assert!(about.contains(&format!("`{name}`")), "{name}");
        }
        let one = PeersArgs { peers: vec![PeerProgram::Httpx], ..PeersArgs::default() };
        assert_eq!(selected_peers(&one), [PeerProgram::Httpx]);
    }

    #[test]
    fn executable_path_is_read_from_cargo() {
        let message = |reason: &str, name: &str| {
            let message = json!({ "reason": reason, "target": { "name": name }, "executable": "/t/x" });
            artifact_path(&message, "exchange-service")
        };
        assert_eq!(message("compiler-artifact", "exchange-service"), Some(PathBuf::from("/t/x")));
        assert_eq!(message("compiler-artifact", "xtask"), None);
        assert_eq!(message("build-finished", "exchange-service"), None);
    }

    #[test]
    fn folder_names_are_escaped_in_the_config() {
        let text = gateway_config("http://a:1", "http://b:2", 1, Path::new("C:\\a \"b\""));
        let config: toml::Table = text.parse().unwrap();
        assert_eq!(config["serve"]["data"].as_str(), Some("C:\\a \"b\""));
        assert!(config["idp"]["external"].is_table());
    }
}
