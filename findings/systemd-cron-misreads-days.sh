#!/usr/bin/env bash
# systemd-cron runs a job of a day of the month and a day of the week only if both match, and `5-7` on all days.
#
# Guess: the job runs if one of the two matches, as the crontab(5) of this very package says, and `5-7` is Friday to
# Sunday, since its table allows 0 to 7.
# Seen: systemd-cron 1.15.19-5 (Debian 12): `30 1 1 * 1` becomes `Mon *-*-1`, which systemd reads as the Mondays that
# are a first of the month, one to three a year. `5-7` and `6-7` are "garbled" for the generator's log, and become a
# timer without days of the week. `7` alone, `0,5,6` and `fri-sat` are right. Debian's cron 3.0pl1 takes all of these
# (`crontab -n`).
# A nightly run at weekends, or one on Mondays and on the first of the month, needs other words in such a crontab. Needs
# root, for a mount namespace.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root systemd-cron=1.15.19-5
dpkg -x systemd-cron_*.deb root
mkdir crontabs units
cat >crontabs/nightly <<'CRONTAB'
30 1 1 * 1 root true
30 1 * * 5-7 root true
30 1 * * 6-7 root true
30 1 * * 7 root true
30 1 * * 0,5,6 root true
30 1 * * fri-sat root true
CRONTAB
unshare -m sh -c 'mount --bind crontabs /etc/cron.d &&
  python3 root/lib/systemd/system-generators/systemd-crontab-generator units' 2>/dev/null
{
  zgrep -o 'when at least one of the two day fields' root/usr/share/man/man5/crontab.5.gz
  for number in 0 1 2 3 4 5; do
    echo "$(sed -n "$((number + 1))p" crontabs/nightly | cut -d ' ' -f 3-5):" \
      "$(grep OnCalendar "units/cron-nightly-root-$number.timer" | tr -s ' ')"
  done
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
when at least one of the two day fields
1 * 1: OnCalendar=Mon *-*-1 1:30:00
* * 5-7: OnCalendar= *-*-* 1:30:00
* * 6-7: OnCalendar= *-*-* 1:30:00
* * 7: OnCalendar=Sun *-*-* 1:30:00
* * 0,5,6: OnCalendar=Sun,Fri,Sat *-*-* 1:30:00
* * fri-sat: OnCalendar=Fri,Sat *-*-* 1:30:00
SEEN
