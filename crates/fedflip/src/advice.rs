//! Errors of libraries in the words of the command line: which flag is wrong, and which flag helps.

use std::path::Path;

use fedflip_dashboard::DashboardError;
use fedflip_datasets::DataError;
use fedflip_fleet::FleetError;
use fedflip_fleet::units::plain;
use fedflip_learn::task::TaskError;
use fedflip_net::NetError;
use fedflip_net::identity::AUTHORITY_KEY;
use fedflip_plan::{PilotError, PlanError};
use fedflip_record::{FolderProblem, RecordError};
use fedflip_report::ReportError;
use fedflip_run::RunError;
use fedflip_run::deployed::DeployError;
use fedflip_run::sweep::IdleAxis;
use fedflip_scenario::{KeyError, Place, ScenarioError};

/// An error of a run with the name of its flag.
pub(crate) fn run_text(error: &RunError) -> String {
    match error {
        RunError::IdleAxis(error) => format!("--over: {error}"),
        error => error.to_string(),
    }
}

/// What to leave out or to type instead.
pub(crate) fn run_hint(error: &RunError) -> String {
    match error {
        RunError::NoPilots => "leave out pilot.keep, or --no-pilot".to_owned(),
        RunError::IdleAxis(error) => idle_axis_hint(*error).to_owned(),
        error => error.hint(),
    }
}

fn idle_axis_hint(error: IdleAxis) -> &'static str {
    match error {
        IdleAxis::Seed => "set the number of seeds with --seeds, and the first one with --seed",
        IdleAxis::Scheme => "name the schemes in --schemes",
        IdleAxis::Constants => "add --no-pilot to plan with the values that are given",
        IdleAxis::Variance => "name auto in --schemes",
        error @ IdleAxis::All => error.hint(),
    }
}

/// A refusal to serve a scenario with the name of its flag.
pub(crate) fn deploy_text(error: &DeployError) -> String {
    let flag = || format!("--{}", error.place().replace('_', "-"));
    match error {
        DeployError::Range { value, .. } => format!("{}: {} is out of range", flag(), plain(*value)),
        DeployError::NoLoss { .. } | DeployError::BadAddress { .. } => format!("--{error}"),
        DeployError::NotARun { .. } | DeployError::AuthorityLacks { .. } => format!("{}: {error}", flag()),
        error => error.to_string(),
    }
}

/// What to type to serve a scenario.
pub(crate) fn deploy_hint(error: &DeployError) -> String {
    let hint = match error {
        DeployError::NoRounds { .. } | DeployError::DrawsCohorts { .. } => {
            "serve a scheme with coins, such as auto or fixed=0.2; `fedflip run` simulates the others"
        }
        DeployError::NoLoss { .. } => {
            "leave it out: the scheme auto needs no pilots; others take plan.alpha and plan.beta"
        }
        DeployError::DataHere { .. } => {
            "set data.where = \"devices\": each device joins with files of its own (--data)"
        }
        DeployError::AuthorityLacks { .. } => {
            "copy ca.pem, revoked.pem, revoked.json and server/ from the folder of the authority, in which \
             `fedflip certs list` writes a missing revoked.json"
        }
        error => return error.hint(),
    };
    hint.to_owned()
}

/// What to name or to type instead where there is no report.
pub(crate) fn report_hint(error: &ReportError) -> String {
    match error {
        ReportError::NoRuns { problems, .. } if !problems.is_empty() => {
            let last = "name the folder that was the --out of run, compare or sweep, or a folder above it";
            format!("{}\n        {last}", problems.join("\n        "))
        }
        ReportError::NoRuns { .. } => {
            "name the folder that was the --out of run, compare or sweep: records.jsonl is in it or below"
                .to_owned()
        }
        ReportError::NoSuchScheme { nearest: Some(name), .. } => format!("did you mean --reference {name}?"),
        ReportError::NoSuchScheme { known, .. } => format!("--reference takes one of {}", known.join(", ")),
        ReportError::NoSuchMetric { nearest: Some(name), .. } => {
            format!("did you mean --target {name}=VALUE?")
        }
        ReportError::NoSuchMetric { known, .. } => format!("--target takes one of {}", known.join(", ")),
        ReportError::NoShare { metric, .. } => {
            format!("it must be a share from 1e-9 to 1: 70 % {metric} is 0.7")
        }
        // A drawing is all that is left.
        _ => "--format svg writes it as text, which needs no drawing".to_owned(),
    }
}

/// How α and β become known.
pub(crate) const GIVE_CONSTANTS: &str =
    "give --alpha and --beta, or pilots to estimate them, such as --pilot 155:uniform --pilot 13:full";

/// A planning error with the name of its flag.
pub(crate) fn plan_text(error: &PlanError) -> String {
    match error {
        PlanError::BadNumber { name, value, .. } => {
            let flag =
                if *name == "divergence_sq" { "divergence".to_owned() } else { name.replace('_', "-") };
            format!("--{flag}: {} is out of range", plain(*value))
        }
        error => error.to_string(),
    }
}

/// What to type instead.
pub(crate) fn plan_hint(error: &PlanError) -> String {
    match error {
        PlanError::SurrogateInfeasible { .. } => {
            "use --scheme exact: P2 has no such floor and still has its optimum".to_owned()
        }
        PlanError::ConstantsMissing { .. } => format!("{GIVE_CONSTANTS}; auto and the baselines need neither"),
        PlanError::FleetTooLarge { .. } => {
            "use --scheme paper, --scheme exact or --scheme tight, which plan for any number of devices".to_owned()
        }
        PlanError::ConvexSolver { .. } => "use --scheme paper: the same optimum in closed form".to_owned(),
        PlanError::Pilots(PilotError::TooFew { .. }) => {
            "give --pilot twice, for example --pilot 18:uniform --pilot 11:full".to_owned()
        }
        PlanError::Pilots(PilotError::GaveUp { .. }) => {
            "choose a loss F_s that is easier to reach (pilot.loss), or let the pilot run longer (pilot.rounds_max)"
                .to_owned()
        }
        error => error.hint(),
    }
}

/// What to type where a data set is missing, or its sources fail.
pub(crate) fn data_hint(error: &DataError) -> String {
    match error {
        DataError::Absent { name, .. } => format!("get it first: fedflip data get {name}"),
        DataError::Io { .. } => {
            "check the permissions and the free space of that folder, or choose another --data-dir".to_owned()
        }
        DataError::NoProgram { program } => {
            format!("install {program}, or get the files elsewhere and use --from FOLDER")
        }
        DataError::Client { .. } => {
            "check the network connection, or get the files elsewhere and use --from FOLDER".to_owned()
        }
        DataError::NoAddress { name } => {
            format!("leave out --url to get it by package, or give --url BASE or --from FOLDER ({name})")
        }
        DataError::NoSource { .. } => {
            "check the network connection, install a program that is missing, or get the \
                                       files elsewhere and use --from FOLDER"
                .to_owned()
        }
        error => error.hint(),
    }
}

/// What to type where the folder of a run or its records are at fault.
pub(crate) fn record_hint(error: &RecordError) -> &'static str {
    match error {
        error if error.is_no_room() => {
            "make room on the disk; a run continues with --resume, and what it recorded is kept"
        }
        RecordError::BadLine { .. } => "restore the file from a copy, or run again with another --out",
        RecordError::Folder { problem, .. } => match problem {
            FolderProblem::Occupied => "resume it with --resume, or name another --out",
            FolderProblem::Damaged => {
                "restore it from a copy, or run anew with another --out: nothing in it was changed"
            }
            FolderProblem::NoCheckpoint => {
                "look at it with `fedflip report`, or run anew with another --out: nothing in it was changed"
            }
            FolderProblem::NotOurs => "name another --out",
            FolderProblem::OtherScenario(_) => "name another --out, or the scenario it was started with",
            FolderProblem::OtherMetrics { .. } => {
                "name another --out, or resume with the fedflip that began the run"
            }
            FolderProblem::Others { .. } => {
                "name an empty or a new --out: nothing in this folder was changed"
            }
            FolderProblem::Locked => "wait for it to end, or name another --out",
            FolderProblem::BeyondCaps { .. } => {
                "raise the cap, or name another --out: nothing in this folder was changed"
            }
            _ => error.hint(),
        },
        error => error.hint(),
    }
}

/// What to type where a server, its authority or its run folder is at fault.
pub(crate) fn net_hint(error: &NetError) -> String {
    let hint = match error {
        NetError::Exists { path } if path.ends_with(AUTHORITY_KEY) => {
            "this authority can be used as it is; for another one, name another folder with --dir"
        }
        NetError::NoAuthority { .. } => {
            "make one with fedflip certs init, or name its folder (--dir; of a server --certs)"
        }
        NetError::Unknown { nearest: None, .. } => "fedflip certs list shows all",
        NetError::NotInRun { nearest: None, .. } => "fedflip devices list --run FOLDER shows all",
        NetError::PlainText { address } => {
            return format!(
                "listen on 127.0.0.1:{}, or use certificates: fedflip certs init",
                address.port()
            );
        }
        NetError::StatusPublic { address } => {
            return format!(
                "serve it at 127.0.0.1:{}, or allow everybody to read it with --metrics-public",
                address.port()
            );
        }
        NetError::StateVersion { path, found, known } => return state_version_hint(path, *found, *known),
        NetError::Record(error) => record_hint(error),
        NetError::Task(TaskError::Data(error)) => return data_hint(error),
        NetError::OtherScenario { .. } => "name another --out, or the scenario it was started with",
        NetError::NoState { .. } => {
            "name another --out: this one is of a simulated run, or has lost its state"
        }
        error => return fedflip_agent::advice::net_hint(error),
    };
    hint.to_owned()
}

/// The command that keeps a run of an older version, which this fedflip cannot resume.
fn state_version_hint(path: &str, found: i64, known: i64) -> String {
    if found > known {
        return "install the newer fedflip that wrote it; nothing was changed".to_owned();
    }
    let folder = Path::new(path).parent().unwrap_or(Path::new(path)).display();
    format!(
        "nothing was changed: finish the run with the fedflip that started it, or keep it with \
         `mv {folder} {folder}-v{found}` and start a new one with the same command"
    )
}

/// Where else to serve a dashboard, or how to let everybody watch.
pub(crate) fn dashboard_hint(error: &DashboardError) -> String {
    match error {
        DashboardError::Public { address } => format!(
            "serve it at 127.0.0.1:{}, or add --dashboard-public if everybody who can reach this machine may watch",
            address.port()
        ),
        error => error.hint(),
    }
}

/// A scenario error with the name of the flag that it is about.
pub(crate) fn scenario_text(error: &ScenarioError) -> String {
    match error {
        ScenarioError::Key(KeyError { place: Place::Override, problem, .. }) => format!("--set: {problem}"),
        ScenarioError::Key(KeyError { place: Place::Axis, problem, .. }) => format!("--over: {problem}"),
        error => error.to_string(),
    }
}

/// A fleet error with the name of its flag.
pub(crate) fn fleet_text(error: &FleetError) -> String {
    match error {
        FleetError::Recipe { what, problem, .. } => format!("--{}: {problem}", what.replace('_', "-")),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_an_older_version_is_refused_with_the_command_that_keeps_it() {
        let hint = |found, known| {
            net_hint(&NetError::StateVersion { path: "runs/a/state.sqlite".to_owned(), found, known })
        };
        assert!(hint(3, 4).contains("`mv runs/a runs/a-v3`"), "{}", hint(3, 4));
        assert!(hint(5, 4).contains("newer fedflip"), "{}", hint(5, 4));
    }
}
