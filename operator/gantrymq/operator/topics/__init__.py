"""Planning of topics without I/O: a snapshot in; requests to brokers and statuses out."""
