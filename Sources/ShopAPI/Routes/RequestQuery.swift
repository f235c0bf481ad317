import AppStore
import HTTPServing

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
