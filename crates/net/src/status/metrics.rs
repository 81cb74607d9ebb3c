//! Every number of a server, and its text for Prometheus.
//!
//! The text is version 0.0.4 of their format, which every collector reads. Names and units are part of what we
//! promise: dashboards and alerts of others are built on them.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use fedflip_record::{Estimated, Target};

use super::device_metrics;
use super::devices::FleetSource;
use super::instrument::{Counter, Gauge, Histogram};
use super::reason::{ByReason, ConnectionRefusal, Label};
use crate::reason::Reason;

/// From an answer on the same machine to a device that was asleep.
const ANSWER_SECS: &[f64] =
    &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// From a round on the same machine to an hour over a slow link.
const ROUND_SECS: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
];

/// Every number of a server. Each field says in the text what it is; see [`Metrics::render`].
#[expect(missing_docs, reason = "each is described once, in `render`, where users read it too")]
pub struct Metrics {
    pub rounds_committed: Counter,
    pub round: Gauge,
    pub devices_enrolled: Gauge,
    pub devices_attending: Gauge,
    pub devices_benched: Gauge,
    pub devices_departed: Gauge,
    pub connections_open: Gauge,
    pub server_certificate_until: Gauge,
    pub connections_refused: ByReason<ConnectionRefusal>,
    pub joins: Counter,
    pub coins_refused: Counter,
    pub uploads_accepted: Counter,
    pub refused: ByReason<Reason>,
    pub upload_bytes: Counter,
    pub plan_changes: Counter,
    /// Not shown before it is measured.
    pub overhead_secs: Gauge,
    evaluated: NamedGauges,
    /// Of estimates; otherwise there are none.
    standard_errors: NamedGauges,
    limits: NamedGauges,
    reporting: Gauge,
    target: NamedGauges,
    devices: OnceLock<FleetSource>,
    pub round_secs: Histogram,
    pub join_secs: Histogram,
    pub upload_secs: Histogram,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render())
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            rounds_committed: Counter::default(),
            round: Gauge::default(),
            devices_enrolled: Gauge::default(),
            devices_attending: Gauge::default(),
            devices_benched: Gauge::default(),
            devices_departed: Gauge::default(),
            connections_open: Gauge::default(),
            server_certificate_until: Gauge::default(),
            connections_refused: ByReason::default(),
            joins: Counter::default(),
            coins_refused: Counter::default(),
            uploads_accepted: Counter::default(),
            refused: ByReason::default(),
            upload_bytes: Counter::default(),
            plan_changes: Counter::default(),
            overhead_secs: Gauge::default(),
            evaluated: NamedGauges::default(),
            standard_errors: NamedGauges::default(),
            limits: NamedGauges::default(),
            reporting: Gauge::default(),
            target: NamedGauges::default(),
            devices: OnceLock::new(),
            round_secs: Histogram::new(ROUND_SECS),
            join_secs: Histogram::new(ANSWER_SECS),
            upload_secs: Histogram::new(ROUND_SECS),
        }
    }
}

impl Metrics {
    /// Shows the metrics of the newest evaluation, and how sure they are if they are estimates. A round without an
    /// evaluation changes nothing.
    pub fn evaluated(&self, metrics: &fedflip_fleet::Metrics, estimated: Option<&Estimated>) {
        if !metrics.is_empty() {
            let sure = estimated.cloned().unwrap_or_default();
            self.evaluated.locked().clone_from(metrics);
            *self.standard_errors.locked() = sure.se;
            *self.limits.locked() = sure.limit;
            self.reporting.set(sure.devices as f64);
        }
    }

    /// Shows the value of a metric at which the run ends.
    pub fn ends_at(&self, target: &Target) {
        *self.target.locked() = [(target.metric.clone(), target.at)].into_iter().collect();
    }

    /// Shows the metrics of single devices, too; only the first source counts.
    pub fn ask_for_devices(&self, source: FleetSource) {
        let _ = self.devices.set(source);
    }

    /// The text that a collector reads.
    pub fn render(&self) -> String {
        let mut page = Page::default();
        page.counter("rounds_committed", "Rounds whose model is on disk.", &self.rounds_committed);
        page.gauge("round", "The round that is open, or was last.", self.round.get());
        page.gauge("devices_enrolled", "Devices that have ever enrolled.", self.devices_enrolled.get());
        page.gauge(
            "devices_attending",
            "Devices that are connected and ready for rounds.",
            self.devices_attending.get(),
        );
        page.gauge(
            "devices_benched",
            "Devices that are not asked for a while, because they keep failing to deliver.",
            self.devices_benched.get(),
        );
        page.gauge(
            "devices_departed",
            "Devices that were retired or revoked, and are not planned for.",
            self.devices_departed.get(),
        );
        page.gauge("connections_open", "Connections that were accepted.", self.connections_open.get());
        page.reasons(
            "connections_refused",
            "Connections that were refused or cut.",
            &self.connections_refused,
        );
        page.counter("joins", "Coins that put their device into the cohort, checked.", &self.joins);
        page.counter("coins_refused", "Coins whose proof does not hold.", &self.coins_refused);
        page.counter("uploads_accepted", "Updates that count in their round.", &self.uploads_accepted);
        page.reasons("refused", "Refused messages of devices, and devices given up.", &self.refused);
        page.counter("upload_bytes", "Bytes of updates that were received.", &self.upload_bytes);
        page.counter("plan_changes", "Plans that replaced another.", &self.plan_changes);
        if self.overhead_secs.get() > 0.0 {
            page.gauge(
                "round_overhead_seconds",
                "Measured time of a round that is neither download, computing nor uploading.",
                self.overhead_secs.get(),
            );
        }
        self.render_evaluation(&mut page);
        page.histogram("round_seconds", "From a round's opening to its commit.", &self.round_secs);
        page.histogram("join_seconds", "From a round's opening to a device's coin.", &self.join_secs);
        page.histogram("upload_seconds", "From a device's grant to its whole update.", &self.upload_secs);
        // What is not known is left out: zero would be a lie.
        if let Some(status) = self.devices.get().and_then(|source| source()) {
            device_metrics::render(&mut page, &status);
        }
        let until = self.server_certificate_until.get();
        if until > 0.0 {
            page.gauge(
                "server_certificate_expiry_timestamp_seconds",
                "Last second of the server's certificate, since 1970.",
                until,
            );
        }
        if let Some(bytes) = resident_bytes() {
            page.gauge("process_resident_memory_bytes", "Memory that the process holds.", bytes as f64);
        }
        page.text
    }

    /// The newest evaluation, and how sure it is.
    fn render_evaluation(&self, page: &mut Page) {
        page.named("metric", "Metrics of the newest evaluation.", &self.evaluated);
        page.named(
            "metric_standard_error",
            "Standard error of a metric that devices estimated.",
            &self.standard_errors,
        );
        page.named(
            "metric_limit",
            "Confidence limit of an estimated metric, which decides whether the run ends.",
            &self.limits,
        );
        if self.reporting.get() > 0.0 {
            page.gauge(
                "metric_devices",
                "Devices whose reports the metrics are estimated from.",
                self.reporting.get(),
            );
        }
        page.named("metric_target", "Value of a metric at which the run ends.", &self.target);
    }
}

/// One gauge for each metric of the task. Names come from the task, never from a peer.
#[derive(Debug, Default)]
struct NamedGauges(Mutex<fedflip_fleet::Metrics>);

impl NamedGauges {
    /// All values are replaced at once: whoever panicked with the lock left nothing half-done.
    fn locked(&self) -> MutexGuard<'_, fedflip_fleet::Metrics> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text as far as it is written. To write to a string never fails.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP fedflip_{name} {help}\n# TYPE fedflip_{name} {kind}");
    }

    fn counter(&mut self, name: &str, help: &str, counter: &Counter) {
        self.head(&format!("{name}_total"), "counter", help);
        let _ = writeln!(self.text, "fedflip_{name}_total {}", counter.get());
    }

    fn reasons<R: Label>(&mut self, name: &str, help: &str, counters: &ByReason<R>) {
        self.head(&format!("{name}_total"), "counter", help);
        for &reason in R::ALL {
            let (text, count) = (reason.text(), counters.get(reason));
            let _ = writeln!(self.text, "fedflip_{name}_total{{reason=\"{text}\"}} {count}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        let _ = writeln!(self.text, "fedflip_{name} {}", number(value));
    }

    fn named(&mut self, name: &str, help: &str, gauges: &NamedGauges) {
        let values = gauges.locked();
        if values.is_empty() {
            return;
        }
        self.head(name, "gauge", help);
        for (metric, value) in values.iter() {
            let label = escaped(metric);
            let _ = writeln!(self.text, "fedflip_{name}{{name=\"{label}\"}} {}", number(value));
        }
    }

    /// One gauge with a line for each of these labels; nothing without any.
    pub(super) fn labelled(&mut self, name: &str, help: &str, rows: impl Iterator<Item = (String, f64)>) {
        for (place, (labels, value)) in rows.enumerate() {
            if place == 0 {
                self.head(name, "gauge", help);
            }
            let _ = writeln!(self.text, "fedflip_{name}{{{labels}}} {}", number(value));
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, "histogram", help);
        let mut count = 0;
        for (end, below) in histogram.cumulative() {
            count = below;
            let _ = writeln!(self.text, "fedflip_{name}_bucket{{le=\"{}\"}} {below}", number(end));
        }
        let _ = writeln!(self.text, "fedflip_{name}_sum {}", number(histogram.sum()));
        let _ = writeln!(self.text, "fedflip_{name}_count {count}");
    }
}

/// The text as the value of a label.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-Inf".to_owned()
    } else {
        value.to_string()
    }
}

/// None where the system does not say it in a file.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
