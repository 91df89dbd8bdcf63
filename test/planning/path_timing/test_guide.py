"""The guide's example runs and prints what it says."""

import re
from pathlib import Path

import manip_dyn as md

GUIDE = Path(md.__file__).parents[1] / "docs" / "path_timing.md"


def test_the_example_prints_what_the_guide_says(capsys):
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    told = re.findall(r"^print.*  # (.*)$", code, re.MULTILINE)
    exec(compile(code, str(GUIDE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == told
    assert len(told) == 3
