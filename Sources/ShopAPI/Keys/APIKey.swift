import AppStore
import HTTPServing
import OpenSSL
import Postgres

/// A bearer key of 256 random bits. The user sees it once; the database stores only its SHA-256.
package struct APIKey: Sendable, CustomStringConvertible {
    /// The prefix by which secret scanners recognise a leaked key.
    private static let prefix = "asinbox_"
    private static let byteCount = 32

    /// The key as a client sends it: the prefix and 43 characters of base64url.
    package let text: String

    /// Generates a key.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = Self.prefix + String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// Parses a key from a request; nil for malformed text.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            Base64URL.decode(Array(text.utf8.dropFirst(Self.prefix.utf8.count)))?.count == Self.byteCount
        else { return nil }
        self.text = text
    }

    /// The SHA-256 of `text`, by which the database stores and finds the key.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    package var description: String { "a key" }
}

/// What the key of a request covers. The database checks the key again in each statement.
struct KeyScope: Hashable, Sendable, CustomStringConvertible {
    let keyID: Int32
    /// The hash by which the database finds the key; never logged.
    let hash: [UInt8]
    /// The apps; nil for any.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>
    let verbs: Set<Verb>

    /// - Throws: status 403 with the first verb when the key covers none of them.
    func check(anyOf verbs: [Verb]) throws(Problem) {
        guard let first = verbs.first, self.verbs.isDisjoint(with: verbs) else { return }
        throw .verbNotCovered(first)
    }

    /// - Throws: status 403 when the key does not cover the environment.
    func check(_ environment: AppStoreEnvironment) throws(Problem) {
        guard environments.contains(environment) else { throw .environmentNotCovered }
    }

    /// The app of an order: the named app, or else the only app of the key; nil for any.
    ///
    /// - Throws: status 403 for an app that the key does not cover; 400 when the key covers several and none is named.
    func bundleID(named name: String?) throws(Problem) -> String? {
        guard let bundleIDs else { return name }
        guard let name else {
            guard bundleIDs.count == 1 else { throw .invalidMember("bundleId", "bundleId must be there: the key is for several apps.") }
            return bundleIDs[0]
        }
        guard bundleIDs.contains(name) else { throw .appNotCovered }
        return name
    }

    var description: String { "key \(keyID)" }
}

extension KeyScope {
    /// - Parameter hash: the hash by which the row was found.
    init(_ row: Row, hash: [UInt8]) throws {
        self.init(
            keyID: try row.decode("key_id"),
            hash: hash,
            bundleIDs: try row.decode("bundle_ids"),
            environments: Set(try row.decode("environments", as: [String].self).map(AppStoreEnvironment.init(rawValue:))),
            // An unknown verb, of another version, grants nothing.
            verbs: Set(try row.decode("verbs", as: [String].self).compactMap(Verb.init(rawValue:)))
        )
    }
}

/// An operation that a key may cover. A check constraint of the table of keys has the same list.
package enum Verb: String, CaseIterable, Sendable {
    case createOrders = "orders:create"
    case readOrders = "orders:read"
    case submitTransactions = "transactions:submit"
    case submitReceipts = "receipts:submit"
    case readEvents = "events:read"
    case readEntitlements = "entitlements:read"
    case readSubscriptions = "subscriptions:read"
    case linkContracts = "contracts:link"
    case readFeed = "feed:read"
    case consumeFeed = "feed:consume"
    case readConsumption = "consumption:read"
    case answerConsumption = "consumption:answer"
    case writeConsents = "consents:write"
    case makeInquiries = "inquiries:make"
    case extendContracts = "contracts:extend"
    case setTokens = "contracts:set-token"
}

/// Why the database refuses a key: the DETAIL of the error raised by `appstore.authorize`.
enum KeyRefusal: String {
    /// The key does not exist, or it was revoked or expired during the request.
    case unknown = "key_unknown"
    case verb = "verb_missing"
    case environment = "environment_missing"
    case app = "app_missing"

    /// Nil for an error with another cause.
    init?(_ error: PostgresError) {
        guard error.sqlState == .insufficientPrivilege, let refusal = error.refusal else { return nil }
        self.init(rawValue: refusal)
    }

    /// The problem to answer with, equal to that of the check before the statement.
    ///
    /// - Parameter verb: the verb that the request needs.
    func problem(needing verb: Verb) -> Problem {
        switch self {
        case .unknown: .unauthorized
        case .verb: .verbNotCovered(verb)
        case .environment: .environmentNotCovered
        case .app: .appNotCovered
        }
    }
}
