//! Accounts: a name and a password for a member (argon2id).
//!
//! A check costs the same whether or not there is such an account, and only so many run at once: each takes
//! memory.

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

use crate::config::Idp;
use crate::environment::Environment;
use crate::ids::MemberId;
use crate::store::StoreError;

/// How many passwords are checked at once.
const AT_ONCE: usize = 2;
/// How many may wait for it.
const WAITING: usize = 32;
/// The longest password that is looked at, in bytes.
const LONGEST: usize = 1024;
/// A salt, in bytes.
const SALT: usize = 16;
/// What a hash comes to, in bytes.
const OUTPUT: usize = Params::DEFAULT_OUTPUT_LEN;

/// Why a password was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Too many others are being checked.
    #[error("too many sign-ins at once")]
    Busy(Duration),
    /// The configured cost is none, or there are no random numbers.
    #[error("passwords cannot be hashed with this configuration")]
    Failed,
}

/// Makes and checks hashes of passwords.
#[derive(Clone)]
pub struct Passwords {
    argon2: Argon2<'static>,
    /// The hash of a password that nobody has: what is checked for an account that there is not.
    nobody: Arc<str>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("cost", self.argon2.params()).finish_non_exhaustive()
    }
}

impl Passwords {
    /// With the configured cost.
    ///
    /// # Errors
    /// [`PasswordError::Failed`].
    pub fn new(config: &Idp, environment: &Environment) -> Result<Self, PasswordError> {
        let params = Params::new(config.password_kib, config.password_passes, 1, None);
        let params = params.map_err(|_| PasswordError::Failed)?;
        Ok(Self {
            nobody: nobodys(&params, environment)?.into(),
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            running: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: Arc::new(Semaphore::new(AT_ONCE + WAITING)),
        })
    }

    /// The hash to store, with its salt and its cost. Takes as long as a check.
    ///
    /// # Errors
    /// [`PasswordError::Failed`], for a password of more than 1,024 bytes too.
    pub fn hash(&self, password: &str, environment: &Environment) -> Result<String, PasswordError> {
        if password.len() > LONGEST {
            return Err(PasswordError::Failed);
        }
        let salt = environment.bytes::<SALT>().map_err(|_| PasswordError::Failed)?;
        let hash = self.argon2.hash_password_with_salt(password.as_bytes(), &salt);
        hash.map(|hash| hash.to_string()).map_err(|_| PasswordError::Failed)
    }

    /// Whether a password is the one of this hash; without one, as much work and no.
    ///
    /// # Errors
    /// [`PasswordError::Busy`].
    pub async fn check(&self, password: String, hash: Option<String>) -> Result<bool, PasswordError> {
        let busy = PasswordError::Busy(Duration::from_secs(2));
        let _place = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| busy)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy)?;
        let (argon2, nobody) = (self.argon2.clone(), Arc::clone(&self.nobody));
        let checked = tokio::task::spawn_blocking(move || {
            // Whoever asked may be gone by now; the turn is over when the work is.
            let _turn = turn;
            let fits = password.len() <= LONGEST;
            let password = if fits { password.as_str() } else { "" };
            let right = verify(&argon2, password, hash.as_deref().unwrap_or(&nobody));
            right && fits && hash.is_some()
        });
        checked.await.map_err(|_| PasswordError::Failed)
    }
}

/// A hash of this cost that no password has: random bytes stand in the place of what one comes to, so that
/// a service starts without the work of a check.
fn nobodys(params: &Params, environment: &Environment) -> Result<String, PasswordError> {
    let failed = |_| PasswordError::Failed;
    let salt = BASE64.encode(environment.bytes::<SALT>().map_err(failed)?);
    let output = BASE64.encode(environment.bytes::<OUTPUT>().map_err(failed)?);
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    Ok(format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${output}"))
}

fn verify(argon2: &Argon2<'_>, password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| argon2.verify_password(password.as_bytes(), &hash).is_ok())
}

/// The one spelling of a user name, of all that are one to a person: without blanks around it, in any case of
/// letters, composed or not.
#[must_use]
pub fn normal(username: &str) -> String {
    // A small letter may compose with a mark that the capital stood beside.
    username.trim().nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// An account's member and the hash of its password, by its name in any case of letters.
///
/// # Errors
/// What the database says.
pub fn find(connection: &Connection, username: &str) -> Result<Option<(MemberId, String)>, StoreError> {
    let found = connection
        .prepare_cached("SELECT member, password FROM account WHERE username = ?1")?
        .query_row([normal(username)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// Gives a member an account, or the one that the member has another name and password. The name is stored in
/// its one spelling ([`normal`]); the hash is one of
/// [`Passwords::hash`].
///
/// # Errors
/// What the database says: a name that is another member's, a member that there is not.
pub fn set(
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
        .execute(params![normal(username), member, password_hash])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> Idp {
        Idp { password_kib: 8, password_passes: 1, ..Idp::default() }
    }

    #[tokio::test]
    async fn passwords_are_checked_by_their_hashes() {
        let environment = Environment::system();
        let passwords = Passwords::new(&cheap(), &environment).unwrap();
        let hash = passwords.hash("right", &environment).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash("right", &environment).unwrap());
        let check = async |password: &str, hash: Option<&String>| {
            passwords.check(password.to_owned(), hash.cloned()).await.unwrap()
        };
        assert!(check("right", Some(&hash)).await);
        assert!(!check("Right", Some(&hash)).await);
        assert!(!check("", Some(&hash)).await);
        assert!(!check("right", None).await);
        assert!(!check("right", Some(&"no hash".to_owned())).await);
        let longest = passwords.hash(&"r".repeat(1024), &environment).unwrap();
        assert!(check(&"r".repeat(1024), Some(&longest)).await);
        assert!(!check(&"r".repeat(1025), Some(&longest)).await);
        assert_eq!(passwords.hash(&"r".repeat(1025), &environment), Err(PasswordError::Failed));
    }

    #[test]
    fn names_have_one_spelling() {
        for (typed, expect) in [(" ADA ", "ada"), ("\u{c4}nne", "\u{e4}nne"), ("A\u{308}NNE", "\u{e4}nne")] {
            assert_eq!(normal(typed), expect);
        }
        assert_eq!(normal("J\u{30c}"), "\u{1f0}");
    }

    /// Whatever was typed, its spelling is its own spelling: of each letter that has cases, with each mark.
    #[test]
    fn the_spelling_of_a_spelling_is_the_same() {
        for letter in ('\0'..=char::MAX).filter(|letter| letter.to_lowercase().ne([*letter])) {
            for mark in '\u{300}'..='\u{36f}' {
                let once = normal(&format!("{letter}{mark}"));
                assert_eq!(normal(&once), once, "{letter:?} {mark:?}");
            }
        }
    }

    /// What is checked for an account that there is not looks as a hash does and costs the same.
    #[test]
    fn nobodys_hash_costs_what_every_other_does() {
        let environment = Environment::system();
        let passwords = Passwords::new(&cheap(), &environment).unwrap();
        let hash = passwords.hash("right", &environment).unwrap();
        let cost = |hash: &str| {
            let parsed = PasswordHash::new(hash).unwrap();
            let params = Params::try_from(&parsed).unwrap();
            (parsed.algorithm, parsed.version, parsed.salt.map(|salt| salt.as_ref().len()), params)
        };
        assert_eq!(cost(&passwords.nobody), cost(&hash));
        assert_eq!(passwords.nobody.len(), hash.len());
        let another = Passwords::new(&cheap(), &environment).unwrap();
        assert_ne!(passwords.nobody, another.nobody);
    }

    /// A hash that was made at another cost is still checked at its own.
    #[tokio::test]
    async fn the_cost_may_change() {
        let environment = Environment::system();
        let hash = Passwords::new(&cheap(), &environment).unwrap().hash("right", &environment).unwrap();
        let dearer = Idp { password_kib: 16, ..cheap() };
        let passwords = Passwords::new(&dearer, &environment).unwrap();
        assert!(passwords.check("right".to_owned(), Some(hash)).await.unwrap());
        assert!(Passwords::new(&Idp { password_kib: 0, ..cheap() }, &environment).is_err());
    }
}
