"""Sweeps in this process: rows, failures, parts on disk, and going on after an interruption."""

import functools

import numpy as np
import pytest
import swept

import manip_dyn as md


def doubled(x):
    return {"twice": 2 * x}


def test_every_case_is_a_row_also_where_it_fails():
    result = md.sweep(swept.rotated, swept.cases(), workers=1)
    assert [row["case"] for row in result.rows] == list(range(40))
    assert set(result.statuses) == {"done", "refused", "error"}
    assert not result.success
    assert result.status == "partly"
    assert repr(result) == f"SweepResult(partly: {result.statuses['done']} of 40 cases succeeded)"
    for case, row in zip(swept.cases(), result.rows, strict=True):
        assert (row["x"], row["angle"]) == (case["x"], case["angle"])
        if case["x"] < 0.1:
            assert row["reason"] == f"x is {case['x']:g}; expected 0.1 or more"
        elif case["x"] > 0.9:
            assert (row["status"], row["reason"]) == ("error", "ZeroDivisionError: x is too large")
        else:
            assert row["success"]
            assert row["length"] == np.hypot(case["x"], case["angle"])
    lengths, places = result.column("length"), result.column("place")
    failed = ~result.column("success")
    assert np.array_equal(np.isnan(lengths), failed)
    assert places.shape == (40, 2)
    assert np.array_equal(np.isnan(places).all(axis=1), failed)
    with pytest.raises(md.ManipDynError, match="no column 'lenght'; did you mean 'length'"):
        result.column("lenght")


def test_rows_on_disk_are_those_that_are_returned(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    kept = md.sweep(swept.rotated, swept.cases(), tmp_path / "out", workers=1, chunk=7)
    returned = md.sweep(swept.rotated, swept.cases(), workers=1)
    assert len(list((tmp_path / "out").glob("[!.]*"))) == 6  # parts, and nothing else
    assert kept.rows == returned.rows
    assert md.read_sweep(tmp_path / "out").rows == kept.rows


def test_a_part_that_has_only_failures_fits_the_others(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    cases = md.Cases.grid(x=[0.0, 0.5, 1.0], angle=[0.0])
    rows = md.sweep(swept.rotated, cases, tmp_path, workers=1, chunk=1).rows
    assert [row["status"] for row in rows] == ["refused", "done", "error"]
    assert [row["quarter"] for row in rows] == [None, 2, None]


def test_a_sweep_goes_on_with_what_is_missing(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    marks, out, told = tmp_path / "marks", tmp_path / "out", []
    marks.mkdir()
    cases = md.Cases.grid(x=list(range(9)))

    def stop(done, count):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        md.sweep(swept.Marked(marks), cases, out, workers=1, chunk=2, progress=stop)
    assert sorted(swept.Marked.marks(marks)) == [0, 1, 2, 3]
    (out / ".left.tmp").write_text("half a part")
    # As many cases a part as before, whatever is asked for.
    result = md.sweep(
        swept.Marked(marks), cases, out, workers=1, chunk=5, progress=lambda *n: told.append(n)
    )
    assert swept.Marked.marks(marks) == dict.fromkeys(range(9), 1)
    assert result.repeated == 4
    assert told == [(4, 9), (6, 9), (8, 9), (9, 9)]
    assert result.success
    assert result.status == "solved"
    assert list(result.column("twice")) == [2 * x for x in range(9)]
    assert not list(out.glob(".*.tmp"))


def test_functions_with_arguments_are_told_apart_by_these(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    cases = md.Cases.grid(x=[0.5])
    one, same, other = (functools.partial(swept.rotated, angle=angle) for angle in (1.0, 1.0, 2.0))
    assert md.sweep(one, cases, tmp_path, workers=1).success
    assert md.sweep(same, cases, tmp_path, workers=1).repeated == 1
    with pytest.raises(md.ManipDynError, match="results of another sweep"):
        md.sweep(other, cases, tmp_path, workers=1)


def test_results_of_another_sweep_are_left_alone(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)
    before = md.read_sweep(tmp_path).rows
    other = md.Cases.grid(x=[0.5], angle=[1.0])
    for function, cases in ((swept.rotated, other), (doubled, swept.cases())):
        with pytest.raises(md.ManipDynError, match="has results of another sweep: other cases"):
            md.sweep(function, cases, tmp_path, workers=1)
    assert md.read_sweep(tmp_path).rows == before
    (tmp_path / "part-000000.parquet").write_text("no table")
    with pytest.raises(md.ManipDynError, match="is not a result file of a sweep"):
        md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)


def test_two_sweeps_that_run_do_not_write_into_one_folder(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    refused = []

    def another(done, count):
        with pytest.raises(md.ManipDynError, match="another sweep is writing to") as told:
            md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)
        refused.append(told)

    cases = md.Cases.grid(x=[0.5], angle=[1.0])
    assert md.sweep(swept.rotated, cases, tmp_path, workers=1, progress=another).success
    assert len(refused) == 2
    assert md.sweep(swept.rotated, cases, tmp_path, workers=1).repeated == 1


class Returned:
    """Returns what there is for a case."""

    identity = "returned"

    def __init__(self, *values):
        self.values = values

    def __call__(self, x):
        return self.values[x] if isinstance(self.values[x], list) else {"a": self.values[x]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([1.0], "must return a dictionary of results, got list"),
        (object(), "the result 'a' must be a number, got <object object at"),
        ("x", "the result 'a' must be a number, got 'x'"),
        ([[1.0]], "must return a dictionary of results, got list"),
        (1j, "the result 'a' must be a number, got 1j"),
        (10**30, f"the result 'a' must be a number, got {10**30}"),
        ({"b": 1}, "the result 'a' must be a number, got {'b': 1}"),
    ],
)
def test_what_is_no_result_is_a_row_that_says_so(wrong, said, tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    function, cases = Returned(1, wrong, 2.5), md.Cases.grid(x=[0, 1, 2])
    rows = md.sweep(function, cases, tmp_path, workers=1, chunk=3).rows
    assert [row["status"] for row in rows] == ["done", "refused", "done"]
    assert said in rows[1]["reason"]
    assert [row["a"] for row in rows] == [1.0, None, 2.5]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ({"case": 7}, "results must not have names of the case, got 'case'"),
        ({"x": 7}, "results must not have names of the case, got 'x'"),
        ({"success": "no"}, "the result 'success' is 'no'; expected true or false"),
        ({"a": "\ud800"}, "the result 'a' must be a number, a string or a list of numbers, got"),
    ],
)
def test_results_that_would_hide_others_are_rows_that_say_so(returned, said, tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    (row,) = md.sweep(lambda x: dict(returned), md.Cases.grid(x=[1]), tmp_path, workers=1).rows
    assert (row["case"], row["x"], row["status"]) == (0, 1, "refused")
    assert said in row["reason"]


def test_results_of_other_kinds_in_other_parts_can_be_read(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    rows = md.sweep(Returned(1, "x"), md.Cases.grid(x=[0, 1]), tmp_path, workers=1, chunk=1).rows
    assert [row["a"] for row in rows] == [1, "x"]


def test_a_case_with_a_wrong_value_is_a_row_and_not_called(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    cases = md.Cases([{"x": 1}, {"x": "one"}, {"y": 1}, {"x": 2}])
    for out in (None, tmp_path / "out"):
        rows = md.sweep(doubled, cases, out, workers=1, chunk=3).rows
        assert [row["status"] for row in rows] == ["done", "refused", "refused", "done"]
        assert [row["twice"] for row in rows] == [2, None, None, 4]
        assert [row["x"] for row in rows] == [1, None, None, 2]
        assert rows[1]["reason"] == "x must be a number, as in other cases, got 'one'."
        assert rows[2]["reason"] == "the case must have x, got y."


def test_a_folder_that_is_refused_is_left_to_others_and_an_empty_one_goes(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    cases, out = md.Cases.grid(x=[1, 2]), tmp_path / "out"
    md.sweep(doubled, cases, out, workers=1)
    with pytest.raises(md.ManipDynError, match="another sweep") as refused:
        md.sweep(doubled, md.Cases.grid(x=[3]), out, workers=1)
    assert refused.traceback  # as long as that is kept, nothing of it may hold the folder
    assert md.sweep(doubled, cases, out, workers=1).repeated == 2
    with pytest.raises(md.ManipDynError, match="cannot be reached"):
        md.sweep(doubled, cases, tmp_path / "none", scheduler="nonsense")
    assert not (tmp_path / "none").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(md.ManipDynError, match="cannot be reached"):
        md.sweep(doubled, cases, tmp_path / "mine", scheduler="nonsense")
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workers": -1}, "workers is -1; expected a whole number"),
        ({"workers": 0}, "workers is 0; expected a whole number"),
        ({"chunk": 0}, "chunk is 0; expected a whole number"),
        ({"chunk": 0.5}, "chunk is 0.5; expected a whole number"),
        ({"workers": 2}, "cannot be sent to other processes"),
        ({"progress": 3}, "progress must be callable, got 3"),
        ({"workers": 1, "out": ""}, "the folder of results must be a path, got ''"),
        ({"workers": 1, "out": 3}, "the folder of results must be a path, got 3"),
    ],
)
def test_bad_numbers_and_functions_are_refused(wrong, said):
    with pytest.raises(md.ManipDynError, match=said):
        md.sweep(lambda x: {}, md.Cases.grid(x=[1, 2]), **wrong)


def test_a_folder_without_results_is_told(tmp_path):
    pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")
    with pytest.raises(md.ManipDynError, match="must contain results of a sweep"):
        md.read_sweep(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(md.ManipDynError, match="must be a folder, got the file"):
        md.sweep(swept.rotated, swept.cases(), file, workers=1)
