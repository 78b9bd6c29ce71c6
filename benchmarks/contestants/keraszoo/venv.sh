# Makes the environment of this contestant; $1 is the folder to make.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
"${PYTHON:-python3.11}" -m venv "$1"
"$1/bin/pip" install -q "$here/../../.."
