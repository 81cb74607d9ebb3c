//! Bad input: exit code 2, nothing on standard output, a sentence that says where and what.

use super::Desk;

pub(super) fn assert_refused(desk: &Desk, line: &str, input: &[u8], wanted: &[&str]) {
    let output = desk.run_with_input(line, input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {error}");
    assert!(output.stdout.is_empty(), "{line} printed {}", String::from_utf8_lossy(&output.stdout));
    assert!(!error.contains("panicked"), "{line}: {error}");
    for part in wanted {
        assert!(error.contains(part), "{line} was refused with\n{error}which lacks {part:?}");
    }
}

#[test]
fn files() {
    let desk = Desk::new();
    let header = "device,compute_secs,comm_secs,samples,availability\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["standard input", "empty", "hint:"]),
        ("{h}", &["standard input", "no device"]),
        ("device,compute_secs,samples\n", &["line 1", "comm_secs", "missing"]),
        (
            "device,compute_secs,comm_secs,sample\n",
            &["line 1", "column 4", "\"sample\"", "did you mean samples"],
        ),
        ("{h}a,NaN,1,1,1\n", &["line 2", "compute_secs", "\"NaN\""]),
        ("{h}a,1,inf,1,1\n", &["line 2", "comm_secs", "\"inf\""]),
        ("{h}a,-1,1,1,1\n", &["line 2", "compute_secs", "\"-1\""]),
        ("{h}a,1,1,0,1\n", &["line 2", "samples", "\"0\""]),
        ("{h}a,1,1,-2,1\n", &["line 2", "samples", "\"-2\""]),
        ("{h}a,1,1,1,0\n", &["line 2", "availability", "\"0\""]),
        ("{h}a,1,1,1,1.5\n", &["line 2", "availability", "\"1.5\""]),
        ("{h}a,1,1,1,1\na,1,1,1,1\n", &["line 3", "device", "\"a\"", "line 2"]),
        ("{h}a,1,1\n", &["line 2", "samples", "3 fields"]),
        ("\x7fELF\0\0\0", &["line 1", "binary"]),
        ("phone,1,7,300\n", &["line 1", "header is missing"]),
        ("{h}a\0b,1,1,1,1\n", &["line 2", "zero byte"]),
        ("{h}\"a,1,1,1,1\n", &["line 2", "column 1", "quotes"]),
        ("{h}a\x1b[31m,1,1,1,1\n", &["line 2", "\\u{1b}[31m", "control characters"]),
    ];
    for (text, wanted) in cases {
        let text = text.replace("{h}", header);
        for command in
            ["plan - --bandwidth 1 --alpha 1 --beta 9", "fleet show -", "allocate - --bandwidth 1 --cohort 0"]
        {
            assert_refused(&desk, command, text.as_bytes(), wanted);
        }
    }
    assert_refused(&desk, "fleet show nowhere.csv", b"", &["nowhere.csv", "cannot be opened"]);
    assert_refused(&desk, "fleet show .", b"", &[".: cannot be read"]);
}

#[test]
fn numbers_and_names() {
    let desk = Desk::new();
    let cases: &[(&str, &[&str])] = &[
        ("plan fleet.csv --bandwidth 0 --alpha 1 --beta 9", &["--bandwidth", "0", "above 0"]),
        ("plan fleet.csv --bandwidth -3 --alpha 1 --beta 9", &["--bandwidth", "-3"]),
        ("plan fleet.csv --bandwidth NaN --alpha 1 --beta 9", &["--bandwidth", "NaN"]),
        (
            "plan fleet.csv --bandwidth 100Mbps --alpha 1 --beta 9",
            &["--bandwidth", "'100Mbps'", "without a unit"],
        ),
        ("plan fleet.csv --bandwidth 1e300 --alpha 1 --beta 9", &["--bandwidth: 1e300", "1e9"]),
        ("plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --step 1", &["exact", "paper-linesearch"]),
        ("plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --compare --step -1", &["--step", "-1"]),
        (
            "plan fleet.csv --bandwidth 100 --scheme exact --variance 1",
            &["variance", "exact", "--scheme auto"],
        ),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --compare --variance -1",
            &["--variance", "-1", "1e-6"],
        ),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --scheme paper-linesearch --step 1e9",
            &["--step", "1000000000", "range of M"],
        ),
        ("plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --seed -1", &["--seed", "whole number"]),
        ("plan fleet.csv --bandwidth 100 --alpha -1 --beta 9", &["--alpha", "-1"]),
        ("plan fleet.csv --bandwidth 100 --alpha 1 --beta inf", &["--beta", "inf"]),
        ("plan fleet.csv --bandwidth 100 --alpha 1", &["--beta"]),
        (
            "plan fleet.csv --bandwidth 100 --scheme exact",
            &["--alpha", "--pilot", "auto and the baselines need neither"],
        ),
        ("plan fleet.csv --alpha 1 --beta 9", &["--bandwidth"]),
        ("plan fleet.csv --bandwith 100 --alpha 1 --beta 9", &["--bandwith", "--bandwidth"]),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 0.01",
            &["0.01", "Σ a²/cap = 0.0202", "falls short by 0.0102"],
        ),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --scheme exat",
            &["\"exat\"", "did you mean exact"],
        ),
        ("plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --scheme fixed=2", &["fixed=2", "at most 1"]),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 0.2 --scheme paper",
            &["honor-70-", "position 4", "exact"],
        ),
        (
            "plan fleet.csv --bandwidth 100 --alpha 1 --beta 9 --scheme paper-linesearch --step 0",
            &["--step", "0"],
        ),
        ("plan fleet.csv --bandwidth 100 --pilot 18:uniform", &["two pilots"]),
        (
            "plan fleet.csv --bandwidth 100 --pilot 11:uniform --pilot 18:full",
            &["11 rounds at Σ a²/q = 2.02", "18 at", "F_s"],
        ),
        ("plan fleet.csv --bandwidth 100 --pilot 18:uniform --pilot 18:full", &["do not grow"]),
        ("plan fleet.csv --bandwidth 100 --pilot 18:full --pilot 11:full", &["same sampling variance"]),
        (
            "plan fleet.csv --bandwidth 100 --pilot 500+:uniform --pilot 11:full",
            &["gave up after 500", "longer"],
        ),
        ("plan fleet.csv --bandwidth 100 --pilot 18:exact --pilot 11:full", &["exact has no q"]),
        (
            "plan fleet.csv --bandwidth 100 --pilot 1:full --pilot 100:fixed=0.02 --pilot 100:uniform",
            &["contradict", "100 rounds"],
        ),
        ("plan fleet.csv --bandwidth 100 --pilot -3:uniform --pilot 11:full", &["--pilot", "-3", "from 1"]),
        ("plan fleet.csv --bandwidth 100 --pilot 18 --pilot 11:full", &["\"18\"", "colon", "18:uniform"]),
        (
            "plan fleet.csv --bandwidth 100 --pilot x:full --pilot 11:full",
            &["\"x:full\"", "number of rounds"],
        ),
        ("plan fleet.csv --bandwidth 100 --pilot 0:full --pilot 11:uniform", &["--pilot: 0", "from 1"]),
        ("allocate fleet.csv --bandwidth 100 --cohort 3,100", &["\"100\"", "outside", "0 to 99"]),
        (
            "allocate fleet.csv --bandwidth 100 --cohort xiaomi-12s-3",
            &["xiaomi-12s-3", "did you mean xiaomi-12s-"],
        ),
        ("allocate fleet.csv --bandwidth 100 --cohort 3,xiaomi-12s-03", &["twice"]),
        ("allocate fleet.csv --bandwidth 100 --cohort 3,7,3", &["\"3\"", "twice"]),
        (
            "allocate fleet.csv --bandwidth 100 --cohort 3,-1",
            &["\"-1\"", "neither a device name nor a position"],
        ),
        (
            "allocate fleet.csv --bandwidth 100 --cohort 3,,4",
            &["\"\"", "neither a device name nor a position"],
        ),
        ("allocate fleet.csv --bandwidth 100 --cohort ''", &["\"\"", "neither a device name nor a position"]),
        ("fleet new --devices 0", &["no devices"]),
        ("fleet new --devices 10000000000000", &["--devices", "at most 20000000"]),
        ("fleet new --devices 1e3", &["--devices", "whole number"]),
        ("fleet new --compute-gflop 1e-9", &["--compute-gflop", "xiaomi", "out of range"]),
        ("fleet new --devices 5 --samples-total 4", &["--samples-total", "4"]),
        ("fleet new --concentration 0", &["--concentration: 0"]),
        ("fleet new --payload-mbit -1", &["--payload-mbit", "-1"]),
        ("fleet new --compute-gflop NaN", &["--compute-gflop", "NaN"]),
        ("fleet new --profile phones", &["phones", "paper"]),
        ("fleet new --profile nbiot", &["nbiot", "similar", "nb-iot"]),
        (
            "fleet new --profile paper-calibrated --compute-gflop 0.92",
            &["--compute-gflop", "paper-calibrated fixes the compute times", "leave it out"],
        ),
        (
            "bound fleet.csv --learning-rate 0 --smoothness 1 --divergence 1 --gradient-variance 1 --initial-gap 1 --rounds 9",
            &["--learning-rate: 0", "above 0"],
        ),
        (
            "bound fleet.csv --learning-rate 1 --smoothness 1 --divergence -1 --gradient-variance 2 --initial-gap 1 --rounds 9",
            &["--divergence", "-1"],
        ),
        (
            "bound fleet.csv --learning-rate 1 --smoothness 1 --divergence 1 --gradient-variance 1 --initial-gap 1 --rounds -9",
            &["--rounds", "-9"],
        ),
        (
            "bound fleet.csv --scheme auto --learning-rate 1 --smoothness 1 --divergence 1 --gradient-variance 1 --initial-gap 1 --rounds 9",
            &["needs a band", "--bandwidth"],
        ),
        (
            "bound fleet.csv --scheme exact --learning-rate 1 --smoothness 1 --divergence 1 --gradient-variance 1 --initial-gap 1 --rounds 9 \
             --bandwidth 100",
            &["needs a threshold", "--threshold"],
        ),
        (
            "bound fleet.csv --scheme full --learning-rate 1 --smoothness 1 --divergence 1 --gradient-variance 1 --initial-gap 1 --rounds 9 \
             --variance 1",
            &["variance", "full", "--scheme auto"],
        ),
        ("bench --secs 0", &["--secs: 0", "0.01"]),
        ("bench --model mnist", &["mnist", "mnist-cnn"]),
        ("plam fleet.csv", &["plam", "plan"]),
    ];
    for (line, wanted) in cases {
        assert_refused(&desk, line, b"", wanted);
    }
}

#[test]
fn one_device_cannot_be_piloted_but_can_be_planned() {
    let desk = Desk::new();
    desk.write("one.csv", "device,compute_secs,comm_secs,samples\nonly,1,1,10\n");
    assert_refused(
        &desk,
        "plan one.csv --bandwidth 1 --pilot 9:uniform --pilot 5:full",
        b"",
        &["one device", "needs no plan"],
    );
    assert!(desk.run("plan one.csv --bandwidth 1 --alpha 1 --beta 9").status.success());
}

#[test]
fn a_fleet_too_large_for_a_scheme_is_told_which_one_to_use() {
    let desk = Desk::new();
    desk.write("large.csv", desk.stdout("fleet new --devices 6000"));
    let plan = "plan large.csv --bandwidth 100 --alpha 1 --beta 2 --scheme";
    assert_refused(&desk, &format!("{plan} sampled"), b"", &["5000", "6000", "tight"]);
    assert_refused(&desk, &format!("{plan} paper-linesearch"), b"", &["2000", "6000", "--scheme paper"]);
}

/// A zero byte far into the file is not in the first look at it.
#[test]
fn a_late_zero_byte_is_refused() {
    let desk = Desk::new();
    let mut fleet = desk.stdout("fleet new --devices 3000");
    fleet.push_str("z\0,1,1,1\n");
    assert_refused(&desk, "fleet show -", fleet.as_bytes(), &["line 3002", "control characters"]);
}

#[test]
fn exact_gradients_have_a_bound_but_nothing_to_plan() {
    let desk = Desk::new();
    let given = "--learning-rate 0.001 --smoothness 1 --divergence 0 --gradient-variance 0 --initial-gap 1 --threshold 0.5";
    assert!(desk.run(&format!("bound fleet.csv {given}")).status.success());
    let line = format!("bound fleet.csv {given} --scheme exact --bandwidth 100");
    assert_refused(&desk, &line, b"", &["nothing to plan"]);
}

/// `fedflip fleet new … | head -1` ends quietly.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(["fleet", "new", "--devices", "200000"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
