//! A store that lists all of its objects: linear up to 32,000 of them and worse beyond, by two interfaces of which one is quicker
//! while there are few.

use waggle_results::CellInfo;
use waggle_spec::{Comparison, Pair, Scaling, Threshold};

use super::Seeded;

/// From here on the time grows by another exponent.
const BREAK: f64 = 32e3;

impl Seeded {
    /// Two interfaces over ten numbers of objects, with a bound and a pair.
    pub(crate) fn growth() -> Self {
        let objects = [
            "0", "1000", "2000", "4000", "8000", "16000", "32000", "64000", "128000", "256000",
        ];
        let metric = || {
            let path = "put-readings.response_time.p50".split('.');
            path.map(str::to_owned).collect()
        };
        Self {
            question: "How does the time to list all objects grow?".to_owned(),
            asks: vec![metric()],
            scaling: Some(Scaling {
                bounds: vec![Threshold {
                    text: "put-readings.response_time.p50 < 20ms".to_owned(),
                    metric: metric(),
                    op: Comparison::Less,
                    value: 20e3,
                }],
                pairs: vec![Pair {
                    factor: "api".to_owned(),
                    levels: ["kubernetes", "steve"].map(str::to_owned),
                }],
            }),
            ..Self::plain(
                &[("objects", &objects), ("api", &["kubernetes", "steve"])],
                5,
            )
        }
    }
}

/// How quick a cell with objects is, where 1 is usual, and that no request fails.
pub(super) fn pace(cell: &CellInfo) -> Option<(f64, f64)> {
    let level = |name: &str| {
        let mut levels = cell.levels.iter();
        levels.find(|(factor, _)| factor == name)
    };
    let objects: f64 = level("objects")?.1.parse().ok()?;
    let (constant, per_object) = match level("api")?.1.as_str() {
        "kubernetes" => (1.0, 1.0 / 4_000.0),
        _ => (0.6, 1.0 / 3_000.0),
    };
    let counted = match objects > BREAK {
        true => BREAK * (objects / BREAK).powf(1.6),
        false => objects,
    };
    Some((1.0 / (constant + per_object * counted), 0.0))
}
