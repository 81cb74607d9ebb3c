//! What people see. `INSTA_UPDATE=always cargo nextest run -p fedflip` accepts changes: look at the diff.

use super::Desk;

/// How long solving took is not a matter of the input.
fn without_times(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        // The last digits of a descent's residual are the mathematics library's.
        let line = match line.find(", KKT residual").or_else(|| line.find(", solved in")) {
            Some(at) if line.trim_start().starts_with("scheme  ") && !line.contains("status") => {
                format!("{}, …", &line[..at])
            }
            _ => line.to_owned(),
        };
        lines.push(line);
    }
    lines.join("\n")
}

/// A comparison's last column is how long solving took.
fn without_last_column(text: &str) -> String {
    let cut = |line: &str| match line.rfind("  ") {
        Some(at) if line.starts_with("  ") && line.ends_with('s') && !line.contains(" = ") => {
            line[..at].trim_end().to_owned()
        }
        _ => line.to_owned(),
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[test]
fn help() {
    let desk = Desk::new();
    for command in [
        "",
        "fleet",
        "fleet new",
        "fleet show",
        "plan",
        "bench",
        "allocate",
        "bound",
        "data",
        "data get",
        "certs",
        "certs init",
        "certs device",
        "certs renew",
        "devices list",
        "devices retire",
        "serve",
        "join",
        "demo",
        "report",
        "sweep",
    ] {
        let name = format!("help {command}").trim_end().replace(' ', "-");
        insta::assert_snapshot!(name, desk.stdout(&format!("{command} --help")));
    }
}

#[test]
fn fleet_show() {
    insta::assert_snapshot!(Desk::new().stdout("fleet show fleet.csv"));
}

#[test]
fn plan_of_the_papers_fleet() {
    let desk = Desk::new();
    for scheme in ["exact", "paper", "tight", "uniform"] {
        let line = format!("plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043 --scheme {scheme}");
        insta::assert_snapshot!(format!("plan-{scheme}"), without_times(&desk.stdout(&line)));
    }
}

#[test]
fn plan_without_pilots() {
    insta::assert_snapshot!(without_times(&Desk::new().stdout("plan fleet.csv --bandwidth 100")));
}

#[test]
fn plan_of_a_small_fleet_from_pilots() {
    let desk = Desk::new();
    desk.write(
        "small.csv",
        "device,compute_secs,comm_secs,samples,availability\n\
         phone,2.5,7,300,0.6\nlaptop,0.4,7,500,1\nsensor,9,0,20,0.05\n",
    );
    let pilots = "--pilot 31:uniform --pilot 18:full --pilot 22:weighted --pilot 20:fixed=0.5";
    let plan = desk.stdout(&format!("plan small.csv --bandwidth 10 {pilots}"));
    insta::assert_snapshot!(without_times(&plan));
}

#[test]
fn plan_unreachable() {
    let plan = Desk::new().stdout("plan fleet.csv --bandwidth 100 --alpha 28 --beta 1.5 --scheme uniform");
    insta::assert_snapshot!(without_times(&plan));
}

#[test]
fn compare() {
    let table = Desk::new().stdout("plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043 --compare");
    insta::assert_snapshot!(without_last_column(&table));
}

#[test]
fn compare_without_constants() {
    let table = Desk::new().stdout("plan fleet.csv --bandwidth 100 --compare");
    insta::assert_snapshot!(without_last_column(&table));
}

#[test]
fn allocate() {
    let desk = Desk::new();
    insta::assert_snapshot!("allocate", desk.stdout("allocate fleet.csv --bandwidth 100 --cohort 3,27,99"));
    insta::assert_snapshot!(
        "allocate-equal",
        desk.stdout("allocate fleet.csv --bandwidth 100 --cohort 3,27,99 --equal")
    );
}

#[test]
fn bound() {
    let desk = Desk::new();
    let given = "--smoothness 1 --divergence 0.5 --gradient-variance 0.5 --initial-gap 2.3";
    let line = format!(
        "bound fleet.csv --scheme fixed=0.2 --learning-rate 0.001 {given} --rounds 20000 --threshold 1.5"
    );
    insta::assert_snapshot!("bound", desk.stdout(&line));
    let line = format!("bound fleet.csv --scheme uniform --learning-rate 0.1 {given} --threshold 1.5");
    insta::assert_snapshot!("bound-broken", desk.stdout(&line));
}
