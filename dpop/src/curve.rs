//! A check whether a point is on P-256 (FIPS 186-5, SP 800-186, 3.2.1.3).
//!
//! Points are public and this module never handles secrets, so it need not run in constant time. The check
//! precedes the signature verification, gives the same result for every backend, and costs a hundredth of a
//! verification.

/// A number below 2²⁵⁶ as four words, least significant first.
type FieldElement = [u64; 4];

/// p = 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1.
const P: FieldElement = [0xffff_ffff_ffff_ffff, 0x0000_0000_ffff_ffff, 0, 0xffff_ffff_0000_0001];
/// The coefficient b of the curve.
const B: FieldElement =
    [0x3bce_3c3e_27d2_604b, 0x651d_06b0_cc53_b0f6, 0xb3eb_bd55_7698_86bc, 0x5ac6_35d8_aa3a_93e7];
/// 2⁵¹² mod p, which converts a number into Montgomery form, in which a·b is computed as a·b·2⁻²⁵⁶.
const SQUARE_OF_R: FieldElement = {
    let mut words = [1, 0, 0, 0];
    let mut bit = 0;
    while bit < 512 {
        words = add(&words, &words);
        bit += 1;
    }
    words
};

/// Returns true if y² = x³ − 3x + b and both coordinates are below p.
///
/// The point at infinity has no such coordinates, so it is rejected.
pub(crate) fn is_on_curve(x: &[u8; 32], y: &[u8; 32]) -> bool {
    let (x, y) = (parse_field_element(x), parse_field_element(y));
    if !below_p(&x) || !below_p(&y) {
        return false;
    }
    let [x, y, b] = [x, y, B].map(|number| mul(&number, &SQUARE_OF_R));
    let cube = mul(&mul(&x, &x), &x);
    let right = add(&sub(&sub(&sub(&cube, &x), &x), &x), &b);
    mul(&y, &y) == right
}

/// Parses 32 bytes, most significant first.
fn parse_field_element(bytes: &[u8; 32]) -> FieldElement {
    let mut words = [0; 4];
    for (word, eight) in words.iter_mut().rev().zip(bytes.chunks_exact(8)) {
        *word = eight.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    words
}

const fn below_p(a: &FieldElement) -> bool {
    sub_with_borrow(a, &P).1
}

/// Returns a − b mod 2²⁵⁶, and whether a < b.
const fn sub_with_borrow(a: &FieldElement, b: &FieldElement) -> (FieldElement, bool) {
    let mut out = [0; 4];
    let mut borrow = false;
    let mut at = 0;
    while at < 4 {
        let (first, below) = a[at].overflowing_sub(b[at]);
        let (second, again) = first.overflowing_sub(borrow as u64);
        out[at] = second;
        borrow = below | again;
        at += 1;
    }
    (out, borrow)
}

/// Returns a + b mod 2²⁵⁶, and whether the sum overflowed.
const fn add_with_carry(a: &FieldElement, b: &FieldElement) -> (FieldElement, bool) {
    let mut out = [0; 4];
    let mut carry = false;
    let mut at = 0;
    while at < 4 {
        let (first, above) = a[at].overflowing_add(b[at]);
        let (second, again) = first.overflowing_add(carry as u64);
        out[at] = second;
        carry = above | again;
        at += 1;
    }
    (out, carry)
}

/// Returns a + b mod p, for a and b below p.
const fn add(a: &FieldElement, b: &FieldElement) -> FieldElement {
    let (sum, overflow) = add_with_carry(a, b);
    let (reduced, below) = sub_with_borrow(&sum, &P);
    if below && !overflow { sum } else { reduced }
}

/// Returns a − b mod p, for a and b below p.
const fn sub(a: &FieldElement, b: &FieldElement) -> FieldElement {
    let (difference, below) = sub_with_borrow(a, b);
    if below { add_with_carry(&difference, &P).0 } else { difference }
}

/// Returns a·b·2⁻²⁵⁶ mod p, for a and b below p: Montgomery multiplication, word by word; −p⁻¹ mod 2⁶⁴ is 1.
const fn mul(a: &FieldElement, b: &FieldElement) -> FieldElement {
    // Five words of the sum; the fifth never exceeds 1.
    let mut sum = [0u64; 5];
    let mut row = 0;
    while row < 4 {
        let top = add_product(&mut sum, b, a[row]);
        // `sum` becomes divisible by 2⁶⁴ and then loses its lowest word.
        let factor = sum[0];
        let more = add_product(&mut sum, &P, factor);
        sum = [sum[1], sum[2], sum[3], sum[4], top + more];
        row += 1;
    }
    let low = [sum[0], sum[1], sum[2], sum[3]];
    let (reduced, below) = sub_with_borrow(&low, &P);
    if below && sum[4] == 0 { low } else { reduced }
}

/// Adds a·factor to the sum and returns the overflow of the fifth word.
const fn add_product(sum: &mut [u64; 5], a: &FieldElement, factor: u64) -> u64 {
    let mut carry = 0u64;
    let mut at = 0;
    while at < 4 {
        let word = sum[at] as u128 + a[at] as u128 * factor as u128 + carry as u128;
        sum[at] = word as u64;
        carry = (word >> 64) as u64;
        at += 1;
    }
    let (word, overflow) = sum[4].overflowing_add(carry);
    sum[4] = word;
    overflow as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> [u8; 32] {
        let digits: Vec<u8> =
            (0..64).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        digits.try_into().unwrap()
    }

    /// The generator G and 2G.
    const POINTS: [(&str, &str); 2] = [
        (
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
        ),
        (
            "7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978",
            "07775510db8ed040293d9ac69f7430dbba7dade63ce982299e04b79d227873d1",
        ),
    ];

    #[test]
    fn only_points_on_the_curve_are_accepted() {
        for (x, y) in POINTS.map(|(x, y)| (bytes(x), bytes(y))) {
            assert!(is_on_curve(&x, &y));
            assert!(!is_on_curve(&y, &x));
            for at in 0..32 {
                for bit in 0..8 {
                    let (mut spoilt_x, mut spoilt_y) = (x, y);
                    spoilt_x[at] ^= 1 << bit;
                    spoilt_y[at] ^= 1 << bit;
                    assert!(!is_on_curve(&spoilt_x, &y) && !is_on_curve(&x, &spoilt_y));
                }
            }
        }
        assert!(!is_on_curve(&[0; 32], &[0; 32]));
        assert!(!is_on_curve(&[0xff; 32], &[0xff; 32]));
    }

    /// A point is accepted with x = 0 and rejected with x = p, which is the same number mod p.
    #[test]
    fn coordinates_are_below_p() {
        let y = bytes("66485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4");
        let p = bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
        assert!(is_on_curve(&[0; 32], &y));
        assert!(!is_on_curve(&p, &y));
    }

    #[cfg(feature = "p256")]
    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: 200, failure_persistence: None, ..Default::default()
        })]

        /// `is_on_curve` and the p256 crate agree. For random x coordinates, half of which belong to a point,
        /// both accept the decompressed point. After one bit of the point is flipped, both accept or both
        /// reject it.
        #[test]
        fn p256_crate_agrees_about_points(x: [u8; 32], odd: bool, at in 0usize..64, bit in 0u8..8) {
            use p256::{PublicKey, Sec1Point};
            let compressed = [&[2 + u8::from(odd)][..], &x].concat();
            if let Ok(key) = PublicKey::from_sec1_bytes(&compressed) {
                let point = Sec1Point::from(key);
                let mut both = [*point.x().unwrap(), *point.y().unwrap()].concat();
                let (x, y) = both.split_at(32);
                proptest::prop_assert!(is_on_curve(x.try_into().unwrap(), y.try_into().unwrap()));
                both[at] ^= 1 << bit;
                let (x, y) = both.split_at(32);
                let other = PublicKey::from_sec1_bytes(&[&[4][..], &both].concat()).is_ok();
                proptest::prop_assert_eq!(is_on_curve(x.try_into().unwrap(), y.try_into().unwrap()), other);
            }
        }
    }
}
