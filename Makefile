# make demo and make test set up .venv once, then run. They need only python3 with venv, and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cat setup.py Makefile | cksum | cut -d' ' -f1)

SITE := $(VENV)/.site-$(shell cat setup.py | cksum | cut -d' ' -f1)

.PHONY: demo studies docs notebooks test lint style test-oldest clean

# Write bytecode even if the environment disables it: demos and tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

# uv installs in seconds, pip in a minute. uv ignores pip's settings, so pip installs if a private
# index is configured or uv fails. editable_mode=compat adds a plain path entry, which a folder
# called manip_dyn in the working directory cannot shadow.
EDITABLE := --quiet --config-settings editable_mode=compat -e
define install
	{ ! $(BIN)/python -m pip config list | grep -q '[.]index-url=' \
		&& $(BIN)/python -m pip install --quiet 'uv>=0.4' \
		&& $(BIN)/python -m uv pip install --python $(BIN)/python $(EDITABLE) '.[$(1)]'; } \
	|| { $(BIN)/python -m pip install --quiet 'pip>=23.1' \
		&& $(BIN)/python -m pip install $(EDITABLE) '.[$(1)]'; }
endef

demo: $(READY)
	$(BIN)/manip_dyn demo $(ARGS)

# Recompute all stored rows of the studies and list the differences (several minutes).
studies: $(READY)
	$(BIN)/manip_dyn study all --check docs/studies $(ARGS)

# Build the site into build/site with warnings as errors; this runs all examples.
docs: $(SITE)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site $(ARGS)

# Write the examples as notebooks next to the scripts.
notebooks: $(SITE)
	$(BIN)/sphinx_gallery_py2jupyter examples/*.py

# Three workers for two cores: some tests wait for other processes. Each worker takes whole files, so
# that the tests of a file share what they compile.
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder

# One BLAS thread per worker; more would compete for the same cores.
test: export OPENBLAS_NUM_THREADS := 1
test: $(SITE) style
	@$(BIN)/mypy > $(VENV)/mypy.txt 2>&1 & types=$$!; \
	$(BIN)/python -m pytest $(WORKERS) $(ARGS); tests=$$?; \
	wait $$types; types=$$?; echo mypy: && cat $(VENV)/mypy.txt; \
	test $$tests -eq 0 -a $$types -eq 0

lint: $(READY) style
	$(BIN)/mypy

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Test the core with the lower bounds of setup.py, the versions of Ubuntu 24.04 (test/oldest.txt).
test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet 'pip>=23.1'
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps -r test/oldest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps -e .
	$(VENV)-oldest/bin/python -m pytest -n 2 --dist loadfile -m 'not ros' $(ARGS)

EXTRAS := ros,view,record,sweep,test
docs notebooks test: EXTRAS := $(EXTRAS),docs

$(READY):
	$(PYTHON) -m venv $(VENV)
	$(call install,$(EXTRAS))
	rm -f $(VENV)/.ready-* $(VENV)/.site-*
	touch $@ $(if $(findstring docs,$(EXTRAS)),$(SITE))

$(SITE): $(READY)
	test -e $@ || { $(call install,docs); }
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest docs/gallery examples/*.ipynb build install log *.egg-info .pytest_cache .ruff_cache .mypy_cache
