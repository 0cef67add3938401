//! Which row of a feed a session takes. Each worker has its own part, so that they share no state.

use waggle_spec::FeedOrder;

use crate::{
    random::{stream::RandomStream, zipf::Zipf},
    scenario::model::Feed,
};

/// The feeds of one worker.
#[derive(Debug)]
pub(crate) struct Feeds {
    /// Number of rows taken of each feed.
    taken: Vec<u64>,
    /// Rows of `Cycle` and `Once` that an earlier load has taken.
    done: u64,
    worker: u64,
    workers: u64,
    random: RandomStream,
    /// Of feeds with that order.
    zipf: Vec<Option<Zipf>>,
}

/// The session that takes a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowUser {
    pub(crate) session: u64,
    /// Counted from 0, over all workers.
    pub(crate) user: u64,
}

impl Feeds {
    pub(crate) fn new(
        feeds: &[Feed],
        done: u64,
        (worker, workers): (usize, usize),
        random: RandomStream,
    ) -> Self {
        Self {
            taken: vec![0; feeds.len()],
            done,
            worker: worker as u64,
            workers: workers as u64,
            random,
            zipf: feeds.iter().map(zipf).collect(),
        }
    }

    /// Whether a feed has no row left.
    pub(crate) fn is_used_up(&self, number: usize, feed: &Feed) -> bool {
        feed.order == FeedOrder::Once && self.next(number) >= feed.rows.len() as u64
    }

    /// Takes a row of a feed that is not used up.
    pub(crate) fn take(&mut self, number: usize, feed: &Feed, taker: RowUser) -> usize {
        let rows = feed.rows.len() as u64;
        let row = match feed.order {
            FeedOrder::Cycle | FeedOrder::Once => self.next(number) % rows,
            FeedOrder::Random => self.random.inner(number as u64).bits(taker.session) % rows,
            FeedOrder::Zipf { .. } => self.draw(number, taker),
            FeedOrder::Recent { .. } => rows - 1 - self.draw(number, taker),
            FeedOrder::PerUser => taker.user % rows,
        };
        self.taken[number] += 1;
        usize::try_from(row).expect("a row's number is below the length of a list")
    }

    /// Workers get rows in turn, independent of their speed.
    fn next(&self, number: usize) -> u64 {
        self.done + self.taken[number] * self.workers + self.worker
    }

    fn draw(&self, number: usize, taker: RowUser) -> u64 {
        let stream = self.random.inner(number as u64).inner(taker.session);
        self.zipf[number].map_or(0, |zipf| zipf.draw(stream) as u64)
    }
}

fn zipf(feed: &Feed) -> Option<Zipf> {
    match feed.order {
        FeedOrder::Zipf { skew } | FeedOrder::Recent { skew } => {
            Some(Zipf::new(feed.rows.len(), skew))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(order: FeedOrder, rows: usize) -> Feed {
        Feed {
            name: "f".to_owned(),
            columns: vec!["c".to_owned()],
            rows: (0..rows).map(|row| vec![row.to_string()]).collect(),
            order,
        }
    }

    /// The rows that sessions of one worker take, until the feed is used up or the expected number is reached.
    fn check(order: FeedOrder, rows: usize, worker: (usize, usize), expected: &[usize]) {
        let feed = feed(order, rows);
        let mut feeds = Feeds::new(
            std::slice::from_ref(&feed),
            0,
            worker,
            RandomStream::new(7, 7),
        );
        let mut sequence = Vec::new();
        while sequence.len() < expected.len() && !feeds.is_used_up(0, &feed) {
            let number = sequence.len() as u64;
            let taker = RowUser {
                session: number,
                user: number % 2,
            };
            sequence.push(feeds.take(0, &feed, taker));
        }
        assert_eq!(sequence, expected, "{order:?} {rows} {worker:?}");
        let is_used_up = feeds.is_used_up(0, &feed);
        assert_eq!(is_used_up, order == FeedOrder::Once, "{order:?}");
    }

    #[test]
    fn rows_go_in_their_order() {
        check(FeedOrder::Cycle, 3, (0, 1), &[0, 1, 2, 0, 1]);
        check(FeedOrder::Cycle, 3, (1, 2), &[1, 0, 2, 1, 0]);
        check(FeedOrder::Once, 3, (0, 1), &[0, 1, 2]);
        check(FeedOrder::Once, 5, (0, 2), &[0, 2, 4]);
        check(FeedOrder::Once, 5, (1, 2), &[1, 3]);
        check(FeedOrder::Once, 1, (1, 2), &[]);
        check(FeedOrder::PerUser, 2, (0, 2), &[0, 1, 0, 1]);
    }

    #[test]
    fn random_rows_are_evenly_spread() {
        const SESSIONS: u64 = 10_000;
        let feed = feed(FeedOrder::Random, 4);
        let mut feeds = Feeds::new(
            std::slice::from_ref(&feed),
            0,
            (0, 1),
            RandomStream::new(3, 3),
        );
        let mut counts = [0_u32; 4];
        for session in 0..SESSIONS {
            counts[feeds.take(0, &feed, RowUser { session, user: 0 })] += 1;
        }
        // Six standard deviations of a binomial count with p = 1/4.
        for count in counts {
            assert!((2_240..=2_760).contains(&count), "{counts:?}");
        }
    }

    #[test]
    fn the_first_or_the_last_rows_come_most_often() {
        let check = |order, most: usize, least: usize| {
            let feed = feed(order, 100);
            let feeds = std::slice::from_ref(&feed);
            let mut feeds = Feeds::new(feeds, 0, (0, 1), RandomStream::new(3, 3));
            let mut counts = [0_u32; 100];
            for session in 0..10_000 {
                counts[feeds.take(0, &feed, RowUser { session, user: 0 })] += 1;
            }
            // 1 ÷ the sum of 1 ÷ k up to 100 is 0.193.
            assert!((1_700..=2_160).contains(&counts[most]), "{counts:?}");
            assert!(counts[least] < 60, "{counts:?}");
        };
        check(FeedOrder::Zipf { skew: 1.0 }, 0, 99);
        check(FeedOrder::Recent { skew: 1.0 }, 99, 0);
    }

    #[test]
    fn a_later_load_continues_with_the_next_row() {
        let feed = feed(FeedOrder::Once, 7);
        let mut feeds = Feeds::new(
            std::slice::from_ref(&feed),
            3,
            (1, 2),
            RandomStream::new(3, 3),
        );
        let mut rows = Vec::new();
        while !feeds.is_used_up(0, &feed) {
            rows.push(feeds.take(
                0,
                &feed,
                RowUser {
                    session: 0,
                    user: 0,
                },
            ));
        }
        assert_eq!(rows, [4, 6]);
    }
}
