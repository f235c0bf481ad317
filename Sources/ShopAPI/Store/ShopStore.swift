import AppStore
import Handlers
import HTTPServing
import Logging
import Postgres

/// What the routes ask of the database: each question is one statement, and the one home of it.
///
/// Two transactions in each other's way are repeated; a database that does not answer is status 503.
struct ShopStore: Sendable {
    private let pool: ConnectionPool
    private let logger: Logger
    /// How often a statement is tried that another transaction stood in the way of.
    private static let maximumTries = 4

    init(pool: ConnectionPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// The scope of the key with that hash; nil when there is none, or when it is revoked.
    func scope(ofKey hash: [UInt8]) async throws(Problem) -> KeyScope? {
        try await rows("api_key", "SELECT key_id, bundle_ids, environments, verbs FROM appstore.api_key(\(hash))") {
            try $0.first.map(KeyScope.init)
        }
    }

    /// Makes a Production order, or finds it as it was made; nil when it was made with other words.
    func makeOrder(_ words: OrderWords) async throws(Problem) -> Order? {
        try await rows(
            "api_create_order",
            """
            SELECT result, order_no, status
            FROM appstore.api_create_order(\(words.user), \(words.product), \(words.no), \(words.bundleID))
            """
        ) { rows in
            let row = rows[rows.startIndex]
            let result: String = try row.decode("result")
            guard result != "conflict" else { return nil }
            return Order(words: words, no: try row.decode("order_no"), status: try row.decode("status"), isNew: result == "made")
        }
    }

    /// Stores a client's transaction for the worker and returns its event id.
    func store(_ submission: ClientSubmission) async throws(Problem) -> Int64 {
        try await rows("submit_transaction", "SELECT appstore.submit_transaction(\(submission.body)) AS event_id") {
            try $0[$0.startIndex].decode("event_id")
        }
    }

    /// Stores a client's receipt, which is the body of a ``ClientReceipt``, for the worker and returns its event id.
    func storeReceipt(_ body: [UInt8]) async throws(Problem) -> Int64 {
        try await rows("submit_receipt", "SELECT appstore.submit_receipt(\(body)) AS event_id") {
            try $0[$0.startIndex].decode("event_id")
        }
    }

    /// Which of these charges are in the books, in their order, and whose they are for a user.
    func charges(
        _ transactionIDs: [String],
        in environment: AppStoreEnvironment,
        for user: String,
        apps: [String]?
    ) async throws(Problem) -> [ReceiptCharge] {
        try await rows(
            "api_receipt_charges",
            """
            SELECT transaction_id, original_transaction_id, product_id, owner, may_finish
            FROM appstore.api_receipt_charges(\(environment.rawValue), \(transactionIDs), \(user), \(apps))
            """
        ) { try $0.map(ReceiptCharge.init) }
    }

    /// What has become of the question to Apple about a receipt.
    ///
    /// - Parameter key: as ``ReceiptOutline/questionKey``.
    func question(_ key: String) async throws(Problem) -> ReceiptQuestion {
        try await rows(
            "api_receipt_question",
            "SELECT is_open, denied_because FROM appstore.api_receipt_question(\(key))"
        ) { try $0.first.map(ReceiptQuestion.init) ?? .notAsked }
    }

    /// An event that a client posted; nil when there is none with that number.
    ///
    /// - Parameter withSubmission: whether to bring what was posted, which who waits for the outcome does not need.
    func event(_ eventID: Int64, withSubmission: Bool) async throws(Problem) -> ClientEvent? {
        try await rows(
            "api_event",
            """
            SELECT received_at, settled_at, outcome, reason, environment, bundle_id, transaction_id, original_transaction_id, submission
            FROM appstore.api_event(\(eventID), \(withSubmission))
            """
        ) { try $0.first.map { try ClientEvent($0, eventID: eventID) } }
    }

    /// What a user may use, or might.
    func entitlements(of user: String, in environment: AppStoreEnvironment, apps: [String]?) async throws(Problem) -> [Entitlement] {
        try await rows(
            "api_entitlements",
            """
            SELECT product_id, entitlement, active, ends_at, why, in_grace, will_renew, original_transaction_id, bundle_id
            FROM appstore.api_entitlements(\(environment.rawValue), \(user), \(apps))
            """
        ) { try $0.map(Entitlement.init) }
    }

    /// A contract; nil when none is known that one of these apps sold.
    func subscription(_ contract: String, in environment: AppStoreEnvironment, apps: [String]?) async throws(Problem) -> Subscription? {
        try await rows(
            "api_subscription",
            """
            SELECT user_id, bundle_id, product_id, product_type, status, active, ends_at, will_renew, renews_as, expiration_intent,
                   in_billing_retry, grace_ends_at, started_at, period_started_at, period_ends_at, revoked_at, transaction_id
            FROM appstore.api_subscription(\(environment.rawValue), \(contract), \(apps))
            """
        ) { try $0.first.map(Subscription.init) }
    }

    /// Makes a user the owner of a contract from now on; false when no purchase of it is known that the key covers.
    func link(_ contract: String, in environment: AppStoreEnvironment, to user: String, by key: KeyScope) async throws(Problem) -> Bool {
        try await rows(
            "api_link_owner",
            """
            SELECT appstore.api_link_owner(\(environment.rawValue), \(contract), \(user), \(key.bundleIDs), \(key.keyID)) AS linked
            """
        ) { try $0[$0.startIndex].decode("linked") }
    }

    private func rows<Value: Sendable>(
        _ name: StaticString,
        _ sql: Statement,
        read: (Rows) throws -> Value
    ) async throws(Problem) -> Value {
        var backoff = Backoff(base: .milliseconds(10), cap: .milliseconds(100))
        var generator = SystemRandomNumberGenerator()
        var tries = 1
        while true {
            do {
                return try read(try await pool.withConnection { try await $0.query(Statement(name: name, sql)) })
            } catch let error as PostgresError where error.isSerializationConflict && tries < Self.maximumTries {
                tries += 1
            } catch {
                throw problem(error, statement: name)
            }
            do { try await Task.sleep(for: backoff.next(using: &generator)) } catch { throw .shuttingDown }
        }
    }

    private func problem(_ error: any Error, statement: StaticString) -> Problem {
        // Only a cancelled task gets here without an error of the database: the server does not wait for it any longer.
        guard let error = error as? PostgresError else { return .shuttingDown }
        let metadata: Logger.Metadata = [LogKey.statement: "\(statement)", LogKey.error: "\(error)"]
        // After a COMMIT whose answer was lost the client may ask again, as after any other loss: each question may be repeated.
        guard error.isRetryable || error.isConnectionLoss || error.code == .closed else {
            logger.error("the database refused a statement", metadata: metadata)
            return .internalError
        }
        logger.warning("the database did not answer the interface", metadata: metadata)
        return .databaseUnavailable(retryAfter: 1)
    }
}
