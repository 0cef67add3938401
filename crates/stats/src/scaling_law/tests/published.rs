//! Against published coefficients and against R's `nls` (4.2.2, Debian 12), by `bench/laws/nls.R`.

use crate::scaling_law::{
    Errors, Peak, fit_power_law, fit_universal_scalability,
    tests::{settings, trials},
};

/// Throughput of a ray tracer on an SGI Origin 2000 over processors: Gunther, *Guerrilla Capacity Planning*, 2007, table 5.1; data
/// set `raytracer` of the R package `usl` 3.0.
const RAYTRACER: (&[f64], &[f64]) = (
    &[
        1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 48.0, 64.0,
    ],
    &[
        20.0, 78.0, 130.0, 170.0, 190.0, 200.0, 210.0, 230.0, 260.0, 280.0, 310.0,
    ],
);
/// Scripts per hour of a Sun SPARCcenter 2000 in SPEC SDM91 over users (SPEC, October 1994): data set `specsdm91` of the same package.
const SPEC_SDM91: (&[f64], &[f64]) = (
    &[1.0, 18.0, 36.0, 72.0, 108.0, 144.0, 216.0],
    &[64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
);
/// Queries per second of MySQL on a Cisco UCS server over 1 to 32 threads: Schwartz, *Practical Scalability Analysis with the
/// Universal Scalability Law*, 2015.
const MYSQL: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

fn assert_digits(result: [f64; 3], expected: [f64; 3]) {
    for (result, expected) in result.into_iter().zip(expected) {
        let off = (result - expected).abs();
        assert!(off <= 5e-4 * expected.abs(), "{result} for {expected}");
    }
}

fn check_universal(
    (levels, values): (&[f64], &[f64]),
    errors: Errors,
    expected: [f64; 3],
) -> Option<f64> {
    let law = fit_universal_scalability(&trials(levels, values), &settings(errors, 40)).unwrap();
    let coefficients = [law.scale, law.contention, law.coherency];
    assert_digits(
        coefficients.map(|coefficient| coefficient.estimate.point),
        expected,
    );
    assert_eq!(law.coherency.is_at_bound, expected[2] == 0.0);
    match law.peak {
        Peak::At { level, .. } => Some((level * 10.0).round() / 10.0),
        Peak::NotWithin(_) => None,
    }
}

#[test]
fn published_coefficients() {
    let check = |data, expected| check_universal(data, Errors::Absolute, expected);
    // Vignette of `usl` 3.0: alpha 0.057771, beta 0, gamma 21.848843, no peak.
    assert_eq!(check(RAYTRACER, [21.848_843, 0.057_771, 0.0]), None);
    // The same: alpha 0.0277285, beta 0.0001044, gamma 89.9952, peak at 96.5. The package prints four digits of beta.
    let spec = [89.995_2, 0.027_728_5, 0.000_104_366];
    assert_eq!(check(SPEC_SDM91, spec), Some(96.5));
    // Schwartz: sigma 0.02671591, kappa 7.690945e-4, lambda 995.6486.
    let levels: Vec<f64> = (1..=32).map(f64::from).collect();
    let mysql = [995.648_6, 0.026_715_91, 7.690_945e-4];
    assert_eq!(check((&levels, &MYSQL), mysql), Some(35.6));
}

#[test]
fn r_on_logarithms() {
    let check = |data, expected| check_universal(data, Errors::Relative, expected);
    assert_eq!(check(RAYTRACER, [21.591_5, 0.056_405_4, 3.358_26e-6]), None);
    check(SPEC_SDM91, [67.942_3, 0.013_452_5, 0.000_115_11]);
    let levels: Vec<f64> = (1..=32).map(f64::from).collect();
    check((&levels, &MYSQL), [960.151, 0.020_453_9, 0.000_890_96]);
}

#[test]
fn power_laws_of_r() {
    let levels = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5];
    let check = |values: &[f64], expected| {
        let trials = trials(&levels, values);
        let law = fit_power_law(&trials, &settings(Errors::Relative, 40)).unwrap();
        let coefficients = [law.constant, law.factor, law.exponent];
        assert_digits(
            coefficients.map(|coefficient| coefficient.estimate.point),
            expected,
        );
    };
    check(
        &[
            5.21, 5.47, 6.9, 6.72, 12.4, 13.1, 31.8, 29.9, 101.2, 108.7, 322.1, 301.5,
        ],
        [4.601_21, 0.000_425_314, 1.071_26],
    );
    check(
        &[
            2.02, 2.11, 2.31, 2.26, 3.95, 4.12, 13.2, 12.4, 71.9, 76.3, 402.0, 371.0,
        ],
        [1.995_15, 1.296_68e-6, 1.547_4],
    );
    check(
        &[
            812.0, 790.0, 431.0, 452.0, 260.0, 251.0, 181.0, 176.0, 139.0, 147.0, 133.0, 128.0,
        ],
        [116.345, 86_143.2, -0.698_766],
    );
}
