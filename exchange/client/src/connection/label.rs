//! What a member calls an installation: composed, within the contract's rule, and no computer's name (SVC-09, SVC-12).

use std::{
    fmt,
    process::{Command, Stdio},
};

use exchange_api::types::InstallationLabel;
use unicode_normalization::UnicodeNormalization as _;

/// A label that may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(InstallationLabel);

/// Why a text is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableLabel {
    /// It breaks the rule of SVC-09.
    #[error(
        "a label has 1 to 40 letters, digits, dots, underscores, hyphens and spaces, and begins with no space"
    )]
    Rule,
    /// It names this computer (SVC-12).
    #[error("a label is not the name of the computer, which nobody else has to know: choose another")]
    Computer,
}

/// What this computer is called, so that no label tells it. Never sent, never printed.
#[derive(Clone, Default)]
pub struct MachineNames(Vec<String>);

impl fmt::Debug for MachineNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineNames").field("known", &self.0.len()).finish_non_exhaustive()
    }
}

impl MachineNames {
    /// None is known.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// These, in any case and with or without a domain behind them.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut known = Vec::new();
        for name in names {
            let name = folded(name.trim());
            // A domain is no part of the name, and a Bonjour name is the host's.
            known.extend(name.split('.').next().map(str::to_owned));
            known.push(name);
        }
        // `localhost` tells nothing, and is not refused.
        known.retain(|name| !name.is_empty() && !name.starts_with("localhost"));
        Self(known)
    }

    /// What the environment, the system's files and, on a Mac or where no file says it, its programs say of this
    /// computer: a few milliseconds.
    #[must_use]
    pub fn of_this_computer() -> Self {
        let variables = ["COMPUTERNAME", "HOSTNAME", "HOST"];
        let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let said = variables.iter().filter_map(|name| std::env::var(name).ok());
        let mut written = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).peekable();
        let is_told = cfg!(windows) || written.peek().is_some();
        // What the member typed into the settings of a Mac, which stands in no file that anybody can read.
        let of_a_mac = ["ComputerName", "LocalHostName", "HostName"]
            .into_iter()
            .filter(|_| cfg!(target_os = "macos"))
            .filter_map(|name| printed("/usr/sbin/scutil", &["--get", name]));
        let asked = ["/bin/hostname", "/usr/bin/hostname"].into_iter().filter(|_| !is_told);
        let asked = asked.filter_map(|program| printed(program, &[]));
        let names: Vec<String> = said.chain(written).chain(of_a_mac).chain(asked).collect();
        Self::of(names.iter().map(String::as_str))
    }

    fn has(&self, label: &str) -> bool {
        let label = folded(label.trim());
        self.0.contains(&label) || self.0.iter().any(|name| label.split('.').next() == Some(name))
    }
}

impl Label {
    /// What the member chose, composed (NFC) as the exchange does.
    ///
    /// # Errors
    /// When it breaks the rule, or is a name of this computer.
    pub fn new(text: &str, machine: &MachineNames) -> Result<Self, UnusableLabel> {
        let composed: String = text.nfc().collect();
        if machine.has(&composed) {
            return Err(UnusableLabel::Computer);
        }
        InstallationLabel::new(composed).map(Self).map_err(|_| UnusableLabel::Rule)
    }

    /// The text, composed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) const fn as_contract(&self) -> &InstallationLabel {
        &self.0
    }
}

/// What a program of the system prints; nothing, where there is none, or it fails.
fn printed(program: &str, args: &[&str]) -> Option<String> {
    let ran = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    if ran.status.success() { String::from_utf8(ran.stdout).ok() } else { None }
}

fn folded(text: &str) -> String {
    text.nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SVC-12: what the member chose, composed before it is checked.
    #[test]
    fn a_label_is_composed_and_checked() {
        let label = |text: &str| Label::new(text, &MachineNames::none()).map(|label| label.0.into_string());
        assert_eq!(label("Gaming PC 2").as_deref(), Ok("Gaming PC 2"));
        assert_eq!(label("u\u{308}ber").as_deref(), Ok("\u{fc}ber"));
        assert_eq!(label(&"x".repeat(40)).map(|text| text.len()), Ok(40));
        // One code point each, once composed.
        assert!(label(&"e\u{301}".repeat(40)).is_ok());
        for text in ["", " Desk", "a:b", "a\u{2013}b", "q\u{308}", "a/b", "a\nb", &"x".repeat(41)] {
            assert_eq!(label(text), Err(UnusableLabel::Rule), "{text:?}");
        }
    }

    /// SVC-12, CLI-05: the computer's own name is refused, however it is written.
    #[test]
    fn a_computers_name_is_no_label() {
        let machine = MachineNames::of(["Ada-PC.home.example", "  ada-laptop\n", "", "localhost"]);
        for text in ["ada-pc", "ADA-PC", "Ada-PC.home.example", "ada-pc.local", "Ada-Laptop", "ada-laptop "] {
            assert_eq!(Label::new(text, &machine), Err(UnusableLabel::Computer), "{text:?}");
        }
        for text in ["Ada", "ada-pc 2", "localhost"] {
            assert!(Label::new(text, &machine).is_ok(), "{text:?}");
        }
        assert_eq!(format!("{machine:?}"), "MachineNames { known: 4, .. }");
        // Where no file says it, a program does.
        #[cfg(unix)]
        {
            let told = |script| printed("/bin/sh", &["-c", script]);
            assert_eq!(told("echo Ada-PC").as_deref(), Some("Ada-PC\n"));
            assert_eq!((told("echo Ada-PC; exit 1"), printed("/nonexistent", &[])), (None, None));
        }
        // Whatever this computer is called, it is found or there is nothing to be found.
        let own = MachineNames::of_this_computer();
        assert!(own.0.iter().all(|name| own.has(name)));
    }
}
