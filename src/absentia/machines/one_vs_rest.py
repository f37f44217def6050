"""Many classes by a machine that separates two: each class against all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from absentia.tables import FloatArray

__all__ = ["ClassCodes", "class_signs", "decided_classes"]


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """Class labels as columns of +1 and -1; a value that can be sent to other processes.

    Two classes make one column, in which the second class is +1, as scikit-learn has it; more
    classes make one column each, in which the class is +1 and all others are -1.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    weightless : ndarray or None
        Labels of rows that all have weight zero: coded like any, because nothing counts them.
    """

    classes: np.ndarray
    weightless: np.ndarray | None = None

    @property
    def n_scores(self) -> int:
        """The number of columns."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def __call__(self, y: ArrayLike) -> FloatArray:
        """Return the columns of some labels, (n_samples, n_scores)."""
        labels = np.asarray(y)
        index = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        unknown = self.classes[index] != labels
        if self.weightless is not None:
            unknown &= ~np.isin(labels, self.weightless)
        if unknown.any():
            raise ValueError(
                f"y has the class {labels[unknown][0]!r}, which is not among "
                f"{self.classes.tolist()}. Pass all classes at the first call of partial_fit."
            )
        codes = 2.0 * (index[:, None] == np.arange(len(self.classes))) - 1.0
        return codes[:, 1:] if len(self.classes) == 2 else codes


def class_signs(
    y: ArrayLike, sample_weight: FloatArray | None = None
) -> tuple[np.ndarray, FloatArray]:
    """Return the classes, and one column of +1 and -1 per problem of two.

    Classes all of whose rows have weight zero are left out.

    Examples
    --------
    >>> from absentia.machines.one_vs_rest import class_signs
    >>> class_signs(["no", "yes", "no"])
    (array(['no', 'yes'], dtype='<U3'), array([[-1.],
           [ 1.],
           [-1.]]))
    """
    every, labels = np.unique(y), np.asarray(y)
    classes = every if sample_weight is None else np.unique(labels[sample_weight > 0])
    return classes, ClassCodes(classes, np.setdiff1d(every, classes))(y)


def decided_classes(classes: np.ndarray, values: FloatArray) -> np.ndarray:
    """Return the class of each row from its decision function, of one column or of many."""
    if values.ndim == 1 or values.shape[1] == 1:
        decided: np.ndarray = classes[(values.reshape(len(values)) > 0).astype(np.intp)]
    else:
        decided = classes[np.argmax(values, axis=1)]
    return decided
