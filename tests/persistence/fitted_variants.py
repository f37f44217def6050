"""Every scikit-learn class that a file may hold, fitted in the ways that change its attributes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn import (
    calibration,
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    feature_selection,
    frozen,
    impute,
    isotonic,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.utils.validation import has_fit_parameter

__all__ = ["fitted", "specimens"]

_RNG = np.random.default_rng(0)
#: No holes, some holes, whole numbers with a few values, words, and a frame.
X = _RNG.normal(size=(30, 3))
HOLES = np.where(_RNG.random(X.shape) < 0.3, np.nan, X)
COARSE = _RNG.integers(0, 3, size=X.shape).astype(float)
WORDS = np.array(["a", "b", "c"], dtype=object)[COARSE.astype(int)]
FRAME = pd.DataFrame(X, columns=["one", "two", "three"])
MIXED = pd.DataFrame({"word": WORDS[:, 0], "number": X[:, 1], "other": X[:, 2]})
#: Targets: two and three classes, words, truth values, two outputs, numbers.
TWO = np.arange(30) % 2
THREE = np.arange(30) % 3
NAMED = np.array(["lo", "mid", "hi"])[THREE]
NAMED_TWO = np.array(["lo", "hi"])[TWO]
TRUTH = TWO == 1
Y = X[:, 0] + 0.1 * _RNG.normal(size=30)
PAIR = np.column_stack([Y, -Y])
TWO_LABELS = np.column_stack([TWO, THREE])
CLASSES = (TWO, THREE, NAMED, NAMED_TWO, TRUTH, NAMED.astype(object), TWO.astype(float))

_LOGISTIC, _RIDGE = linear_model.LogisticRegression, linear_model.Ridge
_TREE = tree.DecisionTreeClassifier
_VOTERS = [("a", _LOGISTIC()), ("b", _TREE(max_depth=2))]
_NUMBERS = [("a", _RIDGE()), ("b", tree.DecisionTreeRegressor(max_depth=2))]


def specimens():
    """Yield pairs of an unfitted model and its data (one or two arrays)."""
    for scaler in (
        preprocessing.StandardScaler(),
        preprocessing.StandardScaler(with_mean=False),
        preprocessing.StandardScaler(with_std=False),
        preprocessing.MinMaxScaler(),
        preprocessing.MaxAbsScaler(),
        preprocessing.RobustScaler(),
        preprocessing.RobustScaler(with_centering=False, with_scaling=False),
        preprocessing.QuantileTransformer(n_quantiles=10),
        preprocessing.PowerTransformer(),
        preprocessing.PowerTransformer(standardize=False),
        preprocessing.FunctionTransformer(),
        impute.SimpleImputer(),
        impute.SimpleImputer(add_indicator=True),
        impute.MissingIndicator(),
        feature_selection.VarianceThreshold(),
    ):
        yield from ((scaler, (HOLES,)), (scaler, (FRAME,)))
    yield preprocessing.StandardScaler(), (X,)
    yield preprocessing.Normalizer(), (X,)
    yield preprocessing.Normalizer(), (FRAME,)
    yield impute.SimpleImputer(strategy="most_frequent"), (WORDS,)
    yield impute.SimpleImputer(strategy="constant", fill_value="?"), (WORDS,)
    yield impute.SimpleImputer(), (COARSE.astype(int),)
    yield from _encoders()
    yield from _reductions()
    yield from _linear_models()
    yield from _trees()
    yield from _composed()
    yield from _searches()


def _encoders():
    for encoder in (
        preprocessing.OneHotEncoder(),
        preprocessing.OneHotEncoder(drop="first", sparse_output=False),
        preprocessing.OneHotEncoder(drop="if_binary"),
        preprocessing.OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),
        preprocessing.OneHotEncoder(max_categories=2, drop="first"),
        preprocessing.OneHotEncoder(feature_name_combiner="concat", dtype=np.float32),
        preprocessing.OrdinalEncoder(),
        preprocessing.OrdinalEncoder(max_categories=2),
        preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        for rows in (
            COARSE,
            WORDS,
            WORDS.astype(str),
            MIXED[["word"]],
            np.where(HOLES > 0, np.nan, 1.0),
        ):
            yield encoder, (rows,)
    gaps = WORDS.copy()
    gaps[:3] = np.nan
    yield preprocessing.OrdinalEncoder(), (gaps,)
    yield preprocessing.OneHotEncoder(drop=["a", "b", "c"]), (WORDS,)
    for target in (TWO, NAMED, NAMED_TWO, Y):
        yield preprocessing.TargetEncoder(), (WORDS, target)
    yield preprocessing.TargetEncoder(), (COARSE, TRUTH)
    yield preprocessing.TargetEncoder(), (MIXED[["word"]], TWO)
    for encode in ("onehot", "ordinal"):
        for rows in (X, FRAME):
            yield (
                preprocessing.KBinsDiscretizer(
                    3, encode=encode, quantile_method="averaged_inverted_cdf"
                ),
                (rows,),
            )


def _reductions():
    for reduction in (
        decomposition.PCA(2),
        decomposition.PCA(0.9),
        decomposition.PCA("mle"),
        decomposition.TruncatedSVD(2),
    ):
        yield from ((reduction, (X,)), (reduction, (FRAME,)))
    for selection in (
        feature_selection.SelectKBest(k=2),
        feature_selection.SelectPercentile(percentile=50),
        feature_selection.SelectKBest(feature_selection.mutual_info_classif, k=2),
    ):
        yield from ((selection, (X, TWO)), (selection, (FRAME, TWO)))


def _linear_models():
    for model in (
        linear_model.LogisticRegression(),
        linear_model.LogisticRegression(fit_intercept=False, class_weight={0: 1.0, 1: 2.0}),
        linear_model.LogisticRegression(solver="liblinear"),
    ):
        yield model, (X, TWO)
    for model in (
        linear_model.LogisticRegression(),
        linear_model.LogisticRegressionCV(
            Cs=2, cv=2, scoring="neg_log_loss", use_legacy_attributes=False, l1_ratios=(0.0,)
        ),
        linear_model.LogisticRegressionCV(Cs=2, cv=2),
        linear_model.LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False),
        linear_model.LogisticRegressionCV(Cs=2, cv=2, l1_ratios=(0.0, 0.5), solver="saga"),
        linear_model.LogisticRegressionCV(Cs=[1, 10], cv=2, l1_ratios=(0,)),
        linear_model.LogisticRegressionCV(
            Cs=[1, 10], cv=2, l1_ratios=(0,), use_legacy_attributes=False
        ),
        linear_model.RidgeClassifier(),
        linear_model.RidgeClassifier(fit_intercept=False),
        linear_model.RidgeClassifierCV(),
        linear_model.RidgeClassifierCV(fit_intercept=False),
        svm.LinearSVC(),
        svm.LinearSVC(fit_intercept=False),
        discriminant_analysis.LinearDiscriminantAnalysis(),
        discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        discriminant_analysis.LinearDiscriminantAnalysis(store_covariance=True, priors=None),
        discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen"),
        discriminant_analysis.QuadraticDiscriminantAnalysis(),
        discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True),
        naive_bayes.GaussianNB(),
        multiclass.OneVsRestClassifier(_LOGISTIC()),
        dummy.DummyClassifier(),
        dummy.DummyClassifier(strategy="stratified"),
        dummy.DummyClassifier(strategy="uniform", random_state=0),
    ):
        for target in CLASSES:
            two = len(np.unique(target)) == 2
            if not (two and isinstance(model, multiclass.OneVsRestClassifier)):
                yield model, (X, target)
        yield model, (FRAME, THREE)
    yield linear_model.RidgeClassifier(), (X, np.column_stack([TWO, THREE == 0]).astype(int))
    yield linear_model.RidgeClassifierCV(store_cv_results=True), (X, THREE)
    yield dummy.DummyClassifier(strategy="constant", constant=1), (X, TWO)
    yield dummy.DummyClassifier(), (X, TWO_LABELS)
    for regressor in (
        linear_model.LinearRegression(),
        linear_model.LinearRegression(fit_intercept=False),
        linear_model.LinearRegression(positive=True),
        linear_model.Ridge(),
        linear_model.Ridge(solver="sag"),
        linear_model.RidgeCV(),
        linear_model.RidgeCV(store_cv_results=True),
        linear_model.RidgeCV(cv=2),
        linear_model.RidgeCV(cv=2, scoring="r2"),
        linear_model.Lasso(alpha=0.01),
        linear_model.ElasticNet(alpha=0.01),
        linear_model.LassoCV(cv=2),
        linear_model.ElasticNetCV(cv=2),
        linear_model.ElasticNetCV(cv=2, l1_ratio=[0.5, 0.9]),
        linear_model.BayesianRidge(),
        linear_model.BayesianRidge(compute_score=True),
        linear_model.HuberRegressor(),
        svm.LinearSVR(),
        dummy.DummyRegressor(),
        dummy.DummyRegressor(strategy="constant", constant=1.0),
        dummy.DummyRegressor(strategy="quantile", quantile=0.3),
    ):
        yield regressor, (FRAME, Y)
        yield regressor, (X, Y)
        several = (
            linear_model.LinearRegression,
            linear_model.Ridge,
            linear_model.RidgeCV,
            linear_model.Lasso,
            linear_model.ElasticNet,
            dummy.DummyRegressor,
        )
        if isinstance(regressor, several) and getattr(regressor, "constant", None) is None:
            yield regressor, (X, PAIR)
    yield linear_model.Lasso(alpha=0.01), (X, PAIR[:, :1])
    for options in ({}, {"out_of_bounds": "clip"}, {"increasing": "auto"}):
        yield isotonic.IsotonicRegression(**options), (X[:, 0], Y)
    for model in (  # whole numbers stay whole numbers
        linear_model.RidgeCV(alphas=[1, 10], cv=2),
        linear_model.LassoCV(alphas=[1, 10], cv=2),
        linear_model.ElasticNetCV(alphas=[1, 10], cv=2),
        linear_model.ElasticNetCV(alphas=[1, 10], l1_ratio=[1, 0.5], cv=2),
        linear_model.ElasticNetCV(l1_ratio=1, cv=2),
    ):
        yield model, (X, Y)
    yield linear_model.RidgeCV(alphas=[1, 10], alpha_per_target=True), (X, PAIR)
    yield linear_model.RidgeClassifierCV(alphas=[1, 10], cv=2), (X, TWO)


def _trees():
    for classifier in (
        tree.DecisionTreeClassifier(max_depth=2),
        tree.ExtraTreeClassifier(),
        ensemble.RandomForestClassifier(2),
        ensemble.ExtraTreesClassifier(2),
        ensemble.HistGradientBoostingClassifier(max_iter=2),
        ensemble.HistGradientBoostingClassifier(max_iter=2, early_stopping=True, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=2, early_stopping=True, scoring="loss"),
        ensemble.HistGradientBoostingClassifier(max_iter=2, class_weight="balanced"),
        ensemble.AdaBoostClassifier(n_estimators=2),
    ):
        for target in CLASSES:
            yield classifier, (X, target)
        yield classifier, (FRAME, THREE)
        several = not isinstance(
            classifier, ensemble.HistGradientBoostingClassifier | ensemble.AdaBoostClassifier
        )
        if several:
            yield classifier, (X, TWO_LABELS)
    for forest in (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier):
        judged = forest(3, bootstrap=True, oob_score=True, max_samples=0.5)
        yield from ((judged, (X, TWO)), (judged, (X, np.column_stack([TWO, 1 - TWO]))))
    for regressor in (
        tree.DecisionTreeRegressor(max_depth=2),
        tree.ExtraTreeRegressor(),
        ensemble.RandomForestRegressor(2, random_state=np.random.RandomState(0)),
        ensemble.RandomForestRegressor(3, oob_score=True),
        ensemble.ExtraTreesRegressor(2),
        ensemble.AdaBoostRegressor(n_estimators=2),
        ensemble.HistGradientBoostingRegressor(max_iter=2),
        ensemble.HistGradientBoostingRegressor(max_iter=2, early_stopping=True),
        ensemble.HistGradientBoostingRegressor(max_iter=2, loss="absolute_error"),
        ensemble.HistGradientBoostingRegressor(max_iter=2, loss="quantile", quantile=0.3),
        ensemble.HistGradientBoostingRegressor(max_iter=2, loss="poisson"),
        ensemble.HistGradientBoostingRegressor(max_iter=2, loss="gamma"),
        ensemble.HistGradientBoostingRegressor(max_iter=2, interaction_cst="no_interactions"),
        ensemble.HistGradientBoostingRegressor(max_iter=2, monotonic_cst=[1, 0, -1]),
    ):
        yield regressor, (FRAME, np.exp(Y))
        yield regressor, (X, np.exp(Y))
        if not isinstance(
            regressor, ensemble.HistGradientBoostingRegressor | ensemble.AdaBoostRegressor
        ):
            yield regressor, (X, PAIR)


def _composed():
    scaled = preprocessing.StandardScaler()
    hot = preprocessing.OneHotEncoder(handle_unknown="ignore")
    yield pipeline.make_pipeline(impute.SimpleImputer(), scaled, _LOGISTIC()), (HOLES, TWO)
    yield pipeline.Pipeline([("a", scaled), ("b", "passthrough"), ("c", None)]), (X,)
    for union in (
        pipeline.FeatureUnion([("a", scaled), ("b", preprocessing.Normalizer())]),
        pipeline.FeatureUnion([("a", scaled), ("b", "passthrough")], transformer_weights={"a": 2}),
    ):
        yield from ((union, (X,)), (union, (FRAME,)))
    for columns, rows in (
        ([("a", scaled, [1, 2]), ("b", hot, [0])], MIXED),
        ([("a", scaled, ["number", "other"]), ("b", hot, ["word"])], MIXED),
        ([("a", scaled, slice(0, 2)), ("b", "drop", [2])], X),
        ([("a", scaled, np.array([True, False, True])), ("b", "passthrough", [1])], X),
        ([("a", scaled, slice("one", "two"))], FRAME),
    ):
        for remainder in ("drop", "passthrough", preprocessing.FunctionTransformer()):
            yield compose.ColumnTransformer(columns, remainder=remainder), (rows,)
    voters = ensemble.VotingClassifier(_VOTERS, voting="soft")
    dropped = ensemble.VotingClassifier([*_VOTERS, ("c", "drop")])
    stacked = ensemble.StackingClassifier(_VOTERS, cv=2)
    kept = ensemble.StackingClassifier([("a", _LOGISTIC())], cv=2, passthrough=True)
    for model in (voters, dropped, stacked, kept):
        yield from ((model, (X, target)) for target in CLASSES)
        yield model, (FRAME, THREE)
    for model in (
        ensemble.VotingRegressor(_NUMBERS, weights=[1.0, 2.0]),
        ensemble.StackingRegressor(_NUMBERS, cv=2, final_estimator=_RIDGE()),
    ):
        yield from ((model, (X, Y)), (model, (FRAME, Y)))
    for method in ("sigmoid", "isotonic", "temperature"):
        for whole in (True, False):
            model = calibration.CalibratedClassifierCV(
                _LOGISTIC(), method=method, cv=2, ensemble=whole
            )
            yield from ((model, (X, target)) for target in (TWO, NAMED))
            yield model, (FRAME, THREE)
    for transformer in (None, scaled, preprocessing.QuantileTransformer(n_quantiles=10)):
        target = compose.TransformedTargetRegressor(_RIDGE(), transformer=transformer)
        yield from ((target, (X, Y)), (target, (FRAME, Y)), (target, (X, PAIR)))
    yield frozen.FrozenEstimator(_LOGISTIC().fit(X, TWO)), (X, TWO)


def _searches():
    grid = {"C": [1.0, 2.0], "class_weight": [None, "balanced"]}
    splits = (
        model_selection.KFold(2, shuffle=True, random_state=0),
        model_selection.StratifiedKFold(2),
        model_selection.ShuffleSplit(2),
        model_selection.StratifiedShuffleSplit(2),
        model_selection.TimeSeriesSplit(2),
    )
    for cv in (2, *splits):
        yield model_selection.GridSearchCV(_LOGISTIC(), grid, cv=cv), (X, TWO)
    alphas, error = {"alpha": [1, 2]}, "neg_mean_squared_error"
    single = model_selection.LeaveOneOut()
    yield model_selection.GridSearchCV(_RIDGE(), alphas, cv=single, scoring=error), (X, Y)
    for cv in (model_selection.GroupKFold(2), model_selection.StratifiedGroupKFold(2)):
        yield model_selection.GridSearchCV(_LOGISTIC(), grid, cv=cv), (X, TWO, {"groups": THREE})
    for scoring in ("f1", get_scorer("neg_log_loss"), None):
        yield model_selection.GridSearchCV(_LOGISTIC(), [grid], cv=2, scoring=scoring), (FRAME, TWO)
    several = ("accuracy", "roc_auc")
    yield (
        model_selection.GridSearchCV(_LOGISTIC(), grid, cv=2, scoring=several, refit="roc_auc"),
        (X, TWO),
    )
    yield (
        model_selection.GridSearchCV(_LOGISTIC(), grid, cv=2, scoring=several, refit=False),
        (X, TWO),
    )
    yield model_selection.RandomizedSearchCV(_LOGISTIC(), grid, n_iter=2, cv=2), (X, NAMED)
    yield (
        model_selection.RandomizedSearchCV(_LOGISTIC(), grid, n_iter=2, cv=2, scoring="f1"),
        (FRAME, TWO),
    )


def fitted():
    """Yield every specimen fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, data in specimens():
            *arrays, options = data if isinstance(data[-1], dict) else (*data, {})
            yield clone(model).fit(*arrays, **options)
            if has_fit_parameter(model, "sample_weight") and not options:
                yield clone(model).fit(*arrays, sample_weight=np.linspace(0.5, 1.5, 30))
