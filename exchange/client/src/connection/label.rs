//! Validation of the label that a member gives an installation. A label is in NFC, matches the contract's
//! rule, and is not a name of the computer (SVC-09, SVC-12).

use std::{
    fmt,
    process::{Command, Stdio},
};

use exchange_api::types::InstallationLabel;
use unicode_normalization::UnicodeNormalization as _;

/// A validated installation label, in NFC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(InstallationLabel);

/// The reason a string is not a valid label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The label has a forbidden character or length (SVC-09).
    #[error(
        "a label must have 1 to 40 letters, digits, dots, underscores, hyphens and spaces, and must not begin with a space"
    )]
    InvalidCharacters,
    /// The label is a name of this computer (SVC-12).
    #[error("a label must not be the name of the computer: choose another")]
    ComputerName,
}

/// The names of this computer, which a label must not reveal. They are never sent or printed.
#[derive(Clone, Default)]
pub struct ComputerNames(Vec<String>);

impl fmt::Debug for ComputerNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputerNames").field("known", &self.0.len()).finish_non_exhaustive()
    }
}

impl ComputerNames {
    /// Returns an empty list, which rejects no label.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Creates a list of these names. They are compared without regard to case, with and without their
    /// domain.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut known = Vec::new();
        for name in names {
            let name = fold_case(name.trim());
            // The first component of a domain or Bonjour name is the host name.
            known.extend(name.split('.').next().map(str::to_owned));
            known.push(name);
        }
        // `localhost` reveals nothing and is accepted as a label.
        known.retain(|name| !name.is_empty() && !name.starts_with("localhost"));
        Self(known)
    }

    /// Collects the names from environment variables, system files, and system programs (`scutil` on macOS;
    /// `hostname` if no file has the name). Blocks for a few milliseconds.
    #[must_use]
    pub fn detect() -> Self {
        let variables = ["COMPUTERNAME", "HOSTNAME", "HOST"];
        let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let from_environment = variables.iter().filter_map(|name| std::env::var(name).ok());
        let mut written = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).peekable();
        let is_told = cfg!(windows) || written.peek().is_some();
        // The names from the macOS settings are not in a readable file.
        let of_a_mac = ["ComputerName", "LocalHostName", "HostName"]
            .into_iter()
            .filter(|_| cfg!(target_os = "macos"))
            .filter_map(|name| run_program("/usr/sbin/scutil", &["--get", name]));
        let from_programs = ["/bin/hostname", "/usr/bin/hostname"].into_iter().filter(|_| !is_told);
        let from_programs = from_programs.filter_map(|program| run_program(program, &[]));
        let names: Vec<String> =
            from_environment.chain(written).chain(of_a_mac).chain(from_programs).collect();
        Self::from_names(names.iter().map(String::as_str))
    }

    fn has(&self, label: &str) -> bool {
        let label = fold_case(label.trim());
        self.0.contains(&label) || self.0.iter().any(|name| label.split('.').next() == Some(name))
    }
}

impl Label {
    /// Normalizes a label to NFC, like the exchange, and validates it.
    ///
    /// # Errors
    /// Returns an error if the label violates the rule of SVC-09 or is a name of this computer.
    pub fn new(text: &str, machine: &ComputerNames) -> Result<Self, LabelError> {
        let composed: String = text.nfc().collect();
        if machine.has(&composed) {
            return Err(LabelError::ComputerName);
        }
        InstallationLabel::new(composed).map(Self).map_err(|_| LabelError::InvalidCharacters)
    }

    /// Returns the normalized label.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) const fn as_contract(&self) -> &InstallationLabel {
        &self.0
    }
}

/// Runs a system program and returns its standard output; `None` if it is missing or fails.
fn run_program(program: &str, args: &[&str]) -> Option<String> {
    let ran = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    if ran.status.success() { String::from_utf8(ran.stdout).ok() } else { None }
}

fn fold_case(text: &str) -> String {
    text.nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SVC-12: a label is normalized to NFC before it is validated.
    #[test]
    fn a_label_is_composed_and_checked() {
        let label = |text: &str| Label::new(text, &ComputerNames::none()).map(|label| label.0.into_string());
        assert_eq!(label("Gaming PC 2").as_deref(), Ok("Gaming PC 2"));
        assert_eq!(label("u\u{308}ber").as_deref(), Ok("\u{fc}ber"));
        assert_eq!(label(&"x".repeat(40)).map(|text| text.len()), Ok(40));
        // Each of the 40 characters is a single code point after normalization.
        assert!(label(&"e\u{301}".repeat(40)).is_ok());
        for text in ["", " Desk", "a:b", "a\u{2013}b", "q\u{308}", "a/b", "a\nb", &"x".repeat(41)] {
            assert_eq!(label(text), Err(LabelError::InvalidCharacters), "{text:?}");
        }
    }

    /// SVC-12, CLI-05: the computer's name is rejected in every spelling.
    #[test]
    fn computer_name_is_rejected_as_a_label() {
        let machine = ComputerNames::from_names(["Ada-PC.home.example", "  ada-laptop\n", "", "localhost"]);
        for text in ["ada-pc", "ADA-PC", "Ada-PC.home.example", "ada-pc.local", "Ada-Laptop", "ada-laptop "] {
            assert_eq!(Label::new(text, &machine), Err(LabelError::ComputerName), "{text:?}");
        }
        for text in ["Ada", "ada-pc 2", "localhost"] {
            assert!(Label::new(text, &machine).is_ok(), "{text:?}");
        }
        assert_eq!(format!("{machine:?}"), "ComputerNames { known: 4, .. }");
        // If no file contains the name, a program provides it.
        #[cfg(unix)]
        {
            let run_script = |script| run_program("/bin/sh", &["-c", script]);
            assert_eq!(run_script("echo Ada-PC").as_deref(), Some("Ada-PC\n"));
            assert_eq!((run_script("echo Ada-PC; exit 1"), run_program("/nonexistent", &[])), (None, None));
        }
        // This check passes on every machine, even if no name was detected.
        let names = ComputerNames::detect();
        assert!(names.0.iter().all(|name| names.has(name)));
    }
}
