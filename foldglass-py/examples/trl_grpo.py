"""Trains a small causal transformer with TRL's GRPO on z:3, inputs of 1 to 3 symbols, its exact reward beside the sampled one.

    python examples/trl_grpo.py [STEPS]

Prompts and the tokenizer are those that ``foldglass dataset --trainer trl`` writes: x_1 .. x_T followed by ``<sep>``. The
model answers with T symbols, of which ``foldglass.verifier.reward`` compares the last with the product of the input. Before each step its policy is read back: one row for every input and every beginning of an answer, which is the
table of the class with window (2, 2) and memory 2. Its exact J stands beside the mean reward of the sampled answers.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import foldglass as fg
import numpy as np
import torch
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

LENGTHS = [1, 2, 3]
SPACE = fg.Class(fg.Task("z:3", LENGTHS), window=(2, 2), memory=2)
Q = SPACE.q
# The ids that the tokenizer has for <pad>, <eos>, <sep>, <unk>; those of the symbols are 0 .. q - 1.
PAD, EOS, SEP, UNK = range(Q, Q + 4)


def make_model() -> LlamaForCausalLM:
    """Two layers, of which the head gives symbols alone."""
    config = LlamaConfig(
        vocab_size=UNK + 1, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        tie_word_embeddings=False, pad_token_id=PAD, bos_token_id=None, eos_token_id=EOS,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.lm_head = torch.nn.Linear(64, UNK + 1)
    with torch.no_grad():
        model.lm_head.bias.zero_()
        model.lm_head.bias[Q:] = -1e4
    model.lm_head.bias.requires_grad_(False)
    return model


@torch.no_grad()
def next_symbols(model: LlamaForCausalLM, sequences: list[list[int]]) -> torch.Tensor:
    """The distribution of the symbol that follows each sequence."""
    longest = max(map(len, sequences))
    padded = torch.tensor([[PAD] * (longest - len(ids)) + ids for ids in sequences])
    logits = model(input_ids=padded, attention_mask=(padded != PAD).long()).logits[:, -1, :Q]
    return torch.softmax(logits.double(), -1)


def read_back(model: LlamaForCausalLM, space: fg.Class) -> torch.Tensor:
    """The table of a class whose windows show the whole input and all tokens before."""

    def shown(symbols: np.ndarray) -> list[int]:
        return [int(symbol) for symbol in symbols if symbol >= 0]

    return next_symbols(model, [shown(key["x"]) + [SEP] + shown(key["y"]) for key in space.keys()])


def main(steps: int = 300, batch: int = 192, group: int = 8, seed: int = 0) -> dict[str, list[float]]:
    torch.manual_seed(seed)
    found: dict[str, list[float]] = {"exact": [], "sampled": []}

    def rollout(prompts: list[str], trainer: GRPOTrainer) -> dict[str, list]:
        """Answers of exactly T symbols; the policy that gives them is read back first."""
        model = trainer.model
        found["exact"].append(fg.evaluate(SPACE, read_back(model, SPACE)).reward)
        asked = make_ids(prompts)
        answers: list[list[int]] = [[] for _ in asked]
        for t in range(max(map(len, asked)) - 1):
            open_ = [n for n, ids in enumerate(asked) if len(ids) - 1 > t]
            rows = next_symbols(model, [asked[n] + answers[n] for n in open_])
            for n, symbol in zip(open_, torch.multinomial(rows, 1).flatten().tolist()):
                answers[n].append(symbol)
        return {"prompt_ids": asked, "completion_ids": answers, "logprobs": None}

    def make_ids(prompts: list[str]) -> list[list[int]]:
        return tokenizer(prompts)["input_ids"]

    def is_right(completions: list[str], target: list[int], **given) -> list[float]:
        rewards = fg.verifier.reward(completions, target, **given)
        found["sampled"].append(statistics.fmean(rewards))
        return rewards

    with tempfile.TemporaryDirectory() as folder:
        fg.answer(
            "dataset", task="z:3", lengths=LENGTHS, rows=20_000, seed=seed, trainer="trl", out=folder, progress=False
        )
        rows = Dataset.from_json(f"{folder}/train.jsonl")
        model, tokenizer = make_model(), AutoTokenizer.from_pretrained(f"{folder}/tokenizer")
        settings = GRPOConfig(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=batch, num_generations=group,
            max_completion_length=max(LENGTHS), learning_rate=2e-3, lr_scheduler_type="constant", seed=seed,
            use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model, is_right, settings, train_dataset=rows, processing_class=tokenizer, rollout_func=rollout
        )
        trainer.train()
    print(f"{'step':>4}  {'exact J':>8}  sampled, {batch} answers")
    for step in range(0, steps, max(1, steps // 12)):
        print(f"{step:4}  {found['exact'][step]:8.4f}  {found['sampled'][step]:.4f}")
    off = [sampled - exact for sampled, exact in zip(found["sampled"], found["exact"])]
    error = statistics.stdev(off) / len(off) ** 0.5
    print(f"sampled minus exact, mean of {steps} steps: {statistics.fmean(off):+.5f}, standard error {error:.5f}")
    for length in LENGTHS:
        alone = fg.Class(fg.Task("z:3", length), window=(2, 2), memory=2)
        policy = fg.Policy(alone, read_back(model, alone))
        print(f"length {length}: J = {fg.evaluate(policy).reward:.6f}, of the likeliest symbols {policy.greedy().exact}")
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
