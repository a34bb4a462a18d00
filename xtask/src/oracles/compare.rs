//! What an oracle says of our proofs against what the file says of them, and against the differences that are
//! known; what we say of its proofs. Plain data in, plain data out.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What is read of a file of vectors.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Vectors {
    /// Who made it.
    pub(super) by: Option<String>,
    pub(super) cases: Vec<Case>,
}

/// A proof, and the answer that it has to get.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) answer: String,
}

/// What an oracle says of a case.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Judgement {
    name: String,
    accepted: bool,
    /// Why it was refused, in the oracle's words.
    why: Option<String>,
}

/// By oracle, the names of the cases that it judges otherwise.
pub(super) type Differences = BTreeMap<String, Vec<String>>;

/// A case that an oracle judges otherwise than the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) name: String,
    /// The file's answer.
    pub(super) answer: String,
    /// The oracle's.
    pub(super) accepted: bool,
    pub(super) why: Option<String>,
    /// Whether it was expected.
    pub(super) known: bool,
}

/// What came of asking an oracle about our proofs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) cases: usize,
    /// In the file's order.
    pub(super) differences: Vec<Difference>,
    /// Names of known differences that are none.
    pub(super) vanished: Vec<String>,
}

impl Asked {
    /// Compares; a name stands for one difference.
    ///
    /// # Errors
    /// When the oracle judged other cases than those of the file.
    pub(super) fn of(cases: &[Case], judgements: &[Judgement], known: &[String]) -> Result<Self, String> {
        if !cases.iter().map(|case| &case.name).eq(judgements.iter().map(|judgement| &judgement.name)) {
            let (cases, judged) = (cases.len(), judgements.len());
            return Err(format!(
                "the oracle judged {judged} cases, and not the {cases} of the file, in order"
            ));
        }
        let mut vanished = known.to_vec();
        let mut differences = Vec::new();
        for (Case { name, answer }, Judgement { accepted, why, .. }) in cases.iter().zip(judgements) {
            if *accepted == (answer == "accepted") {
                continue;
            }
            let at = vanished.iter().position(|known| known == name);
            differences.push(Difference {
                name: name.clone(),
                answer: answer.clone(),
                accepted: *accepted,
                why: why.clone(),
                known: at.map(|at| vanished.remove(at)).is_some(),
            });
        }
        Ok(Self { cases: cases.len(), differences, vanished })
    }

    /// The differences that nobody expected.
    pub(super) fn news(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| !difference.known)
    }

    /// Whether all is as it is known to be.
    pub(super) fn agrees(&self) -> bool {
        self.vanished.is_empty() && self.news().next().is_none()
    }
}

/// The cases to which our verifier says another word than the file, or none.
pub(super) fn answered_otherwise(cases: &[Case], words: &BTreeMap<&str, &str>) -> Vec<String> {
    let wrong = cases.iter().filter_map(|Case { name, answer }| {
        let word = words.get(name.as_str()).copied().unwrap_or("no answer");
        (word != answer).then(|| format!("{name}: {word}, not {answer}"))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(all: &[(&str, &str)]) -> Vec<Case> {
        let case = |(name, answer): &(&str, &str)| Case { name: (*name).into(), answer: (*answer).into() };
        all.iter().map(case).collect()
    }

    fn judgement(name: &str, accepted: bool) -> Judgement {
        let why = (!accepted).then(|| "no".to_owned());
        Judgement { name: name.into(), accepted, why }
    }

    /// What is new, what is known and what vanished, when an oracle says this of three cases.
    fn check(said: [bool; 3], known: &[&str], expect: [&[&str]; 3]) {
        let cases = cases(&[("good", "accepted"), ("typ", "typ"), ("padded", "header-encoding")]);
        let judgements: Vec<Judgement> =
            cases.iter().zip(said).map(|(case, said)| judgement(&case.name, said)).collect();
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        let asked = Asked::of(&cases, &judgements, &known).unwrap();
        let named = |known: bool| {
            let which = asked.differences.iter().filter(move |difference| difference.known == known);
            which.map(|difference| difference.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!([named(false), named(true)], [expect[0], expect[1]], "{asked:?}");
        assert_eq!(asked.vanished, expect[2]);
        assert_eq!(asked.agrees(), expect[0].is_empty() && expect[2].is_empty());
    }

    #[test]
    fn differences_are_those_that_are_known() {
        check([true, false, false], &[], [&[], &[], &[]]);
        check([true, false, true], &["padded"], [&[], &["padded"], &[]]);
        // Both ways count: what is refused too much is a difference, too.
        check([false, false, true], &["good", "padded"], [&[], &["good", "padded"], &[]]);
    }

    #[test]
    fn a_new_difference_is_found() {
        check([true, true, true], &["padded"], [&["typ"], &["padded"], &[]]);
        check([false, false, false], &[], [&["good"], &[], &[]]);
    }

    #[test]
    fn a_difference_that_vanished_is_found() {
        check([true, false, false], &["padded"], [&[], &[], &["padded"]]);
        check([true, false, false], &["no such case"], [&[], &[], &["no such case"]]);
        // One name, one difference.
        check([true, false, true], &["padded", "padded"], [&[], &["padded"], &["padded"]]);
    }

    #[test]
    fn every_case_is_judged() {
        let two = cases(&[("a", "accepted"), ("b", "accepted")]);
        let of = |judgements: &[Judgement]| Asked::of(&two, judgements, &[]).is_ok();
        assert!(of(&[judgement("a", true), judgement("b", true)]));
        assert!(!of(&[judgement("a", true)]));
        assert!(!of(&[judgement("b", true), judgement("a", true)]));
        assert!(!of(&[]));
    }

    #[test]
    fn their_proofs_get_the_words_of_their_file() {
        let cases = cases(&[("a", "accepted"), ("b", "typ"), ("c", "alg")]);
        let wrong = |words: &[(&str, &str)]| answered_otherwise(&cases, &words.iter().copied().collect());
        assert_eq!(wrong(&[("a", "accepted"), ("b", "typ"), ("c", "alg")]), [""; 0]);
        assert_eq!(wrong(&[("a", "jti"), ("b", "typ")]), ["a: jti, not accepted", "c: no answer, not alg"]);
    }
}
