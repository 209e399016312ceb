# One name a verb, for good. Each verb makes the environment it needs; `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
CACHE ?= $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/gantrymq
export GANTRY_CACHE ?= $(CACHE)
# Silent where Python is too old for it: .venv/installed then says so.
HOT := $(shell $(firstword $(wildcard $(BIN)/python) $(PYTHON)) -m tools.speedups --list 2>/dev/null)

# The stages of the tests (tools/stage_catalogue.py says what each proves). Those in *_BESIDE run
# beside the others at a low priority: what only computes takes what the others leave. What a plus
# joins runs at the same time.
TEST := lint units-servers+units-others
TEST_BESIDE := types examples build-short sim-short
REST := crash cycles attack monitoring interop-clients+interop-servers
REST_BESIDE := build mutants sim units-pure fuzz-short
STAGES = $(BIN)/python -m tools.stages
# For what runs at a low priority, and so may have to wait.
UNHURRIED := -o faulthandler_timeout=0 --timeout=900

.PHONY: help run test test-rest test-all test-long lint types units units-servers units-others units-pure attack build build-short examples sim sim-short mutants sim-long crash cycles interop interop-clients interop-servers monitoring monitoring-cluster monitoring-broker monitoring-group bench test-spark fuzz fuzz-short docs site cluster e2e e2e-long cluster-bits cluster-up cluster-down cluster-status cluster-load images images-test lock format clean

help: ## list the verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

run: .venv/ready ## start the product on loopback: name server and broker (ARGS="--help" for flags)
	$(BIN)/gantry standalone $(ARGS)

test: .venv/ready ## what every change has to pass, in eight minutes: lint, types, units, short sim, examples, wheel
	@$(STAGES) $(TEST) --beside $(TEST_BESIDE) --left-out $(REST) $(REST_BESIDE)

test-rest: .venv/ready ## what test leaves out, at CI's size (MORE="..." adds stages)
	@GANTRY_CYCLES=$${GANTRY_CYCLES:-10} $(STAGES) $(REST) $(MORE) --beside $(REST_BESIDE)

test-all: ## test, then test-rest: all that .ci/run runs
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

test-long: ## everything at its largest, for hours: 20000 store and 600 group histories, 100 cycles, 300 s a fuzzer
	@GANTRY_HISTORIES=20000 GANTRY_GROUPS=600 GANTRY_CYCLES=100 FUZZ_SECONDS=300 CRASH_SIZE=long UNITS_PURE=all \
		$(STAGES) $(TEST) $(REST) $(MORE) --beside types examples $(REST_BESIDE)

lint: .venv/ready ## ruff, formatting, import directions, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/tidy -q -k "not mypy_checks_every"

types: .venv/ready ## mypy --strict over code and tests, and that no file is left out
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/tidy -q -k mypy_checks_every $(UNHURRIED)

units: .venv/ready ## unit and property tests, compiled and pure side by side (ARGS for pytest)
	@$(MAKE) --no-print-directory -j3 --output-sync=target units-servers units-others units-pure

# Two halves of about the same length, to run side by side on the compiled modules.
UNITS_SERVERS := $(patsubst %,tests/unit/%,acl audit base broker metrics namesrv remoting runtime wire)

units-servers: .venv/ready
	$(BIN)/python -m pytest $(UNITS_SERVERS) -q -m "not power_cut" $(ARGS)

units-others: .venv/ready
	$(BIN)/python -m pytest tests/unit $(UNITS_SERVERS:%=--ignore=%) -q -m "not power_cut" $(ARGS)

# Of the uncompiled modules those tests that name one which is compiled; UNITS_PURE=all takes all.
units-pure: .venv/ready
	GANTRY_PURE=1 $(BIN)/python -m pytest $(if $(filter all,$(UNITS_PURE)),tests/unit,$$($(BIN)/python -m tools.twin_tests)) -q -m "not power_cut" $(UNHURRIED) $(ARGS)

build: .venv/ready ## wheel and sdist, compiled and pure, installed by pip in clean environments
	$(BIN)/python -m pytest tests/build -q $(UNHURRIED) $(ARGS)

build-short: .venv/ready ## a pure wheel only, and README's first minute with it
	GANTRY_BUILD=pure $(BIN)/python -m pytest tests/build -q $(UNHURRIED) -k "not pip_compiles" $(ARGS)

examples: .venv/ready ## every example, twice, against a real server: what it prints is compared
	$(BIN)/python -m pytest tests/examples -q -p no:randomly $(ARGS)

MUTANTS := tests/sim/group/test_mutants.py tests/sim/store/test_oracle.py

sim: .venv/ready ## histories of a store and of whole groups (GANTRY_HISTORIES, GANTRY_GROUPS, GANTRY_FIRST_SEED; SEED=n tells one)
	$(if $(SEED),PYTHONPATH=tests $(BIN)/python -m gantrymq.sim.group.group_history $(SEED),$(BIN)/python -m pytest tests/sim -q $(UNHURRIED) $(MUTANTS:%=--deselect=%) $(ARGS))

sim-short: .venv/ready ## a few of them
	GANTRY_HISTORIES=400 GANTRY_GROUPS=12 $(BIN)/python -m pytest tests/sim/store/test_crash_histories.py tests/sim/group/test_histories.py -q $(UNHURRIED) $(ARGS)

mutants: .venv/ready ## stores and groups that are broken on purpose: the histories notice
	$(BIN)/python -m pytest $(MUTANTS) -q $(UNHURRIED) $(ARGS)

sim-long: .venv/ready ## histories of whole groups for SIM_SECONDS (default 3600), other ones each time
	PYTHONPATH=tests $(BIN)/python -m gantrymq.sim.group.group_long $${SIM_SECONDS:-3600}

crash: .venv/ready ## real kills of a broker, kills and power cuts under its store (CRASH=0 leaves it out)
	$(BIN)/python -m pytest tests/crash -q -p no:randomly $(ARGS)
	$(if $(filter 0,$(CRASH)),,$(BIN)/python -m pytest tests/unit/testing -q -m power_cut)

attack: .venv/ready ## attacks on live servers beside legitimate clients: attack, outcome, memory, probes (ATTACK=0 leaves it out)
	$(BIN)/python -m pytest tests/attack -q -p no:randomly $(ARGS)

cycles: .venv/ready ## failovers of real processes in networks of their own, GANTRY_CYCLES (default 100; 0 leaves it out)
	GANTRY_CYCLES=$${GANTRY_CYCLES:-100} $(BIN)/python -m pytest tests/cycles -q -p no:randomly -o faulthandler_timeout=0 $(ARGS)

interop: .venv/ready ## real Java brokers, clients and mqadmin against ours (INTEROP=0 leaves it out)
	$(BIN)/python -m pytest tests/interop -q -p no:randomly $(ARGS)

# Two halves, to run side by side: in these folders tools and clients have little time to answer; the
# other half waits for most of its time.
INTEROP_CLIENTS := tests/interop/clients tests/interop/admin

interop-clients: .venv/ready ## the half of them that is about clients and mqadmin
	INTEROP_PORTS=20000-26000 $(BIN)/python -m pytest $(INTEROP_CLIENTS) -q -p no:randomly $(ARGS)

interop-servers: .venv/ready ## the half of them that is about servers: replication, stores, TLS, accounts
	INTEROP_PORTS=26000-32000 $(BIN)/python -m pytest tests/interop $(INTEROP_CLIENTS:%=--ignore=%) -q -p no:randomly $(ARGS)

# Three parts that run at the same time, because each of them mostly waits.
MONITORING_PARTS := monitoring-cluster monitoring-broker monitoring-group

monitoring: .venv/ready ## dashboards and alerts at a real Prometheus and live processes (MONITORING=0 leaves it out, MONITORING_LONG=1 adds Spark)
	@$(MAKE) --no-print-directory -j3 --output-sync=target $(MONITORING_PARTS)

monitoring-cluster: .venv/ready
	INTEROP_PORTS=20000-24000 $(BIN)/python -m pytest tests/monitoring $(patsubst %,--ignore=tests/monitoring/test_live_%.py,broker slow_disk group operator spark) -q -p no:randomly $(ARGS)

monitoring-broker: .venv/ready
	INTEROP_PORTS=24000-28000 $(BIN)/python -m pytest $(patsubst %,tests/monitoring/test_live_%.py,broker slow_disk) -q -p no:randomly $(ARGS)

monitoring-group: .venv/ready
	INTEROP_PORTS=28000-32000 $(BIN)/python -m pytest $(patsubst %,tests/monitoring/test_live_%.py,group operator spark) -q -p no:randomly $(ARGS)

bench: .venv/ready ## measure, beside Java, in one run; tables here, JSON in bench/results
	$(BIN)/python -m bench $(ARGS)

test-spark: .venv/ready ## the data source and its jobs in real Spark sessions, with two versions (SPARK=0 leaves it out)
	$(BIN)/python -m pytest tests/spark -q -p no:randomly $(ARGS)
	$(if $(filter 0,$(SPARK)),,PYTHONPATH="$$($(BIN)/python -m tools.newest_spark)" $(BIN)/python -m pytest tests/spark -q -p no:randomly -m newest_spark $(ARGS))

fuzz: .venv/ready ## fuzz the decoders for FUZZ_SECONDS each (default 300)
	FUZZ_SECONDS=$${FUZZ_SECONDS:-300} $(BIN)/python -m pytest tests/fuzz -q -s $(ARGS)

fuzz-short: .venv/ready
	FUZZ_SECONDS=$${FUZZ_SECONDS:-5} $(BIN)/python -m pytest tests/fuzz -q $(ARGS)

docs: .venv/ready ## regenerate the tables in docs/, the dashboards and the alerts from the code
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.monitoring

site: .venv/ready ## build the documentation site into build/site; broken links and missing pages fail (needs npm once)
	$(BIN)/python -m tools.site

format: .venv/ready ## rewrite sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

cluster-bits: .venv/installed ## build the test cluster's binaries and base image into the cache
	$(BIN)/python -m cluster bits

cluster-up: .venv/installed ## a real Kubernetes of three nodes on this machine (CLUSTER=local or kind)
	$(BIN)/python -m cluster up

cluster: .venv/ready ## chart, images and the product on a Kubernetes made for it, at CI's size (CLUSTER_TESTS=0 leaves it out)
	@if [ "$${CLUSTER_TESTS:-1}" = 0 ]; then echo "left out by CLUSTER_TESTS=0"; exit 0; fi; \
	trap '$(BIN)/python -m cluster down' EXIT; \
	$(BIN)/python -m cluster up; \
	$(BIN)/python -m pytest tests/chart tests/images tests/e2e -q -p no:randomly -o faulthandler_timeout=0 --durations=15 $(ARGS)

e2e: .venv/ready ## the product on the running test cluster: install, failover, topics, bad input (ARGS for pytest)
	$(BIN)/python -m pytest tests/e2e -q -p no:randomly -o faulthandler_timeout=0 $(ARGS)

e2e-long: .venv/ready ## the same with 20 repetitions of each fault and 10 000 topics
	GANTRY_E2E_REPEATS=20 GANTRY_E2E_TOPICS=10000 GANTRY_E2E_LONG=1 $(BIN)/python -m pytest tests/e2e -q -p no:randomly -o faulthandler_timeout=0 $(ARGS)

cluster-down: .venv/installed ## take the test cluster down; nothing of it is left
	$(BIN)/python -m cluster down

cluster-status: .venv/installed ## nodes, versions, faults and kubeconfig of the test cluster
	$(BIN)/python -m cluster status

cluster-load: .venv/installed ## put images on every node (IMAGES="archive.tar name:tag")
	$(BIN)/python -m cluster load $(IMAGES)

images: .venv/ready ## build the container images, unless they exist; load them into a running test cluster (SPARK=1: Spark's too)
	$(BIN)/python -m images

images-test: .venv/ready ## run each image as a pod does, without a cluster: read-only, no root, signals
	$(BIN)/python -m pytest tests/images -q -p no:randomly $(ARGS)

lock: .venv/ready ## rewrite requirements/ from pyproject.toml
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --constraint requirements/run.txt --extra operator pyproject.toml -o requirements/operator.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml --group dev -o requirements/dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --constraint requirements/dev.txt --extra spark pyproject.toml -o requirements/spark.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --constraint requirements/dev.txt --group docs -o requirements/docs.txt
	echo "pyspark>=4.3,<4.4" | $(BIN)/uv pip compile -q --no-deps --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links - -o requirements/spark-newest.txt

clean: ## remove what the verbs made in the checkout
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name '*.so' -not -path './.venv/*' -delete

# The environment: locked packages, then this checkout in place, then the compiled hot modules, and
# bytecode as an installed wheel has it: else each start compiles 300 sources where none is written.
.venv/installed: requirements/dev.txt pyproject.toml hatch_build.py
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Gantry needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say which with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

.venv/ready: .venv/installed tools/speedups.py $(HOT)
	$(BIN)/python -m tools.speedups
	$(BIN)/python -m compileall -q common namesrv broker client operator/gantrymq spark
	touch $@
