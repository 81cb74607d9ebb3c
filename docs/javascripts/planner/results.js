// The outcome of a plan: each number with a sentence that says what it is.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});
  const { count, duration, element, percent, significant } = planner;

  const STATUS = {
    optimal: "This plan is the proven optimum of its problem.",
    "local-optimum": "This plan is the best that descent found from several starts.",
    approximate: "This plan is the best point found; the optimum can be slightly better.",
    given: "This scheme optimises nothing: its q follows a fixed rule.",
    unreachable: "This plan never reaches the target, because its sampling variance is not below β.",
  };

  function roundTime({ round_secs }) {
    if (!round_secs) return ["–", "Reports of the devices decide the cohorts of a run, so nobody can predict their round times."];
    const error = `The standard error of this estimate is ${duration(round_secs.std_error)}.`;
    return [duration(round_secs.mean), `A round takes this long on average, from its start to the end of the last upload. ${error}`];
  }

  function bound({ round_secs, flips_coins }) {
    if (!round_secs) return ["–", "There is no bound without a prediction of the cohorts."];
    const linear = duration(round_secs.linear_bound);
    if (!flips_coins) return [linear, "The mean round time never exceeds this linear bound, overhead + Σ q c."];
    return [duration(round_secs.theorem2_bound), `The mean round time never exceeds this bound of Theorem 2. The linear bound, overhead + Σ q c, is ${linear}.`];
  }

  function emptyRounds({ empty_round_probability, flips_coins }) {
    if (empty_round_probability === null) return ["–", "Reports of the devices decide the cohorts of a run."];
    const sentence = flips_coins
      ? "In this share of the rounds, no coin selects a device. Such a round takes only the overhead."
      : "This scheme draws at least one device in every round.";
    return [percent(empty_round_probability), sentence];
  }

  function toTarget({ rounds, total_secs, alpha, flips_coins, status }) {
    if (!flips_coins) return [["–", "The round model holds for independent coins, which this scheme does not flip."], ["–", "Without a number of rounds there is no total time."]];
    if (alpha === null) return [["–", "Fill in α and β to predict the number of rounds. Pilot runs measure both."], ["–", "Fill in α and β to predict the time to the target."]];
    if (status === "unreachable" || rounds === null) return [["never", STATUS.unreachable], ["never", "Lower the sampling variance or raise β."]];
    return [
      [significant(rounds, 4), "The round model α/(β − Σ a²/q) predicts this many rounds until the model reaches the target."],
      [duration(total_secs), "This is the predicted virtual time to the target: the number of rounds times the mean round time."],
    ];
  }

  // The figures, in the order in which a person asks for them.
  function figures(plan) {
    const [rounds, total] = toTarget(plan);
    const variance = `Σ a²/q measures how much the choice of devices disturbs each update of the model. Its least value for this fleet is ${significant(plan.least_variance)}.`;
    return [
      ["Devices per round", significant(plan.expected_participants), `On average, this many of ${count(plan.devices, "device")} take part in a round.`],
      ["Mean round time", ...roundTime(plan)],
      ["Upper bound of the round time", ...bound(plan)],
      ["Empty rounds", ...emptyRounds(plan)],
      ["Sampling variance", significant(plan.sampling_variance, 4), variance],
      ["Rounds to the target", ...rounds],
      ["Time to the target", ...total],
    ];
  }

  function showFigures(list, plan) {
    const cards = figures(plan).map(([title, value, sentence]) => {
      const text = element("dd", {}, element("strong", { class: "planner-value" }, value), element("span", {}, sentence));
      return element("div", {}, element("dt", {}, title), text);
    });
    list.replaceChildren(...cards);
  }

  // What a person who listens hears after a change.
  function summary(plan) {
    const round = plan.round_secs ? `, and the mean round takes ${duration(plan.round_secs.mean)}` : "";
    const total = plan.total_secs === null ? "" : `. The predicted time to the target is ${duration(plan.total_secs)}`;
    const warnings = plan.warnings.length === 0 ? "" : ` ${count(plan.warnings.length, "warning")}.`;
    return `${plan.scheme}: ${significant(plan.expected_participants)} devices per round${round}${total}.${warnings}`;
  }

  const explain = (plan) => `${plan.rule} ${STATUS[plan.status] ?? ""}`;

  Object.assign(planner, { showFigures, summary, explain });
}
