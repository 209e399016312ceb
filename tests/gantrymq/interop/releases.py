"""The releases of RocketMQ that run beside ours in these tests, and what each is for.

INTEROP_JAVA=5.3.3 puts another release in the place of the newest one.
"""

import os
from typing import Final

# Brokers, stores, slaves and clients that clusters of today are updated to.
NEWEST: Final = os.environ.get("INTEROP_JAVA", "5.5.0")
# The release whose answers, output and metrics ours are compared with, line by line.
REFERENCE: Final = "5.3.3"
# The last brokers without pops, users and attributes, and the clients that most applications have.
OLDEST: Final = "4.9.7"
OLDEST_CLIENT: Final = "4.9.8"
# The client of gRPC, which is numbered apart from the servers.
GRPC_CLIENT: Final = "5.0.8"
