#!/usr/bin/env bash
# systemd-cron hands CRON_TZ to the job as a variable and runs the job at the local time. A `%` stays a `%`.
#
# Guess: its generator puts the zone into `OnCalendar`, which takes one, and makes a line feed of an unescaped `%`.
# Seen: systemd-cron 1.15.19-5 (Debian 12): `OnCalendar=*-*-* 1:30:00` and `Environment=CRON_TZ=America/New_York`; the
# script of the job has `echo a%b`, and `date +\%F` keeps its backslash, which the shell removes.
# Debian's own cron 3.0pl1 ignores CRON_TZ too, but cuts a command at `%`. Needs root, for a mount namespace.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root systemd-cron=1.15.19-5
dpkg -x systemd-cron_*.deb root
mkdir crontabs units
cat >crontabs/nightly <<'CRONTAB'
CRON_TZ=America/New_York
30 1 * * * root echo a%b; date +\%F
CRONTAB
unshare -m sh -c 'mount --bind crontabs /etc/cron.d &&
  python3 root/lib/systemd/system-generators/systemd-crontab-generator units'
{
  grep OnCalendar units/cron-nightly-root-0.timer
  grep Environment units/cron-nightly-root-0.service
  cat units/cron-nightly-root-0.sh
  echo
} | tee seen
diff -B seen - <<'SEEN' || { echo 'changed'; exit 1; }
OnCalendar=*-*-* 1:30:00
Environment=CRON_TZ=America/New_York
echo a%b; date +\%F
SEEN
