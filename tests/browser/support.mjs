// What browser tests share: the binary, the browser, and a page that is watched for what it must not do.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const BINARY = process.env.FEDFLIP_BIN || path.join(REPOSITORY, "target/debug/fedflip");
const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";

export function launchBrowser() {
  return chromium.launch({
    executablePath: CHROMIUM,
    // In a container there is neither a sandbox nor a graphics card, and nobody wants it to call its maker.
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

// A page that notes what must not happen: errors, and requests that leave its origin. `options` are those of a
// browser context, such as `viewport` and `colorScheme`; `prepare` gets the page before it is opened.
export async function watchedPage(browser, url, options = {}, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  const home = new URL(url);
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    const inside = asked.protocol === home.protocol && asked.host === home.host;
    // What a page makes itself comes from nowhere else.
    if (!inside && !["blob:", "data:"].includes(asked.protocol)) problems.push(`left its origin: ${request.url()}`);
  });
  await prepare(page);
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}

// A folder that is gone when the tests are.
export function folder() {
  const made = mkdtempSync(path.join(tmpdir(), "fedflip-browser-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

// Runs `fedflip` to its end; standard output.
export function fedflip(args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(BINARY, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const [out, err] = [[], []];
    child.stdout.on("data", (chunk) => out.push(chunk));
    child.stderr.on("data", (chunk) => err.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(out).toString());
      else reject(new Error(`fedflip ${args.join(" ")} ended with ${code}: ${Buffer.concat(err)}`));
    });
  });
}

// A scenario file in the folder: synthetic data, nothing to fetch.
export async function scenario(cwd) {
  writeFileSync(path.join(cwd, "s.toml"), await fedflip(["scenario", "new", "synthetic"], cwd));
}

// Starts `fedflip` with a dashboard and waits until it says where. It is killed when it is stopped, or at the
// latest with the test process, which does not wait for it: a test that fails must not hang all of them.
export function startDashboard(args, cwd, port = 0) {
  return start([...args, "--quiet", "--threads", "1", "--dashboard", String(port)], cwd, /dashboard: (?<url>http:\/\/\S+)\n/);
}

// Starts a server of real devices with a dashboard, on free ports; `address` is where devices call.
export function startServer(args, cwd) {
  const all = ["serve", ...args, "--listen", "127.0.0.1:0", "--dashboard", "0"];
  return start(all, cwd, /dashboard: (?<url>http:\/\/\S+)\n[^]*listening address=(?<address>\S+)/);
}

// Starts a device, which says nothing that is waited for.
export function startDevice(args, cwd) {
  return start(["join", ...args], cwd, /(?<any>)/);
}

// Starts `fedflip` and waits until its standard error matches; the named groups of the match are part of the result.
function start(all, cwd, ready) {
  const child = spawn(BINARY, all, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  child.unref();
  child.stderr.unref();
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  const stop = async (signal = "SIGKILL") => {
    child.kill(signal);
    await ended;
    process.off("exit", kill);
  };
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
      // To the end of the line: it may come in pieces.
      const found = said.match(ready)?.groups;
      if (found) resolve({ ...found, port: found.url && Number(new URL(found.url).port), ended, stop });
    });
    ended.then((code) => reject(new Error(`fedflip ${all.join(" ")} ended with ${code}: ${said}`)));
  });
}

// Waits until a question about the page has a truthy answer.
export async function until(page, question, argument) {
  await page.waitForFunction(question, argument, { timeout: 15_000, polling: 50 });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const GUIDELINES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// What keeps people from using the page, by axe-core: a line for each rule and element.
export async function barriers(page) {
  // Not as a script tag: the dashboard allows no inline script.
  await page.evaluate(AXE);
  // A page from the disk may not fetch its style sheets, which axe-core would look through for one rule on orientation.
  const options = { preload: false, runOnly: { type: "tag", values: GUIDELINES } };
  const found = await page.evaluate((options) => axe.run(options), options);
  return found.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${rule.help}: ${node.target.join(" ")}: ${node.any.map((check) => check.message).join("; ")}`),
  );
}
