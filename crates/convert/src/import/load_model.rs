//! Whether the load model that was given fits what a file shows: an open load is not believed of a file whose load was closed. Pure.

use anyhow::{Result, bail};
use waggle_stats::{ClosedLoad, SendingIntervals, closed_load};

use super::tally::Tally;

/// Refuses an open load whose requests waited for answers. `path` is that of the file.
pub(crate) fn check_open(path: &str, tally: &Tally) -> Result<()> {
    let Some(load) = find_closed_load(tally) else {
        return Ok(());
    };
    let ClosedLoad {
        max_in_flight,
        usual_in_flight,
        sent_per_s: (fewest, most),
    } = load;
    let in_flight = match usual_in_flight < max_in_flight {
        true => format!("{usual_in_flight} to {max_in_flight} requests were"),
        false if max_in_flight > 1.0 => format!("{max_in_flight} requests were"),
        false => "1 request was".to_owned(),
    };
    bail!(
        "{path}: --load-model open, but the file shows a closed load: {in_flight} in flight nearly all the time and never more, while \
         {fewest:.0} to {most:.0} were sent per second, as answers came. Without --load-model it is imported as closed; if users think \
         between an answer and the next request, say --load-model users"
    );
}

/// Of the measured phase, as long as requests were sent.
fn find_closed_load(tally: &Tally) -> Option<ClosedLoad> {
    let line = &tally.timeline;
    let measured = usize::try_from(line.warm_up_intervals()).ok()?;
    let mut all: Vec<_> = tally.intervals().skip(measured).collect();
    let last_sent = all.iter().rposition(|interval| interval.counts.sent > 0)?;
    // Within the interval of the last one the load runs out.
    all.truncate(last_sent);
    let busy_s: f64 = all
        .iter()
        .map(|interval| interval.in_flight_mean * interval.counts.seconds)
        .sum();
    let sent: Vec<f64> = all
        .iter()
        .map(|interval| float(interval.counts.sent))
        .collect();
    let in_flight: Vec<f64> = all
        .iter()
        .map(|interval| float(interval.in_flight))
        .collect();
    closed_load(&SendingIntervals {
        interval_s: line.interval_s(),
        in_flight: &in_flight,
        sent: &sent,
        mean_time_s: busy_s / sent.iter().sum::<f64>().max(1.0),
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one interval are far below 2^53"
)]
fn float(count: u64) -> f64 {
    count as f64
}
