//! A server that is killed between two absurd updates remembers what is absurd.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_net::reason::Reason;
use fedflip_net::state::{Fate, StateView};
use tonic::Code;

use crate::bench::{self, Agent, Wanted};
use crate::device::{Device, Update};
use crate::refuse;

const FOLDER: &str = "FEDFLIP_TEST_RUN";
const LISTENING: &str = "listening on ";

fn wanted() -> Wanted {
    Wanted::full(3, 4)
}

/// The server, as a process of its own: continues with the run in the folder, and says where it listens.
#[test]
#[ignore = "is started, and killed, by the test below"]
fn server() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        if let Ok((address, _)) = told.recv() {
            println!("\n{LISTENING}{address}");
        }
    });
    bench::serve(&folder, &wanted(), &tell).unwrap();
}

fn start(folder: &Path) -> (Child, SocketAddr) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "restart::server", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| line.strip_prefix(LISTENING).map(|address| address.parse().unwrap()));
    // What it says later goes nowhere, and must not make it wait.
    std::thread::spawn(move || lines.for_each(drop));
    (server, address.expect("a server that listens"))
}

/// The rogue's part in the next round: an honest update, or one that is larger than all sense.
async fn take_part(rogue: &mut Device, learner: &SgdLearner, is_absurd: bool) -> u64 {
    let opened = rogue.opened().await.expect("a round");
    let grant = rogue.take_part(&opened).await;
    let honest = rogue.trained(&grant, learner).await;
    if is_absurd {
        let parameters = learner.params_len();
        let absurd = Update::of(&vec![(9.9e5 / (parameters as f64).sqrt()) as f32; parameters]);
        let sent = rogue.upload(Device::head(&grant, &absurd), &absurd.bytes).await;
        refuse(sent, Code::InvalidArgument, Reason::AbsurdNorm.name());
    } else {
        assert!(!rogue.upload(Device::head(&grant, &honest), &honest.bytes).await.unwrap());
    }
    opened.round
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_absurd_before_a_kill_is_absurd_after_it() {
    let (folder, learner) = (tempfile::tempdir().unwrap(), wanted().learner());
    let mut absurd_rounds = Vec::new();
    let mut slot = 0;
    for honest_rounds in [1, 0] {
        let (mut server, address) = start(folder.path());
        let _agents = ["good-a", "good-b"].map(|name| Agent::join(address, name));
        let mut rogue = Device::connect(address, "rogue").await;
        rogue.come_in(&learner).await;
        slot = rogue.slot;
        for _ in 0..honest_rounds {
            take_part(&mut rogue, &learner, false).await;
        }
        absurd_rounds.push(take_part(&mut rogue, &learner, true).await);
        // The next one opens once this one is committed.
        rogue.opened().await.expect("another round");
        server.kill().unwrap();
        server.wait().unwrap();
    }
    assert_eq!(absurd_rounds, [2, 3]);
    let view = StateView::open(folder.path()).unwrap();
    for round in absurd_rounds {
        for (device, fate) in view.fates(round).unwrap() {
            let is_lost = fate == Fate::Lost { reason: Reason::AbsurdNorm.name().to_owned() };
            assert_eq!(is_lost, device == slot, "round {round}: {fate:?}");
        }
    }
    let database = rusqlite::Connection::open(folder.path().join("state.sqlite")).unwrap();
    let norms: String = database.query_row("SELECT norms FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(norms.matches(':').count(), 3, "each device's last: {norms}");
}
