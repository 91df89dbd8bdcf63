# make demo, make test: set up .venv once, then run. Nothing else is needed but python3, venv, make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cat setup.py Makefile | cksum | cut -d' ' -f1)

SITE := $(VENV)/.site-$(shell cat setup.py | cksum | cut -d' ' -f1)

.PHONY: demo docs test lint style test-oldest clean

# Bytecode is kept, whatever the environment says: many processes are started, and each imports the
# package in half the time.
export PYTHONDONTWRITEBYTECODE :=

# uv takes seconds where pip takes a minute. It reads none of pip's settings: where pip has an index
# of its own, or uv fails, pip installs. compat: a regular path entry, so that a folder called
# manip_dyn elsewhere does not hide it.
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

# The site, into build/site; warnings are errors. All examples are run.
docs: $(SITE)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site $(ARGS)

# Most of the time goes into compiling, for two cores, and some into waiting for other processes,
# hence three workers (a fourth takes 3 % more of both cores' time): each takes whole files, so that
# what the tests of a file share is compiled once, and the longest ones first, see test/conftest.py.
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder

# Much of the time goes into compiling, and a twentieth of that into how glibc hands out memory: it
# shall take large pages, and keep what it has. Threads of OpenBLAS would only spin.
KEEP := 1000000000
test: export GLIBC_TUNABLES := glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:$(\
	)glibc.malloc.trim_threshold=$(KEEP):glibc.malloc.mmap_threshold=$(KEEP)
test: export OPENBLAS_NUM_THREADS := 1

# mypy keeps nearly all that it makes: to look for garbage among it takes a tenth to a quarter of its
# time.
MYPY := $(BIN)/python -c 'import gc; gc.disable(); gc.enable = lambda: None; \
	from mypy.__main__ import console_entry as mypy; mypy()'

# mypy runs beside the tests, and speaks after them; if either fails, so does this.
test: $(SITE) style
	@$(MYPY) > $(VENV)/mypy.txt 2>&1 & types=$$!; \
	$(BIN)/python -m pytest $(WORKERS) $(ARGS); tests=$$?; \
	wait $$types; types=$$?; echo mypy: && cat $(VENV)/mypy.txt; \
	test $$tests -eq 0 -a $$types -eq 0

lint: $(READY) style
	$(MYPY)

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The core with the lower bounds of setup.py: versions of Ubuntu 24.04, see test/oldest.txt.
test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet 'pip>=23.1'
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps -r test/oldest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps -e .
	$(VENV)-oldest/bin/python -m pytest -n 2 --dist loadfile -m 'not ros' $(ARGS)

EXTRAS := ros,view,record,sweep,test
docs test: EXTRAS := $(EXTRAS),docs

$(READY):
	$(PYTHON) -m venv $(VENV)
	$(call install,$(EXTRAS))
	rm -f $(VENV)/.ready-* $(VENV)/.site-*
	touch $@ $(if $(findstring docs,$(EXTRAS)),$(SITE))

$(SITE): $(READY)
	test -e $@ || { $(call install,docs); }
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest docs/gallery build install log *.egg-info .pytest_cache .ruff_cache .mypy_cache
