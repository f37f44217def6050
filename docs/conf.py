"""How the documentation is built: ``make docs``, with warnings as errors and without network."""

from __future__ import annotations

import logging
import re
import sys
import zlib
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path

import absentia

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_style
logging.getLogger("absentia").setLevel(logging.WARNING)  # progress is no part of an example

project = "absentia"
author = "The absentia developers"
copyright = "the absentia developers"
version = release = installed_version("absentia")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx-mathjax-offline",  # MathJax comes with the pages, not from a server
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# Tables that the pages of results include are no pages of their own.
exclude_patterns = [
    "_build",
    "_templates",
    "README.md",
    "results/*/*.md",
    "examples",
    "tutorials",
]
templates_path = ["_templates"]
html_theme = "furo"
html_title = "absentia"
html_search_scorer = str(Path(__file__).with_name("search_order.js"))

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False  # a page lists what its module calls public, no more
autosummary_imported_members = True
autodoc_default_options = {"show-inheritance": False}
autodoc_typehints = "none"  # numpydoc's sections say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc shows them, in the order of the source

# The index of the API: the public names by stage, in the order in which data passes through them.
_STAGES = {
    "Tables": ("tables.encoder", "tables.streams"),
    "What is missing": ("missingness", "reports.describing", "reports.missingness_report"),
    "Densities": ("densities",),
    "Beliefs": ("beliefs",),
    "Kernels": ("kernels",),
    "Features": ("features",),
    "Machines": ("machines",),
    "Predictions": ("predictions",),
    "Decisions": ("decisions",),
    "Comparison of methods": ("recipe.comparison",),
    "Model files": ("persistence",),
}
_MODULES = ("amputation", "reports.little")


def _write_api_index() -> None:
    """Write ``api/index.rst``: every public name under its stage, with its first sentence."""

    def listing(title: str, names: list[str]) -> list[str]:
        head = [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated"]
        return [*head, "   :nosignatures:", "", *(f"   {name}" for name in names), ""]

    lines = ["API", "===", "", "Everything here can be imported from ``absentia``.", ""]
    lines += [".. currentmodule:: absentia", ""]
    left = [name for name in absentia.__all__ if name not in ("__version__", *_MODULES)]
    for title, homes in _STAGES.items():
        public = {name for home in homes for name in import_module(f"absentia.{home}").__all__}
        lines += listing(title, [name for name in left if name in public])
        left = [name for name in left if name not in public]
    if left:
        lines += listing("Other names", left)
    lines += listing("Modules", list(_MODULES))
    path = Path(__file__).parent / "api" / "index.rst"
    path.parent.mkdir(exist_ok=True)
    text = "\n".join(lines)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


_write_api_index()

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Examples are run in the build; one that fails, fails the build.
sphinx_gallery_conf = {
    "examples_dirs": ["examples", "tutorials"],
    "gallery_dirs": ["gallery", "lessons"],
    "reset_modules": ("matplotlib", "gallery_style.set_style"),
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 20,
    "write_computation_times": False,
    "remove_config_comments": True,
    "within_subsection_order": "ExampleTitleSortKey",
}

# Where names of other libraries lead. An inventory is small when it holds only what is referred
# to, and then it need not be fetched: the documentation builds without network. A name that is
# not listed is shown without a link.
_ELSEWHERE = {
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/{name}.html#{name}",
        {
            "class": """
                sklearn.base.BaseEstimator sklearn.calibration.CalibratedClassifierCV
                sklearn.compose.ColumnTransformer
                sklearn.ensemble.HistGradientBoostingClassifier
                sklearn.ensemble.HistGradientBoostingRegressor
                sklearn.gaussian_process.GaussianProcessClassifier
                sklearn.gaussian_process.GaussianProcessRegressor
                sklearn.impute.IterativeImputer sklearn.impute.KNNImputer
                sklearn.impute.SimpleImputer sklearn.kernel_approximation.Nystroem
                sklearn.kernel_approximation.RBFSampler sklearn.kernel_ridge.KernelRidge
                sklearn.linear_model.LogisticRegression sklearn.linear_model.SGDClassifier
                sklearn.mixture.GaussianMixture
                sklearn.model_selection.GridSearchCV sklearn.pipeline.Pipeline
                sklearn.preprocessing.OneHotEncoder sklearn.preprocessing.StandardScaler
                sklearn.preprocessing.TargetEncoder sklearn.svm.NuSVC sklearn.svm.NuSVR
                sklearn.svm.OneClassSVM sklearn.svm.SVC sklearn.svm.SVR
            """,
            "function": """
                sklearn.base.clone sklearn.model_selection.cross_val_score
                sklearn.metrics.pairwise.linear_kernel
                sklearn.metrics.pairwise.polynomial_kernel sklearn.metrics.pairwise.rbf_kernel
                sklearn.pipeline.make_pipeline
            """,
            "exception": "sklearn.exceptions.ConvergenceWarning",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/{name}.html#{name}",
        {"class": "numpy.ndarray", "function": "numpy.cov numpy.unique"},
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{name}.html#{name}",
        {"function": "scipy.linalg.cholesky scipy.optimize.minimize"},
    ),
}


def _inventory(library: str, page: str, names_by_role: dict[str, str]) -> str:
    """Write the inventory of a library, and return where it is."""
    lines = [
        f"{name} py:{role} 1 {page.format(name=name)} -\n"
        for role, names in names_by_role.items()
        for name in names.split()
    ]
    head = f"# Sphinx inventory version 2\n# Project: {library}\n# Version: stable\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    path = Path(__file__).parent / "_build" / "inventories" / f"{library}.inv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
    return str(path)


intersphinx_mapping = {
    library: (base, _inventory(library, page, names))
    for library, (base, page, names) in _ELSEWHERE.items()
}


def _skip_plumbing(app, what, name, thing, skip, options):
    """Leave out what scikit-learn's metadata routing adds to every estimator."""
    return True if name.startswith("set_") and name.endswith("_request") else skip


_FITTED_NAME = re.compile(r"(?<![\w`*\\])([A-Za-z]\w*)_(?!\w)")


def _spare_fitted_names(app, what, name, thing, options, lines):
    """Let ``shape (n_features_in_,)`` be text: in reStructuredText it would be a link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`+[^`]*`+)", line)  # every other one is in backticks
            parts[::2] = [_FITTED_NAME.sub(r"\1\_", text) for text in parts[::2]]
            lines[i] = "".join(parts)


def setup(app):
    """Register what this project adds to Sphinx."""
    # After numpydoc, which reads the sections of the docstring as they were written.
    app.connect("autodoc-process-docstring", _spare_fitted_names, priority=900)
    app.connect("autodoc-skip-member", _skip_plumbing)
