import AppStore
import Feed
import HTTPServing
import Interpretation
import NIOHTTP1
import Postgres
import SQL
import ServiceSupport
import StrictJSON
import Synchronization

/// The read-only routes.
struct ReadingEndpoints: Sendable {
    let store: ShopStore
    let ledger: LedgerReads

    /// `GET /v1/events/{id}`: the state of a posted event.
    func event(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        guard let eventID = Int64(canonical: request.httpRequest.values["id", default: ""]), eventID > 0,
            let event = try await store.event(eventID, withSubmission: true, key: request.key)
        else { throw .noSuchEvent }
        let isTaken = event.result != nil && event.result != "rejected"
        guard isTaken, let callKey = event.receipt?.callKey else { return .json(event.json) }
        return .json(event.json(waitingFor: try await store.verifyReceiptCall(callKey, key: request.key)))
    }

    /// `GET /v1/users/{user}/entitlements`: what a user may use; nothing for an unknown user.
    func entitlements(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, user) = (try request.environment(query), try request.user())
        let statement = Entitlement.statement(of: user, in: environment, key: request.key)
        let (entitlements, end) = try await ledger.read(statement, for: .readEntitlements, atLeast: try query.atLeast()) {
            try $0.map(Entitlement.init)
        }
        return .json(
            [
                "user": .string(user), "environment": .string(environment.rawValue),
                "entitlements": .array(entitlements.map { .object($0.json) }),
            ],
            at: end
        )
    }

    /// `GET /v1/users/{user}/app-transactions`: which version of the apps a user downloaded first, when and where; nothing for an unknown user.
    func appTransactions(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, user) = (try request.environment(query), try request.user())
        let statement = UserAppTransaction.statement(of: user, in: environment, key: request.key)
        let (downloads, end) = try await ledger.read(statement, for: .readEntitlements, atLeast: try query.atLeast()) {
            try $0.map(UserAppTransaction.init)
        }
        return .json(
            [
                "user": .string(user), "environment": .string(environment.rawValue),
                "appTransactions": .array(downloads.map { .object($0.json) }),
            ],
            at: end
        )
    }

    /// `GET /v1/subscriptions/{originalTransactionId}`: a contract.
    func subscription(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, contract) = (try request.environment(query), try request.contract())
        let statement = Subscription.statement(of: contract, in: environment, key: request.key)
        let (found, end) = try await ledger.read(statement, for: .readSubscriptions, atLeast: try query.atLeast()) {
            try $0.map(Subscription.init)
        }
        guard let subscription = found.first else { throw .noSuchContract }
        var object: JSONObject = ["originalTransactionId": .string(contract), "environment": .string(environment.rawValue)]
        for member in subscription.json.members { object[member.name] = member.value }
        return .json(object, at: end)
    }
}

extension RequestQuery {
    /// The parameter `at_least`: a position of the feed that the answer must contain.
    fileprivate func atLeast() throws(Problem) -> FeedEnd? {
        guard let text = values["at_least"] else { return nil }
        guard let cursor = FeedCursor(text), let generation = cursor.generation, let position = cursor.position else {
            throw .invalidParameter("at_least", "at_least must be a cursor of the feed, such as 1.184967.")
        }
        return FeedEnd(generation: generation, position: position)
    }
}

extension Response {
    /// An answer that contains all changes up to a position of the feed.
    fileprivate static func json(_ object: JSONObject, at end: FeedEnd) -> Response {
        var response = json(object)
        response.headers.add(name: "feed-position", value: FeedCursor(generation: end.generation, position: end.position).description)
        return response
    }
}

/// Reads of the ledger that a standby may answer, each with a position of the feed whose changes it contains.
///
/// A standby is behind the primary by what it has not replayed yet. It replays in the order of the primary's commits, and the feed numbers a
/// change after its commit: a server that knows a position of the feed has all changes up to it.
final class LedgerReads: Sendable {
    private let primary: ShopStore
    private let standby: ShopStore?
    /// A standby that fails is asked again then.
    private let restsUntil = Mutex<ContinuousClock.Instant?>(nil)
    private static let rest: Duration = .seconds(2)
    /// How long a standby is waited for that is behind the position that a request names.
    private static let longestWait: Duration = .seconds(2)

    /// - Parameter standby: nil where the primary answers all reads.
    init(primary: ShopStore, standby: ShopStore? = nil) {
        (self.primary, self.standby) = (primary, standby)
    }

    /// What a statement reads, and where the feed ended before. Where the standby has nothing, the primary is asked, too.
    ///
    /// - Parameter minimum: a position that the answer must contain.
    /// - Throws: status 409 where the primary does not know the position either.
    func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd) {
        if let standby, restsUntil.withLock({ $0.map { $0 <= .now } ?? true }),
            let answer = try await self.read(statement, for: verb, atLeast: minimum, on: standby, read), !answer.values.isEmpty
        {
            return answer
        }
        guard let answer = try await primary.read(statement, for: verb, atLeast: minimum, read) else { throw .positionUnknown }
        return answer
    }

    /// Nil where the standby has not replayed that position in time, or is away.
    private func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        on standby: ShopStore,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd)? {
        let deadline = ContinuousClock.now + Self.longestWait
        var pause = Backoff(base: .milliseconds(5), cap: .milliseconds(100))
        var generator = SystemRandomNumberGenerator()
        while true {
            do throws(Problem) {
                if let answer = try await standby.read(statement, for: verb, atLeast: minimum, read) { return answer }
            } catch {
                // A key that is younger than what the standby has replayed is unknown there: the primary decides.
                if error.status >= 500 { restsUntil.withLock { $0 = .now + Self.rest } }
                return nil
            }
            guard ContinuousClock.now < deadline else { return nil }
            do { try await Task.sleep(for: pause.next(using: &generator)) } catch { throw .shuttingDown }
        }
    }
}

extension ShopStore {
    /// What a statement reads, and where the feed ended just before; nil where it ends before `minimum`.
    fileprivate func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd)? {
        try await perform(statement, for: verb) { connection in
            let end = try FeedEnd(await connection.query(.feedEnd()))
            if let minimum, end < minimum { return nil }
            return (try read(try await connection.query(statement)), end)
        }
    }
}

/// An entitlement of a user, active or not.
struct Entitlement: Sendable {
    let json: JSONObject

    /// Reads the entitlements of a user, active or not, in the apps of the key.
    static func statement(of user: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiEntitlements(keyHash: key.hash, environment: environment.rawValue, userID: user)
    }

    init(_ row: Row) throws {
        json = [
            "entitlement": .string(try row.decode("entitlement")),
            "active": try .flag(row, "active"),
            "until": try .instant(row, "ends_at"),
            "why": try .text(row, "why"),
            "inGrace": try .flag(row, "in_grace"),
            "willRenew": try .flag(row, "will_renew"),
            "product": try .text(row, "product_id"),
            "bundleId": try .text(row, "bundle_id"),
            "originalTransactionId": try .text(row, "original_transaction_id"),
            "seats": try .document(row, "seats"),
            "commitmentUntil": try .instant(row, "commitment_until"),
            "commitmentWillRenew": try .flag(row, "commitment_will_renew"),
        ]
    }
}

/// A contract in the ledger.
private struct Subscription: Sendable {
    /// All members except originalTransactionId and environment.
    let json: JSONObject

    /// Reads a contract; no row when none is covered by the key.
    static func statement(of contract: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiSubscription(keyHash: key.hash, environment: environment.rawValue, originalTransactionID: contract)
    }

    init(_ row: Row) throws {
        json = [
            "user": try .text(row, "user_id"),
            "bundleId": try .text(row, "bundle_id"),
            "product": try .text(row, "product_id"),
            "productType": try .text(row, "product_type"),
            "active": try .flag(row, "active"),
            "until": try .instant(row, "ends_at"),
            "status": try .integer(row, "status"),
            "willRenew": try .flag(row, "will_renew"),
            "renewsAs": try .text(row, "renews_as"),
            "expirationIntent": try .integer(row, "expiration_intent"),
            "inBillingRetry": try .flag(row, "in_billing_retry"),
            "graceUntil": try .instant(row, "grace_ends_at"),
            "startedAt": try .instant(row, "started_at"),
            "periodStartedAt": try .instant(row, "period_started_at"),
            "periodEndsAt": try .instant(row, "period_ends_at"),
            "revokedAt": try .instant(row, "revoked_at"),
            "transactionId": try .text(row, "transaction_id"),
            "seats": try .document(row, "seats"),
            "commitment": try Self.commitment(row),
        ]
    }

    private static func commitment(_ row: Row) throws -> JSONValue {
        let end = try JSONValue.instant(row, "commitment_until")
        guard end != .null else { return .null }
        return .object([
            "until": end,
            "paymentsLeft": try .integer(row, "commitment_payments_left"),
            "willRenew": try .flag(row, "commitment_will_renew"),
            "price": .optional(try row.decode("commitment_price", as: Int64?.self)),
            "currency": try .text(row, "currency"),
        ])
    }
}

/// A user's download of an app.
struct UserAppTransaction: Sendable {
    let json: JSONObject

    /// Reads the downloads of a user in the apps of the key, the oldest first.
    static func statement(of user: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiAppTransactions(keyHash: key.hash, environment: environment.rawValue, userID: user)
    }

    init(_ row: Row) throws {
        json = [
            "appTransactionId": try .text(row, "app_transaction_id"),
            "bundleId": try .text(row, "bundle_id"),
            "originalApplicationVersion": try .text(row, "original_application_version"),
            "applicationVersion": try .text(row, "application_version"),
            "originalPurchaseDate": try .instant(row, "original_purchase_date"),
            "originalPlatform": try .text(row, "original_platform"),
            "preorderDate": try .instant(row, "preorder_date"),
            "storeType": try .text(row, "store_type"),
            "revocationDate": try .instant(row, "revocation_date"),
            "signedDate": try .instant(row, "signed_date"),
        ]
    }
}
