#!/bin/bash
#SBATCH --job-name=migrate
#SBATCH --time=04:00:00
#SBATCH --mem=512M
#SBATCH --requeue
# The run stops at a checkpoint a quarter of an hour before the limit.
godwit run job.yaml --max-duration 3h45m --progress plain
status=$?
[ "$status" -eq 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit "$status"
