//! Makes records up, for tests: of studies that were planned, and of runs that all found the same.

use foldglass::{InputLaw, Operation, Shape, Task};

use super::*;
use crate::reproduce::studies::ALL;

impl Records {
    /// All studies without a record of any, and the committed networks.
    pub fn planned(scale: Scale) -> Records {
        let recorded = |source: StudyText| Recorded {
            source,
            records: Vec::new(),
            missing: 0,
            damaged: 0,
        };
        Records {
            manifest: ReproductionManifest::new(scale, 0),
            studies: ALL.map(recorded).into(),
            fleets: Fleets::committed(),
            ..Records::default()
        }
    }

    /// All studies with a record of every run, which found what its number and temperature say; and the committed
    /// networks.
    pub fn made_up(scale: Scale, found: &dyn Fn(u64, Option<f64>) -> Value) -> Records {
        let mut records = Records::planned(scale);
        let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[2]);
        let class = Class::new(task.unwrap(), Shape::untied(0, 0)).unwrap();
        for recorded in &mut records.studies {
            let study = recorded.source.study(scale, 0);
            for dynamics in &study.dynamics {
                for own in study.classes_of(dynamics) {
                    for point in dynamics.points() {
                        let mut settings = dynamics.settings.clone();
                        settings.extend(point.fields());
                        let tau = settings.get("tau").and_then(Value::as_f64);
                        for run in 0..dynamics.runs {
                            let id = &study.classes[own].id;
                            recorded.records.push(Record {
                                schema: 0,
                                foldglass: String::new(),
                                study: study.name.clone(),
                                recipe: String::new(),
                                id: format!("{id}/{}/{}/{run}", dynamics.id, point.name()),
                                class_id: id.clone(),
                                task: String::new(),
                                class: class.spec(),
                                cells: class.cells(),
                                dynamics: dynamics.id.clone(),
                                kind: dynamics.kind.clone(),
                                parameters: point.fields(),
                                settings: settings.clone(),
                                seed: study.seed,
                                run,
                                result: found(run, tau).as_object().unwrap().clone(),
                            });
                        }
                    }
                }
            }
        }
        records
    }

    /// The committed networks, and nothing else.
    pub fn committed() -> Records {
        Records {
            fleets: Fleets::committed(),
            ..Records::default()
        }
    }
}

/// Catches a field that is read and that nothing asks for: what lacks it counts as a run that found nothing.
#[test]
fn a_record_without_a_field_is_refused_by_its_name() {
    let found = |_: u64, _: Option<f64>| {
        serde_json::json!({"reward": 0.5, "reward_exact": "1/2", "last_change": 3, "checkpoints": [
            {"sweep": 10, "reward": 1.0, "reward_exact": "1/1"},
        ]})
    };
    let records = Records::made_up(Scale::Smoke, &found);
    let chains = &records.studies.iter().flat_map(|study| &study.records);
    let chain = chains.clone().find(|record| record.kind == CHAIN).unwrap();
    assert_eq!(complete(chain), Ok(()));
    for field in ["reward", "reward_exact", "last_change"] {
        let mut without = chain.clone();
        without.result.remove(field);
        assert_eq!(complete(&without), Err(field));
    }
    let mut decimal = chain.clone();
    decimal
        .result
        .insert("reward_exact".to_owned(), "half".into());
    assert_eq!(complete(&decimal), Err("reward_exact"));
    let mut mark = chain.clone();
    mark.result["checkpoints"][0] = serde_json::json!({"reward": 1.0, "reward_exact": "1/1"});
    assert_eq!(complete(&mark), Err("sweep"));
    let pure = chains.clone().find(|record| record.kind == PURE_STATE);
    assert_eq!(complete(pure.unwrap()), Err(PURE_STATE_FIELDS[0]));
    // Reward 1 in other words is reward 1.
    let mut whole = chain.clone();
    whole.result.insert("reward_exact".to_owned(), "8/8".into());
    let mut sample = Sample::default();
    sample.push(&whole.result);
    assert_eq!(sample.ones, 1);
}
