//! Just enough of an executable's head to know its machine, and that it is static; and which glibc a library needs.

/// The kind of segment that names a dynamic linker.
const INTERPRETER: u32 = 3;

/// Refuses an executable or a library that is of another machine.
pub(crate) fn check_machine(bytes: &[u8], machine: u16) -> Result<(), String> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err("no 64-bit ELF executable".to_owned());
    }
    let found = number(bytes, 18, 2).ok_or("the head ends early")?;
    if found != u64::from(machine) {
        return Err(format!("built for machine {found} and not for {machine}"));
    }
    Ok(())
}

/// The second number of the latest version of glibc that symbols are taken from: 17 if `GLIBC_2.17` is the latest.
/// The versions stand in the file as text, and so are found without its tables.
pub(crate) fn glibc_needed(bytes: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(bytes);
    let versions = text.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    });
    versions.max().unwrap_or(0)
}

/// Refuses an executable that is of another machine, or that wants a dynamic linker and so libraries of its machine.
pub(super) fn check_static(bytes: &[u8], machine: u16) -> Result<(), String> {
    check_machine(bytes, machine)?;
    let head = || Some((number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?));
    let (start, size, count) = head().ok_or("the head ends early")?;
    for index in 0..count {
        let at = usize::try_from(start + index * size).map_err(|_| "the head is broken")?;
        let kind = number(bytes, at, 4).ok_or("the table of segments ends early")?;
        if kind == u64::from(INTERPRETER) {
            return Err("dynamically linked".to_owned());
        }
    }
    Ok(())
}

/// A little-endian number of some bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(length)?)?;
    Some(part.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(machine: u8, kinds: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = machine;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = kinds.len() as u8;
        for &kind in kinds {
            bytes.push(kind);
            bytes.extend([0; 55]);
        }
        bytes
    }

    #[test]
    fn the_latest_glibc_is_found_by_number() {
        assert_eq!(glibc_needed(b"\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.9\0GLIBC_PRIVATE\0"), 17);
        assert_eq!(glibc_needed(b"static"), 0);
    }

    #[test]
    fn a_dynamic_linker_another_machine_and_broken_heads_are_refused() {
        assert_eq!(check_static(&head(62, &[1, 2, 1]), 62), Ok(()));
        assert_eq!(check_static(&head(62, &[6, 3, 1]), 62), Err("dynamically linked".to_owned()));
        assert!(check_static(&head(62, &[1]), 183).unwrap_err().contains("machine 62"));
        assert!(check_static(b"#!/bin/sh", 62).is_err());
        assert!(check_static(&head(62, &[1, 1])[..70], 62).unwrap_err().contains("ends early"));
    }
}
