//! Every code, reason and OAuth error of the contract's registry is provoked by a request that a client could
//! send. The tables list the tests and are compared with the registry and with the tests' source. Stand-ins
//! are used only where necessary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A code, the file of its test, and the test.
type Provoked = (&'static str, &'static str, &'static str);

const CODES: &[Provoked] = &[
    ("UNAUTHENTICATED", "gateway/list_e.rs", "tokens_that_are_not_taken"),
    ("DPOP_REQUIRED", "gateway/list_e.rs", "keys_of_tokens"),
    ("DPOP_INVALID", "sandbox.rs", "a_client_signs_in_and_reads_the_service_document"),
    ("DPOP_PROOF_LIMIT", "gateway/list_d.rs", "the_cap_of_a_member"),
    ("SERVICE_UNAVAILABLE", "backend/paths.rs", "a_write_that_is_cut_off_leaves_nothing"),
    ("SCOPE_MISSING", "gateway/list_e.rs", "scopes_of_token_and_registry"),
    ("CLIENT_REVOKED", "sandbox.rs", "a_connection_is_renewed_until_the_member_ends_it"),
    ("INSTALLATION_REVOKED", "gateway/list_e.rs", "what_was_disconnected"),
    ("CLIENT_NOT_ALLOWED", "gateway/list_e.rs", "the_registry_refuses"),
    ("CLIENT_SUSPENDED", "gateway/list_e.rs", "the_registry_refuses"),
    ("CLIENT_VERSION_UNSUPPORTED", "gateway/requests.rs", "versions"),
    ("TERMS_NOT_ACCEPTED", "backend/connection.rs", "every_check_is_repeated"),
    ("PENDING_APPROVAL", "backend/connection.rs", "every_check_is_repeated"),
    ("NO_ROLE", "backend/connection.rs", "every_check_is_repeated"),
    ("ACTING_MEMBER_REFUSED", "backend/connection.rs", "every_check_is_repeated"),
    ("NOT_PERMITTED", "backend/org_stock.rs", "a_roster_is_for_logisticians"),
    ("SCHEMA_INVALID", "gateway/bodies.rs", "fixtures_come_to_what_they_say"),
    ("IDEMPOTENCY_KEY_MISSING", "gateway/keys.rs", "forms_of_keys"),
    ("IDEMPOTENCY_KEY_REUSED", "gateway/keys.rs", "a_key_stands_for_one_request"),
    ("IDEMPOTENCY_IN_PROGRESS", "gateway/keys.rs", "a_request_under_way"),
    ("MASS_CHANGE_CONFIRMATION_REQUIRED", "backend/held.rs", "a_batch_that_removes_too_much_writes_nothing"),
    ("CURSOR_EXPIRED", "sandbox.rs", "a_reset_begins_another_history"),
    ("NOT_FOUND", "gateway/contract_files.rs", "unknown_names"),
    ("UNSUPPORTED_MEDIA_TYPE", "gateway/list_h.rs", "a_packed_bomb"),
    ("PAYLOAD_TOO_LARGE", "gateway/list_h.rs", "bodies_that_are_too_large"),
    ("BATCH_TOO_LARGE", "gateway/requests.rs", "too_many"),
    ("RATE_LIMITED", "gateway/limits.rs", "a_member_has_a_limit"),
    ("QUOTA_EXCEEDED", "gateway/limits.rs", "org_stock_counts_its_ops"),
    ("EXCHANGE_BUDGET_EXHAUSTED", "sandbox/limits.rs", "answers_that_are_kept_take_room"),
    ("RELAY_BUSY", "sandbox/limits.rs", "large_sets_want_a_place"),
    ("BACKEND_RELAY_FAILED", "parts.rs", "a_gateway_and_its_backend_in_two_processes"),
    ("INTERNAL_ERROR", "gateway/requests.rs", "answers_are_checked"),
    ("EXCHANGE_DISABLED", "gateway/list_e.rs", "the_registry_refuses"),
    ("REGISTRY_UNAVAILABLE", "gateway/requests.rs", "an_unreadable_minimum_is_no_open_door"),
];

const REASONS: &[Provoked] = &[
    ("UNMATCHED", "backend/blueprints.rs", "ops_are_decided_in_order"),
    ("AMBIGUOUS", "backend/blueprints.rs", "ops_are_decided_in_order"),
    ("DEFAULT_NOT_REMOVABLE", "backend/blueprints.rs", "ops_are_decided_in_order"),
    ("REMOVED_ELSEWHERE", "backend/stock.rs", "an_empty_lot_is_filled_by_whom_it_asks"),
    ("LOCATION_UNKNOWN", "backend/stock.rs", "the_first_step_that_fails_ends_an_op"),
    ("UNIT_MISMATCH", "backend/stock.rs", "the_first_step_that_fails_ends_an_op"),
    ("STOLEN_MARKING_DISABLED", "backend/stock.rs", "marking_may_be_switched_off"),
    ("VERSION_CONFLICT", "backend/ships.rs", "an_update_writes_what_is_sent"),
    ("STOCK_EARMARKED", "sandbox.rs", "stock_and_ships_of_the_seed_are_read_and_written"),
    ("LINK_TARGET_TAKEN", "backend/ships.rs", "links_are_the_installations_own"),
    ("ORG_UNIT_NOT_ALLOWED", "backend/ships.rs", "a_ships_unit_has_a_counter_of_its_own"),
    ("ORG_UNIT_VERSION_CONFLICT", "backend/ships.rs", "a_ships_unit_has_a_counter_of_its_own"),
    ("NOT_PERMITTED", "backend/org_stock_reasons.rs", "not_permitted"),
    ("HOLDER_UNKNOWN", "backend/org_stock_reasons.rs", "the_first_answer_that_is_no_ends_it"),
    ("INSUFFICIENT_STOCK", "backend/org_stock_reasons.rs", "insufficient_stock"),
    ("STOCK_OFFERED", "backend/org_stock_reasons.rs", "stock_offered"),
    ("OVER_ALLOCATION", "backend/org_stock_reasons.rs", "over_allocation"),
    ("EARMARK_TARGET_INVALID", "backend/org_stock_reasons.rs", "earmark_target_invalid"),
];

const OAUTH_ERRORS: &[Provoked] = &[
    ("authorization_pending", "idp/device.rs", "a_login_that_is_approved"),
    ("slow_down", "idp/device.rs", "too_fast_polls_make_the_interval_longer_for_good"),
    ("access_denied", "idp/device.rs", "the_first_decision_holds"),
    ("expired_token", "idp/device.rs", "codes_expire"),
    ("invalid_grant", "idp/device.rs", "a_device_code_is_used_once"),
    ("invalid_dpop_proof", "idp/proofs.rs", "what_is_wrong_with_a_proof"),
    ("invalid_request", "idp/device.rs", "malformed_requests"),
    ("use_dpop_nonce", "idp/proofs.rs", "nonces_of_the_other_profile"),
    ("invalid_client", "idp/device.rs", "only_registered_clients_sign_in"),
    ("invalid_scope", "idp/device.rs", "scopes_are_asked_of_the_registry"),
    ("unsupported_grant_type", "idp/device.rs", "malformed_requests"),
];

/// Codes that the service never returns, with the reason and the name in the source code.
const NEVER: &[(&str, &str, &str)] = &[
    ("LEGACY_ENDPOINT_GONE", "it is retired", "LegacyEndpointGone"),
    // ERR-26
    (
        "VERSION_CONFLICT",
        "each op is decided in the transaction that carries it out, and says so itself",
        "PlainCode::VersionConflict",
    ),
    ("unauthorized_client", "every registered client may use every grant", "unauthorized_client"),
];

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the names in a list of the contract's registry.
fn registered(list: &str, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(package("../../schemas/errors.json")).expect("the registry");
    let registry: Value = serde_json::from_str(&text).expect("JSON");
    let names = registry[list].as_array().expect("a list").iter();
    names.map(|entry| entry[name].as_str().expect("a name").to_owned()).collect()
}

/// Returns the source of a test, from its name to its end.
fn test<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let at = source.find(&format!("fn {name}("))?;
    let (before, from) = source.split_at(at);
    let head = before.rsplit("\n\n").next().unwrap_or_default();
    let is_test = head.contains("#[test]") || head.contains("#[tokio::test");
    is_test.then(|| from.split("\n}\n").next().unwrap_or(from))
}

/// Returns the string literals in source code, without comments and identifiers.
fn texts(source: &str) -> String {
    let mut texts = String::new();
    for line in source.lines() {
        let mut parts = line.split('"');
        // Alternates between outside and inside of literals; `//` in a URL is inside.
        while let Some(outside) = parts.next() {
            if outside.contains("//") {
                break;
            }
            texts.push_str(parts.next().unwrap_or_default());
            texts.push('\n');
        }
    }
    texts
}

/// Returns string literals that are compared with a response.
#[test]
fn comments_provoke_nothing() {
    let source = "fn a() {\n    // ONE \"TWO\"\n    THREE(\"FOUR http://x\", b); // \"FIVE\"\n}";
    let found = ["ONE", "TWO", "THREE", "FOUR", "FIVE"].map(|word| holds(&texts(source), word));
    assert_eq!(found, [false, false, false, true, false]);
}

fn holds(text: &str, word: &str) -> bool {
    let is_part = |each: char| each.is_ascii_alphanumeric() || each == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

fn check(list: &str, name: &str, table: &[Provoked]) {
    let registered = registered(list, name);
    let never = NEVER.iter().map(|(code, ..)| *code).filter(|code| registered.contains(*code));
    // A name that is both a code of requests and a reason of ops is tested as the kind in the table.
    let named: BTreeSet<String> =
        table.iter().map(|(code, ..)| *code).chain(never).map(str::to_owned).collect();
    assert_eq!(named, registered, "{list}: each has a test that provokes it; add it to the table");
    for (code, file, name) in table {
        let source = fs::read_to_string(package("tests/all").join(file)).expect("a file of tests");
        let text = test(&source, name).unwrap_or_else(|| panic!("{code}: there is no test {name} in {file}"));
        assert!(holds(&texts(text), code), "{code}: the test {name} in {file} does not ask for it");
    }
}

/// ERR-04: every name in the registry is provoked.
#[test]
fn every_code_is_provoked_by_a_test() {
    check("codes", "code", CODES);
    check("reasons", "reason", REASONS);
    check("oauthErrors", "error", OAUTH_ERRORS);
}

/// ERR-26: a code that no request can provoke does not occur in the service's source.
#[test]
fn what_is_never_answered_is_nowhere() {
    let mut folders = vec![package("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a text");
            files += 1;
            for (code, why, word) in NEVER {
                assert!(!holds(&text, word), "{}: {code} is never answered, since {why}", path.display());
            }
        }
    }
    assert!(files > 100, "{files} files were read");
}
