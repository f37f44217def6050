"""scikit-learn's tests of Gaussian process regression, as far as they can apply.

The others search the hyperparameters of scikit-learn's kernel objects (``theta``, bounds,
gradients), or predict before ``fit``; here a kernel of scikit-learn is a function of two arrays
like any other.
"""

from drop_in.copies import collected, copy_of

_COPY = copy_of(
    "gaussian_process/tests/test_gpr.py",
    {"from sklearn.gaussian_process import": "from absentia import"},
)
_APPLICABLE = (
    "test_bound_check_fixed_hyperparameter",
    "test_gpr_predict_input_not_modified",
    "test_predict_cov_vs_std",
    "test_predict_shapes",
    "test_sample_statistics",
    "test_sample_y_shapes",
    "test_y_normalization",
    "test_gpr_predict_error",
)
_KEPT = "targets of shape (n, 1) come back with the shape they had, not flattened"
_EXPECTED = {
    f"test_{method}_shapes[1-{normalize}]": _KEPT
    for method in ("predict", "sample_y")
    for normalize in (True, False)
}

globals().update(collected(_COPY, _EXPECTED, _APPLICABLE))
