# What tests and benchmarks share: finding PostgreSQL and Redis, and starting them for themselves alone. To be sourced.

say() { printf '%s\n' "$*" >&2; }

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

# Nothing of a test is to survive, so nothing is written twice or waited for; a benchmark leaves durability on.
FORGETFUL="-c fsync=off -c synchronous_commit=off -c full_page_writes=off"

start_postgres() { # further settings of the server
  local port
  port=$(free_port)
  chmod 711 "$services"
  mkdir "$services/pg"
  [ "$(id -u)" != 0 ] || chown postgres "$services/pg"
  as_postgres "$bin/initdb" -D "$services/pg" -U assay -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
  as_postgres "$bin/pg_ctl" -D "$services/pg" -l "$services/pg/log" -s -w start -o \
    "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories='' ${1:-}"
  export DATABASE_URL="postgres://assay@127.0.0.1:$port/postgres"
}

start_redis() {
  local port
  port=$(free_port)
  redis-server --port "$port" --bind 127.0.0.1 --save "" --appendonly no --dir "$services" >/dev/null &
  redis_pid=$!
  export REDIS_URL="redis://127.0.0.1:$port/0"
}
