// The controls: what they are set to, also in the address of the page, so that a link keeps a plan.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});
  const { element } = planner;

  // Controls with a slider beside the number; the slider moves by powers of ten.
  const SLIDERS = ["bandwidth_mbps", "overhead_secs", "variance"];
  const NUMBERS = [...SLIDERS, "alpha", "beta"];
  // A longer address is refused by some programs that take links.
  const LINK_CHARACTERS_MAX = 30_000;

  class Form {
    #root;
    #schemes = [];
    // The settings of the fleet in the text, as long as nobody has edited it.
    #made = null;

    constructor(root, changed) {
      this.#root = root;
      for (const name of SLIDERS) {
        const [number, slider] = [this.input(name), this.input(`${name}_slider`)];
        slider.addEventListener("input", () => {
          const value = 10 ** Number(slider.value);
          number.value = slider.value === slider.min && number.min === "0" ? "0" : String(Number(value.toPrecision(3)));
          changed();
        });
        number.addEventListener("input", () => this.#slide(name));
      }
      for (const name of [...NUMBERS, "fleet", "parameter"]) this.input(name).addEventListener("input", changed);
      this.input("fleet").addEventListener("input", () => (this.#made = null));
      this.input("scheme").addEventListener("change", () => {
        this.#showScheme(this.#chosen());
        changed();
      });
    }

    input(name) {
      return this.#root.querySelector(`#planner-${name}`);
    }

    // Fills the lists from the planner's own tables.
    offer({ schemes, profiles }) {
      this.#schemes = schemes;
      const name = ({ example }) => (this.#hasParameter(example) ? example.split("=")[0] : example);
      this.input("scheme").replaceChildren(...schemes.map((row) => element("option", { value: row.example }, name(row))));
      this.input("profile").replaceChildren(...profiles.map((row) => element("option", { value: row.name, title: row.about }, row.name)));
    }

    #hasParameter = (example) => /=[\d.]+$/.test(example);
    #chosen = () => this.#schemes.find(({ example }) => example === this.input("scheme").value);

    #showScheme({ example, summary }) {
      const has = this.#hasParameter(example);
      this.#root.querySelector("#planner-parameter-row").hidden = !has;
      if (has) this.input("parameter").value = example.split("=")[1];
      this.#root.querySelector("#planner-scheme-summary").textContent = summary;
    }

    // Chooses a scheme by its name, which may have another parameter than the example of its row.
    choose(scheme) {
      const [name, parameter] = scheme.split("=");
      const row = this.#schemes.find(({ example }) => example === scheme) ?? this.#schemes.find(({ example }) => this.#hasParameter(example) && example.startsWith(`${name}=`));
      if (!row) return;
      this.input("scheme").value = row.example;
      this.#showScheme(row);
      if (this.#hasParameter(row.example)) this.input("parameter").value = parameter;
    }

    get scheme() {
      const { example } = this.#chosen();
      return this.#hasParameter(example) ? `${example.split("=")[0]}=${this.input("parameter").value.trim()}` : example;
    }

    #slide(name) {
      const slider = this.input(`${name}_slider`);
      const value = Number(this.input(name).value);
      slider.value = value > 0 ? String(Math.log10(value)) : slider.min;
    }

    set fleet(csv) {
      this.input("fleet").value = csv;
      this.#made = null;
    }

    // The fleet that the settings of device types give.
    setMade({ profile, devices, seed }, csv) {
      this.fleet = csv;
      this.#made = { profile, devices, seed };
      this.input("profile").value = profile;
      this.input("devices").value = String(devices);
      this.input("seed").value = String(seed);
    }

    // The question of the controls, without the scheme. An empty or half-written number is null.
    question() {
      const question = { ask: "plan", fleet: this.input("fleet").value };
      for (const name of NUMBERS) {
        const value = this.input(name).valueAsNumber;
        question[name] = Number.isFinite(value) ? value : null;
      }
      return question;
    }

    // The command that gives the same plan.
    command() {
      const { overhead_secs, bandwidth_mbps, variance, alpha, beta } = this.question();
      const words = ["fedflip plan fleet.csv", `--bandwidth ${bandwidth_mbps}`];
      if (overhead_secs) words.push(`--overhead-secs ${overhead_secs}`);
      const known = alpha !== null && beta !== null;
      if (known) words.push(`--alpha ${alpha} --beta ${beta}`);
      const { needs_variance, needs_goal } = this.#chosen();
      // Alone, a scheme that plans for any goal takes the default variance.
      const compares = needs_goal && !known;
      words.push(compares ? "--compare" : `--scheme ${this.scheme}`);
      if (compares || needs_variance) words.push(`--variance ${variance}`);
      return words.join(" ");
    }

    // The settings as a fragment of an address, and whether the fleet is part of it.
    async fragment() {
      const parameters = new URLSearchParams();
      for (const name of NUMBERS) parameters.set(name, this.input(name).value);
      parameters.set("scheme", this.scheme);
      if (this.#made) {
        const { profile, devices, seed } = this.#made;
        parameters.set("made", `${profile}:${devices}:${seed}`);
        return { text: String(parameters), whole: true };
      }
      const packed = await pack(this.input("fleet").value);
      const whole = packed.length <= LINK_CHARACTERS_MAX;
      if (whole) parameters.set("fleet", packed);
      return { text: String(parameters), whole };
    }

    // Sets the controls from a fragment; the fleet to make, if it names one.
    async restore(text) {
      const parameters = new URLSearchParams(text);
      for (const name of NUMBERS) {
        const value = parameters.get(name);
        if (value !== null) this.input(name).value = value;
      }
      SLIDERS.forEach((name) => this.#slide(name));
      this.choose(parameters.get("scheme") ?? "auto");
      const packed = parameters.get("fleet");
      if (packed) this.fleet = await unpack(packed);
      const [profile, devices, seed] = (parameters.get("made") ?? "paper:100:7").split(":");
      return packed ? null : { profile, devices: Number(devices), seed: Number(seed) };
    }
  }

  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();

  // A text as letters that an address may have.
  async function pack(text) {
    const bytes = new Uint8Array(await through(text, new CompressionStream("deflate-raw")));
    const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  async function unpack(packed) {
    try {
      const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
      const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
      return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    } catch {
      return "";
    }
  }

  Object.assign(planner, { Form });
}
