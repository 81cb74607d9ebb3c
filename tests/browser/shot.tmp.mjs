import { chromium } from "playwright-core";
const [url, prefix] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox","--disable-gpu","--disable-quic","--no-first-run","--disable-background-networking","--disable-component-update","--disable-sync"] });
for (const [name, width, height, scheme] of [["d-light",1280,900,"light"],["d-dark",1280,900,"dark"],["p-light",390,844,"light"],["p-dark",390,844,"dark"]]) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: 1 });
  page.on("console", (m) => m.type() === "error" && console.log(name, m.text()));
  page.on("pageerror", (e) => console.log(name, "ERR", e.message));
  await page.goto(url);
  await page.waitForTimeout(1500);
  if (name === "d-light") { const b = await page.locator("#accuracy .u-over").boundingBox(); await page.mouse.move(b.x + b.width * 0.6, b.y + b.height * 0.4); await page.waitForTimeout(300);}
  await page.screenshot({ path: `${prefix}-${name}.png`, fullPage: true });
  console.log(name, await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth, document.querySelector("#accuracy").dataset.points, document.querySelector("#accuracy").dataset.runs]));
  await page.close();
}
await browser.close();
