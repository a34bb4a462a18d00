//! Whose something is: the one notion by which what belongs to one member is told from what belongs to another.
//!
//! Who is signed in may be another at any time, by a login of this process or of another one. So a grant, an answer, a
//! note, a change that waits, a page that is read, a copy that is kept, what is remembered of an answer and what a server
//! asked a member for all carry whose they are, and ask here what that is to whoever wants them.

use serde::{Deserialize, Serialize};

/// Whose something is.
///
/// A connection is one member's for as long as it lasts. A new one may be the same member's or another's: that is known
/// once the exchange has said what it calls the installation (SVC-07).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Whose {
    /// The connection's id on this side; nothing of what outlives connections.
    pub(crate) connection: Option<Box<str>>,
    /// What the exchange calls its installation, as far as that is known.
    pub(crate) installation: Option<Box<str>>,
}

/// What something is to one who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// Nothing is there that is anybody's yet.
    Nobodys,
    /// Of the same installation.
    Own,
    /// Of another installation, and perhaps another member's.
    Anothers,
    /// Nobody can tell yet (SVC-03).
    Unknown,
}

impl Whose {
    /// Of this installation, by whichever connection.
    pub(crate) fn of_installation(installation: &str) -> Self {
        Self { connection: None, installation: Some(installation.into()) }
    }

    /// What it is to one who asks.
    pub(crate) fn belongs_to(&self, asks: &Self) -> Belongs {
        if self.connection.is_some() && self.connection == asks.connection {
            return Belongs::Own;
        }
        match (&self.installation, &asks.installation) {
            (Some(own), Some(asks)) if own == asks => Belongs::Own,
            (Some(_), Some(_)) => Belongs::Anothers,
            _ => Belongs::Unknown,
        }
    }

    /// Whether it is this connection.
    pub(crate) fn is_connection(&self, connection: &str) -> bool {
        self.connection.as_deref() == Some(connection)
    }
}

/// What was answered to one member, and is given to nobody else.
#[derive(Debug, Default)]
pub(crate) struct Private<T> {
    of: Option<Whose>,
    kept: T,
}

impl<T: Default> Private<T> {
    /// What is known before anybody asked.
    pub(crate) const fn new(kept: T) -> Self {
        Self { of: None, kept }
    }

    /// What is kept for who asks now: nothing of another's, which is dropped. It counts as another's from the moment on in
    /// which somebody signs in or out, unless that is known to be the same installation.
    pub(crate) fn of(&mut self, now: Option<&Whose>) -> &mut T {
        let is_own = match (&self.of, now) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(of), Some(now)) => of.belongs_to(now) == Belongs::Own,
        };
        if !is_own {
            self.kept = T::default();
        }
        self.of = now.cloned();
        &mut self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(connection: &str, installation: &str) -> Whose {
        let named = |name: &str| Some(name).filter(|name| !name.is_empty()).map(Into::into);
        Whose { connection: named(connection), installation: named(installation) }
    }

    /// SVC-07: a connection is one member's; of two, the installation tells.
    #[test]
    fn what_is_ones_own_is_told_by_connection_and_installation() {
        for (of, asks, expect) in [
            (("c-1", ""), ("c-1", ""), Belongs::Own),
            (("c-1", ""), ("c-1", "i-1"), Belongs::Own),
            (("c-1", "i-1"), ("c-2", "i-1"), Belongs::Own),
            (("", "i-1"), ("c-2", "i-1"), Belongs::Own),
            (("c-1", "i-1"), ("c-2", "i-2"), Belongs::Anothers),
            (("c-1", "i-1"), ("c-2", ""), Belongs::Unknown),
            (("c-1", ""), ("c-2", "i-2"), Belongs::Unknown),
            (("", ""), ("", ""), Belongs::Unknown),
        ] {
            let (a, b) = (whose(of.0, of.1), whose(asks.0, asks.1));
            assert_eq!((a.belongs_to(&b), b.belongs_to(&a)), (expect, expect), "{of:?} {asks:?}");
        }
    }

    /// OST-14: what was answered to one is gone once it may be another who asks, and does not come back.
    #[test]
    fn what_is_private_goes_with_who_it_was_for() {
        let (before, named, again) = (whose("c-1", ""), whose("c-1", "i-1"), whose("c-2", "i-1"));
        let mut private = Private::new(7);
        for now in [&before, &named, &again] {
            assert_eq!(*private.of(Some(now)), 7);
        }
        for other in [Some(whose("c-3", "i-2")), Some(whose("c-3", "")), None] {
            let mut private = Private::new(7);
            assert_eq!(*private.of(Some(&named)), 7);
            assert_eq!(*private.of(other.as_ref()), 0);
            assert_eq!(*private.of(Some(&named)), 0);
        }
    }
}
