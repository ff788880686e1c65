use super::*;
use crate::class::{Lanes, Shape};
use crate::inputs::InputLaw;
use crate::kernels::{Collect, Contraction, Dropped, Left, Offsets, Right, Route, Size, Strides};
use crate::memory::Allowance;
use crate::quasigroup::LatinSquare;
use crate::task::Task;

fn offsets(list: &[usize]) -> Offsets {
    list.iter().copied().collect()
}

#[test]
fn the_worked_example_is_laid_out_as_described() {
    let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[3]).unwrap();
    let class = Class::new(task, Shape::untied(0, 1), Allowance::default()).unwrap();
    let planes = class.planes(1);
    let plan = Plan::new(&class, &planes, Scale::Probability);
    let step = &plan.steps[1];
    let (g, sizes) = (&*step.geometry, &step.geometry.sizes);
    let lanes = Lanes {
        count: 2,
        width: 4,
        blocks: 1,
    };
    assert_eq!((sizes.slabs, sizes.lanes, sizes.post_slabs), (2, lanes, 1));
    assert_eq!((g.draw, g.source), (Draw::Ahead, Source::Repeated));
    assert_eq!(
        (sizes.rows(), sizes.received, &g.parts[..]),
        (4, 2, &[0, 1][..])
    );
    assert_eq!((sizes.policy_slab(), sizes.visits_slab()), (16, 8));

    // The group's cells, and x_2, x_3, y within it.
    let (group, table) = (&class.groups()[1], &planes.groups[1]);
    for cell in group.first_cell..group.first_cell + group.cells {
        let key = class.key(cell);
        let [x2, x3] = [0, 1].map(|i| key.x[i].unwrap() as usize);
        let y = key.y[0].unwrap() as usize;
        let place = planes.place(&class, cell, 0);
        for a in 0..2 {
            assert_eq!(
                place.at(a) - table.entries.start,
                16 * x2 + 8 * y + 4 * a + x3
            );
        }
        assert_eq!(place.cell - table.cells.start, 8 * x2 + 4 * y + x3);
    }

    // s = s' + x_2 modulo 2.
    let post = Contraction::new(
        Left {
            blocks: offsets(&[0]),
            rows: offsets(&[0, 8, 16 + 8, 16]),
            terms: offsets(&[0, 4]),
        },
        Right {
            block: 16,
            input: 16,
            terms: offsets(&[0, 8]),
            column: 4,
        },
        Strides {
            block: 4,
            row: 8,
            column: 4,
        },
        Size {
            inputs: 2,
            rows: 2,
            columns: 2,
            width: 4,
        },
    );
    assert_eq!(g.sums.post, post);

    let sending = g.sending.as_ref().unwrap();
    let dropped = Dropped {
        count: 1,
        stride: 0,
    };
    assert_eq!(sending.collect, Collect::new(vec![0, 1], dropped));
    assert_eq!(
        (sizes.planes(), sizes.plane(), sizes.bbar_block()),
        (4, 4, 16)
    );
    assert_eq!(step.weights.sent, [0.5, 0.5]);
    let route = |n: u32| Route { element: n, to: n };
    assert_eq!(sending.spread.routes(), [route(0), route(1)]);
    assert_eq!(step.weights.returned, [0.5, 0.5]);
}
