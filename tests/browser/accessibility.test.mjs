// Everybody can use the report and the dashboard: axe-core finds nothing in either, whatever the colours and the width.

import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { barriers, fedflip, folder, launchBrowser, scenario, startDashboard, until, watchedPage } from "./support.mjs";

const LOOKS = {
  "in light colours": { colorScheme: "light" },
  "in dark colours": { colorScheme: "dark" },
  "on a phone": { viewport: { width: 390, height: 844 } },
  "without motion": { reducedMotion: "reduce" },
};

let browser, report, dashboard;

before(async () => {
  const cwd = folder();
  await scenario(cwd);
  const short = ["--quiet", "--set", "fleet.devices=20", "--set", "pilot.loss=1.5", "--set", "stop.target_accuracy=0.5"];
  await fedflip(["compare", "s.toml", ...short, "--seeds", "2", "--schemes", "exact,auto,full", "--out", "runs"], cwd);
  await fedflip(["report", "runs", "--out", "report.html"], cwd);
  report = pathToFileURL(path.join(cwd, "report.html")).href;
  const long = ["run", "s.toml", "--scheme", "fixed=0.1", "--set", "stop.target_accuracy=0.999", "--set", "stop.rounds_max=10000000"];
  [browser, dashboard] = await Promise.all([launchBrowser(), startDashboard(long, cwd)]);
});

after(async () => {
  await browser?.close();
  await dashboard?.stop();
});

for (const [look, options] of Object.entries(LOOKS)) {
  describe(look, () => {
    test("the report has no barriers", async () => {
      const { page, close } = await watchedPage(browser, report, options);
      assert.deepEqual(await barriers(page), []);
      await close();
    });

    test("the dashboard has no barriers", async () => {
      const { page, close } = await watchedPage(browser, dashboard.url, options);
      await until(page, () => Number(document.querySelector("[data-metric=accuracy]")?.dataset.points) > 3);
      assert.deepEqual(await barriers(page), []);
      await close();
    });
  });
}

test("the dashboard moves only where motion is liked", async () => {
  const { page, close } = await watchedPage(browser, dashboard.url);
  const moving = () => document.getAnimations().length;
  await page.locator(".state[data-state=running]").waitFor();
  assert.ok((await page.evaluate(moving)) > 0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.equal(await page.evaluate(moving), 0);
  await close();
});

// What axe-core cannot see, because the charts are canvases: the colours of curves, and of the bars on their track.
const DRAWN = { "--card": ["--muted", "--target", ...Array.from({ length: 9 }, (_, place) => `--c${place}`)], "--grid": ["--compute", "--upload"] };

for (const colorScheme of ["light", "dark"]) {
  test(`the charts of the dashboard stand out from their ground in ${colorScheme} colours`, async () => {
    const { page, close } = await watchedPage(browser, dashboard.url, { colorScheme });
    for (const [ground, colours] of Object.entries(DRAWN)) {
      for (const colour of colours) {
        const [one, other] = await page.evaluate((names) => names.map((name) => getComputedStyle(document.documentElement).getPropertyValue(name)), [ground, colour]);
        assert.ok(contrast(one, other) >= 3, `${colour} (${other}) on ${ground} (${one}): ${contrast(one, other).toFixed(2)}`);
      }
    }
    await close();
  });
}

// The contrast of two colours by WCAG, each written as #rrggbb.
function contrast(...colours) {
  const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour) {
  const [red, green, blue] = colour.match(/[0-9a-f]{2}/gi).map((part) => {
    const share = parseInt(part, 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("the check finds a barrier", async () => {
  const { page, close } = await watchedPage(browser, report);
  await page.evaluate(() => document.body.append(Object.assign(new Image(), { src: "data:," })));
  assert.match((await barriers(page)).join("\n"), /image-alt/);
  await close();
});
