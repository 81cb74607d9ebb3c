//! The encoding of updates in messages: its number in the protocol is its place in the list of encodings.

use fedflip_learn::Encoding;

pub fn message(encoding: Encoding) -> i32 {
    Encoding::ALL.iter().position(|(_, known)| *known == encoding).map_or(-1, |place| place as i32)
}

/// None if this version does not know the encoding.
pub fn encoding(message: i32) -> Option<Encoding> {
    Encoding::ALL.get(usize::try_from(message).ok()?).map(|(_, encoding)| *encoding)
}

#[cfg(test)]
mod tests {
    use super::super::v1;
    use super::*;

    #[test]
    fn there_and_back() {
        for (number, (_, known)) in (0..).zip(Encoding::ALL) {
            assert_eq!((message(known), encoding(number)), (number, Some(known)));
        }
        assert_eq!((encoding(4), encoding(-1)), (None, None));
        let in_protocol = [v1::Encoding::F32, v1::Encoding::F16, v1::Encoding::Int8, v1::Encoding::Int4];
        assert_eq!(
            in_protocol.map(|known| encoding(known.into())),
            Encoding::ALL.map(|(_, known)| Some(known))
        );
    }
}
