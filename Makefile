# Every task of the repository. `make` alone lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CACHE  := .cache
JAVA_LIB := $(CACHE)/java/lib

# Directories the checks look at; those that do not exist yet are left out.
CODE   := $(wildcard src tests bench examples)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# One thing after the other: packages come before what needs them.
.NOTPARALLEL:
SHELL  := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- set-up

.PHONY: setup
setup: $(VENV)/.installed $(VENV)/.editable ## Create .venv with pinned packages and Headrace in it (quick the second time)

# An existing environment is adopted: pip only changes what differs from the pins. One without pip is
# what is left where `venv` failed, as it does on a Debian without python3-venv.
HAS_PIP := $(BIN)/python -m pip --version >/dev/null 2>&1
$(VENV)/.installed: requirements/dev.txt
	@$(HAS_PIP) || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headrace needs Python 3.11 or newer; set PYTHON=...")'
	@$(HAS_PIP) || $(MAKE) --no-print-directory venv-package
	@$(HAS_PIP) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

# The build backend is pinned in dev.txt, hence no build isolation.
$(VENV)/.editable: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src  # or the first start of a node would pay for it
	@touch $@

.PHONY: requirements
requirements: setup ## Renew the pinned requirements from requirements/*.in
	cd requirements && for name in core dev spark; do \
	  ../$(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	    --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	    --output-file $$name.txt $$name.in; \
	done

# ---------------------------------------------------------------- checks

.PHONY: check
check: setup ## Format, lint, types and layers, without changing anything
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-logo --cache-dir $(CACHE)/import-linter

.PHONY: format
format: setup ## Format the code and mend what the linter can mend
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix-only $(CODE)

# ---------------------------------------------------------------- tests

# A test with real clients or programs may lose a race on a busy machine. If nothing else failed
# (tests/support/second_chance.py says so by this exit code), what failed runs once more, alone,
# with the first failure above for everybody to see. A test that needs it is to be mended.
MAY_RUN_AGAIN := 75
# No failures of older runs may be left for `--last-failed`.
RUN       := $(BIN)/python -m pytest -p tests.support.second_chance --cache-clear
ONCE_MORE := $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -n 0

.PHONY: test
test: curl setup ## Unit tests and quick tests with real Python clients
	$(RUN) -n 2 -m "not interop" || { [ $$? = $(MAY_RUN_AGAIN) ] && $(ONCE_MORE) -m "not interop"; }

.PHONY: interop
interop: packages setup java spark ## Tests with Apache Kafka, its tools, kcat, the Java clients and Spark
	$(RUN) -m interop tests || { [ $$? = $(MAY_RUN_AGAIN) ] && $(ONCE_MORE) -m interop tests; }

# Debian packages, only where something is missing and we may install it. Otherwise tests without
# their program are skipped, or fail in CI.
HAS = has() { case $$1 in \
	  python3-venv) $(PYTHON) -c 'import ensurepip' ;; \
	  default-jdk-headless) command -v javac ;; \
	  maven) command -v mvn ;; \
	  postgresql) command -v postgres || ls /usr/lib/postgresql/*/bin/postgres ;; \
	  *) command -v $$1 ;; \
	esac >/dev/null 2>&1; }

venv-package: PACKAGES := python3-venv
curl: PACKAGES := curl
packages: PACKAGES := curl kcat default-jdk-headless maven redis-server postgresql

.PHONY: venv-package curl packages
packages: ## Install kcat, curl, a JDK, Maven, PostgreSQL and Redis where they are missing (Debian, as root or with sudo)
venv-package curl packages:
	@$(HAS); missing=""; \
	for package in $(PACKAGES); do has $$package || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo "Please install:$$missing"; exit 0; \
	fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=""; \
	elif sudo -n true 2>/dev/null; then as_root="sudo"; \
	else echo "Please install:$$missing (apt-get needs root)"; exit 0; fi; \
	{ $$as_root apt-get update -qq && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } || \
	echo "Please install:$$missing (apt-get failed)"

.PHONY: java
java: packages $(CACHE)/java/.resolved ## Fetch Apache Kafka and its tools through Maven

$(CACHE)/java/.resolved: tests/java/pom.xml
	rm -rf $(JAVA_LIB)
	mvn -B -ntp -q -f tests/java/pom.xml dependency:copy-dependencies \
	  -DincludeScope=runtime -DoutputDirectory=$(abspath $(JAVA_LIB))
	@touch $@

.PHONY: spark
spark: packages $(VENV)/.spark $(CACHE)/java/spark/.resolved ## Install PySpark in .venv and fetch Spark's Kafka connector

# PySpark comes as a source archive; what builds it is pinned, hence no build isolation.
$(VENV)/.spark: requirements/spark.txt $(VENV)/.installed $(VENV)/.editable
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  --no-build-isolation -r requirements/spark.txt
	$(BIN)/python -m headrace.spark.kernels  # or the first query would compile them
	@touch $@

$(CACHE)/java/spark/.resolved: tests/java/spark/pom.xml
	rm -rf $(@D)
	mvn -B -ntp -q -f tests/java/spark/pom.xml dependency:copy-dependencies \
	  -DincludeScope=runtime -DoutputDirectory=$(abspath $(@D))
	@touch $@

# Other seeds at every run; `HEADRACE_SEEDS=1234 make sim` plays one again, 1-9999 a range.
.PHONY: sim
sim: setup ## Random schedules of groups and transactions with thousands of new seeds
	@first=$$(date +%s); export HEADRACE_SEEDS=$${HEADRACE_SEEDS:-$$first-$$((first + 5999))}; \
	echo "Seeds $$HEADRACE_SEEDS"; \
	$(BIN)/python -m pytest -n 2 tests/unit/groups/test_random_schedules.py \
	  tests/unit/groups/consumer/test_schedules.py tests/unit/transactions/test_chance.py \
	  tests/unit/broker/test_known_requests_chance.py

.PHONY: faults
faults: packages setup spark ## Real processes: kill -9, full disks, bad bytes
	$(BIN)/python -m pytest tests/faults

# ---------------------------------------------------------------- to see it work

.PHONY: demo
demo: setup ## Order processing on Spark, live; ends by itself and checks every order (needs Java 17)
	@$(BIN)/python -m examples.orders.demo --check-java  # before half a gigabyte is fetched
	@$(MAKE) --no-print-directory $(VENV)/.spark
	$(BIN)/python -m examples.orders.demo

.PHONY: up
up: setup ## A node on 9092 until Ctrl-C
	$(BIN)/python -m headrace.cli.main up

.PHONY: bench
bench: packages setup java ## Headrace and Apache Kafka side by side in one run
	$(BIN)/python bench/run.py

# ---------------------------------------------------------------- packages

.PHONY: build
build: setup ## Wheel and source archive in dist/
	$(BIN)/python -m build --no-isolation

.PHONY: clean
clean: ## Remove what the other targets made, except .venv and the Java cache
	rm -rf build dist .hypothesis $(CACHE)/mypy $(CACHE)/pytest $(CACHE)/import-linter .ruff_cache
	find src tests $(wildcard bench examples) -name __pycache__ -type d -prune -exec rm -rf {} +
