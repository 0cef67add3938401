//! Divisions and conversions of counted things.

/// `part ÷ whole`; 0 if `whole` is 0, because written numbers must be finite.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one trial are far below 2^52"
)]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}
