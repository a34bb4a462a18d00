//! Tests of parser and builders: header lines with their challenges or with the position of the error.

use super::*;

/// Asserts that one line parses to these challenges, or fails at this position.
#[track_caller]
fn check(line: impl AsRef<[u8]>, expect: Result<&[&str], usize>) {
    let line = line.as_ref();
    let read = Challenge::parse_line(line);
    let written = read.map(|list| list.iter().map(Challenge::to_string).collect::<Vec<_>>());
    let expect = expect
        .map(|list| list.iter().map(ToString::to_string).collect())
        .map_err(|at| MalformedChallenge { at });
    assert_eq!(written, expect, "{}", line.escape_ascii());
}

/// DPP-13: the examples of the RFCs are parsed.
#[test]
fn examples_of_the_standards() {
    // RFC 9110, 11.6.1
    check(
        r#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
        Ok(&[r#"Basic realm="simple""#, r#"Newauth realm="apps", type="1", title="Login to \"apps\"""#]),
    );
    check("Negotiate", Ok(&["Negotiate"]));
    // RFC 9449, 7.1
    check(r#"DPoP algs="ES256 PS256""#, Ok(&[r#"DPoP algs="ES256 PS256""#]));
    check(
        r#"DPoP error="invalid_token", error_description="Invalid DPoP key binding", algs="ES256""#,
        Ok(&[r#"DPoP error="invalid_token", error_description="Invalid DPoP key binding", algs="ES256""#]),
    );
    // RFC 9449, 7.2
    check(r#"Bearer, DPoP algs="ES256 PS256""#, Ok(&["Bearer", r#"DPoP algs="ES256 PS256""#]));
    check(
        r#"Bearer error="invalid_token", error_description="Invalid token", DPoP algs="ES256 PS256""#,
        Ok(&[
            r#"Bearer error="invalid_token", error_description="Invalid token""#,
            r#"DPoP algs="ES256 PS256""#,
        ]),
    );
    // RFC 9449, 9
    check(
        r#"DPoP error="use_dpop_nonce", error_description="Resource server requires nonce in DPoP proof""#,
        Ok(&[
            r#"DPoP error="use_dpop_nonce", error_description="Resource server requires nonce in DPoP proof""#,
        ]),
    );
    // The example of DPP-13, without quotes.
    check("DPoP algs=ES256, error=use_dpop_nonce", Ok(&[r#"DPoP algs="ES256", error="use_dpop_nonce""#]));
}

#[test]
fn lists_and_whitespace() {
    check("", Ok(&[]));
    check(" ,\t, ", Ok(&[]));
    check("DPoP", Ok(&["DPoP"]));
    check(" DPoP ", Ok(&["DPoP"]));
    check("DPoP,", Ok(&["DPoP"]));
    check("DPoP,Bearer", Ok(&["DPoP", "Bearer"]));
    check(",,DPoP error=use_dpop_nonce", Ok(&[r#"DPoP error="use_dpop_nonce""#]));
    check("DPoP error=x,,, ,algs=y,", Ok(&[r#"DPoP error="x", algs="y""#]));
    // A parameter list may begin with an empty element (RFC 9110, 5.6.1.2).
    check("DPoP ,error=x", Ok(&[r#"DPoP error="x""#]));
    check("DPoP , Bearer realm=a", Ok(&["DPoP", r#"Bearer realm="a""#]));
    check("\tDPoP\terror\t=\tx\t,\talgs=y\t", Ok(&[r#"DPoP error="x", algs="y""#]));
    check("DPoP     error  =  \"x\"  ,  Bearer", Ok(&[r#"DPoP error="x""#, "Bearer"]));
    check("A a=1,B b=2,C,D d==,E e=3", Ok(&[r#"A a="1""#, r#"B b="2""#, "C", "D d==", r#"E e="3""#]));
    check("DPoP error=a, DPoP error=b", Ok(&[r#"DPoP error="a""#, r#"DPoP error="b""#]));
    check("DPOP ERROR=x", Ok(&[r#"DPOP ERROR="x""#]));
    check("!#$%&'*+-.^_`|~ !=~", Ok(&[r#"!#$%&'*+-.^_`|~ !="~""#]));
}

#[test]
fn token68_or_parameter() {
    check("Negotiate abc==", Ok(&["Negotiate abc=="]));
    check("Negotiate oYG3/+-._~==", Ok(&["Negotiate oYG3/+-._~=="]));
    check("S a=", Ok(&["S a="]));
    check("S a== ", Ok(&["S a=="]));
    check("S a= , T", Ok(&["S a=", "T"]));
    check("S abc,", Ok(&["S abc"]));
    check("S abc, T", Ok(&["S abc", "T"]));
    check("S a=b", Ok(&[r#"S a="b""#]));
    check("S a = b", Ok(&[r#"S a="b""#]));
    check("S a=\"\"", Ok(&[r#"S a="""#]));
    check("Negotiate abc==, DPoP error=x", Ok(&["Negotiate abc==", r#"DPoP error="x""#]));
    check("S a=b=", Err(5));
    check("S a =", Err(5));
    check("S a = , T", Err(6));
    check("S a==b", Err(4));
    check("S =a", Err(0)); // the parameter `S` belongs to no challenge
    check("S /=a", Err(2));
    check("S a, b=c", Err(5)); // no parameter may follow a token68
}

#[test]
fn quoted_strings() {
    check(r#"S a="b,c d=e""#, Ok(&[r#"S a="b,c d=e""#]));
    check(r#"S a="\"\\\b""#, Ok(&[r#"S a="\"\\b""#]));
    check("S a=\"\t\"", Ok(&["S a=\"\t\""]));
    check("S a=\"gr\u{fc}n \u{2713}\"", Ok(&["S a=\"gr\u{fc}n \u{2713}\""]));
    check(b"S a=\"gr\xfcn\"", Ok(&["S a=\"gr\u{fc}n\""])); // ISO 8859-1
    check(b"S a=\"\\\xc3\\\xbc\"", Ok(&["S a=\"\u{fc}\""])); // UTF-8, each byte escaped
    check(b"S a=\"\xc3\xbc\xff\"", Ok(&["S a=\"\u{c3}\u{bc}\u{ff}\""]));
    check(r#"S a="b"#, Err(6));
    check(r#"S a=""#, Err(5));
    check(r#"S a="b\"#, Err(7));
    check(r#"S a="b\""#, Err(8));
    check(r#"S a="b"c"#, Err(7));
    check("S a=\"b\0\"", Err(6));
    check("S a=\"b\\\x7f\"", Err(7));
    check("S a=\"b\r\n c\"", Err(6));
}

#[test]
fn malformed_lines() {
    check("error=use_dpop_nonce", Err(0));
    check(" , error = x", Err(3));
    check("DPoP, error=x", Err(6)); // without a space after the scheme, no parameter may follow
    check("DPoP algs=ES256 ES384", Err(16));
    check("DPoP error=x, Error=y", Err(14));
    check("DPoP error=x, algs=y, \"z\"", Err(22));
    check("\"DPoP\"", Err(0));
    check("DPoP\"x\"", Err(4));
    check("DPoP/x", Err(4));
    check("DPoP error;x", Err(10));
    check("DPoP error=x\n", Err(12));
    check("DPoP error=\u{fc}", Err(11));
    check(b"\xff", Err(0));
}

#[test]
fn malformed_challenge_does_not_hide_others() {
    #[track_caller]
    fn check(lines: &[&str], expect: &[&str]) {
        let list = Challenge::parse_lines(lines.iter().map(|line| line.as_bytes()));
        assert_eq!(list.iter().map(Challenge::to_string).collect::<Vec<_>>(), expect, "{lines:?}");
    }

    check(&[], &[]);
    check(&["Basic realm=\"a", "DPoP error=x"], &[r#"DPoP error="x""#]);
    check(&["A", "=,=", "B b=c"], &["A", r#"B b="c""#]);
    // The parameters of a challenge end with their line.
    check(&["DPoP algs=y", "error=x"], &[r#"DPoP algs="y""#]);
    // Within one line, a malformed challenge does not hide the others.
    check(&["Proxy not a challenge, DPoP error=x"], &[r#"DPoP error="x""#]);
    check(&["DPoP error=x, Proxy not a challenge, A"], &[r#"DPoP error="x""#, "A"]);
    check(&["DPoP error=x, \"junk, B, C\", A"], &[r#"DPoP error="x""#, "A"]);
    check(&["DPoP algs=y, \"junk\", error=x"], &[r#"DPoP algs="y""#]);
    check(&["A a=\"\0, B b=c\", D"], &["D"]);
    check(&["DPoP error=x, Basic realm=\"a"], &[r#"DPoP error="x""#]);
    // A malformed challenge is dropped as a whole, including its remaining parameters.
    check(&["DPoP error=x, algs=y z, realm=r, A a=b"], &[r#"A a="b""#]);
    check(&["DPoP error=x, error=y, realm=r, A a=b"], &[r#"A a="b""#]);
    check(&["A x y=\"\\\",B\", c=d, C"], &["C"]);
}

/// DPP-13, DPP-14, DPP-17: the DPoP challenge is found among challenges of other schemes.
#[test]
fn dpop_challenge_is_found_among_other_schemes() {
    #[track_caller]
    fn check(lines: &[&[u8]], algs: Option<&[&str]>, error: Option<DpopError>) {
        let found = DpopChallenge::find_in_headers(lines.iter().copied()).unwrap();
        assert_eq!(found.algs().map(Iterator::collect::<Vec<_>>).as_deref(), algs);
        assert_eq!(found.error(), error.as_ref());
    }

    let nonce = || Some(DpopError::UseDpopNonce);
    check(&[b"DPoP algs=ES256, error=use_dpop_nonce"], Some(&["ES256"]), nonce());
    check(&[b"dpop ERROR=\"use_dpop_nonce\""], None, nonce());
    check(&[b"Negotiate abc==, DPoP error=use_dpop_nonce, Basic realm=x"], None, nonce());
    check(&[b"Basic realm=\"x", b"\xff\0", b"Bearer", b"DPoP error=use_dpop_nonce"], None, nonce());
    check(&[b"DPoP algs=\"ES256  PS256\"", b"Bearer"], Some(&["ES256", "PS256"]), None);
    check(&[b"DPoP"], None, None);
    check(&[b"DPoP token68=="], None, None);
    // Of several DPoP challenges, the first one with an error is used.
    check(&[b"DPoP algs=a, DPoP algs=b, error=use_dpop_nonce"], Some(&["b"]), nonce());
    check(&[b"DPoP error=use_dpop_nonce", b"DPoP error=invalid_token"], None, nonce());
    check(&[b"DPoP algs=a", b"DPoP algs=b"], Some(&["a"]), None);
    // Error codes are case-sensitive (RFC 6749, 5.2).
    check(&[b"DPoP error=Use_dpop_nonce"], None, Some(DpopError::Other("Use_dpop_nonce".into())));

    assert_eq!(
        DpopChallenge::find_in_headers([b"Bearer error=use_dpop_nonce".as_slice(), b"DPoPx", b""]),
        None
    );
}

/// DPP-13, DPP-15, ERR-07, ERR-08: all parameters of a DPoP challenge are parsed.
#[test]
fn dpop_challenge_parameters_are_parsed() {
    let lines = [br#"DPoP realm="r", scope="a b", error="insufficient_scope", error_description="d", algs="ES256 ES384""#];
    let challenge = DpopChallenge::find_in_headers(lines.map(|line| line.as_slice())).unwrap();
    assert_eq!(challenge.error(), Some(&DpopError::InsufficientScope));
    assert_eq!(challenge.error_description(), Some("d"));
    assert_eq!(challenge.scope(), Some("a b"));
    assert_eq!(challenge.realm(), Some("r"));
    assert_eq!(challenge.supports("ES384"), Some(true));
    assert_eq!(challenge.supports("es256"), Some(false)); // RFC 7515, 4.1.1: case-sensitive
    assert_eq!(DpopChallenge::find_in_headers([b"DPoP".as_slice()]).unwrap().supports("ES256"), None);
    assert_eq!(
        DpopChallenge::find_in_headers([b"DPoP algs=\"\"".as_slice()]).unwrap().supports("ES256"),
        Some(false)
    );

    for code in
        ["use_dpop_nonce", "invalid_dpop_proof", "invalid_token", "insufficient_scope", "invalid_grant"]
    {
        let error = DpopError::from_code(code);
        assert_eq!(error.as_str(), code);
        assert_eq!(matches!(error, DpopError::Other(_)), code == "invalid_grant");
    }
}

/// DPP-13, DPP-15, DPP-16: a challenge that a server formats parses to the same challenge.
#[test]
fn server_challenges_round_trip() {
    #[track_caller]
    fn check(challenge: &DpopChallenge, expect: &str) {
        assert_eq!(challenge.to_string(), expect);
        assert_eq!(DpopChallenge::find_in_headers([expect.as_bytes()]).as_ref(), Some(challenge));
    }

    check(&DpopChallenge::required(), r#"DPoP algs="ES256""#);
    check(&DpopChallenge::use_nonce(), r#"DPoP algs="ES256", error="use_dpop_nonce""#);
    check(
        &DpopChallenge::invalid_proof("htm differs").unwrap(),
        r#"DPoP algs="ES256", error="invalid_dpop_proof", error_description="htm differs""#,
    );
    check(
        &DpopChallenge::invalid_token("expired").unwrap(),
        r#"DPoP algs="ES256", error="invalid_token", error_description="expired""#,
    );
    check(
        &DpopChallenge::insufficient_scope("a b", "ask for more").unwrap(),
        r#"DPoP algs="ES256", error="insufficient_scope", error_description="ask for more", scope="a b""#,
    );
    // RFC 6750, 3 does not allow these characters.
    for description in ["\"", "\\", "\n", "\u{fc}", "\t"] {
        assert_eq!(DpopChallenge::invalid_proof(description), Err(ChallengeError::Value));
        assert_eq!(DpopChallenge::insufficient_scope(description, "d"), Err(ChallengeError::Value));
    }
}

#[test]
fn challenge_constructors_validate_their_input() {
    let written =
        Challenge::with_parameters("Newauth", [("title", "Login to \"apps\" \\"), ("Type", "")]).unwrap();
    assert_eq!(written.to_string(), r#"Newauth title="Login to \"apps\" \\", Type="""#);
    assert_eq!(written.param("TYPE"), Some(""));
    assert_eq!(written.param("type "), None);
    assert_eq!(Challenge::with_parameters("DPoP", []), Challenge::bare("dpop"));
    assert_eq!(Challenge::with_token68("Negotiate", "abc==").unwrap().token68(), Some("abc=="));

    use ChallengeError::{Name, Repeated, Scheme, Token68, Value};
    for scheme in ["", "D PoP", "DPoP,", "\u{fc}"] {
        assert_eq!(Challenge::bare(scheme), Err(Scheme));
        assert_eq!(Challenge::with_token68(scheme, "a"), Err(Scheme));
        assert_eq!(Challenge::with_parameters(scheme, []), Err(Scheme));
    }
    for text in ["", "=", "a=b", "a b", "a,", "\""] {
        assert_eq!(Challenge::with_token68("S", text), Err(Token68));
    }
    for name in ["", "a=", "a b", "\u{fc}"] {
        assert_eq!(Challenge::with_parameters("S", [(name, "x")]), Err(Name));
    }
    assert_eq!(Challenge::with_parameters("S", [("a", "x"), ("A", "x")]), Err(Repeated));
    for value in ["\0", "a\nb", "\r", "\x1f", "\x7f"] {
        assert_eq!(Challenge::with_parameters("S", [("a", value)]), Err(Value));
    }
}
