import AppStore
import Feed
import FoundationEssentials
import HTTPServing
import Logging
import Postgres
import SQL
import ServiceSupport
import StrictJSON

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
    private func rows<Value: Sendable>(
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

/// The statements of the feed.
extension ShopStore {
    /// The next entries.
    ///
    /// - Throws: status 404, 409 or 410 when a reader cannot go on from the place that it named.
    func feed(_ question: FeedQuestion, key: KeyScope) async throws(Problem) -> FeedPage {
        let statement = Statement.apiFeed(
            keyHash: key.hash,
            environment: question.environment?.rawValue,
            types: question.types,
            consumer: question.consumer,
            generation: question.cursor.generation,
            fromPosition: question.cursor.position,
            since: question.cursor.since,
            maxEntries: question.limit,
            asCloudEvents: question.asCloudEvents
        )
        return try await rows(statement, for: .readFeed) { try FeedPage($0[$0.startIndex]) }
    }

    /// The JSON of the entry at a position; nil when the key covers none.
    func feedEntry(at position: Int64, key: KeyScope) async throws(Problem) -> String? {
        let statement = Statement.apiFeedEntry(keyHash: key.hash, position: position)
        return try await rows(statement, for: .readFeed) { try $0[$0.startIndex].decode(0) }
    }

    /// Where the feed ends.
    func feedEnd() async throws(Problem) -> FeedEnd {
        try await rows(.feedEnd()) { try FeedEnd($0) }
    }

    /// A named consumer; nil when there is none.
    func consumer(_ name: String, key: KeyScope) async throws(Problem) -> FeedConsumer? {
        let statement = Statement.apiConsumer(keyHash: key.hash, name: name)
        return try await rows(statement, for: .readFeed) { try $0.first.map { try FeedConsumer($0, name: name) } }
    }

    /// Makes a named consumer, or moves it.
    ///
    /// - Throws: status 409 or 410 when nothing can be read from there.
    func setConsumer(_ name: String, to cursor: FeedCursor, key: KeyScope) async throws(Problem) {
        let statement = Statement.apiSetConsumer(
            keyHash: key.hash,
            name: name,
            generation: cursor.generation,
            position: cursor.position,
            since: cursor.since
        )
        try await rows(statement, for: .consumeFeed) { rows in
            let row = rows[rows.startIndex]
            _ = try FeedPlace(row, state: try row.decode("state"))
        }
    }

    /// Removes a named consumer; false when there is none.
    func removeConsumer(_ name: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement.apiRemoveConsumer(keyHash: key.hash, name: name)
        return try await rows(statement, for: .consumeFeed) { try $0[$0.startIndex].decode(0) }
    }
}

extension FeedEnd {
    /// - Parameter rows: of `appstore.feed_end`.
    init(_ rows: Rows) throws {
        let row = rows[rows.startIndex]
        self.init(generation: try row.decode("generation"), position: try row.decode("position"))
    }
}

/// The statements about Apple's consumption requests.
extension ShopStore {
    /// The request about a transaction, or those that Apple waits for, the most urgent first.
    ///
    /// - Parameter state: of the latter; nil for any.
    func consumption(
        of transaction: String? = nil,
        in environment: AppStoreEnvironment,
        state: String? = nil,
        limit: Int32,
        key: KeyScope
    ) async throws(Problem) -> [JSONObject] {
        let statement = Statement.apiConsumption(
            keyHash: key.hash,
            environment: environment.rawValue,
            transactionID: transaction,
            state: state,
            maxRequests: limit
        )
        return try await rows(statement, for: .readConsumption) { rows in
            try rows.map { try JSONParser().parseObject(Array(try $0.decode(0, as: String.self).utf8)) }
        }
    }

    /// Decides how the request about a transaction is answered. The same decision again changes nothing.
    ///
    /// - Throws: status 404, 409 or 422 for what cannot be decided so.
    func answerConsumption(
        of transaction: String,
        in environment: AppStoreEnvironment,
        with answer: ConsumptionAnswer,
        key: KeyScope
    ) async throws(Problem) {
        let statement = Statement.apiAnswerConsumption(
            keyHash: key.hash,
            environment: environment.rawValue,
            transactionID: transaction,
            consented: answer.consented,
            delivery: answer.delivery,
            sample: answer.sample,
            percentage: answer.percentage,
            preference: answer.preference,
            evidence: answer.evidence,
            details: answer.details.map { JSONText(JSONSerializer.text($0)) }
        )
        try await rows(statement, for: .answerConsumption) { rows in
            let row = rows[rows.startIndex]
            guard let refusal: String = try row.decode("refusal") else { return }
            throw Problem.consumption(refusedFor: refusal, try row.decode("message", as: String?.self) ?? "")
        }
    }

    /// Records a consent, and returns since when the one in force has been given.
    func giveConsent(of user: String, evidence: String, key: KeyScope) async throws(Problem) -> Timestamp {
        let statement = Statement.apiGiveConsent(keyHash: key.hash, userID: user, evidence: evidence)
        return try await rows(statement, for: .writeConsents) { rows in
            try rows[rows.startIndex].decode(0, as: PostgresTimestamp.self).timestamp
        }
    }

    /// Withdraws the consent of a user; false when none is in force.
    func withdrawConsent(of user: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement.apiWithdrawConsent(keyHash: key.hash, userID: user)
        return try await rows(statement, for: .writeConsents) { try $0[$0.startIndex].decode(0) }
    }
}

/// The statements about calls to Apple.
extension ShopStore {
    /// Writes a call for a worker, or finds the open one that asks the same.
    ///
    /// - Throws: status 409 or 422 for what cannot be asked so.
    func ask(_ request: AppleRequest, key: KeyScope, verb: Verb) async throws(Problem) -> Int64 {
        let statement = Statement.apiRequestApple(
            keyHash: key.hash,
            kind: request.kind,
            id: request.id,
            details: JSONText(JSONSerializer.text(request.details)),
            bundleID: request.bundleID,
            environment: request.environment?.rawValue
        )
        return try await rows(statement, for: verb) { rows in
            let row = rows[rows.startIndex]
            if let refusal: String = try row.decode("refusal") {
                throw Problem.inquiry(refusedFor: refusal, try row.decode("message", as: String?.self) ?? "")
            }
            return try row.decode("call_id")
        }
    }

    /// The state of a call; nil when no such call is covered by the key.
    func call(_ id: Int64, key: KeyScope) async throws(Problem) -> JSONObject? {
        try await rows(.apiCall(keyHash: key.hash, callID: id), for: .makeInquiries) { rows in
            guard let text: String = try rows[rows.startIndex].decode(0) else { return nil }
            return try JSONParser().parseObject(Array(text.utf8))
        }
    }
}

extension JSONValue {
    /// A column of text.
    static func text(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: String?.self))
    }

    /// A boolean column.
    static func flag(_ row: Row, _ column: String) throws -> JSONValue {
        try row.decode(column, as: Bool?.self).map { .bool($0) } ?? .null
    }

    /// A column of integers.
    static func integer(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: Int32?.self))
    }

    /// A column of JSON, as it is.
    static func document(_ row: Row, _ column: String) throws -> JSONValue {
        guard let text = try row.decode(column, as: JSONText?.self)?.text else { return .null }
        return .object(try JSONParser().parseObject(Array(text.utf8)))
    }

    /// A column of instants, in RFC 3339 form.
    static func instant(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: PostgresTimestamp?.self)?.timestamp.description)
    }
}

extension PostgresTimestamp {
    /// The instant in whole milliseconds, rounded down.
    var timestamp: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970) }
}

/// The keys of this module's log metadata.
private enum LogKey {
    static let error = "error"
    static let statement = "statement"
}
