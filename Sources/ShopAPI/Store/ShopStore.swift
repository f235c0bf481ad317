import AppStore
import Handlers
import HTTPServing
import Logging
import Postgres
import SQL

/// What the routes ask of the database: each question is one statement, which the database refuses unless the key permits it.
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
        try await rows(Statement(.shopReadKey, ["key_hash": hash])) { rows in try rows.first.map { try KeyScope($0, hash: hash) } }
    }

    /// Makes a Production order, or finds it as it was made; nil when it was made with other words.
    func makeOrder(_ words: OrderWords, key: KeyScope) async throws(Problem) -> Order? {
        let statement = Statement(
            .shopCreateOrder,
            [
                "key_hash": key.hash, "user_id": words.user, "product_id": words.product, "order_no": words.no,
                "bundle_id": words.bundleID,
            ]
        )
        return try await rows(statement, for: .createOrders) { rows in
            let row = rows[rows.startIndex]
            let result: String = try row.decode("result")
            guard result != "conflict" else { return nil }
            return Order(words: words, no: try row.decode("order_no"), status: try row.decode("status"), isNew: result == "made")
        }
    }

    /// Stores a client's transaction for the worker and returns its event id.
    func store(_ submission: ClientSubmission, key: KeyScope) async throws(Problem) -> Int64 {
        let statement = Statement(.shopSubmitTransaction, ["key_hash": key.hash, "body": submission.body])
        return try await rows(statement, for: .submitTransactions) { try $0[$0.startIndex].decode("event_id") }
    }

    /// Stores a client's receipt, which is the body of a ``ClientReceipt``, for the worker and returns its event id.
    func storeReceipt(_ body: [UInt8], key: KeyScope) async throws(Problem) -> Int64 {
        let statement = Statement(.shopSubmitReceipt, ["key_hash": key.hash, "body": body])
        return try await rows(statement, for: .submitReceipts) { try $0[$0.startIndex].decode("event_id") }
    }

    /// Which of these charges are in the books, in their order, and whether this user owns them.
    func charges(
        _ transactionIDs: [String],
        in environment: AppStoreEnvironment,
        for user: String,
        key: KeyScope
    ) async throws(Problem) -> [ReceiptCharge] {
        let statement = Statement(
            .shopReadReceiptCharges,
            ["key_hash": key.hash, "environment": environment.rawValue, "transaction_ids": transactionIDs, "user_id": user]
        )
        return try await rows(statement, for: .submitReceipts) { try $0.map(ReceiptCharge.init) }
    }

    /// What has become of the question to Apple about a receipt.
    ///
    /// - Parameter callKey: as ``ReceiptOutline/questionKey``.
    func question(_ callKey: String, key: KeyScope) async throws(Problem) -> ReceiptQuestion {
        let statement = Statement(.shopReadReceiptQuestion, ["key_hash": key.hash, "call_key": callKey])
        return try await rows(statement, for: .readEvents) { try $0.first.map(ReceiptQuestion.init) ?? .notAsked }
    }

    /// An event that a client posted; nil when there is none with that number for an environment and an app of the key.
    ///
    /// - Parameter withSubmission: whether to bring what was posted, which is not needed while the outcome is awaited.
    func event(_ eventID: Int64, withSubmission: Bool, key: KeyScope) async throws(Problem) -> ClientEvent? {
        let statement = Statement(.shopReadEvent, ["key_hash": key.hash, "event_id": eventID, "with_submission": withSubmission])
        return try await rows(statement, for: .readEvents) {
            try $0.first.map { try ClientEvent($0, eventID: eventID) }
        }
    }

    /// What a user may use now, and no longer, of the apps of the key.
    func entitlements(of user: String, in environment: AppStoreEnvironment, key: KeyScope) async throws(Problem) -> [Entitlement] {
        let statement = Statement(
            .shopReadEntitlements,
            ["key_hash": key.hash, "environment": environment.rawValue, "user_id": user]
        )
        return try await rows(statement, for: .readEntitlements) { try $0.map(Entitlement.init) }
    }

    /// A contract; nil when none is known that one of the key's apps sold.
    func subscription(_ contract: String, in environment: AppStoreEnvironment, key: KeyScope) async throws(Problem) -> Subscription? {
        let statement = Statement(
            .shopReadSubscription,
            ["key_hash": key.hash, "environment": environment.rawValue, "original_transaction_id": contract]
        )
        return try await rows(statement, for: .readSubscriptions) { try $0.first.map(Subscription.init) }
    }

    /// Makes a user the owner of a contract from now on; false when no purchase of it is known that the key covers.
    func link(_ contract: String, in environment: AppStoreEnvironment, to user: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement(
            .shopLinkOwner,
            [
                "key_hash": key.hash, "environment": environment.rawValue, "original_transaction_id": contract, "user_id": user,
            ]
        )
        return try await rows(statement, for: .linkContracts) { try $0[$0.startIndex].decode("linked") }
    }

    /// - Parameter verb: which a key needs for the statement; nil for one that needs no key.
    private func rows<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb? = nil,
        read: (Rows) throws -> Value
    ) async throws(Problem) -> Value {
        var backoff = Backoff(base: .milliseconds(10), cap: .milliseconds(100))
        var generator = SystemRandomNumberGenerator()
        var tries = 1
        while true {
            do {
                return try read(try await pool.withConnection { try await $0.query(statement) })
            } catch let error as PostgresError where error.isSerializationConflict && tries < Self.maximumTries {
                tries += 1
            } catch {
                // A key may be revoked between the check of the request and the statement.
                if let verb, let refusal = (error as? PostgresError).flatMap({ KeyRefusal($0) }) { throw refusal.problem(needing: verb) }
                throw problem(error, statement: statement)
            }
            do { try await Task.sleep(for: backoff.next(using: &generator)) } catch { throw .shuttingDown }
        }
    }

    private func problem(_ error: any Error, statement: Statement) -> Problem {
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
