//! Compares results, as plain data. The results of a library for our proofs are compared with the expected
//! results and the known differences; the results of our verifier for the library's proofs are compared with
//! the expected results.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The parts of a vector file that this command uses.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct VectorFile {
    pub(super) by: Option<String>,
    pub(super) cases: Vec<VectorCase>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct VectorCase {
    pub(super) name: String,
    pub(super) answer: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct OracleVerdict {
    name: String,
    accepted: bool,
    /// The library's reason for rejecting the proof.
    why: Option<String>,
}

/// For each library, the names of the cases whose result is known to differ from the expected result.
pub(super) type KnownDifferences = BTreeMap<String, Vec<String>>;

/// A case whose result differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OracleDifference {
    pub(super) name: String,
    pub(super) answer: String,
    pub(super) accepted: bool,
    pub(super) why: Option<String>,
    pub(super) known: bool,
}

/// The differences between a library's results for our proofs and the expected results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OracleComparison {
    pub(super) cases: usize,
    /// The differences, in the order of the vector file.
    pub(super) differences: Vec<OracleDifference>,
    /// The names of known differences that no longer occur.
    pub(super) vanished: Vec<String>,
}

impl OracleComparison {
    /// Compares the results. Each name in `known` covers one difference.
    ///
    /// # Errors
    /// Returns an error unless the library returned one result for each case, in the order of the file.
    pub(super) fn from_verdicts(
        cases: &[VectorCase],
        verdicts: &[OracleVerdict],
        known: &[String],
    ) -> Result<Self, String> {
        if !cases.iter().map(|case| &case.name).eq(verdicts.iter().map(|verdict| &verdict.name)) {
            let (cases, results) = (cases.len(), verdicts.len());
            return Err(format!(
                "the library returned results for {results} cases, expected the {cases} of the file in its order"
            ));
        }
        let mut vanished = known.to_vec();
        let mut differences = Vec::new();
        for (VectorCase { name, answer }, OracleVerdict { accepted, why, .. }) in cases.iter().zip(verdicts) {
            if *accepted == (answer == "accepted") {
                continue;
            }
            let index = vanished.iter().position(|known| known == name);
            differences.push(OracleDifference {
                name: name.clone(),
                answer: answer.clone(),
                accepted: *accepted,
                why: why.clone(),
                known: index.map(|index| vanished.remove(index)).is_some(),
            });
        }
        Ok(Self { cases: cases.len(), differences, vanished })
    }

    pub(super) fn unexpected_differences(&self) -> impl Iterator<Item = &OracleDifference> {
        self.differences.iter().filter(|difference| !difference.known)
    }

    /// Returns true if exactly the known differences occurred.
    pub(super) fn is_as_expected(&self) -> bool {
        self.vanished.is_empty() && self.unexpected_differences().next().is_none()
    }
}

/// Returns a line for each case for which our verifier returned an unexpected result or no result.
pub(super) fn unexpected_results(cases: &[VectorCase], results: &BTreeMap<&str, &str>) -> Vec<String> {
    let unexpected = cases.iter().filter_map(|VectorCase { name, answer }| {
        let result = results.get(name.as_str()).copied().unwrap_or("no result");
        (result != answer).then(|| format!("{name}: {result}, not {answer}"))
    });
    unexpected.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(pairs: &[(&str, &str)]) -> Vec<VectorCase> {
        let case =
            |(name, answer): &(&str, &str)| VectorCase { name: (*name).into(), answer: (*answer).into() };
        pairs.iter().map(case).collect()
    }

    fn verdict(name: &str, accepted: bool) -> OracleVerdict {
        let why = (!accepted).then(|| "no".to_owned());
        OracleVerdict { name: name.into(), accepted, why }
    }

    /// Asserts the new, known and vanished differences for the results of three cases.
    fn check(accepted: [bool; 3], known: &[&str], expect: [&[&str]; 3]) {
        let cases = cases(&[("good", "accepted"), ("typ", "typ"), ("padded", "header-encoding")]);
        let verdicts: Vec<OracleVerdict> =
            cases.iter().zip(accepted).map(|(case, accepted)| verdict(&case.name, accepted)).collect();
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        let comparison = OracleComparison::from_verdicts(&cases, &verdicts, &known).unwrap();
        let named = |known: bool| {
            let matching = comparison.differences.iter().filter(move |difference| difference.known == known);
            matching.map(|difference| difference.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!([named(false), named(true)], [expect[0], expect[1]], "{comparison:?}");
        assert_eq!(comparison.vanished, expect[2]);
        assert_eq!(comparison.is_as_expected(), expect[0].is_empty() && expect[2].is_empty());
    }

    #[test]
    fn known_differences_are_expected() {
        check([true, false, false], &[], [&[], &[], &[]]);
        check([true, false, true], &["padded"], [&[], &["padded"], &[]]);
        // A rejected valid proof is also a difference.
        check([false, false, true], &["good", "padded"], [&[], &["good", "padded"], &[]]);
    }

    #[test]
    fn new_difference_is_reported() {
        check([true, true, true], &["padded"], [&["typ"], &["padded"], &[]]);
        check([false, false, false], &[], [&["good"], &[], &[]]);
    }

    #[test]
    fn vanished_difference_is_reported() {
        check([true, false, false], &["padded"], [&[], &[], &["padded"]]);
        check([true, false, false], &["no such case"], [&[], &[], &["no such case"]]);
        // Each name covers only one difference.
        check([true, false, true], &["padded", "padded"], [&[], &["padded"], &["padded"]]);
    }

    #[test]
    fn results_must_match_the_cases() {
        let two = cases(&[("a", "accepted"), ("b", "accepted")]);
        let is_complete =
            |verdicts: &[OracleVerdict]| OracleComparison::from_verdicts(&two, verdicts, &[]).is_ok();
        assert!(is_complete(&[verdict("a", true), verdict("b", true)]));
        assert!(!is_complete(&[verdict("a", true)]));
        assert!(!is_complete(&[verdict("b", true), verdict("a", true)]));
        assert!(!is_complete(&[]));
    }

    #[test]
    fn unexpected_results_of_our_verifier_are_listed() {
        let cases = cases(&[("a", "accepted"), ("b", "typ"), ("c", "alg")]);
        let unexpected =
            |results: &[(&str, &str)]| unexpected_results(&cases, &results.iter().copied().collect());
        assert_eq!(unexpected(&[("a", "accepted"), ("b", "typ"), ("c", "alg")]), [""; 0]);
        assert_eq!(
            unexpected(&[("a", "jti"), ("b", "typ")]),
            ["a: jti, not accepted", "c: no result, not alg"]
        );
    }
}
