//! Fleet files: what is accepted, and that every refusal names file, line, column and value.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_fleet::csv_file::{read, write};
use fedflip_fleet::{Fleet, FleetError};
use proptest::prelude::*;

fn parse(text: impl AsRef<[u8]>) -> Result<Fleet, FleetError> {
    read(text.as_ref(), "fleet.csv")
}

/// The refusal and its hint, as a user would read them.
fn refusal(text: impl AsRef<[u8]>) -> String {
    let error = parse(text).expect_err("should be refused");
    format!("{error}; {}", error.hint())
}

const PLAIN: &str = "device,compute_secs,comm_secs,samples\na,1,2,3\nb,0.5,0,1\n";

#[test]
fn a_plain_file() {
    let fleet = parse(PLAIN).unwrap();
    assert_eq!(fleet.len(), 2);
    assert_eq!(fleet.compute_secs(), [1.0, 0.5]);
    assert_eq!(fleet.comm_secs(), [2.0, 0.0]);
    assert_eq!(fleet.weights(), [0.75, 0.25]);
    assert_eq!(fleet.availability(), [1.0, 1.0]);
}

#[test]
fn the_same_fleet_in_other_clothes() {
    let plain = parse(PLAIN).unwrap();
    for other in [
        "\u{feff}device,compute_secs,comm_secs,samples\r\na,1,2,3\r\nb,0.5,0,1",
        "samples,device,comm_secs,compute_secs\n3.0,a,2e0,1.\n1,b,0.0,.5\n",
        " device , compute_secs,comm_secs,samples\n\n\"a\" , +1,2 ,3\n\nb,5e-1,-0,1\n\n",
        "device,compute_secs,comm_secs,samples,availability\na,1,2,3,1\nb,0.5,0,1,1.0\n",
    ] {
        assert_eq!(parse(other).unwrap(), plain, "{other:?}");
    }
}

/// Links: both columns are optional, and what is written reads back, a device without a limit too.
#[test]
fn links_have_limits_and_signals() {
    let text = "device,compute_secs,comm_secs,samples,link_mbps,snr_db\na,1,2,3,5,-3\nb,1,2,3,1e9,12.5\n";
    let fleet = parse(text).unwrap();
    assert_eq!(
        (fleet.link_mbps(), fleet.snr_db()),
        (Some(&[5.0, f64::INFINITY][..]), Some(&[-3.0, 12.5][..]))
    );
    let mut written = Vec::new();
    write(&fleet, &mut written).unwrap();
    assert_eq!(parse(&written).unwrap(), fleet);
    let header = "device,compute_secs,comm_secs,samples,link_mbps,snr_db\n";
    for (row, wanted) in [
        ("a,1,2,3,0,1\n", "column link_mbps: \"0\""),
        ("a,1,2,3,-5,1\n", "column link_mbps: \"-5\""),
        ("a,1,2,3,,1\n", "1e9 for a device without a limit"),
        ("a,1,2,3,5,NaN\n", "column snr_db: \"NaN\""),
        ("a,1,2,3,5,500\n", "a ratio from -60 to 120 dB"),
        ("a,1,2,3,5,\n", "for every device, or for none"),
    ] {
        let refusal = refusal(format!("{header}{row}"));
        assert!(refusal.contains("line 2") && refusal.contains(wanted), "{row:?}: {refusal}");
    }
}

#[test]
fn a_name_may_hold_commas_and_quotes() {
    let fleet = parse("device,compute_secs,comm_secs,samples\n\"lab, \"\"north\"\"\",1,2,3\n").unwrap();
    assert_eq!(fleet.name(0), "lab, \"north\"");
}

#[test]
fn every_refusal_says_where_and_what() {
    let header = "device,compute_secs,comm_secs,samples,availability\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["fleet.csv", "empty", "device,compute_secs"]),
        ("device,compute_secs,comm_secs,samples\n", &["fleet.csv", "no device"]),
        ("device,compute_secs,samples\na,1,2\n", &["line 1", "comm_secs", "missing"]),
        (
            "device,compute_sec,comm_secs,samples\n",
            &["line 1", "column 2", "compute_sec\"", "did you mean compute_secs"],
        ),
        ("device,compute_secs,comm_secs,samples,zzz\n", &["column 5", "\"zzz\"", "columns are"]),
        ("device,compute_secs,comm_secs,samples,samples\n", &["line 1", "column 5", "twice"]),
        ("device;compute_secs;comm_secs;samples\na;1;2;3\n", &["line 1", "commas"]),
        ("{h}a,NaN,1,1,1\n", &["line 2", "compute_secs", "\"NaN\"", "out of range"]),
        ("{h}a,1,inf,1,1\n", &["line 2", "comm_secs", "\"inf\""]),
        ("{h}a,1,1,-infinity,1\n", &["line 2", "samples", "\"-infinity\""]),
        ("{h}a,1,1,1,1\nb,-0.1,1,1,1\n", &["line 3", "compute_secs", "\"-0.1\"", "from 0"]),
        ("{h}a,1,1e300,1,1\n", &["line 2", "comm_secs", "1e300"]),
        ("{h}a,1,1,0,1\n", &["line 2", "samples", "\"0\"", "above 0"]),
        ("{h}a,1,1,-3,1\n", &["line 2", "samples", "\"-3\""]),
        ("{h}a,1,1,1,0\n", &["line 2", "availability", "\"0\"", "above 0 and at most 1"]),
        ("{h}a,1,1,1,1.01\n", &["line 2", "availability", "\"1.01\""]),
        ("{h}a,1,1,1,\n", &["line 2", "availability", "empty", "write 1"]),
        ("{h}a,,1,1,1\n", &["line 2", "compute_secs", "empty", "never taken for 0"]),
        ("{h}a,1 s,1,1,1\n", &["line 2", "compute_secs", "\"1 s\"", "not a number"]),
        ("{h}a,1,\"1,5\",1,1\n", &["line 2", "comm_secs", "\"1,5\"", "not a number"]),
        ("{h}\n\na,1,1,1,1\n\nb,1,1,1,1\na,1,1,1,1\n", &["line 7", "device", "\"a\"", "line 4"]),
        ("{h}a,1,1\n", &["line 2", "samples", "3 fields", "header 5"]),
        ("{h}a,1,1,1,1,9\n", &["line 2", "column 6", "\"9\"", "6 fields"]),
        ("{h},1,1,1,1\n", &["line 2", "device", "not a device name"]),
    ];
    for (text, wanted) in cases {
        let refusal = refusal(text.replace("{h}", header));
        for part in wanted.iter().chain(&["fleet.csv"]) {
            assert!(refusal.contains(part), "{text:?} was refused with {refusal:?}, which lacks {part:?}");
        }
    }
}

#[test]
fn what_is_not_text_is_refused() {
    assert!(refusal(b"\x7fELF\x02\x01\x00\x00").contains("binary"));
    assert!(refusal(b"\xff\xfed\x00e\x00").contains("UTF-16"));
    let latin1 = b"device,compute_secs,comm_secs,samples\nger\xe4t,1,1,1\n";
    assert!(refusal(latin1).contains("line 2, column device"), "{}", refusal(latin1));
}

#[test]
fn a_hostile_value_is_shown_short_and_escaped() {
    let refusal =
        refusal(format!("device,compute_secs,comm_secs,samples\na,\u{1b}[31m{},1,1\n", "9x".repeat(500)));
    assert!(refusal.contains("\\u{1b}[31m") && refusal.contains('…') && refusal.len() < 300, "{refusal}");
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(
        rows in prop::collection::vec((1e-9..1e9_f64, 1e-9..1e9_f64, 1e-6..1e12_f64, 1e-9..=1.0_f64), 1..20),
    ) {
        let mut text = String::from("device,compute_secs,comm_secs,samples,availability\n");
        for (n, (compute, comm, samples, availability)) in rows.iter().enumerate() {
            text += &format!("\"dev, {n}\",{compute},{comm},{samples},{availability}\n");
        }
        let fleet = parse(&text).unwrap();
        let mut written = Vec::new();
        write(&fleet, &mut written).unwrap();
        prop_assert_eq!(parse(written).unwrap(), fleet);
    }

    /// Any bytes at all: an answer, never a panic.
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), keep_header in any::<bool>()) {
        let mut text = if keep_header { PLAIN.as_bytes().to_vec() } else { Vec::new() };
        text.extend(bytes);
        let _ = parse(text);
    }
}
