package import Postgres

/// The statements of the operator's commands, and the first statement of each session; each file documents its statement.
extension StatementFile {
    package static let adoptRoleSettings = StatementFile(name: "adopt_role_settings", bytes: PackageResources.adopt_role_settings_sql)
    package static let explainInbox = StatementFile(name: "explain_inbox", bytes: PackageResources.explain_inbox_sql)
    package static let explainOutcome = StatementFile(name: "explain_outcome", bytes: PackageResources.explain_outcome_sql)
    package static let explainOutcomeHistory = StatementFile(
        name: "explain_outcome_history",
        bytes: PackageResources.explain_outcome_history_sql
    )
    package static let explainQueue = StatementFile(name: "explain_queue", bytes: PackageResources.explain_queue_sql)
    package static let explainSession = StatementFile(name: "explain_session", bytes: PackageResources.explain_session_sql)
    package static let explainAudit = StatementFile(name: "explain_audit", bytes: PackageResources.explain_audit_sql)
    package static let explainTransaction = StatementFile(name: "explain_transaction", bytes: PackageResources.explain_transaction_sql)
    package static let explainSubscription = StatementFile(name: "explain_subscription", bytes: PackageResources.explain_subscription_sql)
    package static let explainContract = StatementFile(name: "explain_contract", bytes: PackageResources.explain_contract_sql)
    package static let explainOwnershipClaims = StatementFile(
        name: "explain_ownership_claims",
        bytes: PackageResources.explain_ownership_claims_sql
    )
    package static let explainOwnerLinks = StatementFile(name: "explain_owner_links", bytes: PackageResources.explain_owner_links_sql)
    package static let explainClientPosts = StatementFile(name: "explain_client_posts", bytes: PackageResources.explain_client_posts_sql)
    package static let explainOrders = StatementFile(name: "explain_orders", bytes: PackageResources.explain_orders_sql)
    package static let explainEffects = StatementFile(name: "explain_effects", bytes: PackageResources.explain_effects_sql)
    package static let explainRefundRequests = StatementFile(
        name: "explain_refund_requests",
        bytes: PackageResources.explain_refund_requests_sql
    )
    package static let explainFirstEvent = StatementFile(name: "explain_first_event", bytes: PackageResources.explain_first_event_sql)
    package static let explainReceiptHalves = StatementFile(
        name: "explain_receipt_halves",
        bytes: PackageResources.explain_receipt_halves_sql
    )
    package static let explainV1Renewals = StatementFile(name: "explain_v1_renewals", bytes: PackageResources.explain_v1_renewals_sql)
    package static let explainCalls = StatementFile(name: "explain_calls", bytes: PackageResources.explain_calls_sql)
    package static let explainRelatedEvents = StatementFile(
        name: "explain_related_events",
        bytes: PackageResources.explain_related_events_sql
    )
    package static let replayEvents = StatementFile(name: "replay_events", bytes: PackageResources.replay_events_sql)
    package static let repairCount = StatementFile(name: "repair_count", bytes: PackageResources.repair_count_sql)
    package static let repairCountNamed = StatementFile(name: "repair_count_named", bytes: PackageResources.repair_count_named_sql)
    package static let repairRequeueEvent = StatementFile(name: "repair_requeue_event", bytes: PackageResources.repair_requeue_event_sql)
    package static let repairDiscardEvent = StatementFile(name: "repair_discard_event", bytes: PackageResources.repair_discard_event_sql)
    package static let repairRequeueEvents = StatementFile(name: "repair_requeue_events", bytes: PackageResources.repair_requeue_events_sql)
    package static let repairDiscardEvents = StatementFile(name: "repair_discard_events", bytes: PackageResources.repair_discard_events_sql)
    package static let repairTakeStep = StatementFile(name: "repair_take_step", bytes: PackageResources.repair_take_step_sql)
    package static let statusResults = StatementFile(name: "status_results", bytes: PackageResources.status_results_sql)

    /// All of this file.
    package static let commands = [
        adoptRoleSettings, explainInbox, explainOutcome, explainOutcomeHistory, explainQueue, explainSession, explainAudit,
        explainTransaction, explainSubscription, explainContract, explainOwnershipClaims, explainOwnerLinks, explainClientPosts,
        explainOrders, explainEffects, explainRefundRequests, explainFirstEvent, explainReceiptHalves, explainV1Renewals, explainCalls,
        explainRelatedEvents, replayEvents, repairCount, repairCountNamed, repairRequeueEvent, repairDiscardEvent, repairRequeueEvents,
        repairDiscardEvents, repairTakeStep, statusResults,
    ]
}
