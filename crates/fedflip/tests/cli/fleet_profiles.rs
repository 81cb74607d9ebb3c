//! Fleets by profile: what is printed, and that every one of them can be planned.

use super::Desk;

const PROFILES: [&str; 5] = ["paper", "paper-calibrated", "wifi", "4g", "nb-iot"];

/// A plan of each profile, over its bandwidth and, where devices have a signal, over the spectrum of its channel.
#[test]
fn every_profile_plans() {
    let desk = Desk::new();
    for (profile, mbps, mhz) in [
        ("paper", "100", None),
        ("paper-calibrated", "100", None),
        ("wifi", "279", Some("80")),
        ("4g", "51", Some("18")),
        ("nb-iot", "0.0625", Some("0.18")),
    ] {
        desk.write("new.csv", desk.stdout(&format!("fleet new --profile {profile}")));
        for scheme in ["exact", "paper", "auto"] {
            let constants = if scheme == "auto" { "" } else { "--alpha 28.474 --beta 4" };
            let bands = [Some(format!("--bandwidth {mbps}")), mhz.map(|mhz| format!("--spectrum-mhz {mhz}"))];
            for band in bands.into_iter().flatten() {
                let plan = desk.json(&format!("plan new.csv {band} {constants} --scheme {scheme}"));
                let secs = plan["round_secs"]["mean"].as_f64();
                assert!(secs.is_some_and(|secs| secs > 0.0), "{profile}, {band}, {scheme}: {plan}");
            }
        }
    }
}

#[test]
fn the_default_profile_is_the_papers() {
    let desk = Desk::new();
    assert_eq!(desk.stdout("fleet new --seed 7"), desk.stdout("fleet new --seed 7 --profile paper"));
    for profile in PROFILES {
        let line = format!("fleet new --devices 30 --seed 3 --profile {profile}");
        assert_eq!(desk.stdout(&line), desk.stdout(&line), "{profile}");
    }
}

/// The ratios for which the fleet was calibrated. They depend on who holds how much data, so that three splits are
/// averaged; `experiments/calibration` has more.
#[test]
fn the_calibrated_fleet_repeats_the_papers_ratios() {
    let desk = Desk::new();
    let secs = |scheme: &str, mbps: u32| {
        let constants = "--alpha 28.474 --beta 2.2043";
        let plan = desk.json(&format!("plan new.csv --bandwidth {mbps} {constants} --scheme {scheme}"));
        plan["total_secs"].as_f64().unwrap()
    };
    let printed = [
        ("full", 100, 7.35_f64),
        ("fixed=0.2", 100, 3.58),
        ("weighted", 100, 1.57),
        ("uniform", 100, 1.68),
        ("full", 200, 6.26),
        ("full", 400, 5.68),
    ];
    let mut errors = [0.0; 6];
    for seed in 0..3 {
        desk.write("new.csv", desk.stdout(&format!("fleet new --profile paper-calibrated --seed {seed}")));
        for (error, (scheme, mbps, ratio)) in errors.iter_mut().zip(printed) {
            *error += (secs(scheme, mbps) / secs("paper", mbps) / ratio).ln() / 3.0;
        }
    }
    assert!(errors.iter().all(|error| error.abs() < 0.2), "{errors:?}");
}

#[test]
fn fleet_show_has_the_limits_of_links() {
    let desk = Desk::new();
    desk.write("new.csv", desk.stdout("fleet new --profile 4g"));
    assert!(desk.stdout("fleet show new.csv").contains("limit of the link"));
    let shown = desk.json("fleet show new.csv");
    assert!(shown["link_mbps"]["max"].as_f64() <= Some(51.02), "{shown}");
    assert!(shown["snr_db"]["min"].as_f64() >= Some(-3.18), "{shown}");
    assert!(desk.json("fleet show fleet.csv").get("link_mbps").is_none());
}
