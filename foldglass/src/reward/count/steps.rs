//! Lays out what a rollout's future depends on, node by node (paper, section 2.2 and App. A).
//!
//! After step t a rollout is known by (e, k, h): the symbols its window keeps, k; the fold of all
//! symbols that have left the window, e; and the tokens it remembers, h. A node's *message* has one
//! number for each. The next step draws the symbols that enter the window (k becomes w), consults
//! the cell (w, h), emits, and lets the oldest symbol z go (e becomes B[e, z]).
//!
//! A *block* of a message is its row over e at one (k, h): a step moves whole rows.
//!
//! Where a correlated law needs x_t for the weight of x_{t+1} and the window (0,0) would forget it,
//! the window here is one symbol longer than the cell's.

use super::weight::Weight;
use crate::model::class::{Class, Node};
use crate::model::operation::{Symbol, digits};
use dashu_int::UBig;

/// Where a message stands among all others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub number: usize,
    /// The places of its first number and of its first block.
    pub start: usize,
    pub first_block: usize,
    pub blocks: usize,
    /// Numbers in a block: q, or 1 while no symbol has left the window.
    pub width: usize,
}

impl Message {
    #[inline]
    pub fn place(&self, block: usize) -> usize {
        self.start + block * self.width
    }

    pub fn end(&self) -> usize {
        self.place(self.blocks)
    }
}

/// What a step does to the rollouts of one window.
#[derive(Debug, Clone)]
pub(crate) struct Passage<W> {
    /// The weight of the symbols drawn; zero where the window cannot occur.
    pub weight: W,
    /// The cell of the first history.
    pub cell: u32,
    /// The block it comes from and the one it goes to, both for the first history and token.
    pub from: u32,
    pub to: u32,
    /// Where in the block it goes to: z if that is the first symbol to leave, else 0.
    pub offset: u32,
    /// Where its moves e -> B[e, z] stand.
    moves: u32,
}

/// A node, with the ways through it.
#[derive(Debug)]
pub(crate) struct Step<W> {
    pub t: usize,
    /// The message it reads.
    pub reads: usize,
    /// Whether another node reads the message it writes.
    pub is_read: bool,
    /// By window, as a base-q number.
    pub passages: Vec<Passage<W>>,
    /// The number of windows of a cell: fewer than passages where those are one symbol longer.
    windows: usize,
    /// Windows that start with the same kept symbols: they are consecutive.
    pub drawn: usize,
    /// Numbers in a block it reads.
    pub width: usize,
    /// Histories before and after its token.
    pub histories: (usize, usize),
    /// By history: the history after it with token 0. The others follow.
    shifts: Vec<u32>,
    /// Symbols and tokens that may have been forgotten here (q or 1 each), and the distance
    /// between windows, and histories, that differ in nothing else.
    pub lost_symbols: (usize, usize),
    pub lost_tokens: (usize, usize),
    /// The weight of a right token, where it is compared with the state.
    pub lift: Option<W>,
}

impl<W> Step<W> {
    /// The block to which the rollouts that consult a cell go with token 0. The others follow.
    #[inline]
    pub fn target(&self, passage: &Passage<W>, history: usize) -> usize {
        passage.to as usize + self.shifts[history] as usize
    }

    /// The passages of a cell's window.
    #[inline]
    pub fn through(&self, window: u32) -> impl Iterator<Item = &Passage<W>> {
        self.passages[window as usize..]
            .iter()
            .step_by(self.windows)
    }
}

/// All nodes of a class. Message 0 comes before t = 1, message n + 1 is written by node n.
#[derive(Debug)]
pub(crate) struct Steps<W> {
    pub q: usize,
    pub steps: Vec<Step<W>>,
    pub messages: Vec<Message>,
    /// By message: the nodes that read it.
    pub readers: Vec<Vec<usize>>,
    /// By group: its nodes, every parent before its children.
    pub members: Vec<Vec<usize>>,
    /// 0, then B[0, z] .. B[q-1, z] for each z.
    moves: Vec<u16>,
}

/// The shape of a node's window, and of what it keeps.
struct Form {
    symbols: usize,
    drops: bool,
    tokens: usize,
}

impl Form {
    fn new(class: &Class, node: &Node) -> Form {
        let window = class.shape().window;
        let forgets = class.task().inputs().is_correlated() && window.past + window.future == 0;
        let past = if forgets { 1 } else { window.past };
        Form {
            symbols: past.min(node.t - 1) + 1 + node.after,
            drops: node.t > past,
            tokens: node.tokens,
        }
    }

    fn kept(&self) -> usize {
        self.symbols - usize::from(self.drops)
    }
}

impl<W: Weight> Steps<W> {
    pub fn new(class: &Class) -> Steps<W> {
        let (q, square) = (class.q(), class.task().square());
        let columns = (0..q * q).map(|i| square.multiply((i % q) as Symbol, (i / q) as Symbol));
        let mut all = Steps {
            q,
            steps: Vec::new(),
            messages: vec![Message {
                number: 0,
                start: 0,
                first_block: 0,
                blocks: 1,
                width: 1,
            }],
            readers: vec![Vec::new(); class.nodes().len() + 1],
            members: vec![Vec::new(); class.groups().len()],
            moves: [0].into_iter().chain(columns).collect(),
        };
        for (n, node) in class.nodes().iter().enumerate() {
            let reads = node.parent.map_or(0, |parent| parent + 1);
            all.readers[reads].push(n);
            all.members[node.group].push(n);
            all.push(class, node, reads);
        }
        for (step, readers) in all.steps.iter_mut().zip(&all.readers[1..]) {
            step.is_read = !readers.is_empty();
        }
        all
    }

    /// The numbers in all messages of a class together; none from 2^128 on.
    pub fn size(class: &Class) -> Option<u128> {
        class.nodes().iter().try_fold(1u128, |sum, node| {
            let form = Form::new(class, node);
            let digits = form.kept() + usize::from(form.drops) + class.shape().memory.min(node.t);
            sum.checked_add((class.q() as u128).checked_pow(digits as u32)?)
        })
    }

    /// The windows of all nodes together.
    pub fn windows(class: &Class) -> u128 {
        let windows = |node| (class.q() as u128).pow(Form::new(class, node).symbols as u32);
        class.nodes().iter().map(windows).sum()
    }

    fn push(&mut self, class: &Class, node: &Node, reads: usize) {
        let (q, memory) = (self.q, class.shape().memory);
        let form = Form::new(class, node);
        let count = |digits: usize| q.pow(digits as u32);
        let before = node
            .parent
            .map_or(0, |p| Form::new(class, &class.nodes()[p]).kept());
        let kept = count(form.kept());
        let histories = (count(form.tokens), count(memory.min(node.t)));
        let (last, width) = (
            self.messages[self.messages.len() - 1],
            self.messages[reads].width,
        );
        let forgets_token = form.tokens == memory;
        let remembered = count(form.tokens - usize::from(forgets_token));
        self.messages.push(Message {
            number: self.messages.len(),
            start: last.end(),
            first_block: last.first_block + last.blocks,
            blocks: index(kept * histories.1) as usize,
            width: if form.drops { q } else { 1 },
        });
        let drawn = count(form.symbols - before);
        let mut passages: Vec<Passage<W>> = (0..count(form.symbols))
            .map(|w| {
                let left = if form.drops { w / kept } else { 0 };
                Passage {
                    weight: W::zero(),
                    cell: 0,
                    from: index(w / drawn * histories.0),
                    to: index(w % kept * histories.1),
                    offset: if width == 1 { index(left) } else { 0 },
                    moves: if width == 1 { 0 } else { index(1 + left * q) },
                }
            })
            .collect();
        let group = &class.groups()[node.group];
        let windows = count(node.before + 1 + node.after);
        for rank in 0..group.windows() {
            for w in (group.window(rank)..passages.len()).step_by(windows) {
                passages[w].cell = index(group.first_cell + rank * group.histories);
                passages[w].weight = drawn_weight(class, node, form.symbols, before, w);
            }
        }
        self.steps.push(Step {
            t: node.t,
            reads,
            is_read: false,
            passages,
            windows,
            drawn,
            width,
            histories,
            shifts: (0..histories.0)
                .map(|h| index(h % remembered * q))
                .collect(),
            lost_symbols: (if form.drops { q } else { 1 }, kept),
            lost_tokens: (if forgets_token { q } else { 1 }, remembered),
            lift: class.lift(node).map(|lift| W::of(&lift)),
        });
    }

    /// The message that a node writes.
    #[inline]
    pub fn written(&self, n: usize) -> &Message {
        &self.messages[n + 1]
    }

    /// The moves e -> B[e, z] of a passage (e -> 0 where nothing has left the window before).
    #[inline]
    pub fn moves(&self, step: &Step<W>, passage: &Passage<W>) -> &[u16] {
        &self.moves[passage.moves as usize..][..step.width]
    }

    /// The places in the message of node `n` where the newest token is the state s_t.
    pub fn right_answers(&self, class: &Class, n: usize) -> Vec<usize> {
        let (q, message, step) = (self.q, self.written(n), &self.steps[n]);
        let node = &class.nodes()[n];
        let symbols = Form::new(class, node).kept();
        let mut places = Vec::new();
        for (block, place) in (0..message.blocks).map(|block| (block, message.place(block))) {
            let mut x = digits(block / step.histories.1, q, symbols);
            x.truncate(symbols - node.after);
            let token = (block % step.histories.1 % q) as Symbol;
            if message.width == 1 {
                places.extend((class.task().fold(&x) == token).then_some(place));
                continue;
            }
            x.insert(0, 0);
            for e in 0..q {
                x[0] = e as Symbol;
                places.extend((class.task().fold(&x) == token).then_some(place + e));
            }
        }
        places
    }
}

/// The product of the position weights of the symbols of window `w` after the first `before`.
fn drawn_weight<W: Weight>(
    class: &Class,
    node: &Node,
    symbols: usize,
    before: usize,
    w: usize,
) -> W {
    let x = digits(w, class.q(), symbols);
    let first = node.t + node.after + 1 - symbols;
    let mut product = W::of(&UBig::ONE);
    for i in before..symbols {
        let weight = class
            .task()
            .inputs()
            .weight(first + i, x[i.max(1) - 1], x[i]);
        let mut longer = W::zero();
        longer.add_product(&product, &W::of(&weight.into()));
        product = longer;
    }
    product
}

/// Cells and blocks are numbered in 32 bits, as cells are in a class.
fn index(n: usize) -> u32 {
    u32::try_from(n).expect("a message has fewer than 2^32 blocks")
}
