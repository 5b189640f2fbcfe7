# run: the whole site on this machine · test: all tests · check: lint, types, imports, migrations · bench: figures
.PHONY: run test check bench

run:
	@scripts/venv.sh requirements.lock
	@exec .venv/bin/python manage.py serve --sample

test:
	@scripts/venv.sh requirements-dev.lock
	@scripts/test.sh

check:
	@scripts/venv.sh requirements-dev.lock
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy .
	.venv/bin/lint-imports
	ASSAY_DATA_DIR=build/check .venv/bin/python manage.py makemigrations --check --dry-run
	.venv/bin/python -m scripts.messages check

bench:
	@scripts/venv.sh requirements-dev.lock
	@scripts/bench.sh
