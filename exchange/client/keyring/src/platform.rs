//! What differs by platform: which store there is, and what its errors mean.

use std::collections::HashMap;

use exchange_client::CredentialError;
use keyring_core::{Error, error::PlatformError};

use crate::Store;

#[cfg(target_os = "linux")]
pub(crate) const NAME: &str = "Secret Service";
#[cfg(target_os = "macos")]
pub(crate) const NAME: &str = "login keychain";
#[cfg(windows)]
pub(crate) const NAME: &str = "Credential Manager";
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) const NAME: &str = "platform's store";

#[cfg(target_os = "linux")]
pub(crate) fn connect() -> keyring_core::Result<Store> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
pub(crate) fn connect() -> keyring_core::Result<Store> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
pub(crate) fn connect() -> keyring_core::Result<Store> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) fn connect() -> keyring_core::Result<Store> {
    Err(Error::NotSupportedByStore("this platform has no store of secrets that is known here".to_owned()))
}

/// On Windows entries stay on this machine: elsewhere they would be a second installation with the same key.
pub(crate) fn modifiers() -> Option<HashMap<&'static str, &'static str>> {
    cfg!(windows).then(|| HashMap::from([("persistence", "Local")]))
}

/// Why there is no store. What the platform says of itself holds nothing that was kept.
pub(crate) fn missing(error: Error) -> CredentialError {
    match error {
        Error::PlatformFailure(why) => {
            known(&why).unwrap_or_else(|| CredentialError::Missing(why.to_string()))
        }
        error => refused(error),
    }
}

/// Why it did not do it. Errors that carry what an entry holds are not printed.
pub(crate) fn refused(error: Error) -> CredentialError {
    match error {
        Error::NoStorageAccess(why) => {
            known(&why).unwrap_or_else(|| CredentialError::Denied(why.to_string()))
        }
        Error::PlatformFailure(why) => {
            known(&why).unwrap_or_else(|| CredentialError::Failed(why.to_string()))
        }
        Error::TooLong(what, most) => {
            CredentialError::Failed(format!("{what} has more than {most} characters"))
        }
        Error::NotSupportedByStore(what) => CredentialError::Missing(what),
        Error::Ambiguous(_) => CredentialError::Failed("there are several entries of one name".to_owned()),
        _ => CredentialError::Failed("it does not keep entries as this program writes them".to_owned()),
    }
}

/// What the Secret Service's errors mean. Members may be asked to unlock it, and refuse.
#[cfg(target_os = "linux")]
fn known(why: &PlatformError) -> Option<CredentialError> {
    use secret_service::Error as Why;
    match why.downcast_ref()? {
        Why::Locked | Why::Prompt => Some(CredentialError::Locked),
        Why::NoResult => Some(CredentialError::Missing("it has no default keyring".to_owned())),
        Why::Unavailable => {
            Some(CredentialError::Missing("no session bus, or nobody on it who keeps secrets".to_owned()))
        }
        _ => None,
    }
}

/// Other platforms' errors are told by their kind and text.
#[cfg(not(target_os = "linux"))]
fn known(_: &PlatformError) -> Option<CredentialError> {
    None
}
