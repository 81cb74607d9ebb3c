//! Records as tables, read back by another reader than ours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_fleet::{Direction, Display, MetricInfo};
use fedflip_record::export::{Column, Table, csv, parquet};
use fedflip_record::reader::Records;
use fedflip_record::schema::VERSION;
use fedflip_record::{End, EndReason, Estimated, Header, Initial, Lost, Round};

use ::parquet::file::reader::{FileReader, SerializedFileReader};

fn records() -> Records {
    let header = Header {
        version: VERSION,
        fedflip: "0".to_owned(),
        task: "synthetic".to_owned(),
        scheme: "exact".to_owned(),
        seed: 1,
        devices: 3,
        parameters: 2,
        bandwidth_mbps: 100.0,
        costs: Default::default(),
        metrics: ["accuracy", "loss", "top-5, by class"]
            .map(|name| MetricInfo::new(name, Direction::Larger, Display::Number))
            .into(),
        stop: None,
        pilot: false,
        expected_participants: 1.5,
        expected_rounds: None,
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    };
    let empty = Round { round: 1, round_secs: 0.25, ..Round::default() };
    let full = Round {
        round: 2,
        start_secs: 0.25,
        round_secs: 1.5,
        cohort: vec![0, 2],
        mbps: vec![60.0, 40.0],
        lost: vec![Lost { device: 2, reason: "vanished".to_owned() }],
        train_loss: Some(2.5),
        metrics: [("accuracy", 0.5), ("loss", 1.25)].into(),
        ..Round::default()
    };
    Records { header, initial: None, rounds: vec![empty, full], end: None }
}

fn as_csv(table: &Table) -> String {
    let mut bytes = Vec::new();
    csv::write(table, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn csv_has_a_line_a_row() {
    assert_eq!(
        as_csv(&Table::rounds(&records())),
        "round,start_secs,round_secs,participants,lost,train_loss,accuracy,loss,\"top-5, by class\"\n\
         1,0,0.25,0,0,,,,\n\
         2,0.25,1.5,2,1,2.5,0.5,1.25,\n"
    );
    assert_eq!(
        as_csv(&Table::participants(&records(), &[])),
        "round,device,mbps,reported\n2,0,60,1\n2,2,40,0\n"
    );
}

#[test]
fn parquet_reads_back() {
    let table = Table::rounds(&records());
    let mut bytes = Vec::new();
    parquet::write(&table, &mut bytes).unwrap();
    let mut again = Vec::new();
    parquet::write(&table, &mut again).unwrap();
    assert_eq!(bytes, again);
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("rounds.parquet");
    std::fs::write(&path, &bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(
        rows,
        [
            "{round: 1, start_secs: 0E0, round_secs: 0.25, participants: 0, lost: 0, train_loss: null, \
             accuracy: null, loss: null, top-5, by class: null}",
            "{round: 2, start_secs: 0.25, round_secs: 1.5, participants: 2, lost: 1, train_loss: 2.5, \
             accuracy: 0.5, loss: 1.25, top-5, by class: null}",
        ]
    );
    // A run that has only begun has tables too.
    let none = Records { rounds: Vec::new(), ..records() };
    let mut bytes = Vec::new();
    parquet::write(&Table::participants(&none, &[]), &mut bytes).unwrap();
    assert!(!bytes.is_empty());
}

/// In a spreadsheet a name is a name; numbers stay numbers, and Parquet has the names as they are.
#[test]
fn names_are_not_formulas() {
    let names = ["=HYPERLINK(\"http://x\")", "b", "-2+3"].map(std::sync::Arc::from);
    let mut table = Table::participants(&records(), &names);
    table.columns.push(("change".to_owned(), Column::Number(vec![-1.5, 2.0])));
    assert_eq!(
        as_csv(&table),
        "round,device,mbps,reported,name,change\n2,0,60,1,\"'=HYPERLINK(\"\"http://x\"\")\",-1.5\n2,2,40,0,'-2+3,2\n"
    );
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("participants.parquet");
    parquet::write(&table, std::fs::File::create(&path).unwrap()).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert!(rows[1].contains("name: \"-2+3\""), "{rows:?}");
}

#[test]
fn participants_have_their_names() {
    let names = ["phone", "laptop", "a \"b\", c"].map(std::sync::Arc::from);
    let table = Table::participants(&records(), &names);
    assert_eq!(
        as_csv(&table),
        "round,device,mbps,reported,name\n2,0,60,1,phone\n2,2,40,0,\"a \"\"b\"\", c\"\n"
    );
    // Devices that came later than the fleet's file have none.
    assert!(as_csv(&Table::participants(&records(), &names[..1])).ends_with("2,2,40,0,\n"));
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("participants.parquet");
    parquet::write(&table, std::fs::File::create(&path).unwrap()).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows[0], "{round: 2, device: 0, mbps: 60.0, reported: 1, name: \"phone\"}");
}

#[test]
fn evaluations_are_those_of_the_first_model_of_rounds_and_of_the_end() {
    let mut records = records();
    records.initial = Some(Initial { secs: 0.125, metrics: [("accuracy", 0.25)].into(), estimated: None });
    records.end = Some(End {
        reason: EndReason::RoundsMax,
        rounds: 3,
        secs: 2.0,
        metrics: [("loss", 1.0)].into(),
        estimated: None,
        test: Default::default(),
        detail: None,
    });
    assert_eq!(
        as_csv(&Table::evaluations(&records)),
        "round,secs,accuracy,loss,\"top-5, by class\"\n\
         0,0.125,0.25,,\n\
         2,1.75,0.5,1.25,\n\
         3,2,,1,\n"
    );
    let estimated = Estimated {
        devices: 4,
        share: 0.5,
        se: [("accuracy", 0.0625)].into(),
        limit: [("accuracy", 0.375)].into(),
    };
    records.rounds[1].estimated = Some(estimated);
    records.header.metrics.truncate(1);
    records.header.metrics[0].name = "round".into();
    records.rounds[1].metrics = [("round", 7.0)].into();
    assert_eq!(
        as_csv(&Table::evaluations(&records)).lines().nth(2),
        Some("2,1.75,7,4,,"),
        "a metric may be called like a column"
    );
    let table = Table::evaluations(&records);
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["round", "secs", "metric_round", "reporting_devices", "round_se", "round_limit"]);
}
