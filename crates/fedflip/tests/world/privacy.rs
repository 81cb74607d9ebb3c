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

/// A listener that passes connections on to a server, and keeps what goes through each of them. Its address is the same for
/// one server after the other, and with it what a device says in the headers of its calls.
struct Tap {
    address: String,
    server: Arc<Mutex<String>>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Tap {
    /// Passes connections on to this server from now on.
    fn turn_to(&self, server: &str) {
        server.clone_into(&mut self.server.lock().unwrap());
        self.heard.lock().unwrap().clear();
    }
}

fn tap() -> Tap {
    let listener = TcpListener::bind(ANY_PORT).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (heard, server) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(String::new())));
    let (all, to) = (Arc::clone(&heard), Arc::clone(&server));
    std::thread::spawn(move || {
        for device in listener.incoming().map(Result::unwrap) {
            let address = to.lock().unwrap().clone();
            let server = TcpStream::connect(address).unwrap();
            let at = {
                let mut all = all.lock().unwrap();
                all.push(Heard::default());
                all.len() - 1
            };
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
    Tap { address, server, heard }
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

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The bytes of these frames of each HTTP/2 stream, in the order of streams.
fn frames(sent: &[u8], kinds: &[u8]) -> BTreeMap<u32, Vec<u8>> {
    const PREFACE: usize = 24;
    let mut streams: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut rest = &sent[PREFACE..];
    while rest.len() >= 9 {
        let len = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        let (kind, flags) = (rest[3], rest[4]);
        let stream = u32::from_be_bytes([rest[5], rest[6], rest[7], rest[8]]);
        if kinds.contains(&kind) {
            assert_eq!(flags & 8, 0, "no padding");
            streams.entry(stream).or_default().extend(&rest[9..9 + len]);
        }
        rest = &rest[(9 + len).min(rest.len())..];
    }
    streams
}

/// The gRPC messages of each HTTP/2 stream, in the order of streams.
fn messages(sent: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let streams = frames(sent, &[DATA]);
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

/// Who evaluates models: the server on its test file, or the devices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluates {
    Server,
    Devices,
}

/// What a device with these samples sends in a run of one round in which it takes part.
fn sent_with(tap: &Tap, folder: &Path, (x, y): (&[u8], &[u8]), evaluates: Evaluates) -> Vec<Heard> {
    let text = scenario("devices", 1).replace("devices = 6", "devices = 1").replace("fixed=0.7", "full");
    let mut text: Vec<&str> = text.lines().filter(|line| !line.starts_with("train =")).collect();
    if evaluates == Evaluates::Devices {
        text.push(
            "[evaluate]\nwhere = \"devices\"\nholdout = 0.5\nprobability = 1\n[record]\nevaluate_every = 1",
        );
    }
    std::fs::write(folder.join("s.toml"), text.join("\n")).unwrap();
    let mine = folder.join(NAME);
    std::fs::create_dir(&mine).unwrap();
    let file = mine.join(format!("{NAME}.safetensors"));
    write_samples(&file, x, y);
    let serving = Serving::start_plain(folder, ANY_PORT);
    tap.turn_to(&serving.address);
    let address = &tap.address;
    let mut command = fedflip();
    command.args([
        "join",
        address,
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
    std::mem::take(&mut *tap.heard.lock().unwrap())
}

/// Samples that depend on a number, with labels that do, too.
fn samples(salt: usize) -> (Vec<u8>, Vec<u8>) {
    let x = (0..SAMPLES * 64).map(|at| ((at * (7 + salt) + at / 64) % 17) as u8).collect();
    (x, (0..SAMPLES).map(|at| ((at * (3 + salt)) % 10) as u8).collect())
}

#[test]
fn two_devices_with_other_samples_send_the_same_but_for_their_updates() {
    let [one, two] = &said_by_two(Evaluates::Server);
    // Hello, probe, enrolment, attendance, the model, the update.
    assert_eq!((one.len(), two.len()), (6, 6));
    // The fields that may differ, by call: compute_secs; the proof of the coin and the name of the run; of the update its
    // digest, the training loss and the name of the run.
    const HELLO: usize = 0;
    const ENROL: usize = 2;
    const FETCHED: usize = 4;
    assert_eq!(one[HELLO], two[HELLO]);
    let probed = |call: &[Vec<u8>]| {
        call.iter().flat_map(|part| fields(part)).flat_map(|field| field.1).collect::<Vec<u8>>()
    };
    assert_eq!(probed(&one[1]), probed(&two[1]));
    let (enrolled, _) = same(ENROL, &one[ENROL][0], &two[ENROL][0], &[2]);
    assert_eq!(enrolled[0], (1, (SAMPLES as u64).to_le_bytes().to_vec()), "the count of samples");
    assert_eq!(one[ENROL].len(), 1);
    let (answers, again) = (&one[3], &two[3]);
    assert_eq!(
        (answers.len(), again.len()),
        (2, 2),
        "one round, one answer, and a word that the model is there"
    );
    same(3, &inner(&answers[0]), &inner(&again[0]), &[2, 3]);
    same(3, &inner(&answers[1]), &inner(&again[1]), &[2]);
    assert_eq!(one[FETCHED], two[FETCHED], "both begin with the same model");
    let (update, other) = (&one[5], &two[5]);
    same(5, &inner(&update[0]), &inner(&other[0]), &[3, 4, 5]);
    let bytes = |call: &[Vec<u8>]| call[1..].iter().map(|part| inner(part).len()).sum::<usize>();
    assert_eq!(bytes(update), bytes(other), "an update is as long as the model");
    assert_eq!(bytes(update), 4 * (64 * 16 + 16 + 16 * 10 + 10));
}

type Fields = Vec<(u64, Vec<u8>)>;

/// Both messages have the same fields of the same lengths, and the same values but for those that may differ.
#[track_caller]
fn same(call: usize, one: &[u8], two: &[u8], may_differ: &[u64]) -> (Fields, Fields) {
    same_fields(call, [one, two].map(fields), may_differ)
}

#[track_caller]
fn same_fields(call: usize, [one, two]: [Fields; 2], may_differ: &[u64]) -> (Fields, Fields) {
    let numbers = |fields: &Fields| fields.iter().map(|field| field.0).collect::<Vec<_>>();
    assert_eq!(numbers(&one), numbers(&two), "call {call}");
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(one.1.len(), two.1.len(), "call {call}, field {}", one.0);
        assert!(one == two || may_differ.contains(&one.0), "call {call}, field {}", one.0);
    }
    (one, two)
}

/// The message in the first field of a message.
fn inner(message: &[u8]) -> Vec<u8> {
    fields(message).swap_remove(0).1
}

/// What two devices with other samples say, call by call. The headers of all calls are the same to the byte: nothing of the
/// samples is in them.
fn said_by_two(evaluates: Evaluates) -> [Vec<Vec<Vec<u8>>>; 2] {
    let tap = tap();
    let sent = [0, 4].map(|salt| {
        let folder = tempfile::tempdir().unwrap();
        let (x, y) = samples(salt);
        // A device that comes before the server is ready comes again.
        sent_with(&tap, folder.path(), (&x, &y), evaluates).pop().unwrap().sent
    });
    let [one, two] = [&sent[0], &sent[1]].map(|sent| frames(sent, &[HEADERS, CONTINUATION]));
    assert!(one.len() > 5 && one == two, "{one:?} {two:?}");
    sent.map(|sent| messages(&sent))
}

/// Evaluations differ in the values of their sums alone: names, order and length do not depend on the samples.
#[test]
fn two_devices_with_other_samples_report_sums_of_the_same_names() {
    let [one, two] = &said_by_two(Evaluates::Devices);
    const ATTEND: usize = 3;
    // The first model, the coin of the round, a word that its model is there, and the model after it.
    assert_eq!((one[ATTEND].len(), two[ATTEND].len()), (4, 4));
    let reports = |call: &[Vec<u8>]| -> Vec<Vec<u8>> {
        let is_report = |message: &&Vec<u8>| fields(message)[0].0 == 3;
        call.iter().filter(is_report).map(|message| inner(message)).collect()
    };
    let [ones, twos] = [one, two].map(|said| reports(&said[ATTEND]));
    assert_eq!((ones.len(), twos.len()), (2, 2));
    let mut differ = 0;
    for (one, two) in ones.iter().zip(&twos) {
        const SUMS: u64 = 4;
        let parts = [one, two]
            .map(|report| fields(report).into_iter().partition::<Fields, _>(|(number, _)| *number == SUMS));
        let [(ones, others), (twos, more)] = parts;
        // The run, and the digest of the model, which is another one in the other run.
        same_fields(ATTEND, [others, more], &[2, 3]);
        // Three numbers of each of ten classes; and count, loss, correct and correct among the best five.
        assert_eq!((ones.len(), twos.len()), (34, 34));
        for ((_, one), (_, two)) in ones.iter().zip(&twos) {
            let [one, two] = [one, two].map(|sum| fields(sum));
            assert_eq!(one[0], two[0], "the name");
            differ += usize::from(one != two);
        }
    }
    assert!(differ > 2, "the losses differ, at least");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_of_the_samples_is_on_the_wire_in_the_runs_folder_or_in_a_log() {
    for evaluates in [Evaluates::Server, Evaluates::Devices] {
        nothing_is_found(evaluates);
    }
}

fn nothing_is_found(evaluates: Evaluates) {
    let folder = tempfile::tempdir().unwrap();
    let (mut x, y) = samples(0);
    for sample in x.chunks_mut(64) {
        sample[20..20 + MARKER.len()].copy_from_slice(&MARKER);
    }
    let heard = sent_with(&tap(), folder.path(), (&x, &y), evaluates);
    let whole = |one: &Heard| one.sent.len() > 4000 && one.received.len() > 4000;
    assert!(heard.iter().any(whole), "the model went both ways");
    let floats: Vec<u8> =
        MARKER[..4].iter().flat_map(|byte| (f32::from(*byte) / 255.0).to_le_bytes()).collect();
    let normalised = |byte: &u8| (f32::from(*byte) / 255.0 - 0.02) / 0.024;
    let normalised: Vec<u8> = MARKER[..4].iter().flat_map(|byte| normalised(byte).to_le_bytes()).collect();
    let listed = MARKER.map(|byte| byte.to_string()).join(",");
    let spaced = MARKER.map(|byte| byte.to_string()).join(", ");
    // The labels in their order, as bytes, as numbers and as text.
    let labels = &y[..16];
    let label_floats: Vec<u8> = labels.iter().flat_map(|label| f32::from(*label).to_le_bytes()).collect();
    let label_words: Vec<u8> = labels.iter().flat_map(|label| u32::from(*label).to_le_bytes()).collect();
    let label_text = labels.iter().map(u8::to_string).collect::<Vec<_>>();
    let [label_list, label_spaced] = [",", ", "].map(|comma| label_text.join(comma));
    let traces: [&[u8]; 10] = [
        &MARKER,
        &floats,
        &normalised,
        listed.as_bytes(),
        spaced.as_bytes(),
        labels,
        &label_floats,
        &label_words,
        label_list.as_bytes(),
        label_spaced.as_bytes(),
    ];
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
    assert!(file.windows(labels.len()).any(|window| window == labels));
}
