"""What a broker tells its operators: consumer lag, values of the store, log lines on writes."""
