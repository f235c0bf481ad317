package import Postgres

/// The statements with which a worker merges a batch into the ledger; each file documents its statement.
extension StatementFile {
    package static let mergeOutboundCalls = StatementFile(name: "merge_outbound_calls", bytes: EmbeddedFiles.merge_outbound_calls_sql)
    package static let mergeNotifications = StatementFile(name: "merge_notifications", bytes: EmbeddedFiles.merge_notifications_sql)
    package static let lockContractsOfBatch = StatementFile(
        name: "lock_contracts_of_batch",
        bytes: EmbeddedFiles.lock_contracts_of_batch_sql
    )
    package static let mergeContracts = StatementFile(name: "merge_contracts", bytes: EmbeddedFiles.merge_contracts_sql)
    package static let mergeV1Renewals = StatementFile(name: "merge_v1_renewals", bytes: EmbeddedFiles.merge_v1_renewals_sql)
    package static let mergeTransactions = StatementFile(name: "merge_transactions", bytes: EmbeddedFiles.merge_transactions_sql)
    package static let mergeClientPosts = StatementFile(name: "merge_client_posts", bytes: EmbeddedFiles.merge_client_posts_sql)
    package static let mergeRefundRequests = StatementFile(name: "merge_refund_requests", bytes: EmbeddedFiles.merge_refund_requests_sql)
    package static let deriveRefundRequestsOfBatch = StatementFile(
        name: "derive_refund_requests_of_batch",
        bytes: EmbeddedFiles.derive_refund_requests_of_batch_sql
    )
    package static let applyBatch = StatementFile(name: "apply_batch", bytes: EmbeddedFiles.apply_batch_sql)
    package static let mergeFoundStatuses = StatementFile(name: "merge_found_statuses", bytes: EmbeddedFiles.merge_found_statuses_sql)
    package static let findClientPosts = StatementFile(name: "find_client_posts", bytes: EmbeddedFiles.find_client_posts_sql)
    package static let mergeEventContracts = StatementFile(name: "merge_event_contracts", bytes: EmbeddedFiles.merge_event_contracts_sql)
    package static let findFirstEvents = StatementFile(name: "find_first_events", bytes: EmbeddedFiles.find_first_events_sql)
    package static let findEffectEvents = StatementFile(name: "find_effect_events", bytes: EmbeddedFiles.find_effect_events_sql)
    package static let fallBackFromAnswers = StatementFile(
        name: "fall_back_from_answers",
        bytes: EmbeddedFiles.fall_back_from_answers_sql
    )

    /// All of this file.
    package static let ledger = [
        mergeOutboundCalls, mergeNotifications, lockContractsOfBatch, mergeContracts, mergeV1Renewals, mergeTransactions, mergeClientPosts,
        mergeRefundRequests, deriveRefundRequestsOfBatch, applyBatch, mergeFoundStatuses, findClientPosts, mergeEventContracts,
        findFirstEvents, findEffectEvents, fallBackFromAnswers,
    ]
}

extension StatementFile {
    /// Every file of `sql/statements`.
    package static let all =
        queue + ledger + outbox + serverAPI + webhooks + certificates + shop + commands + endpoints + consumption + history + reconcile
        + imports + console + consolePages

    private static let queue = [
        claim, claimEvent, feedTakeStep, findUnansweredCommits, maintenanceDropPartition, maintenanceExpire, maintenanceExpireCalls,
        maintenanceExpireHistory, maintenanceExpireImports,
        maintenanceExpireDeliveries, maintenanceExpireFeed, maintenanceExpireNotifications,
        maintenancePartitions, markBatch, postponeEvents, probeQueue, readBodies, readInboxStatistics, receiveBodies, recoverBatches,
        reserveIsolated, settleBatch,
    ]
}
