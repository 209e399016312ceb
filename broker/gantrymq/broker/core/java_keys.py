"""Keys that brokers of Java have and this one does not need: thread pools, buffers, features that
are not here. Files of theirs are read without a warning for each.
"""

from __future__ import annotations

from typing import Final

_KEYS: Final = """
    "level" - 1.3.5-rocketmq 23:16:22,061 23:16:22,079 23:16:22,080 23:16:22,087 23:16:22,244
    23:16:22,339 23:16:22,344 23:16:22,354 23:16:22,360 23:16:22,361 23:16:22,362 23:16:22,373
    23:16:22,374 23:16:22,375 23:16:22,376 23:16:22,377 23:16:22,378 23:16:22,381 23:16:22,382
    23:16:22,389 23:16:22,390 23:16:22,391 23:16:22,392 23:16:22,393 23:16:22,394 23:16:22,414
    23:16:22,415 23:16:22,426 23:16:22,428 23:16:22,446 23:16:22,449 23:16:22,450 23:16:22,451
    23:16:22,459 23:16:22,505 23:16:22,506 23:16:22,507 23:16:22,511 30 51 700 <level> <logger>
    <root> [DefaultSiftingAppender] [DefaultSiftingAppender_inner] [discriminator] [encoder]
    [io.opentelemetry.exporter.logging.LoggingMetricExporter]
    [io.opentelemetry.exporter.logging.otlp.OtlpJsonLoggingMetricExporter]
    [jar:file:/root/.cache/gantrymq/interop/servers-5.3.3-b869187f3d8a/rocketmq-broker-5.3.3.jar!/rmq.broker.logback.xml]
    [level] [org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender]
    [org.apache.rocketmq.logging.ch.qos.logback.classic.encoder.PatternLayoutEncoder]
    [org.apache.rocketmq.logging.ch.qos.logback.classic.sift.MDCBasedDiscriminator]
    [org.apache.rocketmq.logging.ch.qos.logback.classic.sift.SiftingAppender]
    [org.apache.rocketmq.logging.ch.qos.logback.core.ConsoleAppender] [rmq.broker.logback.xml]
    [rmq.logback-test.xml] [rmq.logback.xml] [rmq.proxy.logback.xml] [RocketmqAuthAudit]
    [RocketmqAuthAuditSiftingAppender] [RocketmqAuthAuditSiftingAppender_inner] [RocketmqBroker]
    [RocketmqBrokerMetricsSiftingAppender] [RocketmqBrokerMetricsSiftingAppender_inner]
    [RocketmqBrokerSiftingAppender] [RocketmqBrokerSiftingAppender_inner] [RocketmqColdCtr]
    [RocketmqColdCtrSiftingAppender] [RocketmqCommercial] [RocketmqCommercialSiftingAppender]
    [RocketmqCommercialSiftingAppender_inner] [RocketmqCommon] [RocketmqConsole]
    [RocketmqFilterSiftingAppender_inner] [RocketmqPop] [RocketmqPopSiftingAppender]
    [RocketmqPopSiftingAppender_inner] [RocketmqProtection] [RocketmqProtectionSiftingAppender]
    [RocketmqProtectionSiftingAppender_inner] [RocketmqRebalanceLock]
    [RocketmqRebalanceLockSiftingAppender] [RocketmqRebalanceLockSiftingAppender_inner]
    [RocketmqRemoting] [RocketmqRemotingSiftingAppender] [RocketmqRemotingSiftingAppender_inner]
    [RocketmqRocksDB] [RocketmqRocksDBSiftingAppender] [RocketmqRocksDBSiftingAppender_inner]
    [RocketmqStats] [RocketmqStatsSiftingAppender] [RocketmqStatsSiftingAppender_inner]
    [RocketmqStore] [RocketmqStoreError] [RocketmqStoreErrorSiftingAppender]
    [RocketmqStoreErrorSiftingAppender_inner] [RocketmqStoreSiftingAppender]
    [RocketmqStoreSiftingAppender_inner] [RocketmqTieredStore] [RocketmqTieredStoreSiftingAppender]
    [RocketmqTieredStoreSiftingAppender_inner] [RocketmqTraffic] [RocketmqTrafficSiftingAppender]
    [RocketmqTrafficSiftingAppender_inner] [RocketmqTransaction]
    [RocketmqTransactionSiftingAppender] [RocketmqTransactionSiftingAppender_inner]
    [RocketmqWaterMark] [RocketmqWaterMarkSiftingAppender] [RocketmqWaterMarkSiftingAppender_inner]
    [STDOUT] a About accessMessageInMemoryHotRatio accountStatsEnable accountStatsPrintZeroValues
    ackMessageThreadPoolNums ackThreadPoolQueueCapacity additivity adminBrokerThreadPoolNums
    adminBrokerThreadPoolQueueCapacity allAckInSyncStateSet allowRecallWhenBrokerNotWriteable
    appendAckAsync appendCkAsync appender as Assuming AsyncAppender. asyncLearner asyncSendEnable at
    Attaching attribute autoDeleteUnusedStats autoMessageVersionOnTopicLen
    batchDispatchRequestThreadPoolNums bitMapLengthConsumeQueueExt
    bottomMostCompressionTypeForConsumeQueueStore broadcastOffsetExpireMaxSecond
    broadcastOffsetExpireSecond brokerConfigPath brokerElectionPriority brokerFastFailureEnable
    brokerHeartbeatInterval brokerNotActiveTimeoutMillis cgColdReadThreshold changes
    channelNotActiveInterval checkSyncStateSetPeriod cleanOfflineBrokerInterval
    cleanRocksDBDirtyCQIntervalMin cleanSwapedMapInterval clearRetryTopicWhenDeleteTopic
    clientAsyncSemaphoreValue clientCallbackExecutorThreads clientChannelMaxIdleTimeSeconds
    clientCloseSocketIfTimeout clientManagerThreadPoolQueueCapacity clientManageThreadPoolNums
    clientOnewaySemaphoreValue clientPooledByteBufAllocatorEnable clientSocketRcvBufSize
    clientSocketSndBufSize clientWorkerThreads coldCtrStrategyEnable coldDataFlowControlEnable
    coldDataScanEnable commercialBaseCount commercialBigCount commercialEnable commercialSizePerMsg
    commercialTimerCount commercialTransCount commitCommitLogLeastPages
    commitCommitLogThoroughInterval commitIntervalCommitLog commitLogForceSwapMapInterval
    commitLogSwapMapInterval commitLogSwapMapReserveFileNum compactionCqMappedFileSize
    compactionMappedFileSize compactionScheduleInternal compactionThreadNum compatibleWithOldNameSrv
    configManagerVersion configuration configuration. connectTimeoutMillis
    consumerFallbehindThreshold consumerManagerThreadPoolQueueCapacity consumerManageThreadPoolNums
    consumerOffsetUpdateVersionStep controllerAddr controllerHeartBeatTimeoutMills
    correctLogicMinOffsetForceInterval correctLogicMinOffsetSleepInterval Could current
    dataReadAheadEnable debugLockEnable default defaultMessageRequestMode defaultPopShareQueueNum
    delayOffsetUpdateVersionStep deprecated. destroyMapedFileIntervalForcibly
    disableCallbackExecutor disableConsumeIfConsumerReadSlowly disableNettyWorkerGroup
    disappearTimeAfterStart discardingThreshold diskFallRecorded dispatchCqCacheNum
    dispatchCqThreads dispatchFromSenderThread dLegerGroup dLegerPeers dLegerSelfId
    duplicationEnable element elements enableAsyncReput enableAutoInSyncReplicas enableBatchPush
    enableBroadcastOffsetStore enableBuildConsumeQueueConcurrently enableCalcFilterBitMap
    enableCleanExpiredOffset enableCompaction enableConsumeQueueExt enableControllerMode
    enableCreateSysGroup enabledAppendPropCRC enableDetailStat enableDLegerCommitLog
    enableFastChannelEventProcess enableLmq enableLmqStats enableMixedMessageType
    enableMultiDispatch enableNetWorkFlowControl enableNotifyAfterPopOrderLockRelease
    enableNotifyBeforePopCalculateLag enablePopBatchAck enablePopBufferMerge enablePopLog
    enablePopMessageThreshold enableReconnectForGoAway enableRegisterProducer enableRemoteEscape
    enableRetryTopicV2 enableRocksDBLog enableScheduleAsyncDeliver enableScheduleMessageStats
    enableShutdownGracefully enableSingleTopicRegister enableSkipLongAwaitingAck
    enableSlaveActingMaster enableSplitRegistration End endTransactionPoolQueueCapacity
    endTransactionThreadPoolNums estimateAccumulation expectConsumerNumUseFilter fallback false
    fastFailIfNoBufferInStorePool fetchControllerAddrByDnsLookup fetchNameSrvAddrByDnsLookup
    fetchNamesrvAddrInterval file filterDataCleanTimeSpan find flushCommitLogTimed
    flushConsumerOffsetHistoryInterval flushLeastPagesWhenWarmMapedFile for forceVerifyPropCRC
    forwardTimeout Found globalColdReadThreshold haFlowControlEnable haHousekeepingInterval
    haListenPort haMasterAddress haMaxGapNotInSync haMaxTimeSlaveNotCatchup haSendHeartbeatInterval
    haSlaveFallbehindMax haTransferBatchSize heartbeatThreadPoolNums
    heartbeatThreadPoolQueueCapacity highSpeedMode in INFO initPopOffsetByCheckMsgInMem instantiate
    instead. inSyncReplicas is isEnableBatchPush isolateLogEnable isScanAvailableNameSrv level line
    litePullMessageEnable litePullMessageThreadPoolNums litePullThreadPoolQueueCapacity
    loadBalancePollNameServerInterval loadBalanceProcessorThreadPoolNums
    loadBalanceThreadPoolQueueCapacity lockInStrictMode logback-classic logger
    Logger[io.opentelemetry.exporter.logging.LoggingMetricExporter]
    Logger[io.opentelemetry.exporter.logging.otlp.OtlpJsonLoggingMetricExporter]
    Logger[RocketmqAuthAudit] Logger[RocketmqBroker] Logger[RocketmqColdCtr]
    Logger[RocketmqCommercial] Logger[RocketmqCommon] Logger[RocketmqConsole] Logger[RocketmqPop]
    Logger[RocketmqProtection] Logger[RocketmqRebalanceLock] Logger[RocketmqRemoting]
    Logger[RocketmqRocksDB] Logger[RocketmqStats] Logger[RocketmqStore] Logger[RocketmqStoreError]
    Logger[RocketmqTieredStore] Logger[RocketmqTraffic] Logger[RocketmqTransaction]
    Logger[RocketmqWaterMark] Logger[ROOT] logicalDiskSpaceCleanForciblyThreshold
    logicQueueForceSwapMapInterval logicQueueSwapMapInterval logicQueueSwapMapReserveFileNum
    mappedFileSizeConsumeQueueExt mappedFileSizeTimerLog mappedFileSwapEnable
    mapperFileSizeBatchConsumeQueue maxAsyncPutMessageRequests maxBatchDeleteFilesNum
    maxChecksumRange maxConsumeQueueScan maxDelayTime maxErrorRateOfBloomFilter maxFilterMessageSize
    maxHaTransferByteInSecond maxLmqConsumeQueueNum maxOffsetMapSize maxPopPollingSize
    maxReconnectIntervalTimeSeconds maxRecoveryCommitlogFiles maxSlaveResendLength
    maxStatsIdleTimeInMinutes maxTopicLength memTableFlushIntervalMs messageStorePlugIn
    metricGrpcExporterIntervalInMills metricGrpcExporterTimeOutInMills
    metricLoggingExporterIntervalInMills metricsExporterType metricsGrpcExporterHeader
    metricsGrpcExporterTarget metricsInDelta metricsLabel metricsOtelCardinalityLimit
    metricsPromExporterHost metricsPromExporterPort minInSyncReplicas named Near new not NOT of
    offsetCheckInSlave on or org.apache.rocketmq.common.logging.JoranConfiguratorExt@43aaf813
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[DefaultSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqAuthAuditSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqBrokerMetricsSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqBrokerSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqCommercialSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqPopSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqProtectionSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqRebalanceLockSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqRemotingSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqRocksDBSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqStatsSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqStoreErrorSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqStoreSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqTieredStoreSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqTrafficSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqTransactionSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.AsyncAppender[RocketmqWaterMarkSiftingAppender]
    org.apache.rocketmq.logging.ch.qos.logback.classic.joran.action.LevelAction
    org.apache.rocketmq.logging.ch.qos.logback.classic.LoggerContext[default]
    org.apache.rocketmq.logging.ch.qos.logback.classic.model.processor.ConfigurationModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.classic.model.processor.LevelModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.classic.model.processor.LoggerModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.classic.model.processor.RootLoggerModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.core.joran.spi.ConfigurationWatchList@5c18016b
    org.apache.rocketmq.logging.ch.qos.logback.core.model.processor.AppenderModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.core.model.processor.AppenderRefModelHandler
    org.apache.rocketmq.logging.ch.qos.logback.core.model.processor.DefaultProcessor@33aeca0b
    org.apache.rocketmq.logging.ch.qos.logback.core.model.processor.ImplicitModelHandler
    osPageCacheBusyTimeOutMills period Please point popCkMaxBufferSize popCkOffsetMaxQueueSize
    popCkStayBufferTime popCkStayBufferTimeOut popConsumerFSServiceInit popConsumerKVServiceEnable
    popConsumerKVServiceInit popConsumerKVServiceLog popFromRetryProbability
    popInflightMessageThreshold popLongPollingForceNotifyInterval popPollingMapSize popPollingSize
    popResponseReturnActualRetryTopic popReviveMaxAttemptTimes popReviveMaxReturnSizePerRead
    preferredLeaderId printChannelGroups printChannelGroupsMinNum Processing
    processReplyMessageThreadPoolNums property pullBatchMaxMessageCount pullMessageThreadPoolNums
    pullThreadPoolQueueCapacity putConsumeQueueDataByFileChannel putMessageFutureThreadPoolNums
    putMessageTimeout putMsgIndexHightWater putThreadPoolQueueCapacity queryMessageThreadPoolNums
    queryThreadPoolQueueCapacity readOnlyCommitLogStorePaths readUnCommitted
    realTimeNotifyConsumerChange realTimePersistRocksDBConfig recheckReputOffsetFromCq
    ReconfigureOnChangeTask ReconfigureOnChangeTask(born:1795302982339) recoverConcurrently
    recoverThreadPoolNums redeleteHangedFileInterval Registering replicasPerDiskPartition
    replyThreadPoolQueueCapacity resource retrieveMessageFromPopRetryTopicV1 reviveAckWaitMs
    reviveInterval reviveMaxSlow reviveQueueNum reviveScanTime RocketmqColdCtr rocketmqHome
    rocksdbCompressionType rocksdbCQDoubleWriteEnable rocksdbFlushWalFrequency
    rocksdbWalFileRollingThreshold ROOT safe sampleCountThreshold sampleSteps scan scanning
    scheduleAsyncDeliverMaxPendingLimit scheduleAsyncDeliverMaxResendNum2Blocked
    searchBcqByCacheEnable seconds sendHeartbeatTimeoutMillis sendMessageThreadPoolNums
    sendThreadPoolQueueCapacity serverAsyncSemaphoreValue serverCallbackExecutorThreads
    serverLoadBalancerEnable serverNettyWorkerGroupEnable serverOnewaySemaphoreValue
    serverPooledByteBufAllocatorEnable serverSelectorThreads serverSocketRcvBufSize
    serverSocketSndBufSize serverWorkerThreads set Setting shutdownWaitTimeSeconds skipPreOnline
    skipWhenCKRePutReachMaxTimes slaveTimeout socksProxyConfig spinLockCollisionRetreatOptimalDegree
    splitRegistrationSize statRocksDBCQIntervalSec storePathBrokerIdentity storePathDLedgerCommitLog
    storePathEpochFile storeType subscriptionExpiredTimeout syncBrokerMemberGroupPeriod
    syncBrokerMetadataPeriod syncControllerMetadataPeriod syncFromLastFile
    syncMasterFlushOffsetWhenStartup This timerCheckMetricsWhen timerColdDataCheckIntervalMs
    timerCongestNumEachSlot timerEnableCheckMetrics timerEnableDisruptor
    timerEnableRetryUntilSuccess timerFlushIntervalMs timerGetMessageThreadNum
    timerInterceptDelayLevel timerMetricSmallThreshold timerPrecisionMs timerProgressLogIntervalMs
    timerPutMessageThreadNum timerRollWindowSlot timerSkipUnknownError timerStopDequeue
    timerStopEnqueue timerWarmEnable to topicQueueLockNum totalReplicas
    transactionMetricFlushInterval transactionOpBatchInterval transactionOpMsgMaxSize
    transferMsgByHeap transientStorePoolEnable transientStorePoolSize travelCqFileNumWhenGetMessage
    type updateNameServerAddrPeriod URL use useABSLock useEpollNativeSelector usePIDColdCtrStrategy
    useReentrantLockWhenPutMessage useStaticSubscription version waitTimeMillsInAckQueue
    waitTimeMillsInAdminBrokerQueue waitTimeMillsInHeartbeatQueue waitTimeMillsInLitePullQueue
    waitTimeMillsInPullQueue waitTimeMillsInTransactionQueue wakeCommitWhenPutMessage
    wakeFlushWhenPutMessage warmMapedFileEnable Will within writeBufferHighWaterMark
    writeBufferLowWaterMark |-INFO |-WARN
"""

JAVA_KEYS: Final = frozenset(_KEYS.split())
