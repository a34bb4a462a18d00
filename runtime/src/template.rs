//! Path templates: `/pets/{id}`, `/files/{name}.json`, `/compare/{base}...{head}`.
//!
//! A template is compared with a path segment by segment, as both are written. A
//! placeholder takes as little as lets the rest of its segment match, never nothing.
//! Pairs of a query behind its last segment (`/pets?kind=cat`) are none of it.

/// Whether the path fits.
pub(crate) fn matches(template: &str, path: &str) -> bool {
    walk(template, path, |_, _| {})
}

/// What stands in a placeholder's place.
pub(crate) fn value<'p>(template: &str, path: &'p str, name: &str) -> Option<&'p str> {
    let mut found = None;
    let fits = walk(template, path, |placeholder, value| {
        if placeholder == name && found.is_none() {
            found = Some(value);
        }
    });
    found.filter(|_| fits)
}

/// The template of the path alone, and the pairs of a query behind it, which hold no `/`.
pub(crate) fn parts(template: &str) -> (&str, &str) {
    let mut inside = false;
    let begins = template.bytes().position(|each| {
        inside = each == b'{' || (inside && each != b'}');
        each == b'?' && !inside
    });
    begins.map_or((template, ""), |at| (&template[..at], &template[at + 1..]))
}

/// Whether two templates differ in the names of placeholders at most.
pub(crate) fn same_shape(one: &str, other: &str) -> bool {
    let ((mut one, _), (mut other, _)) = (parts(one), parts(other));
    loop {
        let ((literal, rest), (literal2, rest2)) = (before_placeholder(one), before_placeholder(other));
        if literal != literal2 {
            return false;
        }
        match (rest, rest2) {
            (None, None) => return true,
            (Some((_, rest)), Some((_, rest2))) => (one, other) = (rest, rest2),
            _ => return false,
        }
    }
}

fn walk<'t, 'p>(template: &'t str, path: &'p str, mut take: impl FnMut(&'t str, &'p str)) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if fits(parts(pattern).0, segment, &mut take) => {}
            _ => return false,
        }
    }
}

fn fits<'t, 'p>(pattern: &'t str, segment: &'p str, take: &mut impl FnMut(&'t str, &'p str)) -> bool {
    let (literal, mut placeholder) = before_placeholder(pattern);
    let Some(mut segment) = segment.strip_prefix(literal) else { return false };
    while let Some((name, rest)) = placeholder {
        let (literal, next) = before_placeholder(rest);
        // The last literal must end the segment; one in between is taken where it first stands.
        let end = match (next, segment.chars().next()) {
            (_, None) => None,
            (None, Some(_)) => segment.ends_with(literal).then(|| segment.len() - literal.len()),
            (Some(_), Some(first)) => {
                let from = first.len_utf8();
                segment[from..].find(literal).map(|at| at + from)
            }
        };
        match end {
            Some(end) if end > 0 => {
                take(name, &segment[..end]);
                segment = &segment[end + literal.len()..];
                placeholder = next;
            }
            _ => return false,
        }
    }
    segment.is_empty()
}

/// The literal text up to the first `{`, and the placeholder's name with what follows it.
fn before_placeholder(pattern: &str) -> (&str, Option<(&str, &str)>) {
    match pattern.split_once('{') {
        Some((literal, rest)) => (literal, rest.split_once('}').or(Some((rest, "")))),
        None => (pattern, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_take_what_stands_in_their_place() {
        for (template, path, name, expect) in [
            ("/pets/{id}", "/pets/7", "id", Some("7")),
            ("/pets/{id}", "/pets/a%2Fb", "id", Some("a%2Fb")),
            ("/pets/{id}", "/pets/", "id", None),
            ("/pets/{id}", "/pets/7/x", "id", None),
            ("/f/{name}.schema.json", "/f/small-pet.schema.json", "name", Some("small-pet")),
            ("/f/{name}.schema.json", "/f/.schema.json", "name", None),
            ("/c/{a}...{b}", "/c/x.y...z", "a", Some("x.y")),
            ("/c/{a}...{b}", "/c/x.y...z", "b", Some("z")),
            ("/c/{a}...{b}", "/c/...z", "a", None),
            ("/v{n}/x", "/vé/x", "n", Some("é")),
            ("/pets", "/pets", "id", None),
            ("/pets/{id}?kind=cat", "/pets/7", "id", Some("7")),
            ("/pets/{id?}", "/pets/7", "id?", Some("7")),
        ] {
            assert_eq!(value(template, path, name), expect, "{template} {path}");
        }
    }

    #[test]
    fn names_of_placeholders_do_not_make_a_shape() {
        assert!(same_shape("/a/{x}/b", "/a/{y}/b"));
        assert!(same_shape("/a", "/a"));
        assert!(same_shape("/a?x=1", "/a?x=2"));
        assert!(!same_shape("/a/{x}", "/a/x"));
        assert!(!same_shape("/a/{x}", "/a/{x}.json"));
    }
}
