//! What a round should take, computed a second time from the model's equations alone: the product's own solver is
//! under test.

/// How the bandwidth is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Division {
    Adaptive,
    Equal,
}

impl Division {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Equal => "equal",
        }
    }
}

/// T̂ of devices that compute and then send: (seconds, Mbit) each.
pub(super) fn round_secs(jobs: &[(f64, f64)], band_mbps: f64, division: Division) -> f64 {
    let slowest = |secs: &dyn Fn(&(f64, f64)) -> f64| jobs.iter().map(secs).fold(0.0, f64::max);
    match division {
        Division::Equal => slowest(&|(compute, mbit)| compute + mbit * jobs.len() as f64 / band_mbps),
        Division::Adaptive => {
            // Σ mbit/(T − compute) = bandwidth falls in T: halve the interval that holds it.
            let demand = |end: f64| jobs.iter().map(|(compute, mbit)| mbit / (end - compute)).sum::<f64>();
            let mut low = slowest(&|(compute, _)| *compute);
            let mut high = low + jobs.iter().map(|(_, mbit)| mbit).sum::<f64>() / band_mbps;
            for _ in 0..100 {
                let middle = f64::midpoint(low, high);
                if demand(middle) > band_mbps { low = middle } else { high = middle }
            }
            high
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        // 1/(T−1) + 1/(T−2) = 1 has the root (5 + √5)/2 above 2.
        let two = round_secs(&[(1.0, 1.0), (2.0, 1.0)], 1.0, Division::Adaptive);
        assert!((two - (5.0 + 5.0_f64.sqrt()) / 2.0).abs() < 1e-9, "{two}");
        assert_eq!(round_secs(&[(1.0, 1.0), (2.0, 1.0)], 1.0, Division::Equal), 4.0);
        let alone = round_secs(&[(2.0, 50.0)], 100.0, Division::Adaptive);
        assert!((alone - 2.5).abs() < 1e-9, "{alone}");
    }
}
