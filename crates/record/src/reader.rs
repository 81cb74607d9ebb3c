//! Reading records back, finished or still being written.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use fedflip_fleet::printable;

use crate::error::RecordError;
use crate::fold::Fold;
use crate::schema::{End, Header, Initial, Line, Round, VERSION};
use crate::summary::Summary;

/// The longest line that is read: a round of a million participants takes some 20 MB.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// All records of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The header of the records.
    pub header: Header,
    /// The evaluation of the first model, if it is over.
    pub initial: Option<Initial>,
    /// Rounds 1, 2, … in order.
    pub rounds: Vec<Round>,
    /// If the run has ended.
    pub end: Option<End>,
}

/// Reads all of a file. A last line without its end is still being written, and left out.
pub fn read(path: &Path) -> Result<Records, RecordError> {
    let (mut header, mut initial, mut rounds, mut end) = (None, None, Vec::new(), None);
    each(path, |line| match line {
        Line::Header(found) => header = Some(found),
        Line::Initial(found) => initial = Some(found),
        Line::Round(round) => rounds.push(round),
        Line::Replan(_) => {}
        Line::Changed(changed) => header.iter_mut().for_each(|header: &mut Header| header.take(&changed)),
        Line::Recount(_) => {}
        Line::End(found) => end = Some(found),
    })?;
    let header = header.ok_or_else(|| no_header(path))?;
    Ok(Records { header, initial, rounds, end })
}

/// What the run came to, without holding its rounds.
pub fn summary(path: &Path) -> Result<Summary, RecordError> {
    Ok(Fold::read(path)?.summary)
}

/// How the run ended, if it has and all its lines are whole.
pub(crate) fn end(path: &Path) -> Option<End> {
    let mut end = None;
    let whole = each(path, |line| {
        if let Line::End(found) = line {
            end = Some(found);
        }
    });
    whole.ok().and(end)
}

/// Reads the header of a records file.
pub fn header(path: &Path) -> Result<Header, RecordError> {
    let mut text = Vec::new();
    let mut first = std::io::Read::take(BufReader::new(open(path)?), LINE_BYTES_MAX);
    first.read_until(b'\n', &mut text).map_err(RecordError::io(path, "cannot be read"))?;
    match parse(path, 1, &text)? {
        Line::Header(header) => Ok(header),
        _ => Err(no_header(path)),
    }
}

/// Opens a file, and nothing that might have no end, such as a pipe.
fn open(path: &Path) -> Result<File, RecordError> {
    let refuse = |error| RecordError::io(path, "cannot be opened")(error);
    if path.metadata().map_err(refuse)?.is_file() {
        File::open(path).map_err(refuse)
    } else {
        Err(refuse(std::io::Error::new(std::io::ErrorKind::InvalidInput, "this is not a file")))
    }
}

/// Whether there is no more than a first line, if that.
pub(crate) fn is_just_begun(path: &Path) -> Result<bool, RecordError> {
    let refuse = |error| RecordError::io(path, "cannot be read")(error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(refuse(error)),
    };
    let mut reader = BufReader::new(file);
    reader.skip_until(b'\n').map_err(refuse)?;
    Ok(reader.fill_buf().map_err(refuse)?.is_empty())
}

pub(crate) fn no_header(path: &Path) -> RecordError {
    RecordError::bad_line(path, 1, "the header is missing")
}

/// Hands over all lines, in an order that makes sense, up to the first one that does not: what was handed over
/// before a refusal is good.
pub fn each(path: &Path, mut take: impl FnMut(Line)) -> Result<(), RecordError> {
    let (mut rounds, mut ended, mut has_initial) = (0, false, false);
    each_line(path, |number, line| {
        let refuse = |problem: String| Err(RecordError::bad_line(path, number, problem));
        match &line {
            Line::Header(_) if number > 1 => return refuse("a second header".to_owned()),
            Line::Header(_) => {}
            _ if number == 1 => return Err(no_header(path)),
            _ if ended => return refuse("a line after the end".to_owned()),
            Line::Initial(_) if rounds > 0 => {
                return refuse(format!("the first model's evaluation after round {rounds}"));
            }
            Line::Initial(_) if has_initial => {
                return refuse("a second evaluation of the first model".to_owned());
            }
            Line::Round(round) if round.round != rounds + 1 => {
                return refuse(format!("round {} after round {rounds}", round.round));
            }
            Line::Replan(replan) if replan.after_round != rounds => {
                return refuse(format!(
                    "a plan made after round {}, behind round {rounds}",
                    replan.after_round
                ));
            }
            Line::Changed(changed) if changed.after_round != rounds => {
                return refuse(format!(
                    "settings changed after round {}, behind round {rounds}",
                    changed.after_round
                ));
            }
            Line::Recount(recount) if recount.after_round != rounds => {
                return refuse(format!(
                    "sample counts of round {}, behind round {rounds}",
                    recount.after_round
                ));
            }
            Line::Replan(_) | Line::Changed(_) | Line::Recount(_) => {}
            Line::Initial(_) => has_initial = true,
            Line::Round(round) => rounds = round.round,
            Line::End(_) => ended = true,
        }
        take(line);
        Ok(())
    })
}

fn each_line(
    path: &Path,
    mut take: impl FnMut(u64, Line) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let mut reader = BufReader::with_capacity(1 << 16, open(path)?);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut bounded = std::io::Read::take(&mut reader, LINE_BYTES_MAX);
        bounded.read_until(b'\n', &mut text).map_err(RecordError::io(path, "cannot be read"))?;
        if text.last() != Some(&b'\n') {
            if text.len() as u64 == LINE_BYTES_MAX {
                return Err(RecordError::bad_line(path, number, "a line that is too long"));
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
    // The message quotes what it found.
    let problem = |error: serde_json::Error| format!("not a record: {}", printable(&error.to_string()));
    let line =
        serde_json::from_slice(text).map_err(|error| RecordError::bad_line(path, number, problem(error)))?;
    match &line {
        Line::Header(header) => match header.problem() {
            None => Ok(line),
            Some(problem) => Err(RecordError::bad_line(path, number, problem)),
        },
        _ => Ok(line),
    }
}
