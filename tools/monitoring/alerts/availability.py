"""Defines alerts about processes and masters that are down, and about routes that differ."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import grown

_SET: Final = "namespace, cluster, node_id"

TARGET_DOWN: Final = Alert(
    "GantryTargetDown",
    Severity.CRITICAL,
    "up == 0 and on (job, instance) last_over_time(gantry_event_loop_lag_seconds[7d])",
    60,
    "{{ $labels.instance }} does not answer Prometheus",
    "A process that was scraped in the last week does not answer any more.",
    (
        "The process ended, or its machine did.",
        "Its event loop stalls: the page of metrics is made there.",
        "The network between Prometheus and the process is cut.",
    ),
    (
        (
            "`curl -s HOST:PORT/health/live`: the port is `metricsPort`, 5557 of a broker, 5558"
            " of a name server, 5559 of the operator. It answers while the loop stalls, and says"
            " what the loop does."
        ),
        (
            "On Kubernetes `kubectl get pods` and `kubectl logs --previous`; elsewhere the log of"
            " the process."
        ),
    ),
    (
        "Start the process again, or let Kubernetes do it; the log of the one that ended says why.",
        "If it was removed on purpose, remove the target: the alert ends a week later by itself.",
    ),
)

NO_MASTER: Final = Alert(
    "GantryNoMaster",
    Severity.CRITICAL,
    f"max by ({_SET}) (gantry_broker_is_master) == 0"
    f" unless max by ({_SET}) (gantry_broker_master_heard_timestamp_seconds) > time() - <seconds>",
    10,
    "{{ $labels.node_id }} has no master",
    "Members of a broker name are up, none of them is master, and none hears a master.",
    (
        "A failover is under way: it takes seconds.",
        "The members cannot reach the Kubernetes API, so none may take the Lease.",
        "Only members that lack acknowledged messages are left, and they may not lead.",
        "Without elections: the master is down, and a slave never becomes master by itself.",
    ),
    (
        (
            "`kubectl gantry status CLUSTER` says why each member is not ready; `/health/ready`"
            " of a member says the same."
        ),
        "`gantry clusterList -n NAMESRV` shows which brokers are registered.",
    ),
    (
        "Bring back the member that was master, with its disk.",
        (
            "If its disk is lost, `kubectl gantry plan CLUSTER` says what the operator"
            " waits for, and what it would cost to go on without it."
        ),
        "Without elections start the master again.",
    ),
    seconds=10,
)

BROKER_GONE: Final = Alert(
    "GantryBrokerGone",
    Severity.CRITICAL,
    f"max by ({_SET}) (last_over_time(gantry_broker_is_master[1h]))"
    f" unless max by ({_SET}) (gantry_broker_is_master)",
    60,
    "No member of {{ $labels.node_id }} is scraped any more",
    "A broker name was scraped within the last hour, and none of its members is now.",
    (
        "All its pods or machines are gone.",
        "The broker was removed on purpose, with its targets.",
    ),
    (
        "`gantry clusterList -n NAMESRV`: is it registered?",
        "`kubectl get pods -l gantrymq.dev/group`: are there pods?",
    ),
    (
        "Bring the members back: their disks hold the messages of the queues that are only there.",
        "If it was removed on purpose, wait: the alert ends within an hour.",
    ),
)

NAME_SERVERS_DISAGREE: Final = Alert(
    "GantryNameServersDisagree",
    Severity.WARNING,
    "max by (namespace, job) (gantry_namesrv_brokers)"
    " != min by (namespace, job) (gantry_namesrv_brokers)"
    " or max by (namespace, job) (gantry_namesrv_topics)"
    " != min by (namespace, job) (gantry_namesrv_topics)",
    120,
    "Name servers of {{ $labels.job }} know different brokers or topics",
    "Two name servers of one job know different numbers of brokers or of topics.",
    (
        "A broker does not reach one of the name servers.",
        "A broker's `namesrvAddr` does not name all of them.",
        "The job has name servers of different clusters: give each cluster a job of its own.",
    ),
    (
        (
            "`gantry clusterList -n HOST:9876` and `gantry topicList -n HOST:9876` with each name"
            " server, and compare."
        ),
        "The log of the broker that is missing: `registration failed`.",
    ),
    (
        "Make the broker reach that name server, or correct its `namesrvAddr`.",
        "Until then clients that ask that name server do not see the broker's queues.",
    ),
)

NAME_SERVER_REFUSES: Final = Alert(
    "GantryNameServerRefuses",
    Severity.WARNING,
    grown(
        'gantry_namesrv_registrations_total{outcome="refused"}', "10m", "namespace, job, instance"
    ),
    0,
    "{{ $labels.instance }} refuses registrations of a broker",
    "A name server refused a broker's registration.",
    (
        "The broker was master in an older epoch, and another member is master now.",
        "The request is damaged, or has a wrong checksum.",
    ),
    ("The name server's log names the broker and the reason.",),
    (
        (
            "A former master notices by itself and follows the new one. If it does not within a"
            " minute, look at its log, and restart it."
        ),
    ),
)

BROKER_EXPIRED: Final = Alert(
    "GantryBrokerExpired",
    Severity.WARNING,
    grown("gantry_namesrv_expired_brokers_total", "10m", "namespace, job, instance"),
    0,
    "{{ $labels.instance }} removed a silent broker",
    "A name server heard nothing of a broker for `brokerChannelExpiredTime` and removed it.",
    (
        "The broker was killed, or its machine is gone, without a farewell.",
        "The broker hangs, or the network drops its packets.",
    ),
    ("The name server's log names the broker.", "`gantry clusterList -n NAMESRV` lacks it."),
    ("Look at that broker: its log, its machine, the network to the name server.",),
)

CERTIFICATE_EXPIRES: Final = Alert(
    "GantryCertificateExpires",
    Severity.WARNING,
    "gantry_tls_certificate_expires_timestamp_seconds - time() < <seconds>",
    600,
    "The certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}",
    "The certificate that a server shows to TLS clients expires in less than 14 days.",
    (
        "It was not renewed in time.",
        "It was renewed, and the file that `tls.server.certPath` names is still the old one.",
    ),
    (
        "`openssl x509 -enddate -noout -in FILE`, with the file of `tls.server.certPath`.",
        (
            "`openssl s_client -connect HOST:10911 </dev/null | openssl x509 -enddate -noout` shows"
            " the one in use."
        ),
        "The log says `the certificate in use stays` where a new file cannot be used.",
    ),
    (
        (
            "Write the new certificate and its key over the old files. The server reads them with"
            " the next connection; no restart is needed."
        ),
        "Clients that check the server refuse it from the moment on that it has expired.",
    ),
    seconds=14 * 86_400,
)

GROUP: Final = Group(
    "availability",
    "is it up?",
    "Processes that are down, brokers without a master, name servers that differ, certificates.",
    (
        TARGET_DOWN,
        NO_MASTER,
        BROKER_GONE,
        NAME_SERVERS_DISAGREE,
        NAME_SERVER_REFUSES,
        BROKER_EXPIRED,
        CERTIFICATE_EXPIRES,
    ),
)
