"""The session that README.md shows prints what README.md says: ten seconds of two processors."""

import doctest
from pathlib import Path

README = Path(__file__).parents[3] / "README.md"


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
