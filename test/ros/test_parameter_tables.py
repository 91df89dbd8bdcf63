"""The nodes' parameters as dataclasses: consistent, with the core's defaults, and on the page."""

import re
from dataclasses import FrozenInstanceError, dataclass, fields
from pathlib import Path

import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.planning import Tuning
from manip_dyn.ros import (
    KINDS,
    BangBangPlannerParameters,
    ClikTrackerParameters,
    LawParameters,
    MechanismMonitorParameters,
    MechanismParameters,
    MonitorParameters,
    Numbers,
    PathParameters,
    SimulatorParameters,
    ViewerParameters,
    default_of,
    group,
    integrator_from,
    parameter,
    rows,
    settings_from,
    tuning_from,
    with_parameters,
    with_values,
)
from manip_dyn.simulation import Integrator

ALL = [
    SimulatorParameters,
    ClikTrackerParameters,
    BangBangPlannerParameters,
    MechanismParameters,
    ViewerParameters,
    MonitorParameters,
    MechanismMonitorParameters,
]
DOCS = Path(md.__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Inner:
    size: float = parameter(2.0, "A size", "m", 0.0, 9.0)


@dataclass(frozen=True)
class Outer:
    name: str = parameter("a", "A name", choices=("a", "b"), dynamic=True)
    many: Numbers = parameter((), "Some numbers")
    inner: Inner = group(Inner)


def test_fields_define_the_table():
    name, many, size = rows(Outer)
    assert (name.name, name.kind, name.choices, name.dynamic) == ("name", str, ("a", "b"), True)
    assert (many.kind, many.default) == (Numbers, ())
    assert (size.name, size.kind, size.default) == ("inner.size", float, 2.0)
    assert (size.unit, size.minimum, size.maximum, size.dynamic) == ("m", 0.0, 9.0, False)


def test_values_are_replaced_by_name():
    before = Outer()
    after = with_values(before, {"inner.size": 3.0, "many": (1.0,)})
    assert after == Outer("a", (1.0,), Inner(3.0))
    assert before == Outer()
    with pytest.raises(FrozenInstanceError):
        after.name = "b"


def test_a_default_is_that_of_the_core_or_raises():
    assert default_of(md.Lissajous, "period") == 20.0
    with pytest.raises(TypeError, match=r"'center' .* has no default"):
        default_of(md.Circle, "center")


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_row_has_a_description_and_a_valid_default(kind):
    table = rows(kind)
    assert len({row.name for row in table}) == len(table)
    for row in table:
        assert isinstance(row.default, tuple if row.kind == Numbers else row.kind), row.name
        assert len(row.description) > 10, row.name
        assert not row.choices or row.default in row.choices, row.name
        if row.kind is float:
            assert row.minimum <= row.default <= row.maximum, row.name


def test_default_parameters_are_the_defaults_of_the_core():
    def numbers(settings):
        return [getattr(settings, field.name) for field in fields(md.ClikSettings)]

    assert numbers(settings_from(LawParameters())) == numbers(md.ClikSettings())
    assert integrator_from(SimulatorParameters()) == Integrator()
    assert tuning_from(BangBangPlannerParameters()) == Tuning()


def test_the_law_has_a_parameter_for_each_setting():
    assert [row.name for row in rows(LawParameters)] == [f.name for f in fields(md.ClikSettings)]
    parameters = with_values(LawParameters(), {"gain": 3.0, "controlled": (1.0,) * 3 + (0.0,) * 3})
    settings = settings_from(parameters)
    assert settings.gain == 3.0
    assert settings.controlled == (True, True, True, False, False, False)
    with pytest.raises(ManipDynError, match="six numbers"):
        settings_from(with_values(LawParameters(), {"controlled": (1.0, 0.5)}))


def test_every_kind_of_path_has_a_group_of_its_name():
    named = {field.name: field.default_factory for field in fields(PathParameters)}
    assert {kind.kind: kind for kind in KINDS}.items() <= named.items()
    choices = next(row.choices for row in rows(ClikTrackerParameters) if row.name == "path")
    assert choices == tuple(kind.kind for kind in KINDS)


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_the_page_of_the_nodes_is_up_to_date():
    page = (DOCS / "node_parameters.md").read_text()
    command = "run python -m manip_dyn.ros.nodes.parameter_tables docs/node_parameters.md"
    assert with_parameters(page) == page, command


def test_text_after_the_tables_is_retained():
    page = with_parameters("# A\n\n<!-- parameters -->\n\nobsolete\n\n<!-- end -->\n\n## B\n")
    assert page.startswith("# A\n\n<!-- parameters -->\n\n## simulator\n")
    assert page.endswith("|\n\n<!-- end -->\n\n## B\n")
    assert "obsolete" not in page
    with pytest.raises(ManipDynError, match="one section from <!-- parameters -->"):
        with_parameters("# A\n")


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_the_page_of_clik_has_the_defaults_of_the_settings():
    """Names and defaults have the same order; verbal defaults are not compared."""
    page = (DOCS / "clik.md").read_text()
    table = {}
    for names, defaults in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]*) \|", page, re.M):
        values = defaults.replace("`", "").split(", ")
        table |= dict(zip(re.findall(r"\w+", names), values, strict=False))
    settings = md.ClikSettings()
    for field in fields(settings):
        default = getattr(settings, field.name)
        if isinstance(default, (bool, str)):
            assert table[field.name] == str(default)
        elif isinstance(default, float):
            # Posture and null-space gain share a row; its default is no posture, gain 0.
            assert table.get(field.name, "0") == f"{default:g}"
        else:
            assert field.name in table
