// The planner in WebAssembly and its page, without the rest of the documentation.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const SCRIPTS = "docs/javascripts/planner";
// The variables of the site's theme that the page takes its colours from.
const COLOURS = `
  html { --md-default-fg-color: #000000de; --md-default-fg-color--lighter: #00000052; --md-default-bg-color: #fff;
    --md-code-bg-color: #f5f5f5; --md-typeset-a-color: #1d5fa0; --md-accent-fg-color: #a8480b; }
  @media (prefers-color-scheme: dark) { html { --md-default-fg-color: #e2e4e9d1; --md-default-fg-color--lighter: #e2e4e952;
    --md-default-bg-color: #1e2129; --md-code-bg-color: #272a35; --md-typeset-a-color: #7cb7f2; --md-accent-fg-color: #ffab70; } }
  body { background: var(--md-default-bg-color); color: var(--md-default-fg-color); font-family: sans-serif; margin: 1rem; }
  a { color: var(--md-typeset-a-color); }`;
// Where rustup cannot get the target, `cargo xtask` names no module; on CI it always does.
export const MODULE = process.env.FEDFLIP_PLANNER;
export const skip = MODULE ? false : "the planner was not built: `cargo xtask planner` says why";

export const module = () => readFileSync(MODULE);

// The function from question to answer, by the code that the page runs too.
export async function openPlanner() {
  const window = {};
  const code = readFileSync(path.join(REPOSITORY, SCRIPTS, "calculator.js"), "utf8");
  new Function("window", code)(window);
  return window.fedflipPlanner.open(module());
}

// A page with the HTML of docs/planner.md, opened from the disk; `files` replace those of the documentation.
export function writePage(folder, { base64 = module().toString("base64") } = {}) {
  const text = readFileSync(path.join(REPOSITORY, "docs/planner.md"), "utf8");
  const html = text.slice(text.indexOf('<div id="planner">'), text.indexOf("\n## "));
  cpSync(path.join(REPOSITORY, SCRIPTS), path.join(folder, "javascripts/planner"), { recursive: true });
  const script = base64 ? `(window.fedflipPlanner ??= {}).module = "${base64}";` : '(window.fedflipPlanner ??= {}).missing = "no module";';
  writeFileSync(path.join(folder, "javascripts/planner/module.js"), script);
  const head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Planner</title>';
  const page = path.join(folder, "planner.html");
  writeFileSync(page, `<!doctype html><html lang="en"><head>${head}<style>${COLOURS}</style></head><body><main><h1>Planner</h1>${html}</main></body></html>`);
  return pathToFileURL(page).href;
}
