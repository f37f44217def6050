"""The classes of scikit-learn that a model file may hold, with the attributes that ``fit`` sets.

Data alone, in the words of :mod:`absentia.persistence.kinds`. A class or an attribute that is not
here is refused. ``tests/persistence/test_known_estimators.py`` fits every class again in the ways
that change its attributes, and fails when this table has too little or too much.
"""

from __future__ import annotations

__all__ = ["ESTIMATORS", "EVERY_ESTIMATOR", "PARTS"]

#: Classes of a target.
_LABELS = "bools[1] | integers[1] | floats[1] | texts[1] | objects[1]"
_SEVERAL_LABELS = f"{_LABELS} | list of {_LABELS.replace(' | ', '/')}"
_CATEGORIES = "list of integers[1]/floats[1]/texts[1]/objects[1]"
_SCALE = {"scale_": "floats[1] | none"}
_REDUCED = {
    "components_": "floats[2]",
    "explained_variance_": "floats[1]",
    "explained_variance_ratio_": "floats[1]",
    "singular_values_": "floats[1]",
}
_SCORES = {"scores_": "floats[1]"}
_LINEAR = {"coef_": "floats[1] | floats[2]", "intercept_": "float | floats[1]"}
_FLAT = {"coef_": "floats[1]", "intercept_": "float"}
_CLASSES = {"classes_": _LABELS}
_LINEAR_CLASSES = {**_CLASSES, "coef_": "floats[2]", "intercept_": "floats[1]"}
_DESCENT = {"dual_gap_": "float | floats[1]", "n_iter_": "int | list of int"}
_PATH = {"alpha_": "float | int", "dual_gap_": "float", "n_iter_": "int"}
_RIDGE_CLASSES = {
    **_CLASSES,
    "coef_": "floats[1] | floats[2]",
    "intercept_": "float | floats[1]",
    "_label_binarizer": "LabelBinarizer",
}
_SEVERAL = {"classes_": _SEVERAL_LABELS, "n_classes_": "int | list of int", "n_outputs_": "int"}
_TREE = {"tree_": "Tree", "max_features_": "int", "n_outputs_": "int"}
_TREE_CLASSES = {"classes_": _SEVERAL_LABELS, "n_classes_": "int | integers[1]"}
_FOREST = {
    "estimator": "estimator",
    "estimator_": "estimator",
    "estimator_params": "tuple of str",
    # Trees are given rows that the forest has checked: nothing else may stand here.
    "estimators_": "list of DecisionTreeClassifier/DecisionTreeRegressor/ExtraTreeClassifier/"
    "ExtraTreeRegressor",
    "n_outputs_": "int",
    "_n_samples": "int",
    "_n_samples_bootstrap": "int | none",
    "_sample_weight": "floats[1] | none",
    "oob_score_": "float",
}
_FOREST_CLASSES = {**_FOREST, **_SEVERAL, "oob_decision_function_": "floats[2] | floats[3]"}
_FOREST_NUMBERS = {**_FOREST, "class_weight": "none", "oob_prediction_": "floats[1] | floats[2]"}
_ADA = {
    "estimator_": "estimator",
    "estimator_errors_": "floats[1]",
    "estimator_params": "tuple of str",
    "estimator_weights_": "floats[1]",
    "estimators_": "list of estimator",
}
_BOOSTED = {
    "_baseline_prediction": "floats[2]",
    "_bin_mapper": "_BinMapper",
    "_feature_subsample_rng": "rng",
    "_fitted_with_sw": "bool",
    "_is_categorical_remapped": "none",
    "_n_features": "int",
    "_predictors": "list of list of TreePredictor",
    "_preprocessor": "none",
    "_random_seed": "int",
    "_scorer": "none",
    "_use_validation_data": "bool",
    "do_early_stopping_": "bool",
    "is_categorical_": "none",
    "n_trees_per_iteration_": "int",
    "train_score_": "floats[1]",
    "validation_score_": "floats[1]",
}
_MEMBERS = {"estimators_": "list of estimator", "named_estimators_": "bunch of estimator/str"}
_STACKED = {
    **_MEMBERS,
    "_n_feature_outs": "list of int",
    "final_estimator_": "estimator",
    "stack_method_": "list of method",
}
_CV = "KFold/StratifiedKFold/GroupKFold/StratifiedGroupKFold/LeaveOneOut/ShuffleSplit"
_SEARCH = {
    "_checked_cv_orig": f"{_CV}/StratifiedShuffleSplit/TimeSeriesSplit".replace("/", " | "),
    "best_estimator_": "estimator",
    "best_index_": "int",
    "best_params_": "parameters",
    "best_score_": "float",
    "cv_results_": "results",
    "multimetric_": "bool",
    "n_splits_": "int",
    "refit_time_": "float",
    "scorer_": "_PassthroughScorer | _Scorer | dict of _Scorer",
}
_ENCODER = {
    "categories_": _CATEGORIES,
    "_infrequent_enabled": "bool",
    "_infrequent_indices": "list of integers[1]/none",
    "_default_to_infrequent_mappings": "list of integers[1]/none",
}

#: Attributes that any estimator may have.
EVERY_ESTIMATOR = {
    "n_features_in_": "int",
    "feature_names_in_": "names",
    "_sklearn_version": "str",
    "_sklearn_output_config": "dict of str",
}

#: By public module and class: estimators that may stand wherever an estimator is expected.
ESTIMATORS: dict[str, dict[str, dict[str, str]]] = {
    "calibration": {
        "CalibratedClassifierCV": {
            **_CLASSES,
            "calibrated_classifiers_": "list of _CalibratedClassifier",
        }
    },
    "compose": {
        "ColumnTransformer": {
            "_columns": "list of selection",
            "_remainder": "columns",
            "_transformer_to_input_indices": "dict of list of int",
            "output_indices_": "dict of slice",
            "sparse_output_": "bool",
            "transformers_": "list of columns",
        },
        "TransformedTargetRegressor": {
            "_training_dim": "int",
            "regressor_": "estimator",
            "transformer_": "estimator",
        },
    },
    "decomposition": {
        "PCA": {
            **_REDUCED,
            "_fit_svd_solver": "str",
            "mean_": "floats[1]",
            "n_components_": "int",
            "n_samples_": "int",
            "noise_variance_": "float",
        },
        "TruncatedSVD": _REDUCED,
    },
    "discriminant_analysis": {
        "LinearDiscriminantAnalysis": {
            **_LINEAR_CLASSES,
            "_max_components": "int",
            "_n_features_out": "int",
            "covariance_": "floats[2]",
            "explained_variance_ratio_": "floats[1]",
            "means_": "floats[2]",
            "priors_": "floats[1]",
            "scalings_": "floats[2]",
            "xbar_": "floats[1]",
        },
        "QuadraticDiscriminantAnalysis": {
            **_CLASSES,
            "covariance_": "list of floats[2]",
            "means_": "floats[2]",
            "priors_": "floats[1]",
            "rotations_": "list of floats[2]",
            "scalings_": "list of floats[1]",
        },
    },
    "dummy": {
        "DummyClassifier": {
            **_SEVERAL,
            "_strategy": "str",
            "class_prior_": "floats[1] | list of floats[1]",
            "sparse_output_": "false",
        },
        "DummyRegressor": {"constant_": "floats[2]", "n_outputs_": "int"},
    },
    "ensemble": {
        "AdaBoostClassifier": {**_ADA, **_CLASSES, "n_classes_": "int"},
        "AdaBoostRegressor": _ADA,
        "ExtraTreesClassifier": _FOREST_CLASSES,
        "ExtraTreesRegressor": _FOREST_NUMBERS,
        "HistGradientBoostingClassifier": {
            **_BOOSTED,
            **_CLASSES,
            "_label_encoder": "LabelEncoder",
            "_loss": "HalfBinomialLoss | HalfMultinomialLoss",
        },
        "HistGradientBoostingRegressor": {
            **_BOOSTED,
            "_loss": "AbsoluteError | HalfGammaLoss | HalfPoissonLoss | HalfSquaredError"
            " | PinballLoss",
        },
        "RandomForestClassifier": _FOREST_CLASSES,
        "RandomForestRegressor": _FOREST_NUMBERS,
        "StackingClassifier": {**_STACKED, **_CLASSES, "_label_encoder": "LabelEncoder"},
        "StackingRegressor": {**_STACKED, "stack_method": "method"},
        "VotingClassifier": {**_MEMBERS, **_CLASSES, "le_": "LabelEncoder"},
        "VotingRegressor": _MEMBERS,
    },
    "feature_selection": {
        "SelectKBest": {**_SCORES, "pvalues_": "floats[1] | none"},
        "SelectPercentile": {**_SCORES, "pvalues_": "floats[1] | none"},
        "VarianceThreshold": {"variances_": "floats[1]"},
    },
    "frozen": {"FrozenEstimator": {}},
    "impute": {
        "MissingIndicator": {
            "_n_features": "int",
            "_precomputed": "bool",
            "features_": "integers[1]",
        },
        "SimpleImputer": {
            "_fill_dtype": "dtype",
            "_fit_dtype": "dtype",
            "indicator_": "MissingIndicator | none",
            "statistics_": "floats[1] | objects[1]",
        },
    },
    "isotonic": {
        "IsotonicRegression": {
            "X_max_": "float",
            "X_min_": "float",
            "X_thresholds_": "floats[1]",
            "increasing_": "bool",
            "y_thresholds_": "floats[1]",
        }
    },
    "linear_model": {
        "BayesianRidge": {
            **_FLAT,
            "X_offset_": "floats[1]",
            "X_scale_": "floats[1]",
            "alpha_": "float",
            "lambda_": "float",
            "n_iter_": "int",
            "scores_": "floats[1] | list of float",
            "sigma_": "floats[2]",
        },
        "ElasticNet": {**_LINEAR, **_DESCENT},
        "ElasticNetCV": {
            **_FLAT,
            **_PATH,
            "alphas_": "floats[1] | floats[2] | integers[1]",
            "l1_ratio_": "float | int",
            "mse_path_": "floats[2] | floats[3]",
        },
        "HuberRegressor": {**_FLAT, "n_iter_": "int", "outliers_": "bools[1]", "scale_": "float"},
        "Lasso": {**_LINEAR, **_DESCENT, "l1_ratio": "float"},
        "LassoCV": {
            **_FLAT,
            **_PATH,
            "alphas_": "floats[1] | integers[1]",
            "mse_path_": "floats[2]",
        },
        "LinearRegression": {**_LINEAR, "rank_": "int", "singular_": "floats[1]"},
        "LogisticRegression": {**_LINEAR_CLASSES, "n_iter_": "integers[1]"},
        "LogisticRegressionCV": {
            **_LINEAR_CLASSES,
            # Whole numbers where the user gave whole numbers.
            "C_": "float | floats[1] | int | integers[1]",
            "Cs_": "floats[1] | integers[1]",
            # One array, or one for each class.
            "coefs_paths_": "floats[5] | dict of floats[3]/floats[4]",
            "l1_ratio_": "float | floats[1] | int | integers[1] | objects[1]",
            "l1_ratios_": "floats[1] | integers[1] | objects[1]",
            "n_iter_": "integers[3] | integers[4]",
            "scores_": "floats[3] | dict of floats[2]/floats[3]",
        },
        "Ridge": {**_LINEAR, "n_iter_": "integers[1] | none", "solver_": "str"},
        "RidgeCV": {
            **_LINEAR,
            "alpha_": "float | int | floats[1]",
            "best_score_": "float | floats[1]",
            "cv_results_": "floats[2] | floats[3]",
        },
        "RidgeClassifier": {**_RIDGE_CLASSES, "n_iter_": "integers[1] | none", "solver_": "str"},
        "RidgeClassifierCV": {
            **_RIDGE_CLASSES,
            "alpha_": "float | int",
            "alpha_per_target": "bool",
            "best_score_": "float",
            "cv_results_": "floats[3]",
            "gcv_mode": "none",
        },
    },
    "model_selection": {"GridSearchCV": _SEARCH, "RandomizedSearchCV": _SEARCH},
    "multiclass": {
        "OneVsRestClassifier": {
            **_CLASSES,
            "estimators_": "list of estimator",
            "label_binarizer_": "LabelBinarizer",
        }
    },
    "naive_bayes": {
        "GaussianNB": {
            **_CLASSES,
            "class_count_": "floats[1]",
            "class_prior_": "floats[1]",
            "epsilon_": "float",
            "theta_": "floats[2]",
            "var_": "floats[2]",
        }
    },
    "pipeline": {"FeatureUnion": {}, "Pipeline": {}},
    "preprocessing": {
        "FunctionTransformer": {},
        "KBinsDiscretizer": {
            "_encoder": "OneHotEncoder",
            "bin_edges_": "objects of floats[1]",
            "n_bins_": "integers[1]",
        },
        "KernelCenterer": {"K_fit_all_": "float", "K_fit_rows_": "floats[1]"},
        "LabelEncoder": _CLASSES,
        "MaxAbsScaler": {**_SCALE, "max_abs_": "floats[1]", "n_samples_seen_": "int"},
        "MinMaxScaler": {
            **_SCALE,
            "data_max_": "floats[1]",
            "data_min_": "floats[1]",
            "data_range_": "floats[1]",
            "min_": "floats[1]",
            "n_samples_seen_": "int",
        },
        "Normalizer": {},
        "OneHotEncoder": {
            **_ENCODER,
            "_drop_idx_after_grouping": "objects[1] | none",
            "_n_features_outs": "list of int",
            "drop_idx_": "objects[1] | none",
        },
        "OrdinalEncoder": {**_ENCODER, "_missing_indices": "dict of int/none"},
        "PowerTransformer": {"_scaler": "StandardScaler", "lambdas_": "floats[1]"},
        "QuantileTransformer": {
            "n_quantiles_": "int",
            "quantiles_": "floats[2]",
            "references_": "floats[1]",
        },
        "RobustScaler": {**_SCALE, "center_": "floats[1] | none"},
        "StandardScaler": {
            **_SCALE,
            "mean_": "floats[1] | none",
            "n_samples_seen_": "int | float | integers[1] | floats[1]",
            "var_": "floats[1] | none",
        },
        "TargetEncoder": {
            "_infrequent_enabled": "bool",
            "categories_": _CATEGORIES,
            "classes_": f"{_LABELS} | none",
            "encodings_": "list of floats[1]",
            "target_mean_": "float | floats[1]",
            "target_type_": "str",
        },
    },
    "svm": {
        "LinearSVC": {**_LINEAR_CLASSES, "intercept_": "float | floats[1]", "n_iter_": "int"},
        "LinearSVR": {"coef_": "floats[1]", "intercept_": "float | floats[1]", "n_iter_": "int"},
    },
    "tree": {
        "DecisionTreeClassifier": {**_TREE, **_TREE_CLASSES},
        "DecisionTreeRegressor": {**_TREE, "class_weight": "none"},
        "ExtraTreeClassifier": {**_TREE, **_TREE_CLASSES},
        "ExtraTreeRegressor": {**_TREE, "class_weight": "none"},
    },
}


_FOLDS = {"n_splits": "int", "shuffle": "bool", "random_state": "int | none | rng"}
_SHUFFLED = {
    "_default_test_size": "float",
    "n_splits": "int",
    "random_state": "int | none | rng",
    "test_size": "int | float | none",
    "train_size": "int | float | none",
}
_LOSS = {
    "approx_hessian": "bool",
    "constant_hessian": "bool",
    "device": "none",
    "interval_y_pred": "Interval",
    "interval_y_true": "Interval",
    "n_classes": "int | none",
    "xp": "none",
}

#: Parts of estimators by private module and class. They are no models of their own and may stand
#: only where the kind of an attribute names them: a binarizer of labels, say, writes beyond its
#: arrays when it is given words where it knows numbers.
PARTS: dict[str, dict[str, dict[str, str]]] = {
    "sklearn._loss.link": {
        "IdentityLink": {},
        "Interval": {
            "high": "int | float",
            "high_inclusive": "bool",
            "low": "int | float",
            "low_inclusive": "bool",
        },
        "LogLink": {},
        "LogitLink": {},
        "MultinomialLogit": {},
    },
    "sklearn._loss.loss": {
        "AbsoluteError": {**_LOSS, "closs": "CyAbsoluteError", "link": "IdentityLink"},
        "HalfBinomialLoss": {**_LOSS, "closs": "CyHalfBinomialLoss", "link": "LogitLink"},
        "HalfGammaLoss": {**_LOSS, "closs": "CyHalfGammaLoss", "link": "LogLink"},
        "HalfMultinomialLoss": {
            **_LOSS,
            "class_indexing_offsets": "none",
            "closs": "CyHalfMultinomialLoss",
            "link": "MultinomialLogit",
            "y_true_int": "none",
            "y_true_one_hot": "none",
        },
        "HalfPoissonLoss": {**_LOSS, "closs": "CyHalfPoissonLoss", "link": "LogLink"},
        "HalfSquaredError": {**_LOSS, "closs": "CyHalfSquaredError", "link": "IdentityLink"},
        "PinballLoss": {**_LOSS, "closs": "CyPinballLoss", "link": "IdentityLink"},
    },
    "sklearn.calibration": {
        "_CalibratedClassifier": {
            "calibrators": "list of IsotonicRegression/_SigmoidCalibration/_TemperatureScaling",
            "classes": _LABELS,
            "estimator": "estimator",
            "method": "str",
        },
        "_SigmoidCalibration": {"a_": "float", "b_": "float"},
        "_TemperatureScaling": {"beta_": "float"},
    },
    "sklearn.ensemble._hist_gradient_boosting.binning": {
        "_BinMapper": {
            "bin_thresholds_": "list of floats[1]",
            "is_categorical_": "integers[1]",
            "missing_values_bin_idx_": "int",
            "n_bins_non_missing_": "integers[1]",
        }
    },
    "sklearn.ensemble._hist_gradient_boosting.predictor": {
        "TreePredictor": {
            "binned_left_cat_bitsets": "integers[2]",
            "nodes": "records[1]",
            "raw_left_cat_bitsets": "integers[2]",
        }
    },
    "sklearn.metrics._scorer": {
        "_PassthroughScorer": {"_estimator": "estimator"},
        "_Scorer": {
            "_kwargs": "dict of none/bool/int/float/str",
            "_response_method": "method | tuple of method",
            "_score_func": "function",
            "_sign": "int",
        },
    },
    "sklearn.model_selection._split": {
        "GroupKFold": _FOLDS,
        "KFold": _FOLDS,
        "LeaveOneOut": {},
        "ShuffleSplit": _SHUFFLED,
        "StratifiedGroupKFold": _FOLDS,
        "StratifiedKFold": _FOLDS,
        "StratifiedShuffleSplit": _SHUFFLED,
        "TimeSeriesSplit": {
            **_FOLDS,
            "gap": "int",
            "max_train_size": "int | none",
            "test_size": "int | none",
        },
    },
    "sklearn.preprocessing._label": {
        "LabelBinarizer": {"classes_": _LABELS, "sparse_input_": "false", "y_type_": "str"}
    },
}
