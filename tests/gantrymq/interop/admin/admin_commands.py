"""Lists the mqadmin commands that are compared, and where Gantry's broker answers differently.

Commands are written as a user types them; names in {braces} are those of AdminSide.places.
"""

from collections.abc import Mapping
from typing import Final

from gantrymq.interop.admin.admin_sides import CLUSTER, GROUP, PRODUCERS, TOPIC

# Commands that change nothing and print the same.
READS: Final = (
    f"topicRoute -t {TOPIC}",
    f"topicRoute -t {TOPIC} -l",
    f"topicClusterList -t {TOPIC}",
    f"topicStatus -t {TOPIC}",
    "topicStatus -t NoSuchTopic",
    f"consumerProgress -g {GROUP}",
    f"consumerProgress -g {GROUP} -s true",
    "consumerProgress -g NoSuchGroup",
    f"consumerConnection -g {GROUP}",
    f"consumerConnection -g {GROUP} -b {{broker}}",
    "consumerConnection -g NoSuchGroup",
    f"producerConnection -g {PRODUCERS} -t {TOPIC}",
    f"producerConnection -g NoSuchProducer -t {TOPIC}",
    f"consumerStatus -g {GROUP}",
    "consumerStatus -g NoSuchGroup",
    f"getConsumerConfig -g {GROUP}",
    "brokerConsumeStats -b {broker} -o true",
    "brokerConsumeStats -b {broker} -l 1000000",
    f"queryMsgById -i {{offset_id}} -g {GROUP} -d {{client}} -t {TOPIC}",
    f"queryMsgByKey -t {TOPIC} -k key-3",
    f"queryMsgByKey -t {TOPIC} -k no-such-key",
    f"queryMsgByUniqueKey -t {TOPIC} -i {{id}} -g {GROUP} -d {{client}}",
    f"queryMsgByUniqueKey -t {TOPIC} -i NoSuchId",
    f"queryMsgByOffset -t {TOPIC} -b broker-admin -i 0 -o 99",
    "queryMsgTraceById -i NoSuchId",
    f"printMsg -t {TOPIC}",
    f"printMsg -t {TOPIC} -d true -s TagA",
    "printMsg -t NoSuchTopic",
    f"printMsgByQueue -t {TOPIC} -a broker-admin -i 1 -p true",
    f"printMsgByQueue -t {TOPIC} -a broker-admin -i 1 -f true",
    f"consumeMessage -t {TOPIC} -b broker-admin -i 1 -o 1 -c 2",
    f"queryCq -t {TOPIC} -q 0 -i 0 -c 3",
    f"queryCq -t {TOPIC} -q 0 -i 0 -c 3 -b {{broker}} -g NoSuchGroup",
    f"queryCq -t {TOPIC} -q 9 -i 0",
    f"queryCq -t {TOPIC} -q 0 -i 9999",
    "queryCq -t NoSuchTopic -q 0 -i 0 -b {broker}",
    f"allocateMQ -t {TOPIC} -i 10.0.0.1,10.0.0.2",
    f"cleanExpiredCQ -c {CLUSTER}",
    "cleanExpiredCQ -b {broker}",
    f"cleanUnusedTopic -c {CLUSTER}",
    "cleanUnusedTopic -b {broker}",
    f"deleteExpiredCommitLog -c {CLUSTER}",
    "deleteExpiredCommitLog -b {broker}",
    "updateBrokerConfig -b {broker} -k brokerConfigPath -v /elsewhere",
    "updateTopic -b {broker} -t bad^name",
    "updateTopic -b {broker} -t TBW102",
    "cloneGroupOffset -s NoSuchGroup -d AdminGroup -t AdminTopic",
    f"cloneGroupOffset -s {GROUP} -d NoSuchGroup -t {TOPIC}",
    f"resetOffsetByTime -g {GROUP} -t NoSuchTopic -s 0",
    "deleteSubGroup -b {broker} -g NoSuchGroup",
)
# Commands and options that 4.9 does not have.
READS_OF_5: Final = (
    f"topicStatus -t {TOPIC} -c {CLUSTER}",
    f"consumerProgress -g {GROUP} -t {TOPIC}",
    "haStatus -b {broker}",
    f"haStatus -c {CLUSTER}",
    "getBrokerEpoch -b broker-admin",
    "rocksDBConfigToJson -t topics -b {broker}",
    "resetMasterFlushOffset -b {broker} -o 0",
    "addBroker -c {broker} -b /no/such/file",
    "removeBroker -c {broker} -b interop:broker-admin:1",
)

# Commands that only 5.5 has. Brokers of 5.3.3 do not know the requests; Gantry's broker also says
# why.
READS_OF_5_5: Final = (
    "switchTimerEngine -b {broker} -e F",
    "getBrokerLiteInfo -b {broker}",
    f"getParentTopicInfo -p {TOPIC}",
    f"getLiteTopicInfo -p {TOPIC} -l lite",
    f"getLiteClientInfo -p {TOPIC} -g {GROUP} -c client",
    f"getLiteGroupInfo -p {TOPIC} -g {GROUP}",
    f"triggerLiteDispatch -p {TOPIC} -g {GROUP}",
)

# Commands that Java's broker carries out and Gantry's refuses, with the text of the refusal.
REFUSED: Final[Mapping[str, str]] = {
    # A mistyped setting would seem to take effect.
    "updateBrokerConfig -b {broker} -k noSuchKey -v 1": "CODE: 1  DESC: nothing was changed: ",
    "updateBrokerConfig -b {broker} -k waitTimeMillsInSendQueue -v x": "must be a whole number",
    # No client could ever use such a group.
    "updateSubGroup -b {broker} -g bad^group": "CODE: 29  DESC: the specified group[bad^group]",
}
REFUSED_OF_5: Final[Mapping[str, str]] = {
    "exportPopRecord -b {broker} -d true": "CODE: 3 ",
    "getColdDataFlowCtrInfo -b {broker}": "CODE: 3 ",
    f"updateColdDataFlowCtrGroupConfig -b {{broker}} -g {GROUP} -v 1000": "CODE: 3 ",
    f"removeColdDataFlowCtrGroupConfig -b {{broker}} -g {GROUP}": "CODE: 3 ",
    "setCommitLogReadAheadMode -b {broker} -m 1": "CODE: 3 ",
    f"checkRocksdbCqWriteProgress -c {CLUSTER} -t {TOPIC} -cf 0": "there is no RocksDB",
    "updateStaticTopic -b broker-admin -t StaticTopic -qn 2": "there are no static topics",
}
MODES_OF_GROUPS: Final = (
    f"setConsumeMode -b {{broker}} -t {TOPIC} -g {GROUP} -m POP -q 1",
    f"setConsumeMode -b {{broker}} -t {TOPIC} -g {GROUP} -m PULL",
)
# Access control is off. Java 5.3.3 does not know the requests of 4.9, and answers its own with
# internal errors; Gantry knows only those of 4.9.
ACCOUNTS_OF_4: Final = (
    "clusterAclConfigVersion -b {broker}",
    "getAclConfig -b {broker}",
    "updateAclConfig -b {broker} -a accesskey1 -s secretkey1",
    "deleteAclConfig -b {broker} -a accesskey1",
    "updateGlobalWhiteAddr -b {broker} -g 10.0.0.1",
)
USERS_AND_RIGHTS: Final = (
    "createUser -b {broker} -u user -p password",
    "updateUser -b {broker} -u user -p password",
    "deleteUser -b {broker} -u user",
    "getUser -b {broker} -u user",
    "listUser -b {broker}",
    "createAcl -b {broker} -s User:user -r Topic:topic -a Pub -d Allow",
    "updateAcl -b {broker} -s User:user -r Topic:topic -a Pub -d Allow",
    "deleteAcl -b {broker} -s User:user",
    "getAcl -b {broker} -s User:user",
    "listAcl -b {broker}",
)
LEFT_OUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("startMonitoring", "clusterRT"), "never ends"),
    **dict.fromkeys(
        (
            *("updateKvConfig", "deleteKvConfig", "wipeWritePerm", "addWritePerm"),
            *("updateOrderConf", "getNamesrvConfig", "updateNamesrvConfig"),
        ),
        "asks name servers only",
    ),
    **dict.fromkeys(
        (
            *("getSyncStateSet", "getControllerMetaData", "getControllerConfig"),
            *("updateControllerConfig", "electMaster", "cleanBrokerMetadata"),
        ),
        "asks a controller",
    ),
    **dict.fromkeys(("exportMetadataInRocksDB", "dumpCompactionLog"), "reads local files"),
    **dict.fromkeys(("copyUser", "copyAcl"), "asks what getUser and createUser ask"),
    "remappingStaticTopic": "there are no static topics",
}

# Settings that only Gantry has, with the reason.
GANTRY_ONLY_SETTINGS: Final = {
    **dict.fromkeys(
        ("metricsBindAddress", "metricsPort", "metricsTokenFile"), "health and metrics"
    ),
    "aclFile": "where the accounts of 4.9 are",
    "auditLogFile": "the audit trail",
    "auditLogFileCount": "the audit trail",
    "auditLogFileSize": "the audit trail",
    "aclCredentialsFile": "whose account the broker uses itself",
    "groupAddress": "groups that elect their master",
    "groupMembers": "groups that elect their master",
    "groupSecretFile": "groups that elect their master",
    "haAllowUnauthenticatedSlaves": "replication that is authenticated",
    **dict.fromkeys(("haBindAddress", "haListen"), "an HA port with an address of its own"),
    "haTls": "replication that is authenticated",
    "keptTailsBytesMax": "groups that elect their master",
    "leaseName": "groups that elect their master",
    "leaseNamespace": "groups that elect their master",
    "leaseUrl": "groups that elect their master",
    **dict.fromkeys(
        ("maxConnections", "maxConnectionsExempt", "maxConnectionsPerAddress"),
        "bounds on connections",
    ),
    **dict.fromkeys(("maxPeerMemory", "maxQueuesOfTopics"), "bounds on memory"),
    "autoCreatedGroupExpireHours": "groups that expire",
    **dict.fromkeys(
        (
            "authKeyFile",
            "authenticationEnabled",
            "authenticationWhitelist",
            "authorizationEnabled",
            "authorizationWhitelist",
            "clientCertAccounts",
            "fullSignatureRequired",
            "initAuthenticationUser",
            "innerClientAuthenticationCredentials",
            "migrateAuthFromV1Enabled",
        ),
        "users and policies, which Java does not show among a broker's settings",
    ),
    **dict.fromkeys(("quotaFile", "quotaDelayMaxMillis", "quotaPullDelayMaxMillis"), "quotas"),
    **dict.fromkeys(("maxTransferBytesOnBulkPull", "maxTransferCountOnBulkPull"), "bulk pulls"),
    "memberNumber": "groups that elect their master",
    "metricsQueueLagEnable": "the lag of each queue as a metric",
    "minInSyncReplicas": "4.9 has none, and 5.3's 1 waits for no slave: 0 is two of such a group",
    **dict.fromkeys(("producerSessionHours", "producerSessionsMax"), "sends that are stored once"),
    "aclFileReadOnly": "accounts that come from elsewhere",
    "secureDefaults": "a broker that protects itself",
    "publishService": "groups that elect their master",
    "filterServerNums": "Java has dropped it, and its own exportConfigs reads it",
    "haMasterAddress": "Java shows it once it is set",
    "haSlaveFallbehindMax": "4.9's: slaves for which SYNC_MASTER does not wait",
}
GANTRY_ONLY_FIGURES: Final = {
    "getTransferedTps": "how 4.9's clusterList spells it, which falls over Java's broker",
    "totalMemKBytes": "exportMetrics reads it",
}
JAVA_ONLY_TOPICS_AND_GROUPS: Final = {"StaticTopic", "bad^group"}  # refused by Gantry, see above
# In exports: those above, and a number of threads that the newer tool takes for processors.
EXPORTED_BY_ONE: Final = {*GANTRY_ONLY_SETTINGS, *GANTRY_ONLY_FIGURES}
PLACES_IN_SETTINGS: Final = {
    *("listenPort", "haListenPort", "namesrvAddr", "brokerIP1", "brokerIP2"),
    *("storePathRootDir", "storePathCommitLog", "brokerConfigPath"),
}
