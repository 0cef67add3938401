//! Numbers within bounds and multiples, computed in exact decimals.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Number, Value};

/// Most digits after the point.
pub(super) const DIGITS_MAX: u32 = 12;

/// `exclusiveMinimum: true` of OpenAPI 3.0 → the number of 3.1.
pub(super) fn make_bounds_numbers(schema: &mut Map<String, Value>) {
    for (exclusive, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(Value::Bool(is_exclusive)) = schema.get(exclusive).cloned() {
            schema.remove(exclusive);
            if is_exclusive && let Some(value) = schema.remove(bound) {
                schema.insert(exclusive.to_owned(), value);
            }
        }
    }
}

/// A number as a whole count of `10^-DIGITS_MAX`; `None` if it has no such form.
pub(super) fn units(value: &Value) -> Option<i128> {
    let text = value.as_number()?.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let shift = exponent.parse::<i32>().ok()? + DIGITS_MAX.cast_signed()
        - i32::try_from(fraction.len()).ok()?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return digits.checked_mul(power);
    }
    (digits % power == 0).then_some(digits / power)
}

/// The integers of a format.
pub(super) fn format_range(format: &Value) -> Option<RangeInclusive<i128>> {
    match format.as_str() {
        Some("int32") => Some(i32::MIN.into()..=i32::MAX.into()),
        Some("int64") => Some(i64::MIN.into()..=i64::MAX.into()),
        _ => None,
    }
}

/// The number of `variant`; the least one first, 1 if there is no least one.
pub(super) fn make(schema: &Value, is_integer: bool, variant: usize) -> Result<Value> {
    let one = 10_i128.pow(DIGITS_MAX);
    let bound = |key: &str| match schema.get(key) {
        None => Ok(None),
        Some(value) => units(value)
            .map(Some)
            .with_context(|| format!("its {key} {value} is not used")),
    };
    let multiple = bound("multipleOf")?.filter(|step| *step > 0);
    let step = match multiple {
        Some(step) if is_integer => {
            step.checked_mul(one)
                .context("its multipleOf is not used")?
                / gcd(step, one)
        }
        Some(step) => step,
        None => one,
    };
    let (least, above) = (bound("minimum")?, bound("exclusiveMinimum")?);
    let of_format = format_range(&schema["format"]).map(|range| *range.end() * one);
    let most = [bound("maximum")?, of_format].into_iter().flatten().min();
    let (most, below) = (most, bound("exclusiveMaximum")?);
    let on_grid = is_integer || multiple.is_some();
    let unit = if on_grid { step } else { 1 };
    // The grid's first point at or above, and last one at or below.
    let low = least.map(|least| {
        least.div_euclid(unit) * unit + if least.rem_euclid(unit) == 0 { 0 } else { unit }
    });
    let low = low.max(above.map(|above| (above.div_euclid(unit) + 1) * unit));
    let high = below.map(|below| (below - 1).div_euclid(unit) * unit);
    let high = most
        .map(|most| most.div_euclid(unit) * unit)
        .map_or(high, |most| Some(high.map_or(most, |high| high.min(most))));
    let nth = i128::try_from(variant).unwrap_or_default() * step;
    let chosen = match (low, high) {
        (Some(low), Some(high)) if low > high => bail!("no number is within its bounds"),
        (Some(low), Some(high)) if !on_grid && above.is_some() => {
            low + (high - low) / (2 + i128::try_from(variant).unwrap_or_default())
        }
        (Some(low), Some(high)) if low + nth > high && !on_grid => {
            low + (high - low) / (1 + i128::try_from(variant).unwrap_or_default())
        }
        (Some(low), _) if !on_grid && above.is_some() => low - 1 + step + nth,
        (Some(low), _) => low + nth,
        (None, Some(high)) if high < step => high - nth,
        (None, _) => step + nth,
    };
    number(chosen).map(Value::Number)
}

fn number(units: i128) -> Result<Number> {
    let one = 10_i128.pow(DIGITS_MAX);
    if units % one == 0 {
        return Number::from_i128(units / one).context("its numbers are beyond 64 bits");
    }
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (
        units.unsigned_abs() / one.unsigned_abs(),
        units.unsigned_abs() % one.unsigned_abs(),
    );
    let text = format!("{sign}{whole}.{fraction:012}");
    text.parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .context("its numbers are not used")
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
