#!/usr/bin/env bash
#SBATCH --job-name=migrate
#SBATCH --time=04:00:00
#SBATCH --mem=512M
#SBATCH --requeue
#SBATCH --open-mode=append
# The run stops at a checkpoint a quarter of an hour before the limit. `scancel ID` stops it earlier, for good.
godwit run job.yaml --max-duration 3h45m --progress plain
status=$?
# Slurm waits two minutes before it starts the job again. With `RequeueExit=75` in slurm.conf it would start again for
# ever what ends with 75, also with --no-requeue. So the last status is another one.
if [ "$status" = 75 ]; then
  if [ "${SLURM_RESTART_COUNT:-0}" -ge 20 ]; then
    echo "unfinished after 20 restarts" >&2
    exit 1
  fi
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
