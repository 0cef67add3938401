//! Numbers within bounds and multiples, computed in exact decimals.

use std::{cmp::Ordering, ops::RangeInclusive};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Number, Value};

use super::super::super::exact;

/// Most digits after the point.
const DIGITS_MAX: u32 = 12;
/// Bounds beyond this have no digits after the point, so that all digits before it fit.
const LARGE: u128 = 10_u128.pow(24);

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

/// A number as `digits × 10^-fraction`, with as few digits after the point as it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    fraction: u32,
}

impl Decimal {
    /// `None` if it is no number, or one of more digits.
    pub(super) fn new(value: &Value) -> Option<Self> {
        let text = exact::digits(value)?;
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, after) = digits.split_once('.').unwrap_or((digits, ""));
        let after = after.trim_end_matches('0');
        let mut digits: i128 = format!("{whole}{after}").parse().ok()?;
        let mut shift = exponent.parse::<i32>().ok()?;
        shift = shift.checked_sub(i32::try_from(after.len()).ok()?)?;
        while shift < 0 && digits % 10 == 0 && digits != 0 {
            digits /= 10;
            shift += 1;
        }
        let fraction = if shift < 0 { shift.unsigned_abs() } else { 0 };
        let power = 10_i128.checked_pow(u32::try_from(shift.max(0)).ok()?)?;
        (fraction <= DIGITS_MAX).then_some(())?;
        Some(Self {
            digits: digits.checked_mul(power)?,
            fraction,
        })
    }

    fn from_integer(digits: i128) -> Self {
        Self {
            digits,
            fraction: 0,
        }
    }

    /// As a whole count of `10^-fraction`.
    fn units(self, fraction: u32) -> Option<i128> {
        let power = 10_i128.checked_pow(fraction.checked_sub(self.fraction)?)?;
        self.digits.checked_mul(power)
    }

    fn pair(self, other: Self) -> Option<(i128, i128)> {
        let fraction = self.fraction.max(other.fraction);
        Some((self.units(fraction)?, other.units(fraction)?))
    }

    /// `None` if they cannot be compared.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        let (number, other) = self.pair(other)?;
        Some(number.cmp(&other))
    }

    /// Whether it is a multiple of a step that is more than 0.
    pub(super) fn is_multiple(self, step: Self) -> bool {
        let pair = self.pair(step);
        pair.is_none_or(|(number, step)| step <= 0 || number % step == 0)
    }

    pub(super) fn is_integer(self) -> bool {
        self.fraction == 0
    }
}

/// The integers of a format.
fn format_range(format: &Value) -> Option<RangeInclusive<i128>> {
    match format.as_str() {
        Some("int32") => Some(i32::MIN.into()..=i32::MAX.into()),
        Some("int64") => Some(i64::MIN.into()..=i64::MAX.into()),
        _ => None,
    }
}

/// Whether a number is one of the integers of a format.
pub(super) fn is_in_format(format: &Value, number: Decimal) -> bool {
    let holds =
        |limit: i128, wrong: Ordering| number.compare(Decimal::from_integer(limit)) != Some(wrong);
    format_range(format).is_none_or(|range| {
        holds(*range.start(), Ordering::Less) && holds(*range.end(), Ordering::Greater)
    })
}

/// The bounds and the step of a schema, as whole counts of `10^-fraction`.
struct Grid {
    fraction: u32,
    multiple: Option<i128>,
    least: Option<i128>,
    above: Option<i128>,
    most: Option<i128>,
    below: Option<i128>,
}

impl Grid {
    fn new(schema: &Value, is_integer: bool) -> Result<Self> {
        let decimal = |key: &str| match schema.get(key) {
            None => Ok(None),
            Some(value) => Decimal::new(value)
                .map(Some)
                .with_context(|| format!("its {key} {} is not used", text_of(value))),
        };
        let keys = [
            "multipleOf",
            "minimum",
            "exclusiveMinimum",
            "maximum",
            "exclusiveMaximum",
        ];
        let mut numbers = Vec::new();
        for key in keys {
            numbers.push(decimal(key)?);
        }
        let given = || numbers.iter().flatten();
        let needed = given().map(|number| number.fraction).max().unwrap_or(0);
        let is_large = given().any(|number| number.digits.unsigned_abs() > LARGE);
        let fraction = match is_integer || is_large {
            true => needed,
            false => DIGITS_MAX,
        };
        let mut units = Vec::new();
        for (key, number) in keys.into_iter().zip(&numbers) {
            let of_grid = number.map(|number| number.units(fraction));
            if of_grid == Some(None) {
                bail!("its {key} {} is not used", text_of(&schema[key]));
            }
            units.push(of_grid.flatten());
        }
        let scale = 10_i128.pow(fraction);
        let of_format = format_range(&schema["format"]).map(|range| *range.end() * scale);
        Ok(Self {
            fraction,
            multiple: units[0].filter(|step| *step > 0),
            least: units[1],
            above: units[2],
            most: [units[3], of_format].into_iter().flatten().min(),
            below: units[4],
        })
    }
}

fn text_of(value: &Value) -> String {
    exact::digits(value).unwrap_or_else(|| value.to_string())
}

/// The number of `variant`; the least one first, 1 if there is no least one.
pub(super) fn make(schema: &Value, is_integer: bool, variant: usize) -> Result<Value> {
    let grid = Grid::new(schema, is_integer)?;
    let scale = 10_i128.pow(grid.fraction);
    let step = match grid.multiple {
        Some(step) if is_integer => (step / gcd(step, scale))
            .checked_mul(scale)
            .context("its multipleOf is not used")?,
        Some(step) => step,
        None => scale,
    };
    let on_grid = is_integer || grid.multiple.is_some();
    let variant = i128::try_from(variant).unwrap_or_default();
    choose(&grid, step, on_grid, variant)
        .context("its bounds are not used")?
        .and_then(|units| number(units, grid.fraction))
}

/// `None` if a bound is too large to compute with.
fn choose(grid: &Grid, step: i128, on_grid: bool, variant: i128) -> Option<Result<i128>> {
    let unit = if on_grid { step } else { 1 };
    let floor = |limit: i128| limit.div_euclid(unit).checked_mul(unit);
    // The grid's first point at or above, and last one at or below.
    let mut low = None;
    if let Some(least) = grid.least {
        let up = if least.rem_euclid(unit) == 0 { 0 } else { unit };
        low = Some(floor(least)?.checked_add(up)?);
    }
    if let Some(above) = grid.above {
        low = low.max(Some(floor(above)?.checked_add(unit)?));
    }
    let mut high = None;
    if let Some(below) = grid.below {
        high = Some(floor(below.checked_sub(1)?)?);
    }
    if let Some(most) = grid.most {
        let most = floor(most)?;
        high = Some(high.map_or(most, |high: i128| high.min(most)));
    }
    let nth = variant.checked_mul(step)?;
    let between =
        |parts: i128, low: i128, high: i128| low.checked_add(high.checked_sub(low)? / parts);
    Some(Ok(match (low, high) {
        (Some(low), Some(high)) if low > high => {
            return Some(Err(anyhow::anyhow!("no number is within its bounds")));
        }
        (Some(low), Some(high)) if !on_grid && grid.above.is_some() => {
            between(2 + variant, low, high)?
        }
        (Some(low), Some(high)) if !on_grid && low.checked_add(nth)? > high => {
            between(1 + variant, low, high)?
        }
        (Some(low), _) if !on_grid && grid.above.is_some() => {
            (low - 1).checked_add(step)?.checked_add(nth)?
        }
        (Some(low), _) => low.checked_add(nth)?,
        (None, Some(high)) if high < step => high.checked_sub(nth)?,
        (None, _) => step.checked_add(nth)?,
    }))
}

fn number(units: i128, fraction: u32) -> Result<Value> {
    let scale = 10_u128.pow(fraction);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, after) = (units.unsigned_abs() / scale, units.unsigned_abs() % scale);
    if after == 0 {
        let text = format!("{sign}{whole}");
        if let Some(exact) = exact::number(&text) {
            return Ok(exact);
        }
        let number = text.parse().ok().and_then(Number::from_i128);
        return number
            .map(Value::Number)
            .context("its numbers are not used");
    }
    let width = usize::try_from(fraction).unwrap_or_default();
    let text = format!("{sign}{whole}.{after:0width$}");
    let text = text.trim_end_matches('0');
    if let Some(exact) = exact::number(text) {
        return Ok(exact);
    }
    text.parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .map(Value::Number)
        .context("its numbers are not used")
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
