"""Keeps a store consistent on disk: flushes while it runs, and recovery when it starts.

Recovery runs in stages: start_choice.py, recovery.py (walk and cut), rebuild.py. `FlushCoordinator`
runs all flushes and saves the flush positions.
"""
