use super::*;
use crate::method::Registry;
use crate::plan::Plan;
use foldglass::Allowance;

const STUDY: &str = "\
name = \"small\"
[[class]]
task = \"z:3\"
lengths = [3, 4]
[[class]]
id = \"tied\"
task = \"parity\"
lengths = [4]
window = [0, 1]
tied = true
inputs = \"markov:9/10\"
[[dynamics]]
kind = \"cavi\"
tau = [1e-10, 0]
runs = 3
iterations = 40
init = \"logit_normal:0.1\"
quench = { iterations = 5, tau = 1e-13 }
[[dynamics]]
id = \"mc\"
kind = \"chain\"
classes = [\"tied\"]
kernel = \"heat-bath\"
tau = 1e-13
runs = 3
sweeps = 40
";

fn plan(text: &str) -> Result<Plan, String> {
    let study = Study::parse(text, 0)?;
    Plan::new(
        &study,
        &Registry::default(),
        Path::new(""),
        Allowance::default(),
    )
    .map_err(|error| error.to_string())
}

#[test]
fn a_study_is_what_its_file_says() {
    let study = Study::parse(STUDY, 7).unwrap();
    assert_eq!((study.seed, &study.classes[0].id[..]), (7, "z-3_T3-4_w0-0"));
    assert_eq!(study.classes[0].words.memory, 1);
    assert_eq!(study.dynamics[0].id, "cavi");
    let names: Vec<String> = study.dynamics[0]
        .points()
        .iter()
        .map(Parameters::name)
        .collect();
    assert_eq!(names, ["tau=1e-10", "tau=0"]);
    let classes = |n: usize| study.classes_of(&study.dynamics[n]).collect::<Vec<_>>();
    assert_eq!((classes(0), classes(1)), (vec![0, 1], vec![1]));
    assert!(plan(STUDY).is_ok());
}

#[test]
fn a_study_survives_json() {
    let study = Study::parse(STUDY, 7).unwrap();
    let text = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<Study>(&text).unwrap(), study);
}

#[test]
fn what_a_study_cannot_mean_is_refused_with_the_line_of_the_key() {
    for (old, new, said) in [
        (
            "tied = true",
            "knots = true",
            "line 10, column 1: unknown key `knots`",
        ),
        (
            "lengths = [4]",
            "lengths = \"4\"",
            "line 8, column 1: lengths = \"4\": invalid type",
        ),
        (
            "runs = 3",
            "rnus = 3",
            "the key `runs` is missing: there are kind, tau, rnus, iterations",
        ),
        (
            "iterations = 40",
            "sweeps = 40",
            "`sweeps` is not a key of kind \"cavi\", whose own are tau, anneal, iterations",
        ),
        (
            "init = ",
            "sweeps = 4\ninit = ",
            "line 17, column 1: dynamics \"cavi\": `sweeps` is not a key",
        ),
        (
            "\"logit_normal:0.1\"",
            "\"normal\"",
            "line 17, column 1: dynamics \"cavi\": init = \"normal\": `normal` names no",
        ),
        (
            "kind = \"chain\"",
            "kind = \"dance\"",
            "line 21, column 1: dynamics \"mc\": kind = \"dance\": one of \"cavi\"",
        ),
        (
            "[1e-10, 0]",
            "[1e-10, -1]",
            "line 14, column 1: dynamics \"cavi\": tau = -1",
        ),
        (
            "[1e-10, 0]",
            "[1e-10, 1e-10]",
            "line 14, column 1: dynamics \"cavi\": tau = 1e-10 twice",
        ),
        (
            "[1e-10, 0]",
            "[0.0, 0]",
            "line 14, column 1: dynamics \"cavi\": tau = 0 twice",
        ),
        ("[1e-10, 0]", "[inf]", "not a finite number"),
        (
            "[\"tied\"]",
            "[\"untied\"]",
            "line 22, column 1: dynamics \"mc\": classes = \"untied\"",
        ),
        (
            "id = \"tied\"",
            "id = \"a/b\"",
            "line 6, column 1: class \"a/b\": id",
        ),
        ("name = \"small\"", "name = \"..\"", "name = \"..\""),
        (
            "sweeps = 40",
            "sweeps = 40\ncheckpoints = [50]",
            "line 27, column 1: dynamics \"mc\": checkpoints = [50]",
        ),
        (
            "sweeps = 40",
            "sweeps = 0",
            "line 26, column 1: dynamics \"mc\": sweeps = 0",
        ),
        (
            "tau = 1e-13\nruns",
            "tau = 1e-13\nladder = [0.1]\nruns",
            "exclude each other",
        ),
        ("name = \"small\"", "name = small", "line 1, column 8"),
        (
            "task = \"z:3\"",
            "task = \"z:many\"",
            "line 3, column 1: class \"z-many_T3-4_w0-0\": task z:many: ",
        ),
        (
            "lengths = [4]",
            "lengths = [4, 4]",
            "line 8, column 1: class \"tied\": lengths: length 4 is given twice",
        ),
        (
            "markov:9/10",
            "markov:2",
            "line 11, column 1: class \"tied\": inputs markov:2: ",
        ),
        ("markov:9/10", "gauss", "inputs gauss: accepted: uniform"),
    ] {
        assert!(STUDY.contains(old), "{old}");
        let problem = plan(&STUDY.replacen(old, new, 1)).err().unwrap();
        assert!(problem.contains(said), "{new}: no {said:?} in {problem:?}");
    }
}

#[test]
fn a_grid_is_every_combination() {
    let text = "\
name = \"grid\"
[[class]]
id = \"p\"
task = \"parity\"
[class.grid]
k = [\"7/10\", 0.9]
lengths = [4, [3, 4]]
[[dynamics]]
kind = \"cavi\"
iterations = 4
runs = 2
tau = { from = 1e-12, to = 1e-2, points = 6 }
[dynamics.grid]
damping = [0.1, 0.3]
";
    let study = Study::parse(text, 0).unwrap();
    let ids: Vec<&str> = study.classes.iter().map(|class| &class.id[..]).collect();
    assert_eq!(
        ids,
        [
            "p_k-7-10-lengths-4",
            "p_k-7-10-lengths--3-4-",
            "p_k-0.9-lengths-4",
            "p_k-0.9-lengths--3-4-"
        ]
    );
    assert_eq!(study.classes[2].words.inputs, "markov:0.9");
    let points = study.dynamics[0].points();
    assert_eq!(points.len(), 12);
    assert_eq!(points[1].name(), "damping=0.1,tau=1e-10");
    let plan = plan(text).unwrap();
    assert_eq!(plan.index.runs(), 4 * 12 * 2);
    let bad = text.replace("from = 1e-12", "from = 0");
    assert!(
        Study::parse(&bad, 0)
            .unwrap_err()
            .contains("line 12, column 1: tau: from = 0")
    );
}

#[test]
fn streams_are_common_only_where_that_is_asked_for() {
    let seeds = |text: &str| -> Vec<u64> {
        let plan = plan(text).unwrap();
        let points = plan.series.iter().flat_map(|series| &series.points);
        points.map(|point| point.seed).collect()
    };
    let own = seeds(STUDY);
    let mut distinct = own.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), own.len());
    let text = STUDY.replace("runs = 3", "runs = 3\ncommon_random_numbers = true");
    assert!(seeds(&text).iter().all(|&seed| seed == 0));
}

/// A study in the spellings of the first version, and its hashes and ids there.
const BEFORE: &str = "name = \"before\"\nseed = 3\n\
    [[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 2\n\
    [[dynamics]]\nkind = \"cavi\"\niterations = 12\nruns = 2\ntrace_every = 3\nkeep_code = true\n\
    keep_policy = true\ntau = [0.1, 1.0]\n\
    [[dynamics]]\nkind = \"gradient\"\niterations = 12\nstep = 0.5\nruns = 2\nkeep_code = true\ntau = [0.1]\n\
    [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\nsweeps = 10\nruns = 2\ntrace_every = 2\n\
    keep_code = true\nkeep_marginals = true\ntau = [0.1]\n";
const RECIPES_BEFORE: [&str; 3] = [
    "8da00e83a30d0fea9f45308c5b8d05fa",
    "68a1457da726ce18426bae1f5e6fc81f",
    "95218d74e5b5faf4a352b3b502f312b1",
];

fn planned(text: &str) -> Plan {
    let study = Study::parse(text, 0).unwrap();
    let registry = Registry::default();
    Plan::new(&study, &registry, Path::new(""), Allowance::default()).unwrap()
}

#[test]
fn a_study_has_one_hash_in_every_spelling() {
    let today = BEFORE.replace("trace_every", "record_every");
    let by_rule = today.replace(
        "kind = \"gradient\"",
        "kind = \"cavi\"\nrule = \"gradient\"",
    );
    let by_word = by_rule
        .replace("\"gradient\"", "\"gradient:0.5\"")
        .replace("step = 0.5\n", "");
    for text in [BEFORE, &today, &by_rule, &by_word] {
        let plan = planned(text);
        assert_eq!(plan.manifest.recipes, RECIPES_BEFORE, "{text}");
        let ids: Vec<String> = plan.index.keys().map(|key| plan.index.id(key)).collect();
        assert_eq!(ids[0], "p/cavi/tau=0.1/0");
        assert_eq!(ids[4], "p/gradient/tau=0.1/0");
        assert_eq!(plan.manifest, planned(BEFORE).manifest);
        assert_eq!(
            plan.series[0].points[1].seed,
            planned(BEFORE).series[0].points[1].seed
        );
    }
}

#[cfg(feature = "networks")]
#[test]
fn a_training_has_one_hash_in_every_spelling() {
    let before = "name = \"before\"\nseed = 3\n\
        [[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 2\n\
        [[dynamics]]\nkind = \"train\"\nruns = 1\nsteps = 20\nwidth = 16\nheads = 2\nmlp = 16\nbatch = 8\n\
        backend = \"cpu\"\ntest_inputs = 16\ngate_samples = 16\ninitial = \"02\"\ntrace_every = 20\n\
        [dynamics.grid]\nc = [0.0, 0.3]\n";
    let today = before
        .replace("initial", "init")
        .replace("trace_every", "record_every")
        .replace("\nc = ", "\nentropy = ");
    for text in [before, &today] {
        let plan = planned(text);
        assert_eq!(plan.manifest.recipes, ["f758ac18d5c75c85cbbfa980919d52c5"]);
        let ids: Vec<String> = plan.index.keys().map(|key| plan.index.id(key)).collect();
        assert_eq!(ids, ["p/train/c=0/0", "p/train/c=0.3/0"]);
    }
}

#[test]
fn one_setting_in_two_spellings_is_refused_by_both() {
    let both = BEFORE.replace("trace_every = 3", "trace_every = 3\nrecord_every = 3");
    let study = Study::parse(&both, 0).unwrap();
    let registry = Registry::default();
    let refused = Plan::new(&study, &registry, Path::new(""), Allowance::default());
    let refused = refused.err().unwrap().to_string();
    assert!(
        refused.contains("`trace_every`") && refused.contains("`record_every`"),
        "{refused}"
    );
}

#[test]
fn a_value_is_refused_under_the_key_that_was_typed() {
    for key in ["trace_every", "record_every"] {
        let wrong = BEFORE.replace("trace_every = 3", &format!("{key} = 0"));
        let study = Study::parse(&wrong, 0).unwrap();
        let registry = Registry::default();
        let refused = Plan::new(&study, &registry, Path::new(""), Allowance::default());
        let refused = refused.err().unwrap().to_string();
        let said = format!(
            "line 11, column 1: dynamics \"cavi\": {key} = 0: a whole number of at least 1"
        );
        assert!(refused.contains(&said), "{refused}");
    }
}
