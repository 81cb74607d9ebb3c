// Sets formulas with KaTeX: a JSON list of { tex, displayMode } on standard input, a list of { html } or { error } on
// standard output. The argument is the file of KaTeX.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(process.argv[2]).href);
const formulas = JSON.parse(readFileSync(0, "utf8"));

const answers = formulas.map(({ tex, displayMode }) => {
  try {
    // Both outputs: HTML for the eye, MathML for screen readers. Letters such as α may be typed as they are.
    const strict = (code) => (code === "unicodeTextInMathMode" ? "ignore" : "error");
    return { html: katex.renderToString(tex, { displayMode, output: "htmlAndMathml", strict }) };
  } catch (error) {
    return { error: `${tex}: ${error.message}` };
  }
});

process.stdout.write(JSON.stringify(answers));
