//! `Link` headers (RFC 8288, 3), read as its appendix B.2 says.

use http::{HeaderMap, header::LINK};

use super::PageFault;

/// The target of the first link of a relation.
///
/// A link with an `anchor` is none of this answer (3.2) and is passed over. What is no list of links
/// is an error: nobody could tell the end of the pages from it.
pub(super) fn target(headers: &HeaderMap, rel: &str) -> Result<Option<String>, PageFault> {
    for line in headers.get_all(LINK) {
        // Other characters than ASCII may stand in titles; in a target they are refused later.
        let line = String::from_utf8_lossy(line.as_bytes());
        let mut rest = &*line;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                break;
            }
            let (target, behind) =
                rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or(PageFault::Link)?;
            let (link, behind) = parameters(behind)?;
            rest = behind;
            let is = |word: &str| word.eq_ignore_ascii_case(rel);
            if !link.elsewhere && link.rel.as_deref().is_some_and(|own| own.split_ascii_whitespace().any(is))
            {
                return Ok(Some(target.to_owned()));
            }
        }
    }
    Ok(None)
}

/// What the parameters of a link say of it.
#[derive(Default)]
struct Link {
    /// The first `rel`; others do not count (3.3).
    rel: Option<String>,
    elsewhere: bool,
}

/// The parameters up to the next link.
fn parameters(mut rest: &str) -> Result<(Link, &str), PageFault> {
    let mut link = Link::default();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(behind) = rest.strip_prefix(';') else { break };
        rest = behind.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t', '=', ';', ',']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        rest = behind.trim_start_matches([' ', '\t']);
        let mut value = String::new();
        if let Some(behind) = rest.strip_prefix('=') {
            (value, rest) = read(behind.trim_start_matches([' ', '\t']))?;
        }
        if name.eq_ignore_ascii_case("anchor") {
            link.elsewhere = true;
        } else if name.eq_ignore_ascii_case("rel") {
            link.rel.get_or_insert(value);
        }
    }
    if rest.is_empty() || rest.starts_with(',') { Ok((link, rest)) } else { Err(PageFault::Link) }
}

/// A token, or a quoted text without its quotes and escapes.
fn read(text: &str) -> Result<(String, &str), PageFault> {
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
    Err(PageFault::Link)
}
