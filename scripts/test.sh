#!/usr/bin/env bash
# All tests on SQLite, then those that a database can make fail on PostgreSQL with Redis.
# Missing services are installed where CI=true or INSTALL=1 (apt-get, as root or by sudo); else what needs them
# is left out, and said to be. Arguments go to pytest: scripts/test.sh -k jobs
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/services.sh

# What is there ------------------------------------------------------------------------------------------------

missing() {
  postgres_bin >/dev/null || echo postgresql
  have_redis || echo redis-server
  have_chromium || echo chromium
  have_fonts || echo fonts-noto-cjk
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_missing() {
  say "Installing: $*"
  # RUNLEVEL=1 keeps the packages from starting services: the tests start their own, for themselves.
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -qq --no-install-recommends "$@" fontconfig >/dev/null
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
  if [ "${CI:-}" = true ] || [ "${INSTALL:-}" = 1 ]; then
    install_missing $packages
    packages=$(missing | tr '\n' ' ')
    if [ -n "$packages" ]; then
      say "These could not be installed: $packages"
      exit 1
    fi
  else
    say "Not found: $packages– the tests that need them are left out. To install them (Debian, Ubuntu):"
    say "  apt-get install --no-install-recommends $packages"
    say "or run: INSTALL=1 make test"
  fi
fi
say "PostgreSQL: $(postgres_bin || echo no); Redis: $(command -v redis-server || echo no);" \
  "Chromium: $(have_chromium && echo yes || echo no); Chinese fonts: $(have_fonts && echo yes || echo no)"

# The tests ----------------------------------------------------------------------------------------------------

# The last two lines: figures and static files never reach a database; the pages of papers and of a report's files send
# it no statement that tests/test_permissions.py and tests/test_campaign_walk.py do not send.
indifferent=(
  tests/annotation/protocol tests/annotation/formats tests/scoring/stats tests/browser
  tests/config/test_serve.py tests/config/test_sqlite_queue.py tests/config/test_sessions.py
  tests/annotation/test_messages.py tests/annotation/test_look.py tests/scoring/views/test_pictures.py
  tests/scoring/views/test_papers.py tests/scoring/views/test_files_of_reports.py tests/scoring/test_figures.py
  tests/config/test_serve_files.py
)

# A third process works while two wait for a browser, a server or the clock; who has nothing left takes from others.
pytest() { .venv/bin/python -m pytest -n 3 --dist worksteal "$@"; }

# Tests start many processes, and each would compile all libraries anew where none may keep what it compiled.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$PWD/build/pycache"

unset DATABASE_URL REDIS_URL
say "Tests on SQLite"
pytest "$@"

if bin=$(postgres_bin) && have_redis; then
  start_postgres "$FORGETFUL"
  start_redis
  say "Tests on PostgreSQL and Redis, without those to which the database makes no difference: ${indifferent[*]}"
  pytest "${indifferent[@]/#/--ignore=}" "$@"
else
  say "No tests on PostgreSQL with Redis: not installed (see above)."
fi
