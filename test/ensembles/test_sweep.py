"""Sweeps in this process: rows, failures, result files and resuming after an interruption."""

import functools
import shutil

import numpy as np
import pytest
import swept

import manip_dyn as md


def doubled(x):
    return {"twice": 2 * x}


def test_every_case_has_a_row_even_if_it_fails():
    result = md.sweep(swept.rotated, swept.cases(), workers=1)
    assert [row["case"] for row in result.rows] == list(range(40))
    assert set(result.statuses) == {"done", "refused", "error"}
    assert not result.success
    assert result.status == "partly"
    assert repr(result) == f"SweepResult(partly: {result.statuses['done']} of 40 cases succeeded)"
    for case, row in zip(swept.cases(), result.rows, strict=True):
        assert (row["x"], row["angle"]) == (case["x"], case["angle"])
        if case["x"] < 0.1:
            assert row["reason"] == f"x must be 0.1 or more, got {case['x']:g}."
        elif case["x"] > 0.9:
            assert (row["status"], row["reason"]) == ("error", "ZeroDivisionError: x is too large")
        else:
            assert row["success"]
            assert row["length"] == np.hypot(case["x"], case["angle"])
    lengths, positions = result.column("length"), result.column("place")
    failed = ~result.column("success")
    assert np.array_equal(np.isnan(lengths), failed)
    assert positions.shape == (40, 2)
    assert np.array_equal(np.isnan(positions).all(axis=1), failed)
    with pytest.raises(md.ManipDynError, match="got 'lenght'; did you mean 'length'"):
        result.column("lenght")


def test_stored_rows_equal_returned_rows(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    stored = md.sweep(swept.rotated, swept.cases(), tmp_path / "out", workers=1, chunk=7)
    returned = md.sweep(swept.rotated, swept.cases(), workers=1)
    assert len(list((tmp_path / "out").glob("[!.]*"))) == 6  # only result files
    assert repr(stored) == repr(returned)
    assert stored.statuses == returned.statuses
    for name in returned.rows[0]:  # read from the files
        np.testing.assert_array_equal(stored.column(name), returned.column(name))
    with pytest.raises(md.ManipDynError, match="got 'lenght'; did you mean 'length'"):
        stored.column("lenght")
    assert stored.rows == returned.rows
    assert md.read_sweep(tmp_path / "out").rows == stored.rows


def test_outcomes_are_available_after_the_files_are_deleted(tmp_path):
    """Regression: `repr` and `success` of a stored sweep required its files."""
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    stored = md.sweep(swept.rotated, swept.cases(), tmp_path / "out", workers=1)
    returned = md.sweep(swept.rotated, swept.cases(), workers=1)
    shutil.rmtree(tmp_path / "out")
    assert repr(stored) == repr(returned)
    assert (stored.success, stored.status) == (False, "partly")
    assert (stored.reason, stored.statuses) == (returned.reason, returned.statuses)
    with pytest.raises(md.ManipDynError, match="must contain results of a sweep"):
        _ = stored.rows


def test_files_with_only_failures_have_the_same_columns(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    cases = md.Cases.grid(x=[0.0, 0.5, 1.0], angle=[0.0])
    rows = md.sweep(swept.rotated, cases, tmp_path, workers=1, chunk=1).rows
    assert [row["status"] for row in rows] == ["refused", "done", "error"]
    assert [row["quarter"] for row in rows] == [None, 2, None]


def test_interrupted_sweeps_resume_with_the_missing_cases(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    marks, out, reports = tmp_path / "marks", tmp_path / "out", []
    marks.mkdir()
    cases = md.Cases.grid(x=list(range(9)))

    def stop(done, count):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        md.sweep(swept.Marked(marks), cases, out, workers=1, chunk=2, progress=stop)
    assert sorted(swept.Marked.marks(marks)) == [0, 1, 2, 3]
    (out / ".left.tmp").write_text("incomplete")
    # The chunk size of the existing files has priority over the argument.
    result = md.sweep(
        swept.Marked(marks), cases, out, workers=1, chunk=5, progress=lambda *n: reports.append(n)
    )
    assert swept.Marked.marks(marks) == dict.fromkeys(range(9), 1)
    assert result.repeated == 4
    assert reports == [(4, 9), (6, 9), (8, 9), (9, 9)]
    assert result.success
    assert result.status == "solved"
    assert list(result.column("twice")) == [2 * x for x in range(9)]
    assert not list(out.glob(".*.tmp"))


def test_partial_functions_are_identified_by_their_arguments(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    cases = md.Cases.grid(x=[0.5])
    first, same, different = (
        functools.partial(swept.rotated, angle=angle) for angle in (1.0, 1.0, 2.0)
    )
    assert md.sweep(first, cases, tmp_path, workers=1).success
    assert md.sweep(same, cases, tmp_path, workers=1).repeated == 1
    with pytest.raises(md.ManipDynError, match="results of another sweep"):
        md.sweep(different, cases, tmp_path, workers=1)


def test_results_of_another_sweep_are_not_overwritten(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)
    before = md.read_sweep(tmp_path).rows
    different = md.Cases.grid(x=[0.5], angle=[1.0])
    for function, cases in ((swept.rotated, different), (doubled, swept.cases())):
        with pytest.raises(md.ManipDynError, match="has results of another sweep: other cases"):
            md.sweep(function, cases, tmp_path, workers=1)
    assert md.read_sweep(tmp_path).rows == before
    (tmp_path / "part-000000.parquet").write_text("no table")
    with pytest.raises(md.ManipDynError, match="is not a result file of a sweep"):
        md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)


def test_only_one_running_sweep_writes_to_a_folder(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    errors = []

    def start_another(done, count):
        with pytest.raises(md.ManipDynError, match="another sweep is writing to") as error:
            md.sweep(swept.rotated, swept.cases(), tmp_path, workers=1)
        errors.append(error)

    cases = md.Cases.grid(x=[0.5], angle=[1.0])
    assert md.sweep(swept.rotated, cases, tmp_path, workers=1, progress=start_another).success
    assert len(errors) == 2
    assert md.sweep(swept.rotated, cases, tmp_path, workers=1).repeated == 1


class Returned:
    """Function that returns the value with the index x."""

    identity = "returned"

    def __init__(self, *values):
        self.values = values

    def __call__(self, x):
        return self.values[x] if isinstance(self.values[x], list) else {"a": self.values[x]}


@pytest.mark.parametrize(
    ("value", "message"),
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
def test_invalid_results_are_failed_rows_with_a_reason(value, message, tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    function, cases = Returned(1, value, 2.5), md.Cases.grid(x=[0, 1, 2])
    rows = md.sweep(function, cases, tmp_path, workers=1, chunk=3).rows
    assert [row["status"] for row in rows] == ["done", "refused", "done"]
    assert message in rows[1]["reason"]
    assert [row["a"] for row in rows] == [1.0, None, 2.5]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({"case": 7}, "result names must differ from case names, got 'case'"),
        ({"x": 7}, "result names must differ from case names, got 'x'"),
        ({"success": "no"}, "the result 'success' must be true or false, got 'no'"),
        ({"a": "\ud800"}, "the result 'a' must be a number, a string or a list of numbers, got"),
    ],
)
def test_results_with_reserved_names_are_failed_rows_with_a_reason(results, message, tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    (row,) = md.sweep(lambda x: dict(results), md.Cases.grid(x=[1]), tmp_path, workers=1).rows
    assert (row["case"], row["x"], row["status"]) == (0, 1, "refused")
    assert message in row["reason"]


def test_files_with_different_kinds_of_a_result_can_be_read(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    rows = md.sweep(Returned(1, "x"), md.Cases.grid(x=[0, 1]), tmp_path, workers=1, chunk=1).rows
    assert [row["a"] for row in rows] == [1, "x"]


def test_invalid_cases_are_failed_rows_and_not_solved(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    cases = md.Cases([{"x": 1}, {"x": "one"}, {"y": 1}, {"x": 2}])
    for out in (None, tmp_path / "out"):
        rows = md.sweep(doubled, cases, out, workers=1, chunk=3).rows
        assert [row["status"] for row in rows] == ["done", "refused", "refused", "done"]
        assert [row["twice"] for row in rows] == [2, None, None, 4]
        assert [row["x"] for row in rows] == [1, None, None, 2]
        assert rows[1]["reason"] == "x must be a number, as in other cases, got 'one'."
        assert rows[2]["reason"] == "the case must have x, got y."


def test_folders_are_unlocked_after_errors_and_deleted_if_empty(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    cases, out = md.Cases.grid(x=[1, 2]), tmp_path / "out"
    md.sweep(doubled, cases, out, workers=1)
    with pytest.raises(md.ManipDynError, match="another sweep") as error:
        md.sweep(doubled, md.Cases.grid(x=[3]), out, workers=1)
    assert error.traceback  # a stored traceback must not hold the lock
    assert md.sweep(doubled, cases, out, workers=1).repeated == 2
    with pytest.raises(md.ManipDynError, match="must be the address"):
        md.sweep(doubled, cases, tmp_path / "none", scheduler="nonsense")
    assert not (tmp_path / "none").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(md.ManipDynError, match="must be the address"):
        md.sweep(doubled, cases, tmp_path / "mine", scheduler="nonsense")
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": -1}, "workers must be a whole number, 1 or more, got -1"),
        ({"workers": 0}, "workers must be a whole number, 1 or more, got 0"),
        ({"chunk": 0}, "chunk must be a whole number, 1 or more, got 0"),
        ({"chunk": 0.5}, "chunk must be a whole number, 1 or more, got 0.5"),
        ({"workers": 2}, "cannot be sent to other processes"),
        ({"progress": 3}, "progress must be callable, got 3"),
        ({"workers": 1, "out": ""}, "the folder of results must be a path, got ''"),
        ({"workers": 1, "out": 3}, "the folder of results must be a path, got 3"),
    ],
)
def test_invalid_arguments_raise(options, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.sweep(lambda x: {}, md.Cases.grid(x=[1, 2]), **options)


def test_folders_without_results_raise(tmp_path):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    with pytest.raises(md.ManipDynError, match="must contain results of a sweep"):
        md.read_sweep(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(md.ManipDynError, match="must be a folder, got the file"):
        md.sweep(swept.rotated, swept.cases(), file, workers=1)
