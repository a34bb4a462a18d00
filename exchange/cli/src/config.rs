//! The configuration: the address of the exchange, the identity of this program, and its folders.
//!
//! This repository has no production exchange, so a configuration file must provide the issuer, the gateway
//! and the client id. A sandbox can only be selected with an environment variable (IDP-03), which takes
//! precedence over the file.

use std::path::{Path, PathBuf};

use exchange_client::{ClientIdentity, ExchangeAddress, SANDBOX_VARIABLE, encode_file_name};
use serde::Deserialize;

use crate::error::{CommandError, ExitStatus};

/// The content of the configuration file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ConfigFile {
    /// The issuer of the identity provider, exactly as the provider's metadata contains it.
    issuer: String,
    /// The origin of the gateway.
    gateway: String,
    /// The client id under which this program is registered.
    client_id: String,
    /// The URL of a page about this program.
    info_url: String,
}

/// The resolved configuration of a run.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) address: ExchangeAddress,
    pub(crate) identity: ClientIdentity,
    pub(crate) folders: ProgramFolders,
    pub(crate) profile: String,
}

/// The folders of this program for one address, client and profile.
#[derive(Clone, Debug)]
pub(crate) struct ProgramFolders {
    /// The folder for data that must not be lost: unsent changes and the saved state.
    pub(crate) state: PathBuf,
    /// The folder for data that can be read again. On macOS, it is excluded from backups.
    pub(crate) cache: PathBuf,
}

const NAME: &str = "exchange-cli";

/// The client id and the info page for a sandbox. The sandbox does not open the page.
const SANDBOX_CLIENT: &str = "sandbox-client";
const SANDBOX_PAGE: &str = "https://exchange.example/cli";

/// Returns the identity that this program writes into envelope files. It needs no registered client id.
pub(crate) fn program_identity() -> Result<ClientIdentity, CommandError> {
    ClientIdentity::new(NAME, NAME, env!("CARGO_PKG_VERSION"), SANDBOX_PAGE)
        .map_err(CommandError::from_usage_error)
}

impl Config {
    /// Loads the configuration. The environment variable of a sandbox takes precedence over the file, unless the file
    /// is an argument: the two then contradict each other, which is an error.
    pub(crate) fn load(file: Option<&Path>, profile: &str) -> Result<Self, CommandError> {
        if profile.is_empty()
            || !profile.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            return Err(CommandError::from_usage_error(
                "a profile name must consist of letters, digits, hyphens and underscores",
            ));
        }
        let version = env!("CARGO_PKG_VERSION");
        let sandbox = ExchangeAddress::from_variable(|name| std::env::var(name).ok())
            .map_err(|error| CommandError::from_usage_error(format!("{SANDBOX_VARIABLE}: {error}")))?;
        if let (Some(file), true) = (file, sandbox.is_some()) {
            let what = format!("--config {} and {SANDBOX_VARIABLE} name different exchanges", file.display());
            let next = format!("omit --config, or unset {SANDBOX_VARIABLE}");
            return Err(CommandError::new(ExitStatus::Usage, what, next));
        }
        let (address, identity) = match sandbox {
            Some(address) => (address, ClientIdentity::new(SANDBOX_CLIENT, NAME, version, SANDBOX_PAGE)),
            None => {
                let file = read_config_file(file)?;
                let address = ExchangeAddress::new(&file.issuer, &file.gateway)
                    .map_err(CommandError::from_usage_error)?;
                (address, ClientIdentity::new(&file.client_id, NAME, version, &file.info_url))
            }
        };
        let identity = identity.map_err(CommandError::from_usage_error)?;
        let folders = ProgramFolders::for_connection(&address, identity.client_id(), profile)?;
        Ok(Self { address, identity, folders, profile: profile.to_owned() })
    }
}

fn read_config_file(file: Option<&Path>) -> Result<ConfigFile, CommandError> {
    let default =
        || Some(base_folder("XDG_CONFIG_HOME", ".config", "APPDATA")?.join("exchange").join("config.toml"));
    let variable = std::env::var_os("EXCHANGE_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = file.map(Path::to_owned).or(variable);
    let is_named = named.is_some();
    let path = named.or_else(default);
    let missing = || {
        CommandError::new(
            ExitStatus::Usage,
            "no exchange is configured",
            "write issuer, gateway, client-id and info-url into a file, and pass its path with --config or in EXCHANGE_CONFIG",
        )
    };
    let path = path.ok_or_else(missing)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => return Err(missing()),
        Err(error) => return Err(CommandError::from_usage_error(format!("{}: {error}", path.display()))),
    };
    toml::from_str(&text)
        .map_err(|error| CommandError::from_usage_error(format!("{}: {}", path.display(), error.message())))
}

impl ProgramFolders {
    fn for_connection(address: &ExchangeAddress, client: &str, profile: &str) -> Result<Self, CommandError> {
        let missing = || {
            CommandError::new(
                ExitStatus::Usage,
                "this account has no home folder",
                "set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME",
            )
        };
        let state = base_folder("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA").ok_or_else(missing)?;
        let cache = base_folder("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA").ok_or_else(missing)?;
        // Connections with different addresses, clients or profiles have separate folders.
        let names = [address.issuer(), address.gateway(), client, profile].map(encode_file_name);
        let below = |base: PathBuf, kind: &str| {
            names.iter().fold(base.join("exchange").join(kind), |folder, name| folder.join(name))
        };
        Ok(Self { state: below(state, "state"), cache: below(cache, "cache") })
    }
}

/// Returns the folder in the environment variable, or else the default of the platform.
fn base_folder(variable: &str, below_home: &str, windows: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(path) = absolute(variable) {
        return Some(path);
    }
    if cfg!(windows) {
        return absolute(windows);
    }
    let home = absolute("HOME")?;
    Some(match (cfg!(target_os = "macos"), variable) {
        // macOS excludes this folder from backups.
        (true, "XDG_CACHE_HOME") => home.join("Library/Caches"),
        (true, _) => home.join("Library/Application Support"),
        (false, _) => home.join(below_home),
    })
}

#[cfg(test)]
mod tests {
    use exchange_client::{CredentialEntry, CredentialOwner};

    use super::*;

    /// Connections that differ in issuer, gateway, client or profile never share a folder or a secret, even
    /// if these values differ only in case or in one character.
    #[cfg(unix)]
    #[test]
    fn connections_have_separate_folders_and_secrets() {
        let folders = |issuer: &str, gateway: &str, client: &str, profile: &str| {
            let address = ExchangeAddress::new(issuer, gateway).unwrap();
            let identity = ClientIdentity::new(client, "desk", "1.0.0", "https://desk.example").unwrap();
            let secret =
                CredentialOwner::new(&address, &identity, profile).full_name(CredentialEntry::RefreshToken);
            (ProgramFolders::for_connection(&address, client, profile).unwrap().state, secret)
        };
        let one = folders("https://id.test/a-b", "https://gate.test", "desk", "default");
        assert_eq!(one, folders("https://id.test/a-b", "https://gate.test", "desk", "default"));
        for other in [
            folders("https://id.test/a/b", "https://gate.test", "desk", "default"),
            folders("https://id.test/A-b", "https://gate.test", "desk", "default"),
            folders("https://id.test/a-b", "https://gate-2.test", "desk", "default"),
            folders("https://id.test/a-b", "https://gate.test", "desk-2", "default"),
            folders("https://id.test/a-b", "https://gate.test", "desk", "Default"),
        ] {
            assert!(one.0 != other.0 && one.1 != other.1, "{one:?} {other:?}");
            // No folder is inside the folder of another connection.
            assert!(!one.0.starts_with(&other.0) && !other.0.starts_with(&one.0));
        }
    }
}
