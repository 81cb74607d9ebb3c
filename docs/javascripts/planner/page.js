// The page: a change of a control leads to a question, and the answer to figures, a chart and a comparison.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});
  const { Calculator, Comparison, Form, deviceTable, drawChart, element, explain, showFigures, summary } = planner;

  // A slider that moves asks no question before it has rested for this long.
  const REST_MS = 60;
  // Whoever listens hears the outcome once, and not for every step of a slider.
  const SPOKEN_MS = 700;

  const root = document.querySelector("#planner");
  const find = (name) => root.querySelector(`#planner-${name}`);

  let calculator, form, comparison;
  let resting, speaking;
  // The number of the latest settings: an answer to earlier ones is of no use.
  let latest = 0;
  // The plan on the page.
  let shown = null;

  function changed() {
    clearTimeout(resting);
    resting = setTimeout(update, REST_MS);
  }

  async function update() {
    const mine = ++latest;
    calculator.forget();
    const answer = await calculator.ask({ ...form.question(), scheme: form.scheme, with_devices: true });
    if (answer === null || mine !== latest) return;
    show(answer);
    const { text, whole } = await form.fragment();
    if (mine !== latest) return;
    history.replaceState(null, "", `#${text}`);
    find("link").href = `#${text}`;
    find("link-note").textContent = whole ? "" : "The fleet is too large for a link: the link keeps the other settings.";
    await compare(mine, answer);
  }

  function show({ planned, refused }) {
    for (const wrong of root.querySelectorAll("[aria-invalid]")) wrong.removeAttribute("aria-invalid");
    find("error").hidden = !refused;
    find("outcome").classList.toggle("planner-stale", Boolean(refused));
    if (refused) return refuse(refused);
    find("error").replaceChildren();
    showFigures(find("figures"), planned);
    find("rule").textContent = explain(planned);
    find("command").textContent = form.command();
    find("warnings").replaceChildren(...planned.warnings.map((warning) => element("li", {}, warning)));
    find("warnings").hidden = planned.warnings.length === 0;
    shown = planned;
    redraw();
    find("table").replaceChildren(deviceTable(planned));
    say(summary(planned));
  }

  function redraw() {
    if (shown) find("chart").replaceChildren(drawChart(shown, find("chart").clientWidth));
  }

  function refuse({ place, line, problem, hint }) {
    const control = place && (form.input(place) ?? form.input("scheme"));
    const message = [element("strong", {}, `${problem}. `), `What to do: ${hint}.`];
    if (line !== null) {
      const button = element("button", { type: "button" }, `Go to line ${line}`);
      button.addEventListener("click", () => goToLine(line));
      message.push(" ", button);
    }
    find("error").replaceChildren(...message);
    control?.setAttribute("aria-invalid", "true");
    clearTimeout(speaking);
  }

  function goToLine(line) {
    const text = form.input("fleet");
    const lines = text.value.split("\n");
    const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    text.focus();
    text.setSelectionRange(begin, begin + (lines[line - 1] ?? "").length);
    text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 3);
  }

  function say(text) {
    clearTimeout(speaking);
    speaking = setTimeout(() => (find("spoken").textContent = text), SPOKEN_MS);
  }

  async function compare(mine, { refused }) {
    comparison.begin(form.scheme);
    // A fleet or a number that is wrong for one scheme is wrong for all.
    if ((refused && !refused.only_scheme) || !find("comparison").open) return;
    const question = form.question();
    for (const scheme of comparison.schemes) {
      const answer = await calculator.ask({ ...question, scheme });
      if (answer === null || mine !== latest) return;
      comparison.show(scheme, answer);
    }
  }

  async function makeFleet(settings) {
    const answer = await calculator.ask({ ask: "fleet", ...settings });
    if (answer === null) return;
    if (answer.refused) return show(answer);
    form.setMade(settings, answer.made_fleet.csv);
    await update();
  }

  function listen() {
    find("make").addEventListener("click", () => {
      const [devices, seed] = ["devices", "seed"].map((name) => form.input(name).valueAsNumber || 0);
      makeFleet({ profile: form.input("profile").value, devices, seed });
    });
    find("paper").addEventListener("click", () => makeFleet({ profile: "paper", devices: 100, seed: 7 }));
    find("file").addEventListener("change", async ({ target }) => {
      if (!target.files[0]) return;
      form.fleet = await target.files[0].text();
      target.value = "";
      changed();
    });
    new ResizeObserver(redraw).observe(find("chart"));
    find("comparison").addEventListener("toggle", changed);
    find("save").addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([shown.csv], { type: "text/csv" }));
      element("a", { href: address, download: "q.csv" }).click();
      URL.revokeObjectURL(address);
    });
    window.addEventListener("hashchange", () => location.hash.includes("=") && restore());
  }

  async function restore() {
    const text = location.hash.includes("=") ? location.hash.slice(1) : "";
    const made = await form.restore(text);
    if (made) await makeFleet(made);
    else await update();
  }

  async function start() {
    if (!planner.module) throw new Error(planner.missing ?? "the file of the planner did not load; reload the page");
    calculator = new Calculator(planner.module);
    const { catalogue } = await calculator.ask({ ask: "catalogue" });
    form = new Form(root, changed);
    form.offer(catalogue);
    comparison = new Comparison(find("schemes"), catalogue.schemes, (scheme) => {
      form.choose(scheme);
      changed();
    });
    listen();
    await restore();
    root.classList.add("planner-ready");
  }

  start().catch((error) => {
    find("error").hidden = false;
    find("error").textContent = `The planner does not run here: ${error.message}. The command fedflip plan gives the same numbers.`;
  });
}
