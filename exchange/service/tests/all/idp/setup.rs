//! Tests of the `admin` commands that set up a service from an empty store: catalogue, units, terms,
//! administrators.

use serde_json::json;

use super::admin::{harness, read_audit, run_failing, run_json};

const CATALOGUE: &str = r#"{
  "entries": [
    { "kind": "BLUEPRINT", "id": "bp-rifle", "name": "Rifle", "scRecord": "BP_CRAFT_RIFLE_01" },
    { "kind": "MATERIAL", "id": "ore", "name": "Ore", "facts": { "unit": "SCU" } }
  ],
  "aliases": [{ "kind": "MATERIAL", "alias": "Raw ore", "id": "ore" }],
  "locations": [{ "id": "hangar", "name": "City Hangar" }]
}"#;

/// BPR-10: an import replaces the catalogue completely or not at all, a dry run reports its effects, and
/// errors name the location in the file.
#[tokio::test]
async fn catalogue_import_is_atomic() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    let file = folder.path().join("document.json");
    let path = file.to_str().unwrap();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let entries = "SELECT count(*) FROM catalogue_entry";

    write(CATALOGUE);
    let counts = |added, unchanged, removed| json!({ "added": added, "kept": unchanged, "removed": removed, "aliases": 1, "locations": 1 });
    let done = run_json(folder.path(), &["catalogue", "import", path, "--dry-run"], "");
    let expected = json!({ "done": "catalogue.import", "catalogue": counts(2, 0, 0), "dryRun": true });
    assert_eq!((done, harness.count(entries).await), (expected, 0));
    let done = run_json(folder.path(), &["catalogue", "import", path], "");
    assert_eq!((&done["catalogue"], harness.count(entries).await), (&counts(2, 0, 0), 2));
    write(&CATALOGUE.replace("bp-rifle", "bp-other"));
    let done = run_json(folder.path(), &["catalogue", "import", path], "");
    assert_eq!((&done["catalogue"], harness.count(entries).await), (&counts(1, 1, 1), 2));

    for (from, to, message) in [
        ("\"ore\", \"name\": \"Ore\"", "\"ore\"", "/entries/1: missing field `name`"),
        ("\"kind\": \"BLUEPRINT\"", "\"kind\": \"PLANT\"", "/entries/0: unknown variant `PLANT`"),
        ("\"Ore\"", "\" \"", "/entries/1: id and name must not be empty"),
        ("scRecord", "sc_record", "/entries/0: unknown field `sc_record`, expected one of `kind`"),
        ("{ \"unit\": \"SCU\" }", "[]", "/entries/1/facts: expected an object"),
        ("\"id\": \"ore\" }]", "\"id\": \"tin\" }]", "/aliases/0/id: the document has no entry"),
        ("\"locations\"", "\"places\"", "/places: unknown property"),
        ("City Hangar", &"x".repeat(201), "/locations/0/name: "),
        ("\"City Hangar\"", "\"City Hangar\", \"city\": 0", "/locations/0/city: "),
        (
            "\"entries\": [",
            "\"entries\": [{ \"kind\": \"MATERIAL\", \"id\": \"ore\", \"name\": \"Ore\" },",
            "/entries/2/id: duplicate of /entries/0/id",
        ),
        ("{\n  \"entries\"", "\"entries\"", "invalid JSON"),
    ] {
        assert!(CATALOGUE.contains(from), "{from}");
        write(&CATALOGUE.replacen(from, to, 1));
        run_failing(folder.path(), &["catalogue", "import", path], "", 2, message);
        run_failing(folder.path(), &["catalogue", "import", path], "", 2, path);
    }
    for (text, message) in
        [("[]", "the document: expected an object"), ("{}", "/entries: the catalogue needs")]
    {
        write(text);
        run_failing(folder.path(), &["catalogue", "import", path], "", 2, message);
    }
    run_failing(folder.path(), &["catalogue", "import", "/nowhere"], "", 2, "cannot read /nowhere");
    assert_eq!(harness.count(entries).await, 2, "nothing was changed");

    // BPR-10: the feed of every member contains the default blueprints.
    write(r#"["bp-other"]"#);
    let done = run_json(folder.path(), &["catalogue", "defaults", path], "");
    assert_eq!(done, json!({ "done": "catalogue.defaults", "count": 1 }));
    assert_eq!(harness.count("SELECT count(*) FROM feed_entry WHERE key = 'bp-other' AND gone = 0").await, 1);
    write(r#"["bp-other", "bp-rifle"]"#);
    run_failing(
        folder.path(),
        &["catalogue", "defaults", path],
        "",
        2,
        "/1: the catalogue has no such blueprint",
    );
    assert_eq!(harness.count("SELECT count(*) FROM default_blueprint").await, 1);
    let all = [
        "catalogue.import catalogue 2 entries added, 0 kept, 0 removed; 1 aliases, 1 locations",
        "catalogue.import catalogue 1 entries added, 1 kept, 1 removed; 1 aliases, 1 locations",
        "catalogue.defaults default blueprints 1 blueprints",
    ];
    assert_eq!(read_audit(&harness).await, all);
}

const UNITS: &str = r#"{ "units": [
  { "id": "u-2", "name": "Second", "shorthand": "2ND", "kind": "SQUADRON", "above": "u-1", "profitSharing": true,
    "members": [{ "member": "m-ada", "role": "leader" }, { "member": "m-bob" }] },
  { "id": "u-1", "name": "First", "shorthand": "1ST", "kind": "SQUADRON" }
] }"#;

/// ORG-01, DEM-06: an import adds units with their members and renames units. A unit with a list of members
/// has exactly these members; without a list, it keeps its members.
#[tokio::test]
async fn units_import_updates_members() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    let file = folder.path().join("units.json");
    let path = file.to_str().unwrap();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let import = ["unit", "import", path];
    write(UNITS);
    assert_eq!(run_json(folder.path(), &import, ""), json!({ "done": "unit.import", "count": 2 }));
    let members = "SELECT count(*) FROM membership";
    let leads = "SELECT count(*) FROM membership WHERE member = 'm-ada' AND unit = 'u-2' AND leadership = 1";
    let below = "SELECT count(*) FROM unit WHERE id = 'u-2' AND above = 'u-1' AND profit_sharing = 1";
    assert_eq!(
        [harness.count(members).await, harness.count(leads).await, harness.count(below).await],
        [2, 1, 1]
    );

    write(&UNITS.replace(r#", { "member": "m-bob" }"#, "").replace("leader", "logistician"));
    run_json(folder.path(), &import, "");
    assert_eq!([harness.count(members).await, harness.count(leads).await], [1, 0]);
    write(r#"{ "units": [{ "id": "u-2", "name": "Second", "shorthand": "2ND", "kind": "SQUADRON" }] }"#);
    run_json(folder.path(), &import, "");
    assert_eq!(
        [harness.count(members).await, harness.count(below).await],
        [1, 1],
        "members are kept if the import does not list them"
    );
    write(
        r#"{ "units": [{ "id": "u-2", "name": "Second", "shorthand": "2ND", "kind": "SQUADRON", "above": null }] }"#,
    );
    run_json(folder.path(), &import, "");
    let shares = "SELECT count(*) FROM unit WHERE id = 'u-2' AND above IS NULL AND profit_sharing = 1";
    assert_eq!(harness.count(shares).await, 1);
    write(r#"{ "units": [{ "id": "u-2", "name": "Other", "shorthand": "2ND", "kind": "SQUADRON" }] }"#);
    run_json(folder.path(), &import, "");
    assert_eq!(harness.count("SELECT count(*) FROM unit WHERE id = 'u-2' AND name = 'Other'").await, 1);
    // OST-06: each change of a membership is audited; unchanged memberships are not.
    let all = [
        "unit.role u-2 m-ada: leader",
        "unit.role u-2 m-bob: member",
        "unit.set u-2 with 2 members",
        "unit.set u-1 ",
        "unit.role u-2 m-bob: none",
        "unit.role u-2 m-ada: logistician",
        "unit.set u-2 with 1 members",
        "unit.set u-1 ",
        "unit.set u-2 ",
        "unit.set u-2 ",
        "unit.rename u-2 as the members' ships and the unit's pool show it from now on",
        "unit.set u-2 ",
    ];
    assert_eq!(read_audit(&harness).await, all);

    for (from, to, message) in [
        ("u-2", "u 2", "/units/0/id must have 1 to 128 letters"),
        ("\"id\": \"u-1\"", "\"id\": \"u-2\"", "/units/1/id: duplicate unit id"),
        ("2ND", " 2ND", "/units/0/shorthand: a name must have 1 to 50 visible"),
        ("\"SQUADRON\"", "\"CHOIR\"", "/units/0/kind: expected one of "),
        ("leader", "guest", "/units/0/members/0: unknown variant `guest`"),
        ("m-bob", "m-nobody", "/units/0/members/1/member: unknown member"),
        ("m-bob", "m-ada", "/units/0/members/1/member: duplicate member of the unit"),
        ("\"above\": \"u-1\"", "\"above\": \"u-9\"", "/units/0/above: unknown unit"),
        ("\"above\": \"u-1\"", "\"above\": \"u-2\"", "/units/0/above: the unit would be below itself"),
        ("\"SQUADRON\"", "\"BEREICH\"", "/units/0/kind: the unit exists with another kind"),
    ] {
        assert!(UNITS.contains(from), "{from}");
        write(&UNITS.replacen(from, to, 1));
        run_failing(folder.path(), &import, "", 2, message);
    }
    assert_eq!(harness.count(members).await, 1, "nothing was changed");
    assert_eq!(read_audit(&harness).await.len(), all.len());

    // A deleted member cannot join a unit, and an import removes the member from it.
    harness.change("UPDATE member SET state = 'deleted' WHERE id = 'm-ada'").await;
    write(UNITS);
    run_failing(folder.path(), &import, "", 2, "/units/0/members/0/member: unknown member");
    write(&UNITS.replace(r#"{ "member": "m-ada", "role": "leader" }, "#, ""));
    run_json(folder.path(), &import, "");
    assert_eq!(
        read_audit(&harness).await[all.len()..],
        [
            "unit.rename u-2 as the members' ships and the unit's pool show it from now on",
            "unit.role u-2 m-ada: none",
            "unit.role u-2 m-bob: member",
            "unit.set u-2 with 1 members",
            "unit.set u-1 "
        ]
    );
}

/// WEB-12, ERR-17: the text of a version of the terms is stored from a file.
#[tokio::test]
async fn text_of_the_terms_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    let file = folder.path().join("terms.txt");
    let path = file.to_str().unwrap();
    let set = ["terms", "2026-01", "--text", path];
    run_failing(folder.path(), &set, "", 2, "cannot read");
    std::fs::write(&file, " \n").unwrap();
    run_failing(folder.path(), &set, "", 2, "the text of the terms must have");
    assert_eq!(run_json(folder.path(), &["terms"], ""), json!({ "terms": null }), "nothing was changed");
    std::fs::write(&file, "Be kind.\r\n\r\nAlways.").unwrap();
    assert_eq!(run_json(folder.path(), &set, ""), json!({ "terms": "2026-01" }));
    let stored = "SELECT count(*) FROM terms_text WHERE version = '2026-01' \
                  AND text = 'Be kind.' || char(10) || char(10) || 'Always.'";
    assert_eq!(harness.count(stored).await, 1);
}

/// A command creates a link with which a member sets a new password.
#[tokio::test]
async fn password_link_is_created_by_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    let done = run_json(folder.path(), &["member", "reset-password", "m-ada"], "");
    let url = done["url"].as_str().unwrap();
    let path = url.strip_prefix("http://127.0.0.1:8080").unwrap();
    assert!(path.starts_with("/reset/") && path.len() == 50, "{url}");
    assert!(done["expiresAt"].is_string() && done["member"] == "m-ada", "{done}");
    harness.get(path).await.expect(200);
    let audited = read_audit(&harness).await;
    assert!(audited.iter().any(|entry| entry.contains("member.reset-password m-ada")), "{audited:?}");
    assert!(!audited.iter().any(|entry| entry.contains(path)), "no record contains the secret");
    run_failing(folder.path(), &["member", "reset-password", "m-gone"], "", 1, "unknown member `m-gone`");
}

/// ERR-17: the terms can be set, shown and removed.
#[tokio::test]
async fn terms_are_set_shown_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    assert_eq!(run_json(folder.path(), &["terms"], ""), json!({ "terms": null }));
    assert_eq!(run_json(folder.path(), &["terms", "2026-01"], ""), json!({ "terms": "2026-01" }));
    assert_eq!(run_json(folder.path(), &["terms"], ""), json!({ "terms": "2026-01" }));
    assert_eq!(run_json(folder.path(), &["terms", "--none"], ""), json!({ "terms": null }));
    run_failing(folder.path(), &["terms", " "], "", 2, "a version of the terms must have 1 to 100 visible");

    let set = ["member", "administrator", "m-ada"];
    run_json(folder.path(), &set, "");
    let count = "SELECT count(*) FROM member WHERE is_admin = 1";
    assert_eq!(harness.count(count).await, 1);
    run_json(folder.path(), &[&set[..], &["--no"]].concat(), "");
    assert_eq!(harness.count(count).await, 0);
    run_failing(folder.path(), &["member", "administrator", "m-nobody"], "", 1, "unknown member `m-nobody`");
    harness.change("UPDATE member SET state = 'deleted' WHERE id = 'm-bob'").await;
    run_failing(folder.path(), &["member", "administrator", "m-bob"], "", 1, "unknown member `m-bob`");
    let all = [
        "terms terms 2026-01",
        "terms terms none",
        "member.administrator m-ada yes",
        "member.administrator m-ada no",
    ];
    assert_eq!(read_audit(&harness).await, all);
}
