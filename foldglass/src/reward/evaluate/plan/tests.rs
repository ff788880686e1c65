use super::*;
use crate::model::class::Shape;
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::task::Task;
use crate::reward::kernels::Origin;
use crate::reward::layout::{Lanes, PANEL, Roles};

#[test]
fn the_worked_example_is_laid_out_as_described() {
    let task = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[3]).unwrap();
    let class = Class::new(task, Shape::untied(0, 1)).unwrap();
    let layout = Layout::new(&class, 1, PANEL);
    let plan = Plan::new(&layout, Scale::Probability);
    let step = &plan.steps[1];
    let roles = Roles {
        leaving: Some(0),
        entering: Some(1),
        middle: Vec::new(),
    };
    assert_eq!(step.geometry.arrays.roles, roles);
    let extent = Extent {
        histories: 1,
        states: 2,
        terms: 4,
        entering: 2,
        actions: 2,
        lanes: Lanes::new(1, 1, false, PANEL),
    };
    assert_eq!(*step.extent(), extent);
    assert_eq!((extent.lanes.row, extent.lanes.has_lone), (0, true));
    assert_eq!((extent.alpha(), extent.entries()), (8, 16));
    assert_eq!(step.weights.entering, [0.5, 0.5]);

    // The group's cells, and x_2, x_3, y_1 within it.
    let (group, table) = (&class.groups()[1], &layout.groups[1]);
    for cell in group.first_cell..group.first_cell + group.cells {
        let key = class.key(cell);
        let [x2, x3] = [0, 1].map(|i| key.x[i].unwrap() as usize);
        let y = key.y[0].unwrap() as usize;
        let place = layout.place(cell, 0);
        for a in 0..2 {
            let entry = place.at(a) - table.entries.start;
            assert_eq!(entry, 8 * x2 + 4 * y + 2 * x3 + a);
        }
        assert_eq!(place.cell - table.cells.start, 4 * x2 + 2 * y + x3);
    }

    // s_3 = s_2 + x_3 modulo 2.
    let routes = step.geometry.routes.as_ref().unwrap();
    for (s, x, a) in [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)] {
        let place = 4 * x + (s + x) % 2 + 2 * a;
        let from = Origin {
            draw: 0,
            state: s,
            entering: x,
            lane: 0,
        };
        assert_eq!(routes.ways((0, from, a), &[]), [(place, 1.0)]);
    }
    assert!(!routes.adds() && step.weights.mixing.is_empty());
}

#[test]
fn what_entered_becomes_the_last_digit_of_a_lane_and_the_first_leaves() {
    let task = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[4]).unwrap();
    let class = Class::new(task, Shape::untied(0, 3)).unwrap();
    let layout = Layout::new(&class, 1, PANEL);
    let arrays = |n: usize| geometry::StepArrays::new(&layout, &class.nodes()[n]);
    // t = 1 draws everything and keeps x_1 .. x_3 in lanes; t = 2 knows x_2 .. x_4.
    let (first, second) = (arrays(0), arrays(1));
    assert_eq!(first.roles.middle, [0, 1, 2]);
    assert_eq!(
        (second.roles.leaving, second.roles.entering),
        (Some(0), None)
    );
    assert_eq!(second.roles.middle, [1, 2]);
    assert_eq!(first.symbol(0, 1, 2), 1, "x_3 is the last digit");
    assert_eq!(second.lane_step(1), Some(2), "x_3 is the first");
    assert_eq!(
        second.lane_step(2),
        Some(1),
        "x_4, which entered, is the last"
    );
}
