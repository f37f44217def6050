"""``python -m lab.studies.mixed prediction FOLDER out.csv`` (or ``searched``).

Names of tables after that run these tables only.
``python -m lab.studies.mixed report FOLDER OUT`` makes tables and a picture of these files.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from lab.studies.mixed import prediction, report


def main() -> None:
    """Write one line per result, as soon as it is there."""
    suite, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if suite == "report":
        report.write(folder, out)
        return
    suites = {"prediction": prediction.run, "searched": prediction.run_searched}
    tables = sys.argv[4:]
    lines = suites[suite](folder, tables) if tables else suites[suite](folder)
    with out.open("w", newline="") as file:
        writer = None
        for line in lines:
            if writer is None:
                writer = csv.DictWriter(file, list(line))
                writer.writeheader()
            writer.writerow(line)
            file.flush()


if __name__ == "__main__":
    main()
