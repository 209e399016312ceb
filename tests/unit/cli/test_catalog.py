"""Every command of mqadmin is there, or says why it is not."""

from __future__ import annotations

import re

from gantrymq.cli import catalog

# Of 5.3.3, and 4.9.7's own.
MQADMIN = set(
    re.findall(
        r"\w+",
        """
addBroker addWritePerm allocateMQ brokerConsumeStats brokerStatus checkMsgSendRT
checkRocksdbCqWriteProgress cleanBrokerMetadata cleanExpiredCQ cleanUnusedTopic cloneGroupOffset
clusterList clusterRT consumeMessage consumer consumerConnection consumerProgress consumerStatus
copyAcl copyUser createAcl createUser DecodeMessageId deleteAcl deleteExpiredCommitLog
deleteKvConfig deleteSubGroup deleteTopic deleteUser dumpCompactionLog electMaster exportConfigs
exportMetadata exportMetadataInRocksDB exportMetrics exportPopRecord getAcl getBrokerConfig
getBrokerEpoch getColdDataFlowCtrInfo getConsumerConfig getConsumerStatus getControllerConfig
getControllerMetaData getNamesrvConfig getSyncStateSet getUser haStatus listAcl listUser printMsg
printMsgByQueue producer producerConnection queryCq queryMsgById queryMsgByKey queryMsgByOffset
queryMsgByUniqueKey queryMsgTraceById remappingStaticTopic removeBroker
removeColdDataFlowCtrGroupConfig resetMasterFlushOffset resetOffsetByTime resetOffsetByTimeOld
rocksDBConfigToJson sendMessage sendMsgStatus setCommitLogReadAheadMode setConsumeMode
skipAccumulatedMessage startMonitoring statsAll topicClusterList topicList topicRoute topicStatus
updateAcl updateBrokerConfig updateColdDataFlowCtrGroupConfig updateControllerConfig
updateKvConfig updateNamesrvConfig updateOrderConf updateStaticTopic updateSubGroup
updateSubGroupList updateTopic updateTopicList updateTopicPerm updateUser wipeWritePerm
clusterAclConfigVersion deleteAclConfig getAclConfig updateAclConfig updateGlobalWhiteAddr
""",
    )
)


def test_nothing_of_mqadmin_is_forgotten() -> None:
    assert [name for name in MQADMIN if catalog.find(name) is None] == []


def test_what_is_absent_is_not_offered() -> None:
    assert not set(catalog.names()) & set(catalog.absent())
