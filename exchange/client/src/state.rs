//! The states of a session, the reasons for a halt or an end, and the advice for the member.

use exchange_api::codes::Code;

/// The state of a session. Changes can be observed with [`Session::watch`](crate::Session::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionState {
    /// No member is signed in on this installation.
    SignedOut,
    /// Calls can be sent.
    Active,
    /// No call is sent until the member has acted and the session is resumed, or until the program restarts
    /// (ERR-14 to ERR-20).
    Halted(HaltReason),
    /// The connection has ended. A new connection requires a device login by the member (CLI-03).
    Ended(EndReason),
}

/// The reason the client does not send calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HaltReason {
    /// The client is suspended (ERR-15).
    Suspended,
    /// The client is not in the exchange's registry of clients (ERR-14).
    NotAllowed,
    /// The client is not registered with the identity provider, or may not use this grant type.
    NotRegistered,
    /// The version of the client is no longer supported (ERR-16).
    VersionUnsupported,
    /// The member has not accepted the current terms (ERR-17).
    TermsNotAccepted,
    /// The member's registration awaits approval (ERR-18).
    PendingApproval,
    /// The member holds no role (ERR-19).
    NoRole,
    /// The member is unknown, disabled or deleted (ERR-20).
    MemberRefused,
}

impl HaltReason {
    /// Returns the reason for an error code whose action in the registry is `stop-client`.
    #[must_use]
    pub fn from_code(code: &Code) -> Self {
        match code {
            Code::ClientSuspended => Self::Suspended,
            Code::ClientVersionUnsupported => Self::VersionUnsupported,
            Code::TermsNotAccepted => Self::TermsNotAccepted,
            Code::PendingApproval => Self::PendingApproval,
            Code::NoRole => Self::NoRole,
            Code::ActingMemberRefused => Self::MemberRefused,
            _ => Self::NotAllowed,
        }
    }

    /// Returns the next step for the member (CLI-04).
    #[must_use]
    pub const fn advice(self) -> Advice {
        match self {
            Self::Suspended | Self::NotAllowed | Self::NotRegistered | Self::MemberRefused => {
                Advice::ContactOperator
            }
            Self::VersionUnsupported => Advice::Update,
            Self::TermsNotAccepted => Advice::AcceptTerms,
            Self::PendingApproval => Advice::AwaitApproval,
            Self::NoRole => Advice::RequestRole,
        }
    }

    /// Returns the message for the member (CLI-04).
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Suspended => "this program is suspended at the exchange",
            Self::NotAllowed => "this program is not admitted to the exchange",
            Self::NotRegistered => "the identity provider does not know this program",
            Self::VersionUnsupported => "this version of the program is no longer supported",
            Self::TermsNotAccepted => "the current terms are not accepted yet",
            Self::PendingApproval => "your registration awaits approval",
            Self::NoRole => "you hold no role in the organisation",
            Self::MemberRefused => "your account is unknown, disabled or deleted",
        }
    }
}

/// The reason a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// The member disconnected the client (ERR-12). The tokens are deleted, and the key is kept.
    ClientDisconnected,
    /// The member disconnected this installation (ERR-13). Tokens and key are deleted.
    InstallationDisconnected,
    /// The identity provider ended the grant (ERR-47): the member disconnected it, it was unused for 30 days,
    /// or it is 90 days old.
    GrantRevoked,
    /// The key is missing from the secret store, so the installation cannot prove its identity.
    KeyLost,
}

impl EndReason {
    /// Returns the message for the member.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ClientDisconnected => "you disconnected this program on the web",
            Self::InstallationDisconnected => "you disconnected this installation on the web",
            Self::GrantRevoked => {
                "the connection has ended: disconnected, unused for 30 days, or 90 days old"
            }
            Self::KeyLost => "the key of this installation is missing from the secret store",
        }
    }
}

/// The next step for the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Sign in to the exchange.
    SignIn,
    /// Sign in again with the missing capability.
    SignInWithMoreScopes,
    /// Contact the operators of the exchange.
    ContactOperator,
    /// Request a role from the organization.
    RequestRole,
    /// Wait until the registration is approved.
    AwaitApproval,
    /// Accept the terms in the web application.
    AcceptTerms,
    /// Update the program.
    Update,
    /// Confirm the change in the browser.
    Confirm,
    /// Synchronize, then review the change again.
    Synchronise,
    /// Wait for the time of `Retry-After`, then try again.
    Wait,
    /// Check the network, then try again.
    Reconnect,
    /// Keep the program running, or try again later. A write is sent again under its key until its outcome is
    /// known.
    WaitForOutcome,
    /// Try again. Repeating the call is harmless.
    TryAgain,
    /// Correct the request.
    Correct,
    /// Send fewer or smaller items at once.
    SendLess,
    /// Set the clock of this machine.
    SetClock,
    /// Unlock or install the secret store.
    OpenSecretStore,
    /// Check the disk: free space and permissions.
    CheckDisk,
    /// Start the operation again.
    StartAgain,
    /// No action: the member lacks permission, and other operations continue.
    Continue,
    /// Report the error to the developer of the program.
    Report,
}

impl Advice {
    /// Returns the advice as a sentence without an initial capital letter and without a period.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::SignIn => "sign in",
            Self::SignInWithMoreScopes => "sign in again and allow this capability, if you want it",
            Self::ContactOperator => "contact the operators of the exchange",
            Self::RequestRole => "request a role from your organisation",
            Self::AwaitApproval => "wait until your registration is approved",
            Self::AcceptTerms => "accept the current terms in the web application",
            Self::Update => "update this program",
            Self::Confirm => "confirm or discard it in your browser",
            Self::Synchronise => "synchronize, then review it",
            Self::Wait => "wait, then try again",
            Self::Reconnect => "check the network, then try again",
            Self::WaitForOutcome => {
                "try again later: a change is resent under its key and never applied twice"
            }
            Self::TryAgain => "try again later",
            Self::Correct => "correct it before sending it again",
            Self::SendLess => "send less at once",
            Self::SetClock => "synchronize the clock of this computer with the network",
            Self::OpenSecretStore => {
                "unlock the secret store of this computer, or choose another before signing in"
            }
            Self::CheckDisk => "check the disk: space, permissions",
            Self::StartAgain => "start again when you are ready",
            Self::Continue => "other operations still work",
            Self::Report => "report it to the developer of this program",
        }
    }
}
