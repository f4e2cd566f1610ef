# Set-up and everyday commands; Snakemake does the work.
# The Python that creates .venv, 3.11 or newer: `make setup PYTHON=python3.12`.
PYTHON ?= python3
# `make setup GPU=1` installs the packages for GPUs even on a machine without one, such as a login node. Without a
# network, `make setup WHEELHOUSE=folder` installs from a folder that `make wheelhouse` made elsewhere (docs/how-to/offline.md).
# `make lock UPGRADE=--upgrade` moves every pin to its newest version; otherwise only incompatible pins change.
UPGRADE ?=

# A progress bar requires a terminal; elsewhere Snakemake's plain log lists every job.
SNAKEMAKE := .venv/bin/snakemake $(if $(MAKE_TERMERR),--logger rich)
SETUP := PYTHON="$(PYTHON)" workflow/scripts/setup.sh

# Even with `-j` nothing runs beside a measurement. PYTHONHOME is for another Python; CDPATH changes what `cd` does.
.NOTPARALLEL:
unexport PYTHONHOME CDPATH

.DEFAULT_GOAL := help
.PHONY: help setup wheelhouse smoke study paper status test test-slow test-exhaustive test-all mutants surroundings faults \
	test-gpu bench readme site docs lint lock clean

help: ## list these commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 17

setup: ## install the pinned Python packages into .venv
	@$(SETUP)

wheelhouse: ## download the packages for a machine without a network: FOR=3.12 PLATFORM=manylinux_2_28_x86_64 GPU=1
	@PYTHON="$(PYTHON)" workflow/scripts/wheelhouse.sh

smoke: ## run the whole study at toy sizes, offline: results/paper.pdf and results/report.zip
	@$(SETUP) latex
	$(SNAKEMAKE) --configfile config/smoke.yaml

# Tests run in parallel, one process per core, and one more for slow tests, because those of Slurm mostly wait. Their
# order is that of tests/conftest.py.
PYTEST := .venv/bin/pytest --maxprocesses 8 --dist loadgroup --no-loadscope-reorder --numprocesses

test: ## run the tests, except those that take minutes or require Slurm
	@$(SETUP) latex
	$(PYTEST) logical -m "not slow and not cluster"

test-slow: ## run the tests that `make test` skips
	@$(SETUP) latex
	$(PYTEST) $$(($$(nproc) + 1)) -m "(slow or cluster) and not surroundings and not exhaustive"

test-exhaustive: ## run further tests of the same kinds: all architectures, tilings, faults in kernels
	@$(SETUP) latex
	$(PYTEST) logical -m exhaustive

test-all: ## run all tests
	@$(MAKE) --keep-going test test-slow test-exhaustive surroundings

mutants: ## plant defects one by one and check that the tests detect each: about an hour
	@$(SETUP) latex
	.venv/bin/python tests/mutants/run.py

surroundings: ## run a small study in many environments and Pythons: the same result, or an error in one sentence
	@$(SETUP) latex
	$(PYTEST) logical -m surroundings

# For `make faults`: the seed, the number of faults, and the number of parallel runs.
SEED ?= 1
COUNT ?= 200
JOBS ?= $$(nproc)

faults: ## inject random faults into small runs and check that no result is wrong: SEED=1 COUNT=200
	@$(SETUP)
	.venv/bin/python tests/faults/run.py --seed $(SEED) --count $(COUNT) --jobs $(JOBS)

test-gpu: setup ## run the tests that require a GPU, and every kernel under compute-sanitizer
	.venv/bin/python tests/gpu_tests.py

study: ## run the study of config/config.yaml on this machine
	@$(SETUP) latex
	$(SNAKEMAKE)

paper: ## build the paper and its supplement from existing and published measurements, without measuring
	@$(SETUP) latex
	$(SNAKEMAKE) paper --config measure=false
	@! command -v pdftoppm >/dev/null || .venv/bin/python -P -m ladder proof results/paper --pages 25
	@! command -v pdftoppm >/dev/null || .venv/bin/python -P -m ladder proof results/supplement

status: ## show the state of the last run: done, running, failed and why, skipped and why
	@.venv/bin/python -P -m ladder status

bench: setup ## measure the overhead of the pipeline: of planning, and of a job
	.venv/bin/python benchmarks/overhead.py

readme: ## update the README's results, ladders and picture from published measurements
	@$(SETUP)
	$(SNAKEMAKE) results/figures/mlp_waterfall.png --config measure=false machine=docs
	.venv/bin/python workflow/scripts/readme.py results/figures/mlp_waterfall.png

site: ## update the page of results and the paper in docs/ from published measurements
	@$(SETUP) latex
	$(SNAKEMAKE) results/site/index.html results/site/paper.pdf results/site/supplement.pdf \
		--config measure=false machine=docs
	.venv/bin/python workflow/scripts/documents.py

# A warning, such as a link that leads nowhere, is an error. Everything is read again, since tables come from the code.
SPHINX := .venv/bin/python -P -m sphinx --builder html --fail-on-warning --keep-going --nitpicky --fresh-env --write-all \
	--quiet --conf-dir docs

docs: setup ## build the documentation: results/documentation/index.html
	rm -rf results/documentation
	$(SPHINX) . results/documentation

lint: setup ## check the style of the code and of the workflow, the types, and the order of the packages
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint --configfile config/smoke.yaml

# `make lock` resolves the additional packages for GPUs with requirements.txt as constraints: both install together.
GPU_EXTRA := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["gpu"], sep="\n")
COMPILE := pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-annotate $(UPGRADE)

lock: ## pin what pyproject.toml requires in requirements.txt, and for GPUs in requirements-gpu.txt
	@tools=$$(mktemp -d) && trap 'rm -r "$$tools"' EXIT && "$(PYTHON)" -m venv "$$tools" && \
	"$$tools/bin/pip" install --quiet uv && \
	"$$tools/bin/uv" $(COMPILE) --extra dev pyproject.toml --output-file requirements.txt && \
	"$$tools/bin/python" -P -c '$(GPU_EXTRA)' > "$$tools/gpu.in" && \
	"$$tools/bin/uv" $(COMPILE) --constraints requirements.txt "$$tools/gpu.in" --output-file requirements-gpu.txt

clean: ## remove .venv and caches; measurements in results/ stay
	rm -rf .venv .venv.lock .pytest_cache .ruff_cache .mypy_cache .import_linter_cache src/*.egg-info
	find src tests workflow -name __pycache__ -prune -exec rm -r {} +
