#!/usr/bin/env bash
# Makes the page in build/browser: bash examples/browser/build.sh [TRANSLATOR [TAGGER]]
set -euo pipefail
cd "$(dirname "$0")"

page=../../build/browser
mkdir -p "$page"
npm install --no-audit --no-fund --no-package-lock
npm run build
cp index.html page.js node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm "$page"
keraszoo export "${1:-tatoeba_en_de_student}" "$page/translator" --format onnx
keraszoo export "${2:-english_entities}" "$page/tagger" --format onnx
echo "python -m http.server --bind 127.0.0.1 --directory build/browser"
