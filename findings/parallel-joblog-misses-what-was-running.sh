#!/usr/bin/env bash
# GNU parallel writes no joblog line for a job that runs when parallel is stopped.
#
# Guess: after SIGTERM the joblog has a line for each job that was started, with its signal.
# Seen: parallel 20221122+ds-2 (Debian 12): it ends its jobs, and the log has lines only for jobs that had ended before.
# The status of parallel is 255.
# A count of failed lines in the joblog says "none failed" of a night that was stopped. What is done must be read elsewhere.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root parallel=20221122+ds-2
dpkg -x parallel_*.deb root
(exec root/usr/bin/parallel --will-cite -j2 --joblog log 'sleep {}' ::: 0.1 0.1 60 60 60 2>/dev/null) &
sleep 3
kill -TERM $!
status=0
wait $! || status=$?
{
  echo "status $status"
  cut -f 7- log
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
status 255
Exitval	Signal	Command
0	0	sleep 0.1
0	0	sleep 0.1
SEEN
