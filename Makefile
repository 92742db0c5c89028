# A thin wrapper: every command is one of ./helix, which also works where make is missing.
.DEFAULT_GOAL := help
.PHONY: help run test test-peers soak check bench exam torture screenshots texts package doctor lock clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Set up, then start the app (without a display: the guided demo, screenshots in build/demo)
	@./helix run

test: ## Set up, check the code, then run all tests
	@./helix test

test-peers: ## Test against other programs (model servers that fail on purpose, a real llama.cpp)
	@./helix test-peers

soak: ## Run 2,000 turns against a server that fails on purpose, and check for leaks
	@./helix soak

check: ## Check format, lint, imports, types and the project's own rules; print the size of the code
	@./helix check

bench: ## Run the benchmarks and print one table (TRAJECTORIES=DIR: each profile on recorded sessions; OPTIONS: one)
	@./helix bench $(if $(TRAJECTORIES),--trajectories "$(TRAJECTORIES)") $(OPTIONS)

exam: ## Ask a model about recorded sessions (OPTIONS="FILE... --model PROVIDER/NAME", see tests/exam/README.md)
	@./helix exam $(OPTIONS)

torture: ## Stress and damage the store, and test properties deeply, for a long time
	@./helix torture

screenshots: ## Take screenshots of every screen and state into build/screenshots, with an index.html (OPTIONS=--all: all sizes)
	@./helix screenshots $(OPTIONS)

texts: ## Update the catalogs of texts, and list every text by screen in build/texts.md
	@./helix texts

package: ## List what can be built; make package-deb, package-rpm, package-windows, package-all ... build it
	@./helix package

package-%:
	@./helix package $*

doctor: ## List what is installed and what is missing
	@./helix doctor

lock: ## Resolve pyproject.toml into requirements.txt and the other locks
	@./helix lock

clean: ## Remove what was built; .venv and your data are kept
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
