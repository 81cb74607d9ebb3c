//! What a round costs, from keys to the model that planner and simulator share.

use fedflip_fleet::{Band, Downlink};
use tempfile::TempDir;

use super::{parse, parse_in};

const TASK: &str = "task.name = 'mnist-cnn'\npreset = 'paper'";

#[test]
fn by_default_rounds_cost_what_they_cost_in_the_paper() {
    let costs = parse(TASK, &[]).unwrap().round_costs();
    assert_eq!((costs.overhead_secs, costs.downlink), (0.0, Downlink::None));
    assert!(matches!(costs.band, Band::Linear(bandwidth) if bandwidth.get() == 100.0));
}

#[test]
fn a_download_is_the_model_in_its_encoding_over_the_bandwidth_of_uploads() {
    let per_upload = |overrides: &[&str]| {
        let keys = [&["round.downlink=unicast"], overrides].concat();
        let Downlink::Unicast(download) = parse(TASK, &keys).unwrap().round_costs().downlink else {
            panic!("no unicast");
        };
        (download.per_upload, download.bandwidth.get())
    };
    assert_eq!(per_upload(&[]), (1.0, 100.0));
    assert_eq!(per_upload(&["downlink.bandwidth_mbps=7"]), (1.0, 7.0));
    assert_eq!(per_upload(&["fleet.bandwidth_mbps=50"]), (1.0, 50.0));
    assert_eq!(per_upload(&["downlink.payload_mbit=1.39776"]).0, 2.0, "twice 32 bit × 21,840");
    // A model in f32 is about eight times as long as an update in int4, and four times as one in int8.
    let (eight, four) = (per_upload(&["update.encoding=int4"]).0, per_upload(&["update.encoding=int8"]).0);
    assert!((7.0..8.0).contains(&eight) && (3.8..4.0).contains(&four), "{eight} {four}");
    let same = per_upload(&["update.encoding=int8", "downlink.encoding=int8"]).0;
    assert_eq!(same, 1.0);
}

#[test]
fn plans_count_on_the_overhead_of_the_rounds_unless_told_otherwise() {
    let planned = |overrides: &[&str]| {
        let keys = [&["round.overhead_secs=0.12"], overrides].concat();
        let scenario = parse(TASK, &keys).unwrap();
        [scenario.round_costs(), scenario.planned_costs()].map(|costs| costs.overhead_secs)
    };
    assert_eq!(planned(&[]), [0.12, 0.12]);
    assert_eq!(planned(&["plan.overhead_secs=0"]), [0.12, 0.0], "the paper as printed");
    assert_eq!(planned(&["plan.overhead_secs='round'"]), [0.12, 0.12]);
}

#[test]
fn spectrum_needs_its_width_and_the_signals_of_all_devices() {
    let folder = TempDir::new().unwrap();
    let fleet = "device,compute_secs,comm_secs,samples,snr_db\na,1,2,30,10\nb,1,2,30,-3\n";
    std::fs::write(folder.path().join("signals.csv"), fleet).unwrap();
    let plain = "device,compute_secs,comm_secs,samples\na,1,2,30\n";
    std::fs::write(folder.path().join("plain.csv"), plain).unwrap();
    let read = |keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        parse_in(folder.path(), "task.name = 'synthetic'", &keys)
            .map(|scenario| scenario.round_costs().band)
            .map_err(|error| format!("{error}; {}", error.hint()))
    };
    let shannon = "fleet.radio=shannon";
    let band = read(&[shannon, "fleet.file=signals.csv", "fleet.spectrum_mhz=20"]).unwrap();
    assert!(matches!(band, Band::Shannon(spectrum) if spectrum.get() == 20.0));
    for (keys, wanted) in [
        (&[shannon, "fleet.file=signals.csv"][..], "set fleet.spectrum_mhz"),
        (&[shannon, "fleet.file=plain.csv", "fleet.spectrum_mhz=20"], "column snr_db"),
        (&[shannon, "fleet.spectrum_mhz=20"], "column snr_db"),
        (&["fleet.spectrum_mhz=0"], "a spectrum above 0 MHz"),
        (&["fleet.spectrum_mhz=nan"], "fleet.spectrum_mhz"),
        (&["fleet.radio=shanon"], "shannon"),
        (&["round.overhead_secs=-1"], "round.overhead_secs: -1"),
        (&["round.downlink=multicast"], "round.downlink"),
        (&["downlink.encoding=int4"], "downlink.encoding"),
    ] {
        let refusal = read(keys).unwrap_err();
        assert!(refusal.contains(wanted), "{keys:?}: {refusal}");
    }
}
