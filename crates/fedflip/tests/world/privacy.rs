//! What leaves a device that trains on its own files: its update, its sample count, times, and nothing else.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use crate::own::{scenario, write_samples};
use crate::serve::{ANY_PORT, Running, Serving, fedflip};

const SAMPLES: usize = 40;
/// Pixels in a row that no other data have, and a name that only the device's folder has.
const MARKER: [u8; 12] = [211, 7, 193, 251, 5, 167, 239, 11, 223, 3, 181, 229];
const NAME: &str = "patient-q7zk-vermilion";

/// Everything that went from the device to the server, and the other way, over one connection.
#[derive(Default)]
struct Heard {
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// A listener that passes connections on to the server, and keeps what goes through each of them.
fn tap(server: &str) -> (String, Arc<Mutex<Vec<Heard>>>) {
    let listener = TcpListener::bind(ANY_PORT).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (all, server) = (Arc::clone(&heard), server.to_owned());
    std::thread::spawn(move || {
        for (at, device) in listener.incoming().map(Result::unwrap).enumerate() {
            let server = TcpStream::connect(&server).unwrap();
            all.lock().unwrap().push(Heard::default());
            let (there, back) = (Arc::clone(&all), Arc::clone(&all));
            let (from, to) = (server.try_clone().unwrap(), device.try_clone().unwrap());
            std::thread::spawn(move || {
                pass(device, server, |bytes| there.lock().unwrap()[at].sent.extend(bytes));
            });
            std::thread::spawn(move || {
                pass(from, to, |bytes| back.lock().unwrap()[at].received.extend(bytes));
            });
        }
    });
    (address, heard)
}

fn pass(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The gRPC messages of each HTTP/2 stream, in the order of streams.
fn messages(sent: &[u8]) -> Vec<Vec<Vec<u8>>> {
    const PREFACE: usize = 24;
    let mut streams: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut rest = &sent[PREFACE..];
    while rest.len() >= 9 {
        let len = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        let (kind, flags) = (rest[3], rest[4]);
        let stream = u32::from_be_bytes([rest[5], rest[6], rest[7], rest[8]]);
        if kind == 0 {
            assert_eq!(flags & 8, 0, "no padding");
            streams.entry(stream).or_default().extend(&rest[9..9 + len]);
        }
        rest = &rest[(9 + len).min(rest.len())..];
    }
    let split = |bytes: Vec<u8>| {
        let (mut rest, mut all) = (&bytes[..], Vec::new());
        while rest.len() >= 5 {
            let len = u32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
            all.push(rest[5..5 + len].to_vec());
            rest = &rest[5 + len..];
        }
        all
    };
    streams.into_values().map(split).collect()
}

/// The fields of a protobuf message: numbers, and values as they are on the wire.
fn fields(message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut rest, mut all) = (message, Vec::new());
    let varint = |rest: &mut &[u8]| {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = rest[0];
            *rest = &rest[1..];
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    };
    while !rest.is_empty() {
        let tag = varint(&mut rest);
        let len = match tag & 7 {
            0 => {
                let value = varint(&mut rest);
                all.push((tag >> 3, value.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => varint(&mut rest) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        all.push((tag >> 3, rest[..len].to_vec()));
        rest = &rest[len..];
    }
    all
}

/// What a device with these samples sends in a run of one round in which it takes part.
fn sent_with(folder: &Path, x: &[u8], y: &[u8]) -> Vec<Heard> {
    let text = scenario("devices", 1).replace("devices = 6", "devices = 1").replace("fixed=0.7", "full");
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("train =")).collect();
    std::fs::write(folder.join("s.toml"), text.join("\n")).unwrap();
    let mine = folder.join(NAME);
    std::fs::create_dir(&mine).unwrap();
    let file = mine.join(format!("{NAME}.safetensors"));
    write_samples(&file, x, y);
    let serving = Serving::start_plain(folder, ANY_PORT);
    let (address, heard) = tap(&serving.address);
    let mut command = fedflip();
    command.args([
        "join",
        &address,
        "--insecure",
        "--name",
        "a",
        "--log",
        "json",
        "--log-level",
        "debug",
        "--data",
    ]);
    command.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut device = Running(command.spawn().unwrap());
    let mut errors = device.0.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut text = Vec::new();
        errors.read_to_end(&mut text).unwrap();
        text
    });
    let (code, result, server_log) = serving.end();
    assert_eq!((code, &result["rounds"]), (Some(0), &1.into()), "{server_log:?}");
    assert!(device.0.wait().unwrap().success());
    std::fs::write(folder.join("device.log"), log.join().unwrap()).unwrap();
    std::fs::write(folder.join("server.log"), serde_json::to_vec(&server_log).unwrap()).unwrap();
    std::mem::take(&mut *heard.lock().unwrap())
}

/// Samples that depend on a number, with labels that do, too.
fn samples(salt: usize) -> (Vec<u8>, Vec<u8>) {
    let x = (0..SAMPLES * 64).map(|at| ((at * (7 + salt) + at / 64) % 17) as u8).collect();
    (x, (0..SAMPLES).map(|at| ((at * (3 + salt)) % 10) as u8).collect())
}

#[test]
fn two_devices_with_other_samples_send_the_same_but_for_their_updates() {
    let said: Vec<Vec<Vec<Vec<u8>>>> = [0, 4]
        .map(|salt| {
            let folder = tempfile::tempdir().unwrap();
            let (x, y) = samples(salt);
            // A device that comes before the server is ready comes again.
            messages(&sent_with(folder.path(), &x, &y).last().unwrap().sent)
        })
        .into();
    let [one, two] = &said[..] else { unreachable!() };
    // Hello, probe, enrolment, attendance, the model, the update.
    assert_eq!((one.len(), two.len()), (6, 6));
    // The fields that may differ, by call: compute_secs; the proof of the coin and the name of the run; of the update its
    // digest, the training loss and the name of the run.
    const HELLO: usize = 0;
    const ENROL: usize = 2;
    const FETCHED: usize = 4;
    let same = |call: usize, one: &[u8], two: &[u8], may_differ: &[u64]| {
        let [one, two] = [one, two].map(fields);
        let numbers = |fields: &[(u64, Vec<u8>)]| fields.iter().map(|field| field.0).collect::<Vec<_>>();
        assert_eq!(numbers(&one), numbers(&two), "call {call}");
        for (one, two) in one.iter().zip(&two) {
            assert_eq!(one.1.len(), two.1.len(), "call {call}, field {}", one.0);
            assert!(one == two || may_differ.contains(&one.0), "call {call}, field {}", one.0);
        }
        (one, two)
    };
    assert_eq!(one[HELLO], two[HELLO]);
    let probed = |call: &[Vec<u8>]| {
        call.iter().flat_map(|part| fields(part)).flat_map(|field| field.1).collect::<Vec<u8>>()
    };
    assert_eq!(probed(&one[1]), probed(&two[1]));
    let (enrolled, _) = same(ENROL, &one[ENROL][0], &two[ENROL][0], &[2]);
    assert_eq!(enrolled[0], (1, (SAMPLES as u64).to_le_bytes().to_vec()), "the count of samples");
    assert_eq!(one[ENROL].len(), 1);
    let (answers, again) = (&one[3], &two[3]);
    assert_eq!((answers.len(), again.len()), (1, 1), "one round, one answer");
    let inner = |message: &[u8]| fields(message).swap_remove(0).1;
    same(3, &inner(&answers[0]), &inner(&again[0]), &[2, 3]);
    assert_eq!(one[FETCHED], two[FETCHED], "both begin with the same model");
    let (update, other) = (&one[5], &two[5]);
    same(5, &inner(&update[0]), &inner(&other[0]), &[3, 4, 5]);
    let bytes = |call: &[Vec<u8>]| call[1..].iter().map(|part| inner(part).len()).sum::<usize>();
    assert_eq!(bytes(update), bytes(other), "an update is as long as the model");
    assert_eq!(bytes(update), 4 * (64 * 16 + 16 + 16 * 10 + 10));
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_of_the_samples_is_on_the_wire_in_the_runs_folder_or_in_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let (mut x, y) = samples(0);
    for sample in x.chunks_mut(64) {
        sample[20..20 + MARKER.len()].copy_from_slice(&MARKER);
    }
    let heard = sent_with(folder.path(), &x, &y);
    let whole = |one: &Heard| one.sent.len() > 4000 && one.received.len() > 4000;
    assert!(heard.iter().any(whole), "the model went both ways");
    let floats: Vec<u8> =
        MARKER[..4].iter().flat_map(|byte| (f32::from(*byte) / 255.0).to_le_bytes()).collect();
    let normalised = |byte: &u8| (f32::from(*byte) / 255.0 - 0.02) / 0.024;
    let normalised: Vec<u8> = MARKER[..4].iter().flat_map(|byte| normalised(byte).to_le_bytes()).collect();
    let listed = MARKER.map(|byte| byte.to_string()).join(",");
    let spaced = MARKER.map(|byte| byte.to_string()).join(", ");
    let traces: [&[u8]; 5] = [&MARKER, &floats, &normalised, listed.as_bytes(), spaced.as_bytes()];
    let clean = |what: &str, bytes: &[u8]| {
        for trace in traces {
            assert!(!bytes.windows(trace.len()).any(|window| window == trace), "{what} has {trace:?}");
        }
    };
    let unnamed = |what: &str, bytes: &[u8]| {
        let name = NAME.as_bytes();
        assert!(!bytes.windows(name.len()).any(|window| window == name), "{what} has {NAME}");
    };
    for (what, bytes) in heard.iter().flat_map(|one| [("sent", &one.sent), ("received", &one.received)]) {
        clean(what, bytes);
        unnamed(what, bytes);
    }
    let files = files_below(&folder.path().join("run"));
    for file in &files {
        let (name, bytes) = (file.display().to_string(), std::fs::read(file).unwrap());
        clean(&name, &bytes);
        unnamed(&name, &bytes);
    }
    assert!(files.len() > 5, "the folder of the run has files");
    let log = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    clean("the device's log", &log("device.log"));
    clean("the server's log", &log("server.log"));
    unnamed("the server's log", &log("server.log"));
    // The test finds what is there.
    let file = std::fs::read(folder.path().join(NAME).join(format!("{NAME}.safetensors"))).unwrap();
    assert!(file.windows(MARKER.len()).any(|window| window == MARKER));
}
