//! Normal forms of names, in which names are compared.

use unicode_normalization::UnicodeNormalization as _;

/// Returns a name in lower case, with single spaces between words.
pub(super) fn fold_name(name: &str) -> String {
    let lower: String = name.nfc().flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns only the letters and digits of a name, in lower case.
pub(super) fn canonical_name(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).collect()
}

/// Strips bracketed pack tags from both ends of a name, as in `Rifle [Founder Pack]`. Returns `None` if the
/// name has no tag or consists only of tags.
pub(super) fn without_pack_tags(name: &str) -> Option<&str> {
    let mut rest = name.trim();
    while let Some(shorter) = without_one_tag(rest) {
        rest = shorter.trim();
    }
    (rest.len() < name.trim().len() && !rest.is_empty()).then_some(rest)
}

fn without_one_tag(name: &str) -> Option<&str> {
    let is_pack = |tag: &str| tag.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|w| w == "pack");
    for (open, close) in [('[', ']'), ('(', ')'), ('{', '}')] {
        if let Some((rest, tag)) = name.strip_suffix(close).and_then(|name| name.rsplit_once(open))
            && is_pack(tag)
        {
            return Some(rest);
        }
        if let Some((tag, rest)) = name.strip_prefix(open).and_then(|name| name.split_once(close))
            && is_pack(tag)
        {
            return Some(rest);
        }
    }
    None
}

/// Strips the manufacturer from the start of a name if it is a whole word, so that `Drake Cutlass` becomes
/// `Cutlass`. Returns `None` if the name does not start with the manufacturer, or has nothing after it.
pub(super) fn without_maker<'a>(name: &'a str, maker: &str) -> Option<&'a str> {
    let name = name.trim_start();
    let head = name.get(..maker.len()).filter(|head| head.eq_ignore_ascii_case(maker))?;
    let rest = name.get(head.len()..)?;
    let model = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    (model.len() < rest.len() && !model.is_empty()).then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_three_normal_forms() {
        assert_eq!(fold_name("  Sandbox\tRIFLE  "), "sandbox rifle");
        assert_eq!(fold_name("E\u{301}toile"), fold_name("étoile"));
        assert_eq!(canonical_name("F7C-M Super Hornet"), "f7cmsuperhornet");
    }

    /// RES-03: only tags with the word `pack` are stripped; other brackets distinguish products.
    #[test]
    fn only_pack_tags_are_stripped() {
        for (name, rest) in [
            ("Sandbox Rifle [Founder Pack]", Some("Sandbox Rifle")),
            ("(Starter-Pack) Sandbox Rifle (PACK)", Some("Sandbox Rifle")),
            ("Sandbox Rifle (30 cap)", None),
            ("Sandbox Backpack (Backpacker)", None),
            ("[Pack]", None),
            ("Sandbox Rifle", None),
        ] {
            assert_eq!(without_pack_tags(name), rest, "{name}");
        }
    }

    #[test]
    fn manufacturer_matches_whole_words() {
        assert_eq!(without_maker("Drake Cutlass", "drake"), Some("Cutlass"));
        assert_eq!(without_maker("Drakeford Cutlass", "Drake"), None);
        assert_eq!(without_maker("Drake", "Drake"), None);
        assert_eq!(without_maker("Ærø", "Ær"), None);
    }
}
