//! Runs whose workers differed in processor, version or data: `host.json` names the workers.

use std::path::Path;

use fedflip_record::folder::HOST;
use serde::Deserialize;

use crate::problem;

#[derive(Deserialize)]
struct Host {
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    #[serde(default)]
    workers: Option<Workers>,
}

#[derive(Deserialize)]
struct Workers {
    #[serde(default)]
    mixed: Vec<String>,
}

/// A sentence about the run in a folder, if its workers differed. A file that is not there, or cannot be read, has none.
pub(crate) fn remark(folder: &Path) -> Option<String> {
    let host: Host = serde_json::from_slice(&std::fs::read(folder.join(HOST)).ok()?).ok()?;
    let mixed: Vec<String> = host
        .sessions
        .into_iter()
        .filter_map(|session| session.workers)
        .flat_map(|workers| workers.mixed)
        .collect();
    let first = mixed.first()?;
    let more = if mixed.len() > 1 { format!("; so do {} more", mixed.len() - 1) } else { String::new() };
    let what = format!(
        "its workers were admitted although they differ, so its numbers depend on them: {first}{more}"
    );
    Some(problem::about(folder, &what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_differ_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(remark(folder.path()), None);
        let write = |text: &str| std::fs::write(folder.path().join(HOST), text).unwrap();
        write(r#"{"sessions": [{"threads": 1}, {"workers": {"crew": "RayCrew", "joined": 2}}]}"#);
        assert_eq!(remark(folder.path()), None);
        write(r#"{"sessions": [{"workers": {"mixed": ["worker b:2 differs", "worker c:3 differs"]}}]}"#);
        let remark = remark(folder.path()).unwrap();
        assert!(remark.ends_with("depend on them: worker b:2 differs; so do 1 more"), "{remark}");
    }
}
