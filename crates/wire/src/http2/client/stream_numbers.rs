//! Which slot a stream's number has. Numbers go up one by one and streams mostly end in that order: each number has one place, and only
//! if an older stream is still there, the younger one is kept aside.

/// Marks a free place. The number of a stream has 31 bits.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct StreamNumbers {
    /// Number and slot, by the lowest bits of the number.
    places: Box<[(u32, u32)]>,
    /// Those whose place is taken.
    others: Vec<(u32, u32)>,
}

impl StreamNumbers {
    /// For at most `most` numbers at a time.
    pub(super) fn new(most: usize) -> Self {
        let length = (most.max(1) * 2).next_power_of_two();
        Self {
            places: vec![(NONE, 0); length].into_boxed_slice(),
            others: Vec::with_capacity(most),
        }
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        (number >> 1) as usize & (self.places.len() - 1)
    }

    #[inline]
    pub(super) fn slot_of(&self, number: u32) -> Option<usize> {
        let (other, slot) = self.places[self.place(number)];
        match other == number {
            true => Some(slot as usize),
            false => self.slot_aside(number),
        }
    }

    #[cold]
    fn slot_aside(&self, number: u32) -> Option<usize> {
        let mut others = self.others.iter();
        let other = others.find(|(other, _)| *other == number);
        other.map(|(_, slot)| *slot as usize)
    }

    /// Adds a number that is not in the table.
    #[inline]
    pub(super) fn insert(&mut self, number: u32, slot: usize) {
        let place = self.place(number);
        let place = &mut self.places[place];
        match place.0 {
            NONE => *place = (number, slot as u32),
            _ => self.others.push((number, slot as u32)),
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        let place = self.place(number);
        let place = &mut self.places[place];
        match place.0 == number {
            true => place.0 = NONE,
            false => self.others.retain(|(other, _)| *other != number),
        }
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
