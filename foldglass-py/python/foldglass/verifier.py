"""Verifies answers to rows, in the forms that trainers call: exact match on the last number, never a substring.

The answer of a text is its last word that contains a digit. A word is a run of letters, digits and the characters
``_ . , + - / % ^``; everything else ends one (spaces, brackets, quotes, ``= : ; ! ? * $``), and full stops and commas
at the end of a word do not count. The answer is right if that word is the target's decimal digits and nothing else.

======================================  ===========================================================
``2``, ``answer: 2.``, ``\\boxed{2}``      2
``0 1 2``, ``2 * 1 = 2``, ``3 - 2``     2, the last
``2 or 3``                              3: only the last counts, so that a list of guesses is one guess
``12``, ``2.0``, ``-2``, ``+2``, ``02``   not 2
``2/3``, ``2%``, ``2nd``, ``s_2``, ``1,2``    none: the last word with a digit is not a whole number
``２``, ``²``, ``two``                     none: digits are those of ASCII
======================================  ===========================================================

A text has at most one answer, so no text earns more than the best constant guess. This file needs nothing but Python:
verl and OpenRLHF load it by its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["answer_of", "compute_score", "is_correct", "reward", "reward_func"]

_WORD = re.compile(r"[\w.,+\-\u2212/%^\u0300-\u036f\u20e3]+")
_WHOLE = re.compile(r"0|[1-9][0-9]*")


def answer_of(text: str) -> str | None:
    """The digits of the last number of a text; none where its last word with a digit is not a whole number.

    Args:
        text: The answer.

    Returns:
        Its digits.

    >>> answer_of("s_1 = 0, s_2 = 2. The answer is 2."), answer_of("2.0"), answer_of("-2")
    ('2', None, None)
    """
    for word in reversed(_WORD.findall(text)):
        if any(character.isnumeric() for character in word):
            word = word.rstrip(".,")
            return word if _WHOLE.fullmatch(word) else None
    return None


def is_correct(text: str | None, target: int | str) -> bool:
    """Whether the answer of a text is the target.

    Args:
        text: The answer.
        target: The target.

    Returns:
        Whether they are equal.

    >>> is_correct("so it is 2.", 2), is_correct("12", 2), is_correct("2 or 3", 2)
    (True, False, False)
    """
    return isinstance(text, str) and answer_of(text) == str(target)


def _text(completion: Any) -> str | None:
    """The text of a completion: a string, or the last message of a conversation."""
    if isinstance(completion, list) and completion:
        completion = completion[-1]
    if isinstance(completion, Mapping):
        completion = completion.get("content")
    return completion if isinstance(completion, str) else None


def reward(completions: Iterable[Any], target: Iterable[int | str], **_: Any) -> list[float]:
    """For TRL: ``GRPOTrainer(reward_funcs=foldglass.verifier.reward)``, on rows with a column ``target``.

    Args:
        completions: Texts, or conversations whose last message counts.
        target: The target of each.

    Returns:
        1 or 0 for each.
    """
    return [float(is_correct(_text(one), right)) for one, right in zip(completions, target)]


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any) -> float:
    """For verl: ``reward.custom_reward_function.path`` is this file.

    Args:
        data_source: Not used.
        solution_str: The answer.
        ground_truth: The target.
        extra_info: Not used.

    Returns:
        1 or 0.
    """
    return float(is_correct(solution_str, ground_truth))


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **_: Any) -> dict[str, Any]:
    """For OpenRLHF: ``--reward.remote_url`` is this file. A query is the prompt with its answer.

    Args:
        queries: Prompts with their answers.
        prompts: The prompts alone.
        labels: The targets.

    Returns:
        ``rewards``, ``scores`` and ``extra_logs``, tensors where PyTorch is installed.
    """
    answers = [
        query[len(prompt) :] if query.startswith(prompt) else None for query, prompt in zip(queries, prompts)
    ]
    scores = [float(is_correct(answer, label)) for answer, label in zip(answers, labels)]
    rewards: Any = scores
    try:
        import torch

        rewards = torch.tensor(scores)
    except ImportError:
        pass
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"accuracy": rewards}}
