/// The contract between the schema and the programs that work with it.
package enum SchemaContract {
    /// The version of the last step that is marked as breaking. A program works only with a database of the same contract.
    package static let current: Int32 = 1
}

/// The schema that `appstore-inbox migrate` creates, compiled into the program.
package struct SchemaManifest: Sendable {
    /// The version of the schema that ``tables`` create, which is that of the last step.
    package var version = 1
    /// The contract of the schema that ``tables`` create.
    package var contract = SchemaContract.current
    /// The tables of a new database, in order of creation.
    package var tables = Self.tables
    /// The migrations from release to release, oldest first.
    package var steps = Self.steps
    /// The functions in any order: their bodies are checked when all exist.
    package var functions = Self.functions
    /// The views, each after those that it reads.
    package var views = Self.views
    /// Creates the cluster's roles and their settings; safe to run repeatedly.
    package var roles = SchemaFile("roles", EmbeddedFiles.roles_sql)
    /// Grants all privileges of the roles.
    package var grants = SchemaFile("grants", EmbeddedFiles.grants_sql)
    /// The result of `appstore.schema_fingerprint()` in a database that these files created.
    package var fingerprint = SchemaFile("fingerprint", EmbeddedFiles.fingerprint_txt).text

    package init() {}
}

extension SchemaManifest {
    private static let tables = [
        SchemaFile("tables/00_schema", EmbeddedFiles._0_schema_sql),
        SchemaFile("tables/10_types", EmbeddedFiles._0_types_sql),
        SchemaFile("tables/20_inbox", EmbeddedFiles._0_inbox_sql),
        SchemaFile("tables/30_registers", EmbeddedFiles._0_registers_sql),
        SchemaFile("tables/40_ledger", EmbeddedFiles._0_ledger_sql),
        SchemaFile("tables/50_outbox", EmbeddedFiles._0_outbox_sql),
        SchemaFile("tables/51_api_budgets", EmbeddedFiles._1_api_budgets_sql),
        SchemaFile("tables/60_shop", EmbeddedFiles._0_shop_sql),
        SchemaFile("tables/61_consumption", EmbeddedFiles._1_consumption_sql),
        SchemaFile("tables/70_operations", EmbeddedFiles._0_operations_sql),
        SchemaFile("tables/71_console", EmbeddedFiles._1_console_sql),
        SchemaFile("tables/71_repairs", EmbeddedFiles._1_repairs_sql),
        SchemaFile("tables/80_feed", EmbeddedFiles._0_feed_sql),
        SchemaFile("tables/81_webhooks", EmbeddedFiles._1_webhooks_sql),
        SchemaFile("tables/82_certificates", EmbeddedFiles._2_certificates_sql),
        SchemaFile("tables/90_history", EmbeddedFiles._0_history_sql),
        SchemaFile("tables/91_reconcile", EmbeddedFiles._1_reconcile_sql),
        SchemaFile("tables/92_import", EmbeddedFiles._2_import_sql),
        SchemaFile("tables/93_reports", EmbeddedFiles._3_reports_sql),
    ]

    private static let steps: [SchemaStep] = []

    private static let functions = [
        SchemaFile("functions/console/console_sessions", EmbeddedFiles.console_sessions_sql),
        SchemaFile("functions/console/show_body", EmbeddedFiles.show_body_sql),
        SchemaFile("functions/console/explain_contract", EmbeddedFiles.explain_contract_sql),
        SchemaFile("functions/console/find_events", EmbeddedFiles.find_events_sql),
        SchemaFile("functions/console/ownership_of", EmbeddedFiles.ownership_of_sql),
        SchemaFile("functions/console/repairs", EmbeddedFiles.repairs_sql),
        SchemaFile("functions/consumption/api_consumption", EmbeddedFiles.api_consumption_sql),
        SchemaFile("functions/consumption/apply_consumption_policies", EmbeddedFiles.apply_consumption_policies_sql),
        SchemaFile("functions/consumption/consents", EmbeddedFiles.consents_sql),
        SchemaFile("functions/consumption/consumption_rules", EmbeddedFiles.consumption_rules_sql),
        SchemaFile("functions/consumption/decide_consumption", EmbeddedFiles.decide_consumption_sql),
        SchemaFile("functions/consumption/settle_consumption", EmbeddedFiles.settle_consumption_sql),
        SchemaFile("functions/feed/access_of", EmbeddedFiles.access_of_sql),
        SchemaFile("functions/feed/enable_feed", EmbeddedFiles.enable_feed_sql),
        SchemaFile("functions/feed/expire_feed", EmbeddedFiles.expire_feed_sql),
        SchemaFile("functions/feed/feed_consumers", EmbeddedFiles.feed_consumers_sql),
        SchemaFile("functions/feed/feed_event", EmbeddedFiles.feed_event_sql),
        SchemaFile("functions/feed/feed_entries", EmbeddedFiles.feed_entries_sql),
        SchemaFile("functions/feed/feed_id", EmbeddedFiles.feed_id_sql),
        SchemaFile("functions/feed/live_since", EmbeddedFiles.live_since_sql),
        SchemaFile("functions/feed/publish_feed", EmbeddedFiles.publish_feed_sql),
        SchemaFile("functions/feed/sequence_feed", EmbeddedFiles.sequence_feed_sql),
        SchemaFile("functions/feed/tell_effects", EmbeddedFiles.tell_effects_sql),
        SchemaFile("functions/feed/tell_products", EmbeddedFiles.tell_products_sql),
        SchemaFile("functions/history/classify_history", EmbeddedFiles.classify_history_sql),
        SchemaFile("functions/history/history_statistics", EmbeddedFiles.history_statistics_sql),
        SchemaFile("functions/history/lease_history_windows", EmbeddedFiles.lease_history_windows_sql),
        SchemaFile("functions/history/plan_history", EmbeddedFiles.plan_history_sql),
        SchemaFile("functions/history/store_history_page", EmbeddedFiles.store_history_page_sql),
        SchemaFile("functions/history/walk_history", EmbeddedFiles.walk_history_sql),
        SchemaFile("functions/import/expire_imports", EmbeddedFiles.expire_imports_sql),
        SchemaFile("functions/import/import_statistics", EmbeddedFiles.import_statistics_sql),
        SchemaFile("functions/import/lease_import_chunks", EmbeddedFiles.lease_import_chunks_sql),
        SchemaFile("functions/import/link_import_owners", EmbeddedFiles.link_import_owners_sql),
        SchemaFile("functions/import/load_import", EmbeddedFiles.load_import_sql),
        SchemaFile("functions/import/settle_import_item", EmbeddedFiles.settle_import_item_sql),
        SchemaFile("functions/inbox/receive", EmbeddedFiles.receive_sql),
        SchemaFile("functions/inbox/recover_lost_batches", EmbeddedFiles.recover_lost_batches_sql),
        SchemaFile("functions/inbox/settle", EmbeddedFiles.settle_sql),
        SchemaFile("functions/inbox/store", EmbeddedFiles.store_sql),
        SchemaFile("functions/ledger/access_until", EmbeddedFiles.access_until_sql),
        SchemaFile("functions/ledger/affected_rows", EmbeddedFiles.affected_rows_sql),
        SchemaFile("functions/ledger/apply_facts", EmbeddedFiles.apply_facts_sql),
        SchemaFile("functions/ledger/contract_claims", EmbeddedFiles.contract_claims_sql),
        SchemaFile("functions/ledger/derive_claims", EmbeddedFiles.derive_claims_sql),
        SchemaFile("functions/ledger/derive_conflicts", EmbeddedFiles.derive_conflicts_sql),
        SchemaFile("functions/ledger/derive_contracts", EmbeddedFiles.derive_contracts_sql),
        SchemaFile("functions/ledger/derive_ledger", EmbeddedFiles.derive_ledger_sql),
        SchemaFile("functions/ledger/derive_orders", EmbeddedFiles.derive_orders_sql),
        SchemaFile("functions/ledger/derive_refund_requests", EmbeddedFiles.derive_refund_requests_sql),
        SchemaFile("functions/ledger/is_newer", EmbeddedFiles.is_newer_sql),
        SchemaFile("functions/ledger/lock_ledger", EmbeddedFiles.lock_ledger_sql),
        SchemaFile("functions/ledger/order_of", EmbeddedFiles.order_of_sql),
        SchemaFile("functions/ledger/periods", EmbeddedFiles.periods_sql),
        SchemaFile("functions/ledger/record_found_statuses", EmbeddedFiles.record_found_statuses_sql),
        SchemaFile("functions/maintenance/drop_aged_partition", EmbeddedFiles.drop_aged_partition_sql),
        SchemaFile("functions/maintenance/expire", EmbeddedFiles.expire_sql),
        SchemaFile("functions/maintenance/maintenance_lock", EmbeddedFiles.maintenance_lock_sql),
        SchemaFile("functions/maintenance/prepare_partitions", EmbeddedFiles.prepare_partitions_sql),
        SchemaFile("functions/maintenance/statistics", EmbeddedFiles.statistics_sql),
        SchemaFile("functions/operations/contracts_of", EmbeddedFiles.contracts_of_sql),
        SchemaFile("functions/operations/discard", EmbeddedFiles.discard_sql),
        SchemaFile("functions/operations/explain", EmbeddedFiles.explain_sql),
        SchemaFile("functions/operations/explain_user", EmbeddedFiles.explain_user_sql),
        SchemaFile("functions/operations/forget", EmbeddedFiles.forget_sql),
        SchemaFile("functions/operations/rename_in_ledger", EmbeddedFiles.rename_in_ledger_sql),
        SchemaFile("functions/operations/count_repair", EmbeddedFiles.count_repair_sql),
        SchemaFile("functions/operations/repair_all", EmbeddedFiles.repair_all_sql),
        SchemaFile("functions/operations/repair_filter", EmbeddedFiles.repair_filter_sql),
        SchemaFile("functions/operations/repair_outcomes", EmbeddedFiles.repair_outcomes_sql),
        SchemaFile("functions/operations/requeue", EmbeddedFiles.requeue_sql),
        SchemaFile("functions/operations/settled_events", EmbeddedFiles.settled_events_sql),
        SchemaFile("functions/operations/state_digest", EmbeddedFiles.state_digest_sql),
        SchemaFile("functions/operations/timeline", EmbeddedFiles.timeline_sql),
        SchemaFile("functions/outbox/fall_back", EmbeddedFiles.fall_back_sql),
        SchemaFile("functions/outbox/repeat_call", EmbeddedFiles.repeat_call_sql),
        SchemaFile("functions/outbox/settle_call", EmbeddedFiles.settle_call_sql),
        SchemaFile("functions/reconcile/ask_question", EmbeddedFiles.ask_question_sql),
        SchemaFile("functions/reconcile/is_stale", EmbeddedFiles.is_stale_sql),
        SchemaFile("functions/reconcile/reconcile", EmbeddedFiles.reconcile_sql),
        SchemaFile("functions/reconcile/reconcile_contract", EmbeddedFiles.reconcile_contract_sql),
        SchemaFile("functions/reports/active_subscriptions", EmbeddedFiles.active_subscriptions_sql),
        SchemaFile("functions/reports/corrections", EmbeddedFiles.corrections_sql),
        SchemaFile("functions/reports/levels", EmbeddedFiles.levels_sql),
        SchemaFile("functions/reports/movement", EmbeddedFiles.movement_sql),
        SchemaFile("functions/reports/mrr", EmbeddedFiles.mrr_sql),
        SchemaFile("functions/reports/refunds", EmbeddedFiles.refunds_sql),
        SchemaFile("functions/reports/renewal_status_at", EmbeddedFiles.renewal_status_at_sql),
        SchemaFile("functions/reports/report_words", EmbeddedFiles.report_words_sql),
        SchemaFile("functions/reports/retention", EmbeddedFiles.retention_sql),
        SchemaFile("functions/reports/trials", EmbeddedFiles.trials_sql),
        SchemaFile("functions/revocation/certificate_questions", EmbeddedFiles.certificate_questions_sql),
        SchemaFile("functions/revocation/signers_of", EmbeddedFiles.signers_of_sql),
        SchemaFile("functions/schema/schema_fingerprint", EmbeddedFiles.schema_fingerprint_sql),
        SchemaFile("functions/server_api/api_budgets", EmbeddedFiles.api_budgets_sql),
        SchemaFile("functions/server_api/api_requests", EmbeddedFiles.api_requests_sql),
        SchemaFile("functions/server_api/ask_apple", EmbeddedFiles.ask_apple_sql),
        SchemaFile("functions/server_api/request_apple", EmbeddedFiles.request_apple_sql),
        SchemaFile("functions/shop/api_feed", EmbeddedFiles.api_feed_sql),
        SchemaFile("functions/shop/api_keys", EmbeddedFiles.api_keys_sql),
        SchemaFile("functions/shop/api_order_reads", EmbeddedFiles.api_order_reads_sql),
        SchemaFile("functions/shop/api_orders", EmbeddedFiles.api_orders_sql),
        SchemaFile("functions/shop/api_posts", EmbeddedFiles.api_posts_sql),
        SchemaFile("functions/shop/api_reads", EmbeddedFiles.api_reads_sql),
        SchemaFile("functions/shop/authorize", EmbeddedFiles.authorize_sql),
        SchemaFile("functions/shop/check_argument", EmbeddedFiles.check_argument_sql),
        SchemaFile("functions/shop/create_order", EmbeddedFiles.create_order_sql),
        SchemaFile("functions/shop/entitlements_at", EmbeddedFiles.entitlements_at_sql),
        SchemaFile("functions/shop/link_owner", EmbeddedFiles.link_owner_sql),
        SchemaFile("functions/webhooks/endpoint_statistics", EmbeddedFiles.endpoint_statistics_sql),
        SchemaFile("functions/webhooks/endpoints", EmbeddedFiles.endpoints_sql),
        SchemaFile("functions/webhooks/expire_deliveries", EmbeddedFiles.expire_deliveries_sql),
        SchemaFile("functions/webhooks/lease_endpoints", EmbeddedFiles.lease_endpoints_sql),
        SchemaFile("functions/webhooks/redeliver", EmbeddedFiles.redeliver_sql),
        SchemaFile("functions/webhooks/settle_deliveries", EmbeddedFiles.settle_deliveries_sql),
        SchemaFile("functions/webhooks/take_deliveries", EmbeddedFiles.take_deliveries_sql),
    ]

    private static let views = [
        SchemaFile("views/api_budget_status", EmbeddedFiles.api_budget_status_sql),
        SchemaFile("views/certificate_status", EmbeddedFiles.certificate_status_sql),
        SchemaFile("views/consumption_requests", EmbeddedFiles.consumption_requests_sql),
        SchemaFile("views/deliveries", EmbeddedFiles.deliveries_sql),
        SchemaFile("views/effects", EmbeddedFiles.effects_sql),
        SchemaFile("views/endpoint_status", EmbeddedFiles.endpoint_status_sql),
        SchemaFile("views/entitlement_terms", EmbeddedFiles.entitlement_terms_sql),
        SchemaFile("views/entitlements", EmbeddedFiles.entitlements_sql),
        SchemaFile("views/failed", EmbeddedFiles.failed_sql),
        SchemaFile("views/history_coverage", EmbeddedFiles.history_coverage_sql),
        SchemaFile("views/history_gaps", EmbeddedFiles.history_gaps_sql),
        SchemaFile("views/import_misses", EmbeddedFiles.import_misses_sql),
        SchemaFile("views/import_status", EmbeddedFiles.import_status_sql),
        SchemaFile("views/inbox_partitions", EmbeddedFiles.inbox_partitions_sql),
        SchemaFile("views/inbox_status", EmbeddedFiles.inbox_status_sql),
        SchemaFile("views/order_status", EmbeddedFiles.order_status_sql),
        SchemaFile("views/outbox_status", EmbeddedFiles.outbox_status_sql),
        SchemaFile("views/user_orders", EmbeddedFiles.user_orders_sql),
        SchemaFile("views/payments", EmbeddedFiles.payments_sql),
        SchemaFile("views/reconcile_status", EmbeddedFiles.reconcile_status_sql),
        SchemaFile("views/reports/charges", EmbeddedFiles.charges_sql),
        SchemaFile("views/reports/numbered", EmbeddedFiles.numbered_sql),
        SchemaFile("views/reports/transactions", EmbeddedFiles.transactions_sql),
        SchemaFile("views/repair_status", EmbeddedFiles.repair_status_sql),
        SchemaFile("views/revoked_events", EmbeddedFiles.revoked_events_sql),
        SchemaFile("views/stale_contracts", EmbeddedFiles.stale_contracts_sql),
        SchemaFile("views/unmatched", EmbeddedFiles.unmatched_sql),
    ]
}

/// A file of this folder.
package struct SchemaFile: Sendable {
    /// The path from this folder without the ending, such as `functions/inbox/receive`.
    package let name: String
    package let text: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    init(_ name: String, _ bytes: [UInt8]) {
        self.init(name: name, text: String(decoding: bytes, as: UTF8.self))
    }
}

/// A file of `steps/`, which migrates a database from one version to the next.
///
/// Its first lines are comments. `-- breaking` among them raises the contract: programs of earlier releases stop working with the database.
/// With `-- concurrently` the step runs outside of a transaction: it is a query, and each row of its result is a statement to run.
package struct SchemaStep: Sendable {
    /// The version: the number at the beginning of the file's name.
    package let version: Int
    package let file: SchemaFile

    package init(version: Int, file: SchemaFile) {
        self.version = version
        self.file = file
    }

    package var isBreaking: Bool { header.contains("-- breaking") }
    package var isConcurrent: Bool { header.contains("-- concurrently") }

    private var header: ArraySlice<Substring> { file.text.split(separator: "\n").prefix { $0.hasPrefix("--") } }
}
