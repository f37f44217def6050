"""Table of scikit-learn's classes that a model file may hold, and of their attributes.

The kinds of attributes are in the words of :mod:`absentia.persistence.kinds`; in brackets are
groups of attributes that several classes have. ``tests/persistence/test_known_estimators.py`` fits
every class again, and fails when the table has too little or too much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.metrics import get_scorer, get_scorer_names

NUMPY_TYPES = tuple(np.dtype(code).type for code in "?bhilqBHILQefdU")
#: Types that a file may name as such: those of numbers and of text.
NUMBER_TYPES: frozenset[type] = frozenset({bool, float, int, str, *NUMPY_TYPES})
#: Functions that a file may name: metrics, and scores for the selection of columns.
FUNCTIONS: frozenset[Callable[..., Any]] = frozenset(
    [get_scorer(name)._score_func for name in get_scorer_names()]
    + [chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression]
)

#: Attributes that any estimator may have.
EVERY_ESTIMATOR = {
    "n_features_in_": "int",
    "feature_names_in_": "names",
    "_sklearn_output_config": "dict of str",
}

_GROUPS = """
_forest = estimator: estimator, estimator_: estimator, estimator_params: tuple of str,
    estimators_: list of trees, n_outputs_: int, _n_samples: int, _n_samples_bootstrap: int | none,
    _sample_weight: floats[1] | none, oob_score_: float
_boosted = _baseline_prediction: floats[2], _bin_mapper: _BinMapper, _feature_subsample_rng: rng,
    _fitted_with_sw: bool, _is_categorical_remapped: none, _n_features: int,
    _predictors: list of list of TreePredictor, _preprocessor: none, _random_seed: int,
    _scorer: none, _use_validation_data: bool, do_early_stopping_: bool, is_categorical_: none,
    n_trees_per_iteration_: int, train_score_: floats[1], validation_score_: floats[1]
_ada = estimator_: estimator, estimator_errors_: floats[1], estimator_params: tuple of str,
    estimator_weights_: floats[1], estimators_: list of estimator
_linear = coef_: floats[1] | floats[2], intercept_: float | floats[1]
_flat = coef_: floats[1], intercept_: float
_linear_classes = classes_: labels, coef_: floats[2], intercept_: floats[1]
_ridge_classes(_linear) = classes_: labels, _label_binarizer: LabelBinarizer
_search = _checked_cv_orig: splitter, best_estimator_: estimator, best_index_: int,
    best_params_: parameters, best_score_: float, cv_results_: results, multimetric_: bool,
    n_splits_: int, refit_time_: float, scorer_: _PassthroughScorer | _Scorer | dict of _Scorer
_encoder = categories_: list of integers[1]/floats[1]/texts[1]/objects[1],
    _infrequent_enabled: bool, _infrequent_indices: list of integers[1]/none,
    _default_to_infrequent_mappings: list of integers[1]/none
_reduced = components_: floats[2], explained_variance_: floats[1],
    explained_variance_ratio_: floats[1], singular_values_: floats[1]
_tree = tree_: Tree, max_features_: int, n_outputs_: int
_members = estimators_: list of estimator, named_estimators_: bunch of estimator/str
_stacked(_members) = _n_feature_outs: list of int, final_estimator_: estimator,
    stack_method_: list of method
_descent = dual_gap_: float | floats[1], n_iter_: int | list of int
_path = alpha_: float | int, dual_gap_: float, n_iter_: int
_several = classes_: labels | list of labels, n_classes_: int | list of int, n_outputs_: int
_folds = n_splits: int, shuffle: bool, random_state: int | none | rng
_shuffled = _default_test_size: float, n_splits: int, random_state: int | none | rng,
    test_size: int | float | none, train_size: int | float | none
"""

# Forests hand rows that they have checked to their trees: nothing else may stand there.
_ESTIMATORS = """
calibration.CalibratedClassifierCV = classes_: labels,
    calibrated_classifiers_: list of _CalibratedClassifier
compose.ColumnTransformer = _columns: list of selection, _remainder: step,
    _transformer_to_input_indices: dict of list of int, output_indices_: dict of slice,
    sparse_output_: bool, transformers_: list of step
compose.TransformedTargetRegressor = _training_dim: int, regressor_: estimator,
    transformer_: estimator
decomposition.PCA(_reduced) = _fit_svd_solver: str, mean_: floats[1], n_components_: int,
    n_samples_: int, noise_variance_: float
decomposition.TruncatedSVD(_reduced)
discriminant_analysis.LinearDiscriminantAnalysis(_linear_classes) = _max_components: int,
    _n_features_out: int, covariance_: floats[2], explained_variance_ratio_: floats[1],
    means_: floats[2], priors_: floats[1], scalings_: floats[2], xbar_: floats[1]
discriminant_analysis.QuadraticDiscriminantAnalysis = classes_: labels,
    covariance_: list of floats[2], means_: floats[2], priors_: floats[1],
    rotations_: list of floats[2], scalings_: list of floats[1]
dummy.DummyClassifier(_several) = _strategy: str, class_prior_: floats[1] | list of floats[1],
    sparse_output_: false
dummy.DummyRegressor = constant_: floats[2], n_outputs_: int
ensemble.AdaBoostClassifier(_ada) = classes_: labels, n_classes_: int
ensemble.AdaBoostRegressor(_ada)
ensemble.ExtraTreesClassifier(_forest) = classes_: labels | list of labels,
    n_classes_: int | list of int, oob_decision_function_: floats[2] | floats[3]
ensemble.ExtraTreesRegressor(_forest) = class_weight: none, oob_prediction_: floats[1] | floats[2]
ensemble.HistGradientBoostingClassifier(_boosted) = classes_: labels, _label_encoder: LabelEncoder
ensemble.HistGradientBoostingRegressor(_boosted)
ensemble.RandomForestClassifier(_forest) = classes_: labels | list of labels,
    n_classes_: int | list of int, oob_decision_function_: floats[2] | floats[3]
ensemble.RandomForestRegressor(_forest) = class_weight: none,
    oob_prediction_: floats[1] | floats[2]
ensemble.StackingClassifier(_stacked) = classes_: labels, _label_encoder: LabelEncoder
ensemble.StackingRegressor(_stacked) = stack_method: method
ensemble.VotingClassifier(_members) = classes_: labels, le_: LabelEncoder
ensemble.VotingRegressor(_members)
feature_selection.SelectKBest = scores_: floats[1], pvalues_: floats[1] | none
feature_selection.SelectPercentile = scores_: floats[1], pvalues_: floats[1] | none
feature_selection.VarianceThreshold = variances_: floats[1]
frozen.FrozenEstimator
impute.MissingIndicator = _n_features: int, _precomputed: bool, features_: integers[1]
impute.SimpleImputer = _fill_dtype: dtype, _fit_dtype: dtype, indicator_: MissingIndicator | none,
    statistics_: floats[1] | objects[1]
isotonic.IsotonicRegression = X_max_: float, X_min_: float, X_thresholds_: floats[1],
    increasing_: bool, y_thresholds_: floats[1]
linear_model.BayesianRidge(_flat) = X_offset_: floats[1], X_scale_: floats[1], alpha_: float,
    lambda_: float, n_iter_: int, scores_: floats[1] | list of float, sigma_: floats[2]
linear_model.ElasticNet(_linear, _descent)
linear_model.ElasticNetCV(_flat, _path) = alphas_: floats[1] | floats[2] | integers[1],
    l1_ratio_: float | int, mse_path_: floats[2] | floats[3]
linear_model.HuberRegressor(_flat) = n_iter_: int, outliers_: bools[1], scale_: float
linear_model.Lasso(_linear, _descent) = l1_ratio: float
linear_model.LassoCV(_flat, _path) = alphas_: floats[1] | integers[1], mse_path_: floats[2]
linear_model.LinearRegression(_linear) = rank_: int, singular_: floats[1]
linear_model.LogisticRegression(_linear_classes) = n_iter_: integers[1]
linear_model.LogisticRegressionCV(_linear_classes) = C_: float | floats[1] | int | integers[1],
    Cs_: floats[1] | integers[1], coefs_paths_: floats[5] | dict of floats[3]/floats[4],
    l1_ratio_: float | floats[1] | int | integers[1] | objects[1],
    l1_ratios_: floats[1] | integers[1] | objects[1], n_iter_: integers[3] | integers[4],
    scores_: floats[3] | dict of floats[2]/floats[3]
linear_model.Ridge(_linear) = n_iter_: integers[1] | none, solver_: str
linear_model.RidgeCV(_linear) = alpha_: float | int | floats[1], best_score_: float | floats[1],
    cv_results_: floats[2] | floats[3]
linear_model.RidgeClassifier(_ridge_classes) = n_iter_: integers[1] | none, solver_: str
linear_model.RidgeClassifierCV(_ridge_classes) = alpha_: float | int, alpha_per_target: bool,
    best_score_: float, cv_results_: floats[3], gcv_mode: none
model_selection.GridSearchCV(_search)
model_selection.RandomizedSearchCV(_search)
multiclass.OneVsRestClassifier = classes_: labels, estimators_: list of estimator,
    label_binarizer_: LabelBinarizer
naive_bayes.GaussianNB = classes_: labels, class_count_: floats[1], class_prior_: floats[1],
    epsilon_: float, theta_: floats[2], var_: floats[2]
pipeline.FeatureUnion
pipeline.Pipeline
preprocessing.FunctionTransformer
preprocessing.KBinsDiscretizer = _encoder: OneHotEncoder, bin_edges_: objects of floats[1],
    n_bins_: integers[1]
preprocessing.KernelCenterer = K_fit_all_: float, K_fit_rows_: floats[1]
preprocessing.LabelEncoder = classes_: labels
preprocessing.MaxAbsScaler = scale_: floats[1] | none, max_abs_: floats[1], n_samples_seen_: int
preprocessing.MinMaxScaler = scale_: floats[1] | none, data_max_: floats[1], data_min_: floats[1],
    data_range_: floats[1], min_: floats[1], n_samples_seen_: int
preprocessing.Normalizer
preprocessing.OneHotEncoder(_encoder) = _drop_idx_after_grouping: objects[1] | none,
    _n_features_outs: list of int, drop_idx_: objects[1] | none
preprocessing.OrdinalEncoder(_encoder) = _missing_indices: dict of int/none
preprocessing.PowerTransformer = _scaler: StandardScaler, lambdas_: floats[1]
preprocessing.QuantileTransformer = n_quantiles_: int, quantiles_: floats[2],
    references_: floats[1]
preprocessing.RobustScaler = scale_: floats[1] | none, center_: floats[1] | none
preprocessing.StandardScaler = scale_: floats[1] | none, mean_: floats[1] | none,
    n_samples_seen_: int | float | integers[1] | floats[1], var_: floats[1] | none
preprocessing.TargetEncoder = _infrequent_enabled: bool,
    categories_: list of integers[1]/floats[1]/texts[1]/objects[1], classes_: labels | none,
    encodings_: list of floats[1], target_mean_: float | floats[1], target_type_: str
svm.LinearSVC = classes_: labels, coef_: floats[2], intercept_: float | floats[1], n_iter_: int
svm.LinearSVR = coef_: floats[1], intercept_: float | floats[1], n_iter_: int
tree.DecisionTreeClassifier(_tree) = classes_: labels | list of labels,
    n_classes_: int | integers[1]
tree.DecisionTreeRegressor(_tree) = class_weight: none
tree.ExtraTreeClassifier(_tree) = classes_: labels | list of labels, n_classes_: int | integers[1]
tree.ExtraTreeRegressor(_tree) = class_weight: none
"""

# A binarizer of labels, say, writes beyond its arrays when it is given words where it knows
# numbers: parts are no models of their own.
_PARTS = """
calibration._CalibratedClassifier =
    calibrators: list of IsotonicRegression/_SigmoidCalibration/_TemperatureScaling,
    classes: labels, estimator: estimator, method: str
calibration._SigmoidCalibration = a_: float, b_: float
calibration._TemperatureScaling = beta_: float
ensemble._hist_gradient_boosting.binning._BinMapper = bin_thresholds_: list of floats[1],
    is_categorical_: integers[1], missing_values_bin_idx_: int, n_bins_non_missing_: integers[1]
ensemble._hist_gradient_boosting.predictor.TreePredictor = binned_left_cat_bitsets: integers[2],
    nodes: records[1], raw_left_cat_bitsets: integers[2]
metrics._scorer._PassthroughScorer = _estimator: estimator
metrics._scorer._Scorer = _kwargs: dict of none/bool/int/float/str,
    _response_method: method | tuple of method, _score_func: function, _sign: int
model_selection._split.GroupKFold(_folds)
model_selection._split.KFold(_folds)
model_selection._split.LeaveOneOut
model_selection._split.ShuffleSplit(_shuffled)
model_selection._split.StratifiedGroupKFold(_folds)
model_selection._split.StratifiedKFold(_folds)
model_selection._split.StratifiedShuffleSplit(_shuffled)
model_selection._split.TimeSeriesSplit(_folds) = gap: int, max_train_size: int | none,
    test_size: int | none
preprocessing._label.LabelBinarizer = classes_: labels, sparse_input_: false, y_type_: str
"""


def _parsed(table: str, groups: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the attributes and their kinds by class."""
    found: dict[str, dict[str, str]] = {}
    for line in table.strip().replace("\n    ", " ").split("\n"):
        head, _, body = line.partition(" = ")
        name, _, bases = head.removesuffix(")").partition("(")
        attributes: dict[str, str] = {}
        for base in bases.split(", ") if bases else ():
            attributes |= (groups | found)[base]
        found[name] = attributes | dict(item.split(": ") for item in body.split(", ") if item)
    return found


_groups = _parsed(_GROUPS, {})
#: Estimators that may stand wherever an estimator is expected, by their public name.
ESTIMATORS = _parsed(_ESTIMATORS, _groups)
#: Parts of estimators, which stand only where the kind of an attribute names them.
PARTS = _parsed(_PARTS, _groups)
