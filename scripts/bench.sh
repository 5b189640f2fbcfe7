#!/usr/bin/env bash
# The benchmarks, on SQLite and, where it is installed, on a PostgreSQL of their own with full durability.
# Arguments go on: scripts/bench.sh --items 20000 --seconds 3
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/services.sh

unset DATABASE_URL REDIS_URL
if bin=$(postgres_bin); then start_postgres "-c shared_buffers=256MB"; else say "No PostgreSQL: only SQLite is measured."; fi
.venv/bin/python -m benchmarks "$@"
