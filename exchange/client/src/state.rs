//! What a session can be: signed out, active, halted until the member did something, or over; and what a member can do
//! about that and all else.

use exchange_api::codes::Code;

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

/// What to do next, for the person before the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Sign in.
    SignIn,
    /// Sign in again, with the capability that is missing.
    SignInForMore,
    /// Ask those who run the exchange.
    Ask,
    /// Ask the organisation for a role.
    AskForRole,
    /// Wait until the registration is approved.
    AwaitApproval,
    /// Accept the terms in the web application.
    AcceptTerms,
    /// Update the program.
    Update,
    /// Confirm in the browser.
    Confirm,
    /// Synchronise, then look again.
    Synchronise,
    /// Wait for as long as was asked.
    Wait,
    /// Look at the network and try again.
    Reconnect,
    /// Try again; a write is sent again under its key until its outcome is known.
    LeaveItRunning,
    /// Try again: nothing is done by that which would not be done once.
    TryAgain,
    /// Correct it.
    Correct,
    /// Send less at once.
    SendLess,
    /// Set the clock of this machine.
    SetClock,
    /// Unlock or install the secret store.
    OpenSecretStore,
    /// Look at the disk.
    CheckDisk,
    /// Begin again.
    StartAgain,
    /// Nothing: the member may not.
    Nothing,
    /// Tell who makes this program.
    Report,
}

impl Advice {
    /// The same as a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::SignIn => "sign in",
            Self::SignInForMore => "sign in again and allow this capability, if you want it",
            Self::Ask => "ask those who run the exchange",
            Self::AskForRole => "ask your organisation for a role",
            Self::AwaitApproval => "wait until your registration is approved",
            Self::AcceptTerms => "accept the current terms in the web application",
            Self::Update => "update this program",
            Self::Confirm => "confirm or discard it in your browser",
            Self::Synchronise => "synchronise, then look at it again",
            Self::Wait => "wait, then try again",
            Self::Reconnect => "check the network, then try again",
            Self::LeaveItRunning => {
                "try again in a while: a change is sent again under its key, and never done twice"
            }
            Self::TryAgain => "try again in a while",
            Self::Correct => "correct it before it is sent again",
            Self::SendLess => "send less at once",
            Self::SetClock => "let this computer set its clock from the network",
            Self::OpenSecretStore => {
                "unlock the secret store of this computer, or choose another before signing in"
            }
            Self::CheckDisk => "check the disk: space, permissions",
            Self::StartAgain => "start again when you want to",
            Self::Nothing => "everything else goes on",
            Self::Report => "report it to who makes this program",
        }
    }
}
