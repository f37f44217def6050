"""scikit-learn's tests of kernel ridge regression, passed by absentia's."""

from drop_in.copies import collected, copy_of

_COPY = copy_of(
    "tests/test_kernel_ridge.py",
    {"from sklearn.kernel_ridge import KernelRidge": "from absentia import KernelRidge"},
)

_EXPECTED = {
    "test_kernel_ridge_precomputed": "gamma is 'scale' by default and coef0 of 'poly' 0, as in SVC",
}

globals().update(collected(_COPY, _EXPECTED))
