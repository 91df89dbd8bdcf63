"""Fast drawing of the pictures of studies."""

from pathlib import Path

import pytest


def save_roughly(monkeypatch, *names):
    """Draw every chart once at low resolution, and charts with these names normally."""
    figure = pytest.importorskip("matplotlib.figure").Figure
    save = figure.savefig

    def roughly(picture, file, **options):
        if Path(file).stem in names:
            save(picture, file, **options)
        elif Path(file).suffix == ".png":
            picture.set_layout_engine("none")  # a layout engine draws everything again
            save(picture, file, dpi=20)

    monkeypatch.setattr(figure, "savefig", roughly)
