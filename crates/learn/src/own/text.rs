//! Windows of a text: the symbols of a window predict the next one.

use std::ops::Range;

use fedflip_datasets::alphabet;

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
    pub(super) fn new<'t>(texts: impl IntoIterator<Item = &'t str>, window: usize) -> Self {
        let mut all = Self { window, ..Self::default() };
        for text in texts {
            let start = all.symbols.len() as u32;
            all.symbols.extend(text.chars().filter(|c| *c != '\r').map(alphabet::encode));
            let windows = (all.symbols.len() as u32 - start).saturating_sub(window as u32);
            all.windows.push(start..start + windows);
        }
        all
    }

    pub(super) fn windows(&self) -> &[Range<u32>] {
        &self.windows
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
