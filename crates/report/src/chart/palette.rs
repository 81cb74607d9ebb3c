//! Which colour and which dashes a scheme or a device type has, the same in all figures.
//!
//! Eight colours that people with any kind of colour vision tell apart, after Okabe and Ito, darkened or
//! lightened until they stand out from a white or a black page, and a violet for the ninth scheme. Baselines are dashed
//! as well.

use std::ops::Range;

/// Colours there are, for what has no colour of its own.
pub(crate) const COLOURS: usize = 8;

/// The known schemes in the order of the colours.
const SCHEMES: [&str; COLOURS + 1] =
    ["exact", "paper", "tight", "sampled", "weighted", "uniform", "fixed", "full", "auto"];

/// The baselines in [`SCHEMES`].
const BASELINES: Range<usize> = 4..8;

/// The colour and dashes of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemeStyle {
    /// Class `c0` to `c8`.
    pub colour: usize,
    /// Class `d0` (solid) to `d4`.
    pub dashes: usize,
}

impl SchemeStyle {
    /// The style of a scheme. A scheme that is not known gets a colour by its name, the same each time.
    pub(crate) fn of(scheme: &str) -> Self {
        let name = scheme.split(['=', '-']).next().unwrap_or(scheme);
        match SCHEMES.iter().position(|known| *known == name) {
            Some(place) if BASELINES.contains(&place) => {
                Self { colour: place, dashes: place - BASELINES.start + 1 }
            }
            Some(place) => Self { colour: place, dashes: 0 },
            None => Self { colour: scheme.bytes().map(usize::from).sum::<usize>() % COLOURS, dashes: 2 },
        }
    }

    /// The class of a curve in this colour.
    pub(crate) fn line_class(self) -> String {
        format!("line c{} d{}", self.colour, self.dashes)
    }

    /// For the area between seeds.
    pub(crate) fn band_class(self) -> String {
        format!("band f{}", self.colour)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_look_different_from_each_other() {
        let looks: Vec<SchemeStyle> = SCHEMES.iter().map(|scheme| SchemeStyle::of(scheme)).collect();
        for (place, look) in looks.iter().enumerate() {
            assert_eq!(look.colour, place);
        }
        assert_eq!(SchemeStyle::of("fixed=0.2"), looks[6]);
        assert_eq!(SchemeStyle::of("new"), SchemeStyle::of("new"));
        assert_ne!(SchemeStyle::of("file=a.csv"), SchemeStyle::of("file=b.csv"));
    }
}
