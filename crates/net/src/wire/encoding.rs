//! How updates are sent, there and back.

use fedflip_learn::Encoding;

use super::v1;

pub fn message(encoding: Encoding) -> i32 {
    let encoding = match encoding {
        Encoding::F32 => v1::Encoding::F32,
        Encoding::F16 => v1::Encoding::F16,
        Encoding::Int8 => v1::Encoding::Int8,
        Encoding::Int4 => v1::Encoding::Int4,
    };
    encoding.into()
}

/// From a message; none if this is an encoding that we do not know.
pub fn encoding(message: i32) -> Option<Encoding> {
    Some(match v1::Encoding::try_from(message).ok()? {
        v1::Encoding::F32 => Encoding::F32,
        v1::Encoding::F16 => Encoding::F16,
        v1::Encoding::Int8 => Encoding::Int8,
        v1::Encoding::Int4 => Encoding::Int4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (number, (_, known)) in (0..).zip(Encoding::ALL) {
            assert_eq!((message(known), encoding(number)), (number, Some(known)));
        }
        assert_eq!((encoding(4), encoding(-1)), (None, None));
    }
}
