#!/usr/bin/env bash
# A keyed archive that `plistutil` converts to XML and back has dictionaries in place of its references.
#
# Guess: the way back makes references (UIDs) of the `CF$UID` dictionaries that the way there wrote.
# Seen: libplist-utils 2.2.0-6+b2 (Debian 12): they stay dictionaries with one key, so that no reader of keyed archives
# follows them. The file is a valid property list all the same. Python's plistlib reads the XML in the same way.
# An archive of a store that was edited as XML needs another tool on its way back.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root libplist-utils=2.2.0-6+b2 libplist3=2.2.0-6+b2
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$work/root/usr/lib/$(uname -m)-linux-gnu
export LD_LIBRARY_PATH
plistutil=root/usr/bin/plistutil

python3 -c "
import plistlib
archive = {'\$version': 100000, '\$archiver': 'NSKeyedArchiver', '\$objects': ['\$null', 'text'],
           '\$top': {'root': plistlib.UID(1)}}
open('there.plist', 'wb').write(plistlib.dumps(archive, fmt=plistlib.FMT_BINARY))"
"$plistutil" -i there.plist -o archive.xml
"$plistutil" -i archive.xml -f bin -o back.plist
python3 -c "
import plistlib
for name in ['there.plist', 'archive.xml', 'back.plist']:
    print(name, plistlib.load(open(name, 'rb'))['\$top'])" | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
there.plist {'root': UID(1)}
archive.xml {'root': {'CF$UID': 1}}
back.plist {'root': {'CF$UID': 1}}
SEEN
