//! Accounts: the user names and password hashes (argon2id) of members.
//!
//! A password check takes the same time whether or not the account exists. Only a few checks run at once,
//! because each one needs memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization as _;

use crate::config::IdpConfig;
use crate::environment::Environment;
use crate::ids::MemberId;
use crate::store::StoreError;

/// The maximum number of passwords that are checked at once.
const MAX_CONCURRENT_CHECKS: usize = 2;
/// The maximum number of checks that wait for their turn.
const MAX_WAITING_CHECKS: usize = 32;
const MAX_PASSWORD_BYTES: usize = 1024;
/// The minimum number of characters of a new password.
pub const MIN_PASSWORD_CHARS: usize = 12;
/// The size of a salt, in bytes.
const SALT_BYTES: usize = 16;
/// The size of a password hash, in bytes.
const HASH_BYTES: usize = Params::DEFAULT_OUTPUT_LEN;

/// The reason a password could not be checked or hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Too many other checks are running. Contains the delay before a retry.
    #[error("too many sign-ins at once")]
    Busy(Duration),
    /// The configured cost is invalid, the password is too long, the random number generator failed, or the
    /// check panicked.
    #[error("passwords cannot be hashed with this configuration")]
    Failed,
}

/// A hasher and verifier of passwords.
#[derive(Clone)]
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    /// A hash that no password matches. It is verified if an account does not exist.
    dummy_hash: Arc<str>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl fmt::Debug for PasswordHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHasher").field("cost", self.argon2.params()).finish_non_exhaustive()
    }
}

impl PasswordHasher {
    /// Creates a hasher with the configured cost.
    ///
    /// # Errors
    /// Returns [`PasswordError::Failed`] if the cost is invalid or the random number generator fails.
    pub fn new(config: &IdpConfig, environment: &Environment) -> Result<Self, PasswordError> {
        let params = Params::new(config.password_kib, config.password_passes, 1, None);
        let params = params.map_err(|_| PasswordError::Failed)?;
        Ok(Self {
            dummy_hash: make_dummy_hash(&params, environment)?.into(),
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            running: Arc::new(Semaphore::new(MAX_CONCURRENT_CHECKS)),
            waiting: Arc::new(Semaphore::new(MAX_CONCURRENT_CHECKS + MAX_WAITING_CHECKS)),
        })
    }

    /// Returns the hash of a password in PHC format, with salt and cost. Takes as long as a check.
    ///
    /// # Errors
    /// Returns [`PasswordError::Failed`] if the password has more than 1,024 bytes, or if the random number
    /// generator fails.
    pub fn hash_password(&self, password: &str, environment: &Environment) -> Result<String, PasswordError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(PasswordError::Failed);
        }
        let salt = environment.random_bytes::<SALT_BYTES>().map_err(|_| PasswordError::Failed)?;
        let hash = self.argon2.hash_password_with_salt(password.as_bytes(), &salt);
        hash.map(|hash| hash.to_string()).map_err(|_| PasswordError::Failed)
    }

    /// Returns the hash of a password as [`Self::hash_password`] does, on a thread for blocking work and within
    /// the limit of concurrent checks.
    ///
    /// # Errors
    /// Returns [`PasswordError::Busy`] if too many checks are running, or [`PasswordError::Failed`].
    pub async fn hash_new_password(
        &self,
        password: String,
        environment: &Environment,
    ) -> Result<String, PasswordError> {
        let busy = PasswordError::Busy(Duration::from_secs(2));
        let _place = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| busy)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy)?;
        let (hasher, environment) = (self.clone(), environment.clone());
        let hashed = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            hasher.hash_password(&password, &environment)
        });
        hashed.await.map_err(|_| PasswordError::Failed)?
    }

    /// Returns true if the password matches the hash. If `hash` is `None`, takes the same time and returns
    /// false.
    ///
    /// # Errors
    /// Returns [`PasswordError::Busy`] if too many checks are running, or [`PasswordError::Failed`] if the
    /// check panics.
    pub async fn verify_password(
        &self,
        password: String,
        hash: Option<String>,
    ) -> Result<bool, PasswordError> {
        let busy = PasswordError::Busy(Duration::from_secs(2));
        let _place = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| busy)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy)?;
        let (argon2, dummy) = (self.argon2.clone(), Arc::clone(&self.dummy_hash));
        let checked = tokio::task::spawn_blocking(move || {
            // If the caller drops the future, the permit is still held until the check has ended.
            let _turn = turn;
            let fits = password.len() <= MAX_PASSWORD_BYTES;
            let password = if fits { password.as_str() } else { "" };
            let is_correct = matches_hash(&argon2, password, hash.as_deref().unwrap_or(&dummy));
            is_correct && fits && hash.is_some()
        });
        checked.await.map_err(|_| PasswordError::Failed)
    }
}

/// Creates a hash with this cost that no password matches, by using random bytes as the output. Unlike
/// hashing a password, this takes no time at startup.
fn make_dummy_hash(params: &Params, environment: &Environment) -> Result<String, PasswordError> {
    let failed = |_| PasswordError::Failed;
    let salt = BASE64.encode(environment.random_bytes::<SALT_BYTES>().map_err(failed)?);
    let output = BASE64.encode(environment.random_bytes::<HASH_BYTES>().map_err(failed)?);
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    Ok(format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${output}"))
}

fn matches_hash(argon2: &Argon2<'_>, password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| argon2.verify_password(password.as_bytes(), &hash).is_ok())
}

/// Normalizes a user name: trims it, and converts it to lower case and NFC.
#[must_use]
pub fn normalize_username(username: &str) -> String {
    // NFC is applied again, because a lower-case letter may compose with a mark with which the upper-case
    // letter does not.
    username.trim().nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// Finds an account by its user name. Returns the id of the member and the password hash.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_account(
    connection: &Connection,
    username: &str,
) -> Result<Option<(MemberId, String)>, StoreError> {
    let found = connection
        .prepare_cached("SELECT member, password FROM account WHERE username = ?1")?
        .query_row([normalize_username(username)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// Creates an account for a member, or changes the user name and the password of the existing account. The
/// user name is stored in its normalized form ([`normalize_username`]). The hash must be a result of
/// [`PasswordHasher::hash_password`]. A link to set a password no longer works afterwards.
///
/// # Errors
/// Returns a [`StoreError`] if another member has the user name, if the member does not exist, or if the
/// database fails.
pub fn set_account(
    connection: &Connection,
    member: &MemberId,
    username: &str,
    password_hash: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO account (username, member, password) VALUES (?1, ?2, ?3) \
             ON CONFLICT (member) DO UPDATE SET username = excluded.username, password = excluded.password",
        )?
        .execute(params![normalize_username(username), member, password_hash])?;
    delete_password_link(connection, member)
}

/// Returns the user name and the password hash of a member's account.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn account_of_member(
    connection: &Connection,
    member: &MemberId,
) -> Result<Option<(String, String)>, StoreError> {
    let mut one = connection.prepare_cached("SELECT username, password FROM account WHERE member = ?1")?;
    Ok(one.query_row([member], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Changes the password of an existing account. The hash must be a result of
/// [`PasswordHasher::hash_password`]. A link to set a password no longer works afterwards.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn set_password(
    connection: &Connection,
    member: &MemberId,
    password_hash: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE account SET password = ?2 WHERE member = ?1";
    connection.prepare_cached(sql)?.execute(params![member, password_hash])?;
    delete_password_link(connection, member)
}

/// Deletes the member's link to set a password, because whoever has it could replace the new password.
fn delete_password_link(connection: &Connection, member: &MemberId) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM password_reset WHERE member = ?1")?.execute([member])?;
    Ok(())
}

/// The rule that a new password violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRule {
    /// The password has too few characters.
    #[error("a password needs at least {MIN_PASSWORD_CHARS} characters")]
    TooShort,
    /// The password has too many bytes.
    #[error("a password may have at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
}

/// Checks the length of a new password.
///
/// # Errors
/// Returns the violated [`PasswordRule`].
pub fn check_new_password(password: &str) -> Result<(), PasswordRule> {
    if password.chars().count() < MIN_PASSWORD_CHARS {
        Err(PasswordRule::TooShort)
    } else if password.len() > MAX_PASSWORD_BYTES {
        Err(PasswordRule::TooLong)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> IdpConfig {
        IdpConfig { password_kib: 8, password_passes: 1, ..IdpConfig::default() }
    }

    #[tokio::test]
    async fn passwords_are_verified_by_hash() {
        let environment = Environment::system();
        let passwords = PasswordHasher::new(&cheap(), &environment).unwrap();
        let hash = passwords.hash_password("right", &environment).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash_password("right", &environment).unwrap());
        let check = async |password: &str, hash: Option<&String>| {
            passwords.verify_password(password.to_owned(), hash.cloned()).await.unwrap()
        };
        assert!(check("right", Some(&hash)).await);
        assert!(!check("Right", Some(&hash)).await);
        assert!(!check("", Some(&hash)).await);
        assert!(!check("right", None).await);
        assert!(!check("right", Some(&"no hash".to_owned())).await);
        let max_hash = passwords.hash_password(&"r".repeat(1024), &environment).unwrap();
        assert!(check(&"r".repeat(1024), Some(&max_hash)).await);
        assert!(!check(&"r".repeat(1025), Some(&max_hash)).await);
        assert_eq!(passwords.hash_password(&"r".repeat(1025), &environment), Err(PasswordError::Failed));
    }

    #[test]
    fn names_are_normalized() {
        for (typed, expect) in [(" ADA ", "ada"), ("\u{c4}nne", "\u{e4}nne"), ("A\u{308}NNE", "\u{e4}nne")] {
            assert_eq!(normalize_username(typed), expect);
        }
        assert_eq!(normalize_username("J\u{30c}"), "\u{1f0}");
    }

    /// Normalization is idempotent for each letter that has a lower-case form, with each combining mark.
    #[test]
    fn normalization_is_idempotent() {
        for letter in ('\0'..=char::MAX).filter(|letter| letter.to_lowercase().ne([*letter])) {
            for mark in '\u{300}'..='\u{36f}' {
                let once = normalize_username(&format!("{letter}{mark}"));
                assert_eq!(normalize_username(&once), once, "{letter:?} {mark:?}");
            }
        }
    }

    /// The dummy hash has the same form and cost as a real hash.
    #[test]
    fn dummy_hash_costs_as_much_as_a_real_one() {
        let environment = Environment::system();
        let passwords = PasswordHasher::new(&cheap(), &environment).unwrap();
        let hash = passwords.hash_password("right", &environment).unwrap();
        let cost = |hash: &str| {
            let parsed = PasswordHash::new(hash).unwrap();
            let params = Params::try_from(&parsed).unwrap();
            (parsed.algorithm, parsed.version, parsed.salt.map(|salt| salt.as_ref().len()), params)
        };
        assert_eq!(cost(&passwords.dummy_hash), cost(&hash));
        assert_eq!(passwords.dummy_hash.len(), hash.len());
        let another = PasswordHasher::new(&cheap(), &environment).unwrap();
        assert_ne!(passwords.dummy_hash, another.dummy_hash);
    }

    /// A hash is verified with the cost that it contains, not with the configured cost.
    #[tokio::test]
    async fn hash_is_verified_at_its_own_cost() {
        let environment = Environment::system();
        let hash = PasswordHasher::new(&cheap(), &environment)
            .unwrap()
            .hash_password("right", &environment)
            .unwrap();
        let dearer = IdpConfig { password_kib: 16, ..cheap() };
        let passwords = PasswordHasher::new(&dearer, &environment).unwrap();
        assert!(passwords.verify_password("right".to_owned(), Some(hash)).await.unwrap());
        assert!(PasswordHasher::new(&IdpConfig { password_kib: 0, ..cheap() }, &environment).is_err());
    }
}
