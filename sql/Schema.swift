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
    package var roles = SchemaFile("roles", PackageResources.roles_sql)
    /// Grants all privileges of the roles.
    package var grants = SchemaFile("grants", PackageResources.grants_sql)
    /// The result of `appstore.schema_fingerprint()` in a database that these files created.
    package var fingerprint = SchemaFile("fingerprint", PackageResources.fingerprint_txt).text

    package init() {}
}

extension SchemaManifest {
    private static let tables = [
        SchemaFile("tables/00_schema", PackageResources._0_schema_sql),
        SchemaFile("tables/10_types", PackageResources._0_types_sql),
        SchemaFile("tables/20_inbox", PackageResources._0_inbox_sql),
        SchemaFile("tables/30_registers", PackageResources._0_registers_sql),
        SchemaFile("tables/40_ledger", PackageResources._0_ledger_sql),
        SchemaFile("tables/50_outbox", PackageResources._0_outbox_sql),
        SchemaFile("tables/51_api_budgets", PackageResources._1_api_budgets_sql),
        SchemaFile("tables/60_shop", PackageResources._0_shop_sql),
        SchemaFile("tables/61_consumption", PackageResources._1_consumption_sql),
        SchemaFile("tables/70_operations", PackageResources._0_operations_sql),
        SchemaFile("tables/71_console", PackageResources._1_console_sql),
        SchemaFile("tables/71_repairs", PackageResources._1_repairs_sql),
        SchemaFile("tables/80_feed", PackageResources._0_feed_sql),
        SchemaFile("tables/81_webhooks", PackageResources._1_webhooks_sql),
        SchemaFile("tables/82_certificates", PackageResources._2_certificates_sql),
        SchemaFile("tables/90_history", PackageResources._0_history_sql),
        SchemaFile("tables/91_reconcile", PackageResources._1_reconcile_sql),
        SchemaFile("tables/92_import", PackageResources._2_import_sql),
    ]

    private static let steps: [SchemaStep] = []

    private static let functions = [
        SchemaFile("functions/console/console_sessions", PackageResources.console_sessions_sql),
        SchemaFile("functions/console/show_body", PackageResources.show_body_sql),
        SchemaFile("functions/console/explain_contract", PackageResources.explain_contract_sql),
        SchemaFile("functions/console/find_events", PackageResources.find_events_sql),
        SchemaFile("functions/console/ownership_of", PackageResources.ownership_of_sql),
        SchemaFile("functions/console/repairs", PackageResources.repairs_sql),
        SchemaFile("functions/consumption/api_consumption", PackageResources.api_consumption_sql),
        SchemaFile("functions/consumption/apply_consumption_policies", PackageResources.apply_consumption_policies_sql),
        SchemaFile("functions/consumption/consents", PackageResources.consents_sql),
        SchemaFile("functions/consumption/consumption_rules", PackageResources.consumption_rules_sql),
        SchemaFile("functions/consumption/decide_consumption", PackageResources.decide_consumption_sql),
        SchemaFile("functions/consumption/settle_consumption", PackageResources.settle_consumption_sql),
        SchemaFile("functions/feed/access_of", PackageResources.access_of_sql),
        SchemaFile("functions/feed/enable_feed", PackageResources.enable_feed_sql),
        SchemaFile("functions/feed/expire_feed", PackageResources.expire_feed_sql),
        SchemaFile("functions/feed/feed_consumers", PackageResources.feed_consumers_sql),
        SchemaFile("functions/feed/feed_event", PackageResources.feed_event_sql),
        SchemaFile("functions/feed/feed_entries", PackageResources.feed_entries_sql),
        SchemaFile("functions/feed/feed_id", PackageResources.feed_id_sql),
        SchemaFile("functions/feed/live_since", PackageResources.live_since_sql),
        SchemaFile("functions/feed/publish_feed", PackageResources.publish_feed_sql),
        SchemaFile("functions/feed/sequence_feed", PackageResources.sequence_feed_sql),
        SchemaFile("functions/feed/tell_effects", PackageResources.tell_effects_sql),
        SchemaFile("functions/feed/tell_products", PackageResources.tell_products_sql),
        SchemaFile("functions/history/classify_history", PackageResources.classify_history_sql),
        SchemaFile("functions/history/history_statistics", PackageResources.history_statistics_sql),
        SchemaFile("functions/history/lease_history_windows", PackageResources.lease_history_windows_sql),
        SchemaFile("functions/history/plan_history", PackageResources.plan_history_sql),
        SchemaFile("functions/history/store_history_page", PackageResources.store_history_page_sql),
        SchemaFile("functions/history/walk_history", PackageResources.walk_history_sql),
        SchemaFile("functions/import/expire_imports", PackageResources.expire_imports_sql),
        SchemaFile("functions/import/import_statistics", PackageResources.import_statistics_sql),
        SchemaFile("functions/import/lease_import_chunks", PackageResources.lease_import_chunks_sql),
        SchemaFile("functions/import/link_import_owners", PackageResources.link_import_owners_sql),
        SchemaFile("functions/import/load_import", PackageResources.load_import_sql),
        SchemaFile("functions/import/settle_import_item", PackageResources.settle_import_item_sql),
        SchemaFile("functions/inbox/receive", PackageResources.receive_sql),
        SchemaFile("functions/inbox/recover_lost_batches", PackageResources.recover_lost_batches_sql),
        SchemaFile("functions/inbox/settle", PackageResources.settle_sql),
        SchemaFile("functions/inbox/store", PackageResources.store_sql),
        SchemaFile("functions/ledger/access_until", PackageResources.access_until_sql),
        SchemaFile("functions/ledger/affected_rows", PackageResources.affected_rows_sql),
        SchemaFile("functions/ledger/apply_facts", PackageResources.apply_facts_sql),
        SchemaFile("functions/ledger/contract_claims", PackageResources.contract_claims_sql),
        SchemaFile("functions/ledger/derive_claims", PackageResources.derive_claims_sql),
        SchemaFile("functions/ledger/derive_conflicts", PackageResources.derive_conflicts_sql),
        SchemaFile("functions/ledger/derive_contracts", PackageResources.derive_contracts_sql),
        SchemaFile("functions/ledger/derive_ledger", PackageResources.derive_ledger_sql),
        SchemaFile("functions/ledger/derive_orders", PackageResources.derive_orders_sql),
        SchemaFile("functions/ledger/derive_refund_requests", PackageResources.derive_refund_requests_sql),
        SchemaFile("functions/ledger/is_newer", PackageResources.is_newer_sql),
        SchemaFile("functions/ledger/lock_ledger", PackageResources.lock_ledger_sql),
        SchemaFile("functions/ledger/order_of", PackageResources.order_of_sql),
        SchemaFile("functions/ledger/periods", PackageResources.periods_sql),
        SchemaFile("functions/ledger/record_found_statuses", PackageResources.record_found_statuses_sql),
        SchemaFile("functions/maintenance/drop_aged_partition", PackageResources.drop_aged_partition_sql),
        SchemaFile("functions/maintenance/expire", PackageResources.expire_sql),
        SchemaFile("functions/maintenance/maintenance_lock", PackageResources.maintenance_lock_sql),
        SchemaFile("functions/maintenance/prepare_partitions", PackageResources.prepare_partitions_sql),
        SchemaFile("functions/maintenance/statistics", PackageResources.statistics_sql),
        SchemaFile("functions/operations/contracts_of", PackageResources.contracts_of_sql),
        SchemaFile("functions/operations/discard", PackageResources.discard_sql),
        SchemaFile("functions/operations/explain", PackageResources.explain_sql),
        SchemaFile("functions/operations/explain_user", PackageResources.explain_user_sql),
        SchemaFile("functions/operations/forget", PackageResources.forget_sql),
        SchemaFile("functions/operations/rename_in_ledger", PackageResources.rename_in_ledger_sql),
        SchemaFile("functions/operations/count_repair", PackageResources.count_repair_sql),
        SchemaFile("functions/operations/repair_all", PackageResources.repair_all_sql),
        SchemaFile("functions/operations/repair_filter", PackageResources.repair_filter_sql),
        SchemaFile("functions/operations/repair_outcomes", PackageResources.repair_outcomes_sql),
        SchemaFile("functions/operations/requeue", PackageResources.requeue_sql),
        SchemaFile("functions/operations/settled_events", PackageResources.settled_events_sql),
        SchemaFile("functions/operations/state_digest", PackageResources.state_digest_sql),
        SchemaFile("functions/operations/timeline", PackageResources.timeline_sql),
        SchemaFile("functions/outbox/fall_back", PackageResources.fall_back_sql),
        SchemaFile("functions/outbox/repeat_call", PackageResources.repeat_call_sql),
        SchemaFile("functions/outbox/settle_call", PackageResources.settle_call_sql),
        SchemaFile("functions/reconcile/ask_question", PackageResources.ask_question_sql),
        SchemaFile("functions/reconcile/is_stale", PackageResources.is_stale_sql),
        SchemaFile("functions/reconcile/reconcile", PackageResources.reconcile_sql),
        SchemaFile("functions/reconcile/reconcile_contract", PackageResources.reconcile_contract_sql),
        SchemaFile("functions/revocation/certificate_questions", PackageResources.certificate_questions_sql),
        SchemaFile("functions/revocation/signers_of", PackageResources.signers_of_sql),
        SchemaFile("functions/schema/schema_fingerprint", PackageResources.schema_fingerprint_sql),
        SchemaFile("functions/server_api/api_budgets", PackageResources.api_budgets_sql),
        SchemaFile("functions/server_api/api_requests", PackageResources.api_requests_sql),
        SchemaFile("functions/server_api/ask_apple", PackageResources.ask_apple_sql),
        SchemaFile("functions/server_api/request_apple", PackageResources.request_apple_sql),
        SchemaFile("functions/shop/api_feed", PackageResources.api_feed_sql),
        SchemaFile("functions/shop/api_keys", PackageResources.api_keys_sql),
        SchemaFile("functions/shop/api_order_reads", PackageResources.api_order_reads_sql),
        SchemaFile("functions/shop/api_orders", PackageResources.api_orders_sql),
        SchemaFile("functions/shop/api_posts", PackageResources.api_posts_sql),
        SchemaFile("functions/shop/api_reads", PackageResources.api_reads_sql),
        SchemaFile("functions/shop/authorize", PackageResources.authorize_sql),
        SchemaFile("functions/shop/check_argument", PackageResources.check_argument_sql),
        SchemaFile("functions/shop/create_order", PackageResources.create_order_sql),
        SchemaFile("functions/shop/entitlements_at", PackageResources.entitlements_at_sql),
        SchemaFile("functions/shop/link_owner", PackageResources.link_owner_sql),
        SchemaFile("functions/webhooks/endpoint_statistics", PackageResources.endpoint_statistics_sql),
        SchemaFile("functions/webhooks/endpoints", PackageResources.endpoints_sql),
        SchemaFile("functions/webhooks/expire_deliveries", PackageResources.expire_deliveries_sql),
        SchemaFile("functions/webhooks/lease_endpoints", PackageResources.lease_endpoints_sql),
        SchemaFile("functions/webhooks/redeliver", PackageResources.redeliver_sql),
        SchemaFile("functions/webhooks/settle_deliveries", PackageResources.settle_deliveries_sql),
        SchemaFile("functions/webhooks/take_deliveries", PackageResources.take_deliveries_sql),
    ]

    private static let views = [
        SchemaFile("views/api_budget_status", PackageResources.api_budget_status_sql),
        SchemaFile("views/certificate_status", PackageResources.certificate_status_sql),
        SchemaFile("views/consumption_requests", PackageResources.consumption_requests_sql),
        SchemaFile("views/deliveries", PackageResources.deliveries_sql),
        SchemaFile("views/effects", PackageResources.effects_sql),
        SchemaFile("views/endpoint_status", PackageResources.endpoint_status_sql),
        SchemaFile("views/entitlement_terms", PackageResources.entitlement_terms_sql),
        SchemaFile("views/entitlements", PackageResources.entitlements_sql),
        SchemaFile("views/failed", PackageResources.failed_sql),
        SchemaFile("views/history_coverage", PackageResources.history_coverage_sql),
        SchemaFile("views/history_gaps", PackageResources.history_gaps_sql),
        SchemaFile("views/import_misses", PackageResources.import_misses_sql),
        SchemaFile("views/import_status", PackageResources.import_status_sql),
        SchemaFile("views/inbox_partitions", PackageResources.inbox_partitions_sql),
        SchemaFile("views/inbox_status", PackageResources.inbox_status_sql),
        SchemaFile("views/order_status", PackageResources.order_status_sql),
        SchemaFile("views/outbox_status", PackageResources.outbox_status_sql),
        SchemaFile("views/user_orders", PackageResources.user_orders_sql),
        SchemaFile("views/payments", PackageResources.payments_sql),
        SchemaFile("views/reconcile_status", PackageResources.reconcile_status_sql),
        SchemaFile("views/repair_status", PackageResources.repair_status_sql),
        SchemaFile("views/revoked_events", PackageResources.revoked_events_sql),
        SchemaFile("views/stale_contracts", PackageResources.stale_contracts_sql),
        SchemaFile("views/unmatched", PackageResources.unmatched_sql),
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
