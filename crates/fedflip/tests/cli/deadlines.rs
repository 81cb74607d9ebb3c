//! Runs with a deadline: a device that cannot make it is named, and is the only one that is lost.

use super::Desk;

#[test]
fn a_device_that_cannot_make_the_deadline_is_named_and_lost_alone() {
    let desk = Desk::new();
    desk.write("s.toml", desk.stdout("scenario new synthetic"));
    let rows = "a,0.05,1,100\nb,0.05,1,100\nc,0.05,1,100\nd,12,1,100\n";
    desk.write("four.csv", format!("device,compute_secs,comm_secs,samples\n{rows}"));
    let fixed = "run s.toml --scheme full --quiet --set fleet.file=four.csv --set stop.rounds_max=20 \
                 --set stop.target_accuracy=1 --set round.deadline_secs=4";
    for more in ["", "--set world.compute_jitter=0.3", "--set round.allocation=equal"] {
        let output = desk.run(&format!("{fixed} {more} --out run"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains("warning: d, which needs 12") && said.contains("round.deadline_secs = 4"),
            "{said}"
        );
        let records = std::fs::read_to_string(desk.folder.path().join("run/records.jsonl")).unwrap();
        let alone = records.matches("\"lost\":[{\"device\":3,\"reason\":\"deadline\"}]").count();
        assert_eq!(alone, 20, "{more}: nobody else is lost");
        std::fs::remove_dir_all(desk.folder.path().join("run")).unwrap();
    }
    // Somebody who makes it is not spoken of.
    let output = desk.run(&format!("{fixed} --set round.deadline_secs=60"));
    assert!(!String::from_utf8(output.stderr).unwrap().contains("cannot make"));
}
