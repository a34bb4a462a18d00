//! Parses `Link` headers (RFC 8288, 3) with the algorithm in appendix B.2 of the RFC.

use http::{HeaderMap, header::LINK};

use super::PageFault;

/// Returns the target of the first link with this relation.
///
/// A link with an `anchor` belongs to another context (RFC 8288, 3.2) and is skipped. A malformed header is
/// an error, because it must not be mistaken for the end of the list.
pub(super) fn find_link_target(headers: &HeaderMap, rel: &str) -> Result<Option<String>, PageFault> {
    for line in headers.get_all(LINK) {
        // Titles may contain non-ASCII characters. A target with such characters is rejected later.
        let line = String::from_utf8_lossy(line.as_bytes());
        let mut rest = &*line;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                break;
            }
            let (target, behind) =
                rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or(PageFault::InvalidLink)?;
            let (link, behind) = parse_parameters(behind)?;
            rest = behind;
            let is = |word: &str| word.eq_ignore_ascii_case(rel);
            if !link.has_anchor
                && link.rel.as_deref().is_some_and(|relation| relation.split_ascii_whitespace().any(is))
            {
                return Ok(Some(target.to_owned()));
            }
        }
    }
    Ok(None)
}

/// The parameters of a link that are relevant for pagination.
#[derive(Default)]
struct LinkParameters {
    /// The first `rel`; further ones are ignored (RFC 8288, 3.3).
    rel: Option<String>,
    has_anchor: bool,
}

/// Parses the parameters of a link. Returns them and the rest of the header.
fn parse_parameters(mut rest: &str) -> Result<(LinkParameters, &str), PageFault> {
    let mut link = LinkParameters::default();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(behind) = rest.strip_prefix(';') else { break };
        rest = behind.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t', '=', ';', ',']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        rest = behind.trim_start_matches([' ', '\t']);
        let mut value = String::new();
        if let Some(behind) = rest.strip_prefix('=') {
            (value, rest) = parse_value(behind.trim_start_matches([' ', '\t']))?;
        }
        if name.eq_ignore_ascii_case("anchor") {
            link.has_anchor = true;
        } else if name.eq_ignore_ascii_case("rel") {
            link.rel.get_or_insert(value);
        }
    }
    if rest.is_empty() || rest.starts_with(',') { Ok((link, rest)) } else { Err(PageFault::InvalidLink) }
}

/// Parses a token, or a quoted string without its quotes and escapes. Also returns the rest of the header.
fn parse_value(text: &str) -> Result<(String, &str), PageFault> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return Ok((token.trim_end_matches([' ', '\t']).to_owned(), rest));
    };
    let mut value = String::new();
    let mut signs = quoted.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Ok((value, &quoted[at + 1..])),
            '\\' => value.extend(signs.next().map(|(_, sign)| sign)),
            sign => value.push(sign),
        }
    }
    Err(PageFault::InvalidLink)
}
