"""An adapter to R's own ``mice``, to compare ours with the original."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import field
from functools import cache
from pathlib import Path

import numpy as np

from absentia.parameters import RandomState, declared
from absentia.tables import FloatArray, TableLike
from lab.baselines.imputers.imputer import RandomImputer

# Arguments: folder, number of draws, iterations, method, seed. New rows are marked to be ignored
# when the equations are fitted (mice 3.12 and later), so that nothing leaks from them.
_SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
table <- read.csv(file.path(folder, "table.csv"), na.strings = "NA")
is_new <- scan(file.path(folder, "is_new.txt"), quiet = TRUE) == 1
suppressPackageStartupMessages(library(mice))
imputed <- mice(table, m = as.integer(arguments[2]), maxit = as.integer(arguments[3]),
                method = arguments[4], seed = as.integer(arguments[5]), ignore = is_new,
                printFlag = FALSE)
for (k in seq_len(as.integer(arguments[2]))) {
  completed <- complete(imputed, k)
  write.csv(completed, file.path(folder, paste0("draw", k, ".csv")), row.names = FALSE)
}
"""


@cache  # starting R takes a second, and what is installed does not change in between
def r_mice_is_available(rscript: str = "Rscript") -> bool:
    """Return whether R and its package ``mice`` (3.12 or later) can be called."""
    if shutil.which(rscript) is None:
        return False
    question = 'quit(status = !(requireNamespace("mice") && packageVersion("mice") >= "3.12"))'
    answer = subprocess.run([rscript, "-e", question], capture_output=True, check=False)
    return answer.returncode == 0


@declared
class RMiceImputer(RandomImputer):
    """Draw completed tables with the R package ``mice``.

    R is called as a program for each table; training rows go with new rows, and the new rows are
    ignored when the equations are fitted. That is inductive, and slow: every call runs the chains
    again. :class:`ChainedEquationsImputer` is the same idea in NumPy.

    Parameters
    ----------
    n_draws : int, default=5
    method : str, default="pmm"
        Of ``mice``: "pmm" (predictive mean matching), "norm", "cart", "rf", ...
    max_iter : int, default=5
        The default of ``mice``.
    rscript : str, default="Rscript"
        The program to call.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    training_rows_ : ndarray of shape (n_samples, n_features)
    seed_ : int

    Raises
    ------
    RuntimeError
        When R or its package ``mice`` cannot be called; what R wrote is in the message.

    Examples
    --------
    >>> from lab.baselines import RMiceImputer
    >>> imputer = RMiceImputer(n_draws=10, method="norm", random_state=0)
    """

    training_rows_: FloatArray = field(init=False)

    n_draws: int = field(default=5, kw_only=False)
    method: str = "pmm"
    max_iter: int = 5
    rscript: str = "Rscript"
    random_state: RandomState = None

    def draws(self, X: TableLike, n_draws: int | None = None) -> FloatArray:
        """Return several completions of the same rows, from one call of R."""
        return super().draws(X, self.n_draws if n_draws is None else n_draws)

    def _learn(self, table: FloatArray) -> dict[str, object]:
        if shutil.which(self.rscript) is None:
            raise RuntimeError(
                f"The program {self.rscript!r} was not found: install R and its package mice, or "
                "use ChainedEquationsImputer, which needs neither."
            )
        return {"training_rows_": table.copy(), "seed_": self._seed()}

    def _draw(self, table: FloatArray, n_draws: int, rng: np.random.RandomState) -> FloatArray:
        """Run ``mice`` on training rows and new rows; return the new rows of each draw."""
        both = np.vstack([self.training_rows_, table])
        n_training = len(self.training_rows_)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write_table(folder / "table.csv", both)
            (folder / "is_new.txt").write_text(
                "\n".join(["0"] * n_training + ["1"] * len(table)) + "\n"
            )
            (folder / "draw.R").write_text(_SCRIPT)
            script = [self.rscript, "--vanilla", str(folder / "draw.R"), str(folder)]
            command = script + [str(v) for v in (n_draws, self.max_iter, self.method, self.seed_)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(
                    f"R's mice failed (status {done.returncode}): {done.stderr.strip()[-500:]}"
                )
            drawn = np.stack([_read_table(folder / f"draw{k + 1}.csv") for k in range(n_draws)])
        drawn = drawn[:, n_training:]
        if drawn.shape[1:] != table.shape or np.isnan(drawn).any():
            raise RuntimeError(
                "R's mice left missing values, as for constant or collinear columns. Drop those, "
                "or use ChainedEquationsImputer, which regularises."
            )
        # Text has rounded what was observed; it is known exactly.
        return np.where(np.isnan(table), drawn, table)


def _write_table(path: Path, table: FloatArray) -> None:
    header = ",".join(f"x{j}" for j in range(table.shape[1]))
    lines = [",".join("NA" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
    path.write_text("\n".join([header, *lines]) + "\n")


def _read_table(path: Path) -> FloatArray:
    table: FloatArray = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    return table
