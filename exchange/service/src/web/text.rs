//! Renders text that members, clients or administrators chose.
//!
//! Such text cannot change the direction or the lines of the text around it: characters that would are
//! replaced, and the browser isolates the rest. `maud` escapes markup.

use maud::{Markup, html};

use crate::names;
use crate::time::Moment;

/// Replaces control characters, line separators and bidirectional controls by `�`, as the command `exchange`
/// does.
pub(super) fn sanitize(text: &str) -> String {
    text.chars().map(replace_control).collect()
}

/// Replaces the same characters as [`sanitize`] except line ends.
pub(super) fn sanitize_lines(text: &str) -> String {
    let safe = |character| if character == '\n' { character } else { replace_control(character) };
    text.chars().map(safe).collect()
}

fn replace_control(character: char) -> char {
    if names::is_control(character) { '\u{fffd}' } else { character }
}

/// Renders a name with its own text direction.
pub(super) fn name(text: &str) -> Markup {
    html! { bdi { (sanitize(text)) } }
}

/// Renders a label that a client chose, in quotes, because it could imitate a name.
pub(super) fn quoted(text: &str) -> Markup {
    html! { "“" bdi .label { (sanitize(text)) } "”" }
}

/// Renders a time to the minute.
pub(super) fn time(moment: Moment) -> Markup {
    html! { time datetime=(moment) { (moment.to_the_minute()) } }
}

/// Formats a name for attributes and messages, which contain no markup. Unicode's isolates give it its own
/// text direction.
pub(super) fn isolate(text: &str) -> String {
    format!("\u{2068}{}\u{2069}", sanitize(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that someone else chose changes neither markup, lines nor the direction of the text around it.
    #[test]
    fn chosen_text_is_isolated() {
        let hostile = "<b>\u{202e}evil\u{2028}\u{0}\u{1b}[1m\u{200f}";
        let safe = "&lt;b&gt;\u{fffd}evil\u{fffd}\u{fffd}\u{fffd}[1m\u{fffd}";
        assert_eq!(name(hostile).into_string(), format!("<bdi>{safe}</bdi>"));
        assert_eq!(quoted(hostile).into_string(), format!("“<bdi class=\"label\">{safe}</bdi>”"));
        assert_eq!(isolate("a\u{2069}b"), "\u{2068}a\u{fffd}b\u{2069}");
        for kept in ["Ada", "نام\u{200c}ها", "\u{1f469}\u{200d}\u{1f680}", "e\u{301}"] {
            assert_eq!(sanitize(kept), kept);
        }
    }
}
