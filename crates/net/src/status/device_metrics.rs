//! The metrics of single devices, as far as a collector can bear them.

use super::devices::{DeviceStatus, FleetStatus};
use super::metrics::{Page, escaped};

/// The first devices in the order of their slots have metrics of their own, up to this number: each metric is a time
/// series for ever.
pub const DEVICES_MAX: usize = 1000;

/// A metric of every device; none where it is not known.
type DeviceGauge = (&'static str, &'static str, fn(&DeviceStatus) -> Option<f64>);

const GAUGES: [DeviceGauge; 5] = [
    ("device_connected", "1 for a device that is connected, otherwise 0.", |device| {
        Some(f64::from(u8::from(device.is_connected)))
    }),
    ("device_availability", "Share of rounds in which the device can be reached and delivers.", |device| {
        Some(device.availability)
    }),
    ("device_samples", "Samples of the device.", |device| Some(device.samples)),
    ("device_link_mbps", "Largest rate of a device whose uploads were slower than granted.", |device| {
        device.link_mbps
    }),
    (
        "device_certificate_expiry_timestamp_seconds",
        "Last second of the certificate of a device that has not left, since 1970.",
        // Nobody renews the certificate of a device that has left: it must not keep an alert on.
        |device| {
            let until = device.certificate_until_unix_secs.filter(|_| !device.standing.has_left());
            until.map(|until| until as f64)
        },
    ),
];

pub(super) fn render(page: &mut Page, status: &FleetStatus) {
    let devices = &status.devices[..status.devices.len().min(DEVICES_MAX)];
    for (name, help, value) in GAUGES {
        // Names of devices need no escape.
        let label = |device: &DeviceStatus| format!("device=\"{}\"", device.name);
        let known = devices.iter().filter_map(|device| Some((label(device), value(device)?)));
        page.labelled(name, help, known);
    }
    let info = |device: &DeviceStatus| {
        let (name, version, standing) = (&device.name, escaped(&device.version), device.standing.name());
        (format!("device=\"{name}\",version=\"{version}\",standing=\"{standing}\""), 1.0)
    };
    page.labelled(
        "device_info",
        "Version of the agent, and whether it is planned for.",
        devices.iter().map(info),
    );
}

#[cfg(test)]
mod tests {
    use super::super::devices::Standing;
    use super::*;

    fn device(slot: usize) -> DeviceStatus {
        DeviceStatus {
            slot,
            name: format!("phone-{slot}"),
            is_connected: slot == 0,
            standing: if slot == 1 { Standing::Retired } else { Standing::Active },
            version: "0.1\"\\".to_owned(),
            samples: 10.0,
            compute_secs: 1.0,
            comm_mbit: 1.0,
            link_mbps: (slot == 0).then_some(2.5),
            availability: 0.5,
            certificate_until_unix_secs: (slot < 2).then_some(1_900_000_000),
            last_seen_unix_secs: None,
        }
    }

    #[test]
    fn labels_are_escaped_and_devices_are_bounded() {
        let mut page = Page::default();
        let devices = (0..DEVICES_MAX + 5).map(device).collect();
        render(&mut page, &FleetStatus { unix_secs: 0, devices });
        let text = page.text;
        assert!(text.contains("fedflip_device_connected{device=\"phone-0\"} 1\n"));
        assert!(text.contains("fedflip_device_connected{device=\"phone-1\"} 0\n"));
        assert!(text.contains("fedflip_device_availability{device=\"phone-1\"} 0.5\n"));
        let expiry: Vec<&str> =
            text.lines().filter(|line| line.contains("expiry") && !line.starts_with('#')).collect();
        assert_eq!(
            expiry,
            ["fedflip_device_certificate_expiry_timestamp_seconds{device=\"phone-0\"} 1900000000"]
        );
        assert!(text.contains(r#"{device="phone-2",version="0.1\"\\",standing="active"} 1"#), "{text}");
        assert_eq!(text.matches("fedflip_device_samples{").count(), DEVICES_MAX);
        let mut empty = Page::default();
        render(&mut empty, &FleetStatus { unix_secs: 0, devices: Vec::new() });
        assert_eq!(empty.text, "");
    }
}
