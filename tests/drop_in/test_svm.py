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

globals().update(collected(_COPY, {}))
