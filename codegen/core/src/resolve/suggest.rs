//! Finds suggestions for misspelled words ("did you mean").

/// Returns the candidate that is most similar to `word`. Returns `None` if every candidate needs more edits
/// than allowed: a third of the letters of `word`, but at least one and at most three. A difference in case
/// counts as one edit.
pub fn nearest_match<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long words are unlikely to be typos, and comparing them is expensive.
    if word.len() > 60 {
        return None;
    }
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            continue;
        }
        let distance = if candidate.eq_ignore_ascii_case(word) { 1 } else { edit_distance(word, candidate) };
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns a help text that names the most similar candidate, such as "did you mean `list`?", or else `otherwise`.
pub(crate) fn help_nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match nearest_match(word, candidates) {
        // Every other letter is similar to a single letter.
        Some(near) if word.chars().count() > 1 => format!("did you mean `{near}`?"),
        _ => otherwise.into(),
    }
}

/// Returns the number of insertions, deletions, replacements and swaps of adjacent characters between two
/// words.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (index, from) in left.chars().enumerate() {
        let mut next = vec![index + 1];
        for (column, to) in right.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&row, column) + usize::from(from != *to);
            let mut cost = replaced.min(at(&row, column + 1) + 1).min(at(&next, column) + 1);
            let swapped = column > 0 && last == Some(*to) && right.get(column - 1) == Some(&from);
            if swapped {
                cost = cost.min(at(&before, column - 1) + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(from);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_words_are_suggested() {
        let candidates = ["minLength", "maxLength", "properties", "required", "pattern", "type"];
        let cases = [
            ("minlength", Some("minLength")),
            ("minLenght", Some("minLength")),
            ("propertes", Some("properties")),
            ("requierd", Some("required")),
            ("patern", Some("pattern")),
            ("typ", Some("type")),
            ("colour", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest_match(word, candidates), expected, "{word}");
        }
    }
}
