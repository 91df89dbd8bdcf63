"""Pictures of studies, drawn for less."""

from pathlib import Path

import pytest


def save_roughly(monkeypatch, *names):
    """Draw every chart, once and with few dots; save those with these names as ever."""
    figure = pytest.importorskip("matplotlib.figure").Figure
    save = figure.savefig

    def roughly(picture, file, **how):
        if Path(file).stem in names:
            save(picture, file, **how)
        elif Path(file).suffix == ".png":
            picture.set_layout_engine("none")  # which draws everything once more
            save(picture, file, dpi=20)

    monkeypatch.setattr(figure, "savefig", roughly)
