"""scikit-learn's tests of imputers, passed by absentia's."""

from drop_in.copies import collected, copy_of

_FROM = "from drop_in.stand_in_impute import "
_COMMON = copy_of(
    "impute/tests/test_common.py",
    {
        "from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer": _FROM
        + "IterativeImputer",
        "[IterativeImputer(tol=0.1), KNNImputer(), SimpleImputer()]": "[IterativeImputer()]",
        "return [SimpleImputer()]": "return []",
    },
)
_IMPUTE = copy_of(
    "impute/tests/test_impute.py",
    {
        "from sklearn.impute import IterativeImputer, KNNImputer": _FROM
        + "IterativeImputer, KNNImputer",
    },
)

_APPLICABLE = [
    "test_iterative_imputer_transform_stochasticity",
    "test_iterative_imputer_no_missing",
    "test_iterative_imputer_rank_one",
    "test_iterative_imputer_transform_recovery",
    "test_iterative_imputer_additive_matrix",
    "test_iterative_imputer_keep_empty_features",
    "test_knn_imputer_keep_empty_features",
    "test_imputer_without_indicator",
    "test_simple_imputation_inverse_transform",
    "test_simple_imputation_inverse_transform_exceptions",
    "test_imputer_transform_preserves_numeric_dtype",
    "test_simple_imputer_keep_empty_features",
    "test_iterative_imputer_no_empty_features",
    "test_iterative_imputer_with_empty_features",
    "test_iterative_imputer_missing_at_transform",
    "test_iterative_imputer_dont_set_random_state",
    "test_iterative_imputer_one_feature",
    "test_iterative_imputer_all_missing",
    "test_imputation_pipeline_grid_search",
]

_SPARSE = "sparse tables are refused: their zeros would be read as observed values"
_MODE = "the strategy is called 'mode'"
_WIDE = "a full covariance needs more rows than columns; density='low-rank' does not"
_EXPECTED = {
    "test_iterative_imputer_missing_at_transform[most_frequent]": _MODE,
    "test_iterative_imputer_one_feature[X0]": "there are no rounds to count",
    "test_iterative_imputer_one_feature[X1]": "there are no rounds to count",
    "test_iterative_imputer_all_missing": "nothing can be learned from a table without values",
    "test_imputation_pipeline_grid_search": _SPARSE,
    "test_iterative_imputer_rank_one": _WIDE,
    "test_iterative_imputer_transform_recovery": _WIDE,
    **{
        f"test_simple_imputer_keep_empty_features[{keep}-{strategy}-{array}]": (
            _SPARSE if array == "sparse" else _MODE
        )
        for keep in (True, False)
        for strategy, array in [
            ("mean", "sparse"),
            ("median", "sparse"),
            ("most_frequent", "sparse"),
            ("most_frequent", "array"),
        ]
    },
}

_TYPED = "columns of whole numbers keep their type, where scikit-learn returns fractions"
_EXPECTED |= {
    f"test_imputers_pandas_na_integer_array_support[{indicator}-DensityImputer]": _TYPED
    for indicator in (True, False)
}

globals().update(collected(_COMMON, {}))
globals().update(collected(_IMPUTE, {}, _APPLICABLE), EXPECTED_FAILURES=_EXPECTED)
