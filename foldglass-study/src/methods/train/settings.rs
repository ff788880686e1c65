//! Lists the settings of kind `train`, which are flags of the command `train` too.

use crate::method::{Accepts, Setting};

/// The settings of training.
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    Setting::new("entropy", Accepts::NotNegative,
        "The entropy coefficient c (the paper's 1/beta); the command takes several [default: 0, with --quick 0.3]")
        .earlier(&["c"]).value("C,.."),
    Setting::new("learning_rate", Accepts::AboveZero, "Adam's rate; the command takes several [default: 3e-4]")
        .value("X,.."),
    Setting::new("batch", Accepts::Count, "Samples of a batch, 1 to 4096 [default: 512]").value("B").short('b'),
    Setting::new("steps", Accepts::Natural, "Updates [default: 40000]").short('n'),
    Setting::new("start_length", Accepts::Count,
        "The length n at which the curriculum starts; lengths are uniform on 1..n [default: 1]")
        .earlier(&["start"]).value("T"),
    Setting::new("drawn", Accepts::Words,
        "Draw a length per sample or per batch: sample or batch [default: sample]").value("WHAT"),
    Setting::new("gate", Accepts::Words, "How the gate's answers are decoded: greedy or sampled [default: greedy]")
        .value("DECODING"),
    Setting::new("gate_every", Accepts::Count, "Test at the gate every N updates [default: 20]"),
    Setting::new("gate_above", Accepts::Share,
        "The accuracy above which the curriculum takes the next length [default: 0.9]"),
    Setting::new("gate_samples", Accepts::Count, "Fresh samples of the gate, 1 to 4096 [default: 512]"),
    Setting::new("gate_lengths", Accepts::Words,
        "The lengths of the gate's samples: training (those of training) or current (the longest alone) \
         [default: training]").value("WHICH"),
    Setting::new("convention", Accepts::Words,
        "What the coefficient multiplies: token-mean (entropy averaged over all tokens of the batch), \
         sequence-mean, summed (over a sample's tokens), or return (-log pi enters the return) \
         [default: token-mean]").value("CONVENTION"),
    Setting::new("method", Accepts::Words,
        "What is optimised: reinforce (batch mean as baseline), grpo:GROUP,CLIP,EPOCHS (such as grpo:8,0.2,1; \
         advantages over the group's standard deviation, with GROUP in its denominator, plus 1e-6) or expert (expert iteration: likelihood of the right samples) [default: reinforce]").value("METHOD"),
    Setting::new("epsilon", Accepts::Share,
        "Replace an emitted token by a uniform symbol with this probability [default: 0]"),
    Setting::new("noise", Accepts::Words,
        "Relabelling noise: transposition:SHARE,PERIOD or full:SHARE,PERIOD, the share of a batch whose tokens \
         are relabelled at every step that is a multiple of the period, such as transposition:0.5,500")
        .value("NOISE"),
    Setting::new("adaptive", Accepts::Words,
        "Gather batches into an update until RIGHT samples were right, at most MOST batches, such as 64,16")
        .value("RIGHT,MOST"),
    Setting::new("adam", Accepts::Words, "Adam's beta1, beta2 and epsilon [default: 0.9,0.999,1e-8]")
        .value("B1,B2,EPS"),
    Setting::new("clip_norm", Accepts::Words,
        "Scale a longer gradient of a model down to this norm [default: no clipping]").value("NORM"),
    Setting::new("weight_decay", Accepts::NotNegative,
        "AdamW's decay: every update lowers every weight by this share times the rate [default: 0]"),
    Setting::new("warm_up", Accepts::Natural, "Steps over which the rate rises linearly from 0 [default: 0]")
        .value("STEPS"),
    Setting::new("cosine", Accepts::Share,
        "After the warm-up, lower the rate by half a cosine to this share of it at the last step \
         [default: 1, a constant rate]"),
    Setting::new("entropy_decay", Accepts::Words,
        "Move the entropy coefficient to a final value, reached at step STEPS: linear:FINAL,STEPS or \
         geometric:FINAL,STEPS, such as linear:0.01,20000").value("DECAY"),
    Setting::new("kl", Accepts::NotNegative,
        "Subtract this multiple of KL(pi || prior) of the next token, averaged as the convention averages the \
         entropy [default: 0]").value("X"),
    Setting::new("prior", Accepts::Words,
        "The prior of kl: initial (each network's own first weights), or a safetensors file of one \
         network for all [default: initial]").value("WHICH"),
    Setting::new("baseline", Accepts::Words,
        "What reinforce subtracts from a return: batch (the mean over the batch) or length (the mean over the \
         batch's samples of the same length) [default: batch]").value("WHICH"),
    Setting::new("standardise", Accepts::Switch,
        "Divide reinforce's advantages by their standard deviation over the batch"),
    Setting::new("keep", Accepts::Words,
        "The weights to keep: last, or best (also those of the best gate: the longest length of the curriculum, then the highest accuracy) [default: last]").value("WHICH"),
    Setting::new("test_inputs", Accepts::Count, "Fresh inputs of the test, at every length [default: 2000]"),
    Setting::new("record_every", Accepts::Count,
        "Record a point of every model's curve each time N steps have passed; points are taken at tests of the gate [default: 100; in studies, none]").earlier(&["trace_every"]).value("STEPS"),
    Setting::new("width", Accepts::Count, "The width D of the residual stream [default: 256]").value("D"),
    Setting::new("heads", Accepts::Count, "Attention heads; each has an even width [default: 4]").value("H"),
    Setting::new("mlp", Accepts::Count, "The width of the MLP [default: 1024]").value("F"),
    Setting::new("vocabulary", Accepts::Count,
        "Tokens, the separator included: more than the task has symbols [default: 8]").value("V"),
    Setting::new("norm", Accepts::Words,
        "What norms divide by: rms, or layer (the mean subtracted) [default: rms]").value("NORM"),
    Setting::new("layout", Accepts::Words,
        "Where inputs and tokens stand: prefix, prefix-fixed (inputs padded to the longest length), causal (step \
         t sees x_1..x_t), causal-fixed, interleaved, shared (x_t and y_t at one position) or shared-causal \
         [default: prefix-fixed]").value("LAYOUT"),
    Setting::new("init", Accepts::Words,
        "The distribution of the first weights: pt (embedding N(0,1), matrices U(±1/sqrt(fan-in))), 02 (N(0, \
         0.02)) or fan (N(0, 1/fan-in)) [default: pt]").earlier(&["initial"]).value("LAW"),
    Setting::new("backend", Accepts::Words,
        "Where to compute: cuda, cpu, or auto (a GPU where one can be used, else the CPU) [default: auto]")
        .value("BACKEND"),
    Setting::new("precision", Accepts::Words,
        "The GPU's arithmetic: bf16 (compute capability 9.0, width 256) or tf32 (8.0 or later) \
         [default: bf16 if the GPU has it]").value("NUMBERS"),
    Setting::new("curriculum", Accepts::Switch, "Open the lengths of the class one after another by the gate"),
    Setting::new("read_back", Accepts::Switch, "Read networks back as codes of the class"),
    Setting::new("fleet", Accepts::Count, "Networks that are trained together [default: 8]"),
];
