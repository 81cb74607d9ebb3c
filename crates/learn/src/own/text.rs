//! Windows of a text: the symbols of a window predict the next one.

use std::ops::Range;

use super::alphabet::Alphabet;

/// Texts as codes of symbols, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    symbols: Vec<u8>,
    /// The first symbols of the windows of each text.
    windows: Vec<Range<u32>>,
    window: usize,
}

impl Text {
    /// The texts of several files. A text that is no longer than a window has none.
    pub(super) fn new<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        window: usize,
        alphabet: &Alphabet,
    ) -> Self {
        let mut all = Self { window, ..Self::default() };
        for text in texts {
            let start = all.symbols.len() as u32;
            all.symbols.extend(text.chars().filter_map(|character| alphabet.encode(character)));
            let windows = (all.symbols.len() as u32 - start).saturating_sub(window as u32);
            all.windows.push(start..start + windows);
        }
        all
    }

    pub(super) fn windows(&self) -> &[Range<u32>] {
        &self.windows
    }

    /// Takes the end of every text out, and returns the first symbols of its windows: as many as the share of all windows of
    /// the text. The windows before that overlap them and are dropped. A text that would have nothing left keeps all.
    pub(super) fn hold_out(&mut self, share: f64) -> Vec<u32> {
        let window = self.window as u32;
        let mut held = Vec::new();
        for range in &mut self.windows {
            let first = range.end - (range.len() as f64 * share) as u32;
            // The label of a window is the symbol behind it.
            let end = first.saturating_sub(window).max(range.start);
            if end > range.start && first < range.end {
                held.extend(first..range.end);
                *range = range.start..end;
            }
        }
        held
    }

    /// The number of positions, of which not all begin a window.
    pub(super) fn len(&self) -> usize {
        self.symbols.len()
    }

    pub(super) fn label(&self, position: usize) -> u8 {
        self.symbols[position + self.window]
    }

    pub(super) fn write(&self, position: usize, to: &mut [f32]) {
        let window = &self.symbols[position..][..to.len()];
        to.iter_mut().zip(window).for_each(|(to, symbol)| *to = f32::from(*symbol));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_symbol_of_a_held_out_window_is_trained_on() {
        let long = "abcdefghij".repeat(20);
        let mut text = Text::new([long.as_str(), "abcdefg"], 5, &Alphabet::Usual);
        assert_eq!(text.windows(), [0..195, 200..202]);
        let held = text.hold_out(0.2);
        assert_eq!(held, (156..195).collect::<Vec<u32>>());
        let last = text.windows()[0].end - 1;
        assert!(last + 5 < held[0], "the label of the last window is before all that is held out");
        assert_eq!(text.windows(), [0..151, 200..202], "a short text keeps all");
    }
}
