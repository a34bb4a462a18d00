//! Checks that a test causes every code, reason and OAuth error of the contract's registry, with a request
//! that a client could send. The tables list these tests and are compared with the registry and with the
//! source code of the tests. The tests use stand-ins only where necessary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A code, the file of its test, and the name of the test.
type TestReference = (&'static str, &'static str, &'static str);

const CODES: &[TestReference] = &[
    ("UNAUTHENTICATED", "gateway/access_tokens.rs", "rejected_tokens_are_unauthenticated"),
    ("DPOP_REQUIRED", "gateway/access_tokens.rs", "token_bound_to_another_key_is_rejected"),
    ("DPOP_INVALID", "sandbox.rs", "client_signs_in_and_reads_the_service_document"),
    ("DPOP_PROOF_LIMIT", "gateway/replays.rs", "live_proofs_per_member_are_limited"),
    ("SERVICE_UNAVAILABLE", "backend/paths.rs", "interrupted_write_leaves_nothing"),
    ("SCOPE_MISSING", "gateway/access_tokens.rs", "scope_is_required_in_token_and_registry"),
    ("CLIENT_REVOKED", "sandbox.rs", "connection_is_refreshed_until_disconnected"),
    ("INSTALLATION_REVOKED", "gateway/access_tokens.rs", "disconnected_connections_are_rejected"),
    ("CLIENT_NOT_ALLOWED", "gateway/access_tokens.rs", "registry_rejections_have_their_headers"),
    ("CLIENT_SUSPENDED", "gateway/access_tokens.rs", "registry_rejections_have_their_headers"),
    ("CLIENT_VERSION_UNSUPPORTED", "gateway/requests.rs", "client_version_below_minimum_is_rejected"),
    ("TERMS_NOT_ACCEPTED", "backend/connection.rs", "backend_repeats_every_admission_check"),
    ("PENDING_APPROVAL", "backend/connection.rs", "backend_repeats_every_admission_check"),
    ("NO_ROLE", "backend/connection.rs", "backend_repeats_every_admission_check"),
    ("ACTING_MEMBER_REFUSED", "backend/connection.rs", "backend_repeats_every_admission_check"),
    ("NOT_PERMITTED", "backend/org_stock.rs", "roster_requires_logistician_role"),
    ("SCHEMA_INVALID", "gateway/bodies.rs", "fixtures_get_their_expected_responses"),
    ("IDEMPOTENCY_KEY_MISSING", "gateway/keys.rs", "malformed_keys_are_rejected"),
    ("IDEMPOTENCY_KEY_REUSED", "gateway/keys.rs", "key_reused_for_another_request_is_rejected"),
    ("IDEMPOTENCY_IN_PROGRESS", "gateway/keys.rs", "key_of_a_running_request_is_in_progress"),
    (
        "MASS_CHANGE_CONFIRMATION_REQUIRED",
        "backend/held_batches.rs",
        "mass_removal_batch_is_held_without_writing",
    ),
    ("CURSOR_EXPIRED", "sandbox.rs", "reset_invalidates_tokens_and_cursors"),
    ("NOT_FOUND", "gateway/contract_files.rs", "unknown_names_are_not_found"),
    ("UNSUPPORTED_MEDIA_TYPE", "gateway/hostile_requests.rs", "compressed_bodies_are_rejected"),
    ("PAYLOAD_TOO_LARGE", "gateway/hostile_requests.rs", "oversized_bodies_are_rejected"),
    ("BATCH_TOO_LARGE", "gateway/requests.rs", "too_many_references_or_ops_are_rejected"),
    ("RATE_LIMITED", "gateway/limits.rs", "requests_per_member_are_limited"),
    ("QUOTA_EXCEEDED", "gateway/limits.rs", "org_stock_writes_count_per_op"),
    ("EXCHANGE_BUDGET_EXHAUSTED", "sandbox/limits.rs", "stored_responses_use_the_budget"),
    ("RELAY_BUSY", "sandbox/limits.rs", "large_sets_need_a_slot"),
    ("BACKEND_RELAY_FAILED", "parts.rs", "gateway_and_backend_in_two_processes"),
    ("INTERNAL_ERROR", "gateway/requests.rs", "invalid_backend_response_is_not_sent"),
    ("EXCHANGE_DISABLED", "gateway/access_tokens.rs", "registry_rejections_have_their_headers"),
    ("REGISTRY_UNAVAILABLE", "gateway/requests.rs", "unreadable_minimum_version_rejects_the_client"),
];

const REASONS: &[TestReference] = &[
    ("UNMATCHED", "backend/blueprints.rs", "ops_are_evaluated_in_order"),
    ("AMBIGUOUS", "backend/blueprints.rs", "ops_are_evaluated_in_order"),
    ("DEFAULT_NOT_REMOVABLE", "backend/blueprints.rs", "ops_are_evaluated_in_order"),
    ("REMOVED_ELSEWHERE", "backend/stock.rs", "refilling_a_foreign_emptied_lot_needs_override"),
    ("LOCATION_UNKNOWN", "backend/stock.rs", "first_failed_check_determines_the_reason"),
    ("UNIT_MISMATCH", "backend/stock.rs", "first_failed_check_determines_the_reason"),
    ("STOLEN_MARKING_DISABLED", "backend/stock.rs", "disabled_stolen_marking_rejects_marked_stock"),
    ("VERSION_CONFLICT", "backend/ships.rs", "update_writes_sent_fields_and_clears_omitted_ones"),
    ("STOCK_EARMARKED", "sandbox.rs", "seeded_stock_and_ships_are_read_and_written"),
    ("LINK_TARGET_TAKEN", "backend/ships.rs", "links_are_per_installation"),
    ("ORG_UNIT_NOT_ALLOWED", "backend/ships.rs", "unit_change_increments_its_own_counter"),
    ("ORG_UNIT_VERSION_CONFLICT", "backend/ships.rs", "unit_change_increments_its_own_counter"),
    ("NOT_PERMITTED", "backend/org_stock_reasons.rs", "ops_without_permission_are_rejected"),
    ("HOLDER_UNKNOWN", "backend/org_stock_reasons.rs", "first_failed_check_determines_the_reason"),
    ("INSUFFICIENT_STOCK", "backend/org_stock_reasons.rs", "amount_above_stock_is_rejected"),
    ("STOCK_OFFERED", "backend/org_stock_reasons.rs", "taking_offered_stock_is_rejected"),
    ("OVER_ALLOCATION", "backend/org_stock_reasons.rs", "excessive_earmarks_are_rejected"),
    ("EARMARK_TARGET_INVALID", "backend/org_stock_reasons.rs", "invalid_earmark_target_is_rejected"),
];

const OAUTH_ERRORS: &[TestReference] = &[
    ("authorization_pending", "idp/device.rs", "approved_login_gets_tokens"),
    ("slow_down", "idp/device.rs", "early_polls_increase_the_interval"),
    ("access_denied", "idp/device.rs", "first_decision_is_final"),
    ("expired_token", "idp/device.rs", "device_codes_expire"),
    ("invalid_grant", "idp/device.rs", "device_code_is_used_once"),
    ("invalid_dpop_proof", "idp/proofs.rs", "invalid_proofs_do_not_spend_the_token"),
    ("invalid_request", "idp/device.rs", "malformed_requests_are_rejected"),
    ("use_dpop_nonce", "idp/proofs.rs", "strict_profile_requires_a_nonce"),
    ("invalid_client", "idp/device.rs", "only_registered_clients_sign_in"),
    ("invalid_scope", "idp/device.rs", "scopes_outside_of_the_registry_are_rejected"),
    ("unsupported_grant_type", "idp/device.rs", "malformed_requests_are_rejected"),
];

/// The codes that the service never returns, each with the reason and its name in the source code.
const NEVER: &[(&str, &str, &str)] = &[
    ("LEGACY_ENDPOINT_GONE", "it is retired", "LegacyEndpointGone"),
    // This code is described in ERR-26.
    (
        "VERSION_CONFLICT",
        "each op is decided in the transaction that carries it out, and says so itself",
        "PlainCode::VersionConflict",
    ),
    ("unauthorized_client", "every registered client may use every grant", "unauthorized_client"),
];

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the names in a list of the contract's registry.
fn registry_names(list: &str, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(crate_path("../../schemas/errors.json")).expect("the registry can be read");
    let registry: Value = serde_json::from_str(&text).expect("valid JSON");
    let names = registry[list].as_array().expect("an array").iter();
    names.map(|entry| entry[name].as_str().expect("a string").to_owned()).collect()
}

/// Returns the source code of a test, from its name to its end.
fn test_source<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let offset = source.find(&format!("fn {name}("))?;
    let (before, from) = source.split_at(offset);
    let head = before.rsplit("\n\n").next().unwrap_or_default();
    let is_test = head.contains("#[test]") || head.contains("#[tokio::test");
    is_test.then(|| from.split("\n}\n").next().unwrap_or(from))
}

/// Returns the string literals in source code, without comments and identifiers.
fn string_literals(source: &str) -> String {
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

/// Only string literals are searched for codes; comments and identifiers are ignored.
#[test]
fn comments_and_identifiers_are_ignored() {
    let source = "fn a() {\n    // ONE \"TWO\"\n    THREE(\"FOUR http://x\", b); // \"FIVE\"\n}";
    let found =
        ["ONE", "TWO", "THREE", "FOUR", "FIVE"].map(|word| contains_word(&string_literals(source), word));
    assert_eq!(found, [false, false, false, true, false]);
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |each: char| each.is_ascii_alphanumeric() || each == '_';
    text.match_indices(word).any(|(offset, _)| {
        !text[..offset].ends_with(is_part) && !text[offset + word.len()..].starts_with(is_part)
    })
}

fn check(list: &str, name: &str, table: &[TestReference]) {
    let registered = registry_names(list, name);
    let never = NEVER.iter().map(|(code, ..)| *code).filter(|code| registered.contains(*code));
    // A name that is both a code of responses and a reason of ops is tested as the kind of its table.
    let named: BTreeSet<String> =
        table.iter().map(|(code, ..)| *code).chain(never).map(str::to_owned).collect();
    assert_eq!(named, registered, "{list}: every name needs a test; add it to the table");
    for (code, file, name) in table {
        let source =
            fs::read_to_string(crate_path("tests/all").join(file)).expect("the test file can be read");
        let text =
            test_source(&source, name).unwrap_or_else(|| panic!("{code}: there is no test {name} in {file}"));
        assert!(
            contains_word(&string_literals(text), code),
            "{code}: the test {name} in {file} does not contain this code"
        );
    }
}

/// ERR-04: a test causes every name in the registry.
#[test]
fn every_code_has_a_test() {
    check("codes", "code", CODES);
    check("reasons", "reason", REASONS);
    check("oauthErrors", "error", OAUTH_ERRORS);
}

/// ERR-26: a code that no request can cause does not occur in the service's source code.
#[test]
fn unused_codes_do_not_occur_in_the_source() {
    let mut folders = vec![crate_path("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry exists").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a string");
            files += 1;
            for (code, why, name) in NEVER {
                assert!(
                    !contains_word(&text, name),
                    "{}: {code} is never answered, since {why}",
                    path.display()
                );
            }
        }
    }
    assert!(files > 100, "{files} files were read");
}
