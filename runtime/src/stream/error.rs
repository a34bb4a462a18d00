//! Errors of streams.

use std::{error::Error as StdError, fmt};

use http::StatusCode;

use crate::{
    contract::DocumentError,
    sequence::{DecodeFault, ItemPosition},
    transport::TransportError,
};

/// An error that occurred while a stream was read. It does not contain an item.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// An item cannot be parsed. The stream continues with the next one.
    Item {
        /// The index and the byte offset of the item in its stream.
        place: ItemPosition,
        /// The reason.
        fault: ItemFault,
    },
    /// The connection was interrupted, or the transport stopped. The stream has ended.
    Transport(TransportError),
    /// The server returned this status when the stream reconnected. The stream has ended.
    Reconnect(StatusCode),
    /// This number of consecutive connections ended without data, which is the maximum in
    /// [`ReconnectOptions::max_idle_connections`](super::ReconnectOptions::max_idle_connections). The stream
    /// has ended.
    IdleConnections(u32),
}

/// The reason why an item cannot be parsed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ItemFault {
    /// The item has more bytes than [`StreamLimits`](super::StreamLimits) allows.
    TooLarge,
    /// The item is incomplete, for example after an interrupted transfer.
    Truncated,
    /// The item is not JSON or violates the contract.
    Rejected(DocumentError),
}

impl StreamError {
    /// Returns true if only one item is lost and the stream continues.
    #[must_use]
    pub const fn is_recoverable(&self) -> bool {
        matches!(self, Self::Item { .. })
    }

    /// Returns the position of the item, if the error concerns an item.
    #[must_use]
    pub const fn position(&self) -> Option<ItemPosition> {
        match self {
            Self::Item { place, .. } => Some(*place),
            Self::Transport(_) | Self::Reconnect(_) | Self::IdleConnections(_) => None,
        }
    }
}

impl From<DecodeFault> for StreamError {
    fn from(fault: DecodeFault) -> Self {
        let place = fault.position();
        let fault = match fault {
            DecodeFault::TooLarge(_) => ItemFault::TooLarge,
            DecodeFault::Truncated(_) => ItemFault::Truncated,
        };
        Self::Item { place, fault }
    }
}

impl From<TransportError> for StreamError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item { place, fault } => write!(f, "{place} cannot be read: {fault}"),
            Self::Transport(error) => write!(f, "the stream ended: {error}"),
            Self::Reconnect(status) => {
                write!(f, "the stream ended: the server returned {status} to a reconnection")
            }
            Self::IdleConnections(connections) => {
                write!(f, "the stream ended: {connections} consecutive connections without data")
            }
        }
    }
}

impl StdError for StreamError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // `Display` already includes this error, so its source comes next.
            Self::Transport(error) => error.source(),
            Self::Item { .. } | Self::Reconnect(_) | Self::IdleConnections(_) => None,
        }
    }
}

impl fmt::Display for ItemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is too large"),
            Self::Truncated => f.write_str("it is truncated"),
            Self::Rejected(rejected) => write!(f, "{rejected}"),
        }
    }
}
