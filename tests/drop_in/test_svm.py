"""scikit-learn's tests of its support vector machines, passed by absentia's."""

from drop_in.copies import collected, copy_of

_COPY = copy_of(
    "svm/tests/test_svm.py",
    {
        "from sklearn import base, datasets, linear_model, metrics, svm": (
            "from sklearn import base, datasets, linear_model, metrics\n"
            "from drop_in import stand_in_svm as svm"
        ),
        "from sklearn.svm import (": "from drop_in.stand_in_svm import (",
    },
)

_PROBABILITY = "probability is refused with a sentence: scikit-learn removes it in 1.11"
_PRIVATE = "looks at a private attribute of scikit-learn's machines"
_EXPECTED = {
    "test_custom_kernel_not_array_input": "a function as kernel compares rows of numbers",
    "test_gamma_scale": _PRIVATE,
    "test_hasattr_predict_proba": _PROBABILITY,
    "test_probability": _PROBABILITY,
    "test_probability_raises_futurewarning": _PROBABILITY,
    "test_sparse_fit_support_vectors_empty": "support vectors of a sparse matrix are dense means",
    "test_svc_nonfinite_params": "columns that spread over 1e307 are refused, by name",
    "test_svc_nusvc_probA_probB_deprecated": _PROBABILITY,
    "test_svc_raises_error_internal_representation": _PRIVATE,
    "test_svr_errors": "a matrix of the wrong shape is refused in fit, not in predict",
    "test_tweak_params": _PRIVATE,
}

globals().update(collected(_COPY, _EXPECTED))
