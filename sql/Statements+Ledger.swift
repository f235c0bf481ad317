package import Postgres

/// The statements with which a worker merges a batch into the ledger; each file documents its statement.
extension StatementFile {
    package static let mergeOutboundCalls = StatementFile(name: "merge_outbound_calls", bytes: PackageResources.merge_outbound_calls_sql)
    package static let mergeNotifications = StatementFile(name: "merge_notifications", bytes: PackageResources.merge_notifications_sql)
    package static let lockContractsOfBatch = StatementFile(
        name: "lock_contracts_of_batch",
        bytes: PackageResources.lock_contracts_of_batch_sql
    )
    package static let mergeContracts = StatementFile(name: "merge_contracts", bytes: PackageResources.merge_contracts_sql)
    package static let mergeV1Renewals = StatementFile(name: "merge_v1_renewals", bytes: PackageResources.merge_v1_renewals_sql)
    package static let mergeTransactions = StatementFile(name: "merge_transactions", bytes: PackageResources.merge_transactions_sql)
    package static let mergeClientPosts = StatementFile(name: "merge_client_posts", bytes: PackageResources.merge_client_posts_sql)
    package static let mergeRefundRequests = StatementFile(name: "merge_refund_requests", bytes: PackageResources.merge_refund_requests_sql)
    package static let deriveRefundRequestsOfBatch = StatementFile(
        name: "derive_refund_requests_of_batch",
        bytes: PackageResources.derive_refund_requests_of_batch_sql
    )
    package static let applyBatch = StatementFile(name: "apply_batch", bytes: PackageResources.apply_batch_sql)
    package static let mergeFoundStatuses = StatementFile(name: "merge_found_statuses", bytes: PackageResources.merge_found_statuses_sql)
    package static let findClientPosts = StatementFile(name: "find_client_posts", bytes: PackageResources.find_client_posts_sql)
    package static let mergeEventContracts = StatementFile(name: "merge_event_contracts", bytes: PackageResources.merge_event_contracts_sql)
    package static let findFirstEvents = StatementFile(name: "find_first_events", bytes: PackageResources.find_first_events_sql)
    package static let findEffectEvents = StatementFile(name: "find_effect_events", bytes: PackageResources.find_effect_events_sql)
    package static let fallBackFromAnswers = StatementFile(
        name: "fall_back_from_answers",
        bytes: PackageResources.fall_back_from_answers_sql
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
