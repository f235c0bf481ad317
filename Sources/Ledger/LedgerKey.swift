package import AppStore

/// The key of a row of the ledger: one of Apple's ids within one environment, so that Sandbox never touches Production.
package struct LedgerKey: Hashable, Comparable, Sendable {
    package let environment: AppStoreEnvironment
    package let id: String

    package init(environment: AppStoreEnvironment, id: String) {
        self.environment = environment
        self.id = id
    }

    package static func < (left: LedgerKey, right: LedgerKey) -> Bool {
        (left.environment.rawValue, left.id) < (right.environment.rawValue, right.id)
    }
}
