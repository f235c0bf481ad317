import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Each role connects and can use only its own privileges.
struct RoleTests {
    /// One statement for each kind of action.
    enum Action: String, CaseIterable, Sendable {
        case receive = "SELECT appstore.receive('{}')"
        case readBodies = "SELECT body FROM appstore.inbox"
        case storeBody = "INSERT INTO appstore.inbox (source, received_at, body) VALUES ('notification_v2', now(), '\\x01')"
        case changeBody = "UPDATE appstore.inbox SET body = '\\x02'"
        case dropBody = "DELETE FROM appstore.inbox"
        case claim = "SELECT FROM appstore.inbox_queue FOR UPDATE SKIP LOCKED"
        case emptyQueue = "DELETE FROM appstore.inbox_queue"
        case changeRun = "UPDATE appstore.inbox_queue SET run = 7"
        case settle =
            "SELECT appstore.settle('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"
        case writeOutcome =
            "INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result) VALUES (1, 's', now(), now(), 1, 1, 'applied')"
        case unsettle = "DELETE FROM appstore.outcomes"
        case readOutcomes = "SELECT FROM appstore.outcomes"
        case readStatus = "SELECT FROM appstore.inbox_status"
        case readLedger = "SELECT FROM appstore.orders"
        case answerCall = "UPDATE appstore.outbox SET state = 'answered'"
        case forgetNotifications = "DELETE FROM appstore.seen_notifications"
        case changeLedger = "UPDATE appstore.transactions SET price = 0"
        case forgetEffects = "DELETE FROM appstore.effect_log"
        case changeAudit = "DELETE FROM appstore.audit_log"
        case requeue = "SELECT appstore.requeue(result => 'failed'), appstore.discard(result => 'failed', note => 'x')"
        case repairInside = "SELECT appstore.repair_outcomes('requeue', '{}', now(), '0', 'x', NULL, NULL)"
        case createOrder = "SELECT appstore.create_order('user', 'product')"
        case derive = "SELECT appstore.derive_ledger('Production', '{}', '{}')"
        case timeline = "SELECT appstore.timeline('Production', '1')"
        case explain = "SELECT appstore.explain(1)"
        case explainCustomer = "SELECT appstore.explain_customer('a user')"
        case readEntitlements = "SELECT FROM appstore.entitlements"
        case readRequests = "SELECT FROM appstore.consumption_requests"
        case readUnmatched = "SELECT FROM appstore.unmatched"
        case readOrders = "SELECT FROM appstore.user_orders, appstore.order_status, appstore.payments"
        case readEffects = "SELECT FROM appstore.effects"
        case readEffectLog = "SELECT FROM appstore.effect_log"
        case unlink = "SELECT appstore.unlink_owner('Production', '1') WHERE false"
        // The privilege is checked before the first row.
        case answerRequest = "SELECT appstore.consumption_answered('Production', '1') WHERE false"
        case decideRequest = "SELECT appstore.answer_consumption('Production', '1', false) WHERE false"
        case decideInside = "SELECT appstore.decide_consumption('Production', '1', NULL, 'decision', 'x') WHERE false"
        case recordConsent = "SELECT appstore.give_consent('x', 'y'), appstore.withdraw_consent('x') WHERE false"
        case readConsents = "SELECT FROM appstore.consents, appstore.consumption_decisions"
        case forgeDecision = "UPDATE appstore.consumption_decisions SET result = 'answered'"
        case applyPolicies = "SELECT FROM appstore.apply_consumption_policies(), appstore.consumption_statistics()"
        case changePolicies = "UPDATE appstore.consumption_policies SET mode = 'off'"
        case digest = "SELECT appstore.state_digest('Production')"
        case repairStepInside = "SELECT appstore.repair_step(NULL)"
        case readRepairs = "SELECT FROM appstore.repairs"
        case age = "SELECT appstore.expire('rejected_bodies')"
        case ageNotifications = "SELECT appstore.expire_notifications()"
        case dropPartition = "SELECT appstore.drop_aged_partition()"
        case preparePartitions = "SELECT appstore.prepare_partitions()"
        case storeAnySource = "SELECT appstore.store('verify_receipt', '{}')"
        case changeAges = "UPDATE appstore.retention SET bodies = '90 days'"
        case readMaintenance = "SELECT FROM appstore.maintenance_state"
        case enableFeed = "SELECT appstore.enable_feed()"
        case readFeed = "SELECT FROM appstore.feed"
        case sequenceFeed = "SELECT appstore.sequence_feed()"
        case ageFeed = "SELECT appstore.expire_feed()"
        case serveEndpoint = "SELECT FROM appstore.lease_endpoints(0, 1), appstore.take_deliveries('x', 1, 0, '{}', 1, 1, 1)"
        case readEndpoints = "SELECT FROM appstore.endpoints, appstore.redeliveries, appstore.endpoint_status, appstore.deliveries"
        case makeEndpoint = "SELECT appstore.make_endpoint('x', 'https://example.com') WHERE false"
        case redeliver = "SELECT appstore.redeliver('x') WHERE false"
        case askAboutCertificates = "SELECT appstore.see_certificates('{}', '{}') FROM appstore.lease_certificate(1)"
        case readCertificates = "SELECT FROM appstore.certificates, appstore.certificate_statistics()"
        case listRevoked = "SELECT FROM appstore.certificate_status, appstore.revoked_events"
        case ignoreRevocation = "SELECT appstore.ignore_revocation('x') WHERE false"
        case revoke = "UPDATE appstore.certificates SET status = 'revoked'"
        case moveEndpoint = "UPDATE appstore.endpoints SET position = 0"
        case take = "SELECT appstore.take('x') WHERE false"
        case changeFeed = "UPDATE appstore.feed SET user_id = 'x'"
        case publishFeed = "SELECT appstore.publish_feed()"
        case tell = "INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'x')"
        case readHistory = "SELECT FROM appstore.history_coverage, appstore.history_gaps, appstore.history_records, appstore.history_counts"
        case walkHistory = "SELECT FROM appstore.plan_history('{}', '{}'), appstore.lease_history_windows('{}', '{}', 1, 1, 1)"
        case setHistoryMode = "SELECT appstore.set_history_mode('b', 'Production', 'off') WHERE false"
        case readImports =
            "SELECT FROM appstore.import_status, appstore.import_misses, appstore.live_since, appstore.import_items, appstore.import_tokens"
        case askForImports =
            "SELECT appstore.link_import_owners(), appstore.set_import_token() FROM appstore.lease_import_chunks('{}', '{}', '{}', '{}', 1)"
        case makeImport = "SELECT appstore.begin_import('b', NULL, 'statuses', 'f'), appstore.change_import(1, 'paused') WHERE false"
        case goLive = "SELECT appstore.set_live_since('b', now()) WHERE false"
        case changeImport = "UPDATE appstore.import_items SET user_id = 'x'"
        case changeHistory = "UPDATE appstore.history_cursors SET covered = '{}'"
        case readReconciliation = "SELECT FROM appstore.stale_contracts, appstore.reconcile_status, appstore.reconcile_questions"
        case reconcile = "SELECT FROM appstore.reconcile('{}', '{}', 0), appstore.reconcile_statistics(), appstore.may_be_called(NULL, '')"
        case askNow = "SELECT appstore.reconcile_contract('1') WHERE false"
        case recordFound = "SELECT appstore.record_found_statuses('Production', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"
        case readReports = "SELECT FROM appstore_reports.transactions, appstore_reports.mrr()"
        case writeRates = "INSERT INTO appstore.fx_rates VALUES ('EUR', '2026-01-01', 1)"
        case forget = "SELECT appstore.forget('nobody')"
        case logInToConsole = "SELECT appstore.make_console_login(sha256('x')) WHERE false"
        case findSession = "SELECT appstore.console_session(sha256('x'))"
        case readSessions = "SELECT person FROM appstore.console_sessions"
        case readSessionSecrets = "SELECT session_hash FROM appstore.console_sessions, appstore.console_logins"
        case endSession = "SELECT appstore.end_console_session(1)"
        case showBody = "SELECT appstore.show_body(1, 'x')"
        case lookForConsole =
            "SELECT FROM appstore.find_events(NULL), appstore.ownership_of('Production', '{}'), appstore.repair_status"
        case beginRepair = "SELECT appstore.begin_repair('requeue', NULL, 'x', 1), appstore.stop_repair(1) WHERE false"
        case takeRepairStep = "SELECT appstore.take_repair_step()"
        case makeTable = "CREATE TABLE appstore.mine ()"
        case makeFunction = "CREATE FUNCTION appstore.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'"
        case makeTemporary = "CREATE TABLE public.mine ()"
    }

    static let allowed: [(role: String, actions: Set<Action>)] = [
        ("appstore_ingest", [.receive]),
        (
            "appstore_worker",
            [
                .readBodies, .claim, .settle, .readOutcomes, .readStatus, .readLedger, .changeLedger, .readUnmatched, .readEffects,
                .readEffectLog, .explain,
                .age, .ageNotifications, .dropPartition, .preparePartitions, .sequenceFeed, .ageFeed, .serveEndpoint, .walkHistory,
                .askAboutCertificates, .readCertificates, .applyPolicies, .reconcile, .recordFound, .askForImports, .takeRepairStep,
            ]
        ),
        (
            "appstore_operator",
            [
                .readOutcomes, .readStatus, .readLedger, .requeue, .timeline, .readEntitlements, .readRequests, .readUnmatched,
                .readOrders, .readEffects, .readEffectLog, .unlink, .answerRequest, .changeAges,
                .readMaintenance, .forget, .digest, .explain, .explainCustomer, .enableFeed, .readFeed, .readEndpoints,
                .makeEndpoint,
                .redeliver, .readCertificates, .listRevoked, .ignoreRevocation, .decideRequest, .recordConsent, .readConsents,
                .changePolicies, .readHistory, .setHistoryMode, .readReconciliation, .askNow, .readImports, .makeImport, .goLive,
                .readReports, .writeRates, .logInToConsole, .readSessions, .endSession, .lookForConsole, .beginRepair, .takeRepairStep,
            ]
        ),
        (
            "appstore_viewer",
            [
                .readOutcomes, .readStatus, .readLedger, .timeline, .readEntitlements, .readRequests, .readUnmatched, .readOrders,
                .readEffects, .readEffectLog, .digest, .explain, .explainCustomer,
                .readMaintenance, .readFeed, .readEndpoints, .readCertificates, .listRevoked, .readConsents, .readHistory,
                .readReconciliation, .readImports, .readReports, .logInToConsole, .readSessions, .lookForConsole,
            ]
        ),
        ("appstore_reporter", [.readReports]),
        (
            "appstore_backend",
            [
                .createOrder, .readEntitlements, .readRequests, .readOrders, .readEffects, .unlink, .answerRequest, .readFeed, .take,
                .decideRequest, .recordConsent,
            ]
        ),
        // It has the rights of viewer, operator and bodies only in transactions that take them.
        ("appstore_console", [.findSession]),
    ]

    @Test(arguments: allowed)
    func `a role can do only what it was granted`(role: String, actions: Set<Action>) async throws {
        let database = try await InboxDatabase.make()
        for action in Action.allCases {
            let refusal = try await database.withConnection(user: role) { connection -> PostgresError? in
                do {
                    try await connection.execute("\(unsafeRaw: action.rawValue)")
                    return nil
                } catch let error as PostgresError {
                    return error
                }
            }
            if actions.contains(action) {
                #expect(refusal == nil, "\(role) may \(action)")
            } else {
                // 42501 insufficient_privilege; 25006 where the role is read-only.
                let states = ["42501", "25006"]
                #expect(states.contains(refusal?.sqlState?.rawValue ?? "was allowed"), "\(role) must not \(action)")
            }
        }
    }

    @Test(arguments: [
        ("appstore_ingest", "statement_timeout", "5s"), ("appstore_ingest", "idle_in_transaction_session_timeout", "5s"),
        ("appstore_worker", "statement_timeout", "30s"), ("appstore_worker", "lock_timeout", "2s"),
        ("appstore_backend", "statement_timeout", "5s"), ("appstore_viewer", "default_transaction_read_only", "on"),
    ])
    func `timeouts belong to the role`(role: String, parameter: String, value: String) async throws {
        let database = try await InboxDatabase.make()
        let found = try await database.withConnection(user: role) { connection in
            try await connection.query("SELECT current_setting(\(parameter)) AS value").first?.decode("value", as: String.self)
        }
        #expect(found == value)
    }

    @Test func `PostgreSQL compiles no statement of any role`() async throws {
        let database = try await InboxDatabase.make()
        let compiling = try await database.lines(
            """
            SELECT r.rolname FROM pg_roles AS r LEFT JOIN pg_db_role_setting AS s ON s.setrole = r.oid AND s.setdatabase = 0
            WHERE r.rolname ~ '^appstore_' AND r.rolcanlogin AND ('jit=off' = ANY (s.setconfig)) IS NOT TRUE
            """
        )
        #expect(compiling.isEmpty)
    }

    @Test(arguments: ["appstore_ingest", "appstore_worker", "appstore_operator", "appstore_backend", "appstore_api", "appstore_console"])
    func `each role runs at READ COMMITTED, whatever the database's default is`(role: String) async throws {
        let database = try await InboxDatabase.make()
        let name = try await database.lines("SELECT quote_ident(current_database())")[0]
        try await database.withConnection {
            try await $0.runScript("ALTER DATABASE \(name) SET default_transaction_isolation = 'repeatable read'")
        }
        let level = try await database.withConnection(user: role) { connection in
            try await connection.query("SELECT current_setting('transaction_isolation')")[0].decode(0, as: String.self)
        }
        #expect(level == "read committed")
    }

    @Test func `a worker has a TCP user timeout of 30 seconds`() async throws {
        let database = try await InboxDatabase.make()
        let connection = try await Connection.open(ConnectionOptions(database.tcpURL(user: "appstore_worker")), logger: .silent)
        let rows = try await connection.query("SELECT current_setting('tcp_user_timeout') AS value")
        let found = try rows.first?.decode("value", as: String.self)
        await connection.close()
        // In milliseconds, the kernel's unit.
        #expect(found == "30000")
    }

    @Test func `only notifications can be received, whatever source the caller names`() async throws {
        let database = try await InboxDatabase.make()
        await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_ingest") { connection in
                try await connection.execute("SELECT appstore.receive(\([[UInt8]]([[1]])), 'api_answer')")
            }
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
    }
}
