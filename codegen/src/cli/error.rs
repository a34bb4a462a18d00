//! Errors of commands and their exit codes.

use contract_codegen::{diagnostics::Diagnostics, write::WriteError};
use serde_json::json;

use super::console::Console;

/// The exit code if `check` found differences or `drift` found breaking changes.
pub(crate) const EXIT_DIFFERENT: u8 = 1;
/// The exit code if the command line is invalid.
const EXIT_USAGE: u8 = 2;
/// The exit code if the contract is invalid.
pub(crate) const EXIT_INVALID_CONTRACT: u8 = 3;
/// The exit code if a file, a socket or a git repository could not be read or written.
pub(crate) const EXIT_IO: u8 = 4;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The command line is invalid.
    Usage(String),
    /// The contract is invalid.
    Contract(Diagnostics),
    /// The contract at a git revision is invalid.
    Revision { revision: String, problems: Diagnostics },
    /// A file, socket or git repository could not be read or written.
    Io(String),
}

impl From<Diagnostics> for CommandError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Contract(diagnostics)
    }
}

impl From<WriteError> for CommandError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::ForeignFolder(_) | WriteError::ForeignFile(_) => Self::Usage(error.to_string()),
            WriteError::Io(..) => Self::Io(error.to_string()),
        }
    }
}

impl CommandError {
    /// Returns the error that the commands `mock` and `test` report if the program was built without the
    /// feature `serve`.
    #[cfg(not(feature = "serve"))]
    pub(crate) fn missing_serve_feature() -> Self {
        Self::Usage("this build has neither `mock` nor `test`: rebuild it with `--features serve`".to_owned())
    }

    /// Returns the error that the command `mcp` reports if the program was built without the feature `mcp`.
    #[cfg(not(all(feature = "mcp", feature = "serve")))]
    pub(crate) fn missing_mcp_feature() -> Self {
        Self::Usage(
            "this build cannot serve the Model Context Protocol: rebuild it with `--features mcp,serve`"
                .to_owned(),
        )
    }

    /// Prints the error and returns the exit code.
    pub(crate) fn report_to(self, console: &Console) -> u8 {
        let report_diagnostics = |diagnostics: &Diagnostics| {
            console.print_diagnostics(diagnostics);
            // An unreadable file is an I/O error, not an invalid contract.
            if diagnostics.iter().any(|each| each.code == "io") { EXIT_IO } else { EXIT_INVALID_CONTRACT }
        };
        let (code, text) = match self {
            Self::Contract(diagnostics) => (report_diagnostics(&diagnostics), None),
            Self::Revision { revision, problems } => (
                report_diagnostics(&problems),
                Some(format!("the contract at revision {revision} is invalid")),
            ),
            Self::Usage(text) => (EXIT_USAGE, Some(text)),
            Self::Io(text) => (EXIT_IO, Some(text)),
        };
        if let Some(text) = &text {
            console.print_error(&format!("error: {text}"));
        }
        console.print_summary(json!({ "exit": code, "error": text }));
        code
    }
}
