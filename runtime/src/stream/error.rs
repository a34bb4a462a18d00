//! What goes wrong while a stream is read.

use std::{error::Error as StdError, fmt};

use http::StatusCode;

use crate::{
    contract::Rejected,
    sequence::{Fault, Place},
    transport::TransportError,
};

/// Why there is no item. Prints none.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// This item cannot be read; those behind it can.
    Item {
        /// Where it stands.
        place: Place,
        /// What is wrong with it.
        fault: ItemFault,
    },
    /// The connection broke, or this side does not go on. The stream is over.
    Transport(TransportError),
    /// The server answered this when it was connected to again. The stream is over.
    Answer(StatusCode),
    /// So many connections in a row ended in order without a byte, as many as
    /// [`Reconnection::attempts`](super::Reconnection::attempts) allows. The stream is over.
    Silent(u32),
}

/// What is wrong with an item.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ItemFault {
    /// It has more bytes than this side accepts.
    TooLarge,
    /// It was cut off.
    Truncated,
    /// It is not JSON, or not what the contract says.
    Rejected(Rejected),
}

impl StreamError {
    /// Whether one item is lost, and the stream goes on.
    #[must_use]
    pub const fn is_item(&self) -> bool {
        matches!(self, Self::Item { .. })
    }

    /// Where the item stands, if it is about one.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Item { place, .. } => Some(*place),
            Self::Transport(_) | Self::Answer(_) | Self::Silent(_) => None,
        }
    }
}

impl From<Fault> for StreamError {
    fn from(fault: Fault) -> Self {
        let place = fault.place();
        let fault = match fault {
            Fault::TooLarge(_) => ItemFault::TooLarge,
            Fault::Truncated(_) => ItemFault::Truncated,
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
            Self::Answer(status) => {
                write!(f, "the stream ended: the server answered {status} to another connection")
            }
            Self::Silent(connections) => {
                write!(f, "the stream ended: {connections} more connections in a row gave nothing")
            }
        }
    }
}

impl StdError for StreamError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // Its text is this error's text already.
            Self::Transport(error) => error.source(),
            Self::Item { .. } | Self::Answer(_) | Self::Silent(_) => None,
        }
    }
}

impl fmt::Display for ItemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is too large"),
            Self::Truncated => f.write_str("it was cut off"),
            Self::Rejected(rejected) => write!(f, "{rejected}"),
        }
    }
}
