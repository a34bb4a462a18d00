//! Why a command ended early, and its exit code.

use contract_codegen::{diagnostics::Diagnostics, write::WriteError};
use serde_json::json;

use super::screen::Screen;

/// Differences were found, or such that break something.
pub(crate) const DIFFERENT: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// The contract was refused.
pub(crate) const REFUSED: u8 = 3;
/// Something could not be read or written.
pub(crate) const IO: u8 = 4;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The contract was refused.
    Contract(Diagnostics),
    /// The contract that git keeps was.
    Revision {
        /// At which revision.
        revision: String,
        /// What is wrong with it.
        problems: Diagnostics,
    },
    /// Something could not be read or written.
    Io(String),
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Contract(diagnostics)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Foreign(_) | WriteError::ForeignFile(_) => Self::Usage(error.to_string()),
            WriteError::Io(..) => Self::Io(error.to_string()),
        }
    }
}

impl Failure {
    /// What `mock` says where it was left out of the build.
    #[cfg(not(feature = "serve"))]
    pub(crate) fn without_server() -> Self {
        Self::Usage("this command was built without doubles: build it with the feature `serve`".to_owned())
    }

    /// What takes other generators, in a command that has none.
    #[cfg(not(feature = "engines"))]
    pub(crate) fn without_engines() -> Self {
        Self::Usage(
            "this command was built without other generators: build it with `--features engines`".to_owned(),
        )
    }

    /// Says it and gives the exit code.
    pub(crate) fn tell(self, screen: &Screen) -> u8 {
        let refused = |diagnostics: &Diagnostics| {
            screen.diagnostics(diagnostics);
            // A file that cannot be read is no fault of the contract.
            if diagnostics.iter().any(|each| each.code == "io") { IO } else { REFUSED }
        };
        let (code, text) = match self {
            Self::Contract(diagnostics) => (refused(&diagnostics), None),
            Self::Revision { revision, problems } => {
                (refused(&problems), Some(format!("the contract at {revision} cannot be read")))
            }
            Self::Usage(text) => (USAGE, Some(text)),
            Self::Io(text) => (IO, Some(text)),
        };
        if let Some(text) = &text {
            screen.line(&format!("error: {text}"));
        }
        screen.summary(json!({ "exit": code, "error": text }));
        code
    }
}
