"""Names the releases of RocketMQ that run in these tests, and the purpose of each.

INTEROP_JAVA=5.3.3 puts another release in the place of the newest one.
"""

import os
from typing import Final

# The brokers, stores, slaves and clients to which clusters are updated today.
NEWEST: Final = os.environ.get("INTEROP_JAVA", "5.5.0")
# The release whose answers, output and metrics are compared with Gantry's, line by line.
REFERENCE: Final = "5.3.3"
# The last brokers without pop, users and attributes, and the clients that most applications have.
OLDEST: Final = "4.9.7"
OLDEST_CLIENT: Final = "4.9.8"
# The gRPC client, whose versions differ from the servers'.
GRPC_CLIENT: Final = "5.0.8"
