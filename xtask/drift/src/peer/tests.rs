//! Runs the command with a small folder that has the form of a checkout.

use std::fs;

use super::*;

const RULES: &str = r#"
        newBackwardCompatibilityRule(ParameterRemovedId, ERR, ParameterRemovedCheck, DirectionRequest),
        newBackwardCompatibilityRule(ParameterAddedId, INFO, ParameterAddedCheck, DirectionRequest),
        newBackwardCompatibilityRule(SunsetMissingId, WARN, SunsetCheck, DirectionRequest),
"#;

/// Three tests of three pairs, and three tests that are not interpreted.
const TESTS: &str = r#"
var inFolder = dataFileFn("folder")

func TestRemoved(t *testing.T) {
	s1, err := open("../data/with.yaml")
	s2, err := open("../data/without.yaml")
	d, osm, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), s1, s2)
	errs := checker.CheckBackwardCompatibility(allChecksConfig(), d, osm)
	requireChange(t, errs, checker.ParameterRemovedId)
	requireNoChange(t, errs, checker.ParameterAddedId)
}

func TestAdded(t *testing.T) {
	s2, err := open("../data/with.yaml")
	s1, err := open("../data/without.yaml")
	d, osm, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), s1, s2)
	errs := checker.CheckBackwardCompatibilityUntilLevel(allChecksConfig(), d, osm, checker.INFO)
	require.Equal(t, checker.ParameterAddedId, errs[0].GetId())
}

func TestSunset(t *testing.T) {
	s1, err := open(inFolder("deprecated.yaml"))
	s2 := l(t, 1)
	d, osm, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), s1, s2)
	errs := checker.CheckBackwardCompatibility(allChecksConfig(), d, osm)
	requireChange(t, errs, checker.SunsetMissingId)
}

func TestChangedInGo(t *testing.T) {
	s1 := l(t, 1)
	s2 := l(t, 1)
	s2.Spec.Info.Version = "2"
	d, osm, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), s1, s2)
	errs := checker.CheckBackwardCompatibility(allChecksConfig(), d, osm)
	require.Empty(t, errs)
}

func TestTable(t *testing.T) {
	errs := stabilityChanges(t, "a.yaml", "b.yaml", checker.ALPHA)
	require.Empty(t, errs)
}

func TestUnknown(t *testing.T) {
	errs := d(t, diff.NewConfig(), 1, 2)
	require.Len(t, errs, 1)
}

func TestOfAnotherPart(t *testing.T) {
	require.True(t, checker.IsColorEnabled())
}
"#;

fn document(operation: &str) -> String {
    format!(
        "openapi: 3.0.3\ninfo: {{title: T, version: 1.0.0}}\npaths:\n  /x:\n    get:\n      {operation}\n      responses: {{'204': {{description: x}}}}\n"
    )
}

/// Writes a folder with the form of a checkout.
fn write_checkout(folder: &Path) {
    let parameter = "parameters: [{name: q, in: query, schema: {type: string}}]";
    fs::create_dir_all(folder.join("checker")).unwrap();
    fs::create_dir_all(folder.join("data/folder")).unwrap();
    for (file, text) in [
        ("checker/rules.go", RULES.to_owned()),
        ("checker/check_test.go", TESTS.to_owned()),
        ("data/with.yaml", document(parameter)),
        ("data/without.yaml", document("summary: x")),
        ("data/openapi-test1.yaml", document("summary: x")),
        ("data/folder/deprecated.yaml", document("deprecated: true")),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
}

fn run_command(folder: &Path, known: &str) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let known = KnownDisagreements::parse(known).unwrap();
    let code = run_to_exit_code(folder, &known, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

const SUNSET: &str = r#"
[[disagreement]]
drift = "not breaking"
reason = "A missing sunset breaks no client."
pairs = [["folder/deprecated.yaml", "openapi-test1.yaml"]]
"#;

#[test]
fn disagreements_need_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    write_checkout(folder.path());
    let (code, out, _) = run_command(folder.path(), SUNSET);
    assert_eq!(
        out,
        "3 pairs of 3 tests: 2 agreements, 1 disagreements with a reason, 0 entries to fix\n\
         skipped 1 tests: they change a document in Go\n\
         skipped 1 tests: they do not open two files\n\
         skipped 1 tests: they name no rule or level\n"
    );
    assert_eq!(code, 0);
    let (code, out, _) = run_command(folder.path(), "");
    let disagreement = "data/folder/deprecated.yaml -> data/openapi-test1.yaml\n  oasdiff: breaking; drift: not breaking\n  \
                        oasdiff WARN SunsetMissingId\n";
    assert!(out.starts_with(disagreement), "{out}");
    assert!(out.contains("0 disagreements with a reason, 1 entries to fix\n"), "{out}");
    assert_eq!(code, 1);
}

/// An entry with another verdict does not explain a disagreement, and an entry for a pair on which the tools
/// agree is outdated.
#[test]
fn entries_must_match_the_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    write_checkout(folder.path());
    let (code, out, _) = run_command(folder.path(), &SUNSET.replace("not breaking", "breaking"));
    assert!(out.contains("oasdiff: breaking; drift: not breaking"), "{out}");
    assert_eq!(code, 1);
    let outdated = format!(
        "{SUNSET}[[disagreement]]\ndrift = \"breaking\"\nreason = \"x\"\npairs = [[\"with.yaml\", \"without.yaml\"]]\n"
    );
    let (code, out, _) = run_command(folder.path(), &outdated);
    assert!(out.contains("data/with.yaml -> data/without.yaml\n  listed in xtask/drift/peer.toml"), "{out}");
    assert_eq!(code, 1);
}

#[test]
fn unreadable_documents_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    write_checkout(folder.path());
    fs::write(folder.path().join("data/folder/deprecated.yaml"), "{").unwrap();
    let (code, out, _) = run_command(folder.path(), SUNSET);
    assert!(out.contains("drift: unreadable\n"), "{out}");
    assert_eq!(code, 1);
}

#[test]
fn other_folders_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = run_command(folder.path(), "");
    assert!(err.contains("is not a checkout of oasdiff: checker/rules.go: "), "{err}");
    assert_eq!((code, out.as_str()), (2, ""));
}

/// The table in the repository can be read, lists each pair once, and gives a reason for each verdict.
#[test]
fn table_of_the_repository_is_valid() {
    let known = KnownDisagreements::parse(include_str!("../../peer.toml")).unwrap();
    assert_eq!(known.find_faults(), Vec::<String>::new());
}
