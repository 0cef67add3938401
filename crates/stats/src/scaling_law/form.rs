//! The laws as functions: a scale that multiplies a shape, with its derivatives.

/// Coefficients of the shape of a law, at most.
pub(super) const MAX_SHAPE: usize = 4;

/// The coefficients of a shape; those that a law does not have are 0.
pub(super) type Shape = [f64; MAX_SHAPE];

/// A law as a function: a scale that multiplies a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Universal,
    Power,
    Broken,
}

impl Form {
    /// How many coefficients its shape has.
    const fn shape_coefficients(self) -> usize {
        match self {
            Self::Universal | Self::Power => 2,
            Self::Broken => 4,
        }
    }

    /// Those of the law: the scale, too.
    pub(super) const fn coefficients(self) -> usize {
        1 + self.shape_coefficients()
    }

    /// The shape at `x`.
    pub(super) fn shape(self, coefficients: Shape, x: f64) -> f64 {
        match self {
            Self::Universal => universal_shape(coefficients, x),
            Self::Power => power_shape(coefficients, x),
            Self::Broken => broken_shape(coefficients, x),
        }
    }

    /// Its derivatives by the coefficients.
    pub(super) fn gradient(self, coefficients: Shape, x: f64) -> Shape {
        match self {
            Self::Universal => universal_gradient(coefficients, x),
            Self::Power => power_gradient(coefficients, x),
            Self::Broken => broken_gradient(coefficients, x),
        }
    }
}

/// A form with the lowest and the highest value of each coefficient of its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Law {
    pub(super) form: Form,
    pub(super) bounds: [(f64, f64); MAX_SHAPE],
}

/// The coefficients of a fit: the scale, then those of the shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fitted {
    pub(super) scale: f64,
    pub(super) shape: Shape,
}

impl Fitted {
    pub(super) fn value(&self, form: Form, x: f64) -> f64 {
        self.scale * form.shape(self.shape, x)
    }
}

fn universal_shape([contention, coherency, ..]: Shape, x: f64) -> f64 {
    x / (1.0 + (contention + coherency * x) * (x - 1.0))
}

fn universal_gradient(coefficients: Shape, x: f64) -> Shape {
    let shape = universal_shape(coefficients, x);
    let by_contention = -shape * shape * (x - 1.0) / x;
    [by_contention, by_contention * x, 0.0, 0.0]
}

fn power_shape([share, exponent, ..]: Shape, x: f64) -> f64 {
    share + (1.0 - share) * power_curve(x, exponent)
}

fn power_gradient([share, exponent, ..]: Shape, x: f64) -> Shape {
    let power = power_curve(x, exponent);
    let by_exponent = match x > 0.0 {
        true => (1.0 - share) * power * x.ln(),
        false => 0.0,
    };
    [1.0 - power, by_exponent, 0.0, 0.0]
}

/// x^k; at 0 nothing is left but the constant.
fn power_curve(x: f64, exponent: f64) -> f64 {
    match x > 0.0 {
        true => x.powf(exponent),
        false => 0.0,
    }
}

/// Share, exponent up to the break, exponent beyond it, logarithm of the break.
fn broken_shape([share, first, second, log_break]: Shape, x: f64) -> f64 {
    share + (1.0 - share) * broken_curve([first, second, log_break], x)
}

fn broken_gradient([share, first, second, log_break]: Shape, x: f64) -> Shape {
    if x <= 0.0 {
        return [1.0, 0.0, 0.0, 0.0];
    }
    let (log, power) = (x.ln(), broken_curve([first, second, log_break], x));
    let growing = (1.0 - share) * power;
    let [by_first, by_second, by_break] = match log < log_break {
        true => [log - log_break, log_break, second - first],
        false => [0.0, log, 0.0],
    };
    [
        1.0 - power,
        growing * by_first,
        growing * by_second,
        growing * by_break,
    ]
}

/// 1 at x = 1, and 0 at 0.
fn broken_curve([first, second, log_break]: [f64; 3], x: f64) -> f64 {
    let log = x.ln();
    match () {
        () if x <= 0.0 => 0.0,
        () if log < log_break => (first * log + (second - first) * log_break).exp(),
        () => (second * log).exp(),
    }
}
