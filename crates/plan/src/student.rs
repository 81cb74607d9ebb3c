//! The one quantile that 95 % confidence intervals need.

/// P(|T| < t) for Student's T, with t = √freedom · tan(angle).
///
/// For whole degrees of freedom this is a finite trigonometric sum (Abramowitz and Stegun, 26.7.3–4).
fn central_probability(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // Even: 1 + (1/2)cos² + (1·3)/(2·4)cos⁴ + …   Odd: cos + (2/3)cos³ + (2·4)/(3·5)cos⁵ + …
    let terms = if odd { (freedom - 1) / 2 } else { freedom / 2 };
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    for k in 1..=terms {
        sum += term;
        let step = 2 * k + usize::from(odd);
        term *= cos * cos * (step - 1) as f64 / step as f64;
    }
    if odd { std::f64::consts::FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

/// The 97.5 % quantile of Student's t distribution; infinite without any degree of freedom.
pub(crate) fn t_quantile_975(freedom: usize) -> f64 {
    if freedom == 0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let angle = 0.5 * (low + high);
        if central_probability(angle, freedom) < 0.95 {
            low = angle;
        } else {
            high = angle;
        }
    }
    (freedom as f64).sqrt() * (0.5 * (low + high)).tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_tables() {
        let table = [
            (1, 12.706_204_74),
            (2, 4.302_652_73),
            (3, 3.182_446_31),
            (4, 2.776_445_11),
            (7, 2.364_624_25),
            (10, 2.228_138_85),
            (15, 2.131_449_55),
            (30, 2.042_272_46),
            (1000, 1.962_339_08),
        ];
        for (freedom, expected) in table {
            let t = t_quantile_975(freedom);
            assert!((t - expected).abs() < 1e-8, "{freedom}: {t} against {expected}");
        }
    }
}
