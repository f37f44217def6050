# Everything a newcomer needs is `make demo` and `make test`. Each builds .venv on its first run
# (and again only when pyproject.toml changes) and works offline from then on.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo test test-fast fuzz bench docs dist format recompile clean

demo: $(VENV)/.ready-demo
	$(RUN)/python -m lab.demo

# The loops are compiled beside the check of types, or each process of the tests would compile them.
test: $(VENV)/.ready-dev
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/codespell
	$(RUN)/absentia warmup & $(RUN)/mypy; types=$$?; wait && exit $$types
	$(RUN)/pytest

# While one works: no slow tests, no types. `make test` runs everything.
test-fast: $(VENV)/.ready-dev
	$(RUN)/ruff check .
	$(RUN)/pytest -m "not slow"

# The studio in a real browser. Where Chromium is not installed and apt is at hand, it is fetched.
test-browser: $(VENV)/.ready-dev
	@command -v chromedriver >/dev/null || { \
	  command -v apt-get >/dev/null && apt-get update && apt-get install -y chromium chromium-driver; }
	ABSENTIA_BROWSER=1 $(RUN)/pytest -n0 tests/studio

# More of the generated tables that `make test` tries 500 of: `make fuzz TABLES=100000`. And more of
# the examples by which properties are tested, others each time.
TABLES ?= 20000
fuzz: $(VENV)/.ready-dev
	ABSENTIA_FUZZ=$(TABLES) $(RUN)/pytest tests/fuzz
	ABSENTIA_FUZZ=$(TABLES) $(RUN)/pytest -m hypothesis

bench: $(VENV)/.ready-dev
	$(RUN)/python -m lab.speed
	$(RUN)/python -m lab.scale

docs: $(VENV)/.ready-docs
	$(RUN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The wheel and the sdist in dist/, each tried with the README's examples.
dist: $(VENV)/.ready-dev
	RUN=$(RUN) .ci/dist

format: $(VENV)/.ready-dev
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

# Numba sees a change in the file of a compiled function, not in those of the functions it calls.
recompile:
	find src -name '*.nb[ci]' -delete

clean:
	rm -rf $(VENV) dist docs/_build docs/api docs/gallery docs/lessons demo-output

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "absentia needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-%: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
