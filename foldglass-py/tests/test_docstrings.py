"""Every parameter of every public function is described, and what it returns; keywords of networks are those of the program."""

import inspect
import re
import subprocess
import sys

import foldglass as fg
import pytest
from foldglass import oracle, verifier

PUBLIC = {name: getattr(fg, name) for name in fg.__all__ if inspect.isfunction(getattr(fg, name))}
PUBLIC |= {f"oracle.{name}": getattr(oracle, name) for name in oracle.__all__ if inspect.isfunction(getattr(oracle, name))}
PUBLIC |= {f"verifier.{name}": getattr(verifier, name) for name in verifier.__all__}


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_and_what_is_returned_are_described(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert "\nArgs:\n" in text and "\nReturns:\n" in text
    described = re.findall(r"^    (\w+): \S", text.split("\nArgs:\n")[1].split("\nReturns:\n")[0], re.MULTILINE)
    parameters = [one for one in inspect.signature(PUBLIC[name]).parameters if not one.startswith("_")]
    assert described == parameters


#: What users make, and the methods with more than one parameter.
MADE = [fg.Task, fg.Class, fg.Policy, fg.Code, fg.Evaluator, fg.Study]
METHODS = {
    f"{kind.__name__}.{name}": method
    for kind in map(fg.__dict__.get, fg.__all__)
    if inspect.isclass(kind) and kind.__module__.startswith("foldglass")
    for name, given in vars(kind).items()
    for method in [getattr(given, "__func__", given)]
    if inspect.isfunction(method) and not name.startswith("_") and len(inspect.signature(method).parameters) > 2
}


@pytest.mark.parametrize("name", [*(kind.__name__ for kind in MADE), *METHODS])
def test_parameters_of_classes_and_their_methods_are_described(name: str) -> None:
    given = METHODS.get(name) or getattr(fg, name)
    text = inspect.getdoc(given) or ""
    described = re.findall(r"^    (\w+): \S", text.split("Args:\n")[1].split("\n\n")[0], re.MULTILINE)
    assert described == [one for one in inspect.signature(given).parameters if one not in ("self", "cls")]
    assert name not in METHODS or "\nReturns:\n" in text


def flags(command: str) -> set[str]:
    program = f"import sys; sys.argv = ['foldglass', '{command}', '--help']; from foldglass._program import main; main()"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    listed = re.split(r"^(?=\S.*:$)", said, flags=re.MULTILINE)
    own = [part for part in listed if not part.startswith(("Class:", "Every command:", "Examples:"))]
    return {flag.replace("-", "_") for flag in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", "".join(own), re.MULTILINE)} - {"help"}


@pytest.mark.parametrize(
    "command, function, elsewhere",
    [
        # The first argument, and the weights, which are written with all else.
        ("train", fg.train, {"task": "tasks", "weights": None}),
        ("distill", fg.distill, {"code": "what", "weights": None}),
        ("read-back", fg.read_back, {"out": None}),
    ],
)
def test_keywords_are_the_flags_of_the_command(command: str, function, elsewhere: dict[str, str | None]) -> None:
    named = {elsewhere.get(flag, flag) for flag in flags(command)} - {None}
    rest = {"seed", "threads", "progress", "space"}
    assert named - rest == set(inspect.signature(function).parameters) - rest
