//! Reads codes, policies and claims back from what files hold, and refuses everything else.

use foldglass::Context;
use foldglass::landscape::escape::{escape, search};
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::model::policy::{CODE_FORMAT, CodeForm, POLICY_FORMAT, PolicyForm};
use foldglass::proof::check::path::verify;
use foldglass::proof::claim::{
    CodeNode, Finding, MoveKind, PATH_FORMAT, Path, PathForm, VERDICT_FORMAT, Verdict, VerdictForm,
    VerdictsForm,
};
use foldglass::reward::count::Counter;
use foldglass::{
    Allowance, Class, ClassSpec, Code, InputLaw, Operation, Policy, Reward, Shape, Stream, Symbol,
    support::exact,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn class(inputs: InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let spec = ClassSpec {
        inputs,
        ..ClassSpec::uniform(Operation::cyclic(2).unwrap(), lengths, shape)
    };
    spec.lay_out().unwrap()
}

fn correlated() -> InputLaw {
    InputLaw::Markov(exact::parse("9/10").unwrap())
}

fn random_code(class: &Class, seed: u64) -> Code {
    let mut stream = Stream::new(seed, 0);
    Code::from_fn(class, |_| stream.below(class.q() as u32) as Symbol)
}

/// What a search of at most `cap` codes says of a code.
fn verdict(code: &Code, cap: usize) -> Verdict {
    let mut workers = Workers::new(code.class(), Context::default().with_threads(1)).unwrap();
    let mut search = Search::new(&mut workers, code.clone(), cap);
    search.explore(&mut workers, Context::default());
    search.finish().unwrap().verdict
}

/// A verdict file.
fn file(class: &Class, verdicts: &[Verdict]) -> Value {
    let forms: Vec<VerdictForm> = verdicts.iter().map(VerdictForm::from).collect();
    json!({"format": VERDICT_FORMAT, "class": class.spec(), "verdicts": forms})
}

fn read_verdicts(file: &Value) -> Result<Vec<Verdict>, String> {
    let form = serde_json::from_str::<VerdictsForm>(&file.to_string());
    let form = form.map_err(|error| error.to_string())?;
    let verdicts = form.verdicts(Allowance::default());
    verdicts.map_err(|error| error.to_string())
}

fn read_path(file: &Value) -> Result<Path, String> {
    let form = serde_json::from_str::<PathForm>(&file.to_string());
    let form = form.map_err(|error| error.to_string())?;
    form.path(Allowance::default())
        .map_err(|error| error.to_string())
}

/// The same with one value in another's place; none takes it away.
fn with(file: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut changed = file.clone();
    match value {
        Some(value) => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match changed.pointer_mut(parent).unwrap() {
                Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
                other => other[key] = value,
            }
        }
        None => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = changed.pointer_mut(parent).unwrap();
            parent.as_object_mut().unwrap().remove(key).unwrap();
        }
    }
    changed
}

#[test]
fn paths_survive_their_files() {
    let plain = class(InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let tied = class(correlated(), &[2, 4], Shape::tied(1, 0));
    for seed in 0..5 {
        let code = random_code(&tied, seed);
        let counter = Counter::new(code).unwrap();
        let walked = search(counter, 1000, &mut Stream::new(seed, 1), Context::default()).path;
        let code = random_code(&plain, seed);
        for path in [escape(&code, Context::default()).unwrap(), walked] {
            let text = serde_json::to_string(&PathForm::from(&path)).unwrap();
            let read: PathForm = serde_json::from_str(&text).unwrap();
            let read = read.path(Allowance::default()).unwrap();
            assert_eq!(read, path);
            assert_eq!(verify(&read, Context::default()), Ok(()));
        }
    }
}

#[test]
fn verdicts_survive_their_files() {
    let mut kinds = BTreeSet::new();
    for class in [
        class(correlated(), &[4], Shape::untied(0, 0)),
        class(correlated(), &[3], Shape::tied(0, 1)),
    ] {
        let mut verdicts = Vec::new();
        for seed in 0..20 {
            let mut code = random_code(&class, seed);
            loop {
                verdicts.extend([3, 1000].map(|cap| verdict(&code, cap)));
                let Finding::Escapes { moves } = &verdicts[verdicts.len() - 1].finding else {
                    break;
                };
                moves.iter().for_each(|m| code.set(m.cell, m.to));
            }
        }
        kinds.extend(verdicts.iter().map(|verdict| verdict.finding.name()));
        assert_eq!(read_verdicts(&file(&class, &verdicts)), Ok(verdicts));
    }
    let all = ["bounded", "certified", "escapes", "optimal"];
    assert!(kinds.iter().eq(&all), "{kinds:?}");
}

#[test]
fn claims_have_the_documented_form() {
    let class = class(InputLaw::Uniform, &[1], Shape::untied(0, 0));
    let spec = "{\"square\":[[0,1],[1,0]],\"lengths\":[1],\"window\":[0,0],\"tied\":false,\
                \"memory\":1,\"inputs\":\"uniform\"}";
    let zero = Code::from_fn(&class, |_| 0);
    let path = escape(&zero, Context::default()).unwrap();
    let text = serde_json::to_string(&PathForm::from(&path)).unwrap();
    let expected = format!(
        "{{\"format\":\"foldglass-path/1\",\"class\":{spec},\"actions\":[0,0],\
         \"start_exact\":\"1/2\",\"moves\":[{{\"cell\":1,\"from\":0,\"to\":1,\"kind\":\"finish\",\
         \"reward_exact\":\"1/1\"}}],\"reward_exact\":\"1/1\"}}"
    );
    assert_eq!(text, expected);
    let said = |finding| {
        let (start, reward) = (zero.clone(), Reward::new(1u8, 2u8));
        let verdict = Verdict {
            start,
            reward,
            finding,
            way_out: None,
        };
        serde_json::to_string(&VerdictForm::from(&verdict)).unwrap()
    };
    let node = |parent, cell, action| CodeNode {
        parent,
        cell,
        action,
    };
    let nodes = vec![node(0, 1, 1)];
    let beyond = node(1, 0, 1);
    let mut moves = path.moves;
    moves[0].kind = None;
    for (finding, expected) in [
        (Finding::Optimal, "\"verdict\":\"optimal\""),
        (
            Finding::Certified {
                nodes: nodes.clone(),
            },
            "\"verdict\":\"certified\",\"nodes\":[[0,1,1]]",
        ),
        (
            Finding::Bounded {
                cap: 2,
                nodes,
                beyond,
            },
            "\"verdict\":\"bounded\",\"cap\":2,\"nodes\":[[0,1,1]],\"beyond\":[1,0,1]",
        ),
        (
            Finding::Escapes { moves },
            "\"verdict\":\"escapes\",\"moves\":[{\"cell\":1,\"from\":0,\"to\":1,\
             \"reward_exact\":\"1/1\"}]",
        ),
    ] {
        let expected = format!("{{\"actions\":[0,0],\"reward_exact\":\"1/2\",{expected}}}");
        assert_eq!(said(finding), expected);
    }
}

#[test]
fn a_file_that_is_no_path_is_refused_with_its_place() {
    let class = class(InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let path = escape(&Code::from_fn(&class, |_| 0), Context::default()).unwrap();
    assert!(path.moves.len() > 1);
    let file = serde_json::to_value(PathForm::from(&path)).unwrap();
    assert_eq!((read_path(&file), class.cells()), (Ok(path), 10));
    for (pointer, value, said) in [
        (
            "/format",
            Some(json!("foldglass-path/2")),
            "`foldglass-path/2`",
        ),
        (
            "/format",
            Some(json!(VERDICT_FORMAT)),
            "`foldglass-verdict/1`",
        ),
        ("/format", None, "`format`"),
        ("/note", Some(json!("x")), "unknown field `note`"),
        ("/class/square/0/0", Some(json!(2)), "row 0"),
        ("/class/lengths", Some(json!([4])), "10 entries"),
        ("/class/lengths", Some(json!([3, 3])), "its class: "),
        ("/class/window", Some(json!([0, 5000])), "5000"),
        ("/actions/3", Some(json!(2)), "cell 3 has the action 2"),
        ("/actions/3", Some(json!(-1)), "cell 3 has the action -1"),
        (
            "/moves/1/cell",
            Some(json!(10)),
            "move 2: there is no cell 10: cells are 0 to 9",
        ),
        ("/moves/1/cell", Some(json!(-1)), "-1"),
        (
            "/moves/1/to",
            Some(json!(2)),
            "move 2: there is no action 2: actions are 0 to 1",
        ),
        (
            "/moves/0/from",
            Some(json!(7)),
            "move 1: there is no action 7",
        ),
        ("/moves/1/kind", Some(json!("jump")), "`jump`"),
        ("/moves/1/reward_exact", Some(json!("x")), "`x`"),
        ("/moves/1/reward_exact", Some(json!("-1/2")), "`-1/2`"),
        ("/moves/1/note", Some(json!(1)), "unknown field `note`"),
        ("/start_exact", Some(json!("1/0")), "`1/0`"),
        ("/reward_exact", None, "`reward_exact`"),
    ] {
        let error = read_path(&with(&file, pointer, value)).unwrap_err();
        assert!(error.contains(said), "{pointer}: {error}");
    }
    let form: PathForm = serde_json::from_value(file).unwrap();
    let error = form.path(Allowance(8)).unwrap_err().to_string();
    assert!(error.contains("8 bytes are allowed"), "{error}");
}

#[test]
fn a_file_that_is_no_verdict_is_refused_with_its_place() {
    let class = class(InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let verdicts: Vec<Verdict> = (0..200)
        .map(|seed| verdict(&random_code(&class, seed), 3))
        .collect();
    let find = |name: &str| {
        let is_one = |verdict: &&Verdict| verdict.finding.name() == name;
        verdicts
            .iter()
            .find(is_one)
            .expect("one of this kind")
            .clone()
    };
    let fold = Code::from_fn(&class, |cell| {
        let key = class.key(cell);
        key.y[0].map_or(key.x[0].unwrap(), |y| y ^ key.x[0].unwrap())
    });
    let all = [find("bounded"), find("escapes"), verdict(&fold, 3)];
    let file = file(&class, &all);
    assert_eq!(read_verdicts(&file), Ok(all.to_vec()));
    let nodes = json!([[0, 0, 0]]);
    for (pointer, value, said) in [
        ("/format", Some(json!(PATH_FORMAT)), "`foldglass-path/1`"),
        ("/class/memory", Some(json!(0)), "its class: "),
        ("/verdicts", Some(json!([])), "no verdict"),
        (
            "/verdicts/1/actions/0",
            Some(json!(9)),
            "verdict 1: actions: cell 0",
        ),
        (
            "/verdicts/2/actions",
            Some(json!([0])),
            "verdict 2: actions: ",
        ),
        (
            "/verdicts/0/nodes/0/1",
            Some(json!(14)),
            "verdict 0: node 1: there is no cell 14",
        ),
        (
            "/verdicts/0/nodes/1/2",
            Some(json!(2)),
            "verdict 0: node 2: there is no action 2",
        ),
        ("/verdicts/0/nodes/0", Some(json!([0, 1])), "3"),
        (
            "/verdicts/0/beyond/1",
            Some(json!(99)),
            "verdict 0: beyond: there is no cell 99",
        ),
        (
            "/verdicts/0/cap",
            None,
            "verdict 0: a bounded verdict has cap, nodes and beyond",
        ),
        ("/verdicts/0/beyond", None, "verdict 0: a bounded verdict"),
        (
            "/verdicts/0/verdict",
            Some(json!("certified")),
            "verdict 0: a certified verdict",
        ),
        ("/verdicts/0/verdict", Some(json!("stuck")), "`stuck`"),
        (
            "/verdicts/1/nodes",
            Some(nodes.clone()),
            "verdict 1: an escapes verdict has moves",
        ),
        ("/verdicts/1/moves", None, "verdict 1: an escapes verdict"),
        (
            "/verdicts/1/moves/0/to",
            Some(json!(5)),
            "verdict 1: move 1: there is no action 5",
        ),
        ("/verdicts/1/moves/0/kind", Some(json!("leap")), "`leap`"),
        (
            "/verdicts/2/nodes",
            Some(nodes),
            "verdict 2: an optimal verdict has no",
        ),
        ("/verdicts/2/reward_exact", Some(json!("one")), "`one`"),
        ("/verdicts/2/note", Some(json!(1)), "unknown field `note`"),
    ] {
        let error = read_verdicts(&with(&file, pointer, value)).unwrap_err();
        assert!(error.contains(said), "{pointer}: {error}");
    }
}

#[test]
fn codes_and_policies_survive_their_files() {
    for (law, shape) in [
        (InputLaw::Uniform, Shape::untied(0, 1)),
        (correlated(), Shape::tied(1, 0)),
    ] {
        let class = class(law, &[2, 4], shape);
        let code = random_code(&class, 7);
        let text = serde_json::to_string(&CodeForm::from(&code)).unwrap();
        let read: CodeForm = serde_json::from_str(&text).unwrap();
        assert_eq!(read.code(Allowance::default()), Ok(code));
        let mut stream = Stream::new(1, 0);
        let mut row = |_| {
            let p = f64::from(stream.below(65)) / 64.0;
            vec![p, 1.0 - p]
        };
        let rows: Vec<Vec<f64>> = (0..class.cells()).map(&mut row).collect();
        let policy = Policy::from_rows(&class, &rows).unwrap();
        let text = serde_json::to_string(&PolicyForm::from(&policy)).unwrap();
        let read: PolicyForm = serde_json::from_str(&text).unwrap();
        assert_eq!(read.policy(Allowance::default()), Ok(policy));
    }
}

#[test]
fn a_file_that_is_no_code_or_policy_is_refused_with_its_place() {
    let class = class(InputLaw::Uniform, &[2], Shape::untied(0, 0));
    let code = Code::from_fn(&class, |_| 0);
    let file = serde_json::to_value(CodeForm::from(&code)).unwrap();
    let read = |file: &Value| {
        let form = serde_json::from_str::<CodeForm>(&file.to_string());
        let form = form.map_err(|error| error.to_string())?;
        let code = form.code(Allowance::default());
        code.map_err(|error| error.to_string())
    };
    assert_eq!(read(&file), Ok(code.clone()));
    for (pointer, value, said) in [
        (
            "/format",
            Some(json!(POLICY_FORMAT)),
            "not `foldglass-code/1`",
        ),
        (
            "/actions",
            Some(json!([0])),
            "1 entries: this class has 6 cells",
        ),
        ("/actions/5", Some(json!(2)), "cell 5 has the action 2"),
        ("/class/square/1/1", Some(json!(2)), "row 1"),
        (
            "/class/inputs",
            Some(json!({"markov": "3/2"})),
            "its class: ",
        ),
        ("/rows", Some(json!([])), "unknown field `rows`"),
        ("/class", None, "`class`"),
    ] {
        let error = read(&with(&file, pointer, value)).unwrap_err();
        assert!(error.contains(said), "{pointer}: {error}");
    }
    let policy = Policy::deterministic(&code);
    let file = serde_json::to_value(PolicyForm::from(&policy)).unwrap();
    let read = |file: &Value| {
        let form = serde_json::from_str::<PolicyForm>(&file.to_string());
        let form = form.map_err(|error| error.to_string())?;
        let policy = form.policy(Allowance::default());
        policy.map_err(|error| error.to_string())
    };
    assert_eq!(read(&file), Ok(policy));
    for (pointer, value, said) in [
        (
            "/format",
            Some(json!(CODE_FORMAT)),
            "not `foldglass-policy/1`",
        ),
        ("/rows/2", Some(json!([0.5, 0.25])), "cell 2 sums to 0.75"),
        ("/rows/3", Some(json!([1.0])), "cell 3 has 1 probabilities"),
        (
            "/rows/3/1",
            Some(json!(-0.5)),
            "cell 3 gives action 1 the probability -0.5",
        ),
        ("/rows", Some(json!([])), "0 entries"),
    ] {
        let error = read(&with(&file, pointer, value)).unwrap_err();
        assert!(error.contains(said), "{pointer}: {error}");
    }
}

#[test]
fn kinds_are_read_back_as_they_are_written() {
    for (name, kind) in MoveKind::NAMES {
        assert_eq!(
            (kind.to_string(), name.parse()),
            (name.to_owned(), Ok(kind))
        );
    }
    let error = "jump".parse::<MoveKind>().unwrap_err().to_string();
    assert!(
        error.starts_with("`jump` is not accepted: consolidate, "),
        "{error}"
    );
}
