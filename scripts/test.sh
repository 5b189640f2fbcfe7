#!/usr/bin/env bash
# All tests on SQLite, then those that a database can make fail on PostgreSQL with Redis.
# Missing services are installed where CI=true or INSTALL=1 (apt-get, as root or by sudo); else what needs them
# is left out, and said to be. Arguments go to pytest: scripts/test.sh -k jobs
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# What is there ------------------------------------------------------------------------------------------------

postgres_bin() { # the folder of the newest PostgreSQL; Debian keeps it out of the PATH
  for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) "$(dirname "$(command -v initdb || echo /none/x)")"; do
    if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; then
      echo "$dir"
      return
    fi
  done
  return 1
}
have_redis() { command -v redis-server >/dev/null; }
have_chromium() { [ -x "${CHROMIUM:-/usr/bin/chromium}" ]; }
have_fonts() { [ -n "$(fc-list :lang=zh 2>/dev/null)" ]; }

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

# Services of our own ------------------------------------------------------------------------------------------

services=$(mktemp -d /tmp/assay-test.XXXXXX) # under /tmp: PostgreSQL's user must be able to enter it
redis_pid=

stop_services() {
  [ -z "$redis_pid" ] || kill "$redis_pid" 2>/dev/null || true
  [ ! -e "$services/pg/postmaster.pid" ] || as_postgres "$bin/pg_ctl" -D "$services/pg" -m immediate -s stop || true
  rm -rf "$services"
}
trap stop_services EXIT
trap 'exit 130' INT TERM

as_postgres() { # PostgreSQL refuses to run as root
  if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

free_port() {
  .venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_postgres() {
  local port
  port=$(free_port)
  chmod 711 "$services"
  mkdir "$services/pg"
  [ "$(id -u)" != 0 ] || chown postgres "$services/pg"
  as_postgres "$bin/initdb" -D "$services/pg" -U assay -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
  # Nothing of it is to survive, so nothing is written twice or waited for.
  as_postgres "$bin/pg_ctl" -D "$services/pg" -l "$services/pg/log" -s -w start -o \
    "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
  export DATABASE_URL="postgres://assay@127.0.0.1:$port/postgres"
}

start_redis() {
  local port
  port=$(free_port)
  redis-server --port "$port" --bind 127.0.0.1 --save "" --appendonly no --dir "$services" >/dev/null &
  redis_pid=$!
  export REDIS_URL="redis://127.0.0.1:$port/0"
}

# The tests ----------------------------------------------------------------------------------------------------

indifferent=(
  tests/annotation/protocol tests/annotation/formats tests/scoring/stats tests/browser
  tests/config/test_serve.py tests/config/test_sqlite_queue.py
)

pytest() { .venv/bin/python -m pytest -n 2 "$@"; }

unset DATABASE_URL REDIS_URL
say "Tests on SQLite"
pytest "$@"

if bin=$(postgres_bin) && have_redis; then
  start_postgres
  start_redis
  say "Tests on PostgreSQL and Redis, without those to which the database makes no difference: ${indifferent[*]}"
  pytest "${indifferent[@]/#/--ignore=}" "$@"
else
  say "No tests on PostgreSQL with Redis: not installed (see above)."
fi
