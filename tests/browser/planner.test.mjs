// The planner in the page, in a real browser that has no server: the page is opened from the disk.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { openPlanner, skip, writePage } from "./planner-support.mjs";
import { barriers, folder, launchBrowser, until, watchedPage } from "./support.mjs";

const HEADER = "device,compute_secs,comm_secs,samples";
const FLEET = `${HEADER}\nphone,2,7,300\nlaptop,0.4,7,100\ntablet,5,6,50\n`;

let browser, url, ask;

before(async () => {
  if (skip) return;
  [browser, ask] = await Promise.all([launchBrowser(), openPlanner()]);
  url = writePage(folder());
});

after(() => browser?.close());

const figure = (page, title) => page.locator(`#planner-figures > div:has(dt:text-is("${title}")) .planner-value`).textContent();
const SECS = { µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

async function secs(page, title) {
  const [number, unit] = (await figure(page, title)).split(" ");
  return Number(number) * SECS[unit];
}

// The mean round time, the time to the target and the sum of all bars, read off the axis.
async function outcome(page) {
  const sum = await page.locator("svg.planner-chart").evaluate((chart) => {
    const [bottom, , , , top] = [...chart.querySelectorAll("line")].map((line) => Number(line.getAttribute("y1")));
    const largest = Number(chart.querySelectorAll("text[text-anchor=end]")[4].textContent);
    const heights = [...chart.querySelectorAll("rect.planner-bar")].map((bar) => Number(bar.getAttribute("height")));
    return (heights.reduce((sum, height) => sum + height) * largest) / (bottom - top);
  });
  return [await secs(page, "Mean round time"), await secs(page, "Time to the target"), sum];
}

const bars = (page) => page.locator("rect.planner-bar").count();

// Opens the page, waits for the plan, and closes it with nothing wrong.
function open(name, body, { fragment = "", prepare, ...options } = {}) {
  test(name, async () => {
    const { page, problems, close } = await watchedPage(browser, url + fragment, options, prepare);
    await page.locator(".planner-ready").waitFor();
    await until(page, () => document.querySelectorAll("#planner-figures > div").length === 7);
    await body(page);
    assert.deepEqual(problems, []);
    await close();
  });
}

// Waits for the comparison of the latest settings.
const compared = (page) => until(page, () => !document.querySelector("#planner-schemes .planner-stale"));

describe("the planner in the page", { skip }, () => {
  open("begins with the paper's fleet, a chart, a table and a comparison", async (page) => {
    assert.equal((await page.locator("#planner-fleet").inputValue()).split("\n").length, 102);
    assert.equal(await bars(page), 100);
    assert.match(await page.locator("#planner-chart svg").getAttribute("aria-label"), /of 100 devices, sorted: from \S+ with q = /);
    await page.getByText("Table of devices").click();
    assert.equal(await page.locator("#planner-table tbody tr").count(), 50);
    await page.getByRole("button", { name: "Show 50 more of 50 devices" }).click();
    assert.equal(await page.locator("#planner-table tbody tr").count(), 100);
    await compared(page);
    assert.match(await page.locator("#planner-schemes tr", { hasText: "exact" }).textContent(), /needs α and β/);
    // It is said when nothing has changed for a moment.
    await until(page, () => document.querySelector("#planner-spoken").textContent !== "");
    assert.match(await page.locator("#planner-spoken").textContent(), /^auto: [\d.]+ devices per round, and the mean round takes/);
  });

  open("plans a fleet that somebody types, and follows the bandwidth", async (page) => {
    await page.locator("#planner-fleet").fill(FLEET);
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 3);
    const before = await figure(page, "Mean round time");
    await page.locator("#planner-bandwidth_mbps_slider").focus();
    for (let step = 0; step < 20; step += 1) await page.keyboard.press("ArrowLeft");
    const shown = Number(await page.locator("#planner-bandwidth_mbps").inputValue());
    assert.ok(shown < 50, `${shown} Mbit/s`);
    await until(page, (before) => document.querySelectorAll(".planner-value")[1].textContent !== before, before);
    const { planned } = ask({ ask: "plan", fleet: FLEET, bandwidth_mbps: shown, overhead_secs: 0, variance: 1.4, alpha: null, beta: null, scheme: "auto" });
    assert.match(await page.locator("#planner-command").textContent(), new RegExp(`--bandwidth ${shown} --scheme auto --variance 1.4`));
    await until(page, (wanted) => document.querySelectorAll(".planner-value")[4].textContent.startsWith(wanted), planned.sampling_variance.toPrecision(4));
  });

  open("predicts rounds and time where α and β are known", async (page) => {
    assert.equal(await figure(page, "Rounds to the target"), "–");
    await page.getByLabel("α of the round model").fill("28.474");
    await page.getByText("β is missing beside α").waitFor();
    await page.getByLabel("β of the round model").fill("2.2043");
    await until(page, () => document.querySelectorAll(".planner-value")[6].textContent !== "–");
    await compared(page);
    assert.ok((await page.locator("#planner-schemes tbody td:last-child").allTextContents()).includes("1.00"));
    await page.getByRole("button", { name: "exact", exact: true }).click();
    await until(page, () => document.querySelector("#planner-rule").textContent.startsWith("q = a·√(ρ/c)"));
    assert.equal(await page.locator("#planner-scheme").inputValue(), "exact");
  });

  open("moves times and bars with the bandwidth, the overhead and the sampling variance", async (page) => {
    await page.locator("#planner-fleet").fill(FLEET);
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 3);
    let last = await outcome(page);
    // What becomes of the mean round time, the time to the target and the bars: 1 for more, -1 for less.
    for (const [control, option, presses, ...signs] of [
      ["bandwidth_mbps", "--bandwidth", ["PageDown"], 1, 1, -1],
      ["overhead_secs", "--overhead-secs", Array(4).fill("PageUp"), 1, 1, 1],
      ["variance", "--variance", Array(3).fill("ArrowRight"), -1, 1, -1],
    ]) {
      await page.locator(`#planner-${control}_slider`).focus();
      for (const key of presses) await page.keyboard.press(key);
      const setting = `${option} ${await page.locator(`#planner-${control}`).inputValue()}`;
      await until(page, (setting) => `${document.querySelector("#planner-command").textContent} `.includes(`${setting} `), setting);
      const now = await outcome(page);
      assert.deepEqual(now.map((value, place) => Math.sign(value - last[place])), signs, `${setting}: ${last} became ${now}`);
      // The heights of all bars are the q, which add up to the devices of a round.
      assert.ok(Math.abs(now[2] / Number(await figure(page, "Devices per round")) - 1) < 0.01, `${now}`);
      last = now;
    }
  }, { fragment: "#alpha=28.474&beta=2.2043" });

  open("prints its plan without its controls", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("#planner").locator("input, textarea, select").filter({ visible: true }).count(), 0);
    assert.ok(await page.locator("#planner-save").isHidden());
    for (const part of ["#planner-figures", "#planner-chart svg", "#planner-command"]) assert.ok(await page.locator(part).isVisible(), part);
    await page.getByText("Table of devices").click();
    const cut = await page.locator(".planner-scroll").evaluateAll((areas) => areas.filter((area) => area.scrollHeight > area.clientHeight || getComputedStyle(area).overflow !== "visible").length);
    assert.equal(cut, 0);
  });

  open("answers a wrong fleet with line, column, value and remedy", async (page) => {
    await page.locator("#planner-fleet").fill(`${HEADER}\nphone,2,7,300\nlaptop,-1,7,100\n`);
    const error = page.locator("#planner-error");
    await error.getByText("fleet, line 3, column compute_secs: \"-1\" is out of range").waitFor();
    assert.match(await error.textContent(), /What to do: it must be /);
    assert.equal(await page.locator("#planner-fleet").getAttribute("aria-invalid"), "true");
    assert.deepEqual(await barriers(page), []);
    await page.getByRole("button", { name: "Go to line 3" }).click();
    const chosen = await page.evaluate(() => {
      const text = document.activeElement;
      return text.value.slice(text.selectionStart, text.selectionEnd);
    });
    assert.equal(chosen, "laptop,-1,7,100");
    await page.locator("#planner-fleet").fill(FLEET);
    await error.waitFor({ state: "hidden" });
  });

  open("takes the parameter of a scheme, and says what is wrong with it", async (page) => {
    await page.locator("#planner-scheme").selectOption("fixed=0.2");
    await page.getByLabel("Parameter").fill("0.5");
    await until(page, () => document.querySelectorAll(".planner-value")[0].textContent === "50");
    await page.getByLabel("Parameter").fill("1.5");
    await page.locator("#planner-error").getByText("\"fixed=1.5\" is not a sampling scheme").waitFor();
  });

  open("keeps the settings in its address", async (page) => {
    await page.locator("#planner-fleet").fill(FLEET);
    await page.locator("#planner-overhead_secs").fill("0.5");
    await page.locator("#planner-scheme").selectOption("fixed=0.2");
    await until(page, () => location.hash.includes("fixed") && location.hash.includes("overhead_secs=0.5") && location.hash.includes("fleet="));
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 3);
    assert.equal(await page.locator("#planner-fleet").inputValue(), FLEET);
    assert.equal(await page.locator("#planner-overhead_secs").inputValue(), "0.5");
    assert.equal(await page.locator("#planner-scheme").inputValue(), "fixed=0.2");
  });

  open("opens a file and saves the plan that `fedflip plan --scheme file=` reads", async (page) => {
    await page.locator("#planner-file").setInputFiles({ name: "f.csv", mimeType: "text/csv", buffer: Buffer.from(FLEET) });
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 3);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save the plan as CSV" }).click()]);
    assert.match(readFileSync(await download.path(), "utf8"), /^device,q,weight\nphone,[\d.]+,[\d.]+\nlaptop,/);
  }, { acceptDownloads: true });

  open("stays usable with 10,000 devices", async (page) => {
    await page.getByLabel("Devices", { exact: true }).fill("10000");
    await page.getByRole("button", { name: "Generate a fleet" }).click();
    await page.locator("path.planner-bar").waitFor();
    // While the comparison runs, a change is answered, and its earlier settings are forgotten.
    await page.locator("#planner-bandwidth_mbps").fill("50");
    await until(page, () => document.querySelector("#planner-command").textContent.includes("--bandwidth 50"));
    assert.match(await page.locator("#planner-chart svg").getAttribute("aria-label"), /of 10,000 devices/);
  }, { fragment: "#bandwidth_mbps=100&scheme=auto" });

  open("computes without a worker where none is allowed", async (page) => {
    assert.equal(await bars(page), 100);
  }, { prepare: (page) => page.addInitScript(() => { delete window.Worker; }) });

  for (const colorScheme of ["light", "dark"]) {
    open(`has nothing that axe-core objects to, ${colorScheme}`, async (page) => {
      await compared(page);
      assert.deepEqual(await barriers(page), []);
    }, { colorScheme, fragment: "#alpha=28.474&beta=2.2043&scheme=weighted%3D2" });
  }

  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, reducedMotion: "reduce" };
  open("fits a phone", async (page) => {
    await compared(page);
    const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= 390 && screen <= 390, `${wide} of ${screen}`);
    assert.deepEqual(await barriers(page), []);
  }, phone);

  test("says so where the site was built without it", async () => {
    const { page, close } = await watchedPage(browser, writePage(folder(), { base64: null }));
    await page.getByText("The planner does not run here: no module. The command fedflip plan gives the same numbers.").waitFor();
    await close();
  });
});
