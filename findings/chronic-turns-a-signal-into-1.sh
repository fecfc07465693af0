#!/usr/bin/env bash
# `chronic` ends with 1 when its command died by a signal, and with the command's status otherwise.
#
# Guess: it ends as its command did, or with 128 and the number of the signal, as a shell does.
# Seen: moreutils 0.67-1 (Debian 12): 75 stays 75, and a command that died by SIGTERM gives 1.
# A job under cron that a shutdown stops is meant to be told from one that failed. Under `chronic` it cannot be.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root moreutils=0.67-1 libipc-run-perl=20220807.0-1
for package in *.deb; do dpkg -x "$package" root; done
ends_with() {
  local status=0
  perl -Iroot/usr/share/perl5 root/usr/bin/chronic sh -c "$1" >/dev/null 2>&1 || status=$?
  echo "$1: $status"
}
{
  ends_with 'exit 75'
  ends_with 'kill -TERM $$'
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
exit 75: 75
kill -TERM $$: 1
SEEN
