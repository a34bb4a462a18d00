//! What a session can be: signed out, active, halted until the member did something, or over.

use exchange_api::codes::Code;

use crate::error::Advice;

/// The state of a session; its changes are observed with `Session::watch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionState {
    /// Nobody is signed in on this installation.
    SignedOut,
    /// Calls can be made.
    Active,
    /// Nothing is sent until the member did something and asked, or the program starts anew (ERR-14 to ERR-20).
    Halted(Halt),
    /// The connection is over. Only the member starts a new device login (CLI-03).
    Ended(End),
}

/// Why a client stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Halt {
    /// The client is suspended (ERR-15).
    Suspended,
    /// The client is not in the exchange's registry (ERR-14).
    NotAllowed,
    /// The identity provider does not know the client, or not for this grant.
    NotRegistered,
    /// The client is older than the exchange supports (ERR-16).
    Version,
    /// The member has not accepted the current terms (ERR-17).
    Terms,
    /// The member's registration awaits approval (ERR-18).
    Approval,
    /// The member holds no role (ERR-19).
    Role,
    /// The member is unknown, disabled or deleted (ERR-20).
    Member,
}

impl Halt {
    /// What a code of the registry's action `stop-client` means.
    #[must_use]
    pub fn of(code: &Code) -> Self {
        match code {
            Code::ClientSuspended => Self::Suspended,
            Code::ClientVersionUnsupported => Self::Version,
            Code::TermsNotAccepted => Self::Terms,
            Code::PendingApproval => Self::Approval,
            Code::NoRole => Self::Role,
            Code::ActingMemberRefused => Self::Member,
            _ => Self::NotAllowed,
        }
    }

    /// What the member is asked to do (CLI-04).
    #[must_use]
    pub const fn advice(self) -> Advice {
        match self {
            Self::Suspended | Self::NotAllowed | Self::NotRegistered | Self::Member => Advice::Ask,
            Self::Version => Advice::Update,
            Self::Terms => Advice::AcceptTerms,
            Self::Approval => Advice::AwaitApproval,
            Self::Role => Advice::AskForRole,
        }
    }

    /// What the member is told (CLI-04).
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Suspended => "this program is suspended at the exchange",
            Self::NotAllowed => "this program is not admitted to the exchange",
            Self::NotRegistered => "the identity provider does not know this program",
            Self::Version => "this version of the program is no longer supported",
            Self::Terms => "the current terms are not accepted yet",
            Self::Approval => "your registration awaits approval",
            Self::Role => "you hold no role in the organisation",
            Self::Member => "your account is unknown, disabled or deleted",
        }
    }
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// The member disconnected the client (ERR-12): tokens are gone, the key stays.
    Client,
    /// The member disconnected this installation (ERR-13): its key is gone too.
    Installation,
    /// The identity provider ended the grant (ERR-47): disconnected, 30 days unused, 90 days old.
    Grant,
    /// The key vanished from the secret store; no other proves who this was.
    KeyLost,
}

impl End {
    /// What the member is told.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Client => "you disconnected this program on the web",
            Self::Installation => "you disconnected this installation on the web",
            Self::Grant => "the connection is over: disconnected, unused for 30 days, or 90 days old",
            Self::KeyLost => "the key of this installation is gone from the secret store",
        }
    }
}
