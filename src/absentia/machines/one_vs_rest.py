"""Many classes by a machine that tells two apart: each class against all the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from absentia.tables import FloatArray

__all__ = ["class_signs", "decided_classes"]


def class_signs(y: Any) -> tuple[np.ndarray, FloatArray]:
    """Return the classes, and one column of +1 and -1 to each problem of two.

    Two classes make one problem, in which the second class is +1, as scikit-learn has it; more
    classes make one problem each, in which the class is +1 and all others are -1.

    Examples
    --------
    >>> from absentia.machines.one_vs_rest import class_signs
    >>> class_signs(["no", "yes", "no"])
    (array(['no', 'yes'], dtype='<U3'), array([[-1.],
           [ 1.],
           [-1.]]))
    """
    classes, index = np.unique(y, return_inverse=True)
    signs = 2.0 * np.eye(len(classes))[index] - 1.0
    return classes, signs[:, 1:] if len(classes) == 2 else signs


def decided_classes(classes: np.ndarray, values: FloatArray) -> np.ndarray:
    """Return the class of each row from its decision function, of one column or of many."""
    if values.ndim == 1:
        decided: np.ndarray = classes[(values > 0).astype(np.intp)]
    else:
        decided = classes[np.argmax(values, axis=1)]
    return decided
