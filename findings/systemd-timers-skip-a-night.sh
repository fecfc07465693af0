#!/usr/bin/env bash
# A systemd timer at 01:30 does not run in London in the night in which the clock goes forward.
#
# Guess: it runs once, at 02:30 summer time, as Debian's cron runs a job of the hour that is left out.
# Seen: systemd 252 (Debian 12): `systemd-analyze calendar` goes from Saturday to Monday. A time zone in the expression
# gives the same. A time with a zone that has no summer time, such as UTC, is not skipped.
# A nightly migration at 01:30 is missing once a year in London and Lisbon, and one at 02:30 in Berlin.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root systemd=252.39-1~deb12u2 libsystemd-shared=252.39-1~deb12u2
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$work/root/usr/lib/$(uname -m)-linux-gnu/systemd:$work/root/lib/$(uname -m)-linux-gnu/systemd
export LD_LIBRARY_PATH
days() {
  echo "$1: $(TZ=UTC root/usr/bin/systemd-analyze calendar --base-time='2027-03-27 00:00' --iterations=3 "$1" \
    | grep -oE '(elapse|Iter. #[0-9]): [A-Z][a-z]{2}' | cut -d' ' -f2- | grep -oE '[A-Z][a-z]{2}$' | xargs)"
}
{
  days '*-*-* 01:30 Europe/London'
  days '*-*-* 02:30 Europe/Berlin'
  days '*-*-* 01:30 UTC'
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
*-*-* 01:30 Europe/London: Sat Mon Tue
*-*-* 02:30 Europe/Berlin: Sat Mon Tue
*-*-* 01:30 UTC: Sat Sun Mon
SEEN
