//! The sentence on the encryption of the load's connections.

use waggle_analysis::Model;

use crate::words::{fact::Fact, format};

/// `None` if no connection of the load was encrypted.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let trials = model
        .trials
        .iter()
        .filter_map(|trial| trial.info.connecting);
    let (handshakes, resumed) = trials.fold((0, 0), |(handshakes, resumed), counts| {
        (
            handshakes + counts.handshakes,
            resumed + counts.handshakes_resumed,
        )
    });
    (handshakes > 0).then(|| ("TLS", sentence(handshakes, resumed)))
}

fn sentence(handshakes: u64, resumed: u64) -> String {
    let resumed = match resumed {
        0 => "none of them".to_owned(),
        some => format!("{} of them", format::count(some)),
    };
    format!(
        "the load's connections are encrypted: {} in all trials; {resumed} resumed an earlier session",
        match handshakes {
            1 => "1 handshake".to_owned(),
            some => format!("{} handshakes", format::count(some)),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn handshakes_are_counted() {
        let check = |handshakes, resumed, expected: &str| {
            let expected = format!(
                "the load's connections are encrypted: {expected} resumed an earlier session"
            );
            assert_eq!(sentence(handshakes, resumed), expected);
        };
        check(1, 0, "1 handshake in all trials; none of them");
        check(
            1_500,
            1_200,
            "1,500 handshakes in all trials; 1,200 of them",
        );
    }
}
