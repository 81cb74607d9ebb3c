// The dashboard in a real browser, beside a real run.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { folder, launchBrowser, scenario, startDashboard, until, watchedPage } from "./support.mjs";

// Lasts longer than the tests.
const LONG = ["run", "s.toml", "--scheme", "fixed=0.1", "--set", "stop.target_accuracy=0.999", "--set", "stop.rounds_max=10000000"];

const ACCURACY = "[data-metric=accuracy]";

let browser, cwd, long;

before(async () => {
  cwd = folder();
  await scenario(cwd);
  [browser, long] = await Promise.all([launchBrowser(), startDashboard(LONG, cwd)]);
});

after(async () => {
  await long?.stop();
  await browser?.close();
});

// Opens the long run's page, and closes it with nothing wrong.
function open(name, body, options) {
  test(name, async () => {
    const { page, problems, close } = await watchedPage(browser, long.url, options);
    await until(page, () => document.querySelectorAll("#devices tbody tr").length > 0);
    await until(page, () => Number(document.querySelector("[data-metric=accuracy]")?.dataset.points) > 3);
    await body(page);
    assert.deepEqual(problems, []);
    await close();
  });
}

const column = (page, place) => page.locator(`#devices tbody tr > :nth-child(${place})`).allTextContents();
const points = (page) => page.locator(ACCURACY).getAttribute("data-points").then(Number);

// How many pixels of a chart have the colour of a custom property, or nearly.
function inked(page, chart, property) {
  return page.evaluate(
    ([chart, property]) => {
      const canvas = document.querySelector(`${chart} canvas`);
      const probe = document.createElement("canvas").getContext("2d");
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(property);
      probe.fillRect(0, 0, 1, 1);
      const wanted = probe.getImageData(0, 0, 1, 1).data;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        const far = Math.abs(data[at] - wanted[0]) + Math.abs(data[at + 1] - wanted[1]) + Math.abs(data[at + 2] - wanted[2]);
        if (data[at + 3] > 128 && far < 40) count += 1;
      }
      return count;
    },
    [chart, property],
  );
}

describe("a run that has not ended", () => {
  open("draws curves that grow without a reload", async (page) => {
    for (const chart of [ACCURACY, "[data-metric=loss]"]) {
      assert.ok((await inked(page, chart, "--c6")) > 30, `${chart} is drawn`);
    }
    // The target of the one, the means of the others.
    for (const chart of [ACCURACY, "#round_secs", "#participants"]) {
      assert.ok((await inked(page, chart, "--target")) > 30, `the line across ${chart} is drawn`);
      assert.ok(Number(await page.locator(chart).getAttribute("data-points")) > 3, chart);
    }
    // Read in one go, and only waited for to change: a long curve has fewer points after a while.
    const shown = () =>
      [document.querySelector("[data-metric=accuracy]").dataset.points, document.querySelectorAll("#figures dd")[4].textContent];
    const [before, round] = await page.evaluate(shown);
    await until(page, (before) => document.querySelector("[data-metric=accuracy]")?.dataset.points !== before, before);
    await until(page, (round) => document.querySelectorAll("#figures dd")[4].textContent !== round, round);
    assert.equal(await page.evaluate(() => performance.getEntriesByType("navigation").length), 1);
  });

  open("says what it is, in numbers, in words and for those who listen", async (page) => {
    assert.equal(await page.locator("#state").textContent(), "running");
    const facts = await page.locator("#facts").textContent();
    for (const fact of ["synthetic", "fixed=0.1", "100 Mbit/s"]) assert.ok(facts.includes(fact), `${fact} in ${facts}`);
    assert.match(await page.locator("#spoken").textContent(), /round [\d,]+, accuracy [\d.]+ %/);
    assert.match(await page.locator(ACCURACY).getAttribute("aria-label"), /Test accuracy of .* %.*target is 99.9 %/);
    assert.match(await page.locator("#log li").last().textContent(), /began/);
    assert.match(await page.locator("#round-summary").textContent(), /^Round [\d,]+ took .* devices?\.$/);
    // In one go: a round later it is another row.
    const bar = await page.evaluate(() => {
      const row = document.querySelector("#timeline tbody tr");
      const width = (kind) => row.querySelector(kind).getBoundingClientRect().width;
      return { text: row.textContent, compute: width(".compute"), upload: width(".upload") };
    });
    assert.match(bar.text, /^[\w-]+\d+ ?[\d.]+ (µs|ms|s)[\d.]+ (µs|ms|s)[\d.]+$/);
    assert.ok(bar.compute > 0 && bar.upload > 0, JSON.stringify(bar));
  });

  open("shows the value under the pointer", async (page) => {
    const box = await page.locator(`${ACCURACY} .u-over`).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.locator(`${ACCURACY} .tip`);
    await tip.waitFor({ state: "visible" });
    assert.match(await tip.textContent(), /^[\d.]+ % at [\d.]+ (ms|s|min|h)$/);
    await page.mouse.move(0, 0);
    await tip.waitFor({ state: "hidden" });
  });

  open("sorts by mouse and by keyboard", async (page) => {
    const head = page.locator("#devices thead th", { hasText: "Data share" });
    const shares = async () => (await column(page, 3)).map((text) => parseFloat(text));
    const sorted = (rows, sign) => rows.every((value, place) => place === 0 || sign * (value - rows[place - 1]) >= 0);
    await head.getByRole("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    await until(page, () => parseFloat(document.querySelector("#devices tbody tr").children[2].textContent) > 3);
    assert.ok(sorted(await shares(), -1), String(await shares()));

    await head.getByRole("button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    await until(page, () => parseFloat(document.querySelector("#devices tbody tr").children[2].textContent) < 1);
    assert.ok(sorted(await shares(), 1), String(await shares()));

    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Compute");
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#devices th[aria-sort]").textContent(), "Compute");
    await until(page, () => document.querySelector("#devices tbody tr").textContent.startsWith("teclast-m40"));
  });

  open("searches, and turns pages", async (page) => {
    assert.equal(await page.locator("#range").textContent(), "1–50 of 100 devices");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 100 devices").waitFor();
    assert.ok(await page.getByRole("button", { name: "Next" }).isDisabled());
    await page.getByLabel("Search").fill("MacBook");
    await page.getByText("1–20 of 20 of 100 devices").waitFor();
    assert.ok((await column(page, 1)).every((name) => name.startsWith("macbook-pro-2018-")));
    await page.getByLabel("Search").fill("nobody");
    await page.getByText("no such device").waitFor();
  });

  open("begins with a way past everything to the fleet", async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the fleet");
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement.id === "fleet");
  });

  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  open("fits a phone", async (page) => {
    const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= 390 && screen <= 390, `${wide} of ${screen}`);
    assert.ok((await inked(page, ACCURACY, "--c6")) > 20);
  }, phone);

  open("is dark where that is liked", async (page) => {
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(background, "rgb(17, 22, 28)");
    assert.ok((await inked(page, ACCURACY, "--c6")) > 30);
    await page.emulateMedia({ colorScheme: "light" });
    await until(page, () => getComputedStyle(document.body).backgroundColor === "rgb(246, 247, 249)");
    assert.ok((await inked(page, ACCURACY, "--c6")) > 30, "the curve takes the other theme's colour");
  }, { colorScheme: "dark" });

  open("prints in light colours, whole and without controls", async (page) => {
    await page.setViewportSize({ width: 718, height: 1000 });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await until(page, () => getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)");
    assert.ok((await inked(page, ACCURACY, "--c6")) > 30, "the curve takes the colour of paper");
    // In one go, because the run continues.
    const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((area) => getComputedStyle(area).overflow !== "visible" || area.scrollHeight > area.clientHeight).map((area) => area.ariaLabel));
    assert.deepEqual(cut, []);
    for (const control of ["#search", "#previous", "#next"]) assert.ok(await page.locator(control).isHidden(), control);
    assert.ok(await page.locator("#range").isVisible());
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 718, `${wide} pixels on paper`);
  }, { colorScheme: "dark" });
});

test("a lost connection is said and comes back by itself", async () => {
  const first = await startDashboard(LONG, cwd);
  const { page, close } = await watchedPage(browser, first.url);
  await until(page, () => Number(document.querySelector("[data-metric=accuracy]")?.dataset.points) > 3);
  await first.stop("SIGKILL");
  await page.getByText("Connection lost, trying again").waitFor();
  assert.equal(await page.locator("#state").textContent(), "connection lost");
  assert.ok((await inked(page, ACCURACY, "--c6")) > 30, "the curve stays");

  const second = await startDashboard([...LONG, "--seed", "8"], cwd, first.port);
  await until(page, () => document.getElementById("notice").hidden);
  await until(page, () => document.getElementById("facts").textContent.includes("Seed8"));
  await close();
  await second.stop();
});

test("a run that is over is said to be over, and its curves stay", async () => {
  const short = ["run", "s.toml", "--scheme", "fixed=0.1", "--set", "stop.rounds_max=60", "--set", "stop.target_accuracy=0.999"];
  const run = await startDashboard([...short, "--keep-dashboard"], cwd);
  const { page, close } = await watchedPage(browser, run.url);
  await page.getByText("ended at its cap on rounds", { exact: true }).waitFor();
  await run.stop("SIGINT");
  assert.equal(await run.ended, 0);
  await page.getByText("All runs are over, and their server has ended").waitFor();
  // The first model and sixty rounds.
  assert.equal(await points(page), 61);
  assert.ok((await inked(page, ACCURACY, "--c6")) > 30);
  await close();
});

test("a comparison leaves a curve for every run, and each scheme can be hidden", async () => {
  const run = await startDashboard(
    ["compare", "s.toml", "--no-pilot", "--schemes", "weighted,uniform", "--seeds", "2", "--keep-dashboard"],
    cwd,
  );
  const { page, problems, close } = await watchedPage(browser, run.url);
  await until(page, () => document.querySelector("[data-metric=accuracy]")?.dataset.runs === "4");
  await page.getByText("all 4 runs are over").waitFor();
  const rows = await page.locator("#schemes tbody tr").allTextContents();
  assert.equal(rows.length, 2);
  assert.ok(rows.every((row) => row.includes("2 of 2")) && rows.some((row) => row.includes("1.00×")), rows.join());
  const weighted = page.getByRole("button", { name: "weighted 2 runs" });
  await weighted.waitFor();
  assert.ok((await inked(page, ACCURACY, "--c4")) > 30, "weighted is drawn");
  await weighted.press("Enter");
  await until(page, () => document.querySelector("#legend button[aria-pressed=false]") !== null);
  await page.waitForTimeout(100);
  assert.equal(await inked(page, ACCURACY, "--c4"), 0);
  assert.ok((await inked(page, ACCURACY, "--c5")) > 30, "uniform is still drawn");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.label), "weighted");
  assert.deepEqual(problems, []);
  await close();
  await run.stop();
});

test("a task without accuracy has its own curves, headline and target", async () => {
  const growth = (points) => ({ new: points, tail: [] });
  const update = {
    whole: true,
    version: 1,
    log: [],
    timeline: null,
    curves: {
      metrics: { rmse: growth([0, 2, 1, 1.2, 2, 0.8]), loss: growth([0, 4, 1, 1.44, 2, 0.64]) },
      round_secs: growth([1, 1, 2, 1]),
      participants: growth([1, 3, 2, 3]),
    },
    status: {
      state: "running", ended: null, runs: 1, schemes: [], is_done: false, title: "a regression", label: "exact", seed: "7",
      folder: null, lost: 0, real_secs: 2,
      header: {
        task: "regression", scheme: "exact", devices: 3, parameters: 10, bandwidth_mbps: 100, expected_participants: 1,
        expected_rounds: null, expected_round_secs: null, stop: { metric: "rmse", at: 0.5, mode: "min" },
        metrics: ["rmse", "loss"].map((name) => ({ name, better: "smaller", display: "number" })),
      },
      summary: { rounds: 2, hours: 2 / 3600, mean_participants: 3, empty_rounds: 0, biased_rounds: 0, metrics: { rmse: 0.8, loss: 0.64 } },
    },
  };
  const body = `event: update\ndata: ${JSON.stringify(update)}\n\n`;
  const { page, problems, close } = await watchedPage(browser, long.url, {}, (page) =>
    page.route("**/events", (route) => route.fulfill({ contentType: "text/event-stream", body })),
  );
  await until(page, () => document.querySelector("[data-metric=rmse]")?.dataset.points === "3");
  assert.equal(await page.locator(ACCURACY).count(), 0);
  assert.match(await page.locator("[data-metric=rmse]").getAttribute("aria-label"), /Test rmse of a regression: 0.800 .* target is 0.500/);
  for (const chart of ["[data-metric=rmse]", "[data-metric=loss]"]) assert.ok((await inked(page, chart, "--c0")) > 30, chart);
  assert.ok((await inked(page, "[data-metric=rmse]", "--target")) > 30, "the target is drawn");
  assert.match(await page.locator("#figures").textContent(), /Test rmse0.800target 0.500Test loss0.640/);
  assert.match(await page.title(), /^0.800 a regression/);
  assert.match(await page.locator("#spoken").textContent(), /round 2, rmse 0.800/);
  assert.deepEqual(problems, []);
  await close();
});
