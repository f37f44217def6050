"""absentia: kernel machines that learn from incomplete data without filling it in."""
# ruff: noqa: F403, F405

from importlib import import_module
from importlib.metadata import version as _installed_version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absentia import amputation
    from absentia.automatic import *
    from absentia.beliefs import *
    from absentia.decisions import *
    from absentia.densities import *
    from absentia.features import *
    from absentia.kernels import *
    from absentia.machines import *
    from absentia.missingness import *
    from absentia.optional_imports import *
    from absentia.persistence import *
    from absentia.predictions import *
    from absentia.recipe.comparison import *
    from absentia.reports.describing import *
    from absentia.reports.missingness_report import *
    from absentia.tables.column_plan import *
    from absentia.tables.encoder import *
    from absentia.tables.known_limits import *
    from absentia.tables.normal_scores import *
    from absentia.tables.streams import *

__all__ = [
    "AcquisitionPolicy",
    "AutoClassifier",
    "AutoRegressor",
    "Beliefs",
    "CategoryKernel",
    "Chunks",
    "ColumnPlan",
    "Comparison",
    "ConformalClassifier",
    "ConformalRegressor",
    "ConjugateGradientRidge",
    "DensityImputer",
    "EmbeddingRBF",
    "ExpectedDistanceRBF",
    "ExpectedLinear",
    "ExpectedPolynomial",
    "ExpectedRBF",
    "Explanation",
    "FourierFeatures",
    "GammaRBF",
    "GaussianDensity",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "GenRBF",
    "Kernel",
    "KernelKMeans",
    "KernelMatrix",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeCV",
    "LabelSpreading",
    "LargeScaleLogisticRegression",
    "LargeScaleRidge",
    "LargeScaleSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LowRankDensity",
    "MarginalClassifier",
    "MarginalRegressor",
    "MaskFeatures",
    "MaskKernel",
    "MissingnessReport",
    "MissingnessShiftWarning",
    "MixedDensity",
    "MixtureDensity",
    "NormalScores",
    "NotPositiveDefiniteWarning",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "OutlierDetector",
    "Patterns",
    "PooledEstimates",
    "RepairedMatrix",
    "RobustSVC",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "SpectralClustering",
    "SuspiciousCells",
    "TableEncoder",
    "Uncertainty",
    "__version__",
    "amputation",
    "bounded",
    "column_worth",
    "compare",
    "describe_missingness",
    "explain",
    "gram_blocks",
    "held_out_worth",
    "kernel_variance",
    "kernel_variance_diag",
    "load",
    "measure_next",
    "multiple_imputations",
    "pool",
    "pooled",
    "predict_uncertainty",
    "repair_psd",
    "save",
    "sensitivity",
    "show_versions",
    "suspicious_cells",
    "tipping_point",
]

#: Modules with the public names, in the order of the search.
_HOMES = (
    "machines",
    "predictions",
    "decisions",
    "automatic",
    "kernels",
    "features",
    "densities",
    "beliefs",
    "missingness",
    "tables.known_limits",
    "tables.column_plan",
    "tables.encoder",
    "tables.normal_scores",
    "tables.streams",
    "reports.describing",
    "reports.missingness_report",
    "recipe.comparison",
    "persistence",
    "optional_imports",
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``absentia --help`` is quick."""
    if name == "__version__":
        return _installed_version("absentia")
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"absentia.{home}")
            if name in module.__all__:
                globals()[name] = getattr(module, name)
                return globals()[name]
    if not name.startswith("_"):
        try:
            return import_module(f"absentia.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"absentia.{name}":
                raise
    raise AttributeError(f"module 'absentia' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
