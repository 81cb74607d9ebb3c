//! Updates through their encodings: unbiased, within one step, the same bytes always, and refused when broken.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fedflip_fleet::{Purpose, StreamKey};
use fedflip_learn::encoding::{BLOCK, Undecodable, half};
use fedflip_learn::{Encoding, TrainKey};
use proptest::prelude::*;
use rand::Rng;

const LOSSY: [Encoding; 3] = [Encoding::F16, Encoding::Int8, Encoding::Int4];

fn stream(round: u64) -> impl Rng {
    TrainKey::new(7, round, 3).rounding()
}

fn encoded(encoding: Encoding, numbers: &[f32], round: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoding.encode(numbers, &mut stream(round), &mut bytes);
    bytes
}

fn sent(encoding: Encoding, numbers: &[f32], round: u64) -> Vec<f32> {
    let mut numbers = numbers.to_vec();
    encoding.round_trip(&mut numbers, &mut stream(round));
    numbers
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// From one value that the encoding has to the next, at this number.
fn step(encoding: Encoding, number: f32, scale: f32) -> f64 {
    let scale = f64::from(scale);
    match encoding {
        Encoding::F32 => 0.0,
        Encoding::F16 => f64::from(number).abs().log2().floor().max(-14.0).exp2() / 1024.0,
        Encoding::Int8 => scale / 127.0,
        Encoding::Int4 => scale / 7.0,
    }
}

/// Of many sizes, down to those that half precision has no bits for.
fn update(len: usize) -> Vec<f32> {
    let number = |n: usize| ((n * 7919 % 10_007) as f32 / 5_003.5 - 1.0) * 10_f32.powi(-((n % 9) as i32));
    (0..len).map(number).collect()
}

#[test]
fn the_mean_is_the_number() {
    const DRAWS: u64 = 4_000;
    let numbers = update(300);
    for encoding in LOSSY {
        let (mut sums, mut squares) = (vec![0.0; 300], vec![0.0; 300]);
        for round in 0..DRAWS {
            for (n, number) in sent(encoding, &numbers, round).into_iter().enumerate() {
                let off = f64::from(number) - f64::from(numbers[n]);
                sums[n] += off;
                squares[n] += off * off;
            }
        }
        // All together, each in units of its own standard error: a bias that they share would add up.
        let mut total = 0.0;
        for (n, (sum, square)) in sums.iter().zip(&squares).enumerate() {
            let scale =
                numbers[n / BLOCK * BLOCK..].iter().take(BLOCK).fold(0.0, |most, x| x.abs().max(most));
            let step = step(encoding, numbers[n], scale);
            let mean = sum / DRAWS as f64;
            // Of a number that hardly ever goes up there may be no draw that did: f32 itself has an error, too.
            let error =
                (square / DRAWS as f64).sqrt().max(step / (DRAWS as f64).sqrt()) / (DRAWS as f64).sqrt();
            assert!(mean.abs() <= 5.0 * error, "{encoding:?}: {} is {mean} off", numbers[n]);
            total += mean / error;
        }
        assert!(total.abs() < 5.0 * 300_f64.sqrt(), "{encoding:?}: {total}");
    }
}

#[test]
fn zeros_and_the_largest_stay() {
    let mut numbers = vec![0.0_f32; 2 * BLOCK + 11];
    let largest = [(3, -0.3), (BLOCK + 40, 1.7e-3), (2 * BLOCK + 10, -1e-30)];
    largest.iter().for_each(|&(at, number)| numbers[at] = number);
    for encoding in [Encoding::Int8, Encoding::Int4] {
        for round in 0..50 {
            assert_eq!(sent(encoding, &numbers, round), numbers, "{encoding:?}");
        }
    }
    assert_eq!(sent(Encoding::F16, &[0.0; 300], 1), [0.0; 300]);
}

#[test]
fn what_half_precision_has_stays_and_what_is_beyond_is_its_largest() {
    for code in (0..0x7c00).chain(0x8000..0xfc00) {
        let number = half::number(code);
        for chance in [0, u32::MAX] {
            assert_eq!(half::code(number, chance), code, "{number}");
        }
    }
    let cases = [
        (1.0, 0x3c00),
        (-2.0, 0xc000),
        (65_504.0, 0x7bff),
        (6.103_515_6e-5, 0x0400),
        (5.960_464_5e-8, 1),
        (65_505.0, 0x7bff),
        (-1e9, 0xfbff),
        (f32::MAX, 0x7bff),
        (-0.0, 0x8000),
    ];
    for (number, code) in cases {
        assert_eq!((half::code(number, 0), half::code(number, u32::MAX)), (code, code), "{number}");
    }
    // Between two: down at one end of chance, up at the other, through the places where the spacing doubles.
    for code in (0..0x7bff_u16).step_by(7).chain([0x03ff, 0x07ff]) {
        let between = (half::number(code) + half::number(code + 1)) / 2.0;
        assert_eq!((half::code(between, u32::MAX), half::code(between, 0)), (code, code + 1), "{between}");
    }
}

#[test]
fn the_bytes_are_pinned() {
    let numbers = [0.5_f32, -1.0, 0.3, 1e-3, -2e-6, 0.0, 0.77];
    let hex = |encoding| {
        encoded(encoding, &numbers, 1).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let pinned = [
        "0000003f000080bf9a99993e6f12833abd3706b600000000b81e453f",
        "003800bccd34191421800000293a",
        "0000803f40812700000062",
        "0000803f94030005",
    ];
    assert_eq!(Encoding::ALL.map(|(_, encoding)| hex(encoding)), pinned);
}

#[test]
fn broken_bytes_are_refused() {
    let decode = |encoding: Encoding, bytes: &[u8], len| encoding.decode(bytes, &mut vec![0.0; len]);
    let numbers = update(BLOCK + 5);
    for (_, encoding) in Encoding::ALL {
        let bytes = encoded(encoding, &numbers, 1);
        let (len, want) = (numbers.len(), bytes.len());
        assert_eq!(decode(encoding, &bytes, len), Ok(()));
        for have in [0, 1, want - 1] {
            assert_eq!(decode(encoding, &bytes[..have], len), Err(Undecodable::WrongLength { have, want }));
        }
        assert!(decode(encoding, &[&bytes[..], &[0]].concat(), len).is_err());
        // What an honest device cannot mean is not sent as something else.
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut numbers = numbers.clone();
            numbers[BLOCK + 2] = wrong;
            let bytes = encoded(encoding, &numbers, 1);
            assert_eq!(decode(encoding, &bytes, len), Err(Undecodable::NoNumber), "{encoding:?}");
            assert!(!sent(encoding, &numbers, 1)[BLOCK + 2].is_finite());
        }
    }
    let scale = 1_f32.to_le_bytes();
    assert_eq!(decode(Encoding::Int8, &[&scale[..], &[0x81]].concat(), 1), Ok(()));
    assert_eq!(decode(Encoding::Int8, &[&scale[..], &[0x80]].concat(), 1), Err(Undecodable::NoNumber));
    assert_eq!(decode(Encoding::Int4, &[&scale[..], &[0x09]].concat(), 1), Ok(()));
    assert_eq!(decode(Encoding::Int4, &[&scale[..], &[0x08]].concat(), 1), Err(Undecodable::NoNumber));
    assert_eq!(decode(Encoding::Int4, &[&scale[..], &[0x19]].concat(), 1), Err(Undecodable::NoNumber));
    for scale in [f32::NAN, f32::INFINITY, -1.0] {
        let bytes = [&scale.to_le_bytes()[..], &[1]].concat();
        assert_eq!(decode(Encoding::Int8, &bytes, 1), Err(Undecodable::NoNumber));
    }
    for half in [0x7c00_u16, 0xfc00, 0x7e00, 0xffff] {
        assert_eq!(decode(Encoding::F16, &half.to_le_bytes(), 1), Err(Undecodable::NoNumber));
    }
}

#[test]
fn every_part_of_the_key_matters() {
    let numbers = update(500);
    let key = TrainKey::new(7, 1, 3);
    let sent = |key: TrainKey| {
        let mut bytes = Vec::new();
        Encoding::Int8.encode(&numbers, &mut key.rounding(), &mut bytes);
        bytes
    };
    assert_eq!(sent(key), sent(key));
    for other in [TrainKey { seed: 8, ..key }, TrainKey { round: 2, ..key }, TrainKey { device: 4, ..key }] {
        assert_ne!(sent(key), sent(other));
    }
    let mut batches = StreamKey { seed: 7, purpose: Purpose::Batches, round: 1 }.device(3);
    assert_ne!(key.rounding().next_u64(), batches.next_u64(), "chance of its own");
}

fn finite() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>().prop_filter("finite", |x| x.is_finite()), -1.0..1.0_f32, Just(0.0), Just(-0.0)]
}

proptest! {
    #[test]
    fn both_ways_come_to_the_same(
        numbers in prop::collection::vec(finite(), 0..700),
        round in any::<u64>(),
    ) {
        for (_, encoding) in Encoding::ALL {
            let bytes = encoded(encoding, &numbers, round);
            prop_assert_eq!(bytes.len(), encoding.bytes(numbers.len()));
            let mut decoded = vec![f32::NAN; numbers.len()];
            prop_assert_eq!(encoding.decode(&bytes, &mut decoded), Ok(()));
            prop_assert_eq!(bits(&decoded), bits(&sent(encoding, &numbers, round)));
        }
    }

    #[test]
    fn nothing_is_off_by_more_than_a_step(
        numbers in prop::collection::vec(finite(), 1..=BLOCK),
        round in any::<u64>(),
    ) {
        let scale = numbers.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        for encoding in LOSSY {
            for (&number, &there) in numbers.iter().zip(&sent(encoding, &numbers, round)) {
                let most = if encoding == Encoding::F16 { half::MAX } else { f32::MAX };
                let number = number.clamp(-most, most);
                let off = (f64::from(there) - f64::from(number)).abs();
                // The rounding of f32 itself, where the scale is so small that it has few bits.
                let slack = 1e-5 * f64::from(scale) + f64::from(f32::MIN_POSITIVE);
                let slack = if encoding == Encoding::F16 { 0.0 } else { slack };
                prop_assert!(off <= step(encoding, number, scale) + slack, "{encoding:?}: {number} became {there}");
                prop_assert!(there == 0.0 || there.is_sign_negative() == number.is_sign_negative());
            }
        }
    }

    #[test]
    fn any_bytes_are_numbers_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..1200),
        len in 0..600_usize,
    ) {
        for (_, encoding) in Encoding::ALL {
            let mut numbers = vec![0.0; len];
            let decoded = encoding.decode(&bytes, &mut numbers);
            prop_assert_eq!(matches!(decoded, Err(Undecodable::WrongLength { .. })), bytes.len() != encoding.bytes(len));
            prop_assert!(decoded.is_err() || numbers.iter().all(|number| number.is_finite()));
        }
    }
}
