//! JSON documents and numbers with their exact values.

use contract_runtime::{Json, Number};

/// Parses the input as a document and writes it. Parses its first two lines as numbers, compares them and
/// computes with them.
pub fn run(data: &[u8]) {
    if let Ok(json) = Json::parse(data) {
        let written = json.to_string();
        let again = Json::parse(written.as_bytes()).expect("written JSON can be parsed");
        assert!(again.strict_eq(&json), "{written}");
        assert_eq!(again.to_string(), written);
    }
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    let (Some(one), Some(two)) = (lines.next(), lines.next()) else { return };
    let (Ok(one), Ok(two)) = (Number::parse(one), Number::parse(two)) else { return };
    assert_eq!(Number::parse(&one.to_json_text()).as_ref(), Ok(&one));
    assert_eq!(one.cmp(&two), two.cmp(&one).reverse());
    assert_eq!(one == two, one.cmp(&two).is_eq());
    let _ = (one.to_f64(), one.as_i64(), one.as_u64(), one.as_i128(), one.to_scaled_i64(4));
    let _ = one.round_half_up(2);
    if one.is_multiple_of(&two) && two.is_multiple_of(&one) {
        // Numbers that are multiples of each other differ at most in their sign.
        assert_eq!(one.is_integer(), two.is_integer());
    }
}
