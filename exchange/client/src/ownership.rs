//! Ownership of data and calls: the only check that separates one member's data from another's.
//!
//! The signed-in member can change at any time, by a login in this or another process. Therefore grants,
//! responses, connection data, queued changes, feed pages, local copies, cached results, and per-member
//! `Retry-After` times carry an [`Ownership`], which is compared with that of the current session before use.

use serde::{Deserialize, Serialize};

/// The connection and the installation to which data or a call belongs.
///
/// A connection belongs to one member for its whole lifetime. A new connection may belong to the same member
/// or to another one. The installation id that the exchange returns shows which member it is (SVC-07).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Ownership {
    /// The local id of the connection; `None` for data that outlives connections.
    pub(crate) connection: Option<Box<str>>,
    /// The id of the installation at the exchange, if it is known.
    pub(crate) installation: Option<Box<str>>,
}

/// The result of comparing two owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnershipMatch {
    /// The data has no owner yet.
    Unowned,
    /// Both owners have the same installation, and thus the same member.
    Same,
    /// The installations differ, so the member may differ as well.
    Other,
    /// One of the installations is not known yet (SVC-03).
    Unknown,
}

impl Ownership {
    /// Creates the ownership of an installation, independent of the connection.
    pub(crate) fn for_installation(installation: &str) -> Self {
        Self { connection: None, installation: Some(installation.into()) }
    }

    /// Compares this owner with the owner that requests access.
    pub(crate) fn compare_with(&self, requester: &Self) -> OwnershipMatch {
        if self.connection.is_some() && self.connection == requester.connection {
            return OwnershipMatch::Same;
        }
        match (&self.installation, &requester.installation) {
            (Some(owner), Some(requester)) if owner == requester => OwnershipMatch::Same,
            (Some(_), Some(_)) => OwnershipMatch::Other,
            _ => OwnershipMatch::Unknown,
        }
    }

    /// Returns true if the data belongs to this connection.
    pub(crate) fn is_connection(&self, connection: &str) -> bool {
        self.connection.as_deref() == Some(connection)
    }
}

/// A cached value that is reset when another member signs in.
#[derive(Debug, Default)]
pub(crate) struct OwnedCache<T> {
    for_owner: Option<Ownership>,
    value: T,
}

impl<T: Default> OwnedCache<T> {
    /// Creates a cache without an owner.
    pub(crate) const fn new(value: T) -> Self {
        Self { for_owner: None, value }
    }

    /// Returns the cached value for `owner`, and makes it the owner of the cache. The value is reset to its
    /// default first if the previous owner was another one, or may have been: a different connection
    /// counts as another owner unless both are known to belong to the same installation.
    pub(crate) fn value_for(&mut self, owner: Option<&Ownership>) -> &mut T {
        let is_own = match (&self.for_owner, owner) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(previous), Some(owner)) => previous.compare_with(owner) == OwnershipMatch::Same,
        };
        if !is_own {
            self.value = T::default();
        }
        self.for_owner = owner.cloned();
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(connection: &str, installation: &str) -> Ownership {
        let named = |name: &str| Some(name).filter(|name| !name.is_empty()).map(Into::into);
        Ownership { connection: named(connection), installation: named(installation) }
    }

    /// SVC-07: a connection has one owner; different connections are compared by their installation.
    #[test]
    fn ownership_is_compared_by_connection_or_installation() {
        for (holder, requester, expect) in [
            (("c-1", ""), ("c-1", ""), OwnershipMatch::Same),
            (("c-1", ""), ("c-1", "i-1"), OwnershipMatch::Same),
            (("c-1", "i-1"), ("c-2", "i-1"), OwnershipMatch::Same),
            (("", "i-1"), ("c-2", "i-1"), OwnershipMatch::Same),
            (("c-1", "i-1"), ("c-2", "i-2"), OwnershipMatch::Other),
            (("c-1", "i-1"), ("c-2", ""), OwnershipMatch::Unknown),
            (("c-1", ""), ("c-2", "i-2"), OwnershipMatch::Unknown),
            (("", ""), ("", ""), OwnershipMatch::Unknown),
        ] {
            let (a, b) = (owner(holder.0, holder.1), owner(requester.0, requester.1));
            assert_eq!(
                (a.compare_with(&b), b.compare_with(&a)),
                (expect, expect),
                "{holder:?} {requester:?}"
            );
        }
    }

    /// OST-14: cached data is dropped when the owner may have changed, and is not restored later.
    #[test]
    fn cached_data_is_dropped_with_its_owner() {
        let (before, named, again) = (owner("c-1", ""), owner("c-1", "i-1"), owner("c-2", "i-1"));
        let mut private = OwnedCache::new(7);
        for owner in [&before, &named, &again] {
            assert_eq!(*private.value_for(Some(owner)), 7);
        }
        for other in [Some(owner("c-3", "i-2")), Some(owner("c-3", "")), None] {
            let mut private = OwnedCache::new(7);
            assert_eq!(*private.value_for(Some(&named)), 7);
            assert_eq!(*private.value_for(other.as_ref()), 0);
            assert_eq!(*private.value_for(Some(&named)), 0);
        }
    }
}
