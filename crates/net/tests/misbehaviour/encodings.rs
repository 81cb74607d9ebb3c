//! Updates that are sent in fewer bits: all of it can be computed again, and what is no update is refused.

use std::sync::Arc;

use fedflip_learn::{Encoding, Learner, TrainKey};
use fedflip_net::server::Ended;
use fedflip_net::wire::numbers::digest_of_bytes;
use fedflip_net::wire::v1;
use tonic::Code;

use crate::bench::{Agent, Bench, Wanted};
use crate::device::{Device, Update};
use crate::refuse;

const DEVICES: usize = 3;
const ROUNDS: u64 = 4;

/// The bench replays every run: digests, bytes and models are those of the encoding.
#[test]
fn agents_send_in_every_encoding() {
    for (_, encoding) in Encoding::ALL {
        let bench = Bench::serve(Wanted { encoding, ..Wanted::full(DEVICES, ROUNDS) });
        let agents: Vec<Agent> =
            (0..DEVICES).map(|n| Agent::join(bench.address, &format!("device-{n}"))).collect();
        let (parameters, metrics) = (bench.wanted.learner().params_len(), Arc::clone(&bench.metrics));
        let (ended, replayed, _folder) = bench.ended();
        assert!(matches!(ended, Ended::Over(end) if end.rounds == ROUNDS));
        assert_eq!((replayed.accepted, replayed.lost), (DEVICES * ROUNDS as usize, 0), "{encoding:?}");
        let bytes = DEVICES * ROUNDS as usize * encoding.bytes(parameters);
        assert_eq!(metrics.upload_bytes.get(), bytes as u64, "{encoding:?}");
        agents.into_iter().for_each(|agent| {
            agent.leave();
        });
    }
}

/// A device by hand that sends what it should not, and at last what it should.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_update_in_the_encoding_is_refused() {
    let encoding = Encoding::Int8;
    let bench = Bench::serve(Wanted { encoding, ..Wanted::full(1, 3) });
    let learner = bench.wanted.learner();
    let mut device = Device::connect(bench.address, "device-0").await;
    let hello = device.hello().await.unwrap();
    assert_eq!(hello.encoding(), v1::Encoding::Int8);
    let sent = encoding.bytes(learner.params_len());
    assert_eq!(hello.probe_bytes as usize, sent.clamp(16 << 10, 1 << 20));
    device.come_in(&learner).await;

    // As it would be sent in 32 bits: four times too much.
    let opened = device.opened().await.unwrap();
    let grant = device.take_part(&opened).await;
    let update = Update::of(&vec![0.25; learner.params_len()]);
    let refused = device.upload(Device::head(&grant, &update), &update.bytes).await;
    refuse(refused, Code::InvalidArgument, "too_many_bytes");

    // A level that there is not.
    let opened = device.opened().await.unwrap();
    let grant = device.take_part(&opened).await;
    let mut bytes = vec![0; sent];
    bytes[10] = 0x80;
    let update = Update { digest: digest_of_bytes(&bytes), bytes, train_loss: 1.0 };
    let refused = device.upload(Device::head(&grant, &update), &update.bytes).await;
    refuse(refused, Code::InvalidArgument, "not_finite");

    // As an honest device.
    let opened = device.opened().await.unwrap();
    let grant = device.take_part(&opened).await;
    let model = device.fetch(&grant.digest, learner.params_len()).await.unwrap();
    let key = TrainKey::new(grant.seed, grant.round, device.slot);
    let mut delta = vec![0.0; model.len()];
    let train_loss = learner.train(&mut learner.worker(), &model, key, &mut delta).unwrap();
    let mut bytes = Vec::new();
    encoding.encode(&delta, &mut key.rounding(), &mut bytes);
    let update = Update { digest: digest_of_bytes(&bytes), bytes, train_loss };
    assert!(!device.upload(Device::head(&grant, &update), &update.bytes).await.unwrap());
    // Counted once, whether the round is still open when it comes again or not.
    match device.upload(Device::head(&grant, &update), &update.bytes).await {
        Ok(duplicate) => assert!(duplicate),
        Err(status) => assert_eq!(status.message(), "stale_round"),
    }
    let (_, replayed, _folder) = tokio::task::spawn_blocking(|| bench.ended()).await.unwrap();
    assert_eq!((replayed.accepted, replayed.lost), (1, 2));
}
