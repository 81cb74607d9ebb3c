//! How fast samples are read, and within how much memory: `cargo run --release -p fedflip-samples --example reading_speed`.
//!
//! It writes about 1.5 GB of files to the folder for temporary files and reads each in a process of its own, whose peak of
//! memory the kernel reports. Inflating is compared with the library that inflates, alone, on the same bytes. What was
//! measured is in `docs/reference/data-sets.md`, "Reading speed".
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use fedflip_samples::files;
use flate2::read::DeflateDecoder;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

type Done = Result<(), Box<dyn Error>>;

const SAMPLE_BYTES: usize = 784;
const FEATURES: usize = 4;
const ROWS_IN_GROUP: usize = 1 << 20;

fn main() -> Done {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match args.split_first() {
        Some((command, files)) if command == Path::new("read") => read(files),
        Some((command, files)) if command == Path::new("inflate") => inflate(&files[0]),
        _ => measure_all(),
    }
}

fn measure_all() -> Done {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    println!(
        "| files | read | of one core | peak of memory | × the table | inspect | digest |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    let million = file("million.npz");
    write_npz(&million, 1_000_000, CompressionMethod::Stored)?;
    measure("npz, 1,000,000 × 784 bytes", &[&million])?;
    fs::remove_file(&million)?;
    let halves = [file("first.npz"), file("second.npz")];
    halves.iter().try_for_each(|half| write_npz(half, 500_000, CompressionMethod::Stored))?;
    measure("npz, 2 × 500,000 × 784 bytes", &[&halves[0], &halves[1]])?;
    halves.iter().try_for_each(fs::remove_file)?;
    let rows = 10_000_000;
    let (csv, parquet) = (file("rows.csv"), file("rows.parquet"));
    write_csv(&csv, rows)?;
    measure("CSV, 10,000,000 rows of 4 features, label and device", &[&csv])?;
    fs::remove_file(&csv)?;
    write_parquet(&parquet, rows)?;
    measure("Parquet (Snappy), the same rows", &[&parquet])?;
    let deflated = file("deflated.npz");
    write_npz(&deflated, 200_000, CompressionMethod::Deflated)?;
    measure("compressed npz, 200,000 × 784 bytes", &[&deflated])?;
    let (mut reading, mut inflating) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        reading = reading.min(in_child("read", &[&deflated])?[1]);
        inflating = inflating.min(in_child("inflate", &[&deflated])?[0]);
    }
    println!(
        "\nInflating alone: {inflating:.3} s; reading is at {:.0} % of its speed.",
        100.0 * inflating / reading
    );
    Ok(())
}

/// Reads the files in a process of its own and prints a row.
fn measure(what: &str, files: &[&Path]) -> Done {
    // The best of several: other processes only ever make it slower.
    let mut best = in_child("read", files)?;
    for _ in 0..4 {
        best.iter_mut().zip(in_child("read", files)?).for_each(|(best, other)| *best = best.min(other));
    }
    let [secs, core_secs, peak, table, inspect_secs, digest_secs] = best[..] else {
        return Err("the child printed something else".into());
    };
    let (megabytes, times) = (peak / 1e6, peak / table);
    println!(
        "| {what} | {secs:.2} s | {core_secs:.2} s | {megabytes:.0} MB | {times:.2} | {inspect_secs:.2} s | {digest_secs:.2} s |"
    );
    Ok(())
}

fn in_child(command: &str, files: &[&Path]) -> Result<Vec<f64>, Box<dyn Error>> {
    let child = Command::new(std::env::current_exe()?).arg(command).args(files).output()?;
    let printed = String::from_utf8(child.stdout)?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into_owned().into());
    }
    Ok(printed.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// Prints the seconds on the clock and of a core, the peak of memory, the bytes of the table, and the seconds of a core to
/// inspect it and for its digest.
///
/// Seconds of a core are what the clock would show on a machine that does nothing else.
fn read(files: &[PathBuf]) -> Done {
    let start = Instant::now();
    let table = files::read(files)?;
    let secs = start.elapsed().as_secs_f64();
    let (core_secs, peak) = (core_secs()?, peak_bytes()?);
    let inspection = table.inspect();
    let inspected = self::core_secs()?;
    let digest = table.digest();
    let (inspect_secs, digest_secs) = (inspected - core_secs, self::core_secs()? - inspected);
    println!("{secs} {core_secs} {peak} {} {inspect_secs} {digest_secs}", table.bytes());
    std::hint::black_box((inspection, digest));
    Ok(())
}

/// Prints the seconds that the library takes to inflate the array x.
fn inflate(path: &Path) -> Done {
    let mut archive = ZipArchive::new(File::open(path)?)?;
    let entry = archive.by_name("x.npy")?;
    let start = entry.data_start().ok_or("the archive does not say where its values are")?;
    let (compressed, bytes) = (entry.compressed_size(), entry.size() as usize);
    drop(entry);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut deflated = Vec::new();
    file.take(compressed).read_to_end(&mut deflated)?;
    let before = core_secs()?;
    let mut values = Vec::with_capacity(bytes);
    DeflateDecoder::new(&deflated[..]).read_to_end(&mut values)?;
    println!("{}", core_secs()? - before);
    assert_eq!(values.len(), bytes);
    Ok(())
}

/// The time of a core that this process has had.
fn core_secs() -> Result<f64, Box<dyn Error>> {
    let statistics = fs::read_to_string("/proc/self/schedstat")?;
    let nanos: f64 = statistics.split_whitespace().next().ok_or("no time is known")?.parse()?;
    Ok(nanos / 1e9)
}

fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak is known")?;
    let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse()?;
    Ok(1024 * kib)
}

/// Something between random numbers and a pattern, as in images: four of five pixels are background.
fn pixel(at: u64) -> u8 {
    let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    if (at / 40).is_multiple_of(5) { (mixed >> 40) as u8 } else { 0 }
}

fn write_npz(path: &Path, samples: usize, method: CompressionMethod) -> io::Result<()> {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
    let options = SimpleFileOptions::default().compression_method(method);
    archive.start_file("x.npy", options)?;
    write_header(&mut archive, "|u1", &format!("({samples}, {SAMPLE_BYTES})"))?;
    for sample in 0..samples {
        let pixels: Vec<u8> =
            (0..SAMPLE_BYTES).map(|at| pixel((sample * SAMPLE_BYTES + at) as u64)).collect();
        archive.write_all(&pixels)?;
    }
    archive.start_file("y.npy", options)?;
    write_header(&mut archive, "<i8", &format!("({samples},)"))?;
    (0..samples as i64).try_for_each(|sample| archive.write_all(&(sample % 10).to_le_bytes()))?;
    archive.finish()?.flush()
}

fn write_header(to: &mut impl Write, descr: &str, shape: &str) -> io::Result<()> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(header.len() as u16).to_le_bytes())?;
    to.write_all(header.as_bytes())
}

fn feature(row: usize, column: usize) -> f32 {
    (row * FEATURES + column) as f32 * 0.37 % 100.0
}

fn device(row: usize) -> String {
    format!("device-{}", row % 1000)
}

fn write_csv(path: &Path, rows: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "a,b,c,d,label,device")?;
    for row in 0..rows {
        let [a, b, c, d] = [0, 1, 2, 3].map(|column| feature(row, column));
        writeln!(file, "{a:.2},{b:.2},{c:.2},{d:.2},{},{}", row % 10, device(row))?;
    }
    file.flush()
}

fn write_parquet(path: &Path, rows: usize) -> Done {
    let schema = "message rows { required float a; required float b; required float c; required float d;
        required int32 label; required binary device (UTF8); }";
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(path)?;
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(parse_message_type(schema)?), Arc::new(properties))?;
    for first in (0..rows).step_by(ROWS_IN_GROUP) {
        let rows = first..rows.min(first + ROWS_IN_GROUP);
        let mut group = writer.next_row_group()?;
        let mut index = 0;
        while let Some(mut column) = group.next_column()? {
            match index {
                4 => {
                    let labels: Vec<i32> = rows.clone().map(|row| (row % 10) as i32).collect();
                    column.typed::<Int32Type>().write_batch(&labels, None, None)?;
                }
                5 => {
                    let devices: Vec<ByteArray> =
                        rows.clone().map(|row| device(row).as_str().into()).collect();
                    column.typed::<ByteArrayType>().write_batch(&devices, None, None)?;
                }
                _ => {
                    let values: Vec<f32> = rows.clone().map(|row| feature(row, index)).collect();
                    column.typed::<FloatType>().write_batch(&values, None, None)?;
                }
            }
            column.close()?;
            index += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
