// The report in a real browser: a comparison as a user has it, opened from the disk.

import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { fedflip, folder, launchBrowser, scenario, watchedPage } from "./support.mjs";

const QUICK = [
  "--quiet", "--set", "fleet.devices=20", "--set", "pilot.loss=1.5", "--set", "stop.target_accuracy=0.5",
  "--set", "data.test_samples_max=500", "--seeds", "2", "--schemes", "exact,weighted,full",
];

let browser, one, sweep;

before(async () => {
  const cwd = folder();
  await scenario(cwd);
  await fedflip(["compare", "s.toml", ...QUICK, "--out", "at-100"], cwd);
  await fedflip(["compare", "s.toml", ...QUICK, "--set", "fleet.bandwidth_mbps=200", "--out", "at-200"], cwd);
  await fedflip(["report", "at-100", "--out", "one.html"], cwd);
  await fedflip(["report", "at-100", "at-200", "--out", "sweep.html"], cwd);
  [one, sweep] = ["one.html", "sweep.html"].map((name) => pathToFileURL(path.join(cwd, name)).href);
  browser = await launchBrowser();
});

after(() => browser?.close());

// Opens a page, and closes it with nothing wrong.
function open(name, url, body, options) {
  test(name, async () => {
    const { page, problems, close } = await watchedPage(browser, url(), options);
    await body(page);
    assert.deepEqual(problems, []);
    await close();
  });
}

const first = (page, table, place) =>
  page.locator(`${table} tbody tr > :nth-child(${place})`).allTextContents().then((cells) => cells.map((cell) => cell.trim()));

// Texts of a figure that lie on one another, as pairs.
const overlaps = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const svg of document.querySelectorAll("svg.figure")) {
      if (!svg.getClientRects().length) continue;
      const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
      for (const [place, [one, a]] of texts.entries()) {
        for (const [other, b] of texts.slice(place + 1)) {
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (wide > 1 && high > 3) found.push(`${svg.getAttribute("aria-label")}: ${one} / ${other}`);
        }
      }
    }
    return found;
  });

// Texts that leave their figure.
const outside = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const svg of document.querySelectorAll("svg.figure")) {
      if (!svg.getClientRects().length) continue;
      const home = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        if (box.left < home.left - 1 || box.right > home.right + 1 || box.bottom > home.bottom + 1) found.push(text.textContent);
      }
    }
    return found;
  });

describe("a comparison", () => {
  open("draws curves, points, bars and a round", () => one, async (page) => {
    assert.match(await page.title(), /synthetic to 50 %/);
    for (const [part, shape, least] of [
      ["#curves-0", "svg.figure path.line", 6],
      ["#curves-0", "path.band", 6],
      ["#participation-0", ".dot title", 60],
      ["#times-0", "rect title", 10],
      ["#round-0", "rect title", 2],
    ]) {
      assert.ok((await page.locator(`${part} ${shape}`).count()) >= least, `${part} ${shape}`);
    }
    const length = await page.locator("#curves-0 svg.figure path.line.c0").last().evaluate((path) => path.getTotalLength());
    assert.ok(length > 50, `a curve of ${length} pixels`);
    assert.deepEqual(await overlaps(page), []);
    assert.deepEqual(await outside(page), []);
  });

  open("sorts its tables by mouse and by keyboard", () => one, async (page) => {
    const table = "#table-0";
    const order = await first(page, table, 1);
    assert.equal(order.length, 3);
    const head = page.locator(`${table} th`).nth(1);
    await head.locator("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    await head.locator("button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    assert.deepEqual(await first(page, table, 1), [...order].reverse());
    await page.locator(`${table} th button`).first().click();
    assert.deepEqual(await first(page, table, 1), [...order].sort());
  });

  open("shows values under the pointer and under the arrow keys", () => one, async (page) => {
    const figure = page.locator("#curves-0 figure").first();
    const svg = figure.locator("svg.figure");
    await svg.hover();
    const tip = figure.locator(".tip");
    assert.match(await tip.textContent(), /\d.*(exact|weighted|full) \d/);
    await page.mouse.move(0, 0);
    assert.ok(await tip.isHidden());
    await svg.focus();
    for (let press = 0; press < 20; press += 1) await page.keyboard.press("ArrowRight");
    assert.ok(await tip.isVisible());
    await page.keyboard.press("Escape");
    assert.ok(await tip.isHidden());
  });

  open("changes the round that it shows", () => one, async (page) => {
    const shown = () => page.locator("#round-0 figure:visible h3").allTextContents();
    const before = await shown();
    assert.equal(before.length, 1);
    await page.locator("#round-0 select").selectOption({ index: 1 });
    const now = await shown();
    assert.equal(now.length, 1);
    assert.notDeepEqual(now, before);
  });

  open("fits a phone, by night", () => one, async (page) => {
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `${content} pixels in ${window}`);
    const [back, text] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color];
    });
    assert.equal(back, "rgb(20, 23, 28)");
    assert.equal(text, "rgb(230, 233, 238)");
    assert.deepEqual(await overlaps(page), []);
  }, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });

  open("prints by day on white, with its tables whole", () => one, async (page) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    // What is closed on the screen is there on paper, and nothing sticks out of it.
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const rows = await page.locator("table tbody tr:visible").count();
    assert.equal(rows, await page.locator("table tbody tr").count());
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("#runs details").evaluate((details) => details.open), false);
    await page.setViewportSize({ width: 718, height: 1000 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 718, `${wide} pixels on paper`);
    assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
  });
});

describe("without scripts", () => {
  open("everything is there but for sorting", () => one, async (page) => {
    assert.ok(await page.locator("#table-0 table").isVisible());
    assert.equal(await page.locator("#round-0 figure:visible").count(), 1);
  }, { javaScriptEnabled: false });
});

describe("a sweep", () => {
  open("puts its values side by side and opens what a link asks for", () => sweep, async (page) => {
    assert.equal(await page.locator("#sweep svg.figure").count(), 1);
    assert.match(await page.locator("#sweep").textContent(), /bandwidth \(Mbit\/s\)/);
    const second = page.locator("#group-1");
    assert.equal(await second.evaluate((group) => group.open), false);
    await page.locator("nav a[href='#group-1']").click();
    assert.equal(await second.evaluate((group) => group.open), true);
    const areas = await page.locator("clipPath").evaluateAll((all) => all.map((area) => area.id));
    assert.equal(new Set(areas).size, areas.length, "no two areas have the same name");
    assert.deepEqual(await overlaps(page), []);
  });
});
