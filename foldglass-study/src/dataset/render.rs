//! Renders an input as a prompt, and the symbols of a task as a tokenizer.

use std::fmt::Write as _;

use foldglass::{Operation, Symbol};
use serde_json::{Map, Value, json};

/// How the prompt of a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// The symbols and `<sep>`, for the tokenizer of symbols.
    Symbols,
    /// A question in English that shows the multiplication table.
    Words,
    /// The same without the table, which a model has to learn.
    WordsHidden,
}

foldglass::named_enum!(Rendering {
    "symbols" => Symbols,
    "words" => Words,
    "words-hidden" => WordsHidden,
});

/// The tokens beside the symbols, in the order of their ids from q on.
const SPECIAL: [&str; 4] = ["<pad>", "<eos>", "<sep>", "<unk>"];

impl Rendering {
    /// The prompt of an input.
    pub fn prompt(self, square: &Operation, x: &[Symbol]) -> String {
        let listed = |between: &str| {
            let symbols: Vec<String> = x.iter().map(Symbol::to_string).collect();
            symbols.join(between)
        };
        let q = square.q();
        let table = match self {
            Rendering::Symbols => return format!("{} <sep>", listed(" ")),
            Rendering::Words => format!(
                " is given by this table, in which the entry of row a and column b is a * b:\n\n{}\n",
                shown(square)
            ),
            Rendering::WordsHidden => {
                " is fixed, is the same in every question, and is not shown.\n".to_owned()
            }
        };
        format!(
            "An operation * on the symbols 0 to {}{table}\nMultiply from left to right: {}\n\nEnd your answer \
             with the result, one symbol.",
            q - 1,
            listed(" * "),
        )
    }
}

/// The table with its borders, columns of one width.
fn shown(square: &Operation) -> String {
    let width = (square.q() - 1).to_string().len();
    let line = |head: &str, row: &mut dyn Iterator<Item = Symbol>| {
        row.fold(format!("{head:>width$} |"), |mut line, symbol| {
            let _ = write!(line, " {symbol:>width$}");
            line
        })
    };
    let q = square.q() as Symbol;
    let mut lines = vec![line("*", &mut (0..q))];
    lines.push("-".repeat(lines[0].len()));
    for (a, row) in (0..q).zip(square.rows()) {
        lines.push(line(&a.to_string(), &mut row.iter().copied()));
    }
    lines.join("\n")
}

/// The file `tokenizer.json` of q symbols: symbol a has the id a, and the special tokens follow.
pub fn tokenizer(q: usize) -> Value {
    let symbols = (0..q).map(|symbol| (symbol.to_string(), Value::from(symbol)));
    let special = (q..).zip(SPECIAL);
    let vocabulary: Map<String, Value> = symbols
        .chain(
            special
                .clone()
                .map(|(id, token)| (token.to_owned(), id.into())),
        )
        .collect();
    let added: Vec<Value> = special
        .map(|(id, token)| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true,
            })
        })
        .collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": { "type": "WhitespaceSplit" },
        "post_processor": null,
        "decoder": null,
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>" },
    })
}

/// Messages as one line of symbols: no roles, `<eos>` after an answer. A prompt ends on `<sep>` by itself.
const CHAT_TEMPLATE: &str = "{% for message in messages %}{% if not loop.first %} {% endif %}{{ message['content'] }}\
    {% if message['role'] == 'assistant' %} <eos>{% endif %}{% endfor %}";

/// The file `tokenizer_config.json` beside it, by which `transformers` finds the special tokens and how messages are
/// rendered, as verl asks for prompts.
pub fn tokenizer_config() -> Value {
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "<eos>",
        "sep_token": "<sep>",
        "unk_token": "<unk>",
        "padding_side": "left",
        "clean_up_tokenization_spaces": false,
        "chat_template": CHAT_TEMPLATE,
    })
}
