"""Asks the oracle which objective each loss type of TRL's GRPO has.

Loss and advantages are TRL's own, of a trainer with its default settings: ``GRPOTrainer._compute_loss`` is given the
log-probabilities of a small task in place of a model's, and the advantages that
``GRPOTrainer._generate_and_score_completions`` makes of the rewards.

    pip install foldglass trl
    python check_trl.py [LOSS_TYPE ..]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import foldglass as fg
import torch
import trl
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"]
#: The settings that each is asked with; the others are the defaults, of which importance_sampling_level is "token".
SETTINGS = [
    {},
    {"importance_sampling_level": "sequence"},
    {"scale_rewards": "batch"},
    {"scale_rewards": "none"},
    {"beta": 0.04},
    {"beta": 0.04, "use_bias_correction_kl": False},
    {"beta": 0.04, "importance_sampling_level": "sequence"},
]


def trainer(loss_type: str, directory: Path, beta: float = 0.0, **settings: Any) -> trl.GRPOTrainer:
    """A trainer of a model with a few hundred weights, on rows of z:3."""
    rows = directory / "rows"
    fg.answer("dataset", task="z:3", lengths=[1, 2], rows=8, trainer="trl", out=str(rows), progress=False)
    tokenizer = AutoTokenizer.from_pretrained(rows / "tokenizer")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    arguments = trl.GRPOConfig(
        output_dir=str(directory),
        loss_type=loss_type,
        num_generations=4,
        per_device_train_batch_size=4,
        max_completion_length=2,
        use_cpu=True,
        bf16=False,
        report_to="none",
        **settings,
    )
    made = trl.GRPOTrainer(
        model=LlamaForCausalLM(config),
        reward_funcs=fg.verifier.reward,
        args=arguments,
        train_dataset=Dataset.from_json(str(rows / "train.jsonl")),
        processing_class=tokenizer,
    )
    # Set afterwards: the trainer would load a reference model, whose log-probabilities the oracle brings.
    made.beta = beta
    made.current_gradient_accumulation_steps = 1
    made.model.train()
    return made


def advantages(made: trl.GRPOTrainer, rewards: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    """The advantages that the trainer gives to completions with these rewards."""
    count = len(rewards)
    made._generate = lambda prompts: ([[0]] * count, [[0]] * count, None, ["0"] * count, None, {}, None, None)
    made._calculate_rewards = lambda *_: rewards[:, None]
    made.num_generations = int((group == group[0]).sum())
    # Without the log-probabilities of a reference model, which do not enter the advantages.
    beta, made.beta = made.beta, 0.0
    scored = made._generate_and_score_completions([{"prompt": "0 <sep>"}] * count)
    made.beta = beta
    return scored["advantages"]


def loss_of(made: trl.GRPOTrainer) -> Any:
    """The trainer's loss, as the oracle calls it."""
    known: dict[tuple[float, ...], torch.Tensor] = {}

    def loss(logp, old_logp, ref_logp, rewards, mask, group):
        batch = (*rewards.tolist(), *group.tolist())
        if batch not in known:
            known[batch] = advantages(made, rewards, group)
        made._get_per_token_logps_and_entropies = lambda *_, **__: (logp, torch.zeros_like(logp), None)
        ids = torch.zeros_like(mask, dtype=torch.long)
        inputs = {
            "prompt_ids": ids[:, :1],
            "prompt_mask": torch.ones_like(ids[:, :1]),
            "completion_ids": ids,
            "completion_mask": mask,
            "advantages": known[batch],
            "old_per_token_logps": old_logp,
            "ref_per_token_logps": ref_logp,
            "num_items_in_batch": mask.sum(),
        }
        return made._compute_loss(made.model, inputs)

    return loss


def check(loss_type: str, **settings: Any) -> fg.oracle.OracleReport:
    """What the oracle finds."""
    with tempfile.TemporaryDirectory() as directory:
        return fg.oracle.check(loss_of(trainer(loss_type, Path(directory), **settings)), arrays="torch")


if __name__ == "__main__":
    print(f"TRL {trl.__version__}, torch {torch.__version__}\n")
    for loss_type in sys.argv[1:] or TYPES:
        for settings in SETTINGS:
            words = ", ".join(f"{name}={value}" for name, value in {"loss_type": loss_type, **settings}.items())
            print(f"=== {words}\n{check(loss_type, **settings)}\n", flush=True)
