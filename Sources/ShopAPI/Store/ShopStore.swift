import AppStore
import FoundationEssentials
import HTTPServing
import Logging
import Postgres
import SQL

/// The statements of the routes. Each request is one statement, which the database refuses unless the key covers it.
///
/// Conflicts with concurrent transactions are retried. A database that does not answer is status 503.
struct ShopStore: Sendable {
    private let pool: ConnectionPool
    private let logger: Logger
    /// The most attempts of a statement that conflicts with a concurrent transaction.
    private static let maximumTries = 4

    init(pool: ConnectionPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// The scope of the key with that hash; nil for an unknown or revoked key.
    func scope(ofKey hash: [UInt8]) async throws(Problem) -> KeyScope? {
        try await rows(.apiKey(keyHash: hash)) { rows in try rows.first.map { try KeyScope($0, hash: hash) } }
    }

    /// Makes a Production order, or returns the equal order with the same number; nil when a different order has the number.
    func makeOrder(_ request: OrderRequest, key: KeyScope) async throws(Problem) -> (order: Order, isNew: Bool)? {
        let statement = Statement.shopCreateOrder(
            keyHash: key.hash,
            userID: request.user,
            productID: request.product,
            orderNo: request.no,
            bundleID: request.bundleID
        )
        return try await rows(statement, for: .createOrders) { rows in
            let row = rows[rows.startIndex]
            let result: String = try row.decode("result")
            if result == "user_token" { throw Problem.orderNumberIsToken }
            guard result != "conflict" else { return nil }
            return (try Order(row), result == "made")
        }
    }

    /// An order; nil when no order with that number is covered by the key.
    func order(_ no: UUID, in environment: AppStoreEnvironment, key: KeyScope) async throws(Problem) -> Order? {
        let statement = Statement.apiOrder(keyHash: key.hash, environment: environment.rawValue, orderNo: no)
        return try await rows(statement, for: .readOrders) { try $0.first.map(Order.init) }
    }

    /// The orders of a user in the apps of the key, newest first.
    func orders(
        of user: String,
        in environment: AppStoreEnvironment,
        _ filter: OrderFilter,
        key: KeyScope
    ) async throws(Problem) -> OrderPage {
        let statement = Statement.apiUserOrders(
            keyHash: key.hash,
            environment: environment.rawValue,
            userID: user,
            status: filter.status,
            productID: filter.product,
            beforeAt: filter.after?.at,
            beforeNo: filter.after?.no,
            maxOrders: filter.limit + 1
        )
        let orders = try await rows(statement, for: .readOrders) { try $0.map(Order.init) }
        let page = Array(orders.prefix(Int(filter.limit)))
        return OrderPage(orders: page, next: orders.count > page.count ? page.last?.cursor : nil)
    }

    /// Stores a client's transaction for the worker and returns its event id.
    func store(_ submission: ClientSubmission, key: KeyScope) async throws(Problem) -> Int64 {
        let statement =
            switch submission.kind {
            case .transaction: Statement.apiSubmitTransaction(keyHash: key.hash, body: submission.body)
            case .appTransaction: Statement.apiSubmitAppTransaction(keyHash: key.hash, body: submission.body)
            }
        return try await rows(statement, for: .submitTransactions) { try $0[$0.startIndex].decode(0) }
    }

    /// The downloads of the key's apps that are a user's, the oldest first.
    func appTransactions(of user: String, in environment: AppStoreEnvironment, key: KeyScope) async throws(Problem) -> [UserAppTransaction]
    {
        let statement = UserAppTransaction.statement(of: user, in: environment, key: key)
        return try await rows(statement, for: .submitTransactions) { try $0.map(UserAppTransaction.init) }
    }

    /// Stores a client's receipt for the worker and returns its event id.
    ///
    /// - Parameter body: the body of a ``ClientReceipt``.
    func storeReceipt(_ body: [UInt8], key: KeyScope) async throws(Problem) -> Int64 {
        let statement = Statement.apiSubmitReceipt(keyHash: key.hash, body: body)
        return try await rows(statement, for: .submitReceipts) { try $0[$0.startIndex].decode(0) }
    }

    /// The charges that are in the ledger, in the given order, each with whether this user owns it.
    func charges(
        _ transactionIDs: [String],
        in environment: AppStoreEnvironment,
        for user: String,
        key: KeyScope
    ) async throws(Problem) -> [ReceiptCharge] {
        let statement = Statement.apiReceiptCharges(
            keyHash: key.hash,
            environment: environment.rawValue,
            transactionIDs: transactionIDs,
            userID: user
        )
        return try await rows(statement, for: .submitReceipts) { try $0.map(ReceiptCharge.init) }
    }

    /// The state of the verifyReceipt call for a receipt.
    ///
    /// - Parameter callKey: see ``ReceiptOutline/callKey``.
    func verifyReceiptCall(_ callKey: String, key: KeyScope) async throws(Problem) -> VerifyReceiptCall {
        let statement = Statement.apiReceiptQuestion(keyHash: key.hash, callKey: callKey)
        return try await rows(statement, for: .readEvents) { try $0.first.map(VerifyReceiptCall.init) ?? .notNeeded }
    }

    /// A posted event; nil when no event with that number is covered by the key.
    ///
    /// - Parameter withSubmission: whether to read the posted body, which polling for the outcome does not need.
    func event(_ eventID: Int64, withSubmission: Bool, key: KeyScope) async throws(Problem) -> ClientEvent? {
        let statement = Statement.apiEvent(keyHash: key.hash, eventID: eventID, withSubmission: withSubmission)
        return try await rows(statement, for: .readEvents) {
            try $0.first.map { try ClientEvent($0, eventID: eventID) }
        }
    }

    /// The entitlements of a user, active or not, in the apps of the key.
    func entitlements(of user: String, in environment: AppStoreEnvironment, key: KeyScope) async throws(Problem) -> [Entitlement] {
        try await rows(Entitlement.statement(of: user, in: environment, key: key), for: .readEntitlements) { try $0.map(Entitlement.init) }
    }

    /// Sets the owner of a contract; false when no known purchase of it is covered by the key.
    func link(_ contract: String, in environment: AppStoreEnvironment, to user: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement.apiLinkOwner(
            keyHash: key.hash,
            environment: environment.rawValue,
            originalTransactionID: contract,
            userID: user
        )
        return try await rows(statement, for: .linkContracts) { try $0[$0.startIndex].decode(0) }
    }

    /// Says that a token means a user. Status 409 where it means an order or another user.
    func setToken(_ token: UUID, of user: String, key: KeyScope) async throws(Problem) {
        let statement = Statement.apiSetUserToken(keyHash: key.hash, token: token, userID: user)
        let result: String = try await rows(statement, for: .createOrders) { try $0[$0.startIndex].decode(0) }
        switch result {
        case "order": throw .tokenIsOrder
        case "user": throw .tokenOfAnother
        default: return
        }
    }

    /// - Parameter verb: the verb that the statement needs; nil for a statement without a key.
    func rows<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb? = nil,
        read: (Rows) throws -> Value
    ) async throws(Problem) -> Value {
        try await perform(statement, for: verb) { try read(try await $0.query(statement)) }
    }

    /// Does work on a connection, of which `statement` is the part that an error is about.
    func perform<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb?,
        _ work: (Connection) async throws -> Value
    ) async throws(Problem) -> Value {
        var backoff = Backoff(base: .milliseconds(10), cap: .milliseconds(100))
        var generator = SystemRandomNumberGenerator()
        var tries = 1
        while true {
            do {
                return try await pool.withConnection { try await work($0) }
            } catch let error as PostgresError where error.isSerializationConflict && tries < Self.maximumTries {
                tries += 1
            } catch let problem as Problem {
                throw problem
            } catch {
                // A key may be revoked between the check of the request and the statement.
                if let verb, let refusal = (error as? PostgresError).flatMap({ KeyRefusal($0) }) { throw refusal.problem(needing: verb) }
                throw problem(error, statement: statement)
            }
            do { try await Task.sleep(for: backoff.next(using: &generator)) } catch { throw .shuttingDown }
        }
    }

    private func problem(_ error: any Error, statement: Statement) -> Problem {
        // Without a PostgresError the task was cancelled: the server is shutting down.
        guard let error = error as? PostgresError else { return .shuttingDown }
        let metadata: Logger.Metadata = [LogKey.statement: "\(statement)", LogKey.error: "\(error)"]
        // The client may retry even after a COMMIT with a lost answer: every statement is idempotent.
        guard error.isRetryable || error.isConnectionLoss || error.code == .closed else {
            logger.error("the database refused a statement", metadata: metadata)
            return .internalError
        }
        logger.log(level: error.isDatabaseOutage ? .debug : .warning, "the database did not answer the API", metadata: metadata)
        return .databaseUnavailable(retryAfter: 1)
    }
}
