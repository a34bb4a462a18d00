//! What a configuration cannot mean, though each of its values can be read.

use std::fmt;

use argon2::Params;
use dpop_bound::{Htu, Origin};

use super::{Config, Drafts, External, Role};

/// A value that does not work, by its key, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The key, as a file has it: `serve.backend`.
    pub key: &'static str,
    /// What is wrong with its value.
    pub reason: String,
    /// What to do.
    pub advice: &'static str,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.key, self.reason, self.advice)
    }
}

fn wrong(key: &'static str, reason: impl Into<String>, advice: &'static str) -> Wrong {
    Wrong { key, reason: reason.into(), advice }
}

const ORIGIN: &str =
    "write scheme and host, and the port where it is not the usual one: https://exchange.example";

impl Config {
    /// Everything in it that does not work; nothing when it can be served.
    #[must_use]
    pub fn check(&self) -> Vec<Wrong> {
        let mut all = Vec::new();
        self.addresses(&mut all);
        self.parts(&mut all);
        self.budgets(&mut all);
        self.zeros(&mut all);
        self.sign_in(&mut all);
        self.records(&mut all);
        all
    }

    fn addresses(&self, all: &mut Vec<Wrong>) {
        if let Err(error) = Origin::of(&self.gateway_origin) {
            all.push(wrong("gateway-origin", error.to_string(), ORIGIN));
        }
        let advice =
            "write the provider's address as its discovery document has it: https://exchange.example/idp";
        if let Err(error) = Htu::of(&self.endpoint("token")) {
            all.push(wrong("issuer", error.to_string(), advice));
        } else if !self.is_external() && !self.has_plain_path() {
            let reason = "its path has other characters than letters, digits and `-._~`, or an empty part";
            all.push(wrong("issuer", reason, advice));
        }
        match &self.pages_origin {
            Some(origin) => {
                if let Err(error) = Origin::of(origin.trim_end_matches('/')) {
                    all.push(wrong("pages-origin", error.to_string(), ORIGIN));
                }
            }
            None if self.is_external() => {
                let reason =
                    "the issuer is elsewhere, and the pages of the exchange need an address of their own";
                all.push(wrong("pages-origin", reason, ORIGIN));
            }
            None => {}
        }
    }

    fn parts(&self, all: &mut Vec<Wrong>) {
        let serve = &self.serve;
        match (serve.role, &serve.backend) {
            (Role::Gateway, None) => {
                let advice =
                    "write where the process with `role = \"backend\"` listens: http://127.0.0.1:8081";
                all.push(wrong("serve.backend", "a gateway needs its backend's address", advice));
            }
            (Role::Gateway, Some(base)) => {
                if let Err(error) = Origin::of(base.trim_end_matches('/')) {
                    all.push(wrong("serve.backend", error.to_string(), ORIGIN));
                }
            }
            (Role::All | Role::Backend, Some(_)) => {
                let advice = "leave it out, or write `role = \"gateway\"`";
                all.push(wrong("serve.backend", "only a gateway has its backend elsewhere", advice));
            }
            (Role::All | Role::Backend, None) => {}
        }
        let missing = match (&serve.certificate, &serve.private_key) {
            (Some(_), None) => "serve.private-key",
            (None, Some(_)) => "serve.certificate",
            _ => return,
        };
        all.push(wrong(missing, "TLS needs a certificate and its key", "name both files, or neither"));
    }

    /// The guard counts what stands in the journal.
    fn records(&self, all: &mut Vec<Wrong>) {
        let Self { retention, guard, .. } = self;
        let kept = u64::from(retention.journal_days) * 86_400;
        if kept < guard.window_seconds {
            let reason =
                "the mass-change guard counts removals in the journal, for longer than it would be kept";
            let advice = "write at least as many days as `guard.window-seconds` has";
            all.push(wrong("retention.journal-days", reason, advice));
        }
    }

    /// A draft that fits by itself, and an answer that is kept, have to fit their budgets, or their clients would be told
    /// to wait for ever.
    fn budgets(&self, all: &mut Vec<Wrong>) {
        let Self { drafts, limits, .. } = self;
        let draft = (drafts.prepared_bytes as u64).saturating_add(Drafts::OVERHEAD);
        let draft = ("a draft can take", draft, "write at least as much, or lower `drafts.prepared-bytes`");
        let answer = limits.reserved_bytes();
        let advice = "write at least as much, or lower `limits.kept-answer-bytes`";
        let answer = ("each write reserves", answer, advice);
        for (key, budget, (what, needed, advice)) in [
            ("drafts.bytes-of-client", drafts.bytes_of_client, draft),
            ("drafts.bytes", drafts.bytes, draft),
            ("limits.kept-bytes-of-member", limits.kept_bytes_of_member, answer),
            ("limits.kept-bytes-of-client", limits.kept_bytes_of_client, answer),
            ("limits.kept-bytes", limits.kept_bytes, answer),
        ] {
            if budget < needed {
                let reason = format!("{what} {needed} bytes, with what it costs beside its own");
                all.push(wrong(key, reason, advice));
            }
        }
    }

    /// Numbers by which nothing would be served at all.
    fn zeros(&self, all: &mut Vec<Wrong>) {
        let Self { limits, drafts, idp, serve, .. } = self;
        let numbers = [
            ("limits.body-bytes", limits.body_bytes as u64),
            ("limits.head-bytes", limits.head_bytes as u64),
            ("limits.live-proofs-of-member", limits.live_proofs_of_member as u64),
            ("limits.live-proofs", limits.live_proofs as u64),
            ("limits.relay-seconds", limits.relay_seconds),
            ("limits.body-seconds", limits.body_seconds),
            ("drafts.handoff-seconds", drafts.handoff_seconds),
            ("drafts.prepared-bytes", drafts.prepared_bytes as u64),
            ("drafts.review-seconds", drafts.review_seconds),
            ("idp.access-token-seconds", idp.access_token_seconds),
            ("idp.device-code-seconds", idp.device_code_seconds),
            ("idp.unused-days", idp.unused_days.into()),
            ("idp.longest-days", idp.longest_days.into()),
            ("idp.session-seconds", idp.session_seconds),
            ("serve.connections", serve.connections as u64),
            ("serve.head-seconds", serve.head_seconds),
            ("serve.write-seconds", serve.write_seconds),
            ("serve.handshake-seconds", serve.handshake_seconds),
        ];
        for (key, _) in numbers.into_iter().filter(|(_, number)| *number == 0) {
            all.push(wrong(key, "with 0 nothing would be served", "write at least 1"));
        }
    }

    /// What a password costs, and how another provider is asked.
    fn sign_in(&self, all: &mut Vec<Wrong>) {
        let idp = &self.idp;
        if idp.password_kib < Params::MIN_M_COST {
            let reason = "argon2 needs more memory than that";
            all.push(wrong("idp.password-kib", reason, "write at least 8, and 19456 where it counts"));
        }
        if idp.password_passes < Params::MIN_T_COST {
            let reason = "a password that nothing is done with is checked by nobody";
            all.push(wrong("idp.password-passes", reason, "write at least 1"));
        }
        let Some(External { token_types, wait_seconds }) = &idp.external else { return };
        if token_types.is_empty() {
            let advice = "leave it out, or name at least one: [\"at+jwt\"]";
            all.push(wrong("idp.external.token-types", "no access token would be taken", advice));
        }
        if *wait_seconds == 0 {
            let reason = "with 0 the provider would never have answered in time";
            all.push(wrong("idp.external.wait-seconds", reason, "write at least 1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Config), expect: &[&str]) {
        let mut config = Config::default();
        change(&mut config);
        let keys: Vec<_> = config.check().iter().map(|wrong| wrong.key).collect();
        assert_eq!(keys, expect);
    }

    #[test]
    fn what_cannot_be_served_is_named_by_its_key() {
        check(|_| {}, &[]);
        check(|config| config.gateway_origin = "exchange.example".to_owned(), &["gateway-origin"]);
        check(
            |config| config.gateway_origin = "https://exchange.example/path".to_owned(),
            &["gateway-origin"],
        );
        check(|config| config.issuer = "ftp://idp.example".to_owned(), &["issuer"]);
        check(|config| config.issuer = "https://idp.example/*x".to_owned(), &["issuer"]);
        check(|config| config.pages_origin = Some("https://me.example/".to_owned()), &[]);
        check(|config| config.pages_origin = Some("me.example".to_owned()), &["pages-origin"]);
        check(|config| config.idp.external = Some(External::default()), &["pages-origin"]);
        let elsewhere = |role, backend: &str| {
            let backend = Some(backend.to_owned()).filter(|backend| !backend.is_empty());
            move |config: &mut Config| (config.serve.role, config.serve.backend) = (role, backend)
        };
        check(elsewhere(Role::Gateway, ""), &["serve.backend"]);
        check(elsewhere(Role::Gateway, "127.0.0.1:8081"), &["serve.backend"]);
        check(elsewhere(Role::Gateway, "http://127.0.0.1:8081/"), &[]);
        check(elsewhere(Role::Backend, "http://127.0.0.1:8081"), &["serve.backend"]);
        check(|config| config.serve.certificate = Some("chain.pem".into()), &["serve.private-key"]);
        check(|config| config.serve.private_key = Some("key.pem".into()), &["serve.certificate"]);
        check(|config| config.drafts.bytes = 1 << 18, &["drafts.bytes"]);
        check(|config| config.drafts.bytes = (1 << 18) + 512, &[]);
        check(|config| config.limits.kept_answer_bytes = (1 << 20) - 512, &[]);
        check(|config| config.limits.kept_answer_bytes = (1 << 20) - 511, &["limits.kept-bytes-of-member"]);
        let kept = ["limits.kept-bytes-of-member", "limits.kept-bytes-of-client", "limits.kept-bytes"];
        check(|config| config.limits.kept_answer_bytes = usize::MAX, &kept);
        let zeros = |config: &mut Config| {
            (config.limits.relay_seconds, config.serve.connections) = (0, 0);
        };
        check(zeros, &["limits.relay-seconds", "serve.connections"]);
        let costs = |config: &mut Config| (config.idp.password_kib, config.idp.password_passes) = (7, 0);
        check(costs, &["idp.password-kib", "idp.password-passes"]);
        check(|config| (config.idp.password_kib, config.idp.password_passes) = (8, 1), &[]);
        let external = |config: &mut Config| {
            config.pages_origin = Some("https://me.example".to_owned());
            config.idp.external = Some(External { token_types: Vec::new(), wait_seconds: 0 });
        };
        check(external, &["idp.external.token-types", "idp.external.wait-seconds"]);
        check(|config| config.retention.journal_days = 0, &["retention.journal-days"]);
        check(|config| config.guard.window_seconds = 90 * 86_400, &[]);
        check(|config| config.guard.window_seconds += 90 * 86_400, &["retention.journal-days"]);
    }
}
