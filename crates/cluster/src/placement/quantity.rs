//! Quantities as Kubernetes writes them: `500m`, `2`, `1536Mi`, `1.5Gi`, `1e3`.

/// A quantity as a number of its unit (CPUs, bytes); `None`: it is none.
pub(super) fn parse(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let text = text.trim();
    let scaled = SUFFIXES.iter().find_map(|(suffix, factor)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number * factor)
    });
    let number = scaled.or_else(|| text.parse().ok());
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn quantities_of_kubernetes() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(parse(text), expected, "{text}");
        check("2", Some(2.0));
        check("500m", Some(0.5));
        check("100000000n", Some(0.1));
        check("1536Mi", Some(1_610_612_736.0));
        check("1.5Gi", Some(1_610_612_736.0));
        check("128974848", Some(128_974_848.0));
        check("129e6", Some(129e6));
        check("129M", Some(129e6));
        check("2E", Some(2e18));
        check("", None);
        check("many", None);
        check("inf", None);
    }
}
