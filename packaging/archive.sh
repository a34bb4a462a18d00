#!/usr/bin/env bash
# Creates the archives of a release and their checksums. Requires GNU tar and zip.
#
# Usage: packaging/archive.sh VERSION BINARIES OUTPUT
#   BINARIES  one folder per target, with `contract-codegen` and `exchange`, or these names with `.exe`
#   OUTPUT    receives COMMAND-VERSION-TARGET.tar.gz or .zip, and SHA256SUMS
#
# HOST_TARGET selects the binaries that run here and print completions and man pages (default:
# x86_64-unknown-linux-gnu). SOURCE_DATE_EPOCH sets the time of the files in the archives.
set -euo pipefail

if [ $# -ne 3 ]; then
  echo "usage: $0 VERSION BINARIES OUTPUT" >&2
  exit 2
fi
version=$1
mkdir -p "$3"
binaries=$(cd "$2" && pwd)
output=$(cd "$3" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
host=$binaries/${HOST_TARGET:-x86_64-unknown-linux-gnu}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT

readme_of() {
  case $1 in
    contract-codegen) echo README.md ;;
    exchange) echo exchange/cli/README.md ;;
  esac
}

# Artifacts of a workflow lose the executable bit.
chmod -R a+rx "$binaries"

for command in contract-codegen exchange; do
  if [ "$("$host/$command" --version)" != "$command $version" ]; then
    echo "error: $host/$command is not version $version" >&2
    exit 1
  fi
  documents=$staging/documents/$command
  mkdir -p "$documents"
  mkdir "$documents/completions" "$documents/man"
  "$host/$command" completions bash > "$documents/completions/$command.bash"
  "$host/$command" completions fish > "$documents/completions/$command.fish"
  "$host/$command" completions zsh > "$documents/completions/_$command"
  "$host/$command" man "$documents/man"

  for folder in "$binaries"/*/; do
    target=$(basename "$folder")
    name=$command-$version-$target
    content=$staging/$name
    mkdir "$content"
    cp -R "$documents/." "$content/"
    cp LICENSE-APACHE LICENSE-MIT "$content/"
    cp "$(readme_of "$command")" "$content/README.md"
    if [ -f "$folder$command.exe" ]; then
      cp "$folder$command.exe" "$content/"
      find "$content" -exec touch --no-dereference --date="@$epoch" {} +
      (cd "$staging" && find "$name" | LC_ALL=C sort | TZ=UTC zip --quiet -X -@ "$output/$name.zip")
    else
      cp "$folder$command" "$content/"
      tar --create --directory "$staging" --sort=name --owner=0 --group=0 --numeric-owner \
        --mode=u+rw,go+r,go-w --mtime="@$epoch" "$name" | gzip --no-name --best > "$output/$name.tar.gz"
    fi
  done
done

cd "$output"
shopt -s nullglob
sha256sum -- *.tar.gz *.zip > SHA256SUMS
