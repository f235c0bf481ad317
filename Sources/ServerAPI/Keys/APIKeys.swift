package import Outbox

/// The keys of this process, and which apps they serve.
package struct APIKeys: Sendable {
    /// By issuer; of each the keys in the order in which they are tried.
    private let keys: [String: [APIKey]]
    private let issuers: [String: String]
    /// The apps and environments that may be asked about and have a key.
    package let lanes: Set<CallLane>

    /// - Parameters:
    ///   - keys: those of an issuer in the order in which they are tried.
    ///   - issuers: the issuer of each app; with keys of one issuer only, it serves the apps that are not named.
    ///   - lanes: the apps and environments that may be asked about.
    package init(_ keys: [APIKey] = [], issuers: [String: String] = [:], lanes: Set<CallLane> = []) {
        let grouped = Dictionary(grouping: keys, by: \.id.issuer)
        self.keys = grouped
        self.issuers = issuers
        self.lanes = lanes.filter { Self.issuer(of: $0.bundleID, issuers, grouped) != nil }
    }

    /// The keys that sign for the app, in the order in which they are tried.
    package func keys(of bundleID: String) -> [APIKey] {
        Self.issuer(of: bundleID, issuers, keys).flatMap { keys[$0] } ?? []
    }

    private static func issuer(of bundleID: String, _ issuers: [String: String], _ keys: [String: [APIKey]]) -> String? {
        if let named = issuers[bundleID] { return keys[named] == nil ? nil : named }
        return keys.count == 1 ? keys.keys.first : nil
    }
}
