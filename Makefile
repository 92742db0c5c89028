# A thin wrapper: every command is one of ./helix, which also works where make is missing.
.DEFAULT_GOAL := help
.PHONY: help run test test-peers soak check bench torture screenshots texts package doctor lock clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Set up, then start the app (without a display: the guided demo, pictures in build/demo)
	@./helix run

test: ## Set up, check, then run the whole test suite
	@./helix test

test-peers: ## Test against programs of others (model servers that fail on purpose, a real llama.cpp)
	@./helix test-peers

soak: ## Run 2,000 turns against a server that fails on purpose, and look for leaks
	@./helix soak

check: ## Format, lint, types and import rules
	@./helix check

bench: ## Measure, and print one table of figures (TRAJECTORIES=DIR: what each profile makes of recorded sessions)
	@./helix bench $(if $(TRAJECTORIES),--trajectories "$(TRAJECTORIES)")

torture: ## Race, kill and damage the store for a long time
	@./helix torture

screenshots: ## Picture every screen, light and dark, into build/screenshots
	@./helix screenshots

texts: ## Bring the catalogs of texts up to date, and list every text by screen in build/texts.md
	@./helix texts

package: ## List what can be built; make package-deb, package-rpm, package-windows, package-all ... build it
	@./helix package

package-%:
	@./helix package $*

doctor: ## Say what is there and what is missing
	@./helix doctor

lock: ## Resolve pyproject.toml into requirements.txt and requirements-dev.txt
	@./helix lock

clean: ## Remove what was built; .venv and the person's data stay
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
