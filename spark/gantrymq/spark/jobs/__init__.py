"""Jobs for whole topics: archive, replay, stats, dlq and trace (`gantry spark JOB`).

command_line   arguments.py of every job, checked before Spark starts
runner         starts the session, runs the job, prints its summary, answers the exit code
archive replay stats dead_letters traces     a job each: arguments in, a Summary out
"""
