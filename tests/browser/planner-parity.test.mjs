// The planner in WebAssembly and `fedflip plan` give the same numbers.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import { module, openPlanner, skip } from "./planner-support.mjs";
import { fedflip, folder } from "./support.mjs";

const CAPPED = `device,compute_secs,comm_secs,samples,availability,link_mbps
phone-1,2,7,300,0.5,20
phone-2,1.5,9,120,0.25,1e9
"lab, north",0.4,7,100,1,3
laptop,0.1,7.5,80,1,50
tablet,9,6,40,0.9,10
`;
const CONSTANTS = { alpha: 28.474, beta: 2.2043 };
// Solvers go the same way in both; only the logarithms of the two platforms may differ in their last bit.
const DIGITS = 1e-12;
const KEYS = [
  "scheme", "status", "devices", "alpha", "beta", "names", "q", "weights", "expected_participants", "empty_round_probability",
  "sampling_variance", "largest_weight", "rounds", "objective_p2", "objective_p3", "round_secs", "total_secs", "seed",
];

let ask, cwd;
const counts = { numbers: 0, equal: 0 };

before(async () => {
  if (skip) return;
  ask = await openPlanner();
  cwd = folder();
});

function alike(found, wanted, place) {
  if (typeof wanted === "number" && typeof found === "number") {
    counts.numbers += 1;
    counts.equal += found === wanted ? 1 : 0;
    const far = Math.abs(found - wanted);
    assert.ok(far <= DIGITS * Math.max(Math.abs(wanted), 1e-6), `${place}: ${found} in the page, ${wanted} on the command line`);
  } else if (wanted !== null && typeof wanted === "object") {
    assert.deepEqual(Object.keys(found), Object.keys(wanted), place);
    for (const key of Object.keys(wanted)) alike(found[key], wanted[key], `${place}.${key}`);
  } else {
    assert.equal(found, wanted, place);
  }
}

// Plans a fleet by every scheme that the page offers, in both ways.
async function compare(csv, { bandwidth, overhead = 0, variance = 1.4, constants = {} }) {
  writeFileSync(path.join(cwd, "fleet.csv"), csv);
  const { schemes } = ask({ ask: "catalogue" }).catalogue;
  let planned = 0;
  for (const { example: scheme, needs_variance } of schemes) {
    const question = { fleet: csv, bandwidth_mbps: bandwidth, overhead_secs: overhead, variance: needs_variance ? variance : null, draws: 500 };
    const answer = ask({ ask: "plan", ...question, scheme, alpha: null, beta: null, ...constants, with_devices: true });
    const flags = ["--bandwidth", bandwidth, "--overhead-secs", overhead, "--scheme", scheme, "--draws", 500];
    if (needs_variance) flags.push("--variance", variance);
    for (const [name, value] of Object.entries(constants)) flags.push(`--${name}`, value);
    const told = fedflip(["plan", "fleet.csv", ...flags.map(String), "--json"], cwd);
    if (answer.refused) {
      const { problem } = answer.refused;
      await assert.rejects(told, (error) => error.message.includes(problem), `${scheme} is refused in the page: ${problem}`);
      continue;
    }
    const wanted = JSON.parse(await told);
    for (const key of KEYS) alike(answer.planned[key], wanted[key], `${scheme}: ${key}`);
    const words = (warnings) => warnings.map((warning) => warning.replace(/^(--variance|sampling variance):/, ""));
    assert.deepEqual(words(answer.planned.warnings), words(wanted.warnings), scheme);
    planned += 1;
  }
  return planned;
}

describe("the planner of the page", { skip }, () => {
  test("is below 1 MB as a server sends it", () => {
    const bytes = gzipSync(module().toString("base64")).length;
    assert.ok(bytes < 1_000_000, `${bytes} bytes`);
  });

  test("generates the fleets of `fedflip fleet new`", async () => {
    for (const profile of ["paper", "paper-calibrated", "4g"]) {
      const { csv } = ask({ ask: "fleet", profile, devices: 40, seed: 7 }).made_fleet;
      assert.equal(csv, await fedflip(["fleet", "new", "--profile", profile, "--devices", "40", "--seed", "7"], cwd));
    }
  });

  test("plans as the command line does, without constants", async () => {
    const { csv } = ask({ ask: "fleet", profile: "paper", devices: 40, seed: 7 }).made_fleet;
    assert.equal(await compare(csv, { bandwidth: 100 }), 17, "schemes that need no constants");
  });

  test("plans as the command line does, with constants, overhead and limits of links", async () => {
    const { csv } = ask({ ask: "fleet", profile: "4g", devices: 25, seed: 3 }).made_fleet;
    assert.equal(await compare(csv, { bandwidth: 30, overhead: 0.25, variance: 0.4, constants: CONSTANTS }), 21);
  });

  test("plans as the command line does where availability caps q", async () => {
    assert.ok((await compare(CAPPED, { bandwidth: 12.5, overhead: 3, constants: CONSTANTS })) > 8);
  });

  test("shows nearly all numbers to the last bit", (context) => {
    context.diagnostic(`${counts.equal} of ${counts.numbers} numbers are equal to the last bit`);
    assert.ok(counts.numbers > 3000 && counts.equal > 0.98 * counts.numbers, JSON.stringify(counts));
  });
});
