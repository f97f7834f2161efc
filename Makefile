# Every target creates the environments it needs; on a fresh machine, `make demo` or `make test` is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# CORE contains the tests of results that must not depend on the CPU, except NO_NUMBERS: tests of processes, files and compilation.
CORE := parity method run result contracts/test_documentation.py
NO_NUMBERS := method/test_warmup.py run/test_workers.py run/test_checkpoint.py run/test_memory.py run/test_progress.py run/test_backends.py \
  result/test_records.py
OTHER_KERNELS := $(if $(filter Nehalem,$(OPENBLAS_CORETYPE)),Haswell,Nehalem)

SLOW := jupyter notebooks paper parity contracts/test_documentation.py contracts/test_boundaries.py contracts/test_any_cpu.py fuzz/test_faults.py

.PHONY: demo demo-airflow test test-quick test-kernels test-airflow test-orchestrators test-engines lint typecheck fuzz faults bench bench-scale reproduce reproduce-quick confidence truth docs lab clean browser postgres java \
  screenshot-airflow

$(VENV)/.base: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable ".[fast]"
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) --group test
	$(BIN)/python -c "import sklearn_extra.cluster" 2>/dev/null || { \
	  $(PIP) cython setuptools wheel && \
	  $(PIP) --no-cache-dir --no-build-isolation --no-binary scikit-learn-extra scikit-learn-extra==0.3.0; }
	touch $@

# The oldest supported pandas, in a separate environment.
$(VENV)-pandas2/.test: pyproject.toml
	test -x $(VENV)-pandas2/bin/python || $(PYTHON) -m venv $(VENV)-pandas2
	$(VENV)-pandas2/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-pandas2/bin/python -m pip install --quiet --disable-pip-version-check \
	  "pandas==2.2.*" pyarrow pytest hypothesis --editable .
	touch $@

# Airflow pins many packages and its major versions exclude each other, so each version has a separate environment.
$(VENV)-airflow%/.test: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --group airflow$* --editable .
	touch $@

# Dagster, Prefect and MLflow share one environment.
$(VENV)-orchestrators/.test: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --group orchestrators --editable .
	touch $@

# Dask, Ray, Spark, and the storage formats for tables larger than memory.
$(VENV)-engines/.test: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --group engines --editable .
	touch $@

# Spark needs Java 17, installed from Debian's packages.
java:
	@command -v java >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 || \
	  echo "No Java, and it could not be installed: tests that start Spark will fail."

# The Airflow tests query a PostgreSQL server, installed from Debian's packages and run as a non-root user.
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >/dev/null 2>&1 || \
	  echo "No PostgreSQL, and it could not be installed: tests that query one will fail."

# Pages are rendered in a real browser. If there is none and it cannot be installed, these tests fail with a message.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || \
	  echo "No browser, and it could not be installed: tests that render pages will fail."

$(VENV)/.lint: $(VENV)/.base
	$(PIP) --group lint
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) --group docs
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) --group bench
	touch $@

$(VENV)/.lab: $(VENV)/.base
	$(PIP) --editable ".[jupyter,fast]" "jupyterlab>=4"
	touch $@

demo: $(VENV)/.base
	$(BIN)/compsil-kit demo --plot demo/curve.png

# Creates the environment, runs an example DAG and prints its XComs.
demo-airflow: $(VENV)-airflow3/.test
	$(VENV)-airflow3/bin/python -m compsil_airflow.demo

test: $(VENV)/.test $(VENV)-pandas2/.test browser test-airflow test-orchestrators test-engines
	$(VENV)-pandas2/bin/python -m pytest tests/pandas
	$(BIN)/python -m pytest -n 2 --dist loadfile
	$(MAKE) test-kernels

# Run the deterministic core with the BLAS kernels for another CPU; no result may depend on their rounding.
test-kernels: $(VENV)/.test
	OPENBLAS_CORETYPE=$(OTHER_KERNELS) $(BIN)/python -m pytest -n 2 --dist loadfile $(addprefix tests/,$(CORE)) $(foreach part,$(NO_NUMBERS),--ignore=tests/$(part))

# For contributors, after every change: without Airflow, a browser, the notebooks and the paper's experiments.
test-quick: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadfile $(foreach part,$(SLOW),--ignore=tests/$(part))

# Test with both major versions of Airflow, a PostgreSQL server, and an object store on localhost.
test-airflow: $(VENV)-airflow2/.test $(VENV)-airflow3/.test postgres
	$(VENV)-airflow2/bin/python -m pytest tests/airflow
	$(VENV)-airflow3/bin/python -m pytest tests/airflow

# Test Dagster, Prefect and MLflow without mocks: an instance, a server and a file store in temporary folders.
test-orchestrators: $(VENV)-orchestrators/.test
	$(VENV)-orchestrators/bin/python -m pytest tests/orchestrators

# Compute subsamples on Dask, Ray and Spark, each with a cluster of two worker processes that the tests start and stop.
test-engines: $(VENV)-engines/.test java
	$(VENV)-engines/bin/python -m pytest tests/engines

# Take the screenshot in the guide from a real run.
screenshot-airflow: $(VENV)-airflow3/.test browser
	$(VENV)-airflow3/bin/python tests/airflow/screenshot.py docs/_static/airflow-grid.png

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: $(VENV)/.lint
	$(BIN)/mypy

# Both must pass before a release. `make fuzz` can be stopped at any time; the next run resumes with the next case.
fuzz: $(VENV)/.test
	$(BIN)/python -m fuzz $(FUZZ)

faults: $(VENV)/.test
	$(BIN)/python -m fuzz.faults $(FAULTS)

bench-scale: $(VENV)/.bench $(VENV)-engines/.test java
	$(BIN)/python -m benchmarks.scale.cap
	$(BIN)/python -m benchmarks.scale.longest benchmarks/scale/longest
	$(BIN)/python -m benchmarks.scale.adaptive benchmarks/scale/longest
	$(BIN)/python -m benchmarks.scale.confidence
	$(BIN)/python -m benchmarks.scale.run

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# Reproduce the paper's tables and figures in docs/evidence.md, and docs/truth.md. Can be stopped at any time; the next call resumes.
reproduce: $(VENV)/.bench
	$(BIN)/python -m benchmarks.paper
	$(MAKE) truth

# Takes about an hour on two cores; both steps resume after an interruption.
confidence: $(VENV)/.bench
	$(BIN)/python -m benchmarks.confidence.measure
	$(BIN)/python -m benchmarks.confidence.fit

truth: $(VENV)/.bench
	$(BIN)/python -m benchmarks.truth.runs
	$(BIN)/python -m benchmarks.truth.authors
	$(BIN)/python -m benchmarks.truth.report

reproduce-quick: $(VENV)/.bench
	$(BIN)/python -m benchmarks.paper --quick

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -n -b html docs docs/_build/html

lab: $(VENV)/.lab
	$(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

clean:
	rm -rf $(VENV) $(VENV)-pandas2 $(VENV)-airflow2 $(VENV)-airflow3 $(VENV)-orchestrators $(VENV)-engines docs/_build docs/generated demo
