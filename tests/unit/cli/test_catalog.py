"""Tests that the catalog has every command of mqadmin, or says why it is absent."""

from __future__ import annotations

import re

from gantrymq.cli import catalog

# The commands of 5.3.3, and those that only 4.9.7 has.
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


def test_each_command_of_mqadmin_is_in_the_catalog() -> None:
    assert [name for name in MQADMIN if catalog.find(name) is None] == []


def test_absent_commands_are_not_listed() -> None:
    assert not set(catalog.names()) & set(catalog.absent())
