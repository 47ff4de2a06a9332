#!/usr/bin/env bash
# Installs the real pi for comparison: `install.sh DIR` puts Node and one fixed release of
# pi's package into DIR and prints their paths. A second run downloads nothing.
set -euo pipefail

pi_package='@earendil-works/pi-coding-agent'
pi_version='1.5.0'
node_major='22'
# Loads the extensions of pi's option -e.
jiti_version='2.7.0'

[ $# -eq 1 ] || { echo 'usage: install.sh DIR' >&2; exit 2; }
mkdir -p "$1"
cd "$1"
here=$PWD

if [ ! -x node_modules/.bin/node ] || [ ! -d node_modules/jiti ]; then
  command -v npm >/dev/null || { echo 'install.sh: npm is needed to fetch the peer; install Node.js first' >&2; exit 1; }
  [ -f package.json ] || echo '{ "name": "osier-peer", "private": true }' > package.json
  npm install --silent --no-audit --no-fund "node@$node_major" "jiti@$jiti_version" >&2
fi

module=package/dist/bundle/index.js
if [ ! -f "$module" ]; then
  archive=$(npm pack --silent "$pi_package@$pi_version")
  tar -xzf "$archive"
  rm -f "$archive"
fi
[ -f "$module" ] || { echo "install.sh: $pi_package $pi_version does not contain $module" >&2; exit 1; }

echo "NODE=$here/node_modules/.bin/node"
echo "MODULE=$here/$module"
