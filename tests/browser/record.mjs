// Records the dashboard of a real run as an animated GIF, for the README:
//
//   fedflip compare s.toml --out runs --dashboard 127.0.0.1:8080 &
//   node docs/images/record.mjs http://127.0.0.1:8080 FRAMES SECONDS FOLDER
//   python3 docs/images/animate.py FOLDER docs/images/dashboard.gif
//
// The script takes FRAMES screenshots in SECONDS. It needs playwright-core and Chromium, as the browser tests do.

import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { chromium } from "playwright-core";

const [url, frames, seconds, folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node docs/images/record.mjs URL FRAMES SECONDS FOLDER");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const page = await browser.newPage({ viewport: { width: 1100, height: 720 } });
await page.goto(url);
await sleep(1000);
for (let frame = 0; frame < Number(frames); frame += 1) {
  const name = `${String(frame).padStart(4, "0")}.png`;
  await page.screenshot({ path: path.join(folder, name) });
  await sleep((1000 * Number(seconds)) / Number(frames));
}
await browser.close();
