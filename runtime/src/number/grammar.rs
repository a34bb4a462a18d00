//! The JSON number grammar, and conversions between the written and the binary form of a number.

/// The capacity for a sign, a decimal point, and up to 256 digits at the largest scale.
pub(super) const BUFFER_SIZE: usize = 272;

/// Prints `digits / 10^scale` with exactly `scale` decimals to the end of `buffer`, which the caller must
/// fill with zeros.
pub(super) fn print_small(digits: i64, scale: u8, buffer: &mut [u8; BUFFER_SIZE]) -> &str {
    let mut rest = digits.unsigned_abs();
    let mut at = BUFFER_SIZE;
    let mut decimals = usize::from(scale);
    if decimals > 0 {
        while decimals > 0 {
            at -= 1;
            decimals -= 1;
            buffer[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        at -= 1;
        buffer[at] = b'.';
    }
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if digits < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    std::str::from_utf8(&buffer[at..]).unwrap_or_default()
}

/// The storage form of a parsed JSON number.
pub(super) enum ScannedNumber {
    /// `digits / 10^scale`, from which [`print_small`] restores the exact spelling.
    Small { digits: i64, scale: u8 },
    /// A number that must be stored as written.
    Long,
}

/// Checks the grammar of RFC 8259, section 6, and converts the number to binary if possible. Returns `None`
/// for an invalid number.
pub(super) const fn scan_number(text: &[u8]) -> Option<ScannedNumber> {
    let negative = !text.is_empty() && text[0] == b'-';
    let start = negative as usize;
    let mut at = start;
    let mut magnitude: Option<u64> = Some(0);
    while at < text.len() && text[at].is_ascii_digit() {
        magnitude = push_digit(magnitude, text[at]);
        at += 1;
    }
    if at == start || (text[start] == b'0' && at > start + 1) {
        return None;
    }
    let mut scale = 0;
    if at < text.len() && text[at] == b'.' {
        let first = at + 1;
        at = first;
        while at < text.len() && text[at].is_ascii_digit() {
            magnitude = push_digit(magnitude, text[at]);
            at += 1;
        }
        scale = at - first;
        if scale == 0 {
            return None;
        }
    }
    if at < text.len() {
        return scan_exponent(text, at);
    }
    match magnitude {
        // With up to 18 decimals, every computation fits into 128 bits.
        Some(magnitude) if scale <= 18 => {
            let digits = if negative {
                // Binary integers cannot represent the sign of `-0`.
                if magnitude == 0 || magnitude > i64::MIN.unsigned_abs() {
                    return Some(ScannedNumber::Long);
                }
                0_i64.wrapping_sub_unsigned(magnitude)
            } else if magnitude <= i64::MAX as u64 {
                magnitude as i64
            } else {
                return Some(ScannedNumber::Long);
            };
            Some(ScannedNumber::Small { digits, scale: scale as u8 })
        }
        _ => Some(ScannedNumber::Long),
    }
}

/// Checks the exponent between `at` and the end of `text`.
const fn scan_exponent(text: &[u8], mut at: usize) -> Option<ScannedNumber> {
    if !matches!(text[at], b'e' | b'E') {
        return None;
    }
    at += 1;
    if at < text.len() && matches!(text[at], b'+' | b'-') {
        at += 1;
    }
    if at == text.len() {
        return None;
    }
    while at < text.len() {
        if !text[at].is_ascii_digit() {
            return None;
        }
        at += 1;
    }
    Some(ScannedNumber::Long)
}

const fn push_digit(magnitude: Option<u64>, digit: u8) -> Option<u64> {
    match magnitude {
        Some(magnitude) => match magnitude.checked_mul(10) {
            Some(tenfold) => tenfold.checked_add((digit - b'0') as u64),
            None => None,
        },
        None => None,
    }
}
