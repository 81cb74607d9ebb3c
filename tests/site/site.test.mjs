// The documentation site in a real browser, over HTTP and from the disk: what readers see, and that no page asks another host for anything.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";
import { createServer } from "node:http";
import { createReadStream, statSync } from "node:fs";

import { barriers, launchBrowser, until, watchedPage } from "../browser/support.mjs";

const SITE = path.resolve(process.env.FEDFLIP_SITE || "target/site");
// Where pictures of the pages go, if somebody wants to look at them.
const PICTURES = process.env.FEDFLIP_PICTURES;
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm" };
const MATHS = "explanation/mathematics.html";
const PAGES = ["index.html", "start/command-line.html", MATHS, "reference/command-line.html", "reference/python-api/plan.html", "planner.html"];
// Every page of the site but the redirects and the page for wrong addresses.
const ALL_PAGES = readdirSync(SITE, { recursive: true }).filter((place) => place.endsWith(".html") && place !== "404.html").sort();
const WINDOW = { width: 1280, height: 900 };
const PHONE = { viewport: { width: 390, height: 844 } };

let browser, server, home;

before(async () => {
  server = createServer((request, response) => {
    const file = path.join(SITE, decodeURIComponent(new URL(request.url, "http://site").pathname));
    try {
      const found = statSync(file).isDirectory() ? path.join(file, "index.html") : file;
      response.setHeader("Content-Type", TYPES[path.extname(found)] || "application/octet-stream");
      createReadStream(found).pipe(response);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  home = `http://127.0.0.1:${server.address().port}/`;
  browser = await launchBrowser();
  if (PICTURES) mkdirSync(PICTURES, { recursive: true });
});

after(async () => {
  await browser?.close();
  server?.close();
});

// Opens a page of the site, and closes it with nothing wrong.
function open(name, place, body, options) {
  test(name, async () => {
    const { page, problems, close } = await watchedPage(browser, home + place, options);
    if (PICTURES) await page.screenshot({ path: path.join(PICTURES, `${name.replaceAll(/[^\w-]+/g, "-")}.png`) });
    await body(page);
    assert.deepEqual(problems, []);
    await close();
  });
}

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

describe("a reader", () => {
  open("sees the front page in the fonts of the site", "index.html", async (page) => {
    assert.match(await page.title(), /fedflip/);
    assert.equal(await page.locator("h1").count(), 1);
    const fonts = await page.evaluate(() => document.fonts.ready.then(() => [...document.fonts].filter((font) => font.status === "loaded").map((font) => font.family)));
    assert.ok(fonts.some((family) => family.includes("Inter")), `${fonts}`);
    assert.ok(await page.locator(".md-tabs__link").count() >= 5);
  });

  open("finds a page by its words", "index.html", async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("bandwidth", { delay: 20 });
    await until(page, () => document.querySelectorAll(".md-search-result__item").length > 2);
    await page.locator(".md-search-result__link").first().click();
    await until(page, () => !location.pathname.endsWith("index.html"));
    assert.match((await page.locator("article").textContent()).toLowerCase(), /bandwidth/);
  });

  open("sees formulas that are set", MATHS, async (page) => {
    const formulas = page.locator(".arithmatex");
    assert.ok((await formulas.count()) > 5);
    assert.equal(await page.locator(".arithmatex .katex-html").count(), await formulas.count(), "each is set");
    assert.equal(await page.locator(".arithmatex math").count(), await formulas.count(), "each has MathML for screen readers");
    const font = await page.evaluate(() => document.fonts.ready.then(() => [...document.fonts].some((font) => font.family.includes("KaTeX") && font.status === "loaded")));
    assert.ok(font, "the fonts of formulas are loaded");
  });

  open("goes by keyboard from the skip link to the text", "start/command-line.html", async (page) => {
    await page.keyboard.press("Tab");
    const skip = await page.evaluate(() => document.activeElement.getAttribute("href"));
    assert.match(skip, /^#/);
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => location.hash), skip);
    for (let press = 0; press < 3; press += 1) await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => {
      const { outlineStyle, boxShadow } = getComputedStyle(document.activeElement);
      return document.activeElement.matches(":focus-visible") && (outlineStyle !== "none" || boxShadow !== "none");
    });
    assert.ok(outline, "what has the focus is marked");
  });

  open("gets dark colours where the system is dark", "index.html", async (page) => {
    const [red, green, blue] = (await background(page)).match(/\d+/g).map(Number);
    assert.ok(red + green + blue < 200, await background(page));
  }, { colorScheme: "dark" });

  open("chooses light colours, which stay", "index.html", async (page) => {
    const dark = await background(page);
    await page.locator("label[for^=__palette]:visible").first().click();
    assert.notEqual(await background(page), dark);
    const light = await background(page);
    await page.goto(`${home}start/command-line.html`);
    assert.equal(await background(page), light);
  }, { colorScheme: "dark" });

  open("reads without scripts", MATHS, async (page) => {
    assert.ok(await page.locator(".katex-html").first().isVisible());
  }, { javaScriptEnabled: false });
});

describe("somebody without a network", () => {
  test("plans in the page of the site, opened from the disk", async () => {
    const { page, problems, close } = await watchedPage(browser, pathToFileURL(path.join(SITE, "planner.html")).href);
    await page.locator(".planner-ready").waitFor();
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 100);
    await page.locator("#planner-fleet").fill("device,compute_secs,comm_secs,samples\nphone,2,7,300\nlaptop,0.4,7,100\n");
    await until(page, () => document.querySelectorAll("rect.planner-bar").length === 2);
    // Links lead to other pages on the disk.
    await page.locator(".md-tabs__link").nth(1).click();
    await until(page, () => location.protocol === "file:" && !location.pathname.endsWith("planner.html"));
    assert.ok((await page.locator("h1").count()) === 1);
    // The theme's search reads its index over HTTP alone.
    assert.deepEqual(problems.filter((problem) => !/search_index|ERR_FILE_NOT_FOUND/.test(problem)), []);
    await close();
  });
});

describe("no page is wider than a phone", () => {
  for (const place of PAGES) {
    open(`phone ${place}`, place, async (page) => {
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(content <= window, `${content} pixels in ${window}`);
    }, PHONE);
  }
});

// Other looks of some pages are below.
const LOOKS = {
  "in light colours": { colorScheme: "light", scheme: "default", viewport: WINDOW },
  "in dark colours on a phone": { colorScheme: "dark", scheme: "slate", ...PHONE },
};

test("no page at all has barriers in light colours, nor in dark colours on a phone", async () => {
  const { page, close } = await watchedPage(browser, `${home}index.html`, { reducedMotion: "reduce" });
  assert.ok(ALL_PAGES.length > 30, `${ALL_PAGES}`);
  const found = {};
  for (const place of ALL_PAGES) {
    await page.goto(home + place);
    for (const [look, { colorScheme, scheme, viewport }] of Object.entries(LOOKS)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await until(page, (scheme) => document.body.dataset.mdColorScheme === scheme, scheme);
      const wrong = await barriers(page);
      if (wrong.length) found[`${place} ${look}`] = wrong;
    }
  }
  assert.deepEqual(found, {});
  await close();
});

describe("no page has barriers", () => {
  for (const place of PAGES) {
    open(`dark ${place}`, place, async (page) => {
      assert.deepEqual(await barriers(page), []);
    }, { colorScheme: "dark", reducedMotion: "reduce" });
  }

  open("dark on paper", "start/command-line.html", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0, "no colour is on its way");
    assert.deepEqual(await barriers(page), []);
    assert.ok(await page.locator(".md-header").isHidden());
  }, { colorScheme: "dark" });
});

describe("nothing moves where motion is not liked", () => {
  for (const place of ["index.html", "planner.html"]) {
    open(`still ${place}`, place, async (page) => {
      const moving = () => page.locator("*").evaluateAll((all) =>
        all.flatMap((element) => [null, "::before", "::after"].map((part) => getComputedStyle(element, part)))
          .filter(({ animationName, transitionDuration }) => animationName !== "none" || /[1-9]/.test(transitionDuration)).length);
      assert.ok((await moving()) > 0);
      await page.emulateMedia({ reducedMotion: "reduce" });
      assert.equal(await moving(), 0);
    }, { reducedMotion: "no-preference" });
  }
});
