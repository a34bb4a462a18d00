//! A gateway as small as can be: headers, form, nonce, claims, replay, in their order.

use std::sync::Mutex;

use dpop_bound::{
    Binding, CheckedProof, Es256, Expected, Holder, LiveProofs, Origin, SignedProof, Target, Thumbprint,
    TokenHash, UnixTime, Window,
    claims::ClaimRefusal,
    form::FormRefusal,
    live::{Caps, LiveRefusal},
    nonce::{NonceIssuer, NonceRefusal},
    presented::{PresentedRefusal, presented},
};

use crate::forge::{self, METHOD, NOW, ORIGIN, PATH, TOKEN};

/// The exchange's gateway (LIM-10): 30 s either side.
pub(crate) const WINDOW: Window = Window::seconds(30, 30);
/// LIM-06.
pub(crate) const CAPS: Caps = Caps { per_account: 600, per_source: 600, total: 100_000 };

/// What comes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted,
    Presented(PresentedRefusal),
    Form(FormRefusal),
    Nonce(NonceRefusal),
    Claim(ClaimRefusal),
    Live(LiveRefusal),
}

/// A request, as the gateway sees it.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) authorization: Vec<String>,
    pub(crate) proofs: Vec<String>,
}

impl Request<'_> {
    /// One whose proof alone is of interest.
    pub(crate) fn with(proof: impl Into<String>) -> Self {
        Self {
            method: METHOD,
            path: PATH,
            authorization: vec![format!("DPoP {TOKEN}")],
            proofs: vec![proof.into()],
        }
    }
}

/// The gateway, and the key that the token is bound to.
pub(crate) struct Gateway {
    pub(crate) now: UnixTime,
    /// The token's `cnf.jkt`.
    pub(crate) bound: Option<Thumbprint>,
    pub(crate) issuer: NonceIssuer,
    pub(crate) live: Mutex<LiveProofs>,
    origin: Origin,
}

impl Gateway {
    pub(crate) fn new() -> Self {
        Self {
            now: UnixTime::from_secs(NOW),
            bound: Some(forge::client().public_key().thumbprint()),
            issuer: forge::issuer(),
            live: Mutex::new(LiveProofs::new(WINDOW, CAPS)),
            origin: Origin::of(ORIGIN).unwrap(),
        }
    }

    /// All but the question whether the proof was seen before.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Answer {
        match self.check(request) {
            Ok(_) => Answer::Accepted,
            Err(refused) => refused,
        }
    }

    /// Everything, for this member.
    pub(crate) fn serve(&self, request: &Request<'_>, member: &str) -> Answer {
        let checked = match self.check(request) {
            Ok(checked) => checked,
            Err(refused) => return refused,
        };
        let candidate = checked.candidate(Holder::Account(member));
        match self.live.lock().unwrap().admit(&candidate, self.now) {
            Ok(()) => Answer::Accepted,
            Err(refused) => Answer::Live(refused),
        }
    }

    fn check(&self, request: &Request<'_>) -> Result<CheckedProof, Answer> {
        let presented = presented(
            request.authorization.iter().map(String::as_bytes),
            request.proofs.iter().map(String::as_bytes),
        );
        let presented = presented.map_err(Answer::Presented)?;
        let signed = SignedProof::read(presented.proof, &Es256).map_err(Answer::Form)?;
        self.issuer.check(signed.nonce(), self.now).map_err(Answer::Nonce)?;
        let expected = Expected {
            method: request.method,
            target: Target::Request(&self.origin, request.path),
            now: self.now,
            window: self.live.lock().unwrap().window(),
            binding: Binding::Token { hash: &TokenHash::of(presented.token), jkt: self.bound.as_ref() },
        };
        signed.check(&expected).map_err(Answer::Claim)
    }
}

/// What the gateway says to this proof.
pub(crate) fn verdict(proof: impl Into<String>) -> Answer {
    Gateway::new().ask(&Request::with(proof))
}

/// A proof, and what the gateway has to say to it.
pub(crate) type Case = (&'static str, String, Answer);

/// Asks about every case, and shows all that are answered otherwise than expected.
pub(crate) fn check(cases: Vec<Case>) {
    let wrong: Vec<_> = cases
        .into_iter()
        .filter_map(|(name, proof, expect)| {
            let answer = verdict(proof);
            (answer != expect).then(|| format!("{name}: {answer:?}, not {expect:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A test for each of these functions, and all their cases together.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        mod checked {
            $(#[test]
            fn $name() {
                crate::gateway::check(super::$name());
            })*
        }

        pub(crate) fn all() -> Vec<Case> {
            [$($name()),*].concat()
        }
    };
}
pub(crate) use cases;
