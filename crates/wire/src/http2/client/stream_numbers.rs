//! Which slot a stream's number has: a table with open addressing.

/// Places between two numbers that follow each other: with free places between them, a number is removed without a look at the others.
const STRIDE: usize = 3;

/// Marks a free place.
const NONE: u32 = 0;

#[derive(Debug)]
pub(super) struct StreamNumbers {
    /// Number and slot; at most a quarter is in use.
    places: Box<[(u32, u32)]>,
    mask: usize,
}

impl StreamNumbers {
    /// For at most `most` numbers at a time.
    pub(super) fn new(most: usize) -> Self {
        let length = (most.max(1) * 4).next_power_of_two();
        Self {
            places: vec![(NONE, 0); length].into_boxed_slice(),
            mask: length - 1,
        }
    }

    #[inline]
    fn home(&self, number: u32) -> usize {
        ((number >> 1) as usize * STRIDE) & self.mask
    }

    #[inline]
    pub(super) fn slot_of(&self, number: u32) -> Option<usize> {
        self.place_of(number)
            .map(|place| self.places[place].1 as usize)
    }

    #[inline]
    fn place_of(&self, number: u32) -> Option<usize> {
        let mut place = self.home(number);
        loop {
            match self.places[place].0 {
                NONE => return None,
                other if other == number => return Some(place),
                _ => place = (place + 1) & self.mask,
            }
        }
    }

    /// Adds a number that is not in the table. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, number: u32, slot: usize) {
        let mut place = self.home(number);
        while self.places[place].0 != NONE {
            place = (place + 1) & self.mask;
        }
        self.places[place] = (number, slot as u32);
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        let Some(mut hole) = self.place_of(number) else {
            return;
        };
        // Those behind it that would not be reached any more move up.
        let mut place = hole;
        loop {
            place = (place + 1) & self.mask;
            let (other, slot) = self.places[place];
            if other == NONE {
                break;
            }
            let from_home = place.wrapping_sub(self.home(other)) & self.mask;
            if from_home >= place.wrapping_sub(hole) & self.mask {
                self.places[hole] = (other, slot);
                hole = place;
            }
        }
        self.places[hole].0 = NONE;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn numbers_have_their_slots() {
        let mut numbers = StreamNumbers::new(5);
        let mut model = HashMap::new();
        // A few stay for long while the others come and go, and all meet in one table.
        let mut state = 1_u64;
        for step in 0..10_000_u32 {
            let number = 2 * step + 1;
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if model.len() == 5 {
                let gone = *model
                    .keys()
                    .nth((state >> 33) as usize % model.len())
                    .unwrap();
                model.remove(&gone);
                numbers.remove(gone);
                numbers.remove(gone);
            }
            model.insert(number, step as usize);
            numbers.insert(number, step as usize);
            for (&number, &slot) in &model {
                assert_eq!(numbers.slot_of(number), Some(slot));
            }
            assert_eq!(numbers.slot_of(number + 2), None);
        }
    }
}
