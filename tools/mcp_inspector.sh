#!/usr/bin/env bash
# The MCP inspector's command line (npm) against `maxsieve mcp`, over stdio and over HTTP: it lists tools and resources,
# calls each tool, and checks every answer against the protocol. Without npm, or if it can't be installed, it is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.12.0
folder=build/inspector

skip() {
  echo "$1"
  [[ -n "${MAXSIEVE_SKIPPED:-}" ]] && echo "$1" >"$MAXSIEVE_SKIPPED"
  exit 0
}

command -v npm >/dev/null || skip "there is no npm, which the MCP inspector needs"
mkdir -p "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" "@modelcontextprotocol/inspector@$version" \
  >/dev/null 2>&1 || skip "the MCP inspector could not be installed"

scratch="$(mktemp -d)"
server=
trap '[[ -n "$server" ]] && kill "$server"; rm -rf "$scratch"' EXIT
mkdir "$scratch/notes"
printf 'A red fox by the river.\n' >"$scratch/notes/fox.md"
printf 'def split_path(path):\n    return path.split("/")\n' >"$scratch/notes/path.py"
.venv/bin/maxsieve model fetch minilm >/dev/null
.venv/bin/maxsieve index "$scratch/docs.ms" "$scratch/notes" --no-progress >/dev/null

# asks ARGUMENT... EXPECTED: the answer to a request must contain a text.
asks() {
  local arguments=("${@:1:$#-1}") expected="${*: -1}" answer
  answer="$("$folder/node_modules/.bin/mcp-inspector" --cli "${target[@]}" "${arguments[@]}" 2>&1 || true)"
  if [[ "$answer" != *"$expected"* ]]; then
    echo "the inspector was not answered with '$expected': ${arguments[*]}: $answer"
    exit 1
  fi
}

all() {
  asks --method tools/list '"search"'
  asks --method tools/call --tool-name collections 'documents'
  asks --method tools/call --tool-name search --tool-arg 'query=a red fox' --tool-arg k=1 'fox.md:1-1'
  asks --method tools/call --tool-name read --tool-arg id=fox.md 'A red fox'
  asks --method tools/call --tool-name read --tool-arg id=../secret.md isError
  asks --method tools/call --tool-name rerank --tool-arg query=fox --tool-arg 'texts=["owl", "fox"]' 'texts[1]'
  asks --method resources/list 'fox.md'
  asks --method resources/templates/list 'uriTemplate'
}

target=("$(realpath .venv/bin/maxsieve)" mcp "$scratch/notes")
all
echo "the MCP inspector is content with maxsieve mcp over stdio"

.venv/bin/maxsieve serve "$scratch/docs.ms" --port 0 2>"$scratch/log" &
server=$!
for _ in $(seq 100); do grep -q "serving at" "$scratch/log" && break; sleep 0.2; done
address="$(grep -o 'http://[^;]*' "$scratch/log")"
target=("${address}mcp" --transport http)
all
echo "the MCP inspector is content with maxsieve serve over HTTP"
