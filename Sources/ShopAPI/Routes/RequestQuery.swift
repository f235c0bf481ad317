import AppStore
import HTTPServing
import Hummingbird

/// The query of a request, each parameter at most once.
struct RequestQuery {
    private var values: [String: String] = [:]

    /// - Parameter known: the names of the parameters that mean something.
    /// - Throws: status 400, also for a parameter that means nothing.
    init(_ request: Request, known: [String]) throws(Problem) {
        guard let query = request.uri.query, !query.isEmpty else { return }
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

    /// `environment`, if it is there.
    func environment() throws(Problem) -> AppStoreEnvironment? {
        guard let text = values["environment"] else { return nil }
        guard let environment = AppStoreEnvironment(named: text) else {
            throw .invalidParameter("environment", "environment must be Production or Sandbox.")
        }
        return environment
    }

    /// `wait`: whole seconds that an answer may wait for the outcome; none unless it is there.
    func wait() throws(Problem) -> Duration {
        guard let text = values["wait"] else { return .zero }
        guard let seconds = Int(text), (0...10).contains(seconds) else {
            throw .invalidParameter("wait", "wait must be a whole number of seconds from 0 to 10.")
        }
        return .seconds(seconds)
    }
}
