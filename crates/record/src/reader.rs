//! Reading records back, finished or still being written.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::RecordError;
use crate::schema::{End, Header, Line, Round, VERSION};

/// The longest line that is read: a round of a million participants takes some 20 MB.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// All records of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// Of what.
    pub header: Header,
    /// Rounds 1, 2, … in order.
    pub rounds: Vec<Round>,
    /// If the run has ended.
    pub end: Option<End>,
}

/// Reads all of a file. A last line without its end is still being written, and left out.
pub fn read(path: &Path) -> Result<Records, RecordError> {
    let (mut header, mut rounds, mut end) = (None, Vec::new(), None);
    each_line(path, |number, line| {
        let refuse = |problem: &str| {
            Err(RecordError::BadLine {
                path: path.display().to_string(),
                line: number,
                problem: problem.into(),
            })
        };
        match line {
            Line::Header(_) if number > 1 => return refuse("a second header"),
            Line::Header(found) => header = Some(found),
            _ if header.is_none() => return refuse("the header is missing"),
            _ if end.is_some() => return refuse("a line after the end"),
            Line::Round(round) if round.round != rounds.len() as u64 + 1 => {
                return refuse(&format!("round {} after round {}", round.round, rounds.len()));
            }
            Line::Round(round) => rounds.push(round),
            Line::End(found) => end = Some(found),
        }
        Ok(())
    })?;
    match header {
        Some(header) => Ok(Records { header, rounds, end }),
        None => Err(RecordError::BadLine {
            path: path.display().to_string(),
            line: 1,
            problem: "the header is missing".to_owned(),
        }),
    }
}

fn each_line(
    path: &Path,
    mut take: impl FnMut(u64, Line) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let file = File::open(path).map_err(RecordError::io(path, "cannot be opened"))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut bounded = std::io::Read::take(&mut reader, LINE_BYTES_MAX);
        bounded.read_until(b'\n', &mut text).map_err(RecordError::io(path, "cannot be read"))?;
        if text.last() != Some(&b'\n') {
            if text.len() as u64 == LINE_BYTES_MAX {
                let problem = "a line that is too long".to_owned();
                return Err(RecordError::BadLine { path: path.display().to_string(), line: number, problem });
            }
            break;
        }
        take(number, parse(path, number, &text)?)?;
    }
    Ok(())
}

fn parse(path: &Path, number: u64, text: &[u8]) -> Result<Line, RecordError> {
    // The version first: another one may have other fields.
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    if number == 1
        && let Ok(Versioned { version }) = serde_json::from_slice(text)
        && version != VERSION
    {
        let path = path.display().to_string();
        return Err(RecordError::Version { path, found: version, known: VERSION });
    }
    serde_json::from_slice(text).map_err(|error| RecordError::BadLine {
        path: path.display().to_string(),
        line: number,
        problem: format!("not a record: {error}"),
    })
}
