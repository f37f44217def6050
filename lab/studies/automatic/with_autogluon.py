"""AutoGluon on the rows of a folder; run by ``rivals`` with an interpreter that has it.

No neural networks (they need torch) and one thread; the preset's bagging runs in this process.
AutoGluon's clock counts processor time, so that its limit does not depend on who else computes.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd


def main(folder: Path) -> None:
    """Read rows and what is asked, and write answers."""
    begun = time.time()
    time.time = lambda: begun + time.process_time()  # before AutoGluon is imported
    from autogluon.tabular import TabularPredictor

    asked = json.loads((folder / "asked.json").read_text())
    with np.load(folder / "rows.npz") as found:
        rows = {name: found[name] for name in found}
    numbers, n_classes = asked["n_classes"] is None, asked["n_classes"]
    frames = [pd.DataFrame(rows[name]).add_prefix("c") for name in ("table", "first", "second")]
    problem = "regression" if numbers else "binary" if n_classes == 2 else "multiclass"
    started = time.process_time()
    predictor = TabularPredictor(
        "y", problem, "rmse" if numbers else "log_loss", path=str(folder / "model"), verbosity=0
    ).fit(
        frames[0].assign(y=rows["y"]),
        presets="best_quality",
        time_limit=asked["seconds"],
        num_cpus=1,
        excluded_model_types=["NN_TORCH", "FASTAI"],
        dynamic_stacking=False,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
    )

    def answer(frame: pd.DataFrame) -> np.ndarray:
        if numbers:
            return predictor.predict(frame).to_numpy(float)[:, None]
        return predictor.predict_proba(frame).reindex(columns=range(n_classes)).fillna(0).to_numpy()

    plain = [answer(frame) for frame in frames[1:]]
    seconds = time.process_time() - started
    own = predictor.predict_oof() if numbers else predictor.predict_proba_oof()
    out_of_fold = own.to_numpy(float).reshape(len(rows["y"]), -1)
    np.savez(folder / "answers.npz", out_of_fold=out_of_fold, plain=plain, seconds=seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
