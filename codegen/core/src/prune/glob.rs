//! Matches wildcards in selections: `*` and, in paths, `**`.

/// Returns true if a tag or an id matches the pattern. `*` matches any characters.
pub(super) fn matches_name(pattern: &str, text: &str) -> bool {
    match_bytes(pattern.as_bytes(), text.as_bytes(), false)
}

/// Returns true if a path matches. `*` matches characters of one segment, `**` any number of segments,
/// including none. All other characters, including braces, match literally.
pub(crate) fn matches_path(pattern: &str, path: &str) -> bool {
    match_bytes(pattern.as_bytes(), path.as_bytes(), true)
}

fn match_bytes(pattern: &[u8], text: &[u8], segments: bool) -> bool {
    // `/**` matches whole segments if it is at the end or before another segment.
    if segments
        && let Some(rest) = pattern.strip_prefix(b"/**")
        && matches!(rest.first(), None | Some(b'/'))
    {
        let ends = (0..=text.len()).filter(|at| matches!(text.get(*at), None | Some(b'/')));
        let begins = matches!(text.first(), None | Some(b'/'));
        return begins
            && ends.into_iter().any(|at| match_bytes(rest, text.get(at..).unwrap_or_default(), segments));
    }
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => {
            let rest = if segments { rest } else { rest.strip_prefix(b"*").unwrap_or(rest) };
            let most = match text.iter().position(|byte| segments && *byte == b'/') {
                Some(slash) => slash,
                None => text.len(),
            };
            (0..=most).any(|at| match_bytes(rest, text.get(at..).unwrap_or_default(), segments))
        }
        Some((byte, rest)) => {
            text.split_first().is_some_and(|(next, text)| next == byte && match_bytes(rest, text, segments))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_characters() {
        for (pattern, text, expect) in [
            ("issues", "issues", true),
            ("issues", "issue", false),
            ("issues/*", "issues/list-for-repo", true),
            ("*", "a/b", true),
            ("*-repo", "issues/list-for-repo", true),
            ("a*c", "ab", false),
            ("", "", true),
        ] {
            assert_eq!(matches_name(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn paths_are_matched_by_segments() {
        for (pattern, path, expect) in [
            ("/repos/**", "/repos/{owner}/{repo}/issues", true),
            ("/repos/**", "/repos", true),
            ("/repos/**", "/repositories", false),
            ("/repos/*", "/repos/{owner}/{repo}", false),
            ("/repos/*/*/issues", "/repos/{owner}/{repo}/issues", true),
            ("/repos/{owner}/*/issues", "/repos/{owner}/{repo}/issues", true),
            ("/**/issues", "/repos/{owner}/{repo}/issues", true),
            ("/**/issues", "/issues", true),
            ("/**", "/", true),
            ("/a/**/b/**", "/a/x/b", true),
            ("/a/**/b/**", "/a/x/c", false),
            ("/v*/me", "/v2/me", true),
        ] {
            assert_eq!(matches_path(pattern, path), expect, "{pattern} {path}");
        }
    }
}
