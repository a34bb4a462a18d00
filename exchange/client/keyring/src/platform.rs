//! The differences between platforms: the store, and the meaning of its errors.

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
pub(crate) fn connect_store() -> keyring_core::Result<Store> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
pub(crate) fn connect_store() -> keyring_core::Result<Store> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
pub(crate) fn connect_store() -> keyring_core::Result<Store> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) fn connect_store() -> keyring_core::Result<Store> {
    Err(Error::NotSupportedByStore("this platform has no supported secret store".to_owned()))
}

/// Returns the store-specific options. On Windows, entries stay on this machine, because a roaming entry
/// would create a second installation with the same key.
pub(crate) fn store_modifiers() -> Option<HashMap<&'static str, &'static str>> {
    cfg!(windows).then(|| HashMap::from([("persistence", "Local")]))
}

/// Maps an error of connecting to the store. The platform's messages contain no secrets.
pub(crate) fn map_connect_error(error: Error) -> CredentialError {
    match error {
        Error::PlatformFailure(why) => {
            map_platform_error(&why).unwrap_or_else(|| CredentialError::Missing(why.to_string()))
        }
        error => map_call_error(error),
    }
}

/// Maps an error of a call. Errors that contain the content of an entry are not included in the message.
pub(crate) fn map_call_error(error: Error) -> CredentialError {
    match error {
        Error::NoStorageAccess(why) => {
            map_platform_error(&why).unwrap_or_else(|| CredentialError::Denied(why.to_string()))
        }
        Error::PlatformFailure(why) => {
            map_platform_error(&why).unwrap_or_else(|| CredentialError::Other(why.to_string()))
        }
        Error::TooLong(what, most) => {
            CredentialError::Other(format!("{what} has more than {most} characters"))
        }
        Error::NotSupportedByStore(what) => CredentialError::Missing(what),
        Error::Ambiguous(_) => CredentialError::Other("several entries have the same name".to_owned()),
        _ => CredentialError::Other("it does not support the entries of this program".to_owned()),
    }
}

/// Maps an error of the Secret Service. An example is a member who declines to unlock it.
#[cfg(target_os = "linux")]
fn map_platform_error(why: &PlatformError) -> Option<CredentialError> {
    use secret_service::Error as Why;
    match why.downcast_ref()? {
        Why::Locked | Why::Prompt => Some(CredentialError::Locked),
        Why::NoResult => Some(CredentialError::Missing("it has no default keyring".to_owned())),
        Why::Unavailable => {
            Some(CredentialError::Missing("no session bus, or no secret service on it".to_owned()))
        }
        _ => None,
    }
}

/// Returns `None`, because other platforms have no specific errors.
#[cfg(not(target_os = "linux"))]
fn map_platform_error(_: &PlatformError) -> Option<CredentialError> {
    None
}
