//! A renderer of terminal sessions as SVG, for pictures in READMEs. Tests in `exchange/client/e2e` and in
//! `codegen` also include this file.

use std::fmt::Write as _;

/// The width of a character and the height of a line in pixels, with a font size of 14 pixels.
const LETTER: f64 = 8.4;
const LINE: usize = 20;
const MARGIN: usize = 16;

/// The head of every picture. It uses the colors of a dark terminal, whatever the colors of the page are.
const STYLE: &str = "\
rect{fill:#0d1117}\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6dde4;white-space:pre}\
.prompt{fill:#58a6ff;font-weight:bold}\
.strong{fill:#fff;font-weight:bold}\
.faint{fill:#8b949e}\
.good{fill:#3fb950}\
.warning{fill:#e3b341}\
.bad{fill:#ff7b72}";

/// Returns the CSS class for the code of an escape sequence.
fn class(code: &str) -> &'static str {
    match code {
        "1" => "strong",
        "2" => "faint",
        "32" | "1;32" => "good",
        "33" => "warning",
        "31" => "bad",
        _ => panic!("the picture knows no colour for ESC[{code}m"),
    }
}

/// Splits a line into parts with their CSS classes. Unstyled parts have an empty class.
pub(crate) fn parts(line: &str) -> Vec<(&'static str, String)> {
    let mut parts = vec![("", String::new())];
    let mut pieces = line.split("\u{1b}[");
    parts[0].1.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (code, text) = piece.split_once('m').expect("the escape sequence sets a style");
        parts.push((if code == "0" { "" } else { class(code) }, text.to_owned()));
    }
    parts.retain(|(_, text)| !text.is_empty());
    parts
}

/// Renders the lines of a session, which contains commands and their output.
pub(crate) fn draw(label: &str, lines: &[Vec<(&'static str, String)>]) -> String {
    let length = |parts: &[(&str, String)]| parts.iter().map(|(_, text)| text.chars().count()).sum::<usize>();
    let characters = u32::try_from(lines.iter().map(|line| length(line)).max().unwrap_or(0)).unwrap();
    let width = (f64::from(characters) * LETTER).ceil() + 2.0 * MARGIN as f64;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\"/>\n",
        escaped(label)
    );
    for (row, parts) in lines.iter().enumerate() {
        let (y, mut column) = (MARGIN + row * LINE + 15, 0);
        for (class, text) in parts {
            let letters = u32::try_from(text.chars().count()).unwrap();
            let x = MARGIN as f64 + f64::from(column) * LETTER;
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            // The text length is set explicitly, so that columns align in any font.
            let long = f64::from(letters) * LETTER;
            let text = escaped(text);
            let text_length =
                format!("textLength=\"{long:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"");
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\"{class} {text_length}>{text}</text>").unwrap();
            column += letters;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn colors_become_css_classes() {
    let painted = "a \u{1b}[32mgood <1>\u{1b}[0m b";
    let parts = parts(painted);
    let expect = [("", "a "), ("good", "good <1>"), ("", " b")].map(|(class, text)| (class, text.to_owned()));
    assert_eq!(parts, expect);
    let svg = draw("\"x\"", &[parts]);
    assert!(
        svg.contains("class=\"good\"") && svg.contains(">good &lt;1&gt;<") && svg.contains("&quot;x&quot;")
    );
}
