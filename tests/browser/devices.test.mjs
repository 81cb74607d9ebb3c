// The dashboard of a server with real devices, which evaluate its models on samples of their own.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { fedflip, folder, launchBrowser, startDevice, startServer, until, watchedPage } from "./support.mjs";

// It lasts longer than the tests.
const SCENARIO = `[task]
name = "own"
model = "softmax"
shape = [2]
values = "floats"
classes = 2
[data]
where = "devices"
[evaluate]
where = "devices"
holdout = 0.4
probability = 1
[fleet]
devices = 2
[plan]
scheme = "full"
[server]
update_norm_max = 100
[record]
evaluate_every = 1
[stop]
metric = "loss"
at = 1e-9
rounds_max = 1000000
`;

const NAMES = ["north", "south"];

let browser, server;
const devices = [];

before(async () => {
  const cwd = folder();
  writeFileSync(path.join(cwd, "s.toml"), SCENARIO);
  await fedflip(["certs", "init", "--host", "127.0.0.1"], cwd);
  await fedflip(["certs", "device", ...NAMES, "--days", "20"], cwd);
  [browser, server] = await Promise.all([launchBrowser(), startServer(["s.toml", "--out", "run"], cwd)]);
  for (const [place, name] of NAMES.entries()) {
    const rows = Array.from({ length: 100 + place }, (_, n) => `${n % 7},${(n * 3) % 5},${n % 2}`);
    writeFileSync(path.join(cwd, `${name}.csv`), ["a,b,label", ...rows, ""].join("\n"));
    const identity = path.join("certs/devices", name);
    devices.push(await startDevice([server.address, "--identity", identity, "--data", `${name}.csv`, "--compute-secs", "0.2"], cwd));
  }
  // There is no fleet before the first plan.
  const planned = async () => (await fetch(new URL("/fleet", server.url))).ok;
  while (!(await planned())) await new Promise((resolve) => setTimeout(resolve, 100));
});

after(async () => {
  await Promise.all([server, ...devices].map((process) => process?.stop()));
  await browser?.close();
});

test("shows who is connected, what devices hold and when certificates expire", async () => {
  const { page, problems, close } = await watchedPage(browser, server.url);
  await until(page, () => document.querySelectorAll("#devices tbody tr").length === 2);
  await until(page, () => [...document.querySelectorAll("#devices thead th")].some((th) => th.textContent === "Certificate"));
  await until(page, () => document.querySelector("#devices tbody").textContent.split("connected").length === 3);
  const table = await page.evaluate(() => {
    const texts = (cells) => [...cells].map((cell) => cell.textContent);
    const heads = texts(document.querySelectorAll("#devices thead th"));
    const rows = [...document.querySelectorAll("#devices tbody tr")].map((row) => texts(row.children));
    return rows.map((row) => Object.fromEntries(heads.map((head, place) => [head, row[place]])));
  });
  assert.deepEqual(table.map((row) => row.Device).sort(), NAMES);
  for (const row of table) {
    assert.equal(row.State, "connected");
    // What is held out is not trained on.
    assert.ok(Number(row.Samples) > 30 && Number(row.Samples) < 90, row.Samples);
    assert.match(row.Availability, /^[\d.]+ %$/);
    assert.match(row.Version, /^\d+\.\d+\.\d+/);
    assert.match(row.Certificate, /^(19|20) days: renew$/);
  }
  assert.deepEqual(problems, []);
  await close();
});

test("marks metrics that devices estimated", async () => {
  const { page, problems, close } = await watchedPage(browser, server.url);
  await until(page, () => document.querySelector("#figures")?.textContent.includes("Estimated accuracy"));
  const figures = await page.locator("#figures > div").allTextContents();
  const accuracy = figures.find((text) => text.startsWith("Estimated accuracy"));
  assert.match(accuracy, /%.*from (1|2) devices$/);
  assert.match(figures.find((text) => text.startsWith("Estimated loss")), /from (1|2) devices, target/);
  assert.deepEqual(problems, []);
  await close();
});

test("says that a device has left", async () => {
  await devices[0].stop();
  const { page, problems, close } = await watchedPage(browser, server.url);
  await until(page, () => {
    const rows = [...document.querySelectorAll("#devices tbody tr")].map((row) => row.textContent);
    return rows.some((row) => row.includes("north") && row.includes("away"));
  });
  assert.deepEqual(problems, []);
  await close();
});
