//! Progress of a download.

/// A word on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// What begins now, or was found out.
    Step(&'a str),
    /// How far a download is. Told several times a second.
    Download {
        /// The name of the file.
        file: &'a str,
        /// How much of it is here.
        bytes: u64,
        /// How much there will be.
        total: u64,
    },
}

/// The function that receives progress.
pub type Listener<'a> = &'a mut dyn FnMut(Progress<'_>);

impl Progress<'_> {
    /// Whole per cent of a download; a hundred only when all of it is here.
    pub fn percent(self) -> Option<u64> {
        match self {
            Self::Step(_) => None,
            Self::Download { bytes, total, .. } => {
                Some(bytes.min(total).saturating_mul(100).checked_div(total).unwrap_or(100))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_round_down_and_end_at_a_hundred() {
        let percent = |bytes, total| Progress::Download { file: "x", bytes, total }.percent();
        assert_eq!((percent(0, 7), percent(6, 7), percent(7, 7)), (Some(0), Some(85), Some(100)));
        // More than there should be is seen when it is checked, not here.
        assert_eq!((percent(9, 7), percent(0, 0), percent(999, 1000)), (Some(100), Some(100), Some(99)));
        assert_eq!(Progress::Step("x").percent(), None);
    }
}
