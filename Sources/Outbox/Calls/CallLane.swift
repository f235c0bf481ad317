package import AppStore

/// An app in an environment, whose calls a process can make or not.
package struct CallLane: Hashable, Comparable, Sendable {
    package let bundleID: String
    package let environment: AppStoreEnvironment

    package init(_ bundleID: String, _ environment: AppStoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    package static func < (left: CallLane, right: CallLane) -> Bool {
        (left.bundleID, left.environment.rawValue) < (right.bundleID, right.environment.rawValue)
    }
}
