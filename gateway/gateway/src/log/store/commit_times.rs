//! When the latest records were committed. In memory alone: after a restart of the gateway it is not known of older ones.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::TopicSlot;

/// Commits that are remembered, of all topics together: 2 MiB.
const COMMITS_MAX: usize = 65_536;

/// The latest commits.
#[derive(Debug, Default)]
pub(crate) struct CommitTimes(Mutex<VecDeque<Commit>>);

#[derive(Debug, Clone, Copy)]
struct Commit {
    topic: TopicSlot,
    /// Offsets of its records.
    first: i64,
    end: i64,
    unix_ns: i64,
}

impl CommitTimes {
    /// The records of these topics, each from the first to before the end, were committed just now.
    pub(super) fn note(&self, topics: impl Iterator<Item = (TopicSlot, i64, i64)>) {
        let unix_ns = now_unix_ns();
        let mut commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (topic, first, end) in topics {
            if commits.len() == COMMITS_MAX {
                commits.pop_front();
            }
            commits.push_back(Commit {
                topic,
                first,
                end,
                unix_ns,
            });
        }
    }

    /// Forgets the commits of a topic that is deleted.
    pub(super) fn forget(&self, topic: TopicSlot) {
        let mut commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        commits.retain(|commit| commit.topic != topic);
    }

    /// The known commits of a topic's records from this offset on.
    pub(crate) fn topic_commits(&self, topic: TopicSlot, offset: i64) -> TopicCommits {
        let commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = commits.iter().rev().filter(|commit| commit.topic == topic);
        let mut known: Vec<Commit> = newest
            .take_while(|commit| commit.end > offset)
            .copied()
            .collect();
        known.reverse();
        TopicCommits { known, at: 0 }
    }
}

/// Commits of one topic, in order.
#[derive(Debug, Default)]
pub(crate) struct TopicCommits {
    known: Vec<Commit>,
    /// The first that may hold the next offset.
    at: usize,
}

impl TopicCommits {
    /// When the record of an offset was committed, in nanoseconds since 1970, if that is known. Offsets are asked for in order.
    pub(crate) fn unix_ns(&mut self, offset: i64) -> Option<i64> {
        while self.known.get(self.at)?.end <= offset {
            self.at += 1;
        }
        let commit = &self.known[self.at];
        (commit.first <= offset).then_some(commit.unix_ns)
    }
}

fn now_unix_ns() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since_1970.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{COMMITS_MAX, CommitTimes, TopicSlot};

    #[test]
    fn records_have_the_instant_of_their_commit() {
        let times = CommitTimes::default();
        let (slot, other) = (TopicSlot(0), TopicSlot(1));
        times.note([(slot, 5, 8), (other, 0, 3)].into_iter());
        let first = times.topic_commits(slot, 5).unix_ns(5).unwrap();
        times.note([(slot, 8, 9)].into_iter());
        let mut commits = times.topic_commits(slot, 4);
        let second = commits.unix_ns(8).unwrap();
        assert!(second >= first);
        let mut commits = times.topic_commits(slot, 4);
        let each = (4..10).map(|offset| commits.unix_ns(offset));
        let expected = [
            None,
            Some(first),
            Some(first),
            Some(first),
            Some(second),
            None,
        ];
        assert!(each.eq(expected));
        assert_eq!(times.topic_commits(other, 2).unix_ns(2), Some(first));
        assert_eq!(times.topic_commits(TopicSlot(2), 0).unix_ns(0), None);
    }

    #[test]
    fn the_oldest_commits_are_forgotten() {
        let times = CommitTimes::default();
        let topic = TopicSlot(0);
        for offset in 0..=COMMITS_MAX as i64 {
            times.note([(topic, offset, offset + 1)].into_iter());
        }
        let mut commits = times.topic_commits(topic, 0);
        assert_eq!(commits.unix_ns(0), None);
        assert!(commits.unix_ns(1).is_some());
    }
}
