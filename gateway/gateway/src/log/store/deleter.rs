//! Deletes topics: their name at once, their records bit by bit, so that writers do not wait for long.

use rusqlite::Connection;

use super::file;

/// Chunks that are removed in a step; a chunk has at most about 2 MiB.
const CHUNKS_IN_A_STEP: i64 = 16;

/// Topics whose records are still in the file.
#[derive(Debug, Default)]
pub(super) struct Deleter {
    /// Their numbers in the file, which no other topic gets meanwhile.
    left: Vec<i64>,
}

impl Deleter {
    /// Finds records that were left when the gateway ended.
    pub(super) fn open(connection: &Connection) -> rusqlite::Result<Self> {
        let mut first = connection.prepare("SELECT min(id) FROM chunks WHERE id >= ?1")?;
        let mut is_named = connection.prepare("SELECT 1 FROM topics WHERE id = ?1")?;
        let (mut left, mut from) = (Vec::new(), 0);
        loop {
            let next: Option<i64> = first.query_row([file::key(from, 0)], |row| row.get(0))?;
            let Some(key) = next else {
                return Ok(Self { left });
            };
            let topic = file::topic_of(key);
            if !is_named.exists([topic])? {
                left.push(topic);
            }
            from = topic + 1;
        }
    }

    /// Removes the name of a topic; its records are no longer found.
    pub(super) fn begin(&mut self, connection: &Connection, topic: i64) -> rusqlite::Result<()> {
        connection
            .prepare_cached("DELETE FROM topics WHERE id = ?1")?
            .execute([topic])?;
        self.left.push(topic);
        Ok(())
    }

    /// Removes some records; false if none are left.
    pub(super) fn step(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some(topic) = self.left.last().copied() else {
            return Ok(false);
        };
        let removed = connection
            .prepare_cached(
                "DELETE FROM chunks WHERE id IN
                 (SELECT id FROM chunks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3)",
            )?
            .execute([
                file::key(topic, 0),
                file::key(topic + 1, 0),
                CHUNKS_IN_A_STEP,
            ])?;
        if removed == 0 {
            self.left.pop();
        }
        Ok(true)
    }

    /// A number for a new topic: one that no records have.
    pub(super) fn new_number(&self, connection: &Connection) -> rusqlite::Result<i64> {
        let last: i64 = connection
            .prepare_cached("SELECT coalesce(max(id), 0) FROM topics")?
            .query_row([], |row| row.get(0))?;
        let last = self.left.iter().copied().fold(last, i64::max);
        if usize::try_from(last).is_ok_and(|last| last < file::TOPICS_MAX) {
            return Ok(last + 1);
        }
        // All numbers were used: the first one that is free again.
        let mut is_named = connection.prepare_cached("SELECT 1 FROM topics WHERE id = ?1")?;
        let mut number = 1;
        while self.left.contains(&number) || is_named.exists([number])? {
            number += 1;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT);
                 CREATE TABLE chunks (id INTEGER PRIMARY KEY, records BLOB);",
            )
            .unwrap();
        connection
    }

    fn add(connection: &Connection, topic: i64, chunks: i64) {
        for offset in 0..chunks {
            let key = [file::key(topic, offset)];
            let inserted = connection.execute("INSERT INTO chunks VALUES (?1, x'00')", key);
            assert_eq!(inserted.unwrap(), 1);
        }
    }

    fn count(connection: &Connection) -> i64 {
        let count = connection.query_row("SELECT count(*) FROM chunks", [], |row| row.get(0));
        count.unwrap()
    }

    #[test]
    fn records_without_a_topic_are_found_and_removed_in_steps() {
        let connection = database();
        for topic in [2, 3, 7] {
            add(&connection, topic, 20);
        }
        connection
            .execute_batch("INSERT INTO topics VALUES (1, 'a'), (3, 'c')")
            .unwrap();
        let mut deleter = Deleter::open(&connection).unwrap();
        assert_eq!(deleter.left, [2, 7]);
        // Records of a new topic must not come after those of a deleted one.
        assert_eq!(deleter.new_number(&connection).unwrap(), 8);
        assert!(deleter.step(&connection).unwrap());
        assert_eq!(count(&connection), 60 - CHUNKS_IN_A_STEP);
        while deleter.step(&connection).unwrap() {}
        assert_eq!(count(&connection), 20);
        assert_eq!(deleter.new_number(&connection).unwrap(), 4);
        deleter.begin(&connection, 3).unwrap();
        assert_eq!(deleter.new_number(&connection).unwrap(), 4);
        while deleter.step(&connection).unwrap() {}
        assert_eq!(count(&connection), 0);
        assert_eq!(deleter.new_number(&connection).unwrap(), 2);
    }

    #[test]
    fn numbers_are_used_again_when_all_were() {
        let connection = database();
        let last = file::TOPICS_MAX as i64;
        let insert = "INSERT INTO topics VALUES (1, 'a'), (3, 'c'), (?1, 'z')";
        connection.execute(insert, [last]).unwrap();
        let deleter = Deleter { left: vec![2] };
        assert_eq!(deleter.new_number(&connection).unwrap(), 4);
    }
}
