//! How often intervals cover the truth, and how often a statement is wrong. The rates are in docs/design/0055.

#![expect(clippy::print_stdout, reason = "the page has these rates")]

use crate::{
    arithmetic::{random::Random, sample::size},
    scaling_law::{
        Errors, LawGrowth, LawTrial, Peak, PowerLaw, UniversalScalability, fit_power_law,
        fit_universal_scalability,
        tests::{ends, settings},
    },
};

const SEEDS: u64 = 300;
const RESAMPLES: usize = 150;
const OBJECTS: [f64; 6] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5];
const THREADS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Trials around a curve that scatter by 4 %.
fn simulate(
    levels: &[f64],
    count: u32,
    curve: impl Fn(f64) -> f64,
    random: &mut Random,
) -> Vec<LawTrial> {
    let trials = levels
        .iter()
        .flat_map(|level| (0..count).map(move |_| *level));
    trials
        .map(|level| LawTrial::exact(level, random.lognormal(curve(level), 0.04)))
        .collect()
}

fn share(hits: usize) -> f64 {
    size(hits) / 300.0
}

fn power_laws(count: u32, curve: impl Fn(f64) -> f64) -> Vec<PowerLaw> {
    let fit = |seed| {
        let trials = simulate(&OBJECTS, count, &curve, &mut Random::from_seed(seed));
        fit_power_law(&trials, &settings(Errors::Relative, RESAMPLES)).unwrap()
    };
    (0..SEEDS).map(fit).collect()
}

fn share_of(laws: &[PowerLaw], growth: LawGrowth) -> f64 {
    share(laws.iter().filter(|law| law.growth == growth).count())
}

fn universal(count: u32, contention: f64, coherency: f64) -> Vec<UniversalScalability> {
    let curve = |n: f64| 1_000.0 * n / (1.0 + (contention + coherency * n) * (n - 1.0));
    let fit = |seed| {
        let trials = simulate(&THREADS, count, curve, &mut Random::from_seed(seed));
        fit_universal_scalability(&trials, &settings(Errors::Relative, RESAMPLES)).unwrap()
    };
    (0..SEEDS).map(fit).collect()
}

fn assert_covers(name: &str, truth: f64, intervals: impl Iterator<Item = (f64, f64)>) {
    let covers = |(low, high): &(f64, f64)| *low <= truth && truth <= *high;
    let covered = share(intervals.filter(covers).count());
    println!("{name} {truth}: {covered}");
    assert!(
        (0.90..=0.99).contains(&covered),
        "{name} {truth}: {covered}"
    );
}

#[test]
fn intervals_of_the_universal_law_cover_the_truth() {
    for (count, contention, coherency) in [
        (3, 0.03, 0.0005),
        (5, 0.1, 0.0005),
        (5, 0.02, 0.0001),
        (1, 0.03, 0.0005),
    ] {
        let laws = universal(count, contention, coherency);
        let all = laws.iter();
        assert_covers(
            "contention",
            contention,
            all.clone().map(|law| ends(&law.contention)),
        );
        assert_covers("coherency", coherency, all.map(|law| ends(&law.coherency)));
    }
}

#[test]
fn the_peak_is_covered() {
    let laws = universal(5, 0.03, 0.0005);
    let peak = |law: &UniversalScalability| match law.peak {
        Peak::At { low, high, .. } => (low, high.unwrap_or(f64::INFINITY)),
        Peak::NotWithin(reach) => (reach, f64::INFINITY),
    };
    assert_covers("peak", (0.97_f64 / 0.0005).sqrt(), laws.iter().map(peak));
}

#[test]
fn intervals_of_the_exponent_cover_the_truth() {
    for (count, constant, exponent) in [(3, 5.0, 1.3), (5, 5.0, 1.0), (5, 1.0, 0.6), (1, 5.0, 1.3)]
    {
        let curve = |n: f64| constant + 300.0 * (n / 3e5).powf(exponent);
        let laws = power_laws(count, curve);
        assert_covers(
            "exponent",
            exponent,
            laws.iter().map(|law| ends(&law.exponent)),
        );
    }
}

#[test]
fn linear_is_seldom_called_otherwise() {
    for count in [1, 3, 5] {
        // Of the second, the exponent is hardly known.
        for constant in [5.0, 200.0] {
            let linear = power_laws(count, |n| constant + 300.0 * (n / 3e5));
            let wrong = [
                LawGrowth::WorseThanLinear,
                LawGrowth::BetterThanLinear,
                LawGrowth::Flat,
            ];
            for growth in wrong {
                let share = share_of(&linear, growth);
                println!("{constant} and linear, {count} trials, called {growth:?}: {share}");
                assert!(share <= 0.05, "{growth:?}: {share}");
            }
        }
    }
}

#[test]
fn flat_is_seldom_called_otherwise() {
    for count in [1, 3, 5] {
        let flat = power_laws(count, |_| 20.0);
        for growth in [
            LawGrowth::WorseThanLinear,
            LawGrowth::Linear,
            LawGrowth::BetterThanLinear,
        ] {
            let share = share_of(&flat, growth);
            println!("flat, {count} trials, called {growth:?}: {share}");
            assert!(share <= 0.05, "{growth:?}: {share}");
        }
        // A change of 5 % is the border: no more.
        let rising = power_laws(count, |n| {
            20.0 * (n / 1e3).powf(1.055_f64.ln() / 300_f64.ln())
        });
        let share = share_of(&rising, LawGrowth::Flat);
        println!("rising by 5.5 %, {count} trials, called flat: {share}");
        assert!(share <= 0.05, "{share}");
    }
}

#[test]
fn what_is_clear_is_said() {
    let check = |curve: fn(f64) -> f64, growth: LawGrowth| {
        let share = share_of(&power_laws(5, curve), growth);
        println!("{growth:?} is found: {share}");
        assert!(share >= 0.8, "{growth:?}: {share}");
    };
    check(|n| 5.0 + 300.0 * (n / 3e5), LawGrowth::Linear);
    check(
        |n| 5.0 + 300.0 * (n / 3e5).powf(1.3),
        LawGrowth::WorseThanLinear,
    );
    check(
        |n| 5.0 + 300.0 * (n / 3e5).powf(0.6),
        LawGrowth::BetterThanLinear,
    );
    check(|n| 5.0 + 300.0 * (n / 1e3).powf(-0.6), LawGrowth::Falls);
    // A step is no power.
    check(|n| if n < 2e4 { 5.0 } else { 50.0 }, LawGrowth::OtherShape);
    let flat = share_of(&power_laws(20, |_| 20.0), LawGrowth::Flat);
    println!("Flat is found, 20 trials: {flat}");
    assert!(flat >= 0.8, "{flat}");
}
