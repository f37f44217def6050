"""Shared parts of the docstrings of machines.

``@documented`` adds to the sections ``Parameters`` and ``Attributes`` of a class the entries of its
bases for what the docstring does not describe itself, and describes the parameters of methods that
do not. Sections without an entry of the class itself need not be written.
"""

from __future__ import annotations

import re
from dataclasses import field
from inspect import cleandoc, signature
from types import FunctionType
from typing import dataclass_transform

from absentia.parameters import Estimator, declared

#: The end of a section of a docstring, before the heading of the next one.
_SECTION = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-{4,}\n)")

#: Entries of parameters by the base class that has them; those of a subclass come before.
_PARAMETERS = {
    "BaseEstimator": """\
density : {"gaussian", "low-rank", "mixture", "mixed"} or density, default="gaussian"
    What the data could have been. It is cloned and fitted on the training rows only, and not
    used if rows come as :class:`~absentia.Beliefs`.
fit_intercept : bool, default=True
    Whether to add an intercept, which is not penalised.""",
    "KernelMachine": """\
kernel : str or Kernel, default="genrbf"
    The similarity of beliefs: ``"genrbf"``, ``"expected-rbf"``, ``"expected-linear"``,
    ``"expected-polynomial"``, ``"esd"`` or ``"egk"``; scikit-learn's ``"rbf"``, ``"linear"`` or
    ``"poly"`` for those that equal them on complete rows; or an object, which then brings its
    own ``gamma``.
gamma : float, array-like of shape (n_features,), "scale", "loo" or "loo-ard", default="scale"
    Width of the kernel: a positive number, or one per column; ``"scale"``, one over the trace of
    the data's covariance (the ``"scale"`` of scikit-learn also counts the differences between the
    means of the columns: the two agree on standardised columns only); ``"loo"``, where there are
    targets, chosen on the training rows by the closed-form leave-one-out error of kernel ridge
    regression; ``"loo-ard"``, one width per column by the same error.
mask_weight : float, array-like of shape (n_features,), "optimize" or None, default=None
    Multiply the kernel by :class:`~absentia.MaskKernel` with this weight, so that rows which
    miss the same columns are more alike; for data that are not missing at random. None and 0
    leave it out; ``"optimize"`` with ``gamma="loo-ard"`` chooses it along with the widths.
category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
    What a difference in a column of categories costs, if the density knows categories
    (``density="mixed"``) and the kernel compares them; see :class:`~absentia.CategoryKernel`.
n_jobs : int, default=None
    Threads for the Gram matrix; by default as many as BLAS would use.
shift : {"ignore", "warn", "error"}, default="ignore"
    What to do when new rows miss a column that no training row missed.
width_prior : float or "cv", default=0.3
    With one width per column: the deviation of the normal prior on the logarithms of the widths,
    around their mean. Zero is one width. ``"cv"`` replaces 0.3 by 0, 1 or 3 where that is clearly
    better in five folds, in each of which the widths are fitted anew. Columns should be in
    comparable units.
class_weight : dict, "balanced" or None, default=None
    Multiplies the loss of each class; ``"balanced"`` by one over its frequency, in which a row
    counts by its ``sample_weight``.""",
    "SupportVectorMachine": """\
C : float, default=1.0
    Penalty of errors; the smaller, the smoother.
decision_function_shape : {"ovr", "ovo"}, default="ovr"
    For more than two classes: one column per class, or per pair of classes.
break_ties : bool, default=False
    Whether ties in the votes of the pairs are broken by the decision function, at a small
    cost.
shrinking : bool, default=True
    Whether to use the shrinking heuristic of the solver.
tol : float, default=1e-3
    Tolerance of the solver's stopping rule, as in scikit-learn, for a kernel of about one. Kernels
    of other sizes are divided by their typical value first, and targets that vary by less than a
    tenth have a tolerance of a hundredth of that.
cache_size : float, default=200
    The solver's cache, in MB.
verbose : bool, default=False
    Whether the solver prints.
max_iter : int, default=-1
    Maximum number of steps of the solver. -1 stops after a hundred million (a hundred per row
    if that is more); a ``ConvergenceWarning`` comes then, and after five million steps.
degree : {2, 3}, default=3
    Of ``kernel="poly"``; ignored by the other kernels.
coef0 : float, default=0.0
    The constant of ``kernel="poly"``; ignored by the other kernels.
random_state : int, RandomState instance or None, default=None
    Draws the starting points of a density that is given by name.
probability : bool, default=False
    Not supported, since scikit-learn is removing it: True raises an error that names the
    alternatives.""",
    "LogisticSolver": """\
tol : float, default=1e-6
    Stop when the fitted function is this close to the best one, in the norm of the kernel's
    space; for kernels with ``k(x, x) = 1`` that bounds the error of every row's log-odds.
max_iter : int, default=100
    Maximum number of Newton steps.""",
    "GaussianProcess": """\
scale : float or "optimize", default="optimize"
    Variance of the process.
n_restarts_optimizer : int, default=0
    Further searches for the highest evidence, from random points within the bounds.
gamma_bounds : pair of float, default=(1e-4, 1e4)
    Where to look for ``gamma``, in multiples of ``gamma="scale"``.
random_state : int, RandomState instance or None, default=None
    For the restarts.
verbose : bool, default=False
    Whether to print the evidence at each step of the search; the logger ``"absentia"`` has it
    in any case.
kernel : str or Kernel, default="expected-rbf"
    The covariance of beliefs, by name or as an object. The name ``"expected-rbf"`` stands for
    ``ExpectedRBF(diagonal="same")`` here. An object brings its own ``gamma``: with
    ``gamma="optimize"`` the place where the search starts, with ``gamma="scale"`` kept as it is.
gamma : float, array-like of shape (n_features,), "optimize", "ard", "scale" or "loo", \
        default="optimize"
    Width of the kernel: a positive number, or one per column; ``"optimize"``, chosen by the
    evidence, wherever the kernel has a ``gamma``; ``"ard"``, one width per column by the evidence
    (automatic relevance determination), which ``width_prior`` holds together; ``"scale"``, one
    over the trace of the data's covariance; ``"loo"``, chosen by the closed-form leave-one-out
    error of kernel ridge regression.
mask_weight : float, array-like of shape (n_features,), "optimize" or None, default=None
    Multiply the kernel by :class:`~absentia.MaskKernel` with this weight, so that rows which
    miss the same columns are more alike; for data that are not missing at random.
    ``"optimize"`` lets the evidence decide whether missingness is informative.
category_weight : float, array-like of shape (n_category_columns,), "scale" or "optimize", \
        default="optimize"
    What a difference in a column of categories costs, where the density knows categories
    (``density="mixed"``); ``"optimize"``, one weight by the evidence, or, with ``gamma="ard"``,
    one for each column.""",
    "GramSearch": """\
Cs : sequence of float, default=(1/32, 1/8, ..., 512)
    Penalties to try.
gammas : int, sequence of float or None, default=7
    Widths to try; an integer is the number of steps of four around ``"scale"`` of all rows. None
    leaves the kernel as it is. Where ``kernel`` is an object, they go into the object.
mask_weights : sequence or None, default=None
    Weights of the mask kernel to try, each a number or an array; include 0 to see whether
    missingness is informative. None means no mask kernel.
category_weights : int, sequence or None, default=None
    Weights of categories to try, each a number, an array or ``"scale"``, where the density knows
    categories (``density="mixed"``); an integer is the number of steps of four around ``"scale"``.
    None leaves them at ``"scale"``, or as the kernel has them.
cv : int, splitter or iterable, default=5
    As in :class:`sklearn.model_selection.GridSearchCV`.
scoring : str, callable or None, default=None
    As there, for one score; None is the machine's own ``score``.
refit : bool, default=True
    Whether to fit the best machine to all rows; without it there is nothing to predict with.
progress : bool, default=False
    Whether to show a progress bar (needs tqdm: ``absentia[progress]``).
density : {"gaussian", "low-rank", "mixture", "mixed"} or density, default="gaussian"
    What the data could have been; fitted once, to all rows, without their targets.
kernel : str or Kernel, default="genrbf"
    The similarity of beliefs, by name or as an object.
n_jobs : int, default=None
    Threads over folds and gammas; by default as many as BLAS would use.""",
    "LargeScaleMachine": """\
features : {"fourier", "nystroem", "passthrough"} or transformer, default="fourier"
    How rows become features: :class:`FourierFeatures`, :class:`Nystroem`, the columns
    themselves (complete ones), or a transformer, which is cloned.
n_components : int, default=512
    The number of features, for those given by name.
gamma : float, array of shape (n_features,) or "scale", default="scale"
    Width of the kernel, for features given by name; an array has one per column.
metric : {"euclidean", "mahalanobis", "learned"} or array of shape (n_features, n_features), \
        default="euclidean"
    In which Fourier features measure distances. ``"learned"``: by the average outer product of
    the gradients of machines fitted to at most 20 000 rows, of which a quarter is held out to
    choose the best of up to four rounds, and the width along with it.
mask_weight : float, array of shape (n_features,) or None
    Multiplies the kernel with :class:`MaskKernel`, for features given by name.
category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
    What a difference in a column of categories costs, for features given by name and a density
    that knows categories (``density="mixed"``).
tol : float, default=1e-6
    L-BFGS stops when no entry of the gradient, per row and in the metric of the normal
    equations, is larger.
max_iter : int, default=200
    Maximum number of steps of L-BFGS.
cache_size : float, default=1000
    Megabytes up to which the features of a table in memory are kept between passes.
n_jobs : int, optional
    Threads; by default as many as BLAS would use.
random_state : int, RandomState or None
    Draws frequencies or landmarks.""",
    "_Clustering": """\
n_clusters : int, default=8
random_state : int, RandomState instance or None, default=None""",
}
#: The same of fitted attributes.
_ATTRIBUTES = {
    "KernelMachine": """\
density_ : density or None
    Fitted on the training rows; None after fitting on beliefs.
kernel_ : Kernel
    The kernel in use, with words such as ``"scale"`` resolved to numbers.
beliefs_ : Beliefs
    About the training rows that predictions need.
missing_rates_ : ndarray of shape (n_features,)
    Which part of the training rows missed each column.
n_features_in_ : int
    The number of columns.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where training rows came as a frame with names.""",
    "LogisticSolver": """\
dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
    The coefficients of the training rows, one function for two classes.
intercept_ : ndarray of shape (1,) or (n_classes,)
n_iter_ : ndarray of int, shape (1,)
    Newton steps taken.""",
    "RidgeMachine": """\
dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    The coefficients of the training rows.""",
    "_Clustering": """\
labels_ : ndarray of int, shape (n_samples,)
    The cluster of each training row.""",
    "ClassifierTargets": """\
classes_ : ndarray of shape (n_classes,)""",
    "SupportVectorMachine": """\
support_vectors_ : ndarray of shape (n_support, n_features)
    Their conditional means.
coef_ : ndarray
    The weights of the columns, for the linear kernel only.
support_ : ndarray of int, shape (n_support,)
    The training rows that are support vectors; ``beliefs_`` is about these.
n_support_ : ndarray of int
    How many there are, by class.
dual_coef_ : ndarray of shape (n_classes - 1, n_support)
    Their coefficients, as scikit-learn orders them; one row for regression and outliers.
intercept_ : ndarray
    The constants of the decision functions.
n_iter_ : int or ndarray of int
    Steps of the solver.
fit_status_ : int
    0 if the solver converged, 1 if not.""",
    "GramSearch": """\
cv_results_ : dict of arrays
    As in :class:`sklearn.model_selection.GridSearchCV`; the time of what several candidates
    shared is divided among them.
best_params_ : dict
    Parameters of the plain machine.
best_score_ : float
    Its mean score over the folds.
best_index_ : int
    Its place in ``cv_results_``.
best_estimator_ : the plain machine
    Fitted to all rows with these parameters.
n_splits_ : int
    The number of folds.""",
    "GaussianProcess": """\
theta_ : ndarray of shape (n_hyperparameters,)
    Their logarithms.
width_prior_ : float
    The deviation of the prior on log-widths, as given or chosen; zero for one width.""",
    "LargeScaleMachine": """\
features_ : fitted feature map
    A learned metric is its parameter ``metric``.
coef_ : ndarray of shape (n_scores, n_components)
    One score for two classes or one target, else one for each.
intercept_ : ndarray of shape (n_scores,)
n_iter_ : int
    Passes over the data after density and features were fitted.""",
}


_ROWS = "\n\nParameters\n----------\nX : array-like of shape (n_samples, n_features)"


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def documented(cls: Estimator) -> Estimator:
    """Declare the parameters of a machine, and fill in the shared parts of its docstring."""
    cls = declared(cls)
    introduction, *sections = _SECTION.split(cleandoc(cls.__doc__ or ""))
    known = {name for part in sections for entry in _entries(part) for name in entry.split(", ")}
    parameters, attributes = _inherited(cls, _PARAMETERS), _inherited(cls, _ATTRIBUTES)
    shared = {
        "Parameters": [parameters[name] for name in signature(cls).parameters if name not in known],
        "Attributes": [text for name, text in attributes.items() if name not in known],
    }
    for place, (title, texts) in enumerate(shared.items()):
        if not sections[place].startswith(title):
            sections.insert(place, f"{title}\n----------")
        sections[place] = "\n".join([sections[place], *texts])
    own = "\n\n".join([introduction, *sections])
    kernel = getattr(cls, "kernel", None)
    if isinstance(kernel, str):  # the default of a field
        own = re.sub(r'(kernel : str or Kernel, default=)"[^"]*"', rf'\1"{kernel}"', own)
    cls.__doc__ = own
    for base in cls.__mro__:
        if not base.__module__.startswith("absentia."):
            continue
        large = ".large_scale." in base.__module__
        kinds = ", Beliefs, Chunks, or Dask array or frame" if large else " or Beliefs"
        for member in vars(base).values():
            method = getattr(member, "fn", member)  # of methods that are there on a condition
            if isinstance(method, FunctionType) and _takes_rows_only(method):
                method.__doc__ = cleandoc(method.__doc__ or "") + _ROWS + kinds
    return cls


def _takes_rows_only(method: FunctionType) -> bool:
    code, text = method.__code__, method.__doc__ or ""
    alone = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] == ("self", "X")
    return alone and method.__name__[0] != "_" and bool(text) and "Parameters\n" not in text


def _entries(text: str) -> dict[str, str]:
    """Return the entries of parameters in a text by name, or by names with commas between them."""
    parts = re.split(r"\n(?=\S)", text)
    return {part.split(" :")[0]: part for part in parts if re.match(r"[\w, ]+ : ", part)}


def _inherited(cls: type, texts: dict[str, str]) -> dict[str, str]:
    """Return the entries of a class and its bases."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for name, text in _entries(texts.get(base.__name__, "")).items():
            found.setdefault(name, text)
    return found
