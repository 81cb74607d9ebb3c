//! Settings of `join` from the command line, the environment and a file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{CommandFactory, Parser};
use fedflip_agent::config::complete;
use fedflip_agent::error::SettingError;
use fedflip_agent::{JoinArgs, LogFormat};
use tempfile::TempDir;

#[derive(Debug, Parser)]
#[command(name = "join")]
struct Args {
    #[command(flatten)]
    join: JoinArgs,
}

/// A folder with a file `agent.toml`.
struct Device {
    folder: TempDir,
}

impl Device {
    fn with(file: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("agent.toml"), file).unwrap();
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("agent.toml")
    }

    fn complete(&self, line: &str, environment: &[(&str, &str)]) -> Result<Vec<OsString>, SettingError> {
        let typed = ["join", "--config"].into_iter().map(OsString::from).chain([self.file().into()]);
        let words = typed.chain(line.split_whitespace().map(OsString::from)).collect();
        complete(&Args::command(), words, |name| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn args(&self, line: &str, environment: &[(&str, &str)]) -> JoinArgs {
        let words =
            self.complete(line, environment).unwrap_or_else(|error| panic!("{error}: {}", error.hint));
        Args::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).join
    }

    /// The refusal, without the folder.
    fn refusal(&self) -> String {
        let error = self.complete("", &[]).expect_err("a refusal");
        let folder = format!("{}/", self.folder.path().display());
        format!("{error} ({})", error.hint).replace(&folder, "")
    }
}

#[test]
fn the_command_line_precedes_the_environment_and_the_environment_the_file() {
    let device = Device::with(
        "server = \"file:1\"\nidentity = \"id\"\ncompute_secs = 1\ngive_up_secs = 1.5\nlog = \"json\"\n",
    );
    let environment = [("FEDFLIP_JOIN_SERVER", "environment:1"), ("FEDFLIP_JOIN_COMPUTE_SECS", "2")];
    let typed = device.args("typed:1", &environment);
    assert_eq!((typed.server.as_str(), typed.compute_secs, typed.give_up_secs), ("typed:1", 2.0, Some(1.5)));
    let untyped = device.args("--compute-secs 3", &environment);
    assert_eq!((untyped.server.as_str(), untyped.compute_secs), ("environment:1", 3.0));
    let alone = device.args("", &[("FEDFLIP_JOIN_SERVER", ""), ("FEDFLIP_DATA", "other")]);
    assert_eq!((alone.server.as_str(), alone.compute_secs, alone.logs.log), ("file:1", 1.0, LogFormat::Json));
    assert_eq!(alone.data_dir, None, "the default stays");
}

#[test]
fn the_environment_may_name_the_file() {
    let device = Device::with("server = \"file:1\"\ninsecure = true\nname = \"phone-01\"\n");
    let file = device.file();
    let variable = |name: &str| (name == "FEDFLIP_JOIN_CONFIG").then(|| file.clone().into_os_string());
    let words = complete(&Args::command(), vec!["join".into()], variable).unwrap();
    let args = Args::try_parse_from(words).unwrap().join;
    assert_eq!(
        (args.server.as_str(), args.insecure, args.name.as_deref()),
        ("file:1", true, Some("phone-01"))
    );
    assert_eq!(args.config, Some(file));
}

#[test]
fn relative_paths_are_relative_to_the_file_that_has_them() {
    let device = Device::with("server = \"h:1\"\nidentity = \"phone-01\"\ndata_dir = \"/data\"\n");
    let args = device.args("", &[]);
    assert_eq!(args.identity, Some(device.folder.path().join("phone-01")));
    assert_eq!(args.data_dir.as_deref(), Some(Path::new("/data")));
    let args = device.args("", &[("FEDFLIP_JOIN_IDENTITY", "elsewhere")]);
    assert_eq!(args.identity.as_deref(), Some(Path::new("elsewhere")));
}

#[test]
fn a_choice_replaces_what_it_excludes_in_lower_places() {
    let certified = Device::with("server = \"h:1\"\nidentity = \"id\"\n");
    let args = certified.args("--insecure --name a", &[]);
    assert!(args.insecure && args.identity.is_none());
    let plain = Device::with("server = \"h:1\"\ninsecure = true\nname = \"a\"\n");
    let args = plain.args("--identity id", &[]);
    assert!(!args.insecure && args.name.is_none());
    let args = plain.args("", &[("FEDFLIP_JOIN_INSECURE", "false"), ("FEDFLIP_JOIN_IDENTITY", "id")]);
    assert!(!args.insecure && args.identity.is_some());
}

#[test]
fn a_refusal_names_the_line_the_key_the_value_and_what_would_be_right() {
    let keys = "server, config, identity, insecure, name, data_dir, data, compute_secs, save_model, give_up_secs, log, log_level";
    let keys = keys.replace("config, ", "");
    for (file, expected) in [
        (
            "\nidentiy = \"x\"",
            format!("agent.toml, line 2: there is no key \"identiy\" (did you mean identity? The keys are {keys})"),
        ),
        ("zzz = 1", format!("agent.toml, line 1: there is no key \"zzz\" (the keys are {keys})")),
        ("config = \"x\"", format!("agent.toml, line 1: there is no key \"config\" (the keys are {keys})")),
        (
            "compute_secs = \"fast\"",
            "agent.toml, line 1: compute_secs: \"fast\" cannot be used (it must be a number)".to_owned(),
        ),
        ("name = 7", "agent.toml, line 1: name: 7 cannot be used (it must be text in quotes)".to_owned()),
        (
            "data_dir = [\"a\"]",
            "agent.toml, line 1: data_dir: [\"a\"] cannot be used (it must be a path in quotes)".to_owned(),
        ),
        ("insecure = 1", "agent.toml, line 1: insecure: 1 cannot be used (it must be true or false)".to_owned()),
        (
            "log = \"xml\"",
            "agent.toml, line 1: log: \"xml\" cannot be used (it must be text or json)".to_owned(),
        ),
        (
            "log_level = \"loud\"",
            "agent.toml, line 1: log_level: \"loud\" cannot be used (it must be off, error, warn, info or debug)"
                .to_owned(),
        ),
        ("[name]\nx = 1", "agent.toml, line 1: name: a table cannot be used (it must be text in quotes)".to_owned()),
    ] {
        assert_eq!(Device::with(file).refusal(), expected);
    }
    assert!(Device::with("a\nb").refusal().starts_with("agent.toml, line 1: not TOML: "));
    let device = Device::with("");
    std::fs::remove_file(device.file()).unwrap();
    assert!(device.refusal().starts_with("agent.toml: cannot be read: "));
}

#[test]
fn a_variable_is_checked_like_an_option() {
    for (name, value, expected) in [
        ("FEDFLIP_JOIN_COMPUTE_SECS", "fast", "compute_secs: fast cannot be used"),
        ("FEDFLIP_JOIN_INSECURE", "maybe", "insecure: \"maybe\" cannot be used"),
        ("FEDFLIP_JOIN_LOG", "xml", "log: \"xml\" cannot be used"),
    ] {
        let error = Device::with("").complete("", &[(name, value)]).unwrap_err();
        assert_eq!(error.to_string(), format!("{name}: {expected}"));
    }
}

#[test]
fn the_small_program_takes_its_server_from_a_file_and_logs_as_the_file_says() {
    // The server is asked for by a name that no machine has.
    let device = Device::with(
        "server = \"127.0.0.1:9\"\ninsecure = true\nname = \"phone-01\"\ngive_up_secs = 0\nlog = \"json\"\n",
    );
    let program = || Command::new(env!("CARGO_BIN_EXE_fedflip-join"));
    let output = program().arg("--config").arg(device.file()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    let first = log.lines().next().unwrap();
    assert!(first.starts_with('{') && first.contains("\"server\":\"127.0.0.1:9\""), "{log}");
    let output = program().env("FEDFLIP_JOIN_CONFIG", "no-such.toml").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.starts_with("error: no-such.toml: cannot be read: ") && said.contains("\n  hint: "),
        "{said}"
    );
}

#[test]
fn the_example_and_the_compose_file_have_settings_that_join_has() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let words = vec!["join".into(), "--config".into(), folder.join("agent.toml").into()];
    let words = complete(&Args::command(), words, |_| None).unwrap_or_else(|error| panic!("{error}"));
    let args = Args::try_parse_from(words).unwrap().join;
    assert_eq!((args.server.as_str(), args.logs.log), ("fl.example.org:7700", LogFormat::Json));
    let compose = std::fs::read_to_string(folder.join("compose.yaml")).unwrap();
    let command = Args::command();
    let keys: Vec<String> = command.get_arguments().map(|arg| arg.get_id().as_str().to_owned()).collect();
    let names =
        compose.lines().filter_map(|line| line.trim().strip_prefix("FEDFLIP_JOIN_")?.split(':').next());
    let names: Vec<String> = names.map(str::to_lowercase).collect();
    assert!(names.len() > 4 && names.iter().all(|name| keys.contains(name)), "{names:?}");
}

/// A command with an option that may be given more than once.
#[derive(Debug, Parser)]
#[command(name = "join")]
struct Listing {
    server: String,
    #[arg(long)]
    config: Option<PathBuf>,
    #[arg(long, num_args = 1.., value_name = "FILE")]
    data: Vec<PathBuf>,
}

#[test]
fn a_list_of_files_comes_from_any_place_and_a_server_stays_a_server() {
    let device = Device::with("server = \"h:1\"\ndata = [\"a.npz\", \"/b.npz\"]\n");
    let parse = |typed: &[&str], variable: Option<&str>| {
        let words = ["join", "--config"].map(OsString::from).into_iter().chain([device.file().into()]);
        let words = words.chain(typed.iter().map(OsString::from)).collect();
        let look_up = |name: &str| variable.filter(|_| name == "FEDFLIP_JOIN_DATA").map(OsString::from);
        Listing::try_parse_from(complete(&Listing::command(), words, look_up).unwrap()).unwrap()
    };
    let here = device.folder.path();
    let args = parse(&[], None);
    assert_eq!((args.server.as_str(), args.config), ("h:1", Some(device.file())));
    assert_eq!(args.data, [here.join("a.npz"), PathBuf::from("/b.npz")]);
    assert_eq!(parse(&["typed:1"], Some("c.npz:d.npz")).data, [Path::new("c.npz"), Path::new("d.npz")]);
    let args = parse(&["typed:1", "--data", "e.npz", "f.npz"], Some("c.npz"));
    assert_eq!((args.server.as_str(), args.data.len()), ("typed:1", 2));
}
