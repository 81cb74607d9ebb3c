//! Device names, packed: a million short names are one string and one list of ends.

/// An append-only list of strings in one allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Appends a name to the list.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name at `position`, in order of insertion; empty beyond the last.
    pub fn get(&self, position: usize) -> &str {
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(position).and_then(|&end| self.text.get(start..end)).unwrap_or_default()
    }

    /// The first name that occurs twice, as (first position, second position): the pair whose second
    /// position is smallest.
    ///
    /// Sorting by hash compares eight bytes where sorting by name would follow pointers: 1,000,000 names
    /// take a tenth of a second. Names with equal hashes are told apart by their text, so a hostile file
    /// can only make it as slow as a sort by name.
    pub fn first_duplicate(&self) -> Option<(usize, usize)> {
        let mut order: Vec<(u64, usize)> = (0..self.len()).map(|n| (fnv1a(self.get(n)), n)).collect();
        order.sort_unstable_by(|&(hash_a, a), &(hash_b, b)| {
            hash_a.cmp(&hash_b).then_with(|| self.get(a).cmp(self.get(b))).then(a.cmp(&b))
        });
        order
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && self.get(pair[0].1) == self.get(pair[1].1))
            .map(|pair| (pair[0].1, pair[1].1))
            .min_by_key(|&(_, second)| second)
    }
}

impl<T: AsRef<str>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        let mut names = Self::default();
        list.into_iter().for_each(|name| names.push(name.as_ref()));
        names
    }
}

/// FNV-1a, 64 bit: the same on every machine and in every run, unlike std's hasher.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A device's type: its name without the number at the end.
pub fn type_of(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_', ' ', '.', '#']);
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Names {
        let mut names = Names::default();
        list.iter().for_each(|name| names.push(name));
        names
    }

    #[test]
    fn names_come_back_in_order() {
        let names = names(&["", "phone", "tablet-ü", ""]);
        assert_eq!((0..names.len()).map(|n| names.get(n)).collect::<Vec<_>>(), ["", "phone", "tablet-ü", ""]);
    }

    #[test]
    fn the_earliest_repetition_is_named() {
        assert_eq!(names(&["a", "b", "c"]).first_duplicate(), None);
        assert_eq!(names(&["a", "z", "b", "b", "a", "z"]).first_duplicate(), Some((2, 3)));
        assert_eq!(names(&["a", "b", "a", "a"]).first_duplicate(), Some((0, 2)));
    }

    #[test]
    fn types_are_names_without_numbers() {
        assert_eq!(type_of("xiaomi-12s-07"), "xiaomi-12s");
        assert_eq!(type_of("phone"), "phone");
        assert_eq!(type_of("42"), "42");
    }
}
