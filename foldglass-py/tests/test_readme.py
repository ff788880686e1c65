"""The session that README.md shows prints what README.md says; so does the page of the package."""

import doctest
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_session_of_the_readme() -> None:
    text = README.read_text()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    sessions = [block for block in blocks if block.startswith(">>> ")]
    assert sessions, "README.md shows no session"
    runner = doctest.DocTestRunner()
    for number, session in enumerate(sessions):
        test = doctest.DocTestParser().get_doctest(session, {}, f"session {number}", str(README), 0)
        runner.run(test)
    assert runner.failures == 0 and runner.tries >= 5


def test_the_loss_on_the_page_of_the_package_is_what_it_says(capsys) -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text()
    (block,) = (block.split("```")[0] for block in page.split("```python\n") if "oracle.check" in block)
    exec(block, {})
    said = re.search(r"# (The loss is .*\.)", block)
    assert said is not None and said[1] in capsys.readouterr().out
