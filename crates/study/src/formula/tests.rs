//! Values of formulas from a table, mistakes with their places, and properties of any text.

use proptest::prelude::*;

use super::{Formula, MAX_FORMULA_BYTES, MAX_FORMULA_DEPTH};

fn value(name: &str) -> Result<f64, String> {
    match name {
        "traffic" => Ok(2e6),
        "c" => Ok(100.0),
        "zero" => Ok(0.0),
        "huge" => Ok(f64::MAX),
        other => Err(format!("{other} is text")),
    }
}

fn check(text: &str, expected: f64) {
    let formula = Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(formula.evaluate(&value), Ok(expected), "{text}");
}

/// `excerpt` are the characters of the place.
fn check_mistake(text: &str, excerpt: &str, what: &str) {
    let result = Formula::parse(text).and_then(|formula| formula.evaluate(&value));
    let error = result.expect_err(text);
    let place: String = text
        .chars()
        .skip(error.place.start)
        .take(error.place.width)
        .collect();
    assert_eq!(
        (place.as_str(), error.what.as_str()),
        (excerpt, what),
        "{text}"
    );
}

#[test]
fn values() {
    check("floor(${traffic} / (5 * 9 * ${c}))", 444.0);
    check("1 + 2 * 3", 7.0);
    check("(1 + 2) * 3", 9.0);
    check("10 - 4 - 3", 3.0);
    check("100 / 10 / 5", 2.0);
    check("7 % 3", 1.0);
    check("-7 % 3", -1.0);
    check("-(2 + 3) * -2", 10.0);
    check("1 - -1", 2.0);
    check("2e6 + .5 + 1.", 2_000_001.5);
    check("1e-3", 0.001);
    check("ceil(1.2) + round(2.5) + floor(-0.5)", 4.0);
    check("round(-2.5)", -3.0);
    check("min(3, ${c}, 7) + max(1, 2)", 5.0);
    check(" ${c}\t*\n2 ", 200.0);
}

#[test]
fn mistakes_have_their_places() {
    check_mistake("", "", "the formula ends here");
    check_mistake("1 +", "", "the formula ends here");
    check_mistake("1 2", "2", "the formula has '2' here");
    check_mistake("(1 + 2", "", "the formula ends here");
    check_mistake("1 ^ 2", "^", "the formula has '^' here");
    check_mistake("max(1, 2", "", "the formula ends here");
    check_mistake("floor 2", "2", "the formula has '2' here");
    check_mistake("2 * flor(1)", "flor", "\"flor\" is no function");
    check_mistake("2 * traffic", "traffic", "\"traffic\" is no function");
    check_mistake("floor(1, 2)", "floor", "floor has 2 arguments");
    check_mistake("1 + min(1)", "min", "min has 1 arguments");
    check_mistake("10MB / 2", "10MB", "the number 10 has the unit \"MB\"");
    check_mistake("1 + 1.2.3", "1.2.3", "\"1.2.3\" is no number");
    check_mistake("1e999", "1e999", "\"1e999\" is no number");
    check_mistake("1 + ${c", "${", "a ${ without its }");
    check_mistake("1 + $c", "$", "a $ without {");
    check_mistake("2 / ${zero}", "/", "2 is divided by zero");
    check_mistake("ä / 2", "ä", "\"ä\" is no function");
    check_mistake("5 + 1 % (1 - 1)", "%", "1 is divided by zero");
    check_mistake("1 + ${huge} * 2", "*", "the result is too large");
    check_mistake("1 + ${technology}", "${technology}", "technology is text");
}

#[test]
fn length_and_depth_have_limits() {
    let longest = format!("1{}", " + 1".repeat((MAX_FORMULA_BYTES - 1) / 4));
    check(&longest, 250.0);
    let longer = format!("{longest}{}", " ".repeat(MAX_FORMULA_BYTES));
    check_mistake(
        &longer,
        "1",
        &format!("the formula has {} bytes", longer.len()),
    );
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    check(&nested(MAX_FORMULA_DEPTH - 1), 1.0);
    check_mistake(&nested(MAX_FORMULA_DEPTH), "1", "nested too deep");
    check_mistake(&format!("{}1", "-".repeat(400)), "-", "nested too deep");
}

/// A formula with its value by another way.
fn formulas() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        (0_u32..1_000).prop_map(|number| (number.to_string(), f64::from(number))),
        Just(("${c}".to_owned(), 100.0)),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone()
                .prop_map(|((a, x), (b, y))| (format!("({a} + {b})"), x + y)),
            pair.clone()
                .prop_map(|((a, x), (b, y))| (format!("({a}-{b})"), x - y)),
            pair.clone()
                .prop_map(|((a, x), (b, y))| (format!("({a}) * ({b})"), x * y))
                .prop_map(|(text, value)| (format!("({text})"), value)),
            pair.clone()
                .prop_map(|((a, x), (b, y))| (format!("min({a}, {b})"), x.min(y))),
            pair.prop_map(|((a, x), (b, y))| (format!("max({a},{b})"), x.max(y))),
            inner.clone().prop_map(|(a, x)| (format!("(-{a})"), -x)),
            inner.prop_map(|(a, x)| (format!("floor({a} / 7)"), (x / 7.0).floor())),
        ]
    })
}

proptest! {
    #[test]
    fn a_formula_has_the_value_of_its_parts((text, expected) in formulas()) {
        prop_assume!(text.len() <= MAX_FORMULA_BYTES);
        let formula = Formula::parse(&text).expect("it is well formed");
        let result = formula.evaluate(&value).expect("every name has a value");
        prop_assert!(result == expected, "{text} is {result}, not {expected}");
    }

    #[test]
    fn any_text_has_a_finite_value_or_a_mistake_within_it(text in "[0-9.e+*/%()${}a-z, -]{0,60}|\\PC{0,40}") {
        match Formula::parse(&text).and_then(|formula| formula.evaluate(&value)) {
            Ok(result) => prop_assert!(result.is_finite()),
            Err(error) => prop_assert!(error.place.start <= text.chars().count()),
        }
    }
}
