#!/usr/bin/env bash
# Makes .venv and installs a lock file into it, hashes required; does nothing where that was done before.
# usage: scripts/venv.sh requirements.lock|requirements-dev.lock
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1
usable='import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'

find_python() {
  for name in python3.13 python3.12 python3.11 python3; do
    if "$name" -c "$usable" 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  echo "Python 3.11 or newer with its venv module is needed and was not found (Debian, Ubuntu: apt-get install python3-venv)." >&2
  return 1
}

# The lock that was installed is kept beside what it installed: the same file means nothing to do.
cmp -s "$lock" ".venv/$lock" && .venv/bin/python -c "$usable" 2>/dev/null && exit 0

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  echo "Making .venv with $("$python" --version) …"
  rm -rf .venv
  "$python" -m venv .venv
fi
echo "Installing $lock into .venv (once; a minute or two) …"
# Byte code is made when a module is first imported: compiling everything here would double the wait.
.venv/bin/python -m pip install -qq --no-compile --no-input --disable-pip-version-check --require-hashes -r "$lock"
cp "$lock" ".venv/$lock"
