//! The records of a run.

use fedflip_record::error::RecordError;
use fedflip_record::reader::{self, Records};
use fedflip_record::schema::Line;
use fedflip_record::writer::RecordWriter;

use crate::{memory, scratch};

/// Records that read back the same and agree with their summary, or a refusal that names a line of the file.
pub fn check(bytes: &[u8]) {
    let path = scratch::file("records.jsonl", bytes);
    // A round of its least length is some 120 bytes, and more in memory.
    let read = memory::within((1 << 18) + 16 * bytes.len(), || reader::read(&path));
    let summary = reader::summary(&path);
    assert_eq!(read.is_ok(), summary.is_ok(), "{read:?}");
    match read {
        Ok(records) => {
            assert!(records.rounds.iter().zip(1..).all(|(round, number)| round.round == number));
            let summary = summary.expect("just compared");
            assert_eq!(summary.rounds, records.rounds.len() as u64);
            assert_eq!(written_and_read(&records), records);
        }
        Err(error) => {
            assert!(!error.hint().is_empty());
            if let RecordError::BadLine { line, .. } = error {
                assert!((1..=scratch::lines(bytes)).contains(&line), "line {line}");
            }
        }
    }
}

fn written_and_read(records: &Records) -> Records {
    let path = scratch::folder().join("again.jsonl");
    let mut writer = RecordWriter::create(&path).expect("a file can be made");
    let lines = std::iter::once(Line::Header(records.header.clone()))
        .chain(records.initial.clone().map(Line::Initial))
        .chain(records.rounds.iter().cloned().map(Line::Round))
        .chain(records.end.clone().map(Line::End));
    for line in lines {
        writer.append(&line).expect("a file takes a line");
    }
    writer.flush().expect("a file takes lines");
    reader::read(&path).expect("what is written reads back")
}
