//! Equations that change form where a device reaches its cap.
//!
//! Both P2 and P3 come down to one scalar s: every q_n grows with s until it reaches its cap, at the break
//! point of device n. Between break points the equation for s is solved by a formula in three sums, two
//! over the devices at their cap and one over the others. Sorting the break points and walking up them
//! finds the piece that holds its own root: O(N log N), and no sum is ever undone by a subtraction.

/// One device's part in the equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BreakPoint {
    /// The s from which on the device is at its cap.
    pub at: f64,
    /// Its term while below the cap.
    pub below: f64,
    /// Its two terms at the cap.
    pub capped: [f64; 2],
}

/// The sums of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    /// Over the devices below their cap.
    pub below: f64,
    /// Over the devices at their cap.
    pub capped: [f64; 2],
}

/// Finds s such that `root` of the sums of the piece around s is s.
///
/// Sorts `points`; their `below` terms are replaced by sums on the way.
pub(crate) fn solve(points: &mut [BreakPoint], root: impl Fn(Sums) -> f64) -> f64 {
    points.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
    // Turns each term into the sum from it to the end: what is still below the cap.
    points.iter_mut().rev().fold(0.0, |sum, point| {
        point.below += sum;
        point.below
    });
    let mut capped = [0.0; 2];
    for point in points.iter() {
        let s = root(Sums { below: point.below, capped });
        if s < point.at {
            return s;
        }
        capped[0] += point.capped[0];
        capped[1] += point.capped[1];
    }
    root(Sums { below: 0.0, capped })
}
