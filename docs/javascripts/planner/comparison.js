// Every scheme side by side, for the same fleet and the same settings.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});
  const { duration, element, significant } = planner;

  const TITLES = ["Scheme", "Devices per round", "Σ a²/q", "Mean round time", "Rounds", "Time to the target", "× best"];

  class Comparison {
    #rows = new Map();
    #totals = new Map();

    // `choose` is called with the scheme whose button a person presses.
    constructor(place, schemes, choose) {
      const head = element("tr", {}, ...TITLES.map((title) => element("th", { scope: "col" }, title)));
      const body = element("tbody");
      for (const { example, summary } of schemes) {
        const button = element("button", { type: "button", title: summary }, example);
        button.addEventListener("click", () => choose(example));
        const row = element("tr", {}, element("th", { scope: "row" }, button), ...TITLES.slice(1).map(() => element("td")));
        this.#rows.set(example, row);
        body.append(row);
      }
      place.replaceChildren(element("table", {}, element("thead", {}, head), body));
    }

    // The schemes in the order of the table.
    get schemes() {
      return [...this.#rows.keys()];
    }

    // Marks all rows as those of earlier settings.
    begin(chosen) {
      this.#totals.clear();
      for (const [scheme, row] of this.#rows) {
        row.classList.add("planner-stale");
        row.classList.toggle("planner-chosen", scheme === chosen);
      }
    }

    show(scheme, { planned, refused }) {
      const row = this.#rows.get(scheme);
      row.classList.remove("planner-stale");
      const cells = [...row.querySelectorAll("td")];
      if (refused) {
        const text = refused.needs_constants ? "needs α and β" : `${refused.problem}; ${refused.hint}`;
        cells.forEach((cell, place) => (cell.textContent = place === 0 ? text : ""));
        cells[0].colSpan = TITLES.length - 1;
        cells.slice(1).forEach((cell) => (cell.hidden = true));
        return;
      }
      cells[0].colSpan = 1;
      cells.forEach((cell) => (cell.hidden = false));
      const { expected_participants, sampling_variance, round_secs, rounds, total_secs } = planned;
      const texts = [significant(expected_participants), significant(sampling_variance, 4), duration(round_secs?.mean ?? null), significant(rounds, 4), duration(total_secs), "–"];
      texts.forEach((text, place) => (cells[place].textContent = text));
      if (total_secs !== null) this.#totals.set(scheme, total_secs);
      this.#rank();
    }

    #rank() {
      const best = Math.min(...this.#totals.values());
      for (const [scheme, total] of this.#totals) {
        this.#rows.get(scheme).lastElementChild.textContent = (total / best).toFixed(2);
      }
    }
  }

  Object.assign(planner, { Comparison });
}
