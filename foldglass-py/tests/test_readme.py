"""The loss on the page of the package is what the page says."""

import re
from pathlib import Path


def test_the_loss_on_the_page_of_the_package_is_what_it_says(capsys) -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text()
    (block,) = (block.split("```")[0] for block in page.split("```python\n") if "oracle.check" in block)
    exec(block, {})
    said = re.search(r"# (The loss is .*\.)", block)
    assert said is not None and said[1] in capsys.readouterr().out
