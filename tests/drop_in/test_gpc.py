"""scikit-learn's tests of Gaussian process classification, as far as they can apply.

The others search the hyperparameters of scikit-learn's kernel objects (``theta``, bounds,
gradients), or predict before ``fit``; here a kernel of scikit-learn is a function of two arrays
like any other.
"""

from drop_in.copies import collected, copy_of

_COPY = copy_of(
    "gaussian_process/tests/test_gpc.py",
    {"from sklearn.gaussian_process import": "from absentia import"},
)
_APPLICABLE = (
    "test_gpc_latent_mean_and_variance_shape",
    "test_multi_class",
    "test_multi_class_n_jobs",
    "test_predict_consistent",
)
_EXPECTED: dict[str, str] = {}

globals().update(collected(_COPY, _EXPECTED, _APPLICABLE))
