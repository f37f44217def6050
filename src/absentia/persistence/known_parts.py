"""Parts of scikit-learn's estimators that a model file may hold, where an attribute names them.

Data alone, as in :mod:`absentia.persistence.known_estimators`. None of them is a model of its own
or a step of one: a binarizer of labels, say, writes beyond its arrays when it is given words where
it knows numbers.
"""

from __future__ import annotations

from absentia.persistence.known_estimators import LABELS

__all__ = ["PARTS"]

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

#: By private module and class: what stands only where the kind of an attribute names it.
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
            "classes": LABELS,
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
        "LabelBinarizer": {"classes_": LABELS, "sparse_input_": "false", "y_type_": "str"}
    },
}
