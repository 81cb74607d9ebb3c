//! What the measurements came to: a table for people, JSON for scripts.

use crate::json::string;

/// All that was measured.
pub(super) struct Report {
    pub(super) threads: usize,
    pub(super) secs: f64,
    /// Names and versions; `None` where PyTorch is not there.
    pub(super) fedflip: String,
    pub(super) torch: Option<String>,
    pub(super) rows: Vec<Row>,
}

/// Client updates per second of one model.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) model: &'static str,
    pub(super) fedflip: Rates,
    pub(super) torch: Rates,
    pub(super) torch_channels_last: Rates,
}

/// One rate a repetition.
#[derive(Debug, Default)]
pub(super) struct Rates(Vec<f64>);

impl Rates {
    pub(super) fn push(&mut self, rate: f64) {
        self.0.push(rate);
    }

    /// The fastest: a busy machine can only make a run slower.
    fn best(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }

    fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
        Some(f64::midpoint(sorted[low], sorted[high]))
    }
}

impl Row {
    /// fedflip's over PyTorch's in its faster layout.
    fn ratio(&self, of: fn(&Rates) -> Option<f64>) -> Option<f64> {
        let layouts = [of(&self.torch), of(&self.torch_channels_last)];
        Some(of(&self.fedflip)? / layouts.into_iter().flatten().reduce(f64::max)?)
    }

    fn sides(&self) -> [(&'static str, &Rates); 3] {
        [
            ("fedflip", &self.fedflip),
            ("torch", &self.torch),
            ("torch_channels_last", &self.torch_channels_last),
        ]
    }
}

impl Report {
    pub(super) fn table(&self) -> String {
        let repetitions = self.rows.first().map_or(0, |row| row.fedflip.0.len());
        let torch = self.torch.as_ref().map_or(String::new(), |version| format!(" and PyTorch {version}"));
        let mut text = format!(
            "{}{torch}: client updates per second, {} clients at a time\n\
             (10 steps of batch 32 an update; best and median of {repetitions} × {} s, in turn)\n\n",
            self.fedflip, self.threads, self.secs
        );
        text.push_str(&line("model", ["fedflip", "PyTorch", "channels last", "ratio"].map(str::to_owned)));
        for row in &self.rows {
            let [ours, default, channels_last] =
                row.sides().map(|(_, rates)| best_and_median([rates.best(), rates.median()], significant));
            let ratios = [row.ratio(Rates::best), row.ratio(Rates::median)];
            let ratio = best_and_median(ratios, |ratio| format!("{ratio:.2}"));
            text.push_str(&line(row.model, [ours, default, channels_last, ratio]));
        }
        text
    }

    pub(super) fn json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(row_json).collect();
        format!(
            "{{\"threads\":{},\"secs\":{},\"fedflip\":{},\"torch\":{},\"models\":[{}]}}",
            self.threads,
            self.secs,
            string(&self.fedflip),
            self.torch.as_deref().map_or("null".to_owned(), string),
            rows.join(",")
        )
    }
}

fn row_json(row: &Row) -> String {
    let mut fields = vec![format!("\"model\":{}", string(row.model))];
    for (name, rates) in row.sides() {
        let (best, median) = (number(rates.best()), number(rates.median()));
        fields.push(format!("\"{name}\":{{\"best\":{best},\"median\":{median}}}"));
    }
    fields.push(format!("\"ratio_best\":{}", number(row.ratio(Rates::best))));
    fields.push(format!("\"ratio_median\":{}", number(row.ratio(Rates::median))));
    format!("{{{}}}", fields.join(","))
}

fn number(value: Option<f64>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

fn best_and_median(values: [Option<f64>; 2], show: impl Fn(f64) -> String) -> String {
    let [Some(best), Some(median)] = values else {
        return "–".to_owned();
    };
    format!("{}, {}", show(best), show(median))
}

/// Three digits that count.
fn significant(value: f64) -> String {
    let decimals = 2 - value.log10().floor().clamp(-6.0, 2.0) as i32;
    format!("{value:.0$}", decimals.max(0) as usize)
}

fn line(model: &str, cells: [String; 4]) -> String {
    let mut text = format!("{model:<18}");
    for cell in cells {
        text.push_str(&format!("  {cell:>14}"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(torch: Option<&str>) -> Report {
        let rates = |rates: &[f64]| Rates(rates.to_vec());
        let side = |numbers: &[f64]| rates(if torch.is_some() { numbers } else { &[] });
        let cnn = Row {
            model: "mnist-cnn",
            fedflip: rates(&[80.0, 100.0, 90.0]),
            torch: side(&[30.0, 20.0, 25.0]),
            torch_channels_last: side(&[50.0, 45.0, 10.0]),
        };
        let lstm = Row {
            model: "shakespeare-lstm",
            fedflip: rates(&[1.5, 1.25]),
            torch: side(&[1.0, 0.5]),
            torch_channels_last: rates(&[]),
        };
        Report {
            threads: 2,
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
        assert!(alone.json().contains("\"torch\":null,"));
        assert!(alone.json().contains("\"ratio_best\":null"));
    }

    #[test]
    fn json_has_best_median_and_ratio() {
        let json = report(Some("2.15.0")).json();
        assert!(json.starts_with(
            "{\"threads\":2,\"secs\":5,\"fedflip\":\"fedflip 0.1.0\",\"torch\":\"2.15.0\",\"models\":[\
             {\"model\":\"mnist-cnn\",\"fedflip\":{\"best\":100,\"median\":90},"
        ));
        assert!(json.contains("\"ratio_best\":2,\"ratio_median\":2}"));
    }
}
