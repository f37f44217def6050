"""Work in a process of its own: it reports, ends in a result or a sentence, can be stopped."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.metrics import r2_score

from absentia.recipe import training
from absentia.studio import jobs
from absentia.studio.jobs import Job, train
from absentia.studio.workspaces import BUNDLED, bundled_table
from studio.tables_of_mine import mixed_table


def waited(job, seconds=240.0):
    end = time.monotonic() + seconds
    while job.look() == "running" and time.monotonic() < end:
        time.sleep(0.05)
    return job.state


def test_a_job_that_cannot_succeed_says_why():
    job = Job(train, frame=mixed_table(), target="nothing")
    assert waited(job) == "failed"
    assert "no column 'nothing' to predict" in job.text


def test_a_job_can_be_stopped():
    job = Job(train, frame=mixed_table(), target="kind")
    job.stop()
    assert job.look() == "stopped"
    assert not job._process.is_alive()


@pytest.mark.parametrize(("target", "measure"), [("kind", "accuracy"), ("value", "R²")])
def test_training_beats_the_constant_answer(target, measure):
    steps = []
    other = {"kind": "value", "value": "kind"}[target]
    trained, card = train(
        lambda share, text: steps.append(share), mixed_table(), target, kinds={other: "left out"}
    )
    assert trained.model.target == target
    assert card["matters"][0][0] == "a"
    if target == "kind":
        assert np.sum(card["confusion"]) == trained.n_rows
        assert np.trace(card["confusion"]) / trained.n_rows == pytest.approx(trained.score)
        assert sum(n for *_, n in card["calibration"]) == trained.n_rows
    else:
        predicted, truth = np.transpose(card["residuals"])
        assert r2_score(truth, predicted) == pytest.approx(trained.score)
    assert trained.measure == measure
    assert trained.score > trained.baseline + 0.2
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    assert other not in trained.model.encoder.get_feature_names_out()


@pytest.mark.parametrize("name", BUNDLED)
def test_the_examples_have_holes_and_a_target_without(name):
    frame = bundled_table(name)
    assert 0.1 < frame.isna().to_numpy().mean() < 0.6
    assert frame[BUNDLED[name][1]].notna().all()


def test_methods_are_compared_on_the_same_folds(monkeypatch):
    monkeypatch.setattr(jobs, "QUICK_METHODS", ("iterative", "mean-indicator"))
    steps = []
    found = jobs.compare_methods(
        lambda share, text: steps.append(share),
        mixed_table(),
        "kind",
        kinds={"value": "left out"},
    )
    assert {row["method"] for row in found} == {
        "scikit-learn's IterativeImputer, SVM",
        "column means and indicators of missing values, SVM",
    }
    assert {row["train"] for row in found} == {""}
    assert not any(row["advised"] for row in found)
    assert found[0]["as_good"]
    assert [row["measure"] for row in found] == ["accuracy", "accuracy"]
    assert found[0]["score"] >= found[1]["score"] > 0.6
    assert steps == sorted(steps)


def test_progress_is_told_without_names_from_the_code(monkeypatch):
    monkeypatch.setattr(jobs, "QUICK_METHODS", ("automatic", "genrbf", "mean-indicator"))
    monkeypatch.setattr(jobs, "QUICK_SECONDS", 0.1)
    said = []
    frame = mixed_table().drop(columns="value")
    train(lambda share, text: said.append(text), frame, "kind")
    assert said.count("done") == 1
    found = jobs.compare_methods(lambda share, text: said.append(text), frame, "kind")
    names = {*training.METHODS, *training.BASELINES}
    assert not [text for text in said if names & set(text.replace(":", "").split()) or "_" in text]
    assert {row["train"] for row in found} == {
        "automatic",
        "genrbf",
        "",
    }  # offered by the page
    advised = [row["train"] for row in found if row["advised"]]
    assert advised == [next(row["train"] for row in found if row["train"])]
