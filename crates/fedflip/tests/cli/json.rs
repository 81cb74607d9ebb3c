//! What scripts read.

use serde_json::Value;

use super::Desk;

const PLAN: &str = "plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn a_plan_has_all_its_fields_and_they_agree() {
    let desk = Desk::new();
    for scheme in
        ["exact", "paper", "paper-linesearch", "tight", "sampled", "full", "fixed=0.2", "uniform", "weighted"]
    {
        let plan = desk.json(&format!("{PLAN} --scheme {scheme}"));
        assert_eq!(plan["scheme"], scheme);
        assert_eq!(plan["bandwidth_mbps"], 100.0);
        assert_eq!((&plan["alpha"], &plan["beta"]), (&28.474.into(), &2.2043.into()));
        let q: Vec<f64> = plan["q"].as_array().unwrap().iter().map(number).collect();
        assert_eq!(q.len(), 100);
        let names = plan["names"].as_array().unwrap();
        assert_eq!((names.len(), &names[0]), (100, &"xiaomi-12s-00".into()));
        let weights: Vec<f64> = plan["weights"].as_array().unwrap().iter().map(number).collect();
        let data: f64 = weights.iter().zip(&q).map(|(weight, q)| weight * q).sum();
        assert!((data - 1.0).abs() < 1e-12, "{data}");
        let close = |field: &str, expected: f64| {
            let ours = number(&plan[field]);
            assert!(
                (ours - expected).abs() <= 1e-9 * expected.abs(),
                "{scheme}, {field}: {ours} is not {expected}"
            );
        };
        close("expected_participants", q.iter().sum());
        close("empty_round_probability", q.iter().map(|q| 1.0 - q).product());
        let rounds = 28.474 / (2.2043 - number(&plan["sampling_variance"]));
        close("rounds", rounds);
        let round = &plan["round_secs"];
        close("objective_p2", rounds * number(&round["linear_bound"]));
        close("total_secs", rounds * number(&round["mean"]));
        assert!(
            number(&round["mean"]) <= number(&round["theorem2_bound"]) + 5.0 * number(&round["std_error"])
        );
        assert!(number(&round["theorem2_bound"]) <= number(&round["linear_bound"]));
        assert!(number(&round["expected_bandwidth"]) > 0.2);
        assert!(number(&plan["solve_secs"]) > 0.0);
        let planned = ["exact", "paper", "paper-linesearch", "tight", "sampled"].contains(&scheme);
        assert_eq!(plan["kkt_residual"].is_null(), !planned);
        // A q below a²N/β is outside P3's domain.
        assert_eq!(
            plan["objective_p3"].is_null(),
            ["exact", "tight", "sampled", "uniform", "weighted"].contains(&scheme)
        );
    }
}

#[test]
fn auto_plans_for_the_variance_that_it_is_told() {
    let desk = Desk::new();
    let of = |scheme: &str, flags: &str| {
        number(&desk.json(&format!("{PLAN} --scheme {scheme} {flags}"))["sampling_variance"])
    };
    let variance = |flags: &str| of("auto", flags);
    for (flags, expected) in [("", 1.4), ("--variance 0.35", 0.35), ("--variance 2.1", 2.1)] {
        assert!((of("auto-linear", flags) - expected).abs() < 1e-9, "{flags}");
        // Further devices are cheaper than Σ q c says, so the plan has less variance than it is allowed.
        assert!((0.5 * expected..expected).contains(&variance(flags)), "{flags}");
    }
    // Less than with everybody in every round cannot be had, and is told of.
    assert_eq!(variance("--variance 0.001"), variance("--variance 0.0001"));
    let plan = desk.json(&format!("{PLAN} --scheme auto --variance 0.001"));
    assert_eq!(plan["sampling_variance_asked"], 0.001);
    assert!(plan["warnings"][0].as_str().unwrap().contains("where 0.001"), "{plan}");
    assert_eq!(desk.json(&format!("{PLAN} --scheme auto"))["warnings"], serde_json::json!([]));
}

#[test]
fn the_scheme_follows_from_what_is_known() {
    let desk = Desk::new();
    let scheme = |line: &str| desk.json(line)["scheme"].as_str().unwrap().to_owned();
    assert_eq!(scheme(PLAN), "exact");
    assert_eq!(scheme("plan fleet.csv --bandwidth 100 --pilot 18:uniform --pilot 11:full"), "exact");
    assert_eq!(scheme(&format!("{PLAN} --variance 1")), "auto");
    assert_eq!(scheme("plan fleet.csv --bandwidth 100"), "auto");
    assert!(desk.json(PLAN)["sampling_variance_asked"].is_null());
}

/// α and β tell how long it takes, and nothing of q: without them the plan is the same and the hours are not known.
#[test]
fn without_constants_auto_plans_and_knows_no_hours() {
    let desk = Desk::new();
    let [plan, told] =
        [desk.json("plan fleet.csv --bandwidth 100"), desk.json(&format!("{PLAN} --scheme auto"))];
    assert_eq!((&plan["scheme"], &plan["status"]), (&"auto".into(), &"local-optimum".into()));
    assert!(number(&plan["optimality_gap"]) < 1e-5, "{}", plan["optimality_gap"]);
    for field in ["q", "sampling_variance", "sampling_variance_asked", "round_secs"] {
        assert_eq!(plan[field], told[field], "{field}");
    }
    for field in ["alpha", "beta", "pilots", "rounds", "total_secs", "objective_p2", "objective_p3"] {
        assert!(plan[field].is_null(), "{field}");
    }
    assert_eq!(plan["warnings"], serde_json::json!([]));
    // Nor does a baseline ask for them, which no stand-in says to be out of reach.
    desk.write("skewed.csv", "device,compute_secs,comm_secs,samples\na,1,1,97\nb,1,1,1\nc,1,1,1\nd,1,1,1\n");
    let baseline = desk.json("plan skewed.csv --bandwidth 1 --scheme uniform");
    assert!(number(&baseline["sampling_variance"]) > 2.8);
    assert_eq!((&baseline["status"], &baseline["rounds"]), (&"given".into(), &Value::Null));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let desk = Desk::new();
    let without_time = |line: &str| {
        let mut plan = desk.json(line);
        plan["solve_secs"] = Value::Null;
        plan.to_string()
    };
    let line = format!("{PLAN} --scheme sampled --seed 3");
    assert_eq!(without_time(&line), without_time(&line));
    assert_eq!(desk.stdout("fleet new --seed 5"), desk.stdout("fleet new --seed 5"));
}

#[test]
fn an_unreachable_baseline_is_said_to_be_so() {
    let plan = Desk::new().json("plan fleet.csv --bandwidth 100 --alpha 28 --beta 1.5 --scheme uniform");
    assert_eq!(plan["status"], "unreachable");
    for field in ["rounds", "total_secs", "objective_p2"] {
        assert!(plan[field].is_null(), "{field}");
    }
}

#[test]
fn a_baseline_above_availability_is_capped_with_a_warning() {
    let desk = Desk::new();
    desk.write("capped.csv", "device,compute_secs,comm_secs,samples,availability\na,1,1,1,0.4\nb,1,1,1,1\n");
    let output = desk.run("plan capped.csv --bandwidth 1 --alpha 1 --beta 9 --scheme full --json");
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["q"], serde_json::json!([0.4, 1.0]));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("full asks more of 1 device than") && warning.contains("capped"), "{warning}");
}

#[test]
fn pilots_stand_for_alpha_and_beta() {
    let desk = Desk::new();
    let plan = desk.json("plan fleet.csv --bandwidth 100 --pilot 18:uniform --pilot 11:full");
    assert_eq!(
        plan["pilots"],
        serde_json::json!({"count": 2, "alpha_interval": null, "beta_interval": null})
    );
    let many =
        desk.json("plan fleet.csv --bandwidth 100 --pilot 30:uniform --pilot 11:full --pilot 12:fixed=0.1");
    let [low, high] = [0, 1].map(|end| number(&many["pilots"]["beta_interval"][end]));
    assert!(low < number(&many["beta"]) && number(&many["beta"]) < high);
    assert!(desk.json(PLAN)["pilots"].is_null());
    let [c1, c2] = [2.021, 0.02021];
    let beta = number(&plan["beta"]);
    assert!((beta - (18.0 * c1 - 11.0 * c2) / 7.0).abs() < 0.01, "{beta}");
    assert!((number(&plan["alpha"]) - 18.0 * 11.0 * (c1 - c2) / 7.0).abs() < 0.1);
}

#[test]
fn a_comparison_lists_every_scheme_and_says_which_is_infeasible() {
    let desk = Desk::new();
    desk.write("skewed.csv", "device,compute_secs,comm_secs,samples\na,1,1,97\nb,1,1,1\nc,1,1,1\nd,1,1,1\n");
    let comparison = desk.json("plan skewed.csv --bandwidth 1 --alpha 1 --beta 2 --compare");
    let schemes = comparison["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), 23);
    for entry in schemes {
        let infeasible = ["paper", "paper-linesearch"].contains(&entry["scheme"].as_str().unwrap());
        assert_eq!(entry["status"] == "infeasible", infeasible, "{entry}");
    }
}

#[test]
fn a_comparison_without_constants_plans_the_schemes_that_need_none() {
    let desk = Desk::new();
    let comparison = desk.json("plan fleet.csv --bandwidth 100 --compare");
    assert!(comparison["alpha"].is_null() && comparison["beta"].is_null());
    for entry in comparison["schemes"].as_array().unwrap() {
        let scheme = entry["scheme"].as_str().unwrap();
        let planned = !["exact", "paper", "paper-linesearch", "tight", "sampled"].contains(&scheme);
        assert_eq!(entry["status"] == "needs-constants", !planned, "{entry}");
        // Without rounds there is no q to plan.
        assert_eq!(entry["q"].is_array(), planned && entry["status"] != "skipped", "{scheme}");
        assert_eq!(entry["hint"].as_str().is_some_and(|hint| hint.contains("--pilot")), !planned);
        assert!(entry["rounds"].is_null());
    }
}

/// Constants that no q can meet stop only the schemes that optimise for them.
#[test]
fn a_baseline_is_planned_also_where_no_plan_reaches_the_target() {
    let desk = Desk::new();
    for scheme in ["full", "uniform", "auto"] {
        let line = format!("plan fleet.csv --bandwidth 100 --alpha 28 --beta 0.01 --scheme {scheme}");
        let plan = desk.json(&line);
        assert_eq!((&plan["status"], &plan["rounds"]), (&"unreachable".into(), &Value::Null), "{scheme}");
    }
}

#[test]
fn a_cohort_may_be_named() {
    let desk = Desk::new();
    let positions = desk.stdout("allocate fleet.csv --bandwidth 100 --cohort 3,99 --json");
    let line = "allocate fleet.csv --bandwidth 100 --json --cohort";
    assert_eq!(desk.stdout(&format!("{line} teclast-m40-19,xiaomi-12s-03")), positions);
    assert_eq!(desk.stdout(&format!("{line} 99,xiaomi-12s-03")), positions);
    // A name wins over a position.
    desk.write("numbered.csv", "device,compute_secs,comm_secs,samples\n1,1,1,1\n0,2,1,1\n");
    let round = desk.json("allocate numbered.csv --bandwidth 100 --cohort 0");
    assert_eq!((&round["shares"][0]["device"], &round["shares"][0]["name"]), (&1.into(), &"0".into()));
}

#[test]
fn an_allocation_adds_up() {
    let desk = Desk::new();
    let round = desk.json("allocate fleet.csv --bandwidth 100 --cohort 3,7,9,88");
    let shares = round["shares"].as_array().unwrap();
    assert_eq!(
        shares.iter().map(|share| share["device"].as_u64().unwrap()).collect::<Vec<_>>(),
        [3, 7, 9, 88]
    );
    let total: f64 = shares.iter().map(|share| number(&share["mbps"])).sum();
    assert!((total - 100.0).abs() < 1e-9, "{total}");
    for share in shares {
        let done = number(&share["compute_secs"]) + number(&share["upload_secs"]);
        assert!((done / number(&round["round_secs"]) - 1.0).abs() < 1e-12);
    }
    let equal = desk.json("allocate fleet.csv --bandwidth 100 --cohort 3,7,9,88 --equal");
    assert!(equal["shares"].as_array().unwrap().iter().all(|share| share["mbps"] == 25.0));
    assert!(number(&equal["round_secs"]) > number(&round["round_secs"]));
}

#[test]
fn a_bound_has_its_conditions() {
    let line = "bound fleet.csv --scheme exact --bandwidth 100 --learning-rate 0.0001 --smoothness 1 \
                --divergence 0.5 --gradient-variance 0.5 --initial-gap 2.3 --threshold 0.5";
    let bound = Desk::new().json(line);
    assert_eq!(bound["variance_condition"], true);
    assert_eq!(bound["learning_rate_condition"], true);
    let rounds = number(&bound["alpha"]) / (number(&bound["beta"]) - number(&bound["sampling_variance"]));
    assert_eq!(number(&bound["rounds_needed"]), (rounds * (1.0 - 1e-12)).ceil());
}

#[test]
fn a_bound_of_auto_is_for_its_variance() {
    let desk = Desk::new();
    let line = "bound fleet.csv --scheme auto-linear --bandwidth 100 --learning-rate 0.0001 --smoothness 1 \
                --divergence 0.5 --gradient-variance 0.5 --initial-gap 2.3 --rounds 1000";
    for (flags, expected) in [("", 1.4), (" --variance 0.35", 0.35)] {
        let bound = desk.json(&format!("{line}{flags}"));
        assert!((number(&bound["sampling_variance"]) - expected).abs() < 1e-9, "{flags}");
    }
}

#[test]
fn a_benchmark_measures_what_it_is_asked_to() {
    let bench = Desk::new().json("bench --secs 0.05 --threads 2 --model mnist-cnn --model mnist-cnn-wide");
    assert_eq!(bench["threads"], 2);
    assert!(number(&bench["gemm_peak_gflops"]) > 0.0);
    let models = bench["models"].as_array().unwrap();
    assert_eq!(
        models.iter().map(|model| model["model"].as_str().unwrap()).collect::<Vec<_>>(),
        ["mnist-cnn", "mnist-cnn-wide"]
    );
    for model in models {
        assert!(number(&model["client_updates_per_sec"]) > 0.0);
        assert!((0.0..1.5).contains(&number(&model["share_of_peak"])), "{model}");
        assert!(cfg!(not(target_os = "linux")) || number(&model["peak_mb"]) > 1.0);
    }
}

#[test]
fn a_fleet_comes_from_standard_input_too() {
    let desk = Desk::new();
    let fleet = std::fs::read(desk.folder.path().join("fleet.csv")).unwrap();
    let line = "plan - --bandwidth 100 --alpha 28.474 --beta 2.2043 --json";
    let output = desk.run_with_input(line, &fleet);
    let mut piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut named = desk.json(PLAN);
    (piped["solve_secs"], named["solve_secs"]) = (Value::Null, Value::Null);
    assert_eq!(piped, named);
}
