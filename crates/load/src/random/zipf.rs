//! Ranks by Zipf's law: rank k, counted from 1, is drawn with a weight of 1 ÷ k^skew.
//!
//! Rejection-inversion (Hörmann and Derflinger, 1996): no table, so the number of ranks does not matter, and hardly more than one random
//! number for each rank.

use super::stream::RandomStream;

/// Zipf's law over a number of ranks.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    ranks: f64,
    skew: f64,
    /// The integral of the weight at the first rank's end, and at the last one's.
    first: f64,
    last: f64,
    /// A point that is so close above its rank is that rank without a further look.
    sure: f64,
}

impl Zipf {
    /// Over `ranks` ranks, at least 1; a skew above 0.
    #[must_use]
    pub fn new(ranks: usize, skew: f64) -> Self {
        let mut zipf = Self {
            ranks: ranks as f64,
            skew,
            first: 0.0,
            last: 0.0,
            sure: 0.0,
        };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.ranks + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// The rank that this stream draws, counted from 0.
    pub(crate) fn draw(&self, stream: RandomStream) -> usize {
        for attempt in 0.. {
            let point = self.last + stream.fraction(attempt) * (self.first - self.last);
            let position = self.inverse(point);
            let rank = position.round().clamp(1.0, self.ranks);
            if rank - position <= self.sure
                || point >= self.integral(rank + 0.5) - self.weight(rank)
            {
                return rank as usize - 1;
            }
        }
        0
    }

    /// The rank that belongs to a seed and a number, counted from 0.
    #[must_use]
    pub fn rank(&self, seed: u64, number: u64) -> usize {
        self.draw(RandomStream::new(seed, number))
    }

    fn weight(&self, rank: f64) -> f64 {
        (-self.skew * rank.ln()).exp()
    }

    /// Of the weight, from 1 on.
    fn integral(&self, to: f64) -> f64 {
        let log = to.ln();
        let scaled = (1.0 - self.skew) * log;
        // (e^x − 1) ÷ x, which is 1 at 0.
        let slope = match scaled.abs() < 1e-8 {
            true => 1.0 + scaled / 2.0,
            false => scaled.exp_m1() / scaled,
        };
        slope * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.skew)).max(-1.0);
        // ln(1 + x) ÷ x, which is 1 at 0.
        let slope = match scaled.abs() < 1e-8 {
            true => 1.0 - scaled / 2.0,
            false => scaled.ln_1p() / scaled,
        };
        (slope * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::Zipf;

    #[test]
    fn ranks_are_drawn_by_their_weight() {
        const DRAWS: u64 = 100_000;
        for (ranks, skew) in [(10, 1.0), (10, 0.5), (7, 2.0), (1, 1.2), (2, 0.99)] {
            let zipf = Zipf::new(ranks, skew);
            let mut counts = vec![0_u32; ranks];
            for number in 0..DRAWS {
                counts[zipf.rank(5, number)] += 1;
            }
            let weights = || (1..=ranks).map(|rank| (rank as f64).powf(-skew));
            let all: f64 = weights().sum();
            for (count, weight) in counts.iter().zip(weights()) {
                let expected = DRAWS as f64 * weight / all;
                // Six standard deviations of a binomial count.
                let off = (f64::from(*count) - expected).abs();
                assert!(off <= 6.0 * expected.sqrt(), "{ranks} {skew}: {counts:?}");
            }
        }
    }

    #[test]
    fn many_ranks_need_no_table() {
        let zipf = Zipf::new(1_000_000_000, 1.01);
        let ranks: Vec<usize> = (0..10_000).map(|number| zipf.rank(1, number)).collect();
        assert!(ranks.iter().all(|rank| *rank < 1_000_000_000));
        assert!(ranks.iter().any(|rank| *rank > 1_000_000));
        assert!(ranks.iter().filter(|rank| **rank == 0).count() > 200);
    }
}
