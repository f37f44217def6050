"""What must hold of beliefs before anything computes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from absentia.beliefs.priors.categories import check_codes
from absentia.beliefs.priors.covariances import CovarianceTable
from absentia.beliefs.priors.prior import Prior
from absentia.missingness import Patterns
from absentia.tables.normal_scores import Margins

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["check_columns", "check_parts"]


def check_parts(beliefs: Beliefs) -> None:
    """Raise ValueError unless all parts are about the same rows, columns and components."""
    kinds = {"patterns": Patterns, "covariances": CovarianceTable, "prior": Prior}
    for name, kind in kinds.items():
        beliefs._require_type(name, kind)
        getattr(beliefs, name).ensure_valid()
    beliefs._require_array("means", np.float64, (len(beliefs.patterns), None, None))
    n, k, d = beliefs.means.shape
    beliefs._require_array("log_weights", np.float64, (n, k))
    beliefs._require_array("group_of_row", np.intp, (n,))
    table, masks = beliefs.covariances, beliefs.patterns.masks
    beliefs._require_indices("group_of_row", table.n_groups)
    beliefs._require_finite("means")
    if np.isnan(beliefs.log_weights).any() or (beliefs.log_weights == np.inf).any():
        raise ValueError("Beliefs.log_weights must be finite or minus infinity.")
    columns = (masks.shape[1], table.n_features, beliefs.prior.n_features)
    if columns != (d, d, d) or not k or table.n_components != k:
        raise ValueError(
            f"Beliefs about {d} columns with {k} components have patterns, covariances and a "
            f"prior about {columns} columns, and covariances of {table.n_components}."
        )
    # The prior has as many as its weights; arrays without rows may say any number.
    if k not in (1, beliefs.prior.n_components):
        raise ValueError(f"Beliefs with {k} components, {beliefs.prior.n_components} in the prior.")
    table.validate_groups(beliefs.patterns, beliefs.group_of_row)
    if beliefs.codes is not None or beliefs.prior.probabilities:
        check_codes(beliefs.codes, n, beliefs.prior.n_categories)
    if beliefs.margins is not None:
        beliefs._require_type("margins", Margins)
        beliefs.margins.ensure_valid()
        if len(beliefs.margins.curves) != d:
            raise ValueError(f"Beliefs about {d} columns have margins of other columns.")


def check_columns(beliefs: Beliefs, estimator: BaseEstimator) -> None:
    """Raise ValueError unless there are as many columns as an estimator was trained with."""
    # Fewer than the table's where a column was missing in every row of training.
    expected = getattr(estimator, "_n_belief_columns", estimator.n_features_in_)
    if beliefs.n_features != expected:
        raise ValueError(
            f"X has {beliefs.n_features} features, but {type(estimator).__name__} is expecting "
            f"{expected} features as input: these beliefs are not about the columns of training."
        )
