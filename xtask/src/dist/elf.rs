//! Just enough of an executable's head to know that it is static.

/// The kind of segment that names a dynamic linker.
const INTERPRETER: u32 = 3;

/// Refuses an executable that is of another machine, or that wants a dynamic linker and so libraries of its machine.
pub(super) fn check_static(bytes: &[u8], machine: u16) -> Result<(), String> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err("no 64-bit ELF executable".to_owned());
    }
    let found = number(bytes, 18, 2).ok_or("the head ends early")?;
    if found != u64::from(machine) {
        return Err(format!("built for machine {found} and not for {machine}"));
    }
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
    fn a_dynamic_linker_another_machine_and_broken_heads_are_refused() {
        assert_eq!(check_static(&head(62, &[1, 2, 1]), 62), Ok(()));
        assert_eq!(check_static(&head(62, &[6, 3, 1]), 62), Err("dynamically linked".to_owned()));
        assert!(check_static(&head(62, &[1]), 183).unwrap_err().contains("machine 62"));
        assert!(check_static(b"#!/bin/sh", 62).is_err());
        assert!(check_static(&head(62, &[1, 1])[..70], 62).unwrap_err().contains("ends early"));
    }
}
