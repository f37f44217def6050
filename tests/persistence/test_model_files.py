"""Models in files that run no code."""

from __future__ import annotations

import ast
import gzip
import os
import pickle
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import calibration, svm
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

import absentia
from absentia import (
    SVC,
    Beliefs,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    MaskKernel,
    NuSVC,
    TableEncoder,
    load,
    save,
)
from absentia.beliefs import CovarianceTable, Prior
from absentia.kernels import Kernel
from absentia.persistence import model_files, trusted_types
from absentia.tables.stored import Stored
from machines.contract import table, targets_of
from persistence.hostile_files import nodes, opened, rewrite, write


def save_unchecked(model, place):
    """Write a model that load would refuse, as another version or an attacker would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_files, "_read", lambda stream, max_bytes: None)
        save(model, place)


PRIOR = f"{Prior.__module__}.Prior"


@pytest.fixture
def machine():
    return SVC().fit(table(), targets_of("classes"))


@pytest.fixture
def path(machine, tmp_path):
    save(machine, tmp_path / "machine.absentia")
    return tmp_path / "machine.absentia"


def test_pipelines_densities_kernels_and_beliefs_come_back(tmp_path):
    X, y = table(), targets_of("classes")
    kernel = 0.5 * GenRBF(metric="mahalanobis") + GenRBF(0.3) * MaskKernel([0.1, 0.2, 0.3])
    pipeline = make_pipeline(StandardScaler(), SVC(kernel=kernel)).fit(X, y)
    on_beliefs = SVC().fit(Beliefs.from_moments(np.nan_to_num(X), np.eye(3)), y)
    density = GaussianDensity().fit(X)
    for model in (pipeline, on_beliefs, density):
        save(model, tmp_path / "model")
        again = load(str(tmp_path / "model"))
        rows = on_beliefs.beliefs_ if model is on_beliefs else X
        if model is density:
            np.testing.assert_array_equal(again.condition(X).means, density.condition(X).means)
        else:
            np.testing.assert_array_equal(
                again.decision_function(rows), model.decision_function(rows)
            )
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def public_estimators():
    public = [getattr(absentia, name) for name in absentia.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    return [kind for kind in kinds if not issubclass(kind, Kernel)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", public_estimators(), ids=lambda kind: kind.__name__)
def test_every_estimator_comes_back(kind, tmp_path):
    X, y = table(), targets_of("classes")
    wrapped = (
        absentia.KernelRidge() if "Regressor" in kind.__name__ else absentia.LogisticRegression()
    )
    model = kind(wrapped) if "estimator" in signature(kind).parameters else kind()
    quick = {"gammas": (0.3,), "cv": 2, "n_components": 2, "n_clusters": 2}
    # All members of the automatic machines are saved in their own tests.
    quick |= {"members": ("boosting", "beliefs"), "n_splits": 2, "n_repeats": 1}
    known = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in quick.items() if name in known})
    model.fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is kind
    assert repr(again) == repr(model)
    outputs = [name for name in ("predict", "transform", "score_samples") if hasattr(model, name)]
    for name in outputs:
        np.testing.assert_array_equal(getattr(again, name)(X), getattr(model, name)(X))


def test_an_unfitted_machine_comes_back_and_a_file_is_replaced(tmp_path):
    place = tmp_path / "model"
    save(SVC(C=3.0), place)
    save(SVC(C=4.0), place)
    assert load(place).C == 4.0


def test_what_is_trusted_is_plain_types():
    trusted = trusted_types()
    assert {SVC, GaussianDensity, GenRBF, Beliefs, Prior, StandardScaler} <= set(trusted)
    assert {kind.__module__.split(".")[0] for kind in trusted} == {"absentia", "sklearn"}
    # Their attributes go to compiled code that checks nothing.
    assert not {svm.SVC, svm.OneClassSVM, KMeans, KNeighborsClassifier} & set(trusted)
    # What is no estimator of ours checks itself.
    values = [k for k in trusted if k.__module__.startswith("absentia.")]
    assert all(issubclass(kind, BaseEstimator | Stored) for kind in values)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_machines_come_back(method, tmp_path):
    X, y = table(), targets_of("classes")
    model = calibration.CalibratedClassifierCV(SVC(), method=method, cv=2, ensemble=False).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_what_is_no_estimator_or_would_be_refused_is_not_saved(tmp_path):
    place = tmp_path / "model"
    with pytest.raises(TypeError, match=r"Only estimators.*ndarray"):
        save(np.ones(3), place)
    with pytest.raises(TypeError, match=r"holds .*table.*load would refuse"):
        save(FunctionTransformer(table), place)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "no line", "bad line"])
def test_damaged_files_are_refused(path, damage):
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "empty":
        path.write_bytes(gzip.compress(b"", mtime=0))
    elif damage == "cut":
        path.write_bytes(content[:middle])
    elif damage == "flipped":
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    else:
        write(path, [] if damage == "no line" else {"nonsense": 1}, [])
    with pytest.raises(ValueError, match="is not a model file, or is damaged"):
        load(path)


def test_files_of_other_tools_and_formats_are_refused(path, machine, tmp_path):
    for content in (b"", b"not a model", pickle.dumps(machine)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ValueError, match=r"not written by absentia\.save"):
            load(tmp_path / "other")
    rewrite(path, lambda header, parts: header.update(format=99))
    with pytest.raises(ValueError, match="format 99"):
        load(path)


def test_types_that_are_not_trusted_are_refused_by_name(path):
    def swap(header, parts):
        header["model"] = {"os.SVC": header["model"].popitem()[1]}

    rewrite(path, swap)
    with pytest.raises(ValueError, match=r"not trusted: os\.SVC"):
        load(path)


def test_something_that_is_no_model_is_refused(path):
    write(path, {"format": 4, "versions": {}, "arrays": [], "model": {"dict": [["a", 1]]}}, [])
    with pytest.raises(ValueError, match="holds a dict"):
        load(path)


def replaced(value, **fields):
    return type(value)(**{**value.__getstate__(), **fields})


def break_beliefs(machine, broken):
    """Put something wrong into a machine where compiled code would trust it."""
    beliefs, prior = machine.beliefs_, machine.beliefs_.prior
    patterns, d = beliefs.patterns, prior.n_features
    table = beliefs.covariances
    changes = {
        "group": {"group_of_row": beliefs.group_of_row + 1000},
        "negative group": {"group_of_row": beliefs.group_of_row - 1},
        "wide group": {"group_of_row": beliefs.group_of_row.astype(np.int32)},
        "other group": {"group_of_row": np.zeros_like(beliefs.group_of_row)},
        "fewer patterns": {"patterns": replaced(patterns, masks=patterns.masks[:1])},
        "patterns of numbers": {"patterns": replaced(patterns, masks=patterns.masks.astype(float))},
        "counts": {"patterns": replaced(patterns, counts=patterns.counts + 1)},
        "shape": {"log_weights": beliefs.log_weights[:-1]},
        "components": {"log_weights": np.zeros((len(beliefs), 2))},
        "nan weights": {"log_weights": beliefs.log_weights * np.nan},
        "infinite": {"means": beliefs.means * np.inf},
        "single": {"means": beliefs.means.astype(np.float32)},
        "narrow masks": {"covariances": replaced(table, masks=table.masks[:, :1])},
        "masks of numbers": {"covariances": replaced(table, masks=table.masks.astype(np.int8))},
        "other masks": {"covariances": replaced(table, masks=~table.masks)},
        "no table": {"covariances": {}},
        "ragged table": {"covariances": CovarianceTable.of_matrices(np.zeros((9, 1, d, d + 1)))},
        "flat table": {"covariances": CovarianceTable.of_matrices(np.zeros((9, d)))},
        "prior": {"prior": replaced(prior, covariances=prior.covariances[:, :1])},
        "prior of nan": {"prior": replaced(prior, means=prior.means * np.nan)},
        "no components": {"prior": replaced(prior, weights=-prior.weights)},
    }
    # Past the constructor, as a file does.
    wrong = object.__new__(Beliefs)
    wrong.__dict__.update({**beliefs.__getstate__(), **changes[broken]})
    machine.beliefs_ = wrong


BROKEN = [
    "group",
    "negative group",
    "wide group",
    "other group",
    "fewer patterns",
    "patterns of numbers",
    "counts",
    "shape",
    "components",
    "nan weights",
    "infinite",
    "single",
    "narrow masks",
    "masks of numbers",
    "other masks",
    "no table",
    "ragged table",
    "flat table",
    "prior",
    "prior of nan",
    "no components",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_beliefs_that_do_not_fit_together_are_refused(machine, tmp_path, broken):
    break_beliefs(machine, broken)
    save_unchecked(machine, tmp_path / "model")
    with pytest.raises(ValueError, match=r"damaged.*(Beliefs|Patterns|Covariance|Prior)"):
        load(tmp_path / "model")


@pytest.mark.parametrize("hidden", ["calibrated", "pipeline", "list", "density", "attribute"])
def test_every_corner_of_a_file_is_looked_into(machine, tmp_path, hidden):
    X, y = table(), targets_of("classes")
    if hidden == "calibrated":
        model = calibration.CalibratedClassifierCV(SVC(), cv=2, ensemble=False).fit(X, y)
        break_beliefs(model.calibrated_classifiers_[0].estimator, "group")
    elif hidden == "pipeline":
        model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
        break_beliefs(model[-1], "group")
    elif hidden == "density":
        model = GaussianDensity().fit(X)
        model.prior_ = replaced(model.prior_, means=np.zeros((1, 7)))
    else:
        break_beliefs(machine, "group")
        model = absentia.AutoClassifier(members=[("own", machine)])
        if hidden == "attribute":
            model = SVC()
            model.density_ = machine
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "model")


def test_parts_of_different_sizes_are_refused_when_they_meet(tmp_path):
    X, y = table(), targets_of("classes")
    machine = SVC().fit(X, y)
    machine.density_ = GaussianDensity().fit(np.column_stack([X, X[:, :1] + 1]))
    machine.density_.n_features_in_ = 3
    machine.density_.columns_ = np.arange(3)
    features = FourierFeatures(n_components=6, random_state=0).fit(X)
    features.frequencies_ = np.ones((1, 3))
    centred = FourierFeatures(n_components=6, random_state=0).fit(X)
    centred.center_ = np.zeros((len(X), 3))
    for model in (machine, features, centred):
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        with pytest.raises(ValueError, match=r"columns|must be a float64 array"):
            (again.predict if hasattr(again, "predict") else again.transform)(X)


@pytest.mark.parametrize(
    "model",
    [
        absentia.KernelRidge(gamma="loo-ard"),
        GaussianProcessRegressor(gamma="ard"),
        absentia.LargeScaleRidge(n_components=20, metric="learned", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_learned_widths_and_metrics_come_back(model, tmp_path):
    X = table()
    model.fit(X, targets_of("numbers"))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_widths_of_other_columns_are_refused(tmp_path):
    X = table()
    machine = absentia.KernelRidge(gamma="loo-ard").fit(X, targets_of("numbers"))
    machine.kernel_.gamma = machine.kernel_.gamma[:-1]
    save_unchecked(machine, tmp_path / "model")
    with pytest.raises(ValueError, match="one for each of the"):
        load(tmp_path / "model").predict(X)


def test_a_process_with_a_factor_of_other_rows_is_refused(tmp_path):
    process = GaussianProcessRegressor().fit(table(), targets_of("numbers"))
    process.L_ = process.L_[:2, :2]
    save_unchecked(process, tmp_path / "model")
    with pytest.raises(ValueError, match=r"must be a float64 array|shape|dimension"):
        load(tmp_path / "model").predict_uncertainty(table())


def test_something_that_looks_like_a_prior_is_none(tmp_path):
    density = GaussianDensity().fit(table())
    imitation = StandardScaler()
    for name in ("weights", "means", "covariances", "precisions", "n_features", "n_components"):
        setattr(imitation, name, getattr(density.prior_, name))
    density.prior_ = imitation
    save_unchecked(density, tmp_path / "model")
    with pytest.raises(ValueError, match=r"not trusted: .*StandardScaler\.means"):
        load(tmp_path / "model").condition(table())


def test_derived_numbers_are_not_taken_from_a_file(tmp_path):
    density = GaussianDensity().fit(table())
    assert density.condition(table()).prior.precisions.any()
    save(density, tmp_path / "model")

    def add(header, parts):
        (prior,) = nodes(header["model"], "Prior")
        assert "precisions" not in prior[PRIOR]
        prior[PRIOR]["precisions"] = prior[PRIOR]["means"]

    rewrite(tmp_path / "model", add)
    with pytest.raises(ValueError, match=r"not trusted: .*Prior\.precisions"):
        load(tmp_path / "model")


def test_objects_are_shared_as_they_were(tmp_path):
    X, y = table(), targets_of("classes")
    voters = VotingClassifier([("one", SVC()), ("two", SVC())]).fit(X, y)
    voters.estimators_[1].beliefs_ = voters.estimators_[0].beliefs_
    save(voters, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.named_estimators_["one"] is again.estimators_[0]
    assert again.estimators_[1].beliefs_ is again.estimators_[0].beliefs_
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_circle_of_references_is_not_saved(machine, tmp_path):
    machine.density_ = machine
    with pytest.raises(TypeError, match="load would refuse this model: maximum recursion"):
        save(machine, tmp_path / "model")


def test_layouts_of_arrays_are_kept(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.eye(3), [0, 1, 2])
    model[-1].coef_ = np.asfortranarray(model[-1].coef_)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again[-1].coef_.flags.f_contiguous
    assert again[-1].coef_.flags.writeable
    np.testing.assert_array_equal(again[-1].coef_, model[-1].coef_)


def test_no_text_of_a_file_is_parsed_as_python(path, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("ast")

    monkeypatch.setattr(ast, "parse", fail)
    monkeypatch.setattr(ast, "literal_eval", fail)
    load(path)


def test_methods_cannot_be_replaced(path, machine):
    machine.predict = GenRBF()
    save_unchecked(machine, path)
    with pytest.raises(ValueError, match=r"not trusted: .*SVC\.predict"):
        load(path)


def test_random_states_come_back_and_impossible_ones_are_refused(tmp_path):
    state = np.random.RandomState(3)
    save_unchecked(FourierFeatures(random_state=state), tmp_path / "model")
    assert load(tmp_path / "model").random_state.rand() == state.rand()
    broken = state.get_state(legacy=False)
    broken["state"]["pos"] = 10**6
    state.set_state(broken)
    save_unchecked(FourierFeatures(random_state=state), tmp_path / "model")
    with pytest.raises(ValueError, match="impossible state"):
        load(tmp_path / "model")


def test_depth_and_size_are_limited(path, machine):
    whole = path.read_bytes()
    with pytest.raises(ValueError, match=r"at most 10,000 and 156 are allowed.*larger max_bytes"):
        load(path, max_bytes=10_000)
    assert isinstance(load(path, max_bytes=10**8), SVC)
    kernel = GenRBF()
    for _ in range(60):
        kernel = kernel + GenRBF()
    with pytest.raises(TypeError, match="more than 10 estimators inside each other"):
        save(SVC(kernel=kernel), path)
    deep = 1.0
    for _ in range(100):
        deep = [deep]
    with pytest.raises(TypeError, match="more than 100 objects inside each other"):
        save(SVC(kernel=deep), path)
    assert path.read_bytes() == whole
    machine.class_weight_ = np.zeros(10**7)  # no part of a prediction
    save(machine, path)
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match=r"unpacks to 80,\d{3},\d{3} bytes"):
        load(path, max_bytes=7 * 10**7)


@pytest.mark.parametrize("error", [RecursionError, MemoryError, NotImplementedError, OSError])
def test_whatever_a_file_leads_to_is_one_kind_of_error(path, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error("deep")

    monkeypatch.setattr(model_files, "Reader", fail)
    with pytest.raises(ValueError, match=f"damaged \\({error.__name__}: deep"):
        load(path)


def test_a_deep_description_is_refused(path):
    for depth in (150, 100_000):
        line = b'{"format": 4, "versions": {}, "arrays": [], "model": '
        path.write_bytes(gzip.compress(line + b"[" * depth + b"]" * depth + b"}\n", mtime=0))
        with pytest.raises(ValueError, match="damaged"):
            load(path)


def test_files_say_which_versions_wrote_them(path):
    header, parts = opened(path)
    assert header["format"] == 4
    assert header["versions"]["absentia"] == absentia.__version__
    assert set(header["versions"]) == {"absentia", "scikit-learn", "numpy"}
    header["versions"]["scikit-learn"] = "0.1"
    write(path, header, parts)
    load(path)  # no estimator of scikit-learn
    save(StandardScaler().fit(table()), path)
    rewrite(path, lambda header, parts: header["versions"].update({"scikit-learn": "0.1"}))
    with pytest.warns(InconsistentVersionWarning, match=r"from version 0\.1"):
        load(path)
    write(path, {"format": 1, "kind": "SVC"}, [])
    with pytest.raises(ValueError, match=r"format 1, .*reads format 4.*train the model again"):
        load(path)
    write(path, {"format": 5, "versions": {"absentia": "9.1"}}, [])
    with pytest.raises(ValueError, match=r"Use absentia 9\.1"):
        load(path)


def composed_models():
    voters = [("svc", SVC()), ("nu", NuSVC(nu=0.2))]
    columns = [("scaled", StandardScaler(), [0, 1]), ("kept", "passthrough", slice(2, 3))]
    return {
        "imputer": make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), SVC()),
        "voting": VotingClassifier(voters),
        "stacking": StackingClassifier(voters, final_estimator=LogisticRegression(), cv=2),
        "grid": GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2),
        "scored grid": GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=KFold(2), scoring="accuracy"),
        "columns": make_pipeline(ColumnTransformer(columns), SVC()),
        "selection": make_pipeline(SimpleImputer(), SelectKBest(k=2), SVC()),
        "encoder": make_pipeline(TableEncoder(), StandardScaler(), SVC()),
        "frozen": SVC(density=FrozenEstimator(GaussianDensity().fit(table()))),
    }


@pytest.mark.parametrize("name", composed_models())
def test_models_composed_with_scikit_learn_come_back(name, tmp_path):
    X, y = table(), targets_of("classes")
    model = composed_models()[name].fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("frame", [True, False])
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        TargetEncoder(),
    ],
)
def test_encoders_of_words_come_back(encoder, frame, tmp_path):
    # They raise TypeError for a column of numbers, such as the rows that load asks about.
    y = targets_of("classes")
    rows = pd.DataFrame({"word": np.array(["a", "b", "c"])[np.arange(len(y)) % 3]}, dtype=object)
    rows["number"] = np.arange(len(y)) / 7
    X = rows if frame else rows.to_numpy()
    columns = ColumnTransformer([("words", encoder, [0])], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_frames_inside_a_model_are_named(machine, tmp_path):
    machine.extra_ = pd.DataFrame({"a": [1.0]})
    with pytest.raises(TypeError, match=r"SVC holds absentia.*SVC\.extra_, which load would"):
        save(machine, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_load_would_refuse_is_not_saved(machine, tmp_path):
    broken = clone(machine).fit(table(), targets_of("classes"))
    del broken.intercept_
    with pytest.raises(TypeError, match=r"load would refuse this model: .*"):
        save(broken, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "rival", [svm.SVC(), IsolationForest(n_estimators=5), KNeighborsClassifier()]
)
def test_models_whose_attributes_go_to_compiled_code_are_not_saved(rival, tmp_path):
    model = make_pipeline(SimpleImputer(), rival).fit(table(), targets_of("classes"))
    with pytest.raises(TypeError, match=r"holds .*sklearn.*load would refuse"):
        save(model, tmp_path / "model")


def test_files_changed_at_random_do_not_crash(tmp_path):
    program = Path(__file__).with_name("hostile_files.py")
    done = subprocess.run(
        [sys.executable, str(program), "0", "200"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": "1"},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended at {lines[-1:]}: {done.stderr[-2000:]}"
    assert len(lines) == 200
    assert sum("refused" in line for line in lines) > 60
    assert sum("loaded and predicted" in line for line in lines) > 15


def test_a_file_that_lacks_a_parameter_is_refused(machine, tmp_path):
    # As written before the kernel had this parameter: the default of the class is no substitute.
    del machine.kernel_.category_weight
    save_unchecked(machine, tmp_path / "old.abs")
    with pytest.raises(ValueError, match="without its parameter category_weight"):
        load(tmp_path / "old.abs")


FITTED = {
    "SVC": SVC(),
    "NuSVC": NuSVC(nu=0.3),
    "SVR": absentia.SVR(),
    "OneClassSVM": absentia.OneClassSVM(),
    "LogisticRegression": absentia.LogisticRegression(),
    "KernelRidge": absentia.KernelRidge(),
    "GaussianProcessRegressor": GaussianProcessRegressor(),
    "GaussianProcessClassifier": absentia.GaussianProcessClassifier(),
    "LargeScaleRidge": absentia.LargeScaleRidge(n_components=16),
    "KernelPCA": absentia.KernelPCA(n_components=2),
    "GaussianDensity": GaussianDensity(),
    "FourierFeatures": FourierFeatures(n_components=8),
    "MarginalClassifier": absentia.MarginalClassifier(LogisticRegression()),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_file_that_lacks_a_fitted_attribute_is_refused_or_answers(name, tmp_path):
    model = clone(FITTED[name]).fit(table(), targets_of("classes"))
    part = model[-1] if name == "pipeline" else model
    refused = 0
    for attribute in [n for n in vars(part) if n.endswith("_")]:
        kept = vars(part).pop(attribute)
        save_unchecked(model, tmp_path / "lacking.abs")
        setattr(part, attribute, kept)
        damaged = pytest.raises(ValueError, match="is not a model file, or is damaged")
        try:
            again = load(tmp_path / "lacking.abs")
        except ValueError:
            with damaged:
                load(tmp_path / "lacking.abs")
            refused += 1
            continue
        for answer in ("predict", "transform", "score_samples"):
            if hasattr(again, answer):
                getattr(again, answer)(table())
    assert refused


@pytest.mark.parametrize("value", [None, "x", np.zeros((3, 3, 3)), np.zeros(0), [], {}, 10**40])
@pytest.mark.parametrize("attribute", ["dual_coef_", "intercept_", "kernel_", "beliefs_"])
def test_fitted_attributes_of_another_kind_are_refused(machine, tmp_path, attribute, value):
    setattr(machine, attribute, value)
    save_unchecked(machine, tmp_path / "odd.abs")
    with pytest.raises(ValueError, match="is damaged"):
        load(tmp_path / "odd.abs")


def test_a_wrapper_that_was_not_fitted_holds_a_fitted_model(machine, tmp_path):
    wrapper = absentia.MarginalClassifier(FrozenEstimator(machine))
    save(wrapper, tmp_path / "wrapper.abs")
    again = load(tmp_path / "wrapper.abs").estimator
    np.testing.assert_array_equal(again.predict(table()), machine.predict(table()))


def test_loading_leaves_random_numbers_as_they_are(tmp_path):
    features = FourierFeatures(n_components=8, random_state=np.random.RandomState(3)).fit(table())
    save(features, tmp_path / "features.abs")
    np.random.seed(7)
    again = load(tmp_path / "features.abs")
    drawn = np.random.rand()
    np.random.seed(7)
    assert drawn == np.random.rand()
    assert again.random_state.rand() == features.random_state.rand()


@pytest.mark.parametrize("verbose", [1, 100])
def test_loading_prints_nothing(tmp_path, capfd, verbose):
    forest = RandomForestClassifier(3, random_state=0, n_jobs=2)
    model = make_pipeline(SimpleImputer(), forest).fit(table(), targets_of("classes"))
    forest.verbose = verbose
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert capfd.readouterr() == ("", "")
    assert again[-1].verbose == verbose
    again.predict(table())
    assert capfd.readouterr() != ("", "")


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(3, random_state=0), SVC(), absentia.LogisticRegression()]
)
def test_classes_that_are_not_those_of_the_scores_are_refused(model, tmp_path):
    model.fit(np.nan_to_num(table()), targets_of("classes"))
    model.classes_ = np.append(model.classes_, 9)
    with pytest.raises(TypeError, match=r"load would refuse this model"):
        save(model, tmp_path / "model")


def test_loading_starts_no_processes(tmp_path):
    union = FeatureUnion([(str(k), SimpleImputer()) for k in range(4)])
    model = make_pipeline(union, LogisticRegression()).fit(table(), targets_of("classes"))
    union.n_jobs = 4
    save(model, tmp_path / "model")
    code = (
        "from joblib.externals.loky import reusable_executor; from absentia import load; "
        f"model = load({str(tmp_path / 'model')!r}); "
        "print(reusable_executor._executor, model[0].n_jobs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "4"]


@pytest.mark.parametrize("n_jobs", [513, -(10**6), "many", 2.5])
def test_numbers_of_processes_that_no_machine_has_are_refused(tmp_path, n_jobs):
    model = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0]], [0, 1])
    model.n_jobs = n_jobs
    with pytest.raises(TypeError, match="RandomForestClassifier with n_jobs="):
        save(model, tmp_path / "model")
    model.n_jobs = -1
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").n_jobs == -1
