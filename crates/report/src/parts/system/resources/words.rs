//! Sentences about resource use.

use crate::words::format;
use waggle_analysis::KubeletReadings;

/// How finely CPU and memory are known.
pub(super) fn resolution(readings: KubeletReadings) -> String {
    let apart = match readings.apart_s {
        Some((shortest, longest)) => {
            let [shortest, longest] = [shortest, longest].map(format::three_digits);
            match shortest == longest {
                true => format!("every {shortest} s"),
                false => format!("every {shortest} to {longest} s"),
            }
        }
        None => "at most once in a trial".to_owned(),
    };
    format!(
        "CPU and memory of the system are what kubelets read, {apart}: shorter peaks are not seen"
    )
}

#[cfg(test)]
mod tests {
    use super::{KubeletReadings, resolution};

    #[test]
    fn the_resolution_is_that_of_the_readings() {
        let check = |apart_s: Option<(f64, f64)>, expected: &str| {
            let text = resolution(KubeletReadings { apart_s });
            assert!(text.contains(expected), "{text}");
        };
        check(Some((10.0, 10.0)), "kubelets read, every 10.0 s:");
        check(Some((10.0, 15.46)), "every 10.0 to 15.5 s:");
        check(None, "at most once in a trial:");
    }
}
