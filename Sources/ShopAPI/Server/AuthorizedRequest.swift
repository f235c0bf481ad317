import AppStore
import FoundationEssentials
import HTTPServing
import NIOCore
import StrictJSON

/// A request whose key covers the verb of the route.
struct AuthorizedRequest: Sendable {
    let httpRequest: Request
    let key: KeyScope

    /// The user named in the path.
    func user(_ name: String = "user") throws(Problem) -> String {
        let user = httpRequest.values[name, default: ""]
        guard user.isName else { throw .invalidParameter(name, "\(name) must have 1 to 255 characters, without U+0000.") }
        return user
    }

    /// The originalTransactionId in the path.
    ///
    /// - Throws: status 404 for text that cannot be an originalTransactionId.
    func contract() throws(Problem) -> String {
        let contract = httpRequest.values["originalTransactionId", default: ""]
        guard contract.isName else { throw .noSuchContract }
        return contract
    }

    /// The environment named in the query; Production unless it names one.
    ///
    /// - Throws: status 403 when the key does not cover the environment.
    func environment(_ query: RequestQuery) throws(Problem) -> AppStoreEnvironment {
        let environment = try query.environment() ?? .production
        try key.check(environment)
        return environment
    }
}

/// The query of a request. Each parameter may occur once.
struct RequestQuery {
    private(set) var values: [String: String] = [:]

    /// - Parameter known: the allowed parameters.
    /// - Throws: status 400, also for an unknown parameter.
    init(_ request: Request, known: [String]) throws(Problem) {
        guard let query = request.query, !query.isEmpty else { return }
        for pair in query.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0]), known.contains(name) else { throw .unknownParameter(known: known) }
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]) else {
                throw .invalidParameter(name, "\(name) must be followed by an equals sign and percent-encoded UTF-8.")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .invalidParameter(name, "\(name) must be there once.")
            }
        }
    }

    /// The parameter `environment`, if present.
    func environment() throws(Problem) -> AppStoreEnvironment? {
        guard let text = values["environment"] else { return nil }
        let environment = AppStoreEnvironment(rawValue: text)
        guard [.production, .sandbox].contains(environment) else {
            throw .invalidParameter("environment", "environment must be Production or Sandbox.")
        }
        return environment
    }

    /// A parameter of 1 to 255 characters.
    func text(_ name: String) throws(Problem) -> String? {
        guard let text = values[name] else { return nil }
        guard text.isName else { throw .invalidParameter(name, "\(name) must have 1 to 255 characters, without U+0000.") }
        return text
    }

    /// The parameter `status`: that of orders.
    func orderStatus() throws(Problem) -> String? {
        guard let status = values["status"] else { return nil }
        let known = ["pending", "paid", "partly_refunded", "refunded"]
        guard known.contains(status) else { throw .invalidParameter("status", "status must be one of \(known.joined(separator: ", ")).") }
        return status
    }

    /// The parameter `cursor`: the `next` of the page before.
    func cursor() throws(Problem) -> OrderCursor? {
        guard let text = values["cursor"] else { return nil }
        guard let cursor = OrderCursor(text) else {
            throw .invalidParameter("cursor", "cursor must be the value of next in the answer before.")
        }
        return cursor
    }

    /// The parameter `limit`: how many orders a page has at most; 50 by default.
    func limit() throws(Problem) -> Int32 {
        guard let text = values["limit"] else { return 50 }
        guard let limit = Int32(text), (1...200).contains(limit) else {
            throw .invalidParameter("limit", "limit must be a whole number from 1 to 200.")
        }
        return limit
    }

    /// The parameter `wait`: how long the request may wait for the outcome, in whole seconds; zero by default.
    func wait() throws(Problem) -> Duration {
        guard let text = values["wait"] else { return .zero }
        guard let seconds = Int(canonical: text), (0...10).contains(seconds) else {
            throw .invalidParameter("wait", "wait must be a whole number of seconds from 0 to 10.")
        }
        return .seconds(seconds)
    }
}

/// The JSON object in the body of a request. A null member counts as absent.
struct RequestObject {
    private let object: JSONObject

    /// Reads the body of a request.
    ///
    /// - Parameter known: the allowed members.
    /// - Throws: status 400 or 415, also for an unknown member.
    init(_ request: Request, known: [String]) throws(Problem) {
        try request.checkJSON()
        do {
            object = try JSONParser().parseObject(Array(buffer: request.body))
        } catch {
            throw error.code == .notAnObject ? .notAnObject : .notJSON
        }
        guard object.members.allSatisfy({ known.contains($0.name) }) else { throw .unknownMember(known: known) }
    }

    /// Optional text of 1 to 255 characters.
    func text(_ name: String) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where text.isName: return text
        default: throw .invalidMember(name, "\(name) must be text of 1 to 255 characters, without U+0000.")
        }
    }

    /// Optional text of at most so many characters.
    func text(_ name: String, atMost count: Int) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)? where (1...count).contains(text.unicodeScalars.count) && !text.hasNUL: return text
        default: throw .invalidMember(name, "\(name) must be text of 1 to \(count) characters, without U+0000.")
        }
    }

    /// An optional boolean.
    func flag(_ name: String) throws(Problem) -> Bool? {
        switch object[name] {
        case nil, .null?: return nil
        case .bool(let flag)?: return flag
        default: throw .invalidMember(name, "\(name) must be true or false.")
        }
    }

    /// An optional integer of 32 bits.
    func integer(_ name: String) throws(Problem) -> Int32? {
        switch object[name] {
        case nil, .null?: return nil
        case .number(let number)?:
            if let integer = number.int64.flatMap(Int32.init(exactly:)) { return integer }
            fallthrough
        default: throw .invalidMember(name, "\(name) must be an integer.")
        }
    }

    /// An optional object, which PostgreSQL can store.
    func object(_ name: String) throws(Problem) -> JSONObject? {
        switch object[name] {
        case nil, .null?: return nil
        case .object(let object)? where JSONValue.object(object).fitsJSONB: return object
        case .object?:
            throw .invalidMember(
                name,
                "\(name) must have no U+0000, and no number beyond 131072 digits before the point or 16383 after it."
            )
        default: throw .invalidMember(name, "\(name) must be an object.")
        }
    }

    /// Required text of 1 to 255 characters.
    func requiredText(_ name: String) throws(Problem) -> String {
        guard let text = try text(name) else { throw .invalidMember(name, "\(name) must be there.") }
        return text
    }

    /// Required text that only the size of the body limits.
    func requiredData(_ name: String) throws(Problem) -> String {
        guard case .string(let text)? = object[name], !text.isEmpty, !text.hasNUL else {
            throw .invalidMember(name, "\(name) must be text, not empty and without U+0000.")
        }
        return text
    }

    /// An optional appAccountToken, such as an order number: a UUID, but not of version 8 (RFC 9562, section 5.8), which orders of renewals use.
    func token(_ name: String) throws(Problem) -> UUID? {
        guard let text = try text(name) else { return nil }
        guard let uuid = UUID(uuidString: text), uuid.uuid.6 >> 4 != 8 else {
            throw .invalidMember(name, "\(name) must be a UUID, and not one of version 8, as the orders of renewals have.")
        }
        return uuid
    }
}

extension FixedWidthInteger {
    /// A number in its only canonical form: without a plus sign and leading zeros. A resource has one path.
    init?(canonical text: String) {
        guard let number = Self(text), String(number) == text else { return nil }
        self = number
    }
}
