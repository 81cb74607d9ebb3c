//! What the measurements came to: a table for people, JSON for scripts.

use serde_json::{Value, json};

use crate::stats;

/// All that was measured.
pub(super) struct Report {
    pub(super) threads: String,
    pub(super) secs: f64,
    /// The name and version of fedflip.
    pub(super) fedflip: String,
    /// None where PyTorch is not installed.
    pub(super) torch: Option<String>,
    pub(super) rows: Vec<Row>,
}

/// Client updates per second of one model, one rate per repetition.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) model: String,
    pub(super) fedflip: Vec<f64>,
    pub(super) torch: Vec<f64>,
    pub(super) torch_channels_last: Vec<f64>,
}

/// The fastest: a busy machine can only make a run slower.
fn best(rates: &[f64]) -> Option<f64> {
    rates.iter().copied().reduce(f64::max)
}

fn median(rates: &[f64]) -> Option<f64> {
    (!rates.is_empty()).then(|| stats::median(rates.iter().copied()))
}

impl Row {
    pub(super) fn new(model: &str) -> Self {
        let [fedflip, torch, torch_channels_last] = [(); 3].map(|()| Vec::new());
        Self { model: model.to_owned(), fedflip, torch, torch_channels_last }
    }

    /// fedflip's rate over PyTorch's in its faster layout.
    fn ratio(&self, of: fn(&[f64]) -> Option<f64>) -> Option<f64> {
        let layouts = [of(&self.torch), of(&self.torch_channels_last)];
        Some(of(&self.fedflip)? / layouts.into_iter().flatten().reduce(f64::max)?)
    }

    fn json(&self) -> Value {
        let side = |rates: &[f64]| json!({ "best": best(rates), "median": median(rates) });
        json!({
            "model": self.model,
            "fedflip": side(&self.fedflip),
            "torch": side(&self.torch),
            "torch_channels_last": side(&self.torch_channels_last),
            "ratio_best": self.ratio(best),
            "ratio_median": self.ratio(median),
        })
    }
}

impl Report {
    pub(super) fn table(&self) -> String {
        let repetitions = self.rows.first().map_or(0, |row| row.fedflip.len());
        let torch = self.torch.as_ref().map_or(String::new(), |version| format!(" and PyTorch {version}"));
        let mut text = format!(
            "{}{torch}: client updates per second, {} clients at a time\n\
             (10 steps of batch 32 an update; best and median of {repetitions} × {} s, in turn)\n\n",
            self.fedflip, self.threads, self.secs
        );
        text.push_str(&line("model", &["fedflip", "PyTorch", "channels last", "ratio"].map(str::to_owned)));
        for row in &self.rows {
            let [ours, default, channels_last] = [&row.fedflip, &row.torch, &row.torch_channels_last]
                .map(|rates| best_and_median([best(rates), median(rates)], significant));
            let ratios = [row.ratio(best), row.ratio(median)];
            let ratio = best_and_median(ratios, |ratio| format!("{ratio:.2}"));
            text.push_str(&line(&row.model, &[ours, default, channels_last, ratio]));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "threads": self.threads.parse().unwrap_or(1_u64),
            "secs": self.secs,
            "fedflip": self.fedflip,
            "torch": self.torch,
            "models": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
        })
    }
}

fn best_and_median(values: [Option<f64>; 2], show: impl Fn(f64) -> String) -> String {
    let [Some(best), Some(median)] = values else {
        return "–".to_owned();
    };
    format!("{}, {}", show(best), show(median))
}

/// Writes a number with three significant digits.
fn significant(value: f64) -> String {
    let decimals = 2 - value.log10().floor().clamp(-6.0, 2.0) as i32;
    format!("{value:.0$}", decimals.max(0) as usize)
}

fn line(model: &str, cells: &[String; 4]) -> String {
    let cells: String = cells.iter().map(|cell| format!("  {cell:>14}")).collect();
    format!("{model:<18}{cells}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(torch: Option<&str>) -> Report {
        let side = |rates: &[f64]| if torch.is_some() { rates.to_vec() } else { Vec::new() };
        let cnn = Row {
            fedflip: vec![80.0, 100.0, 90.0],
            torch: side(&[30.0, 20.0, 25.0]),
            torch_channels_last: side(&[50.0, 45.0, 10.0]),
            ..Row::new("mnist-cnn")
        };
        let lstm = Row { fedflip: vec![1.5, 1.25], torch: side(&[1.0, 0.5]), ..Row::new("shakespeare-lstm") };
        Report {
            threads: "2".to_owned(),
            secs: 5.0,
            fedflip: "fedflip 0.1.0".to_owned(),
            torch: torch.map(str::to_owned),
            rows: vec![cnn, lstm],
        }
    }

    #[test]
    fn ratios_are_against_the_faster_layout() {
        let table = report(Some("2.15.0")).table();
        assert_eq!(
            table.lines().skip(3).collect::<Vec<_>>(),
            [
                "model                      fedflip         PyTorch   channels last           ratio",
                "mnist-cnn                100, 90.0      30.0, 25.0      50.0, 45.0      2.00, 2.00",
                "shakespeare-lstm        1.50, 1.38     1.00, 0.750               –      1.50, 1.83",
            ]
        );
        assert!(table.starts_with("fedflip 0.1.0 and PyTorch 2.15.0: "));
    }

    #[test]
    fn without_pytorch_fedflip_stands_alone() {
        let alone = report(None);
        assert!(alone.table().contains("mnist-cnn                100, 90.0               –"));
        assert_eq!(
            (&alone.json()["torch"], &alone.json()["models"][0]["ratio_best"]),
            (&json!(null), &json!(null))
        );
    }

    #[test]
    fn json_has_best_median_and_ratio() {
        let json = report(Some("2.15.0")).json();
        assert_eq!(
            (&json["threads"], &json["secs"], &json["torch"]),
            (&json!(2), &json!(5.0), &json!("2.15.0"))
        );
        let cnn = &json["models"][0];
        assert_eq!(cnn["fedflip"], json!({ "best": 100.0, "median": 90.0 }));
        assert_eq!((&cnn["ratio_best"], &cnn["ratio_median"]), (&json!(2.0), &json!(2.0)));
    }
}
