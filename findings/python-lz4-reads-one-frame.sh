#!/usr/bin/env bash
# python-lz4 decompresses the first of two frames, and drops the second without an error.
#
# Guess: each decoder reads both frames, since the frame format lets a file have several one after the other.
# Seen: lz4 4.4.5 (PyPI): `lz4.frame.decompress` returns 1,000 of 2,000 bytes. `lz4.frame.open` of the same bytes returns
# all 2,000, and so do cramjam 2.14.0 and the `lz4` command.
# A file to which frames are appended, such as a log or a spill file, must be read with `lz4.frame.open`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q lz4==4.4.5 cramjam==2.14.0
venv/bin/python - >seen <<'PYTHON'
import cramjam, io, lz4.frame
frames = lz4.frame.compress(b'a' * 1000) + lz4.frame.compress(b'b' * 1000)
print('lz4.frame.decompress', len(lz4.frame.decompress(frames)))
print('lz4.frame.open', len(lz4.frame.open(io.BytesIO(frames)).read()))
print('cramjam', len(bytes(cramjam.lz4.decompress(frames))))
PYTHON
cat seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
lz4.frame.decompress 1000
lz4.frame.open 2000
cramjam 2000
SEEN
