//! Parsing of the `WWW-Authenticate` and `Date` headers, and of the error bodies of token endpoints.

use std::time::Duration;

use dpop_bound::{
    Challenge, DpopChallenge, ProofWindow, TokenError, UnixTime,
    clock::{ClockObservation, ClockReading, ServerClock, parse_date},
};

/// Parses the bytes as one header line, as several header lines, and as an error body of a token endpoint.
pub fn run(data: &[u8]) {
    if let Some(error) = TokenError::from_body(data) {
        assert_eq!(TokenError::from_body(error.to_json().as_bytes()), Some(error));
    }
    let tolerant = Challenge::parse_lines([data]);
    if let Ok(strict) = Challenge::parse_line(data) {
        assert_eq!(tolerant, strict, "both parsers agree on well-formed lines");
    }
    let written: Vec<String> = tolerant.iter().map(ToString::to_string).collect();
    let again =
        Challenge::parse_line(written.join(", ").as_bytes()).expect("formatted challenges can be parsed");
    assert_eq!(again, tolerant);
    let lines = || data.split(|byte| *byte == b'\n');
    if let Some(challenge) = DpopChallenge::find_in_headers(lines()) {
        assert_eq!(DpopChallenge::find_in_headers([challenge.to_string().as_bytes()]), Some(challenge));
    }
    for line in lines() {
        if let Some(date) = parse_date(line) {
            clock(date);
        }
    }
}

/// Updates a server clock with a parsed date and checks the uncertainty of its estimate.
fn clock(date: UnixTime) {
    let reading = |secs| ClockReading {
        wall: UnixTime::from_secs(1_790_000_000 + secs),
        monotonic: Duration::from_secs(secs),
    };
    let Ok(observation) = ClockObservation::new(date, reading(1), reading(2)) else { return };
    let mut clock = ServerClock::default();
    clock.observe(&observation);
    let estimate = clock.now(reading(2));
    assert!(estimate.uncertainty <= Duration::from_secs(4));
    let _ = clock.iat(reading(3), ProofWindow::from_secs(25, 15));
}
