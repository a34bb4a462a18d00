#!/usr/bin/env bash
# Tries an archive on a system without a toolchain and without network: unpacks it into an empty folder, adds
# the libraries of the program, and runs the program with this folder as its root. contract-codegen generates
# code from a small document. Requires Linux, `unshare`, and a program for this machine.
#
# Usage: packaging/try-archive.sh ARCHIVE
#   ARCHIVE  COMMAND-VERSION-TARGET.tar.gz, as packaging/archive.sh creates it
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: $0 ARCHIVE" >&2
  exit 2
fi
case $(basename "$1") in
  contract-codegen-*) command=contract-codegen ;;
  exchange-*) command=exchange ;;
  *)
    echo "error: $1 is not an archive of this repository" >&2
    exit 2
    ;;
esac
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/work"
tar --extract --file "$1" --directory "$root" --strip-components=1

# A static program has no libraries.
while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp --dereference "$library" "$root$library"
done < <(ldd "$root/$command" 2> /dev/null | grep --only-matching '/[^ ]*' || true)

# The user namespace permits the other root without privileges, and the network namespace has no interfaces.
unshare=$(command -v unshare)
run_program() {
  env --ignore-environment "$unshare" --map-root-user --net --root "$root" --wd /work "/$command" "$@"
}
run_program --version
if [ "$command" = exchange ]; then
  run_program --help
  exit
fi
cat > "$root/work/shelf.yaml" << 'END'
openapi: 3.1.0
info: { title: Shelf, version: 1.0.0 }
paths:
  /items/{id}:
    get:
      operationId: getItem
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses:
        '200': { description: The item., content: { application/json: { schema: { $ref: '#/components/schemas/Item' } } } }
components:
  schemas:
    Item: { type: object, required: [code], properties: { code: { type: string, pattern: '^[A-Z]{3,60}$' } } }
END
run_program generate shelf.yaml --output generated
run_program check shelf.yaml --output generated
run_program drift shelf.yaml shelf.yaml
