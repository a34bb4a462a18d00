//! Where the exchange is, who this program is there, and where its own files are.
//!
//! This repository has no production: issuer, gateway and client id come from a configuration file. A sandbox is
//! chosen by the developer's variable alone (IDP-03), which comes before the file.

use std::path::{Path, PathBuf};

use exchange_client::{Identity, Place, SANDBOX_VARIABLE, file_name};
use serde::Deserialize;

use crate::failure::{Exit, Failure};

/// What the file says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    /// The identity provider, exactly as it names itself.
    issuer: String,
    /// The gateway's origin.
    gateway: String,
    /// What this program is registered as.
    client_id: String,
    /// A page about it.
    info_url: String,
}

/// Everything that holds before a command begins.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) place: Place,
    pub(crate) identity: Identity,
    pub(crate) folders: Folders,
    pub(crate) profile: String,
}

/// The folders of this program, for one place and profile.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// What must not be lost: what was not sent yet, and what is remembered.
    pub(crate) state: PathBuf,
    /// What can be read again; in no backup.
    pub(crate) cache: PathBuf,
}

const NAME: &str = "exchange-cli";

/// What a sandbox's client is registered as, and a page that a sandbox does not look at.
const SANDBOX_CLIENT: &str = "sandbox-client";
const SANDBOX_PAGE: &str = "https://exchange.example/cli";

/// This program where nobody has to admit it: in files that it writes.
pub(crate) fn program() -> Result<Identity, Failure> {
    Identity::new(NAME, NAME, env!("CARGO_PKG_VERSION"), SANDBOX_PAGE).map_err(Failure::usage)
}

impl Config {
    /// The developer's sandbox, or what the file says.
    pub(crate) fn load(file: Option<&Path>, profile: &str) -> Result<Self, Failure> {
        if profile.is_empty()
            || !profile.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            return Err(Failure::usage("a profile is named with letters, digits, hyphens and underscores"));
        }
        let version = env!("CARGO_PKG_VERSION");
        let sandbox = Place::of_developer(|name| std::env::var(name).ok())
            .map_err(|error| Failure::usage(format!("{SANDBOX_VARIABLE}: {error}")))?;
        let (place, identity) = match sandbox {
            Some(place) => (place, Identity::new(SANDBOX_CLIENT, NAME, version, SANDBOX_PAGE)),
            None => {
                let file = read(file)?;
                let place = Place::new(&file.issuer, &file.gateway).map_err(Failure::usage)?;
                (place, Identity::new(&file.client_id, NAME, version, &file.info_url))
            }
        };
        let identity = identity.map_err(Failure::usage)?;
        let folders = Folders::of(&place, identity.client_id(), profile)?;
        Ok(Self { place, identity, folders, profile: profile.to_owned() })
    }
}

fn read(file: Option<&Path>) -> Result<File, Failure> {
    let default =
        || Some(base("XDG_CONFIG_HOME", ".config", "APPDATA")?.join("exchange").join("config.toml"));
    let path = file.map(Path::to_owned).or_else(default);
    let missing = || {
        Failure::new(
            Exit::Usage,
            "no exchange is configured",
            "write issuer, gateway, client-id and info-url into a file and name it with --config, or point \
             EXCHANGE_CONFIG at it",
        )
    };
    let path = path.ok_or_else(missing)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.is_none() => return Err(missing()),
        Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
    };
    toml::from_str(&text).map_err(|error| Failure::usage(format!("{}: {}", path.display(), error.message())))
}

impl Folders {
    fn of(place: &Place, client: &str, profile: &str) -> Result<Self, Failure> {
        let missing = || {
            Failure::new(
                Exit::Usage,
                "this account has no home folder",
                "set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME",
            )
        };
        let state = base("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA").ok_or_else(missing)?;
        let cache = base("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA").ok_or_else(missing)?;
        // Connections to different places, or as different clients, share nothing.
        let names = [place.issuer(), place.gateway(), client, profile].map(file_name);
        let below = |base: PathBuf, kind: &str| {
            names.iter().fold(base.join("exchange").join(kind), |folder, name| folder.join(name))
        };
        Ok(Self { state: below(state, "state"), cache: below(cache, "cache") })
    }
}

/// The folder that a variable names, or else the platform's.
fn base(variable: &str, below_home: &str, windows: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(path) = absolute(variable) {
        return Some(path);
    }
    if cfg!(windows) {
        return absolute(windows);
    }
    let home = absolute("HOME")?;
    Some(match (cfg!(target_os = "macos"), variable) {
        // Excluded from what is restored elsewhere, as a cache is.
        (true, "XDG_CACHE_HOME") => home.join("Library/Caches"),
        (true, _) => home.join("Library/Application Support"),
        (false, _) => home.join(below_home),
    })
}

#[cfg(test)]
mod tests {
    use exchange_client::{Entry, Owner};

    use super::*;

    /// Another issuer, gateway, client or profile is another folder and another name for each secret, however alike they
    /// look.
    #[cfg(unix)]
    #[test]
    fn connections_to_different_places_share_nothing() {
        let folders = |issuer: &str, gateway: &str, client: &str, profile: &str| {
            let place = Place::new(issuer, gateway).unwrap();
            let identity = Identity::new(client, "desk", "1.0.0", "https://desk.example").unwrap();
            let secret = Owner::new(&place, &identity, profile).name_of(Entry::RefreshToken);
            (Folders::of(&place, client, profile).unwrap().state, secret)
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
            // None lies within another.
            assert!(!one.0.starts_with(&other.0) && !other.0.starts_with(&one.0));
        }
    }
}
