# Set-up and the commands of every day; Snakemake does the work.
# The Python that .venv is made with, 3.11 or newer: `make setup PYTHON=python3.12`.
PYTHON ?= python3
# `make setup GPU=1` installs what a GPU needs where there is none, too: on a login node. Without a network,
# `make setup WHEELHOUSE=folder` installs from a folder that `make wheelhouse` made elsewhere (docs/cluster.md).
# `make lock UPGRADE=--upgrade` moves every pin to its newest version; without it, pins stay while they can.
UPGRADE ?=

# A bar of progress needs a terminal; elsewhere Snakemake's plain log tells of every job.
SNAKEMAKE := .venv/bin/snakemake $(if $(MAKE_TERMERR),--logger rich)
SETUP := PYTHON="$(PYTHON)" workflow/scripts/setup.sh

# Nothing runs beside what is timed, whatever `-j` says. PYTHONHOME is another Python's, CDPATH leads `cd` astray.
.NOTPARALLEL:
unexport PYTHONHOME CDPATH

.DEFAULT_GOAL := help
.PHONY: help setup wheelhouse smoke study paper status test test-slow test-exhaustive test-all mutants surroundings faults \
	test-gpu bench lint lock clean

help: ## list these commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 17

setup: ## install the pinned Python packages into .venv
	@$(SETUP)

wheelhouse: ## download the packages for a machine without a network: FOR=3.12 PLATFORM=manylinux_2_28_x86_64 GPU=1
	@PYTHON="$(PYTHON)" workflow/scripts/wheelhouse.sh

smoke: ## run the whole study at toy sizes, offline: results/paper.pdf and results/report.zip
	@$(SETUP) latex
	$(SNAKEMAKE) --configfile config/smoke.yaml

# Side by side, one process of tests for each processor, and one more for the slow ones: those of a Slurm mostly wait.
PYTEST := .venv/bin/pytest --maxprocesses 8 --dist loadgroup --numprocesses

test: ## run the tests, but for those that take minutes or a Slurm
	@$(SETUP) latex
	$(PYTEST) logical -m "not slow and not cluster"

test-slow: ## run the tests that `make test` leaves out
	@$(SETUP) latex
	$(PYTEST) $$(($$(nproc) + 1)) -m "(slow or cluster) and not surroundings and not exhaustive"

test-exhaustive: ## run further tests of the same kinds: all architectures, tilings, faults in kernels
	@$(SETUP) latex
	$(PYTEST) logical -m exhaustive

test-all: ## run all tests
	@$(MAKE) --keep-going test test-slow test-exhaustive surroundings

mutants: ## plant defects one by one and see that the tests notice each: about an hour
	@$(SETUP) latex
	.venv/bin/python tests/mutants/run.py

surroundings: ## run a small study in many surroundings, with other Pythons on the PATH too: the same, or a sentence
	@$(SETUP) latex
	$(PYTEST) logical -m surroundings

# What `make faults` draws its faults from, how many, and how many side by side.
SEED ?= 1
COUNT ?= 200
JOBS ?= $$(nproc)

faults: ## put random faults into small runs, and see that none does harm: SEED=1 COUNT=200
	@$(SETUP)
	.venv/bin/python tests/faults/run.py --seed $(SEED) --count $(COUNT) --jobs $(JOBS)

test-gpu: setup ## run the tests that wait for a GPU, and every kernel under compute-sanitizer
	.venv/bin/python tests/on_gpu.py

study: ## run the study of config/config.yaml on this machine
	@$(SETUP) latex
	$(SNAKEMAKE)

paper: ## build the paper and its supplement from what was measured or published, and measure nothing
	@$(SETUP) latex
	$(SNAKEMAKE) paper --config measure=false
	@! command -v pdftoppm >/dev/null || .venv/bin/python -m ladder proof results/paper --pages 25
	@! command -v pdftoppm >/dev/null || .venv/bin/python -m ladder proof results/supplement

status: ## tell how far the last run is: done, running, failed and why, left out and why
	@.venv/bin/python -m ladder status

bench: setup ## measure what the pipeline itself costs: planning, and a job beyond its measurement
	.venv/bin/python benchmarks/overhead.py

lint: setup ## check the style of the code and of the workflow, and the order of the packages
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint --configfile config/smoke.yaml

# What a card needs besides agrees with the rest, so that both can be installed together.
GPU_EXTRA := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["gpu"], sep="\n")
COMPILE := pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-annotate $(UPGRADE)

lock: ## pin what pyproject.toml asks for in requirements.txt, and for GPUs in requirements-gpu.txt
	@tools=$$(mktemp -d) && trap 'rm -r "$$tools"' EXIT && "$(PYTHON)" -m venv "$$tools" && \
	"$$tools/bin/pip" install --quiet uv && \
	"$$tools/bin/uv" $(COMPILE) --extra dev pyproject.toml --output-file requirements.txt && \
	"$$tools/bin/python" -c '$(GPU_EXTRA)' > "$$tools/gpu.in" && \
	"$$tools/bin/uv" $(COMPILE) --constraints requirements.txt "$$tools/gpu.in" --output-file requirements-gpu.txt

clean: ## remove .venv and caches; measurements in results/ stay
	rm -rf .venv .venv.lock .pytest_cache .ruff_cache .import_linter_cache src/ladder.egg-info
	find src tests workflow -name __pycache__ -prune -exec rm -r {} +
