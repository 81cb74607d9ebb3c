//! Runs whose sums limit what a single device can do.

use super::Desk;

/// The limits of robust sums follow from the rounds before, also when those were recorded by another process.
#[test]
fn robust_runs_go_on_to_the_same_bytes() {
    let desk = Desk::new();
    desk.write("s.toml", desk.stdout("scenario new synthetic"));
    for rule in ["clipped", "trimmed"] {
        let run = |rounds: u64, out: &str| {
            desk.stdout(&format!(
                "run s.toml --quiet --scheme fixed=0.1 --set fleet.devices=20 --set stop.target_accuracy=1 \
                 --set round.aggregation={rule} --set stop.rounds_max={rounds} --out {out}"
            ))
        };
        let (whole, part) = (format!("whole-{rule}"), format!("part-{rule}"));
        assert!(run(30, &whole).contains(&format!("aggregation       {rule} (biased)")));
        run(12, &part);
        run(30, &format!("{part} --resume"));
        for file in ["records.jsonl", "model.safetensors"] {
            let read = |folder: &str| std::fs::read(desk.folder.path().join(folder).join(file)).unwrap();
            assert!(read(&whole) == read(&part), "{rule}: {file}");
        }
    }
}
