//! What stands in for the world: a web server of this process, and programs that are shell scripts.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::made_up::Content;

/// How it behaves; what is asked is written down.
#[derive(Default)]
pub(crate) struct Behaviour {
    /// Of the first answers, only this number of bytes are sent before the connection breaks.
    pub(crate) breaks: VecDeque<usize>,
    /// Whether it can start in the middle of a file.
    pub(crate) ranges: bool,
    /// Path, and where it was asked to start.
    pub(crate) asked: Vec<(String, usize)>,
}

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) behaviour: Arc<Mutex<Behaviour>>,
}

impl Server {
    /// Serves the files under any folder until the process ends.
    pub(crate) fn start(files: &[Content], behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let behaviour = Arc::new(Mutex::new(behaviour));
        let (files, shared) = (files.to_vec(), Arc::clone(&behaviour));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up has what it wants.
                let _ = answer(stream, &files, &mut shared.lock().unwrap());
            }
        });
        Self { address, behaviour }
    }

    pub(crate) fn asked(&self) -> Vec<(String, usize)> {
        self.behaviour.lock().unwrap().asked.clone()
    }
}

fn answer(mut stream: TcpStream, files: &[Content], behaviour: &mut Behaviour) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap()?;
    let path = request.split(' ').nth(1).unwrap().to_owned();
    let headers: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let from = headers
        .iter()
        .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=")?.split('-').next()?.parse().ok());
    behaviour.asked.push((path.clone(), from.unwrap_or(0)));
    let name = path.rsplit('/').next().unwrap();
    let Some((_, bytes)) = files.iter().find(|(file, _)| *file == name) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let from = from.filter(|_| behaviour.ranges).unwrap_or(0);
    let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) else {
        return stream.write_all(
            b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
    let range = format!("Content-Range: bytes {from}-{}/{}\r\n", bytes.len() - 1, bytes.len());
    let range = if from > 0 { range } else { String::new() };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n", rest.len());
    stream.write_all(head.as_bytes())?;
    let sent = behaviour.breaks.pop_front().unwrap_or(rest.len()).min(rest.len());
    stream.write_all(&rest[..sent])
}

/// Puts a shell script in the place of a program.
pub(crate) fn program(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts the real curl there; false if the machine has none.
pub(crate) fn real_curl(folder: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(curl) = std::env::split_paths(&path).map(|f| f.join("curl")).find(|curl| curl.is_file()) else {
        println!("skipped: there is no curl");
        return false;
    };
    fs::create_dir_all(folder).unwrap();
    std::os::unix::fs::symlink(curl, folder.join("curl")).unwrap();
    true
}
